"""The report in a real browser, on a wide and on a narrow screen."""

import json
import re
import shutil
import subprocess
from html import unescape

import pytest
from made_up_store import make

from quatcast.evaluation import report

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")

WATCH = """<script>
window.complaints = [];
for (const kind of ["error", "warn"]) console[kind] = (...words) => complaints.push(`${kind}: ${words.join(" ")}`);
addEventListener("error", (event) => complaints.push(`uncaught: ${event.message}`));
addEventListener("unhandledrejection", (event) => complaints.push(`rejected: ${event.reason}`));
</script>"""

MEASURE = """<script>
const settle = () => new Promise((done) => setTimeout(done, 600));
async function measure() {
  while (!document.documentElement.dataset.drawn) await settle();
  await settle();
  const found = { width: innerWidth, page: document.documentElement.scrollWidth, overlaps: [], axes: [] };
  const seen = (e) => e.getClientRects().length > 0;
  const box = (e) => e.getBoundingClientRect();
  const plots = [...document.querySelectorAll("figure.plot")];
  found.plots = plots.length;
  const drawn = (plot) => plot.querySelector(".main-svg") && box(plot.querySelector(".canvas")).height > 150;
  found.drawn = plots.filter(drawn).length;
  found.outside = [...document.querySelectorAll("main *")].filter((e) => seen(e) && !e.closest(".scroll, pre, svg")
    && box(e).right > innerWidth + 1).map((e) => e.tagName + "." + e.className);

  found.spilt = [...document.querySelectorAll(".card")].filter((e) => e.scrollWidth > e.clientWidth)
    .map((e) => e.className);

  const cross = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1.5
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1.5;
  const check = (where, elements) => elements.forEach((a, i) => elements.slice(i + 1).forEach((b) => {
    if (!a.contains(b) && !b.contains(a) && cross(box(a), box(b)))
      found.overlaps.push(`${where}: ${a.textContent.slice(0, 40)} | ${b.textContent.slice(0, 40)}`);
  }));
  check("page", [...document.querySelectorAll("header, nav, main")].filter(seen));
  for (const parent of document.querySelectorAll("main, section, figure, .card, .cards, .pair, .controls, .chips, dl"))
    check(parent.id || parent.className, [...parent.children].filter(seen));
  for (const plot of plots) {
    const texts = ".xtick text, .ytick text, .xtitle, .ytitle, .y2title, .y3title, .x2title, .legend, .modebar-group," +
      ".annotation-text, .colorbar .cbtitle, .colorbar .cbaxis text";
    check(plot.id, [...plot.querySelectorAll(texts)].filter((e) => seen(e) && e.textContent.trim()));
    check(plot.id + " legend", [...plot.querySelectorAll(".legend .traces")]);
  }
  check("drawing", [...document.querySelectorAll(".drawing text")]);

  for (const plot of document.querySelectorAll(".js-plotly-plot")) {
    const layout = plot._fullLayout;
    for (const [key, axis] of Object.entries(layout)) {
      if (/^[xy]axis/.test(key)) found.axes.push([axis.title.text || "", axis.type, axis.showticklabels]);
      if (/^scene/.test(key) && axis && axis.xaxis)
        for (const a of [axis.xaxis, axis.yaxis, axis.zaxis]) found.axes.push([a.title.text || "", a.type, true]);
    }
  }
  return found;
}

const spoiled = `<style>
.plot figcaption { margin-top: -4rem; } .cards { width: 120vw; } #mse .canvas { height: 20px; overflow: hidden; }
.card.causal table { width: 110%; }
</style>`;

async function use() {
  const rounds = [await measure()];
  for (const label of document.querySelectorAll(".controls label")) {
    const box = document.getElementById("trace").contains(label) && label.querySelector("select");
    if (box) { box.selectedIndex = box.options.length - 1; box.dispatchEvent(new Event("change")); }
  }
  for (const chip of document.querySelectorAll(".chips button[aria-pressed=false]")) chip.click();
  for (const id of ["grid-map", "horizon-sweep", "status"]) {
    const box = document.querySelector(`#${id} select`);
    box.selectedIndex = box.options.length - 1;
    box.dispatchEvent(new Event("change"));
  }
  rounds.push(await measure());
  const lines = document.querySelector("#trace .canvas").data.length;
  const found = { rounds, lines, complaints: [...complaints] };
  document.head.insertAdjacentHTML("beforeend", spoiled);
  console.error("spoiled");
  found.spoiled = { ...await measure(), complaints };
  return found;
}
use().catch((error) => ({ failed: String(error.stack) })).then((found) => {
  const out = document.createElement("pre");
  out.id = "measured";
  out.textContent = JSON.stringify(found);
  document.body.append(out);
});
</script>"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("browser")
    path = report.write(make(folder / "results.sqlite"), folder)
    return watched(path)


def watched(path):
    """A copy of a report that measures itself."""
    text = path.read_text(encoding="utf-8")
    head, tail = text.replace("<head>", "<head>" + WATCH, 1).rsplit("</body>", 1)
    copy = path.with_name("watched.html")
    copy.write_text(f"{head}{MEASURE}</body>{tail}", encoding="utf-8")
    return copy


def browse(page, width):
    """What the page says of itself at some width: as it opens, after some clicks, and after it was spoiled."""
    command = [
        *(BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader", "--no-first-run"),
        *("--disable-background-networking", "--hide-scrollbars", f"--user-data-dir={page.parent / 'profile'}"),
        *(f"--window-size={width},1000", "--virtual-time-budget=30000", "--dump-dom"),
    ]
    done = subprocess.run([*command, page.as_uri()], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    measured = re.search(r'<pre id="measured">(.*?)</pre>', done.stdout, re.DOTALL)
    assert measured, "the page did not get as far as being measured"
    found = json.loads(unescape(measured[1]))
    assert "failed" not in found, found
    return found


@pytest.mark.parametrize("width", [1400, 500])
def test_the_page_as_people_see_it(page, width):
    found = browse(page, width)
    assert found["complaints"] == []
    for shown in found["rounds"]:
        assert shown["width"] == width
        assert shown["page"] <= width
        assert shown["outside"] == []
        assert shown["spilt"] == []
        assert shown["overlaps"] == []
        assert shown["plots"] == shown["drawn"] == 7
        assert len(shown["axes"]) >= 14
        for title, kind, labelled in shown["axes"]:
            if kind == "category":
                assert title
            elif labelled:
                assert re.search(r"\[.+\]$", title), title
    # Actual; seven forecasts, each with its error; two weights; a band of two edges.
    assert found["lines"] == 1 + 7 * 2 + 2 + 2
    measures_bite(found["spoiled"], width)


def measures_bite(spoiled, width):
    """Require that every measure has noticed the page that was spoiled on purpose."""
    assert spoiled["complaints"] == ["error: spoiled"]
    assert spoiled["page"] > width
    assert any("cards" in name for name in spoiled["outside"])
    assert spoiled["spilt"] == ["card causal"]
    assert any(words.startswith("lookahead-gap") for words in spoiled["overlaps"])
    assert spoiled["drawn"] == spoiled["plots"] - 1


def test_recordings_of_several_units_fit_a_narrow_page(tmp_path):
    """A report on own data in two units: no figures of the paper, and the unit on every axis."""
    options = {"data": "a.csv, b.csv", "settings": 'profile = "quick"\n', "units": ["mm", "cm", "mm"]}
    path = report.write(make(tmp_path / "results.sqlite", **options), tmp_path, title="A long title " * 6)
    found = browse(watched(path), 500)
    assert found["complaints"] == []
    for shown in found["rounds"]:
        assert shown["page"] <= 500
        assert (shown["outside"], shown["spilt"], shown["overlaps"]) == ([], [], [])
        assert shown["plots"] == shown["drawn"] == 5
        titles = [title for title, kind, labelled in shown["axes"] if kind != "category" and labelled]
        assert all(re.search(r"\[.+\]$", title) for title in titles)
    assert any("[cm]" in title for title, *_ in found["rounds"][1]["axes"])
