import tomllib
from pathlib import Path
from typing import Any

import pytest

from quatcast.evaluation.catalogue import CATALOGUE, Predictor
from quatcast.evaluation.run.settings import PROFILES, Settings


@pytest.mark.parametrize("seconds", [0, 70])
@pytest.mark.parametrize("profile", PROFILES)
def test_the_text_of_settings_gives_the_settings(profile: str, seconds: int) -> None:
    settings = Settings.of({"profile": profile, "horizons": [1, 0.5], "seconds": seconds, "data": ['a "b" \\ é.csv']})
    assert settings.horizons == [0.5, 1.0]
    assert Settings.of(tomllib.loads(settings.toml())) == settings


def test_the_published_profile_is_the_papers_protocol() -> None:
    settings = Settings.of({"profile": "published"})
    assert (settings.validation_seeds, settings.test_seeds) == (50, 300)
    assert settings.predictors == [p.name for p in CATALOGUE.values() if p.default]
    # 5 sizes, 5 lags, 4 rates; and 5 widths with the correntropy. 5 lags, 7 rates for the linear ones.
    counts = {name: len(settings.configurations(name)) for name in settings.predictors}
    assert counts == {
        "QRNN-MCC": 500,
        "QRNN-MSE": 100,
        "RNN-MCC": 500,
        "RNN-MSE": 100,
        "QLMS": 35,
        "LMS": 35,
        "RLS": 10,
        "persistence": 1,
    } | {name: count for name, count in counts.items() if name == "recommended"}


def test_a_grid_may_be_given_in_part() -> None:
    settings = Settings.of({"predictors": ["LMS", "RLS"], "grids": {"LMS": {"learning_rate": [1]}}})
    assert settings.grids["LMS"] == {"lags": [10, 30], "learning_rate": [1.0]}
    assert settings.grids["RLS"] == Settings.of({}).grids["RLS"]
    assert isinstance(settings.grids["LMS"]["learning_rate"][0], float)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"profil": "quick"}, "profil: unknown setting"),
        ({"profile": "fast"}, "profile: expected one of quick, standard, published, got 'fast'"),
        ({"predictors": ["ARIMA"]}, "predictors: expected one of recommended, QRNN-MCC"),
        ({"predictors": []}, "predictors: expected a list of different values"),
        ({"predictors": ["LMS", "LMS"]}, "predictors: expected a list of different values"),
        ({"labels": "both"}, "labels: expected one of causal, lookahead"),
        ({"horizons": [-1.0]}, "horizons: expected a positive number"),
        ({"horizons": ["2"]}, "horizons: expected a positive number of seconds, got '2'"),
        (
            {"predictors": ["recommended"], "labels": ["lookahead"]},
            "labels: recommended cannot learn from lookahead labels",
        ),
        ({"test_seeds": 0}, "test_seeds: expected a positive whole number"),
        ({"validation_seeds": 2.5}, "validation_seeds: expected a positive whole number"),
        ({"seconds": True}, "seconds: expected a positive number"),
        ({"seconds": False}, "seconds: expected a positive number"),
        ({"data": [1]}, "data:"),
        ({"device": ""}, "device: expected a text"),
        ({"grids": 3}, "grids: expected a table"),
        ({"grids": {"ARIMA": {"lags": [3]}}}, "grids: expected one of recommended, "),
        (
            {"grids": {"LMS": {"hidden": [3]}}},
            "grids.LMS.hidden: unknown setting of LMS; expected one of lags, learning_rate",
        ),
        ({"grids": {"LMS": {"lags": [1.5]}}}, "grids.LMS.lags: expected a positive whole number"),
        ({"grids": {"QRNN-MCC": {"sigma": ["wide"]}}}, "grids.QRNN-MCC.sigma: expected a positive number"),
    ],
)
def test_what_is_wrong_is_named(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words.replace("(", r"\(")):
        Settings.of(given)


def test_options_win_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('horizons = [1.0]\ntest_seeds = 7\npredictors = ["LMS"]\n[grids.LMS]\nlags = [5]\n')
    settings = Settings.read(file, horizons=[0.3], seconds=None)
    assert (settings.horizons, settings.test_seeds, settings.seconds) == ([0.3], 7, 120.0)
    assert settings.grids["LMS"]["lags"] == [5]


def test_a_profile_asked_for_by_name_wins_over_the_files_seeds_and_grids(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(Settings.of({"profile": "quick", "predictors": ["LMS"]}).toml())
    settings = Settings.read(file, profile="published")
    assert settings == Settings.of({"profile": "published", "predictors": ["LMS"]})


def test_errors_name_the_file(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("horizons = [")
    with pytest.raises(ValueError, match=r"settings\.toml: expected a TOML file"):
        Settings.read(file)
    file.write_text("horizon = 2.0")
    with pytest.raises(ValueError, match=r"settings\.toml: horizon: unknown setting"):
        Settings.read(file)


def test_the_folder_tells_experiments_apart() -> None:
    plain, other = Settings.of({}), Settings.of({"labels": ["causal"]})
    assert plain.folder() == Path("runs/simulated-quick")
    assert other.folder().name.startswith("simulated-quick-")
    assert Settings.of({"workers": 3, "device": "cuda", "data_dir": "there"}).folder() == plain.folder()
    assert Settings.of({"data": ["x/a.csv", "b.csv"]}).folder() == Path("runs/a-b-quick")
    assert Settings.of({"out": "here"}).folder() == Path("here")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ({"labels": ["causal"]}, {}, None),
        ({"predictors": ["LMS"]}, {}, None),
        ({}, {"horizons": [0.5, 2.0], "test_seeds": 9}, None),
        ({}, {"labels": ["causal"]}, "labels: expected 'lookahead' to be included"),
        ({}, {"test_seeds": 1}, "test_seeds: expected at least 4 as before, got 1"),
        ({}, {"validation_seeds": 3}, "validation_seeds: expected 2 as before, got 3"),
        ({}, {"grids": {"LMS": {"lags": [5]}}}, "grids.LMS"),
        ({}, {"seconds": 70.0}, "seconds: expected 120.0 as before, got 70.0"),
    ],
)
def test_an_experiment_may_grow_but_not_change(old: dict[str, Any], new: dict[str, Any], words: str | None) -> None:
    if words is None:
        Settings.of(new).check_extends(Settings.of(old))
    else:
        with pytest.raises(ValueError, match=words):
            Settings.of(new).check_extends(Settings.of(old))


def test_the_former_name_of_a_setting_is_accepted_with_one_warning() -> None:
    grids = {"LMS": {"rate": [0.1]}, "QRNN-MCC": {"rate": [0.1, 0.2]}}
    with pytest.warns(FutureWarning, match="^rate: this setting is now called learning_rate$"):
        settings = Settings.of({"predictors": ["LMS", "QRNN-MCC"], "grids": grids})
    assert settings.grids["LMS"] == {"lags": [10, 30], "learning_rate": [0.1]}
    assert settings.grids["QRNN-MCC"]["learning_rate"] == [0.1, 0.2]
    with pytest.raises(ValueError, match=r"grids\.RLS\.rate: unknown setting of RLS"):
        Settings.of({"grids": {"RLS": {"rate": [0.1]}}})


def test_values_of_a_grid_are_accepted_whatever_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = {"damped": [True, False], "shift": [0.0, -1.5], "order": [1, 2]}
    monkeypatch.setitem(CATALOGUE, "mine", Predictor("mine", "Mine", CATALOGUE["LMS"].build, grid=grid))
    assert Settings.of({"predictors": ["mine"], "grids": {"mine": grid}}).grids["mine"] == grid
    with pytest.raises(ValueError, match=r"grids\.mine\.order: expected a positive whole number, got True"):
        Settings.of({"predictors": ["mine"], "grids": {"mine": {"order": [True]}}})


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"name": "a,b"}, "name: expected letters, digits"),
        ({"colour": "red"}, 'colour: expected "#RRGGBB"'),
        (
            {"profiles": {"quick": {"lags": [1]}}},
            "profiles: expected settings in the grid of 'mine', got 'lags' in 'quick'",
        ),
    ],
)
def test_a_predictor_that_is_described_wrongly_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Predictor(**{"name": "mine", "title": "Mine", "build": CATALOGUE["LMS"].build} | given)
