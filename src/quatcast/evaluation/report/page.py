"""The building blocks of the HTML page: tables with download links, figures, and figures with a selection."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from importlib.resources import files
from string import Template
from typing import Any

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from quatcast.basics.escaping import embedded_json, html_text
from quatcast.evaluation.report.tables import Table

KINDS = {"csv": ("CSV", "text/csv"), "md": ("Markdown", "text/markdown"), "tex": ("LaTeX", "application/x-tex")}


def asset(name: str) -> str:
    """Return the text of a file in this package."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


class Page:
    """An HTML page, built section by section."""

    def __init__(self, title: str, subtitle: str) -> None:
        self.title, self.subtitle = title, subtitle
        self._sections: list[tuple[str, str, str]] = []

    def add(self, name: str, title: str, *parts: str) -> None:
        """Add a section; a section without contents is omitted."""
        body = "\n".join(part for part in parts if part)
        if body:
            self._sections.append((name, title, body))

    def figure(self, name: str, figure: go.Figure, caption: str) -> str:
        """Return a figure."""
        return self.choice(name, (), [((), figure)], caption)

    def choice(
        self, name: str, keys: Sequence[str], options: Sequence[tuple[tuple[str, ...], go.Figure]], caption: str
    ) -> str:
        """Return figures of which one is shown at a time, selected by the values of some keys."""
        if not options:
            return ""
        given = [{"at": at, "figure": json.loads(figure.to_json())} for at, figure in options]
        return self._plot(name, "choice", {"keys": list(keys), "options": given}, caption)

    def explorer(self, name: str, data: dict[str, Any], caption: str) -> str:
        """Return the explorer of forecasts."""
        return self._plot(name, "explorer", data, caption)

    def _plot(self, name: str, kind: str, data: dict[str, Any], caption: str) -> str:
        return (
            f'<figure class="plot" id="{name}" data-kind="{kind}"><div class="controls"></div>'
            f'<div class="canvas"></div><figcaption>{caption}</figcaption>'
            f'<script type="application/json">{embedded_json(data)}</script></figure>'
        )

    def html(self) -> str:
        """Return the whole page, including scripts and styles."""
        contents = "".join(f'<li><a href="#{name}">{html_text(title)}</a></li>' for name, title, _ in self._sections)
        sections = "\n".join(
            f'<section id="{name}"><h2>{html_text(title)}</h2>\n{body}\n</section>'
            for name, title, body in self._sections
        )
        return Template(asset("page.html")).substitute(
            title=html_text(self.title),
            subtitle=self.subtitle,
            contents=contents,
            sections=sections,
            style=asset("style.css"),
            plotly=get_plotlyjs(),
            script=asset("page.js"),
        )


def table(given: Table, *, folded: bool = False) -> str:
    """Return a table with its caption, notes, and links to its files, which are embedded in the page."""
    links = " · ".join(
        f'<a download="{given.name}.{suffix}" href="data:{KINDS[suffix][1]};base64,'
        f'{base64.b64encode(render().encode()).decode()}">{KINDS[suffix][0]}</a>'
        for suffix, render in given.formats().items()
    )
    notes = " ".join(map(html_text, given.notes))
    kind = "scroll wide" if len(given.columns) > 10 else "scroll"
    body = (
        f'<div class="{kind}" tabindex="0" role="region" aria-label="{html_text(given.caption)}">{given.html()}</div>'
        f'<p class="notes">{notes} <span class="files">{links}</span></p>'
    )
    if folded:
        return f'<details class="table" id="{given.name}"><summary>{html_text(given.caption)}</summary>{body}</details>'
    return f'<figure class="table" id="{given.name}"><figcaption>{html_text(given.caption)}</figcaption>{body}</figure>'
