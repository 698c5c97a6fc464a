"""Checkpoints: objects, their classes and devices, and the undoing of a step."""

import copy
import inspect
import subprocess
import sys
from collections import deque

import numpy as np
import pytest
from checkpoint_tools import Holder, Leaf, array_of, forge, round_trip

from quatcast import MCC, QRNN, RLS, Adam, Forecaster, Guarded, Learner, Replay, checkpoint
from quatcast.checkpoint import Checkpointable
from quatcast.data import simulated
from quatcast.forecasting.mixture import Mixture
from quatcast.forecasting.velocity import LastPosition
from quatcast.safety.gate import Gate
from quatcast.testing import fingerprint

CONTINUE = """
import sys
import numpy as np
from quatcast import Learner
from quatcast.testing import fingerprint

learner = Learner.load(sys.argv[1])
data = np.load(sys.argv[2])
predictions = [learner.update(u, d).prediction for u, d in zip(data["u"], data["d"])]
np.save(sys.argv[3], predictions)
learner.save(sys.argv[4])
print(fingerprint(learner))
"""


@pytest.mark.parametrize("replay", [None, Replay()], ids=["plain", "replay"])
@pytest.mark.parametrize("seeds", [3, range(2)], ids=["single", "runs"])
def test_a_new_process_continues_bit_for_bit(tmp_path, seeds, replay):
    rng = np.random.default_rng(0)
    u, d = rng.normal(size=(100, 3, 4)), rng.normal(size=(100, 2, 4))
    optimizer = Adam(learning_rate=0.01)
    learner = QRNN((4, 3), loss=MCC(sigma="adaptive"), optimizer=optimizer, seeds=seeds, init_std=0.1, replay=replay)
    for x, y in zip(u[:70], d[:70], strict=True):
        learner.update(x, y)
    paths = [str(tmp_path / name) for name in ("half", "data.npz", "rest.npy", "end")]
    learner.save(paths[0])
    np.savez(paths[1], u=u[70:], d=d[70:])
    done = subprocess.run([sys.executable, "-c", CONTINUE, *paths], check=True, capture_output=True, text=True)
    expected = [learner.update(x, y).prediction for x, y in zip(u[70:], d[70:], strict=True)]
    np.testing.assert_array_equal(np.load(paths[2]), expected)
    assert done.stdout.strip() == fingerprint(learner) == fingerprint(Learner.load(paths[3]))


def test_an_object_comes_back_with_or_without_its_state(tmp_path):
    holder = Holder({"a": 1})
    assert not round_trip(holder, tmp_path).begun
    holder.state = Leaf(np.arange(3.0))
    assert fingerprint(round_trip(holder, tmp_path)) == fingerprint(holder)
    with pytest.raises(ValueError, match=r"Holder has not begun: call begin\(...\) first"):
        _ = Holder().state


def test_an_unknown_class_is_named_and_nothing_is_imported(tmp_path):
    before = set(sys.modules)
    path = forge(
        tmp_path / "x", {"arrays": [], "tree": {"object": ["Flight", "antigravity"], "settings": {"dict": []}}}
    )
    with pytest.raises(
        ValueError, match=r"x: .*class 'Flight' of antigravity is not known; import the module that defines it"
    ):
        checkpoint.read(path)
    assert set(sys.modules) == before


@pytest.mark.parametrize("device", ["antigravity", "os", "this", "no.such", "", 3])
def test_an_unknown_device_is_refused_and_nothing_is_imported(tmp_path, device):
    before = set(sys.modules)
    path = forge(tmp_path / "x", array_of(device=device), bytes(8))
    with pytest.raises(ValueError, match="x: cannot be restored: device: "):
        checkpoint.read(path)
    assert set(sys.modules) == before


def test_arrays_of_another_library_come_back_in_it(tmp_path):
    strict = pytest.importorskip("array_api_strict")
    back = round_trip({"a": strict.asarray([1.0, 2.0])}, tmp_path)["a"]
    assert type(back) is type(strict.asarray(0.0))
    np.testing.assert_array_equal(np.from_dlpack(back), [1.0, 2.0])


def test_another_class_is_refused(tmp_path):
    Gate(10.0).save(tmp_path / "gate")
    with pytest.raises(ValueError, match=r"gate: expected a QRNN, got a Gate"):
        QRNN.load(tmp_path / "gate")
    checkpoint.write(tmp_path / "list", [1, 2])
    with pytest.raises(ValueError, match=r"list: expected a Learner, got a list"):
        Learner.load(tmp_path / "list")


class Eager(Holder):
    @classmethod
    def load(cls, path):
        found = super().load(path)
        found.state = "loaded"
        return found


def test_load_on_an_object_says_what_to_write(tmp_path):
    """It would return another object, and leave this one as it is."""
    gate = Gate(10.0)
    gate.save(tmp_path / "gate")
    assert hasattr(gate, "load")
    with pytest.raises(TypeError, match=r"returns a new object.*write … = Gate\.load\(path\)"):
        gate.load(path=tmp_path / "gate")
    assert list(inspect.signature(Gate.load).parameters) == ["path"]
    assert isinstance(inspect.getattr_static(Gate, "load"), classmethod)


def test_load_of_a_subclass_may_call_that_of_its_base(tmp_path):
    Eager(3).save(tmp_path / "eager")
    assert Eager.load(tmp_path / "eager").state == "loaded"


def test_classes_of_one_name_are_told_apart_by_their_module(tmp_path):
    Holder(3).save(tmp_path / "mine")
    other = type("Holder", (Checkpointable,), {"__module__": "elsewhere"})
    try:
        assert type(Holder.load(tmp_path / "mine")) is Holder
        moved = forge(tmp_path / "moved", {"arrays": [], "tree": {"object": ["Holder", "gone"], "settings": {}}})
        with pytest.raises(
            ValueError, match=r"class 'Holder' of gone is not known.*several, in checkpoint_tools, elsewhere"
        ):
            checkpoint.read(moved)
    finally:
        del Checkpointable._registry["Holder"][other.__module__]


def test_a_class_that_has_moved_to_another_module_is_found(tmp_path):
    settings = {"dict": [["setting", {"value": 4}]]}
    path = forge(tmp_path / "old", {"arrays": [], "tree": {"object": ["Holder", "old_module"], "settings": settings}})
    assert checkpoint.read(path).setting == 4


def test_a_class_may_be_defined_again_in_its_module(tmp_path):
    first, second = (type("Twice", (Holder,), {"__module__": __name__}) for _ in range(2))
    first(3).save(tmp_path / "t")
    assert type(Checkpointable.load(tmp_path / "t")) is second


def test_a_mark_serves_several_attempts():
    rng = np.random.default_rng(0)
    leaf = Leaf({"last": 1})
    holder = Holder()
    holder.state = Leaf([leaf, Leaf(deque([1, 2])), Leaf(rng), 5])
    before, mark = fingerprint(holder), holder.mark()
    for _ in range(3):
        leaf.content["last"] = 2
        holder.state.content[1].content.append(3)
        holder.state.content[2].content.normal()
        holder.state.content.append(6)
        assert fingerprint(holder) != before
        holder.rewind(mark)
        assert fingerprint(holder) == before


def test_rewinding_to_a_mark_before_the_beginning_takes_the_state_away():
    learner = RLS()
    mark = learner.mark()
    learner.update([1.0], [2.0])
    learner.rewind(mark)
    assert not learner.begun


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_a_copy_and_its_original_do_not_disturb_each_other(duplicate):
    x = simulated(seconds=9)[1].positions
    original, other = (Guarded(Forecaster(RLS(), horizon=2, lags=3, train=30), rate=10.0) for _ in range(2))
    for row in x[:50]:
        original.update(row)
        other.update(row)
    copied = duplicate(original)
    for row in x[50:]:
        expected = other.update(row).position
        np.testing.assert_array_equal(copied.update(row).position, expected)
        np.testing.assert_array_equal(original.update(row).position, expected)


def test_the_text_of_an_object_shows_the_settings_that_were_chosen():
    forecaster = Forecaster(RLS(), horizon=5, lags=[1, 0])
    mixture = Mixture([forecaster, LastPosition(5)], memory=250)
    text = repr(Guarded(mixture, rate=10.0, gate=Gate(sentinels=[9999]), names=("belly", "chest")))
    assert text == (
        "Guarded(forecaster=Mixture(2 members, memory=250), rate=10.0, "
        "gate=Gate(rate=10.0, sentinels=(9999,)), names=('belly', 'chest'))"
    )
    assert repr(Holder(np.zeros((300, 3)))) == "Holder(setting=array of shape (300, 3))"
    assert repr(forecaster) == f"Forecaster(learner={RLS()!r}, horizon=5, lags=[1, 0])"


def test_an_object_whose_constructor_stores_nothing_has_a_text_too():
    class Careless(Checkpointable):
        def __init__(self, size):
            pass

    assert "Careless object at" in repr(Careless(3))
