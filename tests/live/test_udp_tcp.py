"""UDP and TCP over real sockets, also with nc: values, bounds, tokens, reconnection."""

from __future__ import annotations

import asyncio
import shutil
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import numpy as np
import pytest
from network import TOKEN, collect, datagrams, free_port, made_forecast, run, same, until

from quatcast.live.clock import now
from quatcast.live.frames import Frame
from quatcast.live.messages import MAX_MESSAGE, parse_forecast, sample_message
from quatcast.live.transports import limits, open_sink, open_source, tcp_links
from quatcast.live.transports.udp import UDP_BURST

needs_nc = pytest.mark.skipif(shutil.which("nc") is None, reason="nc is not installed")
VALUES = np.array([[0.1, 1 / 3, 1e-300], [np.nan] * 3, [np.pi, -0.0, 5e15]])
SENT = sample_message(Frame("chest", 3, 1763226000.12, 0.0, VALUES, ("a", "b", "c"), "mm"))


def check(frame: Frame) -> None:
    np.testing.assert_array_equal(frame.values, VALUES)
    assert (frame.stream, frame.sequence, frame.names, frame.unit) == ("chest", 3, ("a", "b", "c"), "mm")
    assert frame.device_time == 1763226000.12


@asynccontextmanager
async def tcp_client(address: tuple[str, int]) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection(*address)
    try:
        yield reader, writer
    finally:
        writer.close()
        await asyncio.gather(writer.wait_closed(), return_exceptions=True)


async def nc(*arguments: str, send: bytes) -> None:
    process = await asyncio.create_subprocess_exec("nc", *arguments, stdin=asyncio.subprocess.PIPE)
    await process.communicate(send)


def test_udp_source() -> None:
    async def main() -> None:
        async with open_source("udp://127.0.0.1:0", "s") as source:
            datagrams(source.address, b"\xff\x00", SENT, b"1,2,3\n4,5,6\n", b"", b"{}")
            first, second, third = await collect(source, 3)
            check(first)
            assert second.values.tolist() == [[1, 2, 3]]
            assert third.values.tolist() == [[4, 5, 6]]
            await until(lambda: source.refused["malformed"] == 2)

    run(main())


@needs_nc
def test_nc_sends_datagrams() -> None:
    async def main() -> None:
        async with open_source("udp://127.0.0.1:0", "s") as source:
            await nc("-u", "-w1", "127.0.0.1", str(source.address[1]), send=SENT)
            check((await collect(source, 1))[0])

    run(main())


def test_udp_sink() -> None:
    async def main() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
            receiver.bind(("127.0.0.1", 0))
            receiver.settimeout(5)
            async with open_sink(f"udp://127.0.0.1:{receiver.getsockname()[1]}", "s") as sink:
                sink.send(made_forecast())
                same(parse_forecast(receiver.recv(65536)), made_forecast())

    run(main())


def test_udp_sink_without_a_receiver_goes_on() -> None:
    async def main() -> None:
        async with open_sink(f"udp://127.0.0.1:{free_port()}", "s") as sink:
            for _ in range(20):
                sink.send(made_forecast())
                await asyncio.sleep(0.005)
            assert sink.dropped > 0

    run(main())


def test_udp_token() -> None:
    async def main() -> None:
        async with open_source(f"udp://127.0.0.1:0?token={TOKEN}", "s") as source:
            datagrams(source.address, SENT, b"token wrong\n" + SENT, f"token {TOKEN}\n".encode() + SENT)
            check((await collect(source, 1))[0])
            assert source.refused == {"token": 2}

    run(main())


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells times of arrival")
def test_udp_time_of_arrival_contains_the_wait() -> None:
    """The loop is busy for 0.3 s while datagrams arrive; the system has noted when they did."""

    async def main() -> None:
        async with open_source("udp://127.0.0.1:0", "s") as source:
            sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            frames = aiter(source.frames())
            await asyncio.sleep(0.5)  # the system begins to note times a moment after it was asked to
            for _ in range(3):
                sender.sendto(b"1,2,3", source.address)
                time.sleep(0.1)
            asked = now()
            waited = [asked - (await anext(frames)).received for _ in range(3)]
            sender.close()
            assert 0.25 < waited[0] < 2.0
            assert 0.05 < waited[0] - waited[1] < 1.0
            assert 0.05 < waited[1] - waited[2] < 1.0

    run(main())


def test_udp_rate_is_bounded() -> None:
    async def main() -> None:
        async with open_source("udp://127.0.0.1:0", "s") as source:
            for _ in range(UDP_BURST + 5000):
                source.datagram_received(b"1,2,3", ("127.0.0.1", 5), 0.0)
            assert source.refused["rate"] >= 1000
            assert source.refused["overflow"] < UDP_BURST + 5000

    run(main())


def test_addresses_that_are_not_allowed() -> None:
    async def main() -> None:
        async with open_source("udp://127.0.0.1:0?allow=127.0.0.9", "s") as source:
            datagrams(source.address, SENT)
            await until(lambda: source.refused["address"])
        async with (
            open_source("tcp://127.0.0.1:0?listen&allow=127.0.0.9", "s") as source,
            tcp_client(source.address) as (reader, _),
        ):
            await asyncio.gather(reader.read(), return_exceptions=True)
            assert source.refused == {"address": 1}

    run(main())


def test_other_streams_are_refused() -> None:
    async def main() -> None:
        other = sample_message(Frame("other", 3, 1763226000.12, 0.0, VALUES))
        async with open_source("udp://127.0.0.1:0", "s") as source:
            datagrams(source.address, SENT, other, b"1,2,3")
            first, second = await collect(source, 2)
            assert (first.stream, second.stream, source.refused) == ("chest", "s", {"stream": 1})
        async with open_source("udp://127.0.0.1:0?stream=other", "s") as source:
            datagrams(source.address, SENT, other)
            assert (await collect(source, 1))[0].stream == "other"
            assert source.refused == {"stream": 1}

    run(main())


def test_tcp_source_takes_whole_lines_only() -> None:
    async def main() -> None:
        async with open_source("tcp://127.0.0.1:0?listen", "s") as source:
            async with tcp_client(source.address) as (_, writer):
                for byte in SENT + b"\n":
                    writer.write(bytes([byte]))
                    await writer.drain()
                writer.write(b"\n\n7,8,9\nrubbish\n1.25,2.5,3.7")  # the end of 3.75 is missing
            check((await collect(source, 1))[0])
            assert (await collect(source, 1))[0].values.tolist() == [[7, 8, 9]]
            await until(lambda: source.refused == {"malformed": 1, "incomplete": 1})

    run(main())


@needs_nc
def test_nc_sends_a_file_of_numbers() -> None:
    text = b"time,hip.x,hip.y,hip.z\n" + b"".join(b"%d,%d,0.5,\n" % (n, n) for n in range(2000))

    async def main() -> None:
        async with open_source("tcp://127.0.0.1:0?listen", "s") as source:
            sending = asyncio.create_task(nc("-N", "127.0.0.1", str(source.address[1]), send=text))
            frames = await collect(source, 2000)
            await sending
            assert [frame.device_time for frame in frames] == list(range(2000))
            assert frames[7].names == ("hip",)
            np.testing.assert_array_equal(frames[7].values, [[7, 0.5, np.nan]])
            assert not source.refused

    run(main())


@needs_nc
def test_nc_receives_forecasts() -> None:
    async def main() -> None:
        async with open_sink("tcp://127.0.0.1:0?listen", "s") as sink:
            command = ("nc", "-d", "127.0.0.1", str(sink.address[1]))
            process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
            await until(lambda: sink.receivers)
            sink.send(made_forecast())
            assert process.stdout is not None
            same(parse_forecast(await process.stdout.readline()), made_forecast())
            process.kill()
            await process.wait()
            await until(lambda: not sink.receivers)
            process._transport.close()  # type: ignore[attr-defined]

    run(main())


def test_too_long_line_ends_the_connection() -> None:
    async def main() -> None:
        async with (
            open_source("tcp://127.0.0.1:0?listen", "s") as source,
            tcp_client(source.address) as (reader, writer),
        ):
            writer.write(b"1," * MAX_MESSAGE)
            await asyncio.gather(reader.read(), return_exceptions=True)
            assert source.refused == {"size": 1}

    run(main())


def test_clients_are_bounded() -> None:
    async def main() -> None:
        async with open_sink("tcp://127.0.0.1:0?listen", "s") as sink:
            writers = [(await asyncio.open_connection(*sink.address))[1] for _ in range(limits.MAX_CLIENTS)]
            await until(lambda: sink.receivers == limits.MAX_CLIENTS)
            async with tcp_client(sink.address) as (reader, _):
                await asyncio.gather(reader.read(), return_exceptions=True)
            assert sink.refused == {"clients": 1}
            for writer in writers:
                writer.close()

    run(main())


def test_tcp_token() -> None:
    async def main() -> None:
        async with open_source(f"tcp://127.0.0.1:0?listen&token={TOKEN}", "s") as source:
            for first in (b"token wrong\n", b"1,2,3\n"):
                async with tcp_client(source.address) as (reader, writer):
                    writer.write(first + SENT + b"\n")
                    await asyncio.gather(reader.read(), return_exceptions=True)
            assert source.refused == {"token": 2}
            async with tcp_client(source.address) as (_, writer):
                writer.write(f"token {TOKEN}\n".encode() + SENT + b"\n")
                check((await collect(source, 1))[0])

    run(main())


def test_silent_client_does_not_keep_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tcp_links, "STALL_SECONDS", 0.05)

    async def main() -> None:
        async with open_source(f"tcp://127.0.0.1:0?listen&token={TOKEN}", "s") as source, tcp_client(source.address):
            await until(lambda: source.refused["token"])

    run(main())


def test_slow_receiver_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A receiver that takes nothing loses the oldest forecasts, then its connection; the others get everything."""
    monkeypatch.setattr(limits, "STALL_SECONDS", 0.3)

    async def main() -> None:
        async with (
            open_sink("tcp://127.0.0.1:0?listen", "s") as sink,
            tcp_client(sink.address) as (reader, _),
            tcp_client(sink.address) as (slow, _),
        ):
            slow._transport.pause_reading()  # type: ignore[attr-defined]
            await until(lambda: sink.receivers == 2)
            sent = received = 0
            while sink.receivers == 2:
                for _ in range(20):
                    sink.send(made_forecast())
                    sent += 1
                for _ in range(20):
                    await reader.readuntil(b"\n")
                    received += 1
            assert sent == received
            assert sink.dropped > 0
            assert sink.receivers == 1

    run(main())


def test_source_reconnects_to_its_server() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"1,2,3\n4,5")
        writer.close()

    async def main() -> None:
        port = free_port()
        async with open_source(f"tcp://127.0.0.1:{port}", "s") as source:
            await asyncio.sleep(0.1)  # nobody listens yet
            async with await asyncio.start_server(serve, "127.0.0.1", port):
                assert len(await collect(source, 3)) == 3
            assert source.refused["incomplete"] >= 2

    run(main())


@pytest.mark.parametrize("scheme", ["tcp", "igtl"])
def test_connections_to_machines_without_power_end(scheme: str) -> None:
    """The system probes silent connections; otherwise a source would wait for ever for a tracker without power."""

    async def main() -> None:
        probed = list[bool]()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            probed.append(bool(writer.get_extra_info("socket").getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)))

        async with open_source(f"{scheme}://127.0.0.1:0?listen", "s") as listener:
            listener._links.handler = serve
            async with open_source(f"{scheme}://127.0.0.1:{listener.address[1]}", "s") as client:
                client._links.handler = serve
                await until(lambda: len(probed) == 2)
        assert probed == [True, True]

    run(main())


def test_sink_reconnects_and_gives_its_token() -> None:
    async def main() -> None:
        port = free_port()
        async with open_sink(f"tcp://127.0.0.1:{port}?token={TOKEN}", "s") as sink:
            sink.send(made_forecast())
            assert sink.dropped == 1
            lines: list[bytes] = []

            async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                lines.extend([await reader.readline(), await reader.readline()])
                writer.close()

            async with await asyncio.start_server(serve, "127.0.0.1", port):
                for count in (2, 4):
                    await until(lambda: sink.receivers)
                    sink.send(made_forecast())
                    await until(lambda count=count: len(lines) == count)
                    await until(lambda: not sink.receivers)
            assert lines[0] == lines[2] == f"token {TOKEN}\n".encode()
            same(parse_forecast(lines[1]), made_forecast())

    run(main())
