"""Distribution of the events of a server to any number of readers."""

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
"""Interval in seconds for polling readers that may have been dropped."""

OVERDRAFT = 8
"""Multiple of the buffer that a subscription may be behind while everything is read."""


class Events(Generic[Event]):
    """Subscription to all events since it was opened, in order. It ends with the server."""

    def __init__(self, feed: Feed[Event], decode: Callable[[Any], Event]) -> None:
        self._feed, self._decode = feed, decode
        self._unread: deque[Received] = deque()
        self.ended = False
        """Whether no more events come; unread ones can still be read."""
        self.size = 0
        """Number of unread bytes."""
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
        """Takes the next event. Raises `IndexError` if there is none, and once `LaggingError` if that ended the
        subscription."""
        if self._lagging:
            self._lagging = False
            raise LaggingError("the events were not read while everything had to be read")
        received = self._unread.popleft()
        self.size -= received.size
        self._feed.change()
        return self._decode(received.frame)

    def close(self) -> None:
        """Closes the subscription."""
        self.ended = True
        self._feed.change()

    def put(self, received: Received) -> None:
        """Adds an event; not for readers."""
        if not self.ended:
            self._unread.append(received)
            self.size += received.size

    def lag(self) -> None:
        """Ends the subscription and drops unread events; not for readers."""
        if not self.ended:
            self.ended = self._lagging = True
            self._unread.clear()
            self.size = 0


class Feed(Generic[Event]):
    """Readers with their unread events, and waiting callers."""

    def __init__(self, decode: Callable[[Any], Event], buffer: int) -> None:
        self._decode, self._buffer = decode, buffer
        self._readers: WeakSet[Events[Event]] = WeakSet()
        self._heard = 0
        self._event = asyncio.Event()
        self._ended = False

    def subscribe(self) -> Events[Event]:
        """Creates a reader of the events from now on."""
        events = Events(self, self._decode)
        events.ended = self._ended
        self._readers.add(events)
        return events

    def put(self, received: Received) -> None:
        """Passes an event to every reader."""
        for events in self._readers:
            if events.size <= self._buffer * OVERDRAFT:
                events.put(received)
            else:
                events.lag()

    def end(self) -> None:
        """Ends all subscriptions."""
        self._ended = True
        for events in self._readers:
            events.ended = True
        self.change()

    async def room(self) -> None:
        """Waits while a reader lags and no caller waits for a response."""
        while not self._heard and any(events.size > self._buffer and not events.ended for events in self._readers):
            await self.changed(POLL)  # A dropped reader does not notify.

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Context in which everything is read, as a caller waits for a response."""
        self._heard += 1
        self.change()
        try:
            yield
        finally:
            self._heard -= 1

    def change(self) -> None:
        """Wakes all waiting callers."""
        self._event.set()
        self._event = asyncio.Event()

    async def changed(self, limit: float | None = None) -> None:
        """Waits for a change, at most this many seconds."""
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._event.wait(), limit)
