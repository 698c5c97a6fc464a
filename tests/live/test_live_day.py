"""benchmarks/live_day.py: its service does not outlive it."""

import subprocess
import sys
import time

import pytest
from programs import BENCHMARKS

psutil = pytest.importorskip("psutil")


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGTERM")
def test_the_service_ends_with_the_program() -> None:
    program = subprocess.Popen([sys.executable, str(BENCHMARKS / "live_day.py"), "--hours", "24"])
    services = []
    try:
        until = time.monotonic() + 30.0
        while not services and time.monotonic() < until:
            time.sleep(0.1)
            services = psutil.Process(program.pid).children()
        assert len(services) == 1
        program.terminate()
        assert program.wait(60) == 128 + 15
        assert not services[0].is_running()
    finally:
        program.kill()
        for service in services:
            if service.is_running():
                service.kill()
