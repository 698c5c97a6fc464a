"""The command `quatcast live`: forecast a live stream, and export, replay and check what was recorded."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option
from typer.core import TyperGroup

from quatcast.cli.known_faults import SENTINEL, VALID, parse_sentinel, parse_valid
from quatcast.cli.terminal import AS_RECORDS, tell

if TYPE_CHECKING:
    from quatcast.live.totals import Summary

WORKER = "--worker"
"""Hidden option of processes that the supervisor starts: other errors than wrong settings have exit code 1."""


_BUSY = {
    False: "this machine is too busy",
    True: "because samples come faster than their times say (for a recording: file:… or stdin:?speed=0)",
}
"""Why nothing was learnt from samples, by whether they came faster than their times say."""


class _SourceOrCommand(TyperGroup):
    """A group whose first word may be a command, or else the source of a stream to run."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the command `run` before a source or an option."""
        if not args or (args[0] not in self.commands and args[0] != "--help"):
            args = ["run", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_SourceOrCommand,
    help="Forecast a live stream: `quatcast live SOURCE`. `quatcast live run --help` lists its options.",
)


@app.command()
def run(
    context: typer.Context,
    source: Annotated[
        str | None,
        Argument(help="URL of the samples: udp://, tcp://, ws://, igtl://, lsl://, file:, stdin:, simulated:"),
    ] = None,
    to: Annotated[list[str] | None, Option(help="URL to which forecasts go; may be repeated.")] = None,
    horizon: Annotated[
        str | None, Option(help="Seconds ahead, several separated by commas; 0.5 unless --act-latency is given.")
    ] = None,
    act_latency: Annotated[float, Option(help="Seconds that the receiver needs to act.")] = 0.0,
    input_age: Annotated[float, Option(help="Seconds from measurement to the earliest arrival, if known.")] = 0.0,
    rate: Annotated[float | None, Option(help="Samples per second; by default it is detected.")] = None,
    name: Annotated[str, Option(help="Name of the stream.")] = "stream",
    channels: Annotated[
        str, Option(help="Names of the channels, separated by commas; by default those of the source.")
    ] = "",
    unit: Annotated[str, Option(help="Unit of the values; by default that of the source.")] = "",
    space: Annotated[
        str | None,
        Option(
            help="What a channel is: position, vector, orientation or pose; by default that of a file, or position."
        ),
    ] = None,
    sentinel: Annotated[list[str] | None, Option(help=SENTINEL)] = None,
    valid: Annotated[list[str] | None, Option(help=VALID)] = None,
    record: Annotated[Path | None, Option(help="Folder of the session; an existing session is continued.")] = None,
    view: Annotated[bool, Option("--view", help="Serve a view for browsers.")] = False,
    host: Annotated[str, Option(help="Address of the view.")] = "127.0.0.1",
    port: Annotated[int, Option(help="Port of the view; 0 lets the system choose.", min=0, max=65535)] = 8765,
    checkpoint: Annotated[float, Option(help="Seconds between checkpoints.", min=0.1)] = 10.0,
    journal_size: Annotated[float, Option(help="MiB after which a new file of the journal is begun.", min=0.01)] = 64.0,
    config: Annotated[Path | None, Option(help="TOML file with several streams, instead of a source.")] = None,
    log: Annotated[str, Option(help="Form of the log on standard error: text or json.")] = "text",
) -> None:
    """Forecast a stream until it ends or Ctrl-C is pressed."""
    import asyncio

    from quatcast.live.logs import set_up

    is_worker = bool(context.find_root().params.get("worker"))
    set_up(log, name if config is None else "", named=is_worker)
    AS_RECORDS.set(log == "json" or is_worker)
    if config is not None:
        _supervise(config, source, log, context)
        return
    if source is None:
        raise ValueError("SOURCE: expected a URL, such as simulated: or udp://127.0.0.1:5005, or --config FILE.toml")
    from quatcast.live.run import StreamPlan, ViewAddress, serve
    from quatcast.live.settings import LiveSettings

    names = tuple(word.strip() for word in channels.split(",")) if channels else ()
    settings = LiveSettings(
        *(name, _horizons(horizon, act_latency), rate, names, unit, act_latency, input_age, space or "position"),
        sentinel=tuple(map(parse_sentinel, sentinel or [])),
        valid=tuple(map(parse_valid, valid or [])),
    )
    token = os.environ.get("QUATCAST_TOKEN") or None
    plan = StreamPlan(
        settings=settings,
        source=source,
        sinks=tuple(to or ()),
        record=record,
        view=ViewAddress(host, port, token) if view else None,
        checkpoint=checkpoint,
        rotate=round(journal_size * 2**20),
        take_space=space is None,
    )
    summary = asyncio.run(serve(plan, _tell_state))
    tell(
        f"{summary.frames} samples, {summary.forecasts} forecasts sent, {summary.holds} of them hold"
        + (f"; nothing learnt from {summary.unlearnt}, {_BUSY[summary.hurried]}" if summary.unlearnt else "")
        + (f"; {summary.dropped} dropped, because nobody took them" if summary.dropped else "")
        + _counted(summary.counts, summary.refused)
        + _unusable(summary),
        kind="summary",
    )
    if summary.frames and not summary.rate:
        tell(
            "The rate could not be detected, which needs at least 8 samples over two seconds; give it by --rate.",
            kind="summary",
        )


def _tell_state(text: str) -> None:
    tell(text, kind="state")


def _counted(counts: dict[str, int], refused: dict[str, int]) -> str:
    kinds = ("lost", "late", "duplicate", "steps", "gaps", "shape", "untimed")
    shown = [f"{counts[kind]} {kind}" for kind in kinds if counts.get(kind)]
    shown += [f"{n} refused ({kind})" for kind, n in sorted(refused.items()) if n]
    return f"; {', '.join(shown)}" if shown else ""


def _unusable(summary: Summary) -> str:
    """Return what says that a stream was of no use: no forecast to act on, or channels without a single position."""
    statuses = ", ".join(f"{n} {status}" for status, n in summary.statuses.items())
    told = [f"no forecast was ever ok ({statuses})"] if summary.never_ok else []
    told += [f"never seen: {', '.join(summary.unseen)}"] if summary.unseen else []
    return "".join(f"; {words}" for words in told)


def _horizons(text: str | None, act_latency: float) -> tuple[float, ...]:
    """Return the horizons in seconds; none if they follow from a latency to act."""
    from quatcast.live.settings import HORIZON

    try:
        given = tuple(float(word) for word in text.split(",")) if text else ()
    except ValueError:
        raise ValueError(f"--horizon: expected seconds, several separated by commas, got {text!r}") from None
    return given or (() if act_latency else (HORIZON,))


def _supervise(config: Path, source: str | None, log: str, context: typer.Context) -> None:
    """Run all streams of a file, each in its own process."""
    import asyncio

    from quatcast.live.supervisor import read_config, supervise

    if source is not None:
        raise ValueError(f"--config: expected no SOURCE beside it, got {source!r}")
    for parameter in context.command.params:
        given = getattr(context.get_parameter_source(parameter.name or ""), "name", "") == "COMMANDLINE"
        if given and parameter.name not in ("config", "log"):
            option = max(parameter.opts, key=len)
            raise ValueError(
                f"--config: expected no other option than --log beside it, got {option}; write it in the file"
            )
    workers = read_config(config)
    plugins = context.find_root().params.get("plugin") or []
    before = [WORKER, *(word for plugin in plugins for word in ("--plugin", plugin))]
    if failed := asyncio.run(supervise(workers, before, ["--log", log])):
        raise ValueError(f"{config}: {failed} of {len(workers)} streams could not run; see above")


@app.command()
def export(
    session: Annotated[Path, Argument(help="Folder of a session.")],
    to: Annotated[str, Option(help="csv, parquet or xdf.")] = "csv",
    out: Annotated[Path, Option(help="Folder for the files.")] = Path(),
) -> None:
    """Write the samples and forecasts of a session in another format."""
    from quatcast.cli.terminal import say
    from quatcast.live.export import export_session

    for path in export_session(session, to, out):
        say(f"Written: {path}")


@app.command()
def replay(
    session: Annotated[Path, Argument(help="Folder of a session.")],
    to: Annotated[list[str] | None, Option(help="URL to which forecasts go; may be repeated.")] = None,
    speed: Annotated[float, Option(help="1 for real time, 0 for as fast as possible.", min=0)] = 1.0,
    view: Annotated[bool, Option("--view", help="Serve a view for browsers.")] = False,
    port: Annotated[int, Option(help="Port of the view; 0 lets the system choose.", min=0, max=65535)] = 8765,
) -> None:
    """Play a session again to sinks or the view; without either, check that its forecasts can be reproduced."""
    import asyncio
    from urllib.parse import quote

    from quatcast.cli.terminal import say
    from quatcast.live.replay import replay_session
    from quatcast.live.session import read_settings

    settings = read_settings(session)
    if to or view:
        from quatcast.live.run import StreamPlan, ViewAddress, serve

        address = ViewAddress(port=port) if view else None
        plan = StreamPlan(settings, f"file:{quote(str(session))}?speed={speed:g}", tuple(to or ()), view=address)
        summary = asyncio.run(serve(plan, _tell_state))
        tell(f"{summary.frames} samples, {summary.forecasts} forecasts sent")
        return
    result = replay_session(session)
    say(
        f"{result.frames} samples: {result.equal} forecasts are equal in all bits, {len(result.different)} differ, "
        f"{result.unrecorded} were not recorded"
    )
    for line in result.reading.damaged[:5]:
        say(f"damaged: {line}")
    if not result.same:
        raise ValueError(f"{session}: forecast {result.different[0]} is the first that differs")
