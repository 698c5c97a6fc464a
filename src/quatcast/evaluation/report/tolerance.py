"""Tolerances: how large an error may be, as a number with an optional unit."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from quatcast.data.text import as_number


def tolerances(text: str, units: Sequence[str]) -> list[float | None]:
    """Return the tolerance in each of some units, or None where the text gives none.

    Parameters
    ----------
    text
        A number, such as "2", or numbers with units separated by commas, such as "2 mm, 0.5 cm". A number without unit
        applies if there is a single unit, or to millimetres. An empty text gives no tolerance.
    units
        The units.

    Examples
    --------
    >>> tolerances("2", ["mm"]), tolerances("2 mm, 5cm", ["cm", "mm", "m"]), tolerances("", ["mm"])
    ([2.0], [5.0, 2.0, None], [None])
    """
    given: dict[str, float] = {}
    listed = ", ".join(unit or "unknown" for unit in units)
    for word in filter(None, map(str.strip, text.split(","))):
        match = re.fullmatch(r"([0-9.eE+-]+)\s*(.*)", word)
        value = as_number(match[1]) if match else None
        if match is None or value is None or not 0 < value < math.inf:
            raise ValueError(
                f"--tolerance: expected a positive number, with or without a unit, such as 2mm, got {word!r}"
            )
        unit = match[2].strip()
        if not unit:
            if len(units) > 1 and "mm" not in units:
                raise ValueError(
                    f"--tolerance: expected a number with its unit, because the recordings have the units {listed}, "
                    f"got {word!r}"
                )
            unit = units[0] if len(units) == 1 else "mm"
        elif unit not in units:
            raise ValueError(f"--tolerance: expected one of the units {listed}, got {word!r}")
        given[unit] = value
    return [given.get(unit) for unit in units]
