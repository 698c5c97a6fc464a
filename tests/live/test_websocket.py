"""WebSocket over real sockets, with the package websockets at the other end."""

from __future__ import annotations

import asyncio
import struct
from typing import Any

import numpy as np
import pytest
from network import TOKEN, collect, free_port, made_forecast, run, same, until

from quatcast.live.frames import Frame
from quatcast.live.messages import MAX_MESSAGE, parse_forecast, sample_message
from quatcast.live.transports import limits, open_sink, open_source
from quatcast.live.transports.websocket import MAX_OPENED

websockets = pytest.importorskip("websockets")
from websockets.asyncio.client import connect  # noqa: E402
from websockets.asyncio.server import serve  # noqa: E402

VALUES = np.array([[0.1, 1 / 3, 1e-300], [np.nan] * 3])
SENT = sample_message(Frame("chest", 3, 1763226000.12, 0.0, VALUES)).decode()


def url(transport: Any, rest: str = "") -> str:
    host, port = transport.address
    return f"ws://{host}:{port}/{rest}"


def test_source_takes_text_and_bytes() -> None:
    async def main() -> None:
        async with open_source("ws://127.0.0.1:0?listen", "s") as source, connect(url(source)) as client:
            await client.send(SENT)
            await client.send(b"1,2,3\n4,5,6")
            await client.send("\ud83d\ude00 rubbish".encode("utf-16", "surrogatepass"))
            first, second, third = await collect(source, 3)
            np.testing.assert_array_equal(first.values, VALUES)
            assert (second.values.tolist(), third.values.tolist()) == ([[1, 2, 3]], [[4, 5, 6]])
            await until(lambda: source.refused == {"malformed": 1})

    run(main())


def test_sink_sends_to_every_client() -> None:
    async def main() -> None:
        async with open_sink("ws://127.0.0.1:0?listen", "s") as sink:
            async with connect(url(sink)) as one, connect(url(sink)) as two:
                await until(lambda: sink.receivers == 2)
                sink.send(made_forecast())
                for client in (one, two):
                    message = await client.recv()
                    assert isinstance(message, str)
                    same(parse_forecast(message.encode()), made_forecast())
            await until(lambda: not sink.receivers)

    run(main())


def test_source_and_sink_reconnect_to_their_server() -> None:
    async def main() -> None:
        port, heard = free_port(), []

        async def handler(connection: Any) -> None:
            await connection.send("1,2,3")
            heard.append((connection.request.path, connection.request.headers.get("Authorization")))
            await connection.recv()

        async with open_sink(f"ws://127.0.0.1:{port}/in?token={TOKEN}", "s") as sink:
            sink.send(made_forecast())
            assert sink.dropped == 1
            for count in (1, 2):
                async with serve(handler, "127.0.0.1", port):
                    await until(lambda count=count: len(heard) == count and sink.receivers)
                    sink.send(made_forecast())
                    await until(lambda: not sink.receivers)
            assert heard[0] == ("/in", f"Bearer {TOKEN}")
        async with serve(handler, "127.0.0.1", port), open_source(f"ws://127.0.0.1:{port}", "s") as source:
            assert (await collect(source, 1))[0].values.tolist() == [[1, 2, 3]]

    run(main())


async def refusal(transport: Any, rest: str = "", **options: Any) -> int | None:
    """Return the status with which a connection is refused; None if it is not."""
    try:
        async with connect(url(transport, rest), **options):
            return None
    except websockets.exceptions.InvalidStatus as error:
        return int(error.response.status_code)


def test_pages_of_other_sites_are_refused() -> None:
    async def main() -> None:
        async with open_sink("ws://127.0.0.1:0?listen&origins=http://dashboard.example", "s") as sink:
            port = sink.address[1]
            assert await refusal(sink, origin="http://evil.example") == 403
            assert await refusal(sink, origin="null") == 403
            assert await refusal(sink, origin="http://127.0.0.1:1") == 403
            assert sink.refused == {"origin": 3}
            assert await refusal(sink, origin=f"http://127.0.0.1:{port}") is None
            assert await refusal(sink, origin="http://dashboard.example") is None

    run(main())


async def raw_answer(address: tuple[str, int], host: str) -> bytes:
    """Return the first line of the answer to a handshake with a given Host header."""
    reader, writer = await asyncio.open_connection(*address)
    key = "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13"
    writer.write(f"GET / HTTP/1.1\r\n{host}Upgrade: websocket\r\nConnection: Upgrade\r\n{key}\r\n\r\n".encode())
    line = await reader.readline()
    writer.close()
    return line


@pytest.mark.parametrize(
    ("host", "accepted"),
    [
        ("Host: 127.0.0.1:5\r\n", True),
        ("Host: localhost\r\n", True),
        ("Host: [::1]:5\r\n", True),
        ("Host: tracker.local:5\r\n", True),
        ("Host: evil.example:5\r\n", False),  # DNS rebinding
        ("Host: 192.168.1.5\r\n", False),
        ("Host: [::1\r\n", False),
        ("", False),
        ("Host: localhost\r\nHost: localhost\r\n", False),
    ],
)
def test_host_is_checked(host: str, accepted: bool) -> None:
    async def main() -> None:
        async with open_sink("ws://127.0.0.1:0?listen&hosts=tracker.local", "s") as sink:
            line = await raw_answer(sink.address, host)
            assert (b"101" in line) == accepted
            unreadable = b"400" in line  # refused by the package before the check
            assert sink.refused == ({} if accepted or unreadable else {"host": 1})

    run(main())


def test_token() -> None:
    async def main() -> None:
        async with open_source(f"ws://127.0.0.1:0?listen&token={TOKEN}", "s") as source:
            assert await refusal(source) == 403
            assert await refusal(source, "?token=wrong") == 403
            assert await refusal(source, additional_headers={"Authorization": "Bearer wrong"}) == 403
            assert source.refused == {"token": 3}
            assert await refusal(source, f"?token={TOKEN}") is None
            assert await refusal(source, additional_headers={"Authorization": f"Bearer {TOKEN}"}) is None

    run(main())


def test_clients_and_sizes_are_bounded() -> None:
    async def main() -> None:
        async with open_source("ws://127.0.0.1:0?listen", "s") as source:
            clients = [await connect(url(source)) for _ in range(limits.MAX_CLIENTS)]
            assert await refusal(source) == 503
            await clients[0].send("1" * (MAX_MESSAGE + 1))
            await clients[0].wait_closed()
            assert clients[0].close_code == 1009
            await until(lambda: source.refused == {"clients": 1, "size": 1})
            await asyncio.gather(*(client.close() for client in clients))

    run(main())


def test_connections_that_ask_for_nothing_are_bounded() -> None:
    """Each takes a file descriptor of the service until its time to ask is over."""

    async def main() -> None:
        async with open_source("ws://127.0.0.1:0?listen", "s") as source:
            idle = [(await asyncio.open_connection(*source.address))[1] for _ in range(200)]
            await until(lambda: source.refused["clients"] == 200 - MAX_OPENED)
            for one in idle:
                one.close()
            await until(lambda: source._links._opened == 0)
            async with connect(url(source)) as client:
                await client.send("1,2,3")
                assert (await collect(source, 1))[0].values.shape == (1, 3)

    run(main())


def test_large_claims_cost_no_memory() -> None:
    async def main() -> None:
        async with open_source("ws://127.0.0.1:0?listen", "s") as source, connect(url(source)) as client:
            client.transport.write(b"\x82\xff" + struct.pack(">Q", 2**62) + bytes(4))  # a frame of 4 EiB
            await client.wait_closed()
            await until(lambda: source.refused == {"size": 1})

    run(main())


def test_slow_receiver_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "STALL_SECONDS", 0.3)

    long = made_forecast("hold", "a long reason fills the buffers of the sockets soon. " * 200)

    async def main() -> None:
        async with open_sink("ws://127.0.0.1:0?listen", "s") as sink:
            client = await connect(url(sink), max_queue=1, ping_interval=None)
            await until(lambda: sink.receivers)
            client.transport.pause_reading()
            while sink.receivers:
                sink.send(long)
                await asyncio.sleep(0)
            assert sink.dropped > 0
            client.transport.abort()

    run(main())
