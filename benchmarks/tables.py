"""How benchmarks print figures: tables in Markdown, and verdicts on limits."""

from __future__ import annotations

from collections.abc import Iterable


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Print a table, each row as soon as it is complete."""
    head = list(head)
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head), flush=True)
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)
    print(flush=True)


def verdict(value: float, limit: float, digits: int = 3) -> str:
    """Return a figure, its limit, and whether it is within the limit."""
    return f"{value:.{digits}f} (≤ {limit:g}: {'reached' if value <= limit else 'MISSED'})"
