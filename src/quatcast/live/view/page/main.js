// The page: connects the stream to charts, space, figures and controls, and draws.

import { Chart } from "./chart.js";
import { StreamClock } from "./clock.js";
import { Controls, channelColour } from "./controls.js";
import { degrees, gap, horizon as horizonText, size } from "./format.js";
import { Bars, Ribbon, largest } from "./history.js";
import { Events, showConnection, showFigures, showStale, showStatus } from "./panels.js";
import { Space } from "./space.js";
import { Store } from "./store.js";
import { Stream } from "./stream.js";

const FRAME = 1000 / 31; // Milliseconds between two drawings.
const LATE = 1; // Seconds without a row after which the page itself says hold, at the latest.
const RIBBON = 300;
const element = (id) => document.getElementById(id);

/** Everything that the page knows; exported for tests. */
export const page = {
  store: null, hello: null, beat: null, status: null, connected: false, ended: "", lostAt: 0,
  draws: 0, updates: 0, rows: 0, dropped: 0, drawTime: 0, charts: new Map(), space: null,
};

const clock = new StreamClock();
const events = new Events();
const controls = new Controls(() => { page.rebuild = true; });
const space = new Space(element("space"), element("space-note"));
page.space = space;
const ribbon = new Ribbon(element("ribbon"));
const errorBars = new Bars(element("bars-error"));
const coverageBars = new Bars(element("bars-coverage"));

const handlers = {
  hello(message) {
    page.hello = message;
    page.idle = message.idle ?? 0;
  },
  layout(message) {
    const same = page.store && sameLayout(page.store.layout, message);
    if (same) return;
    page.store = new Store(message, page.hello.history, page.hello.rate);
    page.beat = null; // Its figures are those of another stream, perhaps in another unit.
    element("stream").textContent = message.stream;
    element("space-card").hidden = message.dimensions < 2;
    space.reset();
    controls.begin(message.names);
    page.rebuild = true;
  },
  rows(buffer) {
    const { store } = page;
    const count = store.add(buffer);
    if (!count) return;
    page.updates += 1;
    page.rows += count;
    const last = store.size - 1;
    clock.arrived(store.newest, store.age[last], page.idle);
    page.idle = 0;
    controls.offer(store.ahead.map((column) => column[last]), store.main[last]);
  },
  status(message) { page.status = message; },
  event(message) { events.add(message.time, message.text); },
  beat(message) {
    page.beat = message;
    drawBeat();
  },
  dropped(message) {
    page.dropped = message.count;
    showConnection("live", `live, ${message.count} updates left out`);
  },
  connection({ connected, restarted, reason }) {
    const before = page.connected;
    page.connected = connected;
    page.ended = reason || "";
    if (connected) {
      showConnection("live", "live");
      if (page.lostAt) {
        const seconds = Math.max(1, Math.round(Date.now() / 1000 - page.lostAt));
        events.add(Date.now() / 1000, `connected again after ${seconds} s${restarted ? "; the service was restarted" : ""}`);
        page.lostAt = 0;
      }
    } else {
      showConnection("lost", "no connection, trying again");
      if (before) {
        page.lostAt = Date.now() / 1000;
        events.add(page.lostAt, "connection to the service lost");
      }
    }
    drawStatus();
  },
};

function sameLayout(a, b) {
  const part = ({ stream, names, unit, dimensions, horizons, space }) => JSON.stringify([stream, names, unit, dimensions, horizons, space]);
  return part(a) === part(b);
}

/** Seconds that a line bridges: a few sampling periods. */
function gapOf(beat) {
  return Math.max(0.35, beat?.rate ? 3.5 / beat.rate : 1);
}

/** Make one card per chosen channel. */
function buildCharts() {
  const { store } = page;
  for (const { chart } of page.charts.values()) chart.close();
  page.charts.clear();
  element("empty").hidden = Boolean(store);
  const cards = !store ? [] : controls.channels.map((channel) => {
    const card = document.createElement("article");
    card.className = "card";
    const header = card.appendChild(document.createElement("header"));
    const dot = header.appendChild(document.createElement("span"));
    dot.className = "dot";
    dot.style.backgroundColor = channelColour(channel);
    header.appendChild(document.createElement("h2")).textContent = store.layout.names[channel];
    const read = header.appendChild(document.createElement("span"));
    read.className = "read";
    const plot = card.appendChild(document.createElement("div"));
    plot.className = "plot";
    page.charts.set(channel, { plot, read });
    return card;
  });
  element("charts").replaceChildren(...cards);
  element("charts").style.setProperty("--charts", Math.max(1, cards.length));
  element("charts").style.setProperty("--lanes", store ? store.layout.dimensions : 3);
  for (const entry of page.charts.values()) entry.chart = new Chart(entry.plot);
  page.rebuild = false;
  if (page.beat) drawBeat();
}

function laneLabels(dimensions) {
  if (dimensions === 4) return ["w", "x", "y", "z"];
  if (dimensions === 7) return ["x", "y", "z", "qw", "qx", "qy", "qz"];
  return Array.from({ length: dimensions }, (_, axis) => (dimensions <= 3 ? "xyz"[axis] : String(axis + 1)));
}

/** What a chart of a channel has to draw. */
function frameOf(channel, now) {
  const { store } = page, h = controls.horizon, last = store.size - 1;
  const { dimensions, horizons } = store.layout;
  const longest = Math.max(...store.ahead.map((column) => column[last]), 0);
  const shown = controls.window, from = now - shown;
  const lanes = laneLabels(dimensions).map((label, d) => ({
    label, group: Number(d >= store.firstTurned), // Position and orientation of a pose have different units.
    measured: store.sampleOf(channel, d), forecast: store.positionOf(h, channel, d), band: store.bandOf(h, channel, d),
  }));
  const path = [];
  for (let i = h; i < horizons; i++) {
    const values = lanes.map((_, d) => store.positionOf(i, channel, d)[last]);
    const bands = lanes.map((_, d) => store.bandOf(i, channel, d)[last] || 0); // None where there is no radius.
    if (!values.some(Number.isNaN)) path.push([store.time[last] + store.ahead[i][last], bands, values]);
  }
  return {
    from, now, to: now + Math.max(longest * 1.15, 0.035 * shown), lanes, path, time: store.time, ahead: store.ahead[h],
    start: Math.max(0, store.indexOf(from - longest) - 1), end: store.size,
    filled: store.filled[channel], status: store.status[h], gap: gapOf(page.beat), theme: controls.colours,
  };
}

/** The large word. The page trusts its own clock: without rows there is nothing to trust, whatever came last. */
function drawStatus() {
  const { store, beat } = page;
  const silence = clock.silence(), limit = Math.min(5, Math.max(LATE, 3.5 / (beat?.rate || 10)));
  showStale(Boolean(store && store.size) && (!page.connected || silence > limit));
  if (!page.connected) {
    showStatus(page.hello ? "offline" : "connecting", page.ended || (page.hello ? "no connection to the service; do not use what is shown" : ""));
    document.title = "offline · quatcast live";
    return;
  }
  if (!store || !store.size) return showStatus("waiting", "the service is running; no sample has arrived yet");
  const code = store.status[controls.horizon][store.size - 1];
  const word = store.layout.statuses[code] ?? "hold";
  const reason = page.status?.status === word ? page.status.reason : "";
  if (silence > limit) showStatus("hold", `no forecast for ${silence.toFixed(silence < 10 ? 1 : 0)} s`);
  else showStatus(word, reason || (word === "ok" ? `forecasts ${horizonText(store.ahead[controls.horizon][store.size - 1])} ahead` : ""));
  document.title = `${silence > limit ? "hold" : word} · ${store.layout.stream}`;
}

/** Figures and bars, once per second. */
function drawBeat() {
  const { beat, store, hello } = page;
  if (!store || !beat.rmse.length) return;
  const h = controls.horizon, { layout } = store, last = store.size - 1, theme = controls.colours, goal = hello.coverage;
  showFigures(beat, layout, h, controls.channels, goal);
  const { bins } = beat, at = (rows) => rows.map((row) => row[h] ?? null), count = RIBBON / bins.seconds;
  errorBars.draw(bins.index, at(bins.rmse), { count, floor: 0, colour: () => theme.forecast, theme, text: largest(layout) });
  coverageBars.draw(bins.index, at(bins.coverage), {
    count, floor: 0.7, ceiling: 1, goal, theme, colour: (value) => (goal && value < goal - 0.15 ? theme.degraded : theme.forecast),
    text: () => (goal ? `dashed: aim of ${Math.round(100 * goal)} %` : "of the last forecasts"),
  });
  for (const [channel, { read }] of page.charts) readOut(read, [
    ["error", size(beat.rmse[h]?.[channel], layout), layout.space === "pose" && degrees(beat.angle_rmse[h]?.[channel])],
    ["radius", size(store.radiusOf(h, channel)[last], layout), layout.space === "pose" && degrees(store.angleOf(h, channel)[last])],
  ]);
}

/** Show named sizes, each with that of the orientation after it if there is one. */
function readOut(target, entries) {
  target.replaceChildren(...entries.flatMap(([name, ...sizes], index) => sizes.filter(Boolean).flatMap(([value, unit], part) => {
    const number = document.createElement("b");
    number.textContent = value;
    return [part ? ", " : `${index ? " · " : ""}${name} `, number, gap(unit) + unit];
  })));
}

function draw(now) {
  const begun = performance.now();
  for (const [channel, { chart }] of page.charts) chart.draw(frameOf(channel, now));
  space.draw({ store: page.store, channels: controls.channels, horizon: controls.horizon, theme: controls.colours, now, enlarge: controls.enlarge });
  ribbon.draw(page.store, controls.horizon, now, RIBBON, controls.colours);
  page.drawTime = performance.now() - begun;
  page.draws += 1;
}

let drawn = -Infinity;
function loop(time) {
  requestAnimationFrame(loop);
  if (time - drawn < FRAME - 4) return;
  drawn = time;
  if (page.rebuild) buildCharts();
  drawStatus();
  if (page.store && page.store.size) draw(clock.now());
}

new Stream(handlers);
requestAnimationFrame(loop);
// A page in the background is not drawn; its title still tells the status.
setInterval(() => { if (document.hidden) drawStatus(); }, 1000);
