"""The log of `quatcast live`: each line is JSON if that is asked for, and says which stream it is about."""

import json
import logging
from collections.abc import Iterator

import pytest

from quatcast.cli import run

SHORT = "simulated:?speed=0&seconds=4"


@pytest.fixture(autouse=True)
def usual_logs() -> Iterator[None]:
    loggers = [logging.getLogger(name) for name in ("quatcast", "asyncio")]
    before = [(logger, logger.handlers[:], logger.propagate, logger.level) for logger in loggers]
    yield
    for logger, handlers, propagate, level in before:
        logger.handlers[:], logger.propagate = handlers, propagate
        logger.setLevel(level)


def test_every_line_of_a_json_log_is_json(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["live", SHORT, "--log", "json", "--name", "chest", "--view", "--port", "0"]) == 0
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    assert [line["kind"] for line in lines] == ["state", "state", "started", "summary"]
    assert {line["stream"] for line in lines} == {"chest"}
    assert lines[0]["message"].startswith("View: http://127.0.0.1:")
    assert lines[-1]["message"].startswith("40 samples, 20 forecasts sent")


def test_an_error_is_json_in_a_json_log_only(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["live", "nothing:", "--log", "json"]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert (json.loads(line)["kind"], json.loads(line)["level"]) == ("error", "error")
    assert run(["live", "nothing:"]) == 2
    assert capfd.readouterr().err.startswith("quatcast: source: expected a URL")


def test_lines_of_workers_begin_with_the_name_of_the_stream(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["--worker", "live", SHORT, "--name", "100%s"]) == 0
    assert run(["--worker", "live", "nothing:", "--name", "100%s"]) == 2
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 4
    assert all(line.startswith("quatcast live: 100%s: ") for line in lines)
