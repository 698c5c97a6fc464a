"""Clients of the view that misbehave: they cost a bounded amount of memory, descriptors and log, and nobody notices."""

import asyncio
import json
import logging
import re
import time
from dataclasses import replace

import numpy as np
import pytest
from breathing_feeder import Breathing
from test_view_server import get, served

from quatcast.live.metrics import Metrics
from quatcast.live.view import connections, server
from quatcast.live.view.connections import MAX_SOCKETS
from quatcast.live.view.feed import MAX_VIEWERS, ViewFeed


def upgrade(view, path="/ws", **headers):
    """The request for a WebSocket."""
    usual = {
        "Host": f"127.0.0.1:{view.port}",
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
        "Sec-WebSocket-Version": "13",
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in (usual | headers).items())
    return f"GET {path} HTTP/1.1\r\n{lines}\r\n".encode()


async def answer(view, request, seconds=3.0):
    """The first line of the answer to raw bytes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", view.port)
    writer.write(request)
    line = await asyncio.wait_for(reader.readline(), seconds)
    writer.close()
    return line.decode().strip()


def opened(view):
    return len(view._server.server_state.connections)


async def until(condition, seconds=5.0):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        await asyncio.sleep(0.02)
    assert condition()


def test_connections_that_ask_for_nothing_are_bounded_and_end(monkeypatch):
    """They took a descriptor each for as long as they liked, until the service could not open its journal any more."""
    monkeypatch.setattr(connections, "LONGEST_REQUESTS", 0.8)

    async def use(view):
        idle = [(await asyncio.open_connection("127.0.0.1", view.port))[1] for _ in range(3 * MAX_SOCKETS)]
        await asyncio.sleep(0.3)
        most = opened(view)
        idle[0].write(b"GET / HT")  # begins a request, and never ends it
        await until(lambda: opened(view) == 0)
        after = await get(view, "/healthz")
        for one in idle:
            one.close()
        return most, after[0]

    assert served(use) == (MAX_SOCKETS, 200)


def test_a_viewer_outlives_the_time_for_requests(monkeypatch):
    monkeypatch.setattr(connections, "LONGEST_REQUESTS", 0.3)

    async def use(view):
        reader, writer = await asyncio.open_connection("127.0.0.1", view.port)
        writer.write(upgrade(view))
        await asyncio.sleep(1.2)
        alive = view.feed.viewers, b"beat" in await reader.read(2**16)
        writer.close()
        return alive

    assert served(use) == (1, True)


def test_a_refused_viewer_that_does_not_agree_is_cut(monkeypatch):
    monkeypatch.setattr(server, "CLOSING", 0.3)

    async def use(view):
        pairs = [await asyncio.open_connection("127.0.0.1", view.port) for _ in range(MAX_VIEWERS + 20)]
        for _, writer in pairs:
            writer.write(upgrade(view))
        await until(lambda: view.feed.viewers == MAX_VIEWERS)
        await until(lambda: opened(view) == MAX_VIEWERS)
        pairs[0][1].write(b"\x81\x82\0\0\0\0hi")  # one that talks, and does not agree to the end either
        await until(lambda: opened(view) == MAX_VIEWERS - 1)
        for _, writer in pairs:
            writer.close()

    served(use)


HOST = "Host: 127.0.0.1:{port}\r\n"
REQUESTS = {
    "two hosts": ("GET / HTTP/1.1\r\n" + HOST + "Host: evil.example\r\n\r\n", 400),
    "another site in the address": ("GET http://evil.example/ HTTP/1.1\r\n" + HOST + "\r\n", 404),
    "no host": ("GET / HTTP/1.0\r\n\r\n", 421),
    "credentials in the host": ("GET / HTTP/1.1\r\nHost: 127.0.0.1@evil.example\r\n\r\n", 421),
    "every option": ("OPTIONS * HTTP/1.1\r\n" + HOST + "\r\n", 404),
    "trace": ("TRACE / HTTP/1.1\r\n" + HOST + "\r\n", 405),
    "endless body": ("POST / HTTP/1.1\r\n" + HOST + "Content-Length: 999999999999\r\n\r\n" + "x" * 10**6, 405),
    "endless chunk": (
        "POST / HTTP/1.1\r\n" + HOST + "Transfer-Encoding: chunked\r\n\r\nFFFFFFF\r\n" + "x" * 10**6,
        405,
    ),
    "endless header": ("GET / HTTP/1.1\r\n" + HOST + "X: " + "x" * 10**6, 400),
    "zero byte": ("GET /assets/\0 HTTP/1.1\r\n" + HOST + "\r\n", 400),
    "escaped bytes": ("GET /assets/%00%ff%2e%2e%2fserver.py HTTP/1.1\r\n" + HOST + "\r\n", 404),
    "token that is no text": ("GET /?token=%ff%fe HTTP/1.1\r\n" + HOST + "\r\n", 401),
    "cookie that is no text": ("GET / HTTP/1.1\r\n" + HOST + 'Cookie: quatcast-{port}=\xff"; ;;=\r\n\r\n', 401),
    "TLS": ("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
    "HTTP/2": ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 421),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_odd_requests_are_refused_and_not_logged(name, caplog):
    text, status = REQUESTS[name]

    async def use(view):
        request = text.replace("{port}", str(view.port)).encode("latin-1")
        return await answer(view, request), await get(view, "/healthz")

    line, health = served(use, token="a-token-of-sufficient-length" if status == 401 else None)
    assert line.split()[1] == str(status)
    assert health[0] == 200
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


@pytest.mark.parametrize("path", ["/", "/healthz", "/nothing"])
def test_other_paths_are_no_streams(path):
    async def use(view):
        return await answer(view, upgrade(view, path))

    assert served(use).split()[1] == "403"


@pytest.mark.parametrize(
    "frame",
    [
        b"\xff" * 300,
        b"\x81\x05hello",  # not masked
        b"\x82\xff\x7f" + b"\xff" * 7 + bytes(4),  # claims 2⁶³ bytes
        b"\xf1\x80" + bytes(4),  # reserved bits
        b"\x01\x80" + bytes(4) + b"\x01\x80" + bytes(4),  # a fragment within a fragment
        b"\x88\x82" + bytes(4) + b"\x00\x01",  # an end with an impossible code
        b"\x80\x80" + bytes(4),  # the rest of nothing
        b"\x82\xfe\x04\x01" + bytes(4) + bytes(1025),  # more than is read
    ],
    ids=lambda frame: f"{frame[:4].hex()} {len(frame)}",
)
def test_garbage_from_a_browser_ends_its_connection_only(frame, monkeypatch):
    monkeypatch.setattr(server, "CLOSING", 0.2)

    async def use(view):
        good, bad = [await asyncio.open_connection("127.0.0.1", view.port) for _ in range(2)]
        for _, writer in (good, bad):
            writer.write(upgrade(view))
        await until(lambda: view.feed.viewers == 2)
        bad[1].write(frame)
        await until(lambda: view.feed.viewers == 1 and opened(view) == 1)
        await good[0].read(2**16)
        view.feed.tell("source", "still here")
        text = await asyncio.wait_for(good[0].read(2**16), 3)
        for _, writer in (good, bad):
            writer.close()
        return b"still here" in text

    assert served(use)


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@pytest.mark.parametrize("scale", [1e30, 1e160, 1e300])
def test_numbers_beyond_all_bounds_are_valid_json(scale):
    """Browsers refuse NaN and Infinity, and the connection would be lost with them."""
    feed, breathing = ViewFeed(), Breathing()
    for k in range(100):
        frame = breathing.frame(k, 1.7e9 + k / 10)
        far = {"position": frame.position * scale, "radius": frame.radius * np.inf}
        feed.publish(replace(frame, sample=frame.sample * scale * (-1) ** k, **far))
    with feed.viewer() as viewer:
        feed.beat({"samples": 3.0})
        messages = [message for message in iter(viewer.take, None) if isinstance(message, str)]

    def refuse(word):
        raise AssertionError(word)

    kinds = [json.loads(message, parse_constant=refuse)["type"] for message in messages]
    assert {"hello", "layout", "beat"} <= {*kinds}


LABEL = re.compile(r'\{stream="((?:[^"\\\n]|\\["\\n])*)"\}')


@pytest.mark.parametrize("name", ['a"b\\c\nd', "\udcff", "x} 1\nquatcast_ready 1", "\x85\u2028\x00", "<b>", "ü" * 300])
def test_metrics_of_streams_with_odd_names(name):
    metrics = Metrics()
    metrics.count("samples", 7, stream=name)
    metrics.ready(False, name)

    async def use(view):
        return await get(view, "/metrics"), await get(view, "/readyz"), await get(view, "/healthz")

    figures, ready, health = served(use, metrics)
    assert (figures[0], ready[0], health[0]) == (200, 503, 200)
    lines = [line for line in figures[2].split("\n") if line.startswith("quatcast_samples_total")]
    assert len(lines) == 1
    label = LABEL.fullmatch(lines[0].removeprefix("quatcast_samples_total").removesuffix(" 7"))
    read = label[1].replace("\\\\", "\0\0").replace('\\"', '"').replace("\\n", "\n").replace("\0\0", "\\")
    assert read == name.encode(errors="replace").decode()[:200]
    assert figures[2].count("\nquatcast_ready") + figures[2].startswith("quatcast_ready") == 1
    assert ready[2].count("\n") == 1
