"""Which code computed what: stores of other versions are not resumed silently, and damaged ones are not used."""

import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from made_up_store import make
from small_experiment import SMALL
from test_store import ROW, without_origins

import quatcast
from quatcast import __version__
from quatcast.cli import run
from quatcast.data import Recording
from quatcast.evaluation import provenance, report
from quatcast.evaluation.provenance import Origin, origin
from quatcast.evaluation.run import experiment
from quatcast.evaluation.run.execution import Pool, Workers
from quatcast.evaluation.run.settings import Settings
from quatcast.evaluation.store import Store

SOURCE = Path(quatcast.__file__).parent
LMS = {**SMALL, "predictors": ["LMS"], "labels": ["causal"], "grids": {"LMS": SMALL["grids"]["LMS"]}}


def code_of(folder: Path) -> str:
    """Checksum of the code in another folder, as a process there sees it."""
    words = "from quatcast.evaluation.provenance import origin; print(origin().code)"
    done = subprocess.run(
        [sys.executable, "-c", words], env=os.environ | {"PYTHONPATH": str(folder)}, capture_output=True, check=True
    )
    return done.stdout.decode().strip()


def test_the_checksum_follows_the_code_that_computes_and_nothing_else(tmp_path):
    shutil.copytree(SOURCE, tmp_path / "quatcast", ignore=shutil.ignore_patterns("__pycache__"))
    own = origin().code
    for name in ("cli/report.py", "evaluation/report/tables.py", "data/download.py"):
        file = tmp_path / "quatcast" / name
        file.write_text(file.read_text(encoding="utf-8") + "\n# changed\n", encoding="utf-8")
    metrics = tmp_path / "quatcast" / "evaluation" / "metrics.py"
    metrics.write_bytes(metrics.read_bytes().replace(b"\n", b"\r\n"))
    assert code_of(tmp_path) == own
    for name in ("evaluation/metrics.py", "data/corruption.py"):
        file = tmp_path / "quatcast" / name
        before = file.read_bytes()
        file.write_bytes(before + b"DOUBLED = 2.0\n")
        assert code_of(tmp_path) != own, name
        file.write_bytes(before)


def test_the_checksum_is_of_parts_that_exist():
    parts = (*provenance.COMPUTING, *provenance.ALSO_COMPUTING, *provenance.NOT_COMPUTING)
    assert [name for name in parts if not (SOURCE / name).exists()] == []


@contextmanager
def thread() -> Iterator[Pool]:
    with ThreadPoolExecutor(1) as executor:
        yield executor, 1


@pytest.fixture
def begun(store: Store, recordings: list[Recording]) -> Store:
    """A store with the results of a small experiment."""
    with Workers(thread()) as workers:
        experiment.compare(recordings, Settings.of(LMS), store, workers)
    return store


@pytest.mark.parametrize("other", [Origin("0.0.1", "0" * 64), Origin(__version__, "1" * 64)], ids=["version", "code"])
def test_results_of_other_code_are_neither_resumed_nor_relabelled(begun, here, recordings, monkeypatch, other):
    own = origin()
    with monkeypatch.context() as patch:
        patch.setattr(experiment, "origin", lambda modules=(): other)
        with here, pytest.raises(ValueError, match=rf"holds \d+ results of quatcast {__version__} \(code") as caught:
            experiment.compare(recordings, Settings.of(LMS), begun, here)
    assert f"this is {other}" in str(caught.value)
    assert "--mixed" in str(caught.value)
    assert "--out" in str(caught.value)
    assert begun.meta()["version"] == __version__
    assert list(begun.origins()) == [own]


def test_mixed_results_are_told_apart(begun, here, recordings, monkeypatch, tmp_path):
    before = begun.results()
    other, settings = Origin("0.0.1", "0" * 64), Settings.of({**LMS, "horizons": [0.5, 1.0]})
    with monkeypatch.context() as patch, here:
        patch.setattr(experiment, "origin", lambda modules=(): other)
        experiment.compare(recordings, settings, begun, here, mixed=True)
    counts = begun.origins()
    assert counts == {origin(): len(before), other: len(before)}
    text = report.write(begun.path, tmp_path).read_text(encoding="utf-8")
    assert f"0.0.1 (code 00000000): {len(before)} results" in text


def test_a_worker_with_other_code_stores_nothing(store, here, recordings, monkeypatch):
    fake = experiment.run_job

    def with_other_code(job):
        return fake(job)._replace(origin=Origin(__version__, "9" * 64))

    monkeypatch.setattr(experiment, "run_job", with_other_code)
    with here, pytest.raises(ValueError, match=r"a worker computes with .*code 99999999.*install the same everywhere"):
        experiment.compare(recordings, Settings.of(LMS), store, here)
    assert store.results() == []


def test_a_plugin_belongs_to_the_code(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "my_plugin_here.py").write_text("A = 1\n")
    __import__("my_plugin_here")
    first = provenance.origin(["my_plugin_here"])
    (tmp_path / "my_plugin_here.py").write_text("A = 2\n")
    assert provenance.origin(["my_plugin_here"]) != first != provenance.origin()


def test_a_store_of_format_3_keeps_its_version(store):
    store.add([ROW])
    store.add_meta(version="0.0.7")
    with sqlite3.connect(store.path) as db:
        without_origins(db)
    db.close()
    with Store(store.path) as opened:
        assert opened.origins() == {Origin("0.0.7", ""): 1}


# Stores that cannot be written, and stores that are damaged.

NOBODY = 65534


def one_result(folder: Path, old: bool) -> Path:
    """Write a store, perhaps of an earlier format, and give it away for reading only."""
    path = make(folder / "results.sqlite", predictors=["LMS"], count=1, horizons=[2.0])
    if old:
        with sqlite3.connect(path) as db:
            without_origins(db)
        db.close()
    path.chmod(0o444)
    folder.chmod(0o555)
    return path


@pytest.mark.parametrize("old", [False, True], ids=["present format", "earlier format"])
def test_report_of_a_store_that_cannot_be_written(tmp_path, monkeypatch, old):
    folder = tmp_path / "store"
    folder.mkdir()
    path = one_result(folder, old)
    before = path.read_bytes()
    # Root may write everything, so that the answer of the system is made up.
    monkeypatch.setattr("quatcast.evaluation.store.os.access", lambda name, mode: False)
    assert report.write(path, tmp_path / "out").is_file()
    assert path.read_bytes() == before
    assert [file.name for file in folder.iterdir()] == ["results.sqlite"]
    (folder / "results.sqlite-wal").write_bytes(b"x")
    with pytest.raises(ValueError, match=r"cannot be written, and its last results are still in results\.sqlite-wal"):
        Store(path)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.parametrize("old", [False, True], ids=["present format", "earlier format"])
def test_another_user_reads_a_store(old):
    with TemporaryDirectory() as name:
        path = one_result(Path(name), old)
        pid = os.fork()
        if pid == 0:  # a process that may not write; it ends here
            code = 1
            try:
                os.setuid(NOBODY)
                with Store(path) as store:
                    code = 0 if store.results("test") and store.traces() and store.origins() else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert [file.name for file in Path(name).iterdir()] == ["results.sqlite"]


def broken_pages(path: Path) -> None:
    content = bytearray(path.read_bytes())
    rng = random.Random(0)
    for page in range(2, len(content) // 4096):
        at = page * 4096
        content[at : at + 16] = rng.randbytes(16)
    path.write_bytes(content)


def statement(text: str):
    def change(path: Path) -> None:
        with sqlite3.connect(path) as db:
            db.execute(text)
        db.close()

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (broken_pages, "damaged (*"),
        (statement("DELETE FROM recordings"), "damaged, the traces cannot be read ('one' is missing)"),
        (statement("UPDATE traces SET arrays = x'00'"), "damaged, the traces cannot be read ("),
        (statement("UPDATE traces SET arrays = substr(arrays, 1, 900)"), "damaged, the traces cannot be read ("),
        (statement("UPDATE recordings SET arrays = x'504b0304'"), "damaged, the recordings cannot be read ("),
        (statement("UPDATE recordings SET channels = '{'"), "damaged, the recordings cannot be read ("),
        (statement("UPDATE results SET configuration = configuration || 'x'"), "damaged, the results cannot be read ("),
        (statement("UPDATE results SET configuration = '[' || configuration"), "damaged, the results cannot"),
        (statement("DROP TABLE traces"), "expected a store of quatcast (there is no table traces)"),
    ],
)
def test_damage_is_one_line(tmp_path, capsys, change, words):
    path = make(tmp_path / "results.sqlite", predictors=["LMS"], count=2, horizons=[2.0])
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    change(path)
    assert run(["report", str(path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"quatcast: {path}: ")
    assert words.rstrip("*") in line
    assert not (tmp_path / "report.html").exists()
