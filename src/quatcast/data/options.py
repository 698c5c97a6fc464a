"""What a user may say about a file, where the file itself is not clear."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from quatcast.data.recording import SPACES
from quatcast.data.style import TIME_UNITS


@dataclass(frozen=True)
class Options:
    """Arguments of `quatcast.data.read`; see there."""

    rate: float | None = None
    channels: Sequence[str] | None = None
    columns: Sequence[str] | None = None
    ignore: Sequence[str] = ()
    time: str | None = None
    time_unit: str | None = None
    unit: str | None = None
    space: str | None = None
    dimensions: int | None = None
    encoding: str | None = None

    def __post_init__(self) -> None:
        if self.rate is not None and not 0 < self.rate < math.inf:
            raise ValueError(f"rate: expected a positive number of Hz, got {self.rate}")
        if self.dimensions not in (None, 3, 4):
            raise ValueError(f"dimensions: expected 3 or 4, got {self.dimensions}")
        if self.space is not None and self.space not in SPACES:
            raise ValueError(f"space: expected one of {', '.join(SPACES)}, got {self.space!r}")
        if self.time_unit is not None and self.time_unit not in TIME_UNITS:
            raise ValueError(f"time_unit: expected one of {', '.join(TIME_UNITS)}, got {self.time_unit!r}")
        for name in ("channels", "columns", "ignore"):
            if isinstance(getattr(self, name), str):
                raise ValueError(f"{name}: expected a list of names, got the text {getattr(self, name)!r}")

    def units(self) -> tuple[str | None, dict[str, str]]:
        """Return the unit of all channels, or None, and the units of single channels.

        Examples
        --------
        >>> Options(unit="mm").units(), Options(unit="p=mm,r=deg").units()
        (('mm', {}), (None, {'p': 'mm', 'r': 'deg'}))
        """
        if self.unit is None:
            return None, {}
        common, single = None, {}
        for word in (self.unit or "").split(","):
            channel, equals, unit = word.rpartition("=")
            if equals:
                single[channel.strip()] = unit.strip()
            else:
                common = unit.strip()
        return common, single
