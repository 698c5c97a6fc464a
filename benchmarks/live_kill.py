"""Kill the live service at random moments, and compare its forecasts with those of an undisturbed run, bit for bit.

    python benchmarks/live_kill.py --kills 100

A session of 12,000 samples is replayed as fast as possible, once without interruption and once with `kill -9` at random
moments, during start, recovery and checkpoints too, each followed by the same command again. The program prints what it
found and ends with exit code 1 unless

- every forecast that was sent, and every forecast in the journal, equals that of the undisturbed run in all bits,
- every sample that was acknowledged by a forecast is in the journal, and no sample of the source is missing.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from quatcast.live.journal import Reading, read_journal

SHARE = 4.5
"""Longest time from a start to a kill, in multiples of the time that a session without kills takes per kill."""
COMPARED = ("p", "radius", "status", "reason", "filled", "sample")
"""Fields of a forecast that do not depend on when it was made."""


def command(source: str, session: Path, checkpoint: float) -> list[str]:
    words = ["live", source, "--to", "stdout:", "--record", str(session), "--rate", "10"]
    return [sys.executable, "-m", "quatcast", *words, "--checkpoint", str(checkpoint)]


def content(record: dict[str, Any]) -> str:
    """The compared part of a forecast as text; numbers are written with all their bits."""
    return json.dumps([record[name] for name in COMPARED])


@dataclass
class Run:
    """One run of the service: the forecasts that it has sent, by number."""

    sent: dict[int, str] = field(default_factory=dict)
    ended: bool = False
    errors: list[str] = field(default_factory=list)

    def start(self, words: Sequence[str]) -> None:
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self._readers = [
            threading.Thread(target=self._read, args=(self.process.stdout,)),
            threading.Thread(target=lambda: self.errors.append(self.process.stderr.read().decode())),  # type: ignore[union-attr]
        ]
        for reader in self._readers:
            reader.start()

    def _read(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            if line.endswith(b"}\n"):
                record = json.loads(line)
                self.sent[record["seq"]] = content(record)

    def wait(self, seconds: float | None) -> bool:
        """Wait for the end, at most for some time, and return whether it came."""
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        self.join()
        if code != 0:
            raise SystemExit(f"the service ended with code {code}: {self.errors}")
        return True

    def wait_at_random(self, rng: random.Random, longest: float) -> bool:
        """Wait for a random time: a third of them from the start, the others from the first forecast on."""
        if rng.random() > 1 / 3:
            while not self.sent and self.process.poll() is None:
                time.sleep(0.01)
            return self.wait(rng.uniform(0.0, longest / 2))
        return self.wait(rng.uniform(0.0, longest))

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.join()

    def join(self) -> None:
        for reader in self._readers:
            reader.join()
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()


def journalled(session: Path) -> tuple[dict[int, str], set[int], Reading, int]:
    """Forecasts by number, numbers of the samples of the source, what was damaged, and forecasts that were repeated."""
    found, forecasts, sources, repeated = Reading(), {}, set(), 0
    for record in read_journal(session, found=found):
        if record["type"] == "forecast":
            repeated += record["seq"] in forecasts
            forecasts[record["seq"]] = content(record)
        elif record["type"] == "sample":
            sources.add(record["seq"])
    return forecasts, sources, found, repeated


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--samples", type=int, default=12_000)
    parser.add_argument(
        "--longest",
        type=float,
        help="longest time from a start to the kill, in seconds; by default so that the session lasts for all kills",
    )
    parser.add_argument("--checkpoint", type=float, default=0.5, help="seconds between checkpoints")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    rng = random.Random(options.seed)
    with TemporaryDirectory() as folder:
        first, second = Path(folder) / "undisturbed", Path(folder) / "killed"
        began = time.monotonic()
        undisturbed = Run()
        undisturbed.start(command(f"simulated:?speed=0&seconds={options.samples / 10:g}", first, options.checkpoint))
        undisturbed.wait(None)
        seconds = time.monotonic() - began
        options.longest = options.longest or SHARE * seconds / options.kills
        print(f"undisturbed: {len(undisturbed.sent)} forecasts in {seconds:.0f} s", flush=True)
        return kill_and_compare(options, rng, undisturbed, first, second)


def kill_and_compare(options: argparse.Namespace, rng: random.Random, calm: Run, first: Path, second: Path) -> int:
    # A journal is a source as well: the same frames, with the same times of arrival.
    words = command(f"file:{first}?speed=0", second, options.checkpoint)
    sent: dict[int, str] = {}
    different = kills = silent = 0
    began = time.monotonic()
    while True:
        run = Run()
        run.start(words)
        finished = run.wait(None) if kills == options.kills else run.wait_at_random(rng, options.longest)
        if not finished:
            run.kill()
            kills += 1
        silent += not run.sent
        for number, text in run.sent.items():
            different += sent.setdefault(number, text) != text
        if finished:
            break
    expected, sources, _, _ = journalled(first)
    forecasts, killed_sources, found, repeated = journalled(second)
    result = {
        "kills": kills,
        "of them before any forecast": silent,
        "seconds": round(time.monotonic() - began),
        "samples of the source": len(sources),
        "samples in the journal": len(killed_sources),
        "samples missing": len(sources - killed_sources),
        "forecasts acknowledged": len(sent),
        "acknowledged but not in the journal": len(set(sent) - set(forecasts)),
        "sent forecasts that differ": different + sum(expected.get(number) != text for number, text in sent.items()),
        "journalled forecasts that differ": sum(expected.get(number) != text for number, text in forecasts.items()),
        "forecasts missing in the journal": len(set(expected) - set(forecasts)),
        "forecasts journalled twice": repeated,
        "undisturbed forecasts sent that differ from its journal": sum(
            expected.get(number) != text for number, text in calm.sent.items()
        ),
        "lines cut off": found.torn,
        "lines damaged": len(found.damaged),
    }
    for name, value in result.items():
        print(f"{name:>60}: {value}")
    wrong = ("missing", "not in", "differ", "twice", "damaged")
    bad = [name for name, value in result.items() if value and any(word in name for word in wrong)]
    print("FAILED: " + ", ".join(bad) if bad else "passed: no sample lost, all forecasts equal bit for bit")
    return 1 if bad or kills < options.kills else 0


if __name__ == "__main__":
    sys.exit(main())
