"""Made by generate.py from `pi-rpc schema --dialect pi`; not to be changed by hand."""

from __future__ import annotations

from ..dialect import Dialect
from ..session import Unknown
from ..typed import TypedState
from .models import (
    AgentMessage,
    Model,
    QueueMode,
    SlashCommand,
    ThinkingLevel,
    TokenTotals,
)
from .tables import DIALECT


class State(TypedState):
    """The state of a session that speaks pi. What is not known is `UNKNOWN`, what is known to have no value is None."""

    def __init__(self, dialect: Dialect = DIALECT, *, fresh: bool = False) -> None:
        """`fresh`: the server's process has just begun, and every frame since will be seen."""
        super().__init__(dialect, fresh=fresh)

    @property
    def model(self) -> Model | None | Unknown:
        """The model that is used; no value: there is none."""
        value: Model | None | Unknown = self._decoded("model")
        return value

    @property
    def thinking_level(self) -> ThinkingLevel | None | Unknown:
        """The thinking level in effect; no value: none is set."""
        value: ThinkingLevel | None | Unknown = self._decoded("thinkingLevel")
        return value

    @property
    def models(self) -> list[Model] | Unknown:
        """The models that `set_model` accepts, in the order in which `cycle_model` goes round."""
        value: list[Model] | Unknown = self._decoded("models")
        return value

    @property
    def thinking_levels(self) -> list[ThinkingLevel] | Unknown:
        """The thinking levels that the model takes, in the order in which `cycle_thinking_level` goes round."""
        value: list[ThinkingLevel] | Unknown = self._decoded("thinkingLevels")
        return value

    @property
    def steering_mode(self) -> QueueMode | Unknown:
        """How many steering messages are delivered at a time."""
        value: QueueMode | Unknown = self._decoded("steeringMode")
        return value

    @property
    def follow_up_mode(self) -> QueueMode | Unknown:
        """How many follow-up messages are delivered at a time."""
        value: QueueMode | Unknown = self._decoded("followUpMode")
        return value

    @property
    def auto_compaction_enabled(self) -> bool | Unknown:
        """Whether a nearly full context is compacted without being asked."""
        value: bool | Unknown = self._decoded("autoCompactionEnabled")
        return value

    @property
    def auto_retry_enabled(self) -> bool | Unknown:
        """Whether a failed run is tried again without being asked."""
        value: bool | Unknown = self._decoded("autoRetryEnabled")
        return value

    @property
    def session_id(self) -> str | Unknown:
        """The id of the session."""
        value: str | Unknown = self._decoded("sessionId")
        return value

    @property
    def session_file(self) -> str | None | Unknown:
        """The file of the session; no value: it is kept in memory only."""
        value: str | None | Unknown = self._decoded("sessionFile")
        return value

    @property
    def session_name(self) -> str | None | Unknown:
        """The name of the session; no value: it has none."""
        value: str | None | Unknown = self._decoded("sessionName")
        return value

    @property
    def commands(self) -> list[SlashCommand] | Unknown:
        """The slash commands: of extensions, prompt templates and skills."""
        value: list[SlashCommand] | Unknown = self._decoded("commands")
        return value

    @property
    def steering(self) -> list[str] | Unknown:
        """The texts of the steering messages that wait, in order."""
        value: list[str] | Unknown = self._decoded("steering")
        return value

    @property
    def follow_up(self) -> list[str] | Unknown:
        """The texts of the follow-up messages that wait, in order."""
        value: list[str] | Unknown = self._decoded("followUp")
        return value

    @property
    def messages(self) -> list[AgentMessage] | Unknown:
        """The messages of the conversation, as `get_messages` lists them."""
        value: list[AgentMessage] | Unknown = self._decoded("messages")
        return value

    @property
    def usage(self) -> TokenTotals | Unknown:
        """Tokens and costs, as `get_session_stats` sums them up."""
        value: TokenTotals | Unknown = self._decoded("usage")
        return value
