"""A long stream in accelerated time: memory, rotation of the journal, and whether anything is lost.

    python benchmarks/live_day.py --hours 24        # 864,000 samples, about an hour and a half

The service runs as a process of its own with a journal, checkpoints and a view, and takes samples as fast as it can.
The program watches its memory and reads the journal afterwards. It ends with exit code 1 unless every sample and every
forecast is in the journal once, files were rotated, and memory at the end is at most a tenth above memory after the
first tenth.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from quatcast.live.journal import Reading, journal_files, read_journal
from quatcast.live.session import checkpoints


def watch(process: subprocess.Popen[bytes], session: Path, samples: int) -> list[tuple[float, float]]:
    """Resident memory in MiB over the share of the samples that is done, until the process ends."""
    service, memory = psutil.Process(process.pid), []
    began = time.monotonic()
    while process.poll() is None:
        done = max((frames for frames, _ in checkpoints(session)), default=0)
        try:
            memory.append((done / samples, service.memory_info().rss / 2**20))
        except psutil.NoSuchProcess:
            break
        if len(memory) % 30 == 0:
            print(f"{done / samples:6.1%}  {memory[-1][1]:.0f} MiB  {time.monotonic() - began:.0f} s", flush=True)
        time.sleep(2.0)
    return memory


def end(process: subprocess.Popen[bytes]) -> None:
    """End the service, by force if it takes more than a minute."""
    process.terminate()
    try:
        process.wait(60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--journal-size", type=float, default=64.0, help="MiB per file of the journal")
    options = parser.parse_args(arguments)
    # The service must not outlive this program.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    samples = round(options.hours * 36_000)
    with TemporaryDirectory() as folder:
        session = Path(folder) / "session"
        source = f"simulated:?speed=0&seconds={options.hours * 3600:g}"
        words = ["live", source, "--record", str(session), "--rate", "10", "--view", "--port", "0"]
        words += ["--journal-size", str(options.journal_size)]
        began = time.monotonic()
        process = subprocess.Popen([sys.executable, "-m", "quatcast", *words])
        try:
            memory = watch(process, session, samples)
        finally:
            end(process)
        seconds = time.monotonic() - began
        return report(session, samples, seconds, memory, process.returncode)


def report(session: Path, samples: int, seconds: float, memory: list[tuple[float, float]], code: int) -> int:
    found, frames, forecasts, gaps, expected = Reading(), 0, 0, 0, 1
    for record in read_journal(session, found=found):
        if record["type"] == "sample":
            frames += 1
            gaps += record["n"] != expected
            expected = record["n"] + 1
        forecasts += record["type"] == "forecast"
    files = [path.stat().st_size / 2**20 for _, path in journal_files(session)]
    early = max((mib for share, mib in memory if share <= 0.1), default=float("nan"))
    late = max((mib for share, mib in memory if share > 0.9), default=float("nan"))
    print(f"{frames} of {samples} samples and {forecasts} forecasts in the journal, {gaps} gaps, exit code {code}")
    each, pace = seconds / samples * 1000, samples / 10 / seconds
    print(f"{seconds:.0f} s, {each:.2f} ms per sample, {pace:.0f} times real time")
    print(f"journal: {len(files)} files, {sum(files):.1f} MiB, largest {max(files):.1f} MiB")
    print(f"memory: {early:.0f} MiB in the first tenth, {late:.0f} MiB in the last, ratio {late / early:.3f}")
    good = frames == forecasts == samples and not (gaps or found.torn or found.damaged or code)
    good = good and len(files) > 1 and late <= 1.1 * early
    print("passed" if good else "FAILED")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
