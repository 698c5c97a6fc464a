// Small pictures of the last minutes: the status as a ribbon, error and coverage as bars.

import { gap, pixelRatio, size } from "./format.js";

/** A canvas that fills its holder at the resolution of the screen. */
class Picture {
  constructor(holder) {
    this.holder = holder;
    this.canvas = holder.appendChild(document.createElement("canvas"));
    this.canvas.setAttribute("role", "img");
  }

  /** Return an empty context with the size of the holder. */
  begin() {
    const ratio = pixelRatio();
    [this.width, this.height] = [this.holder.clientWidth, this.holder.clientHeight];
    const size = [Math.max(1, Math.round(this.width * ratio)), Math.max(1, Math.round(this.height * ratio))];
    if (this.canvas.width !== size[0] || this.canvas.height !== size[1]) [this.canvas.width, this.canvas.height] = size;
    const context = this.canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    return context;
  }
}

/** The status of the last minutes; degraded and hold differ in height too, for those who do not see the colours. */
export class Ribbon extends Picture {
  draw(store, horizon, now, seconds, theme) {
    const context = this.begin();
    const column = store.status[horizon];
    const colours = [theme.warming, theme.ok, theme.degraded, theme.hold];
    const heights = [0.35, 0.35, 0.65, 1].map((part) => part * this.height);
    context.fillStyle = theme.grid;
    context.fillRect(0, this.height - 1, this.width, 1);
    const x = (time) => this.width * (1 - (now - time) / seconds);
    let first = store.indexOf(now - seconds);
    while (first < store.size) {
      let last = first;
      while (last + 1 < store.size && column[last + 1] === column[first] && store.time[last + 1] - store.time[last] < 1) last++;
      const until = last + 1 < store.size ? Math.min(store.time[last + 1], store.time[last] + 1) : store.time[last];
      const code = Math.min(column[first], 3);
      context.fillStyle = colours[code];
      context.fillRect(x(store.time[first]), this.height - heights[code], Math.max(1, x(until) - x(store.time[first])), heights[code]);
      first = last + 1;
    }
  }
}

/** Bars of ten seconds over the last five minutes; `goal` draws a line, `floor` is where the axis begins. */
export class Bars extends Picture {
  draw(bins, values, { count, floor, ceiling, goal, colour, theme, text }) {
    const context = this.begin();
    if (!bins.length) return;
    const top = 14, bottom = this.height - 1, width = this.width / count;
    const known = values.filter((value) => value !== null);
    const most = ceiling ?? Math.max(1e-9, ...known) * 1.1;
    const least = Math.min(floor, ...known);
    const y = (value) => bottom - ((Math.min(value, most) - least) / (most - least)) * (bottom - top);
    const last = bins[bins.length - 1];
    context.fillStyle = theme.grid;
    context.fillRect(0, bottom, this.width, 1);
    bins.forEach((index, i) => {
      if (values[i] === null) return;
      const left = this.width - (last - index + 1) * width;
      context.fillStyle = colour(values[i]);
      context.fillRect(left + 1, y(values[i]), Math.max(1, width - 2), Math.max(2, bottom - y(values[i])));
    });
    context.font = `11px ${theme.font}`;
    context.fillStyle = theme.soft;
    context.textBaseline = "top";
    context.fillText(known.length ? text(most, Math.max(...known)) : "no forecast has been checked yet", 0, 0);
    if (goal === undefined || goal === null) return;
    context.strokeStyle = theme.ink;
    context.setLineDash([4, 3]);
    context.beginPath();
    context.moveTo(0, Math.round(y(goal)) + 0.5);
    context.lineTo(this.width, Math.round(y(goal)) + 0.5);
    context.stroke();
    context.setLineDash([]);
  }
}

/** Text above the bars of the error: the largest of them. */
export function largest(layout) {
  return (_, value) => {
    const [number, unit] = size(value, layout);
    return `largest ${number}${gap(unit)}${unit}`;
  };
}
