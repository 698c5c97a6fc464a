"""A part of the cases of benchmarks/damage.py: damaged and forged checkpoints, and savers that are killed."""

import json
import os
import random
import sys
from pathlib import Path

import numpy as np
import pytest
from programs import load_program

from quatcast import QRNN, RLS, Forecaster, Guarded, Persistence, checkpoint
from quatcast.checkpoint.container import _ABANDONED


@pytest.fixture(scope="module")
def damage():
    yield load_program("damage")
    del sys.modules["damage"]


@pytest.fixture(scope="module")
def files(damage, tmp_path_factory):
    return damage.small_checkpoints(tmp_path_factory.mktemp("checkpoints"))


@pytest.mark.parametrize("kind", ["flips", "truncations", "forgeries"])
def test_damaged_and_forged_files(damage, files, tmp_path, kind):
    outcomes = getattr(damage, kind)(files, tmp_path / "scratch", 300, random.Random(1))
    assert sum(outcomes.values()) == 300
    assert damage.report(kind, outcomes, 0.0) == 0


def test_killed_savers(damage, tmp_path):
    outcomes = damage.kills(tmp_path, 3, random.Random(1))
    assert outcomes["whole"] == 3
    assert outcomes["of these not removed by a later save"] == 0


def test_temporary_files_of_others_are_left_alone(tmp_path):
    young, other = tmp_path / ".file.0123.part", tmp_path / ".other.0123.part"
    young.write_bytes(b"")
    other.write_bytes(b"")
    os.utime(other, (0, 0))
    checkpoint.write(tmp_path / "file", 1)
    assert young.exists()
    assert other.exists()
    assert _ABANDONED >= 60


def outline_of(damage, path):
    return damage.split(path.read_bytes())


def learner_of(path: Path, damage) -> tuple:
    learner = QRNN((3,), max_depth=5)
    for _ in range(4):
        learner.update(np.ones((2, 4)), np.ones((1, 4)))
    learner.save(path)
    return outline_of(damage, path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda tree, other: tree.update(state=other["state"]), "QRNN.state is a RLSState"),
        (lambda tree, other: tree.update(state={"value": 3}), "QRNN.state is a int"),
        (lambda tree, other: tree["state"].update(object=["LearnerState", "quatcast.learners.base"]), ""),
        (lambda tree, other: tree["state"]["settings"]["dict"].pop(), ""),
        (lambda tree, other: tree.update(object=["Gate", "quatcast.safety.gate"]), ""),
    ],
)
def test_states_that_do_not_belong_to_the_object(damage, tmp_path, change, words):
    outline, body = learner_of(tmp_path / "qrnn", damage)
    rls = RLS().begin(2, 1)
    rls.save(tmp_path / "rls")
    change(outline["tree"], outline_of(damage, tmp_path / "rls")[0]["tree"])
    (tmp_path / "forged").write_bytes(damage.join(outline, body))
    with pytest.raises(ValueError, match=rf"forged: cannot be restored: .*{words}"):
        checkpoint.read(tmp_path / "forged")


def test_numbers_that_became_nan_are_refused_but_those_that_were_nan_are_not(damage, tmp_path):
    checkpoint.write(tmp_path / "a", np.arange(1.0, 5.0))
    outline, body = outline_of(damage, tmp_path / "a")
    (tmp_path / "b").write_bytes(damage.join(outline, body[:-8] + np.array([np.nan]).tobytes()))
    with pytest.raises(ValueError, match="b: cannot be restored: array 0 contains NaN or infinity"):
        checkpoint.read(tmp_path / "b")
    checkpoint.write(tmp_path / "c", np.array([1.0, np.nan, np.inf]))
    assert np.isnan(checkpoint.read(tmp_path / "c")[1])


def test_weights_of_another_shape_are_refused(damage, tmp_path):
    outline, body = learner_of(tmp_path / "qrnn", damage)
    for entry in outline["arrays"]:
        if len(entry["shape"]) == 4:
            entry["shape"] = [entry["shape"][0], 1, *entry["shape"][:0:-1]]
    (tmp_path / "forged").write_bytes(damage.join(outline, body))
    with pytest.raises(ValueError, match="forged: cannot be restored: "):
        checkpoint.read(tmp_path / "forged")


@pytest.mark.parametrize("depth", [100, 900, 5000, 100_000])
def test_deep_nesting(damage, tmp_path, depth):
    text = '{"list":[' * depth + '{"value":1}' + "]}" * depth
    (tmp_path / "deep").write_bytes(damage.join(b'{"arrays":[],"tree":' + text.encode() + b"}", b""))
    if depth < 200:  # within what Python can read
        assert checkpoint.read(tmp_path / "deep")
        return
    with pytest.raises(ValueError, match="deep: cannot be restored: "):
        checkpoint.read(tmp_path / "deep")


def test_messages_are_short(damage, tmp_path):
    tree = {"object": ["x" * 1_000_000, "y\n" * 1000], "settings": {"dict": []}}
    (tmp_path / "long").write_bytes(damage.join({"arrays": [], "tree": tree}, b""))
    with pytest.raises(ValueError, match="cannot be restored") as caught:
        checkpoint.read(tmp_path / "long")
    assert len(str(caught.value)) < 600
    assert "\n" not in str(caught.value)


def test_sizes_in_settings_are_bounded(damage, tmp_path):
    Forecaster(Persistence(), horizon=2, lags=3).save(tmp_path / "f")
    outline, body = outline_of(damage, tmp_path / "f")
    text = json.dumps(outline)
    guarded = Guarded(Forecaster(Persistence(), horizon=2, lags=3, train=20), rate=10.0)
    for t in range(30):
        guarded.update(np.full((1, 3), np.sin(t)))
    guarded.save(tmp_path / "g")
    whole = json.dumps(outline_of(damage, tmp_path / "g")[0])
    assert '["horizon", {"value": 2}]' in text
    for source, content, old, new in (
        (
            text,
            body,
            '["lags", {"list": [{"value": 2}, {"value": 1}, {"value": 0}]}]',
            '["lags", {"value": 10000000000}]',
        ),
        (
            whole,
            outline_of(damage, tmp_path / "g")[1],
            '["horizon", {"value": 2}]',
            '["horizon", {"value": 900000000000}]',
        ),
    ):
        assert old in source
        (tmp_path / "large").write_bytes(damage.join(source.replace(old, new).encode(), content))
        with pytest.raises(ValueError, match="large: cannot be restored: "):
            checkpoint.read(tmp_path / "large")
