"""Files that would fill the memory or confuse a terminal: refused quickly, in one line, in bounded memory."""

import importlib.util
import random
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from bank_tables import TABLES
from bank_tools import TOOLS

from quatcast.data import read, write_csv
from quatcast.data.headers import euler_angles, find_groups, incomplete
from quatcast.data.text import MAX_LINE, MAX_NAME

MEGABYTE = 1 << 20


def long_line(path: Path) -> None:
    with path.open("wb") as file:
        for _ in range(64):
            file.write(b"1,2," * (MEGABYTE // 4))


def million_columns(path: Path) -> None:
    path.write_text(",".join(f"a{i}.x" for i in range(1_000_000)) + "\n" + ",".join(["1"] * 1_000_000) + "\n")


def nul_bytes(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 30)


def long_line_below(path: Path) -> None:
    with path.open("wb") as file:
        file.write(b"time,x,y,z\n0,1,2,3\n0.1,")
        for _ in range(64):
            file.write(b"9" * MEGABYTE)


def endless_quote(path: Path) -> None:
    path.write_text('time,x,y,z\n0,1,2,"3\n' + "7,8,9,1\n" * 400_000)


def long_header_of_a_sequence(path: Path) -> None:
    path.write_bytes(b"ObjectType = Image\nSeq_Frame0000_ProbeToTrackerTransform = " + b"1 " * (8 * MEGABYTE))


def many_frames(path: Path) -> None:
    path.write_text("ObjectType = Image\nSeq_Frame99999999999_ATransform = 1\nElementDataFile = LOCAL\n")


def wide_motive(path: Path) -> None:
    head = "Format Version,1.23\n\n,Type{}\n,Name{}\n,ID{}\n,,{}\nFrame,Time (Seconds),{}\n"
    wide = ",a" * 5000
    path.write_text(head.format(wide, wide, wide, wide, wide))


def long_name_of_a_marker(path: Path) -> None:
    path.write_text(f"Trajectories\n10\n,,{'a' * 200_000},,\nFrame,Sub Frame,X,Y,Z\n,,mm,mm,mm\n1,0,1,2,3\n")


HOSTILE = [
    long_line, million_columns, nul_bytes, long_line_below, endless_quote, long_header_of_a_sequence, many_frames,
    wide_motive, long_name_of_a_marker,
]  # fmt: skip


@pytest.mark.parametrize("make", HOSTILE, ids=lambda make: make.__name__)
def test_hostile_file_is_refused_in_bounded_memory(make: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "hostile.csv"
    make(path)
    tracemalloc.start()
    began = time.perf_counter()
    with pytest.raises(ValueError, match=r"hostile\.csv") as caught:
        read(path)
    took, (_, peak) = time.perf_counter() - began, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    path.unlink()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500
    assert peak < 40 * MEGABYTE
    assert took < 5.0


def test_a_line_at_the_limit_is_read(tmp_path: Path) -> None:
    comment = "# " + "-" * (MAX_LINE - 3) + "\n"
    (tmp_path / "a.csv").write_text(comment + "time,x,y,z\n0,1,2,3\n0.1,1,2,3\n")
    assert len(read(tmp_path / "a.csv")) == 2


@pytest.mark.parametrize("name", ["a{}b.x", "a{}x", "a{} [mm", "a{}roll", "q{}0", "{}x", "a{}(mm)"])
@pytest.mark.parametrize("mark", [" ", ".", "_", "[", "aB"])
def test_long_names_take_no_time(name: str, mark: str) -> None:
    """Sixty thousand blanks took a minute, and twice as many four times as long."""
    names = [name.format(mark * 60_000)] * 3
    began = time.process_time()
    find_groups(names)
    euler_angles(names)
    incomplete(names)
    assert time.process_time() - began < 2.0


def test_long_names_keep_their_axis(tmp_path: Path) -> None:
    """They were cut off after 200 characters, so that no coordinates were found."""
    header = ",".join(f"{'hip' * 100}.{axis} [mm]" for axis in "xyz")
    (tmp_path / "a.csv").write_text(f"time,{header}\n0,1,2,3\n0.1,1,2,3\n")
    recording = read(tmp_path / "a.csv")
    assert recording.units == ("mm",)
    assert len(recording.channels[0]) <= MAX_NAME


def test_control_characters_in_names_are_replaced(tmp_path: Path) -> None:
    name = "\x1b[2J\u202ehip"
    (tmp_path / "a.csv").write_text(f"time,{name}.x,{name}.y,{name}.z\n0,1,2,3\n0.1,1,2,3\n")
    (channel,) = read(tmp_path / "a.csv").channels
    assert channel == "\ufffd[2J\ufffdhip"


@pytest.mark.parametrize("name", ["=cmd|' /C calc'!A0", "+1", "-2", "@SUM(A1)"])
def test_names_are_no_formulas(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f'time,"{name}.x","{name}.y","{name}.z"\n0,1,2,3\n0.1,1,2,3\n')
    recording = read(tmp_path / "a.csv")
    assert recording.channels == (name,)
    write_csv(recording, tmp_path / "b.csv")
    header = (tmp_path / "b.csv").read_text().splitlines()[0]
    assert f"'{name}.x" in header
    again = read(tmp_path / "b.csv")
    assert again.channels == (name,)
    np.testing.assert_array_equal(again.positions, recording.positions)


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Return a file with a few random changes: bytes removed, inserted, repeated or cut off, lines lost."""
    made = bytearray(data)
    for _ in range(rng.randint(1, 5)):
        i, kind = rng.randrange(len(made) + 1), rng.randrange(5)
        if kind == 0:
            del made[i : i + rng.randint(1, 20)]
        elif kind == 1:
            made[i:i] = rng.choice(
                [b",", b";", b"\n", b'"', b"1e400", b"\x00", b"\xff", b"[", b"#", b"2024-13-45T99:99:99", b"9" * 30]
            )
        elif kind == 2:
            made[i:i] = made[max(0, i - rng.randint(1, 100)) : i]
        elif kind == 3:
            del made[i:]
        else:
            lines = made.split(b"\n")
            lines.pop(rng.randrange(len(lines)))
            made = bytearray(b"\n".join(lines))
    return bytes(made)


def test_damaged_files_give_a_recording_or_one_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rng = random.Random(0)
    cases = [case for case in [*TABLES, *TOOLS] if not case.needs or importlib.util.find_spec(case.needs)]
    read_ones, messages = 0, []
    for case in cases * 5:
        path = tmp_path / f"damaged.{case.suffix}"
        path.write_bytes(damaged(case.data, rng))
        try:
            read(path, **case.options)
            read_ones += 1
        except ValueError as error:
            messages.append(str(error))
    assert all("\n" not in message and len(message) < 1200 for message in messages)
    assert 0 < read_ones < 5 * len(cases)
    assert capfd.readouterr().err == ""
