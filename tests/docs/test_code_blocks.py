"""Every code block of README.md, CONTRIBUTING.md and docs is executed, and every command line is parsed.

How Python blocks are run:

- The blocks of a page run in order and share one namespace, in an empty folder.
- A block of `>>>` prompts is a doctest.
- A block whose first line is a comment with the name of a Python file, such as `# spring.py`, is written to that file
  and imported.
- A block with `if __name__ == "__main__":` is a program. It is written to a file and run by a new interpreter, because
  worker processes import the file.

A page that needs files which it does not make itself is listed in `SET_UP` with the command that makes them. Command
lines are parsed and not run, except on the pages in `RUN_COMMANDS`, whose commands are short.
"""

from __future__ import annotations

import doctest
import importlib
import os
import random
import re
import shlex
import subprocess
import sys
import tomllib
import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from blocks import PAGES, ROOT, Block, commands, fenced
from typer.main import get_command

from quatcast.checkpoint import Checkpointable
from quatcast.cli import app, run
from quatcast.cli.plugins import GROUP
from quatcast.evaluation import CATALOGUE, Settings
from quatcast.live import parse_forecast, parse_sample
from quatcast.live.supervisor import parse_config
from quatcast.testing.learners import steps, undoing

COMMAND = get_command(app)
LANGUAGES = {"python", "console", "text", "toml", "json", ""}
"""What a fence may name, beside the directives of MyST in braces. Python is to be called "python", so that it runs."""

SET_UP = {
    # The page is about the report of an experiment that has been run.
    "docs/report.md": "compare --seconds 61 --predictors LMS,persistence --labels causal --horizon 0.5 "
    "--out runs/simulated-quick --workers 1 --no-report",
}

RUN_COMMANDS = {"docs/how-to/extend.md", "docs/tutorials/your-own-csv.md"}


@contextmanager
def one_core() -> Iterator[None]:
    """Let a program start one worker instead of one per core, which other tests use at the same time."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {random.choice(sorted(before))})
    yield
    os.sched_setaffinity(0, before)


@pytest.fixture
def _short_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check the learners of a page for as many steps as those of the library; see tests/learners/test_bank.py."""
    monkeypatch.setattr(steps, "ENDURANCE", 500)
    monkeypatch.setattr(undoing, "LONG", 150)


@pytest.fixture(autouse=True)
def _own_registries() -> Iterator[None]:
    """Let a page register classes and names that other tests use too, and forget them afterwards."""
    from quatcast.data import registry
    from quatcast.engine import activations

    registries = [Checkpointable._registry, CATALOGUE, registry._sources, activations._registry]
    before = [
        {key: value.copy() if isinstance(value, dict) else value for key, value in one.items()} for one in registries
    ]
    yield
    for one, content in zip(registries, before, strict=True):
        one.clear()
        one.update(content)


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def python_blocks(page: Path) -> list[Block]:
    return [block for block in fenced(page.read_text(encoding="utf-8")) if block.language == "python"]


WITH_PYTHON = [page for page in PAGES if python_blocks(page)]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def execute(block: Block, page: str, module: types.ModuleType) -> None:
    """Run a block in the namespace of its page and in the present folder."""
    file = re.match(r"# (\w+)\.py\n", block.text)
    if file:
        Path(f"{file[1]}.py").write_text(block.text, encoding="utf-8")
        importlib.invalidate_caches()
        importlib.import_module(file[1])
    elif block.text.lstrip().startswith(">>>"):
        test = doctest.DocTestParser().get_doctest(block.text, module.__dict__, page, page, block.line - 1)
        test.globs = module.__dict__
        said: list[str] = []
        if doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.append, clear_globs=False).failed:
            pytest.fail("".join(said), pytrace=False)
    elif '__name__ == "__main__"' in block.text:
        Path("program.py").write_text(block.text, encoding="utf-8")
        command = [sys.executable, "program.py"]
        with one_core():
            done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
        assert done.returncode == 0, f"{page}, line {block.line}:\n{done.stderr}"
    else:
        # Blank lines before the code make the line numbers of a traceback those of the page.
        exec(compile("\n" * (block.line - 1) + block.text, page, "exec"), module.__dict__)


@pytest.mark.usefixtures("_short_checks", "_threads")
@pytest.mark.parametrize("page", WITH_PYTHON, ids=name)
def test_python_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python blocks of a page run, and doctests show what the page says."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), str(ROOT / "src")]))
    before = set(sys.modules)
    module = types.ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)
    if name(page) in SET_UP:
        assert run(shlex.split(SET_UP[name(page)])) == 0
    try:
        for block in python_blocks(page):
            execute(block, name(page), module)
        if name(page) in RUN_COMMANDS:
            for _, command, inline in commands(page.read_text(encoding="utf-8")):
                words = shlex.split(command, comments=True)
                if words[0] == "quatcast" and not inline:
                    assert run(words[1:]) == 0, command
    finally:
        for extra in set(sys.modules) - before:
            if getattr(sys.modules[extra], "__file__", None) == str(tmp_path / f"{extra}.py"):
                del sys.modules[extra]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_languages_are_known(page: Path) -> None:
    """No block escapes these tests because its language is spelt differently."""
    for block in fenced(page.read_text(encoding="utf-8")):
        known = block.language in LANGUAGES or re.fullmatch(r"\{[\w-]+\}", block.language)
        assert known, f"{name(page)}, line {block.line}: language {block.language!r}"
        assert "code" not in block.language, f"{name(page)}, line {block.line}: use ```python"
        unlabelled = not block.language and re.search(r"^(import|from) \w+|^>>> ", block.text, re.MULTILINE)
        assert not unlabelled, f"{name(page)}, line {block.line}: Python in a block without a language"


DATA = [(page, block) for page in PAGES for block in fenced(page.read_text(encoding="utf-8"))]
DATA = [(page, block) for page, block in DATA if block.language in ("toml", "json")]


@pytest.mark.parametrize(("page", "block"), DATA, ids=[f"{name(page)}:{block.line}" for page, block in DATA])
def test_settings_and_messages_can_be_read(page: Path, block: Block) -> None:
    """TOML is a configuration of `compare` or `live`, or entry points of a package; JSON is a message."""
    if block.language == "json":
        line = block.text.replace("\n", "").encode()
        if b'"type": "sample"' in line:
            assert parse_sample(line, "any", received=0.0).values.shape == (3, 3)
        else:
            # The checksum of a message that was broken to fit the page is not shown.
            assert parse_forecast(line.replace(', "crc": "…"'.encode(), b"")).position.shape == (1, 3)
        return
    values = tomllib.loads(block.text)
    if "streams" in values:
        assert len(parse_config(values, name(page))) == len(values["streams"])
    elif "project" in values:
        assert set(values["project"]["entry-points"]) == {GROUP}
    else:
        Settings.of(values)


def parse(words: list[str]) -> None:
    """Parse the words after `quatcast` as the command line does, and run nothing."""
    command, context, rest = COMMAND, None, words
    while True:
        if "--help" in rest:
            rest = [word for word in rest if word != "--help"]
            if not rest:
                return
        if rest == ["--version"]:
            return
        context = command.make_context(command.name or "quatcast", list(rest), parent=context)
        if not hasattr(command, "resolve_command"):
            return
        _, command, rest = command.resolve_command(context, [*context._protected_args, *context.args])


def check_command(command: str) -> None:
    """Raise an error unless a shell command names things that exist."""
    words = shlex.split(command, comments=True)
    program, rest = words[0], words[1:]
    if program == "quatcast":
        if rest[0].isupper():  # `quatcast COMMAND --help` speaks of any command
            return
        parse(rest)
    elif program == "make":
        targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        for word in rest:
            assert "=" in word or word in targets, f"the Makefile has no target {word!r}"
    elif program == "python" and rest[0] != "-m":
        assert (ROOT / rest[0]).is_file(), f"there is no program {rest[0]!r}"


COMMANDS = [(page, *command) for page in PAGES for command in commands(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize(("page", "line", "text", "inline"), COMMANDS, ids=[f"{name(c[0])}:{c[1]}" for c in COMMANDS])
def test_commands_exist(page: Path, line: int, text: str, inline: bool) -> None:
    """Commands and options exist, and values have the right type."""
    try:
        check_command(text)
    except Exception as error:
        if inline and type(error).__name__ in ("MissingParameter", "BadOptionUsage"):
            return  # a sentence may name a command or an option without its arguments
        message = error.format_message() if hasattr(error, "format_message") else str(error)
        pytest.fail(f"{name(page)}, line {line}: {text}\n{message}", pytrace=False)


@pytest.mark.parametrize(
    "text",
    [
        "quatcast compair",
        "quatcast compare --horizont 2",
        "quatcast compare --test-seeds many",
        "quatcast data show",
        "make everything",
        "python examples/absent.py",
    ],
)
def test_wrong_commands_are_found(text: str) -> None:
    with pytest.raises(Exception, match=r"."):
        check_command(text)


@pytest.mark.parametrize(
    "text",
    [
        "assert 1 + 1 == 3\n",
        ">>> 1 + 1\n3\n",
        "# absent_import.py\nimport there_is_no_such_module\n",
        'if __name__ == "__main__":\n    raise SystemExit(1)\n',
    ],
)
def test_wrong_blocks_are_found(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises((AssertionError, ImportError, pytest.fail.Exception)):
        execute(Block("python", text, 1), "page.md", types.ModuleType("page"))


def test_there_is_something_to_run() -> None:
    assert sum(len(python_blocks(page)) for page in PAGES) >= 10
    assert len(COMMANDS) >= 20
