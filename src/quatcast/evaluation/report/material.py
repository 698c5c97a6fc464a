"""The material of a report: everything that it shows, read from a store once, with or without names."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from quatcast.data.recording import Recording
from quatcast.evaluation.metrics import error_unit
from quatcast.evaluation.protocol import CUT
from quatcast.evaluation.records import Result, Timing, Trace, ValidationResult
from quatcast.evaluation.report.experiment import Experiment
from quatcast.evaluation.store import Store
from quatcast.evaluation.summary import RecordingInfo, Summary


@dataclass(frozen=True)
class Material:
    """What a report is made of.

    Attributes
    ----------
    about
        Facts about the experiment.
    results
        Results of the test.
    traces
        Forecasts over time.
    tried
        Mean scores of the configurations in the validation.
    timings
        Times per step at the sizes of the paper.
    validation_runs
        Number of runs of the validation.
    """

    about: Experiment
    results: list[Result]
    traces: list[Trace]
    tried: list[ValidationResult]
    timings: list[Timing]
    validation_runs: int

    @classmethod
    def read(cls, store: Store) -> Material:
        """Return the material of a store."""
        return cls(
            Experiment(store.meta(), tuple(store.recordings())),
            store.results("test"),
            store.traces(),
            store.tried(),
            store.timings(),
            store.count("validation"),
        )

    @cached_property
    def recordings(self) -> dict[str, Recording]:
        """The recordings by name."""
        return {recording.name: recording for recording in self.about.recordings}

    @cached_property
    def summary(self) -> Summary:
        """The summary of the test over all recordings, whatever their units."""
        infos = [RecordingInfo(r.name, r.group, error_unit(r), len(r.channels)) for r in self.about.recordings]
        return Summary(self.results, infos)


SECRET = ("data", "channels", "rates", "units", "groups")
"""Settings that may hold names."""


def anonymous(material: Material) -> Material:
    """Return the material without names: recordings, groups and channels are numbered, dates and files left out."""
    recordings = material.about.recordings
    names = _numbered("recording", [recording.name for recording in recordings])
    groups = {"": "", **_numbered("group", sorted({recording.group for recording in recordings} - {""}))}
    meta = {key: value for key, value in material.about.meta.items() if key not in ("data", "started", "title")}
    meta["finished"] = "yes" if meta.get("finished") else ""
    meta["settings"] = _without_names(meta.get("settings", ""))
    if "sample_times" in meta:
        measured = material.about.sample_times
        for name, alias in names.items():
            measured["recording"] = alias if measured["recording"] == name else measured["recording"]
        meta["sample_times"] = json.dumps(measured)
    return Material(
        Experiment(meta, tuple(_anonymous(r, names[r.name], groups[r.group]) for r in recordings)),
        [replace(r, recording=names[r.recording], group=groups.get(r.group, "")) for r in material.results],
        [
            replace(
                t,
                recording=names[t.recording],
                group=groups.get(t.group, ""),
                channels=tuple(f"channel {i + 1}" for i in range(len(t.channels))),
            )
            for t in material.traces
        ],
        [replace(r, recording=names[r.recording]) for r in material.tried],
        material.timings,
        material.validation_runs,
    )


def _numbered(word: str, names: Iterable[str]) -> dict[str, str]:
    return {name: f"{word} {i}" for i, name in enumerate(names, start=1)}


def _anonymous(recording: Recording, name: str, group: str) -> Recording:
    channels = tuple(f"channel {i + 1}" for i in range(len(recording.channels)))
    notes = tuple(note for note in recording.notes if note.startswith(CUT))
    return replace(recording, name=name, group=group, channels=channels, columns=(), order=(), notes=notes)


def _without_names(settings: str) -> str:
    """Return the text of settings without those that may hold names of files, channels and groups."""
    kept, skipping = [], False
    for line in settings.splitlines():
        table = re.match(r"\[(\w+)", line)
        skipping = table[1] in SECRET if table else skipping
        if not skipping and not re.match(rf"({'|'.join(SECRET)}) *=", line):
            kept.append(line)
    return "\n".join(kept) + "\n" if kept else ""
