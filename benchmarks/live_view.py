"""Measure the live view in headless Chromium, and make its picture for the documentation.

    python benchmarks/live_view.py                                        # time per update of the charts
    python benchmarks/live_view.py --screenshot docs/_static/live.png     # the page with real forecasts

The aim is that three charts of six lines and 1,500 points each are updated in at most 5 ms. Each lane of a chart has
the measured line, the forecast and its radius. "Calls" are all calls that draw, which is what a page with a graphics
card has to wait for. "Pixels" adds what the browser does afterwards without one. Processor time does not depend on what
else the machine does; the time that passed does.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from dataclasses import replace
from pathlib import Path

from breathing_feeder import PLACES
from chromium import Chromium, Tab

import quatcast
from quatcast.live.frames import ForecastFrame, PathPoint
from quatcast.live.metrics import Metrics
from quatcast.live.view.feed import ViewFeed
from quatcast.live.view.server import View

HORIZONS = (0.1, 0.3, 0.5)
SECONDS = 180.0
"""Duration of the simulated recording in the picture."""
PATIENCE = 200.0
LIVE = 6.0
"""How many of these seconds the page is open before the picture is taken."""

SET_UP = """(async () => {
  const { Chart } = await import("/assets/chart.js");
  const { Controls } = await import("/assets/controls.js");
  const theme = new Controls(() => {}).colours;
  const n = 1500, charts = 3, lanes = 3, all = n + 400;
  const column = (make) => Float32Array.from({ length: all }, (_, i) => make(i));
  const time = Float64Array.from({ length: all }, (_, i) => 1e9 + i / 50);
  const data = Array.from({ length: charts }, (_, c) => {
    const holder = document.getElementById("charts").appendChild(document.createElement("div"));
    holder.className = "plot";
    holder.style.height = "248px";
    const wave = (d, shift) => column((i) => (3 + d) * Math.sin((i + shift) / 37 + c) + 0.1 * Math.sin(i * 1.7 + d));
    return { chart: new Chart(holder), lines: Array.from({ length: lanes }, (_, d) => [wave(d, 0), wave(d, 25.7)]) };
  });
  const band = column(() => 0.7), ahead = column(() => 0.5);
  const filled = new Uint8Array(all), status = new Uint8Array(all).fill(1);
  const update = (start) => {
    const now = time[start + n - 1];
    for (const { chart, lines } of data) chart.draw({
      from: time[start], now, to: now + 1, start, end: start + n, time, ahead, filled, status,
      gap: 1, theme, path: [],
      lanes: lines.map(([measured, forecast], d) => ({ label: "xyz"[d], group: 0, measured, forecast, band })),
    });
  };
  for (let k = 0; k < 50; k++) update(k);
  globalThis.update = update;
  return [data[0].chart.width, data[0].chart.height];
})()"""
UPDATES = 200
CALLS = f"(() => {{ for (let k = 0; k < {UPDATES}; k++) update(k); }})()"
FRAMES = f"""new Promise((done) => {{
  let k = 0;
  const step = () => {{
    if (k === {UPDATES}) return done();
    update(k++);
    requestAnimationFrame(step);
  }};
  step();
}})"""
PASSED = f"""(() => {{
  const passed = [];
  for (let k = 0; k < {UPDATES}; k++) {{
    const begun = performance.now();
    update(k);
    passed.push(performance.now() - begun);
  }}
  passed.sort((a, b) => a - b);
  return [0.1, 0.5, 0.9].map((level) => passed[Math.floor(level * passed.length)]);
}})()"""


async def measure() -> None:
    """Print the time per update in milliseconds."""
    with Chromium() as chromium:
        async with View(ViewFeed(), Metrics()) as view, chromium.tab(view.url) as tab:
            await tab.call("Performance.enable", timeDomain="threadTicks")
            await tab.until("document.getElementById('word')?.textContent === 'waiting'")
            width, height = await tab.evaluate(SET_UP)
            print(f"three charts of six lines and 1,500 points, {width} × {height} pixels each; ms per update")
            print(f"calls, processor time          {await cost(tab, CALLS):6.2f}")
            print(f"calls and pixels, processor    {await cost(tab, FRAMES):6.2f}")
            passed = await tab.evaluate(PASSED, patience=PATIENCE)
            print(
                "calls, time passed             " + "".join(f"{value:6.2f}" for value in passed) + "   (10, 50, 90 %)"
            )


async def cost(tab: Tab, updates: str) -> float:
    """Return the processor time of the page's thread per update in milliseconds."""

    async def spent() -> float:
        metrics = (await tab.call("Performance.getMetrics"))["metrics"]
        return float(next(metric["value"] for metric in metrics if metric["name"] == "ThreadTime"))

    before = await spent()
    await tab.evaluate(updates, patience=PATIENCE)
    return 1000 * (await spent() - before) / UPDATES


def real_frames() -> list[ForecastFrame]:
    """Return frames of a simulated recording, with the forecasts of `recommended`; the last frame has the time 0.

    The latency is the processor time of the forecasts.
    """
    recording = quatcast.data.simulated(seconds=SECONDS)[7]
    rows = recording.positions + PLACES
    forecasters = [quatcast.recommended(horizon, recording.rate) for horizon in HORIZONS]
    frames = []
    for number, sample in enumerate(rows):
        t = (number + 1 - len(rows)) / recording.rate
        begun = time.thread_time()
        forecasts = [forecaster.forecast(sample) for forecaster in forecasters]
        seconds = time.thread_time() - begun
        for forecaster in forecasters:
            forecaster.learn()
        path = [
            PathPoint(t + horizon, forecast.position, forecast.radius, forecast.status.label)
            for horizon, forecast in zip(HORIZONS, forecasts, strict=True)
        ]
        main, last = path[-1], forecasts[-1]
        frames.append(
            ForecastFrame(
                stream="simulated breathing",
                sequence=number,
                time=t,
                target_time=main.target_time,
                sent_time=t + seconds,
                position=main.position,
                radius=main.radius,
                status=main.status,
                reason=last.reason,
                filled=last.replaced,
                sample=sample,
                names=recording.channels,
                unit="mm",
                path=tuple(path),
            )
        )
    return frames


def shifted(frame: ForecastFrame, seconds: float) -> ForecastFrame:
    """Return a frame with all its times moved."""
    path = tuple(replace(point, target_time=point.target_time + seconds) for point in frame.path)
    times = {name: getattr(frame, name) + seconds for name in ("time", "target_time", "sent_time")}
    return replace(frame, path=path, **times)


async def picture(path: Path, scheme: str, window: tuple[int, int, float]) -> None:
    """Write a picture of the page with real forecasts, taken just before the last of them."""
    frames = real_frames()
    feed, metrics = ViewFeed(), Metrics()
    with Chromium() as chromium:
        async with View(feed, metrics) as view:
            end = time.time() + LIVE
            feed.tell("source", "simulated: is open")
            for frame in frames:
                await asyncio.sleep(max(0.0, end + frame.time - time.time()))
                feed.publish(shifted(frame, end))
                if frame.time <= -LIVE < frame.time + 0.1:
                    opened = asyncio.create_task(_wait_and_shoot(chromium, view.url, path, scheme, window, end))
            await opened


async def _wait_and_shoot(
    chromium: Chromium, url: str, path: Path, scheme: str, window: tuple[int, int, float], end: float
) -> None:
    async with chromium.tab(url, *window[:2], prefers_color_scheme=scheme) as tab:
        await tab.resize(*window)
        await asyncio.sleep(max(0.0, end - 0.5 - time.time()))
        await tab.screenshot(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--screenshot", type=Path, help="write the picture to this file instead of measuring")
    parser.add_argument("--scheme", choices=["light", "dark"], default="light")
    parser.add_argument("--size", type=int, nargs=2, default=[1400, 1150], metavar=("WIDTH", "HEIGHT"))
    parser.add_argument("--scale", type=float, default=1.0, help="pixels of the picture per pixel of the page")
    arguments = parser.parse_args()
    if arguments.screenshot:
        asyncio.run(picture(arguments.screenshot, arguments.scheme, (*arguments.size, arguments.scale)))
        print(f"wrote {arguments.screenshot}")
        return
    asyncio.run(measure())


if __name__ == "__main__":
    main()
