"""The asyncio client, without the commands: these are generated for each dialect."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, ClassVar, Generic, TypedDict, TypeVar

from typing_extensions import Self, Unpack

from .calls import Calls
from .connection import Connection, Received
from .dialect import Dialect, Frame, is_handled, is_undecided
from .errors import CallTimeoutError, ClosedError, RpcError
from .feed import POLL, Event, Events, Feed
from .host import Asked, DialogHandler, HostTool, definitions
from .process import Process
from .remote import Host, HostSession
from .session import SessionState

Message = TypeVar("Message")
T = TypeVar("T")

LEAVING = 1.0
"""Seconds for a server to exit after closing its input or output unexpectedly."""


class Options(TypedDict, total=False):
    """Options of a client."""

    cwd: str | os.PathLike[str]
    """Working directory of the server; None: that of this process."""
    env: Mapping[str, str]
    """Environment of the server; None: that of this process."""
    on_dialog: DialogHandler
    """Handler of dialogs. Without one, dialogs are cancelled at once, and the agent continues with the default."""
    timeout: float
    """Default time limit of commands in seconds; None: none."""
    start_timeout: float
    """Time limit in seconds for the `ready` frame, in dialects that have one; default 60."""
    protocol_version: int
    """Highest version of the protocol to negotiate, with servers that offer several; default 2, which has frames in
    chunks."""
    grace: float
    """Seconds for the server to exit after the end of its input; default 10."""
    buffer: int
    """Bytes of unread events at which reading stops, unless a caller waits for a response; default 16 MiB."""


@dataclass(frozen=True)
class Answer(Generic[Message]):
    """Outcome of a prompt."""

    text: str
    """Text of the last assistant message; empty if it has none."""
    message: Message | None
    """Last assistant message; its `stop_reason` tells how it ended. None if there is none."""


class AsyncClientBase(Generic[Event, Message]):
    """Connection to a server.

    Every command has a `timeout` in seconds for its response; that of a command that opens a run is for the end of the
    run."""

    dialect: ClassVar[Dialect]
    _session_type: ClassVar[type[SessionState]] = SessionState

    def __init__(self, command: Sequence[str] | Host, **options: Unpack[Options]) -> None:
        """`command` is the program of the server and its arguments, or a session of a host."""
        self._command, self._options = command, options
        # What happened in the session of a host before is not known here.
        fresh = not isinstance(command, Host)
        self._connection = Connection(self.dialect, self._session_type(self.dialect, fresh=fresh))
        self._calls = Calls(self.dialect)
        self._feed: Feed[Event] = Feed(self._connection.event, options.get("buffer", 16 * 1024 * 1024))
        self._asked = Asked(self.dialect, self._send, options.get("on_dialog"))
        self._process: Process | HostSession | None = None
        self._closed: ClosedError | None = None

    # The life of the server.

    async def start(self) -> None:
        """Starts the server, once, and waits until it is ready; `async with` calls this."""
        if self._process is not None:
            raise RpcError("the server was started before")
        self._ready: Frame | None = {} if self.dialect.opens_with is None else None
        if isinstance(self._command, Host):
            self._process = await HostSession.start(self._command, self._connection.session.lost)
            # Whether the session was ready before is the host's.
            self._ready = {}
        else:
            self._process = await Process.start(self._command, self._options.get("cwd"), self._options.get("env"))
        self._reading = asyncio.create_task(self._read(self._process))
        self._watching = asyncio.create_task(self._watch(self._process))
        try:
            await _within(self._options.get("start_timeout", 60), "the server was not ready", self._opened())
        except BaseException:
            await self._process.end(0)
            await asyncio.shield(self._watching)
            raise

    async def close(self) -> int:
        """Ends the server and all its children, and returns its exit status: closes its input and lets it
        finish its work; sends SIGTERM after `grace` seconds, then SIGKILL. May be called again."""
        if self._process is None:
            raise ClosedError("the server was not started")
        if self._closed is not None and self._closed.status is not None:
            return self._closed.status
        with self._feed.heard():
            status = await self._process.end(self._options.get("grace", 10))
            await asyncio.shield(self._watching)
        return status

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def pid(self) -> int:
        """Id of the process of the server, and of its process group; 0 for a session of a host."""
        if self._process is None:
            raise ClosedError("the server was not started")
        return self._process.pid

    @property
    def state(self) -> str:
        """Activity of the session: a state of the chart, such as `idle` or `streaming.tools`."""
        return self._connection.flow.state

    @property
    def _session(self) -> SessionState:
        return self._connection.session

    # The conversation.

    def events(self) -> Events[Event]:
        """Subscribes to the events from now on. Reading stops when a subscription is `buffer` bytes behind. While a
        call, a prompt or the exit is outstanding, everything is read; a subscription that is then more than 8 times
        as far behind ends with a `LaggingError`."""
        return self._feed.subscribe()

    async def wait_idle(self, *, timeout: float | None = None) -> None:
        """Waits until the session is idle, as the server confirms: no run, retry or compaction is under way. Also
        waits for what is about to follow: for the run of an accepted prompt 10 seconds, as extensions may handle the
        prompt; for a run after a compaction a quarter of a second, or 2 seconds if it was announced."""
        await _within(timeout, "the server was not idle", self._settled())

    async def call(self, command: str, fields: Mapping[str, Any] | None = None, *, timeout: float | None = None) -> Any:
        """Sends any command in any state, and returns the data of its response in the form of the wire; for commands
        that the typed methods lack."""
        id, line = self._connection.request(command, fields or {}, True)
        return self._connection.success(command, await self._response(command, id, line, timeout))

    async def _call(self, command: str, fields: Mapping[str, Any], timeout: float | None, anyway: bool = False) -> Any:
        id, line = self._connection.request(command, fields, anyway)
        return self._connection.result(command, await self._response(command, id, line, timeout))

    async def _run(
        self, command: str, fields: Mapping[str, Any], timeout: float | None, anyway: bool = False
    ) -> Answer[Any]:
        """Sends a command that opens a run, and waits for the end of everything that follows."""
        id, line = self._connection.request(command, fields, anyway)
        before = self._connection.answers
        await _within(timeout, f"the run of {command} has not ended", self._finished(command, id, line, fields))
        message = self._connection.answer if self._connection.answers > before else None
        return Answer(_text(message), None if message is None else self._connection.message(message))

    async def _finished(self, command: str, id: str, line: bytes, fields: Mapping[str, Any]) -> None:
        moves = self._connection.moves
        with self._calls.accepted(id) as refusal:
            response = await self._response(command, id, line, None)
            self._connection.success(command, response)
            if is_handled(response):
                self._connection.drop_run()
                return
            if moves == self._connection.moves and is_undecided(self.dialect, dict(fields), response):
                self._connection.expect_run()
            settled = asyncio.create_task(self._settled())
            try:
                ends: set[asyncio.Future[Any]] = {settled, refusal}
                await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
                if refusal.done():
                    self._connection.success(command, refusal.result())
                else:
                    await settled
            finally:
                settled.cancel()
                # The server may end before the cancellation arrives.
                settled.add_done_callback(lambda task: None if task.cancelled() else task.exception())

    async def _lend(self, tools: Sequence[HostTool], timeout: float | None) -> None:
        """Replaces the host tools."""
        before, self._asked.tools = self._asked.tools, {tool.name: tool for tool in tools}
        try:
            await self._call("set_host_tools", {"tools": definitions(tools)}, timeout)
        except BaseException:
            self._asked.tools = before
            raise

    async def _settled(self) -> None:
        """A run that has ended may be tried again, and a prompt may open none: once no frame says that anything is
        under way, or is about to be, the server is asked, and believed if nothing changes meanwhile."""
        connection, flow = self._connection, self._connection.flow
        with self._feed.heard():
            while True:
                self._running()
                if not (flow.rests or flow.promises):
                    await self._feed.changed()
                    continue
                if (left := connection.expects_until - time.monotonic()) > 0:
                    await self._feed.changed(left)
                    continue
                moves = connection.moves
                state = await self.call("get_state", timeout=float("inf"))
                if moves != connection.moves:
                    continue
                if isinstance(state, dict) and not (state.get("isStreaming") or state.get("isCompacting")):
                    connection.session.rest()
                    return
                await asyncio.sleep(POLL)

    async def _response(self, command: str, id: str, line: bytes, timeout: float | None) -> Frame:
        process = self._running()

        async def exchange() -> Frame:
            process.write(line)
            await process.written()
            return await response

        limit = self._options.get("timeout") if timeout is None else timeout
        with self._feed.heard(), self._calls.open(id, command) as response:
            return await _within(limit, f"{command} was not answered", exchange())

    def _send(self, frame: Frame) -> None:
        if self._process is not None:
            self._process.write(self._connection.tell(frame))

    # What the server says.

    async def _read(self, process: Process | HostSession) -> None:
        while True:
            await self._feed.room()
            data = await process.read()
            if not data:
                return
            for received in self._connection.receive(data):
                self._see(received)
            self._feed.change()

    def _see(self, received: Received) -> None:
        frame = received.frame
        if isinstance(frame, dict):
            if frame.get("type") == "response" and self._calls.take(frame):
                return
            if frame.get("type") == self.dialect.opens_with:
                self._ready = frame
            if frame.get("type") == "prompt_result" and frame.get("agentInvoked") is False:
                self._connection.drop_run()
                self._calls.handled(frame.get("id"))
            self._asked.see(frame, lambda: self._connection.event(frame))
        self._feed.put(received)

    async def _opened(self) -> None:
        with self._feed.heard():
            while self._ready is None:
                self._running()
                await self._feed.changed()
        await self._negotiate(self._ready)

    async def _negotiate(self, ready: Frame) -> None:
        """Selects the highest version of the protocol that both sides have."""
        offered = ready.get("supportedProtocolVersions")
        if not isinstance(offered, list):
            return
        highest = self._options.get("protocol_version", 2)
        version = max((it for it in offered if isinstance(it, int) and it <= highest), default=0)
        if version > int(ready.get("protocolVersion", 1)):
            await self.call("negotiate_protocol", {"protocolVersion": version}, timeout=float("inf"))

    async def _watch(self, process: Process | HostSession) -> None:
        """Handles the exit of the server."""
        deaf = asyncio.create_task(process.deaf())
        ends: set[asyncio.Future[Any]] = {self._reading, deaf, process.exited}
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        deaf.cancel()
        with self._feed.heard():
            failure = self._reading.exception() if self._reading.done() else None
            # A server that has closed its input or output, or writes unreadable lines, is of no use any more.
            status = await process.end(self._options.get("grace", 10) if process.ending else LEAVING)
            # A process outside of the group may hold stdout open.
            await asyncio.wait({self._reading}, timeout=1)
            self._reading.cancel()
        why = f"{failure or 'the server has ended'}; status {status}"
        stderr = await process.release()
        self._closed = process.failure or ClosedError(why, status, stderr)
        self._asked.end()
        self._calls.end(self._closed)
        self._feed.end()

    def _running(self) -> Process | HostSession:
        if self._closed is not None or self._process is None:
            raise self._closed or ClosedError("the server was not started")
        return self._process


async def _within(limit: float | None, what: str, awaitable: Awaitable[T]) -> T:
    try:
        return await asyncio.wait_for(awaitable, None if limit == float("inf") else limit)
    except CallTimeoutError:
        raise
    except asyncio.TimeoutError:
        raise CallTimeoutError(f"{what} within {limit} s") from None


def _text(message: Frame | None) -> str:
    """The text blocks of a message, joined."""
    content = (message or {}).get("content")
    blocks = content if isinstance(content, list) else []
    texts = [block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text"]
    return "".join(text for text in texts if isinstance(text, str))
