"""The server of the view over real sockets: pages, health, metrics, access and slow viewers."""

import asyncio
import contextlib
import json
import socket
import time

import pytest
from breathing_feeder import Breathing
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from quatcast.live.metrics import Metrics
from quatcast.live.view import server
from quatcast.live.view.access import Access
from quatcast.live.view.feed import MAX_VIEWERS, ViewFeed
from quatcast.live.view.server import View

TOKEN = "a-token-of-sufficient-length"


async def get(view, path, method="GET", **headers):
    """Status, headers and body of a plain HTTP request with exactly these headers."""
    reader, writer = await asyncio.open_connection("127.0.0.1", view.port)
    lines = {"host": f"127.0.0.1:{view.port}", "connection": "close", **headers}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value is not None)
    writer.write(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode())
    reply = await asyncio.wait_for(reader.read(), 5)
    writer.close()
    head, _, body = reply.partition(b"\r\n\r\n")
    first, *rest = head.decode().split("\r\n")
    return int(first.split()[1]), dict(line.lower().split(": ", 1) for line in rest), body.decode()


def served(use, metrics=None, feed=None, **settings):
    """Run an asynchronous function with a view."""

    async def run():
        async with View(feed or ViewFeed(), metrics or Metrics(), **settings) as view:
            return await use(view)

    return asyncio.run(asyncio.wait_for(run(), 20))


def test_pages_health_and_metrics():
    metrics = Metrics()

    async def use(view):
        page, module, style = [await get(view, path) for path in ("/", "/assets/main.js", "/assets/style.css")]
        before = await get(view, "/readyz")
        metrics.ready(True)
        after = await get(view, "/readyz")
        rest = [await get(view, path) for path in ("/healthz", "/metrics", "/assets/../server.py", "/nothing")]
        return page, module, style, before, after, *rest, await get(view, "/", method="POST")

    page, module, style, before, after, health, figures, outside, nothing, post = served(use, metrics)
    assert [page[0], module[0], style[0], health[0], figures[0], after[0]] == [200] * 6
    assert "text/html" in page[1]["content-type"]
    assert "text/javascript" in module[1]["content-type"]
    assert before[0] == 503
    assert "starting" in before[2]
    assert "quatcast_viewers 0\n" in figures[2]
    assert "version=0.0.4" in figures[1]["content-type"]
    assert [outside[0], nothing[0], post[0]] == [404, 404, 405]
    for reply in (page, module, health, nothing):
        assert "default-src 'none'" in reply[1]["content-security-policy"]
        assert reply[1]["x-content-type-options"] == "nosniff"
        assert "server" not in reply[1]


def test_the_page_loads_nothing_from_outside():
    for name, content in server._read_pages().items():
        text = content.decode()
        assert "http://" not in text.replace("http://www.w3.org/2000/svg", ""), name
        assert "https://" not in text, name
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert word not in text, name


def test_other_names_are_refused():
    async def use(view):
        hosts = ("evil.example", "evil.example:80", "127.0.0.1.evil.example", "", None, "[::1")
        return {host: (await get(view, "/", host=host))[0] for host in hosts}

    for host, status in served(use).items():
        assert status in (400, 421), host


def test_pages_of_other_sites_get_no_stream():
    async def use(view):
        address = f"ws://127.0.0.1:{view.port}/ws"
        async with connect(address, origin=f"http://127.0.0.1:{view.port}") as own:
            hello = json.loads(await own.recv())
        async with connect(address) as program:
            await program.recv()
        for origin in ("http://evil.example", f"http://127.0.0.1:{view.port + 1}", "null", "http://["):
            with pytest.raises(InvalidStatus, match="403"):
                await connect(address, origin=origin)
        return hello, view.metrics.value("requests_refused")

    hello, refused = served(use)
    assert (hello["type"], hello["version"], refused) == ("hello", 1, 4)


def test_a_token_opens_once_and_lives_in_a_cookie():
    async def use(view):
        port = view.port
        closed = [await get(view, path) for path in ("/", "/?token=wrong", "/metrics", "/assets/main.js", "/ws")]
        opened = [await get(view, path) for path in ("/healthz", "/readyz")]
        entrance = await get(view, f"/?token={TOKEN}")
        cookie = entrance[1]["set-cookie"]
        inside = await get(view, "/", cookie=cookie.split(";")[0])
        bearer = await get(view, "/metrics", authorization=f"Bearer {TOKEN}")
        with pytest.raises(InvalidStatus, match="403"):
            await connect(f"ws://127.0.0.1:{port}/ws")
        async with connect(f"ws://127.0.0.1:{port}/ws", additional_headers={"Cookie": cookie.split(";")[0]}) as viewer:
            await viewer.recv()
        by_address = await get(view, "/healthz", host=f"192.0.2.7:{port}")
        by_name = await get(view, "/healthz", host=f"evil.example:{port}")
        return view.url, closed, opened, entrance, cookie, inside, bearer, by_address, by_name

    found = served(use, host="0.0.0.0", token=TOKEN)
    url, closed, opened, entrance, cookie, inside, bearer, by_address, by_name = found
    assert url.endswith(f"/?token={TOKEN}")
    assert [reply[0] for reply in closed] == [401] * 5
    assert [reply[0] for reply in opened] == [200, 503]
    assert "starting" not in opened[1][2]
    assert (entrance[0], entrance[1]["location"]) == (303, "/")
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert (inside[0], bearer[0]) == (200, 200)
    assert (by_address[0], by_name[0]) == (200, 421)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org"])
def test_other_machines_need_a_token(host):
    with pytest.raises(ValueError, match="token: expected one"):
        View(ViewFeed(), Metrics(), host=host)


@pytest.mark.parametrize("token", ["short", "", "spaces are not allowed", "ünïcödé-öf-sufficient-length"])
def test_a_token_has_to_be_long_and_plain(token):
    with pytest.raises(ValueError, match="at least 16"):
        Access("127.0.0.1", token)


def test_further_names_can_be_given():
    access = Access("127.0.0.1", names=("Linac.example",))
    assert access.known_host("linac.example:443")


@pytest.mark.parametrize("error", [KeyError("no such protocol"), None])
def test_a_server_that_does_not_start_is_an_error(monkeypatch, error):
    async def serve(self, sockets):
        if error is not None:
            raise error

    async def enter():
        async with asyncio.timeout(5), View(ViewFeed(), Metrics()):
            pass

    monkeypatch.setattr("quatcast.live.view.server.LoopServer.serve", serve)
    with pytest.raises(RuntimeError if error is None else KeyError, match=r"could not be started|no such protocol"):
        asyncio.run(enter())


def test_a_port_in_use_is_an_error_of_the_system():
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError, match="in use"):
        served(lambda view: asyncio.sleep(0), port=taken.getsockname()[1])


def test_the_seventeenth_viewer_is_told_to_come_back():
    async def use(view):
        address = f"ws://127.0.0.1:{view.port}/ws"
        viewers = [await connect(address) for _ in range(MAX_VIEWERS)]
        for viewer in viewers:
            await viewer.recv()
        async with connect(address) as late:
            with pytest.raises(ConnectionClosed) as closed:
                await late.recv()
        await viewers[0].close()
        await asyncio.sleep(0.05)
        async with connect(address) as next_one:
            await next_one.recv()
        for viewer in viewers:
            await viewer.close()
        return closed.value.rcvd

    closed = served(use)
    assert (closed.code, closed.reason) == (1013, "16 viewers are connected, no more are allowed")


def test_who_talks_is_disconnected():
    async def use(view):
        async with connect(f"ws://127.0.0.1:{view.port}/ws") as talker:
            await talker.send("hello")
            with contextlib.suppress(ConnectionClosed):
                async for _ in talker:
                    pass
            return talker.close_code

    assert served(use) == 1008


def test_a_viewer_that_stops_reading_is_dropped_and_nobody_waits(monkeypatch):
    monkeypatch.setattr(server, "SEND_TIMEOUT", 0.3)
    feed, metrics = ViewFeed(), Metrics()

    async def use(view):
        # A client of our own that never reads; those of libraries read in the background.
        with socket.create_connection(("127.0.0.1", view.port)) as stuck:
            stuck.sendall(
                f"GET /ws HTTP/1.1\r\nHost: 127.0.0.1:{view.port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
            )
            longest, k, end = 0.0, 0, time.monotonic() + 10
            while not metrics.value("viewers_too_slow") and time.monotonic() < end:
                k += 1
                begun = time.perf_counter()
                feed.publish(Breathing().frame(k, 1.7e9 + k / 10))
                feed._broadcast(bytes(2**18))  # fills the buffers of the system sooner than rows
                longest = max(longest, time.perf_counter() - begun)
                await asyncio.sleep(0.002)
            await asyncio.sleep(0.05)
            return longest, len(view._server.server_state.connections)

    longest, connections = served(use, metrics, feed)
    assert metrics.value("viewers_too_slow") == 1
    assert (feed.viewers, connections) == (0, 0)
    assert longest < 0.1
