import doctest
from pathlib import Path


def test_the_examples_of_the_page_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = Path(__file__).parents[2] / "docs" / "data.md"
    failed, run = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert run > 0
    assert failed == 0
