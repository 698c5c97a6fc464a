"""Replay of a session: compute all forecasts again, and compare them with those that were recorded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from quatcast.live.frames import ForecastFrame
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
    recorded = read_forecasts(read_journal(folder))
    waiting: dict[int, ForecastRecord] = {}
    for number, frame in read_frames(read_journal(folder, found=result.reading)):
        # A frame that cannot be read was not seen by a session that was recovered after it either.
        pipeline.frames = number - 1
        result.frames += 1
        for sample in pipeline.take(frame).samples:
            made = pipeline.forecast(sample)
            while sample.number not in waiting and (one := next(recorded, None)) is not None:
                waiting[one.forecast.sequence] = one
            known = waiting.pop(sample.number, None)
            if known is None or not known.unlearnt:
                pipeline.learn(None if known is None else known.limit)
            if known is None:
                result.unrecorded += 1
            elif _equal(pipeline.to_frame(made, sample, 0.0), known):
                result.equal += 1
            else:
                result.different.append(sample.number)
    return result


def _equal(made: ForecastFrame, known: ForecastRecord) -> bool:
    """Compare bit for bit; a forecast that was late was sent as a hold."""
    theirs = known.forecast
    status = known.late or (made.status == theirs.status and made.reason == theirs.reason)
    pairs = [(made.position, theirs.position), (made.radius, theirs.radius)]
    for mine, other in zip(made.path, theirs.path, strict=True):
        pairs += [(mine.position, other.position), (mine.radius, other.radius)]
    return status and all(np.array_equal(a, b, equal_nan=True) for a, b in pairs)
