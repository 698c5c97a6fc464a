"""Download of published files into a cache folder, with checksums and resumption."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from errno import EACCES
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from quatcast.basics.logs import quiet

READ_BYTES = 1 << 16
LEAST_BYTES = 10_000
"""Bytes that must arrive within the timeout."""


class DownloadError(ConnectionError):
    """The server sends too much, too slowly, or something else."""


def cache_folder() -> Path:
    """Return the folder of downloaded files: the environment variable QUATCAST_CACHE, or the cache of the user.

    Examples
    --------
    >>> import os
    >>> from unittest.mock import patch
    >>> with patch.dict(os.environ, QUATCAST_CACHE="downloads"):
    ...     cache_folder().name
    'downloads'
    """
    import pooch

    return Path(os.environ.get("QUATCAST_CACHE") or pooch.os_cache("quatcast"))


def is_complete(folder: Path, checksums: Mapping[str, str]) -> bool:
    """Return whether a folder contains every file with the given sha256 checksum.

    Examples
    --------
    >>> is_complete(Path("no-such-folder"), {"file.csv": "0" * 64})
    False
    """
    import pooch

    paths = ((folder / name, checksum) for name, checksum in checksums.items())
    return all(path.is_file() and pooch.file_hash(str(path)) == checksum for path, checksum in paths)


def download(
    checksums: Mapping[str, str | None],
    base_url: str,
    folder: Path,
    *,
    is_published: Callable[[str, Path], bool] = lambda name, path: True,
    progress: bool = False,
    retries: int = 3,
    timeout: float = 30.0,
    max_bytes: int = 100_000_000,
) -> None:
    """Download the published files that a folder does not yet contain.

    A file that is present with the correct checksum is not downloaded again. A new file gets its name only after its
    checksum has been verified, so that an interrupted download or process leaves no incomplete file behind.

    Parameters
    ----------
    checksums
        File name → sha256, None if it is not known.
    base_url
        Address to which the quoted file names are appended.
    folder
        Target folder, which is created if it does not exist.
    is_published
        Function that tells by its content whether a file with this name, which is at a path, is the published one, for
        files whose checksum is not known.
    progress
        Show a progress bar with the remaining time on standard error.
    retries
        Number of further attempts after a failure, per file.
    timeout
        Seconds to wait for an answer of the server, and for the next 10 kB of a file.
    max_bytes
        Limit on the size of a file.

    Raises
    ------
    ConnectionError
        If a file could not be downloaded; the message names it. The files that were downloaded before are kept.
    PermissionError
        If the folder cannot be written to.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     download({}, "https://example.org", Path(folder))
    """
    import pooch
    import requests
    from urllib3.exceptions import HTTPError

    source = pooch.create(
        path=folder,
        base_url=base_url.rstrip("/") + "/",
        registry={name: checksum and f"sha256:{checksum}" for name, checksum in checksums.items()},
        retry_if_failed=retries,
    )
    # One session for all files keeps the connection open, and always closes it; the downloader of pooch does not.
    with requests.Session() as session, quiet(logging.WARNING, pooch.get_logger()):

        def get(url: str, output: str, _: object) -> None:
            with session.get(url, timeout=timeout, stream=True) as answer, open(output, "wb") as file:
                answer.raise_for_status()
                try:
                    for part in _parts(answer.raw, max_bytes, timeout):
                        file.write(part)
                except HTTPError as error:
                    # This class is among those after which pooch tries again.
                    raise requests.ConnectionError(str(error)) from error

        def get_published(url: str, output: str, _: object) -> None:
            get(url, output, _)
            if not is_published(unquote(url.rpartition("/")[2]), Path(output)):
                raise DownloadError("the received file does not contain the published numbers")

        for name in _shown(checksums, progress):
            try:
                source.fetch(name, downloader=get_published)
            except PermissionError as error:  # pooch raises one without the path
                raise PermissionError(EACCES, os.strerror(EACCES), str(folder)) from error
            except (requests.RequestException, DownloadError, ValueError) as error:
                raise ConnectionError(f"could not download {source.get_url(name)}: {_reason(error)}") from error


def _parts(stream: Any, max_bytes: int, timeout: float) -> Iterator[bytes]:
    """Yield the parts of an answer as they arrive; too many bytes or too few in a while are an error."""
    total, mark, since = 0, 0, time.monotonic()
    # `read1` returns what has arrived; `read` would wait for all that was asked for.
    read = stream.read1 if hasattr(stream, "read1") else stream.read
    while part := read(READ_BYTES, decode_content=True):
        total += len(part)
        if total > max_bytes:
            raise DownloadError(f"the file is larger than {max_bytes / 1e6:g} MB")
        if total - mark >= LEAST_BYTES:
            mark, since = total, time.monotonic()
        elif time.monotonic() - since > timeout:
            raise DownloadError(f"the server has sent less than {LEAST_BYTES // 1000} kB in {timeout:g} s")
        yield part


def _reason(error: Exception) -> str:
    if isinstance(error, DownloadError):
        return str(error)
    answer = getattr(error, "response", None)
    if answer is not None:
        return f"the server answered {answer.status_code} {answer.reason}"
    if isinstance(error, OSError):
        return "the connection failed or was interrupted"
    return "the received file does not have the published sha256 checksum"


def _shown(names: Iterable[str], progress: bool) -> Iterable[str]:
    if not progress:
        return names
    from rich.console import Console
    from rich.progress import track

    return track(list(names), description="Downloading", console=Console(stderr=True))
