// The parts of the page that are words and numbers: status, connection, figures and events.

import { clock, degrees, duration, percent, short, size } from "./format.js";

const STATES = { "warming up": "warming", ok: "ok", degraded: "degraded", hold: "hold" };
const MOST_EVENTS = 8;
const MOST_COUNTERS = 60;

const element = (id) => document.getElementById(id);

/** Set a text only if it differs, so that a page at rest is not laid out anew. */
function write(id, text) {
  const target = element(id);
  if (target.textContent !== text) target.textContent = text;
}

/** Show the large word: a status of the service, or what the page itself knows better. */
export function showStatus(word, reason) {
  const state = STATES[word] ?? "offline";
  const banner = element("banner");
  if (banner.dataset.state !== state) {
    banner.dataset.state = state;
    element("icon").setAttribute("href", `#icon-${state}`);
  }
  write("word", word);
  write("reason", reason);
}

/** Let figures and charts fade while they are not of the present. */
export function showStale(stale) {
  document.body.toggleAttribute("data-stale", stale);
}

export function showConnection(state, text) {
  element("connection").dataset.state = state;
  write("connection-text", text);
}

/** Show a number with a small unit. */
function figure(id, number, unit) {
  const target = element(id);
  const text = number === "–" ? "" : unit;
  if (target.textContent === number + text) return;
  const small = document.createElement("small");
  small.textContent = text;
  target.replaceChildren(number, small);
}

/** Show the figures of the last minute for one horizon and some channels. */
export function showFigures(beat, layout, horizon, channels, goal) {
  const rmse = meanSquare(pick(beat.rmse[horizon], channels));
  const coverage = pick(beat.coverage[horizon], channels);
  figure("figure-error", ...size(rmse, layout));
  figure("figure-coverage", percent(mean(coverage)), "%");
  const angles = layout.space === "pose"; // The figures are those of the positions, the hints also tell the orientations.
  const turned = angles ? degrees(meanSquare(pick(beat.angle_rmse[horizon], channels))).join("") : "";
  write("hint-error", `root mean square, all channels${angles ? `; orientation ${turned}` : ""}`);
  const within = angles ? `; orientation ${percent(mean(pick(beat.angle_coverage[horizon], channels)))} %` : "";
  write("hint-coverage", `last minute${within}${goal ? `; the aim is ${percent(goal)} %` : ""}`);
  const which = angles ? " of the position" : "";
  write("title-error", `Error${which}`);
  write("title-coverage", `Within radius${which}`);
  figure("figure-age", ...duration(beat.age[0]));
  write("hint-age", `median; 99 %: ${duration(beat.age[1]).join(" ")}`);
  figure("figure-lost", percent(mean(pick(beat.lost, channels))), "%");
  figure("figure-rate", short(beat.rate), "Hz");
  showCounters(beat.counters);
}

function showCounters(counters) {
  const entries = Object.entries(counters).slice(0, MOST_COUNTERS);
  if (!entries.length) return;
  element("counters").replaceChildren(...entries.map(([name, value]) => {
    const row = document.createElement("tr");
    row.append(document.createElement("td"), document.createElement("td"));
    row.firstChild.textContent = name.replaceAll("_", " ");
    row.lastChild.textContent = value.toLocaleString("en");
    return row;
  }));
}

/** The list of what happened, newest first. */
export class Events {
  constructor() {
    this.entries = [];
    this._show();
  }

  add(time, text) {
    if (this.entries.some((entry) => entry.time === time && entry.text === text)) return;
    this.entries.push({ time, text });
    this.entries.sort((a, b) => b.time - a.time);
    this.entries.length = Math.min(this.entries.length, MOST_EVENTS);
    this._show();
  }

  _show() {
    const items = this.entries.map(({ time, text }) => {
      const item = document.createElement("li");
      const when = item.appendChild(document.createElement("time"));
      when.textContent = clock(time);
      item.appendChild(document.createElement("span")).textContent = text;
      return item;
    });
    if (!items.length) {
      items.push(document.createElement("li"));
      items[0].className = "none";
      items[0].textContent = "nothing has happened";
    }
    element("events").replaceChildren(...items);
  }
}

function pick(values, channels) {
  return channels.map((channel) => values?.[channel]).filter((value) => value !== null && value !== undefined);
}

function meanSquare(values) {
  return values.length ? Math.hypot(...values) / Math.sqrt(values.length) : null;
}

function mean(values) {
  return values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : null;
}
