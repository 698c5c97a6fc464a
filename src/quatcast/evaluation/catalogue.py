"""The catalogue of predictors: what a predictor is to an experiment, and the registry that finds it by name.

A `Predictor` is one record with everything that the rest of the package knows about it: how it is built, which
settings are tried, how it is drawn. Any module can add one; the built-in predictors are in
`quatcast.evaluation.builtin` and `quatcast.evaluation.classical`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol, get_args

import numpy as np
from numpy.typing import ArrayLike

from quatcast.basics.registry import Registry, module_of
from quatcast.basics.typing import Floats
from quatcast.evaluation.records import Configuration
from quatcast.forecasting.contract import Forecasts, Labels

MAX_DEPTH = 128
"""Past steps that networks keep in experiments.

Gradients on breathing mostly vanish within about thirty steps. Those of large networks that learn fast from short
inputs under look-ahead labels may not vanish at all; they are truncated here."""

SPARE_COLOURS = ("#A0522D", "#2F8F9D", "#C23B75", "#6B8E23")
"""Colours of predictors that do not name one, selected by a checksum of the name."""


class RecordingForecaster(Protocol):
    """What a predictor's `build` function returns: an object that forecasts a whole recording.

    If all its forecasts depend on the first samples, to which it fits its scaling before it begins, an attribute
    `fitted` tells their number.
    """

    def run(self, positions: ArrayLike, /) -> Forecasts:
        """Forecast a recording (T, channels, dimensions); called once on each new object."""


@dataclass(frozen=True)
class Batch:
    """The runs that a `build` function is asked for. They are computed side by side.

    Attributes
    ----------
    configurations, seeds
        One of each per run. The configurations agree in every setting that determines the shape of arrays.
    horizon
        Samples ahead.
    sampling_rate
        Samples per second.
    labels
        "causal" or "lookahead".
    device
        Where arrays are stored, see `quatcast.algebra.backend`.
    names
        Names of the channels, where they are known.
    space
        What a sample is, for predictors that take orientations and poses; see `quatcast.forecasting.spaces`.

    Examples
    --------
    >>> configurations = [{"hidden": 10, "learning_rate": 0.02}, {"hidden": 10, "learning_rate": 0.05}]
    >>> batch = Batch(configurations, seeds=[0, 0], horizon=5, sampling_rate=10.0, labels="causal")
    >>> batch.common("hidden"), batch.each("learning_rate")
    (10, [0.02, 0.05])
    """

    configurations: Sequence[Configuration]
    seeds: Sequence[int]
    horizon: int
    sampling_rate: float
    labels: Labels
    device: str = "cpu"
    names: Sequence[str] | None = None
    space: str = "position"

    def each(self, key: str) -> list[Any]:
        """Return the value of a setting in every run."""
        for configuration in self.configurations:
            if key not in configuration:
                known = f"one of the settings {', '.join(configuration)}" if configuration else "a setting of the grid"
                raise ValueError(f"batch: expected {known}, got {key!r}")
        return [configuration[key] for configuration in self.configurations]

    def common(self, key: str) -> Any:
        """Return the value of a setting that all runs share; it is an error if they do not."""
        first, *others = self.each(key)
        if different := [value for value in others if value != first]:
            raise ValueError(
                f"batch: expected one value of {key!r} for all runs, got {first!r} and {different[0]!r}; use each, or "
                "leave it out of along_runs"
            )
        return first


@dataclass(frozen=True)
class Predictor:
    """A forecasting method as experiments and reports see it.

    Parameters
    ----------
    name, title
        A short name for tables and the command line, and a description. The name is the key of stored results: letters,
        digits, and any of ``_ . + -``.
    build
        Function that returns a forecaster of a batch of runs. It is pickled by reference, so it must be defined at the
        top level of a module.
    grid
        Values of each setting that the published profile tries: numbers or texts. A predictor without
        settings has an empty grid.
    profiles
        Narrower values for the other profiles: profile → setting → values. A setting that is left out has those of
        `grid`.
    usual
        Configuration that is used where none is chosen by validation. A setting that is left out has the first value of
        its grid.
    units
        Units of the settings, for the titles of axes.
    along_runs
        Settings whose values may differ among the runs of one batch. All others must be equal. Predictors that share
        `build` and have such settings may share a batch.
    seeded
        Whether it starts with random weights. Deterministic predictors are run once.
    labels
        The label rules that it supports.
    takes_missing
        Whether it accepts missing samples (NaN). For other predictors they are filled with the last observed value.
    takes_spaces
        Whether it accepts orientations and poses. For other predictors they are converted to coordinates.
    arrays
        Attributes of its forecasts, besides positions and weights, that are stored for the report.
    weight_size
        Real numbers per pair of hidden units in the recurrent weights, which determine the memory of a run: 1 for a
        real network, 4 for a quaternion network.
    default
        Whether `compare` includes it when no predictors are named.
    baseline
        Whether it is the forecast that nothing moves, with which the report compares the best predictor.
    paper
        Its name in the tables of the paper, or an empty string.
    timed
        Whether `quatcast bench` measures its time per step.
    colour, symbol
        Colour (as "#RRGGBB") and Plotly symbol in figures.

    Examples
    --------
    >>> from quatcast import Forecaster, Persistence
    >>> def echo(batch: Batch) -> Forecaster:
    ...     return Forecaster(Persistence(), horizon=batch.horizon, lags=1, labels=batch.labels)
    >>> register_predictor(Predictor("echo", "Repeats the last sample", echo))
    >>> find_predictor("echo").labels
    ('causal', 'lookahead')
    """

    name: str
    title: str
    build: Callable[[Batch], RecordingForecaster]
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    usual: Configuration = field(default_factory=dict)
    along_runs: tuple[str, ...] = ()
    seeded: bool = False
    labels: tuple[Labels, ...] = ("causal", "lookahead")
    takes_missing: bool = False
    takes_spaces: bool = False
    arrays: tuple[str, ...] = ()
    weight_size: int = 1
    profiles: Mapping[str, Mapping[str, Sequence[Any]]] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    default: bool = False
    baseline: bool = False
    paper: str = ""
    timed: bool = False
    colour: str = ""
    symbol: str = "pentagon"

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[\w.+-]+", self.name):
            raise ValueError(f"name: expected letters, digits and any of _ . + -, got {self.name!r}")
        if self.colour and not re.fullmatch("#[0-9A-Fa-f]{6}", self.colour):
            raise ValueError(f'colour: expected "#RRGGBB" for predictor {self.name!r}, got {self.colour!r}')
        if not self.labels or not set(self.labels) <= set(get_args(Labels)):
            known = ", ".join(get_args(Labels))
            raise ValueError(f"labels: expected some of {known} for predictor {self.name!r}, got {self.labels!r}")
        if isinstance(self.along_runs, str):
            raise ValueError(
                f"along_runs: expected names for predictor {self.name!r}, got the text {self.along_runs!r}"
            )
        for profile, narrowed in self.profiles.items():
            if unknown := sorted(set(narrowed) - set(self.grid)):
                raise ValueError(
                    f"profiles: expected settings in the grid of {self.name!r}, got {unknown[0]!r} in {profile!r}"
                )
        object.__setattr__(self, "grid", _plain(self.grid))
        for key, values in self.grid.items():
            if not values or not all(isinstance(value, str | int | float) for value in values):
                expected = f"one or more numbers or texts as values of {key!r}"
                raise ValueError(f"grid: expected {expected} for predictor {self.name!r}, got {values!r}")
        first = {key: values[0] for key, values in self.grid.items()}
        object.__setattr__(self, "usual", first | dict(self.usual))
        spare = SPARE_COLOURS[sum(self.name.encode()) % len(SPARE_COLOURS)]
        object.__setattr__(self, "colour", self.colour or spare)

    @property
    def module(self) -> str:
        """Name of the module that defines `build`."""
        return module_of(self.build)

    def run(self, batch: Batch, positions: Floats) -> Forecasts:
        """Forecast a recording (T, channels, dimensions) with a new forecaster of a batch of runs.

        Raises
        ------
        ValueError
            If `build` or its forecaster raises one, or if what it returns are not the forecasts that were asked for.

        Examples
        --------
        >>> batch = Batch([{}], seeds=[0], horizon=5, sampling_rate=10.0, labels="causal")
        >>> find_predictor("persistence").run(batch, np.zeros((400, 1, 3))).positions.shape
        (400, 1, 3)
        """
        with self._named():
            forecaster = self.build(batch)
            if not hasattr(forecaster, "run"):
                raise ValueError(f"build: expected an object with a method run, got {forecaster!r}")
            forecasts = forecaster.run(positions)
            self._check(forecasts, batch, positions.shape)
        return forecasts

    def fitted(self, batch: Batch) -> int:
        """Return to how many samples the scaling is fitted before the first forecast; see `RecordingForecaster`."""
        with self._named():
            return int(getattr(self.build(batch), "fitted", 0))

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Let errors name the predictor."""
        try:
            yield
        except ValueError as error:
            raise ValueError(f"predictor {self.name!r}: {error}") from error

    def _check(self, forecasts: Any, batch: Batch, shape: tuple[int, ...]) -> None:
        """Raise a ValueError that says what is wrong with forecasts."""
        if not isinstance(forecasts, Forecasts):
            raise ValueError(f"run: expected Forecasts, got an object of type {type(forecasts).__name__}")
        for name in self.arrays:
            if not hasattr(forecasts, name):
                raise ValueError(f"arrays: expected attributes of the forecasts, got {name!r}")
        runs, got = (len(batch.seeds),), np.shape(forecasts.positions)
        lead = () if len(got) == len(shape) and runs == (1,) else runs
        for name, found, expected, hint in (
            ("positions", got, (*lead, *shape), ""),
            ("weights", np.shape(forecasts.weights), (*lead, shape[0]), ""),
            ("horizon", forecasts.horizon, batch.horizon, ""),
            ("labels", forecasts.labels, batch.labels, f"; pass batch.labels on, or register labels of {self.name!r}"),
        ):
            if found != expected:
                raise ValueError(f"{name}: expected {expected!r}, got {found!r}{hint}")
        if np.isfinite(forecasts.positions[..., : batch.horizon, :, :]).any():
            raise ValueError(f"positions: expected NaN for the first {batch.horizon} samples, which nothing forecasts")

    def grid_of(self, profile: str) -> dict[str, list[Any]]:
        """Return the values of each setting that a profile tries."""
        return {key: list(values) for key, values in {**self.grid, **_plain(self.profiles.get(profile, {}))}.items()}

    def shape(self, configuration: Configuration) -> tuple[Any, ...]:
        """Return what runs must have in common to be computed side by side."""
        fixed = sorted(set(configuration) - set(self.along_runs))
        builder = self.build if self.along_runs else self.name
        return (builder, self.takes_missing, *((key, configuration[key]) for key in fixed))

    def history_bytes(self, configuration: Configuration) -> int:
        """Return the size of one run's past weights, which are the larger part of its memory."""
        hidden = int(configuration.get("hidden", 0))
        return MAX_DEPTH * 8 * hidden * hidden * self.weight_size


CATALOGUE = Registry[Predictor]("predictor", "predictors")
"""The registered predictors by name, in the order of the tables. Add to it with `register_predictor`."""


def register_predictor(predictor: Predictor) -> None:
    """Add a predictor to the catalogue, so that it can be selected by its name.

    A module may register a predictor again, which replaces it; this happens when the module is reloaded.

    Raises
    ------
    ValueError
        If another module has registered a predictor of the same name.
    """
    CATALOGUE.register(predictor)


def find_predictor(name: str) -> Predictor:
    """Return the registered predictor of the given name.

    Raises
    ------
    ValueError
        If there is no such predictor; the message lists those that there are.

    Examples
    --------
    >>> find_predictor("LMS").grid_of("quick")["lags"]
    [10, 30]
    """
    return CATALOGUE.find(name)


def predictors() -> tuple[Predictor, ...]:
    """Return all registered predictors, in the order of the tables.

    Examples
    --------
    >>> [predictor.name for predictor in predictors() if predictor.baseline]
    ['persistence']
    """
    return tuple(CATALOGUE.values())


def describe(name: str) -> Predictor:
    """Return the predictor of a stored result, or a plain record where it is no longer registered.

    Examples
    --------
    >>> describe("LMS").paper, describe("unknown").paper
    ('LMS', '')
    """
    return CATALOGUE.get(name) or Predictor(name, name, _unavailable)


def in_order(names: Iterable[str]) -> list[str]:
    """Return names of predictors in the order of the catalogue; unregistered ones come last.

    Examples
    --------
    >>> in_order({"unknown", "LMS", "QRNN-MCC"})
    ['QRNN-MCC', 'LMS', 'unknown']
    """
    known = list(CATALOGUE)
    return sorted(set(names), key=lambda name: (known.index(name) if name in known else len(known), name))


def _unavailable(batch: Batch) -> RecordingForecaster:
    raise ValueError("predictors: this predictor is not registered; load the plugin that defines it")


def _plain(grid: Mapping[str, Iterable[Any]]) -> dict[str, list[Any]]:
    """Return a grid with numbers of Python in place of those of NumPy, which could not be stored."""
    return {key: [v.item() if isinstance(v, np.generic) else v for v in values] for key, values in grid.items()}
