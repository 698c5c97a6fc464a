"""Options of the commands that read files, for files that are not clear by themselves; see `quatcast.data.read`."""

from __future__ import annotations

from collections.abc import Mapping
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


HOW = {name: name for name in ("columns", "ignore", "time_unit", "space", "dimensions", "encoding")}
HOW["time_column"] = "time"
"""Parameter of a command → argument of `quatcast.data.read`."""
WHAT = {name: name for name in ("rate", "unit", "channels")}
"""The same for options that compare has with another meaning."""


def given(parameters: Mapping[str, Any], names: Mapping[str, str] = HOW | WHAT) -> dict[str, Any]:
    """Return the reading options among the parameters of a command, as arguments of `quatcast.data.read`.

    Examples
    --------
    >>> given({"file": "walk.csv", "time_column": "stamp", "ignore": ["a,b", "c"], "encoding": None})
    {'ignore': ['a', 'b', 'c'], 'time': 'stamp'}
    """
    options = {argument: parameters[name] for name, argument in names.items() if parameters.get(name) is not None}
    return options | {name: words(options[name]) for name in ("ignore", "channels") if name in options}
