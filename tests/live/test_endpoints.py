"""URLs of transports: what they mean, and what is refused before a socket is opened."""

from __future__ import annotations

import asyncio
import gc
import re
from collections.abc import Callable

import pytest

from quatcast.live.transports import open_sink, open_source
from quatcast.live.transports.limits import Backoff, RateLimit

TOKEN = "a-token-of-20-letters"


@pytest.mark.parametrize("url", ["tcp://0.0.0.0:5005?listen", "udp://0.0.0.0:5005", "ws://192.168.1.5:5005?listen"])
def test_other_machines_need_a_token(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QUATCAST_TOKEN", raising=False)
    with pytest.raises(ValueError, match="expected a token, because other machines can reach this address"):
        open_source(url, "s")
    joined = "&" if "?" in url else "?"
    open_source(f"{url}{joined}token={TOKEN}", "s")
    monkeypatch.setenv("QUATCAST_TOKEN", TOKEN)
    assert open_source(url, "s").endpoint.token == TOKEN  # type: ignore[attr-defined]


def test_sinks_need_a_token_only_if_they_listen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QUATCAST_TOKEN", raising=False)
    open_sink("udp://192.168.1.5:5005", "s")
    open_sink("tcp://192.168.1.5:5005", "s")
    with pytest.raises(ValueError, match="expected a token"):
        open_sink("tcp://[::]:5005?listen", "s")


def test_token_of_the_environment_is_not_sent_to_servers_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUATCAST_TOKEN", TOKEN)
    assert open_sink("tcp://192.168.1.5:5005", "s").endpoint.token == ""  # type: ignore[attr-defined]
    assert open_sink("tcp://192.168.1.5:5005?token", "s").endpoint.token == TOKEN  # type: ignore[attr-defined]
    assert open_source("tcp://127.0.0.1:5005?listen", "s").endpoint.token == ""  # type: ignore[attr-defined]


def test_token_is_not_shown() -> None:
    endpoint = open_source(f"tcp://127.0.0.1:5005?listen&token={TOKEN}", "s").endpoint  # type: ignore[attr-defined]
    assert TOKEN not in repr(endpoint)
    assert TOKEN not in str(endpoint)


def test_openigtlink_has_addresses_instead_of_a_token() -> None:
    with pytest.raises(ValueError, match=r"no token; add allow=ADDRESS,… or listen on 127\.0\.0\.1"):
        open_source("igtl://0.0.0.0?listen", "s")
    endpoint = open_source("igtl://0.0.0.0?listen&allow=192.168.1.20,10.0.0.1", "s").endpoint  # type: ignore[attr-defined]
    assert endpoint.port == 18944
    assert endpoint.admits("192.168.1.20")
    assert endpoint.admits("::ffff:10.0.0.1")
    assert not endpoint.admits("192.168.1.21")


@pytest.mark.parametrize(
    ("url", "part"),
    [
        ("tcp://127.0.0.1", "expected an address with a port, such as tcp://127.0.0.1:5005"),
        ("tcp://127.0.0.1:0", "expected an address with a port"),
        ("tcp://127.0.0.1:99999", "expected a port from 0 to 65535"),
        (
            "tcp://127.0.0.1:5?dimension=3",
            "expected the options dimensions, stream, check, listen, token, allow, got 'dimension'",
        ),
        ("tcp://127.0.0.1:5?dimensions=0", "dimensions: expected a whole number from 1 to 16, got '0'"),
        ("tcp://127.0.0.1:5?dimensions=x", "dimensions: expected a whole number from 1 to 16, got 'x'"),
        ("tcp://127.0.0.1:5?token=short", r"token: expected at least 16 letters, digits or characters of -\._~, got 5"),
        ("tcp://127.0.0.1:5?token=semicolons;end;cookies", "got 22 characters, others among them"),
        ("tcp://127.0.0.1:5?allow=tracker", "allow: expected IP addresses"),
        ("igtl://127.0.0.1?tools=A,A", "tools: expected different names"),
        ("igtl://127.0.0.1?request=IMAGE", "request: expected QTDATA or TDATA"),
        ("igtl://127.0.0.1?token=" + TOKEN, "expected the options tools, pose, gather, request, listen, allow"),
        ("wss://127.0.0.1:5?listen", "put a reverse proxy in front"),
        ("carrier-pigeon://coop", "expected a URL with one of"),
    ],
)
def test_wrong_urls_say_what_is_expected(url: str, part: str) -> None:
    with pytest.raises(ValueError, match=part):
        open_source(url, "s")


@pytest.mark.parametrize(
    ("url", "option"),
    [
        *(
            (f"{begin}dimensions=2.5", "dimensions")
            for begin in ("tcp://127.0.0.1:5?", "udp://127.0.0.1:5?", "stdin:?")
        ),
        *((f"{begin}dimensions=2.5", "dimensions") for begin in ("ws://127.0.0.1:5?", "file:walk.csv?")),
        ("simulated:?person=2.5", "person"),
        ("simulated:?seed=0.5", "seed"),
    ],
)
def test_whole_numbers_are_not_rounded(url: str, option: str) -> None:
    with pytest.raises(ValueError, match=rf"^\w+, {option}: expected a whole number .*, got '\d\.5'$"):
        open_source(url, "s")


@pytest.mark.parametrize(
    ("url", "part"),
    [
        ("igtl://127.0.0.1?version=1.5", "igtl, version: expected a whole number from 1 to 3, got '1.5'"),
        ("igtl://127.0.0.1?message=IMAGE", "message: expected TRANSFORM, POSITION or QTDATA"),
        ("igtl://127.0.0.1?suffix=ThirteenChars", "suffix: expected at most 12"),
        ("udp://127.0.0.1:5?listen", "expected the options token, allow, got 'listen'"),
        (f"udp://127.0.0.1:5?token={TOKEN}", "expected neither token nor allow, because nobody connects"),
        ("udp://127.0.0.1:5?allow=127.0.0.1", "expected neither token nor allow, because nobody connects"),
    ],
)
def test_wrong_urls_of_sinks(url: str, part: str) -> None:
    with pytest.raises(ValueError, match=part):
        open_sink(url, "s")


@pytest.mark.parametrize("scheme", ["udp", "tcp", "igtl", "ws"])
def test_address_in_use_is_named(scheme: str) -> None:
    async def main() -> None:
        listen = "" if scheme == "udp" else "?listen"
        async with open_source(f"{scheme}://127.0.0.1:0{listen}", "s") as first:
            url = f"{scheme}://127.0.0.1:{first.address[1]}"  # type: ignore[attr-defined]
            with pytest.raises(OSError, match=f"^{url}: Address already in use$"):
                async with open_source(url + listen, "s"):
                    pass

    asyncio.run(main())


@pytest.mark.parametrize("open_one", [open_source, open_sink])
def test_transports_are_known(open_one: Callable[[str, str], object]) -> None:
    with pytest.raises(ValueError, match="expected a URL with one of") as caught:
        open_one("x:", "s")
    assert {"igtl", "lsl", "tcp", "udp", "ws", "wss"} <= set(re.findall(r"\w+", str(caught.value)))


def test_rate_limit_lets_through_what_it_promises() -> None:
    limit = RateLimit(rate=100.0, burst=10)
    passed = sum(limit.wait(now=n / 10_000) == 0 for n in range(10_000))  # one second
    assert passed == pytest.approx(110, abs=1)


def test_backoff_grows_to_its_limit_and_begins_again() -> None:
    backoff = Backoff()
    delays = [backoff.next() for _ in range(20)]
    assert 0.1 <= delays[0] <= 0.2
    assert all(2.5 <= delay <= 5.0 for delay in delays[5:])
    backoff.reset()
    assert backoff.next() <= 0.2


@pytest.mark.parametrize("scheme", ["tcp", "igtl", "ws"])
def test_connections_that_have_ended_leave_nothing_behind(scheme: str) -> None:
    """Of hundreds of clients that connect, send rubbish and go, no transport, task or counter by client is kept."""

    async def main() -> tuple[int, int]:
        async with open_source(f"{scheme}://127.0.0.1:0?listen", "s") as source:
            address = source.address  # type: ignore[attr-defined]

            async def visit(times: int) -> int:
                for _ in range(times):
                    reader, writer = await asyncio.open_connection(*address)
                    writer.write(b"GET / HTTP/1.1\r\n" + bytes(100) + b"\n")
                    writer.write_eof()
                    await asyncio.gather(reader.read(), return_exceptions=True)
                    writer.close()
                await asyncio.sleep(0.1)
                del reader, writer
                gc.collect()
                return len(gc.get_objects())

            await visit(20)
            return await visit(20), await visit(200)

    few, many = asyncio.run(main())
    assert many - few < 100
