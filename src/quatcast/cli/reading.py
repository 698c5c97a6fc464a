"""Options of the commands that read files, for files that are not clear by themselves; see `quatcast.data.read`."""

from __future__ import annotations

from typing import Annotated, Any

from typer import Option

from quatcast.cli.choices import words

Dimensions = Annotated[int | None, Option(help="Columns per channel, 3 or 4.")]
Columns = Annotated[list[str] | None, Option(help="Columns of a channel, such as hip=a,b,c; once per channel.")]
Ignore = Annotated[list[str] | None, Option(help="Columns to ignore, separated by commas.")]
Time = Annotated[str | None, Option("--time", help="Column of times, by name or number.")]
TimeUnit = Annotated[str | None, Option(help="Unit of the times: s, ms, us, ns, min or h.")]
Space = Annotated[str | None, Option(help="position, vector, orientation or pose: read only these.")]
Encoding = Annotated[str | None, Option(help="Encoding of the file, if it is not UTF-8.")]

# Commands that read a single kind of file; compare has rates and units by pattern instead.
Rate = Annotated[float | None, Option(help="Samples per second, if the file has no times.")]
Unit = Annotated[str | None, Option(help="Unit of all channels, mm, or of some, hip=mm,turn=deg.")]
Channels = Annotated[list[str] | None, Option(help="Channels to read, separated by commas.")]


def given(**options: Any) -> dict[str, Any]:
    """Return the options that were given, as arguments of `quatcast.data.read` and `quatcast.data.read_all`.

    Examples
    --------
    >>> given(time="stamp", ignore=["a,b", "c"], encoding=None)
    {'time': 'stamp', 'ignore': ['a', 'b', 'c']}
    """
    for name in ("ignore", "channels"):
        if options.get(name) is not None:
            options[name] = words(options[name])
    return {name: value for name, value in options.items() if value is not None}
