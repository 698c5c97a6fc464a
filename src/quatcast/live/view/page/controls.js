// What the viewer chooses: horizon, time window, channels and theme. Choices are kept in the browser.

import { horizon as horizonText } from "./format.js";

const WINDOWS = [10, 30, 60, 300];
const THEMES = ["system", "light", "dark"];
const SHOWN_AT_FIRST = 3;

const keep = {
  get(key) {
    try { return localStorage.getItem(`quatcast-${key}`); } catch { return null; }
  },
  set(key, value) {
    try { localStorage.setItem(`quatcast-${key}`, value); } catch { /* Private windows may refuse; nothing depends on it. */ }
  },
};

const element = (id) => document.getElementById(id);

export class Controls {
  /** `changed` is called after each choice. */
  constructor(changed) {
    this.changed = changed;
    this.window = WINDOWS.includes(Number(keep.get("window"))) ? Number(keep.get("window")) : 30;
    this.theme = THEMES.includes(keep.get("theme")) ? keep.get("theme") : "system";
    this.horizon = 0;
    this.channels = [];
    this.enlarge = 0;
    this.wanted = null;
    this.texts = "";
    element("enlarge").addEventListener("change", (event) => { this.enlarge = Number(event.target.value); });
    element("theme").addEventListener("click", () => this._nextTheme());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this._applyTheme());
    this._showWindows();
    this._applyTheme();
  }

  /** Offer the channels of another layout; all of a few, the first of many. */
  begin(names) {
    const most = names.length <= 6 ? names.length : SHOWN_AT_FIRST;
    this.channels = names.map((_, channel) => channel).filter((channel) => channel < most);
    this.names = names;
    this.wanted = null;
    this.texts = "";
    this._showChannels();
  }

  /** Offer the horizons of the newest row; the one of the service is chosen until the viewer chooses. */
  offer(aheads, main) {
    const texts = aheads.map(horizonText);
    this.horizon = this.wanted !== null && this.wanted < aheads.length ? this.wanted : main;
    const key = `${texts.join()}|${this.horizon}`;
    if (key === this.texts) return;
    this.texts = key;
    element("horizon-choice").hidden = aheads.length < 2;
    segments(element("horizons"), texts, this.horizon, (index) => {
      this.wanted = this.horizon = index;
      this.texts = "";
      this.offer(aheads, main);
      this.changed();
    });
  }

  _showWindows() {
    const texts = WINDOWS.map((seconds) => (seconds < 60 ? `${seconds} s` : `${seconds / 60} min`));
    segments(element("windows"), texts, WINDOWS.indexOf(this.window), (index) => {
      this.window = WINDOWS[index];
      keep.set("window", this.window);
      this._showWindows();
      this.changed();
    });
  }

  _showChannels() {
    const chips = this.names.map((name, channel) => {
      const chip = document.createElement("button");
      chip.type = "button";
      const shown = this.channels.includes(channel);
      chip.setAttribute("aria-pressed", shown);
      const dot = chip.appendChild(document.createElement("span"));
      dot.className = "dot";
      if (shown) dot.style.backgroundColor = channelColour(channel);
      const label = chip.appendChild(document.createElement("span"));
      label.className = "label";
      label.textContent = name;
      chip.addEventListener("click", () => this._toggle(channel));
      return chip;
    });
    element("channels").replaceChildren(...chips);
  }

  _toggle(channel) {
    const others = this.channels.filter((other) => other !== channel);
    this.channels = others.length < this.channels.length ? others : [...others, channel].sort((a, b) => a - b);
    this._showChannels();
    this.changed();
  }

  _nextTheme() {
    this.theme = THEMES[(THEMES.indexOf(this.theme) + 1) % THEMES.length];
    keep.set("theme", this.theme);
    this._applyTheme();
  }

  _applyTheme() {
    const dark = this.theme === "dark" || (this.theme === "system" && matchMedia("(prefers-color-scheme: dark)").matches);
    document.documentElement.toggleAttribute("data-dark", dark);
    document.documentElement.toggleAttribute("data-light", !dark);
    element("theme").textContent = `theme: ${this.theme}`;
    this.colours = readColours(dark);
    this.changed();
  }
}

/** The colour of a channel as a variable of the style sheet. */
export function channelColour(channel) {
  return `var(--channel-${(channel % 6) + 1})`;
}

/** A row of buttons of which one is pressed. */
function segments(holder, texts, chosen, choose) {
  holder.replaceChildren(...texts.map((text, index) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = text;
    button.setAttribute("aria-pressed", index === chosen);
    button.addEventListener("click", () => choose(index));
    return button;
  }));
}

/** The colours of the theme for canvases, which do not know variables of style sheets. */
function readColours(dark) {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(`--${name}`).trim();
  const names = ["ink", "soft", "grid", "paper", "signal", "forecast", "band", "future", "now", "ok", "degraded", "hold", "warming", "lost", "font"];
  const colours = Object.fromEntries(names.map((name) => [name, read(name)]));
  const channels = [1, 2, 3, 4, 5, 6].map((number) => read(`channel-${number}`));
  return { name: dark ? "dark" : "light", holdWash: read("hold-shade"), channels, ...colours };
}
