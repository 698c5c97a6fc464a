"""Fetch published files into a cache folder: checked by sha256, taken up again where a download stopped."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path


def cache_folder() -> Path:
    """Where downloads are kept: the environment's QUATCAST_CACHE, or the user's own cache folder."""
    import pooch

    return Path(os.environ.get("QUATCAST_CACHE") or pooch.os_cache("quatcast"))


def is_complete(folder: Path, checksums: Mapping[str, str]) -> bool:
    """Whether the folder holds every file with the content that its sha256 stands for."""
    import pooch

    paths = ((folder / name, checksum) for name, checksum in checksums.items())
    return all(path.is_file() and pooch.file_hash(str(path)) == checksum for path, checksum in paths)


def download(
    checksums: Mapping[str, str],
    base_url: str,
    folder: Path,
    *,
    progress: bool = False,
    retries: int = 3,
    timeout: float = 30.0,
) -> None:
    """Bring a folder up to date with published files.

    A file that is there with the right content is not fetched again. A file takes its name only after its
    checksum was found right: a cut connection or a killed process leaves nothing that is trusted later.

    Parameters
    ----------
    checksums
        File name → sha256.
    base_url
        What the quoted file names are appended to.
    folder
        Where to; made when it is not there.
    progress
        Show a progress bar with the time left on standard error.
    retries
        How often a file is tried again after a failure.
    timeout
        Seconds to wait for an answer of the server.

    Raises
    ------
    ConnectionError
        When a file cannot be had, in one sentence that names it. What arrived before stays.
    """
    import pooch
    import requests

    source = pooch.create(
        path=folder,
        base_url=base_url.rstrip("/") + "/",
        registry={name: f"sha256:{checksum}" for name, checksum in checksums.items()},
        retry_if_failed=retries,
    )
    # One session for all files: it keeps the connection open, and closes it whatever happens (pooch's own does not).
    with requests.Session() as session, _quiet(pooch.get_logger()):

        def get(url: str, output: str, _: object) -> None:
            answer = session.get(url, timeout=timeout)
            answer.raise_for_status()
            Path(output).write_bytes(answer.content)

        for name in _shown(checksums, progress):
            try:
                source.fetch(name, downloader=get)
            except (requests.RequestException, ValueError) as error:
                raise ConnectionError(f"could not download {source.get_url(name)}: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    answer = getattr(error, "response", None)
    if answer is not None:
        return f"the server answered {answer.status_code} {answer.reason}"
    if isinstance(error, OSError):
        return "the connection failed or was cut"
    return "what arrived is not the published file (its sha256 is another)"


@contextmanager
def _quiet(logger: logging.Logger) -> Iterator[None]:
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)


def _shown(names: Iterable[str], progress: bool) -> Iterable[str]:
    if not progress:
        return names
    from rich.console import Console
    from rich.progress import track

    return track(list(names), description="Downloading", console=Console(stderr=True))
