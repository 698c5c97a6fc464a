"""Milliseconds per step of the learners at the sizes of the paper, of classical RTRL, and of bare matrix products.

Run by `make bench`, on one thread, in half a minute. Learner, floor and classical RTRL take turns within one
run, and the walks of the floor are as deep as those of the learner just before. Times are processor times of the
thread: on a busy machine wall-clock time would include the pauses that fall into the long steps of classical RTRL, but
hardly any that fall between the short steps of a learner, and so favour the learner. Steps are timed in blocks, because
some cost more than others: rows are added to the input weights every 24 steps. Everything is timed in its steady state:
the first `max_depth` steps of a learner fill its history, and the first steps after one of classical RTRL, which
streams 160 MB through the cache, read everything from memory.
"""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ[variable] = "1"

import platform
from collections.abc import Callable, Iterator
from functools import partial
from time import thread_time
from typing import Any, NamedTuple

import numpy as np
from classical import ClassicalRTRL, Floats

from quatcast import LMS, MCC, MSE, QLMS, QRNN, RLS, RNN, SGD, Adam, Algebra, H, Learner, Persistence, R, Replay

MARKERS, HORIZON, LAGS = 3, 20, 90
WARM_UP, BLOCKS, BLOCK, REPEATS = 300, 17, 24, 3
RATE, CLIP = 0.05, 2.0


def breathing(n: int) -> Floats:
    """Return positions (n, markers, 3) like those of chest markers at 10 Hz, scaled to unit variance."""
    rng = np.random.default_rng(1)
    phase = np.cumsum(2 * np.pi * 0.025 * (1.0 + 0.15 * np.convolve(rng.normal(size=n), np.ones(30) / 30, "same")))
    drift = np.cumsum(0.01 * rng.normal(size=n))
    direction = rng.normal(size=(MARKERS, 3))
    breath = np.stack([np.cos(phase / 2 - 0.1 * k) ** 4 for k in range(MARKERS)], axis=1)
    position = breath[:, :, None] * direction + 0.3 * drift[:, None, None] + 0.02 * rng.normal(size=(n, MARKERS, 3))
    return np.asarray((position - position.mean(axis=0)) / position.std(axis=0))


class Samples(NamedTuple):
    """Inputs and targets as a learner takes them."""

    inputs: list[Floats]
    targets: list[Floats]


def samples(algebra: Algebra, lags: int) -> Samples:
    """Return windows of the breathing signal, as pure quaternions or as plain coordinates."""
    n = WARM_UP + 2 * BLOCKS * BLOCK
    x = breathing(n + lags + HORIZON)
    if algebra is H:
        x = np.concatenate([np.zeros((*x.shape[:2], 1)), x], axis=2)
    windows = [x[t : t + lags] for t in range(n)]
    targets = [x[t + lags + HORIZON - 1] for t in range(n)]
    shape = (-1, 4) if algebra is H else (-1,)
    return Samples([w.reshape(shape) for w in windows], [y.reshape(shape) for y in targets])


class Floor:
    """The matrix products of one step of a recurrent learner and nothing else.

    These are the forward products with U, W and V, a product with one of `depth` different matrices U for each step of
    the walk, and the products that give the gradients. With several runs each is one stacked product.
    """

    def __init__(self, algebra: Algebra, hidden: int, n_inputs: int, n_outputs: int, runs: int | None = None) -> None:
        rng = np.random.default_rng(2)
        d, lead = algebra.dimension, () if runs is None else (runs,)
        most = 64

        def draw(*shape: int) -> Floats:
            return rng.normal(size=shape)

        self.d = d
        self.recurrent = [draw(*lead, d * hidden, hidden) for _ in range(most)]
        self.input, self.readout = draw(*lead, d * hidden, n_inputs), draw(*lead, d * n_outputs, hidden)
        self.h, self.u = draw(*lead, d, hidden), draw(d, n_inputs)
        self.slope = draw(*lead, d, d * n_outputs)
        self.spread = [draw(*lead, d, d * hidden) for _ in range(most)]
        self.spreads = [draw(*lead, d * k, d * hidden) for k in range(most + 1)]
        self.befores = [draw(*lead, d * k, hidden) for k in range(most + 1)]
        self.inputs = [draw(d * k, n_inputs) for k in range(most + 1)]

    def step(self, depth: int) -> None:
        """Compute the products of one step, and discard the results."""
        self.h @ self.recurrent[0].mT
        self.u @ self.input.mT
        self.h @ self.readout.mT
        self.slope @ self.readout
        self.slope.mT @ self.h
        for k in range(depth):
            self.spread[k] @ self.recurrent[k]
        across = self.spreads[depth].mT
        across @ self.befores[depth]
        across @ self.inputs[depth]

    def steps(self, depths: list[int]) -> None:
        """Make steps of the given depths."""
        for depth in depths:
            self.step(depth)


class Timing(NamedTuple):
    """Milliseconds per step of a learner, of its floor and of classical RTRL, their ratios, and the depth of the walks.

    All are medians over the turns, the ratios too: a machine that is slow for a while is slow for all three.
    """

    step: float
    floor: float
    classical: float
    over_floor: float
    faster: float
    depth: float


def timed(action: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    """Return the milliseconds of processor time that a call takes, and its result."""
    began = thread_time()
    result = action(*arguments)
    return 1e3 * (thread_time() - began), result


def learn(learner: Learner, block: list[tuple[Floats, Floats]]) -> list[int]:
    """Learn from samples, and return the depths of the walks."""
    return [learner.update(u, y).depth for u, y in block]


class Turn(NamedTuple):
    """Milliseconds per step in one turn, and depth of the walks."""

    step: float
    floor: float
    classical: float
    depth: float


def measure(
    make: Callable[[], Learner], data: Samples, floor: Floor | None = None, classical: ClassicalRTRL | None = None
) -> Timing:
    """Time several new learners and, in turns with them, their floor and classical RTRL."""
    turns = [turn for _ in range(REPEATS) for turn in take_turns(make(), data, floor, classical)]
    step, bare, old, depth = np.array(turns).T
    columns = step, bare, old, step / bare, old / step, depth
    return Timing._make(float(np.median(column)) for column in columns)


def take_turns(learner: Learner, data: Samples, floor: Floor | None, classical: ClassicalRTRL | None) -> Iterator[Turn]:
    """Yield the times of a new learner; the first two turns are left out.

    The first two steps of classical RTRL touch their memory for the first time.
    """
    pairs = iter(zip(*data, strict=True))
    for _ in range(WARM_UP):
        learner.update(*next(pairs))
    for turn in range(BLOCKS):
        # A block that is not timed brings back what the others have pushed out of the cache.
        learn(learner, [next(pairs) for _ in range(BLOCK)])
        block = [next(pairs) for _ in range(BLOCK)]
        time, walked = timed(learn, learner, block)
        bare = old = np.nan
        if floor is not None:
            floor.steps(walked)
            bare, _ = timed(floor.steps, walked)
        if classical is not None:
            d = len(classical.h)
            u, y = block[-1]
            old, _ = timed(classical.update, u.reshape(-1, d).T, y.reshape(-1, d).T)
        if turn >= 2:
            yield Turn(time / BLOCK, bare / BLOCK, old, float(np.median(walked)))


def network(kind: type[RNN], hidden: int, loss: Any = None, seeds: Any = 0) -> RNN:
    """Return a network with the settings of the paper."""
    return kind(hidden=(hidden,), loss=loss or MSE(), optimizer=SGD(learning_rate=RATE, clip=CLIP), seeds=seeds)


def recommended_network() -> RNN:
    """Return a network like that of the recommended forecaster, with replay."""
    replay = Replay(updates=2, batch=24, window=6)
    optimizer = Adam(learning_rate=0.002, beta2=0.99)
    return QRNN((10,), loss=MCC(sigma=2.0), optimizer=optimizer, seeds=range(4), max_depth=64, replay=replay)


def exponent(hidden: list[int], data: Samples) -> float:
    """Return the slope of log(time) against log(hidden units)."""
    times = [measure(partial(network, QRNN, q), data).step for q in hidden]
    print("  ".join(f"{q} units {t:.3f} ms" for q, t in zip(hidden, times, strict=True)))
    return float(np.polyfit(np.log(hidden), np.log(times), 1)[0])


def verdict(name: str, value: float, limit: float, at_least: bool = False) -> None:
    """Print a target and whether it was reached."""
    reached = value >= limit if at_least else value <= limit
    sign = ">=" if at_least else "<="
    print(f"{name:<58}{value:>9.2f}   {sign} {limit:<6g}{'reached' if reached else 'MISSED'}")


def main() -> None:
    """Print the tables and the targets."""
    print(f"NumPy {np.__version__}, Python {platform.python_version()}, one thread, processor time, double precision\n")
    quaternion, real = samples(H, LAGS), samples(R, LAGS)
    turns = REPEATS * (BLOCKS - 2)
    print(f"{LAGS} lags of {MARKERS} markers; medians of {turns} turns, {BLOCK} steps each, of classical RTRL one\n")
    print(f"{'learner':<22}{'ms/step':>9}{'depth':>7}{'floor ms':>10}{'/ floor':>9}{'classical ms':>14}{'faster':>9}")
    paper: dict[str, Timing] = {}
    for algebra, kind, hidden, data in ((H, QRNN, 45, quaternion), (R, RNN, 90, real)):
        sizes = data.inputs[0].shape[0], data.targets[0].shape[0]
        floor = Floor(algebra, hidden, *sizes)
        for loss in (MSE(), MCC(sigma=2.0)):
            old = ClassicalRTRL(algebra, hidden, *sizes, RATE, CLIP)
            time = measure(partial(network, kind, hidden, loss), data, floor, old)
            short_name = f"{kind.__name__}-{type(loss).__name__}"
            paper[short_name] = time
            print(
                f"{short_name + f' {hidden} hidden':<22}{time.step:>9.3f}{time.depth:>7.0f}{time.floor:>10.3f}"
                f"{time.over_floor:>9.2f}{time.classical:>14.1f}{time.faster:>8.0f}x"
            )
    others: list[tuple[str, Callable[[], Learner], Samples]] = [
        ("QLMS", QLMS, quaternion),
        ("LMS", LMS, real),
        ("RLS", RLS, real),
        ("Persistence", Persistence, real),
    ]
    for name, make, data in others:
        print(f"{name:<22}{measure(make, data).step:>9.3f}")
    print(f"{'recommended network':<22}{measure(recommended_network, samples(H, 12)).step:>9.3f}")

    print(f"\nGrowth of the QRNN-MSE step with the hidden units, {LAGS} lags:")
    growth = exponent([20, 28, 40, 57, 80], quaternion)

    runs, short = 16, samples(H, 30)
    floor = Floor(H, 10, short.inputs[0].shape[0], MARKERS, runs)
    batch = measure(partial(network, QRNN, 10, seeds=range(runs)), short, floor)
    alone = measure(partial(network, QRNN, 10), short, Floor(H, 10, short.inputs[0].shape[0], MARKERS))
    print(f"\nQRNN-MSE, 10 hidden, 30 lags: {alone.step:.3f} ms alone (floor {alone.floor:.3f}); {runs} runs at once")
    print(f"{batch.step / runs:.4f} ms per run (floor {batch.floor / runs:.4f}, depth {batch.depth:.0f})\n")

    verdict("QRNN-MSE 45 hidden: times faster than classical RTRL", paper["QRNN-MSE"].faster, 250, at_least=True)
    verdict("QRNN-MCC 45 hidden: times faster than classical RTRL", paper["QRNN-MCC"].faster, 250, at_least=True)
    verdict("QRNN-MSE 45 hidden: times the floor", paper["QRNN-MSE"].over_floor, 2.5)
    verdict("QRNN-MCC 45 hidden: times the floor", paper["QRNN-MCC"].over_floor, 2.5)
    verdict("growth exponent in hidden units, 20 to 80", growth, 2.3)
    verdict(f"QRNN 10 hidden, {runs} runs: times the floor, per run", batch.over_floor, 3.0)


if __name__ == "__main__":
    main()
