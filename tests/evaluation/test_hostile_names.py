"""Hostile names of recordings, groups and channels in everything that is written: tables, page and figures."""

import csv
import re

import made_up_store
import numpy as np
import pytest
from hostile import NAMES
from made_up_store import make
from test_browser import BROWSER, WATCH, browse
from test_report import Page

from quatcast.basics.escaping import csv_cell, latex_text, markdown_text, printable
from quatcast.data import Recording, read_csv, write_csv
from quatcast.evaluation import report
from quatcast.evaluation.report.forecast_figure import draw
from quatcast.evaluation.report.forecast_panels import forecast_panels
from quatcast.forecasting.contract import Forecasts

STORABLE = [name for name in NAMES if name.isprintable() or name.encode("utf-8", "ignore").decode() == name]
"""SQLite does not take text that is not Unicode."""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A report in which every name is hostile."""
    folder = tmp_path_factory.mktemp("hostile")
    count = len(STORABLE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(made_up_store, "RECORDINGS", tuple(zip(STORABLE, reversed(STORABLE), strict=True)))
        patch.setattr(made_up_store, "CHANNELS", (STORABLE[0], STORABLE[3]))
        patch.setattr(made_up_store, "SETTINGS", 'data = ["</pre><script>pwned=1</script>"]\n')
        predictors = ("recommended", "persistence")
        store = make(folder / "a.sqlite", predictors=predictors, horizons=[0.5, 2.0], count=count, data=NAMES[1])
    return report.write(store, folder)


def test_tables(hostile):
    folder = hostile.parent / "tables"
    for file in folder.glob("*.csv"):
        rows = list(csv.reader(file.read_text(encoding="utf-8").splitlines()))
        assert {len(row) for row in rows} == {len(rows[0])}
        words = [cell for row in rows for cell in row if not re.fullmatch(r"[-+]?[\d.]+(e[-+]?\d+)?", cell)]
        assert not [cell for cell in words if re.match(r"\s*[=+\-@＝]", cell)]
    stem = folder / "recordings-causal-2s"
    tables = {suffix: stem.with_suffix(f".{suffix}").read_text(encoding="utf-8") for suffix in ("csv", "md", "tex")}
    recordings = [row[0] for row in csv.reader(tables["csv"].splitlines())][1:]
    assert recordings == [csv_cell(name) for name in STORABLE]
    lines = [line for line in tables["md"].splitlines() if line.startswith("|")]
    for line, name in zip(lines[2:], STORABLE, strict=True):
        assert line.startswith(f"| {markdown_text(name)} | ")
    rows = [line for line in tables["tex"].splitlines() if line.endswith(r"\\")]
    assert len(rows) == 1 + len(STORABLE)
    for row, name in zip(rows[1:], STORABLE, strict=True):
        assert row.startswith(latex_text(name) + " & ")
        assert not re.match(r"\s*[\[*]", row)
        assert len(re.findall(r"(?<!\\)&", row)) == 3


def test_page_as_a_parser_sees_it(hostile):
    page = Page(hostile.read_text(encoding="utf-8"))
    for name in STORABLE:
        assert re.sub(r"\s+", " ", printable(name)) in page.text
    names = [one["name"] for one in page.plots["trace"]["recordings"]]
    assert names == STORABLE
    assert not re.search("[<>]", str(page.plots["horizon-sweep"]["options"][0]["figure"]))


USE = """<script>
const settle = () => new Promise((done) => setTimeout(done, 300));
async function use() {
  for (let i = 0; i < 60 && !document.documentElement.dataset.drawn; i++) await settle();
  const plots = [...document.querySelectorAll("figure.plot")], shown = [];
  for (const box of document.querySelectorAll("#trace select, #horizon-sweep select, #status select")) shown.push(
    ...[...box.options].map((option) => option.value));
  const texts = (query) => [...document.querySelectorAll(query)].map((e) => e.textContent);
  const titles = texts("#trace .ytitle"), ticks = texts("#status .y2tick text");
  return {
    drawn: plots.filter((plot) => plot.querySelector(".main-svg")).length, plots: plots.length, shown, titles, ticks,
    links: [...document.querySelectorAll("a")].map((a) => a.getAttribute("href") || a.getAttribute("xlink:href"))
      .filter((link) => !/^(#|data:)/.test(link)),
    images: document.querySelectorAll("img:not(.js-plotly-plot img)").length,
    pwned: typeof pwned, scripts: document.scripts.length, complaints,
  };
}
use().catch((error) => ({ failed: String(error.stack) })).then((found) => {
  const out = document.createElement("pre");
  out.id = "measured";
  out.textContent = JSON.stringify(found);
  document.body.append(out);
});
</script>"""


@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
def test_page_in_a_browser(hostile):
    text = hostile.read_text(encoding="utf-8").replace("<head>", "<head>" + WATCH, 1)
    head, tail = text.rsplit("</body>", 1)
    page = hostile.with_name("watched.html")
    page.write_text(f"{head}{USE}</body>{tail}", encoding="utf-8")
    found = browse(page, 1000)
    assert found["complaints"] == []
    assert found["pwned"] == "undefined"
    assert found["links"] == []
    assert found["images"] == 0
    assert found["drawn"] == found["plots"] > 3
    # Beside the script of each figure: Plotly, the script of the page, and the two of this test.
    assert found["scripts"] == found["plots"] + 4
    assert set(STORABLE) <= set(found["shown"])
    assert found["titles"] == [f"{STORABLE[3]}.z [mm]"]
    assert found["ticks"] == [STORABLE[0], STORABLE[3]]


@pytest.mark.parametrize("name", NAMES)
def test_forecast_figure_and_its_table(tmp_path, name):
    positions = np.zeros((30, 1, 3))
    recording = Recording(name, positions, np.arange(30) / 10, rate=10.0, channels=(name,))
    forecasts = Forecasts(recording.positions, recording.times, horizon=5, labels="causal", truncated=0)
    layout = draw(forecast_panels(recording, forecasts)).layout
    for label in (layout.title.text, layout.yaxis.title.text):
        assert not re.search("[<>\n]", label)
        label.encode("utf-8")
    write_csv(recording, tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as file:
        head = next(csv.reader(file))
    assert head[1] == csv_cell(f"{name}.x")
    assert len(read_csv(tmp_path / "a.csv")) == len(recording)
