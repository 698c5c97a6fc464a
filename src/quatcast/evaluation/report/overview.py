"""What was tested: the table of recordings, and the texts that introduce a report to a new reader."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from quatcast.basics.escaping import html_text
from quatcast.data.recording import Recording
from quatcast.evaluation.catalogue import describe
from quatcast.evaluation.metrics import error_unit
from quatcast.evaluation.protocol import CUT, SCALING, TEST
from quatcast.evaluation.report.tables import Cell, Number, Table, columns
from quatcast.evaluation.summary import Summary

SCORES = (
    "<p>The error of a forecast is its distance from the actual position. RMSE is its root mean square and MAE its "
    "mean over the test; a smaller value is better. nRMSE is the RMSE divided by that of the mean position: a "
    "predictor with a value of 1 is no better than a constant. Jitter is the mean distance between two successive "
    "forecasts: a smaller value is a smoother path.</p>"
)


def lead(summary: Summary) -> list[str]:
    """Return what was done, as paragraphs for a reader who has not read anything else."""
    horizons = join([f"{horizon:g}" for horizon in summary.horizons])
    task = (
        f"Each predictor went through each recording sample by sample. At every sample it forecast the position "
        f"{horizons} s later, and it learnt as it went. Its settings were chosen in the first {TEST:g} s of a "
        f"recording. The errors below are those after the first {TEST:g} s."
    )
    baseline = next((name for name in summary.predictors if describe(name).baseline), "")
    if baseline:
        task += (
            f" The predictor <b>{html_text(baseline)}</b> repeats the last position that was observed: others are of "
            "use where their errors are smaller."
        )
    rules = {
        "causal": "With <b>causal labels</b> a predictor learns from a position when it has been observed, as a live "
        "system does.",
        "lookahead": "With <b>look-ahead labels</b> it learns from a position before that position has been observed. "
        "No live system can do that; such errors are shown because many publications report them.",
    }
    return [task, " ".join(rules[rule] for rule in summary.labels)]


def predictors(summary: Summary, grids: Mapping[str, Mapping[str, Sequence[Any]]]) -> Table:
    """Return the table of predictors: what they are, how many configurations were tried, and how often they ran.

    Parameters
    ----------
    summary
        The summary of the test.
    grids
        Predictor → setting → values that were tried.
    """
    rows: list[tuple[Cell, ...]] = []
    for name in summary.predictors:
        tried = math.prod(len(values) for values in grids.get(name, {}).values())
        seeds = {result.seed for result in summary.results if result.predictor == name}
        rows.append((name, describe(name).title, Number(tried, 0), Number(len(seeds), 0)))
    headings = columns(["Predictor", "Method"], ["Configurations tried", "Runs per recording"])
    notes = (
        "Predictors that begin with random weights are run several times; others give the same result every time.",
    )
    return Table("predictors", "Predictors that were compared", headings, tuple(rows), notes)


def recordings(given: Sequence[Recording]) -> Table:
    """Return the table of recordings: what they are, and how much of them was used."""
    rows: list[tuple[Cell, ...]] = []
    for recording in given:
        used = len(recording) / recording.rate
        cut = next((note for note in recording.notes if note.startswith(CUT)), "")
        missing = float(np.isnan(recording.positions).any(axis=-1).mean())
        rows.append(
            (
                recording.name,
                recording.group,
                ", ".join(recording.channels),
                error_unit(recording) or "unknown",
                Number(recording.rate, 0 if abs(recording.rate - round(recording.rate)) < 0.005 else 2),
                Number(used, 0),
                cut.rpartition(" of ")[2].removesuffix(" s") or f"{used:.0f}",
                Number(100 * missing, 1),
            )
        )
    words, numbers = ["Recording", "Group", "Channels", "Unit"], ["Rate [Hz]", "Used [s]", "Whole [s]", "Missing [%]"]
    notes = (
        f"The first {SCALING:g} s are used for scaling, the first {TEST:g} s for the choice of settings, the rest for "
        "the test. Used: length that was evaluated. Missing: share of samples that were not observed.",
    )
    return Table("recordings", "Recordings that were tested", columns(words, numbers), tuple(rows), notes)


def join(words: Sequence[str]) -> str:
    """Return words as an enumeration.

    Examples
    --------
    >>> join(["a", "b", "c"])
    'a, b and c'
    """
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
