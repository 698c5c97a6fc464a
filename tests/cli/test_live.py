"""`quatcast live` as people type it: real processes, real signals, and what they are told when it was wrong."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from quatcast.cli import run
from quatcast.data import simulated, write_csv
from quatcast.live.frames import Frame
from quatcast.live.messages import sample_message
from quatcast.live.session import checkpoints

COMMAND = [sys.executable, "-m", "quatcast", "live"]
SHORT = "simulated:?speed=0&seconds=4"

ERRORS = [
    (["live", "nothing:"], "source: expected a URL with one of"),
    (["live", "udp:5005"], "udp: expected an address with a port, such as udp://127.0.0.1:5005, got 'udp:5005'"),
    (["live", "udp://127.0.0.1:5?check=yes"], "udp://127.0.0.1:5, check: expected 'required', got 'yes'"),
    (["live", "simulated:?speed=-1"], "simulated, speed: expected a number of at least 0, got '-1'"),
    (["live", "simulated:?colour=red"], "simulated: expected the options speed, person"),
    (["live", "simulated:?person=12"], "simulated, person: expected 1 to 9, got 12"),
    (["live", "simulated://host"], "simulated: expected no address"),
    (["live", "file:"], "file: expected a path"),
    (["live", "file:absent.csv"], "absent.csv: there is no such file"),
    (["live", SHORT, "--to", "nowhere:"], "sink: expected a URL with one of"),
    (["live", SHORT, "--to", "stdin:"], "sink: expected a URL with one of"),
    (["live", SHORT, "--horizon", "soon"], "--horizon: expected seconds, several separated by commas, got 'soon'"),
    (["live", SHORT, "--horizon", "0"], "horizon: expected seconds, more than 0 and at most 60, got 0.0"),
    (
        ["live", SHORT, "--horizon", "0.3,0.5", "--act-latency", "0.2", "--input-age", "0.1"],
        "--horizon: expected more than act_latency and input_age together, 0.3 s, got 0.3; every",
    ),
    (["live", SHORT, "--rate", "0"], "rate: expected 0.1 to 10000 Hz, got 0.0"),
    (["live", SHORT, "--channels", "a,b"], "--channels: expected 3 names for as many channels, got 2"),
    (["live", SHORT, "--channels", "a,a,b"], "--channels: expected different names"),
    (["live", SHORT, "--log", "xml"], "--log: expected text or json, got 'xml'"),
    (["live", SHORT, "--view", "--host", "0.0.0.0"], "token: expected one, because other machines can reach 0.0.0.0"),
    (["live", SHORT, "--config", "live.toml"], "--config: expected no SOURCE beside it"),
    (
        ["live", "--config", "live.toml", "--horizon", "1"],
        "expected no other option than --log beside it, got --horizon",
    ),
    (
        ["live", "--view", "--config", "live.toml"],
        "--config: expected no other option than --log beside it, got --view",
    ),
    (["live", "file:."], "expected the folder of a live session; there is no journal in it"),
    (["live", "--config", "absent.toml"], "absent.toml: there is no such file or folder"),
    (["live"], "SOURCE: expected a URL, such as simulated:"),
    (["live", "--rate", "10"], "SOURCE: expected a URL, such as simulated:"),
    (["live", "export", "absent"], "absent: expected the folder of a live session"),
    (["live", "replay", "absent"], "absent: expected the folder of a live session"),
]


@pytest.mark.parametrize(("words", "message"), ERRORS, ids=[" ".join(words) for words, _ in ERRORS])
def test_errors_are_one_line(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("QUATCAST_TOKEN", raising=False)
    assert run(words) == 2
    said = capfd.readouterr().err.strip().splitlines()
    assert message in said[-1]
    assert said[-1].startswith("quatcast: ")
    assert not any("Traceback" in line for line in said)


def test_people_are_told_what_to_do_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A recording that is not named as a file, a port that is taken, and a stream that is too short."""
    monkeypatch.chdir(tmp_path)
    write_csv(simulated(seconds=1)[0], Path("walk.csv"))
    assert run(["live", "walk.csv"]) == 2
    assert capfd.readouterr().err.endswith("got 'walk.csv'; for this recording give file:walk.csv\n")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert run(["live", SHORT, "--view", "--port", str(port)]) == 2
    told = f"quatcast: view, 127.0.0.1:{port}: Address already in use; give another --host or --port, 0 for any port\n"
    assert capfd.readouterr().err == told
    assert run(["live", "file:walk.csv?speed=0"]) == 0
    first, *_, last = capfd.readouterr().err.splitlines()
    assert first == "Waiting for samples from file:walk.csv; Ctrl-C ends"
    assert last.startswith("The rate could not be detected, which needs at least 8 samples over two seconds")


def test_a_stream_without_a_usable_sample_says_so(capfd: pytest.CaptureFixture[str]) -> None:
    words = ["live", "simulated:?speed=0&seconds=5", "--rate", "10"]
    assert run([*words, "--valid", "5000:6000"]) == 0
    (last,) = capfd.readouterr().err.splitlines()[-1:]
    assert "no forecast was ever ok (" in last
    assert last.endswith("; never seen: lower abdomen, upper abdomen, chest")
    assert run([*words, "--valid", "chest=5000:6000"]) == 0
    assert capfd.readouterr().err.splitlines()[-1].endswith("; never seen: chest")
    assert run(["live", "simulated:?speed=0&seconds=60", "--rate", "10"]) == 0
    assert capfd.readouterr().err.splitlines()[-1] == "600 samples, 600 forecasts sent, 0 of them hold"


def test_session_from_beginning_to_end(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Record, continue, replay, export and report, each by its command."""
    session = tmp_path / "session"
    assert run(["live", SHORT, "--to", "stdout:", "--record", str(session), "--rate", "10"]) == 0
    captured = capfd.readouterr()
    lines = [json.loads(line) for line in captured.out.splitlines()]
    assert [line["seq"] for line in lines] == list(range(40))
    assert lines[0]["status"] == "warming up"
    assert "40 samples, 40 forecasts sent" in captured.err
    longer = "simulated:?speed=0&seconds=5"
    assert run(["live", longer, "--to", "stdout:", "--record", str(session), "--rate", "10"]) == 0
    captured = capfd.readouterr()
    assert [json.loads(line)["seq"] for line in captured.out.splitlines()] == list(range(40, 50))
    assert "continued after frame 40" in captured.err
    assert run(["live", "replay", str(session)]) == 0
    assert "50 samples: 50 forecasts are equal in all bits, 0 differ" in capfd.readouterr().out
    assert run(["live", "replay", str(session), "--to", "stdout:", "--speed", "0"]) == 0
    assert len(capfd.readouterr().out.splitlines()) == 50
    assert run(["live", "export", str(session), "--out", str(tmp_path)]) == 0
    assert (tmp_path / "stream-forecasts.csv").is_file()
    assert run(["report", str(session)]) == 0
    said = capfd.readouterr().out
    assert "50 arrived, 50 on the grid" in said
    assert (session / "report.html").is_file()


def test_report_of_a_session_has_no_names_if_anonymous(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    session = tmp_path / "session"
    assert run(["live", SHORT, "--record", str(session), "--rate", "10", "--name", "Mrs Smith"]) == 0
    assert run(["report", str(session), "--out", str(tmp_path / "named")]) == 0
    assert "chest" in (tmp_path / "named" / "report.html").read_text()
    capfd.readouterr()
    assert run(["report", str(session), "--out", str(tmp_path), "--anonymise"]) == 0
    for text in (capfd.readouterr().out, (tmp_path / "report.html").read_text()):
        assert "channel 1" in text
        assert not any(name in text for name in ("Mrs Smith", "chest", "abdomen"))
    assert run(["report", str(session), "--out", str(tmp_path), "--title", "Two <people>"]) == 0
    assert "<h1>Two &lt;people&gt;</h1>" in (tmp_path / "report.html").read_text()
    for words in (["--tolerance", "abc"], ["--tolerance", "2mm"], ["--figures"]):
        assert run(["report", str(session), *words]) == 2
        assert f"{words[0]}: {session} is a live session" in capfd.readouterr().err


def test_csv_lines_on_standard_input(tmp_path: Path) -> None:
    text = "time,hip.x,hip.y,hip.z\n" + "".join(f"{i / 10},{i},0,0\n" for i in range(30))
    words = [*COMMAND, "stdin:", "--to", "stdout:", "--rate", "10"]
    done = subprocess.run(words, input=text, capture_output=True, text=True, timeout=60, check=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    answered = [line for line in lines if "no sample" not in line["reason"]]
    assert [line["sample"][0][0] for line in answered] == [float(i) for i in range(30)]
    assert answered[0]["names"] == ["hip"]


def test_forecasts_that_nobody_takes_are_told() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    words = [*COMMAND, SHORT, "--to", "stdout:"]
    done = subprocess.run(words, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    os.close(writer)
    assert done.returncode == 0
    assert re.search(r"40 samples, 20 forecasts sent, 0 of them hold; [1-9]\d* dropped, because nobody", done.stderr)


@pytest.mark.parametrize("lines", [2, 5000])
def test_wrong_settings_of_standard_input_are_one_line(lines: int) -> None:
    words = [*COMMAND, "stdin:", "--channels", "a,b", "--rate", "10"]
    done = subprocess.run(words, input="1,2,3\n" * lines, capture_output=True, text=True, timeout=60, check=False)
    waiting, *said = done.stderr.splitlines()
    assert (done.returncode, waiting) == (2, "Waiting for samples from stdin:; Ctrl-C ends")
    assert said == ["quatcast: --channels: expected 1 names for as many channels, got 2"]


def test_rate_is_detected_from_device_times_of_lines_that_arrive_at_once() -> None:
    text = "".join(f"{i / 10},{i},0,0\n" for i in range(51))
    words = [*COMMAND, "stdin:", "--to", "stdout:"]
    done = subprocess.run(words, input=text, capture_output=True, text=True, timeout=60, check=True)
    assert "started: 10 Hz" in done.stderr
    assert "could not be detected" not in done.stderr
    assert len(done.stdout.splitlines()) >= 20


def test_session_that_is_continued_without_new_samples_knows_its_rate(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["live", SHORT, "--record", str(tmp_path / "session")]
    assert run(words) == 0
    assert "20 forecasts sent" in capfd.readouterr().err
    assert run(words) == 0
    said = capfd.readouterr().err
    assert "40 samples, 0 forecasts sent" in said
    assert "could not be detected" not in said


def test_recording_is_played_at_its_speed(tmp_path: Path) -> None:
    write_csv(simulated(seconds=1)[0], tmp_path / "walk.csv")
    words = [*COMMAND, f"file:{tmp_path}/walk.csv?speed=1", "--to", "stdout:", "--rate", "10"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    sent = [json.loads(line)["t_sent"] for line in done.stdout.splitlines()]
    assert len(sent) >= 10
    assert 0.8 < sent[9] - sent[0] < 3.0


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals and sockets of Unix")
def test_sigterm_ends_cleanly_with_a_checkpoint_and_systemd_is_told(tmp_path: Path) -> None:
    address = tmp_path / "notify"
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.bind(str(address))
    manager.settimeout(60)
    environment = {**os.environ, "NOTIFY_SOCKET": str(address), "WATCHDOG_USEC": "200000"}
    environment.pop("WATCHDOG_PID", None)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = [*COMMAND, f"udp://127.0.0.1:{port}", "--record", str(tmp_path / "s"), "--rate", "10", "--log", "json"]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=environment)
    told = {manager.recv(100) for _ in range(3)}
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    positions = simulated(seconds=3)[0].positions
    for i in range(20):
        sender.sendto(sample_message(Frame("chest", i, i / 10, 0.0, positions[i])), ("127.0.0.1", port))
        time.sleep(0.02)
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=30)
    while b"STOPPING=1" not in told:
        told.add(manager.recv(100))
    sender.close()
    manager.close()
    assert process.returncode == 0
    assert told >= {b"READY=1", b"WATCHDOG=1", b"STOPPING=1"}
    assert checkpoints(tmp_path / "s")[0][0] == 20
    logged = [json.loads(line) for line in errors.splitlines()]
    assert any(line["kind"] == "started" and line["stream"] == "stream" for line in logged if "kind" in line)


def test_view_without_its_extra_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for module in [name for name in sys.modules if name.startswith("quatcast.live.view.server")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert run(["live", SHORT, "--view", "--port", "0"]) == 2
    assert re.search(r"--view needs the extra `live`: pip install 'quatcast\[live\]'", capfd.readouterr().err)
