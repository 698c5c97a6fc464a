"""The bank of checks: what every learner owes to whoever uses it, tried on one of each kind."""

import copy
import dataclasses
import pickle
import re

import numpy as np
import pytest
from zoo import ZOO

from quatcast import Learner, Step

RUNS = [name for name, specimen in ZOO.items() if specimen.alone]


@pytest.fixture(params=ZOO)
def specimen(request):
    return ZOO[request.param]


def same(a, b):
    """Bitwise equality of steps, arrays and numbers."""
    if isinstance(a, Step):
        return all(same(getattr(a, f.name), getattr(b, f.name)) for f in dataclasses.fields(Step))
    return np.array_equal(np.asarray(a), np.asarray(b), equal_nan=True)


def goes_on_alike(one, other, specimen, n=8):
    """Whether two learners do the same, bit for bit, over further samples."""
    pairs = specimen.samples(n, seed=77)
    return all(same(one.update(u, d), other.update(u, d)) for u, d in pairs)


def fingerprint(learner):
    """Everything the learner holds, as bytes."""
    return pickle.dumps(learner)


def test_the_zoo_is_complete():
    kinds, waiting = set(), [Learner]
    while waiting:
        for kind in waiting.pop().__subclasses__():
            waiting.append(kind)
            if kind.__module__.startswith("quatcast.") and not kind.__abstractmethods__:
                kinds.add(kind)
    assert kinds == {specimen.kind for specimen in ZOO.values()}


def test_shapes_and_fields(specimen):
    learner = specimen.make()
    (u, d), *_ = specimen.samples(1)
    step = learner.update(u, d)
    lead = () if learner.runs is None else (learner.runs,)
    assert step.prediction.shape == step.error.shape == learner.predict(u).shape == (*lead, *d.shape)
    np.testing.assert_allclose(step.error, d - step.prediction)
    assert np.shape(step.loss) == np.shape(step.gradient_norm) == lead
    assert np.all(np.asarray(step.weight) <= 1.0)
    assert np.all(np.asarray(step.weight) > 0.0)
    assert isinstance(step.depth, int)
    assert step.truncated is False


def test_predict_is_pure(specimen):
    learner = specimen.trained()
    before = fingerprint(learner)
    inputs = [u for u, _ in specimen.samples(4, seed=5)]
    first = learner.predict(*inputs)
    assert same(first, learner.predict(*inputs))
    assert fingerprint(learner) == before


def test_update_reports_what_predict_would_have_said(specimen):
    learner = specimen.trained()
    u, d = specimen.samples(1, seed=5)[0]
    foretold = learner.predict(u)
    np.testing.assert_allclose(learner.update(u, d).prediction, foretold, atol=1e-13)


def test_inputs_are_neither_written_to_nor_kept(specimen):
    free, meddled = specimen.make(), specimen.make()
    for u, d in specimen.samples(10):
        free.update(u, d)
        lent_u, lent_d = u.copy(), d.copy()
        step = meddled.update(lent_u, lent_d)
        assert same(lent_u, u)
        assert same(lent_d, d)
        lent_u[...], lent_d[...] = np.nan, np.nan
        step.prediction[...], step.error[...] = np.nan, np.nan
        meddled.predict(u)[...] = np.nan
    for array in meddled.parameters().values():
        array[...] = np.nan
    assert goes_on_alike(free, meddled, specimen)


def test_loaded_parameters_are_copied(specimen):
    learner = specimen.trained()
    own = learner.parameters()
    given = {name: array.copy() for name, array in own.items()}
    learner.load_parameters(given)
    for array in given.values():
        array[...] = np.nan
    assert all(same(array, own[name]) for name, array in learner.parameters().items())


def test_lists_and_whole_numbers_are_taken(specimen):
    (u, d), *_ = specimen.samples(1)
    whole_u, whole_d = np.round(3 * u).astype(int), np.round(3 * d).astype(int)
    from_lists = specimen.make().update(whole_u.tolist(), whole_d.tolist())
    assert same(from_lists, specimen.make().update(whole_u.astype(float), whole_d.astype(float)))


def test_pickling_and_copies_go_on_alike(specimen):
    learner = specimen.trained()
    pickled, copied = pickle.loads(pickle.dumps(learner)), copy.deepcopy(learner)
    assert goes_on_alike(copy.copy(learner), copy.deepcopy(learner), specimen)
    assert goes_on_alike(learner, pickled, specimen)
    assert not goes_on_alike(learner, copied, specimen) or specimen.kind.__name__ == "Persistence"


def test_save_and_load_go_on_alike(specimen, tmp_path):
    learner = specimen.trained()
    learner.save(tmp_path / "learner.npz")
    for kind in (specimen.kind, Learner):
        loaded = kind.load(tmp_path / "learner.npz")
        assert type(loaded) is specimen.kind
        assert goes_on_alike(copy.deepcopy(learner), loaded, specimen)


def test_saving_before_the_start(specimen, tmp_path):
    specimen.make().save(tmp_path / "new.npz")
    assert goes_on_alike(specimen.make(), Learner.load(tmp_path / "new.npz"), specimen)


def test_seeding_is_idempotent_and_clones_know_nothing(specimen):
    learner = specimen.trained()
    clone = learner.clone()
    assert clone.n_inputs is None
    assert repr(clone) == repr(learner) == repr(specimen.make())
    assert goes_on_alike(clone, specimen.make(), specimen)


def test_start_begins_anew(specimen):
    learner = specimen.trained()
    assert learner.start(specimen.n_inputs, specimen.n_outputs) is learner
    assert goes_on_alike(learner, specimen.make(), specimen)
    with pytest.raises(ValueError, match=r"n_inputs: .* 0"):
        learner.start(0, 2)
    with pytest.raises(ValueError, match=r"n_outputs: .* 2\.0"):
        learner.start(2, 2.0)


def test_parameters_round_trip(specimen):
    learner, other = specimen.trained(), specimen.make().start(specimen.n_inputs, specimen.n_outputs)
    other.load_parameters(learner.parameters())
    assert all(same(array, learner.parameters()[name]) for name, array in other.parameters().items())


def test_memory_is_bounded(specimen):
    learner, sizes = specimen.make(), []
    for t, (u, d) in enumerate(specimen.samples(1300)):
        learner.update(u, d)
        if t % 10 == 0:
            sizes.append(len(fingerprint(learner)))
    # Counters may take a few digits more.
    assert max(sizes[65:]) <= max(sizes[:65]) + 16


@pytest.mark.parametrize("name", RUNS)
def test_many_at_once_equal_one_by_one(name):
    specimen = ZOO[name]
    together, alone = specimen.make(), [specimen.kind(**settings) for settings in specimen.alone]
    for u, d in specimen.samples(60):
        batch, steps = together.update(u, d), [one.update(u, d) for one in alone]
        for field in ("prediction", "error", "loss", "weight", "gradient_norm"):
            expected = np.stack([getattr(step, field) for step in steps])
            np.testing.assert_allclose(getattr(batch, field), expected, rtol=1e-10, atol=1e-10, err_msg=field)


def learnt_with(specimen, change, present, n=9):
    """A learner that was told of n targets, the second number of each changed, which of them count."""
    learner = specimen.trained()
    for u, d in specimen.samples(n, seed=5):
        d = d.copy()
        d[1] = change(d[1])
        learner.update(u, d, present)
    return learner


def same_parameters(one, other):
    return all(same(array, other.parameters()[name]) for name, array in one.parameters().items())


def test_what_is_not_present_is_not_learnt_from(specimen):
    absent = np.array([True, False])
    one, other = (learnt_with(specimen, change, absent) for change in (np.negative, lambda d: 1e3 + 0 * d))
    assert same_parameters(one, other)
    assert goes_on_alike(one, other, specimen)
    if one.parameters():
        assert not same_parameters(one, learnt_with(specimen, np.negative, None))


def test_what_is_present_is_learnt_from(specimen):
    everything = learnt_with(specimen, np.negative, [True, True])
    assert goes_on_alike(everything, learnt_with(specimen, np.negative, None), specimen)
    other = learnt_with(specimen, np.negative, np.array([True, False]))
    blind = specimen.trained()
    for u, d in specimen.samples(9, seed=5):
        blind.update(u, d, np.array([False, False]))
    if blind.parameters():
        assert not same_parameters(blind, other)


def test_a_step_tells_the_error_of_absent_targets_too(specimen):
    learner = specimen.trained()
    u, d = specimen.samples(1, seed=5)[0]
    step = learner.update(u, d, np.array([True, False]))
    np.testing.assert_allclose(step.error, d - step.prediction)


@pytest.mark.parametrize("begin", ["make", "trained"])
@pytest.mark.parametrize("present", [[True], [1, 0], [[True, False]], "no", 0.5], ids=str)
def test_a_bad_mask_is_named_and_changes_nothing(specimen, present, begin):
    learner = getattr(specimen, begin)()
    u, d = specimen.samples(1, seed=5)[0]
    before = fingerprint(learner)
    with pytest.raises(ValueError, match=r"^present: 2 values True or False expected"):
        learner.update(u, d, present)
    assert fingerprint(learner) == before


def spoilt(array, how):
    """A bad version of an array, and the words that the error must contain."""
    bad = array.copy()
    middle = tuple(n // 2 for n in array.shape)
    position = ", ".join(map(str, middle))
    if how in ("nan", "inf", "-inf"):
        bad[middle] = float(how)
        return bad, [f"[{position}]", how]
    if how == "long":
        return np.concatenate([array, array]), [str(array.shape), str((2 * len(array), *array.shape[1:]))]
    if how == "axis":
        return array[None], [str((1, *array.shape))]
    if how == "empty":
        return array[:0], [str((0, *array.shape[1:]))]
    if how == "complex":
        return array + 0j, ["complex128"]
    if how == "bool":
        return array > 0, ["bool"]
    if how == "text":
        return array.astype(str).tolist(), ["<U"]
    return [[1.0, 2.0], [3.0]], ["inhomogeneous"]


HOWS = ["nan", "inf", "-inf", "long", "axis", "empty", "complex", "bool", "text", "ragged"]


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("which", ["u", "d"])
def test_bad_input_is_named_and_changes_nothing(specimen, which, how):
    learner = specimen.trained()
    pair = dict(zip("ud", specimen.samples(1, seed=5)[0], strict=True))
    pair[which], words = spoilt(pair[which], how)
    before = fingerprint(learner)
    with pytest.raises(ValueError, match=rf"^{which}: ") as caught:
        learner.update(**pair)
    assert all(word in str(caught.value) for word in words), str(caught.value)
    assert fingerprint(learner) == before


@pytest.mark.parametrize("how", HOWS)
def test_bad_input_to_predict_is_named_by_its_place(specimen, how):
    learner = specimen.trained()
    good = specimen.samples(1, seed=5)[0][0]
    bad, words = spoilt(good, how)
    before = fingerprint(learner)
    with pytest.raises(ValueError, match=r"^inputs\[1\]: ") as caught:
        learner.predict(good, bad, good)
    assert all(word in str(caught.value) for word in words), str(caught.value)
    assert fingerprint(learner) == before


def test_a_bad_first_sample_does_not_start_the_learner(specimen):
    learner, before = specimen.make(), fingerprint(specimen.make())
    u, d = specimen.samples(1)[0]
    with pytest.raises(ValueError, match=r"^d: "):
        learner.update(u, spoilt(d, "nan")[0])
    assert learner.n_inputs is None
    assert fingerprint(learner) == before


def test_predict_before_the_start_says_what_to_do(specimen):
    with pytest.raises(ValueError, match="has not started: call start"):
        specimen.make().predict(specimen.samples(1)[0][0])
    with pytest.raises(ValueError, match="at least one input"):
        specimen.trained().predict()


def test_bad_parameters_are_named_and_change_nothing(specimen):
    learner = specimen.trained()
    own, before = learner.parameters(), fingerprint(learner)
    with pytest.raises(ValueError, match="nonsense"):
        learner.load_parameters({**own, "nonsense": np.zeros(3)})
    for name, array in own.items():
        with pytest.raises(ValueError, match=re.escape(name)):
            learner.load_parameters({**own, name: array[..., :0]})
        broken = array.copy()
        broken.flat[-1] = np.inf
        with pytest.raises(ValueError, match=rf"{re.escape(name)}\[.*\] is inf"):
            learner.load_parameters({**own, name: broken})
    assert fingerprint(learner) == before


def test_an_unknown_option_is_named(specimen):
    with pytest.raises(TypeError, match=r"'momentum'|Persistence\(\) takes no arguments"):
        specimen.kind(**specimen.settings, momentum=0.9)


def test_learners_of_one_tree_go_their_own_ways(specimen):
    tree = specimen.trained().to_tree()
    one, two = Learner.from_tree(tree), Learner.from_tree(tree)
    before = fingerprint(two)
    for u, d in specimen.samples(40):
        one.update(u, d)
    assert fingerprint(two) == before


def test_only_a_recurrent_learner_minds_earlier_inputs(specimen):
    learner = specimen.trained()
    (first, _), (last, _) = specimen.samples(2)
    minds = not np.array_equal(learner.predict(first, last), learner.predict(last))
    assert minds == learner.recurrent
