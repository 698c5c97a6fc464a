"""Export of a session with several horizons: every one of them, with its unit, in every format."""

import asyncio
import csv
import json
from pathlib import Path

import numpy as np
import pytest

from quatcast.live.export import export_session
from quatcast.live.journal import journal_files
from quatcast.live.run import StreamPlan, serve
from quatcast.live.settings import LiveSettings
from quatcast.live.summary import summarise

AHEAD = ("0.1", "1")


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("session")
    settings = LiveSettings(stream="chest", horizon=(0.5, 0.1, 1.0), rate=10.0, names=("a", "b", "c"))
    asyncio.run(serve(StreamPlan(settings, "simulated:?speed=0&seconds=6", record=folder)))
    return folder


def journalled(session: Path) -> list[dict]:
    """The forecasts of the journal, read without the library."""
    [(_, path)] = journal_files(session)
    records = [json.loads(line) for line in path.read_text().splitlines()]
    return [record for record in records if record["type"] == "forecast"]


def test_csv_holds_every_horizon(session: Path, tmp_path: Path) -> None:
    path = export_session(session, "csv", tmp_path)[2]
    rows = list(csv.DictReader(path.read_text().splitlines()))
    known = journalled(session)
    assert len(rows) == len(known) == 60
    for row, record in zip(rows, known, strict=True):
        assert len(record["path"]) == 2
        for ahead, point in zip(AHEAD, record["path"], strict=True):
            assert float(row[f"target_time at {ahead} s"]) == point["t_target"]
            assert row[f"status at {ahead} s"] == point["status"]
            for name, place, radius in zip("abc", point["p"], point["radius"], strict=True):
                cells = [row[f"{name}.{axis} at {ahead} s [mm]"] for axis in "xyz"]
                assert cells == ["" if value is None else repr(value) for value in place or [None] * 3]
                assert row[f"{name} radius at {ahead} s [mm]"] == ("" if radius is None else repr(radius))
        assert float(row["a.x [mm]"]) == record["p"][0][0]
        assert "a radius [mm]" in row


def test_parquet_holds_them_too(session: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="the format parquet needs pyarrow")
    table = parquet.read_table(export_session(session, "parquet", tmp_path)[2]).to_pylist()
    for ahead, point in zip(AHEAD, journalled(session)[-1]["path"], strict=True):
        assert table[-1][f"b.y at {ahead} s [mm]"] == point["p"][1][1]
        assert table[-1][f"status at {ahead} s"] == point["status"]


def test_xdf_holds_them_too(session: Path, tmp_path: Path) -> None:
    pyxdf = pytest.importorskip("pyxdf", reason="the oracle for XDF is pyxdf")
    [path] = export_session(session, "xdf", tmp_path)
    forecasts = pyxdf.load_xdf(path, dejitter_timestamps=False)[0][1]
    channels = forecasts["info"]["desc"][0]["channels"][0]["channel"]
    labels = [one["label"][0] for one in channels]
    for ahead, point in zip(AHEAD, journalled(session)[-1]["path"], strict=True):
        at = labels.index(f"b.y at {ahead} s")
        assert (forecasts["time_series"][-1, at], channels[at]["unit"]) == (point["p"][1][1], ["mm"])
        assert np.isfinite(forecasts["time_series"][-1, labels.index(f"status at {ahead} s")])


def test_report_says_which_horizon_it_is_about(session: Path) -> None:
    assert "Errors and coverage: 0.5 s ahead; the export also holds 0.1 s, 1 s" in summarise(session).lines()
