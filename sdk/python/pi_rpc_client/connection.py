"""One conversation as bytes and frames, without any IO."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python

from .dialect import Dialect, Frame
from .errors import CallError, ProtocolError, RefusedError
from .session import SessionState

LONGEST = 256 * 1024 * 1024
"""The longest line that is read, in bytes."""

STARTING = 10.0
"""Seconds that an accepted prompt has to open its run: credentials are refreshed and extensions asked before."""
PROMISED = 2.0
"""Seconds that a run has to begin that was announced at the end of what came before it."""
RESUMING = 0.25
"""The same where none was announced: queued messages may begin one."""


@dataclass(frozen=True)
class UnknownEvent:
    """What the server said and the schema does not know: that of a newer server, or a line that is no frame."""

    frame: Any
    """The JSON value, or the text of a line that is no JSON."""
    reason: str
    """Why it is not known."""
    type: Literal["unknown"] = "unknown"
    """Set by this package; the wire has its own in `frame`."""


@dataclass(frozen=True)
class Received:
    """A line of the server."""

    frame: Any
    """The JSON value, or the text of a line that is no JSON."""
    size: int
    """The bytes of the line."""


class Connection:
    """Frames out of bytes, bytes out of commands, and the state of the conversation."""

    def __init__(self, dialect: Dialect, session: SessionState | None = None) -> None:
        self.dialect = dialect
        self.session = session or SessionState(dialect, fresh=True)
        """What the frames have told of the session."""
        self.flow = self.session.flow
        self.expects_until = 0.0
        """Until when a run may begin by itself, by `time.monotonic`."""
        self.answers = 0
        """How many messages of the assistant have ended."""
        self.answer: Frame | None = None
        """The last of them."""
        self._buffer = bytearray()
        self._searched = 0
        self.requests = 0
        """How many commands were made; their ids are these numbers."""

    @property
    def moves(self) -> int:
        """How many times a frame has changed the state of the conversation."""
        return self.flow.moves

    def receive(self, data: bytes) -> list[Received]:
        """Takes bytes of the server, cut anywhere. Gives what they complete."""
        self._buffer += data
        received = []
        # A line ends with a line feed and nothing else: JSON strings may hold U+2028 and U+0085 as they are.
        while (end := self._buffer.find(b"\n", self._searched)) >= 0:
            line = bytes(self._buffer[:end])
            del self._buffer[: end + 1]
            self._searched = 0
            if line.strip():
                received.append(self._read(line))
        self._searched = len(self._buffer)
        if self._searched > LONGEST:
            raise ProtocolError(f"the server wrote more than {LONGEST} bytes without a line feed")
        return received

    def _read(self, line: bytes) -> Received:
        try:
            frame = json.loads(line.decode("utf-8"))
            if b"\\ud" in line or b"\\uD" in line:
                frame = _whole(frame)
        except (ValueError, RecursionError):
            if line.lstrip().startswith(b"{"):
                self.session.lost()  # What was to be a frame may have changed anything.
            return Received(line.decode("utf-8", "replace"), len(line))
        if isinstance(frame, dict):
            self._follow(frame)
            message = frame.get("message")
            if frame.get("type") == "message_end" and isinstance(message, dict) and message.get("role") == "assistant":
                self.answers += 1
                self.answer = message
        return Received(frame, len(line))

    def _follow(self, frame: Frame) -> None:
        """Goes where a frame leads."""
        moves = self.moves
        self.session.received(frame)
        if self.moves != moves:
            self.expects_until = time.monotonic() + self._patience(frame)

    def _patience(self, frame: Frame) -> float:
        """How long a run may take to begin, after the frame that has led here."""
        if self.flow.promises:
            return STARTING
        again = frame.get("willRetry") if self.flow.rests and not self.dialect.settles else None
        return 0 if not isinstance(again, bool) else PROMISED if again else RESUMING

    def request(self, command: str, fields: Mapping[str, Any], anyway: bool) -> tuple[str, bytes]:
        """A command with a new id: the id, and the line. Members that are None are left out.

        :raises RefusedError: the server would refuse it; not where it is to be sent `anyway`."""
        given = {name: wire(value) for name, value in fields.items() if value is not None}
        outcome = self.flow.outcome(command, given)
        # An accepted prompt that an extension keeps opens no run: until one is seen the server has to say.
        refused = outcome is not None and outcome.disposition == "reject" and not self.flow.promises
        if outcome is not None and refused and not anyway:
            raise RefusedError(command, self.flow.state, outcome.error)
        self.requests += 1
        id = str(self.requests)
        frame = {**given, "id": id, "type": command}
        line = encode(frame)
        self.session.sent(frame)
        return id, line

    def tell(self, frame: Frame) -> bytes:
        """The line of a frame that is no command."""
        line = encode(frame)
        self.session.sent(frame)
        return line

    def result(self, command: str, response: Frame) -> Any:
        """The typed data of a response; None where the command has none.

        :raises CallError: it is an error response."""
        data = self.success(command, response)
        shape = self.dialect.results.get(command)
        try:
            return None if shape is None else _adapter(shape).validate_python(data)
        except ValidationError as error:
            raise ProtocolError(f"the response to {command} is not what the protocol says: {error}") from error

    def success(self, command: str, response: Frame) -> Any:
        """The data of a response as it is on the wire.

        :raises CallError: it is an error response."""
        if response.get("success") is not True:
            raise CallError(str(response.get("command", command)), str(response.get("error", "failed")))
        return response.get("data")

    def message(self, frame: Frame) -> Any:
        """A typed message of the assistant."""
        try:
            return _adapter(self.dialect.message).validate_python(frame)
        except ValidationError as error:
            raise ProtocolError(f"a message of the assistant is not what the protocol says: {error}") from error

    def event(self, frame: Any) -> Any:
        """The typed event that a frame is."""
        kind = frame.get("type") if isinstance(frame, dict) else None
        shape = self.dialect.events.get(kind) if isinstance(kind, str) else None
        if shape is None:
            return UnknownEvent(frame, "the line is no frame" if kind is None else "there is no event of that type")
        try:
            return _adapter(shape).validate_python(frame)
        except ValidationError as error:
            return UnknownEvent(frame, str(error))


def wire(value: Any) -> Any:
    """A value as it goes on the wire: models by the names of their members there, without those that are None."""
    return to_jsonable_python(value, by_alias=True, exclude_none=True, inf_nan_mode="null")


def encode(frame: Mapping[str, Any]) -> bytes:
    """A frame as a line."""
    return json.dumps(frame, separators=(",", ":"), allow_nan=False).encode("ascii") + b"\n"


@lru_cache(maxsize=None)
def _adapter(shape: Any) -> TypeAdapter[Any]:
    return TypeAdapter(shape)


def _whole(frame: Any) -> Any:
    """The same without halves of characters, which JSON can spell and nothing else in Python takes."""
    text = json.dumps(frame, ensure_ascii=False)
    return json.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
