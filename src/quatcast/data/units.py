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

KNOWN = {word: word.replace("μ", "µ") for word in (*LENGTHS, *ANGLES, *TIMES)} | LENGTH_WORDS
"""Names of units in lower case → units."""

SUFFIXES = frozenset({*LENGTHS, *ANGLES, *TIMES} - {"in", "°"})
"""Units that a name may end with after an underscore, as in `x_mm`."""
OTHER_MEANINGS = frozenset({"CM", "FT"})
"""Units that in capitals may mean something else in a name: `X_CM` may be the centre of mass."""


def plain_unit(text: str) -> str:
    """Return a unit as it is usually written; text that is no known unit stays as it is.

    Examples
    --------
    >>> plain_unit("MM"), plain_unit("millimetres"), plain_unit("m/s")
    ('mm', 'mm', 'm/s')
    """
    text = text.strip().replace("μ", "µ")
    return KNOWN.get(text.lower(), text)


def split_word(name: str) -> tuple[str, str, str]:
    """Split a name before its last word, and return what stands before it, the mark between them, and the word.

    The mark is `in`, a slash, a comma, an underscore or a blank. A name of one word has no mark.

    Examples
    --------
    >>> split_word("Chest X in mm"), split_word("t / s"), split_word("x_mm"), split_word("time")
    (('Chest X', 'in', 'mm'), ('t', '/', 's'), ('x', '_', 'mm'), ('', '', 'time'))
    """
    parts = re.split(r"([\s_/,]+)", name.strip())
    if len(parts) < 3:
        return "", "", name.strip()
    *before, mark, word = parts
    kind = next((sign for sign in "/,_" if sign in mark), " ")
    if len(before) > 2 and before[-1].lower() == "in" and kind in "_ ":
        before, kind = before[:-2], "in"
    return "".join(before).strip(), kind, word


def split_unit(name: str) -> tuple[str, str]:
    """Split the name of a column into a label and a unit; the unit is empty if the name has none.

    Any text in brackets at the end of a name is a unit. After `in`, a slash, a comma, an underscore or a blank only
    known units are, where they cannot be part of the name.

    Examples
    --------
    >>> split_unit("x [mm]"), split_unit("x(mm)"), split_unit("x_mm"), split_unit("hip_x")
    (('x', 'mm'), ('x', 'mm'), ('x', 'mm'), ('hip_x', ''))
    >>> split_unit("Chest X in mm"), split_unit("X_MM"), split_unit("x/m"), split_unit("x m")
    (('Chest X', 'mm'), ('X', 'mm'), ('x', 'm'), ('x m', ''))
    """
    name = name.strip()
    for opening, closing in ("[]", "()"):
        label, bracket, unit = name.removesuffix(closing).rpartition(opening)
        if name.endswith(closing) and bracket and label and closing not in unit:
            return label.strip(), plain_unit(unit)
    label, mark, word = split_word(name)
    return (label, plain_unit(word)) if label and _is_unit(mark, word) else (name, "")


def _is_unit(mark: str, word: str) -> bool:
    """Tell whether the last word of a name is a unit, and not part of the name."""
    unit = plain_unit(word)
    if mark == "in":
        return unit in KNOWN
    if mark == "_" and word in SUFFIXES:
        return True
    # Of m/s, s is no unit of a coordinate, nor is NS in `X_NS`, which may mean north and south.
    if unit not in KNOWN or unit in TIMES:
        return False
    # `x m`, `X_M` and `X/M` may be the middle one of several markers, and `x in` is not complete.
    if mark in ("/", ","):
        return word != "M"
    return word not in OTHER_MEANINGS and word.lower() not in ("m", "in")
