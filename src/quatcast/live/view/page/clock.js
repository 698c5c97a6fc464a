// The time of the stream, estimated from the arrival of rows; the clock of the viewer's machine is not involved.

const MEMORY = 4; // Seconds of arrivals from which the offset is taken.
const STRANGE_AGE = 10; // Rows that say they are older were recorded before, and their age says nothing.

export class StreamClock {
  constructor() {
    this.arrivals = [];
    this.offset = NaN;
    this.shown = NaN;
    this.lastRow = -Infinity;
  }

  /** Take the newest row of a message: its time, its age when it was sent, and how long ago that was. */
  arrived(time, age, idle = 0) {
    const now = performance.now() / 1000;
    this.lastRow = now - idle;
    const known = Math.abs(age) < STRANGE_AGE ? age : 0;
    this.arrivals.push([now, now - idle - time - known]);
    this.arrivals = this.arrivals.filter(([when]) => when > now - MEMORY);
    // The message that took the least time tells most about the offset.
    this.offset = Math.min(...this.arrivals.map(([, offset]) => offset));
    if (!(Math.abs(this.offset - this.shown) < 0.5)) this.shown = this.offset;
  }

  /** The present time of the stream, which moves evenly. */
  now() {
    this.shown += 0.1 * (this.offset - this.shown);
    return performance.now() / 1000 - this.shown;
  }

  /** Seconds since the last row. */
  silence() {
    return performance.now() / 1000 - this.lastRow;
  }
}
