"""Escaping of names for the formats in which results are written.

The names of recordings, groups and channels come from files, so they may contain anything. Every text that is not part
of quatcast goes through one of these functions on its way to a page, a table, a figure or a terminal, where it then
reads as it is and does nothing else.
"""

from __future__ import annotations

import html
import json
import re
from typing import Any

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
"""Stands for characters that cannot be shown."""

# Control characters, lone surrogates (from file names that are not UTF-8), and marks of the direction of text.
_HIDDEN = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_BREAKS = re.compile("[\t\n\v\f\r\x85\u2028\u2029]+")
_FORMULA = re.compile(r"\s*[=+\-−@＝＋－＠]")
_MARKDOWN = re.compile(r"[\\`*_~$|]|(?<=\])[(\[]")
_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", "`": "{`}", "'": "{'}", "±": r"$\pm$", "−": r"$-$", "×": r"$\times$", "–": r"\textendash{}",
    "σ": r"$\sigma$", "²": r"$^2$", "“": "``", "”": "''", "…": r"\ldots{}", REPLACEMENT: "{?}",
}  # fmt: skip


def printable(text: str) -> str:
    r"""Replace characters that control a terminal or the direction of text, or that cannot be encoded.

    Line breaks and tabs remain.

    Examples
    --------
    >>> printable("two\nlines and \x1b[31mred")
    'two\nlines and �[31mred'
    """
    return _HIDDEN.sub(REPLACEMENT, text)


def one_line(text: str) -> str:
    r"""Return printable text with a space for each run of line breaks and tabs.

    Examples
    --------
    >>> one_line("two\r\nlines")
    'two lines'
    """
    return printable(_BREAKS.sub(" ", text))


def html_text(text: str) -> str:
    """Escape text for the contents of an HTML element or for an attribute in quotes.

    Examples
    --------
    >>> html_text('<b title="x">')
    '&lt;b title=&quot;x&quot;&gt;'
    """
    return html.escape(printable(text))


def embedded_json(data: Any) -> str:
    r"""Return JSON that can stand inside a script element of an HTML page.

    Nothing in it can end the element or begin a comment, because it has no `<`. It is ASCII only.

    Examples
    --------
    >>> embedded_json({"name": "<!--<script>"})
    '{"name":"\\u003c!--\\u003cscript>"}'
    """
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


def file_name(text: str) -> str:
    """Return text that can be a part of the name of a file on any system, and names no other folder.

    Examples
    --------
    >>> file_name("../../chest"), file_name("left/arm: 2"), file_name("..")
    ('_.._chest', 'left_arm_ 2', '_')
    """
    return re.sub(r'[/\\:*?"<>|]', "_", one_line(text)).lstrip(". ") or "_"


def csv_cell(text: str) -> str:
    """Return text that a spreadsheet shows and does not evaluate; formulas get an apostrophe in front.

    Separators and quotation marks are the business of the `csv` module.

    Examples
    --------
    >>> csv_cell("=1+1"), csv_cell("sim-1")
    ("'=1+1", 'sim-1')
    """
    text = one_line(text)
    return f"'{text}" if _FORMULA.match(text) else text


def markdown_text(text: str) -> str:
    r"""Escape text for the inside of a paragraph or a table cell in Markdown.

    Examples
    --------
    >>> markdown_text("<b>a_b|[x](y)")
    '&lt;b&gt;a\\_b\\|[x]\\(y)'
    """
    text = _MARKDOWN.sub(r"\\\g<0>", one_line(text))
    text = re.sub(r"&(?=[#\w])", "&amp;", text)
    return text.replace("<", "&lt;").replace(">", "&gt;")


def latex_text(text: str) -> str:
    r"""Escape text for LaTeX, also at the beginning of a table row.

    After ``\\`` and after a rule, LaTeX reads ``[`` and ``*`` as arguments; an empty group separates them.

    Examples
    --------
    >>> print(latex_text("[50% of a_b"))
    {}[50\% of a\_b
    """
    text = "".join(_LATEX.get(letter, letter) for letter in one_line(text))
    text = re.sub("-(?=-)", "-{}", text)
    return f"{{}}{text}" if text.lstrip().startswith(("[", "*")) else text


def figure_label(text: str) -> str:
    """Escape text for titles, names, categories and tick labels of Plotly figures, which accept some HTML.

    Examples
    --------
    >>> figure_label('<a href="x">R&D</a>')
    '&lt;a href="x"&gt;R&amp;D&lt;/a&gt;'
    """
    return html.escape(one_line(text), quote=False)
