"""Which shape, (channels, coordinates), the samples of a stream have, if they do not all have the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from quatcast.live.frames import Frame
from quatcast.live.rate import enough

Shape = tuple[int, ...]

PREVALENT = 2
"""How many times as many frames of another shape as of the shape in use are needed to go over to it."""


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
