"""One connection as bytes and frames, without IO."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python

from . import deep
from .chunks import Chunks
from .dialect import Dialect, Frame
from .errors import CallError, ProtocolError, RefusedError
from .session import SessionState

LONGEST = 256 * 1024 * 1024
"""Maximum length of a line in bytes."""

STARTING = 10.0
"""Seconds for an accepted prompt to open its run, as the server may first refresh credentials and call extensions."""
PROMISED = 2.0
"""Seconds for an announced run to start."""
RESUMING = 0.25
"""Seconds for an unannounced run of queued messages to start."""


@dataclass(frozen=True)
class UnknownEvent:
    """Line that the schema does not have: a frame of a newer server, or a line that is not a frame."""

    frame: Any
    """The JSON value, or the text of a line that is not JSON."""
    reason: str
    """Reason why the line is unknown."""
    type: Literal["unknown"] = "unknown"
    """Type for this package; that of the wire is in `frame`."""


@dataclass(frozen=True)
class Received:
    """Line of the server."""

    frame: Any
    """The JSON value, or the text of a line that is not JSON."""
    size: int
    """Bytes of the line."""


class Connection:
    """Conversion between bytes and frames, and the state of the connection."""

    def __init__(self, dialect: Dialect, session: SessionState | None = None) -> None:
        self.dialect = dialect
        self.session = session or SessionState(dialect, fresh=True)
        """State of the session, updated by every frame."""
        self.flow = self.session.flow
        self.expects_until = 0.0
        """Time until which a run may start by itself, by `time.monotonic`."""
        self.answers = 0
        """Number of complete assistant messages."""
        self.answer: Frame | None = None
        """Last complete assistant message."""
        self._chunks = Chunks(dialect.frame_limits)
        self._buffer = bytearray()
        self._searched = 0
        self.requests = 0
        """Number of commands so far, which is the id of the last one."""

    @property
    def moves(self) -> int:
        """Number of changes of the activity."""
        return self.flow.moves

    def receive(self, data: bytes) -> list[Received]:
        """Takes bytes of the server, cut anywhere, and returns the lines that they complete."""
        self._buffer += data
        received = []
        # A line ends with a line feed only: JSON strings may contain U+2028 and U+0085.
        while (end := self._buffer.find(b"\n", self._searched)) >= 0:
            line = bytes(self._buffer[:end])
            del self._buffer[: end + 1]
            self._searched = 0
            if line.strip() and (read := self._read(line)) is not None:
                received.append(read)
        self._searched = len(self._buffer)
        if self._searched > LONGEST:
            raise ProtocolError(f"the server wrote more than {LONGEST} bytes without a line feed")
        return received

    def _read(self, line: bytes) -> Received | None:
        """Reads a line; None for a chunk of a frame that is not complete."""
        try:
            frame = deep.loads(line.decode("utf-8"))
            if b"\\ud" in line or b"\\uD" in line:
                frame = _whole(frame)
        except (ValueError, RecursionError):
            if line.lstrip().startswith(b"{"):
                self.session.lost()  # An unreadable frame may have changed any member.
            return Received(line.decode("utf-8", "replace"), len(line))
        if self._chunks.is_chunk(frame):
            whole = self._chunks.add(frame)
            return None if whole is None else self._read(whole)
        if isinstance(frame, dict):
            self._follow(frame)
            message = frame.get("message")
            if frame.get("type") == "message_end" and isinstance(message, dict) and message.get("role") == "assistant":
                self.answers += 1
                self.answer = message
        return Received(frame, len(line))

    def _follow(self, frame: Frame) -> None:
        """Follows a frame."""
        moves = self.moves
        self.session.received(frame)
        if self.moves != moves:
            self.expects_until = time.monotonic() + self._patience(frame)

    def _patience(self, frame: Frame) -> float:
        """Seconds for a run to start after the frame that led to this state."""
        if self.flow.promises:
            return STARTING
        again = frame.get("willRetry") if self.flow.rests and not self.dialect.settles else None
        return 0 if not isinstance(again, bool) else PROMISED if again else RESUMING

    def expect_run(self) -> None:
        """Expects the run of an accepted prompt."""
        self.expects_until = time.monotonic() + STARTING

    def drop_run(self) -> None:
        """Expects no run of the accepted prompt any more."""
        self.expects_until = 0.0
        self.session.drop()

    def request(self, command: str, fields: Mapping[str, Any], anyway: bool) -> tuple[str, bytes]:
        """Creates a command with a new id; returns the id and the line. Members that are None are omitted.

        :raises RefusedError: the server would refuse it; not where it is to be sent `anyway`."""
        given = {name: wire(value) for name, value in fields.items() if value is not None}
        outcome = self.flow.outcome(command, given)
        # An accepted prompt that an extension handles opens no run: until one starts, the server decides.
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
        """Line of a frame that is not a command."""
        line = encode(frame)
        self.session.sent(frame)
        return line

    def result(self, command: str, response: Frame) -> Any:
        """Typed data of a response; None if the command has none.

        :raises CallError: the response is an error."""
        data = self.success(command, response)
        shape = self.dialect.results.get(command)
        try:
            return None if shape is None else _validate(shape, data)
        except ValidationError as error:
            raise ProtocolError(f"the response to {command} is not what the protocol says: {error}") from error

    def success(self, command: str, response: Frame) -> Any:
        """Data of a response in the form of the wire.

        :raises CallError: the response is an error."""
        if response.get("success") is not True:
            code = response.get("code")
            error = str(response.get("error", "failed"))
            raise CallError(str(response.get("command", command)), error, code if isinstance(code, str) else None)
        return response.get("data")

    def message(self, frame: Frame) -> Any:
        """Typed assistant message."""
        try:
            return _adapter(self.dialect.message).validate_python(frame)
        except ValidationError as error:
            raise ProtocolError(f"a message of the assistant is not what the protocol says: {error}") from error

    def event(self, frame: Any) -> Any:
        """Typed event of a frame."""
        kind = frame.get("type") if isinstance(frame, dict) else None
        shape = self.dialect.events.get(kind) if isinstance(kind, str) else None
        if shape is None:
            return UnknownEvent(frame, "the line is no frame" if kind is None else "there is no event of that type")
        try:
            return _adapter(shape).validate_python(frame)
        except ValidationError as error:
            return UnknownEvent(frame, str(error))


def wire(value: Any) -> Any:
    """Value in the form of the wire: models with the names of the wire, without members that are None."""
    return to_jsonable_python(value, by_alias=True, exclude_none=True, inf_nan_mode="null")


def encode(frame: Mapping[str, Any]) -> bytes:
    """Encodes a frame as a line."""
    return json.dumps(frame, separators=(",", ":"), allow_nan=False).encode("ascii") + b"\n"


@lru_cache(maxsize=None)
def _adapter(shape: Any) -> TypeAdapter[Any]:
    return TypeAdapter(shape)


def _validate(shape: Any, data: Any) -> Any:
    """Typed value. Validators stop at some 250 levels; a tree that is deeper is validated node by node."""
    try:
        return _adapter(shape).validate_python(data)
    except ValidationError as error:
        too_deep = {"recursion_loop", "recursion_depth_exceeded"}  # The latter from pydantic 2.14 on.
        if all(problem["type"] not in too_deep for problem in error.errors(include_input=False)):
            raise
        typed = deep.tree(shape, data)
        if typed is None:
            raise
        return typed


def _whole(frame: Any) -> Any:
    """Value without lone surrogates, which JSON can contain but other Python functions refuse."""
    text = json.dumps(frame, ensure_ascii=False)
    return json.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
