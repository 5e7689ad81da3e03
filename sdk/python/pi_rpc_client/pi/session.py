"""Made by generate.py from `pi-rpc schema --dialect pi`; not to be changed by hand."""

from __future__ import annotations

from ..dialect import Dialect
from ..session import Unknown
from ..typed import TypedState
from .models import *
from .tables import DIALECT


class State(TypedState):
    """State of a session that speaks pi. An unknown member is `UNKNOWN`, one without a value is None."""

    def __init__(self, dialect: Dialect = DIALECT, *, fresh: bool = False) -> None:
        """`fresh`: the server has just started, and all frames since are passed in."""
        super().__init__(dialect, fresh=fresh)

    @property
    def model(self) -> Model | None | Unknown:
        """Selected model; no value: none."""
        value: Model | None | Unknown = self._decoded("model")
        return value

    @property
    def thinking_level(self) -> ThinkingLevel | None | Unknown:
        """Thinking level in effect; no value: none is set."""
        value: ThinkingLevel | None | Unknown = self._decoded("thinkingLevel")
        return value

    @property
    def models(self) -> list[Model] | Unknown:
        """Models that `set_model` accepts, in the order of `cycle_model`."""
        value: list[Model] | Unknown = self._decoded("models")
        return value

    @property
    def thinking_levels(self) -> list[ThinkingLevel] | Unknown:
        """Thinking levels that the model supports, in the order of `cycle_thinking_level`."""
        value: list[ThinkingLevel] | Unknown = self._decoded("thinkingLevels")
        return value

    @property
    def steering_mode(self) -> QueueMode | Unknown:
        """Number of steering messages that are delivered at a time."""
        value: QueueMode | Unknown = self._decoded("steeringMode")
        return value

    @property
    def follow_up_mode(self) -> QueueMode | Unknown:
        """Number of follow-up messages that are delivered at a time."""
        value: QueueMode | Unknown = self._decoded("followUpMode")
        return value

    @property
    def auto_compaction_enabled(self) -> bool | Unknown:
        """Whether a nearly full context is compacted automatically."""
        value: bool | Unknown = self._decoded("autoCompactionEnabled")
        return value

    @property
    def auto_retry_enabled(self) -> bool | Unknown:
        """Whether a failed run is retried automatically."""
        value: bool | Unknown = self._decoded("autoRetryEnabled")
        return value

    @property
    def session_id(self) -> str | Unknown:
        """Id of the session."""
        value: str | Unknown = self._decoded("sessionId")
        return value

    @property
    def session_file(self) -> str | None | Unknown:
        """Path of the session file; no value: the session is held in memory only."""
        value: str | None | Unknown = self._decoded("sessionFile")
        return value

    @property
    def session_name(self) -> str | None | Unknown:
        """Name of the session; no value: none."""
        value: str | None | Unknown = self._decoded("sessionName")
        return value

    @property
    def commands(self) -> list[SlashCommand] | Unknown:
        """Slash commands of extensions, prompt templates and skills."""
        value: list[SlashCommand] | Unknown = self._decoded("commands")
        return value

    @property
    def steering(self) -> list[str] | Unknown:
        """Texts of the waiting steering messages, in order."""
        value: list[str] | Unknown = self._decoded("steering")
        return value

    @property
    def follow_up(self) -> list[str] | Unknown:
        """Texts of the waiting follow-up messages, in order."""
        value: list[str] | Unknown = self._decoded("followUp")
        return value

    @property
    def messages(self) -> list[AgentMessage] | Unknown:
        """Messages of the conversation, as `get_messages` lists them."""
        value: list[AgentMessage] | Unknown = self._decoded("messages")
        return value

    @property
    def usage(self) -> TokenTotals | Unknown:
        """Tokens and cost, as `get_session_stats` adds them up."""
        value: TokenTotals | Unknown = self._decoded("usage")
        return value
