"""The calls that wait for their response."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .dialect import Dialect, Frame
from .errors import ClosedError

SLOW = ("bash", "prompt", "get_state")
"""The commands that an error without id hardly belongs to, if others wait: they go on for long, or do not fail."""

Waiting = asyncio.Future[Frame]


class Calls:
    """Which response belongs to whom."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._open: dict[str, tuple[str, Waiting]] = {}
        self._accepted: dict[str, Waiting] = {}

    @contextmanager
    def open(self, id: str, command: str) -> Iterator[Waiting]:
        """The response to a command."""
        response: Waiting = asyncio.get_running_loop().create_future()
        self._open[id] = (command, response)
        try:
            yield response
        finally:
            del self._open[id]

    @contextmanager
    def accepted(self, id: str) -> Iterator[Waiting]:
        """The response behind the first: some servers accept a prompt and refuse it then."""
        refusal: Waiting = asyncio.get_running_loop().create_future()
        self._accepted[id] = refusal
        try:
            yield refusal
        finally:
            del self._accepted[id]

    def take(self, response: Frame) -> bool:
        """Hands a response to whoever waits for it. False: it is an error that nobody waits for."""
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

    def end(self, error: ClosedError) -> None:
        """No response comes any more."""
        for _, future in self._open.values():
            if not future.done():
                future.set_exception(error)
                future.exception()  # Not everybody asks.

    def _failing(self, command: Any) -> list[Waiting]:
        """The calls that an error without id may belong to, the likeliest first. Those of its command, from the oldest;
        where none of them waits, and commands are carried out in order, those that wait their turn, from the oldest; where
        they are not, from the newest, those that go on for long last."""
        calls = [(name, future) for name, future in self._open.values() if not future.done()]
        if named := [future for name, future in calls if name == command]:
            return named
        if self._dialect.serial:
            return [future for name, future in calls if name not in self._dialect.overtaking]
        return [future for _, future in sorted(reversed(calls), key=lambda call: call[0] in SLOW)]
