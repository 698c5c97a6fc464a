"""What a release consists of: pinned requirements, citation, and the files of the packages."""

import re
import tomllib
from pathlib import Path

import pytest

from quatcast import __version__

ROOT = Path(__file__).parent.parent
if not (ROOT / "requirements" / "dev.txt").is_file():
    pytest.skip("these tests are about a checkout", allow_module_level=True)
PINNED = (ROOT / "requirements" / "dev.txt").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def requirements() -> dict[str, str]:
    """Name → version of everything that is pinned."""
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+)", PINNED, re.MULTILINE))


def test_everything_is_pinned_and_hashed_and_no_index_is_named():
    entries = re.split(r"\n(?=\S)", PINNED.strip())
    for entry in entries:
        assert re.match(r"[a-z0-9-]+==\S+( ; [^\\]+)? \\\n(    --hash=sha256:[0-9a-f]{64}( \\\n)?)+$", entry), entry
    assert len(entries) > 60
    assert not re.search("https?:|index|find-links|@", PINNED)


def wanted(extra: str) -> list[str]:
    """Requirements of an extra, those of the extras that it includes too."""
    found = []
    for requirement in PROJECT["optional-dependencies"][extra]:
        if inner := re.fullmatch(r"quatcast\[(.*)\]", requirement):
            for name in inner[1].split(","):
                found += wanted(name)
        else:
            found.append(requirement)
    return found


def test_pinned_versions_are_those_that_the_project_allows():
    packaging = pytest.importorskip("packaging.requirements")
    pinned = requirements()
    for text in [*PROJECT["dependencies"], *wanted("dev")]:
        requirement = packaging.Requirement(text)
        name = requirement.name.lower()
        assert name in pinned, f"{name} is not in requirements/dev.txt; run `make requirements`"
        assert requirement.specifier.contains(pinned[name]), f"{text}, pinned {pinned[name]}; run `make requirements`"


def test_the_citation_has_this_version():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {__version__}\n" in text
    assert PROJECT["version"] == __version__
    assert f"license: {PROJECT['license']}" in text
