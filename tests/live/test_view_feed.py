"""The feed: bounded, never waiting, complete for who joins late."""

import asyncio
import json
import time
from dataclasses import replace

import numpy as np
import pytest
from breathing_feeder import Breathing

from quatcast.live.view.feed import (
    MAX_EVENTS,
    MAX_HISTORY,
    MAX_QUEUE,
    MAX_TEXT,
    MAX_VIEWERS,
    TooManyViewersError,
    ViewFeed,
)
from quatcast.live.view.rows import RowLayout, unpack_rows

START = 1.7e9
LAYOUT = RowLayout.of(Breathing().frame(0, 0.0))


def drain(viewer):
    """All waiting messages: texts by type in order, and the rows together."""
    texts, rows = [], []
    while (message := viewer.take()) is not None:
        if isinstance(message, str):
            texts.append(json.loads(message))
        else:
            rows.append(unpack_rows(LAYOUT, message[8:]))
    return texts, rows


def filled_feed(seconds, rate, **settings):
    feed = ViewFeed(**settings)
    for k in range(round(seconds * rate)):
        feed.publish(Breathing().frame(k, START + k / rate))
    return feed


def test_who_joins_late_gets_the_last_minutes_at_once():
    feed = filled_feed(400, 10)
    feed.tell("source", "tracker found")
    with feed.viewer() as viewer:
        texts, rows = drain(viewer)
    assert [text["type"] for text in texts] == ["hello", "layout", "status", "event", "beat"]
    assert 0 <= texts[0]["idle"] < 60
    (snapshot,) = rows
    np.testing.assert_allclose(snapshot["time"], START + np.arange(999, 4000) / 10, atol=1e-6)
    assert texts[-1]["rmse"][0][0] > 0


def test_fast_streams_are_thinned_and_the_statistics_are_not():
    feed = filled_feed(20, 200)
    with feed.viewer() as viewer:
        texts, (rows,) = drain(viewer)
    gaps = np.diff(rows["time"])
    assert len(rows) <= 20 * 33.4
    assert 0.029 < gaps.min() <= gaps.max() < 0.036
    assert texts[-1]["rate"] == pytest.approx(200, rel=1e-3)


def test_a_change_of_status_is_never_thinned_away():
    feed = filled_feed(1, 200)
    feed.publish(Breathing().frame(200, START + 1.0, "hold", "lost"))
    feed.publish(Breathing().frame(201, START + 1.005))
    with feed.viewer() as viewer:
        _, (rows,) = drain(viewer)
    assert rows["status"][-2:, 0].tolist() == [3, 1]


def test_memory_is_bounded_however_large_the_rows_are():
    many = np.zeros((64, 7))
    frame = replace(
        Breathing().frame(0, 0.0), position=many, sample=many, radius=np.zeros(64), filled=np.zeros(64, bool), names=()
    )
    feed = ViewFeed()
    for k in range(3000):
        feed.publish(replace(frame, time=START + k / 10, target_time=START + k / 10 + 0.5))
    with feed.viewer() as viewer:
        assert max(len(message) for message in iter(viewer.take, None)) <= MAX_HISTORY + 8


def test_the_newest_row_is_kept_however_short_the_history_is():
    feed = filled_feed(1, 10, history=0.01)
    with feed.viewer() as viewer:
        _, (rows,) = drain(viewer)
    assert len(rows) == 1


def test_a_slow_viewer_loses_the_oldest_and_is_told():
    async def watch():
        feed = filled_feed(1, 10)
        with feed.viewer() as slow:
            for k in range(10, 10 + 3 * MAX_QUEUE):
                feed.publish(Breathing().frame(k, START + k / 10))
                feed._flush()
            return drain(slow), slow.dropped

    (texts, rows), dropped = asyncio.run(watch())
    assert dropped == 2 * MAX_QUEUE
    kinds = [text["type"] for text in texts]
    assert kinds[:2] == ["hello", "layout"]
    assert texts[kinds.index("dropped")]["count"] == dropped
    assert rows[-1]["time"][-1] == pytest.approx(START + (9 + 3 * MAX_QUEUE) / 10)


def test_at_most_thirty_updates_per_second():
    async def watch():
        feed = ViewFeed()
        with feed.viewer() as viewer:
            begun, k = time.monotonic(), 0
            while time.monotonic() - begun < 1.0:
                feed.publish(Breathing().frame(k, START + k / 500))
                k += 1
                await asyncio.sleep(0.002)
            _, rows = drain(viewer)
            return len(rows), k, time.monotonic() - begun

    updates, published, seconds = asyncio.run(watch())
    assert published > updates > 3
    assert updates <= 30 * seconds + 2


def test_what_is_pending_is_sent_even_if_nothing_follows():
    async def watch():
        feed = ViewFeed()
        with feed.viewer() as viewer:
            feed.publish(Breathing().frame(0, START))
            feed.publish(Breathing().frame(1, START + 0.1))
            await asyncio.sleep(0.08)
            return drain(viewer)[1]

    assert sum(len(rows) for rows in asyncio.run(watch())) == 2


def test_an_iterating_viewer_wakes_up():
    async def watch():
        feed = ViewFeed()
        with feed.viewer() as viewer:
            asyncio.get_running_loop().call_later(0.02, feed.tell, "source", "back again")
            async for message in viewer:
                if "back again" in message:
                    return True

    assert asyncio.run(asyncio.wait_for(watch(), 2))


@pytest.mark.parametrize("change", [{"names": ("a", "b", "c")}, {"unit": "cm"}, {"time": START - 60}])
def test_another_stream_or_time_begins_anew(change):
    async def watch():
        feed = filled_feed(2, 10)
        with feed.viewer() as viewer:
            drain(viewer)
            feed.publish(replace(Breathing().frame(20, START + 2), **change))
            await asyncio.sleep(0.05)
            return drain(viewer)

    texts, rows = asyncio.run(watch())
    assert [text["generation"] for text in texts if text["type"] == "layout"] == [2]
    assert sum(len(part) for part in rows) == 1


def test_holds_without_a_sample_advance_and_a_late_sample_replaces_them():
    feed = filled_feed(2, 10)
    last = Breathing().frame(19, START + 1.9)
    for _ in range(3):
        time.sleep(0.06)
        feed.publish(replace(last, status="hold", sample=np.full((3, 3), np.nan), sent_time=START + 99))
    with feed.viewer() as viewer:
        texts, (rows,) = drain(viewer)
    held = rows["time"][rows["status"][:, 0] == 3]
    assert len(held) == 3
    assert (np.diff(held) > 0.05).all()
    assert 1.95 < held[0] - START < 2.4
    assert texts[-1]["age"][1] < 0.01  # holds have no latency
    assert texts[-1]["lost"] == [0.0, 0.0, 0.0]
    feed.publish(Breathing().frame(20, START + 1.95))
    with feed.viewer() as viewer:
        _, (rows,) = drain(viewer)
    assert rows["time"][-2:].tolist() == pytest.approx([START + 1.9, START + 1.95])


def test_viewers_are_bounded():
    feed = ViewFeed()
    viewers = [feed.viewer() for _ in range(MAX_VIEWERS)]
    for viewer in viewers:
        viewer.__enter__()
    with pytest.raises(TooManyViewersError, match="16 viewers"), feed.viewer():
        pass
    viewers[0].__exit__(None, None, None)
    with feed.viewer():
        assert feed.viewers == MAX_VIEWERS


def test_texts_are_bounded_and_valid_json():
    feed = ViewFeed()
    feed.publish(Breathing().frame(0, START, "hold", "\ud800" + "x" * 10_000))
    for k in range(100):
        feed.tell("source", f"{k} " + "y" * 10_000)
    with feed.viewer() as viewer:
        texts, _ = drain(viewer)
    assert len([text for text in texts if text["type"] == "event"]) == MAX_EVENTS
    assert max(len(text.get("text", "")) for text in texts) == MAX_TEXT
    assert max(len(text.get("reason", "")) for text in texts) == MAX_TEXT


def test_publishing_takes_microseconds():
    feed = filled_feed(30, 10)
    frames = [Breathing().frame(k, START + 30 + k / 10) for k in range(300)]
    durations = []
    for frame in frames:
        begun = time.perf_counter()
        feed.publish(frame)
        durations.append(time.perf_counter() - begun)
    assert np.median(durations) < 1e-3


def test_refusals():
    with pytest.raises(ValueError, match="history and rate"):
        ViewFeed(rate=0)
