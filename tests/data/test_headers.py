"""Names of columns as people write them: which part is the unit, and which columns are times."""

from pathlib import Path

import numpy as np
import pytest

from quatcast.data import Recording, read


def written(folder: Path, header: str, step: float = 0.5) -> Path:
    path = folder / "walk.csv"
    rows = "".join(f"{step * k:g},{k},{2 * k},{3 * k}\n" for k in range(20))
    path.write_text(header + "\n" + rows)
    return path


def assert_walk(recording: Recording, rate: float) -> None:
    assert recording.rate == pytest.approx(rate)
    np.testing.assert_array_equal(recording.positions[:3, 0], [[0, 0, 0], [1, 2, 3], [2, 4, 6]])


@pytest.mark.parametrize(
    ("time", "rate"),
    [
        ("time in s", 2.0),
        ("t/s", 2.0),
        ("T_S", 2.0),
        ("time seconds", 2.0),
        ("time [S]", 2.0),
        ("TIME_MS", 2000.0),
        ("time/ms", 2000.0),
        ("time in ms", 2000.0),
        ("Time In Milliseconds", 2000.0),
        ('"time, ms"', 2000.0),
        ("ms", 2000.0),
        ("t (millisec)", 2000.0),
        ("time [msecs]", 2000.0),
    ],
)
def test_times_are_recognised(time: str, rate: float, tmp_path: Path) -> None:
    assert_walk(read(written(tmp_path, f"{time},x,y,z")), rate)


@pytest.mark.parametrize("form", ["x in mm", "x_MM", "x mm", "x/mm", '"x, mm"', "x [MM]", "x (Mm)", "x in Millimetres"])
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("name", ["", "Chest "])
def test_unit_of_coordinates(form: str, upper: bool, name: str, tmp_path: Path) -> None:
    forms = [name + form.replace("x", axis, 1) for axis in "xyz"]
    header = ",".join(f'"{name}{one.replace(chr(34), "").removeprefix(name)}"' for one in forms)
    recording = read(written(tmp_path, "time," + (header.upper() if upper else header)))
    assert_walk(recording, 2.0)
    assert recording.units == ("mm",)
    assert recording.channels == (((name.upper() if upper else name).strip()) or "channel1",)


@pytest.mark.parametrize(
    ("form", "channel", "unit"),
    [
        ("x_m", "channel1", "m"),
        ("x in m", "channel1", "m"),
        ("x/m", "channel1", "m"),
        ("x in in", "channel1", "in"),
        ("x m", "m", ""),
        ("X_M", "M", ""),
        ("X_CM", "CM", ""),
        ("x s", "s", ""),
        ("X_NS", "NS", ""),
    ],
)
def test_unit_that_may_be_a_name(form: str, channel: str, unit: str, tmp_path: Path) -> None:
    header = ",".join(axis + form[1:] for axis in ("XYZ" if form[0] == "X" else "xyz"))
    recording = read(written(tmp_path, f"time,{header}"))
    assert (recording.channels, recording.units) == ((channel,), (unit,))


def test_units_in_capitals_below_the_header(tmp_path: Path) -> None:
    recording = read(written(tmp_path, "time,x,y,z\nMS,MM,MM,MM"))
    assert_walk(recording, 2000.0)
    assert recording.units == ("mm",)


def test_speed_is_not_split(tmp_path: Path) -> None:
    recording = read(written(tmp_path, "time,vx m/s,vy m/s,vz m/s"), columns=["v=2,3,4"])
    assert recording.units == ("",)


@pytest.mark.parametrize("name", ["Zeitpunkt in ms", "arrival_ms", "arrival/MS"])
def test_unit_in_the_name_of_a_chosen_column(name: str, tmp_path: Path) -> None:
    assert_walk(read(written(tmp_path, f"{name},x,y,z"), time=1), 2000.0)


def test_chosen_column_with_a_unit_elsewhere_in_its_name(tmp_path: Path) -> None:
    path = written(tmp_path, "ms since start,x,y,z")
    with pytest.raises(ValueError, match=r"'ms since start' is not clear from its name.*--time-unit ms"):
        read(path, time=1)
    assert_walk(read(path, time=1, time_unit="ms"), 2000.0)


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("arrival_ms", r"'arrival_ms' looks like one: .*--time arrival_ms --time-unit ms\)"),
        ("frame time", r"'frame time' looks like one: .*--time 'frame time'\)"),
    ],
)
def test_column_that_looks_like_times_is_named(name: str, advice: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=advice):
        read(written(tmp_path, f"{name},x,y,z"))


def test_milliseconds_beside_a_time(tmp_path: Path) -> None:
    path = tmp_path / "walk.csv"
    path.write_text("ms,time,x,y,z\n" + "".join(f"{500 * (k % 2)},{k / 2},{k},{2 * k},{3 * k}\n" for k in range(20)))
    recording = read(path)
    assert_walk(recording, 2.0)
    assert recording.notes[0] == "the times are those of the column 'time'"


def test_lowest_temperature_is_no_time(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="add a column named `time`"):
        read(written(tmp_path, "T_MIN,x,y,z"))
