"""Tables that can be written as CSV, Markdown, LaTeX and HTML."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from quatcast.basics.escaping import csv_cell, html_text, latex_text, markdown_text
from quatcast.basics.files import new_file


@dataclass(frozen=True)
class Number:
    """A number in a table.

    Parameters
    ----------
    value, margin
        The number, and the half-width of its interval if it has one.
    decimals
        Digits after the point.
    best
        Whether it is printed in bold.
    signed
        Whether positive numbers have a plus sign.

    Examples
    --------
    >>> Number(1.4861, margin=0.0043).text
    '1.486 ± 0.004'
    >>> Number(0.25, decimals=2, signed=True).text
    '+0.25'
    """

    value: float
    decimals: int = 3
    margin: float | None = None
    best: bool = False
    signed: bool = False

    @property
    def text(self) -> str:
        """The number as text, with a typographic minus sign."""
        if math.isnan(self.value):
            return "–"
        text = f"{self.value:{'+' if self.signed else ''}.{self.decimals}f}".replace("-", "−")
        return text if self.margin is None else f"{text} ± {self.margin:.{self.decimals}f}"


Cell = str | Number


@dataclass(frozen=True)
class Column:
    """A column: its heading, and the heading above it that it shares with its neighbours."""

    title: str
    over: str = ""
    words: bool = False
    """Whether it holds words, which are left-aligned, or numbers, which are right-aligned."""

    @property
    def full(self) -> str:
        """Both headings, separated by a colon."""
        return f"{self.over}: {self.title}" if self.over else self.title


def columns(words: Iterable[str], numbers: Iterable[str] = ()) -> tuple[Column, ...]:
    """Return columns of words, followed by columns of numbers, with these headings."""
    return (*(Column(title, words=True) for title in words), *map(Column, numbers))


@dataclass(frozen=True)
class Table:
    """A table with a caption.

    Parameters
    ----------
    name
        Name of its files and of its anchor in the report.
    caption
        Description of its contents, including the label rule.
    columns, rows
        Headings and cells.
    notes
        Explanations below the table.
    grouped
        Whether equal neighbours in the first column are merged.

    Examples
    --------
    >>> table = Table("demo", "RMSE, causal labels", columns(["Predictor"], ["RMSE [mm]"]),
    ...               (("LMS", Number(1.5, 2, margin=0.1)), ("RLS", Number(1.25, 2, best=True))))
    >>> print(table.markdown())
    **RMSE, causal labels**
    <BLANKLINE>
    | Predictor | RMSE [mm] |
    |:---|---:|
    | LMS | 1.50 ± 0.10 |
    | RLS | **1.25** |
    <BLANKLINE>
    >>> table.csv().splitlines()
    ['Predictor,RMSE [mm],RMSE [mm] ±', 'LMS,1.5,0.1', 'RLS,1.25,']
    """

    name: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    grouped: bool = False

    def csv(self) -> str:
        """Return comma-separated values: one line of headings, unrounded numbers, margins in separate columns."""
        with_margin = [any(isinstance(row[i], Number) and row[i].margin is not None for row in self.rows)  # type: ignore[union-attr]
                       for i in range(len(self.columns))]  # fmt: skip
        file = io.StringIO()
        write = csv.writer(file, lineterminator="\n")
        headings = []
        for column, margin in zip(self.columns, with_margin, strict=True):
            heading = csv_cell(column.full)
            headings += [heading, *([f"{heading} ±"] if margin else [])]
        write.writerow(headings)
        for row in self.rows:
            cells: list[str] = []
            for cell, margin in zip(row, with_margin, strict=True):
                value, width = (cell.value, cell.margin) if isinstance(cell, Number) else (cell, None)
                cells.append(csv_cell(value) if isinstance(value, str) else _raw(value))
                cells += [_raw(width)] if margin else []
            write.writerow(cells)
        return file.getvalue()

    def markdown(self) -> str:
        """Return a table in GitHub's Markdown below its caption."""

        def cell(given: Cell) -> str:
            text = markdown_text(_text(given))
            return f"**{text}**" if _best(given) else text

        lines = [
            [markdown_text(column.full) for column in self.columns],
            *([cell(given) for given in row] for row in self.rows),
        ]
        head, *body = (f"| {' | '.join(line)} |" for line in lines)
        rule = f"|{'|'.join(':---' if column.words else '---:' for column in self.columns)}|"
        notes = [f"\n{markdown_text(note)}" for note in self.notes]
        return "\n".join([f"**{markdown_text(self.caption)}**", "", head, rule, *body, *notes]) + "\n"

    def latex(self) -> str:
        """Return a floating table for LaTeX with the booktabs package."""
        lines = [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{' '.join(map(latex_text, (self.caption + '.', *self.notes)))}}}",
            rf"\label{{tab:{self.name}}}",
            rf"\begin{{tabular}}{{{''.join('l' if column.words else 'r' for column in self.columns)}}}",
            r"\toprule",
            *self._latex_head(),
            r"\midrule",
        ]
        before = None
        for row in self.rows:
            repeated = self.grouped and row[0] == before
            if self.grouped and before is not None and not repeated:
                lines.append(r"\midrule")
            before = row[0]
            cells = [
                rf"\textbf{{{latex_text(_text(cell))}}}" if _best(cell) else latex_text(_text(cell)) for cell in row
            ]
            lines.append(" & ".join(["", *cells[1:]] if repeated else cells) + r" \\")
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}"]) + "\n"

    def _latex_head(self) -> Iterator[str]:
        if any(column.over for column in self.columns):
            cells, rules = [], []
            for over, begin, count in self._spans():
                cells.append(
                    rf"\multicolumn{{{count}}}{{c}}{{{latex_text(over)}}}" if over else " & ".join([""] * count)
                )
                rules += [rf"\cmidrule(lr){{{begin + 1}-{begin + count}}}"] if over else []
            yield " & ".join(cells) + r" \\"
            yield " ".join(rules)
        yield " & ".join(latex_text(column.title) for column in self.columns) + r" \\"

    def _spans(self) -> Iterator[tuple[str, int, int]]:
        """Yield the shared headings as text, first column and number of columns."""
        begin = 0
        for over, columns in groupby(self.columns, lambda column: column.over):
            count = len(list(columns))
            yield over, begin, count
            begin += count

    def html(self) -> str:
        """Return the `<table>` element, without caption and notes."""
        doubled = any(column.over for column in self.columns)
        tops: list[str] = []
        singles: list[str] = []
        for over, begin, count in self._spans():
            columns, alone = self.columns[begin : begin + count], doubled and not over
            if over:
                tops.append(f'<th colspan="{count}" class="over" scope="colgroup">{html_text(over)}</th>')
            (tops if alone else singles).extend(self._heading(one, ' rowspan="2"' * alone) for one in columns)
        head = "".join(f"<tr>{''.join(cells)}</tr>" for cells in ([tops, singles] if doubled else [singles]))
        return f"<table><thead>{head}</thead>{''.join(self._bodies())}</table>"

    def _heading(self, column: Column, span: str) -> str:
        kind = "w" if column.words else "n"
        return f'<th class="{kind}" scope="col"{span}>{html_text(column.title)}</th>'

    def _bodies(self) -> Iterator[str]:
        blocks: list[list[tuple[Cell, ...]]] = [list(self.rows)]
        if self.grouped:
            blocks = [list(rows) for _, rows in groupby(self.rows, lambda row: row[0])]
        for rows in blocks:
            lines = []
            for i, row in enumerate(rows):
                cells = [self._cell(cell, column) for cell, column in zip(row, self.columns, strict=True)]
                if self.grouped:
                    first = f'<th rowspan="{len(rows)}" class="w" scope="rowgroup">{html_text(_text(row[0]))}</th>'
                    cells = [first, *cells[1:]] if i == 0 else cells[1:]
                lines.append(f"<tr>{''.join(cells)}</tr>")
            yield f"<tbody>{''.join(lines)}</tbody>"

    def _cell(self, cell: Cell, column: Column) -> str:
        text = html_text(_text(cell))
        text = re.sub(r" (± .*)", r'<span class="pm"> \1</span>', text)
        kind = "w" if column.words else "n"
        return f'<td class="{kind} best">{text}</td>' if _best(cell) else f'<td class="{kind}">{text}</td>'

    def write(self, folder: Path) -> None:
        """Write NAME.csv, NAME.md and NAME.tex to a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        for suffix, render in self.formats().items():
            with new_file(folder / f"{self.name}.{suffix}") as file:
                file.write(render())

    def formats(self) -> dict[str, Callable[[], str]]:
        """Return the function that renders each format, by file suffix."""
        return {"csv": self.csv, "md": self.markdown, "tex": self.latex}


def _text(cell: Cell) -> str:
    return cell.text if isinstance(cell, Number) else cell


def _best(cell: Cell) -> bool:
    return isinstance(cell, Number) and cell.best


def _raw(value: float | None) -> str:
    return "" if value is None or math.isnan(value) else f"{value:.6g}"
