"""What an experiment is: its settings, the profiles that they start from, and the TOML text that reproduces it."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, Self

from quatcast.evaluation.predictors import CATALOGUE, Predictor, find
from quatcast.evaluation.records import Configuration

Grid = dict[str, list[Any]]
"""Setting of a predictor → values to try."""


def _narrow(**values: list[Any]) -> dict[str, Grid]:
    """Grids of all predictors with some of their settings narrowed down."""
    return {
        name: {key: values.get(f"{_family(name)}_{key}", values.get(key, list(tried)))
               for key, tried in predictor.grid.items()}
        for name, predictor in CATALOGUE.items()
    }  # fmt: skip


def _family(name: str) -> str:
    return {"QRNN": "quaternion", "RNN": "real"}.get(name.split("-")[0], "linear")


PROFILES: dict[str, dict[str, Any]] = {
    "quick": {
        "seconds": 120.0,
        "validation_seeds": 2,
        "test_seeds": 4,
        "grids": _narrow(
            quaternion_hidden=[10],
            real_hidden=[20],
            lags=[10, 30],
            rate=[0.02, 0.1],
            linear_rate=[0.005, 0.05],
            sigma=[2.0, "adaptive"],
            forgetting=[0.995, 0.999],
        ),
    },
    "standard": {
        "validation_seeds": 5,
        "test_seeds": 20,
        "grids": _narrow(
            quaternion_hidden=[10, 30],
            real_hidden=[20, 60],
            lags=[10, 30, 90],
            linear_lags=[10, 30],
            sigma=[2.0, 8.0, "adaptive"],
        ),
    },
    "published": {"validation_seeds": 50, "test_seeds": 300, "grids": _narrow()},
}
"""Profile → the settings that it stands for."""


@dataclass(frozen=True)
class Settings:
    """Everything that decides on the results of `compare`, and where its work is done.

    Attributes
    ----------
    profile
        "quick", "standard" or "published": what seconds, seeds and grids start from.
    data
        "simulated", "extmarker", or a list of files.
    data_dir
        Folder of the ExtMarker files; None for the cache, and the download.
    seconds
        Length that recordings are cut to; 0 leaves them whole.
    predictors, labels, horizons
        What is compared; horizons in seconds.
    validation_seeds, test_seeds
        Runs of each seeded predictor in the two stages.
    grids
        Predictor → setting → values to try.
    max_runs
        Most runs that are computed side by side; None for 64 on a CPU and 2000 on a GPU.
    device
        "cpu", "cuda" or the name of an array library.
    out, workers, cluster
        Folder of the results, worker processes, address of a Dask scheduler. They change no result.

    Examples
    --------
    >>> settings = Settings.of({"profile": "quick", "predictors": ["LMS"], "test_seeds": 3})
    >>> settings.grids
    {'LMS': {'lags': [10, 30], 'rate': [0.005, 0.05]}}
    >>> Settings.of(tomllib.loads(settings.toml())) == settings
    True
    """

    profile: str = "quick"
    data: str | list[str] = "simulated"
    data_dir: str | None = None
    seconds: float = 0.0
    predictors: list[str] = field(default_factory=lambda: list(CATALOGUE))
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
        """Settings of plain values such as a TOML file holds; what is not given comes from the profile."""
        known = {f.name for f in dataclasses.fields(cls)}
        for key in given:
            if key not in known:
                raise ValueError(f"{key}: there is no such setting; there are {', '.join(sorted(known))}")
        values = {key: _checked(key, value) for key, value in given.items()}
        profile = PROFILES[values.get("profile", "quick")]
        settings = cls(**{key: value for key, value in profile.items() if key != "grids"} | values)
        if not any(rule in find(name).labels for name in settings.predictors for rule in settings.labels):
            rules, names = " or ".join(settings.labels), ", ".join(settings.predictors)
            raise ValueError(f"labels: there are no {rules} labels for {names}; nothing is left to compare")
        return dataclasses.replace(settings, grids=_grids(settings.predictors, profile["grids"], settings.grids))

    @classmethod
    def read(cls, path: str | os.PathLike[str], **options: Any) -> Self:
        """Settings of a TOML file; options that are not None win."""
        try:
            values = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"{path}: not a TOML file ({error})") from error
        chosen = {key: value for key, value in options.items() if value is not None}
        try:
            cls.of(values)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
        # A profile that is asked for by name takes its own values along.
        if "profile" in chosen:
            values = {key: value for key, value in values.items() if key not in PROFILES["quick"]}
        return cls.of(values | chosen)

    def toml(self) -> str:
        """Text of a TOML file that gives the same results, on any machine."""
        where = ("data_dir", "out", "workers", "cluster", "grids")
        lines = [
            f"{f.name} = {_literal(getattr(self, f.name))}"
            for f in dataclasses.fields(self)
            if f.name not in where and getattr(self, f.name) is not None
        ]
        for name, grid in self.grids.items():
            lines += ["", f"[grids.{_key(name)}]", *(f"{_key(key)} = {_literal(v)}" for key, v in grid.items())]
        return "\n".join(lines) + "\n"

    def folder(self) -> Path:
        """Where results go: `out`, or a folder whose name tells the settings apart."""
        if self.out is not None:
            return Path(self.out)
        data = self.data if isinstance(self.data, str) else "-".join(Path(file).stem for file in self.data)[:40]
        kept = ("profile", "data", "max_runs", "device")
        given = {key: getattr(self, key) for key in kept if getattr(self, key) is not None}
        mark = ""
        if self.toml() != Settings.of(given).toml():
            mark = "-" + hashlib.sha256(self.toml().encode()).hexdigest()[:6]
        return Path("runs") / f"{data}-{self.profile}{mark}"

    def configurations(self, predictor: str) -> list[Configuration]:
        """Every configuration in a predictor's grid."""
        grid = self.grids[predictor]
        return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]

    def check_extends(self, old: Settings) -> None:
        """Raise a ValueError unless results of the old settings are part of what these settings ask for."""
        for key in ("data", "seconds", "validation_seeds"):
            if getattr(self, key) != getattr(old, key):
                raise ValueError(f"{key}: {getattr(old, key)!r} there, {getattr(self, key)!r} now")
        for key in ("predictors", "labels", "horizons"):
            lost = [value for value in getattr(old, key) if value not in getattr(self, key)]
            if lost:
                raise ValueError(f"{key}: results of {lost[0]!r} are there too, not asked for now")
        if self.test_seeds < old.test_seeds:
            raise ValueError(f"test_seeds: {old.test_seeds} there, {self.test_seeds} now")
        for name, grid in old.grids.items():
            if self.grids[name] != grid:
                raise ValueError(f"grids.{name}: {grid} there, {self.grids[name]} now")


def _grids(predictors: Sequence[str], standard: Mapping[str, Grid], given: Mapping[str, Grid]) -> dict[str, Grid]:
    """Grid of each predictor that is compared: that of the profile, with single settings given in its place."""
    return {name: standard.get(name, {}) | given.get(name, {}) for name in predictors}


def _checked(key: str, value: Any) -> Any:
    """Value of a setting, or an error that names the setting and says what it should be."""
    match key:
        case "profile":
            return _one_of(key, value, list(PROFILES))
        case "data":
            return value if isinstance(value, str) and value in ("simulated", "extmarker") else _files(key, value)
        case "predictors":
            return [find(name).name for name in _list(key, value)]
        case "labels":
            return [_one_of(key, word, ["causal", "lookahead"]) for word in _list(key, value)]
        case "horizons":
            return sorted(positive(key, number, "number of seconds") for number in _list(key, value))
        case "seconds":
            return 0.0 if value == 0 and not isinstance(value, bool) else positive(key, value, "number of seconds")
        case "validation_seeds" | "test_seeds" | "max_runs" | "workers":
            return _count(key, value)
        case "grids":
            return _checked_grids(value)
        case _:
            if not isinstance(value, str) or not value:
                raise ValueError(f"{key}: a text expected, not {value!r}")
            return value


def _checked_grids(value: Any) -> dict[str, Grid]:
    if not isinstance(value, dict) or not all(isinstance(grid, dict) for grid in value.values()):
        raise ValueError(f"grids: a table for each predictor expected, not {value!r}")
    return {name: {key: _tried(name, key, values) for key, values in grid.items()} for name, grid in value.items()}


def _tried(name: str, key: str, values: Any) -> list[Any]:
    where = f"grids.{name}.{key}"
    return [check_setting(where, find(name), key, value) for value in _list(where, values)]


def check_setting(where: str, predictor: Predictor, key: str, value: Any) -> Any:
    """Value of a setting of a predictor, or an error that says where it came from and what may stand there."""
    known = predictor.grid
    if key not in known:
        raise ValueError(f"{where}: {predictor.name} has no such setting; it has {', '.join(known) or 'none'}")
    if key == "sigma" and value == "adaptive":
        return value
    whole = all(isinstance(one, int) for one in known[key])
    return (_count if whole else positive)(where, value)


def _list(key: str, value: Any) -> list[Any]:
    values = list(value) if isinstance(value, list | tuple) else [value]
    if not values or len({json.dumps(v) for v in values}) < len(values):
        raise ValueError(f"{key}: a list of different values expected, not {value!r}")
    return values


def _files(key: str, value: Any) -> list[str]:
    files = _list(key, value)
    for file in files:
        if not isinstance(file, str) or not file:
            raise ValueError(f'{key}: "simulated", "extmarker" or a list of files expected, not {value!r}')
    return files


def _one_of(key: str, value: Any, known: list[str]) -> str:
    if value not in known:
        raise ValueError(f"{key}: one of {', '.join(known)} expected, not {value!r}")
    return str(value)


def positive(key: str, value: Any, what: str = "number") -> float:
    """Value of a setting that must be positive and finite, or an error that names it."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise ValueError(f"{key}: a positive {what} expected, not {value!r}")
    return float(value)


def _count(key: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{key}: a positive whole number expected, not {value!r}")
    return value


def _literal(value: Any) -> str:
    """Value in TOML, which agrees with JSON for texts, numbers and lists of them."""
    return json.dumps(value, ensure_ascii=False)


def _key(name: str) -> str:
    return name if name.replace("-", "").replace("_", "").isalnum() and name.isascii() else json.dumps(name)
