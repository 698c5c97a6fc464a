"""Artificial ExtMarker files with the peculiarities of the real ones, and a web server that can fail."""

import hashlib
import importlib
import threading
from collections import Counter
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

import pytest

from quatcast.data import registry

extmarker_module = importlib.import_module("quatcast.data.extmarker_files")


def fake_file(index: int) -> str:
    """Return four samples and a last row of zeros. Sample k of file i is at (i, k/2, -i - k/4)."""
    rows = ['"Frame";"Timestamp";"x";"y";"z"']
    for k, (frame, stamp) in enumerate([(0, "0"), (6, "100"), (13, "25,6"), (19, "317")]):
        numbers = (f"{index:g}", f"{k / 2:g}", f"{-index - k / 4:g}")
        rows.append(";".join([str(frame), stamp, *numbers]).replace(".", ","))
    return "\r\n".join([*rows, "0;0;0;0;0", ""])


@pytest.fixture(autouse=True)
def restored_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the sources that a test registers."""
    monkeypatch.setattr(registry, "_sources", copy(registry._sources))


@pytest.fixture
def fake_extmarker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of 27 small files with the published names, and set the checksums accordingly."""
    folder = tmp_path / "Original data"
    folder.mkdir()
    checksums = {}
    for index, name in enumerate(sorted(extmarker_module.CHECKSUMS)):
        content = fake_file(index).encode()
        (folder / name).write_bytes(content)
        checksums[name] = hashlib.sha256(content).hexdigest()
    monkeypatch.setattr(extmarker_module, "CHECKSUMS", checksums)
    return folder


@dataclass
class Server:
    """The state of a web server for one folder; `faults` lists one fault for each of the next requests of a file."""

    folder: Path
    url: str = ""
    faults: dict[str, list[str]] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)


@pytest.fixture
def server(fake_extmarker: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    state = Server(fake_extmarker)
    pause = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = unquote(self.path.rsplit("/", 1)[1])
            state.asked[name] += 1
            fault = state.faults[name].pop(0) if state.faults.get(name) else "none"
            if fault == "missing":
                self.send_error(404)
                return
            content = (state.folder / name).read_bytes()
            if fault in ("endless", "dribbling"):
                self.send_response(200)
                self.end_headers()
                self.endless(fault)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if fault == "cut":
                content = content[: len(content) // 2]
            elif fault == "corrupt":
                content = b"x" * len(content)
            self.wfile.write(content)

        def endless(self, fault: str) -> None:
            """Send zeros until the other side has had enough, either fast or a byte at a time."""
            try:
                while True:
                    self.wfile.write(bytes(1 << 16 if fault == "endless" else 1))
                    if fault == "dribbling":
                        pause.wait(0.05)
            except OSError:
                return

        def log_message(self, *_: object) -> None:
            pass

    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("time.sleep", lambda _: None)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        state.url = f"http://127.0.0.1:{httpd.server_port}/Original%20data"
        thread = threading.Thread(target=httpd.serve_forever, args=(0.01,))
        thread.start()
        yield state
        httpd.shutdown()
        thread.join()
