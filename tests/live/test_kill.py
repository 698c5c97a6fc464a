"""`kill -9` of the real service with the recommended forecaster; benchmarks/live_kill.py does it a hundred times."""

import sys

import pytest
from programs import load_program


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
@pytest.mark.slow
def test_killed_service_loses_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    code = load_program("live_kill").main(["--kills", "2", "--samples", "340", "--longest", "1", "--checkpoint", "0.2"])
    assert code == 0, capsys.readouterr().out
