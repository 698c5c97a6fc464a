"""Files for operation: the example streams are valid, the unit file and the image run commands that exist."""

import importlib.metadata
import json
import re
import shlex
import shutil
import subprocess
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest
from typer.main import get_command

from quatcast.cli import app
from quatcast.live.supervisor import read_config
from quatcast.live.transports import open_sink, open_source
from quatcast.live.view.access import Access

DEPLOY = Path(__file__).parents[2] / "deploy"
MOST_PACKAGES = 10


def parse(words: list[str]) -> None:
    """Parse the words after `quatcast live`."""
    live = get_command(app).commands["live"]  # type: ignore[attr-defined]
    live.commands["run"].make_context("run", list(words))


def test_example_streams_can_be_opened() -> None:
    workers = read_config(DEPLOY / "live.toml")
    assert [worker.name for worker in workers] == ["chest", "couch"]
    for worker in workers:
        parse(list(worker.words))
        open_source(worker.words[0], worker.name)
        for option, value in pairwise(worker.words):
            if option == "--to":
                open_sink(value, worker.name)


def test_unit_file_starts_a_command_that_exists() -> None:
    text = (DEPLOY / "quatcast-live.service").read_text()
    [command] = re.findall(r"^ExecStart=(.*)$", text, re.MULTILINE)
    program, live, *words = shlex.split(command)
    assert (Path(program).name, live) == ("quatcast", "live")
    parse(words)
    assert "Type=notify" in text
    assert "DynamicUser=yes" in text


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_understands_the_unit_file(tmp_path: Path) -> None:
    text = (DEPLOY / "quatcast-live.service").read_text()
    unit = tmp_path / "quatcast-live.service"

    def complaints(text: str) -> str:
        unit.write_text(text)
        checked = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, timeout=60)
        # Units of the system that it is checked with may have faults of their own.
        return "\n".join(line for line in checked.stderr.splitlines() if unit.name in line)

    installed = text.replace("/opt/quatcast/bin/quatcast", "/bin/true")
    assert complaints(installed) == ""
    assert "Unknown key" in complaints(installed.replace("RestartSec", "RestartSecs"))


def test_image_holds_what_the_build_needs() -> None:
    """Everything that is not listed stays out, and everything that pyproject.toml names is listed."""
    project = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())["project"]
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text().split()
    assert "*" in ignored
    assert {"!pyproject.toml", "!src", f"!{project['readme']}"} <= set(ignored)
    for line in ignored:
        if line.startswith("!"):
            assert (DEPLOY.parent / line[1:]).exists()


def test_image_is_slim_not_root_and_checked() -> None:
    text = (DEPLOY / "Dockerfile").read_text()
    assert all(base.endswith("-slim") for base in re.findall(r"^FROM (\S+)", text, re.MULTILINE))
    [user] = re.findall(r"^USER (\d+)$", text, re.MULTILINE)
    assert f"useradd --system --uid {user}" in text
    assert text.index("USER") < text.index("ENTRYPOINT")
    [words] = re.findall(r"^CMD (\[.*\])$", text, re.MULTILINE)
    parse(json.loads(words))
    [health] = re.findall(r"http://([^/]+)/healthz", text)
    assert Access("0.0.0.0", "a-token-of-sixteen-characters").known_host(health)


def needed(package: str, known: set[str]) -> set[str]:
    """All packages that a package needs, without extras."""
    try:
        requirements = importlib.metadata.requires(package) or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"{package} is not installed")
    for requirement in requirements:
        name, _, condition = requirement.partition(";")
        if re.search(r"extra|emscripten|python_version\s*<\s*['\"]3\.1[01]", condition):
            continue
        plain = re.match(r"[A-Za-z0-9_.-]+", name.strip())
        assert plain is not None
        if plain[0].lower() not in known:
            known.add(plain[0].lower())
            needed(plain[0], known)
    return known


def test_the_extra_adds_few_packages() -> None:
    packages = {"starlette", "uvicorn", "websockets"}
    for package in list(packages):
        needed(package, packages)
    assert len(packages) <= MOST_PACKAGES, packages
