"""The registry of data sources: the sets of recordings that can be loaded by name.

Any module can add a source of its own with `register_source`. The built-in sources are registered in the
same way, at the end of the modules that define them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature

from quatcast.basics.registry import Registry, module_of
from quatcast.data.recording import Recording


@dataclass(frozen=True)
class Source:
    """A set of recordings that can be loaded by name.

    Parameters
    ----------
    name
        The word by which the source is selected: letters, digits, hyphens and underscores.
    title
        One line that describes the recordings.
    load
        Function that returns the recordings, called as `load(data_dir=None, progress=False)` when they are needed.
        `data_dir` is a folder that holds the files of the source, or None for the default place; a source without files
        ignores it. `progress` asks for a progress display on standard error while something is downloaded.
    citation
        Reference to cite when the recordings are used, or an empty string.
    needs_download
        Function that returns whether `load()` would download files. By default a source never downloads anything.
    needs_copy
        Function that returns whether files must be copied by hand before `load()` finds them without a folder.

    Examples
    --------
    >>> import numpy as np
    >>> def load(*, data_dir=None, progress=False):
    ...     return [Recording("still", np.zeros((100, 1, 3)), np.arange(100) / 10, rate=10.0)]
    >>> source = Source("still", "one marker that does not move", load)
    >>> source.load()
    [Recording('still', 100 samples, 1 channel, 3-D, 10 Hz)]
    """

    name: str
    title: str
    load: Callable[..., list[Recording]]
    citation: str = ""
    needs_download: Callable[[], bool] = lambda: False
    needs_copy: Callable[[], bool] = lambda: False

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[\w-]+", self.name):
            raise ValueError(f"name: expected letters, digits, hyphens and underscores, got {self.name!r}")
        if not self.title or len(self.title.splitlines()) > 1:
            raise ValueError(f"title: expected one line of text for source {self.name!r}, got {self.title!r}")
        try:
            signature(self.load).bind(data_dir=None, progress=False)
        except TypeError as error:
            expected = f"a function load(data_dir=None, progress=False) for source {self.name!r}"
            raise ValueError(f"load: expected {expected}, got {self.load!r} ({error})") from None

    @property
    def state(self) -> str:
        """Whether the recordings are available, to be downloaded, or to be copied by hand."""
        if self.needs_copy():
            return "to be copied by hand"
        return "to be downloaded" if self.needs_download() else "available"

    @property
    def module(self) -> str:
        """Name of the module that defines `load`."""
        return module_of(self.load)


_sources = Registry[Source]("source", "data")


def register_source(source: Source) -> None:
    """Add a source to the registry, so that it can be selected by its name.

    A module may register a source again, which replaces it; this happens when the module is reloaded.

    Raises
    ------
    ValueError
        If another module has registered a source of the same name.

    Examples
    --------
    >>> from quatcast.data import chaotic
    >>> def load(*, data_dir=None, progress=False):
    ...     return [chaotic("lorenz", samples=500)]
    >>> register_source(Source("lorenz-500", "500 samples of the Lorenz system", load))
    >>> find_source("lorenz-500").load()
    [Recording('lorenz', 500 samples, 1 channel, 3-D, 20 Hz)]
    """
    _sources.register(source)


def find_source(name: str) -> Source:
    """Return the registered source of the given name.

    Raises
    ------
    ValueError
        If no source has this name; the message lists the names of all sources.

    Examples
    --------
    >>> find_source("simulated").title
    'nine recordings of simulated breathing, three markers, 10 Hz'
    """
    return _sources.find(name)


def sources() -> tuple[Source, ...]:
    """Return all registered sources, sorted by name.

    Examples
    --------
    >>> {"extmarker", "simulated"} <= {source.name for source in sources()}
    True
    """
    return tuple(_sources[name] for name in sorted(_sources))
