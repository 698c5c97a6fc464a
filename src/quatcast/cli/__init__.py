"""The command line `quatcast`. One file a command; what is heavy is imported when a command needs it."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor
from typing import Annotated

import typer
from typer.main import get_command

from quatcast import __version__
from quatcast.cli import bench, compare, forecast, recordings, report
from quatcast.cli.show import Interrupted

app = typer.Typer(
    help="Forecast 3-D and 4-D signals sample by sample, and compare what forecasts them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("compare")(compare.compare)
app.command("forecast")(forecast.forecast)
app.add_typer(recordings.app, name="data")
app.command("bench")(bench.bench)
app.command("report")(report.report)


def _version(asked: bool) -> None:
    if asked:
        print(f"quatcast {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version and leave.")
    ] = False,
) -> None:
    pass


LESS = {
    "compare": "fewer --workers or --max-runs need less, and the same command goes on",
    "forecast": "smaller settings of the predictor (--set), or a shorter file, need less",
}
"""Command → what helps when memory runs out."""

WORDS: dict[type[OSError], str] = {
    FileNotFoundError: "there is no such file or folder",
    FileExistsError: "is a file, not a folder",
    NotADirectoryError: "lies in a file, not in a folder",
    IsADirectoryError: "is a folder, not a file",
}
"""What the operating system says, in words."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with 0, with 2 after an error said in one line, or with 130 when interrupted."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Run the command line; exit code."""
    try:
        code = get_command(app).main(list(arguments), prog_name="quatcast", standalone_mode=False) or 0
        # Some versions of typer make an exit code of Ctrl-C, others raise.
        return _say("interrupted", code) if code == 130 else code
    except Interrupted as error:
        return _say(str(error), 130)
    except (KeyboardInterrupt, typer.Abort):
        return _say("interrupted", 130)
    except BrokenExecutor:
        return _say(f"a worker process died, perhaps for want of memory{_advice(arguments)}", 2)
    except OSError as error:
        return _say(_in_words(error), 2)
    except (ValueError, ImportError, sqlite3.Error) as error:
        return _say(str(error), 2)
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and "out of memory" not in str(error):
            raise
        return _say(f"out of memory{_advice(arguments)}", 2)
    except Exception as error:
        # Usage errors come from a module that has moved between versions of typer; this is how they all can be told.
        message = getattr(error, "format_message", None)
        if message is None:
            raise
        return _say(message() or "a command is needed; see quatcast --help", 2)


def _advice(arguments: Sequence[str]) -> str:
    return f"; {LESS[arguments[0]]}" if arguments[0] in LESS else ""


def _in_words(error: OSError) -> str:
    """Error of the operating system without its number; one that was raised with words of its own keeps them."""
    if error.filename is None or error.strerror is None:
        return str(error)
    return f"{error.filename}: {WORDS.get(type(error), error.strerror.lower())}"


def _say(what: str, code: int) -> int:
    print(f"quatcast: {' '.join(what.split())}", file=sys.stderr)
    return code
