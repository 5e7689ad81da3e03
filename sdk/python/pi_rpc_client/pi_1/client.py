"""Made by generate.py from `pi-rpc schema --dialect pi-1`; not to be changed by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Union

from typing_extensions import TypeAlias

from ..aio import Answer, AsyncClientBase
from ..connection import UnknownEvent
from ..sync import ClientBase
from .models import (
    AgentSessionEvent,
    AssistantMessage,
    BashResult,
    ClearedQueue,
    CommandList,
    CompactionResult,
    ConfirmRequest,
    EditorRequest,
    EntryList,
    EntryTree,
    ExportedFile,
    ExtensionError,
    ForkMessages,
    ForkResult,
    ImageContent,
    InputRequest,
    LastAssistantText,
    MessageList,
    Model,
    ModelCycle,
    ModelList,
    PromptOutcome,
    QueueMode,
    QueueOutcome,
    RpcErrorResponse,
    RpcExtensionUIRequest,
    SelectRequest,
    SessionChange,
    SessionState,
    SessionStats,
    StreamingBehavior,
    ThinkingLevel,
    ThinkingLevelChange,
    ThinkingLevelList,
)
from .session import State
from .tables import DIALECT

Event: TypeAlias = Union[
    AgentSessionEvent,
    RpcExtensionUIRequest,
    ExtensionError,
    RpcErrorResponse,
    UnknownEvent,
]
"""What `events` gives: everything that the server says by itself, told apart by `type`."""

Dialog: TypeAlias = Union[
    SelectRequest,
    ConfirmRequest,
    InputRequest,
    EditorRequest,
]
"""What `on_dialog` is asked, told apart by `method`."""


class AsyncClient(AsyncClientBase[Event, AssistantMessage]):
    """A server that speaks pi-1, for asyncio."""

    dialect = DIALECT
    _session_type = State

    @property
    def session(self) -> State:
        """What the frames have told of the session so far; kept up as they come."""
        session = self._session
        assert isinstance(session, State)
        return session

    async def prompt(
        self,
        message: str,
        *,
        images: Sequence[ImageContent] | None = None,
        streaming_behavior: StreamingBehavior | None = None,
        anyway: bool = False,
        timeout: float | None = None,
    ) -> Answer[AssistantMessage]:
        """Gives the agent a user message and starts a run. While a run is open it needs `streamingBehavior`, and the
        message is queued instead. A message that begins with `/` may name a command of an extension, a prompt
        template or a skill.

        Waits until the run has ended, and what follows it by itself, such as queued messages: a prompt that is
        queued, and the one whose run takes it up, both give the text of the last answer.

        :param message: The text for the agent, or a slash command with its arguments.
        :param images: Images that go with the text, in order.
        :param streaming_behavior: How a prompt is queued while a run is open: `steer` redirects the run as soon as
            possible, `followUp` waits until it would stop.
        :param anyway: Send it even if the server would refuse it, which is else a `RefusedError`.
        """
        result: Answer[AssistantMessage] = await self._run(
            "prompt", {"message": message, "images": images, "streamingBehavior": streaming_behavior}, timeout, anyway
        )
        return result

    async def start_prompt(
        self,
        message: str,
        *,
        images: Sequence[ImageContent] | None = None,
        streaming_behavior: StreamingBehavior | None = None,
        anyway: bool = False,
        timeout: float | None = None,
    ) -> PromptOutcome:
        """Gives the agent a user message and starts a run. While a run is open it needs `streamingBehavior`, and the
        message is queued instead. A message that begins with `/` may name a command of an extension, a prompt
        template or a skill.

        Waits until it is accepted only.

        :param message: The text for the agent, or a slash command with its arguments.
        :param images: Images that go with the text, in order.
        :param streaming_behavior: How a prompt is queued while a run is open: `steer` redirects the run as soon as
            possible, `followUp` waits until it would stop.
        :param anyway: Send it even if the server would refuse it, which is else a `RefusedError`.
        """
        result: PromptOutcome = await self._call(
            "prompt", {"message": message, "images": images, "streamingBehavior": streaming_behavior}, timeout, anyway
        )
        return result

    async def steer(
        self, message: str, *, images: Sequence[ImageContent] | None = None, timeout: float | None = None
    ) -> QueueOutcome:
        """Queues a message that redirects the agent as soon as possible. Allowed in every state; while no run is open
        it waits for the next one.

        :param message: The text for the agent. It may name a prompt template, but no command of an extension.
        :param images: Images that go with the text, in order.
        """
        result: QueueOutcome = await self._call("steer", {"message": message, "images": images}, timeout)
        return result

    async def follow_up(
        self, message: str, *, images: Sequence[ImageContent] | None = None, timeout: float | None = None
    ) -> QueueOutcome:
        """Queues a message for the moment when the agent would stop. Allowed in every state; while no run is open it
        waits for the end of the next one.

        :param message: The text for the agent. It may name a prompt template, but no command of an extension.
        :param images: Images that go with the text, in order.
        """
        result: QueueOutcome = await self._call("follow_up", {"message": message, "images": images}, timeout)
        return result

    async def abort(self, *, timeout: float | None = None) -> None:
        """Ends the open run, the wait before a retry, or the compaction that `compact` has begun, and answers when
        that is done; in pi 1 any compaction. Queued messages and bash commands stay untouched, and in the other
        dialects automatic compactions.
        """
        await self._call("abort", {}, timeout)

    async def clear_queue(self, *, timeout: float | None = None) -> ClearedQueue:
        """Takes back all messages that wait in the queues."""
        result: ClearedQueue = await self._call("clear_queue", {}, timeout)
        return result

    async def new_session(self, *, parent_session: str | None = None, timeout: float | None = None) -> SessionChange:
        """Leaves the current session and begins an empty one. An extension may veto it.

        :param parent_session: Path of the session file to note as the parent of the new session. It is not opened;
            an empty string counts as not given.
        """
        result: SessionChange = await self._call("new_session", {"parentSession": parent_session}, timeout)
        return result

    async def get_state(self, *, timeout: float | None = None) -> SessionState:
        """Reads the state of the session: model, modes, queue length, what goes on."""
        result: SessionState = await self._call("get_state", {}, timeout)
        return result

    async def set_model(self, provider: str, model_id: str, *, timeout: float | None = None) -> Model:
        """Switches to a model that has credentials. An open run keeps the model that it began with.

        :param provider: Id of the provider.
        :param model_id: Id of the model within the provider.
        """
        result: Model = await self._call("set_model", {"provider": provider, "modelId": model_id}, timeout)
        return result

    async def cycle_model(self, *, timeout: float | None = None) -> ModelCycle | None:
        """Switches to the next available model, as `set_model` does."""
        result: ModelCycle | None = await self._call("cycle_model", {}, timeout)
        return result

    async def get_available_models(self, *, timeout: float | None = None) -> ModelList:
        """Lists the models that have credentials."""
        result: ModelList = await self._call("get_available_models", {}, timeout)
        return result

    async def set_thinking_level(self, level: ThinkingLevel, *, timeout: float | None = None) -> None:
        """Sets how much the model thinks. A level that the model does not know is replaced by the nearest one that it
        does.

        :param level: How hard the model should think before it answers.
        """
        await self._call("set_thinking_level", {"level": level}, timeout)

    async def cycle_thinking_level(self, *, timeout: float | None = None) -> ThinkingLevelChange | None:
        """Switches to the next thinking level of the model; after the last comes the first."""
        result: ThinkingLevelChange | None = await self._call("cycle_thinking_level", {}, timeout)
        return result

    async def get_available_thinking_levels(self, *, timeout: float | None = None) -> ThinkingLevelList:
        """Lists the thinking levels that the model knows."""
        result: ThinkingLevelList = await self._call("get_available_thinking_levels", {}, timeout)
        return result

    async def set_steering_mode(self, mode: QueueMode, *, timeout: float | None = None) -> None:
        """Sets how many steering messages are delivered at a time.

        :param mode: How many waiting messages are delivered at a time: `all` delivers the whole queue, `one-at-a-
            time` its first message.
        """
        await self._call("set_steering_mode", {"mode": mode}, timeout)

    async def set_follow_up_mode(self, mode: QueueMode, *, timeout: float | None = None) -> None:
        """Sets how many follow-up messages are delivered at a time.

        :param mode: How many waiting messages are delivered at a time: `all` delivers the whole queue, `one-at-a-
            time` its first message.
        """
        await self._call("set_follow_up_mode", {"mode": mode}, timeout)

    async def compact(
        self, *, custom_instructions: str | None = None, anyway: bool = False, timeout: float | None = None
    ) -> CompactionResult:
        """Replaces the older part of the conversation by a summary. An open run is ended first. In pi and xcsh no
        event tells of it, only the response.

        :param custom_instructions: What the summary should pay attention to.
        :param anyway: Send it even if the server would refuse it, which is else a `RefusedError`.
        """
        result: CompactionResult = await self._call(
            "compact", {"customInstructions": custom_instructions}, timeout, anyway
        )
        return result

    async def set_auto_compaction(self, enabled: bool, *, timeout: float | None = None) -> None:
        """Turns the automatic compaction of a nearly full context on or off.

        :param enabled: True: compact automatically.
        """
        await self._call("set_auto_compaction", {"enabled": enabled}, timeout)

    async def set_auto_retry(self, enabled: bool, *, timeout: float | None = None) -> None:
        """Turns the automatic retry after a passing fault of the provider on or off. A retry that is under way goes
        on.

        :param enabled: True: retry automatically.
        """
        await self._call("set_auto_retry", {"enabled": enabled}, timeout)

    async def abort_retry(self, *, timeout: float | None = None) -> None:
        """Gives up the retry that is being waited for. Without one it does nothing."""
        await self._call("abort_retry", {}, timeout)

    async def bash(
        self, command: str, *, exclude_from_context: bool | None = None, timeout: float | None = None
    ) -> BashResult:
        """Runs a shell command in the working directory, beside whatever goes on, and adds its output to the
        conversation. Answers when the command has ended; only pi 1 tells of its output before.

        :param command: The command line, handed to the shell as it is.
        :param exclude_from_context: Whether the model is kept from seeing the command and its output.
        """
        result: BashResult = await self._call(
            "bash", {"command": command, "excludeFromContext": exclude_from_context}, timeout
        )
        return result

    async def abort_bash(self, *, timeout: float | None = None) -> None:
        """Ends the bash commands that the host has started. Without one it does nothing."""
        await self._call("abort_bash", {}, timeout)

    async def get_session_stats(self, *, timeout: float | None = None) -> SessionStats:
        """Reads counts, tokens and cost of the messages in the conversation."""
        result: SessionStats = await self._call("get_session_stats", {}, timeout)
        return result

    async def export_html(self, *, output_path: str | None = None, timeout: float | None = None) -> ExportedFile:
        """Writes the session as one HTML file.

        :param output_path: Path of the file to write, absolute or relative to the working directory. Absent: a
            file named after the session in the working directory.
        """
        result: ExportedFile = await self._call("export_html", {"outputPath": output_path}, timeout)
        return result

    async def switch_session(self, session_path: str, *, timeout: float | None = None) -> SessionChange:
        """Leaves the current session and opens the one in a file. An extension may veto it.

        :param session_path: Path of the session file, absolute or relative to the working directory.
        """
        result: SessionChange = await self._call("switch_session", {"sessionPath": session_path}, timeout)
        return result

    async def fork(self, entry_id: str, *, timeout: float | None = None) -> ForkResult:
        """Begins a new session that holds the conversation up to, but without, an earlier user message. An extension
        may veto it.

        :param entry_id: Id of the session entry of a user message, as `get_fork_messages` lists it.
        """
        result: ForkResult = await self._call("fork", {"entryId": entry_id}, timeout)
        return result

    async def clone(self, *, timeout: float | None = None) -> SessionChange:
        """Begins a new session that holds a copy of the active branch. An extension may veto it."""
        result: SessionChange = await self._call("clone", {}, timeout)
        return result

    async def get_fork_messages(self, *, timeout: float | None = None) -> ForkMessages:
        """Lists the user messages that `fork` can go back to."""
        result: ForkMessages = await self._call("get_fork_messages", {}, timeout)
        return result

    async def get_entries(self, *, since: str | None = None, timeout: float | None = None) -> EntryList:
        """Reads the entries of the session, of all branches, in the order in which they were written; the header is
        not among them.

        :param since: Id of an entry: only those after it are wanted. An id that the session does not have is
            refused.
        """
        result: EntryList = await self._call("get_entries", {"since": since}, timeout)
        return result

    async def get_tree(self, *, timeout: float | None = None) -> EntryTree:
        """Reads the entries of the session as a tree."""
        result: EntryTree = await self._call("get_tree", {}, timeout)
        return result

    async def get_last_assistant_text(self, *, timeout: float | None = None) -> LastAssistantText:
        """Reads the text of the newest assistant message."""
        result: LastAssistantText = await self._call("get_last_assistant_text", {}, timeout)
        return result

    async def set_session_name(self, name: str, *, timeout: float | None = None) -> None:
        """Gives the session a name to show. Blanks around it are cut off; an empty name is refused.

        :param name: The name, one line of text.
        """
        await self._call("set_session_name", {"name": name}, timeout)

    async def get_messages(self, *, timeout: float | None = None) -> MessageList:
        """Reads all messages of the conversation. A message that is still being received is not among them."""
        result: MessageList = await self._call("get_messages", {}, timeout)
        return result

    async def get_commands(self, *, timeout: float | None = None) -> CommandList:
        """Lists what a prompt can call with a leading `/`: commands of extensions, prompt templates and skills."""
        result: CommandList = await self._call("get_commands", {}, timeout)
        return result


class Client(ClientBase[Event, AssistantMessage]):
    """A server that speaks pi-1."""

    _of = AsyncClient

    @property
    def session(self) -> State:
        """What the frames have told of the session so far; kept up as they come."""
        session = self._session
        assert isinstance(session, State)
        return session

    def prompt(
        self,
        message: str,
        *,
        images: Sequence[ImageContent] | None = None,
        streaming_behavior: StreamingBehavior | None = None,
        anyway: bool = False,
        timeout: float | None = None,
    ) -> Answer[AssistantMessage]:
        """Gives the agent a user message and starts a run. While a run is open it needs `streamingBehavior`, and the
        message is queued instead. A message that begins with `/` may name a command of an extension, a prompt
        template or a skill.

        Waits until the run has ended, and what follows it by itself, such as queued messages: a prompt that is
        queued, and the one whose run takes it up, both give the text of the last answer.

        :param message: The text for the agent, or a slash command with its arguments.
        :param images: Images that go with the text, in order.
        :param streaming_behavior: How a prompt is queued while a run is open: `steer` redirects the run as soon as
            possible, `followUp` waits until it would stop.
        :param anyway: Send it even if the server would refuse it, which is else a `RefusedError`.
        """
        result: Answer[AssistantMessage] = self._run(
            "prompt", {"message": message, "images": images, "streamingBehavior": streaming_behavior}, timeout, anyway
        )
        return result

    def start_prompt(
        self,
        message: str,
        *,
        images: Sequence[ImageContent] | None = None,
        streaming_behavior: StreamingBehavior | None = None,
        anyway: bool = False,
        timeout: float | None = None,
    ) -> PromptOutcome:
        """Gives the agent a user message and starts a run. While a run is open it needs `streamingBehavior`, and the
        message is queued instead. A message that begins with `/` may name a command of an extension, a prompt
        template or a skill.

        Waits until it is accepted only.

        :param message: The text for the agent, or a slash command with its arguments.
        :param images: Images that go with the text, in order.
        :param streaming_behavior: How a prompt is queued while a run is open: `steer` redirects the run as soon as
            possible, `followUp` waits until it would stop.
        :param anyway: Send it even if the server would refuse it, which is else a `RefusedError`.
        """
        result: PromptOutcome = self._call(
            "prompt", {"message": message, "images": images, "streamingBehavior": streaming_behavior}, timeout, anyway
        )
        return result

    def steer(
        self, message: str, *, images: Sequence[ImageContent] | None = None, timeout: float | None = None
    ) -> QueueOutcome:
        """Queues a message that redirects the agent as soon as possible. Allowed in every state; while no run is open
        it waits for the next one.

        :param message: The text for the agent. It may name a prompt template, but no command of an extension.
        :param images: Images that go with the text, in order.
        """
        result: QueueOutcome = self._call("steer", {"message": message, "images": images}, timeout)
        return result

    def follow_up(
        self, message: str, *, images: Sequence[ImageContent] | None = None, timeout: float | None = None
    ) -> QueueOutcome:
        """Queues a message for the moment when the agent would stop. Allowed in every state; while no run is open it
        waits for the end of the next one.

        :param message: The text for the agent. It may name a prompt template, but no command of an extension.
        :param images: Images that go with the text, in order.
        """
        result: QueueOutcome = self._call("follow_up", {"message": message, "images": images}, timeout)
        return result

    def abort(self, *, timeout: float | None = None) -> None:
        """Ends the open run, the wait before a retry, or the compaction that `compact` has begun, and answers when
        that is done; in pi 1 any compaction. Queued messages and bash commands stay untouched, and in the other
        dialects automatic compactions.
        """
        self._call("abort", {}, timeout)

    def clear_queue(self, *, timeout: float | None = None) -> ClearedQueue:
        """Takes back all messages that wait in the queues."""
        result: ClearedQueue = self._call("clear_queue", {}, timeout)
        return result

    def new_session(self, *, parent_session: str | None = None, timeout: float | None = None) -> SessionChange:
        """Leaves the current session and begins an empty one. An extension may veto it.

        :param parent_session: Path of the session file to note as the parent of the new session. It is not opened;
            an empty string counts as not given.
        """
        result: SessionChange = self._call("new_session", {"parentSession": parent_session}, timeout)
        return result

    def get_state(self, *, timeout: float | None = None) -> SessionState:
        """Reads the state of the session: model, modes, queue length, what goes on."""
        result: SessionState = self._call("get_state", {}, timeout)
        return result

    def set_model(self, provider: str, model_id: str, *, timeout: float | None = None) -> Model:
        """Switches to a model that has credentials. An open run keeps the model that it began with.

        :param provider: Id of the provider.
        :param model_id: Id of the model within the provider.
        """
        result: Model = self._call("set_model", {"provider": provider, "modelId": model_id}, timeout)
        return result

    def cycle_model(self, *, timeout: float | None = None) -> ModelCycle | None:
        """Switches to the next available model, as `set_model` does."""
        result: ModelCycle | None = self._call("cycle_model", {}, timeout)
        return result

    def get_available_models(self, *, timeout: float | None = None) -> ModelList:
        """Lists the models that have credentials."""
        result: ModelList = self._call("get_available_models", {}, timeout)
        return result

    def set_thinking_level(self, level: ThinkingLevel, *, timeout: float | None = None) -> None:
        """Sets how much the model thinks. A level that the model does not know is replaced by the nearest one that it
        does.

        :param level: How hard the model should think before it answers.
        """
        self._call("set_thinking_level", {"level": level}, timeout)

    def cycle_thinking_level(self, *, timeout: float | None = None) -> ThinkingLevelChange | None:
        """Switches to the next thinking level of the model; after the last comes the first."""
        result: ThinkingLevelChange | None = self._call("cycle_thinking_level", {}, timeout)
        return result

    def get_available_thinking_levels(self, *, timeout: float | None = None) -> ThinkingLevelList:
        """Lists the thinking levels that the model knows."""
        result: ThinkingLevelList = self._call("get_available_thinking_levels", {}, timeout)
        return result

    def set_steering_mode(self, mode: QueueMode, *, timeout: float | None = None) -> None:
        """Sets how many steering messages are delivered at a time.

        :param mode: How many waiting messages are delivered at a time: `all` delivers the whole queue, `one-at-a-
            time` its first message.
        """
        self._call("set_steering_mode", {"mode": mode}, timeout)

    def set_follow_up_mode(self, mode: QueueMode, *, timeout: float | None = None) -> None:
        """Sets how many follow-up messages are delivered at a time.

        :param mode: How many waiting messages are delivered at a time: `all` delivers the whole queue, `one-at-a-
            time` its first message.
        """
        self._call("set_follow_up_mode", {"mode": mode}, timeout)

    def compact(
        self, *, custom_instructions: str | None = None, anyway: bool = False, timeout: float | None = None
    ) -> CompactionResult:
        """Replaces the older part of the conversation by a summary. An open run is ended first. In pi and xcsh no
        event tells of it, only the response.

        :param custom_instructions: What the summary should pay attention to.
        :param anyway: Send it even if the server would refuse it, which is else a `RefusedError`.
        """
        result: CompactionResult = self._call("compact", {"customInstructions": custom_instructions}, timeout, anyway)
        return result

    def set_auto_compaction(self, enabled: bool, *, timeout: float | None = None) -> None:
        """Turns the automatic compaction of a nearly full context on or off.

        :param enabled: True: compact automatically.
        """
        self._call("set_auto_compaction", {"enabled": enabled}, timeout)

    def set_auto_retry(self, enabled: bool, *, timeout: float | None = None) -> None:
        """Turns the automatic retry after a passing fault of the provider on or off. A retry that is under way goes
        on.

        :param enabled: True: retry automatically.
        """
        self._call("set_auto_retry", {"enabled": enabled}, timeout)

    def abort_retry(self, *, timeout: float | None = None) -> None:
        """Gives up the retry that is being waited for. Without one it does nothing."""
        self._call("abort_retry", {}, timeout)

    def bash(
        self, command: str, *, exclude_from_context: bool | None = None, timeout: float | None = None
    ) -> BashResult:
        """Runs a shell command in the working directory, beside whatever goes on, and adds its output to the
        conversation. Answers when the command has ended; only pi 1 tells of its output before.

        :param command: The command line, handed to the shell as it is.
        :param exclude_from_context: Whether the model is kept from seeing the command and its output.
        """
        result: BashResult = self._call(
            "bash", {"command": command, "excludeFromContext": exclude_from_context}, timeout
        )
        return result

    def abort_bash(self, *, timeout: float | None = None) -> None:
        """Ends the bash commands that the host has started. Without one it does nothing."""
        self._call("abort_bash", {}, timeout)

    def get_session_stats(self, *, timeout: float | None = None) -> SessionStats:
        """Reads counts, tokens and cost of the messages in the conversation."""
        result: SessionStats = self._call("get_session_stats", {}, timeout)
        return result

    def export_html(self, *, output_path: str | None = None, timeout: float | None = None) -> ExportedFile:
        """Writes the session as one HTML file.

        :param output_path: Path of the file to write, absolute or relative to the working directory. Absent: a
            file named after the session in the working directory.
        """
        result: ExportedFile = self._call("export_html", {"outputPath": output_path}, timeout)
        return result

    def switch_session(self, session_path: str, *, timeout: float | None = None) -> SessionChange:
        """Leaves the current session and opens the one in a file. An extension may veto it.

        :param session_path: Path of the session file, absolute or relative to the working directory.
        """
        result: SessionChange = self._call("switch_session", {"sessionPath": session_path}, timeout)
        return result

    def fork(self, entry_id: str, *, timeout: float | None = None) -> ForkResult:
        """Begins a new session that holds the conversation up to, but without, an earlier user message. An extension
        may veto it.

        :param entry_id: Id of the session entry of a user message, as `get_fork_messages` lists it.
        """
        result: ForkResult = self._call("fork", {"entryId": entry_id}, timeout)
        return result

    def clone(self, *, timeout: float | None = None) -> SessionChange:
        """Begins a new session that holds a copy of the active branch. An extension may veto it."""
        result: SessionChange = self._call("clone", {}, timeout)
        return result

    def get_fork_messages(self, *, timeout: float | None = None) -> ForkMessages:
        """Lists the user messages that `fork` can go back to."""
        result: ForkMessages = self._call("get_fork_messages", {}, timeout)
        return result

    def get_entries(self, *, since: str | None = None, timeout: float | None = None) -> EntryList:
        """Reads the entries of the session, of all branches, in the order in which they were written; the header is
        not among them.

        :param since: Id of an entry: only those after it are wanted. An id that the session does not have is
            refused.
        """
        result: EntryList = self._call("get_entries", {"since": since}, timeout)
        return result

    def get_tree(self, *, timeout: float | None = None) -> EntryTree:
        """Reads the entries of the session as a tree."""
        result: EntryTree = self._call("get_tree", {}, timeout)
        return result

    def get_last_assistant_text(self, *, timeout: float | None = None) -> LastAssistantText:
        """Reads the text of the newest assistant message."""
        result: LastAssistantText = self._call("get_last_assistant_text", {}, timeout)
        return result

    def set_session_name(self, name: str, *, timeout: float | None = None) -> None:
        """Gives the session a name to show. Blanks around it are cut off; an empty name is refused.

        :param name: The name, one line of text.
        """
        self._call("set_session_name", {"name": name}, timeout)

    def get_messages(self, *, timeout: float | None = None) -> MessageList:
        """Reads all messages of the conversation. A message that is still being received is not among them."""
        result: MessageList = self._call("get_messages", {}, timeout)
        return result

    def get_commands(self, *, timeout: float | None = None) -> CommandList:
        """Lists what a prompt can call with a leading `/`: commands of extensions, prompt templates and skills."""
        result: CommandList = self._call("get_commands", {}, timeout)
        return result
