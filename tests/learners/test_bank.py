"""The checks that ship with the library, on one of every kind of learner."""

import pytest
from zoo import ZOO

from quatcast import LMS, MSE, Learner
from quatcast.testing import check_learner, check_runs, learner_checks, learner_samples
from quatcast.testing.learners import steps, undoing

RUNS = [name for name, specimen in ZOO.items() if specimen.alone]


def test_the_zoo_is_complete():
    kinds, waiting = set(), [Learner]
    while waiting:
        for kind in waiting.pop().__subclasses__():
            waiting.append(kind)
            if kind.__module__.startswith("quatcast.") and not kind.__abstractmethods__:
                kinds.add(kind)
    assert kinds == {specimen.kind for specimen in ZOO.values()}


@pytest.mark.parametrize("check", learner_checks(), ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", ZOO)
def test_every_learner_keeps_its_promises(name, check, monkeypatch):
    """Shorter than for unknown learners: the buffers of these are full after 304 steps, and all but one after 88."""
    monkeypatch.setattr(steps, "ENDURANCE", 500)
    monkeypatch.setattr(undoing, "LONG", 150)
    check(ZOO[name].make, learner_samples(ZOO[name].make))


@pytest.mark.parametrize("name", RUNS)
def test_several_runs_at_once_equal_each_alone(name):
    kind = ZOO[name].kind
    alone = [lambda settings=settings: kind(**settings) for settings in ZOO[name].alone]
    # Replays are computed in single precision.
    check_runs(ZOO[name].make, alone, tolerance=1e-5 if "replay" in ZOO[name].settings else 1e-10)


@pytest.mark.parametrize("name", ZOO)
def test_an_unknown_option_is_named(name):
    specimen = ZOO[name]
    with pytest.raises(TypeError, match=r"'momentum'|Persistence\(\) takes no arguments"):
        specimen.kind(**specimen.settings, momentum=0.9)


@pytest.mark.parametrize("name", ZOO)
def test_start_is_a_deprecated_name_of_begin(name):
    specimen = ZOO[name]
    with pytest.warns(DeprecationWarning, match="now called begin"):
        learner = specimen.make().start(3, 2)
    assert (learner.n_inputs, learner.n_outputs) == (3, 2)


def test_too_few_samples_are_refused():
    make = ZOO["rls"].make
    with pytest.raises(ValueError, match="samples: expected at least 40 pairs, got 39"):
        check_learner(make, learner_samples(make, 39))


def test_samples_of_other_sizes_do():
    make = ZOO["rls"].make
    check_learner(make, learner_samples(make, 40, n_inputs=1, n_outputs=1))


def test_a_first_step_that_fails_leaves_a_learner_that_has_not_begun():
    class Fails(MSE):
        def evaluate(self, e, state, observed=None):
            raise ArithmeticError("too large")

    learner = LMS(loss=Fails())
    with pytest.raises(ArithmeticError):
        learner.update([1.0], [2.0])
    assert not learner.begun


def test_a_constructor_that_does_not_store_its_arguments_is_named():
    class Leaky(LMS):
        def __init__(self, leak=0.1, **others):
            self.leak = leak
            super().__init__(**others)

    with pytest.raises(AttributeError, match=r"Leaky: expected a constructor that lists its arguments .* 'others'"):
        check_learner(Leaky)
