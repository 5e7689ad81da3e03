"""The state of a session, kept up by the frames."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Literal, Union

from typing_extensions import TypeAlias

from .dialect import Dialect, Effect, Flow, Frame, Outcome, disposition
from .levels import clamped
from .places import joined, place, text_of

MOST_OPEN = 4096
"""Commands without a response that are kept; beyond that, nothing is known until it is told again."""

MOST_PROMPTS = 64
"""Prompts whose message has not been seen that are kept."""

REPEATED = 16
"""How many of the last items of a list that was told may come once more as events."""

SLOW = ("bash", "prompt", "get_state")
"""The commands that an error without id hardly belongs to, if others wait: they go on for long, or do not fail."""


class _Unknown(Enum):
    UNKNOWN = "unknown"

    def __repr__(self) -> str:
        return "UNKNOWN"

    def __bool__(self) -> bool:
        return False


Unknown: TypeAlias = Literal[_Unknown.UNKNOWN]
"""The type of what frames have not told."""

UNKNOWN: Final = _Unknown.UNKNOWN
"""What frames have not told."""


@dataclass(frozen=True)
class Permission:
    """Whether a command may be sent now."""

    allowed: bool
    """The server takes it, as far as can be told."""
    disposition: str | None
    """`run`, `queue`, `preempt`, `noop`, `control` or `reject`; None: the server has to say."""
    reason: str | None
    """Why it is refused: the server's words."""


UNSURE = Permission(True, None, None)


@dataclass(eq=False)
class Open:
    """A command without a response."""

    frame: Frame
    command: str
    since: int
    """The moment at which it was sent."""
    moves: int
    """How often the flow had moved."""
    effects: Sequence[Effect]

    def changes(self, name: str) -> bool:
        """Whether its success may change a member."""
        return any(name in effect.members for effect in self.effects)


Value = Union[Any, Unknown]


class SessionState:
    """The state of a session: it is given each frame that the host writes and each that the server does, and knows each
    member that they tell for certain. It does no IO and has no clock.

    What is not known is `UNKNOWN`, what is known to have no value is None. What is not known becomes known when a response
    tells it: `get_state`, `get_messages`, `get_available_models` and so on. An extension may change model, level and name
    without a frame; then the member is what was told last."""

    def __init__(self, dialect: Dialect, *, fresh: bool = False) -> None:
        """`fresh`: the server's process has just begun, and every frame since will be seen."""
        self.flow = Flow(dialect)
        """Where the conversation stands."""
        self.mismatch: Callable[[str, Any, Any], None] | None = None
        """Told when a response tells another value than is known although no frame has changed it: the member, what is
        known, what is told."""
        self._dialect = dialect
        self._tables = dialect.session
        self._values: dict[str, Any] = {}
        self._changed: dict[str, tuple[int, str]] = {}
        """When each member changed last, and by what: a command or an event."""
        self._told: dict[str, int] = {}
        """How many items of a list were told by a read."""
        self._open: list[Open] = []
        self._dialogs: dict[str, Frame] = {}
        self._listeners: list[Callable[[], None]] = []
        self._now = 0
        self._delivered = 0
        """When a message of the user came last."""
        self._prompts: list[Any] = []
        """The texts of prompts whose message has not been seen."""
        self._notes = ""
        """A shell command has ended beside a run, and its message waits for the end of that; at the latest it is there when
        the next one has begun. `waiting` for the end, or `idle` before the next one."""
        self._stale = False
        if fresh:
            for name, about in self._tables.members.items():
                if about.fresh:
                    self._values[name] = self._first(name)

    # What is known.

    def known(self) -> dict[str, Any]:
        """Every member that is known, as it is on the wire."""
        return dict(self._values)

    def get(self, name: str) -> Value:
        """A member as it is on the wire."""
        return self._values.get(name, UNKNOWN)

    @property
    def state(self) -> str:
        """Where the conversation stands, by the chart: `idle`, `streaming.tools`, …"""
        return self.flow.state

    @property
    def is_streaming(self) -> bool | Unknown:
        """Whether a run is under way, as `get_state` would say."""
        return self._tables.streaming.get(self.flow.state, UNKNOWN)

    @property
    def is_compacting(self) -> bool | Unknown:
        """Whether a compaction is."""
        if self.flow.state in self._tables.compacting:
            return True
        may = any(effect.code == "summarise" for open in self._open for effect in open.effects)
        return UNKNOWN if may else False

    @property
    def dialogs(self) -> list[Frame]:
        """The dialogs that wait for an answer of the user, oldest first, as they are on the wire."""
        return list(self._dialogs.values())

    def may(self, command: str, fields: Mapping[str, Any] | None = None) -> Permission:
        """Whether a command with these fields, named as on the wire, may be sent now, and if not, why."""
        if command not in self._dialect.commands:
            return Permission(False, "reject", f"{self._dialect.name} has no command {command}")
        # An accepted prompt that an extension keeps opens no run: until one is seen the server has to say.
        outcome = None if self.flow.promises else self.flow.outcome(command, dict(fields or {}))
        return UNSURE if outcome is None else _permission(outcome)

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Calls `listener` after each change, where the frames are read; ends when what it returns is called."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    # What the frames tell.

    def sent(self, frame: Frame) -> None:
        """Takes note of a frame that the host writes."""
        self._now += 1
        kind = str(frame.get("type"))
        if kind in self._dialect.commands:
            effects = self._tables.commands.get(kind, ())
            self._open.append(Open(frame, kind, self._now, self.flow.moves, effects))
            if kind == "prompt":
                self._prompts = [*self._prompts, frame.get("message")][-MOST_PROMPTS:]
            if len(self._open) > MOST_OPEN:
                del self._open[0]
                self.lost()
            self._stale |= bool(effects)
        elif kind == "extension_ui_response":
            self._close(frame.get("id"))
        self._tell()

    def received(self, frame: Frame) -> None:
        """Takes note of a frame that the server has written."""
        self._now += 1
        state = self.flow.state
        if frame.get("type") == "response":
            self._respond(frame)
        else:
            self._happen(frame)
        if state != self.flow.state:
            self._moved()
        self._tell()

    def lost(self) -> None:
        """Something was missed: nothing is known until it is told again."""
        self._now += 1
        for name in self._tables.members:
            self._change(name, UNKNOWN, "lost")
        self._tell()

    def rest(self) -> None:
        """The server has said that nothing is under way, against what the frames told."""
        if not self.flow.rests:
            self.flow.rest()
            self._moved()
            self._tell()

    def _respond(self, frame: Frame) -> None:
        open = self._answered(frame)
        state, rests = self.flow.state, self.flow.rests
        slash = open is not None and str(open.frame.get("message", "")).startswith("/") and disposition(frame) is None
        old = open is not None and rests and open.moves != self.flow.moves
        # A prompt whose run was seen already opens no other, and the command of an extension opens none.
        if frame.get("success") is not True or not (slash or old):
            self.flow.see(frame)
        if open is None:
            # Some servers refuse a prompt that they have acknowledged: it may have been taken for one that waits.
            if frame.get("success") is not True:
                for effect in self._tables.commands.get("prompt", ()):
                    for name in effect.members:
                        self._change(name, UNKNOWN, "command")
            return
        self._stale |= bool(open.effects)
        if frame.get("success") is not True:
            return
        self._learn(open, frame)
        still = open.moves == self.flow.moves - (1 if self.flow.state != state else 0)
        where = "idle" if still and rests else "streaming" if still and state.startswith("streaming") else ""
        for effect in open.effects:
            self._apply(effect, {"command": open.frame, "data": frame.get("data")}, open, where)

    def _happen(self, frame: Frame) -> None:
        self.flow.see(frame)
        kind = str(frame.get("type"))
        if kind == "extension_ui_request":
            self._ask(frame)
        for effect in self._tables.events.get(kind, ()):
            self._apply(effect, {"event": frame}, None, "")
        if kind == "message_start" and place(frame, "message.role") == "user":
            self._delivered = self._now

    def _answered(self, frame: Frame) -> Open | None:
        """The command that a response answers, which is not open any longer."""
        id, command = frame.get("id"), frame.get("command")
        named = (it for it in self._open if it.frame.get("id") == id and (id is not None or it.command == command))
        open = next(named, None)
        if open is None and id is None and frame.get("success") is False:
            open = self._failing(command)
        if open is not None:
            self._open.remove(open)
        return open

    def _failing(self, command: Any) -> Open | None:
        """The command that an error without id is taken to belong to."""
        if named := [open for open in self._open if open.command == command]:
            return named[0]
        if self._dialect.serial:
            return next((open for open in self._open if open.command not in self._dialect.overtaking), None)
        return next(iter(sorted(reversed(self._open), key=lambda open: open.command in SLOW)), None)

    def _learn(self, open: Open, frame: Frame) -> None:
        """Takes what a response tells, where nothing has changed it since it was asked for."""
        # A read that was given members tells a part only.
        if open.frame.keys() - {"id", "type"}:
            return
        for name, path in self._tables.tells.get(open.command, {}).items():
            value = self._read(name, path, {"data": frame.get("data")})
            changing = any(it.changes(name) for it in self._open)
            if value is UNKNOWN or changing or self._changed.get(name, (0, ""))[0] > open.since:
                continue
            if name == "messages" and self._notes:
                continue
            # Whether a sum has what is still to come as an event, only rest can tell.
            if self._tables.members[name].kept == "sum" and not (self.flow.rests and open.moves == self.flow.moves):
                continue
            known = self.get(name)
            if known is not UNKNOWN and known != value and self.mismatch is not None:
                self.mismatch(name, known, value)
            self._set(name, value)
            if isinstance(value, list):
                self._told[name] = len(value)

    def _apply(self, effect: Effect, frames: Frame, open: Open | None, where: str) -> None:
        if effect.when is not None and _spelt(place(frames, effect.when[0])) not in effect.when[1]:
            return
        by = "event" if open is None else "command"
        if effect.effect == "code":
            return self._run(effect, frames, by, open, where)
        for name in effect.members:
            value = UNKNOWN if effect.value is None else self._read(name, effect.value, frames)
            if effect.value is not None and value is UNKNOWN and effect.effect not in ("clamp", "add"):
                continue
            # Where events tell of each change, they have told of this one.
            if open is not None and effect.effect in ("set", "next", "clamp") and self._was_told(name, open.since):
                continue
            following = self._next(effect, name, value, open)
            if open is not None and following is not UNKNOWN and self._contested(name, effect, open, following):
                following = UNKNOWN
            self._change(name, following, by)

    def _next(self, effect: Effect, name: str, value: Value, open: Open | None) -> Value:
        """What an effect makes of a member."""
        known = self.get(name)
        if effect.effect == "set":
            cleaned = self._clean(value) if effect.code == "clean-name" else UNKNOWN
            return value if effect.code is None else cleaned
        if effect.effect == "next":
            return value
        if effect.effect == "clamp":
            wanted = self.get(name) if value is UNKNOWN else value
            if wanted is UNKNOWN or (value is UNKNOWN and self._tables.levels.follows_model):
                return UNKNOWN
            model, levels = self._values.get("model"), self._values.get("thinkingLevels")
            found, level = clamped(self._tables.levels, wanted, model, levels)
            return level if found else UNKNOWN
        if effect.effect == "reset":
            return self._first(name)
        if effect.effect == "append":
            return self._appended(name, known, value, open)
        if effect.effect == "add":
            return UNKNOWN if known is UNKNOWN else _sum(known, value)
        return UNKNOWN

    def _appended(self, name: str, known: Value, value: Value, open: Open | None) -> Value:
        if not isinstance(known, list):
            return UNKNOWN
        if open is not None:
            # A message that waits: it may have been taken up before its response, and a command of an extension may be in it.
            plain = isinstance(value, str) and not value.lstrip().startswith("/") and self._delivered <= open.since
            return [*known, value] if plain else UNKNOWN
        # One that was told already may come once more as an event.
        told = self._told.get(name, 0)
        return known if value in known[max(0, told - REPEATED) : told] else [*known, value]

    def _run(self, effect: Effect, frames: Frame, by: str, open: Open | None, where: str) -> None:
        if effect.code == "queue-prompt" and open is not None:
            return self._queue(open, where)
        if effect.code == "take-delivered":
            return self._take_delivered(place(frames, "event.message"))
        if effect.code == "drop-failed":
            for name in effect.members:
                self._drop(name)
            return
        if effect.code == "summarise" and open is None and not isinstance(place(frames, "event.result"), dict):
            return  # A compaction that came to nothing.
        if effect.code == "note-bash" and where != "idle":
            self._notes = "waiting"
        for name in effect.members:
            self._change(name, UNKNOWN, by)

    def _queue(self, open: Open, where: str) -> None:
        """A prompt that meets an open run waits."""
        behavior, message = open.frame.get("streamingBehavior"), open.frame.get("message")
        if behavior is None or where == "idle":
            return
        name = "steering" if behavior == "steer" else "followUp"
        known = self.get(name)
        plain = isinstance(message, str) and not message.lstrip().startswith("/") and self._delivered <= open.since
        sure = where == "streaming" and plain
        if sure:
            self._seen(message)
        self._change(name, [*known, message] if sure and isinstance(known, list) else UNKNOWN, "command")

    def _take_delivered(self, message: Any) -> None:
        """A message of the user that waited waits no longer."""
        text = text_of(place(message, "content"))
        if place(message, "role") != "user" or text is None:
            return
        prompt = self._seen(text)
        for name in ("steering", "followUp"):
            known = self._values.get(name, [])
            at = next((at for at, waiting in enumerate(known) if text.startswith(waiting)), None)
            if at is not None:
                # It may as well be a prompt that says the same, or begins so.
                sure = not prompt and known[at] == text
                return self._change(name, known[:at] + known[at + 1 :] if sure else UNKNOWN, "event")

    def _seen(self, text: Any) -> bool:
        """Whether a prompt says so whose message had not been seen."""
        if text not in self._prompts:
            return False
        self._prompts.remove(text)
        return True

    def _drop(self, name: str) -> None:
        """The answer that failed leaves the messages."""
        known = self.get(name)
        messages = known if isinstance(known, list) else []
        last = messages[-1] if messages else None
        failed = place(last, "role") == "assistant" and place(last, "stopReason") == "error"
        self._change(name, messages[:-1] if failed else UNKNOWN, "event")
        if place(last, "usage.totalTokens") != 0:
            self._change("usage", UNKNOWN, "event")

    def _clean(self, name: Value) -> Value:
        """A name as the server keeps it."""
        if not isinstance(name, str):
            return UNKNOWN
        trimmed = name.strip()
        plain = self._tables.cleans_name == "nothing" or (trimmed.isprintable() and "  " not in trimmed)
        return trimmed if plain and trimmed else UNKNOWN

    def _contested(self, name: str, effect: Effect, open: Open, following: Value) -> bool:
        """Whether another command that changes the member may have come between; in order is what is served one by one."""
        if self._dialect.serial:
            return False
        others = [it for it in self._open if it.changes(name)]
        alike = effect.effect == "append" and all(it.command == open.command for it in others)
        if others and not alike:
            return True
        at, by = self._changed.get(name, (0, ""))
        return by == "command" and at > open.since and not alike and bool(self.get(name) != following)

    def _was_told(self, name: str, since: int) -> bool:
        at, by = self._changed.get(name, (0, ""))
        return by == "event" and at > since and name in self._values

    def _read(self, name: str, path: str, frames: Frame) -> Value:
        """What a path leads to, as the value of a member: None where it has none."""
        before, _, last = path.rpartition(".")
        parent = place(frames, before) if before else frames
        value = parent.get(last) if isinstance(parent, dict) else UNKNOWN
        absent = name in self._tables.members and self._tables.members[name].absent
        return UNKNOWN if value is None and not absent else value

    def _first(self, name: str) -> Value:
        """What a member begins with."""
        about = self._tables.members[name]
        if name == "entries":
            return UNKNOWN
        if about.kept == "sum":
            return {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}
        return [] if about.is_list else None if about.absent else UNKNOWN

    def _change(self, name: str, value: Value, by: str) -> None:
        if name in self._tables.members:
            self._changed[name] = (self._now, by)
            self._set(name, value)

    def _set(self, name: str, value: Value) -> None:
        if not isinstance(value, list):
            self._told.pop(name, None)
        before = self.get(name)
        # What is equal stays the same object.
        after = joined(before, value)
        if after is before:
            return
        self._stale = True
        if after is UNKNOWN:
            del self._values[name]
        else:
            self._values[name] = after

    def _ask(self, frame: Frame) -> None:
        id, method = frame.get("id"), frame.get("method")
        if method == "cancel":
            self._close(frame.get("targetId"))
        if method in self._dialect.answers and isinstance(id, str):
            self._dialogs[id] = frame
            self._stale = True

    def _close(self, id: Any) -> None:
        if isinstance(id, str) and self._dialogs.pop(id, None) is not None:
            self._stale = True

    def _moved(self) -> None:
        self._stale = True
        if self._notes == "waiting" and self.flow.rests:
            self._notes = "idle"
        elif self._notes == "idle" and self.flow.state.startswith("streaming"):
            self._notes = ""

    def _tell(self) -> None:
        if self._stale:
            self._stale = False
            for listener in list(self._listeners):
                listener()


def _permission(outcome: Outcome) -> Permission:
    refused = outcome.disposition == "reject"
    return Permission(not refused, outcome.disposition, outcome.error if refused else None)


def _spelt(value: Any) -> str:
    """A value as conditions spell it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _sum(known: dict[str, Any], usage: Value) -> dict[str, Any]:
    """Usage with that of one more message."""
    if not isinstance(usage, dict):
        return known
    more = {part: usage.get(part, 0) for part in ("input", "output", "cacheRead", "cacheWrite")}
    total = {part: known.get(part, 0) + count for part, count in more.items()}
    return {**known, **total, "total": known.get("total", 0) + sum(more.values())}
