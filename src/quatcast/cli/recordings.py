"""The command `quatcast data`: list, download, simulate and inspect recordings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from quatcast.cli import reading

if TYPE_CHECKING:
    from quatcast.data import Recording

app = typer.Typer(help="List, download, simulate and inspect recordings.", no_args_is_help=True)


@app.command("list")
def list_() -> None:
    """List the data sources of compare."""
    from quatcast.cli.terminal import print_table
    from quatcast.data import sources

    rows = [[s.name, s.title, s.state] for s in sources()]
    rows.append(["FILE", "a text table, or an export of a motion capture or navigation system", ""])
    print_table("Data sources", ["name", "description", "state"], rows, words=3)


@app.command()
def fetch() -> None:
    """Download the ExtMarker recordings and the traces of tumours into the cache, and print their citations."""
    from quatcast.cli.terminal import say
    from quatcast.data import CITATION, TUMOUR_CITATION, extmarker_files, tumour_files

    for name, fetch_all, citation in (
        ("ExtMarker", extmarker_files.cached, CITATION),
        ("Tumours", tumour_files.cached, TUMOUR_CITATION),
    ):
        say(f"{name}: {fetch_all(progress=True)}")
        say(f"Please cite: {citation}")


@app.command()
def simulate(
    out: Annotated[Path, Option(help="Folder for the nine files.")] = Path("simulated"),
    seed: Annotated[int, Option(help="Seed; another seed simulates other people.", min=0)] = 0,
    seconds: Annotated[float | None, Option(help="Length of every recording.", show_default="varies")] = None,
    glitches: Annotated[float, Option(help="Probability that a sample of a marker is wrong by 30 mm.")] = 0.0,
    dropouts: Annotated[float, Option(help="Probability that a sample of a marker is missing.")] = 0.0,
) -> None:
    """Write simulated recordings as CSV files."""
    from quatcast.cli.terminal import say
    from quatcast.data import simulated, write_csv

    recordings = simulated(seed, seconds=seconds, glitches=glitches, dropouts=dropouts)
    out.mkdir(parents=True, exist_ok=True)
    for recording in recordings:
        write_csv(recording, out / f"{recording.name}.csv")
    say(f"{len(recordings)} recordings in {out}")


@app.command()
def show(
    data: Annotated[list[str], Argument(help="Names of data sources, files, folders of files, or patterns.")],
    data_dir: Annotated[str | None, Option(help="Folder of the files of the source, instead of a download.")] = None,
    rate: reading.Rate = None,
    dimensions: reading.Dimensions = None,
    channels: reading.Channels = None,
    columns: reading.Columns = None,
    ignore: reading.Ignore = None,
    time_column: reading.Time = None,
    time_unit: reading.TimeUnit = None,
    unit: reading.Unit = None,
    space: reading.Space = None,
    encoding: reading.Encoding = None,
) -> None:
    """Print the contents of recordings, and what the reader assumed about files.

    Files that cannot be read are reported, and the others are shown.
    """
    options = reading.given(locals())
    from quatcast.basics.messages import message_of
    from quatcast.cli.known_faults import suspected_codes
    from quatcast.cli.terminal import print_table, warn
    from quatcast.evaluation.run.recordings import find_files, is_source

    rows = []
    errors: dict[str, Exception] = {}
    for name in [file for word in data for file in ([word] if is_source(word) else find_files([word]))]:
        try:
            found = _load(name, data_dir, options)
        except (ValueError, ImportError, OSError) as error:
            errors.setdefault(message_of(error), error)
            continue
        for recording in found:
            rows.append(_row(recording))
            codes = [
                f"{said}; if this means lost, forecast with --sentinel {code}"
                for said, code in suspected_codes(recording)
            ]
            for note in (*recording.notes, *codes):
                warn(f"note: {recording.name}: {note}")
    if len(errors) == 1 and not rows:
        raise next(iter(errors.values()))
    for message in errors:
        warn(message)
    if rows:
        numbers = ["samples", "seconds", "Hz", "jitter", "missing", "range"]
        print_table("Recordings", ["name", "group", "channels", "kind", *numbers], rows, words=4)
    if errors:
        raise typer.Exit(2)


def _load(name: str, data_dir: str | None, options: dict[str, Any]) -> list[Recording]:
    """Load the recordings of a source or a file."""
    from quatcast.data import read_all
    from quatcast.evaluation import load
    from quatcast.evaluation.run.recordings import is_source

    if is_source(name) or not Path(name).is_file():
        return load(name, data_dir=data_dir, progress=True, reading=options)
    return read_all(name, **options)


def _row(recording: Recording) -> list[str]:
    """Return the row of a recording in the table of `show`."""
    import numpy as np

    from quatcast.data.wording import with_unit

    positions = recording.positions
    kind = f"{recording.dimensions}-D" if recording.space in ("position", "vector") else recording.space
    timing = recording.timing
    # The range is that of the positions: the numbers of a quaternion have no unit.
    moving = positions[..., :3] if recording.space == "pose" else positions
    # A coordinate that was never seen has no range, about which NumPy would warn.
    seen = moving[:, np.isfinite(moving).any(axis=0)]
    reach = np.max(np.nanmax(seen, axis=0) - np.nanmin(seen, axis=0)) if seen.size else np.nan
    return [
        recording.name,
        recording.group,
        ", ".join(map(with_unit, recording.channels, recording.units)),
        kind,
        f"{len(recording)}",
        f"{recording.duration:.1f}",
        f"{recording.rate:.6g}",
        "" if timing is None else f"{timing.jitter * timing.rate:.1%}",
        f"{np.isnan(positions).any(axis=-1).mean():.1%}",
        f"{reach:.4g} {recording.unit}".rstrip(),
    ]
