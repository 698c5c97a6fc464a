"""A simulated tracker: the chest of a breathing person, without end and without hardware.

``simulated:`` plays one of the nine simulated persons in real time at 10 Hz. Options: ``person`` (1 to 9), ``seed``,
``rate`` in Hz, ``speed`` (0 for as fast as samples are taken), ``seconds`` (0 for no end) and ``loss`` (the probability
that a sample is lost).
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import SplitResult

import numpy as np

from quatcast.basics.typing import Floats
from quatcast.data.simulation import CHANNELS, RATE, SUBJECTS, subject_positions
from quatcast.live.frames import Frame
from quatcast.live.transports.base import register_transport
from quatcast.live.transports.files import PlayedSource
from quatcast.live.transports.options import parse_options

BLOCK = 600.0
"""Seconds of motion that are simulated at a time."""
JOINT = 5.0
"""Seconds over which one block is blended into the next."""


class SimulatedSource(PlayedSource):
    """Samples of a simulated person.

    Parameters
    ----------
    stream
        Name of the stream.
    speed
        1 for real time; 0 to yield frames as fast as they are taken.
    person, seed
        Which of the nine persons, and which variation of them.
    rate
        Sampling rate in Hz.
    seconds
        Length; 0 for no end.
    loss
        Probability that a sample is lost.

    Examples
    --------
    >>> source = SimulatedSource("chest", speed=0, seconds=3)
    >>> frames = list(source.recorded())
    >>> len(frames), frames[0].names
    (30, ('lower abdomen', 'upper abdomen', 'chest'))
    """

    ordered = True

    def __init__(
        self,
        stream: str,
        speed: float = 1.0,
        person: float = 2,
        seed: float = 0,
        rate: float = RATE,
        seconds: float = 0.0,
        loss: float = 0.0,
    ) -> None:
        super().__init__(speed)
        if not 1 <= person <= len(SUBJECTS):
            raise ValueError(f"simulated, person: expected 1 to {len(SUBJECTS)}, got {person:g}")
        if not 0.5 <= rate <= 1000:
            raise ValueError(f"simulated, rate: expected 0.5 to 1000 Hz, got {rate:g}")
        if not 0 <= loss < 1:
            raise ValueError(f"simulated, loss: expected a probability below 1, got {loss:g}")
        self.stream, self.person, self.seed = stream, int(person), int(seed)
        self.rate, self.seconds, self.loss = rate, seconds, loss

    def recorded(self) -> Iterator[Frame]:
        """Yield the samples; the device counts seconds from its start."""
        lost = np.random.default_rng([self.seed, self.person, 1])
        last = round(self.seconds * self.rate) if self.seconds else None
        number = 0
        for block in self._blocks():
            for values in block:
                if number == last:
                    return
                at = number / self.rate
                if not (self.loss and lost.random() < self.loss):
                    yield Frame(self.stream, number, at, at, values, CHANNELS, "mm")
                number += 1

    def _blocks(self) -> Iterator[Floats]:
        """Yield blocks of positions, each of which begins where the last one ended."""
        subject = SUBJECTS[self.person - 1]
        points, joint = round(BLOCK * self.rate), round(JOINT * self.rate)
        fade = np.linspace(0.0, 1.0, joint)[:, None, None]
        tail: Floats | None = None
        block = 0
        while True:
            times = np.arange(round((BLOCK + JOINT) * RATE) + 1) / RATE
            coarse = subject_positions(np.random.default_rng([self.seed, self.person, 0, block]), subject, times)
            wanted = np.arange(points + joint) / self.rate
            fine = coarse[: len(wanted)] if self.rate == RATE else _resampled(times, coarse, wanted)
            if tail is not None:
                fine = fine.copy()
                fine[:joint] = np.round((1 - fade) * tail + fade * fine[:joint], 1)
            tail = fine[points:]
            yield fine[:points]
            block += 1


def _resampled(times: Floats, positions: Floats, wanted: Floats) -> Floats:
    """Return positions at other times by linear interpolation, (times, channels, 3)."""
    flat = positions.reshape(len(times), -1)
    columns = [np.interp(wanted, times, flat[:, i]) for i in range(flat.shape[1])]
    return np.stack(columns, axis=-1).reshape(len(wanted), *positions.shape[1:])


def _source(parts: SplitResult, stream: str) -> SimulatedSource:
    if parts.netloc or parts.path:
        raise ValueError(
            f"simulated: expected no address, as in simulated:?person=2, got {parts.netloc + parts.path!r}"
        )
    options = parse_options(parts, speed=1.0, person=2, seed=0, rate=RATE, seconds=0.0, loss=0.0)
    return SimulatedSource(stream, **options)


register_transport("simulated", _source)
