import math
import sqlite3
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from quatcast.data import Recording, simulated
from quatcast.evaluation.records import NewTrace, Result, Timing, ValidationResult
from quatcast.evaluation.store import Store

ROW = Result(
    "test", "causal", 2.0, "LMS", {"learning_rate": 0.1}, "a", 0, "regular", 1.5, 0.5, 1.0, 0.2, 4.0, False, 0.001
)
ROWS = [
    ROW,
    replace(ROW, seed=1, rmse=math.nan, nrmse=math.nan, mae=math.nan, jitter=math.nan, max=math.nan, diverged=True),
    replace(ROW, stage="validation", labels="lookahead"),
    replace(ROW, horizon=0.5, recording="b", group="irregular"),
]


def test_results_come_back_as_they_were(store: Store) -> None:
    store.add(ROWS)
    assert repr(sorted(store.results(), key=repr)) == repr(sorted(ROWS, key=repr))


def test_seeds_and_counts_of_a_stage(store: Store) -> None:
    store.add([*ROWS, replace(ROW, seed=300)])
    assert store.seeds("test") == {ROWS[0].key[:-1]: {0, 1, 300}, ROWS[3].key[:-1]: {0}}
    assert (store.count("validation"), store.count("test")) == (1, 4)


def test_what_was_tried_is_the_mean_over_the_runs_that_stayed_finite(store: Store) -> None:
    base = replace(ROW, stage="validation")
    lost = replace(base, seed=2, rmse=math.nan, diverged=True)
    other = {"configuration": {"learning_rate": 0.2}}
    store.add([base, replace(base, seed=1, rmse=2.5), lost, replace(lost, **other), replace(ROW, rmse=9.0)])
    one, all_lost = store.tried()
    assert one == ValidationResult("causal", 2.0, "LMS", {"learning_rate": 0.1}, "a", rmse=2.0, runs=3, diverged=1)
    assert (all_lost.configuration, all_lost.runs, all_lost.diverged) == ({"learning_rate": 0.2}, 1, 1)
    assert math.isnan(all_lost.rmse)
    assert store.tried(predictor="QLMS") == store.tried(horizon=0.5) == store.tried(labels="lookahead") == []


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"stage": "validation"}, [2]),
        ({"labels": "causal", "horizon": 2.0}, [0, 1]),
        ({"recording": "b"}, [3]),
        ({"predictor": "QLMS"}, []),
    ],
)
def test_results_can_be_asked_for_by_what_they_are(store: Store, asked: dict, found: list[int]) -> None:
    store.add(ROWS)
    assert [row.key for row in store.results(**asked)] == [ROWS[i].key for i in found]


def test_what_is_there_stays(store: Store) -> None:
    store.add([ROW])
    store.add([replace(ROW, rmse=9.0), replace(ROW, configuration={"learning_rate": 0.2})])
    assert [(row.configuration["learning_rate"], row.rmse) for row in store.results()] == [(0.1, 1.5), (0.2, 1.5)]


def test_a_batch_is_there_whole_or_not_at_all(store: Store) -> None:
    bad = NewTrace("causal", 2.0, "LMS", {"learning_rate": object()}, 0, "a", {})
    with pytest.raises(TypeError):
        store.add([ROW], [bad])
    assert store.results() == []
    store.add([ROW])
    assert len(store.results()) == 1


def test_traces_know_their_recording(store: Store) -> None:
    recording = simulated(seconds=5)[2]
    forecast = recording.positions + 0.25
    arrays = {"forecast": forecast, "weight": np.full(len(recording), 0.5), "radius": np.ones((50, 3))}
    store.add_recordings([recording])
    store.add([], [NewTrace("causal", 2.0, "LMS", {"learning_rate": 0.1}, 4, recording.name, arrays)])
    (trace,) = store.traces()
    assert (trace.recording, trace.group, trace.sampling_rate) == (recording.name, "irregular", 10.0)
    assert (trace.channels, trace.seed) == (recording.channels, 4)
    np.testing.assert_array_equal(trace.times, recording.times)
    np.testing.assert_array_equal(trace.actual, recording.positions)
    np.testing.assert_array_equal(trace.forecast, forecast.astype(np.float32))
    assert trace.weight.dtype == np.float32
    assert list(trace.extra) == ["radius"]
    assert store.traces(labels="lookahead") == []


def test_recordings_come_back_in_order(store: Store) -> None:
    given = simulated(seconds=2)
    store.add_recordings(given)
    store.add_recordings(given)
    found = store.recordings()
    assert [r.name for r in found] == [r.name for r in given]
    np.testing.assert_array_equal(found[3].positions, given[3].positions)


def test_another_recording_of_the_same_name_is_refused(store: Store) -> None:
    first, *_ = simulated(seconds=2)
    store.add_recordings([first])
    with pytest.raises(ValueError, match=r"another recording that is also called 'sim-1-talk'"):
        store.add_recordings([replace(first, positions=first.positions + 1e-9)])


def test_timings_are_replaced_and_words_kept(store: Store) -> None:
    store.add_timing(Timing("LMS", {"lags": 90}, 3.0))
    store.add_timing(Timing("LMS", {"lags": 90}, 2.0))
    store.add_meta(a="1", b="2")
    store.add_meta(a="3")
    assert store.timings() == [Timing("LMS", {"lags": 90}, 2.0)]
    assert store.meta() == {"a": "3", "b": "2"}


def test_a_reader_sees_what_the_writer_has_committed(store: Store) -> None:
    store.add(ROWS)
    with Store(store.path) as reader:
        assert len(reader.results()) == len(ROWS)
        store.add([replace(ROW, seed=77)])
        assert len(reader.results()) == len(ROWS) + 1


def test_files_that_are_no_store_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"none\.sqlite.*no such file"):
        Store(tmp_path / "none.sqlite")
    assert not (tmp_path / "none.sqlite").exists()
    text = tmp_path / "text.sqlite"
    text.write_text("It was a dark and stormy night. " * 100)
    with pytest.raises(ValueError, match=r"text\.sqlite: expected a store of quatcast"):
        Store(text)
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE birds (name TEXT)")
    db.close()
    with pytest.raises(ValueError, match=r"other\.sqlite: expected a store"):
        Store(other)
    with pytest.raises(ValueError, match=r"other\.sqlite: expected a store"):
        Store(other, create=True)


def test_a_recording_with_gaps_is_kept(store: Store) -> None:
    positions = np.zeros((3, 1, 3))
    positions[1, 0, 2] = np.nan
    store.add_recordings([Recording("gap", positions, np.arange(3.0), rate=1.0)])
    np.testing.assert_array_equal(store.recordings()[0].positions, positions)


def without_origins(db: sqlite3.Connection) -> None:
    """Make a store one of format 3."""
    db.execute("DROP TABLE origins")
    db.execute("ALTER TABLE results DROP COLUMN origin")
    db.execute("PRAGMA user_version = 3")


def test_a_store_of_format_1_is_converted(store: Store) -> None:
    store.add([ROW, replace(ROW, predictor="RLS", configuration={"forgetting": 0.9})])
    store.add_timing(Timing("LMS", {"lags": 90, "learning_rate": 0.01}, 3.0))
    store.add_meta(settings="seconds = 0.0\n\n[grids.LMS]\nlearning_rate = [0.1]\n")
    before = store.results(), store.timings(), store.meta()
    with sqlite3.connect(store.path) as db:
        for table in ("results", "timings"):
            db.execute(f"UPDATE {table} SET configuration = replace(configuration, 'learning_rate', 'rate')")
        db.execute("UPDATE meta SET value = replace(value, 'learning_rate', 'rate')")
        db.execute("ALTER TABLE recordings DROP COLUMN about")
        without_origins(db)
        db.execute("PRAGMA user_version = 1")
    db.close()
    for _ in range(2):
        with Store(store.path) as opened:
            assert (opened.results(), opened.timings(), opened.meta()) == before


@pytest.mark.parametrize(("data", "unit"), [("extmarker", "mm"), ("mine.csv", "")])
def test_a_store_of_format_2_is_converted(store: Store, data: str, unit: str) -> None:
    store.add_recordings(simulated(seconds=2)[:1])
    store.add_meta(data=data)
    store.add([ROW])
    before = store.results(), store.meta(), store.recordings()[0].positions
    with sqlite3.connect(store.path) as db:
        db.execute("ALTER TABLE recordings DROP COLUMN about")
        without_origins(db)
        db.execute("PRAGMA user_version = 2")
    db.close()
    for _ in range(2):
        with Store(store.path) as opened:
            assert (opened.results(), opened.meta()) == before[:2]
            (recording,) = opened.recordings()
            np.testing.assert_array_equal(recording.positions, before[2])
            assert recording.units == (unit,) * 3


def test_a_store_of_a_newer_format_is_refused(store: Store) -> None:
    with sqlite3.connect(store.path) as db:
        db.execute("PRAGMA user_version = 5")
    db.close()
    with pytest.raises(ValueError, match="expected a store of format 1 to 4, got format 5; a newer version"):
        Store(store.path)


def test_an_empty_file_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "results.sqlite").touch()
    with pytest.raises(ValueError, match="got format 0; it is empty or of another program"):
        Store(tmp_path / "results.sqlite")


def test_units_columns_and_notes_of_recordings_are_kept(store: Store) -> None:
    given = Recording(
        "tumour",
        np.zeros((3, 2, 3)),
        np.arange(3.0),
        rate=1.0,
        channels=("p", "q"),
        units=("mm", "deg"),
        columns=("p_x", "p_y", "p_z", "q_x", "q_y", "q_z"),
        order=(2, 0, 1, 5, 4, 3),
        notes=("cut to its first 3 s of 9 s",),
    )
    store.add_recordings([given])
    (found,) = store.recordings()
    assert found.layout() == given.layout()
    assert (found.units, found.space, found.notes) == (given.units, given.space, given.notes)
