"""Send damaged and random packets to every transport of the live service, and count what becomes of them.

    python benchmarks/live_faults.py [--transport udp] [--packets 100000] [--seed 0] [--no-checksum]

Two programmes run on each transport, over real sockets on this machine:

- `packets`: two fifths valid samples, two fifths valid samples with changed, missing, added or repeated bytes, and one
  fifth random bytes. On OpenIGTLink and WebSocket some of the changes hit the framing, after which the client connects
  again.
- `network`: valid samples, of which 5 % are lost, 2 % duplicated and 5 % exchanged with their successor, with pauses of
  up to 200 ms; on streams 0.2 % are cut in half by the end of the connection.

Each valid sample contains numbers that follow from its own number, so that a sample that was changed and accepted is
recognised. Expected: every valid sample arrives; none has wrong values, except that without checksums a changed digit
makes a valid line; everything else is counted by kind; memory does not grow with the number of packets. The header of
OpenIGTLink is outside its checksum, so that a changed time is not found by the transport.
"""

from __future__ import annotations

import argparse
import array
import asyncio
import fcntl
import gc
import logging
import struct
import termios
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import psutil

from quatcast.basics.typing import Floats
from quatcast.live.frames import Frame
from quatcast.live.messages import sample_message, sample_text
from quatcast.live.transports import open_source
from quatcast.live.transports.igtl_codec import pack
from quatcast.live.transports.igtl_poses import transform_content

BATCH = 64
PER_SECOND = 4000.0
"""Packets per second: less than what a transport accepts from one client."""
SPECIAL = [np.inf, -np.inf, np.nan, -0.0, 5e-324, 1.7976931348623157e308, 1e-310, 1e300]


def listening(url: str) -> Any:
    """Return the source of a URL; it has an address."""
    return open_source(url, "chest")


def values(number: int) -> Floats:
    """Return the values of a sample, which follow from its number and are exact in single precision."""
    return np.array([[number, 0.5 * number + 0.25, (number % 97) * 1.25]])


@dataclass
class Tally:
    """What was sent and what arrived, and by number which samples were sent intact and which arrived."""

    count: int
    sent: Counter[str] = field(default_factory=Counter)
    arrived: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._intact, self._seen = np.zeros(self.count, dtype=bool), np.zeros(self.count, dtype=bool)

    def send(self, kind: str, number: int, intact: bool) -> None:
        self.sent[kind] += 1
        self._intact[number] = intact

    def take(self, judged: str, frame: Frame) -> None:
        self.arrived[judged] += 1
        number = frame.values[0, 0]
        if judged == "right" and 0 <= number < self.count:
            self._seen[int(number)] = True

    @property
    def missing(self) -> int:
        """Number of samples that were sent intact and did not arrive."""
        return int((self._intact & ~self._seen).sum())


def verdict(frame: Frame) -> str:
    """Tell whether a frame that was accepted is one that was sent."""
    number = frame.values[0, 0]
    known = frame.values.shape == (1, 3) and 0 <= number < 2**24 and number == int(number)
    if not known or not np.array_equal(frame.values, values(int(number))):
        return "wrong values"
    return "right" if abs((frame.device_time or 0) - stamp(int(number))) < 1e-6 else "wrong time"


def stamp(number: int) -> float:
    """Return the time of a sample."""
    return 1 + number / 100


def damaged(rng: np.random.Generator, data: bytes) -> bytes:
    """Return a packet with changed, missing, added or repeated bytes; always different from the original."""
    at, size = int(rng.integers(len(data))), int(rng.integers(1, 9))
    kind = rng.integers(5)
    if kind == 0:
        changed = bytearray(data)
        changed[at] ^= int(rng.integers(1, 256))
        return bytes(changed)
    if kind == 1:
        return data[:at] + data[at + size :]
    if kind == 2:
        return data[:at] + rng.bytes(size) + data[at:]
    if kind == 3:
        return data[:at]
    return data[:at] + data[max(0, at - size) : at] + data[at:] if at else data[1:]


@dataclass
class Line:
    """Text over UDP, TCP or WebSocket."""

    checksum: bool

    def judge(self, frame: Frame) -> str:
        return verdict(frame)

    def packet(self, number: int) -> bytes:
        frame = Frame("chest", number, stamp(number), 0.0, values(number))
        return sample_message(frame) if self.checksum else sample_text(frame)


class Udp(Line):
    """Datagrams."""

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Any]:
        async with listening(f"udp://127.0.0.1:0?stream=chest{'&check=required' * self.checksum}") as source:
            loop = asyncio.get_running_loop()
            transport, _ = await loop.create_datagram_endpoint(asyncio.DatagramProtocol, remote_addr=source.address)
            self._transport, self._socket = transport, source._socket
            yield source
            transport.close()

    def unread(self) -> int:
        """Return the size of the next datagram that the source has not read."""
        size = array.array("i", [0])
        fcntl.ioctl(self._socket.fileno(), termios.FIONREAD, size)
        return size[0]

    async def send(self, packet: bytes, intact: bool = True) -> None:
        self._transport.sendto(packet)


class Tcp(Line):
    """Lines over a connection."""

    url, end = "tcp://127.0.0.1:0?listen&stream=chest", b"\n"

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Any]:
        async with listening(self.url + "&check=required" * self.checksum) as source:
            self._address = source.address
            await self._connect()
            yield source
            self._writer.close()

    async def _connect(self) -> None:
        self._reader, self._writer = await asyncio.open_connection(*self._address)

    async def send(self, packet: bytes, intact: bool = True) -> None:
        self._writer.write(packet + self.end)
        await self._writer.drain()

    async def cut(self, packet: bytes) -> None:
        """Send a part of a packet, end the connection, and connect again."""
        self._writer.write(packet)
        self._writer.write_eof()
        await asyncio.gather(self._reader.read(), return_exceptions=True)
        self._writer.close()
        await self._connect()


class Igtl(Tcp):
    """Transforms over a connection. A packet whose framing may be damaged ends the connection."""

    url, end = "igtl://127.0.0.1:0?listen&tools=A&gather=0", b""

    def __init__(self) -> None:
        super().__init__(checksum=False)

    def packet(self, number: int) -> bytes:
        content = transform_content(np.append(values(number)[0], np.full(4, np.nan)))
        return pack("TRANSFORM", "A", stamp(number), content, {"TransformStatus": "OK"})

    async def send(self, packet: bytes, intact: bool = True) -> None:
        if intact or self._framed(packet):
            await super().send(packet)
        else:
            await self.cut(packet)

    @staticmethod
    def _framed(packet: bytes) -> bool:
        """Tell whether the size in the header is right, so that the next message is found."""
        right = len(packet) >= 58 and struct.unpack(">Q", packet[42:50])[0] == len(packet) - 58
        return right and packet[:34] == b"\0\2TRANSFORM\0\0\0A" + bytes(19)


class WebSocket(Line):
    """Messages over a WebSocket; one damaged packet in fifty damages the protocol itself."""

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Any]:
        url = f"ws://127.0.0.1:0?listen&stream=chest{'&check=required' * self.checksum}"
        self._damaged = 0
        async with listening(url) as source:
            self._address = source.address
            await self._connect()
            yield source
            await self._client.close()

    async def _connect(self) -> None:
        from websockets.asyncio.client import connect

        host, port = self._address
        self._client = await connect(f"ws://{host}:{port}", proxy=None, compression=None)

    async def send(self, packet: bytes, intact: bool = True) -> None:
        self._damaged += not intact
        if intact or self._damaged % 50:
            await self._client.send(packet)
        else:
            await self.cut(packet)

    async def cut(self, packet: bytes) -> None:
        """Write bytes that are not a frame of the protocol, end the connection, and connect again."""
        self._client.transport.write(packet)
        self._client.transport.write_eof()
        await self._client.wait_closed()
        await self._connect()


class Lsl:
    """Samples of an LSL stream. liblsl has the wire: damaged packets are numbers with any bits, which must survive."""

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Any]:
        import pylsl

        name = f"faults-{time.time_ns()}"
        info = pylsl.StreamInfo(name, "MoCap", 3, pylsl.IRREGULAR_RATE, pylsl.cf_double64, name)
        self._outlet = pylsl.StreamOutlet(info)
        self._count, self._sent = 0, deque[Floats]()
        async with listening(f"lsl://{name}") as source:
            while not self._outlet.have_consumers():
                await asyncio.sleep(0.05)
            yield source

    def packet(self, number: int) -> bytes:
        return values(number).tobytes()

    async def send(self, packet: bytes, intact: bool = True) -> None:
        numbers = np.frombuffer((packet + bytes(24))[:24]).copy()
        if not intact:
            numbers[self._count % 3] = SPECIAL[self._count % len(SPECIAL)]
            self._count += 1
        self._sent.append(numbers)
        self._outlet.push_sample(numbers.tolist())

    def unread(self) -> bool:
        """Tell whether many samples have not been read."""
        return len(self._sent) > 4 * BATCH

    def judge(self, frame: Frame) -> str:
        """Look for the sample that a frame is, among those that were sent after the one before."""
        while self._sent:
            if np.array_equal(frame.values[0], self._sent.popleft(), equal_nan=True):
                return "right"
        return "wrong values"


async def packets(link: Any, numbers: range, rng: np.random.Generator, tally: Tally) -> None:
    """Send valid, damaged and random packets."""
    for number in numbers:
        kind = rng.choice(["valid", "damaged", "random"], p=[0.4, 0.4, 0.2])
        packet = link.packet(number)
        if kind == "damaged":
            packet = damaged(rng, packet)
        elif kind == "random":
            packet = rng.bytes(int(rng.integers(1, 300)))
        await link.send(packet, intact=kind == "valid")
        tally.send(str(kind), number, intact=kind == "valid")
        await paced(link, number)


async def network(link: Any, numbers: range, rng: np.random.Generator, tally: Tally) -> None:
    """Send valid samples through a bad network."""
    waiting: list[bytes] = []
    for number in numbers:
        chance = rng.random()
        packet = link.packet(number)
        half = 0.12 <= chance < 0.122 and hasattr(link, "cut")
        tally.send("samples", number, intact=chance >= 0.05 and not half)
        if chance < 0.05:
            tally.sent["lost"] += 1
        elif chance < 0.07:
            tally.sent["duplicated"] += 1
            waiting += [packet, packet]
        elif chance < 0.12 and number < numbers[-1]:
            tally.sent["exchanged"] += 1
            waiting.insert(0, packet)
            continue  # the next one overtakes it
        elif half:
            tally.sent["cut in half"] += 1
            await link.cut(packet[: len(packet) // 2])
        else:
            waiting.append(packet)
        for one in reversed(waiting):
            await link.send(one)
        waiting.clear()
        if rng.random() < 0.0005:
            await asyncio.sleep(rng.uniform(0, 0.2))
        await paced(link, number)


async def paced(link: Any, number: int) -> None:
    """Pause after every batch, and until all datagrams and LSL samples have been read, so that no buffer overflows."""
    if number % BATCH == BATCH - 1:
        await asyncio.sleep(BATCH / PER_SECOND)
        for _ in range(1000):
            if not (isinstance(link, Udp | Lsl) and link.unread()):
                break
            await asyncio.sleep(0.001)


Programme = Callable[[Any, range, np.random.Generator, Tally], Awaitable[None]]


async def measure(name: str, link: Any, programme: Programme, count: int, seed: int) -> None:
    """Run one programme on one transport and print what was counted."""
    tally, process = Tally(count), psutil.Process()
    async with link.open() as source:

        async def take() -> None:
            async for frame in source.frames():
                tally.take(link.judge(frame), frame)

        taking = asyncio.create_task(take())
        began, before = time.perf_counter(), process.memory_info().rss
        tenth, memory = count // 10, []
        rng = np.random.default_rng(seed)
        for start in range(0, 10 * tenth, tenth):
            await programme(link, range(start, start + tenth), rng, tally)
            gc.collect()  # what waits for a collection is not kept
            memory.append((process.memory_info().rss - before) / 2**20)
        await asyncio.sleep(1.0)
        seconds = time.perf_counter() - began
        taking.cancel()
        refused = dict(source.refused)
    print(f"{name}, {programme.__name__}: {dict(tally.sent)} in {seconds:.0f} s")
    print(f"    accepted {dict(tally.arrived)}, missing {tally.missing}, refused {refused}")
    print(f"    memory after each tenth, MiB: {' '.join(f'{m:.1f}' for m in memory)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transport", choices=["udp", "tcp", "ws", "igtl", "lsl"], help="all by default")
    parser.add_argument("--packets", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-checksum", action="store_true", help="send lines of text without checksums")
    options = parser.parse_args()
    logging.getLogger("quatcast.live").setLevel(logging.CRITICAL)
    checksum = not options.no_checksum
    links = {"udp": Udp(checksum), "tcp": Tcp(checksum), "ws": WebSocket(checksum), "igtl": Igtl(), "lsl": Lsl()}
    for name, link in links.items():
        if options.transport in (None, name):
            for programme in (packets, network):
                asyncio.run(measure(name, link, programme, options.packets, options.seed))


if __name__ == "__main__":
    main()
