"""The feed of the view: takes forecasts from the service and hands them to viewers, without ever waiting for one."""

from __future__ import annotations

import asyncio
import json
import math
import secrets
import time
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from quatcast.live.clock import now
from quatcast.live.frames import ForecastFrame
from quatcast.live.view.rows import VERSION, RowLayout, pack_row, rows_message
from quatcast.live.view.statistics import Statistics

MAX_VIEWERS = 16
MAX_QUEUE = 128
"""Largest number of messages that wait for a viewer, about two seconds; the oldest are dropped."""
MAX_EVENTS = 20
"""Number of events that a late joiner is told."""
MAX_TEXT = 300
"""Longest reason or event in characters; the rest is cut off."""
MAX_HISTORY = 8 * 2**20
"""Largest size of the rows that are kept for late joiners, in bytes."""

MAX_BACK = 5.0
"""Number of seconds that time may go back in a stream; beyond that a new stream begins."""

Message = str | bytes


class TooManyViewersError(RuntimeError):
    """As many viewers as allowed are connected already."""


class Viewer:
    """The queue of one viewer: an asynchronous iterator over messages.

    Attributes
    ----------
    dropped
        Number of messages that this viewer has missed because it was too slow.

    Examples
    --------
    >>> viewer = Viewer([])
    >>> for number in range(MAX_QUEUE + 1):
    ...     viewer.put(bytes([number]))
    >>> viewer.dropped, viewer.take()
    (1, '{"type":"dropped","count":1}')
    """

    def __init__(self, first: list[Message]) -> None:
        self._first: deque[Message] = deque(first)
        self._queue: deque[Message] = deque()
        self._event = asyncio.Event()
        self._event.set()
        self._told = 0
        self.dropped = 0

    def put(self, message: Message) -> None:
        """Queue a message; drop the oldest one if the queue is full."""
        if len(self._queue) >= MAX_QUEUE:
            self._queue.popleft()
            self.dropped += 1
        self._queue.append(message)
        self._event.set()

    def start_over(self, messages: list[Message]) -> None:
        """Replace all messages that wait by these, which are never dropped."""
        self._first = deque(messages)
        self._queue.clear()
        self._event.set()

    def take(self) -> Message | None:
        """Return the next message, or None; after a loss the first one says how many messages were dropped."""
        if self._first:
            return self._first.popleft()
        if self.dropped > self._told:
            self._told = self.dropped
            return _json({"type": "dropped", "count": self.dropped})
        return self._queue.popleft() if self._queue else None

    async def __aiter__(self) -> AsyncIterator[Message]:
        while True:
            await self._event.wait()
            self._event.clear()
            while (message := self.take()) is not None:
                yield message


class ViewFeed:
    """Collects forecasts for the view and hands them to at most 16 viewers.

    `publish` and `tell` return at once, whatever the viewers do. Rows are sent at most `rate` times per second, those
    that arrive faster are thinned to that rate; the statistics use every forecast. Each viewer has a queue of bounded
    length that drops the oldest messages and says so. A viewer who joins late receives the last minutes at once.

    Parameters
    ----------
    history
        Duration that is kept for late joiners, in seconds.
    rate
        Largest number of updates per second.
    coverage
        Target coverage of the radius, which the page draws beside the coverage reached.
    space
        Space of the stream, which determines whether its errors and radii are distances or angles.

    Examples
    --------
    >>> import json
    >>> import numpy as np
    >>> feed = ViewFeed()
    >>> feed.publish(ForecastFrame("chest", 7, 100.0, 100.5, 100.01, np.ones((1, 3)), np.ones(1), "ok", "",
    ...                            np.array([False]), np.zeros((1, 3)), ("<marker>",), "mm"))
    >>> with feed.viewer() as viewer:
    ...     hello, layout, status, rows = (viewer.take() for _ in range(4))
    >>> json.loads(layout)["names"], json.loads(status)["status"], len(rows)
    (['<marker>'], 'ok', 55)
    """

    def __init__(
        self, history: float = 300.0, rate: float = 30.0, coverage: float | None = 0.95, space: str = "position"
    ) -> None:
        if not (history > 0 and rate > 0):
            raise ValueError(f"history and rate: expected positive numbers, got {history} and {rate}")
        self.history, self.rate, self.coverage, self.space = history, rate, coverage, space
        self._server = secrets.token_hex(8)
        self._viewers: set[Viewer] = set()
        self._layout: RowLayout | None = None
        self._generation = 0
        self._statistics = Statistics(0, 0)
        self._rows: deque[tuple[float, bytes]] = deque()
        self._pending: list[bytes] = []
        self._status: dict[str, Any] | None = None
        self._status_sent = True
        self._events: deque[dict[str, Any]] = deque(maxlen=MAX_EVENTS)
        self._newest, self._sampled = -math.inf, 0.0
        self._flushed = self._published = 0.0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def viewers(self) -> int:
        """Number of viewers."""
        return len(self._viewers)

    def publish(self, forecast: ForecastFrame) -> None:
        """Show a forecast."""
        layout = RowLayout.of(forecast, self.space)
        if layout != self._layout or forecast.time < self._newest - MAX_BACK:
            self._begin(layout)
        self._published = time.monotonic()
        if forecast.time > self._newest:
            self._newest, self._sampled = forecast.time, self._published
            self._statistics.add(forecast)
        else:
            # No new sample, but a sign of life such as a hold: show it now and not at the time of the last sample.
            forecast = replace(forecast, time=self._newest + self._published - self._sampled)
        status = {"type": "status", "status": forecast.status, "reason": forecast.reason[:MAX_TEXT]}
        changed = self._status is None or status["status"] != self._status["status"]
        if status != self._status:
            self._status, self._status_sent = status, False
        while self._rows and self._rows[-1][0] >= forecast.time:
            self._rows.pop()  # A sample that arrives late replaces signs of life; the page does the same.
        last = self._rows[-1][0] if self._rows else -math.inf
        # A little less than a whole period, so that jitter does not halve a stream that just fits.
        if changed or forecast.time - last >= 0.9 / self.rate:
            self._append(layout, forecast)
        self._flush_soon()

    def tell(self, kind: str, text: str) -> None:
        """Show an event of the service, for example "source" and "connection to the tracker lost"."""
        event = {"type": "event", "time": now(), "kind": kind[:MAX_TEXT], "text": text[:MAX_TEXT]}
        self._events.append(event)
        self._broadcast(_json(event))

    def beat(self, counters: Mapping[str, float] | None = None) -> None:
        """Send the statistics; called once per second, so that viewers know that the service lives."""
        if self._viewers:
            self._broadcast(self._beat(counters or {}))

    @contextmanager
    def viewer(self) -> Iterator[Viewer]:
        """Add a viewer, whose first messages are everything that it needs to draw the last minutes.

        Raises
        ------
        TooManyViewersError
            If there are 16 viewers.
        """
        if len(self._viewers) >= MAX_VIEWERS:
            raise TooManyViewersError(f"{MAX_VIEWERS} viewers are connected, no more are allowed")
        self._flush()
        viewer = Viewer(self._snapshot())
        self._viewers.add(viewer)
        try:
            yield viewer
        finally:
            self._viewers.discard(viewer)

    def _begin(self, layout: RowLayout) -> None:
        """Forget all rows, because the stream has changed or its time has gone back."""
        self._layout = layout
        self._generation += 1
        self._statistics = Statistics(layout.horizons, len(layout.names), layout.space)
        self._newest = -math.inf
        self._rows.clear()
        self._pending.clear()
        for viewer in self._viewers:
            viewer.start_over(self._snapshot())

    def _append(self, layout: RowLayout, forecast: ForecastFrame) -> None:
        row = pack_row(layout, forecast)
        self._rows.append((forecast.time, row))
        if self._viewers:
            self._pending.append(row)
        limit = max(1, min(int(self.history * self.rate), MAX_HISTORY // layout.row.itemsize))
        while len(self._rows) > limit or self._rows[0][0] < forecast.time - self.history:
            self._rows.popleft()

    def _snapshot(self) -> list[Message]:
        hello = {
            "type": "hello",
            "version": VERSION,
            "server": self._server,
            "history": self.history,
            "rate": self.rate,
            "coverage": self.coverage,
            "idle": time.monotonic() - self._published if self._rows else None,
        }
        messages: list[Message] = [_json(hello)]
        if self._layout is not None:
            messages.append(_json(self._layout.message(self._generation)))
        if self._status is not None:
            messages.append(_json(self._status))
        if self._rows:
            messages.append(rows_message(self._generation, [row for _, row in self._rows]))
        messages += [_json(event) for event in self._events]
        return [*messages, self._beat({})]

    def _beat(self, counters: Mapping[str, float]) -> str:
        return _json({"type": "beat", "time": now(), "counters": counters, **self._statistics.summary()})

    def _flush_soon(self) -> None:
        """Send what is pending now, or when the time of the next update has come."""
        if not self._viewers or self._timer is not None:
            return
        wait = self._flushed + 1 / self.rate - time.monotonic()
        if wait <= 0:
            self._flush()
        else:
            self._timer = asyncio.get_running_loop().call_later(wait, self._flush)

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._status_sent and self._status is not None:
            self._broadcast(_json(self._status))
        if self._pending:
            self._broadcast(rows_message(self._generation, self._pending))
        self._status_sent, self._pending = True, []
        self._flushed = time.monotonic()

    def _broadcast(self, message: Message) -> None:
        for viewer in self._viewers:
            viewer.put(message)


def _json(message: Mapping[str, Any]) -> str:
    return json.dumps(message, separators=(",", ":"), allow_nan=False)
