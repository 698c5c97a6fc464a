"""What a report knows of its experiment besides the results: data, profile, seeds, what was cut, and its options."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePath
from typing import Any

from quatcast.data.recording import Recording
from quatcast.evaluation.protocol import CUT, QUICK_SECONDS, rounded_horizons
from quatcast.evaluation.report import published
from quatcast.evaluation.summary import Summary


@dataclass(frozen=True)
class Experiment:
    r"""The facts about an experiment, from its store.

    Parameters
    ----------
    meta
        See `quatcast.evaluation.Store.meta`.
    recordings
        The recordings.

    Examples
    --------
    >>> about = Experiment({"data": "extmarker", "settings": 'profile = "quick"\nseconds = 120.0\ntest_seeds = 4'})
    >>> about.beside_paper, about.settings["seconds"]
    (True, 120.0)
    """

    meta: Mapping[str, str]
    recordings: Sequence[Recording] = field(default=())

    @property
    def data(self) -> str:
        """Name of the data source, or the files without their folders."""
        return self.meta.get("data", "")

    @property
    def beside_paper(self) -> bool:
        """Whether the paper's numbers are shown: for its recordings, and for those that simulate them."""
        return self.data in (published.DATA_SET, "simulated")

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The settings as plain values; empty if there are none."""
        return tomllib.loads(self.meta.get("settings", ""))

    def settings_text(self) -> str:
        """Return the settings as TOML text, with files but without the folders that they are in.

        A group may consist of a folder, whose name is then shown.
        """
        lines, table = [], ""
        for line in self.meta.get("settings", "").splitlines():
            table = line if line.startswith("[") else table
            key, equals, value = line.partition(" = ")
            if equals and value.startswith("[") and (key == "data" or table == "[groups]"):
                keep = 2 if table == "[groups]" else 1
                shown = ["/".join(PurePath(word).parts[-keep:]) for word in json.loads(value)]
                line = f"{key} = {json.dumps(shown, ensure_ascii=False)}"
            elif table in ("[rates]", "[units]") and key.startswith('"'):
                pattern, end = json.JSONDecoder().raw_decode(line)
                line = json.dumps(PurePath(pattern).name, ensure_ascii=False) + line[end:]
            lines.append(line)
        return "\n".join(lines)

    @property
    def sample_times(self) -> dict[str, Any]:
        """The measured times per sample: recording, rate, and milliseconds by predictor; empty without any."""
        found: dict[str, Any] = json.loads(self.meta.get("sample_times", "{}"))
        return found

    def cut(self) -> str:
        """Return which recordings were cut, as a sentence; empty if none was."""
        lengths = [note for recording in self.recordings for note in recording.notes if note.startswith(CUT)]
        if not lengths:
            return ""
        seconds, profile = self.settings.get("seconds", 0.0), self.settings.get("profile", "")
        count, everything = len(lengths), len(self.recordings)
        which = f"{count} of {everything} recordings were"
        if count == everything:
            which = "The only recording was" if count == 1 else f"All {count} recordings were"
        why = " (profile quick)" if (profile, seconds) == ("quick", QUICK_SECONDS) else ""
        return f"{which} cut to the first {seconds:g} s{why}; --seconds 0 keeps recordings whole."

    def faults(self) -> str:
        """Return which faults the predictors saw, as a sentence; empty if none."""
        glitches, missing = self.settings.get("glitches", 0.0), self.settings.get("missing", 0.0)
        size = self.settings.get("glitch_size", 5.0)
        kinds = [f"{100 * glitches:.3g} % displaced by {size:g} times the spread of the channel"] if glitches else []
        kinds += [f"{100 * missing:.3g} % missing"] if missing else []
        if not kinds:
            return ""
        return (
            f"The predictors saw faulty samples: {' and '.join(kinds)}. Their forecasts are scored against the "
            "recordings without these faults."
        )

    def reduced(self) -> str:
        """Return how the experiment is smaller than the paper's, as a sentence; empty if it is not."""
        given = self.settings
        profile = given.get("profile", "published")
        if profile == "published" and not given.get("seconds"):
            return ""
        length = f"the first {given['seconds']:g} s of each recording" if given.get("seconds") else "whole recordings"
        counts = [math.prod(len(values) for values in grid.values()) for grid in given.get("grids", {}).values()]
        grid = f"up to {max(counts)} configurations per predictor" if counts else "a reduced grid"
        seeds = given.get("test_seeds", "?")
        return (
            f'Our values are those of the profile "{profile}": {length}, {grid}, {seeds} runs of each network. '
            f"The paper's are for whole recordings, up to {published.CONFIGURATIONS} configurations and "
            f"{published.RUNS} runs."
        )

    def notes(self, summary: Summary, horizons: Sequence[float] | None = None) -> list[str]:
        """Return the sentences that belong to the errors of a summary: what was cut, rounded and made faulty.

        Parameters
        ----------
        summary
            The summary.
        horizons
            The horizons of the errors; by default all.
        """
        names = [recording.name for recording in summary.recordings]
        own = [recording for recording in self.recordings if recording.name in names]
        rounded = rounded_horizons(summary.horizons if horizons is None else horizons, own)
        return [text for text in (self.cut(), *rounded, self.faults()) if text]
