"""Replay of a session: compute all forecasts again, and compare them with those that were recorded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from quatcast.basics.typing import Floats
from quatcast.live.frames import ForecastFrame, PathPoint
from quatcast.live.journal import Reading, read_journal
from quatcast.live.pipeline import Build, Pipeline, build_recommended
from quatcast.live.records import ForecastRecord, read_forecasts, read_frames
from quatcast.live.session import read_settings


@dataclass
class Replayed:
    """What a replay found.

    Attributes
    ----------
    frames
        Number of frames.
    equal
        Number of forecasts that are equal to the recorded ones in all bits.
    different
        Numbers of those that are not, on the grid.
    unrecorded
        Number of forecasts that the journal does not hold.
    reading
        Lines of the journal that could not be read.
    """

    frames: int
    equal: int
    different: list[int]
    unrecorded: int
    reading: Reading

    def compare(self, answer: ForecastFrame, known: ForecastRecord) -> None:
        """Count a forecast that was computed again."""
        if _equal(answer, known):
            self.equal += 1
        else:
            self.different.append(answer.sequence)

    @property
    def same(self) -> bool:
        """Whether every recorded forecast was reproduced."""
        return not self.different


def replay_session(folder: Path, build: Build = build_recommended) -> Replayed:
    """Take the frames of a session into a new pipeline, and compare its forecasts with the recorded ones.

    Raises
    ------
    ValueError
        If the folder holds no session.
    """
    pipeline = Pipeline(read_settings(folder), build)
    result = Replayed(0, 0, [], 0, Reading())
    recorded = _Recorded(folder)
    unmatched: dict[int, ForecastFrame] = {}
    for number, frame in read_frames(read_journal(folder, found=result.reading)):
        # A frame that cannot be read was not seen by a session that was recovered after it either.
        pipeline.frames = number - 1
        result.frames += 1
        for sample in pipeline.take(frame).samples:
            forecast = pipeline.forecast(sample)
            known = recorded.find(sample.number, number)
            if known is None or not known.unlearnt:
                pipeline.learn(None if known is None else known.limit)
            answer = pipeline.to_frame(forecast, sample, 0.0)
            if known is None:
                unmatched[sample.number] = answer
            else:
                result.compare(answer, known)
    for known in recorded.rest():
        late = unmatched.pop(known.forecast.sequence, None)
        if late is not None:
            result.compare(late, known)
    result.unrecorded = len(unmatched)
    result.different.sort()
    return result


class _Recorded:
    """The recorded forecasts of a session, read as far as they are needed."""

    def __init__(self, folder: Path) -> None:
        self._coming = read_forecasts(read_journal(folder))
        self._waiting: dict[int, ForecastRecord] = {}
        self._frame = 0

    def find(self, number: int, frame: int) -> ForecastRecord | None:
        """Return the forecast with a number, looking no further than the forecasts of a frame.

        A forecast that is missing there may come later, if the session computed it again after a restart; see `rest`.
        """
        while number not in self._waiting and self._frame <= frame:
            one = next(self._coming, None)
            if one is None:
                break
            self._frame = max(self._frame, one.frame)
            self._waiting[one.forecast.sequence] = one
        return self._waiting.pop(number, None)

    def rest(self) -> Iterator[ForecastRecord]:
        """Yield the forecasts that were not asked for when they were due."""
        yield from self._waiting.values()
        yield from self._coming


def _equal(answer: ForecastFrame, known: ForecastRecord) -> bool:
    """Compare bit for bit; a forecast that was late was sent as a hold."""
    theirs = known.forecast
    status = known.late or (answer.status == theirs.status and answer.reason == theirs.reason)
    pairs = _pairs(answer, theirs)
    for mine, other in zip(answer.path, theirs.path, strict=True):
        pairs += _pairs(mine, other)
    return status and all(np.array_equal(a, b, equal_nan=True) for a, b in pairs)


def _pairs(mine: ForecastFrame | PathPoint, other: ForecastFrame | PathPoint) -> list[tuple[Floats, Floats]]:
    """Return the arrays to compare; earlier versions did not record the radii of orientations of poses."""
    pairs = [(mine.position, other.position), (mine.radius, other.radius)]
    if mine.angle_radius is not None and other.angle_radius is not None:
        pairs.append((mine.angle_radius, other.angle_radius))
    return pairs
