"""Requests of the server to the host: dialogs, and calls of host tools."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Union

from pydantic import BaseModel

from .connection import wire
from .dialect import Dialect, Frame

DialogAnswer = Union[str, bool, None]
"""Response to a dialog: a text, True or False for `confirm`, None for a closed dialog."""

DialogHandler = Callable[[Any], Union[DialogAnswer, Awaitable[DialogAnswer]]]
"""Handler of a dialog request. A plain function is called in a thread of its own."""

ToolHandler = Callable[["ToolCall"], Any]
"""Executes a call and returns its result: a text, or an `AgentToolResult`, also as a dict. An exception fails the call,
with its message for the model. A coroutine function is cancelled with the call; a plain function is called in a thread
of its own, and should check `call.cancelled`."""


@dataclass(frozen=True)
class HostTool:
    """Tool that the host executes."""

    name: str
    """Name that the model calls the tool by."""
    description: str
    """Description of the tool for the model."""
    parameters: Mapping[str, Any]
    """JSON Schema of the arguments, by which the server checks calls."""
    run: ToolHandler
    label: str | None = None
    """Display name."""
    hidden: bool | None = None
    """Whether the tool is offered only where it is named."""
    load_mode: str | None = None
    """When the model is told of it, in omp: `essential` or `discoverable`."""


@dataclass(frozen=True)
class ToolCall:
    """Call of a host tool."""

    tool: str
    id: str
    """Id of the tool call in the assistant message."""
    arguments: Mapping[str, Any]
    cancelled: threading.Event = field(default_factory=threading.Event)
    """Set when the result is no longer needed."""
    _tell: Callable[[Any], None] = field(default=lambda result: None, repr=False)

    def update(self, so_far: Any) -> None:
        """Reports progress: the complete result so far. May be called from any thread."""
        self._tell(so_far)


class Asked:
    """Serves the requests of a server concurrently, and answers each once, while it is open."""

    def __init__(self, dialect: Dialect, send: Callable[[Frame], None], on_dialog: DialogHandler | None) -> None:
        self.tools: dict[str, HostTool] = {}
        self._dialect = dialect
        self._on_dialog = on_dialog
        self._send = send
        self._open: dict[str, tuple[asyncio.Task[None], ToolCall | None]] = {}

    def see(self, frame: Frame, event: Callable[[], Any]) -> None:
        """Handles a frame of the server; `event` is the decoded one."""
        kind, id = frame.get("type"), frame.get("id")
        if isinstance(taken_back := frame.get("targetId"), str):
            self._cancel(taken_back)
        elif not isinstance(id, str) or id in self._open:
            pass
        elif kind == "extension_ui_request":
            member = self._dialect.answers.get(str(frame.get("method")))
            if member is not None:
                self._serve(id, self._dialog(id, member, frame.get("timeout"), event))
        elif kind == "host_tool_call":
            call = self._call_of(id, frame)
            self._serve(id, self._tool(id, call), call)

    def end(self) -> None:
        """Handles the exit of the server: cancels all handlers."""
        for id in list(self._open):
            self._cancel(id)

    def _serve(self, id: str, answer: Coroutine[Any, Any, Frame], call: ToolCall | None = None) -> None:
        self._open[id] = (asyncio.create_task(self._answered(id, answer)), call)

    async def _answered(self, id: str, answer: Coroutine[Any, Any, Frame]) -> None:
        frame = await answer
        # After the updates that are being sent.
        asyncio.get_running_loop().call_soon(self._finish, id, frame)

    def _finish(self, id: str, frame: Frame) -> None:
        if self._open.pop(id, None) is not None:
            self._send(frame)

    def _cancel(self, id: str) -> None:
        task, call = self._open.pop(id, (None, None))
        if call is not None:
            call.cancelled.set()
        if task is not None:
            task.cancel()

    async def _dialog(self, id: str, member: str, timeout: Any, event: Callable[[], Any]) -> Frame:
        said: Frame = {"cancelled": True}
        try:
            if self._on_dialog is not None:
                asking = asyncio.ensure_future(_call(self._on_dialog, event()))
                try:
                    # The agent continues by itself after that time.
                    await asyncio.wait({asking}, timeout=self._limit(timeout))
                finally:
                    in_time = not asking.cancel()
                # The dialog is cancelled in any case, as a late response is ignored.
                if in_time and (answer := await _of_handler(asking)) is not None:
                    said = {member: wire(answer)}
        except Exception as error:
            told = {"message": "a dialog handler has failed; the dialog was closed", "exception": error}
            asyncio.get_running_loop().call_exception_handler(told)
        return {"type": "extension_ui_response", "id": id, **said}

    def _limit(self, timeout: Any) -> float | None:
        """Time limit of a dialog in seconds."""
        if not isinstance(timeout, (int, float)) or (timeout == 0 and not self._dialect.zero_timeout_expires):
            return None
        return timeout / 1000

    async def _tool(self, id: str, call: ToolCall) -> Frame:
        said: Frame
        try:
            if call.tool not in self.tools:
                raise LookupError(f"there is no tool {call.tool}")
            said = {"result": _result(await _of_handler(asyncio.ensure_future(_call(self.tools[call.tool].run, call))))}
        except Exception as error:
            said = {"result": _result(str(error) or type(error).__name__), "isError": True}
        return {"type": "host_tool_result", "id": id, **said}

    def _call_of(self, id: str, frame: Frame) -> ToolCall:
        loop = asyncio.get_running_loop()

        def tell(so_far: Any) -> None:
            update = {"type": "host_tool_update", "id": id, "partialResult": _result(so_far)}
            loop.call_soon_threadsafe(self._update, id, update)

        arguments = frame.get("arguments")
        arguments = arguments if isinstance(arguments, dict) else {}
        return ToolCall(str(frame.get("toolName")), str(frame.get("toolCallId")), arguments, _tell=tell)

    def _update(self, id: str, frame: Frame) -> None:
        if id in self._open:
            self._send(frame)


def definitions(tools: Sequence[HostTool]) -> list[Frame]:
    """Tool definitions for the server."""
    return [
        {
            "name": tool.name,
            **({} if tool.label is None else {"label": tool.label}),
            "description": tool.description,
            "parameters": dict(tool.parameters),
            **({} if tool.hidden is None else {"hidden": tool.hidden}),
            **({} if tool.load_mode is None else {"loadMode": tool.load_mode}),
        }
        for tool in tools
    ]


def _result(said: Any) -> Any:
    """Converts the return value of a handler into a tool result."""
    if isinstance(said, (BaseModel, Mapping)):
        if not isinstance((result := wire(said)).get("content"), list):
            raise TypeError("the result of a tool is a text, or has a list `content`")
        return result
    return {"content": [] if said is None else [{"type": "text", "text": str(said)}]}


async def _of_handler(work: asyncio.Future[Any]) -> Any:
    """Awaits a handler. A cancellation from elsewhere, or of something that the handler awaits, is a failure of the
    handler."""
    try:
        await asyncio.wait({work})
    finally:
        work.cancel()
    if work.cancelled():
        raise RuntimeError("the handler was cancelled")
    return work.result()


async def _call(function: Callable[[Any], Any], argument: Any) -> Any:
    """Calls a handler; a plain function runs in a daemon thread, which may outlive the client."""
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None)):
        return await function(argument)
    loop = asyncio.get_running_loop()
    done: asyncio.Future[tuple[Any, Exception | None]] = loop.create_future()

    def settle(outcome: tuple[Any, Exception | None]) -> None:
        if not done.done():
            done.set_result(outcome)

    def work() -> None:
        outcome: tuple[Any, Exception | None]
        try:
            outcome = function(argument), None
        except BaseException as error:  # SystemExit, too, as the caller waits for the end.
            outcome = None, error if isinstance(error, Exception) else RuntimeError(repr(error))
        with suppress(RuntimeError):  # The loop has ended, and with it the waiting callers.
            loop.call_soon_threadsafe(settle, outcome)

    threading.Thread(target=work, daemon=True).start()
    result, failure = await done
    if failure is not None:
        raise failure
    return result
