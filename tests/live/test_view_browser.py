"""The view in a real browser: it moves, it reconnects, it holds, it escapes, and it fits on a phone."""

import asyncio
import re
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import numpy as np
import pytest
from breathing_feeder import Breathing, feed_live

from quatcast import quaternion
from quatcast.live.metrics import Metrics
from quatcast.live.view.feed import ViewFeed
from quatcast.live.view.server import View

STATE = "import('/assets/main.js').then(({ page }) => [page.updates, page.draws, page.rows, page.drawTime])"
DRAWS = "import('/assets/main.js').then(({ page }) => page.draws)"
WORD = "document.getElementById('word')?.textContent"
OVERLAPS = """(() => {
  const box = (e) => e.getBoundingClientRect();
  const seen = (e) => box(e).width > 0 && box(e).height > 0;
  const cross = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1.5
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1.5;
  const found = [];
  const parents = "header, section, main, main > *, aside, .card, .controls, .choice, .columns, #charts";
  for (const parent of document.querySelectorAll(parents)) {
    const children = [...parent.children].filter(seen);
    children.forEach((a, i) => children.slice(i + 1).forEach((b) => {
      if (cross(box(a), box(b))) found.push(`${a.className || a.id} | ${b.className || b.id}`);
    }));
  }
  return found;
})()"""
OUTSIDE = """[...document.querySelectorAll("body *")].filter((e) =>
  e.getBoundingClientRect().right > document.documentElement.clientWidth + 1
  && !e.closest("svg, canvas, details:not([open])") && getComputedStyle(e).overflow !== "hidden"
  && !e.parentElement.closest("h1, h2, .label")).map((e) => e.tagName + "." + e.className)"""


def past_feed(breathing, seconds=290, rate=10):
    feed = ViewFeed()
    for frame in breathing.past(seconds, rate, time.time()):
        feed.publish(frame)
    return feed


@asynccontextmanager
async def shown(chromium, breathing, rate=10.0, feed=None, **window):
    """A view with live frames, and a tab that shows it; also the task that feeds it."""
    feed = feed or ViewFeed()
    async with View(feed, Metrics()) as view:
        feeding = asyncio.create_task(feed_live(feed, breathing, rate))
        async with chromium.tab(view.url, **window) as tab:
            await tab.until(f"{WORD} === 'ok'")
            yield tab, feed, feeding, view
        feeding.cancel()


def run(work):
    return asyncio.run(asyncio.wait_for(work, 30))


def test_it_moves_thirty_times_per_second(chromium):
    async def work():
        async with shown(chromium, Breathing(), rate=30) as (tab, *_):
            first, begun = await tab.evaluate(STATE), time.monotonic()
            await asyncio.sleep(1.5)
            second, seconds = await tab.evaluate(STATE), time.monotonic() - begun
            return [(b - a) / seconds for a, b in zip(first[:3], second[:3], strict=True)], tab.complaints

    (updates, draws, rows), complaints = run(work())
    assert complaints == []
    assert rows == pytest.approx(30, abs=4)
    assert 20 < updates < 33
    assert 12 < draws < 33


def test_who_joins_late_sees_the_last_minutes_at_once(chromium):
    async def work():
        breathing = Breathing((0.2, 0.5))
        async with shown(chromium, breathing, feed=past_feed(breathing)) as (tab, *_):
            state = await tab.evaluate(STATE)
            figures = await tab.evaluate("document.querySelector('.figures').textContent")
            return state, figures, tab.complaints

    (updates, _, rows, _), figures, complaints = run(work())
    assert complaints == []
    assert rows >= 2900
    assert updates < 60
    assert "–" not in figures


def test_it_reconnects_after_a_restart_and_says_so(chromium):
    async def work():
        async with shown(chromium, Breathing()) as (tab, _, feeding, view):
            feeding.cancel()
            await view.__aexit__()
            await tab.until(f"{WORD} === 'offline'", 3)
            offline = await tab.evaluate("document.getElementById('banner').dataset.state + document.title")
            fresh = ViewFeed()
            async with View(fresh, Metrics(), port=view.port):
                again = asyncio.create_task(feed_live(fresh, Breathing(), 10))
                seconds = await tab.until(f"{WORD} === 'ok'", 8)
                events = await tab.evaluate("document.getElementById('events').textContent")
                rows = await tab.evaluate("import('/assets/main.js').then(({ page }) => page.store.size)")
                again.cancel()
            return offline, seconds, events, rows

    offline, seconds, events, rows = run(work())
    assert offline.startswith("offline")
    assert seconds < 6
    assert "connection to the service lost" in events
    assert "connected again after" in events
    assert "the service was restarted" in events
    assert rows > 3


def test_it_asks_for_the_token_of_a_service_that_was_restarted_with_another_one(chromium):
    """And never shows what the earlier service said as the present."""

    async def work():
        feed, tokens = ViewFeed(), ("first-token-of-sufficient-length", "other-token-of-sufficient-length")
        async with View(feed, Metrics(), token=tokens[0]) as view:
            feeding = asyncio.create_task(feed_live(feed, Breathing(), 10))
            async with chromium.tab(view.url) as tab:
                await tab.until(f"{WORD} === 'ok'")
                address = await tab.evaluate("location.href + document.cookie")
                feeding.cancel()
                await view.__aexit__()
                async with View(ViewFeed(), Metrics(), port=view.port, token=tokens[1]) as again:
                    await tab.until("document.body.textContent.includes('asks for a token')", 12)
                    word = await tab.evaluate(WORD)
                    refused = again.metrics.value("requests_refused")
                return address, word, refused

    address, word, refused = run(work())
    assert "token" not in address
    assert word == "offline"
    assert refused >= 1


def test_it_holds_when_the_source_dies(chromium):
    async def work():
        async with shown(chromium, Breathing()) as (tab, feed, feeding, _):
            feeding.cancel()
            by_page = await tab.until(f"{WORD} === 'hold'", 4)
            reason = await tab.evaluate("document.getElementById('reason').textContent")
            assert await tab.evaluate("document.body.hasAttribute('data-stale')")
            shape = await tab.evaluate("document.getElementById('icon').getAttribute('href')")
            feed.publish(Breathing().frame(10**6, time.time()))
            await tab.until(f"{WORD} === 'ok'", 2)
            assert not await tab.evaluate("document.body.hasAttribute('data-stale')")
            feed.publish(Breathing().frame(10**6 + 1, time.time(), "hold", "no sample for 0.3 s"))
            feed.tell("source", "tracker does not answer")
            by_service = await tab.until(f"{WORD} === 'hold'", 2)
            told = await tab.evaluate("document.getElementById('reason').textContent")
            events = await tab.evaluate("document.getElementById('events').textContent")
            return by_page, reason, shape, by_service, told, events

    by_page, reason, shape, by_service, told, events = run(work())
    assert by_page < 2.5
    assert reason.startswith("no forecast for 1.")
    assert shape == "#icon-hold"
    assert by_service < 0.8
    assert told == "no sample for 0.3 s"
    assert "tracker does not answer" in events


def test_it_says_that_updates_were_left_out(chromium):
    async def work():
        async with shown(chromium, Breathing()) as (tab, feed, *_):
            for _ in range(200):  # more than wait for a viewer, before it is sent any of them
                feed.tell("source", "too much at once")
            await tab.until("document.getElementById('connection-text').textContent.includes('updates left out')", 3)
            return await tab.evaluate("document.getElementById('connection-text').textContent"), tab.complaints

    text, complaints = run(work())
    assert complaints == []
    assert re.fullmatch(r"live, \d+ updates left out", text)


def test_a_tab_in_the_background_keeps_its_rows_and_does_not_draw(chromium):
    async def work():
        async with shown(chromium, Breathing()) as (tab, _, feeding, _):
            async with chromium.tab("about:blank") as other:
                await other.call("Page.bringToFront")
                await tab.until("document.hidden")
                before = await tab.evaluate(STATE)
                await asyncio.sleep(0.5)
                hidden = await tab.evaluate(STATE)
                feeding.cancel()
                await tab.until("document.title.startsWith('hold')", 4)
            await tab.call("Page.bringToFront")
            await tab.until(f"{DRAWS}.then((draws) => draws > {hidden[1]})", 4)
            return before, hidden, await tab.evaluate(WORD)

    before, hidden, word = run(work())
    assert hidden[1] - before[1] <= 1
    assert hidden[2] - before[2] >= 3
    assert word == "hold"


HOSTILE = (
    '<img src=x onerror="window.hacked=1">',
    "</h2><script>window.hacked=1</script>" + "w" * 300,
    "\u202e{{7*7}}' \" ` \x00 &amp;",
)


def test_names_are_text_whatever_they_contain(chromium):
    async def work():
        breathing = Breathing(names=HOSTILE, stream=HOSTILE[0], unit="<b>mm</b>")
        async with shown(chromium, breathing, width=500, height=900) as (tab, feed, *_):
            feed.tell(HOSTILE[0], HOSTILE[0])
            feed.publish(breathing.frame(10**6, time.time() + 0.1, "degraded", HOSTILE[1]))
            await tab.until("document.getElementById('events').textContent.includes('onerror')")
            await asyncio.sleep(1.1)
            made = "document.querySelectorAll('main img, main script, main b b, h1 img').length"
            names = "[...document.querySelectorAll('#charts h2')].map((e) => e.textContent)"
            return [await tab.evaluate(text) for text in ("typeof window.hacked", made, names, OUTSIDE, STREAM)], tab

    (hacked, made, names, outside, stream), tab = run(work())
    assert tab.complaints == []
    assert (hacked, made) == ("undefined", 0)
    assert names == [name[:80] for name in HOSTILE]
    assert stream == HOSTILE[0]
    assert outside == []


STREAM = "document.getElementById('stream').textContent"


SPOILED = """document.querySelector(".figures").style.width = "120vw";
document.querySelector(".legend").style.marginBottom = "-4rem";"""


def test_it_fits_on_every_screen(chromium):
    async def measure(tab, width):
        await tab.resize(width, 900, scale=2 if width <= 500 else 1)
        await asyncio.sleep(0.25)
        size = "[innerWidth, document.documentElement.scrollWidth]"
        return [await tab.evaluate(text) for text in (size, OUTSIDE, OVERLAPS)]

    async def work():
        breathing = Breathing((0.1, 0.3, 0.5, 1.0))
        async with shown(chromium, breathing, feed=past_feed(breathing, 60)) as (tab, *_):
            found = {width: await measure(tab, width) for width in (1400, 1000, 500, 360)}
            pixels = await tab.evaluate(
                "(({ width, clientWidth }) => width / clientWidth)(document.querySelector('.plot canvas'))"
            )
            await tab.evaluate(SPOILED)
            return found, pixels, await measure(tab, 500), tab.complaints

    found, pixels, spoiled, complaints = run(work())
    assert complaints == []
    assert found == {width: [[width, width], [], []] for width in found}
    assert pixels == pytest.approx(2, rel=0.01)
    assert spoiled[1]
    assert spoiled[2]


@dataclass(frozen=True)
class Turning(Breathing):
    """Orientations, or poses, that are forecast 2° too far, with radii of 3° and 5 mm."""

    space: str = "pose"

    def frame(self, number, t, *words, **lost):
        frame = super().frame(number, t, *words, **lost)
        poses = self.space == "pose"

        def changed(point, ahead):
            turned = quaternion.from_rotation_vector(
                np.radians([0.0, 0.0, 20 * np.sin(t + ahead) + (2 if ahead else 0)])
            )
            place = point[:, :3] if poses else point[:, :0]
            known = np.isfinite(point[:, :1])
            return np.where(known, np.concatenate([place, np.tile(turned, (len(point), 1))], axis=1), np.nan)

        angle = np.radians([3.0] * 3)
        return replace(
            frame,
            position=changed(frame.position, frame.target_time - t),
            sample=changed(frame.sample, 0.0),
            radius=np.full(3, 5.0) if poses else angle,
            angle_radius=angle if poses else None,
        )


@pytest.mark.parametrize(
    ("space", "error", "radius", "hint"),
    [
        ("pose", r"\d\.\d\d mm, 2\.00°", "5.00 mm, 3.00°", "root mean square, all channels; orientation 2.00°"),
        ("orientation", r"2\.00°", "3.00°", "root mean square, all channels"),
    ],
)
def test_radii_of_orientations_are_degrees(chromium, space, error, radius, hint):
    async def work():
        turning, feed = Turning(space=space), ViewFeed(space=space)
        for frame in turning.past(60, 10, time.time()):
            feed.publish(frame)
        async with shown(chromium, turning, feed=feed) as (tab, *_):
            await tab.until("document.querySelector('.read')?.textContent.includes('error')")
            text = "[...document.querySelectorAll('.read, .figures')].map((e) => e.textContent)"
            figures, *read = await tab.evaluate(text)
            fits = []
            for width in (1400, 360):
                await tab.resize(width, 900, scale=1)
                await asyncio.sleep(0.25)
                fits += [await tab.evaluate(OUTSIDE), await tab.evaluate(OVERLAPS)]
            return figures, read, fits, tab.complaints

    figures, read, fits, complaints = run(work())
    assert complaints == []
    assert len(read) == 3
    for text in read:
        assert re.fullmatch(rf"error {error} · radius {re.escape(radius)}", text)
    assert hint in figures
    assert ("orientation 100 %" in figures) == (space == "pose")
    assert ("mm" in figures) == (space == "pose")
    assert fits == [[]] * 4


@pytest.mark.parametrize(("scheme", "colour"), [("dark", "rgb(11, 15, 19)"), ("light", "rgb(243, 245, 248)")])
def test_it_follows_the_theme_of_the_system(chromium, scheme, colour):
    async def work():
        async with shown(chromium, Breathing(), prefers_color_scheme=scheme) as (tab, *_):
            return await tab.evaluate("getComputedStyle(document.body).backgroundColor")

    assert run(work()) == colour


def test_the_viewer_chooses(chromium):
    async def work():
        breathing = Breathing((0.1, 0.5, 1.0))
        async with shown(chromium, breathing, feed=past_feed(breathing, 20)) as (tab, *_):
            chosen = "[...document.querySelectorAll('#horizons [aria-pressed=true]')].map((e) => e.textContent).join()"
            found = [await tab.evaluate(chosen)]
            await tab.evaluate("document.querySelectorAll('#horizons button')[2].click()")
            await tab.evaluate("document.querySelectorAll('#windows button')[3].click()")
            await tab.evaluate("document.querySelectorAll('#channels button')[1].click()")
            await tab.evaluate("document.getElementById('theme').click()")
            await asyncio.sleep(0.3)
            found.append(await tab.evaluate(chosen))
            names = "[...document.querySelectorAll('#charts h2')].map((e) => e.textContent)"
            found += [await tab.evaluate(names), await tab.evaluate("document.getElementById('reason').textContent")]
            picture = "document.querySelector('#space canvas').toDataURL()"
            turned = await turn(tab, "import('/assets/main.js').then(({ page }) => page.space.yaw)")
            return found, len(await tab.evaluate(picture)), turned, tab.complaints

    async def turn(tab, yaw):
        x, y = await tab.evaluate(
            "(({ x, y }) => [x + 99, y + 99])(document.querySelector('#space').getBoundingClientRect())"
        )
        before = await tab.evaluate(yaw)
        for kind, dx in (("mousePressed", 0), ("mouseMoved", 60), ("mouseReleased", 60)):
            await tab.call("Input.dispatchMouseEvent", type=kind, x=x + dx, y=y, button="left", buttons=1, clickCount=1)
        return await tab.evaluate(yaw) - before

    (main, horizon, names, reason), size, turned, complaints = run(work())
    assert complaints == []
    assert (main, horizon) == ("0.5 s", "1 s")
    assert names == ["lower abdomen", "chest"]
    assert reason == "forecasts 1 s ahead"
    assert size > 3000
    assert turned == pytest.approx(0.48)
