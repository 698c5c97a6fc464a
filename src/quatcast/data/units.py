"""Units in the names of columns."""

from __future__ import annotations

import re

LENGTHS = ("mm", "cm", "m", "um", "µm", "μm", "in", "inch", "ft")
LENGTH_WORDS = {
    "meters": "m", "metres": "m", "millimeters": "mm", "millimetres": "mm", "centimeters": "cm", "centimetres": "cm",
    "micrometers": "µm", "micrometres": "µm", "inches": "in", "feet": "ft",
}  # fmt: skip
"""Names of units of length, in lower case → units."""
ANGLES = ("deg", "°", "degree", "degrees", "rad", "radians")
TIMES = ("s", "sec", "second", "seconds", "ms", "us", "µs", "μs", "ns")

SUFFIXES = frozenset({*LENGTHS, *ANGLES, *TIMES} - {"in", "°"})
"""Units that a name may end with after an underscore, as in `x_mm`."""

_BRACKETS = re.compile(r"^(?P<label>.*?)\s*(?:\[(?P<square>[^\[\]]*)\]|\((?P<round>[^()]*)\))$")


def split_unit(name: str) -> tuple[str, str]:
    """Split the name of a column into a label and a unit; the unit is empty if the name has none.

    Any text in brackets at the end of a name is a unit. After an underscore only known units are.

    Examples
    --------
    >>> split_unit("x [mm]"), split_unit("x(mm)"), split_unit("x_mm"), split_unit("hip_x")
    (('x', 'mm'), ('x', 'mm'), ('x', 'mm'), ('hip_x', ''))
    """
    name = name.strip()
    if (match := _BRACKETS.match(name)) and match["label"]:
        unit = match["square"] if match["square"] is not None else match["round"]
        return match["label"].strip(), unit.strip().replace("μ", "µ")
    label, underscore, unit = name.rpartition("_")
    if underscore and label and unit in SUFFIXES:
        return label.rstrip("_"), unit.replace("μ", "µ")
    return name, ""
