"""Headers above lines of numbers: a column that is not where its header says is never read as another one."""

from __future__ import annotations

import pytest

from quatcast.data.recording import AXES
from quatcast.live.header import Header, header_is_ordered, header_names, read_header
from quatcast.live.transports.lines import LineReader, LineRules


def test_header_names() -> None:
    assert header_names(["t", "a.x", "a.y", "a.z", "b_x", "b_y", "b_z"], 3) == ("a", "b")
    assert header_names(["t", "a.x", "b.y", "a.z"], 3) == ()
    assert header_names(["t", *(f"{n}.{axis}" for n in "ab" for axis in AXES[7])], 7) == ("a", "b")
    assert header_names(["t", "a.x", "a.y", "a.z", "a.x", "a.y", "a.z"], 3) == ()


@pytest.mark.parametrize(
    ("header", "dimensions", "is_ordered"),
    [
        ("time,x,y,z", 3, True),
        ("x (mm),y (mm),z (mm)", 3, True),
        ("t,a.x,a.y,a.z,b.x,b.y,b.z", 3, True),
        ("time,SI,LR,AP", 3, True),
        ("time,foo,bar,baz", 3, True),
        ("y,x,z", 1, True),
        ("time,x,y", 2, True),
        ("t,qw,qx,qy,qz", 4, True),
        ("t,a.x,a.y,a.z,a.qw,a.qx,a.qy,a.qz,b.x,b.y,b.z,b.qw,b.qx,b.qy,b.qz", 7, True),
        ("time,p_z,p_x,p_y", 3, False),
        ("x,y,z,time", 3, False),
        ("frame,time,x,y,z,quality", 3, False),
        ("t,a.x,b.x,a.y,b.y,a.z,b.z", 3, False),
        ("qw,qx,qy,qz", 3, False),
        ("t,qx,qy,qz,qw", 4, False),
        ("t,x,y,z,qx,qy,qz,qw", 7, False),
        ("t,qw,qx,qy,qz,x,y,z", 7, False),
    ],
)
def test_headers_with_another_order(header: str, dimensions: int, is_ordered: bool) -> None:
    assert header_is_ordered(header.split(","), dimensions) == is_ordered


def test_lines_below_a_header_with_another_order_are_refused() -> None:
    """They were read as if their order were the usual one, so that z was x, and the scalar part a vector part."""
    reader = LineReader(LineRules("chest"))
    reader.rules.fit("orientation")
    assert reader.read(b"\xef\xbb\xbftime;qx;qy;qz;qw", 0.0) is None
    assert reader.read(b"0.1;0;0;0;1", 0.0) is None
    assert reader.rules.refused == {"coordinates": 1}
    assert reader.read(b'{"v": 1, "type": "sample", "p": [[1, 0, 0, 0]]}', 0.0) is not None
    assert reader.read(b"time;qw;qx;qy;qz", 0.0) is None  # the sender was corrected
    frame = reader.read(b"0.2;1;0;0;0", 0.0)
    assert frame is not None
    assert frame.values.tolist() == [[1.0, 0.0, 0.0, 0.0]]
    assert reader.rules.refused == {"coordinates": 1}


def reader_of(space: str) -> LineReader:
    reader = LineReader(LineRules("chest"))
    reader.rules.fit(space)
    return reader


@pytest.mark.parametrize(
    "header",
    [
        "time\tz\ty\tx",
        '"time","z","y","x"',
        "'time','z','y','x'",
        "#time,z,y,x",
        "# time;z;y;x",
        '\ufeff"time", "z", "y", "x"',
        "time,1.z,1.y,1.x",
        "t\t_z\t_y\t_x",
        "exported by a tracker\ntime,z,y,x",
        "time,z,y,x\ns,mm,mm,mm",
        "time,z,y,x\n# a comment",
    ],
)
def test_another_order_is_noticed_in_every_kind_of_header(header: str) -> None:
    reader = reader_of("position")
    for line in [*header.split("\n"), "0.1,1,2,3"]:
        assert reader.read(line.encode(), 0.0) is None
    assert reader.rules.refused["coordinates"] == 1


def test_quaternions_below_tabs_are_not_permuted() -> None:
    reader = reader_of("orientation")
    assert reader.read(b"time\ttool.qx\ttool.qy\ttool.qz\ttool.qw", 0.0) is None
    assert reader.read(b"0.1\t0\t0\t0\t1", 0.0) is None
    assert reader.rules.refused == {"coordinates": 1}


@pytest.mark.parametrize(
    "header",
    [
        "time\tchest.x\tchest.y\tchest.z",
        '"time";"chest.x";"chest.y";"chest.z"',
        "#time,chest.x,chest.y,chest.z",
        "a comment\ntime,chest.x,chest.y,chest.z",
    ],
)
def test_names_are_read_from_every_kind_of_header(header: str) -> None:
    reader = reader_of("position")
    for line in header.split("\n"):
        assert reader.read(line.encode(), 0.0) is None
    frame = reader.read(b"0.1\t1\t2\t3", 0.0)
    assert frame is not None
    assert frame.names == ("chest",)
    assert not reader.rules.refused


@pytest.mark.parametrize("line", ["1,2,three", "time,x,y\x07,z", "-,-,-", '{"time": "x"}', "time,x,y,5"])
def test_lines_that_are_no_headers_are_refused(line: str) -> None:
    reader = reader_of("position")
    assert reader.read(line.encode(), 0.0) is None
    assert reader.rules.refused == {"malformed": 1}


def test_text_below_a_header_is_counted() -> None:
    reader = reader_of("position")
    for line in (b"time,x,y,z", b"no signal", b"0.1,1,2,3", b"time,z,y,x", b"0.2,1,2,3"):
        reader.read(line, 0.0)
    assert reader.rules.refused == {"malformed": 2}


@pytest.mark.parametrize(
    ("header", "names", "unit"),
    [
        ("time,chest.x [mm],chest.y [mm],chest.z [mm]", ("chest",), "mm"),
        ("t,chest_x_mm,chest_y_mm,chest_z_mm", ("chest",), "mm"),
        ("x (cm);y (cm);z (cm)", (), "cm"),
        ("t,a.x [m],a.y [m],a.z [m],b.x [mm],b.y [mm],b.z [mm]", ("a", "b"), ""),
        ("time,chest.x,chest.y,chest.z", ("chest",), ""),
        ("t,a.x [\u2067],a.y [\u2067],a.z [\u2067]", (), ""),
    ],
)
def test_units_are_no_part_of_the_names(header: str, names: tuple[str, ...], unit: str) -> None:
    reader = reader_of("position")
    reader.read(header.encode(), 0.0)
    frame = reader.read(b"0.1,1,2,3" + b",4,5,6" * (len(names) == 2), 0.0)
    assert frame is not None
    assert (frame.names, frame.unit) == (names, unit)


def test_unit_of_poses_is_that_of_their_positions() -> None:
    header = read_header("t,a.x [mm],a.y [mm],a.z [mm],a.qw,a.qx,a.qy,a.qz", 7)
    assert header == Header(("a",), "mm", names_columns=True)


@pytest.mark.parametrize(
    ("name", "sent", "seconds"),
    [
        ("t", "0.25", 0.25),
        ("t [ms]", "250", 0.25),
        ("timestamp_us", "250000", 0.25),
        ("Milliseconds", "1763226000120", 1763226000.12),
        ("time [ns]", "1763226000120000000", 1763226000.12),
        ("elapsed [min]", "2", 120.0),
        ("foo", "3", 3.0),
    ],
)
def test_times_are_converted_to_seconds(name: str, sent: str, seconds: float) -> None:
    reader = reader_of("position")
    reader.read(f"{name},x,y,z".encode(), 0.0)
    frame = reader.read(f"{sent},1,2,3".encode(), 0.0)
    assert frame is not None
    assert frame.device_time == pytest.approx(seconds, rel=1e-15)


def test_time_of_json_is_in_seconds_whatever_a_header_says() -> None:
    reader = reader_of("position")
    reader.read(b"t [ms],x,y,z", 0.0)
    frame = reader.read(b'{"v": 1, "type": "sample", "t": 5, "p": [[1, 2, 3]]}', 0.0)
    assert frame is not None
    assert frame.device_time == 5.0


@pytest.mark.parametrize(
    "name", ["frame", "quality", "Index", "Frame_No", "frameNumber", "frame#", "status", "beam_on"]
)
def test_first_column_that_is_no_time_is_refused(name: str, caplog: pytest.LogCaptureFixture) -> None:
    reader = reader_of("position")
    for line in (f"{name},x,y,z", "1,5,6,7", "2,5,6,7"):
        assert reader.read(line.encode(), 0.0) is None
    assert reader.rules.refused == {"coordinates": 2}
    assert f"got {name},x,y,z; send the time in its place, leave the column out, or send JSON" in caplog.messages[0]


@pytest.mark.parametrize(("header", "dimensions"), [("time,x,y", 3), ("t,x", 1), ("time,x,y,z", 2)])
def test_time_that_would_be_read_as_a_coordinate_is_refused(header: str, dimensions: int) -> None:
    """Only the number of columns tells whether lines have a time."""
    found = read_header(header, dimensions)
    assert found is not None
    assert f"coordinates per channel after the time, got {header}; give their number (?dimensions=2)" in found.fault
