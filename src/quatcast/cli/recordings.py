"""`quatcast data`: what recordings there are, and how to have them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

app = typer.Typer(help="List, fetch, simulate and show recordings.", no_args_is_help=True)


@app.command("list")
def list_() -> None:
    """Name the data sets that compare takes."""
    from quatcast.cli.show import table
    from quatcast.data.download import cache_folder, is_complete
    from quatcast.data.extmarker_files import CHECKSUMS

    there = is_complete(cache_folder() / "extmarker", CHECKSUMS)
    rows = [
        ["simulated", "nine recordings of simulated breathing, three markers, 10 Hz", "made when needed"],
        ["extmarker", "nine recordings of three chest markers, 10 Hz", "in the cache" if there else "to be fetched"],
        ["FILE", "a table of text: a column of times, 3 or 4 columns a channel", "yours"],
    ]
    table("Data sets", ["name", "what it is", "where it is"], rows, words=3)


@app.command()
def fetch() -> None:
    """Download the ExtMarker recordings into the cache, and say whom to cite."""
    from quatcast.cli.show import say
    from quatcast.data import CITATION
    from quatcast.data.extmarker_files import cached

    say(f"ExtMarker: {cached(progress=True)}")
    say(f"Please cite: {CITATION}")


@app.command()
def simulate(
    out: Annotated[Path, Option(help="Folder of the nine files.")] = Path("simulated"),
    seed: Annotated[int, Option(help="Other seeds are other people.", min=0)] = 0,
    seconds: Annotated[float | None, Option(help="Length of every recording, instead of its own.")] = None,
    glitches: Annotated[float, Option(help="Probability that a sample of a marker lies by 30 mm.")] = 0.0,
    dropouts: Annotated[float, Option(help="Probability that a sample of a marker is missing.")] = 0.0,
) -> None:
    """Write simulated recordings as CSV files."""
    from quatcast.cli.show import say
    from quatcast.data import simulated, write_csv

    recordings = simulated(seed, seconds=seconds, glitches=glitches, dropouts=dropouts)
    out.mkdir(parents=True, exist_ok=True)
    for recording in recordings:
        write_csv(recording, out / f"{recording.name}.csv")
    say(f"{len(recordings)} recordings in {out}")


@app.command()
def show(
    data: Annotated[list[str], Argument(help="simulated, extmarker, or files.")],
    data_dir: Annotated[str | None, Option(help="Folder of the ExtMarker files, instead of a download.")] = None,
) -> None:
    """Print what recordings hold."""
    import numpy as np

    from quatcast.cli.show import table
    from quatcast.evaluation.sources import load

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
    table("Recordings", ["name", "group", "channels", *numbers], rows, words=3)
