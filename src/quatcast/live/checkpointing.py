"""When a service writes a checkpoint: once in a while, and soon if recovery would not be possible without one."""

from __future__ import annotations

import math
import time

from quatcast.live.pipeline import Pipeline
from quatcast.live.session import Session

CHECKPOINT = 10.0
"""Seconds between checkpoints."""
AGAIN = 1.0
"""Seconds after which a checkpoint that could not be written is tried again, if recovery is not possible without."""


class Checkpoints:
    """Begins to write checkpoints of a session when they are due.

    Parameters
    ----------
    session
        The session; without one nothing is written.
    every
        Seconds between checkpoints.
    """

    def __init__(self, session: Session | None, every: float = CHECKPOINT) -> None:
        self.session, self.every, self._saved = session, every, time.monotonic()

    def expire(self) -> None:
        """Let a checkpoint be due at once."""
        self._saved = -math.inf

    def save_if_due(self, pipeline: Pipeline) -> None:
        """Begin to write a checkpoint between two samples."""
        session = self.session
        if session is None or session.saving:
            return
        passed = time.monotonic() - self._saved
        needed = session.journal.interrupted and not session.journal.failing
        if passed >= self.every or (needed and (passed >= AGAIN or not session.failing)):
            self._saved = time.monotonic()
            session.begin_checkpoint(pipeline)
