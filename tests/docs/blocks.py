"""Find the code blocks of Markdown pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
BUILT = ("_build", "gallery", "generated")
PAGES = sorted(
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    + [page for page in (ROOT / "docs").rglob("*.md") if not {*BUILT} & {*page.relative_to(ROOT).parts}]
)
FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,}|~{3,}) *(?P<language>\S*).*$")


@dataclass(frozen=True)
class Block:
    """A block of code: its language, its text, and the line of the page on which the text begins."""

    language: str
    text: str
    line: int


def fenced(page: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page.

    Examples
    --------
    >>> list(fenced("text\\n```python\\nx = 1\\n```\\n"))
    [Block(language='python', text='x = 1\\n', line=3)]
    """
    opened: re.Match[str] | None = None
    text, start = "", 0
    for number, line in enumerate(page.splitlines(keepends=True), start=1):
        match = FENCE.match(line)
        if opened is None:
            if match:
                opened, text, start = match, "", number + 1
        elif match and match["ticks"].startswith(opened["ticks"]) and not match["language"]:
            yield Block(opened["language"], text, start)
            opened = None
        else:
            text += line.removeprefix(opened["indent"])
    if opened is not None:
        raise ValueError(f"line {start - 1}: the block is not closed")


def commands(page: str) -> Iterator[tuple[int, str, bool]]:
    """Yield line number and text of shell commands, and whether they are inline code.

    Other commands are in console blocks and indented lines.

    Examples
    --------
    >>> list(commands("Run `quatcast bench`:\\n\\n    make run   # all\\n"))
    [(1, 'quatcast bench', True), (3, 'make run   # all', False)]
    """
    inside = {
        block.line + number: (block.language, line)
        for block in fenced(page)
        for number, line in enumerate(block.text.splitlines())
    }
    for number, line in enumerate(page.splitlines(), start=1):
        if number in inside:
            language, text = inside[number]
            if language == "console" and text.startswith("$ "):
                yield number, text[2:], False
        elif re.match(r"    (quatcast|make|python) ", line):
            yield number, line.strip(), False
        else:
            for code in re.findall(r"`((?:quatcast|make|python) [^`]+)`", line):
                yield number, code, True
