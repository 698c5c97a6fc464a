"""Latency of the live service over UDP on this machine, from the arrival of a sample to the sending of its forecast.

    python benchmarks/live.py                       # one stream at 10, 50 and 100 Hz, ten minutes each, half an hour
    python benchmarks/live.py --streams 16 --rates 10
    python benchmarks/live.py --seconds 60 --quiet  # nobody watches, and nothing is recorded

Each stream is a process of its own, `quatcast live udp://… --to udp://… --record … --view`, and receives three markers.
Several streams are started from one file by `quatcast live --config`. Their samples come at the same rate with random
phases, as those of independent trackers do; `--together` lets all of them send at the same moments. Unless `--quiet` is
given, a client watches the view of every stream, and checkpoints are written every ten seconds. Two times are measured:
"inside" the service, from reading the sample from the socket to handing the forecast to the socket, and "round trip",
from before this program sends the sample to after it has received the forecast. The latter contains what a sample waits
while the service learns, and the scheduling of both processes by the operating system.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from quatcast.basics.typing import Floats
from quatcast.live.frames import Frame
from quatcast.live.messages import sample_message
from quatcast.live.summary import summarise
from quatcast.live.supervisor import parse_config
from quatcast.live.transports.simulated import SimulatedSource

TARGETS = {"median": 2.0, "99 %": 5.0, "99.9 %": 20.0}
"""Milliseconds that the latency inside the service should not exceed."""
LEVELS = (0.5, 0.99, 0.999)
START = 60.0
"""Seconds within which a service has to start."""


def free_port(kind: socket.SocketKind) -> int:
    with socket.socket(socket.AF_INET, kind) as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@dataclass
class Client(asyncio.DatagramProtocol):
    """Sends the samples of one stream and receives its forecasts."""

    rate: float
    seed: int
    session: Path
    watched: bool
    source_port: int = field(default_factory=lambda: free_port(socket.SOCK_DGRAM))
    view_port: int = field(default_factory=lambda: free_port(socket.SOCK_STREAM))
    sent: dict[int, float] = field(default_factory=dict)
    trips: list[float] = field(default_factory=list)
    answers: int = 0
    messages: int = 0

    def datagram_received(self, data: bytes, address: object) -> None:
        arrived = time.perf_counter()
        forecast = json.loads(data)
        self.answers += 1
        began = self.sent.pop(forecast["seq"], None)
        if began is not None:
            self.trips.append(arrived - began)

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        self.transport, _ = await loop.create_datagram_endpoint(lambda: self, local_addr=("127.0.0.1", 0))
        self.sink_port = self.transport.get_extra_info("sockname")[1]

    def table(self) -> str:
        """Return the stream as a table of a file for `quatcast live --config`."""
        lines = [
            f"[streams.{self.session.name}]",
            f'source = "udp://127.0.0.1:{self.source_port}?check=required"',
            f'to = ["udp://127.0.0.1:{self.sink_port}"]',
            f"rate = {self.rate:g}",
        ]
        if self.watched:
            lines += [f'record = "{self.session}"', "view = true", f"port = {self.view_port}"]
        return "\n".join([*lines, ""])

    async def ready(self, process: subprocess.Popen[bytes]) -> None:
        """Send the first sample until it is answered."""
        deadline = time.monotonic() + START
        while not self.answers:
            if time.monotonic() > deadline or process.poll() is not None:
                raise SystemExit("the service did not start")
            self.send(0, np.zeros((3, 3)))
            await asyncio.sleep(0.1)
        await asyncio.sleep(0.5)
        self.trips.clear()
        self.sent.clear()

    def send(self, number: int, values: Floats) -> None:
        message = sample_message(Frame("bench", number, number / self.rate, 0.0, values))
        self.sent[number] = time.perf_counter()
        self.transport.sendto(message, ("127.0.0.1", self.source_port))

    async def play(self, seconds: float, phase: float) -> int:
        """Send samples on time, the first one after a share of a period, and return their number."""
        await asyncio.sleep(phase / self.rate)
        frames = SimulatedSource("bench", 0, seed=self.seed, rate=self.rate, seconds=seconds).recorded()
        next(frames)
        began, number = time.perf_counter(), 0
        for frame in frames:
            number = frame.sequence or 0
            await asyncio.sleep(max(0.0, began + number / self.rate - time.perf_counter()))
            self.send(number, frame.values)
        await asyncio.sleep(1.0)
        return number

    async def watch(self) -> None:
        """Receive what a browser would."""
        from websockets.asyncio.client import connect

        with contextlib.suppress(OSError, EOFError):
            async with connect(f"ws://127.0.0.1:{self.view_port}/ws", max_size=None) as view:
                async for _ in view:
                    self.messages += 1


def in_words(values: Floats) -> str:
    quantiles = np.quantile(values, LEVELS) * 1000 if len(values) else [float("nan")] * 3
    return " / ".join(f"{value:.2f}" for value in quantiles)


def start(clients: Sequence[Client], folder: Path) -> subprocess.Popen[bytes]:
    """Start a single stream, or the supervisor of several."""
    if len(clients) == 1:
        words = [words for worker in parse_config(tomllib.loads(clients[0].table()), "") for words in worker.words]
    else:
        (folder / "live.toml").write_text("\n".join(client.table() for client in clients))
        words = ["--config", str(folder / "live.toml")]
    return subprocess.Popen([sys.executable, "-m", "quatcast", "live", *words], stderr=(folder / "log").open("wb"))


async def measure(rate: float, seconds: float, streams: int, watched: bool, together: bool) -> bool:
    """Run streams at one rate, print a row, and return whether the targets were met."""
    with TemporaryDirectory() as folder:
        clients = [Client(rate, seed, Path(folder) / f"session-{seed}", watched) for seed in range(streams)]
        watchers: list[asyncio.Task[None]] = []
        phases = np.random.default_rng(0).random(streams) * (not together)
        for client in clients:
            await client.open()
        process = start(clients, Path(folder))
        try:
            for client in clients:
                await client.ready(process)
            watchers = [asyncio.create_task(client.watch()) for client in clients if watched]
            playing = (client.play(seconds, float(phase)) for client, phase in zip(clients, phases, strict=True))
            sent = sum(await asyncio.gather(*playing))
        finally:
            for watcher in watchers:
                watcher.cancel()
            process.terminate()
            process.wait(30)
        return report(rate, clients, sent, watched)


def report(rate: float, clients: Sequence[Client], sent: int, watched: bool) -> bool:
    trips = np.array([trip for client in clients for trip in client.trips])
    inside, met, checkpoints = "–", True, 0
    if watched:
        latencies = np.concatenate([summarise(client.session).latencies for client in clients])
        inside = in_words(latencies)
        reached = np.quantile(latencies, LEVELS) * 1000
        met = all(value <= target for value, target in zip(reached, TARGETS.values(), strict=True))
        checkpoints = sum(1 for client in clients for _ in client.session.glob("checkpoint-*"))
    lost = sent - len(trips)
    views = sum(client.messages for client in clients)
    print(
        f"{rate:>6g} {len(clients):>8} {sent:>8} {lost:>5}   {inside:>22}   {in_words(trips):>22}   {views:>8} "
        f"{checkpoints:>4}   {'yes' if met and not lost else 'NO'}",
        flush=True,
    )
    return met and not lost


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rates", default="10,50,100", help="Hz, separated by commas")
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--streams", type=int, default=1)
    parser.add_argument("--together", action="store_true", help="all streams send at the same moments")
    parser.add_argument("--quiet", action="store_true", help="no view, no recording")
    options = parser.parse_args(arguments)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; targets in ms: {TARGETS}")
    print(f"{'Hz':>6} {'streams':>8} {'samples':>8} {'lost':>5}   {'inside, ms':>22}   {'round trip, ms':>22}   "
          f"{'view msg':>8} {'ckpt':>4}   met")  # fmt: skip
    met = [
        asyncio.run(measure(float(rate), options.seconds, options.streams, not options.quiet, options.together))
        for rate in options.rates.split(",")
    ]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
