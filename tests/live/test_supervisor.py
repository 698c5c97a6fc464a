"""Many streams: workers are started from a file, started again when they die, and end when asked to."""

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from quatcast.cli import run
from quatcast.live import supervisor
from quatcast.live.learning import Turns
from quatcast.live.supervisor import parse_config, read_config, supervise

SOURCE = {"source": "simulated:"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "expected one table [streams.NAME] per stream"),
        ({"streams": {}}, "expected one table [streams.NAME] per stream"),
        ({"streams": {"a": SOURCE}, "more": 1}, "and nothing else"),
        ({"streams": {"a": {}}}, "streams.a: expected a source"),
        ({"streams": {"a": {**SOURCE, "colour": 1}}}, "expected one of source, to, horizon"),
        ({"streams": {"a": {**SOURCE, "rate": "10"}}}, "streams.a.rate: expected a number, got '10'"),
        ({"streams": {"a": {**SOURCE, "port": True}}}, "streams.a.port: expected a whole number, got True"),
        (
            {"streams": {"a": {**SOURCE, "horizon": "0.5,1"}}},
            "streams.a.horizon: expected a number or a list of numbers such as [0.5, 1], got '0.5,1'",
        ),
        ({"streams": {"": SOURCE}}, "stream: expected printable text"),
        (
            {"streams": {"a": {**SOURCE, "record": "x"}, "b": {**SOURCE, "record": "x"}}},
            "a different record per stream",
        ),
        (
            {"streams": {"a": {**SOURCE, "record": "x"}, "b": {**SOURCE, "record": "./y/../x/"}}},
            "a different record per stream",
        ),
        ({"streams": {"a": {**SOURCE, "record": ""}}}, "streams.a.record: expected a folder, got ''"),
        (
            {"streams": {"a": {**SOURCE, "port": 80}, "b": {**SOURCE, "port": 80}}},
            "a different port per stream, got 80",
        ),
        (
            {"streams": {"a": {**SOURCE, "view": True}, "b": {**SOURCE, "view": True}}},
            "a different port per stream, got 8765 twice; without one, the view has port 8765",
        ),
        (
            {"streams": {"a": {**SOURCE, "view": True}, "b": {**SOURCE, "view": True, "port": 8765}}},
            "a different port per stream, got 8765 twice",
        ),
    ],
)
def test_wrong_files_are_refused(content: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        parse_config(content, "live.toml")


def test_options_become_words() -> None:
    options = {
        **SOURCE,
        "horizon": [0.5, 1.0],
        "to": ["udp://127.0.0.1:1", "stdout:"],
        "act_latency": 0.2,
        "view": False,
    }
    [worker] = parse_config({"streams": {"chest": options}}, "live.toml")
    assert worker.name == "chest"
    assert worker.words == (
        *("simulated:", "--name", "chest", "--horizon", "0.5,1.0", "--to", "udp://127.0.0.1:1", "--to", "stdout:"),
        *("--act-latency", "0.2"),
    )


def test_views_on_different_ports_are_accepted() -> None:
    ports = [{"view": True}, {"view": True, "port": 0}, {"view": True, "port": 0}, {"view": False}, {}]
    streams = {f"s{i}": {**SOURCE, **options} for i, options in enumerate(ports)}
    assert len(parse_config({"streams": streams}, "live.toml")) == 5


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="there are no turns")
def test_turns_are_those_of_the_cores_that_the_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    created: list[int] = []
    create = Turns.create
    monkeypatch.setattr(Turns, "create", lambda turns: created.append(turns) or create(turns))
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {3, 5, 7})
    assert asyncio.run(supervise([])) == 0
    assert created == [2]


def test_broken_toml_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "live.toml"
    path.write_text("[streams.a\n")
    with pytest.raises(ValueError, match=r"live\.toml"):
        read_config(path)


def wait_for(condition: Any, seconds: float = 60.0) -> Any:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.05)
    pytest.fail("waited too long")


def test_a_process_that_cannot_be_started_now_is_started_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other streams go on meanwhile; an error would end the supervisor and leave their processes alone."""
    attempts = list[str]()

    async def start(*words: str, **more: Any) -> Any:
        attempts.append(words[-1])
        if len(attempts) < 3:
            raise BlockingIOError(11, "Resource temporarily unavailable")

        async def wait() -> int:
            return 0

        return SimpleNamespace(pid=7, wait=wait)

    monkeypatch.setattr(supervisor, "FIRST_DELAY", 0.001)
    monkeypatch.setattr(asyncio, "create_subprocess_exec", start)
    assert asyncio.run(supervisor.supervise([supervisor.Worker("chest", ("simulated:",))])) == 0
    assert attempts == ["simulated:"] * 3


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_dead_worker_is_started_again_and_all_end_on_sigterm(tmp_path: Path) -> None:
    """Two real workers; one is killed and comes back with its session; one with wrong settings is given up."""
    config = tmp_path / "live.toml"
    config.write_text(
        f'[streams.one]\nsource = "simulated:"\nrate = 10\nrecord = "{tmp_path}/one"\n'
        f'[streams.wrong]\nsource = "nothing:"\n'
    )
    command = [sys.executable, "-m", "quatcast", "live", "--config", str(config), "--log", "json"]
    log = (tmp_path / "log").open("wb")
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.bind(str(tmp_path / "notify"))
    manager.setblocking(False)
    environment = os.environ | {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "10000000"}
    environment.pop("WATCHDOG_PID", None)
    supervisor = subprocess.Popen(command, stderr=log, stdout=subprocess.DEVNULL, env=environment)

    def workers() -> list[psutil.Process]:
        found = []
        for one in psutil.Process(supervisor.pid).children():
            with suppress(psutil.Error):  # a process that has just died has no command line
                found += [one] if "one" in one.cmdline() else []
        return found

    def frames() -> int:
        return sum(path.read_bytes().count(b'"type":"sample"') for path in (tmp_path / "one").glob("journal-*"))

    try:
        wait_for(lambda: frames() > 5)
        [first] = workers()
        os.kill(first.pid, signal.SIGKILL)
        at_kill = frames()
        wait_for(lambda: [one for one in workers() if one.pid != first.pid])
        wait_for(lambda: frames() > at_kill + 3)
        supervisor.send_signal(signal.SIGTERM)
        code = supervisor.wait(30)
    finally:
        supervisor.kill()
        supervisor.wait()
        log.close()
    told = []
    with suppress(BlockingIOError):
        while True:
            told.append(manager.recv(100))
    manager.close()
    # Workers do not talk to systemd; the supervisor does so for all of them.
    assert (told.count(b"READY=1"), told.count(b"STOPPING=1")) == (1, 1)
    assert b"WATCHDOG=1" in told
    text = (tmp_path / "log").read_text()
    assert code == 2  # because one stream could not run
    assert "given up, because its settings are wrong" in text
    assert "died with code -9, see the lines before; started again" in text
    assert "continued after frame" in text
    assert list((tmp_path / "one").glob("checkpoint-*"))
    assert '"stream": "one"' in text


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_stream_whose_port_is_in_use_is_started_again(tmp_path: Path) -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        config = tmp_path / "live.toml"
        config.write_text(f'[streams.one]\nsource = "udp://127.0.0.1:{taken.getsockname()[1]}"\n')
        command = [sys.executable, "-m", "quatcast", "live", "--config", str(config)]
        with (tmp_path / "log").open("wb") as log:
            supervisor = subprocess.Popen(command, stderr=log)
        try:
            wait_for(lambda: "started again" in (tmp_path / "log").read_text() or supervisor.poll() is not None)
            supervisor.send_signal(signal.SIGTERM)
            assert supervisor.wait(30) == 0
        finally:
            supervisor.kill()
            supervisor.wait()
    text = (tmp_path / "log").read_text()
    assert "already in use" in text
    assert "died with code 1" in text


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("file:missing.csv", 1),
        ("udp://no-such-host.invalid:5005?token=correct-horse-battery", 1),
        ("nothing:", 2),
        ("udp://127.0.0.1:many", 2),
    ],
)
def test_exit_code_of_a_worker_says_whether_its_settings_are_wrong(source: str, code: int) -> None:
    assert run(["--worker", "live", source]) == code
    assert run(["live", source]) == 2
