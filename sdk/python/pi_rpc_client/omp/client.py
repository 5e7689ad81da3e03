"""Made by generate.py from `pi-rpc schema --dialect omp`; not to be changed by hand."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Union

from typing_extensions import TypeAlias

from ..aio import Answer, AsyncClientBase
from ..connection import UnknownEvent
from ..host import HostTool
from ..sync import ClientBase
from .models import *
from .session import State
from .tables import DIALECT

Event: TypeAlias = Union[
    AgentSessionEvent,
    RpcExtensionUIRequest,
    ExtensionError,
    ReadyFrame,
    HostToolCall,
    HostToolCancel,
    HostUriRequest,
    HostUriCancel,
    RpcChunk,
    RpcFrameError,
    RpcErrorResponse,
    UnknownEvent,
]
"""Event or UI request of the server, distinguished by `type`."""

Dialog: TypeAlias = Union[
    SelectRequest,
    ConfirmRequest,
    InputRequest,
    EditorRequest,
]
"""Dialog request for `on_dialog`, distinguished by `method`."""


class AsyncClient(AsyncClientBase[Event, AssistantMessage]):
    """Client of a server that speaks omp, for asyncio."""

    dialect = DIALECT
    _session_type = State

    @property
    def session(self) -> State:
        """State of the session, updated by every frame."""
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
        """Sends the agent a user message and starts a run. While a run is open, `streamingBehavior` is required and
        the message is queued instead. A message that begins with `/` may name a command of an extension, a prompt
        template or a skill.

        Waits until the run, and what follows it by itself, such as queued messages, has ended: a queued prompt,
        and the prompt whose run delivers it, both return the text of the last answer.

        :param message: Text for the agent, or a slash command with its arguments.
        :param images: Images that follow the text, in order; absent: none.
        :param streaming_behavior: How a prompt is queued while a run is open: `steer` redirects the run as soon as
            possible, `followUp` waits until it would stop.
        :param anyway: Sends the command even if the server would refuse it; else raises `RefusedError`.
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
    ) -> PromptOutcome | None:
        """Sends the agent a user message and starts a run. While a run is open, `streamingBehavior` is required and
        the message is queued instead. A message that begins with `/` may name a command of an extension, a prompt
        template or a skill.

        Waits only until the command is accepted.

        :param message: Text for the agent, or a slash command with its arguments.
        :param images: Images that follow the text, in order; absent: none.
        :param streaming_behavior: How a prompt is queued while a run is open: `steer` redirects the run as soon as
            possible, `followUp` waits until it would stop.
        :param anyway: Sends the command even if the server would refuse it; else raises `RefusedError`.
        """
        result: PromptOutcome | None = await self._call(
            "prompt", {"message": message, "images": images, "streamingBehavior": streaming_behavior}, timeout, anyway
        )
        return result

    async def steer(
        self, message: str, *, images: Sequence[ImageContent] | None = None, timeout: float | None = None
    ) -> None:
        """Queues a message that redirects the agent as soon as possible. Allowed in every state; without an open run
        the message waits for the next one, in omp it starts one.

        :param message: Text for the agent. It may name a prompt template, but no command of an extension.
        :param images: Images that follow the text, in order; absent: none.
        """
        await self._call("steer", {"message": message, "images": images}, timeout)

    async def follow_up(
        self, message: str, *, images: Sequence[ImageContent] | None = None, timeout: float | None = None
    ) -> None:
        """Queues a message that is delivered when the agent would otherwise stop. Allowed in every state; without an
        open run the message waits for the end of the next one, in omp it starts one.

        :param message: Text for the agent. It may name a prompt template, but no command of an extension.
        :param images: Images that follow the text, in order; absent: none.
        """
        await self._call("follow_up", {"message": message, "images": images}, timeout)

    async def abort(self, *, timeout: float | None = None) -> None:
        """Aborts the open run, the wait before a retry, or a compaction begun by `compact` (in pi 1 and omp, any
        compaction). The response follows once that has ended. Queued messages and bash commands are not affected,
        nor, in the other dialects, automatic compactions. In omp bash commands are aborted, too, and queued
        messages start a run.
        """
        await self._call("abort", {}, timeout)

    async def abort_and_prompt(
        self, message: str, *, images: Sequence[ImageContent] | None = None, timeout: float | None = None
    ) -> Answer[AssistantMessage]:
        """Aborts the open run as `abort` does, and any compaction, then starts a new run as `prompt` does.

        Waits until the run, and what follows it by itself, such as queued messages, has ended: a queued prompt,
        and the prompt whose run delivers it, both return the text of the last answer.

        :param message: Text for the agent.
        :param images: Images that follow the text, in order; absent: none.
        """
        result: Answer[AssistantMessage] = await self._run(
            "abort_and_prompt", {"message": message, "images": images}, timeout
        )
        return result

    async def start_abort_and_prompt(
        self, message: str, *, images: Sequence[ImageContent] | None = None, timeout: float | None = None
    ) -> None:
        """Aborts the open run as `abort` does, and any compaction, then starts a new run as `prompt` does.

        Waits only until the command is accepted.

        :param message: Text for the agent.
        :param images: Images that follow the text, in order; absent: none.
        """
        await self._call("abort_and_prompt", {"message": message, "images": images}, timeout)

    async def new_session(self, *, parent_session: str | None = None, timeout: float | None = None) -> SessionChange:
        """Leaves the current session and starts an empty one. An extension may veto this.

        :param parent_session: Path of the session file to record as the parent of the new session. The file is not
            opened. Absent or empty: none.
        """
        result: SessionChange = await self._call("new_session", {"parentSession": parent_session}, timeout)
        return result

    async def get_state(self, *, timeout: float | None = None) -> SessionState:
        """Reads the state of the session: model, modes, queue length, activity."""
        result: SessionState = await self._call("get_state", {}, timeout)
        return result

    async def set_todos(self, phases: Sequence[TodoPhaseInput], *, timeout: float | None = None) -> TodoList:
        """Replaces the list of todos. The list is held in memory only.

        :param phases: Complete new list, in order. Empty: no todos.
        """
        result: TodoList = await self._call("set_todos", {"phases": phases}, timeout)
        return result

    async def set_host_tools(
        self, tools: Sequence[HostToolDefinition], *, timeout: float | None = None
    ) -> HostToolNames:
        """Replaces the set of tools that the host executes. The model can call them from its next request on.

        :param tools: Complete new set. Names are unique and differ from those of the other tools. Empty: no host
            tools.
        """
        result: HostToolNames = await self._call("set_host_tools", {"tools": tools}, timeout)
        return result

    async def set_model(self, provider: str, model_id: str, *, timeout: float | None = None) -> Model:
        """Selects a model that has credentials. An open run keeps the model that it began with.

        :param provider: Id of the provider.
        :param model_id: Id of the model within the provider.
        """
        result: Model = await self._call("set_model", {"provider": provider, "modelId": model_id}, timeout)
        return result

    async def cycle_model(self, *, timeout: float | None = None) -> ModelCycle | None:
        """Selects the next available model, as `set_model` does."""
        result: ModelCycle | None = await self._call("cycle_model", {}, timeout)
        return result

    async def get_available_models(self, *, timeout: float | None = None) -> ModelList:
        """Lists the models that have credentials."""
        result: ModelList = await self._call("get_available_models", {}, timeout)
        return result

    async def set_thinking_level(self, level: ThinkingLevel, *, timeout: float | None = None) -> None:
        """Sets the thinking level. A level that the model does not support is replaced by the nearest one that it
        does.

        :param level: Amount of thinking before an answer, in rising order from `off`.
        """
        await self._call("set_thinking_level", {"level": level}, timeout)

    async def cycle_thinking_level(self, *, timeout: float | None = None) -> ThinkingLevelChange | None:
        """Selects the next thinking level of the model; after the last comes the first."""
        result: ThinkingLevelChange | None = await self._call("cycle_thinking_level", {}, timeout)
        return result

    async def set_steering_mode(self, mode: QueueMode, *, timeout: float | None = None) -> None:
        """Sets how many steering messages are delivered at a time.

        :param mode: Number of queued messages that are delivered at a time: `all` delivers the whole queue, `one-
            at-a-time` its first message.
        """
        await self._call("set_steering_mode", {"mode": mode}, timeout)

    async def set_follow_up_mode(self, mode: QueueMode, *, timeout: float | None = None) -> None:
        """Sets how many follow-up messages are delivered at a time.

        :param mode: Number of queued messages that are delivered at a time: `all` delivers the whole queue, `one-
            at-a-time` its first message.
        """
        await self._call("set_follow_up_mode", {"mode": mode}, timeout)

    async def set_interrupt_mode(self, mode: InterruptMode, *, timeout: float | None = None) -> None:
        """Sets whether a steering message interrupts the tool calls of the open turn. Takes effect with the next run.

        :param mode: Effect of a steering message on the tool calls of the open turn: `immediate` aborts the
            running ones and skips the rest, `wait` lets all of them finish.
        """
        await self._call("set_interrupt_mode", {"mode": mode}, timeout)

    async def compact(
        self, *, custom_instructions: str | None = None, anyway: bool = False, timeout: float | None = None
    ) -> CompactionResult:
        """Replaces the older part of the conversation by a summary. An open run is ended first. In pi and xcsh no
        event reports the compaction, only the response.

        :param custom_instructions: Instructions for the summary; absent: none.
        :param anyway: Sends the command even if the server would refuse it; else raises `RefusedError`.
        """
        result: CompactionResult = await self._call(
            "compact", {"customInstructions": custom_instructions}, timeout, anyway
        )
        return result

    async def set_auto_compaction(self, enabled: bool, *, timeout: float | None = None) -> None:
        """Turns the automatic compaction of a nearly full context on or off.

        :param enabled: Whether to compact automatically.
        """
        await self._call("set_auto_compaction", {"enabled": enabled}, timeout)

    async def set_auto_retry(self, enabled: bool, *, timeout: float | None = None) -> None:
        """Turns the automatic retry after a transient provider error on or off. A retry that is under way continues.

        :param enabled: Whether to retry automatically.
        """
        await self._call("set_auto_retry", {"enabled": enabled}, timeout)

    async def abort_retry(self, *, timeout: float | None = None) -> None:
        """Cancels the wait before a retry. No effect if there is none."""
        await self._call("abort_retry", {}, timeout)

    async def bash(self, command: str, *, timeout: float | None = None) -> BashResult:
        """Runs a shell command in the working directory, independently of any run, and adds its output to the
        conversation. The response follows when the command has ended; only pi 1 reports output before that.

        :param command: Command line, passed to the shell unchanged.
        """
        result: BashResult = await self._call("bash", {"command": command}, timeout)
        return result

    async def abort_bash(self, *, timeout: float | None = None) -> None:
        """Ends the bash commands that the host has started. No effect if there is none."""
        await self._call("abort_bash", {}, timeout)

    async def get_session_stats(self, *, timeout: float | None = None) -> SessionStats:
        """Reads the statistics of the session: message counts, tokens and cost."""
        result: SessionStats = await self._call("get_session_stats", {}, timeout)
        return result

    async def export_html(self, *, output_path: str | None = None, timeout: float | None = None) -> ExportedFile:
        """Writes the session to a single HTML file.

        :param output_path: Path of the HTML file, absolute or relative to the working directory. Absent: a file in
            the working directory, named after the session.
        """
        result: ExportedFile = await self._call("export_html", {"outputPath": output_path}, timeout)
        return result

    async def switch_session(self, session_path: str, *, timeout: float | None = None) -> SessionChange:
        """Leaves the current session and opens another one from its file. An extension may veto this.

        :param session_path: Path of the session file, absolute or relative to the working directory.
        """
        result: SessionChange = await self._call("switch_session", {"sessionPath": session_path}, timeout)
        return result

    async def branch(self, entry_id: str, *, timeout: float | None = None) -> ForkResult:
        """Starts a new session with the conversation before an earlier user message, without that message. An
        extension may veto this.

        :param entry_id: Id of the session entry of that user message, from `get_branch_messages`.
        """
        result: ForkResult = await self._call("branch", {"entryId": entry_id}, timeout)
        return result

    async def get_branch_messages(self, *, timeout: float | None = None) -> ForkMessages:
        """Lists the user messages that `branch` accepts."""
        result: ForkMessages = await self._call("get_branch_messages", {}, timeout)
        return result

    async def get_last_assistant_text(self, *, timeout: float | None = None) -> LastAssistantText:
        """Returns the text of the newest assistant message."""
        result: LastAssistantText = await self._call("get_last_assistant_text", {}, timeout)
        return result

    async def set_session_name(self, name: str, *, timeout: float | None = None) -> None:
        """Sets the display name of the session. Surrounding white space is removed; an empty name is refused.

        :param name: Name, one line of text.
        """
        await self._call("set_session_name", {"name": name}, timeout)

    async def get_messages(self, *, timeout: float | None = None) -> MessageList:
        """Lists all messages of the conversation, without a partial message."""
        result: MessageList = await self._call("get_messages", {}, timeout)
        return result

    async def get_login_providers(self, *, timeout: float | None = None) -> LoginProviderList:
        """Lists the providers that can be logged in to, each with the state of its login."""
        result: LoginProviderList = await self._call("get_login_providers", {}, timeout)
        return result

    async def login(self, provider_id: str, *, timeout: float | None = None) -> LoginResult:
        """Logs in at a provider. `open_url` names the page for the user; the response comes at the end of the login.
        One login is open at a time.

        :param provider_id: Id of the provider.
        """
        result: LoginResult = await self._call("login", {"providerId": provider_id}, timeout)
        return result

    async def negotiate_protocol(self, protocol_version: Count, *, timeout: float | None = None) -> NegotiatedProtocol:
        """Selects a version of the protocol, from the next frame on. There is no way back to version 1.

        :param protocol_version: Non-negative integer that a double holds exactly.
        """
        result: NegotiatedProtocol = await self._call(
            "negotiate_protocol", {"protocolVersion": protocol_version}, timeout
        )
        return result

    async def handoff(
        self, *, custom_instructions: str | None = None, timeout: float | None = None
    ) -> HandoffResult | None | None:
        """Replaces the conversation by a summary that a model writes for a successor. Refused while a run is open.
        `pi-rpc serve` does not do it and answers that it is not implemented.

        :param custom_instructions: Instructions for the summary; absent: none.
        """
        result: HandoffResult | None | None = await self._call(
            "handoff", {"customInstructions": custom_instructions}, timeout
        )
        return result

    async def get_messages_page(
        self, *, cursor: str | None = None, limit: Count | None = None, timeout: float | None = None
    ) -> MessagePage:
        """Lists a part of the messages of the conversation, as `get_messages` lists all. Refused while a run or a
        compaction is under way.

        :param cursor: `nextCursor` of the page before; absent: the first page.
        :param limit: Non-negative integer that a double holds exactly.
        """
        result: MessagePage = await self._call("get_messages_page", {"cursor": cursor, "limit": limit}, timeout)
        return result

    async def get_available_commands(self, *, timeout: float | None = None) -> AvailableCommandList:
        """Lists the slash commands."""
        result: AvailableCommandList = await self._call("get_available_commands", {}, timeout)
        return result

    async def set_host_uri_schemes(
        self, schemes: Sequence[HostUriScheme], *, timeout: float | None = None
    ) -> HostUriSchemeNames:
        """Replaces the set of schemes of addresses that the host reads and writes. `pi-rpc serve` does not do it and
        answers that it is not implemented.

        :param schemes: Complete new set. Empty: none.
        """
        result: HostUriSchemeNames = await self._call("set_host_uri_schemes", {"schemes": schemes}, timeout)
        return result

    async def set_subagent_subscription(
        self, level: SubagentSubscription, *, timeout: float | None = None
    ) -> SubagentSubscriptionLevel:
        """Selects the events about subagents that the host gets. At the start it gets none.

        :param level: Events about subagents that the host gets: none, progress, or also the events of their
            sessions.
        """
        result: SubagentSubscriptionLevel = await self._call("set_subagent_subscription", {"level": level}, timeout)
        return result

    async def get_subagents(self, *, timeout: float | None = None) -> SubagentList:
        """Lists the running subagents."""
        result: SubagentList = await self._call("get_subagents", {}, timeout)
        return result

    async def get_subagent_messages(
        self,
        *,
        subagent_id: str | None = None,
        session_file: str | None = None,
        from_byte: Count | None = None,
        timeout: float | None = None,
    ) -> SubagentMessages:
        """Reads what the session file of a subagent holds from a byte on. `pi-rpc serve` does not do it and answers
        that it is not implemented.

        :param subagent_id: Id of the subagent; absent: `sessionFile` names it.
        :param session_file: Session file of the subagent; absent: `subagentId` names it.
        :param from_byte: Non-negative integer that a double holds exactly.
        """
        result: SubagentMessages = await self._call(
            "get_subagent_messages",
            {"subagentId": subagent_id, "sessionFile": session_file, "fromByte": from_byte},
            timeout,
        )
        return result

    async def set_fast_mode(self, enabled: bool, *, timeout: float | None = None) -> FastMode:
        """Switches the fast mode on or off: requests with a priority that costs more. Refused for a model without it.

        :param enabled: Whether to switch it on.
        """
        result: FastMode = await self._call("set_fast_mode", {"enabled": enabled}, timeout)
        return result

    async def lend_tools(self, tools: Sequence[HostTool], *, timeout: float | None = None) -> None:
        """Registers host tools, and replaces earlier ones: the model calls them, this side executes them."""
        await self._lend(tools, timeout)

    async def read_messages(
        self, *, page_size: int | None = None, timeout: float | None = None
    ) -> AsyncIterator[AgentMessage]:
        """Messages of the conversation, oldest first, read page by page. Fails with the code `stale_cursor` if they
        change meanwhile."""
        cursor: str | None = None
        while True:
            page = await self.get_messages_page(cursor=cursor, limit=page_size, timeout=timeout)
            for message in page.messages:
                yield message
            cursor = page.next_cursor
            if cursor is None:
                return


class Client(ClientBase[Event, AssistantMessage]):
    """Client of a server that speaks omp."""

    _of = AsyncClient

    @property
    def session(self) -> State:
        """State of the session, updated by every frame."""
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
        """Sends the agent a user message and starts a run. While a run is open, `streamingBehavior` is required and
        the message is queued instead. A message that begins with `/` may name a command of an extension, a prompt
        template or a skill.

        Waits until the run, and what follows it by itself, such as queued messages, has ended: a queued prompt,
        and the prompt whose run delivers it, both return the text of the last answer.

        :param message: Text for the agent, or a slash command with its arguments.
        :param images: Images that follow the text, in order; absent: none.
        :param streaming_behavior: How a prompt is queued while a run is open: `steer` redirects the run as soon as
            possible, `followUp` waits until it would stop.
        :param anyway: Sends the command even if the server would refuse it; else raises `RefusedError`.
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
    ) -> PromptOutcome | None:
        """Sends the agent a user message and starts a run. While a run is open, `streamingBehavior` is required and
        the message is queued instead. A message that begins with `/` may name a command of an extension, a prompt
        template or a skill.

        Waits only until the command is accepted.

        :param message: Text for the agent, or a slash command with its arguments.
        :param images: Images that follow the text, in order; absent: none.
        :param streaming_behavior: How a prompt is queued while a run is open: `steer` redirects the run as soon as
            possible, `followUp` waits until it would stop.
        :param anyway: Sends the command even if the server would refuse it; else raises `RefusedError`.
        """
        result: PromptOutcome | None = self._call(
            "prompt", {"message": message, "images": images, "streamingBehavior": streaming_behavior}, timeout, anyway
        )
        return result

    def steer(
        self, message: str, *, images: Sequence[ImageContent] | None = None, timeout: float | None = None
    ) -> None:
        """Queues a message that redirects the agent as soon as possible. Allowed in every state; without an open run
        the message waits for the next one, in omp it starts one.

        :param message: Text for the agent. It may name a prompt template, but no command of an extension.
        :param images: Images that follow the text, in order; absent: none.
        """
        self._call("steer", {"message": message, "images": images}, timeout)

    def follow_up(
        self, message: str, *, images: Sequence[ImageContent] | None = None, timeout: float | None = None
    ) -> None:
        """Queues a message that is delivered when the agent would otherwise stop. Allowed in every state; without an
        open run the message waits for the end of the next one, in omp it starts one.

        :param message: Text for the agent. It may name a prompt template, but no command of an extension.
        :param images: Images that follow the text, in order; absent: none.
        """
        self._call("follow_up", {"message": message, "images": images}, timeout)

    def abort(self, *, timeout: float | None = None) -> None:
        """Aborts the open run, the wait before a retry, or a compaction begun by `compact` (in pi 1 and omp, any
        compaction). The response follows once that has ended. Queued messages and bash commands are not affected,
        nor, in the other dialects, automatic compactions. In omp bash commands are aborted, too, and queued
        messages start a run.
        """
        self._call("abort", {}, timeout)

    def abort_and_prompt(
        self, message: str, *, images: Sequence[ImageContent] | None = None, timeout: float | None = None
    ) -> Answer[AssistantMessage]:
        """Aborts the open run as `abort` does, and any compaction, then starts a new run as `prompt` does.

        Waits until the run, and what follows it by itself, such as queued messages, has ended: a queued prompt,
        and the prompt whose run delivers it, both return the text of the last answer.

        :param message: Text for the agent.
        :param images: Images that follow the text, in order; absent: none.
        """
        result: Answer[AssistantMessage] = self._run(
            "abort_and_prompt", {"message": message, "images": images}, timeout
        )
        return result

    def start_abort_and_prompt(
        self, message: str, *, images: Sequence[ImageContent] | None = None, timeout: float | None = None
    ) -> None:
        """Aborts the open run as `abort` does, and any compaction, then starts a new run as `prompt` does.

        Waits only until the command is accepted.

        :param message: Text for the agent.
        :param images: Images that follow the text, in order; absent: none.
        """
        self._call("abort_and_prompt", {"message": message, "images": images}, timeout)

    def new_session(self, *, parent_session: str | None = None, timeout: float | None = None) -> SessionChange:
        """Leaves the current session and starts an empty one. An extension may veto this.

        :param parent_session: Path of the session file to record as the parent of the new session. The file is not
            opened. Absent or empty: none.
        """
        result: SessionChange = self._call("new_session", {"parentSession": parent_session}, timeout)
        return result

    def get_state(self, *, timeout: float | None = None) -> SessionState:
        """Reads the state of the session: model, modes, queue length, activity."""
        result: SessionState = self._call("get_state", {}, timeout)
        return result

    def set_todos(self, phases: Sequence[TodoPhaseInput], *, timeout: float | None = None) -> TodoList:
        """Replaces the list of todos. The list is held in memory only.

        :param phases: Complete new list, in order. Empty: no todos.
        """
        result: TodoList = self._call("set_todos", {"phases": phases}, timeout)
        return result

    def set_host_tools(self, tools: Sequence[HostToolDefinition], *, timeout: float | None = None) -> HostToolNames:
        """Replaces the set of tools that the host executes. The model can call them from its next request on.

        :param tools: Complete new set. Names are unique and differ from those of the other tools. Empty: no host
            tools.
        """
        result: HostToolNames = self._call("set_host_tools", {"tools": tools}, timeout)
        return result

    def set_model(self, provider: str, model_id: str, *, timeout: float | None = None) -> Model:
        """Selects a model that has credentials. An open run keeps the model that it began with.

        :param provider: Id of the provider.
        :param model_id: Id of the model within the provider.
        """
        result: Model = self._call("set_model", {"provider": provider, "modelId": model_id}, timeout)
        return result

    def cycle_model(self, *, timeout: float | None = None) -> ModelCycle | None:
        """Selects the next available model, as `set_model` does."""
        result: ModelCycle | None = self._call("cycle_model", {}, timeout)
        return result

    def get_available_models(self, *, timeout: float | None = None) -> ModelList:
        """Lists the models that have credentials."""
        result: ModelList = self._call("get_available_models", {}, timeout)
        return result

    def set_thinking_level(self, level: ThinkingLevel, *, timeout: float | None = None) -> None:
        """Sets the thinking level. A level that the model does not support is replaced by the nearest one that it
        does.

        :param level: Amount of thinking before an answer, in rising order from `off`.
        """
        self._call("set_thinking_level", {"level": level}, timeout)

    def cycle_thinking_level(self, *, timeout: float | None = None) -> ThinkingLevelChange | None:
        """Selects the next thinking level of the model; after the last comes the first."""
        result: ThinkingLevelChange | None = self._call("cycle_thinking_level", {}, timeout)
        return result

    def set_steering_mode(self, mode: QueueMode, *, timeout: float | None = None) -> None:
        """Sets how many steering messages are delivered at a time.

        :param mode: Number of queued messages that are delivered at a time: `all` delivers the whole queue, `one-
            at-a-time` its first message.
        """
        self._call("set_steering_mode", {"mode": mode}, timeout)

    def set_follow_up_mode(self, mode: QueueMode, *, timeout: float | None = None) -> None:
        """Sets how many follow-up messages are delivered at a time.

        :param mode: Number of queued messages that are delivered at a time: `all` delivers the whole queue, `one-
            at-a-time` its first message.
        """
        self._call("set_follow_up_mode", {"mode": mode}, timeout)

    def set_interrupt_mode(self, mode: InterruptMode, *, timeout: float | None = None) -> None:
        """Sets whether a steering message interrupts the tool calls of the open turn. Takes effect with the next run.

        :param mode: Effect of a steering message on the tool calls of the open turn: `immediate` aborts the
            running ones and skips the rest, `wait` lets all of them finish.
        """
        self._call("set_interrupt_mode", {"mode": mode}, timeout)

    def compact(
        self, *, custom_instructions: str | None = None, anyway: bool = False, timeout: float | None = None
    ) -> CompactionResult:
        """Replaces the older part of the conversation by a summary. An open run is ended first. In pi and xcsh no
        event reports the compaction, only the response.

        :param custom_instructions: Instructions for the summary; absent: none.
        :param anyway: Sends the command even if the server would refuse it; else raises `RefusedError`.
        """
        result: CompactionResult = self._call("compact", {"customInstructions": custom_instructions}, timeout, anyway)
        return result

    def set_auto_compaction(self, enabled: bool, *, timeout: float | None = None) -> None:
        """Turns the automatic compaction of a nearly full context on or off.

        :param enabled: Whether to compact automatically.
        """
        self._call("set_auto_compaction", {"enabled": enabled}, timeout)

    def set_auto_retry(self, enabled: bool, *, timeout: float | None = None) -> None:
        """Turns the automatic retry after a transient provider error on or off. A retry that is under way continues.

        :param enabled: Whether to retry automatically.
        """
        self._call("set_auto_retry", {"enabled": enabled}, timeout)

    def abort_retry(self, *, timeout: float | None = None) -> None:
        """Cancels the wait before a retry. No effect if there is none."""
        self._call("abort_retry", {}, timeout)

    def bash(self, command: str, *, timeout: float | None = None) -> BashResult:
        """Runs a shell command in the working directory, independently of any run, and adds its output to the
        conversation. The response follows when the command has ended; only pi 1 reports output before that.

        :param command: Command line, passed to the shell unchanged.
        """
        result: BashResult = self._call("bash", {"command": command}, timeout)
        return result

    def abort_bash(self, *, timeout: float | None = None) -> None:
        """Ends the bash commands that the host has started. No effect if there is none."""
        self._call("abort_bash", {}, timeout)

    def get_session_stats(self, *, timeout: float | None = None) -> SessionStats:
        """Reads the statistics of the session: message counts, tokens and cost."""
        result: SessionStats = self._call("get_session_stats", {}, timeout)
        return result

    def export_html(self, *, output_path: str | None = None, timeout: float | None = None) -> ExportedFile:
        """Writes the session to a single HTML file.

        :param output_path: Path of the HTML file, absolute or relative to the working directory. Absent: a file in
            the working directory, named after the session.
        """
        result: ExportedFile = self._call("export_html", {"outputPath": output_path}, timeout)
        return result

    def switch_session(self, session_path: str, *, timeout: float | None = None) -> SessionChange:
        """Leaves the current session and opens another one from its file. An extension may veto this.

        :param session_path: Path of the session file, absolute or relative to the working directory.
        """
        result: SessionChange = self._call("switch_session", {"sessionPath": session_path}, timeout)
        return result

    def branch(self, entry_id: str, *, timeout: float | None = None) -> ForkResult:
        """Starts a new session with the conversation before an earlier user message, without that message. An
        extension may veto this.

        :param entry_id: Id of the session entry of that user message, from `get_branch_messages`.
        """
        result: ForkResult = self._call("branch", {"entryId": entry_id}, timeout)
        return result

    def get_branch_messages(self, *, timeout: float | None = None) -> ForkMessages:
        """Lists the user messages that `branch` accepts."""
        result: ForkMessages = self._call("get_branch_messages", {}, timeout)
        return result

    def get_last_assistant_text(self, *, timeout: float | None = None) -> LastAssistantText:
        """Returns the text of the newest assistant message."""
        result: LastAssistantText = self._call("get_last_assistant_text", {}, timeout)
        return result

    def set_session_name(self, name: str, *, timeout: float | None = None) -> None:
        """Sets the display name of the session. Surrounding white space is removed; an empty name is refused.

        :param name: Name, one line of text.
        """
        self._call("set_session_name", {"name": name}, timeout)

    def get_messages(self, *, timeout: float | None = None) -> MessageList:
        """Lists all messages of the conversation, without a partial message."""
        result: MessageList = self._call("get_messages", {}, timeout)
        return result

    def get_login_providers(self, *, timeout: float | None = None) -> LoginProviderList:
        """Lists the providers that can be logged in to, each with the state of its login."""
        result: LoginProviderList = self._call("get_login_providers", {}, timeout)
        return result

    def login(self, provider_id: str, *, timeout: float | None = None) -> LoginResult:
        """Logs in at a provider. `open_url` names the page for the user; the response comes at the end of the login.
        One login is open at a time.

        :param provider_id: Id of the provider.
        """
        result: LoginResult = self._call("login", {"providerId": provider_id}, timeout)
        return result

    def negotiate_protocol(self, protocol_version: Count, *, timeout: float | None = None) -> NegotiatedProtocol:
        """Selects a version of the protocol, from the next frame on. There is no way back to version 1.

        :param protocol_version: Non-negative integer that a double holds exactly.
        """
        result: NegotiatedProtocol = self._call("negotiate_protocol", {"protocolVersion": protocol_version}, timeout)
        return result

    def handoff(
        self, *, custom_instructions: str | None = None, timeout: float | None = None
    ) -> HandoffResult | None | None:
        """Replaces the conversation by a summary that a model writes for a successor. Refused while a run is open.
        `pi-rpc serve` does not do it and answers that it is not implemented.

        :param custom_instructions: Instructions for the summary; absent: none.
        """
        result: HandoffResult | None | None = self._call(
            "handoff", {"customInstructions": custom_instructions}, timeout
        )
        return result

    def get_messages_page(
        self, *, cursor: str | None = None, limit: Count | None = None, timeout: float | None = None
    ) -> MessagePage:
        """Lists a part of the messages of the conversation, as `get_messages` lists all. Refused while a run or a
        compaction is under way.

        :param cursor: `nextCursor` of the page before; absent: the first page.
        :param limit: Non-negative integer that a double holds exactly.
        """
        result: MessagePage = self._call("get_messages_page", {"cursor": cursor, "limit": limit}, timeout)
        return result

    def get_available_commands(self, *, timeout: float | None = None) -> AvailableCommandList:
        """Lists the slash commands."""
        result: AvailableCommandList = self._call("get_available_commands", {}, timeout)
        return result

    def set_host_uri_schemes(
        self, schemes: Sequence[HostUriScheme], *, timeout: float | None = None
    ) -> HostUriSchemeNames:
        """Replaces the set of schemes of addresses that the host reads and writes. `pi-rpc serve` does not do it and
        answers that it is not implemented.

        :param schemes: Complete new set. Empty: none.
        """
        result: HostUriSchemeNames = self._call("set_host_uri_schemes", {"schemes": schemes}, timeout)
        return result

    def set_subagent_subscription(
        self, level: SubagentSubscription, *, timeout: float | None = None
    ) -> SubagentSubscriptionLevel:
        """Selects the events about subagents that the host gets. At the start it gets none.

        :param level: Events about subagents that the host gets: none, progress, or also the events of their
            sessions.
        """
        result: SubagentSubscriptionLevel = self._call("set_subagent_subscription", {"level": level}, timeout)
        return result

    def get_subagents(self, *, timeout: float | None = None) -> SubagentList:
        """Lists the running subagents."""
        result: SubagentList = self._call("get_subagents", {}, timeout)
        return result

    def get_subagent_messages(
        self,
        *,
        subagent_id: str | None = None,
        session_file: str | None = None,
        from_byte: Count | None = None,
        timeout: float | None = None,
    ) -> SubagentMessages:
        """Reads what the session file of a subagent holds from a byte on. `pi-rpc serve` does not do it and answers
        that it is not implemented.

        :param subagent_id: Id of the subagent; absent: `sessionFile` names it.
        :param session_file: Session file of the subagent; absent: `subagentId` names it.
        :param from_byte: Non-negative integer that a double holds exactly.
        """
        result: SubagentMessages = self._call(
            "get_subagent_messages",
            {"subagentId": subagent_id, "sessionFile": session_file, "fromByte": from_byte},
            timeout,
        )
        return result

    def set_fast_mode(self, enabled: bool, *, timeout: float | None = None) -> FastMode:
        """Switches the fast mode on or off: requests with a priority that costs more. Refused for a model without it.

        :param enabled: Whether to switch it on.
        """
        result: FastMode = self._call("set_fast_mode", {"enabled": enabled}, timeout)
        return result

    def lend_tools(self, tools: Sequence[HostTool], *, timeout: float | None = None) -> None:
        """Registers host tools, and replaces earlier ones: the model calls them, this side executes them."""
        self._lend(tools, timeout)

    def read_messages(self, *, page_size: int | None = None, timeout: float | None = None) -> Iterator[AgentMessage]:
        """Messages of the conversation, oldest first, read page by page. Fails with the code `stale_cursor` if they
        change meanwhile."""
        cursor: str | None = None
        while True:
            page = self.get_messages_page(cursor=cursor, limit=page_size, timeout=timeout)
            for message in page.messages:
                yield message
            cursor = page.next_cursor
            if cursor is None:
                return
