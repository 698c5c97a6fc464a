"""Many streams: one worker process per stream, started from a file and started again if it dies."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quatcast.live import systemd
from quatcast.live.learning import Turns
from quatcast.live.run import ViewAddress
from quatcast.live.settings import LiveSettings

log = logging.getLogger("quatcast.live")

FIRST_DELAY, LONGEST_DELAY = 0.5, 30.0
"""Seconds before a worker that has died is started again; the delay doubles while it keeps dying."""
HEALTHY = 60.0
"""Seconds after which a worker counts as healthy, so that the delay begins anew."""
PATIENCE = 10.0
"""Seconds that a worker has to end when it is asked to."""
WRONG_USAGE = 2
"""Exit code of a worker whose settings are wrong: starting it again would not help. Everything else may pass, such as a
host name that cannot be resolved, a port in use or a file that is not there yet."""

TEXT, NUMBER = ((str,), "text in quotation marks"), ((int, float), "a number")
OPTIONS: dict[str, tuple[Any, str]] = {
    "source": TEXT,
    "to": ((list,), 'a list of URLs such as ["udp://127.0.0.1:5006"]'),
    "horizon": ((int, float, list), "a number or a list of numbers such as [0.5, 1]"),
    "act_latency": NUMBER,
    "input_age": NUMBER,
    "rate": NUMBER,
    "channels": ((list,), 'a list of names such as ["chest", "couch"]'),
    "unit": TEXT,
    "space": TEXT,
    "sentinel": ((int, float, list), "a number or a list such as [9999, [0, 0, 0]]"),
    "valid": ((str, list), 'text such as "-500:500", or a list of such texts'),
    "record": TEXT,
    "view": ((bool,), "true or false"),
    "host": TEXT,
    "port": ((int,), "a whole number"),
    "checkpoint": NUMBER,
    "journal_size": NUMBER,
}
"""Keys of a stream in the file, the types of their values, and these in words."""


@dataclass(frozen=True)
class Worker:
    """One stream of the file: its name and the words of its command line after ``quatcast live``."""

    name: str
    words: tuple[str, ...]


def read_config(path: Path) -> list[Worker]:
    """Return the workers that a TOML file describes.

    Raises
    ------
    ValueError
        If the file is malformed; the message names the stream and the key.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: {error}") from None
    return parse_config(content, str(path))


def parse_config(content: Mapping[str, Any], where: str) -> list[Worker]:
    """Return the workers of a file that has been read.

    Examples
    --------
    >>> content = {"streams": {"chest": {"source": "udp://:5005", "to": ["stdout:"], "horizon": 0.5, "view": True}}}
    >>> parse_config(content, "live.toml")[0].words
    ('udp://:5005', '--name', 'chest', '--to', 'stdout:', '--horizon', '0.5', '--view')
    """
    streams = content.get("streams")
    if not isinstance(streams, dict) or not streams or set(content) != {"streams"}:
        raise ValueError(f"{where}: expected one table [streams.NAME] per stream and nothing else")
    workers = []
    for name, options in streams.items():
        LiveSettings(stream=name)
        if not isinstance(options, dict) or not isinstance(options.get("source"), str):
            raise ValueError(f'{where}, streams.{name}: expected a source, such as source = "udp://127.0.0.1:5005"')
        words = [options["source"], "--name", name]
        for key, value in options.items():
            words += [] if key == "source" else _words(where, name, key, value)
        workers.append(Worker(name, tuple(words)))
    _check_apart(where, streams)
    return workers


def _words(where: str, name: str, key: str, value: Any) -> list[str]:
    """Return the words of one option."""
    if key not in OPTIONS:
        raise ValueError(f"{where}, streams.{name}: expected one of {', '.join(OPTIONS)}, got {key!r}")
    kinds, words = OPTIONS[key]
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise ValueError(f"{where}, streams.{name}.{key}: expected {words}, got {value!r}")
    if key == "record" and not value.strip():
        raise ValueError(f"{where}, streams.{name}.record: expected a folder, got {value!r}")
    option = "--" + key.replace("_", "-")
    if key == "view":
        return [option] if value else []
    if key == "to":
        return [word for url in value for word in (option, str(url))]
    if key in ("sentinel", "valid"):
        several = value if isinstance(value, list) else [value]
        return [word for one in several for word in (option, _commas(one))]
    if isinstance(value, list):
        return [option, _commas(value)]
    return [option, str(value)]


def _commas(value: Any) -> str:
    return ",".join(str(one) for one in value) if isinstance(value, list) else str(value)


def _check_apart(where: str, streams: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse two streams that would write one folder or serve one port."""
    usual = ViewAddress().port
    taken = {
        "record": [os.path.abspath(options["record"]) for options in streams.values() if "record" in options],
        "port": [options.get("port", usual if options.get("view") else 0) for options in streams.values()],
    }
    for key, values in taken.items():
        if repeated := sorted({str(value) for value in values if value and values.count(value) > 1}):
            hint = f"; without one, the view has port {usual}" if repeated == [str(usual)] else ""
            raise ValueError(f"{where}: expected a different {key} per stream, got {', '.join(repeated)} twice{hint}")


async def supervise(workers: Sequence[Worker], before: Sequence[str] = (), after: Sequence[str] = ()) -> int:
    """Run the workers until a signal asks to stop, and return how many ended with an error for good.

    Parameters
    ----------
    workers
        What to run.
    before, after
        Words of every command line before ``live`` and at its end.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    # One core stays free for answers while the streams learn in turn on the others. Where there is
    # memfd_create, the system also tells which cores this process may use.
    turns = Turns.create(max(1, len(os.sched_getaffinity(0)) - 1)) if hasattr(os, "memfd_create") else None
    commands = {worker: [*before, "live", *worker.words, *after] for worker in workers}
    tasks = [asyncio.create_task(_keep_running(worker, commands[worker], turns, stop)) for worker in workers]
    with systemd.lifetime():
        systemd.notify("READY=1")
        results = await asyncio.gather(*tasks)
    if turns is not None:
        turns.close()
    return sum(results)


async def _keep_running(worker: Worker, words: Sequence[str], turns: Turns | None, stop: asyncio.Event) -> bool:
    """Run one worker, again and again; return whether it was given up."""
    delay = FIRST_DELAY
    inherited = () if turns is None else (turns.descriptor,)
    environment = os.environ | ({} if turns is None else turns.environment())
    # Only this process talks to systemd.
    environment = {name: value for name, value in environment.items() if name not in systemd.VARIABLES}
    while not stop.is_set():
        began = asyncio.get_running_loop().time()
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "quatcast", *words), pass_fds=inherited, env=environment
            )
        except OSError as error:  # no memory at the moment, for example
            why = f"no process can be started ({error})"
        else:
            log.info("stream %s: process %d started", worker.name, process.pid, extra={"stream": worker.name})
            code = await _wait(process, stop)
            if stop.is_set() or code == 0:
                return False
            if code == WRONG_USAGE:
                log.error(
                    "stream %s: given up, because its settings are wrong", worker.name, extra={"stream": worker.name}
                )
                return True
            why = f"process {process.pid} died with code {code}, see the lines before"
        if asyncio.get_running_loop().time() - began > HEALTHY:
            delay = FIRST_DELAY
        log.error("stream %s: %s; started again in %.1f s", worker.name, why, delay, extra={"stream": worker.name})
        try:
            await asyncio.wait_for(stop.wait(), delay)
        except TimeoutError:
            delay = min(2 * delay, LONGEST_DELAY)
    return False


async def _wait(process: asyncio.subprocess.Process, stop: asyncio.Event) -> int:
    """Wait until a process ends; when asked to stop, ask it first and kill it if it does not listen."""
    ended, stopped = asyncio.create_task(process.wait()), asyncio.create_task(stop.wait())
    await asyncio.wait({ended, stopped}, return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()
    if not ended.done():
        process.terminate()
        try:
            await asyncio.wait_for(asyncio.shield(ended), PATIENCE)
        except TimeoutError:
            process.kill()
    return await ended
