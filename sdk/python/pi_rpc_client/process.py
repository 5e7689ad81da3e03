"""The process of a server: started in a group of its own, and ended with all of it."""

from __future__ import annotations

import asyncio
import atexit
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress

from .errors import ClosedError

STDERR_KEPT = 16 * 1024
"""How much of stderr is kept for error messages, in bytes."""

CHUNK = 64 * 1024
TERM_WAIT = 2.0
"""Seconds between SIGTERM and SIGKILL."""

_running: set[int] = set()
"""The groups of the servers that run."""


class Process:
    """A running server."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        stdin: asyncio.StreamWriter,
        stdout: asyncio.StreamReader,
        stderr: asyncio.StreamReader,
        pipes: Sequence[asyncio.BaseTransport],
    ) -> None:
        self.pid = process.pid
        self.exited: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        """Gives the exit status once nothing of the group is left."""
        self._stdin, self._stdout, self._stderr = stdin, stdout, stderr
        self._pipes = pipes
        self._said = bytearray()
        self._draining = asyncio.Lock()
        self.ending = False
        """Its input has ended because `end` was called."""
        self._listening = asyncio.create_task(self._listen())
        threading.Thread(target=self._wait, args=(process, self.exited.get_loop()), daemon=True).start()

    @classmethod
    async def start(
        cls, command: Sequence[str], cwd: str | os.PathLike[str] | None, env: Mapping[str, str] | None
    ) -> Process:
        """Starts the server.

        :raises ClosedError: it cannot be started."""
        pipe = subprocess.PIPE
        try:
            process = subprocess.Popen(
                command, bufsize=0, stdin=pipe, stdout=pipe, stderr=pipe, cwd=cwd, env=env, start_new_session=True
            )
        except OSError as error:
            raise ClosedError(f"{command[0]} cannot be started: {error}") from error
        _running.add(process.pid)
        loop = asyncio.get_running_loop()
        readers = asyncio.StreamReader(), asyncio.StreamReader(), asyncio.StreamReader()
        unused, stdout, stderr = (asyncio.StreamReaderProtocol(reader) for reader in readers)
        to, protocol = await loop.connect_write_pipe(lambda: unused, process.stdin)
        out, _ = await loop.connect_read_pipe(lambda: stdout, process.stdout)
        err, _ = await loop.connect_read_pipe(lambda: stderr, process.stderr)
        return cls(process, asyncio.StreamWriter(to, protocol, None, loop), *readers[1:], (out, err))

    async def read(self) -> bytes:
        """What the server writes; empty at its end. While nobody reads, the server has to wait."""
        return await self._stdout.read(CHUNK)

    def write(self, data: bytes) -> None:
        """Hands bytes to the server; after its end they go nowhere."""
        if not self._stdin.is_closing():
            self._stdin.write(data)

    async def written(self) -> None:
        """Waits until the server has taken most of what was written."""
        async with self._draining:
            with suppress(ConnectionError):  # Its exit tells more.
                await self._stdin.drain()

    async def deaf(self) -> None:
        """Waits until it has closed its input by itself, or has ended."""
        with suppress(OSError):
            await self._stdin.wait_closed()
        if self.ending:
            await asyncio.wait({self.exited})

    async def end(self, grace: float) -> int:
        """Ends the server: its input first, SIGTERM after `grace` seconds, SIGKILL after two more. Gives its status."""
        self.ending = True
        self._stdin.close()
        for patience, then in ((grace, signal.SIGTERM), (TERM_WAIT, signal.SIGKILL)):
            await asyncio.wait({self.exited}, timeout=patience)
            if self.exited.done():
                break
            _kill(self.pid, then)
        return await asyncio.shield(self.exited)

    async def release(self) -> str:
        """Lets go of the pipes once the server has ended. Gives the last that it wrote to stderr."""
        # Someone beyond the group may hold it open.
        await asyncio.wait({self._listening}, timeout=1)
        self._listening.cancel()
        for pipe in self._pipes:
            pipe.close()
        return self._said.decode("utf-8", "replace").strip()

    def _wait(self, process: subprocess.Popen[bytes], loop: asyncio.AbstractEventLoop) -> None:
        if hasattr(os, "waitid"):
            # Its id is nobody else's until its status is taken.
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            _kill(process.pid, signal.SIGKILL)
        _running.discard(process.pid)
        status = process.wait()
        with suppress(RuntimeError):  # Nobody waits any more.
            loop.call_soon_threadsafe(self.exited.set_result, status)

    async def _listen(self) -> None:
        while data := await self._stderr.read(CHUNK):
            self._said += data
            del self._said[:-STDERR_KEPT]


def _kill(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _end_all() -> None:
    """Ends the servers that the program has not closed before its end."""
    for group in tuple(_running):
        _kill(group, signal.SIGKILL)


atexit.register(_end_all)
# The servers of a process are none of its child's.
os.register_at_fork(after_in_child=_running.clear)
