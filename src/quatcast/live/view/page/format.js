// Numbers as people read them, and pixels as screens have them.

/** The smallest of 1, 2 and 5 times a power of ten that is not below a value. */
export function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  for (const factor of [1, 2, 5]) if (factor * power >= least * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

/** Number of decimals that distinguishes multiples of a step. */
export function decimals(step) {
  return Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
}

/** Pixels of the screen per pixel of the page, as far as a drawing can use them. */
export function pixelRatio() {
  return Math.min(window.devicePixelRatio || 1, 2);
}

/** A number with two or three significant digits, or a dash. */
export function short(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size > 0 && size < 0.0995) return size < 1e-6 ? value.toExponential(1) : value.toPrecision(2);
  return value.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}

/** An error or a radius of a space as [number, unit]: a length in its unit, or radians in degrees. */
export function size(value, { space, unit }) {
  return space === "orientation" ? degrees(value) : [short(value), unit];
}

/** An angle in radians as [number, unit]. */
export function degrees(value) {
  return [short(typeof value === "number" ? (value * 180) / Math.PI : value), "°"];
}

/** What stands between a number and its unit. */
export function gap(unit) {
  return unit && unit !== "°" ? " " : "";
}

/** A part of one in percent, or a dash. */
export function percent(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const parts = 100 * value;
  return Number(parts.toFixed(1)) === Math.round(parts) ? parts.toFixed(0) : parts.toFixed(1);
}

/** A duration in milliseconds below one second, in seconds above: [number, unit]. */
export function duration(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return ["–", "ms"];
  if (Math.abs(seconds) < 0.9995) return [(1000 * seconds).toFixed(Math.abs(seconds) < 0.0995 ? 1 : 0), "ms"];
  return [short(seconds), "s"];
}

/** A horizon such as 0.5 s, without digits that say nothing. */
export function horizon(seconds) {
  return `${Number(seconds.toPrecision(3))} s`;
}

/** Time of day of a time in seconds since 1970. */
export function clock(seconds) {
  return new Date(1000 * seconds).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
}
