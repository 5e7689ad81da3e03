"""Plays the conversations of `sdk/conversations`, with and without asyncio.

The steps are written once: what the synchronous client does, it does in a thread.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import signal
import tempfile
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from compare import Comparison
from generate import identifier, module, snake
from pi_rpc_client.aio import AsyncClientBase
from pi_rpc_client import CallError, ClosedError, HostTool, RefusedError, ToolCall

Json = dict[str, Any]
SDK = Path(__file__).parents[2]
PROGRAM = os.environ.get("PI_RPC_BIN", str(SDK.parent / "target/debug/pi-rpc"))
PATIENCE = 240.0 * float(os.environ.get("PI_RPC_SLOWNESS", "1"))
"""Seconds that any step may take."""


class Player:
    """One conversation with one server."""

    def __init__(self, conversation: Json, dialect: str, seed: int, asynchronous: bool) -> None:
        self.conversation, self.dialect, self.seed, self.asynchronous = conversation, dialect, seed, asynchronous
        self.folder = tempfile.TemporaryDirectory()
        self.answers: Json = {}
        self.asked: list[Json] = []
        self.called: list[Json] = []
        self.cancelled: list[str] = []
        self.started: dict[str, list[asyncio.Task[Any]]] = {}

    async def play(self) -> None:
        home = Path(self.folder.name)
        for name, text in self.conversation.get("files", {}).items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(text)
        package = importlib.import_module(f"pi_rpc_client.{module(self.dialect)}")
        client = package.AsyncClient if self.asynchronous else package.Client
        self.client: Any = client(
            self.command(),
            cwd=str(home),
            env={"PATH": os.environ["PATH"], "HOME": str(home)},
            grace=PATIENCE,
            on_dialog=self.on_dialog if self.asynchronous else self.on_dialog_now,
        )
        await self.do("start")
        try:
            self.events: Any = self.client.events() if self.asynchronous else await self.do("events")
            self.comparison = Comparison(self.client if self.asynchronous else self.client._client)
            self.comparison.begin(None if self.asynchronous else self.client._loop)
            for step in self.conversation["steps"]:
                try:
                    await asyncio.wait_for(self.step(step), PATIENCE)
                except Exception as error:
                    raise AssertionError(f"{json.dumps(step)}: {type(error).__name__}: {error}") from error
            if not any("close" in step or "kill" in step for step in self.conversation["steps"]):
                await self.close(0)
            assert not self.comparison.wrong, self.comparison.wrong
        finally:
            await self.do("close")
            for task in [task for tasks in self.started.values() for task in tasks]:
                task.cancel()
            self.folder.cleanup()

    def command(self) -> list[str]:
        command = [PROGRAM, "serve", "--dialect", self.dialect, "--no-session", "--model", "scripted/demo"]
        if "script" in self.conversation:
            script = Path(self.folder.name, "script.json")
            script.write_text(json.dumps(self.conversation["script"]))
            command[-1] = f"scripted/{script}"
        if hazards := self.conversation.get("hazards", "all"):
            command += ["--hazard", hazards, "--seed", str(self.seed)]
        return [*command, *self.conversation.get("options", [])]

    async def do(self, method: str, *given: Any, **named: Any) -> Any:
        """What a method of the client returns."""
        function = getattr(self.client, method)
        return await (function(*given, **named) if self.asynchronous else asyncio.to_thread(function, *given, **named))

    def sent(self) -> int:
        """How many commands were sent by steps."""
        client: AsyncClientBase[Any, Any] = self.client if self.asynchronous else self.client._client
        return client._connection.requests - self.comparison.asked

    async def step(self, step: Json) -> None:
        kind = next(name for name in step if hasattr(self, f"step_{name}"))
        await getattr(self, f"step_{kind}")(step)

    async def step_call(self, step: Json) -> None:
        sent = self.sent()
        tasks = [asyncio.create_task(self.call(step["call"], step)) for _ in range(step.get("times", 1))]
        if "as" in step:
            self.started[step["as"]] = tasks
            await until(lambda: self.sent() == sent + len(tasks))  # Before what comes next.
        else:
            await self.ends(tasks, step)

    async def step_await(self, step: Json) -> None:
        await self.ends(self.started.pop(step["await"]), step)

    async def step_steer(self, step: Json) -> None:
        await self.do("steer", step["steer"])

    async def step_follow_up(self, step: Json) -> None:
        await self.do("follow_up", step["follow_up"])

    async def step_prompt(self, step: Json) -> None:
        said = step["prompt"]
        message = said if isinstance(said, str) else said["repeat"] * said["times"]
        named = {name: step[name] for name in ("images", "anyway") if name in step}
        task = asyncio.create_task(self.do("prompt", message, **named))
        if "fails" in step:
            await self.ends([task], step)
        else:
            answer = await task
            assert "says" not in step or answer.text == step["says"], f"the answer is {answer.text!r}"

    async def step_idle(self, step: Json) -> None:
        await self.do("wait_idle")

    async def step_event(self, step: Json) -> None:
        while True:
            event = await (anext(self.events) if self.asynchronous else asyncio.to_thread(self.events.next))
            if event.type == step["event"] and fits(step.get("having", {}), dumped(event)):
                return

    async def step_refused(self, step: Json) -> None:
        try:
            await self.call(step["refused"], step)
        except RefusedError:
            return
        raise AssertionError("it was sent")

    async def step_dialogs(self, step: Json) -> None:
        self.answers = step["dialogs"]

    async def step_asked(self, step: Json) -> None:
        await until(lambda: any(fits(step["asked"], asked) for asked in self.asked))

    async def step_host_tools(self, step: Json) -> None:
        tools = [
            HostTool(it["name"], it["description"], it["parameters"], self.tool(it["answers"]), it.get("label"))
            for it in step["host_tools"]
        ]
        await self.do("lend_tools", tools)

    async def step_called(self, step: Json) -> None:
        await until(lambda: any(fits(step["called"], called) for called in self.called))

    async def step_cancelled(self, step: Json) -> None:
        await until(lambda: step["cancelled"] in self.cancelled)

    async def step_kill(self, step: Json) -> None:
        os.kill(self.client.pid, signal.SIGKILL)
        for task in [task for tasks in self.started.values() for task in tasks]:
            await closed(task)
        await closed(self.do("get_state"))
        assert await self.ended()
        await self.close(-signal.SIGKILL)

    async def step_close(self, step: Json) -> None:
        await self.close(step["close"]["status"])

    async def close(self, status: int) -> None:
        pid = self.client.pid
        ended = await self.do("close")
        assert ended == status, f"the status is {ended}"
        await gone(pid)
        if status >= 0:  # Tools run in groups of their own; who is killed cannot end them.
            await asyncio.wait_for(until(lambda: not at_home(self.folder.name)), 10)

    async def ended(self) -> bool:
        """The stream of events ends."""
        if self.asynchronous:
            return [event async for event in self.events] is not None
        return await asyncio.to_thread(list, self.events) is not None

    async def call(self, command: str, step: Json) -> Any:
        fields = {identifier(snake(name)): value for name, value in step.get("with", {}).items()}
        name = identifier(command)
        method = f"start_{name}" if hasattr(self.client, f"start_{name}") else name
        return await self.do(method, **fields, **({"anyway": True} if step.get("anyway") else {}))

    async def ends(self, tasks: list[asyncio.Task[Any]], step: Json) -> None:
        """The calls end as a step says."""
        for task in tasks:
            try:
                result = await task
            except CallError as error:
                expected = step.get("fails")
                if expected is None:
                    raise
                contains = (
                    expected["contains"] in error.error if isinstance(expected, dict) else expected == error.error
                )
                assert contains, f"the error is {error.error!r}"
            else:
                assert "fails" not in step, "it did not fail"
                assert "returns" not in step or fits(step["returns"], dumped(result)), f"it returns {dumped(result)}"

    async def on_dialog(self, dialog: BaseModel) -> Any:
        return self.on_dialog_now(dialog)

    def on_dialog_now(self, dialog: BaseModel) -> Any:
        asked = dumped(dialog)
        self.asked.append(asked)
        answer = self.answers.get(asked["method"], {})
        return answer.get("value", answer.get("confirmed"))

    def tool(self, answers: list[Json]) -> Any:
        """A tool that answers so."""

        def begin(call: ToolCall) -> Json:
            self.called.append({"name": call.tool, "arguments": dict(call.arguments)})
            for answer in answers[:-1]:
                call.update(answer["update"])
            return answers[-1]

        def end(answer: Json) -> str:
            if "error" in answer:
                raise RuntimeError(answer["error"])
            return str(answer["result"])

        async def run(call: ToolCall) -> str:
            answer = begin(call)
            try:
                while "hang" in answer:
                    await asyncio.sleep(3600)
            except asyncio.CancelledError:
                self.cancelled.append(call.tool)
                raise
            return end(answer)

        def run_now(call: ToolCall) -> str:
            answer = begin(call)
            if "hang" in answer:
                call.cancelled.wait()
                self.cancelled.append(call.tool)
                return ""
            return end(answer)

        return run if self.asynchronous else run_now


def at_home(home: str) -> list[str]:
    """The processes whose home it is."""
    found = []
    for file in Path("/proc").glob("[0-9]*/environ"):
        try:
            variables = file.read_bytes().split(b"\0")
        except OSError:
            continue
        if f"HOME={home}".encode() in variables:
            found.append(file.parent.name)
    return found


def members(group: int) -> list[str]:
    """The processes of a group that are not dead."""
    found = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            _, _, stat = file.read_text().rpartition(")")
        except OSError:
            continue
        state, _, of, *_ = stat.split()
        if int(of) == group and state not in "ZX":
            found.append(file.parent.name)
    return found


def fits(expected: Any, found: Any) -> bool:
    """An object has at least these members; everything else is equal."""
    if isinstance(expected, dict) and isinstance(found, dict):
        return all(name in found and fits(value, found[name]) for name, value in expected.items())
    return bool(expected == found)


def dumped(value: Any) -> Any:
    """What the SDK gives, as it was on the wire."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return to_jsonable_python(value)


async def gone(group: int) -> None:
    """The process is gone, not even a zombie, and whatever of its group is left is dead."""
    assert not Path(f"/proc/{group}").exists(), f"{group} is still there"
    await asyncio.wait_for(until(lambda: not members(group)), 10)


async def until(holds: Any) -> None:
    while not holds():
        await asyncio.sleep(0.01)


async def closed(awaitable: Any) -> None:
    try:
        await awaitable
    except ClosedError:
        return
    raise AssertionError("it did not fail")
