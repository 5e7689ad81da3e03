"""A session of a `pi-rpc host`, over as many connections as it takes."""

from __future__ import annotations

import asyncio
import json
import secrets
import ssl as tls
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, urlencode

from .errors import ClosedError, HostError, HostRefusedError

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

CONTROL = "pi-rpc.control.v1"
"""Subprotocol in which the host also sends messages about the connection."""

LONGEST = 1024 * 1024 * 1024
"""Longest message of a host that is read, in bytes."""

CONNECT = 30.0
"""Seconds for a host to accept a connection."""

FIRST_WAIT, LONGEST_WAIT = 0.05, 2.0
"""Seconds before a broken connection is made again."""


@dataclass(frozen=True)
class Host:
    """Session of a `pi-rpc host`, which a client takes in place of a command. Needs the package `websockets`."""

    address: str
    """`unix:PATH`, `ws://HOST:PORT` or `wss://HOST`: with `/sessions/ID` behind it (`unix:PATH:/sessions/ID`) a session that
    is open, else a new one. `/sessions/new?cwd=…&model=…&in_memory=true` says which."""
    token: str | None = None
    """Token that the host knows; None: none."""
    reconnect: float = 60.0
    """Seconds for which a broken connection is tried again."""
    ssl: tls.SSLContext | None = None
    """Who vouches for a host at `wss://`; None: those that Python trusts."""


class HostSession:
    """A session of a host. When a connection breaks, another one is made: the host sends what was missed, and lines that it
    has not confirmed are sent once more. The session goes on after the last one."""

    def __init__(self, host: Host, skipped: Callable[[], None]) -> None:
        self.pid = 0
        self.exited: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.ending = False
        self.failure: ClosedError | None = None
        """Why the connection was lost; None: it was not."""
        self._host, self._skipped = host, skipped
        self._url, self._path, self._socket = _parse(host.address)
        path, _, query = self._path.partition("?")
        self._path, self._query = path, dict(parse_qsl(query))
        self._query.setdefault("client", secrets.token_hex(16))
        self._sequence: int | None = None
        """Number of the last frame; None before the first connection."""
        self._unconfirmed: deque[str] = deque()
        """Lines without confirmation, the first of which has the number `_confirmed` + 1."""
        self._confirmed = 0
        self._sent = 0
        """Number of the last line that was sent by this connection."""
        self._more = asyncio.Event()
        self._idle = asyncio.Event()
        self._connection: ClientConnection | None = None
        self._writing: asyncio.Task[None] | None = None

    @classmethod
    async def start(cls, host: Host, skipped: Callable[[], None]) -> HostSession:
        """Connects. `skipped` is called when frames were left out.

        :raises HostError: there is no host, or it refuses."""
        session = cls(host, skipped)
        await session._connect()
        return session

    async def read(self) -> bytes:
        """Reads the next frame; empty at the end. Without reading, the host coalesces."""
        while not self.exited.done():
            try:
                if (line := await self._next()) is not None:
                    return line
            except HostError as error:
                self.failure = error
                self._finish(1)
        return b""

    def write(self, data: bytes) -> None:
        """Writes lines; they are dropped after the end."""
        for line in data.decode().splitlines():
            self._unconfirmed.append(line)
        self._idle.clear()
        self._more.set()

    async def written(self) -> None:
        """Waits until the lines were sent, or the session has ended."""
        idle = asyncio.create_task(self._idle.wait())
        ends: set[asyncio.Future[Any]] = {idle, self.exited}
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        idle.cancel()

    async def deaf(self) -> None:
        """Waits for the end."""
        await asyncio.wait({self.exited})

    async def end(self, grace: float) -> int:
        """Leaves the session, which goes on. Returns 0, or the exit status of a session that has ended."""
        self.ending = True
        if self._connection is not None:
            try:
                await asyncio.wait_for(self._connection.close(), grace)
            except asyncio.TimeoutError:
                self._connection.transport.abort()
        self._finish(0)
        return self.exited.result()

    async def release(self) -> str:
        """Ends the tasks. Returns nothing, as there is no stderr."""
        if self._writing is not None:
            self._writing.cancel()
        return ""

    def _finish(self, status: int) -> None:
        if not self.exited.done():
            self.exited.set_result(status)

    async def _next(self) -> bytes | None:
        """Takes the next message; returns the line of a frame."""
        from websockets.exceptions import ConnectionClosed

        assert self._connection is not None
        try:
            message = await self._connection.recv()
        except ConnectionClosed:
            if self.ending:
                self._finish(0)
            else:
                await self._reconnect()
            return None
        if isinstance(message, bytes):
            self._control(json.loads(message))
            return None
        if self._sequence is not None:
            self._sequence += 1
        return message.encode() + b"\n"

    def _control(self, control: dict[str, Any]) -> None:
        kind = control["type"]
        if kind == "attached":
            if self._sequence not in (None, control["sequence"]):
                raise HostError(
                    f"{self._host.address}: the host no longer keeps the frames that were missed; connect again"
                )
            self._sequence = control["sequence"]
            # From now on it is this session, also if it was a new one.
            self._path = "/sessions/" + quote(control["sessionId"], safe="")
            self._confirm(control["receivedLines"])
            self._sent = self._confirmed
            self._writing = asyncio.create_task(self._write())
        elif kind == "position":
            self._sequence = control["sequence"] - 1
        elif kind == "received":
            self._confirm(control["lines"])
        elif kind == "session_snapshot":
            self._sequence = control["sequence"]
            self._skipped()
        elif kind == "session_ended":
            self._finish(control["exitStatus"])

    def _confirm(self, received: int) -> None:
        """Forgets lines that the host has received."""
        while self._confirmed < received and self._unconfirmed:
            self._unconfirmed.popleft()
            self._confirmed += 1

    async def _write(self) -> None:
        """Sends what is written, until the connection is over."""
        from websockets.exceptions import ConnectionClosed

        assert self._connection is not None
        with suppress(ConnectionClosed):
            while True:
                while self._sent < self._confirmed + len(self._unconfirmed):
                    line = self._unconfirmed[self._sent - self._confirmed]
                    self._sent += 1
                    await self._connection.send(line)
                self._more.clear()
                self._idle.set()
                await self._more.wait()

    async def _reconnect(self) -> None:
        until, wait = time.monotonic() + self._host.reconnect, FIRST_WAIT
        while True:
            try:
                return await self._connect()
            except HostRefusedError as error:
                # A host that is starting, or a proxy in front of one that is away, may accept later.
                if error.http_status < 500 or time.monotonic() >= until:
                    raise
            except HostError:
                if time.monotonic() >= until:
                    raise
            await asyncio.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT)

    async def _connect(self) -> None:
        """Opens a connection, and waits until it is attached to the session."""
        if self._writing is not None:
            self._writing.cancel()
        query = self._query if self._sequence is None else {**self._query, "after": str(self._sequence)}
        before = self._writing
        self._connection = await _open(self._host, f"{self._url}{self._path}?{urlencode(query)}", self._socket)
        while self._writing is before and not self.exited.done():
            await self._next_control()

    async def _next_control(self) -> None:
        from websockets.exceptions import ConnectionClosed

        assert self._connection is not None
        try:
            message = await self._connection.recv()
        except ConnectionClosed as error:
            raise HostError(f"{self._host.address}: the connection was closed: {error}") from error
        if not isinstance(message, bytes):
            raise HostError(f"{self._host.address}: not a host of sessions")
        self._control(json.loads(message))


async def _open(host: Host, url: str, socket: str | None) -> ClientConnection:
    try:
        from websockets.asyncio.client import connect, unix_connect
        from websockets.exceptions import InvalidHandshake, InvalidStatus
        from websockets.typing import Subprotocol
    except ImportError:
        raise HostError('a host needs websockets: pip install "pi-rpc-client[host]"') from None
    options: dict[str, Any] = {
        "additional_headers": {} if host.token is None else {"Authorization": f"Bearer {host.token}"},
        "subprotocols": [Subprotocol(CONTROL)],
        "compression": None,
        "max_size": LONGEST,
        "open_timeout": CONNECT,
    }
    if url.startswith("wss:") and host.ssl is not None:
        options["ssl"] = host.ssl
    try:
        return await (connect(url, **options) if socket is None else unix_connect(socket, url, **options))
    except InvalidStatus as error:
        status = error.response.status_code
        raise HostRefusedError(host.address, status, _reason(error.response.body)) from error
    except (OSError, InvalidHandshake, TimeoutError, asyncio.TimeoutError) as error:
        raise HostError(f"{host.address}: {error or type(error).__name__}") from error


def _parse(address: str) -> tuple[str, str, str | None]:
    """The address for `websockets`, the path of the session, the Unix socket."""
    place, sessions, rest = address.partition("/sessions/")
    path = sessions + rest or "/sessions/new"
    if place.startswith("unix:") and len(place) > 5:
        return "ws://localhost", path, place[5:].removesuffix(":")
    if place.startswith(("ws://", "wss://")) and place.rstrip("/").count("/") == 2:
        return place.rstrip("/"), path, None
    raise ValueError(
        f"{address}: expected unix:PATH, ws://HOST:PORT or wss://HOST, and /sessions/ID for an open session"
    )


def _reason(body: bytes | bytearray | None) -> str:
    """The code of an error of the host."""
    with suppress(ValueError):
        error = json.loads(body or b"").get("error")
        if isinstance(error, str):
            return error
    return ""
