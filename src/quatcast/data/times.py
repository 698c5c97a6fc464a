"""Columns of times: how they are named, and how their cells become seconds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation

import numpy as np

from quatcast.basics.typing import Floats
from quatcast.data.style import TIME_UNITS, FileStyle
from quatcast.data.units import plain_unit, split_unit, split_word

NAMES = frozenset({
    "time", "times", "t", "timestamp", "timestamps", "time stamp", "ts", "stamp", "seconds", "second", "secs", "sec",
    "elapsed", "elapsed time", "time elapsed", "relative time", "unix", "unix time", "epoch", "utc", "datetime",
    "date time", "date", "clock", "host time", "hosttime", "device time", "devicetime", "sample time", "ms", "msec",
    "usec", "nsec", "millisec", "milliseconds", "millis", "microseconds", "nanoseconds", "minutes", "hours", "zeit",
    "temps", "tiempo", "header.stamp", "field.header.stamp", "sampletimefine", "utctime", "unixtime", "system time",
})  # fmt: skip
"""Names of columns of times, in lower case, with blanks instead of underscores."""

UNIT_WORDS = {
    "s": "s", "sec": "s", "secs": "s", "second": "s", "seconds": "s",
    "ms": "ms", "msec": "ms", "msecs": "ms", "millis": "ms", "millisec": "ms", "millisecond": "ms",
    "milliseconds": "ms",
    "us": "us", "µs": "us", "usec": "us", "usecs": "us", "microsec": "us", "microsecond": "us", "microseconds": "us",
    "ns": "ns", "nsec": "ns", "nsecs": "ns", "nanosec": "ns", "nanosecond": "ns", "nanoseconds": "ns",
    "min": "min", "mins": "min", "minute": "min", "minutes": "min",
    "h": "h", "hr": "h", "hrs": "h", "hour": "h", "hours": "h",
}  # fmt: skip
"""Word for a unit → unit."""

UNIX = (978_307_200.0, 4_102_444_800.0)
"""Seconds since 1970 that are taken for dates: from 2001 to 2100."""
DIGITS = 20
"""Most digits of a whole number in a column of times, and most decimals; the nanoseconds since 1970 have 19."""
NEEDED = 12
"""Most decimals of a time that is not in the file, such as a third of a minute."""
SLOWEST, FASTEST = 0.1, 20_000.0
"""Sampling rates in Hz that a column without a unit may have in seconds; others need the unit."""

PAIR = re.compile(r"(?i)(.*?)(n|nano|u|µ|micro|m|milli|)(?:secs?|seconds?)")
FRACTIONS = {"n": 9, "nano": 9, "u": 6, "µ": 6, "micro": 6, "m": 3, "milli": 3}
"""Prefix of a unit of fractions of a second → its decimals."""
ISO = re.compile(r"(\d{4})[-/]?(\d\d)[-/]?(\d\d)[T ](\d\d):?(\d\d):?(\d\d)(?:[.,](\d+))?\s*(Z|[+-]\d\d(?::?\d\d)?)?")
DOTTED = re.compile(r"(\d\d?)\.(\d\d?)\.(\d{4})(?=[T ])")
"""A date with the day first."""
DATES = "a date such as 2024-10-27 00:59:30 or 27.10.2024 00:59:30"
"""The dates that are understood, for messages. In 10/11/2024 the month is not clear."""
CLOCK = re.compile(r"(\d\d?):(\d\d):(\d\d)(?:[.,](\d+))?")


def time_unit(name: str) -> str | None:
    """Return the unit that the name of a column of times has, "" if it has none, and None if it is no time.

    Examples
    --------
    >>> time_unit("timestamp_ms"), time_unit("#timestamp [ns]"), time_unit("t"), time_unit("hip.x")
    ('ms', 'ns', '', None)
    >>> time_unit("time [min]"), time_unit("elapsed_h"), time_unit("x_min")
    ('min', 'h', None)
    >>> time_unit("time in ms"), time_unit("t/s"), time_unit("TIME_MS"), time_unit("time seconds")
    ('ms', 's', 'ms', 's')
    """
    label, unit = _label_and_unit(name)
    plain = re.sub(r"[\s_]+", " ", label.strip().lower())
    if plain not in NAMES:
        return None
    return UNIT_WORDS.get(unit.lower()) or UNIT_WORDS.get(plain, "") if not unit or unit.lower() in UNIT_WORDS else None


def _label_and_unit(name: str) -> tuple[str, str]:
    """Split the name of a column of times; only here does `_min` mean minutes, since `x_min` is a minimum."""
    name = name.lstrip("#% ")
    label, unit = split_unit(name)
    if not unit:
        before, mark, word = split_word(name)
        # T_MIN may be the lowest temperature. After `in`, an unknown word is a unit, too.
        is_unit = plain_unit(word).lower() in UNIT_WORDS and not (len(before) == 1 and word == "MIN")
        if before and (is_unit or mark == "in"):
            return before, plain_unit(word)
    return label, unit


def unit_of_chosen(name: str) -> str | None:
    """Return the unit in the name of a column that is known to have times, whatever else its name says.

    Examples
    --------
    >>> unit_of_chosen("Zeitpunkt in ms"), unit_of_chosen("arrival")
    ('ms', None)
    """
    return time_unit(name) or UNIT_WORDS.get(_label_and_unit(name)[1].lower())


def resembling(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the names of columns that may be times although they are not read as such, with their units or "".

    Examples
    --------
    >>> resembling(["arrival_ms", "frame time", "quality", "x_min"])
    [('arrival_ms', 'ms'), ('frame time', '')]
    """
    found = []
    for name in names:
        unit = unit_of_chosen(name) or next(iter(_units_within(name)), "")
        if unit in ("s", "ms", "us", "ns") or any(word in NAMES and len(word) > 2 for word in _words(name)):
            found.append((name, unit))
    return found


def _words(name: str) -> list[str]:
    """Return the words of a name in lower case."""
    return re.split(r"[\W\d_]+", name.replace("μ", "µ").lower())


def _units_within(name: str) -> list[str]:
    """Return the units of times among the words of a name; single letters and `min` may mean anything."""
    return [UNIT_WORDS[word] for word in _words(name) if word in UNIT_WORDS and word not in ("s", "h", "min")]


def fraction_column(names: Sequence[str], time: int) -> int | None:
    """Return the column with the fractions of the whole seconds in another column, by their names; None if none has.

    Examples
    --------
    >>> fraction_column(["header.stamp.sec", "header.stamp.nanosec", "x"], 0)
    1
    """
    seconds = PAIR.fullmatch(names[time].strip())
    if not seconds or seconds[2] or re.split(r"[\s._:/-]", seconds[1].rstrip(" ._:/-").lower())[-1] not in {"", *NAMES}:
        return None
    found = (PAIR.fullmatch(name.strip()) for name in names)
    return next((i for i, pair in enumerate(found) if pair and pair[2] and pair[1] == seconds[1]), None)


def joined(seconds: Sequence[str], fractions: Sequence[str], name: str) -> list[str] | None:
    """Return times from whole seconds and fractions of a named unit, exactly; None if the cells are something else.

    Examples
    --------
    >>> joined(["5", "6", ""], ["70", "0", ""], "nsec")
    ['5.000000070', '6.000000000', '']
    """
    pair = PAIR.fullmatch(name.strip())
    digits = FRACTIONS[pair[2].lower()] if pair else 0
    texts = []
    for whole, part in zip(map(str.strip, seconds), map(str.strip, fractions), strict=True):
        if whole and part and not (whole.isdecimal() and part.isdecimal() and len(part.lstrip("0")) <= digits):
            return None
        texts.append(f"{whole}.{int(part):0{digits}d}" if whole and part else "")
    return texts


def is_time_cell(cell: str) -> bool:
    """Tell whether a cell is a date or a time of day."""
    return bool(ISO.fullmatch(_year_first(cell.strip())) or CLOCK.fullmatch(cell.strip()))


def _year_first(text: str) -> str:
    """Return a date in ISO 8601 instead of one with dots."""
    return DOTTED.sub(lambda match: f"{match[3]}-{match[2]:0>2}-{match[1]:0>2}", text, count=1)


@dataclass(frozen=True, eq=False)
class TimeColumn:
    """The times of a file in seconds, and how to write such times again."""

    seconds: Floats
    style: FileStyle
    notes: tuple[str, ...] = ()


def convert(cells: Sequence[str], name: str, given: str | None, style: FileStyle) -> TimeColumn:
    """Convert the cells of a column of times to seconds.

    Parameters
    ----------
    cells
        Texts of the cells. An empty cell gives NaN.
    name
        Name of the column.
    given
        Unit that the user gave, or None.
    style
        Style of the file, with its decimal mark.

    Raises
    ------
    ValueError
        If a cell cannot be understood, with its row in `args[1]`, or if the unit is not clear.
    """
    first = next((cell for cell in cells if cell.strip()), "")
    if is_time_cell(first):
        return _dates(cells, name, style)
    values = [_decimal(cell, row, style.decimal) for row, cell in enumerate(cells)]
    known = given or time_unit(name) or ""
    unit, notes = (known, ()) if known else _guess(values, name)
    scale = TIME_UNITS[unit]
    numbers = [value for value in values if value is not None]
    # Since 1970 a float has a resolution of 0.2 µs at best, so that the origin is subtracted before the conversion.
    start = int(numbers[0]) if numbers and abs(numbers[0]) * Decimal(str(scale)) > 10_000_000 else 0
    decimals = max((_decimals(value) for value in numbers), default=0)
    seconds = np.array([np.nan if v is None else float((v - start) * Decimal(str(scale))) for v in values])
    fixed = decimals if unit in ("ms", "us", "ns") or start else None
    made = replace(style, time=name, time_unit=unit, time_origin=str(start) if start else "", time_decimals=fixed)
    if start:
        notes = (*notes, f"{name}: {_origin(float(start * Decimal(str(scale))))}")
    return TimeColumn(seconds, made, notes)


def _origin(seconds: float) -> str:
    """Describe the time at which the times of a recording begin."""
    if UNIX[0] <= seconds <= UNIX[1]:
        return f"times since 1970, counted from {datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"
    return f"times are counted from {seconds:.10g} s"


def _decimal(cell: str, row: int, mark: str) -> Decimal | None:
    text = cell.strip().replace(",", ".") if mark == "," else cell.strip()
    if not text or text.lower() == "nan":
        return None
    try:
        value = Decimal(text)
    except InvalidOperation:
        value = Decimal("Infinity")
    if not value.is_finite() or value.adjusted() >= DIGITS:
        raise ValueError(_expected(text), row)
    return value


def _expected(text: str) -> str:
    """Return what was expected instead of a cell that is no time."""
    if ":" not in text and "/" not in text:
        return "expected a time"
    return f"expected a number, {DATES}, or a time of day such as 00:59:30.5"


def _decimals(value: Decimal) -> int:
    """Return the number of decimals of a time, as far as a file may have them."""
    return min(max(-int(value.as_tuple().exponent), 0), DIGITS)


def _guess(values: list[Decimal | None], name: str) -> tuple[str, tuple[str, ...]]:
    """Return the unit of times whose name has none."""
    numbers = np.array([float(value) for value in values if value is not None])
    start = float(numbers[0]) if len(numbers) else 0.0
    for unit in ("s", "ms", "us", "ns"):
        scale = TIME_UNITS[unit]
        if UNIX[0] <= start * scale <= UNIX[1] and (unit == "s" or start * scale * 1e3 > UNIX[1]):
            return unit, (f"{name}: read as {unit} since 1970",)
    steps = np.diff(numbers)
    _check_unit_word(name)
    # Times that step back are refused later, with their line.
    forward = bool((steps > 0).any() and (steps >= 0).all())
    step = float(np.median(steps[steps > 0])) if forward else 1.0
    # Whole numbers may count seconds, milliseconds or samples, unless several rows have each: a clock in whole seconds.
    whole = all(value is None or value.as_tuple().exponent == 0 for value in values)
    counts = whole and (step != 1.0 or 2 * np.count_nonzero(steps) >= len(steps))
    if forward and (counts or not SLOWEST <= 1.0 / step <= FASTEST):
        raise ValueError(
            f"the unit of the column {name!r} is not clear: a step of {step:g} s would be {1 / step:g} Hz; give the "
            f"unit, for example time_unit='ms' (--time-unit ms), or ignore the column (--ignore {name!r}) and give the "
            "rate",
            None,
        )
    exact = name.strip().lower() in ("time", "times", "t", "")
    return "s", () if exact else (f"{name}: no unit given, read as seconds (--time-unit names another unit)",)


def _check_unit_word(name: str) -> None:
    """Refuse a name with a unit that is not known, or with a word that may be a unit: seconds would be a guess."""
    unknown, within = _label_and_unit(name)[1], [unit for unit in _units_within(name) if unit != "s"]
    if unknown or within:
        reason = f", {unknown!r}, is not known" if unknown else " is not clear from its name"
        example = next(iter(within), "ms")
        raise ValueError(
            f"the unit of the column {name!r}{reason}; give the unit, for example time_unit={example!r} (--time-unit "
            f"{example}), or ignore the column (--ignore {name!r}) and give the rate",
            None,
        )


def _dates(cells: Sequence[str], name: str, style: FileStyle) -> TimeColumn:
    """Convert dates or times of day; a time of day that steps back belongs to the next day."""
    ticks: list[int | None] = []
    day = 0
    decimals = 0
    for row, cell in enumerate(cells):
        text = cell.strip()
        if not text:
            ticks.append(None)
            continue
        tick, places = _nanoseconds(text, row)
        last = next((t for t in reversed(ticks[-5:]) if t is not None), None)
        if CLOCK.fullmatch(text):
            if last is not None and tick + day < last - 43_200_000_000_000:
                day += 86_400_000_000_000
            tick += day
        ticks.append(tick)
        decimals = max(decimals, places)
    origin = next(tick for tick in ticks if tick is not None)
    seconds = np.array([np.nan if tick is None else (tick - origin) / 1e9 for tick in ticks])
    first = next(cell.strip() for cell in cells if cell.strip())
    made = replace(style, time=name, time_unit="iso", time_origin=first, time_decimals=decimals)
    return TimeColumn(seconds, made, (f"{name}: dates or times of day, counted from {first}",))


def _nanoseconds(text: str, row: int) -> tuple[int, int]:
    """Return nanoseconds since 1970 (or midnight), and the number of decimals of the seconds."""
    if match := CLOCK.fullmatch(text):
        hours, minutes, seconds, fraction = match.groups()
        whole = (int(hours) * 60 + int(minutes)) * 60 + int(seconds)
    elif match := ISO.fullmatch(_year_first(text)):
        *numbers, fraction, zone = match.groups()
        try:
            moment = datetime(*(int(number) for number in numbers), tzinfo=UTC)  # type: ignore[misc, arg-type]
        except ValueError:
            raise ValueError("expected a date", row) from None
        whole = int(moment.timestamp()) - _offset(zone)
    else:
        raise ValueError(f"expected {DATES}", row)
    fraction = fraction or ""
    return whole * 1_000_000_000 + int(fraction[:9].ljust(9, "0")), len(fraction)


def _offset(zone: str | None) -> int:
    if not zone or zone == "Z":
        return 0
    hours, minutes = int(zone[1:3]), int(zone[3:].removeprefix(":") or 0)
    return (1 if zone[0] == "+" else -1) * (hours * 3600 + minutes * 60)


def write_times(seconds: Floats, style: FileStyle) -> list[str]:
    """Return the texts of times in the style of a file.

    Examples
    --------
    >>> write_times(np.array([0.0, 0.1]), FileStyle(time_unit="ms", time_origin="1700000000000", time_decimals=0))
    ['1700000000000', '1700000000100']
    """
    scale = Decimal(str(TIME_UNITS.get(style.time_unit, 1.0)))
    origin = Decimal(0 if style.time_unit == "iso" else style.time_origin or 0)
    values = seconds.tolist()
    if style.time_decimals is None and style.time_unit != "iso":
        texts = [repr(float(Decimal(repr(value)) / scale + origin)) for value in values]
        return [text.replace(".", style.decimal) for text in texts]
    # Resampled and missing samples lie between the times of the file, at whole nanoseconds, and may need more decimals.
    needed = max((_decimals((Decimal(repr(round(value, 9))) / scale).normalize()) for value in values), default=0)
    decimals = max(style.time_decimals or 0, min(needed, NEEDED))
    if style.time_unit == "iso":
        return [_date(value, style.time_origin, decimals) for value in values]
    texts = [f"{Decimal(repr(value)) / scale + origin:.{decimals}f}" for value in values]
    return [text.replace(".", style.decimal) for text in texts]


def _date(value: float, first: str, digits: int) -> str:
    """Return a date or a time of day, like the first one of the file but always with separators."""
    ticks, _ = _nanoseconds(first, 0)
    zone = (match[8] or "") if (match := ISO.fullmatch(_year_first(first))) else ""
    ticks += round(value * 1e9) + _offset(zone) * 1_000_000_000
    whole, rest = divmod(ticks, 1_000_000_000)
    rest = round(rest, digits - 9) if digits < 9 else rest
    if rest >= 1_000_000_000:
        whole, rest = whole + 1, 0
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=whole)
    fraction = f".{rest:09d}"[: digits + 1] if digits else ""
    mark = "," if re.search(r":\d\d,\d", first) else "."
    clock = f"{moment:%H:%M:%S}{fraction.replace('.', mark)}"
    if CLOCK.fullmatch(first):
        return clock
    day = f"{moment:%d.%m.%Y}" if DOTTED.match(first) else f"{moment:%Y-%m-%d}"
    day = day.replace("-", "/") if "/" in first else day
    return f"{day}{'T' if 'T' in first else ' '}{clock}{zone}"
