"""What conversations with a good server cannot show: servers that are slow, mute, deaf or dead."""

from __future__ import annotations

import asyncio
import faulthandler
import json
import os
import sys
import tempfile
import threading
import time
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

from player import PROGRAM, gone, members, until
from pi_rpc_client import CallError, CallTimeoutError, ClosedError, HostTool, LaggingError, RpcError, ToolCall
from pi_rpc_client.omp import AsyncClient as Omp, Client as OmpNow
from pi_rpc_client.pi import AsyncClient, Client, Dialog
from pi_rpc_client.pi_1 import AsyncClient as Pi1
from pi_rpc_client.xcsh import AsyncClient as Xcsh


def setUpModule() -> None:
    faulthandler.dump_traceback_later(180, exit=True)  # A test that hangs has failed.


def tearDownModule() -> None:
    faulthandler.cancel_dump_traceback_later()


BEGINNING = """
import json, os, signal, sys, time
def say(**frame): sys.stdout.write(json.dumps(frame) + "\\n"); sys.stdout.flush()
def answer(command, **more): say(id=command["id"], type="response", command=command["type"], success=True, **more)
def commands():
    for line in sys.stdin: yield json.loads(line)
"""


def server(source: str) -> list[str]:
    """A server in Python."""
    return [sys.executable, "-S", "-E", "-c", BEGINNING + source]


OFFER = """
say(type="ready", protocolVersion=1, supportedProtocolVersions=[1, 2], maxFrameBytes=1048576, maxReassembledFrameBytes=67108864)
STATE = {"isStreaming": False, "isCompacting": False}
def served():
    for command in commands():
        if command["type"] == "negotiate_protocol": answer(command, data={"protocolVersion": command["protocolVersion"]})
        elif command["type"] == "get_state": answer(command, data=STATE)
        else: yield command
"""

FLOOD = """
command = next(commands())
answer(command)
progress = os.open("said", os.O_CREAT | os.O_WRONLY)
for number in range(2000):
    say(type="flood", number=number, text="x" * 1000)
    os.pwrite(progress, b"%4d" % number, 0)
for command in commands(): answer(command)
"""


class Versions(unittest.IsolatedAsyncioTestCase):
    """Two versions of a protocol, and what only the dialect that has them reports."""

    text = "\u00e9\U0001f600\u2028" * 150_000

    def real(self) -> list[str]:
        """A real server."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        script = Path(folder.name, "script.json")
        script.write_text(json.dumps({"turns": [{"repeat": True, "say": [{"text": "Read."}]}]}))
        return [PROGRAM, "serve", "--dialect", "omp", "--no-session", "--model", f"scripted/{script}"]

    async def test_large_messages_come_in_pages(self) -> None:
        async with Omp(self.real()) as client:
            await client.set_auto_compaction(False)
            self.assertEqual((await client.prompt(self.text)).text, "Read.")
            messages = (await client.get_messages()).messages
            dumped = json.dumps([message.model_dump() for message in messages], ensure_ascii=False)
            self.assertIn(self.text, dumped)
            self.assertEqual([message async for message in client.read_messages(page_size=1)], messages)
        with OmpNow(self.real()) as now:
            now.set_auto_compaction(False)
            now.prompt(self.text)
            self.assertEqual(list(now.read_messages(page_size=1)), now.get_messages().messages)

    async def test_long_response_is_error_in_first_version(self) -> None:
        async with Omp(self.real(), protocol_version=1) as client:
            await client.set_auto_compaction(False)
            await client.prompt(self.text)
            with self.assertRaises(CallError) as failed:
                await client.get_messages()
        self.assertEqual(failed.exception.error, "RPC response exceeded the transport limit")

    async def test_error_has_code_that_server_names(self) -> None:
        refuse = """
for it in served(): say(id=it["id"], type="response", command=it["type"], success=False, error="Not now", code="session_busy")
"""
        async with Omp(server(OFFER + refuse)) as client:
            with self.assertRaises(CallError) as failed:
                await client.get_messages_page()
        self.assertEqual((failed.exception.error, failed.exception.code), ("Not now", "session_busy"))

    async def test_prompt_result_ends_command_of_extension(self) -> None:
        command = """
for it in served():
    answer(it)
    if it.get("message") == "Go": say(type="agent_start")
    elif it["type"] == "prompt":
        say(type="command_output", text="half")
        time.sleep(0.2)
        say(type="prompt_result", id=it["id"], agentInvoked=False)
"""
        async with Omp(server(OFFER + command)) as client:
            events = client.events()
            self.assertEqual((await client.prompt("/count")).text, "")
            await client.start_prompt("Go")
            await client.prompt("/count", streaming_behavior="steer")
            self.assertEqual(client.state, "streaming.between")
        types = [event.type async for event in events]
        self.assertEqual(types.count("prompt_result"), 2)

    async def test_response_ends_built_in_command(self) -> None:
        command = 'for it in served(): answer(it, data={"agentInvoked": False})'
        async with Omp(server(OFFER + command)) as client:
            self.assertEqual((await client.prompt("/usage")).text, "")
            self.assertEqual(client.state, "idle")


class Endings(unittest.IsolatedAsyncioTestCase):
    async def test_missing_program_is_reported(self) -> None:
        with self.assertRaisesRegex(ClosedError, "no-such-program cannot be started"):
            await AsyncClient(["no-such-program"]).start()
        with self.assertRaisesRegex(ClosedError, "no-such-program cannot be started"):
            Client(["no-such-program"]).start()

    async def test_nothing_can_be_asked_before_the_start(self) -> None:
        with self.assertRaisesRegex(ClosedError, "not started"):
            await AsyncClient(["true"]).abort()
        with self.assertRaisesRegex(ClosedError, "not started"):
            Client(["true"]).abort()

    async def test_failed_server_is_reported_with_stderr(self) -> None:
        async with AsyncClient(server("next(commands()); sys.exit('no disk')")) as client:
            with self.assertRaises(ClosedError) as closed:
                await client.get_state()
            self.assertEqual((closed.exception.status, closed.exception.stderr), (1, "no disk"))
            with self.assertRaises(ClosedError):
                await client.get_state()
            self.assertEqual([event async for event in client.events()], [])
            self.assertEqual(await client.close(), 1)

    async def test_server_not_ready_in_time_is_ended(self) -> None:
        client = Xcsh(server("time.sleep(60)"), start_timeout=0.2)
        with self.assertRaisesRegex(CallTimeoutError, "not ready within 0.2 s"):
            await client.start()
        await gone(client.pid)

    async def test_server_exit_before_ready_is_reported(self) -> None:
        with self.assertRaisesRegex(ClosedError, "no key"):
            await Xcsh(server("sys.exit('no key')")).start()

    async def test_unresponsive_server_is_killed_with_children(self) -> None:
        deaf = """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0: time.sleep(60)
for command in commands(): answer(command)
time.sleep(60)
"""
        client = AsyncClient(server(deaf), grace=0.1)
        await client.start()
        await client.abort()
        self.assertEqual(await client.close(), -9)
        await gone(client.pid)

    async def test_child_that_outlives_server_is_ended(self) -> None:
        async with AsyncClient(server("if os.fork() == 0: time.sleep(60)\nnext(commands())")) as client:
            with self.assertRaises(ClosedError):
                await client.abort()
        await gone(client.pid)

    async def test_server_that_closes_pipe_is_ended(self) -> None:
        with patch("pi_rpc_client.aio.LEAVING", 0.1):
            for pipe in ("sys.stdout.flush(); os.close(1)", "os.close(0)"):
                async with AsyncClient(server(f"next(commands()); {pipe}; time.sleep(60)")) as client:
                    with self.assertRaises(ClosedError) as closed:
                        await client._call("abort", {}, 5)
                    self.assertEqual(closed.exception.status, -15)
                await gone(client.pid)

    async def test_unclosed_client_ends_with_program(self) -> None:
        forgets = """
import os
from pi_rpc_client.pi import Client
client = Client(["sh", "-c", "trap '' TERM; while :; do sleep 1; done"])
client.start()
print(client.pid, flush=True)
if os.fork() == 0: raise SystemExit
os.wait()
os.kill(client.pid, 0)
"""
        program = await asyncio.create_subprocess_exec(sys.executable, "-c", forgets, stdout=asyncio.subprocess.PIPE)
        said, _ = await asyncio.wait_for(program.communicate(), 20)
        self.assertEqual(program.returncode, 0)
        await asyncio.wait_for(until(lambda: not members(int(said))), 10)

    async def test_detached_pipe_holder_is_not_awaited(self) -> None:
        leaves = """
gone = os.fork()
if gone == 0: os.setsid(); time.sleep(60)
for command in commands(): answer(command, data={"output": str(gone), "cancelled": False, "truncated": False})
"""
        async with AsyncClient(server(leaves)) as client:
            left = int((await client.bash("x")).output)
            self.addCleanup(os.kill, left, 9)
            self.assertEqual(await client.close(), 0)

    async def test_server_with_long_last_output_is_closed(self) -> None:
        async with AsyncClient(server("list(commands()); say(text='x' * 10_000_000)")) as client:
            events = client.events()
            self.assertEqual(await client.close(), 0)
            self.assertEqual([event.type async for event in events], ["unknown"])

    async def test_sync_client_answers_after_its_end(self) -> None:
        def work() -> None:
            with Client(server("for command in commands(): say(type='agent_start'); answer(command)")) as client:
                events = client.events()
                client.abort()
            self.assertEqual((client.close(), client.state), (0, "streaming.between"))
            with self.assertRaises(ClosedError):
                client.abort()
            self.assertEqual([event.type for event in events], ["agent_start"])

        await asyncio.to_thread(work)


class Waiting(unittest.IsolatedAsyncioTestCase):
    async def test_unanswered_call_times_out(self) -> None:
        mute = "for command in commands():\n    if command['type'] == 'abort': answer(command)"
        async with AsyncClient(server(mute), timeout=0.1) as client:
            with self.assertRaisesRegex(CallTimeoutError, "get_state was not answered within 0.1 s"):
                await client.get_state()
            with self.assertRaisesRegex(CallTimeoutError, "prompt was not answered within 0.1 s"):
                await client.prompt("Hello")
            with self.assertRaisesRegex(TimeoutError, "the run of prompt has not ended within 0.05 s"):
                await client.prompt("Hello", timeout=0.05)
            with self.assertRaises(TimeoutError):
                await client.wait_idle(timeout=0.2)
            await client.abort()

    async def test_answers_may_come_in_any_order(self) -> None:
        backwards = """
for command in reversed([command for _, command in zip(range(10), commands())]):
    answer(command, data={"output": command["command"], "cancelled": False, "truncated": False})
"""
        async with AsyncClient(server(backwards)) as client:
            results = await asyncio.gather(*(client.bash(f"echo {number}") for number in range(10)))
            self.assertEqual([result.output for result in results], [f"echo {number}" for number in range(10)])

    async def test_error_without_id_fails_oldest_matching_call(self) -> None:
        nameless = """
asked = [command for _, command in zip(range(3), commands())]
for command in asked[1:]: say(type="response", command="abort", success=False, error="number " + command["id"])
answer(asked[0], data={"output": "", "cancelled": False, "truncated": False})
for command in commands(): answer(command)
"""
        async with AsyncClient(server(nameless)) as client:
            calls = [client.bash("x"), client.abort(), client.abort()]
            bash, *aborted = await asyncio.gather(*calls, return_exceptions=True)
            self.assertEqual([str(error) for error in aborted], ["abort: number 2", "abort: number 3"])
            self.assertNotIsInstance(bash, Exception)

    async def test_unnamed_error_fails_newest_short_call(self) -> None:
        nameless = """
asked = [command for _, command in zip(range(5), commands())]
for number in range(3): say(type="response", command="parse", success=False, error=str(number))
for number in (0, 3): answer(asked[number], data=number)
"""
        async with AsyncClient(server(nameless)) as client:
            names = ["bash", "compact", "new_session", "bash", "get_state"]
            said = await asyncio.gather(*(client.call(name) for name in names), return_exceptions=True)
            self.assertEqual([str(it) for it in said], ["0", "parse: 1", "parse: 0", "3", "parse: 2"])

    async def test_non_string_id_matches_no_call(self) -> None:
        strange = """
command = next(commands())
for id in ([1], {}, 1, True): say(type="response", id=id, command="abort", success=False, error="strange")
answer(command)
"""
        async with AsyncClient(server(strange)) as client:
            events = client.events()
            await client.abort()
            self.assertEqual([(await anext(events)).type for _ in range(4)], ["unknown"] * 4)

    async def test_a_call_may_be_given_up(self) -> None:
        async with AsyncClient(
            server("for command in commands(): command['type'] == 'abort' and answer(command)")
        ) as client:
            call = asyncio.create_task(client.get_state())
            await client.abort()
            call.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await call
            await client.abort()

    async def test_many_threads_may_share_a_client(self) -> None:
        def work() -> None:
            with Client(server("for command in commands(): answer(command)")) as client:
                threads = [threading.Thread(target=client.abort) for _ in range(20)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()

        await asyncio.to_thread(work)


RUN = """
ASSISTANT = {"role": "assistant", "api": "a", "provider": "p", "model": "m", "timestamp": 0, "usage": dict(input=0, output=0,
    cacheRead=0, cacheWrite=0, totalTokens=0, cost=dict(input=0, output=0, cacheRead=0, cacheWrite=0, total=0))}
def run(text, stop="stop"):
    message = {**ASSISTANT, "content": [{"type": "text", "text": text}], "stopReason": stop}
    for frame in ({"type": "agent_start"}, {"type": "turn_start"}, {"type": "message_start", "message": message},
                  {"type": "message_end", "message": message}, {"type": "turn_end", "message": message, "toolResults": []},
                  {"type": "agent_end", "messages": [message]}):
        say(**frame)
def rest():
    for command in commands(): answer(command, data={"isStreaming": False, "isCompacting": False})
"""


class Runs(unittest.IsolatedAsyncioTestCase):
    async def said(self, source: str, message: str = "Hello", limit: float = 5) -> str:
        async with AsyncClient(server(RUN + source)) as client:
            return (await client.prompt(message, timeout=limit)).text

    async def test_late_run_of_prompt_is_awaited(self) -> None:
        late = "import threading\nanswer(next(commands())); threading.Timer(0.7, run, ['late']).start(); rest()"
        self.assertEqual(await self.said(late), "late")

    async def test_run_before_acknowledgement_is_not_awaited(self) -> None:
        self.assertEqual(await self.said("command = next(commands()); run('early'); answer(command); rest()"), "early")

    async def test_handled_prompt_ends_after_start_limit(self) -> None:
        with patch("pi_rpc_client.connection.STARTING", 0.1):
            self.assertEqual(await self.said("rest()"), "")

    async def test_slash_command_may_begin_no_run(self) -> None:
        self.assertEqual(await self.said("rest()", "/name a"), "")
        self.assertEqual(await self.said("answer(next(commands())); run('template'); rest()", "/name a"), "template")

    async def test_prompt_after_handled_one_reaches_server(self) -> None:
        source = "answer(next(commands())); answer(next(commands())); run('second'); rest()"
        async with AsyncClient(server(RUN + source)) as client:
            await client.start_prompt("Hello")
            self.assertEqual(client.state, "starting")
            self.assertEqual((await client.prompt("Hello again", timeout=60)).text, "second")

    async def test_what_a_compaction_announces_is_waited_for(self) -> None:
        compaction = """
import threading
answer(next(commands())); run("too long", "error")
say(type="auto_compaction_start", reason="overflow")
say(type="auto_compaction_end", aborted=False, willRetry={retries})
threading.Timer({seconds}, run, ["after"]).start(); rest()
"""
        announced = compaction.replace("{retries}", "True").replace("{seconds}", "0.4")
        self.assertEqual(await self.said(announced), "after")
        queued = compaction.replace("{retries}", "False").replace("{seconds}", "0.05")
        self.assertEqual(await self.said(queued), "after")


SETTLING = RUN + """
import threading
def settle(aborted=False): say(type="agent_settled", aborted=aborted)
def after(seconds, *steps): threading.Timer(seconds, lambda: [step() for step in steps]).start()
"""


class Settled(unittest.IsolatedAsyncioTestCase):
    """A server that says when nothing follows any more, and what became of a prompt."""

    async def said(self, source: str, message: str = "Hello", limit: float = 5) -> str:
        async with Pi1(server(SETTLING + source)) as client:
            return (await client.prompt(message, timeout=limit)).text

    async def test_prompt_ends_when_session_has_settled(self) -> None:
        retried = """
answer(next(commands()), data={"disposition": "started"})
run("half", "error")
say(type="auto_retry_start", attempt=1, maxAttempts=3, delayMs=200, errorMessage="Overloaded")
after(0.2, lambda: run("whole"), lambda: after(0.2, settle)); rest()
"""
        self.assertEqual(await self.said(retried), "whole")

    async def test_handled_prompt_awaits_no_run(self) -> None:
        source = """
answer(next(commands()), data={"disposition": "handled"})
answer(next(commands()), data={"disposition": "started"}); say(type="agent_start")
answer(next(commands()), data={"disposition": "handled"}); rest()
"""
        async with Pi1(server(SETTLING + source)) as client:
            self.assertEqual((await client.prompt("Hello", timeout=60)).text, "")
            self.assertEqual(client.state, "idle")
            self.assertEqual((await client.start_prompt("Go on")).disposition, "started")
            self.assertIsNone((await client.prompt("Hello", streaming_behavior="steer", timeout=60)).message)

    async def test_announced_template_run_is_awaited(self) -> None:
        source = """
answer(next(commands()), data={"disposition": "started"}); after(0.3, lambda: run("template"), settle); rest()
"""
        self.assertEqual(await self.said(source, "/review"), "template")

    async def test_manual_compaction_awaits_no_run(self) -> None:
        source = """
say(type="compaction_start", reason="manual")
say(type="compaction_end", reason="manual", aborted=False, willRetry=False); rest()
"""
        with patch("pi_rpc_client.connection.RESUMING", 60):
            async with Pi1(server(SETTLING + source)) as client:
                await client.call("get_state")
                await client.wait_idle(timeout=60)


class Backpressure(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.folder = folder.name
        self.client = AsyncClient(server(FLOOD), cwd=self.folder, buffer=100_000)
        await self.client.start()
        self.addCleanup(folder.cleanup)
        self.addAsyncCleanup(self.client.close)

    async def test_server_waits_for_slow_reader_without_loss(self) -> None:
        events = self.client.events()
        await self.client.abort()
        stopped = await self.steady()
        self.assertLess(stopped, 1000)
        self.assertLess(events.size, 400_000)
        self.assertEqual([(await anext(events)).frame["number"] for _ in range(2000)], list(range(2000)))  # type: ignore[union-attr]
        self.assertEqual(events.size, 0)

    async def test_call_is_answered_despite_unread_events(self) -> None:
        events = self.client.events()
        await self.client.abort()
        await self.steady()
        await self.client.abort()
        with self.assertRaises(LaggingError):
            await anext(events)
        self.assertEqual([event async for event in events], [])

    async def test_what_is_within_the_overdraft_is_kept(self) -> None:
        with patch("pi_rpc_client.feed.OVERDRAFT", 30):
            events = self.client.events()
            await self.client.abort()
            await self.client.abort()
            self.assertEqual([(await anext(events)).frame["number"] for _ in range(2000)], list(range(2000)))  # type: ignore[union-attr]

    async def test_a_reader_may_call_while_it_reads(self) -> None:
        await self.client.abort()
        with patch("pi_rpc_client.feed.OVERDRAFT", 30):
            seen = 0
            async for _ in self.client.events():
                seen += 1
                if seen % 100 == 1:
                    await self.client.abort()
                if seen > 1000:
                    break

    async def test_dropped_reader_is_not_awaited(self) -> None:
        events = self.client.events()
        await self.client.abort()
        stopped = await self.steady()
        del events
        await self.until(lambda: self.said() > stopped)

    async def test_without_readers_nothing_is_kept(self) -> None:
        await self.client.abort()
        await self.until(lambda: self.said() == 1999)

    def said(self) -> int:
        try:
            return int(Path(self.folder, "said").read_text())
        except (FileNotFoundError, ValueError):
            return -1

    async def steady(self) -> int:
        """How far the server has come when it comes no further."""
        said, since = self.said(), time.monotonic()
        while said < 0 or time.monotonic() - since < 0.3:
            await asyncio.sleep(0.01)
            if (now := self.said()) != said:
                said, since = now, time.monotonic()
        return said

    async def until(self, holds: Callable[[], bool]) -> None:
        async def wait() -> None:
            while not holds():
                await asyncio.sleep(0.01)

        await asyncio.wait_for(wait(), 20)


class Handlers(unittest.IsolatedAsyncioTestCase):
    ASK = """
command = next(commands())
say(type="extension_ui_request", id="a", method="confirm", title="T", message="M", **{timeout})
say(type="extension_ui_request", id="b", method="input", title="T")
said = [next(commands()) for _ in range({answers})]
answer(command, data=dict(output=json.dumps(said), cancelled=False, truncated=False))
"""

    async def ask(self, on_dialog: Any, answers: int = 2, timeout: str = "{}") -> str:
        source = self.ASK.replace("{timeout}", timeout).replace("{answers}", str(answers))
        async with AsyncClient(server(source), on_dialog=on_dialog) as client:
            return (await client.bash("x")).output

    async def test_dialogs_are_answered_as_their_methods_want(self) -> None:
        async def wait(dialog: Dialog) -> bool | str:
            return dialog.method == "confirm" if dialog.method == "confirm" else "text"

        self.assertIn('"confirmed": true', await self.ask(wait))
        self.assertIn('"value": "text"', await self.ask(lambda dialog: True if dialog.method == "confirm" else "text"))

    async def test_failing_handler_closes_dialog_and_is_reported(self) -> None:
        told: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: told.append(context["exception"]))

        def fail(dialog: Dialog) -> str:
            raise ValueError("broken")

        self.assertEqual((await self.ask(fail)).count('"cancelled": true'), 2)
        self.assertEqual([str(error) for error in told], ["broken", "broken"])

    async def test_expired_dialog_is_closed_and_handler_cancelled(self) -> None:
        cancelled: list[str] = []

        async def slow(dialog: Dialog) -> str:
            try:
                await asyncio.sleep(3600 if dialog.method == "confirm" else 0)
            except asyncio.CancelledError:
                cancelled.append(dialog.method)
                raise
            return "text"

        said = json.loads(await self.ask(slow, 2, '{"timeout": 50}'))
        # Which of the two comes first is up to the machine.
        said.sort(key=lambda it: it["id"])
        self.assertEqual(
            [(it["id"], it.get("value"), it.get("cancelled")) for it in said], [("a", None, True), ("b", "text", None)]
        )
        self.assertEqual(cancelled, ["confirm"])

    async def test_dialog_without_timeout_waits_for_server(self) -> None:
        async def ask(dialog: Dialog) -> bool | str:
            await asyncio.sleep(0.05)
            return True if dialog.method == "confirm" else "text"

        self.assertIn('"confirmed": true', await self.ask(ask, 2, '{"timeout": 0}'))

    async def test_cancelled_handler_closes_the_dialog(self) -> None:
        told: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: told.append(context["exception"]))

        async def stray(dialog: Dialog) -> None:
            raise asyncio.CancelledError

        self.assertEqual((await self.ask(stray)).count('"cancelled": true'), 2)
        self.assertEqual([str(error) for error in told], ["the handler was cancelled"] * 2)

    async def test_handler_with_own_timeout_error_has_failed(self) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)

        async def give_up(dialog: Dialog) -> str:
            raise CallTimeoutError("nobody there")

        self.assertEqual((await self.ask(give_up)).count('"cancelled": true'), 2)

    async def test_a_handler_may_leave_its_thread(self) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
        self.assertEqual((await self.ask(lambda dialog: sys.exit(1))).count('"cancelled": true'), 2)

    async def test_coroutine_handler_may_not_await_itself(self) -> None:
        refused: list[str] = []

        def work() -> None:
            async def call_back(dialog: Dialog) -> None:
                try:
                    client.abort()
                except RpcError as error:
                    refused.append(str(error))

            source = self.ASK.replace("{timeout}", "{}").replace("{answers}", "2")
            with Client(server(source), on_dialog=call_back) as client:
                client.bash("x")

        await asyncio.to_thread(work)
        self.assertEqual(len(refused), 2)
        self.assertIn("plain function", refused[0])

    async def test_tool_updates_from_threads_precede_result(self) -> None:
        source = """
say(type="ready")
asked = commands()
command = next(asked)
answer(command, data={"toolNames": ["count"]})
command = next(asked)
say(type="host_tool_call", id="1", toolCallId="c", toolName="count", arguments={"to": 3})
said = []
while not said or said[-1]["type"] != "host_tool_result": said.append(next(asked))
texts = [(frame.get("partialResult") or frame["result"])["content"][0]["text"] for frame in said]
answer(command, data=dict(output=" ".join(texts), cancelled=False, truncated=False))
"""

        async def count(call: ToolCall) -> str:
            for number in range(call.arguments["to"]):
                call.update(str(number))
            return "done"

        def count_now(call: ToolCall) -> str:
            return asyncio.run(count(call))

        for run in (count, count_now):
            async with Xcsh(server(source)) as client:
                await client.lend_tools([HostTool("count", "Counts", {"type": "object"}, run)])
                self.assertEqual((await client.bash("x")).output, "0 1 2 done")

    async def test_tool_with_invalid_result_has_failed(self) -> None:
        source = """
say(type="ready")
asked = commands()
answer(next(asked), data={"toolNames": ["odd"]})
command = next(asked)
say(type="host_tool_call", id="1", toolCallId="c", toolName="odd", arguments={})
answer(command, data=dict(output=json.dumps(next(asked)), cancelled=False, truncated=False))
"""

        async def stray(call: ToolCall) -> None:
            raise asyncio.CancelledError

        text = "the result of a tool is a text, or has a list `content`"
        cases: list[tuple[Any, Any]] = [
            (stray, {"result": {"content": [{"type": "text", "text": "the handler was cancelled"}]}, "isError": True}),
            (lambda call: {"text": "a"}, {"result": {"content": [{"type": "text", "text": text}]}, "isError": True}),
            (lambda call: None, {"result": {"content": []}}),
        ]
        for run, said in cases:
            async with Xcsh(server(source)) as client:
                await client.lend_tools([HostTool("odd", "Is odd", {"type": "object"}, run)])
                result = json.loads((await client.bash("x", timeout=60)).output)
                self.assertEqual(result, {"type": "host_tool_result", "id": "1", **said})


if __name__ == "__main__":
    unittest.main()
