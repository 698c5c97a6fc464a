"""Samples with a number of coordinates that the space does not have are refused, and the stream goes on."""

import asyncio
import logging
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from streams import Given, Kept, frame

from quatcast.live.frames import Frame
from quatcast.live.journal import encode_line, read_journal
from quatcast.live.pipeline import Pipeline
from quatcast.live.records import frame_line, read_frames
from quatcast.live.service import Service
from quatcast.live.session import Session
from quatcast.live.settings import LiveSettings
from quatcast.live.totals import Summary

POSES = np.tile([1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0], (1, 1))
RIGHT = {"position": 3, "vector": 4, "orientation": 4, "pose": 7}


class Logged(logging.Handler):
    """A handler that keeps the texts."""

    def __init__(self) -> None:
        super().__init__()
        self.texts = list[str]()

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


def sample(number: int, width: int) -> Frame:
    values = POSES if width == 7 else np.array([[1.0] + [0.0] * (width - 1)])
    return replace(frame(number), values=values, names=())


def serve(space: str, frames: list[Frame], session: Session | None = None) -> tuple[Summary, Kept]:
    kept = Kept()
    settings = LiveSettings(stream="chest", rate=10.0, space=space) if session is None else session.settings
    service = Service(Pipeline(settings), Given(list(frames), realtime=False), [kept], session=session)
    return asyncio.run(service.run()), kept


@pytest.mark.parametrize(
    ("space", "wrong", "expected"),
    [
        ("position", 5, "expected 1 to 4 coordinates per channel for --space position, got 5"),
        ("vector", 7, "expected 1 to 4 coordinates per channel for --space vector, got 7"),
        ("orientation", 3, "expected 4 coordinates per channel for --space orientation, got 3"),
        ("pose", 3, "expected 7 coordinates per channel for --space pose, got 3"),
    ],
)
def test_they_are_counted_and_told_once(space: str, wrong: int, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    logged = Logged()
    log = logging.getLogger("quatcast.live")
    monkeypatch.setattr(log, "handlers", [logged])
    monkeypatch.setattr(log, "propagate", False)
    right = RIGHT[space]
    summary, kept = serve(space, [sample(i, wrong if i < 3 or i in (6, 8) else right) for i in range(12)])
    assert summary.refused == {"coordinates": 5}
    assert summary.frames == 7
    assert kept.sent[-1].position.shape == (1, right)
    told = [text for text in logged.texts if "coordinates" in text]
    assert told == [f"refused: {expected}; such samples are refused and counted"]


def test_a_sample_without_any_value_fits_every_space() -> None:
    nothing = replace(sample(0, 3), values=np.full((1, 3), np.nan))
    summary, kept = serve("pose", [nothing, *(sample(i, 7) for i in range(1, 5))])
    assert (summary.refused, len(kept.sent), kept.sent[0].sample.shape) == ({}, 5, (1, 7))


def test_the_journal_holds_none_of_them_and_one_from_before_is_skipped(tmp_path: Path) -> None:
    settings = LiveSettings(stream="chest", rate=10.0, space="pose")
    Session(tmp_path, settings, print).close()
    (tmp_path / "journal-000000000001.jsonl").write_bytes(
        frame_line(sample(0, 3), 1, names=True) + encode_line({"type": "event", "text": "an older version ended here"})
    )
    summary, kept = serve("pose", [sample(i, 3 + 4 * (i % 2)) for i in range(1, 9)], Session(tmp_path, settings, print))
    assert (summary.refused, len(kept.sent) > 0) == ({"coordinates": 4}, True)
    assert {one.values.shape[1] for number, one in read_frames(read_journal(tmp_path)) if number > 1} == {7}
