"""Checkpoints: an object and everything that it has learnt in one file, read back bit for bit.

A `Checkpointable` object is its settings, the arguments of its constructor, and, once it has begun, its `state`.
Saving, pickling, copying and undoing a step all work on these two alone.

A checkpoint holds no code: `quatcast.checkpoint.container` stores a tree of plain values, and arrays. Classes are
looked up in a registry of classes that are already imported, so that reading a file never imports anything. What was
read is checked before it is returned: the types of the fields of each state, and whether the next step succeeds
(`Checkpointable.rehearse`). Whatever is wrong with a file, reading it raises a ValueError that names it.
"""

from quatcast.checkpoint.objects import Checkpointable, Snapshot, State, read, write

__all__ = ["Checkpointable", "Snapshot", "State", "read", "write"]
