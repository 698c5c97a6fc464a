"""The report as a file: what is in it, and that it can be made of anything that a store may hold."""

import base64
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up_store import make, recording

from quatcast.cli import run
from quatcast.evaluation import Store, report
from quatcast.evaluation.report import explorer

VOID = {"meta", "link", "br", "img", "input", "hr"}


class Page(HTMLParser):
    """Ids, texts and nesting of a page."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.open, self.references, self.words, self.plots = [], [], [], [], {}
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids += [given["id"]] if "id" in given else []
        self.references += [given[key] for key in ("src", "href") if key in given]
        if tag not in VOID:
            self.open.append((tag, given))

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_data(self, data):
        tag, given = self.open[-1] if self.open else ("", {})
        if tag == "script" and given.get("type") == "application/json":
            self.plots[self.open[-2][1]["id"]] = json.loads(data)
        elif tag not in ("script", "style"):
            self.words.append(data)

    @property
    def text(self):
        return re.sub(r"\s+", " ", "".join(self.words))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    path = report.write(make(folder / "results.sqlite"), folder / "out")
    return path, Page(path.read_text(encoding="utf-8"))


SECTIONS = [
    "verdict",
    "data",
    "errors",
    "recordings-errors",
    "traces",
    "horizons",
    "reliability",
    "speed",
    "grid",
    "method",
    "reproduce",
]


def test_everything_is_there_in_order(whole):
    _, page = whole
    assert [name for name in page.ids if name in SECTIONS] == SECTIONS
    assert len(page.ids) == len(set(page.ids))


def test_it_opens_offline(whole):
    path, page = whole
    assert path.name == "report.html"
    assert all(reference.startswith(("#", "data:")) for reference in page.references)
    text = path.read_text(encoding="utf-8")
    assert text.count("plotly.js v") == 1
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=[\"']http", text)


def test_verdict_in_words(whole):
    _, page = whole
    # Means at 2 s over three recordings: recommended 2.5, QRNN-MCC 3.6 causal; LMS 1.5 look-ahead.
    assert (
        "With causal labels, recommended is best over all 3 recordings, 2 s ahead, with a test RMSE of 2.500 mm"
        in page.text
    )
    assert (
        "Its error is smaller than that of persistence (6.50 mm), the forecast that nothing moves, by a factor of 2.6."
        in page.text
    )
    assert "With look-ahead labels, QRNN-MCC is best" in page.text
    assert "1 of 33 test runs diverged and is excluded from the means: QRNN-MCC (look-ahead labels)" in page.text
    assert re.search(r"Look-ahead labels make errors look smaller .* a factor of 3\.0, or 2\.\d\d mm", page.text)


def test_settings_versions_and_citations(whole):
    _, page = whole
    for words in ('data = "simulated"', "9.9", "2 cores", "3,600 s", "Bourigault", "for other data"):
        assert words in page.text


def test_data_are_cited_where_they_are_used(tmp_path):
    path = report.write(make(tmp_path / "a.sqlite", data="extmarker", horizons=[2.0], count=1), tmp_path)
    page = Page(path.read_text(encoding="utf-8"))
    assert "Krilavicius" in page.text
    assert "for other data" not in page.text


def test_tables_are_written_beside_it(whole):
    path, page = whole
    names = {file.name for file in (path.parent / "tables").iterdir()}
    for stem in ("errors-causal-2s", "errors-lookahead-0.5s", "horizons-causal", "coverage", "times"):
        assert {f"{stem}.csv", f"{stem}.md", f"{stem}.tex"} <= names
    inside = [ref for ref in page.references if ref.startswith("data:text/csv")]
    tables = [base64.b64decode(reference.split(",")[1]).decode() for reference in inside]
    (csv,) = [one for one in tables if one.startswith("Score") and "recommended" in one]
    assert csv == (path.parent / "tables" / "errors-causal-2s.csv").read_text(encoding="utf-8")


def test_traces_are_the_stored_ones(whole):
    path, page = whole
    data = page.plots["trace"]
    with Store(path.parent.parent / "results.sqlite") as store:
        (trace,) = store.traces(labels="causal", horizon=2.0, predictor="QRNN-MCC", recording="two")
    shown = next(one for one in data["recordings"] if one["name"] == "two")
    case = ("QRNN-MCC", "causal", 2.0)
    own = next(t for t in shown["traces"] if (t["predictor"], t["labels"], t["horizon"]) == case)
    at = shown["coordinates"].index("abdomen.y")
    np.testing.assert_allclose(unpack(own["forecast"][at]), trace.forecast[:, 1, 1], atol=0.0051)
    np.testing.assert_allclose(unpack(shown["actual"][at]), trace.actual[:, 1, 1], atol=0.0051)
    error = np.linalg.norm(trace.forecast - trace.actual, axis=-1)
    expected = np.sqrt(np.mean(error[100:600] ** 2, axis=-1))
    np.testing.assert_allclose(unpack(own["error"])[100:600], expected, atol=0.0051)
    assert "weight" in own
    assert all("weight" not in t for t in shown["traces"] if t["predictor"] == "LMS")
    assert [p["name"] for p in data["predictors"] if p["on"]] == ["recommended", "QRNN-MCC"]


def unpack(packed):
    whole = np.frombuffer(base64.b64decode(packed["data"]), dtype=f"<i{packed['bits'] // 8}")
    none = -(2 ** (packed["bits"] - 1))
    return np.where(whole == none, np.nan, whole * packed["step"])


@given(st.lists(st.floats(-1e6, 1e6) | st.just(float("nan")), max_size=20))
def test_packing_rounds_to_the_step(values):
    np.testing.assert_allclose(unpack(explorer.pack(values, 0.01)), values, atol=0.00501)


@pytest.mark.parametrize(
    ("budget", "coordinates", "horizons", "samples"),
    [
        (10**6, 6, [0.1, 0.5, 1.0, 1.5, 2.0], 700),
        (150_000, 2, [0.1, 0.5, 1.0, 1.5, 2.0], 700),
        (70_000, 1, [0.1, 0.5, 1.0, 1.5, 2.0], 700),
        (40_000, 1, [0.1, 1.0, 2.0], 700),
        (14_000, 1, [1.0], 700),
        (1_000, 1, [1.0], 53),
    ],
)
def test_large_experiments_show_less(tmp_path, monkeypatch, budget, coordinates, horizons, samples):
    """All coordinates, the one of each channel or of the recording that moves most, fewer horizons, less time."""
    monkeypatch.setattr(explorer, "BUDGET", budget)
    path = make(tmp_path / "a.sqlite", count=1, horizons=[0.1, 0.5, 1.0, 1.5, 2.0])
    with Store(path) as store:
        data = explorer.data(store.recordings(), store.traces(), ["LMS"], horizon=1.0)
    (shown,) = data["recordings"]
    assert len(shown["coordinates"]) == coordinates
    assert set(shown["coordinates"]) <= {
        f"{c}.{a}" for c in ("chest", "abdomen") for a in ("xyz" if coordinates > 2 else "z")
    }
    assert data["horizons"] == horizons
    assert len(unpack(shown["times"])) == samples
    assert bool(data["left_out"]) == (coordinates < 6)
    assert ("Horizons that are not shown" in data["left_out"]) == (len(horizons) < 5)
    size = sum(len(packed["data"]) for trace in shown["traces"] for packed in trace["forecast"])
    assert size <= 1.01 * budget


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({"stages": ["validation"]}, {"data", "errors", "recordings-errors", "traces", "horizons", "speed"}),
        ({"stages": ["validation"], "traces": False}, {"errors", "traces", "reliability"}),
        ({"predictors": ["persistence"]}, {"grid", "reliability"}),
        ({"predictors": ["recommended"], "count": 1}, {"grid"}),
        ({"count": 1, "horizons": [2.0]}, {"horizons"}),
        ({"traces": False}, {"traces", "reliability"}),
        ({"dimensions": 4, "data": "mine.csv"}, {"method", "times"}),
        ({"stages": []}, {"errors", "grid"}),
    ],
)
def test_parts_of_an_experiment(tmp_path, given, missing):
    path = report.write(make(tmp_path / "results.sqlite", **given), tmp_path)
    page = Page(path.read_text(encoding="utf-8"))
    assert not missing & set(page.ids)
    assert {"verdict", "reproduce"} <= set(page.ids)
    assert not re.search(r"\bnan\b|\bNone\b(?! of)", page.text)


def test_unfinished_experiments_say_so(tmp_path):
    path = report.write(make(tmp_path / "results.sqlite", stages=["validation"]), tmp_path)
    text = Page(path.read_text(encoding="utf-8")).text
    assert "not finished" in text
    assert "no test results yet" in text
    path.unlink()
    assert run(["report", str(tmp_path)]) == 0
    assert path.is_file()


def test_no_means_before_every_recording_is_tested(tmp_path):
    path = make(tmp_path / "results.sqlite", count=2)
    with Store(path, create=True) as store:
        store.add_recordings([recording(2)])
    text = Page(report.write(path, tmp_path).read_text(encoding="utf-8")).text
    assert "is best" not in text
    assert "incomplete" in text
    assert "2.500" in text  # a recording that is done is shown


def test_a_predictor_that_always_diverges(tmp_path):
    path = make(tmp_path / "results.sqlite")
    with Store(path, create=True) as store:
        rows = [row for row in store.results("test") if row.predictor == "LMS"]
        lost = dict.fromkeys(("rmse", "nrmse", "mae", "jitter", "max"), np.nan)
        store.add([replace(row, predictor="RLS", diverged=True, **lost) for row in rows])
    text = Page(report.write(path, tmp_path).read_text(encoding="utf-8")).text
    assert "7 of 39 test runs diverged" in text
    assert "RLSdiverged" in text  # two cells
    assert "recommended is best" in text


def test_names_cannot_break_the_page(tmp_path, monkeypatch):
    monkeypatch.setattr("made_up_store.RECORDINGS", (("</script><b>&", "<i>"),))
    path = report.write(make(tmp_path / "results.sqlite", count=1), tmp_path)
    page = Page(path.read_text(encoding="utf-8"))
    assert "</script><b>&" in page.text


def test_a_store_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="quatcast compare"):
        report.write(tmp_path / "none.sqlite", tmp_path)
    assert not list(Path(tmp_path).glob("*.html"))
