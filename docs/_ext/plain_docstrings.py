"""Let docstrings stay readable in the source: formulas without markup, and |e| for an absolute value."""

from __future__ import annotations

import re
from typing import Any


def literal_formulas(lines: list[str]) -> list[str]:
    """Mark an indented block that follows a paragraph as a literal block, with the `::` of reStructuredText.

    Examples
    --------
    >>> literal_formulas(["The weights are", "", "    w = Ab,", "", "with A as above."])
    ['The weights are', '', '::', '', '    w = Ab,', '', 'with A as above.']
    """
    result: list[str] = []
    last = ""
    for before, line in zip(["", *lines], lines, strict=False):
        follows = last and not last.startswith((" ", ">>>", "..."))
        if line.startswith("    ") and not before.strip() and follows and not last.endswith("::"):
            result += ["::", ""]
        result.append(line)
        last = line if line.strip() else last
    return result


def escape_bars(line: str) -> str:
    r"""Escape vertical bars, which reStructuredText takes for substitutions, outside of backticks.

    Examples
    --------
    >>> print(escape_bars("the modulus |e| of `a | b`"))
    the modulus \|e\| of `a | b`
    """
    return "".join(part if part.startswith("`") else part.replace("|", r"\|") for part in re.split("(`+[^`]*`+)", line))


def process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Treat a docstring before numpydoc reads it."""
    literal, result = False, []
    for line in literal_formulas(lines):
        if line.strip() and not line.startswith(" "):
            literal = line.endswith("::")
        code = literal or line.lstrip().startswith((">>>", "..."))
        result.append(line if code else escape_bars(line))
    lines[:] = result
