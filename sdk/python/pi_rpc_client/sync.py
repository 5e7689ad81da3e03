"""The client for programs without asyncio: the asyncio client in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Mapping, Sequence
from types import TracebackType
from typing import Any, ClassVar, Generic, TypeVar

from typing_extensions import Self, Unpack

from .aio import Answer, AsyncClientBase, Message, Options
from .feed import Event
from .feed import Events as AsyncEvents
from .errors import CallTimeoutError, ClosedError, RpcError
from .host import HostTool
from .remote import Host
from .session import SessionState

T = TypeVar("T")


class Events(Generic[Event]):
    """Subscription to all events since it was opened, in order. It ends with the server."""

    def __init__(self, client: ClientBase[Event, Any], events: AsyncEvents[Event]) -> None:
        self._client = client
        self._events = events

    def __iter__(self) -> Events[Event]:
        return self

    def __next__(self) -> Event:
        return self.next()

    def next(self, timeout: float | None = None) -> Event:
        """The next event. Raises `StopIteration` when the server has ended, `CallTimeoutError` if none comes within
        that many seconds."""
        try:
            return self._events.pop() if self._client.closed else self._client._do(self._next(timeout))
        except (IndexError, StopAsyncIteration):
            raise StopIteration from None

    def close(self) -> None:
        """Closes the subscription."""
        if not self._client.closed:
            self._client._do(self._close())

    async def _next(self, timeout: float | None) -> Event:
        try:
            return await asyncio.wait_for(self._events.__anext__(), timeout)
        except asyncio.TimeoutError:
            raise CallTimeoutError(f"no event within {timeout} s") from None

    async def _close(self) -> None:
        self._events.close()


class ClientBase(Generic[Event, Message]):
    """Connection to a server. Its methods block, and may be called from any thread."""

    _of: ClassVar[type[AsyncClientBase[Any, Any]]]

    def __init__(self, command: Sequence[str] | Host, **options: Unpack[Options]) -> None:
        """`command` is the program of the server and its arguments, or a session of a host."""
        self._client: AsyncClientBase[Event, Message] = self._of(command, **options)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._status = 0

    def start(self) -> None:
        """Starts the server, once, and waits until it is ready; `with` calls this."""
        if self._loop is not None:
            raise RpcError("the server was started before")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="pi_rpc_client", daemon=True)
        self._thread.start()
        try:
            self._do(self._client.start())
        except BaseException:
            self._stop()
            raise

    def close(self) -> int:
        """Ends the server and all its children, and returns its exit status: closes its input and lets it
        finish its work; sends SIGTERM after `grace` seconds, then SIGKILL. May be called again."""
        if self.closed:
            return self._status
        self._status = self._do(self._client.close())
        self._stop()
        return self._status

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._loop is not None and self._loop.is_closed()

    @property
    def pid(self) -> int:
        """Id of the process of the server, and of its process group; 0 for a session of a host."""
        return self._client.pid

    @property
    def state(self) -> str:
        """Activity of the session: a state of the chart, such as `idle` or `streaming.tools`."""
        return self._client.state

    @property
    def _session(self) -> SessionState:
        return self._client._session

    def events(self) -> Events[Event]:
        """Subscribes to the events from now on. Reading stops when a subscription is `buffer` bytes behind. While a
        call, a prompt or the exit is outstanding, everything is read; a subscription that is then more than 8 times
        as far behind ends with a `LaggingError`."""
        return Events(self, self._do(self._subscribe()))

    def wait_idle(self, *, timeout: float | None = None) -> None:
        """Waits until the session is idle, as the server confirms: no run, retry or compaction is under way. Also
        waits for what is about to follow: for the run of an accepted prompt 10 seconds, as extensions may handle the
        prompt; for a run after a compaction a quarter of a second, or 2 seconds if it was announced."""
        self._do(self._client.wait_idle(timeout=timeout))

    def call(self, command: str, fields: Mapping[str, Any] | None = None, *, timeout: float | None = None) -> Any:
        """Sends any command in any state, and returns the data of its response in the form of the wire; for commands
        that the typed methods lack."""
        return self._do(self._client.call(command, fields, timeout=timeout))

    def _call(self, command: str, fields: Mapping[str, Any], timeout: float | None, anyway: bool = False) -> Any:
        return self._do(self._client._call(command, fields, timeout, anyway))

    def _run(self, command: str, fields: Mapping[str, Any], timeout: float | None, anyway: bool = False) -> Answer[Any]:
        return self._do(self._client._run(command, fields, timeout, anyway))

    def _lend(self, tools: Sequence[HostTool], timeout: float | None) -> None:
        self._do(self._client._lend(tools, timeout))

    async def _subscribe(self) -> AsyncEvents[Event]:
        return self._client.events()

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine in the thread, and waits for its result."""
        if self._loop is None or self._loop.is_closed():
            work.close()
            raise self._client._closed or ClosedError("the server was not started")
        if threading.current_thread() is self._thread:
            work.close()
            raise RpcError("a handler that calls its client has to be a plain function, not a coroutine function")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def _stop(self) -> None:
        assert self._loop is not None
        self._do(self._leave())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _leave(self) -> None:
        """Stops waiting for running handlers."""
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=1)
