"""Check that the built pages load nothing from the network, so that they open offline."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from sphinx.errors import SphinxError

if TYPE_CHECKING:
    from sphinx.application import Sphinx

LOADS = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|srcset|href)=\"((?:https?:)?//[^\"]+)")


class OnlineError(SphinxError):
    """A page loads something from the network."""

    category = "Offline check"


def loaded(html: str) -> list[str]:
    """List what a page loads from the network; links that a reader follows do not count.

    Examples
    --------
    >>> loaded('<a href="https://a.org">a</a><script src="https://b.org/b.js"></script>')
    ['https://b.org/b.js']
    """
    return LOADS.findall(html)


def check(app: Sphinx, error: Exception | None) -> None:
    """Fail the build if a page loads something from the network."""
    if error is not None or app.builder.format != "html":
        return
    for page in Path(app.outdir).rglob("*.html"):
        if found := loaded(page.read_text(encoding="utf-8")):
            raise OnlineError(f"{page.relative_to(app.outdir)} loads {', '.join(sorted(set(found)))}")
