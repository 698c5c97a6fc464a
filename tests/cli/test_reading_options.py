"""Commands that read files have all options that their errors advise."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from quatcast.cli import run
from quatcast.cli.compare import compare
from quatcast.cli.forecast import forecast
from quatcast.cli.recordings import show
from quatcast.data import read, read_all

COMMANDS = {
    "show": ["data", "show", "a.csv"],
    "compare": [
        *("compare", "a.csv", "--predictors", "persistence", "--labels", "causal", "--workers", "1"),
        *("--horizon", "0.5", "--no-report", "--out", "out"),
    ],
    "forecast": ["forecast", "a.csv", "--predictor", "persistence", "--figure", "none"],
}


def rows(header: str, scale: float = 1.0, form: str = "{:.4f}", count: int = 700) -> str:
    lines = [header] if header else []
    for k in range(count):
        cells = [f"{np.sin(0.15 * k + i):.5f}" for i in range(3)]
        lines.append(",".join([form.format(scale * k / 10), *cells]))
    return "\n".join(lines) + "\n"


UNCLEAR: dict[str, tuple[bytes, str, list[str]]] = {
    "encoding": (rows("time,é.x,é.y,é.z").encode("latin-1"), "--encoding latin-1", ["--encoding", "latin-1"]),
    "time-unit": (rows("stamp,x,y,z", 1000, "{:.0f}").encode(), "--time-unit ms", ["--time-unit", "ms"]),
    "time": (rows("").encode(), "--time 1", ["--time", "1"]),
    "columns": (rows("time,a,b,c").encode(), "--columns a,b,c", ["--columns", "a,b,c"]),
    "ignore": (rows("t,x,y,z", 10, "{:.0f}").encode(), "--ignore 't'", ["--ignore", "t", "--rate", "10"]),
}
"""Contents of a file, the advice of the error, and the options that follow it."""


@pytest.mark.usefixtures("_threads")
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("case", UNCLEAR)
def test_advice_can_be_followed(
    command: str, case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    content, advice, options = UNCLEAR[case]
    Path("a.csv").write_bytes(content)
    assert run(COMMANDS[command]) == 2
    assert advice in capfd.readouterr().err
    assert run([*COMMANDS[command], *options]) == 0, capfd.readouterr().err
    assert command != "compare" or "Computed 1 run." in capfd.readouterr().out


def test_commands_have_the_same_options() -> None:
    def options(command: Callable[..., None]) -> set[str]:
        return set(inspect.signature(command).parameters)

    arguments = set(inspect.signature(read).parameters) - {"path", "name", "group", "time"} | {"time_column"}
    for command in (show, compare, forecast):
        assert arguments <= options(command)


def test_read_all_has_the_arguments_of_read(tmp_path: Path) -> None:
    assert inspect.signature(read_all).parameters.keys() == inspect.signature(read).parameters.keys()
    for content, advice, given in UNCLEAR.values():
        (tmp_path / "a.csv").write_bytes(content)
        with pytest.raises(ValueError, match=re.escape(advice)):
            read_all(tmp_path / "a.csv")
        words = {name.strip("-").replace("-", "_"): value for name, value in zip(given[::2], given[1::2], strict=True)}
        lists = {name: [value] for name, value in words.items() if name in ("columns", "ignore")}
        numbers = {name: float(value) for name, value in words.items() if name == "rate"}
        (recording,) = read_all(tmp_path / "a.csv", **{**words, **lists, **numbers})
        assert recording.rate == pytest.approx(10.0)


def test_reading_options_are_for_files(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["data", "show", "simulated", "--time-unit", "ms"]) == 2
    assert "--time-unit: applies to files only, got the data source 'simulated'" in capfd.readouterr().err
