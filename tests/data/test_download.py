"""Downloads from a local server that truncates, corrupts and loses files."""

import importlib
import logging
import socket
import time
from pathlib import Path

import pytest

from quatcast.data import CITATION, extmarker
from quatcast.data.download import cache_folder, download, is_complete

module = importlib.import_module("quatcast.data.extmarker_files")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("QUATCAST_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("QUATCAST_EXTMARKER_URL", raising=False)
    return tmp_path / "cache" / "extmarker"


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_every_file_is_downloaded_exactly_once(server, cache, caplog):
    with caplog.at_level(logging.INFO, logger="quatcast.data.extmarker_files"):
        recordings = extmarker(base_url=server.url)
    assert len(recordings) == 9
    assert files(cache) == files(server.folder)
    assert set(server.asked.values()) == {1}
    assert len(server.asked) == 27
    assert CITATION in caplog.text

    caplog.clear()
    again = extmarker(base_url=server.url)
    assert sum(server.asked.values()) == 27
    assert [r.positions.tolist() for r in again] == [r.positions.tolist() for r in recordings]
    assert CITATION not in caplog.text


def test_the_environment_names_another_server(server, monkeypatch):
    monkeypatch.setenv("QUATCAST_EXTMARKER_URL", server.url)
    assert len(extmarker()) == 9


def test_progress_and_citation_go_to_standard_error(server, capsys):
    extmarker(base_url=server.url, progress=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Downloading" in captured.err
    assert "Krilavicius" in captured.err


@pytest.mark.parametrize(
    ("fault", "words"), [("missing", "404"), ("corrupt", "sha256"), ("cut", "connection failed or was interrupted")]
)
def test_a_bad_file_is_named_and_the_download_resumes(server, cache, fault, words):
    names = sorted(module.CHECKSUMS)
    bad = names[10]
    server.faults[bad] = [fault] * 10
    with pytest.raises(ConnectionError, match=words) as caught:
        module.cached(base_url=server.url, retries=2)
    assert bad in str(caught.value)
    assert "give the folder" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert server.asked[bad] == 3
    assert sorted(files(cache)) == names[:10], "a bad or incomplete file was left behind"

    server.faults.clear()
    assert len(extmarker(base_url=server.url)) == 9
    assert all(server.asked[name] == 1 for name in names if name != bad)


@pytest.mark.parametrize("fault", ["missing", "corrupt", "cut"])
def test_a_temporary_fault_is_retried(server, cache, fault):
    name = sorted(module.CHECKSUMS)[3]
    server.faults[name] = [fault]
    assert len(extmarker(base_url=server.url)) == 9
    assert server.asked[name] == 2
    assert files(cache) == files(server.folder)


def test_a_damaged_file_in_the_cache_is_replaced(server, cache):
    extmarker(base_url=server.url)
    name = sorted(module.CHECKSUMS)[5]
    (cache / name).write_bytes((cache / name).read_bytes()[:30])
    assert not is_complete(cache, module.CHECKSUMS)
    extmarker(base_url=server.url)
    assert server.asked[name] == 2
    assert sum(server.asked.values()) == 28
    assert files(cache) == files(server.folder)


def test_without_a_network_the_error_says_what_to_do(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(ConnectionError, match="give the folder of a copy") as caught:
            module.cached(base_url=url, retries=0)
    assert "\n" not in str(caught.value)


def test_the_published_address_is_quoted_and_pinned():
    assert module.BASE_URL.startswith("https://raw.githubusercontent.com/pohl-michel/")
    assert module.BASE_URL.endswith("/051dc384964ede156128cb6127c4fe9a75b85d79/Original%20data/")


def test_a_download_without_progress_prints_nothing(server, tmp_path, capsys):
    download(module.CHECKSUMS, server.url, tmp_path / "elsewhere", retries=0)
    assert capsys.readouterr() == ("", "")


def test_the_environment_overrides_the_cache_folder(monkeypatch, tmp_path):
    assert cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("QUATCAST_CACHE")
    assert cache_folder().name == "quatcast"


@pytest.mark.parametrize(
    ("fault", "words"), [("endless", "the file is larger than 1 MB"), ("dribbling", r"less than 10 kB in 0\.3 s")]
)
def test_too_much_and_too_little_end_a_download(server, tmp_path, fault, words):
    name = sorted(module.CHECKSUMS)[0]
    server.faults[name] = [fault] * 9
    folder = tmp_path / "elsewhere"
    began = time.monotonic()
    with pytest.raises(ConnectionError, match=words):
        download({name: module.CHECKSUMS[name]}, server.url, folder, timeout=0.3, max_bytes=1_000_000)
    assert time.monotonic() - began < 5
    assert not list(folder.iterdir())


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path, monkeypatch):
    def refuse(path, *_, **__):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("os.makedirs", refuse)
    with pytest.raises(PermissionError) as caught:
        download({"file.csv": "0" * 64}, "http://127.0.0.1:9", tmp_path / "locked")
    assert (caught.value.filename, caught.value.strerror) == (str(tmp_path / "locked"), "Permission denied")
