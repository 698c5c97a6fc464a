"""Shifts of a channel to a new place: which are accepted, and the offset that absorbs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from quatcast.basics.typing import Bools, Counts, Floats
from quatcast.checkpoint import State
from quatcast.safety.channels import norm, some

AWAY = 6.0
"""Distance from the mean, in root-mean-square distances, beyond which a jump leads to a new place."""
FAULT = 3000.0
"""Distance from the mean, in root-mean-square distances, beyond which a jump is a fault, unless it lasts."""
CLOSE = 0.25
"""Distance between samples that agree, as a share of the distance that they have jumped."""
TOGETHER, WIDER, WIDEST = 2.0, 2.0, 2.5
"""How fast the bound of a channel widens with the distance of another one from its forecast, up to which factor, and up
to how many root-mean-square distances r."""
LASTING = 15.0
"""Seconds for which samples must agree to be accepted however far away they are."""
CHANGES = 3
"""Number of different values after which a channel that has never moved before moves."""
RANGE = 3.0
"""Distance from the mean, in root-mean-square distances, up to which a channel is where it was before a shift."""
RETURNING = 0.25
"""How much a sample within the usual range counts against one far outside it, and one that does not agree with the last
implausible one against one that does."""


class Place(NamedTuple):
    """Where the channels are expected. Arrays have one entry per channel.

    Attributes
    ----------
    expected
        One-step forecast, without the offset.
    bound
        Largest distance from it that is plausible.
    center, spread
        Mean position without the offset, and root-mean-square distance r from it.
    early
        Whether too little is known about the channel to tell a shift from a fault at the start.
    repeats
        Number of samples in a row before the next one that repeated one value exactly.
    """

    expected: Floats
    bound: Floats
    center: Floats
    spread: Floats
    early: Bools
    repeats: Counts

    def widened(self, innovation: Floats, plausible: Bools) -> Floats:
        """Return the bound (channels,), wider if a plausible channel is far from its one-step forecast too.

        A sudden motion of the body, such as a cough, moves all markers at once, and a fault mostly one. It hardly leads
        outside the usual range, however: the bound is widened up to 2.5 root-mean-square distances only.

        Parameters
        ----------
        innovation
            (channels,), distances from the one-step forecasts.
        plausible
            (channels,), which of them are within the bound.

        Examples
        --------
        >>> zero = np.zeros((3, 3))
        >>> place = Place(zero, np.full(3, 2.0), zero, np.full(3, 4.0), np.array([False] * 3), np.zeros(3, dtype=int))
        >>> place.widened(np.array([0.5, 3.0, 0.1]), plausible=np.array([True, False, True]))
        array([3., 3., 3.])
        """
        known = plausible & (self.bound > 0)
        ratio = np.where(known, innovation / np.where(known, self.bound, 1.0), 0.0)
        wider = np.minimum(self.bound * min(1.0 + TOGETHER * ratio.max(), WIDER), WIDEST * self.spread)
        return np.asarray(np.maximum(self.bound, wider))


@dataclass
class Shifts(State):
    """Implausible samples that may be a shift, and shifts that were accepted. Arrays have one entry per channel.

    Attributes
    ----------
    doubtful
        The last implausible sample.
    agreeing
        Number of implausible samples in a row that agree with each other.
    insisting
        Number of implausible samples that agreed with the one before, less a quarter of those that did not, and less
        the plausible ones: a body that swings about its place of rest does not agree all the time.
    offset, home
        How far the channel has been shifted, and how far when it was where it belongs: not zero if its first samples
        were elsewhere.
    center, spread
        Mean position and root-mean-square distance r from it before the channel was shifted away.
    returned
        Number of samples in a row within that range since then.
    outside, lately
        Number of samples far outside the usual range, in a row, and less a quarter of those within it since then.
    recent, before
        Number of samples for which implausible samples in a row count as recent, and root-mean-square distance r before
        them, infinite if there were none.

    Examples
    --------
    >>> shifts, zero = Shifts.begin((1, 3)), np.zeros((1, 3))
    >>> place = Place(zero, np.ones(1), zero, np.ones(1), np.array([False]), np.array([0]))
    >>> doubted, plausible = np.array([True]), np.array([False])
    >>> [bool(shifts.accept(zero + x, doubted, plausible, place, np.array([0]), patience=3.0, lasting=150.0)[0][0])
    ...  for x in (20.0, 20.1, 20.2)]
    [False, False, True]
    >>> shifts.offset
    array([[20.2, 20.2, 20.2]])
    """

    doubtful: Floats
    agreeing: Counts
    insisting: Floats
    offset: Floats
    home: Floats
    center: Floats
    spread: Floats
    returned: Counts
    outside: Counts
    lately: Floats
    recent: Floats
    before: Floats

    @classmethod
    def begin(cls, shape: tuple[int, int]) -> Shifts:
        """Return the initial state for samples of a shape (channels, dimensions)."""
        counts, numbers, points = np.zeros(shape[0], dtype=np.int64), np.zeros(shape[0]), np.zeros(shape)
        return cls(
            *(points, counts, numbers, points, points, points, numbers, counts, counts),
            *(numbers, numbers, numbers + np.inf),
        )

    def end(self, x: Floats, trusted: Bools, place: Place) -> Bools:
        """Take the offset away from channels that are back where they were before, and return which these are."""
        if not (away := self.offset - self.home).any():
            return np.zeros_like(trusted)
        back = trusted & (norm(away) > 0) & (norm(x - self.home - place.expected) <= place.bound)
        self.offset = np.where(back[:, None], self.home, self.offset)
        return np.asarray(back)

    def come_home(self, x: Floats, trusted: Bools, lasting: float) -> Bools:
        """Take the offset away from channels that have been where they were before the shift for `lasting` samples.

        After motion that was many times as large as usual, the way back may be plausible all along, so that `end` does
        not notice it. Returns which channels these are.
        """
        if not (away := norm(self.offset - self.home)).any():
            return np.zeros_like(trusted)
        near = (away > 0) & (norm(x - self.home - self.center) < RANGE * self.spread)
        self.returned = np.where(trusted, np.where(near, self.returned + 1, 0), self.returned)
        back = trusted & (self.returned >= lasting)
        self.offset = np.where(back[:, None], self.home, self.offset)
        return np.asarray(back)

    def accept(
        self,
        x: Floats,
        doubted: Bools,
        plausible: Bools,
        place: Place,
        repeats: Counts,
        *,
        patience: float,
        lasting: float,
    ) -> tuple[Bools, Bools, Floats]:
        """Return which doubted samples are accepted as a shift, which channels begin anew there, and steps.

        Samples agree if each is close to the one before, relative to the bound or to the jump, without repeating it;
        missing samples in between do not count. A channel that has never moved may repeat its value at another place
        for long, unless all coordinates are the same number. A jump to a new place is absorbed in the offset, so that
        nothing that was learnt at the old place is affected. `repeats` is the number of samples in a row, up to this
        one, that repeated one value exactly; `patience` and `lasting` are in samples. A step is the distance from the
        doubted sample before, limited to a share of the jump.
        """
        if not some(doubted):
            if self.agreeing.any() or self.insisting.any():
                self.agreeing = np.where(plausible, 0, self.agreeing)
                self.insisting = np.where(plausible, np.maximum(self.insisting - 1.0, 0.0), self.insisting)
            return np.zeros_like(doubted), np.zeros_like(doubted), np.zeros(len(doubted))
        distance = x - self.offset - place.center
        apart, jump = norm(x - self.doubtful), norm(distance)
        r, early = place.spread, place.early
        # A body that begins to move for the first time goes on from where it rested, at any acceleration.
        agree = apart <= np.maximum(place.bound, np.where(r > 0, CLOSE, 1.0) * jump)
        agreeing = np.where(doubted, np.where(agree, self.agreeing, 0) + 1, self.agreeing)
        # A coordinate that has jumped and repeats its value may be a sentinel: it is no evidence of motion.
        repeated = ((x == self.doubtful) & (np.abs(distance) > 0.5 * jump[:, None])).any(axis=-1)
        repeated = np.where(early, place.repeats > 0, repeated)
        agreeing = np.where(doubted & repeated, np.minimum(self.agreeing, agreeing), agreeing)
        counted = np.where(agree & ~repeated, 1.0, -RETURNING)
        insisting = self.insisting + np.where(doubted, counted, np.where(plausible, -1.0, 0.0))
        # At a coarse resolution most of the first samples repeat the one before.
        needed = np.where(early | (jump <= FAULT * r), np.where(r > 0, patience, CHANGES), lasting)
        # What has never moved and is put elsewhere rests there too. Values for "lost" are one number mostly.
        rests = (r == 0) & (repeats >= lasting) & (x != x[:, :1]).any(axis=-1)
        # Samples that agree all the time are a shift, which may be a fault and end.
        swings = doubted & (insisting >= lasting) & (2 * agreeing < lasting)
        shifted = doubted & ((agreeing >= needed) | rests | swings)
        self.insisting = np.where(shifted, 0.0, np.maximum(insisting, 0.0))
        early = early | swings
        self.agreeing = np.where(plausible | shifted, 0, agreeing)
        self.doubtful = np.where(doubted[:, None], x, self.doubtful)
        far = shifted & ~early & (jump > AWAY * r)
        home = shifted & ~early & (norm(x - self.home - place.center) <= AWAY * r)
        left = far & (norm(self.offset - self.home) == 0)
        self.center = np.where(left[:, None], place.center, self.center)
        self.spread, self.returned = np.where(left, r, self.spread), np.where(left, 0, self.returned)
        self.offset = np.where(far[:, None], x - place.expected, self.offset)
        self.offset = np.where(home[:, None], self.home, self.offset)
        self.arrive(x - place.expected, shifted & early)
        return shifted, shifted & early, np.minimum(0.5 * apart, CLOSE * jump)

    def remember(self, doubted: Bools, spread: Floats, lasting: float) -> None:
        """Remember the root-mean-square distances of some channels for `lasting` samples after implausible ones.

        Motion that was implausible at first may be a fault. It widens the usual range, but does not belong to it until
        it has lasted.
        """
        if some(doubted) or self.recent.any():
            # What is implausible again and again becomes usual, too.
            begun = doubted & (self.recent == 0)
            self.recent = np.where(begun, lasting, np.maximum(self.recent - 1.0, 0.0))
            self.before = np.where(begun, spread, np.where(self.recent > 0, self.before, np.inf))

    def arrive(self, offset: Floats, which: Bools) -> None:
        """Let channels of which nothing was known before belong where they are now, at this offset."""
        if some(which):
            self.offset = np.where(which[:, None], offset, self.offset)
            self.home = np.where(which[:, None], offset, self.home)

    def settle(self, away: Floats, outside: Bools, lasting: float) -> tuple[Bools, Floats]:
        """Let channels that stay far outside their usual range continue there: their offset absorbs the distance.

        Returns which channels these are after `lasting` samples, and their distances, 0 for the others. A channel that
        passes through its usual range again and again does not settle; `lately` counts its samples.
        """
        if not some(outside):
            if self.lately.any():
                self.outside, self.lately = np.zeros_like(self.outside), np.maximum(self.lately - RETURNING, 0.0)
            return np.zeros_like(outside), np.zeros_like(away)
        self.outside = np.where(outside, self.outside + 1, 0)
        self.lately = np.where(outside, self.lately + 1.0, np.maximum(self.lately - RETURNING, 0.0))
        settled = self.outside >= lasting
        distance = np.where(settled[:, None], away, 0.0)
        if some(settled):
            self.offset = self.offset + distance
            self.outside, self.lately = np.where(settled, 0, self.outside), np.where(settled, 0.0, self.lately)
        return np.asarray(settled), distance
