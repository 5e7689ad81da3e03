"""Extensions for pi-rpc in Python 3.8 or newer, with nothing to install: put this file beside yours.

    #!/usr/bin/env python3
    from pi_rpc_extension import Extension

    ext = Extension()

    @ext.command("hello", "says hello")
    def hello(ctx, arguments):
        name = arguments or ctx.ui.input("Who are you?", timeout=30)
        ctx.ui.notify("Hello, %s" % (name or "stranger"))

    ext.run()

Make your file executable and name it: pi-rpc serve -e ./yours.py

Every command, tool call, hook and model call runs in a thread of its own, so one that waits for the user does not delay
others. Observers (`on`) run one after another. An exception is reported to the host, or to the model if a tool raised
it; in the hook `tool_call` it blocks the call. `print` goes to stderr: stdout belongs to the protocol, which `pi-rpc
schema --part extension` prints. docs/reference/hooks.md lists the hooks. `pi_rpc_frames.py` has the types of frames for mypy and
pyright; put it beside this file, too, and import it below `if TYPE_CHECKING:`.
"""

from __future__ import annotations

import itertools
import json
import os
import queue
import sys
import threading
import time
import traceback
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Optional, Sequence, Set, Tuple, TypeVar, Union

if TYPE_CHECKING:
    import pi_rpc_frames as frames

Json = Dict[str, Any]
Handler = TypeVar("Handler")
Command = TypeVar("Command", bound=Callable[["Context", str], object])
Tool = TypeVar("Tool", bound=Callable[["Context", Json], object])
Hook = TypeVar("Hook", bound=Callable[["Context", Any], Any])
Observer = TypeVar("Observer", bound=Callable[["Context", Json], object])
Model = TypeVar("Model", bound=Callable[["Context", Any], Iterable[Union[str, Json]]])


class Cancelled(Exception):
    """The request was cancelled."""


def block(reason: str) -> frames.HookResult:
    """Result of the hook `tool_call` that blocks the call, with the reason for the model."""
    return {"block": True, "reason": reason}


def cancel() -> frames.HookResult:
    """Result of the hooks `session_before_*` that prevents the operation."""
    return {"cancel": True}


def result(text: str, details: Any = None) -> frames.AgentToolResult:
    """Result of a tool: a text for the model, and data for the host."""
    made: frames.AgentToolResult = {"content": [{"type": "text", "text": text}]}
    if details is not None:
        made["details"] = details
    return made


class Extension:
    """An extension: its commands, tools and hooks, and its connection to the server."""

    def __init__(self) -> None:
        self._commands: Dict[str, Tuple[Any, Any]] = {}
        self._tools: Dict[str, Tuple[Any, Any]] = {}
        self._hooks: Dict[str, Tuple[Any, Any]] = {}
        self._models: Dict[str, Tuple[Any, Any]] = {}
        self._servers: Dict[str, Json] = {}
        self._observers: Dict[str, List[Any]] = {}
        self._awaits: List[str] = []
        self._ids, self._lock = itertools.count(1), threading.RLock()
        self._events: queue.Queue[Json] = queue.Queue()
        self._open: Dict[str, Context] = {}  # open requests of the server, by id
        self._waiting: Dict[str, queue.Queue[Json]] = {}  # open requests of this extension, by id
        self.hello: Json = {"maxFrame": 0}
        self._started = "PI_RPC_EXTENSION" in os.environ
        if self._started:
            # Neither a stray print nor a child process may reach the pipes.
            self._input, self._output = os.dup(0), os.dup(1)
            with open(os.devnull) as nothing:
                os.dup2(nothing.fileno(), 0)
            os.dup2(2, 1)
            getattr(sys.stdout, "reconfigure")(line_buffering=True)

    def command(self, name: str, description: str = "") -> Callable[[Command], Command]:
        """Adds a slash command; `handler(ctx, arguments)` gets the text after it."""
        return self._adder(self._commands, name, {"name": name, "description": description})

    def tool(
        self, name: str, description: str, parameters: Optional[Json] = None, label: Optional[str] = None, *,
        snippet: Optional[str] = None, guidelines: Optional[Sequence[str]] = None,
        sequential: Optional[bool] = None, inactive: Optional[bool] = None,
    ) -> Callable[[Tool], Tool]:
        """Adds a tool; `handler(ctx, arguments)` gets a dict that matches `parameters`, a JSON Schema, and returns a
        text or a `result`. `snippet` and `guidelines` go into the system prompt; a `sequential` tool never runs in
        parallel; an `inactive` one is offered only after `set_active_tools` has selected it."""
        spec = _given(
            name=name, description=description, parameters=parameters or {"type": "object"}, label=label,
            promptSnippet=snippet, promptGuidelines=guidelines, sequential=sequential, inactive=inactive,
        )
        return self._adder(self._tools, name, spec)

    def hook(self, name: frames.HookName) -> Callable[[Hook], Hook]:
        """Adds a hook; `handler(ctx, event)` returns a `HookResult`, or None for no objection and no change."""
        return self._adder(self._hooks, name, name)

    def on(self, *events: str, wait: bool = False) -> Callable[[Observer], Observer]:
        """Adds an observer of events by type, `*` for all: `handler(ctx, event)`. With `wait`, the server waits for
        it."""
        def add(handler: Observer) -> Observer:
            for event in events:
                self._observers.setdefault(event, []).append(handler)
            self._awaits.extend(event for event in events if wait and event not in self._awaits)
            return handler
        return add

    def provider(self, name: str, config: Json) -> None:
        """Adds a provider, as in `models.json`; the server sends the requests. Its models can be selected from the
        start."""
        self._adder(self._models, name, {"type": "register_provider", "name": name, "config": config})(None)

    def model(self, name: str, config: Json) -> Callable[[Model], Model]:
        """Adds a provider whose requests go to this extension: `handler(ctx, call)` yields pieces of text, or events
        as in `model_event`."""
        frame = {"type": "register_provider", "name": name, "config": config, "streams": True}
        return self._adder(self._models, name, frame)

    def mcp_server(self, name: str, config: Optional[Json]) -> None:
        """Adds or replaces a server of the Model Context Protocol, with the members of an entry of `mcp.json`; None removes it. Others
        learn of later changes by the hook `mcp_servers_change`."""
        self._servers.pop(name, None)
        if config is not None:
            self._servers[name] = {"name": name, "config": config}
        if self.hello["maxFrame"]:
            self._register()

    def report(self, event: str, error: str) -> None:
        """Reports an error to the host, as `extension_error`."""
        self._send({"type": "error", "extensionPath": os.path.abspath(sys.argv[0]), "event": event, "error": error})

    def run(self) -> None:
        """Serves requests until the server closes the connection."""
        if not self._started:
            sys.exit("This is an extension. Start it with: pi-rpc serve -e %s" % sys.argv[0])
        threading.Thread(target=self._observe, daemon=True).start()
        with os.fdopen(self._input, "rb") as lines:
            for line in lines:
                self._receive(json.loads(line))

    def _receive(self, frame: Json) -> None:
        getattr(self, "_on_" + frame["type"], lambda frame: None)(frame)

    def _adder(self, where: Dict[str, Tuple[Any, Any]], name: str, spec: Any) -> Callable[[Handler], Handler]:
        def add(handler: Handler) -> Handler:
            if name in where:
                raise ValueError("%s is there twice" % name)
            where[name] = (handler, spec)
            return handler
        return add

    # Frames of the server.

    def _on_hello(self, frame: Json) -> None:
        self.hello = frame
        for _, provider in self._models.values():
            self._send(provider)
        self._register()

    def _register(self) -> None:
        hooks = [spec for _, spec in self._hooks.values()]
        if self._awaits and "event" not in hooks:
            hooks.append("event")
        register = {"type": "register", "commands": _specs(self._commands), "tools": _specs(self._tools), "hooks": hooks}
        more = _given(awaits=self._awaits or None, mcpServers=list(self._servers.values()) or None)
        self._send(dict(register, events=list(self._observers), **more))

    def _on_command(self, frame: Json) -> None:
        self._send({"type": "accept", "id": frame["id"]})
        handler = self._commands[frame["name"]][0]
        self._serve(frame, lambda ctx: handler(ctx, frame["arguments"]), lambda _: {"type": "done"})

    def _on_hook(self, frame: Json) -> None:
        event, done = frame["hook"], lambda given: _given(type="done", result=given)
        if event["type"] in self._hooks:
            handler = self._hooks[event["type"]][0]
            self._serve(frame, lambda ctx: handler(ctx, event), done)
        else:
            self._serve(frame, lambda ctx: self._tell(ctx, event["event"]), done)

    def _on_tool_call(self, frame: Json) -> None:
        handler = self._tools[frame["toolName"]][0]
        done = lambda given: {"type": "tool_result", "result": _tool_result(given)}
        self._serve(frame, lambda ctx: handler(ctx, frame["arguments"]), done)

    def _on_model_call(self, frame: Json) -> None:
        handler = self._models[frame["model"]["provider"]][0]
        self._serve(frame, lambda ctx: _stream(ctx, handler(ctx, frame), frame["model"]), lambda _: None)

    def _on_cancel(self, frame: Json) -> None:
        if frame["id"] in self._open:
            self._open[frame["id"]]._cancel()

    def _on_event(self, frame: Json) -> None:
        self._events.put(frame["event"])

    def _on_ui_answer(self, frame: Json) -> None:
        self._on_response(frame["response"])

    def _on_answer(self, frame: Json) -> None:
        self._on_response(frame)

    def _on_response(self, frame: Json) -> None:
        self._waiting.pop(frame["id"], queue.Queue()).put(frame)

    def _serve(self, frame: Json, serve: Callable[[Context], Any], done: Callable[[Any], Optional[Json]]) -> None:
        ctx = self._open[frame["id"]] = Context(self, frame["id"])

        def work() -> None:
            try:
                last = done(serve(ctx))
                if last is not None:
                    self._send(dict(last, id=ctx.id))
            except BaseException as error:  # SystemExit, too, as the server waits for the end.
                if not isinstance(error, Cancelled):
                    traceback.print_exc()
                self._send({"type": "failed", "id": ctx.id, "error": str(error) or type(error).__name__})
            finally:
                # After the end, another request may have started with the same id.
                if self._open.get(frame["id"]) is ctx:
                    del self._open[frame["id"]]
        threading.Thread(target=work, daemon=True).start()

    def _observe(self) -> None:
        while True:
            self._tell(Context(self, None), self._events.get())

    def _tell(self, ctx: Context, event: Json) -> None:
        for handler in self._observers.get(event["type"], []) + self._observers.get("*", []):
            try:
                handler(ctx, event)
            except BaseException:
                traceback.print_exc()

    # Frames to the server.

    def _send(self, frame: Json) -> None:
        line = json.dumps(frame, allow_nan=False, separators=(",", ":")).encode() + b"\n"
        if 0 < self.hello["maxFrame"] < len(line):
            raise ValueError("a %s of %d bytes is too long" % (frame["type"], len(line)))
        with self._lock:
            try:
                while line:
                    line = line[os.write(self._output, line):]
            except OSError:
                pass  # The server is gone; the end of input follows.

    def _ask(self, frame: Json, holder: Json) -> queue.Queue[Json]:
        """Sends a frame; returns the queue of its answer. `holder` is the member for its id."""
        holder["id"] = str(next(self._ids))
        answer: queue.Queue[Json] = queue.Queue()
        self._waiting[holder["id"]] = answer
        try:
            self._send(frame)
        except BaseException:
            del self._waiting[holder["id"]]
            raise
        return answer


class Context:
    """Context of a handler."""

    def __init__(self, ext: Extension, id: Optional[str]) -> None:
        self.id, self._ext, self._cancelled = id, ext, threading.Event()
        self._revocable: Set[str] = set()  # actions that end when this is cancelled
        self.ui = UI(self)
        self.cwd, self.agent_directory = str(ext.hello.get("cwd")), str(ext.hello.get("agentDirectory"))
        self.dialect = str(ext.hello.get("dialect"))

    @property
    def cancelled(self) -> bool:
        """Whether the request was cancelled."""
        return self._cancelled.is_set()

    def sleep(self, seconds: float = 0.0) -> None:
        """Sleeps. Raises `Cancelled` as soon as the request is cancelled."""
        if self._cancelled.wait(seconds):
            raise Cancelled("cancelled")

    def update(self, so_far: Any) -> None:
        """Reports progress of a tool: the complete result so far. Raises `Cancelled` if the call was cancelled."""
        self.sleep()
        self._ext._send({"type": "tool_update", "id": self.id, "partialResult": _tool_result(so_far)})

    def send_message(
        self, custom_type: str, content: frames.MessageContent, display: bool = True, details: Any = None,
        deliver_as: Optional[frames.DeliverAs] = None, trigger_turn: Optional[bool] = None,
    ) -> None:
        """Adds a message of the extension to the conversation. `deliver_as`: `steer`, `followUp` or `nextTurn`."""
        message = _given(customType=custom_type, content=content, display=display, details=details)
        self._act("send_message", message=message, deliverAs=deliver_as, triggerTurn=trigger_turn)

    def send_user_message(self, content: frames.MessageContent, deliver_as: Optional[frames.DeliverAs] = None) -> None:
        """Sends a message on behalf of the user. During a run, `deliver_as` must be `steer` or `followUp`."""
        self._act("send_user_message", content=content, deliverAs=deliver_as)

    def append_entry(self, custom_type: str, data: Any = None) -> None:
        """Appends an entry to the session that is not sent to the model."""
        self._act("append_entry", customType=custom_type, data=data)

    def set_model(self, provider: str, model_id: str) -> None:
        """Selects the model."""
        self._act("set_model", provider=provider, modelId=model_id)

    def set_thinking_level(self, level: frames.ThinkingLevel) -> None:
        """Sets the thinking level."""
        self._act("set_thinking_level", level=level)

    def set_session_name(self, name: str) -> None:
        """Sets the name of the session."""
        self._act("set_session_name", name=name)

    def set_active_tools(self, names: Sequence[str]) -> None:
        """Selects the tools that the model may call from the next request on."""
        self._act("set_active_tools", names=names)

    def set_label(self, entry_id: str, label: Optional[str] = None) -> None:
        """Sets or removes the label of an entry."""
        self._act("set_label", entryId=entry_id, label=label)

    def set_leaf(self, entry_id: str) -> None:
        """Continues the session after another entry, at once, without a summary or hooks."""
        self._act("set_leaf", entryId=entry_id)

    def abort(self) -> None:
        """Aborts the current work."""
        self._act("abort")

    def shutdown(self) -> None:
        """Ends the server once the current work is done."""
        self._act("shutdown")

    # These may take long: one that is not done within `timeout` seconds is withdrawn, and raises RuntimeError.

    def compact(self, instructions: Optional[str] = None, timeout: Optional[float] = None) -> frames.CompactionResult:
        """Compacts the conversation."""
        done: frames.CompactionResult = self._await("compact", timeout, customInstructions=instructions)
        return done

    def wait_for_idle(self, timeout: Optional[float] = None) -> None:
        """Waits until no work is in progress. Not for hooks and tools, which the current work waits for."""
        self._await("wait_for_idle", timeout)

    def run_tool(self, name: str, arguments: Json, timeout: Optional[float] = None) -> frames.AgentToolResult:
        """Runs a built-in tool outside of the conversation. Raises RuntimeError with its text if it fails."""
        done = self._await("run_tool", timeout, toolName=name, arguments=arguments)
        made: frames.AgentToolResult = done["result"]
        if done["isError"]:
            raise RuntimeError("\n".join(part["text"] for part in made["content"] if part["type"] == "text"))
        return made

    def call_tool(self, name: str, arguments: Json, timeout: Optional[float] = None) -> frames.AgentToolResult:
        """Calls a tool of the session during a call of an own one, as the model would. Raises RuntimeError with its text if it fails."""
        done = self._await("call_tool", timeout, toolName=name, arguments=arguments)
        made: frames.AgentToolResult = done["result"]
        if done["isError"]:
            raise RuntimeError("\n".join(part["text"] for part in made["content"] if part["type"] == "text"))
        return made

    def complete(
        self, provider: str, model_id: str, messages: Sequence[frames.AgentMessage], *,
        system_prompt: Optional[str] = None, tools: Optional[Sequence[frames.ExtensionTool]] = None,
        level: Optional[frames.ThinkingLevel] = None, max_tokens: Optional[int] = None, timeout: Optional[float] = None,
    ) -> frames.AgentMessage:
        """Sends a request to a model outside of the conversation; returns its message."""
        done = self._await(
            "complete", timeout, provider=provider, modelId=model_id, messages=messages, systemPrompt=system_prompt,
            tools=tools, level=level, maxTokens=max_tokens,
        )
        message: frames.AgentMessage = done["message"]
        return message

    # These return whether the session changed; a hook, or an error of the host, may have prevented that.

    def new_session(
        self, parent_session: Optional[str] = None, entries: Optional[Sequence[frames.AgentMessage]] = None
    ) -> bool:
        """Starts another session, optionally with messages."""
        return self._leave("new_session", parentSession=parent_session, entries=entries)

    def fork(self, entry_id: str, position: Optional[frames.ForkPosition] = None) -> bool:
        """Starts a session with a part of this one: everything before a user message or, with `at`, up to an entry."""
        return self._leave("fork", entryId=entry_id, position=position)

    def switch_session(self, path: str) -> bool:
        """Opens another session by its file."""
        return self._leave("switch_session", sessionPath=path)

    def navigate_tree(
        self, target_id: str, *, summarize: Optional[bool] = None, instructions: Optional[str] = None,
        replace_instructions: Optional[bool] = None, label: Optional[str] = None,
    ) -> bool:
        """Continues the session on another branch."""
        return self._leave(
            "navigate_tree", targetId=target_id, summarize=summarize, customInstructions=instructions,
            replaceInstructions=replace_instructions, label=label,
        )

    def register_provider(self, name: str, config: Json) -> None:
        """Adds or changes a provider; the server sends the requests to its models."""
        self._act("register_provider", False, name=name, config=config)

    def unregister_provider(self, name: str) -> None:
        """Reverts what was registered for a provider."""
        self._act("unregister_provider", False, name=name)

    def register_virtual_model(
        self, provider: str, model_id: str, name: str, *, levels: Optional[Sequence[frames.ThinkingLevel]] = None,
        context_window: Optional[int] = None, max_tokens: Optional[int] = None,
        input: Optional[Sequence[frames.InputKind]] = None,
    ) -> None:
        """Adds or changes a model whose requests go to others: the hook `model_route` names the one for each request."""
        self._act(
            "register_virtual_model", False, provider=provider, modelId=model_id, name=name, thinkingLevels=levels,
            contextWindow=context_window, maxTokens=max_tokens, input=input,
        )

    def unregister_virtual_model(self, provider: str, model_id: str) -> None:
        """Removes a virtual model."""
        self._act("unregister_virtual_model", False, provider=provider, modelId=model_id)

    def state(self) -> frames.QueriedState:
        """State of the session."""
        state: frames.QueriedState = self._query("state")
        return state

    def entries(self, since: int = 0) -> frames.QueriedEntries:
        """Entries of the session, without the first `since`."""
        entries: frames.QueriedEntries = self._query("entries", since=since)
        return entries

    def models(self) -> frames.QueriedModels:
        """Known models."""
        models: frames.QueriedModels = self._query("models")
        return models

    def tools(self) -> List[frames.QueriedTool]:
        """Known tools."""
        tools: List[frames.QueriedTool] = self._query("tools")["tools"]
        return tools

    def commands(self) -> List[frames.SlashCommand]:
        """Known slash commands."""
        commands: List[frames.SlashCommand] = self._query("commands")["commands"]
        return commands

    def settings(self) -> Json:
        """Settings of the user and of the project, merged."""
        settings: Json = self._query("settings")
        return settings

    def system_prompt(self) -> frames.QueriedPrompt:
        """System prompt, and its parts."""
        prompt: frames.QueriedPrompt = self._query("system_prompt")
        return prompt

    def api_key(self, provider: str, model_id: Optional[str] = None) -> frames.QueriedKey:
        """Credential of a provider: key and headers."""
        key: frames.QueriedKey = self._query("api_key", provider=provider, modelId=model_id)
        return key

    def _act(self, kind: str, belongs: bool = True, **fields: Any) -> Any:
        frame = _given(type=kind, origin=self.id if belongs else None, **fields)
        return _data(kind, self._ext._ask(frame, frame).get())

    def _await(self, kind: str, timeout: Optional[float], **fields: Any) -> Any:
        frame = _given(type=kind, origin=self.id, **fields)
        answer = self._ext._ask(frame, frame)
        with self._ext._lock:
            self._revocable.add(frame["id"])
        if self.cancelled:
            self._withdraw(frame["id"])
        try:
            return _data(kind, answer.get(timeout=timeout))
        except queue.Empty:
            self._withdraw(frame["id"])
            return _data(kind, answer.get())
        finally:
            with self._ext._lock:
                self._revocable.discard(frame["id"])

    def _leave(self, kind: str, **fields: Any) -> bool:
        return not self._act(kind, **fields)["cancelled"]

    def _query(self, about: frames.QueryKind, **fields: Any) -> Any:
        frame = _given(type="query", about=about, **fields)
        answer = self._ext._ask(frame, frame).get()
        return _data("query", dict(answer, success="error" not in answer))

    def _cancel(self) -> None:
        self._cancelled.set()
        with self._ext._lock:
            actions = list(self._revocable)
        for action in actions:
            self._withdraw(action)

    def _withdraw(self, action: str) -> None:
        self._ext._send({"type": "withdraw", "id": action})


class UI:
    """User interface. A dialog that is dismissed, or not answered within `timeout` seconds, returns None, or False."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._dialogs: Set[str] = set()

    def select(self, title: str, options: Sequence[str], timeout: Optional[float] = None) -> Optional[str]:
        """Opens a dialog in which the user chooses one of several texts."""
        return self._dialog("select", timeout, title=title, options=options).get("value")

    def confirm(self, title: str, message: str, timeout: Optional[float] = None) -> bool:
        """Opens a dialog in which the user answers yes or no."""
        return bool(self._dialog("confirm", timeout, title=title, message=message).get("confirmed", False))

    def input(self, title: str, placeholder: Optional[str] = None, timeout: Optional[float] = None) -> Optional[str]:
        """Opens a dialog in which the user enters a line of text."""
        return self._dialog("input", timeout, title=title, placeholder=placeholder).get("value")

    def editor(self, title: str, prefill: Optional[str] = None) -> Optional[str]:
        """Opens a dialog in which the user writes or edits a longer text."""
        return self._dialog("editor", None, title=title, prefill=prefill).get("value")

    def cancel(self) -> None:
        """Withdraws the open dialogs of this context from another thread, as if they were dismissed."""
        with self._ctx._ext._lock:
            for id in list(self._dialogs):
                self._ctx._ext._send({"type": "ui_cancel", "id": id})

    def notify(self, message: str, kind: Optional[frames.NotifyType] = None) -> None:
        """Shows a message. `kind`: `info`, `warning` or `error`."""
        self._show("notify", message=message, notifyType=kind)

    def set_status(self, key: str, text: Optional[str] = None) -> None:
        """Sets or removes an entry of the status line."""
        self._show("setStatus", statusKey=key, statusText=text)

    def set_widget(
        self, key: str, lines: Optional[Sequence[str]] = None, placement: Optional[frames.WidgetPlacement] = None
    ) -> None:
        """Shows lines `aboveEditor` or `belowEditor`, or takes them away."""
        self._show("setWidget", widgetKey=key, widgetLines=lines, widgetPlacement=placement)

    def set_title(self, title: str) -> None:
        """Sets the title of the window."""
        self._show("setTitle", title=title)

    def set_editor_text(self, text: str) -> None:
        """Replaces what is in the place where prompts are entered."""
        self._show("set_editor_text", text=text)

    def _dialog(self, method: str, timeout: Optional[float], **fields: Any) -> Json:
        milliseconds = None if timeout is None else max(0, round(timeout * 1000))
        frame = self._frame(method, timeout=milliseconds, **fields)
        with self._ctx._ext._lock:  # Nothing is taken back before it was sent.
            answer = self._ctx._ext._ask(frame, frame["request"])
            self._dialogs.add(frame["request"]["id"])
        try:
            return answer.get()
        finally:
            self._dialogs.discard(frame["request"]["id"])

    def _show(self, method: str, **fields: Any) -> None:
        frame = self._frame(method, **fields)
        frame["request"]["id"] = str(next(self._ctx._ext._ids))
        self._ctx._ext._send(frame)

    def _frame(self, method: str, **fields: Any) -> Json:
        request = _given(type="extension_ui_request", method=method, **fields)
        return _given(type="ui", origin=self._ctx.id, request=request)


def _given(**fields: Any) -> Json:
    return {key: value for key, value in fields.items() if value is not None}


def _specs(added: Dict[str, Tuple[Any, Any]]) -> List[Any]:
    return [spec for _, spec in added.values()]


def _tool_result(given: Any) -> Any:
    return given if isinstance(given, dict) else result("" if given is None else str(given))


def _data(kind: str, response: Json) -> Any:
    """What an action gave."""
    if not response["success"]:
        raise RuntimeError(response.get("error", "%s failed" % kind))
    return response.get("data")


def _stream(ctx: Context, pieces: Iterable[Union[str, Json]], model: Json) -> None:
    """Sends what a model says; ends it where the pieces have not."""
    def send(event: Json) -> None:
        ctx.sleep()
        ctx._ext._send({"type": "model_event", "id": ctx.id, "event": event})

    text, has_ended = "", False
    for piece in pieces:
        if isinstance(piece, dict):
            has_ended = piece["type"] in ("done", "error")
            send(piece)
            continue
        if not text:
            send({"type": "text_start", "contentIndex": 0})
        text += piece
        send({"type": "text_delta", "contentIndex": 0, "delta": piece})
    if has_ended:
        return
    content = [{"type": "text", "text": text}] if text else []
    if text:
        send({"type": "text_end", "contentIndex": 0, "content": text})
    none = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
    usage = dict(none, totalTokens=0, cost=dict(none, total=0))
    message = {
        "role": "assistant", "content": content, "api": model["api"], "provider": model["provider"], "model": model["id"],
        "usage": usage, "stopReason": "stop", "timestamp": int(time.time() * 1000),
    }
    send({"type": "done", "reason": "stop", "message": message})
