"""The state of a session, updated by frames."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Literal, Union

from typing_extensions import TypeAlias

from .dialect import Dialect, Effect, Flow, Frame, Outcome, is_decided
from .levels import clamped
from .places import joined, place, text_of

MOST_OPEN = 4096
"""Maximum number of tracked commands without a response; beyond that, the state becomes unknown."""

MOST_PROMPTS = 64
"""Maximum number of tracked prompts whose message has not come yet."""

REPEATED = 16
"""Number of last items of a reported list that may come again as events."""

SLOW = ("bash", "prompt", "get_state")
"""Commands that an error without an id hardly belongs to if others are open: they take long, or do not fail."""


class _Unknown(Enum):
    UNKNOWN = "unknown"

    def __repr__(self) -> str:
        return "UNKNOWN"

    def __bool__(self) -> bool:
        return False


Unknown: TypeAlias = Literal[_Unknown.UNKNOWN]
"""Type of `UNKNOWN`."""

UNKNOWN: Final = _Unknown.UNKNOWN
"""Value of a member that is unknown."""


@dataclass(frozen=True)
class Permission:
    """Answer to the question whether a command may be sent now."""

    allowed: bool
    """Whether the server accepts the command, as far as known."""
    disposition: str | None
    """`run`, `queue`, `preempt`, `noop`, `control` or `reject`; None: the server decides."""
    reason: str | None
    """Error text of the refusal."""


UNSURE = Permission(True, None, None)


@dataclass(eq=False)
class Open:
    """Command without a response."""

    frame: Frame
    command: str
    since: int
    """Number of frames before it was sent."""
    moves: int
    """Number of changes of the activity before it was sent."""
    effects: Sequence[Effect]

    def changes(self, name: str) -> bool:
        """Whether the success of the command may change a member."""
        return any(name in effect.members for effect in self.effects)


Value = Union[Any, Unknown]


class SessionState:
    """State of a session, updated by every frame of the host and of the server. It has every member whose value the
    frames determine. It does no IO and has no clock.

    An unknown member is `UNKNOWN`, one without a value is None. An unknown member becomes known when a response
    reports it: `get_state`, `get_messages`, `get_available_models` and so on. An extension may change model, level
    and name without a frame; the member then has its last reported value."""

    def __init__(self, dialect: Dialect, *, fresh: bool = False) -> None:
        """`fresh`: the server has just started, and all frames since are passed in."""
        self.flow = Flow(dialect)
        """Activity of the session."""
        self.mismatch: Callable[[str, Any, Any], None] | None = None
        """Called when a response reports another value than the known one, although no frame has changed it: with the
        member, the known and the reported value."""
        self._dialect = dialect
        self._tables = dialect.session
        self._values: dict[str, Any] = {}
        self._changed: dict[str, tuple[int, str]] = {}
        """Last change of each member, with its cause: a command or an event."""
        self._told: dict[str, int] = {}
        """Number of items of each list in its last read."""
        self._open: list[Open] = []
        self._dialogs: dict[str, Frame] = {}
        self._listeners: list[Callable[[], None]] = []
        self._now = 0
        self._delivered = 0
        """Number of the frame with the last user message."""
        self._prompts: list[Any] = []
        """Texts of prompts whose message has not come yet."""
        self._notes = ""
        """State of the message of a shell command that ended during a run, which comes at the end of the run, or at
        the latest with the start of the next one: `waiting` for the end, or `idle` before the next one."""
        self._stale = False
        if fresh:
            for name, about in self._tables.members.items():
                if about.fresh:
                    self._values[name] = self._first(name)

    # Known members.

    def known(self) -> dict[str, Any]:
        """All known members, in the form of the wire."""
        return dict(self._values)

    def get(self, name: str) -> Value:
        """Value of a member, in the form of the wire."""
        return self._values.get(name, UNKNOWN)

    @property
    def state(self) -> str:
        """Activity of the session: a state of the chart, such as `idle` or `streaming.tools`."""
        return self.flow.state

    @property
    def is_streaming(self) -> bool | Unknown:
        """Whether a run is open, as in `get_state`."""
        return self._tables.streaming.get(self.flow.state, UNKNOWN)

    @property
    def is_compacting(self) -> bool | Unknown:
        """Whether a compaction is under way."""
        if self.flow.state in self._tables.compacting:
            return True
        may = any(effect.code == "summarise" for open in self._open for effect in open.effects)
        return UNKNOWN if may else False

    @property
    def dialogs(self) -> list[Frame]:
        """Open dialogs, oldest first, in the form of the wire."""
        return list(self._dialogs.values())

    def may(self, command: str, fields: Mapping[str, Any] | None = None) -> Permission:
        """Whether the server accepts a command with these members (named as on the wire) now, with the reason if
        not."""
        if command not in self._dialect.commands:
            return Permission(False, "reject", f"{self._dialect.name} has no command {command}")
        # An accepted prompt that an extension handles opens no run: until one starts, the server decides.
        outcome = None if self.flow.promises else self.flow.outcome(command, dict(fields or {}))
        return UNSURE if outcome is None else _permission(outcome)

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Calls `listener` after each change, in the thread that reads frames, until the returned function is
        called."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    # Updates by frames.

    def sent(self, frame: Frame) -> None:
        """Handles a frame of the host."""
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
        """Handles a frame of the server."""
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
        """Makes all members unknown, as a frame was missed."""
        self._now += 1
        for name in self._tables.members:
            self._change(name, UNKNOWN, "lost")
        self._tell()

    def rest(self) -> None:
        """Resets to idle, as the server has reported that, contrary to the frames."""
        if not self.flow.rests:
            self.flow.rest()
            self._moved()
            self._tell()

    def drop(self) -> None:
        """Resets to idle, as the acknowledged prompt leads to no run."""
        if self.flow.promises:
            self.rest()

    def _respond(self, frame: Frame) -> None:
        open = self._answered(frame)
        state, rests = self.flow.state, self.flow.rests
        slash = open is not None and str(open.frame.get("message", "")).startswith("/") and not is_decided(frame)
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
        """Takes the open command of a response."""
        id, command = frame.get("id"), frame.get("command")
        named = (it for it in self._open if it.frame.get("id") == id and (id is not None or it.command == command))
        open = next(named, None)
        if open is None and id is None and frame.get("success") is False:
            open = self._failing(command)
        if open is not None:
            self._open.remove(open)
        return open

    def _failing(self, command: Any) -> Open | None:
        """Open command that an error without an id is assigned to."""
        if named := [open for open in self._open if open.command == command]:
            return named[0]
        if self._dialect.serial:
            return next((open for open in self._open if open.command not in self._dialect.overtaking), None)
        return next(iter(sorted(reversed(self._open), key=lambda open: open.command in SLOW)), None)

    def _learn(self, open: Open, frame: Frame) -> None:
        """Applies the members that a response reports, unless they have changed since the command."""
        # A read with parameters reports a part only.
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
            # In dialects with events for each change, an event has reported this one.
            if open is not None and effect.effect in ("set", "next", "clamp") and self._was_told(name, open.since):
                continue
            following = self._next(effect, name, value, open)
            if open is not None and following is not UNKNOWN and self._contested(name, effect, open, following):
                following = UNKNOWN
            self._change(name, following, by)

    def _next(self, effect: Effect, name: str, value: Value, open: Open | None) -> Value:
        """Value of a member after an effect."""
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
            # A queued message may have been delivered before its response, or may be a command of an extension.
            plain = isinstance(value, str) and not value.lstrip().startswith("/") and self._delivered <= open.since
            return [*known, value] if plain else UNKNOWN
        # A reported item may come again as an event.
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
            return  # A compaction without success.
        if effect.code == "note-bash" and where != "idle":
            self._notes = "waiting"
        for name in effect.members:
            self._change(name, UNKNOWN, by)

    def _queue(self, open: Open, where: str) -> None:
        """Adds a prompt during an open run to its queue."""
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
        """Removes a delivered user message from its queue."""
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
        """Whether the text is that of a prompt whose message had not come yet."""
        if text not in self._prompts:
            return False
        self._prompts.remove(text)
        return True

    def _drop(self, name: str) -> None:
        """Removes a failed assistant message."""
        known = self.get(name)
        messages = known if isinstance(known, list) else []
        last = messages[-1] if messages else None
        failed = place(last, "role") == "assistant" and place(last, "stopReason") == "error"
        self._change(name, messages[:-1] if failed else UNKNOWN, "event")
        if place(last, "usage.totalTokens") != 0:
            self._change("usage", UNKNOWN, "event")

    def _clean(self, name: Value) -> Value:
        """Session name as the server stores it."""
        if not isinstance(name, str):
            return UNKNOWN
        trimmed = name.strip()
        plain = self._tables.cleans_name == "nothing" or (trimmed.isprintable() and "  " not in trimmed)
        return trimmed if plain and trimmed else UNKNOWN

    def _contested(self, name: str, effect: Effect, open: Open, following: Value) -> bool:
        """Whether another command that changes the member may have been served in between; not if commands are
        served in order."""
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
        """Value of a member at a path: None if it has none."""
        before, _, last = path.rpartition(".")
        parent = place(frames, before) if before else frames
        value = parent.get(last) if isinstance(parent, dict) else UNKNOWN
        absent = name in self._tables.members and self._tables.members[name].absent
        return UNKNOWN if value is None and not absent else value

    def _first(self, name: str) -> Value:
        """First value of a member."""
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
        # Equal parts stay the same objects.
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
    """Value in the spelling of conditions."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _sum(known: dict[str, Any], usage: Value) -> dict[str, Any]:
    """Adds the usage of a message."""
    if not isinstance(usage, dict):
        return known
    more = {part: usage.get(part, 0) for part in ("input", "output", "cacheRead", "cacheWrite")}
    total = {part: known.get(part, 0) + count for part, count in more.items()}
    return {**known, **total, "total": known.get("total", 0) + sum(more.values())}
