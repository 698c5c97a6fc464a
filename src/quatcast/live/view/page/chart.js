// A chart of one channel: a lane per coordinate with the measured signal, the forecast at its target time and its radius.
//
// Two canvases lie on top of each other. The lower one has grid, labels and the zone of the future and is drawn only
// when a range, the size or the theme changes; the upper one has the lines and is drawn at every update. Points that
// fall into the same column of pixels are merged to their range, so that the cost depends on the width and not on
// the sampling rate.

import { decimals, niceStep, pixelRatio } from "./format.js";
import { Range } from "./range.js";

const GUTTER = { left: 50, right: 12, top: 8, bottom: 22 };
const LANE_GAP = 10;
const STRIP = 4; // Height of the strip at the bottom that marks lost samples and doubtful status.

export class Chart {
  constructor(holder) {
    this.holder = holder;
    this.grid = holder.appendChild(document.createElement("canvas"));
    this.traces = holder.appendChild(document.createElement("canvas"));
    this.traces.setAttribute("role", "img");
    this.ranges = [];
    this.band = new Float32Array(0);
    this.observer = new ResizeObserver(() => this._resize());
    this.observer.observe(holder);
    this._resize();
  }

  /** Remove the chart from the page. */
  close() {
    this.observer.disconnect();
    this.grid.remove();
    this.traces.remove();
  }

  /**
   * Draw everything anew.
   *
   * `frame`: `from`, `now` and `to` in seconds; `start` and `end`, the rows that can be visible; `time`, their times;
   * `lanes`, each with `label`, `group` (lanes of a group share their scale) and the columns `measured`, `forecast`
   * and `band` (how far the coordinate may be off within the radius); `ahead`, a column; `path`, points of the newest
   * forecast as [time, band per lane, value per lane]; `filled` and `status`, columns; `gap`, the longest time that a
   * line bridges; and `theme`, the colours.
   */
  draw(frame) {
    if (pixelRatio() !== this.ratio) this._resize(); // The window has moved to another screen.
    if (this.width < 80 || this.height < 40) return;
    this._scale(frame);
    const key = this._key(frame);
    if (key !== this.key) {
      this.key = key;
      this._drawGrid(frame);
    }
    const context = this.traces.getContext("2d");
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    this._drawStrip(context, frame);
    context.save();
    context.beginPath();
    context.rect(GUTTER.left, 0, this.width - GUTTER.left - GUTTER.right + 6, this.height - GUTTER.bottom);
    context.clip();
    context.lineJoin = "bevel";
    frame.lanes.forEach((lane, index) => this._drawLane(context, frame, lane, index));
    context.restore();
  }

  _resize() {
    this.width = this.holder.clientWidth;
    this.height = this.holder.clientHeight;
    this.ratio = pixelRatio();
    for (const canvas of [this.grid, this.traces]) {
      canvas.width = Math.max(1, Math.round(this.width * this.ratio));
      canvas.height = Math.max(1, Math.round(this.height * this.ratio));
    }
    this.key = null;
  }

  /** Choose ranges and heights of the lanes; lanes of one group have the same number of units per pixel. */
  _scale(frame) {
    const { lanes } = frame;
    if (this.ranges.length !== lanes.length) this.ranges = lanes.map(() => new Range());
    lanes.forEach((lane, index) => this.ranges[index].include(lane.measured, lane.forecast, frame.start, frame.end));
    const widest = {};
    lanes.forEach((lane, index) => { widest[lane.group] = Math.max(widest[lane.group] || 0, this.ranges[index].span); });
    const weights = lanes.map((lane, index) => Math.max(0.34, this.ranges[index].span / widest[lane.group]));
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    const usable = this.height - GUTTER.top - GUTTER.bottom - LANE_GAP * (lanes.length - 1) - STRIP;
    let top = GUTTER.top;
    this.lanes = lanes.map((lane, index) => {
      const height = (usable * weights[index]) / total;
      const scale = height / (widest[lane.group] * Math.max(0.34, this.ranges[index].span / widest[lane.group]));
      const placed = { top, height, scale, middle: this.ranges[index].middle };
      top += height + LANE_GAP;
      return placed;
    });
    this.perSecond = (this.width - GUTTER.left - GUTTER.right) / (frame.to - frame.from);
  }

  _key(frame) {
    const numbers = this.lanes.flatMap(({ top, scale, middle }) => [top.toFixed(1), scale.toPrecision(4), middle.toPrecision(7)]);
    const times = [frame.to - frame.from, frame.now - frame.from].map((value) => value.toFixed(2));
    return [this.width, this.height, this.ratio, frame.theme.name, frame.lanes.map((lane) => lane.label), ...times, ...numbers].join();
  }

  _drawGrid(frame) {
    const context = this.grid.getContext("2d");
    const { theme } = frame;
    const right = this.width - GUTTER.right, bottom = this.height - GUTTER.bottom;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    const now = GUTTER.left + (frame.now - frame.from) * this.perSecond;
    context.fillStyle = theme.future;
    context.fillRect(now, GUTTER.top, right - now, bottom - GUTTER.top);
    context.font = `11px ${theme.font}`;
    context.textBaseline = "middle";
    frame.lanes.forEach((lane, index) => this._drawLaneGrid(context, theme, lane, this.lanes[index], right));
    this._drawTimes(context, frame, bottom);
    context.strokeStyle = theme.now;
    context.beginPath();
    context.moveTo(now, GUTTER.top);
    context.lineTo(now, bottom);
    context.stroke();
  }

  _drawLaneGrid(context, theme, lane, { top, height, scale, middle }, right) {
    const step = niceStep(Math.max(22 / scale, 1e-9));
    const low = middle - height / 2 / scale, high = middle + height / 2 / scale;
    context.strokeStyle = theme.grid;
    context.fillStyle = theme.soft;
    context.textAlign = "right";
    for (let value = Math.ceil(low / step) * step; value <= high; value += step) {
      const y = Math.round(top + (high - value) * scale) + 0.5;
      context.beginPath();
      context.moveTo(GUTTER.left, y);
      context.lineTo(right, y);
      context.stroke();
      if (y > top - 3 && y < top + height + 3) context.fillText(label(value, step), GUTTER.left - 7, y);
    }
    context.textAlign = "left";
    context.fillStyle = theme.ink;
    context.font = `600 12px ${theme.font}`;
    context.fillText(lane.label, 6, top + height / 2);
    context.font = `11px ${theme.font}`;
  }

  _drawTimes(context, frame, bottom) {
    const seconds = frame.now - frame.from;
    const step = niceStep((seconds * 64) / this.width);
    context.fillStyle = frame.theme.soft;
    context.textAlign = "center";
    for (let back = 0; back <= seconds; back += step) {
      const x = GUTTER.left + (seconds - back) * this.perSecond;
      if (x < GUTTER.left + 12) break;
      context.fillText(back ? `−${Number(back.toPrecision(6))} s` : "now", Math.min(x, this.width - 16), bottom + 12);
    }
  }

  _x(time, frame) {
    return GUTTER.left + (time - frame.from) * this.perSecond;
  }

  /** Mark lost samples and times at which the status was degraded or hold. */
  _drawStrip(context, { filled, status, start, end, time, gap, theme, ...frame }) {
    const bottom = this.height - GUTTER.bottom;
    const paint = (from, to, colour, top, height) => {
      const left = Math.max(GUTTER.left, this._x(from, frame));
      const right = Math.min(this.width - GUTTER.right, Math.max(this._x(to, frame), left + 1));
      context.fillStyle = colour;
      if (right > left) context.fillRect(left, top, right - left, height);
    };
    for (let first = start; first < end;) {
      const code = status[first], lost = filled[first];
      let last = first;
      while (last + 1 < end && status[last + 1] === code && filled[last + 1] === lost && time[last + 1] - time[last] < gap) last++;
      const until = last + 1 < end ? Math.min(time[last + 1], time[last] + gap) : time[last];
      if (code === 3) paint(time[first], until, theme.holdWash, GUTTER.top, bottom - GUTTER.top);
      if (code >= 2) paint(time[first], until, code === 3 ? theme.hold : theme.degraded, bottom - STRIP, STRIP);
      if (lost) paint(time[first], Math.max(until, time[first] + 0.02), theme.lost, bottom - 2 * STRIP - 1, STRIP);
      first = last + 1;
    }
  }

  _drawLane(context, frame, lane, index) {
    const { top, height, scale, middle } = this.lanes[index];
    const place = { from: frame.from, perSecond: this.perSecond, zero: top + height / 2 + middle * scale, scale };
    const { theme } = frame;
    context.fillStyle = theme.band;
    context.beginPath();
    this._traceBand(context, frame, lane, place);
    this._traceCone(context, frame, index, place);
    context.fill();
    this._stroke(context, theme.forecast, linePath(frame, lane.forecast, frame.ahead, place, this.ratio));
    this._stroke(context, theme.signal, linePath(frame, lane.measured, null, place, this.ratio));
    this._drawPath(context, frame, index, place);
  }

  /**
   * Stroke a long line. Without a graphics card a browser draws lines of one pixel eight times faster than thicker
   * ones, so that two of them, a little apart, are much cheaper than one thick line. Screens of high resolution, where
   * one pixel would be too thin, come with a graphics card.
   */
  _stroke(context, colour, path) {
    context.strokeStyle = colour;
    if (this.ratio > 1) {
      context.lineWidth = 1.6;
      context.stroke(path);
      return;
    }
    context.lineWidth = 1;
    for (const shift of [-0.3, 0.3]) {
      context.translate(shift / 2, shift);
      context.stroke(path);
      context.translate(-shift / 2, -shift);
    }
  }

  /** Add the outline of the radius around the forecasts to the path, one piece for each stretch without a gap. */
  _traceBand(context, { time, ahead, start, end, gap }, { forecast, band }, { from, perSecond, zero, scale }) {
    if (this.band.length < 3 * (end - start)) this.band = new Float32Array(4 * (end - start));
    const points = this.band, column = 1.5; // Pixels per point; the edge of a band need not be sharper.
    let count = 0, previous = -Infinity;
    const close = () => {
      if (count > 1) {
        context.moveTo(points[0], points[1]);
        for (let i = 1; i < count; i++) context.lineTo(points[3 * i], points[3 * i + 1]);
        for (let i = count - 1; i >= 0; i--) context.lineTo(points[3 * i], points[3 * i + 2]);
        context.closePath();
      }
      count = 0;
    };
    for (let i = start; i < end; i++) {
      const middle = zero - forecast[i] * scale, half = band[i] * scale;
      if (!(half >= 0) || middle !== middle) { close(); continue; }
      const when = time[i] + ahead[i];
      if (when - previous > gap) close();
      previous = when;
      const x = GUTTER.left + (when - from) * perSecond, last = 3 * (count - 1);
      if (count && x - points[last] < column) {
        points[last + 1] = Math.min(points[last + 1], middle - half);
        points[last + 2] = Math.max(points[last + 2], middle + half);
        continue;
      }
      points[3 * count] = x;
      points[3 * count + 1] = middle - half;
      points[3 * count + 2] = middle + half;
      count++;
    }
    close();
  }

  /** Add the radius of the newest forecast at longer horizons than the chosen one. */
  _traceCone(context, { path, from }, index, { perSecond, zero, scale }) {
    if (path.length < 2) return;
    const edge = (side) => ([when, bands, values]) =>
      [GUTTER.left + (when - from) * perSecond, zero - (values[index] + side * bands[index]) * scale];
    const outline = [...path.map(edge(1)), ...path.map(edge(-1)).reverse()];
    outline.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
    context.closePath();
  }

  _drawPath(context, { path, from, theme }, index, { perSecond, zero, scale }) {
    if (!path.length) return;
    const points = path.map(([when, , values]) => [GUTTER.left + (when - from) * perSecond, zero - values[index] * scale]);
    context.lineWidth = 1.7;
    context.strokeStyle = context.fillStyle = theme.forecast;
    if (points.length > 1) {
      context.setLineDash([3, 3]);
      context.beginPath();
      points.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
      context.stroke();
      context.setLineDash([]);
    }
    context.beginPath();
    context.arc(points[0][0], points[0][1], 3.2, 0, 2 * Math.PI);
    context.fill();
  }
}

/** A column of values as a path; NaN and long gaps interrupt the line. */
function linePath({ time, start, end, gap }, values, shift, { from, perSecond, zero, scale }, ratio) {
  const path = new Path2D();
  let pen = false, previous = -Infinity, column = NaN, x = 0, low = 0, high = 0, last = 0, merged = false;
  const finish = () => {
    // A column in which the line hardly moves needs no points of its own: the next one continues from its first.
    if (merged && high - low > 0.6) {
      path.lineTo(x, low);
      path.lineTo(x, high);
      path.lineTo(x, last);
    }
    merged = false;
  };
  for (let i = start; i < end; i++) {
    const value = values[i];
    if (value !== value) { finish(); pen = false; continue; }
    const when = shift ? time[i] + shift[i] : time[i];
    if (when - previous > gap) { finish(); pen = false; }
    previous = when;
    const px = GUTTER.left + (when - from) * perSecond, here = Math.floor(px * ratio);
    const y = zero - value * scale;
    if (pen && here === column) {
      low = Math.min(low, y);
      high = Math.max(high, y);
      last = y;
      merged = true;
      continue;
    }
    finish();
    column = here;
    x = px;
    low = high = y;
    if (pen) path.lineTo(x, y);
    else path.moveTo(x, y);
    pen = true;
  }
  finish();
  return path;
}

function label(value, step) {
  return (Math.abs(value) < step / 2 ? 0 : value).toFixed(decimals(step)).replace("-", "−");
}
