"""Figures: the right numbers in the right place, and a unit on every axis."""

import re

import numpy as np
import pytest
from made_up_store import make

from quatcast.evaluation import Store, predictors
from quatcast.evaluation.report import figures, heat_maps
from quatcast.evaluation.summary import LABELS, Summary

UNIT = re.compile(r"\[.+\]$")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with Store(make(tmp_path_factory.mktemp("store") / "results.sqlite")) as store:
        yield store


@pytest.fixture(scope="module")
def summary(store):
    return Summary(store.results("test"))


def axes(figure):
    layout = figure.to_plotly_json()["layout"]
    found = [axis for name, axis in layout.items() if re.match(r"[xy]axis", name)]
    for name, scene in layout.items():
        found += [scene[f"{letter}axis"] for letter in "xyz"] if name.startswith("scene") else []
    return [axis for axis in found if axis.get("showticklabels", True) and "type" not in axis]


def test_every_predictor_has_a_colour_of_its_own():
    built_in = [predictor for predictor in predictors() if predictor.default]
    assert len({predictor.colour for predictor in built_in}) == len(built_in) == 9
    assert len({predictor.symbol for predictor in built_in}) == len(built_in)


def test_horizon_sweep(summary):
    figure = figures.horizon_sweep(summary, "causal", "all")
    lines = {line.name: line for line in figure.data}
    assert set(lines) == {"QRNN-MCC", "LMS", "recommended", "persistence"}
    assert list(lines["LMS"].x) == [0.5, 2.0]
    assert list(lines["LMS"].y) == pytest.approx([1.0 + 0.5, 4.0 + 0.5])
    assert LABELS["causal"] in figure.layout.yaxis.title.text
    assert all(UNIT.search(axis["title"]["text"]) for axis in axes(figure))


def test_lookahead_gap_joins_the_two_rules(summary):
    figure = figures.lookahead_gap(summary)
    joins = [line for line in figure.data if line.mode == "lines"]
    assert {line.y[0] for line in joins} == {"QRNN-MCC", "LMS", "persistence"}
    (lms,) = [line for line in joins if line.y[0] == "LMS"]
    assert list(lms.x) == pytest.approx([4.5, 1.5])


def test_grid_map_places_configurations(store):
    tried = store.tried(labels="causal", horizon=2.0, predictor="QRNN-MCC")
    (heat,) = heat_maps.heat_map(tried).data
    assert list(heat.x) == ["10 / 10", "30 / 10"]
    assert list(heat.y) == ["0.02 / 2", "0.02 / adaptive", "0.1 / 2", "0.1 / adaptive"]
    assert np.asarray(heat.z) == pytest.approx(3.6)
    assert sum(int(re.search(r"chosen for (\d)", words)[1]) for row in heat.customdata for words in row) == 3


def test_diverged_runs_are_told_on_the_grid(store):
    tried = store.tried(labels="lookahead", horizon=2.0, predictor="QRNN-MCC")
    (heat,) = heat_maps.heat_map(tried).data
    assert "1 of 9 runs diverged" in heat.customdata[0][0]


@pytest.mark.parametrize(("criterion", "centre"), [("MSE", 0.0), ("MCC", 4 / (np.sqrt(2 * np.pi) * 2.0))])
def test_loss_surfaces(criterion, centre):
    figure = figures.loss_surface(criterion)
    (points,) = figure.data
    radius = np.sqrt(np.asarray(points.x) ** 2 + np.asarray(points.y) ** 2 + np.asarray(points.z) ** 2)
    values = np.asarray(points.marker.color)
    assert values[np.argmin(radius)] == pytest.approx(centre)
    expected = radius**2 if criterion == "MSE" else centre * np.exp(-(radius**2) / 8)
    np.testing.assert_allclose(values, expected, rtol=1e-4)
    assert all(UNIT.search(axis["title"]["text"]) for axis in axes(figure))


def test_status_figure_shows_status_and_gate(store):
    (trace,) = store.traces(predictor="recommended", recording="one", horizon=2.0)
    status, gate = figures.status_figure(trace).data
    assert list(np.unique(status.y)) == [0, 1, 2, 3]
    assert list(gate.x) == [10.0, 65.0]
    assert list(gate.y) == [0, 1]
