"""What the generated tables of a dialect hold, and the state that a conversation is in by them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Frame = dict[str, Any]
"""A frame as it is on the wire."""


@dataclass(frozen=True)
class Outcome:
    """What becomes of a command in a state."""

    disposition: str
    """`run`, `queue`, `preempt`, `noop`, `control` or `reject`."""
    when: tuple[str, Sequence[str]] | None = None
    """Only where this member of the command has one of these values."""
    error: str = ""
    """The text of a rejection."""


@dataclass(frozen=True)
class Arrow:
    """A frame that leads from one state to another."""

    type: str
    where: Mapping[str, Any]
    """What more must hold of the frame; `role` and `stopReason` are its message's, `disposition` is its data's."""
    origin: str
    target: str

    def fits(self, frame: Frame) -> bool:
        """Whether a frame of that type does it."""
        return all(_member(frame, name) == it for name, it in self.where.items())


@dataclass(frozen=True)
class Effect:
    """What a frame changes of the session's state."""

    effect: str
    """`set`, `next`, `clamp`, `append`, `add`, `reset`, `forget` or `code`."""
    members: Sequence[str]
    value: str | None = None
    """The path to what the frame tells."""
    code: str | None = None
    """What the words cannot say."""
    when: tuple[str, Sequence[str]] | None = None
    """Only where one of these values stands at this path."""


@dataclass(frozen=True)
class Member:
    """A member of the session's state."""

    kept: str = "value"
    """`value`, `list` or `sum`."""
    is_list: bool = False
    """Its value is a list."""
    absent: bool = False
    """It may have no value."""
    fresh: bool = False
    """A new process begins with its first value."""
    shape: Any = None
    """What it is decoded to; of a list, each of its items."""


@dataclass(frozen=True)
class Levels:
    """The thinking levels of models."""

    all: Sequence[str]
    """Every one, from the lowest to the highest."""
    extra: Sequence[str]
    """Those that a model with a map has only if the map names them."""
    without_thinking: str | None
    """That of a model that does not think."""
    follows_model: bool
    """Another model brings a level of its own."""


@dataclass(frozen=True)
class SessionTables:
    """The state of a session: what tells it, and what changes it."""

    members: Mapping[str, Member]
    commands: Mapping[str, Sequence[Effect]]
    """What the success of a command changes."""
    events: Mapping[str, Sequence[Effect]]
    """What an event changes."""
    tells: Mapping[str, Mapping[str, str]]
    """The members that the success of a command tells, each with the path to its value."""
    streaming: Mapping[str, bool]
    """What `isStreaming` is, by state; a state that is not here leaves it open."""
    compacting: Sequence[str]
    """The states in which `isCompacting` is true."""
    levels: Levels
    cleans_name: str
    """What becomes a space in the name of a session."""


@dataclass(frozen=True)
class Dialect:
    """A dialect: all that the client has to know of it."""

    name: str
    opens_with: str | None
    """The `type` of the frame that tells that the server is ready; None where none does."""
    events: Mapping[str, Any]
    """What the frames of the server are decoded to, by their `type`."""
    results: Mapping[str, Any]
    """What the data of a success response is decoded to, by command."""
    outcomes: Mapping[str, Mapping[str, Sequence[Outcome]]]
    """What becomes of each command, by state: the first outcome whose condition holds. `*`: in every state."""
    serial: bool
    """Whether commands are carried out one after another."""
    overtaking: Sequence[str]
    """The commands that are answered before those that came earlier."""
    answers: Mapping[str, str]
    """The member that answers a dialog, by `method`; the others are not answered."""
    zero_timeout_expires: bool
    """Whether a dialog whose `timeout` is 0 is over at once; else it has no limit."""
    settles: bool
    """Whether the server says when nothing follows by itself any more; else a run may begin from a quiet conversation."""
    message: Any
    """What a message of the assistant is decoded to."""
    initial: str
    """The state of a new conversation, in which nothing is under way."""
    arrows: Sequence[Arrow]
    session: SessionTables

    @property
    def commands(self) -> Collection[str]:
        """The commands."""
        return self.outcomes.keys()


class Flow:
    """Where the conversation stands, by the chart of the dialect."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self.state = dialect.initial
        self.moves = 0
        """How many times a frame has changed the state."""
        self._arrows: dict[str, list[Arrow]] = {}
        for arrow in dialect.arrows:
            self._arrows.setdefault(arrow.type, []).append(arrow)
        self._promises = {arrow.target for arrow in dialect.arrows if arrow.where.get("success") is True}

    @property
    def rests(self) -> bool:
        """Nothing is under way."""
        return self.state == self._dialect.initial

    @property
    def promises(self) -> bool:
        """A prompt was acknowledged and its run is not seen yet: the command of an extension opens none."""
        return not self.rests and self.state in self._promises

    def see(self, frame: Frame) -> bool:
        """Follows a frame of the server. Gives whether the state has changed."""
        arrows = [arrow for arrow in self._arrows.get(str(frame.get("type")), ()) if arrow.fits(frame)]
        target = next((arrow.target for arrow in arrows if arrow.origin == self.state), None)
        # An event that leads to one place wherever it is legal is believed where it is not, too.
        if target is None and frame.get("type") != "response" and len({arrow.target for arrow in arrows}) == 1:
            target = arrows[0].target
        if target is None or target == self.state:
            return False
        self.state = target
        self.moves += 1
        return True

    def rest(self) -> None:
        """The server has said that nothing is under way."""
        self.state = self._dialect.initial

    def outcome(self, command: str, fields: Frame) -> Outcome | None:
        """What becomes of a command here; None if the dialect does not say."""
        by_state = self._dialect.outcomes.get(command, {})
        for outcome in by_state.get(self.state, by_state.get("*", ())):
            if outcome.when is None or fields.get(outcome.when[0]) in outcome.when[1]:
                return outcome
        return None


def _member(frame: Frame, name: str) -> Any:
    if name == "disposition":
        return disposition(frame)
    message = frame.get("message")
    return message.get(name) if name in ("role", "stopReason") and isinstance(message, dict) else frame.get(name)


def disposition(response: Frame) -> Any:
    """What became of a prompt; None where the server does not say. An extension may have taken it: no run follows then."""
    data = response.get("data")
    return data.get("disposition") if isinstance(data, dict) else None
