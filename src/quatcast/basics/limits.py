"""Limits: what needs more memory than the machine has is refused before it is allocated."""

from __future__ import annotations

import math
import os
from functools import cache
from pathlib import Path

SHARE = 0.5
"""Share of the memory that one thing may need."""
_CGROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""Files with the limit of a container, of the second and the first version of control groups."""


@cache
def memory_bytes() -> float:
    """Return the memory of this machine, or of the container that this process runs in; infinity if it is unknown.

    Examples
    --------
    >>> memory_bytes() > 2**28
    True
    """
    found = [math.inf]
    if hasattr(os, "sysconf") and {"SC_PHYS_PAGES", "SC_PAGE_SIZE"} <= set(os.sysconf_names):
        found.append(float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE"))
    for path in map(Path, _CGROUPS):
        try:
            found.append(float(path.read_text(encoding="ascii")))
        except (OSError, ValueError):
            continue  # there is no such file, or it says "max"
    return min(size for size in found if size > 0)


def check_memory(name: str, needed: float, advice: str = "") -> None:
    """Raise a ValueError that names what is too large if it needs more than half of the memory.

    Parameters
    ----------
    name
        The setting, or what else needs the memory.
    needed
        Bytes.
    advice
        What to do instead.

    Examples
    --------
    >>> check_memory("hidden", 1e6)
    >>> check_memory("hidden", 1e18, "use fewer units")
    Traceback (most recent call last):
    ...
    ValueError: hidden: needs about 1,000,000,000 GB of memory, but only ... can be used here; use fewer units
    """
    limit = SHARE * memory_bytes()
    if not needed <= limit:
        more = f"; {advice}" if advice else ""
        sizes = f"about {format_bytes(needed)} of memory, but only {format_bytes(limit)} can be used here"
        raise ValueError(f"{name}: needs {sizes}{more}")


def format_bytes(count: float) -> str:
    """Return a number of bytes as text.

    Examples
    --------
    >>> format_bytes(1.5e9), format_bytes(2e6)
    ('1.5 GB', '2 MB')
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6)):
        if count >= size:
            return f"{count / size:,.0f} {unit}" if count >= 10 * size else f"{count / size:.2g} {unit}"
    return f"{count:,.0f} bytes"
