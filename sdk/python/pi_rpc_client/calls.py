"""Calls without a response."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .dialect import Dialect, Frame
from .errors import ClosedError

SLOW = ("bash", "prompt", "get_state")
"""Commands that an error without an id hardly belongs to if others are open: they take long, or do not fail."""

Waiting = asyncio.Future[Frame]


class Calls:
    """Assignment of responses to calls."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._open: dict[str, tuple[str, Waiting]] = {}
        self._accepted: dict[str, Waiting] = {}

    @contextmanager
    def open(self, id: str, command: str) -> Iterator[Waiting]:
        """Waits for the response to a command."""
        response: Waiting = asyncio.get_running_loop().create_future()
        self._open[id] = (command, response)
        try:
            yield response
        finally:
            del self._open[id]

    @contextmanager
    def accepted(self, id: str) -> Iterator[Waiting]:
        """Waits for a second response, as some servers accept a prompt and then refuse it, or for the report that no
        run follows."""
        refusal: Waiting = asyncio.get_running_loop().create_future()
        self._accepted[id] = refusal
        try:
            yield refusal
        finally:
            del self._accepted[id]

    def take(self, response: Frame) -> bool:
        """Passes a response to its call. Returns False for an error without a call."""
        id, success = response.get("id"), response.get("success") is True
        waiting: list[Waiting] = []
        if isinstance(id, str):
            waiting = [self._open[id][1]] if id in self._open else []
            waiting += [self._accepted[id]] if id in self._accepted else []
        elif id is None and not success:
            waiting = self._failing(response.get("command"))
        for future in waiting:
            if not future.done():
                future.set_result(response)
                return True
        return success

    def handled(self, id: Any) -> None:
        """Ends the wait for the run of an accepted prompt, as none follows."""
        future = self._accepted.get(id) if isinstance(id, str) else None
        if future is not None and not future.done():
            future.set_result({"success": True})

    def end(self, error: ClosedError) -> None:
        """Fails all calls, as no further responses come."""
        for _, future in self._open.values():
            if not future.done():
                future.set_exception(error)
                future.exception()  # Marks the exception as retrieved.

    def _failing(self, command: Any) -> list[Waiting]:
        """The calls that an error without id may belong to, the likeliest first. Those of its command, from the
        oldest; where none of them waits, and commands are carried out in order, those that wait their turn, from the
        oldest; where they are not, from the newest, those that go on for long last."""
        calls = [(name, future) for name, future in self._open.values() if not future.done()]
        if named := [future for name, future in calls if name == command]:
            return named
        if self._dialect.serial:
            return [future for name, future in calls if name not in self._dialect.overtaking]
        return [future for _, future in sorted(reversed(calls), key=lambda call: call[0] in SLOW)]
