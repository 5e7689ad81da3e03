"""The process of a server, in a process group of its own, which is ended as a whole."""

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
"""Bytes of stderr that are kept for error messages."""

CHUNK = 64 * 1024
TERM_WAIT = 2.0
"""Seconds between SIGTERM and SIGKILL."""

_running: set[int] = set()
"""Process groups of the running servers."""


class Process:
    """Running server."""

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
        """Resolves to the exit status once no process of the group is left."""
        self._stdin, self._stdout, self._stderr = stdin, stdout, stderr
        self._pipes = pipes
        self._said = bytearray()
        self._draining = asyncio.Lock()
        self.failure: ClosedError | None = None
        """Always None: the exit says all."""
        self.ending = False
        """Whether `end` has closed the input."""
        self._listening = asyncio.create_task(self._listen())
        threading.Thread(target=self._wait, args=(process, self.exited.get_loop()), daemon=True).start()

    @classmethod
    async def start(
        cls, command: Sequence[str], cwd: str | os.PathLike[str] | None, env: Mapping[str, str] | None
    ) -> Process:
        """Starts the server.

        :raises ClosedError: the server cannot be started."""
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
        """Reads output of the server; empty at its end. Without reading, the server blocks."""
        return await self._stdout.read(CHUNK)

    def write(self, data: bytes) -> None:
        """Writes bytes to the server; they are dropped after its exit."""
        if not self._stdin.is_closing():
            self._stdin.write(data)

    async def written(self) -> None:
        """Waits until the server has read most of the written bytes."""
        async with self._draining:
            with suppress(ConnectionError):  # The exit has more information.
                await self._stdin.drain()

    async def deaf(self) -> None:
        """Waits until the server has closed its input or exited."""
        with suppress(OSError):
            await self._stdin.wait_closed()
        if self.ending:
            await asyncio.wait({self.exited})

    async def end(self, grace: float) -> int:
        """Ends the server: closes its input, sends SIGTERM after `grace` seconds, SIGKILL after two more. Returns
        the exit status."""
        self.ending = True
        self._stdin.close()
        for patience, then in ((grace, signal.SIGTERM), (TERM_WAIT, signal.SIGKILL)):
            await asyncio.wait({self.exited}, timeout=patience)
            if self.exited.done():
                break
            _kill(self.pid, then)
        return await asyncio.shield(self.exited)

    async def release(self) -> str:
        """Closes the pipes after the exit of the server. Returns the end of stderr."""
        # A process outside of the group may hold it open.
        await asyncio.wait({self._listening}, timeout=1)
        self._listening.cancel()
        for pipe in self._pipes:
            pipe.close()
        return self._said.decode("utf-8", "replace").strip()

    def _wait(self, process: subprocess.Popen[bytes], loop: asyncio.AbstractEventLoop) -> None:
        if hasattr(os, "waitid"):
            # The id is not reused before the status is taken.
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            _kill(process.pid, signal.SIGKILL)
        _running.discard(process.pid)
        status = process.wait()
        with suppress(RuntimeError):  # The loop has ended.
            loop.call_soon_threadsafe(self.exited.set_result, status)

    async def _listen(self) -> None:
        while data := await self._stderr.read(CHUNK):
            self._said += data
            del self._said[:-STDERR_KEPT]


def _kill(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _end_all() -> None:
    """Ends the servers that are still running at the end of the program."""
    for group in tuple(_running):
        _kill(group, signal.SIGKILL)


atexit.register(_end_all)
# A forked child must not end the servers of its parent.
os.register_at_fork(after_in_child=_running.clear)
