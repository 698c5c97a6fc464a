"""How many coordinates the channels of a frame may have in each space."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from quatcast.data.wording import counted
from quatcast.forecasting.spaces import SPACES
from quatcast.live.frames import Frame

LARGEST = 4
"""Largest number of coordinates of a position or a vector: a quaternion holds no more."""


def allowed(space: str) -> tuple[int, ...]:
    """Return the numbers of coordinates that a channel may have in a space.

    Examples
    --------
    >>> allowed("position"), allowed("pose")
    ((1, 2, 3, 4), (7,))
    """
    number = SPACES[space].components
    return tuple(range(1, LARGEST + 1)) if number is None else (number,)


def expected(space: str, got: int) -> str:
    """Return in words how many coordinates are expected and how many there are.

    Examples
    --------
    >>> expected("pose", 3)
    'expected 7 coordinates per channel for --space pose, got 3'
    """
    numbers = allowed(space)
    shown = f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else f"{numbers[0]}"
    return f"expected {shown} coordinates per channel for --space {space}, got {got}"


def other_shape(got: tuple[int, ...], usual: tuple[int, ...]) -> str:
    """Return in words that samples have another shape (channels, coordinates) than those before.

    Examples
    --------
    >>> other_shape((2, 3), (1, 3))
    'samples have 2 channels with 3 coordinates, expected 1 channel with 3'
    """
    shown = f"{counted(got[0], 'channel')} with {counted(got[1], 'coordinate')}"
    return f"samples have {shown}, expected {counted(usual[0], 'channel')} with {usual[1]}"


def fitted(frame: Frame, space: str) -> Frame | None:
    """Return a frame whose channels have as many coordinates as the space asks for, or None if this one does not fit.

    A frame in which nothing was measured fits in any case: a message whose channels are all null does not say how many
    coordinates they have.

    Examples
    --------
    >>> fitted(Frame("tool", 0, 0.0, 0.0, np.full((1, 3), np.nan)), "pose").values.shape
    (1, 7)
    >>> fitted(Frame("tool", 0, 0.0, 0.0, np.ones((1, 3))), "pose") is None
    True
    """
    numbers = allowed(space)
    channels, got = frame.values.shape
    if got in numbers:
        return frame
    if len(numbers) == 1 and np.isnan(frame.values).all():
        return replace(frame, values=np.full((channels, numbers[0]), np.nan))
    return None
