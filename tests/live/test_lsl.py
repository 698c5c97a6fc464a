"""Lab Streaming Layer with pylsl at the other end; skipped where liblsl cannot be loaded."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from network import collect, made_forecast, run, until

from quatcast.live.frames import FrameError
from quatcast.live.transports import open_sink, open_source
from quatcast.live.transports.lsl_layout import read_layout

try:
    import pylsl
except (ImportError, RuntimeError) as problem:
    pytest.skip(f"pylsl cannot be loaded: {problem}", allow_module_level=True)

VALUES = np.random.default_rng(5).normal(size=(40, 6))
VALUES[3, 3:] = np.nan


def stream_info(name: str, described: bool, count: int = 6, form: int = pylsl.cf_double64) -> Any:
    info = pylsl.StreamInfo(name, "MoCap", count, 100.0, form, uuid.uuid4().hex)
    if described:
        channels = info.desc().append_child("channels")
        for marker in ("Chest", "Abdomen"):
            for axis in "ZXY":  # not in the usual order
                channel = channels.append_child("channel")
                for key, value in (("marker", marker), ("type", f"Position{axis}"), ("unit", "millimeters")):
                    channel.append_child_value(key, value)
    return info


async def receive(described: bool, form: int = pylsl.cf_double64) -> tuple[list[Any], float]:
    """Return the frames that a source receives from an outlet of pylsl, and when the first sample was stamped."""
    name = f"quatcast-{uuid.uuid4().hex}"
    outlet = pylsl.StreamOutlet(stream_info(name, described, form=form))
    async with open_source(f"lsl://{name}", "s") as source:
        await until(outlet.have_consumers)
        began, stamp = time.time(), pylsl.local_clock()
        for n, row in enumerate(VALUES):
            outlet.push_sample(row.tolist(), stamp + n / 100)
        frames = await collect(source, len(VALUES))
        assert not source.refused
    return frames, began


def test_outlet_with_metadata() -> None:
    frames, began = run(receive(described=True))
    expected = VALUES.reshape(-1, 2, 3)[:, :, [1, 2, 0]]
    np.testing.assert_array_equal([frame.values for frame in frames], expected)
    assert {(frame.names, frame.unit, frame.stream) for frame in frames} == {(("Chest", "Abdomen"), "mm", "s")}
    times = np.array([frame.device_time for frame in frames])
    np.testing.assert_allclose(np.diff(times), 0.01, atol=1e-6)
    assert times[0] == pytest.approx(began, abs=0.05)  # on the clock of this machine


def test_outlet_without_metadata() -> None:
    frames, _ = run(receive(described=False))
    np.testing.assert_array_equal([frame.values for frame in frames], VALUES.reshape(-1, 2, 3))
    assert frames[0].names == ()


def test_single_precision() -> None:
    frames, _ = run(receive(described=False, form=pylsl.cf_float32))
    expected = VALUES.astype(np.float32).astype(float).reshape(-1, 2, 3)
    np.testing.assert_array_equal([frame.values for frame in frames], expected)


def inlet_of(name: str) -> Any:
    (info,) = pylsl.resolve_byprop("name", name, 1, 10.0)
    inlet = pylsl.StreamInlet(info, processing_flags=0)
    inlet.open_stream(10.0)
    return inlet


def test_inlet_receives_forecasts() -> None:
    async def main() -> None:
        name = f"quatcast-{uuid.uuid4().hex}"
        forecast, held = made_forecast(), made_forecast("hold", "no sample")
        async with open_sink(f"lsl://{name}", "chest") as sink:
            sink.send(forecast)  # the stream appears
            inlet = await asyncio.to_thread(inlet_of, name)
            await until(lambda: sink.receivers)
            offset = time.time() - pylsl.local_clock()
            for one in (forecast, held):
                sink.send(one)
            values, stamp = await asyncio.to_thread(inlet.pull_sample, 5.0)
            ahead = forecast.target_time - forecast.sent_time
            assert values == [*forecast.position.ravel(), *forecast.radius, 1.0, ahead]
            assert stamp + offset == pytest.approx(forecast.target_time, abs=0.05)
            values, _ = await asyncio.to_thread(inlet.pull_sample, 5.0)
            assert np.isnan(values[:6]).all()
            assert values[-2] == 3.0
            layout = read_layout(inlet.info())
            assert (layout.names, layout.unit) == (("Chest", "Abdomen"), "mm")
            inlet.close_stream()

    run(main())


def test_inlet_receives_both_radii_of_poses() -> None:
    async def main() -> None:
        name = f"quatcast-{uuid.uuid4().hex}"
        forecast = replace(made_forecast(dimensions=7), angle_radius=np.array([0.1, np.nan]))
        async with open_sink(f"lsl://{name}", "chest") as sink:
            sink.send(forecast)  # the stream appears
            inlet = await asyncio.to_thread(inlet_of, name)
            await until(lambda: sink.receivers)
            sink.send(forecast)
            values, _ = await asyncio.to_thread(inlet.pull_sample, 5.0)
            ahead = forecast.target_time - forecast.sent_time
            expected = [*forecast.position.ravel(), *forecast.radius, 0.1, np.nan, 1.0, ahead]
            np.testing.assert_array_equal(values, expected)
            info = inlet.info()
            channel = info.desc().child("channels").child("channel")
            described = []
            while not channel.empty():
                described.append(tuple(channel.child_value(key) for key in ("label", "type", "unit")))
                channel = channel.next_sibling("channel")
            assert described[14:18] == [
                ("Chest_Radius", "Radius", "mm"),
                ("Abdomen_Radius", "Radius", "mm"),
                ("Chest_AngleRadius", "AngleRadius", "radians"),
                ("Abdomen_AngleRadius", "AngleRadius", "radians"),
            ]
            assert len(described) == len(values) == 20
            layout = read_layout(info)
            np.testing.assert_array_equal(layout.split(values), forecast.position)
            inlet.close_stream()

    run(main())


def test_warning_is_printed(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with open_source("lsl://there-is-no-such-stream", "s"):
            pass

    with caplog.at_level(logging.WARNING, "quatcast.live"):
        run(main())
    assert "listens on all network interfaces and has no authentication" in caplog.text


@pytest.mark.parametrize(
    ("url", "part"),
    [
        ("lsl://", "expected the name of a stream"),
        ("lsl://Tracker?rate=5", "expected the options dimensions, got 'rate'"),
        ("lsl://Tracker?dimensions=0", "expected a whole number from 1 to 16"),
    ],
)
def test_wrong_urls(url: str, part: str) -> None:
    with pytest.raises(ValueError, match=part):
        open_source(url, "s")


def test_markers_with_orientations_are_poses() -> None:
    info = pylsl.StreamInfo("x", "MoCap", 9, 100.0, pylsl.cf_double64, "x")
    channels = info.desc().append_child("channels")
    kinds = [f"Orientation{axis}" for axis in "XYZW"] + [f"Position{axis}" for axis in "XYZ"]
    for kind in [*kinds, "Confidence", "Temperature"]:
        channel = channels.append_child("channel")
        channel.append_child_value("marker", "Chest")
        channel.append_child_value("type", kind)
    layout = read_layout(info)
    assert layout.split([float(n) for n in range(9)]).tolist() == [[4, 5, 6, 3, 0, 1, 2]]
    with pytest.raises(FrameError, match="expected 9 finite numbers"):
        layout.split([np.inf] * 9)


def test_delays_begin_anew_after_a_connection_that_lasted(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    source: Any = open_source("lsl://Tracker", "chest")
    clock = [0.0]

    def lost(info: Any) -> None:
        clock[0] += 10.0
        if clock[0] >= 60.0:
            source._ended.set()
        raise OSError("the stream has gone")

    monkeypatch.setattr(source, "_pylsl", SimpleNamespace(resolve_byprop=lambda *_: [None]))
    monkeypatch.setattr(source, "_read", lost)
    monkeypatch.setattr("quatcast.live.transports.lsl.time.monotonic", lambda: clock[0])
    monkeypatch.setattr(source._ended, "wait", lambda delay: None)
    with caplog.at_level(logging.WARNING):
        source._run()
    delays = [record.args[-1] for record in caplog.records if isinstance(record.args, tuple)]
    assert len(delays) == 6
    assert max(delays) <= 0.2


def test_streams_that_are_not_positions_are_refused() -> None:
    with pytest.raises(FrameError, match="expected 3 numbers per marker, got 5"):
        read_layout(stream_info("x", False, count=5))
    with pytest.raises(FrameError, match="expected a stream of numbers, got text"):
        read_layout(stream_info("x", False, form=pylsl.cf_string))
    assert read_layout(stream_info("x", False, count=8), 4).count == 8
