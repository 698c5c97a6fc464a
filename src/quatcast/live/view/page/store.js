// The rows of the last minutes as columns of typed arrays, which charts read without copying.

const MAX_BYTES = 8 * 2 ** 20;

/** Rows of one layout. Columns grow up to the limit and are then shifted, so that rows stay contiguous and in order. */
export class Store {
  constructor(layout, history, rate) {
    this.layout = layout;
    this.channels = layout.names.length;
    this.rowBytes = rowBytes(layout);
    this.limit = Math.max(2, Math.min(Math.ceil(history * rate), Math.floor(MAX_BYTES / this.rowBytes)));
    this.history = history;
    this.size = 0;
    this.total = 0;
    this.capacity = 0;
    this.time = new Float64Array(0);
    this.age = new Float32Array(0);
    this.main = new Uint8Array(0);
    const many = (count, Kind) => Array.from({ length: count }, () => new Kind(0));
    const { horizons: H, dimensions: D } = layout;
    this.status = many(H, Uint8Array);
    this.filled = many(this.channels, Uint8Array);
    this.sample = many(this.channels * D, Float32Array);
    this.ahead = many(H, Float32Array);
    this.position = many(H * this.channels * D, Float32Array);
    this.radius = many(H * this.channels, Float32Array);
    const poses = layout.space === "pose", orientations = layout.space === "orientation";
    this.angle = many(poses ? H * this.channels : 0, Float32Array);
    this.chord = many(poses || orientations ? H * this.channels : 0, Float32Array);
    this.firstTurned = orientations ? 0 : poses ? 3 : Infinity; // The first coordinate that belongs to a quaternion.
  }

  /** Column of one coordinate of the samples. */
  sampleOf(channel, dimension) {
    return this.sample[channel * this.layout.dimensions + dimension];
  }

  /** Column of one coordinate of the forecasts for one horizon. */
  positionOf(horizon, channel, dimension) {
    return this.position[(horizon * this.channels + channel) * this.layout.dimensions + dimension];
  }

  /** Column of the radii of one channel for one horizon: those of positions, or in radians those of orientations. */
  radiusOf(horizon, channel) {
    return this.radius[horizon * this.channels + channel];
  }

  /** Column of the radii of the orientation of a pose, in radians. */
  angleOf(horizon, channel) {
    return this.angle[horizon * this.channels + channel];
  }

  /** Column of how far one coordinate may be off within the radius. */
  bandOf(horizon, channel, dimension) {
    return (dimension >= this.firstTurned ? this.chord : this.radius)[horizon * this.channels + channel];
  }

  /** Index of the first row that is not before a time. */
  indexOf(time) {
    let low = 0, high = this.size;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.time[middle] < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Time of the newest row, NaN without rows. */
  get newest() {
    return this.size ? this.time[this.size - 1] : NaN;
  }

  /** Add the rows of a binary message; rows that are not after the newest one replace what was there. */
  add(buffer) {
    const view = new DataView(buffer);
    const count = Math.floor((buffer.byteLength - 8) / this.rowBytes);
    if (!count) return 0;
    const first = view.getFloat64(8, true);
    if (this.size && first <= this.newest) this.size = this.indexOf(first);
    this._reserve(count);
    for (let row = 0; row < count; row++) this._read(view, 8 + row * this.rowBytes);
    this.total += count;
    return count;
  }

  _read(view, offset) {
    const at = this.size++;
    this.time[at] = view.getFloat64(offset, true);
    this.age[at] = view.getFloat32(offset + 8, true);
    this.main[at] = view.getUint8(offset + 12);
    let place = offset + 13;
    for (const column of this.status) column[at] = view.getUint8(place++);
    for (const column of this.filled) column[at] = view.getUint8(place++);
    for (const group of [this.sample, this.ahead, this.position, this.radius, this.angle]) {
      for (const column of group) {
        column[at] = view.getFloat32(place, true);
        place += 4;
      }
    }
    const angles = this.angle.length ? this.angle : this.radius;
    this.chord.forEach((column, index) => { column[at] = chordOf(angles[index][at]); });
  }

  _reserve(count) {
    const old = this.size ? this.indexOf(this.newest - this.history) : 0;
    const drop = Math.max(old, this.size + count - this.limit, 0);
    if (this.size + count <= this.capacity) return;
    // Shifting costs as much as growing, so that it is done when it frees at least a quarter.
    if (drop > this.capacity / 4 || this.capacity >= 1.4 * this.limit) {
      this._each((column) => { column.copyWithin(0, Math.min(drop, this.size), this.size); return column; });
      this.size = Math.max(0, this.size - drop);
    }
    if (this.size + count <= this.capacity) return;
    this.capacity = Math.max(512, Math.ceil(1.5 * (this.size + count)));
    this._each((column) => {
      const larger = new column.constructor(this.capacity);
      larger.set(column.subarray(0, this.size));
      return larger;
    });
  }

  _each(change) {
    this.time = change(this.time);
    this.age = change(this.age);
    this.main = change(this.main);
    for (const group of [this.status, this.filled, this.sample, this.ahead, this.position, this.radius, this.angle, this.chord])
      group.forEach((column, index) => { group[index] = change(column); });
  }
}

/** Distance of two unit quaternions whose orientations differ by an angle: no coordinate differs by more. */
function chordOf(angle) {
  return 2 * Math.sin(Math.min(angle, Math.PI) / 4);
}

/** Size of a row in bytes; the layout is that of Layout.row in rows.py. */
export function rowBytes({ names, dimensions: D, horizons: H, space }) {
  const C = names.length, radii = space === "pose" ? 2 : 1;
  return 13 + H + C + 4 * (C * D + H + H * C * D + radii * H * C);
}
