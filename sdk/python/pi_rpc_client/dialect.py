"""The types of the generated tables of a dialect, and the activity of a session by these tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Frame = dict[str, Any]
"""Frame in the form of the wire."""


@dataclass(frozen=True)
class Outcome:
    """Disposition of a command in a state."""

    disposition: str
    """`run`, `queue`, `preempt`, `noop`, `control` or `reject`."""
    when: tuple[str, Sequence[str]] | None = None
    """Condition: a member of the command and its values."""
    error: str = ""
    """Error text of a rejection."""


@dataclass(frozen=True)
class Arrow:
    """Transition between states by a frame."""

    type: str
    where: Mapping[str, Any]
    """Further conditions; `role` and `stopReason` are those of the message, `disposition` is that of the data."""
    origin: str
    target: str

    def fits(self, frame: Frame) -> bool:
        """Whether a frame causes the transition."""
        return all(_member(frame, name) == it for name, it in self.where.items())


@dataclass(frozen=True)
class Effect:
    """Effect of a frame on the session state."""

    effect: str
    """`set`, `next`, `clamp`, `append`, `add`, `reset`, `forget` or `code`."""
    members: Sequence[str]
    value: str | None = None
    """Path to the value in the frame."""
    code: str | None = None
    """Code of an effect that is implemented by hand."""
    when: tuple[str, Sequence[str]] | None = None
    """Condition: a path and the values at it."""


@dataclass(frozen=True)
class Member:
    """Member of the session state."""

    kept: str = "value"
    """`value`, `list` or `sum`."""
    is_list: bool = False
    """Whether the value is a list."""
    absent: bool = False
    """Whether the member may have no value."""
    fresh: bool = False
    """Whether a new process starts with the first value."""
    shape: Any = None
    """Type of the value, or of each item of a list."""


@dataclass(frozen=True)
class Levels:
    """Thinking levels of models."""

    all: Sequence[str]
    """All levels, lowest first."""
    extra: Sequence[str]
    """Levels that a model with a map supports only if the map has them."""
    without_thinking: str | None
    """Level of a model that does not support thinking."""
    follows_model: bool
    """Whether selecting a model sets a level."""


@dataclass(frozen=True)
class SessionTables:
    """Members of the session state, with the responses that report them and the effects that change them."""

    members: Mapping[str, Member]
    commands: Mapping[str, Sequence[Effect]]
    """Effects of the success of a command."""
    events: Mapping[str, Sequence[Effect]]
    """Effects of an event."""
    tells: Mapping[str, Mapping[str, str]]
    """Members that the success of a command reports, each with the path to its value."""
    streaming: Mapping[str, bool]
    """Value of `isStreaming` by state; missing states leave it open."""
    compacting: Sequence[str]
    """States in which `isCompacting` is true."""
    levels: Levels
    cleans_name: str
    """Characters that become a space in the name of a session."""


@dataclass(frozen=True)
class Dialect:
    """Tables of a dialect."""

    name: str
    opens_with: str | None
    """`type` of the frame that reports that the server is ready; None if there is none."""
    events: Mapping[str, Any]
    """Models of the frames of the server, by `type`."""
    results: Mapping[str, Any]
    """Types of the data of success responses, by command."""
    outcomes: Mapping[str, Mapping[str, Sequence[Outcome]]]
    """Dispositions of commands by state: the first outcome whose condition holds. `*`: in every state."""
    frame_limits: tuple[int, int] | None
    """Bytes over which a frame may come in chunks, and of the largest frame; None: none does."""
    serial: bool
    """Whether commands are served one by one."""
    overtaking: Sequence[str]
    """Commands that overtake earlier ones."""
    answers: Mapping[str, str]
    """Member of the dialog response, by `method`; other methods are notices."""
    zero_timeout_expires: bool
    """Whether a dialog with a `timeout` of 0 ends at once; else it has no limit."""
    settles: bool
    """Whether the server reports when nothing follows by itself any more; else a run may start from an idle session."""
    message: Any
    """Model of an assistant message."""
    initial: str
    """Idle state, that of a new session."""
    arrows: Sequence[Arrow]
    session: SessionTables

    @property
    def commands(self) -> Collection[str]:
        """Commands."""
        return self.outcomes.keys()


class Flow:
    """Activity of a session, by the chart of the dialect."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self.state = dialect.initial
        self.moves = 0
        """Number of changes of the state."""
        self._arrows: dict[str, list[Arrow]] = {}
        for arrow in dialect.arrows:
            self._arrows.setdefault(arrow.type, []).append(arrow)
        self._promises = {arrow.target for arrow in dialect.arrows if arrow.where.get("success") is True}

    @property
    def rests(self) -> bool:
        """Whether the session is idle."""
        return self.state == self._dialect.initial

    @property
    def promises(self) -> bool:
        """Whether a prompt was acknowledged whose run has not started; a command of an extension opens none."""
        return not self.rests and self.state in self._promises

    def see(self, frame: Frame) -> bool:
        """Follows a frame of the server. Returns whether the state has changed."""
        arrows = [arrow for arrow in self._arrows.get(str(frame.get("type")), ()) if arrow.fits(frame)]
        target = next((arrow.target for arrow in arrows if arrow.origin == self.state), None)
        # An event that always leads to the same state is followed even where it is not legal.
        if target is None and frame.get("type") != "response" and len({arrow.target for arrow in arrows}) == 1:
            target = arrows[0].target
        if target is None or target == self.state:
            return False
        self.state = target
        self.moves += 1
        return True

    def rest(self) -> None:
        """Resets to idle, as the server has reported that."""
        self.state = self._dialect.initial

    def outcome(self, command: str, fields: Frame) -> Outcome | None:
        """Disposition of a command in the present state; None if the dialect leaves it open."""
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
    """Disposition in the response to a prompt; None if it has none."""
    data = response.get("data")
    return data.get("disposition") if isinstance(data, dict) else None


def is_undecided(dialect: Dialect, prompt: Frame, response: Frame) -> bool:
    """Whether `prompt_result` or the start of a run is still to report what an accepted prompt led to: it may be a
    command of an extension."""
    names_command = str(prompt.get("message", "")).startswith("/")
    return names_command and "prompt_result" in dialect.events and not isinstance(response.get("data"), dict)


def is_decided(response: Frame) -> bool:
    """Whether the response to a prompt reports what it leads to."""
    data = response.get("data")
    return isinstance(data, dict) and ("disposition" in data or data.get("agentInvoked") is True)


def is_handled(response: Frame) -> bool:
    """Whether the response to a prompt reports that no run follows."""
    data = response.get("data")
    return isinstance(data, dict) and (data.get("disposition") == "handled" or data.get("agentInvoked") is False)
