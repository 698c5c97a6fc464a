"""Damaged and forged checkpoints, and savers that are killed.

Four kinds of cases, each with its promise:

- *flips*: one bit of a checkpoint is inverted; *truncations*: it is cut off. Reading it raises a ValueError that names
  the file.
- *forgeries*: the outline or the arrays are changed and the checksums are computed anew, so that the changes reach the
  decoder: other classes, types, shapes and sizes, NaN, deep nesting. Reading the file raises a ValueError that names
  it, or returns an object that makes further steps or refuses them with a ValueError. It takes little time and memory.
- *kills*: two processes save to one file and are killed. The file is always a whole checkpoint.

    python benchmarks/damage.py                # all, in some minutes
    python benchmarks/damage.py --scale 0.01   # a hundredth of the cases
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import quatcast
from quatcast import checkpoint
from quatcast.checkpoint import Checkpointable, container

FLIPS, TRUNCATIONS, FORGERIES, KILLS = 40_000, 10_000, 20_000, 60
MEMORY = 3 << 30
"""Bytes of address space that a reader may use: an allocation beyond it raises a MemoryError."""
SLOW = 5.0
"""Seconds after which reading a small file is too slow."""

VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 2, 7, 255, 2**31, 2**40, 2**63, -(2**63), 10**30, 0.0, -1.5, 1e308, float("nan"),
    float("inf"), "", "x", "cpu", "<f8", "RLS", "os", "antigravity", [], [[]], {}, [0], [1, 2, 3], {"value": 1},
    {"array": 0}, {"array": 99999}, {"list": []}, {"tuple": [{"value": 1}]}, {"dict": [["a", {"value": 1}]]},
    {"range": [0, 10**12, 1]}, {"range": [0, 3 * 10**8, 1]}, {"deque": [], "maxlen": 10**12}, {"algebra": "H"},
    {"value": float("nan")}, {"value": 10**9}, {"value": "cpu"}, {"value": 1e308}, {"value": None},
]  # fmt: skip
"""What parts of an outline are replaced by."""


def small_checkpoints(folder: Path) -> list[Path]:
    """Write checkpoints of several classes, each a few kilobytes to a few hundred."""
    rng = np.random.default_rng(0)
    learners: list[tuple[Any, int]] = [
        (quatcast.RLS(), 1),
        (quatcast.LMS(), 1),
        (quatcast.Ridge(refit=2), 1),
        (quatcast.QELM(units=3, seeds=range(2)), 4),
        (quatcast.QRNN((3, 2), loss=quatcast.MCC(sigma="adaptive"), optimizer=quatcast.Adam(), max_depth=9), 4),
        (quatcast.RNN((4,), replay=quatcast.Replay(memory=30), max_depth=9), 1),
        (quatcast.QGRU((3,), seeds=range(2), max_depth=5), 4),
    ]
    paths = []
    for learner, d in learners:
        for _ in range(25):
            u, target = rng.normal(size=(5, d)), rng.normal(size=(2, d))
            learner.update(u if d > 1 else u[:, 0], target if d > 1 else target[:, 0])
        paths.append(folder / type(learner).__name__)
        learner.save(paths[-1])
    time_ = np.arange(150)[:, None, None] / 10
    signal_ = np.sin(time_ + np.arange(6).reshape(2, 3)) + 0.01 * rng.normal(size=(150, 2, 3))
    for samples in (30, 150):
        members = [
            quatcast.Forecaster(learner, horizon=3, lags=4, train=40)
            for learner in (quatcast.RLS(), quatcast.QRNN((2,), max_depth=5), quatcast.Persistence())
        ]
        guarded = quatcast.Guarded(quatcast.Mixture(members), rate=10.0)
        for sample in signal_[:samples]:
            guarded.update(sample)
        paths.append(folder / f"Guarded{samples}")
        guarded.save(paths[-1])
    return paths


def split(content: bytes) -> tuple[Any, bytes]:
    """Return the outline and the bytes of the arrays of a checkpoint."""
    length = container._HEAD.unpack_from(content)[2]
    at = len(content) - length
    return json.loads(content[at:]), content[container._HEAD.size : at]


def join(outline: Any, body: bytes) -> bytes:
    """Return a file with right checksums."""
    text = outline if isinstance(outline, bytes) else json.dumps(outline).encode()
    head = container._HEAD.pack(container.MAGIC, container.VERSION, len(text), zlib.crc32(text), zlib.crc32(body))
    return head + body + text


def places(node: Any, above: Any = None, key: Any = None) -> Iterator[tuple[Any, Any]]:
    """Yield every place of a tree as its container and the key or index in it."""
    if above is not None:
        yield above, key
    for inner, child in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield from places(child, node, inner)


def forge(outline: Any, body: bytes, rng: random.Random) -> bytes:
    """Return a checkpoint with one to three changes and right checksums."""
    outline, arrays = copy.deepcopy(outline), bytearray(body)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        found = list(places(outline))
        above, key = rng.choice(found)
        kind = rng.randrange(10)
        if kind < 4:
            above[key] = copy.deepcopy(rng.choice(VALUES))
        elif kind == 4:
            if isinstance(above, dict):
                del above[key]
            else:
                above.pop(key)
        elif kind == 5:
            other, place = rng.choice(found)
            above[key] = copy.deepcopy(other[place])
        elif kind == 6:
            _other_class(found, rng)
        elif kind == 7:
            _other_shape(outline, rng)
        elif kind == 8 and arrays:
            at = rng.randrange(0, max(1, len(arrays) - 8))
            arrays[at : at + 8] = rng.choice([b"\xff" * 8, b"\0" * 8, b"\0\0\0\0\0\0\xf0\x7f", rng.randbytes(8)])
        elif kind == 9:
            depth = rng.choice([50, 400, 900, 3000])
            text = json.dumps(outline.get("tree"))
            nested = '{"list":[' * depth + text + "]}" * depth
            return join(
                b'{"arrays":' + json.dumps(outline.get("arrays")).encode() + b',"tree":' + nested.encode() + b"}",
                bytes(arrays),
            )
        if not isinstance(outline, dict) or not list(places(outline)):
            break
    return join(outline, bytes(arrays))


def _other_class(found: list[tuple[Any, Any]], rng: random.Random) -> None:
    """Replace the name of a class by that of another one that is known."""
    names = [above for above, key in found if key == "object" and isinstance(above, dict)]
    if names:
        name = rng.choice(sorted(Checkpointable._registry))
        rng.choice(names)["object"] = [name, rng.choice(sorted(Checkpointable._registry[name]))]


def _other_shape(outline: Any, rng: random.Random) -> None:
    """Give an array another shape of the same size, or another type of the same width."""
    entries = outline.get("arrays") if isinstance(outline, dict) else None
    if not isinstance(entries, list) or not entries or not isinstance(entry := rng.choice(entries), dict):
        return
    shape = entry.get("shape")
    if rng.random() < 0.3:
        entry["dtype"] = rng.choice(["<i8", "<u8", "<f4", "<f8", "|b1"])
    elif isinstance(shape, list) and len(shape) > 2:
        entry["shape"] = rng.choice([shape[:1] + shape[:0:-1], [shape[0], 1, *shape[1:]]])
    elif isinstance(shape, list) and len(shape) == 2:
        entry["shape"] = [shape[0], 1, shape[1]]


def read_back(path: Path) -> str:
    """Read a file and use what it holds; return what happened, "wrong" first if a promise was broken."""
    began = time.perf_counter()
    try:
        found = checkpoint.read(path)
    except ValueError as error:
        outcome = "refused" if str(error).startswith(f"{path}: ") else f"wrong: ValueError {error}"
    except BaseException as error:
        outcome = f"wrong: {type(error).__name__} {error}"[:150]
    else:
        outcome = _use(found)
    taken = time.perf_counter() - began
    return f"wrong: {taken:.0f} s" if taken > SLOW else outcome


def _use(found: Any) -> str:
    """Make three more steps with an object that was read."""
    if not isinstance(found, Checkpointable) or not found.begun:
        return "read, not begun"
    try:
        with np.errstate(all="ignore"):
            for _ in range(3):
                found.rehearse()
    except ValueError:
        return "read, next step refused"
    except Exception as error:
        return f"later: {type(error).__name__} {error}"[:150]
    return "read, and continues"


def damage(paths: list[Path], scratch: Path, count: int, change: Callable[[bytes, int], bytes]) -> Counter[str]:
    """Damage files `count` times in turn and read them; a damaged file must be refused."""
    outcomes: Counter[str] = Counter()
    contents = [path.read_bytes() for path in paths]
    for case in range(count):
        content = contents[case % len(contents)]
        changed = change(content, case)
        scratch.write_bytes(changed)
        outcome = read_back(scratch)
        outcomes[outcome if outcome == "refused" or changed == content else f"wrong: {outcome}"] += 1
    return outcomes


def flips(paths: list[Path], scratch: Path, count: int, rng: random.Random) -> Counter[str]:
    """Invert single bits."""

    def flip(content: bytes, case: int) -> bytes:
        changed = bytearray(content)
        changed[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        return bytes(changed)

    return damage(paths, scratch, count, flip)


def truncations(paths: list[Path], scratch: Path, count: int, rng: random.Random) -> Counter[str]:
    """Cut files off."""
    return damage(paths, scratch, count, lambda content, case: content[: rng.randrange(len(content))])


def forgeries(paths: list[Path], scratch: Path, count: int, rng: random.Random) -> Counter[str]:
    """Change files and compute their checksums anew."""
    outcomes: Counter[str] = Counter()
    originals = [split(path.read_bytes()) for path in paths]
    for case in range(count):
        scratch.write_bytes(forge(*originals[case % len(originals)], rng))
        outcomes[read_back(scratch)] += 1
    return outcomes


SAVER = """
import sys
import numpy as np
from quatcast import checkpoint
number = int(sys.argv[2])
print("ready", flush=True)
while True:
    checkpoint.write(sys.argv[1], [number, np.full(200_000, float(number)) + np.arange(200_000) % 7])
"""


def kills(folder: Path, count: int, rng: random.Random) -> Counter[str]:
    """Let two processes save to one file, kill both, and read it."""
    path, outcomes = folder / "shared", Counter[str]()
    checkpoint.write(path, [0, np.arange(200_000) % 7 + 0.0])
    for case in range(count):
        savers = [
            subprocess.Popen([sys.executable, "-c", SAVER, str(path), str(2 * case + i)], stdout=subprocess.PIPE)
            for i in range(2)
        ]
        for saver in savers:
            assert saver.stdout is not None
            saver.stdout.readline()
        for saver in savers:
            time.sleep(rng.uniform(0.0, 0.08))
            os.kill(saver.pid, signal.SIGKILL)
        for saver in savers:
            saver.communicate()
        number, array = checkpoint.read(path)
        whole = np.array_equal(array, float(number) + np.arange(200_000) % 7)
        outcomes["whole" if whole else "wrong: mixed"] += 1
    left = list(folder.glob(".shared.*.part"))
    for one in left:
        os.utime(one, (0, 0))
    checkpoint.write(path, 1)
    outcomes["temporary files left behind"] += len(left)
    outcomes["of these not removed by a later save"] += len(list(folder.glob(".shared.*.part")))
    return outcomes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the cases")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rng = random.Random(given.seed)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.RLIM_INFINITY))
    wrong = 0
    with TemporaryDirectory() as name:
        folder = Path(name)
        paths = small_checkpoints(folder)
        print(f"{len(paths)} checkpoints of {min(p.stat().st_size for p in paths):,} to "
              f"{max(p.stat().st_size for p in paths):,} bytes")  # fmt: skip
        for title, count, run in (
            ("flips", FLIPS, flips),
            ("truncations", TRUNCATIONS, truncations),
            ("forgeries", FORGERIES, forgeries),
        ):
            began = time.perf_counter()
            outcomes = run(paths, folder / "scratch", round(count * given.scale), rng)
            wrong += report(title, outcomes, time.perf_counter() - began)
        began = time.perf_counter()
        wrong += report("kills", kills(folder, max(1, round(KILLS * given.scale)), rng), time.perf_counter() - began)
    print(f"largest memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
    print("every promise was kept" if not wrong else f"{wrong} PROMISES WERE BROKEN")
    return min(wrong, 1)


def report(title: str, outcomes: Counter[str], seconds: float) -> int:
    """Print the outcomes of a kind of case and return how many are wrong."""
    print(f"{title}: {sum(outcomes.values()):,} in {seconds:.0f} s")
    for outcome, count in outcomes.most_common():
        print(f"  {count:>7,}  {outcome}")
    return sum(count for outcome, count in outcomes.items() if outcome.startswith(("wrong", "later")))


if __name__ == "__main__":
    raise SystemExit(main())
