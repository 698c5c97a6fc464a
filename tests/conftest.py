"""What every part of the test suite may ask for."""

import os
import signal
from pathlib import Path

import pytest

# Before NumPy is loaded: on matrices of this size threads of BLAS cost more than they give, and twenty times as much
# where several test processes share the cores.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ.setdefault(variable, "1")

# A shell lets what it starts in the background ignore Ctrl-C, and so would all processes that the tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def extmarker_folder() -> Path:
    """The folder of the real recordings, or a skip that says how to give it."""
    folder = os.environ.get("QUATCAST_EXTMARKER")
    if not folder:
        pytest.skip("real recordings: set QUATCAST_EXTMARKER to the folder of the 27 files")
    return Path(folder)
