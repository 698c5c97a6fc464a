"""Frames from tools that are reported one by one: poses with the same time become one frame.

Trackers send one message per tool or marker. Messages of different tools whose times differ by less than a tolerance
belong together. A frame is complete when all tools have been reported; if one is missing, the frame is closed by the
next report of a tool that it has, by a report of a later time, or by `flush`.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from quatcast.basics.typing import Floats
from quatcast.live.fields import MAX_CHANNELS, is_name
from quatcast.live.frames import Frame

DISCOVERY_SECONDS = 1.0
"""Time during which tools are discovered if they are not named."""
MAX_HELD = 1024
"""Frames that are held while tools are discovered."""


@dataclass
class _Group:
    """Poses that belong together."""

    time: float
    device_time: float | None
    received: float
    poses: dict[str, Floats] = field(default_factory=dict)


@dataclass
class ToolFrames:
    """Builds frames from the poses of tools.

    Attributes
    ----------
    stream
        Name of the stream.
    tools
        Names of the tools, which are the channels. If empty, the tools of the first second are taken.
    dimensions
        3 for positions, 7 for poses.
    tolerance
        Largest difference in seconds between the times of poses that belong together.
    unknown
        Number of poses of tools that are not among the channels.

    Examples
    --------
    >>> frames = ToolFrames("chest", ("A", "B"))
    >>> pose = np.arange(7.0)
    >>> frames.add("A", pose, 10.0, received=0.0)
    []
    >>> frames.add("B", 2 * pose, 10.0, received=0.001)[0].values
    array([[0., 1., 2.],
           [0., 2., 4.]])
    """

    stream: str
    tools: tuple[str, ...] = ()
    dimensions: int = 3
    tolerance: float = 0.005
    unknown: int = 0
    _group: _Group | None = field(default=None, repr=False)
    _held: deque[_Group] = field(default_factory=lambda: deque(maxlen=MAX_HELD), repr=False)
    _found: dict[str, None] = field(default_factory=dict, repr=False)
    _began: float | None = field(default=None, repr=False)

    def add(self, tool: str, pose: Floats, device_time: float | None, received: float) -> list[Frame]:
        """Add the pose of a tool and return the frames that are complete."""
        if not self._knows(tool, received):
            self.unknown += 1
            return []
        time = received if device_time is None else device_time
        frames = self._discovered(received)
        group = self._group
        if group is not None and (tool in group.poses or abs(time - group.time) > self.tolerance):
            frames += self.flush()
        if self._group is None:
            self._group = _Group(time, device_time, received)
        self._group.poses[tool] = pose
        if self.tools and len(self._group.poses) == len(self.tools):
            frames += self.flush()
        return frames

    @property
    def waiting(self) -> bool:
        """Whether there is a frame in which tools are missing."""
        return self._group is not None

    def flush(self) -> list[Frame]:
        """Close the frame that is not complete, and return it; while tools are discovered, hold it."""
        group, self._group = self._group, None
        if group is None:
            return []
        if self.tools:
            return [self._frame(group)]
        self._held.append(group)
        return []

    def _knows(self, tool: str, received: float) -> bool:
        """Tell whether a tool is a channel; while tools are discovered, every new one becomes one."""
        if self.tools:
            return tool in self.tools
        if self._began is None:
            self._began = received
        if is_name(tool) and len(self._found) < MAX_CHANNELS:
            self._found[tool] = None
        return tool in self._found

    def _discovered(self, received: float) -> list[Frame]:
        """End the discovery when its time is over, and return the frames that were held."""
        if self.tools or self._began is None or 0 <= received - self._began < DISCOVERY_SECONDS:
            return []
        self.tools = tuple(self._found)
        frames = [self._frame(group) for group in self._held]
        self._held.clear()
        return frames

    def _frame(self, group: _Group) -> Frame:
        missing = np.full(7, np.nan)
        values = np.array([group.poses.get(tool, missing)[: self.dimensions] for tool in self.tools])
        return Frame(self.stream, None, group.device_time, group.received, values, self.tools, "mm")
