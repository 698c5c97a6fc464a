"""Files that keep a learner: bit for bit in another process, whole or not at all, and nothing else taken for one."""

import subprocess
import sys
from collections import deque

import numpy as np
import pytest

from quatcast import MCC, QRNN, Adam, Learner, checkpoint
from quatcast.engine.replay import Replay
from quatcast.safety.gate import Gate

CONTINUE = """
import sys
import numpy as np
from quatcast import Learner

learner = Learner.load(sys.argv[1])
data = np.load(sys.argv[2])
predictions = [learner.update(u, d).prediction for u, d in zip(data["u"], data["d"])]
np.savez(sys.argv[3], predictions=predictions, draws=[rng.random(3) for rng in learner._generators])
learner.save(sys.argv[4])
"""


@pytest.mark.parametrize("replay", [None, Replay()], ids=["plain", "replay"])
@pytest.mark.parametrize("seeds", [3, range(2)], ids=["single", "runs"])
def test_a_new_process_goes_on_bit_for_bit(tmp_path, seeds, replay):
    rng = np.random.default_rng(0)
    u, d = rng.normal(size=(300, 3, 4)), rng.normal(size=(300, 2, 4))
    learner = QRNN(
        (4, 3), loss=MCC(sigma="adaptive"), optimizer=Adam(rate=0.01), seeds=seeds, init_std=0.1, replay=replay
    )
    for x, y in zip(u[:150], d[:150], strict=True):
        learner.update(x, y)
    paths = [str(tmp_path / name) for name in ("half.npz", "data.npz", "rest.npz", "end.npz")]
    learner.save(paths[0])
    np.savez(paths[1], u=u[150:], d=d[150:])
    subprocess.run([sys.executable, "-c", CONTINUE, *paths], check=True)
    expected = [learner.update(x, y).prediction for x, y in zip(u[150:], d[150:], strict=True)]
    rest = np.load(paths[2])
    np.testing.assert_array_equal(rest["predictions"], expected)
    np.testing.assert_array_equal(rest["draws"], [generator.random(3) for generator in learner._generators])
    ended = Learner.load(paths[3])
    for name, array in learner.parameters().items():
        np.testing.assert_array_equal(ended.parameters()[name], array)


def test_trees_round_trip(tmp_path):
    tree = {"a": [1, 2.5, None, True, "x"], "b": {"c": np.arange(6.0).reshape(2, 3)}, "big": 2**100, "d": (1, 2)}
    tree["last"] = deque([1, 2, 3], maxlen=2)
    checkpoint.write(tmp_path / "t", tree)
    back = checkpoint.read(tmp_path / "t")
    np.testing.assert_array_equal(back["b"].pop("c"), tree["b"]["c"])
    assert back == {"a": [1, 2.5, None, True, "x"], "b": {}, "big": 2**100, "d": (1, 2), "last": deque([2, 3])}
    assert back["last"].maxlen == 2


def test_what_cannot_be_kept_is_refused_and_the_old_file_stays(tmp_path):
    path = tmp_path / "t"
    checkpoint.write(path, {"a": 1})
    with pytest.raises(TypeError, match=r"cannot keep .*object"):
        checkpoint.write(path, {"a": object()})
    assert checkpoint.read(path) == {"a": 1}
    assert [entry.name for entry in tmp_path.iterdir()] == ["t"]


def test_other_files_are_refused(tmp_path):
    (tmp_path / "text").write_text("hello")
    (tmp_path / "empty").write_bytes(b"")
    np.save(tmp_path / "array.npy", np.zeros(3))
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    for name in ("text", "empty", "array.npy", "other.npz"):
        with pytest.raises(ValueError, match=rf"{name}: not a file that quatcast saved"):
            checkpoint.read(tmp_path / name)
    np.savez(tmp_path / "future.npz", outline=np.array('{"format": "quatcast-9"}'))
    with pytest.raises(ValueError, match="format 'quatcast-9'"):
        checkpoint.read(tmp_path / "future.npz")
    with pytest.raises(FileNotFoundError):
        checkpoint.read(tmp_path / "absent")


def test_a_cut_file_is_refused(tmp_path):
    QRNN((3,)).start(2, 1).save(tmp_path / "whole.npz")
    content = (tmp_path / "whole.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match=r"cut\.npz: not a file that quatcast saved"):
        Learner.load(tmp_path / "cut.npz")


def test_a_learner_is_not_read_from_the_file_of_a_forecaster(tmp_path):
    Gate(10.0).save(tmp_path / "gate.npz")
    with pytest.raises(ValueError, match=r"gate\.npz: holds a Gate, not a QRNN"):
        QRNN.load(tmp_path / "gate.npz")


def test_numbers_of_numpy_are_kept_as_numbers(tmp_path):
    checkpoint.write(tmp_path / "n.npz", {"a": np.int64(3), "b": np.float32(0.5), "c": np.bool_(True)})
    assert checkpoint.read(tmp_path / "n.npz") == {"a": 3, "b": 0.5, "c": True}
