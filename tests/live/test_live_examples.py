"""The programs of examples/live send what a source reads, and read what a sink sends."""

from __future__ import annotations

import asyncio
import os
import sys
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from network import collect, free_port, made_forecast, run, until

from quatcast.live.transports import open_sink, open_source

PROGRAMS = Path(__file__).parents[2] / "examples" / "live"
QUICK = ("--rate", "50", "--seconds", "0.4")


@asynccontextmanager
async def started(program: str, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a program of the examples, and end it with the test."""
    command = (sys.executable, str(PROGRAMS / program), *arguments)
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}  # pyigtl and pylsl leave things open
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, env=environment)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def expected() -> np.ndarray:
    breath = 5 * np.sin(2 * np.pi * np.arange(20) / 50 / 4)
    return np.stack([[np.full(20, 10.0 * m), 0.5 * breath, (1 + 0.1 * m) * breath] for m in range(3)]).transpose(
        2, 0, 1
    )


def check(frames: list[Any], exact: bool = True) -> None:
    found = np.array([frame.values for frame in frames])
    np.testing.assert_allclose(found, expected(), rtol=1e-12 if exact else 1e-6, atol=1e-12)
    np.testing.assert_allclose(np.diff([frame.device_time for frame in frames]), 0.02, atol=1e-6)


@pytest.mark.parametrize("form", [(), ("--csv",), ("--token", "a-token-of-20-letters")])
def test_send_udp(form: tuple[str, ...]) -> None:
    async def main() -> None:
        query = f"?token={form[1]}" if "--token" in form else ""
        async with (
            open_source(f"udp://127.0.0.1:0{query}", "s") as source,
            started("send_udp.py", "--port", str(source.address[1]), *QUICK, *form) as process,
        ):
            check(await collect(source, 20))
            assert await process.wait() == 0
            assert not source.refused

    run(main())


def test_receive_udp() -> None:
    async def main() -> None:
        async with started("receive_udp.py", "--port", "0", "--count", "2") as process:
            assert process.stdout is not None
            port = (await process.stdout.readline()).split()[-1].decode()
            async with open_sink(f"udp://127.0.0.1:{port}", "s") as sink:
                sink.send(made_forecast("hold", "no sample"))
                sink.send(made_forecast())
                text = (await process.stdout.read()).decode()
                assert await process.wait() == 0
            assert "hold: no sample" in text
            assert str(made_forecast().position[1].tolist()) in text

    run(main())


@pytest.mark.skipif(find_spec("pyigtl") is None, reason="pyigtl is not installed")
def test_send_igtl() -> None:
    async def main() -> None:
        port = free_port()
        async with (
            open_source(f"igtl://127.0.0.1:{port}?tools=Chest,Abdomen,Neck", "s") as source,
            started("send_igtl.py", "--port", str(port), *QUICK) as process,
        ):
            check(await collect(source, 20), exact=False)
            assert await process.wait() == 0

    run(main())


@pytest.mark.skipif(find_spec("pyigtl") is None, reason="pyigtl is not installed")
def test_receive_igtl() -> None:
    async def main() -> None:
        async with (
            open_sink("igtl://127.0.0.1:0?listen", "s") as sink,
            started("receive_igtl.py", "--port", str(sink.address[1]), "--count", "1") as process,
        ):
            await until(lambda: sink.receivers)
            sink.send(made_forecast())
            assert process.stdout is not None
            text = (await process.stdout.read()).decode()
            assert await process.wait() == 0
        assert str(made_forecast().position[0].astype(np.float32).astype(float).tolist()) in text
        assert str(float(made_forecast().radius[0])) in text

    run(main())


def test_send_lsl() -> None:
    try:
        import pylsl  # noqa: F401
    except (ImportError, RuntimeError) as problem:
        pytest.skip(f"pylsl cannot be loaded: {problem}")

    async def main() -> None:
        name = f"quatcast-{uuid.uuid4().hex}"
        async with (
            open_source(f"lsl://{name}", "s") as source,
            started("send_lsl.py", "--name", name, *QUICK) as process,
        ):
            frames = await collect(source, 20)
            check(frames)
            assert frames[0].names == ("Chest", "Abdomen", "Neck")
            assert await process.wait() == 0

    run(main())


@pytest.mark.skipif(find_spec("websockets") is None, reason="websockets is not installed")
def test_send_websocket() -> None:
    async def main() -> None:
        async with (
            open_source("ws://127.0.0.1:0?listen", "s") as source,
            started("send_websocket.py", "--url", f"ws://127.0.0.1:{source.address[1]}", *QUICK) as process,
        ):
            check(await collect(source, 20))
            assert await process.wait() == 0

    run(main())
