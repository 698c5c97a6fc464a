"""What every part of the test suite may ask for."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def extmarker_folder() -> Path:
    """The folder of the real recordings, or a skip that says how to give it."""
    folder = os.environ.get("QUATCAST_EXTMARKER")
    if not folder:
        pytest.skip("real recordings: set QUATCAST_EXTMARKER to the folder of the 27 files")
    return Path(folder)
