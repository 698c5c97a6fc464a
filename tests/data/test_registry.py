"""The registry of data sources: built-in sources, sources of users, and name conflicts."""

import functools
import importlib

import numpy as np
import pytest

from quatcast import evaluation
from quatcast.data import CITATION, Recording, Source, find_source, register_source, registry, simulated, sources

PLUGIN = """
import numpy as np
from quatcast.data import Recording, Source, register_source

def load(*, data_dir=None, progress=False):
    return [Recording(f"from {data_dir}", np.zeros((3, 1, 3)), np.arange(3), rate=1.0)]

register_source(Source("plugin-source", "TITLE", load, citation="A. Author (2024)"))
"""


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """Return a function that writes a module of a user and imports it."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(name, title):
        (tmp_path / f"{name}.py").write_text(PLUGIN.replace("TITLE", title))
        importlib.invalidate_caches()
        return importlib.import_module(name)

    return write


def load(*, data_dir=None, progress=False):
    return [Recording("still", np.zeros((3, 1, 3)), np.arange(3), rate=1.0)]


def test_simulated_source_loads_the_default_recordings():
    source = find_source("simulated")
    assert (source.citation, source.needs_download()) == ("", False)
    for loaded, expected in zip(source.load(), simulated(), strict=True):
        np.testing.assert_array_equal(loaded.positions, expected.positions)


def test_extmarker_source_reads_a_folder_or_downloads(server, tmp_path, monkeypatch):
    source = find_source("extmarker")
    assert source.citation == CITATION
    assert len(source.load(data_dir=server.folder)) == 9
    assert not server.asked

    monkeypatch.setenv("QUATCAST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("QUATCAST_EXTMARKER_URL", server.url)
    assert source.needs_download()
    assert len(source.load()) == 9
    assert not source.needs_download()


def test_extmarker_source_shows_progress_on_request(server, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("QUATCAST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("QUATCAST_EXTMARKER_URL", server.url)
    find_source("extmarker").load(progress=True)
    assert "Downloading" in capsys.readouterr().err


def test_a_user_adds_a_source_in_one_file(plugin):
    module = plugin("plugin_one", "a source of a user")
    source = find_source("plugin-source")
    assert source in sources()
    assert (source.title, source.citation, source.module) == ("a source of a user", "A. Author (2024)", "plugin_one")
    (recording,) = source.load(data_dir="here")
    assert recording.name == "from here"
    assert source.load is module.load


def test_sources_are_sorted_by_name():
    register_source(Source("between", "a title", load))
    names = [source.name for source in sources()]
    assert names == sorted(names)
    assert {"between", "extmarker", "simulated"} <= set(names)


def test_a_module_replaces_its_own_source(plugin):
    module = plugin("plugin_two", "first")
    first, count = find_source("plugin-source"), len(sources())
    importlib.reload(module)
    assert find_source("plugin-source") is not first
    assert len(sources()) == count


def test_the_name_of_another_module_is_refused(plugin):
    plugin("plugin_three", "first")
    with pytest.raises(ValueError, match=r"module 'plugin_three' .* 'plugin-source'.* name in module 'plugin_four'"):
        plugin("plugin_four", "second")
    assert find_source("plugin-source").title == "first"
    with pytest.raises(ValueError, match=r"'quatcast\.data\.simulation' has already registered a source 'simulated'"):
        register_source(Source("simulated", "another title", load))


def test_a_partial_belongs_to_the_module_of_its_function():
    assert Source("partial", "a title", functools.partial(load, progress=True)).module == __name__


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(ValueError, match=r"data: expected one of .*extmarker.*, simulated.*, got 'simulate'"):
        find_source("simulate")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"name": ""}, "name: expected letters"),
        ({"name": "folder/file.csv"}, "name: expected letters, digits, hyphens and underscores, got 'folder/file.csv'"),
        ({"title": ""}, "title: expected one line of text for source 'still', got ''"),
        ({"title": "two\nlines"}, "title: expected one line"),
        ({"load": [load]}, "load: expected a function .* for source 'still', got"),
        ({"load": lambda folder: []}, "load: expected a function .* for source 'still', got .*missing a required"),
    ],
)
def test_malformed_sources_are_refused(fields, words):
    with pytest.raises(ValueError, match=words):
        Source(**{"name": "still", "title": "a title", "load": load} | fields)


@pytest.mark.parametrize("wrong", [None, [], load()[0], load()[0].positions, iter(load())], ids=type)
def test_a_source_that_returns_no_list_of_recordings_is_named(wrong, monkeypatch):
    monkeypatch.setitem(registry._sources, "wrong", Source("wrong", "what is not a list", lambda **_: wrong))
    with pytest.raises(ValueError, match="data: expected a list of recordings from the source 'wrong', got"):
        evaluation.load("wrong")
