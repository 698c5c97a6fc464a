"""Forecasts of poses carry two radii, of the position and of the orientation, wherever they go."""

import asyncio
import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streams import Given, Kept, frame

from quatcast import quaternion, recommended
from quatcast.basics.typing import Floats
from quatcast.cli import run
from quatcast.live.export import export_session
from quatcast.live.frames import ForecastFrame, Frame
from quatcast.live.journal import encode_line, journal_files, read_journal
from quatcast.live.messages import forecast_message, parse_forecast
from quatcast.live.pipeline import Pipeline
from quatcast.live.replay import replay_session
from quatcast.live.report import write_report
from quatcast.live.run import StreamPlan, ViewAddress, serve
from quatcast.live.service import Service
from quatcast.live.session import Session
from quatcast.live.settings import LiveSettings
from quatcast.live.silence import hold_after
from quatcast.live.summary import Scores, summarise
from quatcast.live.view.feed import ViewFeed

SETTINGS = LiveSettings(stream="tool", horizon=(0.2, 0.1), rate=10.0, unit="mm", space="pose")


def poses() -> list[Frame]:
    times, rng = np.arange(80) / 10, np.random.default_rng(1)
    turned = quaternion.from_rotation_vector(np.outer(np.sin(times), [0.0, 0.5, 0.1]) + rng.normal(0, 0.01, (80, 3)))
    moved = np.outer(np.cos(times), [10.0, 5.0, 0.0]) + rng.normal(0, 0.1, (80, 3))
    values = np.concatenate([moved, turned], axis=1)
    return [replace(frame(i), values=values[i : i + 1], names=("probe",)) for i in range(80)]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[ForecastFrame]]:
    folder, kept = tmp_path_factory.mktemp("session"), Kept()
    session = Session(folder, SETTINGS, print)
    asyncio.run(Service(Pipeline(SETTINGS), Given(list(poses()), realtime=False), [kept], session=session).run())
    return folder, kept.sent


def test_both_radii_are_those_of_the_forecaster(recorded: tuple[Path, list[ForecastFrame]]) -> None:
    forecaster = recommended([0.2, 0.1], 10.0, names=("probe",), space="pose")
    both = [forecaster.update(one.values) for one in poses()]
    sent = [json.loads(forecast_message(one)) for one in recorded[1]]
    known = 0
    for expected, message in zip(both, sent, strict=True):
        for seconds, part in ((0.2, message), (0.1, message["path"][0])):
            radius = expected.at(seconds).radius
            pair = np.array([part["radius"], part["angle_radius"]], dtype=float)[:, 0]
            assert np.array_equal(pair, radius[0], equal_nan=True)
            known += np.isfinite(pair).all()
    assert known > 20


def test_messages_are_read_back_with_and_without_it(recorded: tuple[Path, list[ForecastFrame]]) -> None:
    one = recorded[1][-1]
    back = parse_forecast(forecast_message(one))
    assert one.angle_radius is not None
    assert np.array_equal(back.angle_radius, one.angle_radius)
    assert np.array_equal(back.path[0].angle_radius, one.path[0].angle_radius)
    earlier = replace(one, angle_radius=None, path=(replace(one.path[0], angle_radius=None),))
    assert b"angle" not in forecast_message(earlier)
    assert parse_forecast(forecast_message(earlier)).angle_radius is None
    assert np.isnan(hold_after(one, one.time + 1, 1.0).angle_radius).all()


def test_replay_compares_it_and_accepts_journals_without(
    recorded: tuple[Path, list[ForecastFrame]], tmp_path: Path
) -> None:
    folder = recorded[0]
    assert replay_session(folder).equal == 80
    (tmp_path / "session.json").write_bytes((folder / "session.json").read_bytes())
    [(_, path)] = journal_files(folder)
    records = list(read_journal(folder))
    made = [record for record in records if record["type"] == "forecast"]
    made[70]["angle_radius"][0] *= 2
    (tmp_path / path.name).write_bytes(b"".join(encode_line(record) for record in records))
    assert replay_session(tmp_path).different == [70]
    for record in made:
        for part in (record, *record["path"]):
            del part["angle_radius"]
    (tmp_path / path.name).write_bytes(b"".join(encode_line(record) for record in records))
    assert replay_session(tmp_path).different == []


def test_export_holds_it(recorded: tuple[Path, list[ForecastFrame]], tmp_path: Path) -> None:
    path = export_session(recorded[0], "csv", tmp_path)[2]
    last = list(csv.DictReader(path.read_text().splitlines()))[-1]
    one = recorded[1][-1]
    assert float(last["probe angle radius [rad]"]) == one.angle_radius[0]
    assert float(last["probe radius [mm]"]) == one.radius[0]
    assert float(last["probe angle radius at 0.1 s [rad]"]) == one.path[0].angle_radius[0]
    assert {"probe.x [mm]", "probe.qw"} <= set(last)


def test_report_scores_positions_and_orientations(recorded: tuple[Path, list[ForecastFrame]], tmp_path: Path) -> None:
    """Angles from the scalar product of quaternions, which the distance of the space does not use."""
    folder, made = recorded
    summary = summarise(folder)
    samples, positions = np.array([one.sample[0] for one in made]), np.array([one.position[0] for one in made])
    expected = [
        ("position", "mm", np.linalg.norm(samples[2:, :3] - positions[:-2, :3], axis=1), "radius", 1.0),
        ("orientation", "°", degrees_between(samples[2:, 3:], positions[:-2, 3:]), "angle_radius", 180 / np.pi),
    ]
    for scores, (kind, unit, errors, name, factor) in zip(summary.scores, expected, strict=True):
        assert (scores.kind, scores.unit) == (kind, unit)
        assert np.allclose(scores.errors[:, 0], errors, atol=1e-5)
        radius = np.array([getattr(one, name)[0] for one in made[:-2]]) * factor
        known = np.isfinite(radius)
        assert known.sum() > 20
        assert np.isclose(scores.coverage[0], np.mean(errors[known] <= radius[known]))
    still = degrees_between(samples[2:, 3:], samples[:-2, 3:])
    assert np.allclose(summary.scores[1].still[:, 0], still, atol=1e-5)
    page = write_report(summary, tmp_path / "report.html").read_text()
    for words in ("<h2>Position</h2>", "<th>RMSE (mm)</th>", "<h2>Orientation</h2>", "<th>RMSE (°)</th>"):
        assert words in page
    for scores in summary.scores:
        assert all(f"<td>{cell}</td>" in page for cell in scores.rows(summary.names)[0])


def degrees_between(a: Floats, b: Floats) -> Floats:
    return np.degrees(2 * np.arccos(np.minimum(1, np.abs(np.sum(a * b, axis=-1)))))


def test_command_prints_both_tables(
    recorded: tuple[Path, list[ForecastFrame]], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["report", str(recorded[0]), "--out", str(tmp_path)]) == 0
    said = capfd.readouterr().out
    assert "Session tool: position" in said
    assert "Session tool: orientation" in said
    assert "RMSE (mm)" in said
    assert "RMSE (°)" in said


def test_report_of_orientations_is_in_degrees(tmp_path: Path) -> None:
    settings = replace(SETTINGS, horizon=(0.2,), space="orientation")
    turned = [replace(one, values=one.values[:, 3:]) for one in poses()]
    session = Session(tmp_path, settings, print)
    asyncio.run(Service(Pipeline(settings), Given(turned, realtime=False), [], session=session).run())
    [scores] = summarise(tmp_path).scores
    assert (scores.kind, scores.unit) == ("orientation", "°")
    values = np.concatenate([one.values for one in turned])
    assert np.allclose(scores.still[:, 0], degrees_between(values[2:], values[:-2]), atol=1e-5)


def test_report_of_a_session_that_is_shorter_than_the_horizon(tmp_path: Path) -> None:
    session = Session(tmp_path, SETTINGS, print)
    asyncio.run(Service(Pipeline(SETTINGS), Given(poses()[:2], realtime=False), [], session=session).run())
    summary = summarise(tmp_path)
    assert [scores.rows(summary.names) for scores in summary.scores] == [[["probe", *"–––––"]]] * 2
    assert write_report(summary, tmp_path / "report.html").is_file()


def test_an_error_that_is_not_known_is_neither_within_the_radius_nor_beyond() -> None:
    errors = np.array([[1.0], [np.nan], [3.0]])
    scores = Scores("position", "mm", errors, errors, np.array([[2.0], [2.0], [2.0]]))
    assert np.array_equal(scores.within, [[1.0], [np.nan], [0.0]], equal_nan=True)
    assert scores.coverage.tolist() == [0.5]


def test_the_view_is_told_the_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    feeds: list[ViewFeed] = []

    class Recorded(ViewFeed):
        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)
            feeds.append(self)

    monkeypatch.setattr("quatcast.live.run.ViewFeed", Recorded)
    rows = [f"{i / 10}," + ",".join(map(str, one.values[0, 3:])) for i, one in enumerate(poses()[:20])]
    path = tmp_path / "probe.csv"
    path.write_text("\n".join(["time,probe.qw,probe.qx,probe.qy,probe.qz", *rows]))
    settings = replace(SETTINGS, horizon=(0.2,), space="orientation")
    assert asyncio.run(serve(StreamPlan(settings, f"file:{path}?speed=0", view=ViewAddress(port=0)))).forecasts == 20
    with feeds[0].viewer() as viewer:
        layout = next(one for _ in range(3) if (one := json.loads(str(viewer.take())))["type"] == "layout")
    assert (layout["space"], layout["unit"]) == ("orientation", "")
