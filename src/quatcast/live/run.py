"""One live stream from its description: open everything, run, and end cleanly on a signal."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from quatcast.engine.threads import one_thread
from quatcast.live import systemd
from quatcast.live.checkpointing import CHECKPOINT
from quatcast.live.journal import ROTATE
from quatcast.live.latency import only_young, quick_switches
from quatcast.live.learning import Turns
from quatcast.live.metrics import Metrics
from quatcast.live.pipeline import Pipeline
from quatcast.live.service import Service
from quatcast.live.session import Session
from quatcast.live.settings import LiveSettings
from quatcast.live.totals import Summary
from quatcast.live.transports import Source, open_sink, open_source
from quatcast.live.view.feed import ViewFeed

log = logging.getLogger("quatcast.live")

INSTALL = "needs the extra `live`: pip install 'quatcast[live]'"


@dataclass(frozen=True)
class ViewAddress:
    """Where the view is served.

    Attributes
    ----------
    host, port
        Address; port 0 lets the system choose.
    token
        Secret that browsers must give; required if other machines can reach the address.

    Examples
    --------
    >>> ViewAddress(port=0)
    ViewAddress(host='127.0.0.1', port=0)
    """

    host: str = "127.0.0.1"
    port: int = 8765
    token: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class StreamPlan:
    """Everything that one stream needs.

    Attributes
    ----------
    settings
        Settings of the stream.
    source, sinks
        URLs.
    record
        Session folder, or None.
    view
        Where the view is served, or None.
    checkpoint
        Seconds between checkpoints.
    rotate
        Size of a file of the journal in bytes.
    take_space
        Whether the space of the source replaces that of the settings, if the source knows it.

    Examples
    --------
    >>> import asyncio
    >>> plan = StreamPlan(LiveSettings(rate=10.0), "simulated:?speed=0&seconds=3")
    >>> asyncio.run(serve(plan)).forecasts
    30
    """

    settings: LiveSettings
    source: str
    sinks: tuple[str, ...] = ()
    record: Path | None = None
    view: ViewAddress | None = None
    checkpoint: float = CHECKPOINT
    rotate: int = field(default=ROTATE, repr=False)
    take_space: bool = False


async def serve(plan: StreamPlan, say: Callable[[str], None] = lambda text: None) -> Summary:
    """Run a stream until its source ends or a signal asks to stop.

    Parameters
    ----------
    plan
        What to run.
    say
        Called with lines for the user, such as the address of the view.

    Raises
    ------
    ValueError
        If the plan cannot be carried out, for example because the source is in another space than the settings.
    """
    metrics = Metrics()
    source = open_source(plan.source, plan.settings.stream)
    settings = _in_space_of(source, plan)
    if settings.space != plan.settings.space:
        say(f"Space: {settings.space}, as the source says")
    sinks = [open_sink(url, settings.stream) for url in plan.sinks]
    feed = ViewFeed(space=settings.space) if plan.view is not None else None
    session: Session | None = None
    service: Service | None = None

    def report_trouble(text: str) -> None:
        if service is None:
            log.warning(text)
        else:
            service.tell("journal", text)

    async with AsyncExitStack() as stack:
        if plan.record is not None:
            session = Session(plan.record, settings, report_trouble, plan.rotate)
            stack.callback(session.close)  # also if the service does not get as far as to close it
        service = Service(
            Pipeline(settings),
            source,
            sinks,
            session=session,
            feed=feed,
            metrics=metrics,
            checkpoint=plan.checkpoint,
            turns=Turns.inherited(),
        )
        if plan.view is not None and feed is not None:
            say(f"View: {await _open_view(stack, feed, metrics, plan.view)}")

        def opened() -> None:
            # A URL may hold a token after its question mark.
            say(f"Waiting for samples from {plan.source.partition('?')[0]}; Ctrl-C ends")
            systemd.notify("READY=1")

        with systemd.lifetime(), quick_switches(), _stopped_by_signals(service), only_young(), one_thread():
            return await service.run(opened)


def _in_space_of(source: Source, plan: StreamPlan) -> LiveSettings:
    """Return the settings of a plan with the space that its source has recognised, or raise an error if they differ."""
    if not source.spaces or (plan.settings.space in source.spaces and not plan.take_space):
        return plan.settings
    if plan.take_space:
        return replace(plan.settings, space=source.spaces[0])
    name, known = plan.source.partition("?")[0], " or ".join(source.spaces)
    raise ValueError(f"--space: expected {known}, which {name} contains, got {plan.settings.space}; or leave it out")


async def _open_view(stack: AsyncExitStack, feed: ViewFeed, metrics: Metrics, address: ViewAddress) -> str:
    """Serve the view and return its address."""
    try:
        from quatcast.live.view.server import View
    except ImportError as error:
        raise ImportError(f"--view {INSTALL} ({error})") from None
    view = await stack.enter_async_context(View(feed, metrics, address.host, address.port, address.token))
    return view.url


@contextmanager
def _stopped_by_signals(service: Service) -> Iterator[None]:
    """Let SIGTERM and SIGINT end the service after the present sample, with a checkpoint."""
    loop, before = asyncio.get_running_loop(), dict[signal.Signals, Any]()
    try:
        for name in (signal.SIGTERM, signal.SIGINT):
            try:
                loop.add_signal_handler(name, service.stop)
            except NotImplementedError:  # on Windows
                before[name] = signal.signal(name, lambda *_: loop.call_soon_threadsafe(service.stop))
    except (ValueError, RuntimeError):  # outside the main thread
        pass
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)
