"""Settings of one live stream, from the command line, a file or a program."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

import numpy as np

from quatcast.forecasting.spaces import SPACES
from quatcast.safety.channels import usable
from quatcast.safety.known_faults import KnownFaults, Sentinel, Valid

HORIZON = 0.5
"""Seconds ahead if nothing is said."""
COMPUTING = 0.005
"""Seconds that an answer takes on a slow machine, for a horizon that is computed from latencies."""
LONGEST = 60.0
"""Longest horizon and latency in seconds."""


@dataclass(frozen=True)
class LiveSettings:
    """What a live stream is and what is forecast of it.

    A session can be continued only with the settings that it was begun with.

    Attributes
    ----------
    stream
        Name of the stream.
    horizon
        Seconds ahead, the first for the forecast itself, more than `act_latency` and `input_age` together, and the
        others for its path. Empty: the input age, the time of computing and `act_latency` together.
    rate
        Sampling rate in Hz; None to detect it from the first seconds.
    names, unit
        Names of the channels and unit of the values; by default those that the source gives.
    space
        What a channel is: "position" or "vector", "orientation" (w, x, y, z) or "pose" (x, y, z and w, x, y, z).
    act_latency
        Seconds that the receiver needs to act. A forecast that leaves later than this before its target time is a hold.
    input_age
        Seconds from the measurement to the earliest arrival, if they are known from the data sheet of the tracker.
    sentinel
        Values that the tracker sends for a lost channel: numbers, which all coordinates equal, or one per coordinate.
    valid
        Ranges of real coordinates (channel, smallest, largest), with an empty name for all channels. A channel outside
        counts as lost.

    Examples
    --------
    >>> LiveSettings(stream="chest", horizon=(0.5,), rate=10.0).horizon
    (0.5,)
    >>> LiveSettings(horizon=(-1.0,))
    Traceback (most recent call last):
    ...
    ValueError: horizon: expected seconds, more than 0 and at most 60, got -1.0
    """

    stream: str = "stream"
    horizon: tuple[float, ...] = (HORIZON,)
    rate: float | None = None
    names: tuple[str, ...] = ()
    unit: str = ""
    act_latency: float = 0.0
    input_age: float = 0.0
    space: str = "position"
    sentinel: tuple[Sentinel, ...] = ()
    valid: tuple[Valid, ...] = ()

    def __post_init__(self) -> None:
        # Receivers refuse messages with other names.
        for what, text in (
            ("stream", self.stream),
            *(("names", name) for name in self.names),
            ("unit", self.unit or "1"),
        ):
            if not 0 < len(text) <= 64 or not text.isprintable():
                raise ValueError(f"{what}: expected printable text of 1 to 64 characters, got {text!r}")
        for seconds in self.horizon:
            if not 0 < seconds <= LONGEST:
                raise ValueError(f"horizon: expected seconds, more than 0 and at most {LONGEST:g}, got {seconds!r}")
        if len(set(self.horizon)) != len(self.horizon):
            raise ValueError(f"horizon: expected different numbers of seconds, got {self.horizon}")
        if self.rate is not None and not (math.isfinite(self.rate) and 0.1 <= self.rate <= 10_000):
            raise ValueError(f"rate: expected 0.1 to 10000 Hz, got {self.rate!r}")
        for name in ("act_latency", "input_age"):
            if not 0 <= (seconds := getattr(self, name)) <= LONGEST:
                raise ValueError(f"{name}: expected seconds from 0 to {LONGEST:g}, got {seconds!r}")
        self._check_reachable()
        if self.space not in SPACES:
            raise ValueError(f"space: expected one of {', '.join(SPACES)}, got {self.space!r}")
        self._check_faults()
        if len(set(self.names)) != len(self.names):
            raise ValueError(f"names: expected different names, got {self.names}")

    def _check_reachable(self) -> None:
        """Refuse a horizon so short that every forecast would be late; single points of the path may be."""
        needed = self.act_latency + self.input_age
        if self.horizon and self.horizon[0] <= needed + 1e-9:  # 0.1 + 0.2 is not 0.3
            raise ValueError(
                f"horizon: expected more than act_latency and input_age together, {needed:g} s, got "
                f"{self.horizon[0]:g}; every forecast would be late: give a longer one, or none, which then follows "
                "from act_latency"
            )

    def _check_faults(self) -> None:
        """Check sentinels and valid ranges as far as the channels are known."""
        numbers = SPACES[self.space].components
        if numbers is not None:
            usable(np.zeros((1, numbers)), self.sentinel, None, self.space)
        faults = self.faults
        if self.names:
            faults.limits(self.names)

    @property
    def faults(self) -> KnownFaults:
        """What the tracker sends for a lost channel, and the range of real values."""
        return KnownFaults(self.sentinel, self.valid)

    def to_json(self) -> dict[str, Any]:
        """Return plain values for a JSON file.

        Examples
        --------
        >>> LiveSettings.from_json(LiveSettings(rate=50.0).to_json()) == LiveSettings(rate=50.0)
        True
        """
        return {name: _lists(value) for name, value in asdict(self).items()}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Return the settings of plain values; names that are not known are an error."""
        known = {one.name for one in fields(cls)}
        if unknown := sorted(set(values) - known):
            raise ValueError(f"settings: expected {', '.join(sorted(known))}, got {', '.join(unknown)}")
        return cls(**{name: _tuples(value) for name, value in values.items()})

    def differences(self, other: Self) -> list[str]:
        """Return in words where other settings differ from these.

        Examples
        --------
        >>> LiveSettings(rate=50.0).differences(LiveSettings(rate=10.0))
        ['rate 50.0 instead of 10.0']
        >>> LiveSettings(horizon=(0.5, 1.0)).differences(LiveSettings(horizon=(0.5,)))
        ['horizon 0.5, 1.0 instead of 0.5']
        """
        pairs = ((one.name, getattr(self, one.name), getattr(other, one.name)) for one in fields(self))
        return [f"{name} {_shown(mine)} instead of {_shown(theirs)}" for name, mine, theirs in pairs if mine != theirs]


def _shown(value: Any) -> str:
    """Return a setting for a message."""
    if isinstance(value, tuple):
        return ", ".join(map(_shown, value)) or "none"
    return "none" if value is None or value == "" else str(value)


def _lists(value: Any) -> Any:
    return [_lists(one) for one in value] if isinstance(value, tuple) else value


def _tuples(value: Any) -> Any:
    return tuple(_tuples(one) for one in value) if isinstance(value, list) else value
