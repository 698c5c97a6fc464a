"""Tables, and the means that go into them, against numbers worked out by hand."""

import csv
import io
import math

import pytest
from made_up_store import make

from quatcast.evaluation import Store
from quatcast.evaluation.report import comparison, published, reliability
from quatcast.evaluation.report.contents import Report
from quatcast.evaluation.report.experiment import Experiment
from quatcast.evaluation.report.material import Material
from quatcast.evaluation.report.tables import Column, Number, Table
from quatcast.evaluation.summary import RecordingInfo, Summary


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with Store(make(tmp_path_factory.mktemp("store") / "results.sqlite")) as store:
        yield store


@pytest.fixture(scope="module")
def summary(store):
    return Summary(store.results("test"), [RecordingInfo(r.name, r.group, r.unit) for r in store.recordings()])


def read(table):
    return list(csv.DictReader(io.StringIO(table.csv())))


def test_mean_over_runs_and_recordings(summary):
    # Causal QRNN-MCC: 3.0, 3.1, 3.2 on the first recording, 0.5 more on each further one.
    found = summary.of_group("causal", 2.0, "QRNN-MCC")
    assert found.mean == pytest.approx(3.6)
    spread = math.sqrt(0.02 / 3)
    margin = 1.96 * spread / math.sqrt(3)
    assert found.margin == pytest.approx(margin / math.sqrt(3))
    assert (found.runs, found.diverged) == (9, 0)


def test_groups_are_averaged_alone(summary):
    assert summary.groups == ["all", "regular", "irregular"]
    assert summary.of_group("causal", 2.0, "LMS", "regular").mean == pytest.approx(4.75)
    assert summary.of_group("causal", 2.0, "LMS", "irregular").mean == pytest.approx(4.0)


def test_diverged_runs_are_left_out_and_counted(summary):
    found = summary.of_recording("lookahead", 2.0, "QRNN-MCC", "one")
    assert found.mean == pytest.approx((3.0 + 3.1) / 2 / 3)
    assert (found.runs, found.diverged) == (2, 1)


def test_no_mean_before_all_recordings_are_there(store):
    about = [RecordingInfo("one", ""), RecordingInfo("two", ""), RecordingInfo("later", "")]
    summary = Summary(store.results("test"), about)
    assert summary.of_group("causal", 2.0, "LMS") is None
    assert summary.ranking("causal", 2.0) == []
    assert "incomplete" in comparison.errors(summary, "causal", 2.0, Experiment({"data": "simulated"})).csv()


def test_errors_beside_the_paper(summary):
    rows = read(comparison.errors(summary, "lookahead", 2.0, Experiment({"data": "extmarker"})))
    row = next(row for row in rows if (row["Score"], row["Predictor"]) == ("RMSE [mm]", "LMS"))
    assert float(row["all (3 recordings): ours"]) == pytest.approx(1.5)
    assert float(row["all (3 recordings): paper"]) == 1.728
    assert float(row["all (3 recordings): difference"]) == pytest.approx(1.5 - 1.728)
    assert float(row["irregular (1 recording): paper"]) == 2.038


def test_the_paper_is_shown_for_its_own_horizon_and_data_only(summary):
    assert "paper" not in comparison.errors(summary, "lookahead", 0.5, Experiment({"data": "extmarker"})).csv()
    assert "paper" not in comparison.errors(summary, "lookahead", 2.0, Experiment({"data": "mine.csv"})).csv()
    assert (
        comparison.OTHER_DATA
        not in comparison.errors(summary, "lookahead", 2.0, Experiment({"data": "extmarker"})).notes
    )
    assert (
        comparison.OTHER_DATA in comparison.errors(summary, "lookahead", 2.0, Experiment({"data": "simulated"})).notes
    )


def test_predictors_without_a_label_rule_are_not_in_its_table(summary):
    assert "recommended" in comparison.errors(summary, "causal", 2.0, Experiment({"data": ""})).csv()
    assert "recommended" not in comparison.errors(summary, "lookahead", 2.0, Experiment({"data": ""})).csv()


def test_best_values_are_bold(summary):
    lines = comparison.recordings(summary, "causal", 2.0).markdown().splitlines()
    (one,) = [line for line in lines if line.startswith("| one")]
    assert "**2.000**" in one
    assert one.count("**") == 2


def test_coverage_counts_test_samples_alone(store):
    traces = store.traces(predictor="recommended", labels="causal", horizon=0.5)
    table = reliability.coverage(traces)
    row = next(row for row in read(table) if row["Recording"] == "one")
    # 0.5 s ahead the forecast is the position 5 samples before; errors of sin(1.5 t + c)·(1, 2, 3).
    inside = []
    for t in range(600, 700):
        for c in range(2):
            if t == 620 and c == 0:
                continue
            before = 0.0 if (t, c) == (625, 0) else math.sin((t - 5) * 0.15 + c)
            inside.append(abs(math.sin(t * 0.15 + c) - before) * math.sqrt(14) <= 2.0)
    assert float(row["Within radius [%]"]) == pytest.approx(100 * sum(inside) / len(inside), abs=1e-3)
    assert float(row["Rejected [%]"]) == pytest.approx(0.5)
    assert float(row["Degraded or hold [%]"]) == 0.0
    assert float(row["Median radius [mm]"]) == 2.0


def test_times_beside_the_paper(store):
    row = next(row for row in read(reliability.times(store.timings())) if row["Predictor"] == "LMS")
    assert float(row["Speed-up"]) == pytest.approx(0.313 / 0.05)
    assert row["Our sizes"] == "lags 90"


def test_every_table_names_its_label_rule(store, summary):
    found = Report(Material.read(store)).tables
    assert {"recordings", "predictors"} <= set(found)
    for table in found.values():
        if table.name in ("recordings", "predictors"):
            continue
        assert "labels" in table.caption or all("labels" in row[0] for row in table.rows), table.caption


def test_published_numbers_are_those_of_the_paper():
    # Sums of the printed means of each error; a digit typed wrong changes them.
    sums = {metric: sum(p[0] for row in rows.values() for p in row) for metric, rows in published.TABLE_I.items()}
    assert sums["rmse"] == pytest.approx(9.823 + 8.464 + 11.294)
    assert sums["nrmse"] == pytest.approx(1.9989 + 1.9506 + 2.2956)
    assert sums["mae"] == pytest.approx(5.163 + 4.473 + 6.143)
    assert sums["jitter"] == pytest.approx(6.3715 + 5.9472 + 6.8306)
    assert sum(published.TABLE_II.values()) == pytest.approx(599.52)


AWKWARD = Table(
    "awkward",
    "50% of a_b & c, causal labels",
    (Column("Set|up", words=True), Column("x²", "over_1"), Column("y", "over_1"), Column("z")),
    (
        ("a & b", Number(-1.25, 2, margin=0.5, best=True), Number(math.nan), "<none>"),
        ("a & b", Number(2.0, 2), Number(0.5, 1, signed=True), "50%"),
    ),
    ("A note with # and $.",),
    grouped=True,
)


def test_csv_keeps_every_digit_and_nothing_for_nan():
    rows = list(csv.reader(io.StringIO(AWKWARD.csv())))
    assert rows[0] == ["Set|up", "over_1: x²", "over_1: x² ±", "over_1: y", "z"]
    assert rows[1] == ["a & b", "-1.25", "0.5", "", "<none>"]


def test_markdown_has_as_many_cells_in_every_line():
    lines = [line.replace("\\|", "") for line in AWKWARD.markdown().splitlines() if line.startswith("|")]
    assert {line.count("|") for line in lines} == {5}
    assert "**−1.25 ± 0.50**" in AWKWARD.markdown()


def test_html_escapes_and_spans():
    html = AWKWARD.html()
    assert "&lt;none&gt;" in html
    assert "<none>" not in html
    assert 'colspan="2"' in html
    assert html.count('rowspan="2"') == 3  # two headings without a shared one, and the grouped first column
    assert html.count("<tr>") == html.count("</tr>") == 4


def test_latex_is_balanced_and_escaped():
    text = AWKWARD.latex()
    assert r"50\% of a\_b \& c" in text
    assert r"\textbf{$-$1.25 $\pm$ 0.50}" in text
    for line in text.splitlines():
        if line.endswith(r"\\"):
            spans = line.count(r"\multicolumn{2}")
            assert line.replace(r"\&", "").count("&") + spans == 3, line
    assert [text.count(rf"\{rule}rule") for rule in ("top", "bottom")] == [1, 1]
    assert text.count("{") - text.count(r"\{") == text.count("}") - text.count(r"\}")
