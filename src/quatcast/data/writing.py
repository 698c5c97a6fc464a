"""Writing recordings to text tables."""

from __future__ import annotations

import csv
import math
import os

from quatcast.basics.escaping import csv_cell
from quatcast.basics.files import new_file
from quatcast.data.recording import Recording
from quatcast.data.times import write_times


def write_csv(recording: Recording, path: str | os.PathLike[str]) -> None:
    """Write a recording to a text table, from which `read` reads exactly the same numbers.

    A recording that was read from a text table is written with the names, the order and the separators of its file, and
    with its column of times. Otherwise the columns are `time` in seconds and, for each channel, `CHANNEL.x`,
    `CHANNEL.y` and `CHANNEL.z`, preceded by `CHANNEL.w` in 4-D, with the unit in brackets if it is known. The cell
    of a missing value is empty. A name that a spreadsheet would take for a formula is written with an apostrophe in
    front.

    Parameters
    ----------
    recording
        Recording to write.
    path
        Path of the file. An existing file is replaced.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> recording = Recording("walk", np.zeros((2, 1, 3)), [0.0, 0.1], rate=10.0, channels=["hip"])
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "walk.csv"
    ...     write_csv(recording, file)
    ...     file.read_text().splitlines()
    ['time,hip.x,hip.y,hip.z', '0.0,0.0,0.0,0.0', '0.1,0.0,0.0,0.0']
    """
    style = recording.style
    values = recording.positions.reshape(len(recording), -1)[:, recording.order]
    missing = "nan" if style.delimiter == " " else ""
    comma = style.decimal == ","
    with new_file(path) as file:
        writer = csv.writer(file, delimiter=style.delimiter)
        if style.header != "no":
            names = [csv_cell(name) for name in (style.time, *(column.name for column in recording.layout()))]
            file.write("# " if style.header == "comment" else "")
            writer.writerow(names)
        if style.header == "yes" and style.time_unit_below is not None:
            writer.writerow([style.time_unit_below, *(column.unit for column in recording.layout())])
        for time, row in zip(write_times(recording.times, style), values.tolist(), strict=True):
            cells = [missing if math.isnan(value) else repr(value) for value in row]
            writer.writerow([time, *(cell.replace(".", ",") for cell in cells)] if comma else [time, *cells])
