"""OpenIGTLink over real sockets, with pyigtl at the other end."""

from __future__ import annotations

import asyncio
import time
import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from network import collect, free_port, made_forecast, run, until

from quatcast.live.transports import igtl, open_sink, open_source
from quatcast.live.transports.igtl_codec import HEADER, STATUS, Status, parse_body, parse_header, text_of
from quatcast.live.transports.igtl_codec import pack as pack_message
from quatcast.live.transports.igtl_poses import read_poses, transform_content

pyigtl = pytest.importorskip("pyigtl")
pytestmark = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"  # pyigtl leaves sockets open
)
SINGLE = np.random.default_rng(3).normal(size=(50, 2, 3)).astype(np.float32)


@contextmanager
def server(port: int) -> Iterator[Any]:
    """Yield a server of pyigtl."""
    running = pyigtl.OpenIGTLinkServer(port=port, local_server=True)
    try:
        yield running
    finally:
        running.stop()


@asynccontextmanager
async def client(port: int) -> AsyncIterator[Any]:
    """Yield a client of pyigtl."""
    running = pyigtl.OpenIGTLinkClient("127.0.0.1", port)
    try:
        await until(running.is_connected)
        yield running
    finally:
        await asyncio.to_thread(running.stop)


def transform(position: np.ndarray, tool: str, stamp: float, **metadata: str) -> Any:
    matrix = np.eye(4)
    matrix[:3, 3] = position
    message = pyigtl.TransformMessage(matrix, timestamp=stamp, device_name=tool)
    if metadata:
        message.header_version, message.metadata = 2, metadata
    return message


async def send(link: Any, message: Any) -> None:
    """Queue a message; pyigtl drops the oldest of more than 100, and would itself wait forever."""
    await until(lambda: len(link.outgoing_messages) < 50)
    link.send_message(message, wait=False)


async def send_all(link: Any) -> None:
    """Send 50 times two tools without a pause, with the second of them lost now and then."""
    for n, (one, two) in enumerate(SINGLE):
        await send(link, transform(one, "A", 100 + n / 50))
        lost = {"TransformStatus": "OUT_OF_VIEW"} if n % 10 == 5 else {"TransformStatus": "OK"}
        await send(link, transform(two, "B", 100 + n / 50, **lost))


def check(frames: list[Any]) -> None:
    expected = SINGLE.astype(float)
    expected[5::10, 1] = np.nan
    np.testing.assert_array_equal([frame.values for frame in frames], expected)
    np.testing.assert_allclose([frame.device_time for frame in frames], 100 + np.arange(50) / 50, atol=1e-7)
    assert {(frame.names, frame.unit, frame.stream) for frame in frames} == {(("A", "B"), "mm", "s")}


def test_pyigtl_server_sends_tools() -> None:
    """Not one of 100 messages is lost, where pyigtl itself keeps the newest only."""

    async def main() -> None:
        port = free_port()
        async with open_source(f"igtl://127.0.0.1:{port}?tools=A,B", "s") as source:
            await asyncio.sleep(0.05)  # the source has to try again
            with server(port) as tracker:
                await until(tracker.is_connected)
                sending = asyncio.create_task(send_all(tracker))
                check(await collect(source, 50))
                await sending
                assert not source.refused

    run(main())


def test_pyigtl_client_sends_tools() -> None:
    async def main() -> None:
        async with open_source("igtl://127.0.0.1:0?listen&tools=A,B", "s") as source:
            async with client(source.address[1]) as tracker:
                image = pyigtl.ImageMessage(np.zeros((50, 60, 70), dtype=np.uint8), device_name="Image")
                await send(tracker, image)  # 210,000 bytes that are skipped
                await send(tracker, transform(SINGLE[0, 0], "C", 99.0))
                sending = asyncio.create_task(send_all(tracker))
                check(await collect(source, 50))
                await sending
            assert source.refused == {"tool": 1, "type": 1}

    run(main())


def test_poses_have_w_first() -> None:
    async def main() -> None:
        async with open_source("igtl://127.0.0.1:0?listen&tools=A&pose", "s") as source:
            async with client(source.address[1]) as tracker:
                turn = np.array([[0.0, -1, 0, 7], [1, 0, 0, 8], [0, 0, 1, 9], [0, 0, 0, 1]])  # 90° about z
                message = pyigtl.TransformMessage(turn, timestamp=5.0, device_name="A")
                await send(tracker, message)
                (frame,) = await collect(source, 1)
            half = np.sqrt(0.5)
            np.testing.assert_allclose(frame.values, [[7, 8, 9, half, 0, 0, half]], atol=1e-7)

    run(main())


async def received(link: Any, device: str) -> Any:
    message = await asyncio.to_thread(link.wait_for_message, device, 5)
    assert message is not None, device
    return message


async def check_sink(sink: Any, receiver: Any) -> None:
    forecast = made_forecast()
    sink.send(forecast)
    for channel, name in enumerate(forecast.names):
        message = await received(receiver, f"{name}Forecast")
        expected = np.eye(4)
        expected[:3, 3] = forecast.position[channel].astype(np.float32)
        np.testing.assert_array_equal(message.matrix, expected)
        assert message.metadata["TransformStatus"] == "OK"
        assert float(message.metadata["ForecastRadius"]) == forecast.radius[channel]
        assert "ForecastAngleRadius" not in message.metadata
        assert float(message.metadata["SentTime"]) == forecast.sent_time
        assert message.timestamp == pytest.approx(forecast.target_time, abs=1e-6)


def test_pyigtl_client_receives_forecasts() -> None:
    async def main() -> None:
        async with open_sink("igtl://127.0.0.1:0?listen", "s") as sink, client(sink.address[1]) as receiver:
            await until(lambda: sink.receivers)
            await check_sink(sink, receiver)

    run(main())


def test_pyigtl_server_receives_forecasts() -> None:
    async def main() -> None:
        port = free_port()
        async with open_sink(f"igtl://127.0.0.1:{port}", "s") as sink:
            with server(port) as receiver:
                await until(lambda: sink.receivers)
                await check_sink(sink, receiver)

    run(main())


async def read_messages(reader: asyncio.StreamReader, count: int) -> list[tuple[Any, Any]]:
    messages = []
    for _ in range(count):
        header = parse_header(await reader.readexactly(HEADER.size))
        messages.append((header, parse_body(header, await reader.readexactly(header.size))))
    return messages


def read_status(content: bytes) -> Status:
    code, subcode, name = STATUS.unpack_from(content)
    return Status(code, subcode, text_of(name), text_of(content[STATUS.size :]))


@pytest.mark.parametrize("status", ["hold", "warming up"])
def test_hold_sends_status_and_no_transform(status: str) -> None:
    async def main() -> None:
        async with open_sink("igtl://127.0.0.1:0?listen", "s") as sink:
            reader, writer = await asyncio.open_connection(*sink.address)
            await until(lambda: sink.receivers)
            for _ in range(3):
                sink.send(made_forecast(status, "no sample for 150 ms"))
            sink.send(made_forecast())
            messages = await read_messages(reader, 6)
            kinds = [header.kind for header, _ in messages]
            assert kinds == ["STATUS"] * 4 + ["TRANSFORM"] * 2
            assert read_status(messages[0][1].content) == (13, 0, status, "no sample for 150 ms")
            assert read_status(messages[3][1].content) == (1, 0, "ok", "")
            writer.close()

    run(main())


@pytest.mark.parametrize(("kind", "count"), [("TRANSFORM", 2), ("POSITION", 2), ("QTDATA", 1)])
def test_poses_are_sent_in_every_kind_of_message(kind: str, count: int) -> None:
    async def main() -> None:
        forecast = made_forecast(dimensions=7)
        async with open_sink(f"igtl://127.0.0.1:0?listen&message={kind}&version=1&suffix=", "s") as sink:
            reader, writer = await asyncio.open_connection(*sink.address)
            await until(lambda: sink.receivers)
            sink.send(forecast)
            (status, _), *messages = await read_messages(reader, 1 + count)
            assert (status.kind, {header.kind for header, _ in messages}) == ("STATUS", {kind})
            found = dict(pose for header, body in messages for pose in read_poses(header, body, oriented=True))
            assert tuple(found) == forecast.names
            poses = np.array(list(found.values()))
            np.testing.assert_array_equal(poses[:, :3], forecast.position[:, :3].astype(np.float32))
            signs = np.sign((poses[:, 3:] * forecast.position[:, 3:]).sum(axis=1, keepdims=True))
            np.testing.assert_allclose(poses[:, 3:] * signs, forecast.position[:, 3:], atol=2e-7)
            if kind != "TRANSFORM":
                np.testing.assert_array_equal(poses[:, 3:], forecast.position[:, 3:].astype(np.float32))
            writer.close()

    run(main())


def test_poses_have_both_radii_in_their_metadata() -> None:
    async def main() -> None:
        forecast = replace(made_forecast(dimensions=7), angle_radius=np.array([0.1, np.nan]))
        async with open_sink("igtl://127.0.0.1:0?listen", "s") as sink, client(sink.address[1]) as receiver:
            await until(lambda: sink.receivers)
            sink.send(forecast)
            found = [(await received(receiver, f"{name}Forecast")).metadata for name in forecast.names]
        assert [float(one["ForecastRadius"]) for one in found] == forecast.radius.tolist()
        assert [one.get("ForecastAngleRadius") for one in found] == ["0.1", None]

    run(main())


Send = Callable[[asyncio.StreamWriter], None]
GOOD = pack_message("TRANSFORM", "A", 5.0, transform_content(np.array([1.0, 2, 3, 1, 0, 0, 0])))


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (GOOD[:-1] + bytes([GOOD[-1] ^ 1]), "checksum"),
        (pack_message("TRANSFORM", "A", 5.0, bytes(40)), "malformed"),
        (HEADER.pack(1, b"TRANSFORM", b"A", 5, 2**40, 0), "header"),
        (HEADER.pack(1, b"IMAGE", b"A", 5, 2**40, 0), "header"),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: */*\r\n\r\n" + bytes(20), "header"),
        (GOOD[:70], "incomplete"),
        (GOOD[:30], "incomplete"),
    ],
)
def test_bad_messages_are_counted_and_cost_no_memory(data: bytes, kind: str) -> None:
    async def main() -> None:
        async with open_source("igtl://127.0.0.1:0?listen&tools=A", "s") as source:
            tracemalloc.start()
            reader, writer = await asyncio.open_connection(*source.address)
            writer.write(data)
            writer.write_eof()
            await asyncio.gather(reader.read(), return_exceptions=True)
            writer.close()
            await until(lambda: source.refused[kind])
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < 2**20
            assert source.refused == {kind: 1}
            reader, writer = await asyncio.open_connection(*source.address)
            writer.write(GOOD)
            (frame,) = await collect(source, 1)
            assert frame.values.tolist() == [[1, 2, 3]]
            writer.close()

    run(main())


def test_sender_that_stops_within_a_message_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(igtl, "STALL_SECONDS", 0.05)

    async def main() -> None:
        async with open_source("igtl://127.0.0.1:0?listen&tools=A", "s") as source:
            reader, writer = await asyncio.open_connection(*source.address)
            writer.write(GOOD[:70])
            await asyncio.gather(reader.read(), return_exceptions=True)
            assert source.refused == {"incomplete": 1}
            writer.close()

    run(main())


def test_frame_with_a_missing_tool_is_closed_by_the_clock() -> None:
    async def main() -> None:
        async with open_source("igtl://127.0.0.1:0?listen&tools=A,B", "s") as source:
            _, writer = await asyncio.open_connection(*source.address)
            began = time.monotonic()
            writer.write(GOOD)
            (frame,) = await collect(source, 1)
            assert 0.04 < time.monotonic() - began < 1.0
            np.testing.assert_array_equal(frame.values, [[1, 2, 3], [np.nan] * 3])
            writer.close()

    run(main())


def test_source_asks_for_tracking_data() -> None:
    async def main() -> None:
        asked: asyncio.Queue[bytes] = asyncio.Queue()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            header = parse_header(await reader.readexactly(HEADER.size))
            asked.put_nowait(header.kind.encode() + b" %d" % len(await reader.readexactly(header.size)))
            await reader.read()
            writer.close()

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as listener:
            port = listener.sockets[0].getsockname()[1]
            async with open_source(f"igtl://127.0.0.1:{port}?request=qtdata", "s"):
                assert await asked.get() == b"STT_QTDATA 36"

    run(main())
