"""The settings of an experiment, the profiles that provide their defaults, and the TOML text that reproduces it."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
import tomllib
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, Self

from quatcast.evaluation.catalogue import CATALOGUE, Predictor, find_predictor, predictors
from quatcast.evaluation.protocol import QUICK_SECONDS
from quatcast.evaluation.records import Configuration
from quatcast.evaluation.run.recordings import is_source

Grid = dict[str, list[Any]]
"""Setting of a predictor → values to try."""

PROFILES: dict[str, dict[str, Any]] = {
    "quick": {"seconds": QUICK_SECONDS, "validation_seeds": 2, "test_seeds": 4},
    "standard": {"validation_seeds": 5, "test_seeds": 20},
    "published": {"validation_seeds": 50, "test_seeds": 300},
}
"""Profile → default settings. The grids of each profile are in the predictors."""

TABLES = ("rates", "units", "groups")
"""Settings that are tables in a TOML file."""
NEWER = ("channels", "glitches", "missing", "glitch_size")
"""Settings that stores of earlier versions do not have."""

LONGEST = 1e9
"""Limit on durations in seconds, about thirty years."""
LARGEST_FLOAT = 1e301
"""Limit on numbers, so that products of them are finite too."""
LARGEST = 10**12
"""Largest whole number. Settings that need more time or memory than there is are refused elsewhere."""
RENAMED = {"rate": "learning_rate"}
"""Former name of a predictor's setting → its present name."""


@dataclass(frozen=True)
class Settings:
    """Everything that determines the results of `compare`, and where they are computed.

    Attributes
    ----------
    profile
        "quick", "standard" or "published": the defaults of seconds, seeds and grids.
    data
        Name of a data source, such as "simulated" or "extmarker", or a list of files.
    data_dir
        Folder of the files of a source; None for its default place.
    seconds
        Length to which recordings are cut; 0 keeps them whole.
    rates, units, channels, groups
        How files are read; see `quatcast.evaluation.load`.
    glitches, missing
        Probabilities with which a sample that the predictors see is displaced and missing; see
        `quatcast.evaluation.run.faults`. Forecasts are scored against the undisturbed recordings.
    glitch_size
        Distance by which a sample is displaced, in multiples of the spread of its channel.
    predictors, labels, horizons
        What is compared; horizons in seconds.
    validation_seeds, test_seeds
        Runs of each seeded predictor in the two stages.
    grids
        Predictor → setting → values to try.
    max_runs
        Limit on the runs that are computed side by side; None for 64 on a CPU and 2000 on a GPU.
    device
        "cpu", "cuda" or the name of an array library.
    out, workers, cluster
        Folder of the results, number of worker processes, address of a Dask scheduler. They do not change results.

    Examples
    --------
    >>> import tomllib
    >>> settings = Settings.of({"profile": "quick", "predictors": ["LMS"], "test_seeds": 3})
    >>> settings.grids
    {'LMS': {'lags': [10, 30], 'learning_rate': [0.005, 0.05]}}
    >>> Settings.of(tomllib.loads(settings.toml())) == settings
    True
    """

    profile: str = "quick"
    data: str | list[str] = "simulated"
    data_dir: str | None = None
    seconds: float = 0.0
    rates: dict[str, float] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    channels: list[str] | None = None
    groups: dict[str, list[str]] = field(default_factory=dict)
    glitches: float = 0.0
    missing: float = 0.0
    glitch_size: float = 5.0
    predictors: list[str] = field(default_factory=lambda: [p.name for p in predictors() if p.default])
    labels: list[str] = field(default_factory=lambda: ["causal", "lookahead"])
    horizons: list[float] = field(default_factory=lambda: [2.0])
    validation_seeds: int = 2
    test_seeds: int = 4
    grids: dict[str, Grid] = field(default_factory=dict)
    max_runs: int | None = None
    device: str = "cpu"
    out: str | None = None
    workers: int | None = None
    cluster: str | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Return settings from plain values, as in a TOML file; the profile provides those that are not given."""
        for key in given:
            if key not in _CHECKS:
                raise ValueError(f"{key}: unknown setting; expected one of {', '.join(sorted(_CHECKS))}")
        values = {key: _CHECKS[key](key, value) for key, value in given.items()}
        settings = cls(**PROFILES[values.get("profile", "quick")] | values)
        compared = [find_predictor(name) for name in settings.predictors]
        if not any(rule in predictor.labels for predictor in compared for rule in settings.labels):
            rules, names = " or ".join(settings.labels), ", ".join(settings.predictors)
            raise ValueError(f"labels: {names} cannot learn from {rules} labels; nothing is left to compare")
        grids = {p.name: p.grid_of(settings.profile) | settings.grids.get(p.name, {}) for p in compared}
        return dataclasses.replace(settings, grids=grids)

    @classmethod
    def read(cls, path: str | os.PathLike[str], **options: Any) -> Self:
        """Read settings from a TOML file; options that are not None take precedence."""
        try:
            values = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except ValueError as error:  # of TOML, of UTF-8, or of a number with thousands of digits
            raise ValueError(f"{path}: expected a TOML file ({error})") from error
        except RecursionError as error:
            raise ValueError(f"{path}: expected a TOML file of settings, got one that is nested too deeply") from error
        chosen = {key: value for key, value in options.items() if value is not None}
        try:
            cls.of(values)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
        # A profile that is named as an option replaces all that a profile determines.
        if "profile" in chosen:
            values = {key: value for key, value in values.items() if key not in {*PROFILES["quick"], "grids"}}
        return cls.of(values | chosen)

    def toml(self) -> str:
        """Return the text of a TOML file that reproduces the results on any machine."""
        where = ("data_dir", "out", "workers", "cluster", "grids", *TABLES)
        # Settings that earlier versions did not have are written only if they differ from the default.
        unsaid = {key for key in NEWER if getattr(self, key) == getattr(Settings(predictors=[]), key)}
        lines = [
            f"{f.name} = {_literal(getattr(self, f.name))}"
            for f in dataclasses.fields(self)
            if f.name not in {*where, *unsaid} and getattr(self, f.name) is not None
        ]
        for name in TABLES:
            if table := getattr(self, name):
                lines += ["", f"[{name}]", *(f"{_key(key)} = {_literal(value)}" for key, value in table.items())]
        for name, grid in self.grids.items():
            lines += ["", f"[grids.{_key(name)}]", *(f"{_key(key)} = {_literal(v)}" for key, v in grid.items())]
        return "\n".join(lines) + "\n"

    def folder(self) -> Path:
        """Return the folder of the results: `out`, or one whose name identifies the settings."""
        if self.out is not None:
            return Path(self.out)
        data = self.data if isinstance(self.data, str) else "-".join(Path(file).stem for file in self.data)[:40]
        keys = ("profile", "data", "max_runs", "device")
        given = {key: getattr(self, key) for key in keys if getattr(self, key) is not None}
        mark = ""
        if self.toml() != Settings.of(given).toml():
            mark = "-" + hashlib.sha256(self.toml().encode()).hexdigest()[:6]
        return Path("runs") / f"{data}-{self.profile}{mark}"

    def configurations(self, predictor: str) -> list[Configuration]:
        """Return every configuration in the grid of a predictor."""
        grid = self.grids[predictor]
        return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]

    def check_extends(self, old: Settings) -> None:
        """Raise a ValueError unless all results of the old settings are also results of these settings."""
        for key in ("data", "seconds", "validation_seeds", *NEWER, *TABLES):
            if getattr(self, key) != getattr(old, key):
                raise ValueError(f"{key}: expected {getattr(old, key)!r} as before, got {getattr(self, key)!r}")
        for key in ("predictors", "labels", "horizons"):
            lost = [value for value in getattr(old, key) if value not in getattr(self, key)]
            if lost:
                raise ValueError(f"{key}: expected {lost[0]!r} to be included as before")
        if self.test_seeds < old.test_seeds:
            raise ValueError(f"test_seeds: expected at least {old.test_seeds} as before, got {self.test_seeds}")
        for name, grid in old.grids.items():
            if self.grids[name] != grid:
                raise ValueError(f"grids.{name}: expected {grid} as before, got {self.grids[name]}")


def _text(key: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{key}: expected a text, got {value!r}")
    return value


def _texts(key: str, value: Any) -> list[str]:
    return [_text(key, word) for word in _list(key, value)]


def _table(key: str, value: Any, check: Callable[[str, Any], Any]) -> dict[str, Any]:
    """Return a table with checked values; a single value becomes a table that applies to every file."""
    table = value if isinstance(value, dict) else {"*": value}
    return {word: check(f"{key}.{word}", one) for word, one in table.items()}


def _probability(key: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
        raise ValueError(f"{key}: expected a probability from 0 to less than 1, such as 0.03, got {value!r}")
    return float(value)


def _grids(_: str, value: Any) -> dict[str, Grid]:
    if not isinstance(value, dict) or not all(isinstance(grid, dict) for grid in value.values()):
        raise ValueError(f"grids: expected a table for each predictor, got {value!r}")
    grids: dict[str, Grid] = {name: {} for name in value}
    for name, grid in value.items():
        _one_of("grids", name, list(CATALOGUE))
        for key, values in grid.items():
            where = f"grids.{name}.{key}"
            pairs = [check_setting(where, find_predictor(name), key, one) for one in _list(where, values)]
            grids[name][pairs[0][0]] = [one for _, one in pairs]
    return grids


def check_setting(where: str, predictor: Predictor, key: str, value: Any) -> tuple[str, Any]:
    """Return the present name and the value of a predictor's setting, or raise an error that says what is expected.

    Any value of the grid is accepted. Other values must be positive numbers, whole ones if the grid has whole numbers.
    """
    known = predictor.grid
    if key not in known and RENAMED.get(key) in known:
        warnings.warn(f"{key}: this setting is now called {RENAMED[key]}", FutureWarning, stacklevel=2)
        key = RENAMED[key]
    if key not in known:
        expected = f"expected one of {', '.join(known)}" if known else "it has no settings"
        raise ValueError(f"{where}: unknown setting of {predictor.name}; {expected}")
    if any(type(value) is type(one) and value == one for one in known[key]):
        return key, value
    whole = all(isinstance(one, int) for one in known[key])
    return key, (_count if whole else positive)(where, value)


def _list(key: str, value: Any) -> list[Any]:
    values = list(value) if isinstance(value, list | tuple) else [value]
    for one in values:
        if not isinstance(one, bool | int | float | str):
            kind = "a list" if isinstance(one, list) else "a table" if isinstance(one, dict) else f"{one}"
            raise ValueError(f"{key}: expected numbers or texts, got {kind}")
    if not values or len({json.dumps(v) for v in values}) < len(values):
        raise ValueError(f"{key}: expected a list of different values, got {value!r}")
    return values


def _files(key: str, value: Any) -> list[str]:
    files = _list(key, value)
    if not all(isinstance(file, str) and file for file in files):
        raise ValueError(f"{key}: expected the name of a source or a list of files, got {value!r}")
    for file in files:
        if any("\ud800" <= sign <= "\udfff" for sign in file):
            raise ValueError(
                f"{key}: expected names of files in UTF-8, which the store can keep, got {file!r}; rename it"
            )
    return files


def _one_of(key: str, value: Any, known: list[str]) -> str:
    if value not in known:
        raise ValueError(f"{key}: expected one of {', '.join(known)}, got {value!r}")
    return str(value)


def positive(key: str, value: Any, what: str = "number") -> float:
    """Return a value that must be positive and finite as a float, or raise an error that names its setting."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < LARGEST_FLOAT:
        raise ValueError(f"{key}: expected a positive {what}, got {value!r}")
    return float(value)


def _seconds(key: str, value: Any) -> float:
    if isinstance(value, int | float) and LONGEST < value < math.inf:
        raise ValueError(f"{key}: expected at most {LONGEST:g} seconds, got {value!r}")
    return positive(key, value, "number of seconds")


def _count(key: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= LARGEST:
        limit = f" up to {LARGEST:,}" if isinstance(value, int) and value > LARGEST else ""
        raise ValueError(f"{key}: expected a positive whole number{limit}, got {value!r}")
    return value


def _literal(value: Any) -> str:
    """Return a value in TOML, which agrees with JSON for texts, numbers and lists of them."""
    return json.dumps(value, ensure_ascii=False)


def _key(name: str) -> str:
    return name if name.replace("-", "").replace("_", "").isalnum() and name.isascii() else json.dumps(name)


_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "profile": lambda key, value: _one_of(key, value, list(PROFILES)),
    "data": lambda key, value: value if isinstance(value, str) and is_source(value) else _files(key, value),
    "data_dir": _text,
    "predictors": lambda key, value: [find_predictor(name).name for name in _list(key, value)],
    "labels": lambda key, value: [_one_of(key, word, ["causal", "lookahead"]) for word in _list(key, value)],
    "horizons": lambda key, value: sorted(_seconds(key, number) for number in _list(key, value)),
    "rates": lambda key, value: _table(key, value, lambda name, rate: positive(name, rate, "number of Hz")),
    "units": lambda key, value: _table(key, value, _text),
    "groups": lambda key, value: _table(key, value, _texts),
    "channels": _texts,
    "glitches": _probability,
    "missing": _probability,
    "glitch_size": lambda key, value: positive(key, value, "number of spreads"),
    "seconds": lambda key, value: 0.0 if value == 0 and not isinstance(value, bool) else _seconds(key, value),
    "validation_seeds": _count,
    "test_seeds": _count,
    "max_runs": _count,
    "workers": _count,
    "grids": _grids,
    "device": _text,
    "out": _text,
    "cluster": _text,
}
"""Setting → function of its name and value that returns the value, or raises an error that says what is expected."""
