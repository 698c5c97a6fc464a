"""Options with several values: words, assignments to patterns, and groups."""

from __future__ import annotations

from collections.abc import Sequence
from glob import escape
from pathlib import Path
from typing import Any

from quatcast.data.text import as_number


def words(values: list[str] | None) -> list[str] | None:
    """Return the words of an option that may be repeated or separated by commas.

    Examples
    --------
    >>> words(["LMS, RLS", "QLMS"])
    ['LMS', 'RLS', 'QLMS']
    """
    if values is None:
        return None
    return [word.strip() for value in values for word in value.split(",") if word.strip()]


def assignments(option: str, values: list[str] | None, *, numeric: bool = False) -> dict[str, Any] | None:
    """Return the values of an option by pattern; a value without a pattern applies to everything.

    Examples
    --------
    >>> assignments("--unit", ["mm", "buoy*=cm"])
    {'buoy*': 'cm', '*': 'mm'}
    >>> assignments("--rate", ["5"], numeric=True)
    {'*': 5.0}
    """
    if values is None:
        return None
    found: dict[str, Any] = {}
    for word in words(values) or []:
        pattern, equals, text = word.rpartition("=")
        if (equals and not pattern) or not text:
            raise ValueError(f"{option}: expected a value or PATTERN=VALUE, got {word!r}")
        found[pattern or "*"] = number(option, text) if numeric else text
    # The first pattern that matches counts, so that the one for everything comes last.
    return dict(sorted(found.items(), key=lambda pair: pair[0] == "*"))


def number(option: str, text: str, what: str = "a number") -> float:
    """Return the number that is the value of an option, or raise an error that says what is expected."""
    value = as_number(text)
    if value is None:
        raise ValueError(f"{option}: expected {what}, got {text!r}")
    return value


def group_patterns(values: list[str] | None, files: Sequence[str]) -> dict[str, list[str]] | None:
    """Return the patterns of each group from words such as ``liver=liver*``, or from the folders of files.

    Examples
    --------
    >>> group_patterns(["liver=liver*", "liver=hepatic*"], [])
    {'liver': ['liver*', 'hepatic*']}
    >>> group_patterns(["folder"], ["a/1.csv", "a/2.csv", "b/1.csv"])
    {'a': ['a/*'], 'b': ['b/*']}
    """
    if values is None:
        return None
    found: dict[str, list[str]] = {}
    for word in words(values) or []:
        group, equals, pattern = word.partition("=")
        if word == "folder":
            for file in files:
                folder = Path(file).parent
                patterns = found.setdefault(folder.name or folder.resolve().name, [])
                pattern = escape(str(folder)) + "/*"
                patterns += [] if pattern in patterns else [pattern]
        elif not (equals and group and pattern):
            raise ValueError(f"--groups: expected NAME=PATTERN or folder, got {word!r}")
        else:
            found.setdefault(group, []).append(pattern)
    return found
