"""What a live service has done, in numbers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Summary:
    """What a service has done.

    Attributes
    ----------
    frames, forecasts, holds
        Number of frames taken, of forecasts sent, and of those with the status hold.
    unlearnt
        Number of samples from which nothing was learnt, because this machine could not keep up.
    hurried
        Whether the times of the device advanced faster than the clock, as those of a recording that is sent at once do.
    counts
        Number of frames and samples of each kind.
    refused
        Number of messages that were not valid samples, by kind.
    dropped
        Number of forecasts that sinks dropped.
    rate
        Sampling rate in Hz, also of a session that was continued; 0 if it could not be detected.

    Examples
    --------
    >>> Summary(frames=100, forecasts=98, holds=0, unlearnt=0, counts={"lost": 2}, refused={}, dropped=0).counts["lost"]
    2
    """

    frames: int
    forecasts: int
    holds: int
    unlearnt: int
    counts: dict[str, int]
    refused: dict[str, int]
    dropped: int
    rate: float = 0.0
    hurried: bool = False
