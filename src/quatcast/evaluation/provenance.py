"""Provenance: which code computed a result.

The version of quatcast alone does not identify it: a checkout may differ from what was released. The code is therefore
identified by a checksum of all source files that results depend on.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import quatcast

COMPUTING = ("algebra", "engine", "learners", "forecasting", "safety", "evaluation")
"""Packages that results depend on."""
ALSO_COMPUTING = ("data/corruption.py",)
"""Modules elsewhere that results depend on. Recordings have checksums of their own, whatever code has read them."""
NOT_COMPUTING = ("evaluation/report", "evaluation/store.py", "evaluation/schema.py", "evaluation/provenance.py")
"""Parts of them that results do not depend on."""


class Origin(NamedTuple):
    """The code that computed a result.

    Attributes
    ----------
    version
        Version of quatcast.
    code
        Checksum of the source files that results depend on, those of plugins included; empty where it is unknown.
    """

    version: str
    code: str

    def __str__(self) -> str:
        return f"quatcast {self.version} (code {self.code[:8] or 'unknown'})"


def origin(modules: Iterable[str] = ()) -> Origin:
    """Return the origin of results that this process computes.

    Parameters
    ----------
    modules
        Names of imported modules outside of quatcast that results depend on too: those that define predictors.

    Examples
    --------
    >>> origin().version == quatcast.__version__
    True
    >>> origin() == origin(["quatcast.evaluation.builtin"]) != origin(["json"])
    True
    """
    digest = hashlib.sha256(_library_code().encode())
    for name in sorted(name for name in set(modules) if name.partition(".")[0] != "quatcast"):
        file = getattr(sys.modules.get(name), "__file__", None)
        digest.update(name.encode() + (_text(Path(file)) if file else b""))
    return Origin(quatcast.__version__, digest.hexdigest())


@cache
def _library_code() -> str:
    digest, root = hashlib.sha256(), Path(quatcast.__file__).parent
    files = [file for package in COMPUTING for file in (root / package).rglob("*.py")]
    for file in sorted([*files, *(root / name for name in ALSO_COMPUTING)]):
        name = file.relative_to(root).as_posix()
        if not name.startswith(NOT_COMPUTING):
            digest.update(name.encode() + _text(file))
    return digest.hexdigest()


def _text(file: Path) -> bytes:
    """Return a source file with the line ends of Unix, so that a checkout on Windows has the same checksum."""
    return file.read_bytes().replace(b"\r\n", b"\n") if file.is_file() else b""
