"""The registry of metrics, and its text against the grammar of the exposition format."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quatcast.live.metrics import BUCKETS, MAX_LABEL, MAX_SERIES, Metrics

SAMPLE = re.compile(r'([a-zA-Z_:][\w:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (\S+)')
LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\\n]|\\["\\n])*)"')
UNESCAPED = {r"\\": "\\", r"\"": '"', r"\n": "\n"}


def parse(text):
    """Read the text format: {name: type} and {(name, labels): value}; any line that is not in the format fails."""
    types, values = {}, {}
    assert text.endswith("\n")
    for line in text.split("\n")[:-1]:
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in types
            types[name] = kind
        else:
            match = SAMPLE.fullmatch(line)
            assert match, line
            labels = {
                key: re.sub(r"\\.", lambda escaped: UNESCAPED[escaped[0]], value)
                for key, value in LABEL.findall(match[2] or "")
            }
            values[match[1], frozenset(labels.items())] = float(match[3])
    return types, values


def test_counters_gauges_and_histograms():
    metrics = Metrics()
    metrics.count("samples", stream="a")
    metrics.count("quatcast_samples_total", 4, stream="a")
    metrics.gauge("age", -0.5)
    for seconds in (0.0001, 0.0005, 0.003, 77.0):
        metrics.observe("latency", seconds)
    types, values = parse(metrics.text())
    assert types == {
        "quatcast_ready": "gauge",
        "quatcast_samples_total": "counter",
        "quatcast_age": "gauge",
        "quatcast_latency_seconds": "histogram",
    }
    assert values["quatcast_samples_total", frozenset({("stream", "a")})] == 5
    assert values["quatcast_age", frozenset()] == -0.5
    assert values["quatcast_latency_seconds_count", frozenset()] == 4
    assert values["quatcast_latency_seconds_sum", frozenset()] == pytest.approx(77.0036)
    below = [values["quatcast_latency_seconds_bucket", frozenset({("le", str(b))})] for b in BUCKETS if b % 1]
    assert below[:4] == [2, 2, 2, 3]
    assert values["quatcast_latency_seconds_bucket", frozenset({("le", "+Inf")})] == 4


@given(st.text(max_size=MAX_LABEL), st.floats(0, 1e12))
def test_labels_survive_whatever_they_contain(value, amount):
    metrics = Metrics()
    metrics.count("refused", amount, kind=value)
    _, values = parse(metrics.text())
    assert values["quatcast_refused_total", frozenset({("kind", value.replace("\r", " "))})] == pytest.approx(amount)


def test_the_number_of_series_is_bounded():
    metrics = Metrics()
    for number in range(MAX_SERIES + 50):
        metrics.count("senders", address=number)
    _, values = parse(metrics.text())
    assert len([name for name, _ in values if name == "quatcast_senders_total"]) == MAX_SERIES
    assert values["quatcast_metrics_refused_total", frozenset()] == 50
    metrics.count("senders", address=0)
    assert metrics.value("senders", address=0) == 2


def test_readiness_has_a_reason():
    metrics = Metrics()
    assert (metrics.is_ready, metrics.why) == (False, "starting")
    metrics.ready(True, "ignored")
    assert (metrics.is_ready, metrics.why) == (True, "")
    metrics.ready(False, "no source")
    assert (metrics.is_ready, metrics.why) == (False, "no source")
    assert parse(metrics.text())[1]["quatcast_ready", frozenset()] == 0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m: m.count("samples", -1), "at least 0"),
        (lambda m: m.count("samples", math.nan), "finite"),
        (lambda m: m.gauge("Bad Name", 1), "lower-case"),
        (lambda m: (m.count("thing_total"), m.gauge("thing_total", 1)), "another kind"),
    ],
)
def test_refusals(call, words):
    with pytest.raises(ValueError, match=words):
        call(Metrics())


def test_a_duration_that_is_not_finite_is_ignored():
    metrics = Metrics()
    metrics.observe("latency", math.nan)
    assert metrics.histogram("latency").count == 0
