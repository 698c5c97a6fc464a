// The range of values that a lane shows: grows at once, shrinks late, and glides instead of jumping.

const PADDING = 1.2;
const SHRINK_BELOW = 0.5; // Part of the range that the signal may use before the range shrinks.
const SHRINK_AFTER = 2500; // Milliseconds for which the signal has to be that small.
const GLIDE = 0.25; // Part of the way to the new range that is gone per update.

export class Range {
  constructor() {
    this.middle = 0;
    this.span = 0;
    this.small = 0;
  }

  /** Follow the values of two columns; forecasts count only as far as they are near the signal. */
  include(measured, forecast, start, end) {
    let [low, high] = extent(measured, start, end, -Infinity, Infinity);
    if (!(low <= high)) [low, high] = extent(forecast, start, end, -Infinity, Infinity);
    if (!(low <= high)) {
      if (!this.span) this.span = 1;
      return;
    }
    const reach = Math.max(high - low, 1e-6);
    const [lower, higher] = extent(forecast, start, end, low - reach, high + reach);
    low = Math.min(low, lower);
    high = Math.max(high, higher);
    this._follow(low, high);
  }

  _follow(low, high) {
    const span = Math.max((high - low) * PADDING, 1e-3), middle = (low + high) / 2;
    if (!this.span) {
      this.span = this.goal = span;
      this.middle = this.aim = middle;
      return;
    }
    const now = performance.now();
    const outside = low < this.aim - this.goal / 2 || high > this.aim + this.goal / 2;
    if (span > SHRINK_BELOW * this.goal) this.small = now;
    if (outside || now - this.small > SHRINK_AFTER) {
      this.goal = span * (outside ? 1.08 : 1);
      this.aim = middle;
      this.small = now;
    }
    this.span = glide(this.span, this.goal, this.goal);
    this.middle = glide(this.middle, this.aim, this.goal);
  }
}

function glide(value, goal, size) {
  const next = value + GLIDE * (goal - value);
  return Math.abs(next - goal) < 0.004 * size ? goal : next;
}

function extent(values, start, end, least, most) {
  let low = Infinity, high = -Infinity;
  for (let i = start; i < end; i++) {
    const value = values[i];
    if (value < low && value >= least) low = value;
    if (value > high && value <= most) high = value;
  }
  return [low, high];
}
