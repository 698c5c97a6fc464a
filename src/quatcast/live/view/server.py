"""The server of the view: the page, the stream to browsers, health and metrics, inside the loop of the service."""

from __future__ import annotations

import asyncio
import socket
from importlib.resources import files
from typing import Self
from urllib.parse import quote

import uvicorn
from starlette.applications import Starlette
from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from quatcast.basics.escaping import one_line
from quatcast.live.addresses import bearer_token, naming
from quatcast.live.metrics import Metrics
from quatcast.live.view.access import Access
from quatcast.live.view.connections import CLOSING, MAX_CONNECTIONS, BoundedProtocol, LoopServer
from quatcast.live.view.feed import TooManyViewersError, Viewer, ViewFeed

SEND_TIMEOUT = 5.0
"""Longest time that a viewer may take for one message, in seconds; a slower one is disconnected."""
MAX_RECEIVED = 1024
"""Largest message that a viewer may send, in bytes. The page sends none; at the first the server hangs up."""
MAX_HEADERS = 16 * 1024
OPEN_PATHS = ("/healthz", "/readyz")
"""Paths that need no token, because they only say yes or no."""
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
TYPES = {"html": "text/html", "js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}


class View:
    """Serves the view of one stream: an asynchronous context manager.

    The server runs in the loop that enters it. Paths: ``/`` the page, ``/ws`` the stream to browsers, ``/healthz``
    answers 200 while the loop runs, ``/readyz`` 200 once the service is ready and 503 before, ``/metrics`` the metrics
    in the text format of Prometheus.

    Parameters
    ----------
    feed
        What is shown.
    metrics
        What ``/metrics`` and ``/readyz`` report.
    host, port
        Address to listen on; port 0 lets the system choose one.
    token
        Secret that every request must carry; required unless `host` is a loopback address.
    names
        Further host names under which the server is reached, for example through a reverse proxy.

    Examples
    --------
    >>> async def serve():
    ...     async with View(ViewFeed(), Metrics()) as view:
    ...         return view.url.startswith("http://127.0.0.1:")
    >>> asyncio.run(serve())
    True
    """

    def __init__(
        self,
        feed: ViewFeed,
        metrics: Metrics,
        host: str = "127.0.0.1",
        port: int = 0,
        token: str | None = None,
        names: tuple[str, ...] = (),
    ) -> None:
        self.feed, self.metrics = feed, metrics
        self.access = Access(host, token, names)
        self.port = port
        self._pages = _read_pages()
        self._tasks: list[asyncio.Task[None]] = []
        self._server: LoopServer | None = None

    @property
    def url(self) -> str:
        """Address of the page, with the token if there is one."""
        name = f"[{self.access.host}]" if ":" in self.access.host else self.access.host
        token = f"?token={quote(self.access.token)}" if self.access.token else ""
        return f"http://{name}:{self.port}/{token}"

    @property
    def cookie(self) -> str:
        """Name of the cookie; browsers keep cookies per host and not per port."""
        return f"quatcast-{self.port}"

    async def __aenter__(self) -> Self:
        """Listen and begin to serve.

        Raises
        ------
        OSError
            If the address cannot be used.
        """
        listener = _listen(self.access.host, self.port)
        self.port = listener.getsockname()[1]
        config = uvicorn.Config(
            self._app(),
            http=BoundedProtocol,
            ws="websockets-sansio",
            lifespan="off",
            log_config=None,
            log_level="error",  # a warning per invalid request would let anybody fill the log
            access_log=False,
            server_header=False,
            ws_max_size=MAX_RECEIVED,
            ws_per_message_deflate=False,
            limit_concurrency=MAX_CONNECTIONS,
            h11_max_incomplete_event_size=MAX_HEADERS,
            timeout_graceful_shutdown=1,
        )
        self._server = LoopServer(config)
        serving = asyncio.create_task(self._server.serve([listener]))
        while not self._server.started and not serving.done():
            await asyncio.sleep(0.005)
        if serving.done():  # with an error of its own, or after it has logged one
            listener.close()
            serving.result()
            raise RuntimeError(f"view, {self.access.host}:{self.port}: the server could not be started")
        self._tasks = [serving, asyncio.create_task(self._beat())]
        return self

    async def __aexit__(self, *exception: object) -> None:
        """Stop serving; browsers try to connect again until the next start."""
        if self._server is not None:
            self._server.should_exit = True
        tasks, self._tasks = self._tasks, []
        for beating in tasks[1:]:
            beating.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _app(self) -> ASGIApp:
        app = Starlette(
            routes=[
                Route("/", self._page),
                Route("/assets/{name}", self._page),
                Route("/healthz", self._health),
                Route("/readyz", self._ready),
                Route("/metrics", self._metrics),
                WebSocketRoute("/ws", self._stream),
            ]
        )
        return _Door(app, self)

    async def _page(self, request: Request) -> Response:
        name = request.path_params.get("name", "index.html")
        if name not in self._pages:
            return PlainTextResponse("not found", 404)
        return Response(self._pages[name], media_type=TYPES[name.rsplit(".", 1)[1]])

    async def _health(self, request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def _ready(self, request: Request) -> Response:
        if self.metrics.is_ready:
            return PlainTextResponse("ready\n")
        why = f": {one_line(self.metrics.why)}" if self.permitted(request) and self.metrics.why else ""
        return PlainTextResponse(f"not ready{why}\n", 503)

    async def _metrics(self, request: Request) -> Response:
        self.metrics.gauge("viewers", self.feed.viewers)
        return Response(self.metrics.text(), media_type="text/plain; version=0.0.4")

    async def _stream(self, websocket: WebSocket) -> None:
        await websocket.accept()
        try:
            with self.feed.viewer() as viewer:
                self.metrics.count("viewers_joined")
                await self._serve(websocket, viewer)
        except TooManyViewersError as error:
            await self._hang_up(websocket, 1013, str(error))

    async def _serve(self, websocket: WebSocket, viewer: Viewer) -> None:
        """Send until the viewer leaves, is too slow or says something; a page has nothing to say."""
        sending = asyncio.create_task(self._send(websocket, viewer))
        listening = asyncio.create_task(websocket.receive())
        try:
            done, _ = await asyncio.wait({sending, listening}, return_when=asyncio.FIRST_COMPLETED)
            if listening in done and listening.result()["type"] == "websocket.receive":
                await self._hang_up(websocket, 1008, "the view takes no messages")
        finally:
            sending.cancel()
            listening.cancel()
            await asyncio.gather(sending, listening, return_exceptions=True)
            self.metrics.count("viewer_messages_dropped", viewer.dropped)

    async def _send(self, websocket: WebSocket, viewer: Viewer) -> None:
        try:
            async for message in viewer:
                async with asyncio.timeout(SEND_TIMEOUT):
                    if isinstance(message, str):
                        await websocket.send_text(message)
                    else:
                        await websocket.send_bytes(message)
        except TimeoutError:
            self.metrics.count("viewers_too_slow")
            if self._server is not None:
                self._server.abort(websocket.client)
        except WebSocketDisconnect:
            pass

    async def _hang_up(self, websocket: WebSocket, code: int, reason: str) -> None:
        """Tell a viewer why its connection ends, and do not wait long for it to agree."""
        await websocket.close(code, reason)
        if self._server is not None:
            self._server.abort(websocket.client, after=CLOSING)

    async def _beat(self) -> None:
        while True:
            self.feed.beat(self.metrics.counters())
            await asyncio.sleep(1.0)

    def permitted(self, connection: HTTPConnection) -> bool:
        """Whether a request carries the token, or needs none."""
        token = bearer_token(connection.headers.get("authorization", ""))
        return self.access.allowed(token, connection.cookies.get(self.cookie))


class _Door:
    """Lets in only requests that name this server, come from our own page and carry the token."""

    def __init__(self, app: ASGIApp, view: View) -> None:
        self.app, self.view = app, view

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        connection = HTTPConnection(scope)
        refusal = self._refusal(connection)
        if refusal is None:
            await self.app(scope, receive, _with_headers(send))
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            self.view.metrics.count("requests_refused")
        else:
            if refusal.status_code != 303:
                self.view.metrics.count("requests_refused")
            await refusal(scope, receive, _with_headers(send))

    def _refusal(self, connection: HTTPConnection) -> Response | None:
        access, headers, path = self.view.access, connection.headers, connection.scope["path"]
        if not access.known_host(headers.get("host")):
            return PlainTextResponse("this server does not have the name in the header Host\n", 421)
        if not access.same_origin(headers.get("origin"), headers.get("host")):
            return PlainTextResponse("requests of other sites are not answered\n", 403)
        if path in OPEN_PATHS or self.view.permitted(connection):
            return None
        token = connection.query_params.get("token")
        if path == "/" and token and access.allowed(token):
            # The token leaves the address bar, the history and every link for a cookie that scripts cannot read.
            entrance = RedirectResponse("/", 303)
            entrance.set_cookie(self.view.cookie, token, httponly=True, samesite="strict")
            return entrance
        return PlainTextResponse("a token is needed: open the address that the service printed at its start\n", 401)


def _with_headers(send: Send) -> Send:
    """Add the headers of security to every response."""

    async def sender(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [
                *((name, value) for name, value in message["headers"] if name.decode() not in HEADERS),
                *((name.encode(), value.encode()) for name, value in HEADERS.items()),
            ]
        await send(message)

    return sender


def _listen(host: str, port: int) -> socket.socket:
    with naming(f"view, {host}:{port}", "; give another --host or --port, 0 for any port"):
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)


def _read_pages() -> dict[str, bytes]:
    """Return the files of the page by name; reading them once leaves no path for a request to choose."""
    folder = files("quatcast.live.view") / "page"
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.name.rsplit(".", 1)[-1] in TYPES}
