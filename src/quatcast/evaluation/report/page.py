"""The pieces of a page: tables with their files, figures, figures to choose from."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from quatcast.evaluation.tables import Table

KINDS = {"csv": ("CSV", "text/csv"), "md": ("Markdown", "text/markdown"), "tex": ("LaTeX", "application/x-tex")}


def asset(name: str) -> str:
    """Text of a file that lies beside this one."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


class Page:
    """A page that grows section by section. A section that has nothing in it is left out."""

    def __init__(self, title: str, subtitle: str) -> None:
        self.title, self.subtitle = title, subtitle
        self._sections: list[tuple[str, str, str]] = []

    def add(self, name: str, title: str, *parts: str) -> None:
        """Add a section, unless its parts are empty."""
        body = "\n".join(part for part in parts if part)
        if body:
            self._sections.append((name, title, body))

    def figure(self, name: str, figure: go.Figure, caption: str) -> str:
        """A figure."""
        return self.choice(name, (), [((), figure)], caption)

    def choice(
        self, name: str, keys: Sequence[str], options: Sequence[tuple[tuple[str, ...], go.Figure]], caption: str
    ) -> str:
        """Figures of which one is shown, chosen by the values of some keys."""
        if not options:
            return ""
        given = [{"at": at, "figure": json.loads(figure.to_json())} for at, figure in options]
        return self._plot(name, "choice", {"keys": list(keys), "options": given}, caption)

    def explorer(self, name: str, data: dict[str, Any], caption: str) -> str:
        """Forecasts to look through."""
        return self._plot(name, "explorer", data, caption)

    def _plot(self, name: str, kind: str, data: dict[str, Any], caption: str) -> str:
        # "</" inside a script element would end it.
        text = json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("</", "<\\/")
        return (
            f'<figure class="plot" id="{name}" data-kind="{kind}"><div class="controls"></div>'
            f'<div class="canvas"></div><figcaption>{caption}</figcaption>'
            f'<script type="application/json">{text}</script></figure>'
        )

    def html(self) -> str:
        """The whole page, with everything that it needs."""
        contents = "".join(f'<li><a href="#{name}">{escape(title)}</a></li>' for name, title, _ in self._sections)
        sections = "\n".join(
            f'<section id="{name}"><h2>{escape(title)}</h2>\n{body}\n</section>' for name, title, body in self._sections
        )
        return Template(asset("page.html")).substitute(
            title=escape(self.title),
            subtitle=self.subtitle,
            contents=contents,
            sections=sections,
            style=asset("style.css"),
            plotly=get_plotlyjs(),
            script=asset("page.js"),
        )


def table(shown: Table, *, folded: bool = False) -> str:
    """A table with its caption, notes, and its files inside the page."""
    links = " · ".join(
        f'<a download="{shown.name}.{suffix}" href="data:{KINDS[suffix][1]};base64,'
        f'{base64.b64encode(render().encode()).decode()}">{KINDS[suffix][0]}</a>'
        for suffix, render in shown.formats().items()
    )
    notes = " ".join(map(escape, shown.notes))
    kind = "scroll wide" if len(shown.columns) > 10 else "scroll"
    body = (
        f'<div class="{kind}" tabindex="0" role="region" aria-label="{escape(shown.caption)}">{shown.html()}</div>'
        f'<p class="notes">{notes} <span class="files">{links}</span></p>'
    )
    if folded:
        return f'<details class="table" id="{shown.name}"><summary>{escape(shown.caption)}</summary>{body}</details>'
    return f'<figure class="table" id="{shown.name}"><figcaption>{escape(shown.caption)}</figcaption>{body}</figure>'
