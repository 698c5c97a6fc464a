"""Checksums of lines of text over real sockets: a changed byte is never taken for a sample."""

from __future__ import annotations

import asyncio
import zlib

import pytest
from network import collect, datagrams, made_forecast, run, same, until

from quatcast.live.frames import ChecksumError
from quatcast.live.messages import parse_forecast
from quatcast.live.transports import open_sink, open_source


def sealed(line: bytes) -> bytes:
    """Return a line with its checksum, as the documentation describes it."""
    body = line[:-1]
    return b'%b,"crc":"%08x"}' % (body, zlib.crc32(body)) if line[:1] == b"{" else b"%b*%08x" % (line, zlib.crc32(line))


@pytest.mark.parametrize("line", [b"0.5,0.1,2,3", b'{"v": 1, "type": "sample", "t": 0.5, "p": [[0.1, 2, 3]]}'])
@pytest.mark.parametrize("required", [True, False])
def test_checksums(line: bytes, required: bool) -> None:
    """A wrong checksum is always refused; a line without one is refused or counted."""
    right = sealed(line)
    wrong = [right.replace(b"0.1", b"0.2"), right.replace(b"0.5", b"0.6"), right.replace(b"3", b"4", 1)]

    async def main() -> None:
        async with open_source(f"udp://127.0.0.1:0{'?check=required' * required}", "s") as source:
            datagrams(source.address, line, *wrong, right)
            frames = await collect(source, 1 if required else 2)
            assert all(frame.values[0, 0] == 0.1 for frame in frames)
            await until(lambda: sum(source.refused.values()) == len(wrong) + required)
            assert set(source.refused) == {"checksum"}
            assert source.unchecked == (0 if required else 1)

    run(main())


def test_every_changed_byte_is_refused() -> None:
    right = sealed(b'{"v":1,"type":"sample","stream":"s","seq":5,"t":0.5,"p":[[0.1,2,3]]}')

    async def main() -> None:
        async with open_source("udp://127.0.0.1:0?check=required", "s") as source:
            changed = [
                right[:i] + bytes([right[i] ^ bit]) + right[i + 1 :] for i in range(len(right)) for bit in (1, 4)
            ]
            for at in range(0, len(changed), 20):
                datagrams(source.address, *changed[at : at + 20])
                await asyncio.sleep(0.01)
            datagrams(source.address, right)
            assert (await collect(source, 1))[0].sequence == 5
            # A changed byte that is a line feed makes two lines of one.
            assert sum(source.refused.values()) >= len(changed)
            assert source.unchecked == 0

    run(main())


def test_sinks_write_checksums() -> None:
    async def main() -> None:
        async with open_sink("tcp://127.0.0.1:0?listen", "s") as sink:
            reader, writer = await asyncio.open_connection(*sink.address)
            await until(lambda: sink.receivers)
            sink.send(made_forecast())
            message = (await reader.readline()).strip()
            body, _, digits = message.rpartition(b',"crc":"')
            assert int(digits[:8], 16) == zlib.crc32(body)
            writer.close()
            same(parse_forecast(message), made_forecast())
            with pytest.raises(ChecksumError, match="expected the checksum of its content"):
                parse_forecast(message.replace(b'"p":[[', b'"p":[[1', 1))

    run(main())
