"""Plugins: one file outside the package adds a data source and a predictor to the command line."""

import importlib.metadata
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from quatcast.cli import plugins, run
from quatcast.data import registry
from quatcast.evaluation import CATALOGUE, Store, report, score

PLUGIN = """
import os
import numpy as np
from quatcast import Forecasts
from quatcast.data import Recording, Source, register_source, simulated
from quatcast.evaluation import Predictor, register_predictor


def load(*, data_dir=None, progress=False):
    first = simulated(seconds=65)[1]
    return [Recording("lab-1", first.positions[:, :1], first.times, first.rate, channels=("hand",))]


class ConstantVelocity:
    def __init__(self, horizon, labels, spans):
        self.horizon, self.labels, self.spans = horizon, labels, spans

    def run(self, positions):
        forecasts = np.full((len(self.spans), *positions.shape), np.nan)
        h = self.horizon
        for forecast, span in zip(forecasts, self.spans):
            velocity = (positions[span:-h] - positions[: -h - span]) / span
            forecast[span + h :] = positions[span:-h] + h * velocity
        with open(os.environ["PLUGIN_LOG"], "a") as log:
            log.write(f"{os.getpid()}\\n")
        return Forecasts(forecasts, np.ones(forecasts.shape[:2]), h, self.labels, 0)


def build(batch):
    return ConstantVelocity(batch.horizon, batch.labels, batch.each("span"))


register_source(Source("lab", "one hand", load, citation="A. Author, Motion of a hand, 2030."))
register_predictor(
    Predictor(
        "velocity", "Constant velocity", build, grid={"span": [1, 5]}, units={"span": "samples"},
        along_runs=("span",), colour="#123456", timed=True,
    )
)
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A plugin file in a folder that nothing imports from; what it registers is removed afterwards."""
    path = tmp_path / "elsewhere" / "lab_plugin.py"
    path.parent.mkdir()
    path.write_text(PLUGIN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PLUGIN_LOG", str(tmp_path / "pids.txt"))
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(plugins, "FILES", [])
    sources, catalogue = dict(registry._sources), dict(CATALOGUE)
    yield path
    sys.modules.pop("lab_plugin", None)
    for mapping, before in ((registry._sources, sources), (CATALOGUE, catalogue)):
        mapping.clear()
        mapping.update(before)


COMPARE = ["compare", "--data", "lab", "--predictors", "velocity,persistence", "--horizon", "0.5", "--out", "here"]


def test_compare_with_a_source_and_a_predictor_of_a_plugin(
    plugin: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["--plugin", "elsewhere/lab_plugin.py", *COMPARE, "--workers", "1"]) == 0
    assert "velocity" in capfd.readouterr().out
    with Store("here/results.sqlite") as store:
        results = store.results("test", predictor="velocity", labels="causal")
        (recording,) = store.recordings()
        assert "velocity" in json.loads(store.meta()["sample_times"])["milliseconds"]
    (result,) = results
    span = result.configuration["span"]
    x = recording.positions
    expected = np.full_like(x, np.nan)
    expected[span + 5 :] = x[span:-5] + 5 * (x[span:-5] - x[: -5 - span]) / span
    assert result.rmse == pytest.approx(score(x, expected).rmse, rel=1e-12)
    pids = set((tmp_path / "pids.txt").read_text().split())
    assert pids
    assert str(os.getpid()) not in pids, "the predictor was not run by a worker process"

    text = Path("here/report.html").read_text(encoding="utf-8")
    assert "#123456" in text
    assert "span [samples]" in text
    assert "A. Author, Motion of a hand, 2030." in text


@pytest.mark.usefixtures("_threads")
def test_a_report_does_not_need_the_plugin(plugin: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["--plugin", str(plugin), *COMPARE, "--workers", "1", "--no-report"]) == 0
    del CATALOGUE["velocity"], registry._sources["lab"]
    path = report.write("here/results.sqlite", "again")
    text = path.read_text(encoding="utf-8")
    assert "velocity" in text
    assert "#123456" not in text
    assert "span [samples]" not in text
    assert run([*COMPARE]) == 2
    assert "predictors: expected one of" in capfd.readouterr().err


def test_the_command_in_a_process_of_its_own(plugin: Path) -> None:
    command = [sys.executable, "-m", "quatcast", "--plugin", str(plugin), *COMPARE, "--workers", "1", "--no-report"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_workers_of_a_cluster_receive_the_file_or_are_told_to_install_the_module(
    plugin: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        command = [*COMPARE, "--cluster", cluster.scheduler_address, "--no-report"]
        monkeypatch.syspath_prepend(str(plugin.parent))
        assert run(["--plugin", "lab_plugin", *command]) == 2
        assert "cluster: 'lab_plugin' is not installed at" in capfd.readouterr().err
        assert run(["--plugin", str(plugin), *command]) == 0
    with Store("here/results.sqlite") as store:
        assert len(store.results("test", predictor="velocity")) == 2


def test_a_module_may_be_named_and_used_by_forecast_and_data(
    plugin: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(plugin.parent))
    assert run(["--plugin", "lab_plugin", "data", "list"]) == 0
    assert "one hand" in capfd.readouterr().out
    assert run(["--plugin", "lab_plugin", "data", "show", "lab"]) == 0
    assert "lab-1" in capfd.readouterr().out
    Path("hand.csv").write_text("time,hand.x,hand.y,hand.z\n" + "\n".join(f"{t / 10},{t % 7},0,1" for t in range(700)))
    assert run(["--plugin", "lab_plugin", "forecast", "hand.csv", "--predictor", "velocity", "--set", "span=2"]) == 0
    assert "by velocity" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("none.py", None, "there is no file"),
        ("no_such_module", None, "ModuleNotFoundError: No module named 'no_such_module'"),
        ("broken_plugin.py", "1 / 0\n", "ZeroDivisionError: division by zero"),
        ("script_plugin.py", "import sys\nsys.exit('done')\n", "SystemExit: done"),
        ("string.py", "", "another module is called 'string'; rename the file"),
        (
            "thief_plugin.py",
            "from quatcast.evaluation import *\nregister_predictor(Predictor('LMS', 'Not it', lambda batch: None))\n",
            "module 'quatcast.evaluation.builtin' has already registered a predictor 'LMS'",
        ),
        ("deep.py", "def read():\n    return {}['a']\n\nread()\n", "(KeyError: 'a', line 2 of deep.py)"),
        (
            "spaced.py",
            "from quatcast.evaluation import Predictor\nPredictor('a b', 'A name of two words', print)\n",
            "got 'a b', line 2 of spaced.py)",
        ),
    ],
)
def test_a_plugin_that_cannot_be_imported_is_one_line(
    name: str, text: str | None, words: str, plugin: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    assert run(["--plugin", name, "data", "list"]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith(f"quatcast: --plugin {name}: cannot be imported (")
    assert words in line


def test_installed_plugins_are_loaded_and_broken_ones_skipped(
    plugin: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(plugin.parent))
    points = [
        importlib.metadata.EntryPoint("broken", "no_such_module", plugins.GROUP),
        importlib.metadata.EntryPoint("lab", "lab_plugin", plugins.GROUP),
    ]
    monkeypatch.setattr(plugins, "entry_points", lambda group: [point for point in points if point.group == group])
    assert run(["data", "list"]) == 0
    captured = capfd.readouterr()
    assert "one hand" in captured.out
    (line,) = captured.err.splitlines()
    assert line.startswith("quatcast: plugin broken: skipped, cannot be imported (ModuleNotFoundError")
