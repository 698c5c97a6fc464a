"""Options that say how to read a file that is ambiguous."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from quatcast.basics.annotations import is_number
from quatcast.data.recording import SPACES
from quatcast.data.style import TIME_UNITS


@dataclass(frozen=True)
class Options:
    """Arguments of `quatcast.data.read`; see there."""

    rate: float | None = None
    channels: Sequence[str] | None = None
    columns: Sequence[str] | None = None
    ignore: Sequence[str] = ()
    time: str | int | None = None
    time_unit: str | None = None
    unit: str | None = None
    space: str | None = None
    dimensions: int | None = None
    encoding: str | None = None

    def __post_init__(self) -> None:
        if self.rate is not None and not (is_number(self.rate) and self.rate > 0):
            raise ValueError(f"rate: expected a positive number of Hz, got {self.rate!r}")
        if self.dimensions not in (None, 3, 4):
            raise ValueError(f"dimensions: expected 3 or 4, got {self.dimensions!r}")
        if not isinstance(self.time, str | int | np.integer | None) or isinstance(self.time, bool):
            raise ValueError(f"time: expected the name of a column, or its number from 1, got {self.time!r}")
        for name in ("time_unit", "unit", "space", "encoding"):
            if not isinstance(getattr(self, name), str | None):
                raise ValueError(f"{name}: expected a text, got {getattr(self, name)!r}")
        if self.space is not None and self.space not in SPACES:
            raise ValueError(f"space: expected one of {', '.join(SPACES)}, got {self.space!r}")
        if self.time_unit is not None and self.time_unit not in TIME_UNITS:
            raise ValueError(f"time_unit: expected one of {', '.join(TIME_UNITS)}, got {self.time_unit!r}")
        for name in ("channels", "columns", "ignore"):
            self._check_names(name, getattr(self, name))

    def _check_names(self, name: str, given: object) -> None:
        if isinstance(given, str):
            raise ValueError(f"{name}: expected a list of names, got the text {given!r}")
        if given is not None and not (isinstance(given, Collection) and all(isinstance(word, str) for word in given)):
            raise ValueError(f"{name}: expected a list of names, got {given!r}")

    def units(self) -> tuple[str | None, dict[str, str]]:
        """Return the unit of all channels, or None, and the units of single channels.

        Examples
        --------
        >>> Options(unit="mm").units(), Options(unit="p=mm,r=deg").units()
        (('mm', {}), (None, {'p': 'mm', 'r': 'deg'}))
        """
        common, single = None, {}
        for word in self.unit.split(",") if self.unit is not None else ():
            channel, equals, unit = word.rpartition("=")
            if equals:
                single[channel.strip()] = unit.strip()
            else:
                common = unit.strip()
        return common, single
