"""Names and unit that samples carry: if they change, the samples are those of other markers, or have another scale."""

from __future__ import annotations

from dataclasses import dataclass

from quatcast.live.frames import Frame
from quatcast.live.settings import LiveSettings

SHOWN = 80
"""Largest number of characters of names that an error shows."""


@dataclass
class Labels:
    """Names and unit of the samples so far, as the source gives them.

    Attributes
    ----------
    settings
        Settings of the stream; names and a unit in them take the place of those of the source.
    names, unit
        Names of the channels and unit; empty as long as no sample has given them.

    Examples
    --------
    >>> import numpy as np
    >>> labels = Labels(LiveSettings())
    >>> labels.follow(Frame("chest", 0, 0.0, 500.0, np.zeros((1, 3)), ("marker",), "mm"))
    >>> labels.contradiction(Frame("chest", 1, 0.1, 500.1, np.zeros((1, 3)), ("marker",), "m"))
    ('unit', 'samples are in m, expected mm')
    """

    settings: LiveSettings
    names: tuple[str, ...] = ()
    unit: str = ""

    def follow(self, frame: Frame) -> None:
        """Take over the names and the unit of a sample, if it has any."""
        self.names, self.unit = frame.names or self.names, frame.unit or self.unit

    def contradiction(self, frame: Frame) -> tuple[str, str]:
        """Return which label of a sample contradicts those before, and the error; empty texts if none does."""
        if not self.settings.names and frame.names and self.names and frame.names != self.names:
            got, names = (", ".join(one)[:SHOWN] for one in (frame.names, self.names))
            return "names", f"samples have the channels {got}, expected {names}"
        if not self.settings.unit and frame.unit and self.unit and frame.unit != self.unit:
            return "unit", f"samples are in {frame.unit}, expected {self.unit}"
        return "", ""
