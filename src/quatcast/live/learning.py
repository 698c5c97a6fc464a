"""How much a stream learns at once, and when: the next answer must not wait for it.

Everything that is decided here by a clock is written to the journal, so that recovery and replay repeat it.
"""

from __future__ import annotations

import os
from typing import Self

try:
    import fcntl
except ImportError:  # pragma: no cover - on Windows workers do not take turns
    fcntl = None  # type: ignore[assignment]

SHARE = 0.7
"""Share of the time between two samples that learning may take."""
MOST = 8
"""Number of waiting samples that are learnt from at once without a limit, at most."""
LEAST = 2
"""Smallest limit: with each new sample, one of those that are waiting is learnt from."""
TURN = 0.002
"""Seconds after which a stream looks again whether another one has finished learning."""
TURNS_VARIABLE = "QUATCAST_LEARNING_TURNS"
"""Environment variable by which a supervisor tells its workers the descriptor and the number of turns."""
HURRIED = 1.5
"""Ratio of the time span of samples to the time in which they arrived, above which they come faster than real time."""
AHEAD = 2.0
"""Seconds by which the former exceeds the latter at least: less is what has waited while a service was started."""


class Pace:
    """Limit on the samples that are learnt from at once, from the time that learning takes.

    Members that need scales collect samples for half a minute and then learn from them, several with each new sample.
    At 100 Hz this takes longer than the time between two samples.

    Attributes
    ----------
    limit
        The limit; None as long as learning takes little time.

    Examples
    --------
    >>> pace = Pace()
    >>> pace.observe(took=0.020, period=0.010)
    >>> pace.limit
    2
    >>> pace.observe(took=0.001, period=0.010)
    >>> pace.limit is None
    True
    """

    def __init__(self) -> None:
        self.limit: int | None = None

    def observe(self, took: float, period: float) -> None:
        """Adapt the limit to the seconds that learning took."""
        allowed = int(SHARE * period * (self.limit or MOST) / max(took, 1e-9))
        self.limit = None if allowed >= MOST else max(LEAST, allowed)


class Turns:
    """Turns to learn, which the workers of one supervisor share: no more learn at the same time than there are turns.

    An answer then finds a core that is free. A turn is a lock on one byte of a file that has no name. The system
    releases the lock of a worker that dies.

    Parameters
    ----------
    descriptor
        Descriptor of the file, which workers inherit.
    turns
        Number of turns.

    Examples
    --------
    >>> turns = Turns.create(1)
    >>> turns.take()
    True
    >>> turns.give_back()
    >>> turns.close()
    """

    def __init__(self, descriptor: int, turns: int) -> None:
        self.descriptor, self.turns = descriptor, turns
        self._taken: int | None = None

    @classmethod
    def create(cls, turns: int) -> Self:
        """Return turns for workers that are started later; they need the descriptor and `environment`."""
        return cls(os.memfd_create("quatcast-learning"), turns)

    @classmethod
    def inherited(cls) -> Self | None:
        """Return the turns that the supervisor of this process has given it, or None."""
        descriptor, _, turns = os.environ.get(TURNS_VARIABLE, "").partition(":")
        if fcntl is None or not (descriptor.isdecimal() and turns.isdecimal()):
            return None
        try:
            os.fstat(int(descriptor))
        except OSError:
            return None
        return cls(int(descriptor), int(turns))

    def environment(self) -> dict[str, str]:
        """Return the environment variable that passes these turns to a worker."""
        return {TURNS_VARIABLE: f"{self.descriptor}:{self.turns}"}

    def take(self) -> bool:
        """Take a turn if one is free, and return whether this process has one."""
        for turn in range(self.turns):
            try:
                fcntl.lockf(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, turn)
            except OSError:
                continue
            self._taken = turn
            return True
        return False

    def give_back(self) -> None:
        """Give the turn back."""
        if self._taken is not None:
            fcntl.lockf(self.descriptor, fcntl.LOCK_UN, 1, self._taken)
            self._taken = None

    def close(self) -> None:
        """Forget the turns."""
        os.close(self.descriptor)


def is_hurried(frames: int, period: float, seconds: float) -> bool:
    """Return whether frames, of which one per period was measured, have arrived faster than that.

    Examples
    --------
    >>> is_hurried(600, period=0.1, seconds=2.0), is_hurried(600, period=0.1, seconds=59.9)
    (True, False)
    >>> is_hurried(11, period=0.1, seconds=0.1)
    False
    """
    return (frames - 1) * period > max(HURRIED * seconds, seconds + AHEAD)
