"""The live view in a real browser; the programs that drive one are those of the benchmarks."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "benchmarks"))


@pytest.fixture(scope="session")
def chromium():
    from chromium import PROGRAM, Chromium

    if PROGRAM is None:
        pytest.skip("no Chromium is installed")
    with Chromium() as browser:
        yield browser
