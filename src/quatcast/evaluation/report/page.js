"use strict";
(() => {
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  // On a narrow screen the buttons would cover the figure.
  const BUTTONS = matchMedia("(min-width: 700px)").matches ? "hover" : false;
  const CONFIG = { responsive: true, displaylogo: false, displayModeBar: BUTTONS, modeBarButtonsToRemove: ["select2d", "lasso2d", "sendChartToCloud"] };

  /** Return the layout of a figure in the colours of the page. */
  function themed(layout) {
    const ink = css("--ink"), grid = css("--grid"), soft = css("--soft");
    const font = { family: getComputedStyle(document.body).fontFamily, size: 12, color: ink };
    const axis = { gridcolor: grid, zerolinecolor: grid, linecolor: soft, tickcolor: soft, automargin: true };
    const hover = { bgcolor: css("--paper"), bordercolor: soft, font: { ...font } };
    const out = { ...layout, font, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", hoverlabel: hover };
    out.legend = { bgcolor: "rgba(0,0,0,0)", ...layout.legend };
    out.modebar = { bgcolor: "rgba(0,0,0,0)", color: soft, activecolor: css("--accent") };
    for (const [key, value] of Object.entries(layout)) {
      if (/^[xy]axis/.test(key)) out[key] = { ...axis, ...value, title: { standoff: 14, ...value.title } };
      if (/^scene/.test(key)) {
        out[key] = { ...value };
        for (const name of ["xaxis", "yaxis", "zaxis"])
          out[key][name] = { gridcolor: grid, zerolinecolor: soft, showbackground: false, ...value[name] };
      }
    }
    return out;
  }

  /** Escape a text for a label of Plotly, which accepts some HTML. */
  const label = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

  function select(parent, title, values, chosen, changed) {
    const label = document.createElement("label"), box = document.createElement("select");
    label.textContent = title;
    for (const value of values) box.add(new Option(value, value, false, value === chosen));
    box.addEventListener("change", () => changed(box.value));
    label.append(box);
    parent.append(label);
    return box;
  }

  /** Show one of several figures, selected by the controls above it. */
  function choice(figure, data) {
    const controls = figure.querySelector(".controls"), canvas = figure.querySelector(".canvas");
    let at = data.options[0].at.slice();
    const matches = (option, depth) => option.at.slice(0, depth).every((value, i) => value === at[i]);

    function draw() {
      controls.replaceChildren();
      data.keys.forEach((title, depth) => {
        const values = [...new Set(data.options.filter((o) => matches(o, depth)).map((o) => o.at[depth]))];
        if (!values.includes(at[depth])) at[depth] = values[0];
        if (new Set(data.options.map((o) => o.at[depth])).size > 1)
          select(controls, title, values, at[depth], (value) => { at[depth] = value; draw(); });
      });
      const chosen = data.options.find((o) => matches(o, data.keys.length)).figure;
      return Plotly.react(canvas, chosen.data, themed(chosen.layout), CONFIG);
    }
    return draw;
  }

  /** Unpack numbers from base64 of little-endian integers; the smallest integer represents a missing value. */
  function unpack({ step, bits, data }) {
    const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
    const whole = new (bits === 16 ? Int16Array : Int32Array)(bytes.buffer), none = -(2 ** (bits - 1));
    return Array.from(whole, (value) => (value === none ? null : value * step));
  }

  const RULES = { causal: "causal labels", lookahead: "look-ahead labels" };
  const DASH = { causal: "solid", lookahead: "dot" };

  /** Show forecasts by recording, coordinate, predictor and label rule. */
  function explorer(figure, data) {
    const controls = figure.querySelector(".controls"), canvas = figure.querySelector(".canvas");
    const on = new Set(data.predictors.filter((p) => p.on).map((p) => p.name)), rules = new Set(data.labels);
    const colours = Object.fromEntries(data.predictors.map((p) => [p.name, p.colour]));
    const cache = new Map();
    const numbers = (packed) => {
      if (!cache.has(packed)) cache.set(packed, unpack(packed));
      return cache.get(packed);
    };
    let recording = data.recordings[0], coordinate = recording.main, range = null, horizon = data.horizon;
    const bracket = (text, unit) => label(unit ? `${text} [${unit}]` : text);

    function chips(names, selected, style) {
      const row = document.createElement("div");
      row.className = "chips";
      for (const [name, text] of names) {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = text;
        button.setAttribute("aria-pressed", selected.has(name));
        for (const [key, value] of Object.entries(style(name))) button.style.setProperty(key, value);
        button.addEventListener("click", () => {
          selected.has(name) ? selected.delete(name) : selected.add(name);
          button.setAttribute("aria-pressed", selected.has(name));
          plot();
        });
        row.append(button);
      }
      controls.append(row);
    }

    function build() {
      controls.replaceChildren();
      const title = (r) => (r.group ? `${r.name} (${r.group})` : r.name);
      if (data.recordings.length > 1)
        select(controls, "Recording", data.recordings.map(title), title(recording), (value) => {
          recording = data.recordings.find((r) => title(r) === value);
          coordinate = recording.main;
          range = null;
          build();
        });
      if (data.horizons.length > 1) {
        const ahead = (h) => `${h} s`;
        select(controls, "Horizon", data.horizons.map(ahead), ahead(horizon), (value) => {
          horizon = data.horizons.find((h) => ahead(h) === value);
          plot();
        });
      }
      select(controls, "Coordinate", recording.coordinates, recording.coordinates[coordinate], (value) => {
        coordinate = recording.coordinates.indexOf(value);
        plot();
      });
      chips(data.predictors.map((p) => [p.name, p.name]), on, (name) => ({ "--colour": colours[name] }));
      if (data.labels.length > 1)
        chips(data.labels.map((rule) => [rule, RULES[rule]]), rules,
          (rule) => ({ "--dash": rule === "causal" ? "solid" : "dotted" }));
      return plot();
    }

    /** Return the range of numbers within the visible times, with a margin. */
    function reach(rows, x, room) {
      let low = Infinity, high = -Infinity;
      for (const row of rows)
        row.forEach((value, i) => {
          if (value !== null && x[i] >= range[0] && x[i] <= range[1]) {
            low = Math.min(low, value);
            high = Math.max(high, value);
          }
        });
      const span = high - low || 1;
      return low > high ? undefined : [low - room * span, high + room * span];
    }

    function plot() {
      if (canvas.layout && canvas.layout.xaxis && range) range = canvas.layout.xaxis.range.slice();
      const x = numbers(recording.times), last = x[x.length - 1];
      if (!range) range = last - recording.test > 60 ? [recording.test - 5, recording.test + 55] : [x[0], last];
      const ink = css("--ink"), soft = css("--soft");
      const shown = (word, unit) => label(`${word}%{y:.${recording.decimals}f} ${unit}`.trimEnd());
      const value = shown("", recording.units[coordinate]);
      const actual = { name: "actual", line: { color: ink, width: 4 }, hovertemplate: value };
      const lines = [{ x, y: numbers(recording.actual[coordinate]), mode: "lines", opacity: 0.3, ...actual }];
      for (const trace of recording.traces.filter(
        (t) => t.horizon === horizon && on.has(t.predictor) && rules.has(t.labels))) {
        const name = label(`${trace.predictor}, ${RULES[trace.labels]}`);
        const line = { color: colours[trace.predictor], width: 1.6, dash: DASH[trace.labels] };
        const y = numbers(trace.forecast[coordinate]), base = { x, mode: "lines", line, name };
        if (trace.radius) {
          const r = numbers(trace.radius[recording.channels[coordinate]]);
          const edge = (sign) => y.map((v, i) => (v === null || r[i] === null ? null : v + sign * r[i]));
          const band = { x, mode: "lines", line: { width: 0 }, hoverinfo: "skip", showlegend: false };
          lines.push({ ...band, y: edge(-1) });
          lines.push({ ...band, y: edge(1), fill: "tonexty", fillcolor: line.color + "2e" });
        }
        lines.push({ ...base, y, hovertemplate: value });
        lines.push({ ...base, y: numbers(trace.error), yaxis: "y2", hovertemplate: shown("error ", recording.unit) });
        if (trace.weight)
          lines.push({ ...base, y: numbers(trace.weight), yaxis: "y3", hovertemplate: "weight %{y:.3f}" });
      }
      // Forecasts that diverge or have not converged yet must not hide the others.
      const height = reach([numbers(recording.actual[coordinate])], x, 0.4);
      const errors = lines.filter((line) => line.yaxis === "y2").map((line) => line.y);
      const tops = errors.map((row) => row.filter((v, i) => v !== null && x[i] >= range[0] && x[i] <= range[1]))
        .filter((row) => row.length).map((row) => row.sort((a, b) => a - b)[Math.floor(0.98 * (row.length - 1))]);
      const top = tops.length ? 1.4 * Math.max(...tops) : 1;
      const weighed = lines.some((line) => line.yaxis === "y3");
      const cuts = weighed ? [[0.5, 1], [0.23, 0.45], [0, 0.18]] : [[0.42, 1], [0, 0.36]];
      const mark = {
        type: "line", x0: recording.test, x1: recording.test, y0: 0, y1: 1, yref: "paper",
        line: { color: soft, width: 1, dash: "dash" },
      };
      const words = {
        x: recording.test, y: 1, yref: "paper", text: "test begins", showarrow: false,
        xanchor: "left", yanchor: "bottom", font: { size: 11, color: soft },
      };
      const layout = {
        height: weighed ? 640 : 520, showlegend: false, hovermode: "x", margin: { l: 10, r: 10, t: 40, b: 10 },
        xaxis: { title: { text: "time [s]" }, range, anchor: weighed ? "y3" : "y2" },
        yaxis: { title: { text: bracket(recording.coordinates[coordinate], recording.units[coordinate]) }, domain: cuts[0], range: height },
        yaxis2: { title: { text: bracket("error", recording.unit) }, domain: cuts[1], range: [0, top || 1] },
        shapes: [mark], annotations: [words],
      };
      if (weighed) layout.yaxis3 = { title: { text: "weight [–]" }, domain: cuts[2], range: [-0.03, 1.03] };
      return Plotly.react(canvas, lines, themed(layout), CONFIG);
    }
    return build;
  }

  const KINDS = { choice, explorer };
  const draws = [...document.querySelectorAll("figure.plot")].map((figure) =>
    KINDS[figure.dataset.kind](figure, JSON.parse(figure.querySelector("script").textContent)));
  const drawAll = () => Promise.all(draws.map((draw) => draw()));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  drawAll().then(() => document.documentElement.setAttribute("data-drawn", draws.length));
})();
