"""Sentinels and valid ranges of a live stream: such samples count as missing before anything is made of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from quatcast.basics.typing import Floats
from quatcast.cli import run
from quatcast.forecasting.velocity import ConstantVelocity
from quatcast.live import Frame, LiveSettings, Pipeline
from quatcast.live.supervisor import parse_config
from quatcast.safety.gate import Gate
from quatcast.safety.guard import Guarded

RATE = 20.0
MISSING = {"position": slice(0, 3), "orientation": slice(0, 4), "pose": slice(0, 7)}


def build(horizons: tuple[float, ...], rate: float, names: tuple[str, ...], space: str) -> Guarded:
    return Guarded(ConstantVelocity(horizon=3), rate=rate, names=names, space=space)


def motion(space: str, n: int = 80) -> Floats:
    """Two channels that move and turn."""
    t = np.arange(n)[:, None] / RATE + np.array([0.0, 0.4])
    positions = 100 + 10 * np.stack([np.sin(t), np.cos(1.3 * t), np.sin(0.7 * t)], axis=-1)
    half = 0.2 + 0.3 * np.sin(t) / 2
    turns = np.stack([np.cos(half), np.sin(half), 0 * half, 0 * half], axis=-1)
    return {"position": positions, "orientation": turns, "pose": np.concatenate([positions, turns], axis=-1)}[space]


def forecasts(values: Floats, settings: LiveSettings) -> list[Floats]:
    """Return all forecasts of frames that arrive between the points of the grid, so that values are interpolated."""
    pipeline, made = Pipeline(settings, build), []
    jitter = np.random.default_rng(1).uniform(-0.2, 0.2, len(values)) / RATE
    for i, row in enumerate(values):
        time = i / RATE + (jitter[i] if i else 0.0)
        for sample in pipeline.take(Frame("s", i, time, 500 + time, row, ("one", "two"))).samples:
            made.append(pipeline.forecast(sample).position)
            pipeline.learn()
    return made


@pytest.mark.parametrize(
    ("space", "columns", "fault", "sentinel"),
    [
        ("position", slice(0, 3), 9999.0, 9999.0),
        ("position", slice(0, 3), (0.0, -1.0, 5.0), (0.0, -1.0, 5.0)),
        ("orientation", slice(0, 4), (0.5, 0.5, 0.5, 0.5), 0.5),
        ("orientation", slice(0, 4), 0.0, None),
        ("pose", slice(0, 3), 9999.0, 9999.0),
        ("pose", slice(0, 3), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
        ("pose", slice(3, 7), (1.0, 0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)),
        ("pose", slice(0, 7), (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)),
    ],
)
def test_a_sentinel_equals_a_missing_sample(space, columns, fault, sentinel):
    spoilt, missing = motion(space), motion(space)
    for gap in (slice(30, 31), slice(50, 60)):
        spoilt[gap, 1, columns] = fault
        missing[gap, 1, MISSING[space]] = np.nan
    settings = LiveSettings(rate=RATE, space=space)
    named = settings if sentinel is None else replace(settings, sentinel=(sentinel,))
    made, expected = forecasts(spoilt, named), forecasts(missing, settings)
    np.testing.assert_array_equal(made, expected)
    if sentinel is not None:
        # What is lost makes a difference, so that the comparison above can fail.
        assert not np.array_equal(forecasts(motion(space), settings), expected, equal_nan=True)


def test_a_zero_quaternion_makes_only_the_orientation_of_a_pose_missing():
    spoilt, missing = motion("pose"), motion("pose")
    spoilt[40:45, 0, 3:], missing[40:45, 0, 3:] = 0.0, np.nan
    settings = LiveSettings(rate=RATE, space="pose")
    np.testing.assert_array_equal(forecasts(spoilt, settings), forecasts(missing, settings))


def test_a_valid_range_may_differ_per_channel():
    spoilt, missing = motion("pose"), motion("pose")
    spoilt[40:45, 0, 2], missing[40:45, 0] = 150.0, np.nan
    spoilt[50:55, 1, 2] = 150.0
    missing[50:55, 1, 2] = 150.0
    plain = LiveSettings(rate=RATE, space="pose")
    ranged = replace(plain, valid=(("", -500.0, 500.0), ("one", 0.0, 120.0)))
    np.testing.assert_array_equal(forecasts(spoilt, ranged), forecasts(missing, plain))


def test_the_guard_compares_sentinels_with_samples_before_they_become_coordinates():
    for space, sentinel, columns in (("orientation", 0.0, slice(0, 4)), ("pose", 9999.0, slice(0, 3))):
        spoilt, missing = motion(space), motion(space)
        spoilt[40:50, 1, columns], missing[40:50, 1] = sentinel, np.nan
        guards = [
            Guarded(ConstantVelocity(horizon=3), rate=RATE, space=space, gate=Gate(RATE, sentinels=sentinels))
            for sentinels in ([sentinel], [])
        ]
        made, expected = (guard.run(rows) for guard, rows in zip(guards, (spoilt, missing), strict=True))
        np.testing.assert_array_equal(made.positions, expected.positions)
        # The first orientation has the coordinates 0, which are not the sentinel.
        assert not made.replaced[0].any()


def test_settings_are_written_and_read_again():
    settings = LiveSettings(sentinel=(9999.0, (0.0, 0.0, 0.0)), valid=(("", -5.0, 5.0), ("chest", 0.0, 1.0)))
    assert LiveSettings.from_json(settings.to_json()) == settings


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            {"space": "pose", "sentinel": ((1.0, 2.0),)},
            "sentinels: expected 1 or 3 or 4 or 7 numbers for the space 'pose'",
        ),
        ({"names": ("one",), "valid": (("two", 0.0, 1.0),)}, "valid: expected a channel of one, got 'two'"),
        ({"valid": (("", 1.0, 0.0),)}, "valid: expected the smaller number first"),
    ],
)
def test_wrong_settings_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        LiveSettings(**wrong)


def test_a_file_names_sentinels_and_ranges():
    options = {"source": "simulated:", "sentinel": [9999, [0, 0, 0]], "valid": ["-500:500", "chest=0:50"]}
    words = parse_config({"streams": {"chest": options}}, "live.toml")[0].words
    assert words[3:] == (
        *("--sentinel", "9999", "--sentinel", "0,0,0"),
        *("--valid", "-500:500", "--valid", "chest=0:50"),
    )
    single = parse_config({"streams": {"a": {"source": "simulated:", "sentinel": -1, "valid": "0:9"}}}, "x")[0].words
    assert single[3:] == ("--sentinel", "-1", "--valid", "0:9")


def test_the_command_takes_them_and_says_what_is_wrong(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    live = ["live", "simulated:?speed=0&seconds=1", "--rate", "10"]
    assert run([*live, "--sentinel", "-9999", "--sentinel", "0,0,0", "--valid", "-500:500", "--record", "s"]) == 0
    assert '"valid": [\n' in (tmp_path / "s/session.json").read_text()
    capfd.readouterr()
    for options, message in (
        (["--sentinel", "lost"], "--sentinel: expected a number, or several separated by commas, got 'lost'"),
        (["--sentinel", "1,2"], "--sentinel: expected 1 or 3 numbers for the space 'position', got [1.0, 2.0]"),
        (["--valid", "knee=0:1"], "--valid: expected a channel of"),
    ):
        assert run([*live, *options]) == 2
        told = capfd.readouterr().err.strip().splitlines()[-1]
        assert told.startswith(f"quatcast: {message}"), told
