"""The service: frames from a source, forecasts to sinks and the view, everything in one event loop.

    source → journal → clock and grid → forecast → sinks, view → learn → checkpoint

A frame is journalled before anything is made of it, and its forecast leaves before anything is learnt from it. The
service has its own clock: if no sample arrives, it sends hold.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack
from typing import Any

from quatcast.live.checkpointing import CHECKPOINT, Checkpoints
from quatcast.live.clock import now
from quatcast.live.frames import ForecastFrame, Frame
from quatcast.live.grid import GridSample
from quatcast.live.labels import Labels
from quatcast.live.latency import OVERDUE, Garbage, Readiness
from quatcast.live.lateness import Overload, hold_if_late, is_behind
from quatcast.live.learning import TURN, Pace, Turns, is_hurried
from quatcast.live.metrics import Metrics
from quatcast.live.pipeline import Pipeline
from quatcast.live.session import Session
from quatcast.live.shapes import expected, fitted
from quatcast.live.silence import HOLD, Unusable, hold_after
from quatcast.live.tasks import run_with_helpers
from quatcast.live.totals import Counters, Seen, Summary
from quatcast.live.transports.base import Sink, Source
from quatcast.live.view.feed import ViewFeed

log = logging.getLogger("quatcast.live")

SILENT_PERIODS, SILENT = 3, 0.15
"""Periods and seconds without a sample, the longer of which means hold."""
REPEATED = 0.5
"""Seconds after which a hold for silence is sent again, so that late receivers learn of it."""
TENDED = 1.0
"""Seconds after which the journal is flushed, and counters are published, again."""


class Service:
    """Runs one stream until its source ends or it is stopped.

    Parameters
    ----------
    pipeline
        From frames to forecasts.
    source, sinks
        Where samples come from and forecasts go; the service enters and leaves them.
    session
        Where to record; nothing is recorded without one. The service closes it.
    feed
        The feed of the view, if there is one.
    metrics
        What is counted and measured.
    checkpoint
        Seconds between checkpoints.
    turns
        Turns to learn, if streams in other processes learn on the same cores.

    Raises
    ------
    ValueError
        If the settings of the stream contradict the URL of the source.

    Examples
    --------
    >>> import asyncio
    >>> from quatcast.live import LiveSettings, open_source
    >>> service = Service(Pipeline(LiveSettings()), open_source("simulated:?speed=0&seconds=4", "chest"))
    >>> summary = asyncio.run(service.run())
    >>> summary.frames, summary.forecasts
    (40, 20)
    """

    def __init__(
        self,
        pipeline: Pipeline,
        source: Source,
        sinks: Sequence[Sink] = (),
        *,
        session: Session | None = None,
        feed: ViewFeed | None = None,
        metrics: Metrics | None = None,
        checkpoint: float = CHECKPOINT,
        turns: Turns | None = None,
    ) -> None:
        source.fit(pipeline.settings)
        self.pipeline, self.source, self.sinks = pipeline, source, sinks
        self.session, self.feed, self.metrics, self.turns = session, feed, metrics or Metrics(), turns
        self._checkpoints = Checkpoints(session, checkpoint)
        self.unlearnt = 0
        self._statuses, self._seen = Counter[str](), Seen()
        self._stopping = self._waiting = self._whole = False
        self._reader: asyncio.Task[None] | None = None
        self._coming: asyncio.Task[Frame | None] | None = None
        self._pace, self._garbage, self._unusable = Pace(), Garbage(), Unusable()
        self._labels = Labels(pipeline.settings)
        self._readiness, self._overload = Readiness(pipeline.get_ready), Overload()
        self._heard = self._heard_at = self._virtual = 0.0
        self._silent = False
        self._last: ForecastFrame | None = None
        self._stream = pipeline.settings.stream
        self._counters = Counters(self.metrics, self._stream)
        self._first: tuple[int, float] | None = None

    def stop(self) -> None:
        """Finish the sample that is being taken, then end; safe to call from a signal handler of the loop."""
        self._stopping = True
        # Cancelled only while it waits for a frame: a sample is taken completely or not at all.
        if self._waiting and self._reader is not None:
            self._reader.cancel()

    async def run(self, opened: Callable[[], None] = lambda: None) -> Summary:
        """Run until the source ends or `stop` is called; call `opened` as soon as samples can arrive."""
        try:
            self._recover()
            self._whole = True
            async with AsyncExitStack() as stack:
                for sink in self.sinks:
                    await stack.enter_async_context(sink)
                await stack.enter_async_context(self.source)
                self.metrics.ready(False, "waiting for the first sample")
                opened()
                self._reader = asyncio.create_task(self._read())
                helpers = [asyncio.create_task(self._tend(), name="the journal and the counters")]
                if self.source.realtime:
                    helpers.append(asyncio.create_task(self._watch(), name="the watch for silence"))
                # Without its watch the service would be silent where it has to say hold: it ends instead.
                await run_with_helpers(self._reader, helpers, self.stop)
        finally:
            await self._end()
        return self.summary()

    def summary(self) -> Summary:
        """Return what has been done so far."""
        return Summary(
            frames=self.pipeline.frames,
            forecasts=self._statuses.total(),
            holds=self._statuses[HOLD],
            unlearnt=self.unlearnt,
            counts=self.pipeline.counts,
            refused=self._all_refused(),
            dropped=sum(sink.dropped for sink in self.sinks),
            rate=self.pipeline.rate,
            hurried=self._is_hurried(),
            statuses=dict(self._statuses),
            unseen=self._seen.others(self.pipeline.names),
        )

    def _is_hurried(self) -> bool:
        """Return whether samples have arrived faster than they were measured since the service was started."""
        if self._first is None:
            return False
        first, began = self._first
        return is_hurried(self.pipeline.frames - first + 1, self.pipeline.period, self._virtual - began)

    def _all_refused(self) -> dict[str, int]:
        """Return how many messages the source and the service refused, by kind."""
        # A copy: a thread of the source may add a kind meanwhile.
        return dict(Counter(dict(self.source.refused)) + self._unusable.refused)

    def _recover(self) -> None:
        """Continue the session where it was."""
        if self.session is None:
            return
        recovery = self.session.recover(self.pipeline)
        for words in recovery.words():
            self.tell("recovery", words)
        if recovery.last is not None:
            self.source.resume(recovery.last)
            self._labels.follow(recovery.last)
        if recovery.replayed:
            # The next recovery need not repeat this one.
            self._checkpoints.expire()

    async def _end(self) -> None:
        """Write the last checkpoint and close the session."""
        self.metrics.ready(False, "stopped")
        if self.session is not None:
            await self.session.finish_saving()
            # After an error within a sample or a recovery the state is not one that recovery would reach.
            if self._whole:
                self.session.checkpoint(self.pipeline)
            self.session.close()

    def tell(self, kind: str, text: str, **more: Any) -> None:
        """Log an event, show it in the view, and write it to the journal, with further values."""
        log.warning("%s: %s", kind, text, extra={"stream": self._stream, "kind": kind})
        self.metrics.count("events", kind=kind, stream=self._stream)
        if self.feed is not None:
            self.feed.tell(kind, text)
        if self.session is not None and kind != "journal":
            self.session.record_event(kind, text, self.pipeline.frames, **more)

    async def _read(self) -> None:
        frames = aiter(self.source.frames())
        try:
            while not self._stopping:
                # The next frame is awaited while this one is worked on, so that its arrival is noticed.
                coming = self._coming or asyncio.ensure_future(_next_frame(frames))
                self._coming, self._waiting = None, True
                frame = await coming
                self._waiting = False
                if frame is None:
                    self.pipeline.end()
                if frame is None or self._stopping:
                    return
                self._coming = asyncio.ensure_future(_next_frame(frames))
                if (fit := self._fitted(frame)) is None:
                    continue
                self._whole = False
                self._readiness.cancel()
                await self._take(fit)
                self._whole = True
                self._checkpoints.save_if_due(self.pipeline)
                # Where streams share cores, an answer of another one may need the time.
                if self.source.realtime and self.turns is None:
                    self._readiness.expect(self.pipeline.period, now() - fit.received)
        finally:
            self._readiness.cancel()
            if self._coming is not None:
                self._coming.cancel()

    def _fitted(self, frame: Frame) -> Frame | None:
        """Refuse a frame that does not fit the space, or is labelled otherwise than those before, and say so once."""
        space = self.pipeline.settings.space
        fit = fitted(frame, space)
        if fit is None:
            self._refuse("coordinates", expected(space, frame.values.shape[1]))
            return None
        if self.pipeline.settled:
            if fit.values.shape != self.pipeline.shape:
                return fit  # the grid drops it
            kind, why = self._labels.contradiction(fit)
            if kind:
                self._refuse(kind, why)
                return None
        self._labels.follow(fit)
        return fit

    def _refuse(self, kind: str, why: str) -> None:
        if news := self._unusable.refuse(kind, why):
            self.tell("refused", news)

    def now(self) -> float:
        """Return the time; if the source is not in real time, that of the newest frame plus the time since then."""
        return now() if self.source.realtime else self._virtual + time.monotonic() - self._heard_at

    async def _take(self, frame: Frame) -> None:
        """Journal a frame, forecast from the samples that it completes, and learn."""
        self._heard_at, self._virtual = time.monotonic(), frame.received
        number = self.pipeline.frames + 1
        self._first = self._first or (number, frame.received)
        if self.session is not None:
            self.session.record_frame(frame, number)
        measured, beginnings = self.pipeline.measured, self.pipeline.beginnings
        taken = self.pipeline.take(frame)
        self.metrics.count("samples", stream=self._stream)
        if taken.dropped:
            self.metrics.count("samples_dropped", stream=self._stream, why=taken.dropped)
            if self.session is not None:
                self.session.record_event("dropped", taken.dropped, number)
            if news := self._unusable.drop(frame, taken.dropped, self.pipeline.shape):
                self.tell("dropped", news)
        else:
            self._end_of_silence()
        if taken.event:
            self.tell("time", taken.event)
        if self.pipeline.measured and not taken.dropped and not self.metrics.is_ready:
            self.metrics.ready(True)
            self.metrics.gauge("rate_hz", self.pipeline.rate, stream=self._stream)
        if self.pipeline.beginnings != beginnings:
            self._begun(anew=measured)
        for sample in taken.samples[:-1]:
            await self._answer(sample, frame, number, send=False)
        if taken.samples:
            await self._answer(taken.samples[-1], frame, number, send=True)

    def _begun(self, anew: bool) -> None:
        self.metrics.gauge("rate_hz", self.pipeline.rate, stream=self._stream)
        why = "anew, because most samples have another shape than the first: " if anew else ""
        more = {"rate": self.pipeline.rate, "horizons": list(self.pipeline.horizons)}
        self.tell("started", f"{why}{self.pipeline.words()}", **more)

    async def _answer(self, sample: GridSample, frame: Frame, number: int, *, send: bool) -> None:
        """Forecast from a sample and send the forecast; then learn."""
        self._seen.add(sample.values)
        forecast = self.pipeline.forecast(sample)
        answer = self.pipeline.to_frame(forecast, sample, self.now())
        late = False
        if send:
            if self.source.realtime:
                answer, late = hold_if_late(answer, self.pipeline.settings.act_latency)
                self._overload.observe(late and self._is_behind(frame))
            self._send(answer)
            self._last = answer
            self.metrics.observe("latency", answer.sent_time - frame.received, stream=self._stream)
        await asyncio.sleep(0)
        limit = self._pace.limit if self.source.realtime else None
        learnt = await self._may_learn(frame)
        if learnt:
            self._learn(limit)
        else:
            self.unlearnt += 1
            self.metrics.count("samples_unlearnt", stream=self._stream)
        if self.session is not None:
            self.session.record_forecast(answer, number, limit, late=late, unsent=not send, unlearnt=not learnt)
        self._garbage.collect_if_due()

    async def _may_learn(self, frame: Frame) -> bool:
        """Return whether to learn; if other streams learn, wait for a turn until the next sample has arrived."""
        while not self._is_behind(frame):
            if self.turns is None or self.turns.take():
                return True
            if self.source.realtime and self._coming is not None and self._coming.done():
                return False
            await asyncio.sleep(TURN)
        return False

    def _learn(self, limit: int | None) -> None:
        began = time.perf_counter()
        try:
            self.pipeline.learn(limit)
        finally:
            if self.turns is not None:
                self.turns.give_back()
        took = time.perf_counter() - began
        self._pace.observe(took, self.pipeline.period)
        self.metrics.observe("learning", took, stream=self._stream)

    def _is_behind(self, frame: Frame) -> bool:
        """Return whether samples wait because this machine is too slow or too busy."""
        return self.source.realtime and is_behind(frame, self.pipeline.period)

    def _sample_waits(self) -> bool:
        """Return whether a sample waits until the one before it has been answered."""
        return self._coming is not None and self._coming.done()

    def _send(self, answer: ForecastFrame) -> None:
        for sink in self.sinks:
            sink.send(answer)
        if self.feed is not None:
            self.feed.publish(answer)
        self._statuses[answer.status] += 1
        self.metrics.count("forecasts", stream=self._stream, status=answer.status)

    async def _watch(self) -> None:
        """Send hold while no samples come that can be used, or while they wait because this machine is too slow."""
        repeated = 0.0
        while True:
            limit = max(SILENT_PERIODS * self.pipeline.period, SILENT)
            silent = now() - self._heard
            if self._last is None or silent < limit:
                await asyncio.sleep(max(0.005, limit - silent if self._last else SILENT))
                continue
            instead, busy = self._unusable.instead(within=limit), self._sample_waits()
            if not busy and not self._silent:
                self._silent, repeated = True, 0.0
                self.tell("silence", f"no sample for {silent:.2g} s{instead and f' ({instead})'}: hold")
                self.metrics.ready(False, instead or "no samples arrive")
            if now() - repeated >= REPEATED:
                repeated = now()
                self._send(hold_after(self._last, now(), silent, instead, busy=busy))
            await asyncio.sleep(max(SILENT, self.pipeline.period))

    def _end_of_silence(self) -> None:
        self._heard = now()
        self._unusable.end()
        if self._silent:
            self._silent = False
            self.tell("silence", "samples arrive again")

    async def _tend(self) -> None:
        """Flush the journal and publish counters once per second, and tell once that samples come too fast."""
        while True:
            await asyncio.sleep(TENDED)
            refused = self._all_refused()
            self._garbage.collect_if_due(after=OVERDUE)
            if self.session is not None:
                await self.session.tend()
                self.metrics.gauge("journal_failing", self.session.journal.failing, stream=self._stream)
                self.metrics.gauge("journal_lost_lines", self.session.journal.lost, stream=self._stream)
            if self.pipeline.measured and (news := self._overload.news(refused.get("overflow", 0), self.pipeline.rate)):
                self.tell("overload", news)
            dropped = sum(sink.dropped for sink in self.sinks)
            self._counters.publish(refused, self.source.unchecked, dropped, self.pipeline.counts)


async def _next_frame(frames: AsyncIterator[Frame]) -> Frame | None:
    return await anext(frames, None)
