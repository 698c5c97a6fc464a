"""The command `quatcast data`: list, download, simulate and inspect recordings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

app = typer.Typer(help="List, download, simulate and inspect recordings.", no_args_is_help=True)


@app.command("list")
def list_() -> None:
    """List the data sources of compare."""
    from quatcast.cli.terminal import print_table
    from quatcast.data import sources

    rows = [[s.name, s.title, "to be downloaded" if s.needs_download() else "available"] for s in sources()]
    rows.append(["FILE", "a text table with a column of times and 3 or 4 columns per channel", ""])
    print_table("Data sources", ["name", "description", "state"], rows, words=3)


@app.command()
def fetch() -> None:
    """Download the ExtMarker recordings into the cache, and print their citation."""
    from quatcast.cli.terminal import say
    from quatcast.data import CITATION
    from quatcast.data.extmarker_files import cached

    say(f"ExtMarker: {cached(progress=True)}")
    say(f"Please cite: {CITATION}")


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
    data: Annotated[list[str], Argument(help="Names of data sources, or files.")],
    data_dir: Annotated[str | None, Option(help="Folder of the files of the source, instead of a download.")] = None,
) -> None:
    """Print the contents of recordings."""
    import numpy as np

    from quatcast.cli.terminal import print_table
    from quatcast.evaluation import load

    recordings = [one for name in data for one in load(name, data_dir=data_dir, progress=True)]
    rows = []
    for recording in recordings:
        positions = recording.positions
        rows.append(
            [
                recording.name,
                recording.group,
                ", ".join(recording.channels),
                f"{recording.dimensions}",
                f"{len(recording)}",
                f"{recording.duration:.1f}",
                f"{recording.rate:g}",
                f"{np.isnan(positions).any(axis=-1).mean():.1%}",
                f"{np.nanmax(np.nanmax(positions, axis=0) - np.nanmin(positions, axis=0)):.1f}",
            ]
        )
    numbers = ["dimensions", "samples", "seconds", "Hz", "missing", "range (mm)"]
    print_table("Recordings", ["name", "group", "channels", *numbers], rows, words=3)
