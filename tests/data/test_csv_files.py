import re
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from quatcast.data import Recording, read, read_csv, write_csv
from quatcast.data.assembly import LARGEST
from quatcast.forecasting import contract


def table(tmp_path: Path, text: str, encoding: str = "utf-8") -> Path:
    path = tmp_path / "table.csv"
    path.write_text(text, encoding=encoding, newline="")
    return path


@st.composite
def recordings(draw):
    samples, channels = draw(st.integers(2, 6)), draw(st.integers(1, 4))
    dimensions = draw(st.sampled_from([3, 4]))
    value = st.floats(-1e9, 1e9) | st.just(np.nan)
    rate = draw(st.floats(0.5, 1000.0))
    word = st.text("abcXYZ019 ._;,\"'é", min_size=1, max_size=8).filter(lambda text: text == text.strip())
    # Columns of this name would be taken for those of an accelerometer.
    word = word.filter(lambda text: "acc" not in text.lower())
    return Recording(
        "table",
        draw(arrays(float, (samples, channels, dimensions), elements=value)),
        draw(st.floats(-100.0, 100.0)) + np.arange(samples) / rate,
        rate,
        channels=tuple(draw(st.lists(word, min_size=channels, max_size=channels, unique=True))),
    )


@settings(deadline=None, max_examples=150)
@given(recording=recordings())
def test_a_written_recording_is_read_back_exactly(recording, tmp_path_factory):
    # Four columns of norm 1 would be taken for an orientation.
    assume(recording.dimensions == 3 or not (np.abs(np.linalg.norm(recording.positions, axis=-1) - 1) < 0.1).any())
    path = tmp_path_factory.mktemp("csv") / "table.csv"
    write_csv(recording, path)
    again = read_csv(path)
    np.testing.assert_array_equal(again.positions, recording.positions)
    np.testing.assert_array_equal(again.times, recording.times)
    assert again.channels == recording.channels
    assert again.name == recording.name
    assert again.rate == pytest.approx(recording.rate, rel=1e-6)


def test_contents_of_a_written_file(tmp_path):
    positions = [[[1.5, 2.0, np.nan]], [[0.1, -3.0, 4.0]]]
    path = tmp_path / "out.csv"
    write_csv(Recording("r", positions, [0.0, 0.1], 10.0, channels=("hip",)), path)
    assert path.read_text().splitlines() == ["time,hip.x,hip.y,hip.z", "0.0,1.5,2.0,", "0.1,0.1,-3.0,4.0"]


@pytest.mark.parametrize(
    "text",
    [
        "time,a.x,a.y,a.z\n0,1.5,2,\n0.1,-3,nan,4\n",
        "time;a.x;a.y;a.z\r\n0;1,5;2;\r\n0,1;-3;NaN;4\r\n",
        "a_x;a_y;a_z;T\n1.5;2;;0\n-3;nan;4;0.1\n\n",
        '"t"\t"a x"\t"a y"\t"a z"\n0\t1,5\t2\t\n0,1\t-3\t\t4',
        " time , a.X , a.Y , a.Z \n 0 , 1.5 , 2 , \n 0.1 , -3 , nan , 4\n",
    ],
)
def test_dialects(tmp_path, text):
    recording = read_csv(table(tmp_path, text))
    np.testing.assert_array_equal(recording.positions[:, 0], [[1.5, 2.0, np.nan], [-3.0, np.nan, 4.0]])
    assert recording.times.tolist() == [0.0, 0.1]
    assert recording.rate == pytest.approx(10.0)
    assert recording.channels == ("a",)


def test_without_header_or_time(tmp_path):
    path = table(tmp_path, "1,2,3,4,5,6\n7,8,9,10,11,12\n")
    recording = read_csv(path, rate=4.0, name="bare", group="g")
    assert recording.positions.tolist() == [[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [10, 11, 12]]]
    assert recording.times.tolist() == [0.0, 0.25]
    assert (recording.name, recording.group, recording.channels) == ("bare", "g", ("channel1", "channel2"))


def test_four_columns_per_channel(tmp_path):
    bare = table(tmp_path, "1,2,3,4\n5,6,7,8\n")
    assert read_csv(bare, dimensions=4, rate=1.0).positions.shape == (2, 1, 4)
    named = table(tmp_path, "q.w,q.x,q.y,q.z\n1,2,3,4\n")
    assert read_csv(named, rate=1.0).channels == ("q",)


def test_column_names_without_channel_names(tmp_path):
    recording = read_csv(table(tmp_path, "x,y,z\n1,2,3\n"), rate=1.0)
    assert recording.channels == ("channel1",)


def test_a_byte_order_mark_and_the_median_step(tmp_path):
    text = "t,a.x,a.y,a.z\n0,1,1,1\n0.1,1,1,1\n0.2,1,1,1\n0.5,1,1,1\n"
    recording = read_csv(table(tmp_path, text, "utf-8-sig"))
    assert recording.rate == pytest.approx(10.0)
    assert recording.duration == 0.5


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("t,a.x,a.y,a.z\n0,1,2,3\n\n0.1,1,oops,3\n", "line 4, column 3 (a.y): expected a finite number"),
        ("1,2,3\n4,5,inf\n", "line 2, column 3: expected a finite number"),
        ("1,2,3\n4,5\n", "line 2: expected 3 columns, got 2"),
        ("t,a.x,a.y,a.z\n0,1,2,3\n0,1,2,3\n", "line 3, column 1 (t): expected increasing times, got 0.0"),
        ("t,a.x,a.y,a.z\n0,1,2,3\n,1,2,3\n", "line 3, column 1 (t): expected increasing times, got no number"),
        ("1,2,3,4\n", "expected 3 columns of positions per channel, got 4 columns in all"),
        ("t\n1\n2\n", "expected 3 columns of positions per channel, got 0"),
        ("1,2,3\n4,5,6\n", "expected a column of times with two or more rows to compute the rate; add a column"),
        ("t,a.x,a.y,a.z\n0,1,2,3\n", "expected a column of times with two or more rows"),
        ("t,a.x,a.y,a.z\n", "expected at least one row of numbers, got none"),
        ("", "expected at least one row of numbers, got none"),
    ],
)  # fmt: skip
def test_errors_name_the_position(tmp_path, text, words):
    path = table(tmp_path, text)
    with pytest.raises(ValueError, match=re.escape(words)) as caught:
        read_csv(path)
    assert str(caught.value).startswith(str(path))


def test_advice_for_two_coordinates_can_be_followed(tmp_path):
    """Columns can be named only where there are three of them."""
    with pytest.raises(ValueError, match=r"got 2 \(x, y\); add a column .* if there are none\)$"):
        read_csv(table(tmp_path, "time,x,y\n0,1,2\n0.1,1,2\n"))
    with pytest.raises(ValueError, match=r"--columns a=x,y,height\)$"):
        read_csv(table(tmp_path, "time,x,y,height\n0,1,2,3\n0.1,1,2,3\n"))


def test_files_that_are_not_tables(tmp_path):
    latin = table(tmp_path, "t,é.x,é.y,é.z\n0,1,2,3\n", "latin-1")
    with pytest.raises(ValueError, match="expected UTF-8 text"):
        read_csv(latin)
    quoted = table(tmp_path, '1,2,3\n4,5,"6\n' + "7,8,9\n" * 40_000)
    with pytest.raises(ValueError, match=r"line .*field larger than"):
        read_csv(quoted, rate=1.0)


def test_dimensions_are_checked(tmp_path):
    with pytest.raises(ValueError, match="dimensions: expected 3 or 4, got 2"):
        read_csv(table(tmp_path, "1,2\n"), dimensions=2)


@pytest.mark.parametrize(("dimensions", "space"), [(3, "position"), (4, "orientation")])
def test_dimensions_and_a_space_that_agree_choose_half_of_a_pose(dimensions, space, tmp_path):
    path = table(tmp_path, "time,x,y,z,qw,qx,qy,qz\n0,1,2,3,1,0,0,0\n0.1,1,2,3,1,0,0,0\n")
    recording = read(path, dimensions=dimensions, space=space)
    assert (recording.space, recording.positions.shape) == (space, (2, 1, dimensions))


@pytest.mark.parametrize("columns", [["hip=x,y,z", "turn=rx,ry,rz"], ["turn=ry,rx,rz"]])
def test_angles_that_are_named_are_plain_numbers(columns, tmp_path):
    path = table(tmp_path, "time,x,y,z,rx,ry,rz\n0,1,2,3,4,5,6\n0.1,1,2,3,4,5,6\n")
    recording = read(path, columns=columns)
    assert recording.space == "vector"
    np.testing.assert_array_equal(recording.positions[0, -1], [4.0, 5.0, 6.0])


@pytest.mark.parametrize("dimensions", [3, 4])
def test_dimensions_that_contradict_the_names_of_a_pose_are_refused(dimensions, tmp_path):
    """They were ignored."""
    path = table(tmp_path, "time,x,y,z,qw,qx,qy,qz\n0,1,2,3,1,0,0,0\n0.1,1,2,3,1,0,0,0\n")
    with pytest.raises(ValueError, match=rf"dimensions: .* got {dimensions}; leave it out, and choose channels"):
        read(path, dimensions=dimensions)


@pytest.mark.parametrize(
    ("names", "channel"),
    [
        ("x,y,z,rx,ry,rz", "channel1"),
        ("TX,TY,TZ,RX,RY,RZ", "T"),
        ("x [mm],y [mm],z [mm],rx [deg],ry [deg],rz [deg]", "channel1"),
        ("hip_x,hip_y,hip_z,hip_rx,hip_ry,hip_rz", "hip"),
        ("hip.x,hip.y,hip.z,hip.rot.x,hip.rot.y,hip.rot.z", "hip"),
        ("Position X,Position Y,Position Z,Euler X,Euler Y,Euler Z", "Position"),
        ("x,y,z,qx,qy,qz", "channel1"),
    ],
)
def test_angles_are_not_taken_for_a_marker(names, channel, tmp_path):
    path = table(tmp_path, f"time,{names}\n0,1,2,3,4,5,6\n0.1,1,2,3,4,5,6\n")
    recording = read(path)
    assert recording.channels == (channel,)
    said = " ".join(recording.notes)
    angles = names.split(",")[3:]
    assert f"{', '.join(angles)} are angles or a rotation vector by their names" in said
    assert "qw, qx, qy, qz" in said
    both = read(path, columns=[f"hip={','.join(names.split(',')[:3])}", f"turn={','.join(angles)}"], space="vector")
    assert both.channels == ("hip", "turn")


@pytest.mark.parametrize("names", ["lx,ly,lz,rx,ry,rz", "hip_l.x,hip_l.y,hip_l.z,hip_r.x,hip_r.y,hip_r.z"])
def test_left_and_right_are_markers(names, tmp_path):
    path = table(tmp_path, f"time,{names}\n0,1,2,3,4,5,6\n0.1,1,2,3,4,5,6\n")
    assert [channel[-1] for channel in read(path).channels] == ["l", "r"]


def test_sensor_readings_that_are_named_by_their_columns_are_read(tmp_path):
    path = table(tmp_path, "time,x,y,z,acc.x,acc.y,acc.z\n0,1,2,3,4,5,6\n0.1,1,2,3,4,5,6\n")
    assert read(path, columns=["hip=x,y,z", "push=acc.x,acc.y,acc.z"]).channels == ("hip", "push")


def test_samples_that_the_times_skip_are_missing(tmp_path):
    file = tmp_path / "gap.csv"
    times = np.delete(np.arange(40) / 10 + 0.01 * np.sin(np.arange(40)), [7, 20, 21, 22])
    file.write_text("time,a.x,a.y,a.z\n" + "".join(f"{t},{t},1,2\n" for t in times))
    recording = read_csv(file)
    assert len(recording) == 40
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(recording.positions[:, 0, 0])), [7, 20, 21, 22])
    np.testing.assert_allclose(recording.times, np.arange(40) / 10, atol=0.02)
    kept = ~np.isnan(recording.positions[:, 0, 0])
    np.testing.assert_array_equal(recording.positions[kept, 0, 0], times)


def test_times_that_skip_too_many_samples_are_refused(tmp_path):
    file = tmp_path / "far.csv"
    file.write_text("time,a.x,a.y,a.z\n0,0,0,0\n0.1,0,0,0\n0.2,0,0,0\n9,0,0,0\n")
    with pytest.raises(ValueError, match=r"far\.csv: expected times that skip .*, got 87 missing between 0\.2 and 9 s"):
        read_csv(file)


def test_the_column_of_times_can_be_given_by_its_number(tmp_path):
    path = table(tmp_path, "a,b,c,d\n0.0,1,2,3\n0.1,1,2,3\n0.2,1,2,3\n")
    for time in (1, np.int64(1), "1", "a"):
        assert read(path, time=time, columns=["b,c,d"]).rate == pytest.approx(10.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"time": 0}, r"time: expected a column of table\.csv \(time, x, y, z\), got '0'"),
        ({"time": 9}, r"time: expected a column of table\.csv \(time, x, y, z\), got '9'"),
        ({"time": 1.5}, r"time: expected the name of a column, or its number from 1, got 1\.5"),
        ({"rate": "10"}, "rate: expected a positive number of Hz, got '10'"),
        ({"rate": True}, "rate: expected a positive number of Hz, got True"),
        ({"dimensions": "3"}, "dimensions: expected 3 or 4, got '3'"),
        ({"time_unit": ["ms"]}, r"time_unit: expected a text, got \['ms'\]"),
        ({"encoding": 8}, "encoding: expected a text, got 8"),
        ({"columns": [1, 2, 3]}, r"columns: expected a list of names, got \[1, 2, 3\]"),
        ({"ignore": 1}, "ignore: expected a list of names, got 1"),
    ],
)
def test_arguments_of_the_wrong_kind_are_refused(options, message, tmp_path):
    path = table(tmp_path, "time,x,y,z\n0.0,1,2,3\n0.1,1,2,3\n")
    with pytest.raises(ValueError, match=message):
        read(path, **options)


@pytest.mark.parametrize("header", ["time [s],x,y,z", "t_s,x,y,z", "seconds,x,y,z", "time,x,y,z\ns,mm,mm,mm"])
def test_a_unit_of_times_that_contradicts_the_file_is_refused(header, tmp_path):
    path = table(tmp_path, f"{header}\n0.0,1,2,3\n0.1,1,2,3\n")
    assert read(path, time_unit="s").rate == pytest.approx(10.0)
    with pytest.raises(ValueError, match=r"time_unit: table\.csv says that '.*' is in s, got ms; leave it out"):
        read(path, time_unit="ms")


def test_values_that_no_system_measures_are_missing_and_said(tmp_path):
    assert LARGEST == contract.LARGEST
    path = table(tmp_path, "time,x,y,z\n0.0,1e300,2,3\n0.1,1e9,2,3\n0.2,1,-2e9,3\n")
    recording = read(path)
    np.testing.assert_array_equal(np.argwhere(np.isnan(recording.positions)), [[0, 0, 0], [2, 0, 1]])
    assert recording.notes == ("values beyond ±1e+09 count as missing: 2 of them, such as 1e+300",)


@pytest.mark.parametrize(
    ("name", "start", "late"),
    [
        ("time_ms", "0", "0.125"),
        ("time_us", "0", "0.5"),
        ("time_ns", "1700000000000000000", "0.25"),
        ("time", "1700000000", "0.0000125"),
    ],
)
def test_late_decimals_of_times_are_written(name, start, late, tmp_path):
    """Only the times after the first hundred have decimals, or more of them."""
    step = {"time_ms": 100, "time_us": 100_000, "time_ns": 100_000_000, "time": Decimal("0.1")}[name]
    times = [Decimal(start) + row * step + (Decimal(late) if row > 120 else 0) for row in range(200)]
    recording = read(table(tmp_path, f"{name},a.x,a.y,a.z\n" + "".join(f"{t},1,2,{t % 7}\n" for t in times)))
    write_csv(recording, tmp_path / "again.csv")
    np.testing.assert_array_equal(read(tmp_path / "again.csv").times, recording.times)
    cells = [Decimal(line.split(",")[0]) for line in (tmp_path / "again.csv").read_text().splitlines()[1:]]
    assert cells == times


@pytest.mark.parametrize("form", ["ms", "ms since 1970", "date", "day"])
@pytest.mark.parametrize("uneven", [False, True])
def test_times_between_those_of_a_file_are_written_exactly(form, uneven, tmp_path):
    """Resampled and missing samples lie between the whole milliseconds of a file."""
    ticks = np.delete(np.round(np.arange(200) / 60 * 1000), [50, 80, 81]).astype(int)
    if uneven:
        ticks = np.cumsum(np.random.default_rng(1).integers(60, 140, 200))
    cells = [str(tick + (1_700_000_000_000 if "1970" in form else 0)) for tick in ticks]
    if form in ("date", "day"):
        start = np.datetime64("2024-02-28T12:00:00.000")
        cells = [str(start + tick)[0 if form == "date" else 11 :] for tick in ticks]
    name = "time" if form in ("date", "day") else "time_ms"
    recording = read(table(tmp_path, f"{name},a.x,a.y,a.z\n" + "".join(f"{cell},1,2,3\n" for cell in cells)))
    assert ("resampled" in " ".join(recording.notes)) == uneven
    write_csv(recording, tmp_path / "again.csv")
    np.testing.assert_array_equal(read(tmp_path / "again.csv").times, recording.times)


def test_times_with_a_million_decimals_are_not_written_so(tmp_path):
    recording = read(table(tmp_path, "time_ms,a.x,a.y,a.z\n1e-999999,1,2,3\n100,1,2,3\n200,1,2,3\n"))
    write_csv(recording, tmp_path / "again.csv")
    assert (tmp_path / "again.csv").stat().st_size < 1000
    np.testing.assert_array_equal(read(tmp_path / "again.csv").times, [0.0, 0.1, 0.2])


@pytest.mark.parametrize(
    ("seconds", "fraction", "digits"),
    [
        ("sec", "nsec", 9),
        ("secs", "nsecs", 9),
        ("Seconds", "Nanoseconds", 9),
        ("sec", "usec", 6),
        ("header.stamp.sec", "header.stamp.nanosec", 9),
        ("field.header.stamp.secs", "field.header.stamp.nsecs", 9),
        ("stamp_sec", "stamp_nsec", 9),
        ("seconds", "milliseconds", 3),
    ],
)
def test_seconds_and_their_fractions_are_one_time(seconds, fraction, digits, tmp_path):
    ticks = [1_700_000_000_900_000_000 + 1_000_000 * i for i in range(300)]
    rows = [(tick // 10**9, tick % 10**9 // 10 ** (9 - digits), tick) for tick in ticks]
    body = "".join(f"{whole},{part},{tick % 977},0,0\n" for whole, part, tick in rows)
    recording = read(table(tmp_path, f"{seconds},{fraction},x,y,z\n{body}"))
    np.testing.assert_array_equal(recording.times, [(900 + i) / 1000 for i in range(300)])
    assert f"{seconds}, {fraction}: read as one time" in recording.notes
    assert not any("ignored" in note for note in recording.notes)
    write_csv(recording, tmp_path / "again.csv")
    again = read(tmp_path / "again.csv")
    np.testing.assert_array_equal(again.times, recording.times)
    assert f"1700000001.{'0' * digits}," in (tmp_path / "again.csv").read_text()


def test_seconds_and_milliseconds_may_be_two_times(tmp_path):
    body = "".join(f"{i / 10},{100 * i},{i % 7},0,0\n" for i in range(50))
    recording = read(table(tmp_path, f"seconds,milliseconds,x,y,z\n{body}"))
    np.testing.assert_allclose(recording.times, np.arange(50) / 10, rtol=1e-12)
    assert "ignored columns: milliseconds" in recording.notes


def test_seconds_without_their_fractions_on_request(tmp_path):
    body = "".join(f"{i},{i % 5},{i % 7},0,0\n" for i in range(50))
    path = table(tmp_path, f"sec,nsec,x,y,z\n{body}")
    np.testing.assert_array_equal(read(path, ignore=["nsec"]).times, np.arange(50.0))


def test_dates_that_are_not_clear_can_be_ignored(tmp_path):
    path = table(tmp_path, "stamp,x,y,z\n05/01/2024 12:00:00,1,2,3\n05/01/2024 12:00:01,1,2,3\n")
    advice = (
        r"got '05/01/2024 12:00:00'; or ignore the column \(ignore=\['stamp'\], --ignore 'stamp'\) and give the rate"
    )
    with pytest.raises(ValueError, match=advice):
        read(path, time="stamp")
    assert read(path, ignore=["stamp"], rate=1.0).rate == 1.0


def test_dates_with_dots_have_the_day_first(tmp_path):
    moments = [datetime(2024, 12, 1, 23, 59, 55) + timedelta(seconds=i) for i in range(9)]
    clock = [f"{moment.day}.12.2024 {moment:%H:%M:%S},5" for moment in moments]
    recording = read(table(tmp_path, "zeit;x;y;z\n" + "".join(f"{text};{i};0;0\n" for i, text in enumerate(clock))))
    np.testing.assert_array_equal(recording.times, np.arange(9.0))
    write_csv(recording, tmp_path / "again.csv")
    assert "\n02.12.2024 00:00:00,5;" in (tmp_path / "again.csv").read_text()
    np.testing.assert_array_equal(read(tmp_path / "again.csv").times, recording.times)
    with pytest.raises(ValueError, match=r"line 2.*expected a date, got '1\.13\.2024 23:59:55,5'"):
        read(table(tmp_path, "zeit;x;y;z\n1.13.2024 23:59:55,5;1;2;3\n"))


@pytest.mark.parametrize(
    ("header", "advised", "left_out"),
    [("time,c.x,c.x,c.y,c.z", "columns=['3,4,5']", "ignore=['2']"), ("time,c.x,c.y,c.z,c.x", "columns=['2,3,4']", "5")],
)
def test_two_columns_with_the_name_of_a_coordinate_are_refused(header, advised, left_out, tmp_path):
    """One of them was read, and nothing said which."""
    path = table(tmp_path, f"{header}\n0,1,2,3,4\n0.1,1,2,3,4\n")
    with pytest.raises(ValueError, match=r"expected different names of columns, got 'c\.x' in columns") as error:
        read(path)
    assert advised in str(error.value)
    assert left_out in str(error.value)
    first, second = [k for k, name in enumerate(header.split(",")) if name == "c.x"]
    for kept, ignored in ((first, second), (second, first)):
        recording = read(path, ignore=[str(ignored + 1)])
        assert recording.positions[0, 0, 0] == kept


def test_columns_that_repeat_all_coordinates_are_several_channels(tmp_path):
    recording = read(table(tmp_path, "time,x,y,z,x,y,z\n0,1,2,3,4,5,6\n0.1,1,2,3,4,5,6\n"))
    assert recording.channels == ("channel1", "channel2")


@pytest.mark.parametrize("blanks", [" ", "   "])
def test_decimal_commas_between_blanks(blanks, tmp_path):
    lines = ["time a.x a.y a.z", "0,0 1,5 -2 3,25", "0,1 1,6 -2 3,5e1"]
    recording = read(table(tmp_path, "\n".join(line.replace(" ", blanks) for line in lines)))
    np.testing.assert_array_equal(recording.positions[:, 0], [[1.5, -2.0, 3.25], [1.6, -2.0, 35.0]])
    assert recording.rate == pytest.approx(10.0)


def test_a_comma_in_a_text_is_no_decimal_mark(tmp_path):
    (tmp_path / "a.csv").write_text("time;x;y;z;note\n" + "".join(f"{k / 10};1.5;{k};0;room 1,2\n" for k in range(9)))
    write_csv(read_csv(tmp_path / "a.csv"), tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text().splitlines()[1] == "0.0;1.5;0.0;0.0"
