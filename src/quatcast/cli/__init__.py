"""The command line `quatcast`, with one file per command. Heavy modules are imported by the commands that need them."""

from __future__ import annotations

import logging
import re
import sqlite3
import sys
import warnings
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor
from functools import cache
from typing import Annotated, Any

import typer
from typer.main import get_command

from quatcast import __version__
from quatcast.basics import startup
from quatcast.basics.messages import message_of
from quatcast.cli import bench, compare, forecast, live, plugins, recordings, report
from quatcast.cli.terminal import AS_RECORDS, Interrupted, prepare_streams, warn

app = typer.Typer(
    help="Forecast 3-D and 4-D signals sample by sample, and compare forecasting methods.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("compare")(compare.compare)
app.command("forecast")(forecast.forecast)
app.add_typer(live.app, name="live")
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
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    plugin: Annotated[
        list[str] | None,
        typer.Option(help="Module or .py file that registers predictors or data sources; may be repeated."),
    ] = None,
    worker: Annotated[bool, typer.Option(live.WORKER, hidden=True)] = False,
) -> None:
    plugins.load_entry_points()
    for name in plugin or []:
        plugins.load_plugin(name)


MEMORY_ADVICE = {
    "compare": "use fewer --workers or a smaller --max-runs; the same command resumes",
    "forecast": "use smaller settings of the predictor (--set) or a shorter file",
}
"""Command → advice for a lack of memory."""

OPTIONS = {"names": "--channels", "stream": "--name"}
"""Settings → the options that give them, where these have another name."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 on success, 2 after an error in one line, 130 after an interrupt.

    In a process of the supervisor of live streams, an error other than wrong settings has exit code 1.
    """
    startup.end()
    prepare_streams()
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return the exit code. Warnings for users are one line each."""
    AS_RECORDS.set(False)
    with warnings.catch_warnings():
        warnings.simplefilter("default", FutureWarning)
        warnings.showwarning = lambda message, *_, **__: warn(str(message))
        return _run(arguments)


@cache
def _command() -> Any:
    """Return the commands; reading them from the functions takes as long as many a command."""
    return get_command(app)


def _run(arguments: Sequence[str]) -> int:
    # The supervisor of live streams starts a stream again unless its settings are wrong, which exit code 2 says.
    surroundings = 1 if live.WORKER in arguments else 2
    try:
        code = _command().main(list(arguments), prog_name="quatcast", standalone_mode=False) or 0
        # Some versions of typer return an exit code after Ctrl-C, others raise.
        return _fail("interrupted", code) if code == 130 else code
    except Interrupted as error:
        return _fail(str(error), 130)
    except (KeyboardInterrupt, typer.Abort):
        return _fail("interrupted", 130)
    except BrokenExecutor:
        return _fail(f"a worker process died, perhaps for lack of memory{_advice(arguments)}", surroundings)
    except OSError as error:
        return _fail(message_of(error), surroundings)
    except sqlite3.Error as error:
        return _fail(str(error), surroundings)
    except ValueError as error:
        return _fail(_with_option(str(error), arguments), 2)
    except ImportError as error:
        return _fail(str(error), 2)
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and "out of memory" not in str(error):
            raise
        return _fail(f"out of memory{_advice(arguments)}", surroundings)
    except Exception as error:
        # The class of usage errors has moved between versions of typer; all versions have this method.
        if not hasattr(error, "format_message"):
            raise
        return _fail(_usage_message(error), 2)


def _with_option(message: str, arguments: Sequence[str]) -> str:
    """Return the message of an error, which begins with an option if it begins with the setting that the option gave.

    Examples
    --------
    >>> _with_option("horizons: expected a positive number of seconds, got -1.0", ["compare", "--horizon", "-1"])
    '--horizon: expected a positive number of seconds, got -1.0'
    >>> _with_option("units.arm: expected a text, got ''", ["compare", "--settings", "mine.toml"])
    "units.arm: expected a text, got ''"
    """
    setting = re.match(r"(\w+)(?:\.(\S+))?(?=: )", message)
    if not setting:
        return message
    given = {word.partition("=")[0] for word in arguments}
    name = OPTIONS.get(setting[1], "--" + setting[1].replace("_", "-"))
    option = next((word for word in (name, name.removesuffix("s")) if word in given), "")
    pattern = f" {setting[2]}" if setting[2] not in (None, "*") else ""
    return f"{option}{pattern}{message[setting.end() :]}" if option else message


def _usage_message(error: Any) -> str:
    """Return the message of an error of typer; that of a wrong value names the option and the value."""
    names, message = getattr(getattr(error, "param", None), "opts", None), getattr(error, "message", "")
    if not (names and message):
        if "option: --plugin" in (told := str(error.format_message())):
            return f"{told}; it comes before the command: quatcast --plugin …"
        command = getattr(getattr(error, "ctx", None), "command_path", "quatcast")
        return f"{told.rstrip('.') or 'expected a command'} (see {command} --help)"
    # Recent versions of typer let pydantic check the values, whose messages do not contain them.
    problems = error.__cause__.errors() if hasattr(error.__cause__, "errors") else []
    if problems:
        expected = message.removeprefix("Input should be ").partition(", unable to parse")[0]
        message = f"expected {expected.replace('a valid', 'a')}, got {problems[0]['input']!r}"
    return f"{names[0]}: {message}"


def _advice(arguments: Sequence[str]) -> str:
    return next((f"; {MEMORY_ADVICE[word]}" for word in arguments if word in MEMORY_ADVICE), "")


def _fail(message: str, code: int) -> int:
    warn(" ".join(message.split()), "error", logging.ERROR)
    return code
