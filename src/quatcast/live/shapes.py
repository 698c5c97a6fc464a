"""Shapes of frames, (channels, coordinates): those that a space allows, and the one that most frames have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from quatcast.data.wording import counted
from quatcast.forecasting.spaces import SPACES
from quatcast.live.frames import Frame
from quatcast.live.rate import enough

Shape = tuple[int, ...]
LARGEST = 4
"""Largest number of coordinates of a position or a vector: a quaternion holds no more."""
PREVALENT = 2
"""How many times as many frames of another shape as of the shape in use are needed to go over to it."""


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


def other_shape(got: Shape, usual: Shape) -> str:
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
    fit = in_shape(frame, (len(frame.values), numbers[0])) if len(numbers) == 1 else frame
    return fit if fit.values.shape[1] in numbers else None


def usual_shape(frames: Sequence[Frame], channels: int = 0) -> Shape | None:
    """Return the shape of most frames, the newest of those that are equally frequent.

    Parameters
    ----------
    frames
        Frames in the order of arrival. Those in which nothing was measured count only if there are no others: a message
        whose channels are all null does not say how many coordinates they have.
    channels
        Number of channels that is expected, 0 for any; frames with another number do not count.

    Returns
    -------
    shape
        None if no frame counts.

    Examples
    --------
    >>> one, other = (Frame("chest", None, 0.1, 500.0, np.zeros(shape)) for shape in ((1, 3), (2, 3)))
    >>> usual_shape([other, one, one]), usual_shape([one, other]), usual_shape([one], channels=2)
    ((1, 3), (2, 3), None)
    """
    eligible = [frame for frame in frames if channels in (0, len(frame.values))]
    measured = [frame for frame in eligible if np.isfinite(frame.values).any()]
    # Of equal counts the one that is met first wins.
    counts = Counter(frame.values.shape for frame in reversed(measured or eligible))
    return counts.most_common(1)[0][0] if counts else None


def in_shape(frame: Frame, shape: Shape) -> Frame:
    """Return a frame in which nothing was measured with the coordinates of a shape; any other frame as it is.

    Examples
    --------
    >>> in_shape(Frame("chest", None, 0.1, 500.0, np.full((1, 3), np.nan)), (1, 2)).values.shape
    (1, 2)
    """
    values = frame.values
    if values.shape == shape or len(values) != shape[0] or not np.isnan(values).all():
        return frame
    return replace(frame, values=np.full(shape, np.nan))


def watch(frames: list[Frame], frame: Frame, used: Shape, channels: int = 0) -> tuple[list[Frame], Shape | None]:
    """Watch whether another shape than the one in use prevails.

    Parameters
    ----------
    frames
        Frames that were watched so far; empty as long as all have the shape in use.
    frame
        The newest frame.
    used, channels
        The shape in use, and the number of channels that is expected, 0 for any.

    Returns
    -------
    frames, shape
        Frames to watch from now on, at most those of the last seconds, and the shape to go over to: that of the newest
        frame, if it prevails. None otherwise.
    """
    got = frame.values.shape
    if got == used and not frames:
        return frames, None
    frames = [*frames, frame]
    while enough([one.received for one in frames[1:]]):
        frames = frames[1:]
    if got == used:
        return ([] if all(one.values.shape == used for one in frames) else frames), None
    if not enough([one.received for one in frames]) or usual_shape(frames, channels) != got:
        return frames, None
    counts = Counter(one.values.shape for one in frames)
    return frames, got if counts[got] >= PREVALENT * counts[used] else None
