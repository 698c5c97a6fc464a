"""The modules of the page on their own, inside a browser: pixels of a chart, columns of the store."""

import asyncio

import numpy as np
import pytest

from quatcast import quaternion
from quatcast.live.metrics import Metrics
from quatcast.live.view.feed import ViewFeed
from quatcast.live.view.server import View

CHART = """(async () => {
  const { Chart } = await import("/assets/chart.js");
  const holder = document.body.appendChild(document.createElement("div"));
  holder.className = "plot";
  holder.style.width = "800px";
  const chart = new Chart(holder);
  const n = 1500, columns = [0, 1].map(() => new Float32Array(n)), time = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    time[i] = 1e9 + i / 50;
    columns[0][i] = i >= 600 && i < 900 ? NaN : Math.sin(i / 60);
    columns[1][i] = NaN;
  }
  const colours = ["grid", "soft", "ink", "signal", "forecast", "band", "future", "now", "hold", "degraded", "lost"];
  const black = Object.fromEntries(colours.map((colour) => [colour, "#000"]));
  const theme = { name: "test", font: "sans-serif", holdWash: "#000", ...black };
  chart.draw({
    from: 1e9, now: 1e9 + 30, to: 1e9 + 31, start: 0, end: n, time, gap: 0.5, theme, path: [],
    lanes: [{ label: "x", group: 0, measured: columns[0], forecast: columns[1], band: columns[1] }],
    ahead: new Float32Array(n).fill(0.5), filled: new Uint8Array(n), status: new Uint8Array(n).fill(1),
  });
  const { width, height } = chart.traces;
  const { data } = chart.traces.getContext("2d").getImageData(0, 0, width, height);
  const used = [];
  for (let x = 0; x < width; x++) {
    let any = 0;
    for (let y = 0; y < height; y++) any |= data[4 * (y * width + x) + 3];
    used.push(any > 0);
  }
  return [width / holder.clientWidth, used.map((u, x) => (u ? x / width : null)).filter((x) => x !== null)];
})()"""

STORE = """(async () => {
  const { Store, rowBytes } = await import("/assets/store.js");
  const layout = { names: ["a", "b"], dimensions: 3, horizons: 2 };
  const store = new Store(layout, 10, 30), bytes = rowBytes(layout);
  const message = (times) => {
    const view = new DataView(new ArrayBuffer(8 + bytes * times.length));
    times.forEach((t, i) => {
      view.setFloat64(8 + i * bytes, t, true);
      view.setFloat32(8 + i * bytes + 13 + 2 + 2, 2 * t, true);
    });
    return view.buffer;
  };
  const sizes = [];
  let right = true;
  for (let k = 0; k < 5000; k++) {
    store.add(message([k / 30]));
    right &&= store.newest === k / 30 && store.sampleOf(0, 0)[store.size - 1] === Math.fround((2 * k) / 30);
    sizes.push(store.capacity);
  }
  for (let i = 1; i < store.size; i++) right &&= store.time[i] > store.time[i - 1];
  const held = store.size, covered = store.newest - store.time[0];
  store.add(message([5000 / 30 - 2, 5000 / 30 - 1]));
  return [right, held, covered, Math.max(...sizes), store.indexOf(5000 / 30 - 2) === store.size - 2, store.newest];
})()"""


BANDS = """(async () => {
  const { Store, rowBytes } = await import("/assets/store.js");
  return [["position", 3], ["orientation", 4], ["pose", 7]].map(([space, dimensions]) => {
    const layout = { names: ["a"], dimensions, horizons: 1, space };
    const view = new DataView(new ArrayBuffer(8 + rowBytes(layout)));
    const end = view.byteLength;
    view.setFloat32(end - (space === "pose" ? 8 : 4), 2, true);
    if (space === "pose") view.setFloat32(end - 4, 0.5, true);
    const store = new Store(layout, 10, 30);
    store.add(view.buffer);
    return Array.from({ length: dimensions }, (_, d) => store.bandOf(0, 0, d)[0]);
  });
})()"""


@pytest.fixture
def evaluate(chromium):
    """A function that evaluates expressions in the page of a view without a stream."""

    def run(expression, scale=1.0):
        async def work():
            async with View(ViewFeed(), Metrics()) as view, chromium.tab(view.url, 900, 700) as tab:
                await tab.resize(900, 700, scale)
                await tab.until("document.getElementById('word')?.textContent === 'waiting'")
                return await tab.evaluate(expression)

        return asyncio.run(asyncio.wait_for(work(), 20))

    return run


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_a_chart_leaves_gaps_where_nothing_was_seen(evaluate, scale):
    ratio, used = evaluate(CHART, scale)
    assert ratio == scale
    left, right = 50 / 800, 788 / 800
    at = [(x - left) / (right - left) * 31 for x in used]
    assert min(at) == pytest.approx(0, abs=0.2)
    assert max(at) == pytest.approx(30, abs=0.2)
    assert not [t for t in at if 12.1 < t < 17.9]
    assert len([t for t in at if t < 11.9]) > 250
    assert len([t for t in at if t > 18.1]) > 250


def test_the_store_is_bounded_ordered_and_replaces_what_comes_again(evaluate):
    right, held, covered, capacity, replaced, newest = evaluate(STORE)
    assert right
    assert held >= 300 * 0.99
    assert covered >= 9.9
    assert capacity <= 600
    assert replaced
    assert newest == pytest.approx(5000 / 30 - 1)


def test_bands_around_quaternions_hold_every_rotation_by_the_radius(evaluate):
    position, orientation, pose = evaluate(BANDS)
    assert position == [2.0] * 3
    assert pose[:3] == [2.0] * 3
    for band, angle in ((orientation[0], 2.0), (pose[3], 0.5)):
        axes = np.random.default_rng(0).normal(size=(20000, 3))
        turned = quaternion.from_rotation_vector(angle * axes / np.linalg.norm(axes, axis=1, keepdims=True))
        first = quaternion.random_unit(1, 20000)
        off = np.abs(quaternion.product(turned, first) - first).max()
        assert 0.9 * band < off <= band
    assert set(orientation) == {orientation[0]}
    assert set(pose[3:]) == {pose[3]}


def test_numbers_have_digits_that_fit(evaluate):
    shown = evaluate("""(async () => {
      const { gap, short } = await import("/assets/format.js");
      const values = [0, 0.00944, 0.0321, -0.0042, 0.0999, 0.2, 9.99, 12.34, 123.4, 3e-8, NaN, null];
      return [...values.map(short), ...["", "mm", "°"].map(gap)];
    })()""")
    numbers = ["0.00", "0.0094", "0.032", "-0.0042", "0.10", "0.20", "9.99", "12.3", "123", "3.0e-8", "–", "–"]
    assert shown == [*numbers, "", " ", ""]
