"""The command line: what people type, what they get, and what they are told when it was wrong."""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from walks import walk

from quatcast import __version__
from quatcast.cli import run
from quatcast.cli.compare import format_estimate
from quatcast.cli.terminal import print_table
from quatcast.data import read_csv, simulated, write_csv
from quatcast.evaluation import Store
from quatcast.evaluation.metrics import Estimate
from quatcast.evaluation.summary import RecordingInfo, Summary


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder with a recording of one marker in it."""
    monkeypatch.chdir(tmp_path)
    Path("walk.csv").write_text(walk(), encoding="utf-8")
    return tmp_path


@pytest.fixture(autouse=True)
def no_download(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("QUATCAST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("QUATCAST_EXTMARKER_URL", "http://127.0.0.1:9")


ERRORS = [
    ([], "expected a command"),
    (["--bogus"], "No such option: --bogus (see quatcast --help)"),
    (["compete"], "No such command 'compete'"),
    (["data", "simulat"], "(see quatcast data --help)"),
    (["forecast"], "Missing argument 'file' (see quatcast forecast --help)"),
    (["compare", "--profile", "fast"], "profile: expected one of quick, standard, published, got 'fast'"),
    (["compare", "--predictors", "LMS,ARIMA"], "predictors: expected one of recommended, QRNN-MCC"),
    (["compare", "--labels", "both"], "labels: expected one of causal, lookahead"),
    (["compare", "--horizon", "soon"], "--horizon: expected seconds, got 'soon'"),
    (["compare", "--horizon", "-1"], "--horizon: expected a positive number of seconds, got -1.0"),
    (["compare", "--horizon", "nan"], "--horizon: expected a positive number of seconds, got nan"),
    (["compare", "--horizon", "0.03"], "got 0.03 s, which are 0.3 samples"),
    (["compare", "--horizon", "0.5,0.52"], "got 0.5 and 0.52 s, which are both 5 samples of recording 'sim-1-talk'"),
    (["compare", "--test-seeds", "0"], "--test-seeds: expected a positive whole number"),
    (["compare", "--workers", "many"], "--workers"),
    (
        ["compare", "--data", "none.csv"],
        "data: expected a source (broad, extmarker, simulated, tumours) or a file; there is no file 'none.csv'",
    ),
    (["compare", "--data", "extmarker", "--data-dir", "nowhere"], "nowhere: expected the 27 ExtMarker files, but"),
    (["compare", "--seconds", "30"], "recording 'sim-1-talk': expected at least 602 samples"),
    (
        ["compare", "--data", "norate.csv"],
        "expected a column of times with two or more rows to compute the rate; add a column named `time`",
    ),
    (
        ["compare", "--labels", "lookahead", "--predictors", "recommended"],
        "labels: recommended cannot learn from lookahead labels",
    ),
    (["compare", "--out", "walk.csv"], "walk.csv: is a file, not a folder"),
    (["compare", "--settings", "none.toml"], "none.toml: there is no such file or folder"),
    (["compare", "--settings", "bad.toml"], "bad.toml: grids.LMS.speed: unknown setting of LMS"),
    (
        ["compare", "--device", "abacus"],
        'device: expected "cpu" or "cuda", got \'abacus\'',
    ),
    (["forecast", "none.csv"], "none.csv: there is no such file"),
    (["forecast", "."], ".: is a folder, not a file"),
    (["forecast", "walk.csv/inside.csv"], "walk.csv/inside.csv: is inside a file, not inside a folder"),
    (["forecast", "walk.csv", "--predictor", "persistence", "--out", "walk.csv"], "walk.csv: is a file, not a folder"),
    *(
        (["forecast", "walk.csv", "--horizon", given], f"--horizon: expected a positive number of seconds, got {given}")
        for given in ("inf", "nan", "-1.0", "0.0")
    ),
    (
        ["forecast", "walk.csv", "--horizon", "1e300"],
        "--horizon: expected less than the 64.9 s of walk.csv, got 1e+300 s",
    ),
    (["forecast", "norate.csv", "--rate", "0"], "rate: expected a positive number of Hz, got 0.0"),
    (
        ["forecast", "walk.csv", "--device", "tpu"],
        'device: expected "cpu" or "cuda", got \'tpu\'',
    ),
    (["forecast", "walk.csv", "--seed", "-1"], "quatcast: --seed: "),
    (["forecast", "walk.csv", "--horizon", "0.2,0.5"], "quatcast: --horizon: "),
    (["forecast", "walk.csv", "--horizon", "0.2,0.5"], "'0.2,0.5'"),
    (["forecast", "walk.csv", "--predictor", "ARIMA"], "quatcast: --predictor: expected one of recommended, "),
    (["forecast", "walk.csv", "--unit=head=mm"], "quatcast: --unit: expected one of the channels "),
    (["compare", "--predictors", "ARIMA"], "quatcast: --predictors: expected one of recommended, "),
    (["compare", "--horizon", "-1"], "quatcast: --horizon: expected a positive number of seconds, got -1.0"),
    (["compare", "walk.csv", "--rate", "w*=0"], "quatcast: --rate w*: expected a positive number of Hz, got 0.0"),
    (["compare", "--settings", "rate.toml"], "quatcast: rate.toml: rates.*: expected a positive number of Hz, got 0"),
    (["forecast", "walk.csv", "--labels", "none"], "--labels: expected causal for recommended, got 'none'"),
    (["forecast", "walk.csv", "--predictor", "LMS", "--set", "hidden=3"], "--set hidden: unknown setting of LMS"),
    (["forecast", "walk.csv", "--predictor", "LMS", "--set", "lags"], "--set: expected NAME=VALUE, got 'lags'"),
    (["forecast", "short.csv", "--predictor", "LMS"], "recording 'short'"),
    (["data", "show", "none.csv"], "there is no file 'none.csv'"),
    (["compare", "simulated"], "data: expected a file, got the source 'simulated'; give it by --data simulated"),
    (
        ["forecast", "short.csv", "--predictor", "RLS", "--set", "forgetting=2"],
        "predictor 'RLS': forgetting: expected at most 1",
    ),
    (
        ["data", "show", "norate.csv"],
        "expected a column of times with two or more rows to compute the rate; add a column named `time`",
    ),
    *(
        (
            ["data", "simulate", "--seconds", given],
            f"seconds: expected a duration from 0.1 to {most} s, got {float(given)}",
        )
        for given, most in (("inf", "1e+06"), ("nan", "1e+06"), ("-1", "1e+06"))
    ),
    (["data", "simulate", "--seed", "-1"], "quatcast: --seed: "),
    (["data", "simulate", "--glitches", "2"], "glitches: expected a probability from 0 to 1, got 2.0"),
    (["compare", "--plugin", "mine.py"], "--plugin; it comes before the command: quatcast --plugin"),
    (["report", "none.sqlite"], "none.sqlite: there is no such file"),
    (["report", "."], "results.sqlite: there is no such file; give a folder of results of `quatcast compare`, or the"),
    (["report", "."], "the folder of a session of `quatcast live`"),
    (["report", "walk.csv"], "walk.csv: expected a store of quatcast"),
    (["bench", "--store", "walk.csv"], "walk.csv: expected a store of quatcast"),
]


@pytest.mark.parametrize(
    ("arguments", "words"), ERRORS, ids=[" ".join(arguments) or "nothing" for arguments, _ in ERRORS]
)
def test_errors_are_one_line_and_exit_code_2(
    arguments: list[str], words: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    Path("bad.toml").write_text("[grids.LMS]\nspeed = [1.0]\n")
    Path("rate.toml").write_text("rates = 0\n")
    Path("norate.csv").write_text("1,2,3\n4,5,6\n")
    short = simulated(seconds=10)[0]
    write_csv(short, "short.csv")
    assert run(arguments) == 2
    err = capfd.readouterr().err
    assert words in err
    (line,) = err.splitlines()
    assert line.startswith("quatcast: ")
    assert not Path("runs").exists()


def test_a_failed_download_is_one_line(
    folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut(**_: object) -> None:
        raise ConnectionError("could not download it: the connection failed or was cut")

    monkeypatch.setattr(importlib.import_module("quatcast.data.extmarker_files"), "cached", cut)
    assert run(["data", "fetch"]) == 2
    assert capfd.readouterr().err == "quatcast: could not download it: the connection failed or was cut\n"


def test_version_and_help(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capfd.readouterr().out == f"quatcast {__version__}\n"
    for command in ("compare", "forecast", "bench", "report"):
        assert run([command, "--help"]) == 0
        assert command in capfd.readouterr().out
    assert run(["data", "--help"]) == 0
    out = capfd.readouterr().out
    assert all(word in out for word in ("list", "fetch", "simulate", "show"))


def test_help_tells_the_defaults(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    for command, defaults in (
        ("compare", ["built-in", "both", "2", "quick", "runs/DATA-PROFILE", "one per core"]),
        ("report", ["folder of the store"]),
    ):
        assert run([command, "--help"]) == 0
        out = capfd.readouterr().out
        assert all(f"[default: ({default})]" in out for default in defaults)


def test_running_out_of_memory_gives_advice_that_can_be_followed(
    folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("quatcast.data.read", full)
    monkeypatch.setattr("quatcast.evaluation.load", full)
    assert run(["forecast", "walk.csv"]) == 2
    assert "--set" in capfd.readouterr().err
    assert run(["compare"]) == 2
    assert "--max-runs" in capfd.readouterr().err


def test_an_interrupt_is_one_line(
    folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("quatcast.data.simulated", interrupt)
    assert run(["data", "simulate"]) == 130
    assert capfd.readouterr().err == "quatcast: interrupted\n"


def test_help_is_quick_because_nothing_heavy_is_loaded() -> None:
    code = (
        "import sys; from quatcast.cli import run; run(['--help']); "
        "print([name for name in ('plotly', 'pooch', 'distributed', 'scipy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_compare_ends_with_the_report_and_does_nothing_twice(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    Path("mine.toml").write_text('predictors = ["LMS", "persistence"]\nhorizons = [1.0]\n[grids.LMS]\nlags = [3]\n')
    command = ["compare", "--settings", "mine.toml", "--data", "walk.csv", "--horizon", "0.3,0.5", "--out", "here"]
    assert run([*command, "--workers", "1"]) == 0
    out = capfd.readouterr().out
    report = Path(out.splitlines()[-1].removeprefix("Report: "))
    assert report.is_file()
    assert "persistence" in out
    assert "±" not in out
    with Store("here/results.sqlite") as store:
        results, meta = store.results(), store.meta()
        assert {r.horizon for r in results} == {0.3, 0.5}
        assert set(json.loads(meta["sample_times"])["milliseconds"]) == {"LMS", "persistence"}
        assert store.timings() == []  # the paper's table is for its recordings
    written = report.stat().st_mtime_ns
    assert run([*command, "--workers", "1"]) == 0
    assert "All runs were stored already; nothing was computed." in capfd.readouterr().out
    assert report.stat().st_mtime_ns == written

    Path("again.toml").write_text(meta["settings"])
    assert run(["compare", "--settings", "again.toml", "--out", "there", "--workers", "1"]) == 0
    with Store("there/results.sqlite") as store:
        assert [(r.key, r.rmse) for r in store.results()] == [(r.key, r.rmse) for r in results]

    report.unlink()
    assert run(["report", "here"]) == 0
    assert report.is_file()
    assert run([*command, "--labels", "causal"]) == 2
    assert "holds an experiment with other settings; labels: expected 'lookahead'" in capfd.readouterr().err


def test_an_interval_is_shown_where_recordings_were_run_more_than_once() -> None:
    nine = Summary([], [RecordingInfo(f"{i}", "", "mm") for i in range(9)])
    assert format_estimate(Estimate(1.5, 0.0, runs=9, diverged=0), nine) == "1.50"
    assert format_estimate(Estimate(1.5, 0.25, runs=16, diverged=2), nine) == "1.50 ± 0.25, 2 diverged"


def test_data_commands(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["data", "list"]) == 0
    states = {line.split()[1]: line for line in capfd.readouterr().out.splitlines() if len(line.split()) > 2}
    assert "available" in states["simulated"]
    assert "to be downloaded" in states["extmarker"]
    assert "to be copied by hand" in states["broad"]
    assert "to be downloaded" in states["tumours"]
    assert run(["data", "simulate", "--out", "made", "--seconds", "20", "--dropouts", "0.1"]) == 0
    files = sorted(Path("made").iterdir())
    assert len(files) == 9
    np.testing.assert_array_equal(read_csv(files[0]).positions, simulated(seconds=20, dropouts=0.1)[0].positions)
    assert run(["data", "show", str(files[0]), "walk.csv"]) == 0
    out = capfd.readouterr().out
    assert "sim-1-talk" in out
    assert "hip" in out


def test_a_coordinate_that_was_never_seen_is_shown_without_a_warning(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    Path("lost.csv").write_text("time,a.x,a.y,a.z\n0.0,1,,2\n0.1,2,,7\n", encoding="utf-8")
    assert run(["data", "show", "lost.csv"]) == 0
    out, err = capfd.readouterr()
    assert out.splitlines()[-2].split()[-2] == "5"
    assert not err


@pytest.mark.parametrize(("benchmark", "stores"), [("lockout", 1), ("rounding", 2)])
def test_benchmarks_take_folders_and_name_what_is_missing(benchmark: str, stores: int, folder: Path) -> None:
    Store("here/results.sqlite", create=True).close()
    script = Path(__file__).parents[2] / "benchmarks" / f"{benchmark}.py"
    command = [sys.executable, str(script)]
    assert subprocess.run([*command, *["here"] * stores], capture_output=True, check=False).returncode == 0
    done = subprocess.run([*command, *["nowhere"] * stores], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines() == ["nowhere: there is no such file; `quatcast compare` writes one"]


def test_bench_stores_its_times(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    Store("times.sqlite", create=True).close()
    assert run(["bench", "--store", "times.sqlite"]) == 0
    assert "184.5" in capfd.readouterr().out
    with Store("times.sqlite") as store:
        timings = {timing.predictor: timing for timing in store.timings()}
    assert timings["QRNN-MCC"].configuration["hidden"] == 45
    assert timings["LMS"].milliseconds < timings["QRNN-MCC"].milliseconds


@pytest.mark.usefixtures("_threads")
def test_the_former_name_of_a_setting_gives_one_line(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["forecast", "walk.csv", "--predictor", "LMS", "--figure", "none", "--set", "rate=0.05"]) == 0
    assert capfd.readouterr().err.startswith("quatcast: rate: this setting is now called learning_rate\nquatcast: note")
    toml = 'predictors = ["LMS", "QLMS"]\ndata = "walk.csv"\nlabels = "causal"\n'
    Path("old.toml").write_text(
        toml + "[grids.LMS]\nlags = [3]\nrate = [0.1]\n[grids.QLMS]\nlags = [3]\nrate = [0.1]\n"
    )
    assert run(["compare", "--settings", "old.toml", "--no-report", "--workers", "1", "--out", "here"]) == 0
    assert capfd.readouterr().err == "quatcast: rate: this setting is now called learning_rate\n"


def test_evaluation_loads_nothing_heavy() -> None:
    code = (
        "import sys, quatcast; quatcast.evaluation.score, quatcast.evaluation.report.write; "
        "print([name for name in ('plotly', 'pooch', 'rich', 'typer', 'distributed') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_output_fits_any_encoding(encoding: str, folder: Path) -> None:
    """Signs that the encoding of the terminal does not have are replaced."""
    Path("walk.csv").rename("Gänge….csv")
    environment = os.environ | {"PYTHONIOENCODING": encoding}
    for arguments in (["compare", "--help"], ["forecast", "Gänge….csv", "--predictor", "persistence"]):
        command = [sys.executable, "-m", "quatcast", *arguments]
        done = subprocess.run(command, capture_output=True, env=environment, timeout=60, check=False)
        assert (done.returncode, done.stderr) == (0, b""), arguments


@pytest.mark.parametrize("width", [20, 60, 80, 120])
def test_a_table_loses_nothing_on_a_narrow_terminal(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in {"FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": str(width)}.items():
        monkeypatch.setenv(name, value)
    row = ["a recording of a name", "pose", "2220", "221.9", "57.14", "21.93 mm", "100.0%", "0.0%"]
    print_table("Recordings", ["name", "kind", *"abcdef"], [row], words=2)
    shown = capsys.readouterr().out
    assert all(cell in shown for cell in row)
    assert ("┃" in shown) == (width == 120)
