"""Headers above lines of numbers: a column that is not where its header says is never read as another one."""

from __future__ import annotations

import pytest

from quatcast.data.recording import AXES
from quatcast.live.header import header_is_ordered, header_names
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
