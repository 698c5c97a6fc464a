"""Units in the names of columns."""

from __future__ import annotations

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


def split_unit(name: str) -> tuple[str, str]:
    """Split the name of a column into a label and a unit; the unit is empty if the name has none.

    Any text in brackets at the end of a name is a unit. After an underscore only known units are.

    Examples
    --------
    >>> split_unit("x [mm]"), split_unit("x(mm)"), split_unit("x_mm"), split_unit("hip_x")
    (('x', 'mm'), ('x', 'mm'), ('x', 'mm'), ('hip_x', ''))
    """
    name = name.strip()
    for opening, closing in ("[]", "()"):
        label, bracket, unit = name.removesuffix(closing).rpartition(opening)
        if name.endswith(closing) and bracket and label and closing not in unit:
            return label.strip(), unit.strip().replace("μ", "µ")
    label, underscore, unit = name.rpartition("_")
    if underscore and label and unit in SUFFIXES:
        return label.rstrip("_"), unit.replace("μ", "µ")
    return name, ""
