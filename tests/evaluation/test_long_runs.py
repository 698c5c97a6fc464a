"""What a run on a machine without a screen needs: lines that tell the time left, and no report where none is wanted."""

import sys
from pathlib import Path

import pytest

from quatcast.cli import run, terminal
from quatcast.data import Recording, write_csv
from quatcast.evaluation import Store


def test_a_line_now_and_then_tells_the_time_left(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    clock = iter([0.0, 0.0, 4.0, 3600.0, 3605.0, 7200.0])
    monkeypatch.setattr(terminal.time, "monotonic", lambda: next(clock))
    with terminal.ProgressDisplay() as display:
        for done in (10.0, 11.0, 20.0, 21.0, 40.0):
            display.update("validation", done, 100.0)
    # An hour for 10 of the 90 that were left, then two hours for 30 of them.
    assert capfd.readouterr().err.splitlines() == [
        "validation: 20%, about 8:00:00 left",
        "validation: 40%, about 4:00:00 left",
    ]


@pytest.mark.usefixtures("_threads")
def test_the_report_can_wait(
    recordings: list[Recording],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    # Where there is no plotly, everything but the report works.
    monkeypatch.setitem(sys.modules, "plotly", None)
    write_csv(recordings[0], "walk.csv")
    command = ["compare", "--data", "walk.csv", "--predictors", "persistence", "--horizon", "0.5", "--workers", "1"]
    assert run([*command, "--out", "here", "--no-report"]) == 0
    assert capfd.readouterr().out.splitlines()[-1] == f"Results: {Path('here') / 'results.sqlite'}"
    assert [path.name for path in Path("here").iterdir()] == ["results.sqlite"]
    with Store("here/results.sqlite") as store:
        assert len(store.results("test")) == 2
        assert store.timings() == []
    monkeypatch.undo()
    assert run(["report", str(tmp_path / "here")]) == 0
    assert len(list((tmp_path / "here").glob("*.html"))) == 1
