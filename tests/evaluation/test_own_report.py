"""The report on data of one's own: units, details of errors, names, titles and figures for print."""

import base64
import csv
import io
import json
import re
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up_store import make, recording
from test_report import Page

from quatcast.evaluation import Store, report
from quatcast.evaluation.records import Trace
from quatcast.evaluation.report import details, reliability
from quatcast.evaluation.report.contents import Report
from quatcast.evaluation.report.experiment import Experiment
from quatcast.evaluation.report.material import Material
from quatcast.evaluation.report.static_figures import write_figures
from quatcast.evaluation.report.tolerance import tolerances
from quatcast.evaluation.summary import RecordingInfo, Summary, fitting_decimals

OWN = (
    'profile = "quick"\ndata = ["secret/patient Müller/one.csv", "two.csv", "three.csv"]\nseconds = 120.0\n'
    'channels = ["chest"]\nhorizons = [0.5, 2.0]\ntest_seeds = 4\n\n[groups]\nill = ["secret/patient Müller/*"]\n\n'
    "[grids.LMS]\nlags = [10, 30]\nlearning_rate = [0.01, 0.05]\n"
)


def read(table):
    return list(csv.DictReader(io.StringIO(table.csv())))


def tables_of(path):
    with Store(path) as store:
        return Report(Material.read(store)).tables


def page_of(path, folder, **options):
    return Page(report.write(path, folder, **options).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    path = make(folder / "results.sqlite", data="one.csv, two.csv, three.csv", settings=OWN)
    with Store(path, create=True) as store:
        times = {"recording": "two", "rate": 10.0, "milliseconds": {"LMS": 0.05, "recommended": 2.5}}
        store.add_meta(sample_times=json.dumps(times))
    return path


@pytest.fixture(scope="module")
def written(own, tmp_path_factory):
    """The folder of the report on own data, and its page."""
    folder = tmp_path_factory.mktemp("written")
    return folder, page_of(own, folder, title="Lungs <2026>")


def test_own_data_have_no_paper_in_their_report(written):
    folder, page = written
    assert not re.search(r"paper|Table I|Fig\.|1\.486", page.text)
    assert "method" not in page.ids
    for file in (folder / "tables").iterdir():
        assert "paper" not in file.read_text(encoding="utf-8")


def test_title_and_file_names_without_folders(written):
    _, page = written
    assert "Lungs <2026>" in page.text
    assert "secret" not in page.text
    assert 'data = ["one.csv", "two.csv", "three.csv"]' in page.text


SECRET = {
    "recordings": ("Adazq", "Gracezq", "Emmyzq"),
    "groups": ("Ward7", "Ward8", "Ward8"),
    "channels": ("Tumor1", "Lung2"),
}


def test_nothing_names_anybody_in_an_anonymous_report(tmp_path, monkeypatch):
    monkeypatch.setattr("made_up_store.RECORDINGS", tuple(zip(SECRET["recordings"], SECRET["groups"], strict=True)))
    monkeypatch.setattr("made_up_store.CHANNELS", SECRET["channels"])
    settings = OWN.replace("one.csv", "Adazq.csv").replace('"chest"', '"Tumor1"').replace("ill =", "Ward7 =")
    path = make(tmp_path / "results.sqlite", data="Adazq.csv, Gracezq.csv, Emmyzq.csv", settings=settings)
    with Store(path, create=True) as store:
        store.add_meta(sample_times=json.dumps({"recording": "Gracezq", "rate": 10.0, "milliseconds": {"LMS": 0.05}}))
    page_of(path, tmp_path, anonymise=True)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    embedded = [base64.b64decode(text).decode() for text in re.findall(r"data:text/[a-z]+;base64,([^\"]+)", page)]
    files = [file.read_text(encoding="utf-8") for file in (tmp_path / "tables").iterdir()]
    for name in (*SECRET["recordings"], "Ward", *SECRET["channels"], "Müller", "2030-01-01"):
        assert not any(name in text for text in (page, *embedded, *files)), name
    for name in ("recording 1", "group 1", "channel 2"):
        assert name in page


def test_the_quick_profile_beside_the_paper_is_said_at_the_top_and_in_latex(tmp_path):
    settings = OWN.replace('["secret/patient Müller/one.csv", "two.csv", "three.csv"]', '"extmarker"')
    path = make(tmp_path / "results.sqlite", data="extmarker", settings=settings)
    page = page_of(path, tmp_path)
    words = 'profile "quick": the first 120 s of each recording, up to 4 configurations per predictor, 4 runs'
    assert words in page.text
    assert page.text.index(words) < page.text.index("Best with causal labels")
    latex = (tmp_path / "tables" / "errors-lookahead-2s.tex").read_text(encoding="utf-8")
    caption = next(line for line in latex.splitlines() if line.startswith(r"\caption"))
    assert "the first 120 s of each recording" in caption
    assert "300 runs" in caption
    whole = Experiment({"settings": 'profile = "published"\nseconds = 0.0\n', "data": "extmarker"})
    assert whole.reduced() == ""


def test_recordings_of_several_units_are_never_averaged(tmp_path):
    path = make(tmp_path / "results.sqlite", data="a.csv", settings=OWN, units=["mm", "cm", "mm"])
    tables = tables_of(path)
    # LMS, causal, 2 s: 4.0, 4.5 and 5.0 on the three recordings.
    rows = {unit: read(tables[f"errors-causal-2s-{unit}"]) for unit in ("mm", "cm")}
    (mm,) = [row for row in rows["mm"] if (row["Score"], row["Predictor"]) == ("RMSE [mm]", "LMS")]
    assert float(mm["all (2 recordings)"]) == pytest.approx(4.5)
    (cm,) = [row for row in rows["cm"] if (row["Score"], row["Predictor"]) == ("RMSE [cm]", "LMS")]
    assert float(cm["all (1 recording)"]) == pytest.approx(4.5)
    assert "errors-causal-2s" not in tables
    page = page_of(path, tmp_path)
    assert "Errors of the 2 recordings in mm" in page.text
    assert "Errors of the recording in cm" in page.text
    assert [one["unit"] for one in page.plots["trace"]["recordings"]] == ["mm", "cm", "mm"]


def test_an_unknown_unit_is_not_invented(tmp_path):
    path = make(tmp_path / "results.sqlite", data="a.csv", settings=OWN, units=["", "", ""])
    page = page_of(path, tmp_path)
    assert not re.search(r"\bmm\b", page.text)
    assert "The unit of some recordings is not known" in page.text


def test_units_cannot_break_the_page(tmp_path):
    units = ["</script><i>", "a & <b>", "</script><i>"]
    path = make(tmp_path / "results.sqlite", data="a.csv", settings=OWN, units=units)
    page = page_of(path, tmp_path)
    assert all(f"in {unit}" in page.text for unit in units)
    assert [one["unit"] for one in page.plots["trace"]["recordings"]] == units
    assert not re.search("[<>]", str(page.plots["horizon-sweep"]["options"][0]["figure"]))


@given(st.floats(1e-6, 1e6))
def test_decimals_show_three_digits_of_any_number(value):
    digits = f"{value:.{fitting_decimals(value, 3)}f}".replace(".", "").lstrip("0")
    assert len(digits) >= 3
    assert float(f"{value:.{fitting_decimals(value, 3)}f}") == pytest.approx(value, rel=0.006)


def walk(errors, rate=10.0, channels=1):
    """A trace whose forecasts are wrong by the given vectors from 60 s on."""
    start = round(60 * rate)
    actual = np.random.default_rng(0).normal(size=(start + len(errors), channels, 3))
    forecast = actual.copy()
    forecast[start:] += errors
    run = {"labels": "causal", "horizon": 1.0, "predictor": "LMS", "configuration": {}, "seed": 0}
    about = {"recording": "one", "group": "", "sampling_rate": rate, "channels": ("a",) * channels, "unit": "mm"}
    arrays = {"times": np.arange(len(actual)) / rate, "actual": actual, "forecast": forecast}
    return Trace(**run, **about, **arrays, weight=np.ones(len(actual)))


def test_details_are_those_of_the_test_samples():
    errors = np.random.default_rng(1).normal(size=(400, 2, 3)) * [1.0, 2.0, 3.0]
    found = details.distribution(walk(errors, rate=5.0, channels=2), tolerance=2.0)
    distance = sorted(float(np.sqrt((vector**2).sum())) for row in errors for vector in row)
    assert found.max == pytest.approx(distance[-1])
    assert found.within == pytest.approx(sum(d <= 2.0 for d in distance) / 800)
    below = sum(d <= found.p95 for d in distance) / 800
    assert below == pytest.approx(0.95, abs=1 / 800)
    np.testing.assert_allclose(found.axes, [np.sqrt(np.mean(errors[..., i] ** 2)) for i in range(3)])
    by_channel = [np.sqrt(np.mean((errors[:, c] ** 2).sum(axis=-1))) for c in range(2)]
    np.testing.assert_allclose(found.channels, by_channel)


def test_details_leave_out_what_was_not_observed_and_refuse_lost_forecasts():
    trace = walk(np.ones((20, 1, 3)))
    trace.actual[605] = np.nan
    trace.forecast[605] = 99.0
    assert details.distribution(trace).max == pytest.approx(np.sqrt(3))
    trace.forecast[606] = np.nan
    assert details.distribution(trace) is None


def test_the_table_of_details(own):
    tables = tables_of(own)
    table = tables["distribution-causal-0.5s"]
    assert [column.title for column in table.columns] == [
        "Predictor", "median", "95th percentile", "maximum", "Within 2 mm [%]", "x", "y", "z",
    ]  # fmt: skip
    rows = {row["Predictor"]: row for row in read(table)}
    with Store(own) as store:
        traces = store.traces(labels="causal", horizon=0.5, predictor="LMS")
    shares = [details.distribution(trace, 2.0).within for trace in traces]
    assert float(rows["LMS"]["Within 2 mm [%]"]) == pytest.approx(100 * np.mean(shares), rel=1e-4)
    channels = read(tables["channels-causal-0.5s"])
    assert [(row["Recording"], row["Channel"]) for row in channels][:2] == [("one", "chest"), ("one", "abdomen")]


def test_every_predictor_has_a_time(own, written):
    _, page = written
    rows = {row["Predictor"]: row for row in read(tables_of(own)["sample-times"])}
    assert float(rows["recommended"]["Time per sample [ms]"]) == 2.5
    assert float(rows["recommended"]["Share of the interval [%]"]) == 2.5
    assert "of two" in page.text
    assert "times" not in page.ids


def test_a_slow_predictor_takes_more_than_the_interval():
    (row,) = read(reliability.sample_times({"LMS": 30.0}, 57.0, "imu"))
    assert float(row["Share of the interval [%]"]) == pytest.approx(171, rel=0.01)


@pytest.mark.parametrize(
    ("text", "units", "expected"),
    [
        ("", ["mm", "m"], [None, None]),
        ("2", ["m"], [2.0]),
        ("2", ["cm", "mm"], [None, 2.0]),
        ("1.5mm, 2e-3 m", ["m", "mm"], [2e-3, 1.5]),
    ],
)
def test_tolerances(text, units, expected):
    assert tolerances(text, units) == expected


@pytest.mark.parametrize(
    ("text", "units"), [("2", ["m", "cm"]), ("-1", ["m"]), ("nan", ["m"]), ("1 ft", ["m"]), ("..", ["m"])]
)
def test_wrong_tolerances_are_refused(text, units):
    with pytest.raises(ValueError, match="--tolerance: expected"):
        tolerances(text, units)


def test_groups_are_shown_unless_one_has_everything():
    infos = [RecordingInfo("a", "liver"), RecordingInfo("b", "")]
    assert Summary([], infos).groups == ["all", "liver"]
    assert Summary([], [RecordingInfo("a", "liver"), RecordingInfo("b", "liver")]).groups == ["all"]


def test_figures_for_print(tmp_path):
    pytest.importorskip("matplotlib")
    path = make(tmp_path / "results.sqlite", data="a.csv", settings=OWN, count=1, predictors=["LMS", "persistence"])
    with Store(path) as store:
        write_figures(Material.read(store), tmp_path / "figures")
    figures = {file.name: file for file in (tmp_path / "figures").iterdir()}
    for stem in ("rmse", "horizons", "forecast-1-one-0.5s", "forecast-1-one-2s"):
        assert figures[f"{stem}.svg"].read_text(encoding="utf-8").startswith("<?xml")
        assert figures[f"{stem}.pdf"].read_bytes().startswith(b"%PDF")
    assert max(file.stat().st_size for file in figures.values()) < 200_000


def test_figures_without_matplotlib_name_the_extra(own, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"--figures: matplotlib is not installed; install quatcast\[figures\]"):
        report.write(own, tmp_path, figures=True)


def test_a_report_of_recordings_of_other_lengths_and_rates(tmp_path):
    """Recordings that were cut are in the table of recordings with their whole length."""
    about = recording(0)
    path = make(tmp_path / "results.sqlite", data="a.csv", settings=OWN, count=1)
    with Store(path) as store:
        material = Material.read(store)
    (row,) = read(Report(material).tables["recordings"])
    assert (row["Unit"], float(row["Rate [Hz]"]), float(row["Used [s]"])) == ("mm", 10.0, len(about) / 10)


def test_settings_are_shown_without_the_folders_of_files():
    given = 'data = ["/home/Smith/1.csv"]\nlags = 5\n\n[rates]\n"/home/Smith/*" = 5.0\n"*" = 10.0\n\n[units]\n'
    given += '"/home/Smith/b*.csv" = "mm"\nchest = "mm"\n\n[groups]\nliver = ["/home/Smith/liver/*"]\n'
    shown = Experiment({"settings": given}).settings_text()
    assert "Smith" not in shown
    for kept in ('data = ["1.csv"]', "lags = 5", '"*" = 5.0', '"b*.csv" = "mm"', 'chest = "mm"', '["liver/*"]'):
        assert kept in shown
