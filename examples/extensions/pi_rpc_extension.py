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

Every command, tool call and hook runs in a thread of its own, so one that waits for the user holds up nothing else.
Observers (`on`) run one after another. An exception is told to the host, or to the model if a tool raised it; in the hook
`tool_call` it blocks the call. `print` goes to stderr: stdout belongs to the protocol, which `pi-rpc schema` prints
(`FromExtension`, `ToExtension`).
"""

import itertools
import json
import os
import queue
import sys
import threading
import traceback


class Cancelled(Exception):
    """The work is not wanted any more."""


def block(reason):
    """For the hook `tool_call`: the tool does not run, and the model is told why."""
    return {"block": True, "reason": reason}


def cancel():
    """For the hooks `session_before_*`: it does not happen."""
    return {"cancel": True}


def result(text, details=None):
    """The result of a tool: a text for the model, and data for the host."""
    return _given(content=[{"type": "text", "text": text}], details=details)


class Extension:
    """What an extension adds, and its connection to the server."""

    def __init__(self):
        self._commands, self._tools, self._hooks, self._observers = {}, {}, {}, {}
        self._ids, self._lock, self._events = itertools.count(1), threading.RLock(), queue.Queue()
        self._open = {}  # requests of the server that go on, by id
        self._waiting = {}  # our requests that are not answered, by id
        self.hello = {"maxFrame": 0}
        self._started = "PI_RPC_EXTENSION" in os.environ
        if self._started:
            # Neither a stray print nor a child process may reach the pipes.
            self._input, self._output = os.dup(0), os.dup(1)
            with open(os.devnull) as nothing:
                os.dup2(nothing.fileno(), 0)
            os.dup2(2, 1)
            sys.stdout.reconfigure(line_buffering=True)

    def command(self, name, description=""):
        """A slash command: `handler(ctx, arguments)` gets what was written behind it."""
        return self._adder(self._commands, name, {"name": name, "description": description})

    def tool(self, name, description, parameters=None, label=None):
        """A tool for the model: `handler(ctx, arguments)` gets a dict that fits `parameters`, a JSON Schema, and returns a
        text, or what `result` makes."""
        parameters = parameters or {"type": "object"}
        return self._adder(self._tools, name, _given(name=name, description=description, parameters=parameters, label=label))

    def hook(self, name):
        """A say in what happens: `handler(ctx, event)` returns a dict, or None for no objection."""
        return self._adder(self._hooks, name, name)

    def on(self, *events):
        """An observer of events by their types, `*` for all: `handler(ctx, event)`."""
        def add(handler):
            for event in events:
                self._observers.setdefault(event, []).append(handler)
            return handler
        return add

    def run(self):
        """Serves until the server is done with us."""
        if not self._started:
            sys.exit("This is an extension. Start it with: pi-rpc serve -e %s" % sys.argv[0])
        threading.Thread(target=self._observe, daemon=True).start()
        with os.fdopen(self._input, "rb") as frames:
            for line in frames:
                frame = json.loads(line)
                getattr(self, "_on_" + frame["type"], lambda frame: None)(frame)

    def _adder(self, where, name, spec):
        def add(handler):
            if name in where:
                raise ValueError("%s is there twice" % name)
            where[name] = (handler, spec)
            return handler
        return add

    # What the server says.

    def _on_hello(self, frame):
        self.hello = frame
        added = {"commands": self._commands, "tools": self._tools, "hooks": self._hooks}
        lists = {key: [spec for _, spec in specs.values()] for key, specs in added.items()}
        self._send(dict(lists, type="register", events=list(self._observers)))

    def _on_command(self, frame):
        self._send({"type": "accept", "id": frame["id"]})
        self._serve(frame, self._commands[frame["name"]], frame["arguments"], lambda _: {"type": "done"})

    def _on_hook(self, frame):
        self._serve(frame, self._hooks[frame["hook"]["type"]], frame["hook"], lambda said: _given(type="done", result=said))

    def _on_tool_call(self, frame):
        done = lambda said: {"type": "tool_result", "result": _tool_result(said)}
        self._serve(frame, self._tools[frame["toolName"]], frame["arguments"], done)

    def _on_cancel(self, frame):
        if frame["id"] in self._open:
            self._open[frame["id"]]._cancelled.set()

    def _on_event(self, frame):
        self._events.put(frame["event"])

    def _on_ui_answer(self, frame):
        self._on_response(frame["response"])

    def _on_response(self, frame):
        self._waiting.pop(frame["id"], queue.Queue()).put(frame)

    def _serve(self, frame, added, argument, done):
        ctx = self._open[frame["id"]] = Context(self, frame["id"])

        def work():
            try:
                self._send(dict(done(added[0](ctx, argument)), id=ctx.id))
            except BaseException as error:  # SystemExit, too: somebody waits for the end.
                if not isinstance(error, Cancelled):
                    traceback.print_exc()
                self._send({"type": "failed", "id": ctx.id, "error": str(error) or type(error).__name__})
            finally:
                # Whoever was told of the end may have begun another one under the same id.
                if self._open.get(ctx.id) is ctx:
                    del self._open[ctx.id]
        threading.Thread(target=work, daemon=True).start()

    def _observe(self):
        while True:
            event = self._events.get()
            for handler in self._observers.get(event["type"], []) + self._observers.get("*", []):
                try:
                    handler(Context(self, None), event)
                except BaseException:
                    traceback.print_exc()

    # What we say.

    def _send(self, frame):
        line = json.dumps(frame, allow_nan=False, separators=(",", ":")).encode() + b"\n"
        if 0 < self.hello["maxFrame"] < len(line):
            raise ValueError("a %s of %d bytes is too long" % (frame["type"], len(line)))
        with self._lock:
            try:
                while line:
                    line = line[os.write(self._output, line):]
            except OSError:
                pass  # The server is gone, and the end of input will say so.

    def _ask(self, frame, holder):
        """Sends a frame; gives what its answer will be in. `holder` is where its id belongs."""
        holder["id"] = str(next(self._ids))
        answer = self._waiting[holder["id"]] = queue.Queue()
        try:
            self._send(frame)
        except BaseException:
            del self._waiting[holder["id"]]
            raise
        return answer


class Context:
    """What a handler works with."""

    def __init__(self, ext, id):
        self.id, self._ext, self._cancelled = id, ext, threading.Event()
        self.ui = UI(self)
        self.cwd, self.agent_directory = ext.hello.get("cwd"), ext.hello.get("agentDirectory")
        self.dialect = ext.hello.get("dialect")

    @property
    def cancelled(self):
        """Whether the work is not wanted any more."""
        return self._cancelled.is_set()

    def sleep(self, seconds=0.0):
        """Waits. Raises `Cancelled` as soon as the work is not wanted any more."""
        if self._cancelled.wait(seconds):
            raise Cancelled("cancelled")

    def update(self, so_far):
        """For a tool: shows the result so far, all of it. Raises `Cancelled` when the work is not wanted any more."""
        self.sleep()
        self._ext._send({"type": "tool_update", "id": self.id, "partialResult": _tool_result(so_far)})

    def send_message(self, custom_type, content, display=True, details=None, deliver_as=None, trigger_turn=None):
        """Adds a message of yours to the conversation. `deliver_as`: `steer`, `followUp` or `nextTurn`."""
        message = _given(customType=custom_type, content=content, display=display, details=details)
        self._act("send_message", message=message, deliverAs=deliver_as, triggerTurn=trigger_turn)

    def send_user_message(self, content, deliver_as=None):
        """Says something for the user. In a run `deliver_as` must be `steer` or `followUp`."""
        self._act("send_user_message", content=content, deliverAs=deliver_as)

    def append_entry(self, custom_type, data=None):
        """Keeps something in the session that the model does not see."""
        self._act("append_entry", customType=custom_type, data=data)

    def set_model(self, provider, model_id):
        """Chooses the model."""
        self._act("set_model", provider=provider, modelId=model_id)

    def set_thinking_level(self, level):
        """Chooses the thinking level."""
        self._act("set_thinking_level", level=level)

    def set_session_name(self, name):
        """Names the session."""
        self._act("set_session_name", name=name)

    def shutdown(self):
        """Asks the server to end when what goes on is done."""
        self._act("shutdown")

    def _act(self, kind, **fields):
        frame = _given(type=kind, origin=self.id, **fields)
        response = self._ext._ask(frame, frame).get()
        if not response["success"]:
            raise RuntimeError(response.get("error", "%s failed" % kind))


class UI:
    """The user interface. A dialog that is dismissed, or not answered within `timeout` seconds, gives None, or False."""

    def __init__(self, ctx):
        self._ctx, self._dialogs = ctx, set()

    def select(self, title, options, timeout=None):
        """Has the user choose one of several texts."""
        return self._dialog("select", timeout, title=title, options=options).get("value")

    def confirm(self, title, message, timeout=None):
        """Asks yes or no."""
        return self._dialog("confirm", timeout, title=title, message=message).get("confirmed", False)

    def input(self, title, placeholder=None, timeout=None):
        """Asks for a line."""
        return self._dialog("input", timeout, title=title, placeholder=placeholder).get("value")

    def editor(self, title, prefill=None):
        """Asks for a longer text."""
        return self._dialog("editor", None, title=title, prefill=prefill).get("value")

    def cancel(self):
        """From another thread: takes back the dialogs that are open here, as if they were dismissed."""
        with self._ctx._ext._lock:
            for id in list(self._dialogs):
                self._ctx._ext._send({"type": "ui_cancel", "id": id})

    def notify(self, message, kind=None):
        """Shows a message. `kind`: `info`, `warning` or `error`."""
        self._show("notify", message=message, notifyType=kind)

    def set_status(self, key, text=None):
        """Sets an entry of the status line, or takes it away."""
        self._show("setStatus", statusKey=key, statusText=text)

    def set_widget(self, key, lines=None, placement=None):
        """Shows lines `aboveEditor` or `belowEditor`, or takes them away."""
        self._show("setWidget", widgetKey=key, widgetLines=lines, widgetPlacement=placement)

    def set_title(self, title):
        """Sets the title of the window."""
        self._show("setTitle", title=title)

    def set_editor_text(self, text):
        """Replaces what is in the place where prompts are entered."""
        self._show("set_editor_text", text=text)

    def _dialog(self, method, timeout, **fields):
        milliseconds = None if timeout is None else max(0, round(timeout * 1000))
        frame = self._frame(method, timeout=milliseconds, **fields)
        with self._ctx._ext._lock:  # Nothing is taken back before it was sent.
            answer = self._ctx._ext._ask(frame, frame["request"])
            self._dialogs.add(frame["request"]["id"])
        try:
            return answer.get()
        finally:
            self._dialogs.discard(frame["request"]["id"])

    def _show(self, method, **fields):
        frame = self._frame(method, **fields)
        frame["request"]["id"] = str(next(self._ctx._ext._ids))
        self._ctx._ext._send(frame)

    def _frame(self, method, **fields):
        request = _given(type="extension_ui_request", method=method, **fields)
        return _given(type="ui", origin=self._ctx.id, request=request)


def _given(**fields):
    return {key: value for key, value in fields.items() if value is not None}


def _tool_result(said):
    return said if isinstance(said, dict) else result("" if said is None else str(said))
