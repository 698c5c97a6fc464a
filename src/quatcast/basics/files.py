"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def new_file(path: str | os.PathLike[str], mode: str = "w") -> Iterator[Any]:
    """Open a file to write. If an error occurs, it is removed: half a file must not be taken for a whole one.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     try:
    ...         with new_file(Path(folder) / "table.csv") as file:
    ...             _ = file.write("time,x")
    ...             raise OSError("no space left on device")
    ...     except OSError:
    ...         print((Path(folder) / "table.csv").exists())
    False
    """
    text = "b" not in mode
    file = open(path, mode, encoding="utf-8" if text else None, newline="" if text else None)  # noqa: SIM115
    try:
        # What is in a buffer is written at the end, which may fail too.
        with file:
            yield file
    except BaseException:
        if Path(path).is_file():
            os.remove(path)
        raise
