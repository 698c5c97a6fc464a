"""Export, replay and report of a session; other people's readers are the oracles."""

import asyncio
import csv
import logging
import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streams import Given, build_cheap, frame

from quatcast.cli import run
from quatcast.data import read_csv
from quatcast.forecasting.spaces import find_space
from quatcast.live import replay
from quatcast.live.export import export_session
from quatcast.live.journal import encode_line, journal_files, read_journal
from quatcast.live.pipeline import Pipeline
from quatcast.live.records import ForecastRecord, read_forecasts, read_frames
from quatcast.live.replay import replay_session
from quatcast.live.report import write_report
from quatcast.live.service import Service
from quatcast.live.session import Session
from quatcast.live.settings import LiveSettings
from quatcast.live.summary import Truth, summarise
from quatcast.live.transports import open_source

SETTINGS = LiveSettings(stream="chest", horizon=(0.3,), rate=10.0)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("session")
    source = open_source("simulated:?speed=0&seconds=40&loss=0.05", "chest")
    recorded = Session(folder, SETTINGS, print)
    asyncio.run(Service(Pipeline(SETTINGS, build_cheap), source, session=recorded).run())
    return folder


def cell(value: Any) -> float:
    return math.nan if value in (None, "") else float(value)


@pytest.mark.parametrize("form", ["csv", "xdf"])
def test_no_name_of_a_stream_leads_out_of_the_folder(form: str, tmp_path: Path) -> None:
    """Names such as ../../chest come from whoever recorded the session."""
    folder, out = tmp_path / "session", tmp_path / "deep" / "out"
    settings = replace(SETTINGS, stream="../../left/chest")
    source = open_source("simulated:?speed=0&seconds=2", settings.stream)
    recorded = Session(folder, settings, print)
    asyncio.run(Service(Pipeline(settings, build_cheap), source, session=recorded).run())
    paths = export_session(folder, form, out)
    assert {path.parent for path in paths} == {out}
    assert all(path.is_file() and path.name.startswith("_.._left_chest") for path in paths)


def test_csv_samples_are_a_recording(session: Path, tmp_path: Path) -> None:
    paths = export_session(session, "csv", tmp_path)
    assert [path.name for path in paths] == ["chest-samples.csv", "chest-frames.csv", "chest-forecasts.csv"]
    recording = read_csv(paths[0])
    samples = np.array([one.forecast.sample for one in read_forecasts(read_journal(session))])
    assert recording.channels == ("lower abdomen", "upper abdomen", "chest")
    assert recording.units == ("mm",) * 3
    assert np.array_equal(recording.positions, samples, equal_nan=True)
    frames = list(csv.DictReader(paths[1].read_text().splitlines()))
    assert len(frames) == len(list(read_frames(read_journal(session))))


def test_csv_forecasts_hold_every_bit(session: Path, tmp_path: Path) -> None:
    path = export_session(session, "csv", tmp_path)[2]
    rows = list(csv.DictReader(path.read_text().splitlines()))
    for row, record in zip(rows, read_forecasts(read_journal(session)), strict=True):
        one = record.forecast
        assert (int(row["number"]), float(row["sent_time"]), row["status"]) == (one.sequence, one.sent_time, one.status)
        position = np.array([cell(row[f"{name}.{axis} [mm]"]) for name in ("lower abdomen", "chest") for axis in "xyz"])
        assert np.array_equal(position, one.position[[0, 2]].ravel(), equal_nan=True)


def test_parquet_equals_csv(session: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="the format parquet needs pyarrow")
    tables = zip(export_session(session, "csv", tmp_path), export_session(session, "parquet", tmp_path), strict=True)
    for as_csv, as_parquet in tables:
        table = parquet.read_table(as_parquet).to_pylist()
        rows = list(csv.DictReader(as_csv.read_text().splitlines()))
        assert len(table) == len(rows)
        for mine, theirs in zip(table[::50], rows[::50], strict=True):
            assert list(mine) == list(theirs)
            for value, text in zip(mine.values(), theirs.values(), strict=True):
                if isinstance(value, str):
                    assert value == text
                else:
                    assert np.array_equal(cell(value), cell(text), equal_nan=True)


def test_parquet_without_its_package_says_what_to_install(
    session: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(ImportError, match="pyarrow is not installed"):
        export_session(session, "parquet", tmp_path)


def test_xdf_is_read_by_pyxdf(session: Path, tmp_path: Path) -> None:
    pyxdf = pytest.importorskip("pyxdf", reason="the oracle for XDF is pyxdf")
    [path] = export_session(session, "xdf", tmp_path)
    samples, forecasts = pyxdf.load_xdf(path, dejitter_timestamps=False)[0]
    frames = [one for _, one in read_frames(read_journal(session))]
    assert samples["info"]["name"] == ["chest samples"]
    assert np.array_equal(samples["time_stamps"], [one.received for one in frames])
    values = np.array([one.values.ravel() for one in frames])
    assert np.array_equal(samples["time_series"], values, equal_nan=True)
    made = [one.forecast for one in read_forecasts(read_journal(session))]
    assert np.array_equal(forecasts["time_series"][:, 2], [one.target_time for one in made])
    position = np.array([one.position.ravel() for one in made])
    assert np.array_equal(forecasts["time_series"][:, 3:12], position, equal_nan=True)
    labels = [one["label"][0] for one in samples["info"]["desc"][0]["channels"][0]["channel"]]
    assert labels[:2] == ["lower abdomen.x", "lower abdomen.y"]
    assert samples["info"]["desc"][0]["channels"][0]["channel"][0]["unit"] == ["mm"]


@pytest.mark.parametrize("name", ["status at rest", "status"])
def test_a_channel_may_have_the_name_of_a_column(name: str, tmp_path: Path) -> None:
    settings = replace(SETTINGS, names=(name, "b", "c"))
    recorded = Session(tmp_path / "session", settings, print)
    source = open_source("simulated:?speed=0&seconds=4", settings.stream)
    asyncio.run(Service(Pipeline(settings, build_cheap), source, session=recorded).run())
    for form in ("csv", "xdf"):
        assert all(path.stat().st_size for path in export_session(tmp_path / "session", form, tmp_path))


@pytest.mark.parametrize("form", ["docx", ""])
def test_unknown_formats_and_empty_sessions_are_refused(session: Path, tmp_path: Path, form: str) -> None:
    with pytest.raises(ValueError, match="expected one of csv, parquet, xdf"):
        export_session(session, form, tmp_path)
    Session(tmp_path, SETTINGS, print).close()
    with pytest.raises(ValueError, match="holds no samples yet"):
        export_session(tmp_path, "csv", tmp_path)


@pytest.mark.parametrize("form", ["csv", "xdf"])
def test_damaged_lines_are_named_once(
    session: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setattr(logging.getLogger("quatcast"), "handlers", [])
    monkeypatch.setattr(logging.getLogger("quatcast"), "propagate", False)
    (tmp_path / "session.json").write_bytes((session / "session.json").read_bytes())
    [(_, path)] = journal_files(session)
    lines = path.read_bytes().splitlines(keepends=True)
    (tmp_path / path.name).write_bytes(b"".join(lines[:40]) + b"rubbish\n" + b"".join(lines[40:]))
    assert run(["live", "export", str(tmp_path), "--to", form, "--out", str(tmp_path)]) == 0
    [said] = capsys.readouterr().err.splitlines()
    assert said.endswith(f"1 lines of the journal are damaged and left out ({path.name}, line 41)")
    export_session(session, form, tmp_path)
    assert capsys.readouterr().err == ""


def test_replay_reproduces_every_forecast_and_finds_a_changed_one(session: Path, tmp_path: Path) -> None:
    good = replay_session(session, build_cheap)
    assert (good.equal, good.different) == (400, [])
    (tmp_path / "session.json").write_bytes((session / "session.json").read_bytes())
    [(_, path)] = journal_files(session)
    records = list(read_journal(session))
    changed = next(record for record in records if record["type"] == "forecast" and record["seq"] == 350)
    changed["p"][0][0] = float(np.nextafter(changed["p"][0][0], np.inf))
    (tmp_path / path.name).write_bytes(b"".join(encode_line(record) for record in records))
    assert replay_session(tmp_path, build_cheap).different == [350]


@pytest.mark.parametrize("again", [False, True])
def test_replay_reads_no_further_than_it_needs_if_a_forecast_is_missing(
    session: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, again: bool
) -> None:
    """A session computes it again after a restart and writes it at the end, where it is found all the same."""
    (tmp_path / "session.json").write_bytes((session / "session.json").read_bytes())
    records = list(read_journal(session))
    missing = next(record for record in records if record["type"] == "forecast" and record["seq"] == 100)
    records.remove(missing)
    records += [missing | {"recovered": True}] if again else []
    (tmp_path / "journal-000000000001.jsonl").write_bytes(b"".join(encode_line(record) for record in records))
    read, ahead = list[int](), list[int]()

    def counted(lines: Iterator[dict[str, Any]]) -> Iterator[ForecastRecord]:
        for one in read_forecasts(lines):
            read.append(one.forecast.sequence)
            yield one

    class Counting(Pipeline):
        def learn(self, limit: int | None = None) -> None:
            ahead.append(len(read) - len(ahead))
            super().learn(limit)

    monkeypatch.setattr(replay, "read_forecasts", counted)
    monkeypatch.setattr(replay, "Pipeline", Counting)
    result = replay_session(tmp_path, build_cheap)
    assert (result.equal, result.different, result.unrecorded) == (399 + again, [], 1 - again)
    assert max(ahead) <= 5


def test_summary_against_plain_arrays(session: Path, tmp_path: Path) -> None:
    """Errors, coverage and status recomputed from the journal with arrays instead of a queue."""
    summary = summarise(session)
    records = list(read_forecasts(read_journal(session)))
    made = [one.forecast for one in records]
    samples, positions = np.array([one.sample for one in made]), np.array([one.position for one in made])
    radius = np.array([one.radius for one in made])
    errors = np.sqrt(((samples[3:] - positions[:-3]) ** 2).sum(axis=-1))
    [scores] = summary.scores
    assert (scores.kind, scores.unit) == ("position", summary.unit)
    assert np.allclose(scores.errors, errors, equal_nan=True)
    known = np.isfinite(radius[:-3]) & np.isfinite(errors)
    assert np.allclose(scores.coverage, [(errors[k, i] <= radius[:-3][k, i]).mean() for i, k in enumerate(known.T)])
    assert summary.frames == len(list(read_frames(read_journal(session))))
    assert (summary.samples, summary.unsent) == (400, sum(one.unsent for one in records))
    assert sum(summary.status.values()) == 400 - summary.unsent
    assert summary.latencies.min() >= 0
    page = write_report(summary, tmp_path / "report.html").read_text()
    assert "http://" not in page.split("<div", 1)[0]
    assert '"showSendToCloud": false' in page
    for row in scores.rows(summary.names):
        assert all(text in page for text in row)


def test_nothing_is_interpolated_over_a_damaged_line(session: Path, tmp_path: Path) -> None:
    """A target between two samples, one of which cannot be read, has no truth."""
    truth = Truth(2.5, find_space("position", 10.0))
    made = [one.forecast for one in islice(read_forecasts(read_journal(session)), 3)]
    between = truth.sample(made[1], made[2])
    assert between is not None
    assert np.allclose(between, (made[1].sample + made[2].sample) / 2, equal_nan=True)
    assert truth.sample(made[0], made[2]) is None
    assert truth.sample(None, made[2]) is None
    whole = Truth(2.0, find_space("position", 10.0)).sample(made[0], made[2])
    assert np.array_equal(whole, made[2].sample, equal_nan=True)


def test_names_are_escaped_in_the_report(session: Path, tmp_path: Path) -> None:
    summary: Any = summarise(session)
    summary.names = ("<script>alert(1)</script>", *summary.names[1:])
    assert "<script>alert" not in write_report(summary, tmp_path / "r.html").read_text()


@pytest.mark.parametrize("form", ["csv", "xdf"])
def test_frames_of_another_shape_have_no_values(tmp_path: Path, form: str) -> None:
    frames = [frame(i, values=np.ones((2 if i == 3 else 1, 3))) for i in range(8)]
    plain = [replace(one, names=()) for one in frames]
    recorded = Session(tmp_path / "session", SETTINGS, print)
    source = Given([*plain], realtime=False)
    asyncio.run(Service(Pipeline(SETTINGS, build_cheap), source, session=recorded).run())
    first, second, *_ = export_session(tmp_path / "session", form, tmp_path) * 2
    if form == "csv":
        rows = list(csv.reader(second.read_text().splitlines()))
        assert {len(row) for row in rows} == {7}
        assert [row[4:] == ["", "", ""] for row in rows[1:]] == [i == 3 for i in range(8)]
    else:
        values = pytest.importorskip("pyxdf").load_xdf(str(first))[0][0]["time_series"]
        assert np.isnan(values).all(axis=1).tolist() == [i == 3 for i in range(8)]
