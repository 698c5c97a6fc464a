"""The bank of files as people have them: each is read with the right numbers, or refused with the right advice."""

import csv
import importlib.util
from pathlib import Path

import numpy as np
import pytest
from bank import RATE, Case, Unclear, position, quaternion
from bank_tables import TABLES
from bank_tools import TOOLS, UNREADABLE, qualisys, sequence
from bank_unclear import UNCLEAR
from hypothesis import given, settings
from hypothesis import strategies as st

from quatcast.data import Recording, read, read_all, write_csv

CASES = [*TABLES, *TOOLS]


def written(folder: Path, case: Case | Unclear) -> Path:
    path = folder / f"{case.name}.{case.suffix}"
    path.write_bytes(case.data)
    return path


def expected(case: Case, recording: Recording) -> np.ndarray:
    """What the recording must hold, computed from its times alone."""
    times = recording.times - recording.times[0]
    positions = np.array([[position(t, c) for c in range(len(case.channels))] for t in times])
    turns = np.array([[quaternion(t) for _ in case.channels] for t in times])
    if case.space == "pose":
        return np.concatenate([positions, turns], axis=-1)
    return positions if recording.dimensions == 3 else turns


def needs(case: Case) -> None:
    if case.needs and importlib.util.find_spec(case.needs) is None:
        pytest.skip(f"needs {case.needs}")


def test_there_are_enough_files() -> None:
    assert len(CASES) >= 40
    names = [case.name for case in [*CASES, *UNCLEAR, *UNREADABLE]]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_file_is_read(case: Case, tmp_path: Path) -> None:
    needs(case)
    recording = read(written(tmp_path, case), **case.options)
    assert recording.name == case.name
    assert recording.channels == case.channels
    assert recording.units == case.units
    assert recording.space == case.space
    assert recording.rate == pytest.approx(RATE, rel=1e-9)
    assert len(recording) == 40
    observed = ~np.isnan(recording.positions)
    assert observed.mean() > 0.95
    np.testing.assert_allclose(recording.positions[observed], expected(case, recording)[observed], atol=1e-9)
    said = " | ".join(recording.notes)
    assert all(words in said for words in case.notes), said
    assert len(recording.notes) == 0 or case.notes, said
    if case.columns:
        assert tuple(column.name for column in recording.layout()) == case.columns


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_file_is_written_as_it_was(case: Case, tmp_path: Path) -> None:
    """Names, order, separators and times of a text table come back; every other format becomes a readable table."""
    needs(case)
    recording = read(written(tmp_path, case), **case.options)
    write_csv(recording, tmp_path / "again.csv")
    options = {key: value for key, value in case.options.items() if key not in ("rate", "encoding")}
    if recording.style.header == "no":
        options["time"] = "1"
        options.pop("columns", None)
    again = read(tmp_path / "again.csv", **options)
    np.testing.assert_allclose(again.positions, recording.positions, rtol=1e-12)
    np.testing.assert_allclose(again.times, recording.times, atol=1e-6)
    assert again.space == recording.space
    names = [column.name for column in recording.layout()]
    assert [column.name for column in again.layout()] == (
        names if recording.style.header != "no" else [str(i + 2) for i in range(len(names))]
    )
    if case in TABLES and recording.style.header != "no":
        assert again.units == recording.units
        assert again.style == recording.style


COMPLETE = ("plain", "semicolon_decimal_comma", "permuted_columns", "units_in_round_brackets", "units_in_a_second_line")


@pytest.mark.parametrize("case", [case for case in TABLES if case.name in COMPLETE], ids=lambda case: case.name)
def test_text_of_a_table_comes_back(case: Case, tmp_path: Path) -> None:
    write_csv(read(written(tmp_path, case)), tmp_path / "again.csv")
    before, after = case.data.decode().splitlines(), (tmp_path / "again.csv").read_text().splitlines()
    assert after[0] == before[0]
    assert len(after) == len(before)
    separator = ";" if ";" in before[0] else ","
    for old, new in zip(before[-40:], after[-40:], strict=True):
        numbers = [[float(cell.replace(",", ".")) for cell in line.split(separator)] for line in (old, new)]
        np.testing.assert_allclose(*numbers, rtol=1e-11)


@settings(deadline=None, max_examples=60)
@given(order=st.permutations(["time", "q_w", "q_x", "q_y", "q_z"]), separator=st.sampled_from(",;\t"))
def test_columns_in_any_order(order: list[str], separator: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A number stays under the name that it had, whatever the order of the columns."""
    rows = [
        dict(zip(("time", "q_w", "q_x", "q_y", "q_z"), (k / 10, k, 10 * k, 100 * k, 1000 * k), strict=True))
        for k in range(9)
    ]
    lines = [separator.join(order)] + [separator.join(str(row[name]) for name in order) for row in rows]
    folder = tmp_path_factory.mktemp("order")
    (folder / "a.csv").write_text("\n".join(lines))
    recording = read(folder / "a.csv")
    np.testing.assert_array_equal(recording.positions[:, 0], [[row[f"q_{axis}"] for axis in "wxyz"] for row in rows])
    write_csv(recording, folder / "b.csv")
    with (folder / "b.csv").open(newline="") as file:
        header, *cells = csv.reader(file, delimiter=separator)
    assert [name for name in header if name != "time"] == [name for name in order if name != "time"]
    for line, row in zip(cells, rows, strict=True):
        assert {name: float(cell) for name, cell in zip(header, line, strict=True)} == row


@pytest.mark.parametrize("case", [*UNCLEAR, *UNREADABLE], ids=lambda case: case.name)
def test_unclear_file_is_refused_with_advice(case: Unclear, tmp_path: Path) -> None:
    if case.suffix == "xdf":
        pytest.importorskip("pyxdf")
    with pytest.raises(ValueError, match=r".") as caught:
        read(written(tmp_path, case), **case.options)
    message = str(caught.value)
    assert "\n" not in message
    assert all(words in message for words in case.words), message


def test_channels_of_a_pose_can_be_read_alone(tmp_path: Path) -> None:
    case = next(case for case in TABLES if case.name == "sensors_beside_a_pose")
    path = written(tmp_path, case)
    assert read(path, channels=["q"]).space == "orientation"
    assert read(path, channels=["p"]).space == "position"
    assert read(path, channels=["p", "q"]).space == "pose"
    assert read(path, channels=["pose"]).channels == ("pose",)
    assert read(path, channels=["acc", "p"]).channels == ("acc", "p")
    assert [one.space for one in read_all(path, channels=["acc", "q"])] == ["vector", "orientation"]


def test_lost_markers_and_tools_are_missing(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(qualisys(header=True, lost=(3, 4)))
    recording = read(tmp_path / "a.tsv")
    assert np.flatnonzero(np.isnan(recording.positions[:, 0, 0])).tolist() == [3, 4]
    assert not np.isnan(recording.positions[:, 1]).any()
    (tmp_path / "b.mha").write_bytes(sequence(invalid=(7,)))
    recording = read(tmp_path / "b.mha")
    assert np.flatnonzero(np.isnan(recording.positions).all(axis=(1, 2))).tolist() == [7]
    assert any("another status than OK" in note for note in recording.notes)


def test_c3d(tmp_path: Path) -> None:
    ezc3d = pytest.importorskip("ezc3d")
    file = ezc3d.c3d()
    points = np.ones((4, 2, 40))
    for c in range(2):
        points[:3, c] = np.array([position(t / 10, c) for t in range(40)]).T
    file["parameters"]["POINT"]["RATE"]["value"] = [10.0]
    file["parameters"]["POINT"]["LABELS"]["value"] = ("LASI", "RASI")
    file["parameters"]["POINT"]["UNITS"]["value"] = ["mm"]
    file["data"]["points"] = points
    file.write(str(tmp_path / "walk.c3d"))
    recording = read(tmp_path / "walk.c3d")
    assert (recording.channels, recording.units, recording.rate) == (("LASI", "RASI"), ("mm", "mm"), 10.0)
    expect = [[position(t / 10, c) for c in range(2)] for t in range(40)]
    np.testing.assert_allclose(recording.positions, expect, rtol=1e-6)
    (tmp_path / "cut.c3d").write_bytes((tmp_path / "walk.c3d").read_bytes()[:700])
    with pytest.raises(ValueError, match=r"cut\.c3d"):
        read(tmp_path / "cut.c3d")


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyxdf", None)
    (tmp_path / "a.xdf").write_bytes(b"XDF:")
    with pytest.raises(ImportError, match=r"install quatcast\[xdf\]"):
        read(tmp_path / "a.xdf")


@pytest.mark.parametrize("space", [None, "pose"])
def test_four_zeros_are_an_orientation_that_was_lost(tmp_path: Path, space: str | None) -> None:
    """A tracker writes them; files with more than 1 % of such rows could not be read as poses."""
    rows = [(t, *position(t), *(quaternion(t) if k % 5 else (0, 0, 0, 0))) for k, t in enumerate(np.arange(40) / RATE)]
    path = tmp_path / "lost.csv"
    path.write_text("time,x,y,z,qw,qx,qy,qz\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
    recording = read(path, space=space)
    assert recording.space == "pose"
    assert "q: 8 rows of four zeros count as missing" in recording.notes
    lost = np.arange(40) % 5 == 0
    np.testing.assert_array_equal(np.isnan(recording.positions[:, 0, 3:]).all(axis=1), lost)
    assert np.isfinite(recording.positions[:, 0, :3]).all()
    assert read(path, channels=["q"], space="vector").positions[0, 0].tolist() == [0.0] * 4


@pytest.mark.parametrize("word", ["", "nan", "NA", "N/A", "#N/A", "null", "None", "-", "--"])
def test_missing_values_in_the_first_rows(tmp_path: Path, word: str) -> None:
    """A row that begins a file and has a word for missing values was taken for the header."""
    rows = [f"{k / 10},{word},{word},{word}" if k < 2 else f"{k / 10},1,2,{k}" for k in range(30)]
    path = tmp_path / "late.csv"
    path.write_text("\n".join(["time,x,y,z", *rows]))
    recording = read(path)
    assert (recording.positions.shape, recording.notes) == ((30, 1, 3), ())
    np.testing.assert_array_equal(np.isnan(recording.positions).all(axis=(1, 2)), np.arange(30) < 2)


@pytest.mark.parametrize("word", ["nan", "NA", "N/A", "#N/A", "null"])
def test_missing_values_in_the_first_row_without_a_time(tmp_path: Path, word: str) -> None:
    path = tmp_path / "late.csv"
    path.write_text("\n".join(["x,y,z", f"{word},{word},{word}", "1,2,3", "4,5,6"]))
    assert np.isnan(read(path, rate=10.0).positions).all(axis=(1, 2)).tolist() == [True, False, False]


def test_a_row_that_begins_with_a_missing_value_of_excel_is_no_comment(tmp_path: Path) -> None:
    """It was left out, so that all later samples came one too early."""
    path = tmp_path / "gap.csv"
    path.write_text("\n".join(["x,y,z", "1,2,3", "#N/A,#N/A,#N/A", "# calibrated", "4,5,6"]))
    assert np.isnan(read(path, rate=10.0).positions).all(axis=(1, 2)).tolist() == [False, True, False]
