"""`kill -9` of the real service with the recommended forecaster; benchmarks/live_kill.py does it a hundred times."""

import importlib.util
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
@pytest.mark.slow
def test_killed_service_loses_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(__file__).parents[2] / "benchmarks" / "live_kill.py"
    spec = importlib.util.spec_from_file_location("live_kill", path)
    assert spec is not None
    assert spec.loader is not None
    program = importlib.util.module_from_spec(spec)
    sys.modules["live_kill"] = program
    spec.loader.exec_module(program)
    code = program.main(["--kills", "2", "--samples", "400", "--longest", "1", "--checkpoint", "0.2"])
    assert code == 0, capsys.readouterr().out
