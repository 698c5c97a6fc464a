"""A headless Chromium that a program drives over the DevTools protocol, for the pages of quatcast."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Self

from websockets.asyncio.client import ClientConnection, connect

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--hide-scrollbars", "--mute-audio", "--remote-debugging-port=0", "--force-color-profile=srgb", "about:blank"),
)
PATIENCE = 20.0
"""Longest time that anything may take, in seconds."""


class Chromium:
    """A browser process: a context manager that ends the process when it is left."""

    def __enter__(self) -> Self:
        if PROGRAM is None:
            raise FileNotFoundError("chromium: expected on the path, found neither chromium nor google-chrome")
        self._folder = tempfile.TemporaryDirectory(prefix="quatcast-chromium-", ignore_cleanup_errors=True)
        self._process = subprocess.Popen(
            [PROGRAM, f"--user-data-dir={self._folder.name}", *OPTIONS],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.address = self._read_address(Path(self._folder.name) / "DevToolsActivePort")
        return self

    def __exit__(self, *exception: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()

    def _read_address(self, file: Path) -> str:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with suppress(FileNotFoundError, ValueError):
                port, path = file.read_text().split()
                return f"ws://127.0.0.1:{port}{path}"
            if self._process.poll() is not None:
                raise RuntimeError(f"chromium ended with code {self._process.returncode}")
            time.sleep(0.02)
        raise TimeoutError(f"chromium did not listen within {PATIENCE} s")

    @asynccontextmanager
    async def tab(self, url: str, width: int = 1400, height: int = 1000, **media: str) -> AsyncIterator[Tab]:
        """Open a tab at a size, with media features such as ``prefers_color_scheme="dark"``."""
        async with connect(self.address, max_size=None) as socket:
            tab = Tab(socket)
            reading = asyncio.create_task(tab.read())
            try:
                target = (await tab.call("Target.createTarget", url="about:blank"))["targetId"]
                attached = await tab.call("Target.attachToTarget", targetId=target, flatten=True)
                tab.session = attached["sessionId"]
                for domain in ("Runtime", "Log", "Page"):
                    await tab.call(f"{domain}.enable")
                await tab.resize(width, height)
                features = [{"name": name.replace("_", "-"), "value": value} for name, value in media.items()]
                await tab.call("Emulation.setEmulatedMedia", features=features)
                await tab.call("Page.navigate", url=url)
                yield tab
                await tab.call("Target.closeTarget", targetId=target)
            finally:
                reading.cancel()


class Tab:
    """One page in the browser.

    Attributes
    ----------
    complaints
        Texts of errors and warnings: exceptions, failed requests, and everything that the console shows as such.
    """

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.session: str | None = None
        self.complaints: list[str] = []

    async def read(self) -> None:
        """Take messages of the browser until the connection ends."""
        async for text in self._socket:
            message = json.loads(text)
            if "id" in message:
                self._answers.pop(message["id"]).set_result(message)
            else:
                self._listen(message["method"], message["params"])

    def _listen(self, method: str, params: dict[str, Any]) -> None:
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.complaints.append(params["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.complaints.append(" ".join(str(word.get("value")) for word in params["args"]))

    async def call(self, method: str, patience: float = PATIENCE, **params: Any) -> dict[str, Any]:
        """Call a method of the DevTools protocol."""
        number = next(self._numbers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        await self._socket.send(json.dumps(message))
        reply = await asyncio.wait_for(answer, patience)
        if "error" in reply:
            raise RuntimeError(f"{method}: {reply['error']['message']}")
        result: dict[str, Any] = reply["result"]
        return result

    async def evaluate(self, expression: str, patience: float = PATIENCE) -> Any:
        """Return the value of an expression in the page; a promise is awaited."""
        reply = await self.call(
            *("Runtime.evaluate", patience),
            expression=expression,
            awaitPromise=True,
            returnByValue=True,
            userGesture=True,
        )
        if "exceptionDetails" in reply:
            details = reply["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return reply["result"].get("value")

    async def until(self, expression: str, patience: float = PATIENCE) -> float:
        """Wait until an expression is true, and return how many seconds it took."""
        begun = time.monotonic()
        while not await self.evaluate(expression):
            if time.monotonic() - begun > patience:
                raise TimeoutError(f"not within {patience} s: {expression}")
            await asyncio.sleep(0.03)
        return time.monotonic() - begun

    async def resize(self, width: int, height: int, scale: float = 1.0) -> None:
        """Change the size of the page and the number of pixels of the screen per pixel of the page."""
        await self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=width <= 500,
        )

    async def screenshot(self, path: Path, whole: bool = False) -> None:
        """Write a picture of the page, or of the whole page beyond the window, as a PNG file."""
        reply = await self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(reply["data"]))
