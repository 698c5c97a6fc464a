"""The benchmark of damaged packets, in small: every valid sample is accepted, and none is wrong."""

from __future__ import annotations

import re

import pytest
from network import run

live_faults = pytest.importorskip("live_faults", reason="the folder benchmarks is not there")


@pytest.mark.parametrize("name", ["tcp", "igtl"])
def test_damaged_packets(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    link = live_faults.Tcp(checksum=True) if name == "tcp" else live_faults.Igtl()
    run(live_faults.measure(name, link, live_faults.packets, count=300, seed=1), seconds=60)
    text = capsys.readouterr().out
    valid, right = (int(re.findall(f"'{word}': (\\d+)", text)[0]) for word in ("valid", "right"))
    assert right >= valid > 80
    assert "missing 0," in text
    assert "wrong values" not in text


def test_changed_digit_is_noticed() -> None:
    """The benchmark can fail: without checksums a changed digit is accepted, and recognised as wrong."""
    from quatcast.live.messages import parse_sample

    packet = live_faults.Tcp(checksum=False).packet(7)
    assert live_faults.verdict(parse_sample(packet, "s", 0.0)) == "right"
    assert live_faults.verdict(parse_sample(packet.replace(b"3.75", b"3.76"), "s", 0.0)) == "wrong values"
    assert live_faults.verdict(parse_sample(packet.replace(b"1.07", b"1.08"), "s", 0.0)) == "wrong time"
