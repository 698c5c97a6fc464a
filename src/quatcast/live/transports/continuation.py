"""Where a recording goes on that a session has taken in part: after the last sample of the session."""

from __future__ import annotations

import logging

import numpy as np

from quatcast.live.frames import Frame

log = logging.getLogger("quatcast.live")


class Continuation:
    """Passes over the samples of a recording that a session holds already.

    Parameters
    ----------
    last
        The last sample of the session; None to pass over none.

    Attributes
    ----------
    missing
        Whether that sample has not come yet.

    Examples
    --------
    >>> frames = [Frame("chest", i, i / 10, i / 10, np.full((1, 3), float(i))) for i in range(4)]
    >>> rest = Continuation(frames[1])
    >>> [frame.sequence for frame in frames if rest.is_new(frame, frame.sequence == 1)]
    [2, 3]
    >>> rest.finish()
    """

    def __init__(self, last: Frame | None) -> None:
        self._last = last
        self.missing, self._other, self._empty = last is not None, False, True

    def is_new(self, frame: Frame, in_place: bool) -> bool:
        """Tell whether a frame comes after the last sample of the session.

        Parameters
        ----------
        frame
            The next frame of the recording.
        in_place
            Whether it has the number or the time of the last sample of the session. If it has other values, it belongs
            to another recording.
        """
        if self._last is None or not self.missing:
            self._empty = False
            return True
        if in_place:
            self.missing = not _same_values(frame, self._last)
            self._other |= self.missing
        return False

    def finish(self) -> None:
        """Say so if the recording has nothing new.

        Raises
        ------
        ValueError
            If the recording does not hold the last sample of the session.
        """
        if self._last is None or not self._empty:
            return
        if not self.missing:
            log.warning("the session already holds all of this recording")
            return
        name = f"at {self._last.received:.6f} s" if self._last.sequence is None else f"number {self._last.sequence}"
        other = "; its sample there has other values" if self._other else ""
        raise ValueError(
            f"source: the recording does not hold the last sample of the session ({name}), after which it would "
            f"continue{other}; give the recording with which the session was begun, or another folder"
        )


def _same_values(frame: Frame, other: Frame) -> bool:
    """Tell whether two frames have the same values; if nothing was measured, their shape says nothing."""
    if np.isnan(frame.values).all() and np.isnan(other.values).all():
        return True
    return np.array_equal(frame.values, other.values, equal_nan=True)
