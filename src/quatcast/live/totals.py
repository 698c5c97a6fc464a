"""Totals of a live service: what it has done in the end, and the counts that it publishes once per second."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from quatcast.basics.typing import Bools, Floats
from quatcast.live.metrics import Metrics
from quatcast.safety.status import Status


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
        Whether samples arrived faster than they were measured, as those of a recording that is sent at once do.
    counts
        Number of frames and samples of each kind.
    refused
        Number of messages that were not valid samples, by kind.
    dropped
        Number of forecasts that sinks dropped.
    rate
        Sampling rate in Hz, also of a session that was continued; 0 if it could not be detected.
    statuses
        Number of sent forecasts by status.
    unseen
        Names of the channels that had coordinates in no sample on the grid.

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
    statuses: dict[str, int] = field(default_factory=dict)
    unseen: tuple[str, ...] = ()

    @property
    def never_ok(self) -> bool:
        """Whether forecasts were sent, none of them with the status ok."""
        return self.forecasts > 0 and not self.statuses.get(Status.OK.label)


class Seen:
    """Remembers which channels have had coordinates.

    Examples
    --------
    >>> seen = Seen()
    >>> for sample in ([[1.0], [np.nan], [np.nan]], [[np.nan], [np.nan], [2.0]]):
    ...     seen.add(np.array(sample))
    >>> seen.others(("lower", "upper", "chest"))
    ('upper',)
    """

    def __init__(self) -> None:
        self._seen: Bools = np.zeros(0, dtype=bool)

    def add(self, sample: Floats) -> None:
        """Take note of a sample (channels, coordinates), NaN where not seen; another number of channels begins anew."""
        seen: Bools = np.asarray(np.isfinite(sample).all(axis=1))
        self._seen = seen | self._seen if seen.shape == self._seen.shape else seen

    def others(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the names of the channels that have not been seen; none before the first sample."""
        return tuple(name for name, seen in zip(names, self._seen, strict=False) if not seen)


class Counters:
    """Publishes totals that the source, the sinks and the grid of a stream have counted.

    Examples
    --------
    >>> metrics = Metrics()
    >>> counters = Counters(metrics, "chest")
    >>> for total in (2, 5):
    ...     counters.publish({"malformed": total}, unchecked=7, dropped=0, grid={"late": 1})
    >>> metrics.value("messages_refused", kind="malformed", stream="chest")
    5.0
    """

    def __init__(self, metrics: Metrics, stream: str) -> None:
        self._metrics, self._stream = metrics, stream
        self._refused: dict[str, int] = {}

    def publish(self, refused: Mapping[str, int], unchecked: int, dropped: int, grid: Mapping[str, int]) -> None:
        """Publish refused messages by kind, samples without a checksum, dropped forecasts, and samples by kind."""
        for kind, n in refused.items():
            self._metrics.count("messages_refused", n - self._refused.get(kind, 0), kind=kind, stream=self._stream)
            self._refused[kind] = n
        self._metrics.gauge("samples_unchecked", unchecked, stream=self._stream)
        self._metrics.gauge("forecasts_dropped", dropped, stream=self._stream)
        for kind, n in grid.items():
            self._metrics.gauge("grid", n, kind=kind, stream=self._stream)
