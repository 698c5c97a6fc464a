"""Numbers with nouns, and titles with units, in messages and tables."""

from __future__ import annotations


def counted(number: int, noun: str, one: str = "", many: str = "") -> str:
    """Return a number with its noun in the singular or in the plural, followed by the verb that fits.

    Examples
    --------
    >>> counted(1, "channel"), counted(2, "channel"), counted(1, "row", "is", "are")
    ('1 channel', '2 channels', '1 row is')
    """
    return f"{number} {noun} {one}".rstrip() if number == 1 else f"{number} {noun}s {many}".rstrip()


def with_unit(title: str, unit: str) -> str:
    """Return a title with its unit in square brackets, or without brackets if the unit is empty.

    Examples
    --------
    >>> with_unit("RMSE", "mm"), with_unit("RMSE", "")
    ('RMSE [mm]', 'RMSE')
    """
    return f"{title} [{unit}]" if unit else title
