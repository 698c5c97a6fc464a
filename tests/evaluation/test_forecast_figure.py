"""The figure of a forecast: signal, forecast, persistence, radius, errors and status, in bounded size."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quatcast.data import Recording
from quatcast.evaluation.in_space import persistence
from quatcast.evaluation.report.decimation import decimate
from quatcast.evaluation.report.forecast_figure import draw, write_html
from quatcast.evaluation.report.forecast_panels import forecast_panels, row_units
from quatcast.evaluation.report.forecast_static import write_static
from quatcast.forecasting.contract import Forecasts
from quatcast.safety.status import GuardedForecasts

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def walk(samples: int = 700, channels: int = 2, **more: object) -> Recording:
    steps = np.random.default_rng(0).normal(size=(samples, channels, 3))
    return Recording("walk", np.cumsum(steps, axis=0), np.arange(samples) / 10, 10.0, **more)  # type: ignore[arg-type]


def guarded(recording: Recording, horizon: int = 5) -> GuardedForecasts:
    samples, channels = recording.positions.shape[:2]
    made = persistence(recording, horizon) + 0.5
    status = np.where(np.arange(samples) < 300, 0, 1).astype(np.int8)
    reasons = ["warming up"] * 300 + [""] * (samples - 300)
    return GuardedForecasts(
        made, np.ones(samples), horizon, "causal", 0, np.full((samples, channels), 1.5), status, reasons,
        np.zeros((samples, channels), dtype=bool),
    )  # fmt: skip


def test_panels_show_what_the_file_calls_them() -> None:
    columns = ("p_x [m]", "p_y [m]", "p_z [m]", "r_x", "r_y", "r_z")
    order = (2, 0, 1, 5, 4, 3)
    recording = walk(channels=2, columns=columns, order=order, units=("m", "deg"))
    contents = forecast_panels(recording, guarded(recording), predictor="LMS")
    labels = [panel.label for panel in contents.panels]
    coordinates = ["p_z [m]", "p_x [m]", "p_y [m]", "r_z [deg]", "r_y [deg]", "r_x [deg]"]
    assert labels == [*coordinates, "error (channel1) [m]", "error (channel2) [deg]", "status"]
    assert contents.title == "walk: forecasts by LMS 0.5 s ahead, causal labels"
    first = contents.panels[0]
    assert [line.name for line in first.lines] == ["actual", "persistence", "forecast"]
    np.testing.assert_array_equal(first.lines[0].y, recording.positions[:, 0, 2])
    np.testing.assert_array_equal(first.lines[1].y[5:], recording.positions[:-5, 0, 2])
    np.testing.assert_allclose((first.band[2] - first.lines[2].y)[5:], 1.5, rtol=1e-6)


@pytest.mark.parametrize("suffix", ["html", "svg"])
def test_a_forecast_has_the_colour_of_its_predictor(suffix: str, tmp_path: Path) -> None:
    recording = walk(100, channels=1)
    contents = forecast_panels(recording, guarded(recording), "LMS", "#112233")
    if suffix == "html":
        drawn = draw(contents).to_json()
        assert "rgba(17, 34, 51, 0.18)" in drawn
    else:
        pytest.importorskip("matplotlib")
        write_static(contents, tmp_path / "a.svg")
        drawn = (tmp_path / "a.svg").read_text()
    assert drawn.count("#112233") >= 4  # three coordinates and their error
    assert "#d55e00" not in drawn.lower()


def test_error_panel_is_the_distance() -> None:
    recording = walk(channels=1, units=("mm",))
    made = guarded(recording)
    panel = next(panel for panel in forecast_panels(recording, made).panels if panel.title == "error")
    lines = {line.name: line.y for line in panel.lines}
    expected = np.linalg.norm(made.positions - recording.positions, axis=-1)[:, 0]
    np.testing.assert_allclose(lines["forecast"], expected)
    assert np.nanmean(lines["persistence"]) > 0


def test_orientations_have_errors_in_degrees() -> None:
    angle = np.arange(100) / 50
    turned = np.stack([np.cos(angle / 2), 0 * angle, 0 * angle, np.sin(angle / 2)], axis=-1)[:, None]
    recording = Recording("spin", turned, np.arange(100) / 10, 10.0, space="orientation")
    made = Forecasts(persistence(recording, 5), np.ones(100), 5, "causal", 0)
    assert row_units(recording) == ("deg",)
    panel = forecast_panels(recording, made).panels[-1]
    assert panel.label == "error [deg]"
    np.testing.assert_allclose(panel.lines[0].y[5:], np.degrees(0.1), atol=1e-9)


def test_decimation_keeps_extremes_and_gaps() -> None:
    rng = np.random.default_rng(0)
    x, y = np.arange(100_000.0), rng.normal(size=100_000)
    y[30_000:50_000] = np.nan
    y[77_777] = 40.0
    short_x, short = decimate(x, y, 1000)
    assert len(short) <= 1000
    assert np.nanmax(short) == 40.0
    assert np.nanmin(short) == np.nanmin(y)
    assert np.isnan(short[(short_x > 30_500) & (short_x < 49_500)]).all()
    assert (np.diff(short_x) >= 0).all()
    np.testing.assert_array_equal(short, y[short_x.astype(int)])


@given(st.integers(2, 3000), st.integers(10, 200), st.integers(0, 10))
def test_decimation_of_any_length_keeps_extremes(count: int, points: int, seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=count)
    times, kept = decimate(np.arange(float(count)), values, points)
    assert len(kept) <= max(points, 2)
    assert (kept.min(), kept.max()) == (values.min(), values.max())
    assert (np.diff(times) >= 0).all()


def test_a_long_recording_gives_a_small_file(tmp_path: Path) -> None:
    recording = walk(360_000, channels=3)
    contents = forecast_panels(recording, guarded(recording))
    write_html(draw(contents), tmp_path / "a.html", contents.title)
    assert (tmp_path / "a.html").stat().st_size < 5_000_000


@pytest.mark.parametrize("suffix", ["svg", "pdf"])
def test_figures_for_documents(suffix: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    recording = walk(2000, channels=1)
    contents = forecast_panels(recording, guarded(recording), predictor="$x_1$ <b>")
    write_static(contents, tmp_path / f"a.{suffix}")
    data = (tmp_path / f"a.{suffix}").read_bytes()
    assert data.startswith(b"%PDF" if suffix == "pdf" else b"<?xml")
    assert 10_000 < len(data) < 5_000_000
    write_static(contents, tmp_path / f"b.{suffix}")
    if suffix == "svg":
        assert (tmp_path / "b.svg").read_bytes() == data


def test_names_do_nothing_in_a_page(tmp_path: Path) -> None:
    name = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
    recording = Recording(name, np.zeros((20, 1, 3)), np.arange(20) / 10, 10.0, channels=(name,), units=(name,))
    made = Forecasts(np.zeros((20, 1, 3)), np.ones(20), 5, "causal", 0)
    contents = forecast_panels(recording, made)
    write_html(draw(contents), tmp_path / "a.html", contents.title)
    page = (tmp_path / "a.html").read_text()
    assert "<img" not in page
    assert page.count("<script") == page.count("</script>") == 3


def test_many_coordinates_are_cut_and_said() -> None:
    recording = walk(50, 10)
    contents = forecast_panels(recording, Forecasts(persistence(recording, 5), np.ones(50), 5, "causal", 0))
    assert "the first 24 of 30 coordinates" in contents.title
    assert len(contents.panels) == 25


@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
@pytest.mark.parametrize(("width", "has_buttons"), [(500, "false"), (1400, "true")])
def test_figure_in_a_browser(width: int, has_buttons: str, tmp_path: Path) -> None:
    recording = walk(400, 1, units=("mm",))
    page = tmp_path / "a.html"
    write_html(draw(forecast_panels(recording, guarded(recording), predictor="LMS")), page, "walk")
    probe = """<script>addEventListener("load", async () => {
      while (!document.documentElement.dataset.drawn) await new Promise((done) => setTimeout(done, 50));
      const titles = [..."12345"].filter((n) => document.querySelector(`.y${n === "1" ? "" : n}title`)).length;
      const fits = document.documentElement.scrollWidth <= innerWidth;
      const buttons = [...document.querySelectorAll(".modebar-btn")].map((button) => button.dataset.title);
      const shares = buttons.some((title) => /share|cloud/i.test(title));
      const drawn = document.querySelectorAll(".main-svg").length > 0;
      document.title = [drawn, fits, titles, buttons.length > 0, shares].join(" ");
    });</script>"""
    page.write_text(page.read_text().replace("</body>", f"{probe}</body>"))
    command = [str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", f"--window-size={width},900",
               "--virtual-time-budget=20000", "--dump-dom", page.as_uri()]  # fmt: skip
    dom = subprocess.run(command, capture_output=True, text=True, timeout=90, check=True).stdout
    assert re.search(rf"<title>true true 5 {has_buttons} false</title>", dom), dom[:300]
