"""Times of recordings: measured rate, jitter, gaps, resampling, and contradictions."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quatcast.data import read
from quatcast.data.timing import measure, resample


def written(path: Path, times: np.ndarray, decimals: int = 6) -> Path:
    rows = "".join(f"{t:.{decimals}f},{np.sin(t)},{np.cos(t)},{t}\n" for t in times)
    path.write_text(f"time,a.x,a.y,a.z\n{rows}")
    return path


def test_times_in_whole_milliseconds_give_the_true_rate(tmp_path: Path) -> None:
    """The median step is 17 ms, which would be 58.8 Hz."""
    recording = read(written(tmp_path / "a.csv", np.round(np.arange(2000) / 60, 3)))
    assert recording.rate == pytest.approx(60.0, rel=1e-5)
    assert recording.timing is not None
    assert 0.0 < recording.timing.jitter < 0.0006
    assert not recording.notes
    assert len(recording) == 2000


def test_uneven_times_are_resampled_and_said(tmp_path: Path) -> None:
    times = np.cumsum(np.random.default_rng(0).uniform(0.06, 0.14, 600))
    recording = read(written(tmp_path / "a.csv", times))
    (note,) = recording.notes
    assert "uneven times" in note
    assert "resampled" in note
    assert f"{recording.timing.rate:.6g} Hz" in note
    np.testing.assert_allclose(np.diff(recording.times), 1 / recording.rate, atol=2e-9)
    seen = ~np.isnan(recording.positions[:, 0, 0])
    assert seen.mean() > 0.95
    # The signal is known at every time, so that the error is that of the interpolation alone: at most step² / 8.
    np.testing.assert_allclose(recording.positions[seen, 0, 2], recording.times[seen], atol=1e-6)
    np.testing.assert_allclose(recording.positions[seen, 0, 0], np.sin(recording.times[seen]), atol=0.15**2 / 8 + 1e-6)


def turning(times: np.ndarray, seed: int) -> np.ndarray:
    """Return the quaternions of a slow rotation, with random signs as some systems give them."""
    angle = times / 2
    turns = np.stack([np.cos(angle), np.sin(angle), 0 * angle, 0 * angle], axis=1)
    return turns * np.random.default_rng(seed).choice([-1.0, 1.0], (len(times), 1))


def turned(path: Path, times: np.ndarray, *, pose: bool, missing: tuple[int, ...] = ()) -> Path:
    names = [*(["b.x", "b.y", "b.z"] if pose else []), *(f"b.q{axis}" for axis in "wxyz")]
    lines = [",".join(["time", *names])]
    for row, (time, q) in enumerate(zip(times, turning(times, 3), strict=True)):
        cells = [f"{time:.6f}", *([str(-row), "1", "2"] if pose else []), *(repr(float(part)) for part in q)]
        lines.append(",".join([*cells[:-4], "", "", "", ""] if row in missing else cells))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("pose", [False, True])
@pytest.mark.parametrize("missing", [(), (100, 101, 300)])
def test_quaternions_of_changing_sign_are_resampled_along_the_shorter_way(
    pose: bool, missing: tuple[int, ...], tmp_path: Path
) -> None:
    times = np.round(np.cumsum(np.random.default_rng(0).uniform(0.06, 0.14, 600)), 6)
    recording = read(turned(tmp_path / "a.csv", times, pose=pose, missing=missing))
    assert recording.space == ("pose" if pose else "orientation")
    assert "resampled" in " ".join(recording.notes)
    turns = recording.positions[:, 0, -4:]
    seen = ~np.isnan(turns[:, 0])
    assert seen.sum() >= 590 - 3 * len(missing)
    truth = np.stack([np.cos(recording.times / 2), np.sin(recording.times / 2)], axis=1)
    cosine = np.abs(np.sum(turns[seen, :2] * truth[seen], axis=1))
    np.testing.assert_allclose(cosine, 1.0, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(turns[seen], axis=1), 1.0, atol=1e-12)
    if pose:
        assert (np.diff(recording.positions[~np.isnan(recording.positions[:, 0, 0]), 0, 0]) < 0).all()


def test_a_quaternion_of_zeros_at_uneven_times_is_missing(tmp_path: Path) -> None:
    times = np.round(np.cumsum(np.random.default_rng(0).uniform(0.06, 0.14, 600)), 6)
    lines = turned(tmp_path / "a.csv", times, pose=False).read_text().splitlines()
    lines[1] = f"{times[0]:.6f},0,0,0,0"
    (tmp_path / "a.csv").write_text("\n".join(lines))
    turns = read(tmp_path / "a.csv").positions[:, 0]
    assert np.isnan(turns[0]).all()
    assert not np.isnan(turns[1:10]).any()


def test_vectors_of_changing_sign_are_resampled_as_they_are(tmp_path: Path) -> None:
    times = np.round(np.cumsum(np.random.default_rng(0).uniform(0.06, 0.14, 600)), 6)
    recording = read(turned(tmp_path / "a.csv", times, pose=False), space="vector")
    _, expected = resample(times, turning(times, 3), recording.rate, np.zeros(599, dtype=bool))
    np.testing.assert_array_equal(recording.positions[:, 0], expected)


def test_quaternions_at_even_times_keep_the_signs_of_the_file(tmp_path: Path) -> None:
    times = np.arange(200) / 10
    recording = read(turned(tmp_path / "a.csv", times, pose=True))
    np.testing.assert_array_equal(recording.positions[:, 0, 3:], turning(times, 3))


@settings(deadline=None, max_examples=60)
@given(
    steps=st.lists(st.floats(0.02, 0.3), min_size=3, max_size=40),
    cut=st.integers(2, 40),
    change=st.floats(-5.0, 5.0),
)
def test_resampling_does_not_look_ahead(steps: list[float], cut: int, change: float) -> None:
    """What is resampled up to a row does not depend on the rows after it."""
    times = np.concatenate([[0.0], np.cumsum(steps)])
    values = np.sin(7 * times)[:, None]
    cut = min(cut, len(times))
    grid, whole = resample(times, values, 10.0)
    later = values.copy()
    later[cut:] += change
    for part in (resample(times[:cut], values[:cut], 10.0)[1], resample(times, later, 10.0)[1]):
        known = int(np.searchsorted(grid, times[cut - 1], side="right"))
        np.testing.assert_array_equal(part[:known], whole[:known])


def test_gaps_are_missing_and_said(tmp_path: Path) -> None:
    times = np.delete(np.arange(100) / 10, [30, 31, 50])
    recording = read(written(tmp_path / "a.csv", times))
    assert np.flatnonzero(np.isnan(recording.positions[:, 0, 0])).tolist() == [30, 31, 50]
    assert recording.notes == ("gaps: 3 samples are missing in 2 gaps of up to 0.3 s",)
    assert (recording.timing.gaps, recording.timing.missing) == (2, 3)


def test_a_drifting_clock_keeps_every_row(tmp_path: Path) -> None:
    times = np.cumsum(np.linspace(0.099, 0.101, 3000))
    recording = read(written(tmp_path / "a.csv", times))
    assert len(recording) == 3000
    assert not np.isnan(recording.positions).any()


def test_repeated_times_are_left_out_and_said(tmp_path: Path) -> None:
    times = np.sort(np.concatenate([np.arange(100) / 10, [2.0, 5.0]]))
    recording = read(written(tmp_path / "a.csv", times))
    assert len(recording) == 100
    assert recording.notes == ("2 rows repeat the time of the row before; ignored",)


@pytest.mark.parametrize(("rate", "fits"), [(10.0, True), (10.1, True), (9.0, False), (100.0, False), (1.0, False)])
def test_rate_must_fit_the_times(rate: float, fits: bool, tmp_path: Path) -> None:
    file = written(tmp_path / "a.csv", np.arange(50) / 10)
    if fits:
        assert read(file, rate=rate).rate == rate
    else:
        with pytest.raises(ValueError, match=rf"rate: the times of a\.csv say 10 Hz, got {rate:g} Hz"):
            read(file, rate=rate)
        assert read(file, rate=rate, ignore=["time"]).rate == rate


@settings(deadline=None, max_examples=60)
@given(rate=st.floats(1.0, 250.0), jitter=st.floats(0.0, 0.1), seed=st.integers(0, 99))
def test_measured_rate(rate: float, jitter: float, seed: int) -> None:
    times = (np.arange(500) + jitter * np.random.default_rng(seed).uniform(-1, 1, 500)) / rate
    timing = measure(times)
    assert timing.rate == pytest.approx(rate, rel=1e-3)
    assert timing.jitter == pytest.approx(jitter * np.sqrt(2 / 3) / rate, rel=0.2, abs=1e-8)
    assert (timing.gaps, timing.uneven) == (0, 0.0)


@settings(deadline=None, max_examples=150)
@given(
    rate=st.floats(1.0, 250.0),
    jitter=st.floats(0.0, 0.4),
    blocks=st.lists(st.tuples(st.integers(10, 680), st.integers(1, 12)), max_size=8),
    seed=st.integers(0, 9999),
)
def test_jitter_neither_changes_the_rate_nor_hides_or_makes_gaps(
    rate: float, jitter: float, blocks: list[tuple[int, int]], seed: int
) -> None:
    index = np.arange(700)
    times = (index + np.random.default_rng(seed).uniform(-jitter, jitter, 700)) / rate
    there = np.ones(700, dtype=bool)
    for start, length in blocks:
        there[start : start + length] = False
    skipped = np.diff(index[there]) - 1
    timing = measure(times[there])
    assert timing.rate == pytest.approx(rate, rel=5e-3)
    assert abs(timing.missing - skipped.sum()) <= (skipped > 0).sum()
    assert blocks or timing.gaps == 0


@pytest.mark.parametrize("jitter", [0.3, 0.4])
def test_jitter_makes_no_missing_samples(jitter: float, tmp_path: Path) -> None:
    times = (np.arange(700) + np.random.default_rng(1).uniform(-jitter, jitter, 700)) / 10 + 0.1
    recording = read(written(tmp_path / "a.csv", times))
    assert recording.rate == pytest.approx(10.0, rel=1e-3)
    assert abs(len(recording) - 700) <= 1
    assert not np.isnan(recording.positions).any()
    assert "no gaps" in recording.notes[0]


def test_missing_samples_are_found_among_jitter(tmp_path: Path) -> None:
    times = (np.arange(700) + np.random.default_rng(2).uniform(-0.4, 0.4, 700)) / 10 + 0.1
    recording = read(written(tmp_path / "a.csv", np.delete(times, [200, *range(400, 405)])))
    assert (recording.timing.gaps, recording.timing.missing) == (2, 6)
    lost = recording.times[np.isnan(recording.positions[:, 0, 0])]
    assert set(np.round(10 * (lost - 0.1)).astype(int)) <= {*range(199, 202), *range(399, 406)}
    assert 4 <= len(lost) <= 8


@pytest.mark.parametrize("missing", [(), (300, 301)])
def test_a_clock_with_coarse_ticks_gives_the_true_rate(missing: tuple[int, ...], tmp_path: Path) -> None:
    """At 60 Hz, ticks of 15.6 ms look like 64.1 Hz with every sixteenth sample missing."""
    index = np.delete(np.arange(700), missing)
    recording = read(written(tmp_path / "a.csv", np.floor(index / 60 / 0.0156) * 0.0156))
    assert recording.rate == pytest.approx(60.0, rel=1e-3)
    assert recording.timing.missing == len(missing)


def test_even_times_with_samples_missing_at_random_are_no_coarse_clock() -> None:
    index = np.flatnonzero(np.random.default_rng(0).random(700) > 0.05)
    timing = measure(index / 10)
    assert (timing.rate, timing.missing) == (10.0, index[-1] - index[0] + 1 - len(index))


@pytest.mark.parametrize("spread", [0.1, 0.15])
def test_steps_that_vary_by_themselves_are_no_gaps(spread: float) -> None:
    times = np.cumsum(np.random.default_rng(0).normal(0.1, 0.1 * spread, 700))
    timing = measure(times)
    assert timing.missing == 0
    assert timing.rate == pytest.approx(699 / (times[-1] - times[0]), rel=0.02)


def test_one_of_a_thing_is_in_the_singular(tmp_path: Path) -> None:
    recording = read(written(tmp_path / "a.csv", np.delete(np.arange(100) / 10, 30)))
    assert recording.notes == ("gaps: 1 sample is missing in 1 gap of up to 0.2 s",)
    assert "1 gap of up to 0.2 s, 1 sample missing" in recording.timing.sentence()
    assert repr(recording) == "Recording('a', 100 samples, 1 channel, 3-D, 10 Hz)"
    with pytest.raises(ValueError, match="space: expected an orientation in"):
        read(tmp_path / "a.csv", space="orientation")


def test_a_given_rate_is_not_called_measured(tmp_path: Path) -> None:
    """Numbers of samples tell which are missing, but not how many there are per second."""
    path = tmp_path / "frames.csv"
    path.write_text("frame,x,y,z\n" + "".join(f"{k},{k},0,0\n" for k in range(20) if k != 7))
    timing = read(path, rate=25.0).timing
    assert timing is not None
    assert timing.sentence() == "25 Hz given, 1 gap of up to 0.08 s, 1 sample missing"
