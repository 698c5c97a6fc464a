"""The command `quatcast forecast`: what it reads, says and writes."""

import csv
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event

import numpy as np
import pytest
from walks import walk

from quatcast.basics.typing import Bools, Floats
from quatcast.cli import run
from quatcast.cli.terminal import ProgressDisplay
from quatcast.data import read, simulated, write_csv
from quatcast.evaluation import score
from quatcast.forecasting.contract import OnlineForecaster
from quatcast.forecasting.forecaster import Forecaster
from quatcast.forecasting.progress import watched
from quatcast.forecasting.velocity import ConstantVelocity
from quatcast.learners import LMS
from quatcast.learners.optimizers import SGD
from quatcast.safety.recommendation import recommended

QUICK = ["--predictor", "persistence", "--figure", "none"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder with a recording of one marker in it."""
    monkeypatch.chdir(tmp_path)
    Path("walk.csv").write_text(walk(), encoding="utf-8")
    return tmp_path


def table(header: str, rows: np.ndarray, separator: str = ",") -> str:
    return "\n".join([header, *(separator.join(f"{value:.9g}" for value in row) for row in rows)]) + "\n"


def motion(samples: int = 500, rate: float = 10.0, columns: int = 3) -> np.ndarray:
    times = np.arange(samples) / rate
    return np.column_stack([times, *(np.sin(times + k) * (k + 1) for k in range(columns))])


def test_forecast_writes_a_table_and_a_figure(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    command = ["forecast", "walk.csv", "--predictor", "LMS", "--set", "lags=4", "--set", "learning_rate=0.05"]
    assert run([*command, "--horizon", "0.3", "--out", "made"]) == 0
    actual = read("walk.csv")
    expected = Forecaster(LMS(optimizer=SGD(0.05)), horizon=3, lags=4, learn_first=True).run(
        actual.positions, training=actual.positions[:300]
    )
    made = read("made/walk-LMS-causal-0.3s.csv")
    assert made.channels == ("hip",)
    np.testing.assert_allclose(made.positions[302:], expected.positions[302:], rtol=1e-12)
    assert np.isnan(made.positions[:302]).all()
    assert "plotly" in Path("made/walk-LMS-causal-0.3s.html").read_text().lower()
    rmse = score(actual.positions, made.positions, start=302).rmse
    said = capfd.readouterr()
    assert f"RMSE {rmse:.3g} by LMS" in said.out
    assert "10 Hz measured" in said.out
    assert said.err == (
        "quatcast: note: no forecasts of the first 30.2 s, because LMS fits its scaling before it begins\n"
    )


@pytest.mark.parametrize(
    ("predictor", "changed"),
    [*((name, 320) for name in ("recommended", "RLS", "QELM", "Kalman-CV")), ("LMS", 150), ("ridge", 150)],
)
def test_a_causal_forecast_depends_on_nothing_that_comes_later(predictor: str, changed: int, folder: Path) -> None:
    """Two files that are equal until some sample: so are the forecasts made until then."""
    rows = motion(samples=360)
    for name in ("one", "two"):
        Path(f"{name}.csv").write_text(table("time,x,y,z", rows))
        assert run(["forecast", f"{name}.csv", "--predictor", predictor, "--figure", "none"]) == 0
        rows[changed:, 1:] = 50.0 * rows[changed:, 1:] + 7.0
    one, two = (read(f"{name}-{predictor}-causal-0.5s.csv").positions for name in ("one", "two"))
    np.testing.assert_allclose(one[: changed + 5], two[: changed + 5], rtol=1e-12)
    assert np.isfinite(one[320:]).all()


def test_forecast_has_a_default_and_takes_missing_samples(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    lines = Path("walk.csv").read_text().splitlines()
    lines[100] = lines[100].split(",")[0] + ",,,"
    Path("gap.csv").write_text("\n".join(lines[:60] + lines[95:120]))
    assert run(["forecast", "gap.csv"]) == 0
    said = capfd.readouterr()
    assert "by persistence" in said.out
    assert "35 samples are missing in 1 gap " in said.err
    assert len(list(folder.glob("gap-*-causal-0.5s.csv"))) == 1


@pytest.mark.parametrize("header", ["q_x;q_y;q_z;time;q_w", "q_z;q_w;time;q_x;q_y", "time;q_w;q_x;q_y;q_z"])
def test_columns_keep_their_names_in_any_order(header: str, folder: Path) -> None:
    """Every output lists the columns of the file; the forecast of persistence is the old value of the same column."""
    names = header.split(";")
    angle = np.arange(500) / 50
    values = {
        "time": np.arange(500) / 10,
        "q_w": np.cos(angle),
        "q_x": np.sin(angle),
        "q_y": 0 * angle,
        "q_z": 0 * angle,
    }
    Path("a.csv").write_text(table(header, np.column_stack([values[name] for name in names]), ";"))
    assert run(["forecast", "a.csv", *QUICK]) == 0
    with Path("a-persistence-causal-0.5s.csv").open(newline="") as file:
        made_names, *rows = csv.reader(file, delimiter=";")
    assert made_names == ["time", *(name for name in names if name != "time")]
    for k in (10, 499):
        made = dict(zip(made_names, rows[k], strict=True))
        for name in ("q_w", "q_x", "q_y", "q_z"):
            assert float(made[name]) == pytest.approx(values[name][k - 5], abs=1e-7)


def test_status_table_and_figure_use_names_units_and_separators(folder: Path) -> None:
    text = table("t_ms;hip.z [cm];hip.x [cm];hip.y [cm]", motion(90) * [1000, 1, 1, 1], ";")
    Path("a.csv").write_text(text.replace(".", ",").replace("hip,", "hip."))
    assert run(["forecast", "a.csv", "--out", "made"]) == 0
    forecasts = Path("made/a-recommended-causal-0.5s.csv").read_text().splitlines()
    assert forecasts[0] == "t_ms;hip.z [cm];hip.x [cm];hip.y [cm]"
    assert forecasts[1] == "0;;;"
    assert forecasts[-1].startswith("8900;")
    status = Path("made/a-recommended-causal-0.5s-status.csv").read_text().splitlines()
    assert status[0] == "t_ms;status;reason;hip replaced;forecast made at;status then;hip radius [cm]"
    assert status[-1].split(";")[0] == "8900"
    page = Path("made/a-recommended-causal-0.5s.html").read_text()
    assert page.index("hip.z [cm]") < page.index("hip.x [cm]") < page.index("hip.y [cm]")
    assert "persistence" in page
    assert "by recommended" in page
    assert "error [cm]" in page
    assert "warming up" in page


def test_units_are_those_of_the_file_or_none(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rows = motion(400, columns=6) * [1, 0.001, 0.001, 0.001, 1, 1, 1]
    header = "time,p_x [m],p_y [m],p_z [m],turn.x [deg],turn.y [deg],turn.z [deg]"
    Path("a.csv").write_text(table(header, rows))
    assert run(["forecast", "a.csv", *QUICK]) == 0
    out = capfd.readouterr().out
    assert " m by persistence" in out
    assert " deg by persistence" in out
    assert "mm" not in out
    Path("b.csv").write_text(table("time,x,y,z", motion(400)))
    assert run(["forecast", "b.csv", *QUICK]) == 0
    assert "mm" not in capfd.readouterr().out
    assert run(["forecast", "b.csv", *QUICK, "--unit", "mm"]) == 0
    assert " mm by persistence" in capfd.readouterr().out


def test_poses_are_forecast(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    times = np.arange(800) / 20
    turn = np.stack([np.cos(times / 2), np.sin(times / 2), 0 * times, 0 * times], axis=-1)
    rows = np.column_stack([times, turn[:, [1, 2, 3, 0]], np.sin(times), np.cos(times), times])
    Path("a.csv").write_text(table("time,q_x,q_y,q_z,q_w,p_x,p_y,p_z", rows))
    assert run(["forecast", "a.csv", "--predictor", "RLS", "--set", "lags=3", "--out", "made", "--unit", "mm"]) == 0
    out = capfd.readouterr().out
    assert " mm by RLS" in out
    assert " deg by RLS" in out
    made = read("made/a-RLS-causal-0.5s.csv")
    assert made.space == "pose"
    seen = np.isfinite(made.positions).all(axis=(1, 2))
    norms = np.linalg.norm(made.positions[seen, 0, 3:], axis=-1)
    np.testing.assert_allclose(norms, 1.0, atol=1e-9)
    error = np.abs(np.sum(made.positions[700:, 0, 3:] * turn[700:], axis=-1))
    assert np.degrees(2 * np.arccos(np.clip(error, 0, 1))).max() < 3.0


def test_channels_and_columns_are_chosen(folder: Path) -> None:
    Path("a.csv").write_text(table("Zeitpunkt,u,v,w2,hip.x,hip.y,hip.z", motion(400, columns=6)))
    assert run(["forecast", "a.csv", *QUICK, "--time", "Zeitpunkt", "--columns", "toe=u,v,w2", "--out", "made"]) == 0
    assert Path("made/a-persistence-causal-0.5s.csv").read_text().startswith("Zeitpunkt,u,v,w2\n")
    assert run(["forecast", "a.csv", *QUICK, "--ignore", "Zeitpunkt,u,v,w2", "--rate", "10", "--channels", "hip"]) == 0
    assert Path("a-persistence-causal-0.5s.csv").read_text().startswith("time,hip.x,hip.y,hip.z\n")


def test_times_of_other_units_and_uneven_ones(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rows = motion(400)
    rows[:, 0] = np.cumsum(np.random.default_rng(0).uniform(60, 140, 400)).round()
    Path("a.csv").write_text(table("Timestamp,x,y,z", rows))
    assert run(["forecast", "a.csv", *QUICK]) == 2
    assert "--time-unit ms" in capfd.readouterr().err
    assert run(["forecast", "a.csv", *QUICK, "--time-unit", "ms"]) == 0
    note = capfd.readouterr().err.splitlines()[0]
    assert note.startswith("quatcast: note: uneven times")
    assert "resampled" in note


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["walk.csv", "--rate", "100"], "rate: the times of walk.csv say 10 Hz, got 100 Hz"),
        (
            ["short.csv", "--predictor", "LMS"],
            "recording 'short': expected at least 30 s, to which LMS fits its scaling, got 9.9 s",
        ),
        (["quality.csv"], "got 2 (x, y); add a column for the others"),
        (["walk.csv", "--channels", "knee"], "channels: expected some of hip in walk.csv, got 'knee'"),
        (["walk.csv", "--figure", "docx"], "--figure: expected some of html, svg, pdf, png, or none, got 'docx'"),
        (["walk.csv", "--space", "curved"], "space: expected one of position, vector, orientation, pose, got 'curved'"),
        (["walk.csv", "--time-unit", "weeks"], "--time-unit: expected one of s, ms, us, ns, min, h, got 'weeks'"),
        (
            ["walk.csv", "--encoding", "morse"],
            "encoding: expected a known encoding such as utf-8 or latin-1, got 'morse'",
        ),
    ],
)
def test_refusals_are_one_line_and_write_nothing(
    arguments: list[str], words: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    write_csv(simulated(seconds=10)[0], "short.csv")
    Path("quality.csv").write_text(table("frame,timestamp,quality,x,y", motion(400, columns=4)[:, [0, 0, 1, 2, 3]]))
    before = sorted(folder.iterdir())
    assert run(["forecast", *arguments]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("quatcast: ")
    assert words in line
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--out", "walk.csv"], "walk.csv: is a file, not a folder"),
        (["--out", "locked/made"], "locked: permission denied; --out names another folder"),
        (["--figure", "html,png"], "--figure png: needs Matplotlib; install quatcast[figures]"),
    ],
)
def test_output_is_refused_before_anything_is_computed(
    options: list[str],
    message: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    def compute(*_: object) -> None:
        raise AssertionError("the forecasts were computed")

    Path("locked").mkdir()
    monkeypatch.setattr("quatcast.cli.forecast._forecast", compute)
    monkeypatch.setattr("os.access", lambda path, mode: Path(path).name != "locked")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert run(["forecast", "walk.csv", *options]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("quatcast: ")
    assert line.endswith(message)


def test_figures_for_documents_and_no_folders_in_files(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    Path("Jane Doe").mkdir()
    Path("walk.csv").rename("Jane Doe/walk.csv")
    command = [
        "forecast",
        "Jane Doe/walk.csv",
        "--predictor",
        "persistence",
        "--figure",
        "html,svg,pdf",
        "--out",
        "made",
    ]
    assert run(command) == 0
    files = sorted(Path("made").iterdir())
    assert [file.suffix for file in files] == [".csv", ".html", ".pdf", ".svg"]
    for file in files:
        assert b"Jane" not in file.read_bytes()


def test_names_from_files_are_harmless_everywhere(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    name = "=HYPERLINK(1)\x1b[2J</script><img src=x>"
    Path("a.csv").write_text(table(f"time,{name}.x,{name}.y,{name}.z", motion(80)))
    assert run(["forecast", "a.csv"]) == 0
    said = capfd.readouterr()
    assert "\x1b" not in said.out + said.err
    for file in folder.glob("a-*.csv"):
        with file.open(newline="") as lines:
            assert not any(cell.startswith(("=", "+", "@")) for row in csv.reader(lines) for cell in row)
    assert "<img" not in next(folder.glob("a-*.html")).read_text()


def test_the_advice_for_short_files_works(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    Path("a.csv").write_text(table("time,x,y,z", motion(60)))
    assert run(["forecast", "a.csv", "--predictor", "RLS", "--figure", "none"]) == 2
    assert "(--predictor constant-velocity)" in capfd.readouterr().err
    assert run(["forecast", "a.csv", "--predictor", "constant-velocity", "--figure", "none"]) == 0
    made = read("a-constant-velocity-causal-0.5s.csv")
    assert np.isfinite(made.positions[10:]).all()


def test_short_files_are_forecast_from_the_first_seconds(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    Path("a.csv").write_text(table("time,x,y,z", motion(60)))
    assert run(["forecast", "a.csv", "--figure", "none"]) == 0
    assert "by recommended" in capfd.readouterr().out
    made = read("a-recommended-causal-0.5s.csv")
    assert np.isfinite(made.positions[20:]).all()
    Path("b.csv").write_text(table("time,x,y,z", motion(5)))
    assert run(["forecast", "b.csv", "--figure", "none"]) == 2
    assert "--horizon: expected less than the 0.4 s of b.csv, got 0.5 s" in capfd.readouterr().err


def test_scores_of_forecasts_that_were_not_ok_are_said(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "a.csv").write_text(table("t,x,y,z", motion(400)))
    assert run(["forecast", "a.csv", "--horizon", "30", "--figure", "none"]) == 0
    assert "on; 0 % of these forecasts have the status ok, and 100 % the status warming up\n" in capfd.readouterr().out
    assert run(["forecast", "a.csv", "--horizon", "0.5", *QUICK]) == 0
    assert "status" not in capfd.readouterr().out


def test_files_are_named_after_the_horizon_that_was_computed(folder: Path) -> None:
    (folder / "a.csv").write_text(table("t,x,y,z", motion()))
    assert run(["forecast", "a.csv", "--horizon", "0.25", *QUICK]) == 0
    assert (folder / "a-persistence-causal-0.3s.csv").is_file()


def before_each_sample(monkeypatch: pytest.MonkeyPatch, do: Callable[[int], object]) -> list[int]:
    """Let constant velocity do something before each sample, given its number, and return the numbers so far."""
    numbers: list[int] = []
    plain = ConstantVelocity.forecast

    def forecast(self: ConstantVelocity, sample: Floats, observed: Bools) -> Floats:
        numbers.append(len(numbers) + 1)
        do(numbers[-1])
        return plain(self, sample, observed)

    monkeypatch.setattr(ConstantVelocity, "forecast", forecast)
    return numbers


CONSTANT = ["forecast", "a.csv", "--predictor", "constant-velocity", "--figure", "none"]


def test_progress_is_the_number_of_samples_that_are_done(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The forecaster stops after 400 of 500 samples until somebody has been told that 400 are done."""
    shown: list[tuple[float, float]] = []
    told = Event()

    def update(self: ProgressDisplay, stage: str, done: float, total: float) -> None:
        shown.append((done, total))
        if (done, total) == (400, 500):
            told.set()

    numbers = before_each_sample(monkeypatch, lambda number: number == 401 and told.wait(5.0))
    monkeypatch.setattr(ProgressDisplay, "update", update)
    Path("a.csv").write_text(table("time,x,y,z", motion(500)))
    assert run(CONSTANT) == 0
    assert told.is_set(), shown
    assert len(numbers) == 500


def test_interruption_ends_the_run_at_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    numbers = before_each_sample(monkeypatch, lambda _: time.sleep(0.02))
    monkeypatch.setattr(ProgressDisplay, "update", interrupt)
    Path("a.csv").write_text(table("time,x,y,z", motion(500)))
    assert run(CONSTANT) == 130
    assert len(numbers) < 250
    assert capfd.readouterr().err == "quatcast: interrupted\n"


@pytest.mark.parametrize(
    "forecaster",
    [
        ConstantVelocity(5),
        Forecaster(LMS(), horizon=5, lags=4, train=10),
        Forecaster(LMS(), horizon=5, lags=4, train=10, labels="lookahead"),
        recommended(0.5, 10.0),
    ],
)
def test_every_run_counts_its_samples(forecaster: OnlineForecaster) -> None:
    seen: list[int] = []
    with watched(seen.append):
        forecaster.run(motion(60)[:, None, 1:])
    assert seen == list(range(1, 61))


def test_a_channel_without_a_single_sample_is_said(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A file of two channels, one of which lacks a coordinate throughout, as after an export of a lost marker."""
    rows = "\n".join(f"{t / 10},{t % 7},2,3,4,{t % 5}," for t in range(200))
    (folder / "half.csv").write_text(f"time,a_x,a_y,a_z,b_x,b_y,b_z\n{rows}\n")
    run(["forecast", str(folder / "half.csv"), "--out", str(folder), *QUICK])
    assert "note: no sample of b has all its coordinates: nothing can be forecast of it" in capfd.readouterr().err
    assert run(["forecast", "half.csv", "--channels", "b", *QUICK]) == 2
    assert "recording 'half': expected samples with all coordinates, got none\n" in capfd.readouterr().err
