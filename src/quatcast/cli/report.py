"""The command `quatcast report`: write the report of an experiment or of a live session."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option


def report(
    store: Annotated[Path, Argument(help="Folder of an experiment, its file results.sqlite, or a live session.")],
    out: Annotated[Path | None, Option(help="Folder of the report.", show_default="folder of the store")] = None,
    title: Annotated[str, Option(help="Title of the report.")] = "",
    anonymise: Annotated[
        bool, Option("--anonymise", help="Number recordings, groups and channels; leave out files and dates.")
    ] = False,
    tolerance: Annotated[
        str, Option(help="Count errors up to this, such as 2mm; not for sessions.", show_default="2mm")
    ] = "",
    figures: Annotated[bool, Option("--figures", help="Also write figures as SVG and PDF; not for sessions.")] = False,
) -> None:
    """Write the report and the tables of an experiment, which may be unfinished, or the report of a live session."""
    from quatcast.cli.compare import store_file
    from quatcast.cli.terminal import say
    from quatcast.evaluation.report import write

    if (store / "session.json").is_file():
        for option, given in (("--tolerance", tolerance), ("--figures", figures)):
            if given:
                raise ValueError(f"{option}: {store} is a live session, whose report has no such part; leave it out")
        _report_session(store, out or store, title, anonymise)
        return
    path = store_file(store)
    if not path.is_file():
        raise FileNotFoundError(
            f"{path}: there is no such file; give a folder of results of `quatcast compare`, or the folder of a "
            "session of `quatcast live`"
        )
    wishes = {"title": title, "anonymise": anonymise, "tolerance": tolerance, "figures": figures}
    say(f"Report: {write(path, out or path.parent, **wishes)}")  # type: ignore[arg-type]


def _report_session(session: Path, out: Path, title: str, anonymise: bool) -> None:
    """Print the figures of a live session, and write them with figures over time as a page that opens offline."""
    from quatcast.cli.terminal import print_table, say
    from quatcast.live.report import write_report
    from quatcast.live.summary import summarise

    summary = summarise(session)
    if anonymise:
        summary = summary.anonymous()
    title = title or summary.title
    for scores in summary.scores:
        kind = f": {scores.kind}" if len(summary.scores) > 1 else ""
        print_table(f"{title}{kind}", scores.heads(), scores.rows(summary.names))
    for line in summary.lines():
        say(line)
    say(f"Report: {write_report(summary, out / 'report.html', title)}")
