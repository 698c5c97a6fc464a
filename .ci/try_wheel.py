"""Install the wheel in a folder into an empty environment and run a part of the tests against the installed package.

    python .ci/try_wheel.py dist

The tests are those of the source distribution beside the wheel, in a folder from which the sources of the checkout
cannot be imported. Only the standard library is needed.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path

TESTS = [
    "tests/checkpoint/test_packing.py",
    "tests/learners/test_learner_settings.py",
    "tests/safety/test_conformal.py",
    "tests/test_escaping.py",
    "tests/cli/test_bounds.py",
    "tests/data/test_recording.py",
    "tests/evaluation/test_store.py",
]
"""What needs neither oracles nor a browser, from every layer."""
COMMANDS = [["--version"], ["data", "list"], ["data", "simulate", "--out", "simulated", "--seconds", "65"]]


def main(folder: Path) -> None:
    """Install, run commands, and run the tests."""
    (wheel,), (source,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        venv.create(place / "environment", with_pip=True)
        programs = place / "environment" / ("Scripts" if sys.platform == "win32" else "bin")
        python = str(programs / "python")
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, str(wheel.resolve())], check=True)
        subprocess.run([python, "-m", "pip", "check", "--disable-pip-version-check"], check=True)
        for words in COMMANDS:
            subprocess.run([str(programs / "quatcast"), *words], check=True, cwd=place, stdout=subprocess.DEVNULL)
        with tarfile.open(source) as archive:
            archive.extractall(place / "unpacked", filter="data")
        (unpacked,) = (place / "unpacked").iterdir()
        (unpacked / "src").rename(place / "not-importable")
        subprocess.run([*install, "pytest", "hypothesis", "psutil"], check=True)
        subprocess.run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS], check=True, cwd=unpacked)
    version = ".".join(map(str, sys.version_info[:3]))
    print(f"{wheel.name}: installed and tested with Python {version}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
