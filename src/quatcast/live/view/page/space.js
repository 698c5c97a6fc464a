// The markers in space: where they are, where they have been, and where they are going. Can be turned with the pointer.

import { niceStep, pixelRatio } from "./format.js";

const TRAIL = 8; // Seconds of the past that are drawn.
const PIECES = 10; // Pieces of a trail, each fainter than the next.
const ENLARGEMENTS = [1, 2, 5, 10, 20, 50];
const START = { yaw: -0.65, pitch: 0.38 };

export class Space {
  constructor(holder, note) {
    this.holder = holder;
    this.note = note;
    this.canvas = holder.appendChild(document.createElement("canvas"));
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", "Markers in space. Turn with the arrow keys.");
    this.reset();
    this._listen();
    new ResizeObserver(() => this._resize()).observe(holder);
    this._resize();
  }

  /** Forget centres and scale, for another stream. */
  reset() {
    Object.assign(this, START);
    this.turned = this.moved = false;
    this.anchors = [];
    this.reach = this.scale = this.gap = 0;
    this.enlargement = 0;
    this.checked = 0;
  }

  _resize() {
    this.width = this.holder.clientWidth;
    this.height = this.holder.clientHeight;
    this.ratio = pixelRatio();
    this.canvas.width = Math.max(1, Math.round(this.width * this.ratio));
    this.canvas.height = Math.max(1, Math.round(this.height * this.ratio));
  }

  _listen() {
    const turn = (yaw, pitch) => {
      this.yaw += yaw;
      this.pitch = Math.max(-1.5, Math.min(1.5, this.pitch + pitch));
      this.turned = true;
    };
    let from = null;
    this.canvas.addEventListener("pointerdown", (event) => {
      from = [event.clientX, event.clientY];
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (!from) return;
      turn((event.clientX - from[0]) * 0.008, (event.clientY - from[1]) * 0.008);
      from = [event.clientX, event.clientY];
    });
    for (const kind of ["pointerup", "pointercancel"]) this.canvas.addEventListener(kind, () => { from = null; });
    this.canvas.addEventListener("dblclick", () => {
      this.turned = this.moved = false;
    });
    this.canvas.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] }[event.key];
      if (!step) return;
      event.preventDefault();
      turn(...step);
    });
  }

  /** Draw the channels of a store with the forecasts for one horizon; `enlarge` is a factor, or 0 for automatic. */
  draw({ store, channels, horizon, theme, now, enlarge }) {
    if (pixelRatio() !== this.ratio) this._resize();
    if (this.width < 60 || !store || !store.size || !channels.length) return;
    this.store = store;
    this.axes = axesOf(store.layout.dimensions);
    const start = store.indexOf(now - TRAIL);
    this._measure(channels, start, enlarge);
    const context = this.canvas.getContext("2d");
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.lineJoin = context.lineCap = "round";
    this._drawFloor(context, theme);
    const order = channels.map((channel) => [this._project(this._place(channel, this.anchors[channel]))[2], channel]);
    order.sort((a, b) => b[0] - a[0]);
    for (const [, channel] of order) this._drawChannel(context, channel, start, horizon, theme, now);
    const factor = this.factor === 1 ? "true to scale" : `motion enlarged ×${this.factor}`;
    const apart = this.gap && channels.length > 1 ? "drawn side by side · " : "";
    this.note.textContent = `${apart}${factor} · grid ${Number(this.step.toPrecision(1))} ${store.layout.unit}`.trim();
  }

  /** Turn so that the longest line between two markers runs across the picture, slightly away from the viewer. */
  _face(points) {
    let longest = 0;
    for (const a of points) {
      for (const b of points) {
        const [dx, dy] = [b[0] - a[0], b[1] - a[1]];
        if (dx < 0 || Math.hypot(dx, dy) <= longest) continue;
        longest = Math.hypot(dx, dy);
        this.yaw = 0.55 - Math.atan2(dy, dx);
      }
    }
    this.pitch = START.pitch;
  }

  /** Position of a channel in a row, as three numbers; NaN where not seen. */
  _sample(channel, row) {
    return this.axes.map((axis) => (axis === null ? 0 : this.store.sampleOf(channel, axis)[row]));
  }

  /** Find the centre of each channel and the size of its motion. */
  _measure(channels, start, enlarge) {
    const { store } = this;
    // The centres follow at once while there are few samples, and slowly afterwards.
    const follow = store.size < 150 ? 0.3 : 0.03;
    let motion = 0;
    for (const channel of channels) {
      const mean = [0, 0, 0], low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
      let count = 0;
      for (let row = start; row < store.size; row++) {
        const point = this._sample(channel, row);
        if (point.some(Number.isNaN)) continue;
        count++;
        point.forEach((value, axis) => {
          mean[axis] += value;
          low[axis] = Math.min(low[axis], value);
          high[axis] = Math.max(high[axis], value);
        });
      }
      const old = this.anchors[channel];
      if (!count && !old) this.anchors[channel] = [0, 0, 0];
      if (!count) continue;
      const found = mean.map((sum) => sum / count);
      this.anchors[channel] = old ? old.map((value, axis) => value + follow * (found[axis] - value)) : found;
      motion = Math.max(motion, Math.hypot(...high.map((value, axis) => value - low[axis])) / 2);
    }
    this._setApart(channels, motion);
    const placed = channels.map((channel) => this.anchors[channel].map((value, axis) => value + this.apart[channel][axis]));
    if (!this.moved && !this.turned) this._face(placed);
    const lows = [0, 1, 2].map((axis) => Math.min(...placed.map((point) => point[axis])));
    const highs = [0, 1, 2].map((axis) => Math.max(...placed.map((point) => point[axis])));
    this._fit(lows, highs, motion, enlarge, follow);
  }

  /** Draw channels side by side if all are in the same place, as displacements from a start are. */
  _setApart(channels, motion) {
    const points = channels.map((channel) => this.anchors[channel]);
    const spread = Math.max(0, ...points.map((point) => Math.hypot(...point.map((value, axis) => value - points[0][axis]))));
    const near = spread < (this.gap ? 1.5 : 0.8) * motion;
    if (!near) this.gap = 0;
    else if (1.3 * motion > this.gap) this.gap = 1.8 * motion;
    this.apart = [];
    channels.forEach((channel, place) => { this.apart[channel] = [(place - (channels.length - 1) / 2) * this.gap, 0, 0]; });
  }

  /** Choose enlargement, centre and scale. */
  _fit(lows, highs, motion, enlarge, follow) {
    const spread = Math.hypot(...highs.map((high, axis) => high - lows[axis])) / 2;
    if (performance.now() - this.checked > 5000 || !this.enlargement) {
      const wanted = Math.max(1, (0.65 * spread) / Math.max(motion, 1e-9));
      const fitting = ENLARGEMENTS.filter((factor) => factor <= wanted).pop();
      if (!this.enlargement || wanted < this.enlargement * 0.8 || wanted > this.enlargement * 3) this.enlargement = fitting;
      this.checked = performance.now();
    }
    this.factor = enlarge || this.enlargement;
    const moved = motion * this.factor;
    const reach = Math.max(spread + 1.25 * moved, 1e-6);
    if (!this.reach) this.reach = reach;
    else if (reach > this.reach || reach < 0.6 * this.reach) this.reach += 0.12 * (1.1 * reach - this.reach);
    const centre = lows.map((low, axis) => (low + highs[axis]) / 2);
    this.centre = this.moved ? this.centre.map((value, axis) => value + follow * (centre[axis] - value)) : centre;
    this.moved = true;
    this.step = niceStep(this.reach / 2.2);
    this.floor = lows[2] - this.centre[2] - moved - 0.12 * this.reach;
    const top = highs[2] - this.centre[2] + moved;
    this.middle = (top + this.floor) / 2;
    const tall = ((top - this.floor) / 2) * Math.cos(this.pitch) + 0.8 * spread * Math.abs(Math.sin(this.pitch));
    const scale = Math.min((0.54 * this.width) / this.reach, (0.43 * this.height) / tall);
    this.scale = this.scale ? this.scale + Math.max(follow, 0.1) * (scale - this.scale) : scale;
  }

  /** Move a point away from the centre of its channel by the enlargement, and make the common centre the origin. */
  _place(channel, point) {
    const anchor = this.anchors[channel];
    return point.map((value, axis) => anchor[axis] + this.factor * (value - anchor[axis]) + this.apart[channel][axis] - this.centre[axis]);
  }

  /** Project a point: position on the canvas and depth, which grows away from the viewer. */
  _project([x, y, z]) {
    const right = Math.cos(this.yaw) * x - Math.sin(this.yaw) * y;
    const away = Math.sin(this.yaw) * x + Math.cos(this.yaw) * y;
    const up = Math.cos(this.pitch) * z + Math.sin(this.pitch) * away;
    const depth = Math.cos(this.pitch) * away - Math.sin(this.pitch) * z;
    return [this.width / 2 + right * this.scale, this.height * 0.47 - (up - Math.cos(this.pitch) * this.middle) * this.scale, depth];
  }

  _drawFloor(context, theme) {
    const { step } = this;
    const size = 2 * step;
    context.lineWidth = 1;
    context.strokeStyle = theme.grid;
    context.beginPath();
    for (let at = -size; at <= size + 1e-9; at += step) {
      this._line(context, [at, -size, this.floor], [at, size, this.floor]);
      this._line(context, [-size, at, this.floor], [size, at, this.floor]);
    }
    context.stroke();
    this._drawAxes(context, theme);
  }

  /** Draw the directions of the axes in the corner. */
  _drawAxes(context, theme) {
    const [x, y] = this._project([0, 0, 0]), corner = [34, 44];
    context.font = `600 12px ${theme.font}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.lineWidth = 1.5;
    context.strokeStyle = context.fillStyle = theme.soft;
    ["x", "y", "z"].forEach((name, axis) => {
      const [u, v] = this._project([0, 1, 2].map((other) => (other === axis ? 1 / this.scale : 0)));
      const [right, down] = [u - x, v - y];
      context.beginPath();
      context.moveTo(...corner);
      context.lineTo(corner[0] + 20 * right, corner[1] + 20 * down);
      context.stroke();
      context.fillText(name, corner[0] + 28 * right, corner[1] + 28 * down);
    });
  }

  _line(context, from, to) {
    const [x, y] = this._project(from), [u, v] = this._project(to);
    context.moveTo(x, y);
    context.lineTo(u, v);
  }

  _drawChannel(context, channel, start, horizon, theme, now) {
    const { store } = this;
    const colour = theme.channels[channel % theme.channels.length];
    let last = store.size - 1;
    while (last > start && this._sample(channel, last).some(Number.isNaN)) last--;
    const sample = this._sample(channel, last);
    this._drawTrail(context, channel, start, colour, now);
    if (sample.some(Number.isNaN)) return;
    const place = this._place(channel, sample), [x, y] = this._project(place);
    const foot = this._project([place[0], place[1], this.floor]);
    context.strokeStyle = context.fillStyle = theme.soft;
    context.globalAlpha = 0.45;
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(foot[0], foot[1]);
    context.stroke();
    context.beginPath();
    context.ellipse(foot[0], foot[1], 4, Math.abs(4 * Math.sin(this.pitch)), 0, 0, 2 * Math.PI);
    context.fill();
    context.globalAlpha = 1;
    this._drawForecast(context, channel, horizon, [x, y], theme);
    context.fillStyle = colour;
    context.strokeStyle = theme.paper;
    context.lineWidth = 1.5;
    context.beginPath();
    context.arc(x, y, 6, 0, 2 * Math.PI);
    context.fill();
    context.stroke();
    context.fillStyle = theme.soft;
    context.font = `12px ${theme.font}`;
    context.textAlign = "center";
    context.fillText(clip(store.layout.names[channel]), foot[0], foot[1] + 15);
  }

  _drawTrail(context, channel, start, colour, now) {
    const { store } = this;
    context.strokeStyle = colour;
    context.lineWidth = 2;
    const every = Math.max(1, Math.floor((store.size - start) / 200));
    for (let piece = 0; piece < PIECES; piece++) {
      const from = store.indexOf(now - TRAIL * (1 - piece / PIECES));
      const to = Math.min(store.size - 1, store.indexOf(now - TRAIL * (1 - (piece + 1) / PIECES)) + every - 1);
      context.globalAlpha = 0.06 + (0.5 * (piece + 1)) / PIECES;
      context.beginPath();
      let pen = false;
      for (let row = Math.max(start, from); row <= to; row += every) {
        const sample = this._sample(channel, row);
        if (sample.some(Number.isNaN)) { pen = false; continue; }
        const [x, y] = this._project(this._place(channel, sample));
        if (pen) context.lineTo(x, y);
        else context.moveTo(x, y);
        pen = true;
      }
      context.stroke();
    }
    context.globalAlpha = 1;
  }

  /** Draw the path through the forecasts for all horizons up to the chosen one, and its radius. */
  _drawForecast(context, channel, horizon, origin, theme) {
    const { store } = this, last = store.size - 1;
    const points = [];
    for (let h = 0; h < store.layout.horizons; h++) {
      const point = this.axes.map((axis) => (axis === null ? 0 : store.positionOf(h, channel, axis)[last]));
      if (!point.some(Number.isNaN)) points.push([h, ...this._project(this._place(channel, point))]);
    }
    if (!points.length) return;
    context.strokeStyle = context.fillStyle = theme.forecast;
    context.lineWidth = 2;
    context.setLineDash([4, 4]);
    context.beginPath();
    context.moveTo(...origin);
    for (const [, x, y] of points) context.lineTo(x, y);
    context.stroke();
    context.setLineDash([]);
    for (const [h, x, y] of points) {
      context.beginPath();
      context.arc(x, y, h === horizon ? 4.5 : 2.2, 0, 2 * Math.PI);
      if (h === horizon) context.fillStyle = theme.paper;
      context.fill();
      context.fillStyle = theme.forecast;
      if (h !== horizon) continue;
      context.stroke();
      const radius = store.bandOf(h, channel, this.axes[0])[last] * this.factor * this.scale;
      if (!(radius > 0)) continue;
      context.fillStyle = theme.band;
      context.beginPath();
      context.arc(x, y, radius, 0, 2 * Math.PI);
      context.fill();
      context.fillStyle = theme.forecast;
    }
  }
}

/** The coordinates that are x, y and z: of a quaternion the last three, of a pose the first three. */
function axesOf(dimensions) {
  if (dimensions === 4) return [1, 2, 3];
  return [0, 1, 2].map((axis) => (axis < dimensions ? axis : null));
}

function clip(name) {
  return name.length > 24 ? `${name.slice(0, 23)}…` : name;
}
