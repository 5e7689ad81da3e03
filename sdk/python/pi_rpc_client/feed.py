"""The events of a server, for any number of readers."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Generic, TypeVar
from weakref import WeakSet

from .connection import Received
from .errors import LaggingError

Event = TypeVar("Event")

POLL = 0.05
"""Seconds between two looks at what says nothing when it changes."""

OVERDRAFT = 8
"""How many times the buffer a subscription may be behind while everything is read."""


class Events(Generic[Event]):
    """A subscription: every event since it was opened, in order. It ends with the server."""

    def __init__(self, feed: Feed[Event], decode: Callable[[Any], Event]) -> None:
        self._feed, self._decode = feed, decode
        self._unread: deque[Received] = deque()
        self.ended = False
        """Nothing more comes; what is unread can still be read."""
        self.size = 0
        """How many bytes of the wire are unread."""
        self._lagging = False

    def __aiter__(self) -> Events[Event]:
        return self

    async def __anext__(self) -> Event:
        while not self._unread and not self._lagging:
            if self.ended:
                raise StopAsyncIteration
            await self._feed.changed()
        return self.pop()

    def pop(self) -> Event:
        """The next event that has come. Raises `IndexError` if none has, `LaggingError` once where it ended with it."""
        if self._lagging:
            self._lagging = False
            raise LaggingError("the events were not read while everything had to be read")
        received = self._unread.popleft()
        self.size -= received.size
        self._feed.change()
        return self._decode(received.frame)

    def close(self) -> None:
        """Ends the subscription."""
        self.ended = True
        self._feed.change()

    def put(self, received: Received) -> None:
        """Adds what was received; not for readers."""
        if not self.ended:
            self._unread.append(received)
            self.size += received.size

    def lag(self) -> None:
        """Ends it without what is unread; not for readers."""
        if not self.ended:
            self.ended = self._lagging = True
            self._unread.clear()
            self.size = 0


class Feed(Generic[Event]):
    """What the readers have not read, and who waits for anything to change."""

    def __init__(self, decode: Callable[[Any], Event], buffer: int) -> None:
        self._decode, self._buffer = decode, buffer
        self._readers: WeakSet[Events[Event]] = WeakSet()
        self._heard = 0
        self._event = asyncio.Event()
        self._ended = False

    def subscribe(self) -> Events[Event]:
        """A new reader, of what comes from now on."""
        events = Events(self, self._decode)
        events.ended = self._ended
        self._readers.add(events)
        return events

    def put(self, received: Received) -> None:
        """Hands it to every reader."""
        for events in self._readers:
            if events.size <= self._buffer * OVERDRAFT:
                events.put(received)
            else:
                events.lag()

    def end(self) -> None:
        """Nothing more comes."""
        self._ended = True
        for events in self._readers:
            events.ended = True
        self.change()

    async def room(self) -> None:
        """Waits while a reader lags and nobody waits for an answer."""
        while not self._heard and any(events.size > self._buffer and not events.ended for events in self._readers):
            await self.changed(POLL)  # A reader that is thrown away says nothing.

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Someone waits for an answer: everything is read until then."""
        self._heard += 1
        self.change()
        try:
            yield
        finally:
            self._heard -= 1

    def change(self) -> None:
        """Wakes everybody who waits."""
        self._event.set()
        self._event = asyncio.Event()

    async def changed(self, limit: float | None = None) -> None:
        """Waits until something may be different, at most that many seconds."""
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._event.wait(), limit)
