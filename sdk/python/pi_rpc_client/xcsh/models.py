"""Made by generate.py from `pi-rpc schema --dialect xcsh`; not to be changed by hand."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from ..frame import Frame
from ..pi.models import (
    AbortBashCommand, AbortBashResponse, AbortCommand, AbortResponse, AbortRetryCommand, AbortRetryResponse,
    AgentStartEvent, AutoRetryEndEvent, AutoRetryStartEvent, BashCommand, BranchSummaryMessage, CompactCommand,
    ConfirmRequest, Cost, Count, CustomEntry, CycleModelCommand, CycleThinkingLevelCommand, CycleThinkingLevelResponse,
    DoneReason, ErrorReason, ExportHtmlCommand, ExportHtmlResponse, ExportedFile, ExtensionError, FollowUpCommand,
    FollowUpResponse, ForkMessage, ForkMessages, ForkResult, GetAvailableModelsCommand, GetLastAssistantTextCommand,
    GetLastAssistantTextResponse, GetMessagesCommand, GetSessionStatsCommand, GetStateCommand, ImageContent, InputKind,
    InputRequest, JsonObject, LabelEntry, LastAssistantText, MessageContent, ModelPrice, NewSessionCommand,
    NewSessionResponse, NotifyRequest, NotifyType, PromptResponse, QueueMode, RequestId, RpcErrorResponse,
    SelectRequest, SessionChange, SetAutoCompactionCommand, SetAutoCompactionResponse, SetAutoRetryCommand,
    SetAutoRetryResponse, SetEditorTextRequest, SetFollowUpModeCommand, SetFollowUpModeResponse, SetModelCommand,
    SetSessionNameCommand, SetSessionNameResponse, SetStatusRequest, SetSteeringModeCommand, SetSteeringModeResponse,
    SetThinkingLevelCommand, SetThinkingLevelResponse, SetTitleRequest, SetWidgetRequest, SteerCommand, SteerResponse,
    StopReason, StreamingBehavior, StringMap, SwitchSessionCommand, SwitchSessionResponse, TextContent, ThinkingLevel,
    ThinkingLevelChange, Timestamp, TokenTotals, TurnStartEvent, UIConfirmedResponse, UIValueResponse, UserContent,
    WidgetPlacement,
)


class PromptCommand(Frame):
    """Gives the agent a user message and starts a run. While a run is open it needs `streamingBehavior`, and the
    message is queued instead. A message that begins with `/` may name a command of an extension, a prompt
    template or a skill."""
    id: RequestId | None = None
    type: Literal["prompt"]
    message: str
    """The text for the agent, or a slash command with its arguments."""
    images: list[ImageContent] | None = None
    """Images that go with the text, in order."""
    streaming_behavior: StreamingBehavior | None = None
    locale: str | None = None
    """Language that the agent should answer in, as a language tag."""


class AbortAndPromptCommand(Frame):
    """Ends the open run as `abort` does, and any compaction, then starts a new run as `prompt` does."""
    id: RequestId | None = None
    type: Literal["abort_and_prompt"]
    message: str
    """The text for the agent."""
    images: list[ImageContent] | None = None
    """Images that go with the text, in order."""


class SetTodosCommand(Frame):
    """Replaces the list of todos. It is kept in memory only."""
    id: RequestId | None = None
    type: Literal["set_todos"]
    phases: list[TodoPhaseInput]
    """The whole new list, in order. Empty: no todos."""


class SetHostToolsCommand(Frame):
    """Replaces the set of tools that the host carries out. The model can use them from its next request on."""
    id: RequestId | None = None
    type: Literal["set_host_tools"]
    tools: list[HostToolDefinition]
    """The whole new set. Names are unique and differ from those of the other tools. Empty: no host tools."""


class SetLocaleCommand(Frame):
    """Sets the language that the agent should answer in. `pi-rpc serve` does not do it and answers that it is not
    implemented."""
    id: RequestId | None = None
    type: Literal["set_locale"]
    locale: str
    """The language, as a language tag."""


class GetIntegrationsCommand(Frame):
    """Reads whether the model provider and other services that the agent uses can be reached. `pi-rpc serve` does
    not do it and answers that it is not implemented."""
    id: RequestId | None = None
    type: Literal["get_integrations"]


class SetInterruptModeCommand(Frame):
    """Sets whether steering cuts the tool calls of a turn short. A change counts from the next run on."""
    id: RequestId | None = None
    type: Literal["set_interrupt_mode"]
    mode: InterruptMode


class BranchCommand(Frame):
    """Begins a new session that holds the conversation up to, but without, an earlier user message. An extension may
    veto it."""
    id: RequestId | None = None
    type: Literal["branch"]
    entry_id: str
    """Id of the session entry of a user message, as `get_branch_messages` lists it."""


class GetBranchMessagesCommand(Frame):
    """Lists the user messages that `branch` can go back to."""
    id: RequestId | None = None
    type: Literal["get_branch_messages"]


class AbortAndPromptResponse(Frame):
    """The old run has ended and the prompt was accepted."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["abort_and_prompt"]
    success: Literal[True]


class GetStateResponse(Frame):
    """The state of the session."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["get_state"]
    success: Literal[True]
    data: SessionState


class SetTodosResponse(Frame):
    """The list as it is now."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["set_todos"]
    success: Literal[True]
    data: TodoList


class SetHostToolsResponse(Frame):
    """The host tools that are registered now."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["set_host_tools"]
    success: Literal[True]
    data: HostToolNames


class SetLocaleResponse(Frame):
    """The language is set."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["set_locale"]
    success: Literal[True]


class GetIntegrationsResponse(Frame):
    """The state of the services."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["get_integrations"]
    success: Literal[True]
    data: Integrations


class SetModelResponse(Frame):
    """The model that is in use now."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["set_model"]
    success: Literal[True]
    data: Model


class CycleModelResponse(Frame):
    """The model that is in use now, or null where there is no other one."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["cycle_model"]
    success: Literal[True]
    data: ModelCycle | None
    """What the command returns; null where there is nothing to cycle through."""


class GetAvailableModelsResponse(Frame):
    """The models that can be chosen."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["get_available_models"]
    success: Literal[True]
    data: ModelList


class SetInterruptModeResponse(Frame):
    """The mode is set."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["set_interrupt_mode"]
    success: Literal[True]


class CompactResponse(Frame):
    """The conversation is compacted."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["compact"]
    success: Literal[True]
    data: CompactionResult


class BashResponse(Frame):
    """The command has ended, or was cancelled."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["bash"]
    success: Literal[True]
    data: BashResult


class GetSessionStatsResponse(Frame):
    """The figures of the session."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["get_session_stats"]
    success: Literal[True]
    data: SessionStats


class BranchResponse(Frame):
    """The new session is open, or an extension vetoed it."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["branch"]
    success: Literal[True]
    data: ForkResult


class GetBranchMessagesResponse(Frame):
    """The user messages of the session."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["get_branch_messages"]
    success: Literal[True]
    data: ForkMessages


class GetMessagesResponse(Frame):
    """The messages of the conversation."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["get_messages"]
    success: Literal[True]
    data: MessageList


class SessionState(Frame):
    """The state of the session at one moment."""
    model: Model | None = None
    """The model in use; absent or null if there is none."""
    thinking_level: ThinkingLevel | None = None
    """The thinking level in effect; `off` for a model that does not think. xcsh leaves it out, or has null, where no
    level is set."""
    is_streaming: bool
    """A run is open. In pi false during the wait before a retry and during an automatic compaction; in xcsh true as
    long as an accepted prompt is not done with, in pi 1 until `agent_settled`."""
    is_compacting: bool
    """A compaction is under way, asked for or automatic."""
    steering_mode: QueueMode
    follow_up_mode: QueueMode
    interrupt_mode: InterruptMode
    session_file: str | None = None
    """Absolute path of the session file, also before it exists; absent if the session is kept in memory only."""
    session_id: str
    """Id of the session; its form depends on the dialect."""
    session_name: str | None = None
    """The name given by `set_session_name`; absent if none was."""
    auto_compaction_enabled: bool
    """A nearly full context is compacted automatically."""
    message_count: Count
    queued_message_count: Count
    todo_phases: list[TodoPhase]
    """The todos, in order; empty if there are none."""
    system_prompt: str | None = None
    """The system prompt in use."""
    dump_tools: list[DumpTool] | None = None
    """The tools that the model is offered."""


class DumpTool(Frame):
    """A tool as it is described to the model."""
    name: str
    """Name of the tool."""
    description: str
    """What the model is told about the tool."""
    parameters: JsonObject


class ModelCycle(Frame):
    """The outcome of a step to the next model."""
    model: Model
    thinking_level: ThinkingLevel | None = None
    is_scoped: bool
    """The models to step through were limited at the start or in the settings."""


class ModelList(Frame):
    """Models to choose from."""
    models: list[Model]
    """The models, in the order in which they are stepped through."""


class TodoList(Frame):
    """The todos of the session."""
    todo_phases: list[TodoPhase]
    """The phases, in order, with ids filled in."""


class HostToolNames(Frame):
    """The host tools that are registered."""
    tool_names: list[str]
    """The names, in the order of the request."""


class CompactionResult(Frame):
    """What a compaction has made of the conversation."""
    summary: str
    """The summary that stands for the older part, with the lists of files that were touched."""
    short_summary: str | None = None
    """A short version of the summary to show."""
    first_kept_entry_id: str
    """Id of the first session entry that is kept as it was."""
    tokens_before: Count
    details: Any = None
    """What the maker of the summary notes beside it: an object with the sorted lists of paths `readFiles` and
    `modifiedFiles`, or any JSON when an extension supplied it."""
    preserve_data: JsonObject | None = None


class BashResult(Frame):
    """What became of a bash command."""
    output: str
    """Standard output and standard error as they came, without control sequences; only the end of a long output."""
    exit_code: Annotated[int, Field(ge=-2147483648, le=2147483647)] | None = None
    """Exit code of the command; absent if it was killed."""
    cancelled: bool
    """The command was ended before it was done."""
    truncated: bool
    """The beginning of the output was left out."""
    new_cwd: str | None = None
    """Working directory of the shell after the command."""
    total_lines: Count | None = None
    total_bytes: Count | None = None
    output_lines: Count | None = None
    output_bytes: Count | None = None
    artifact_id: str | None = None
    """Id under which the whole output is kept."""


class SessionStats(Frame):
    """Counts, tokens and cost: in pi and xcsh of the conversation in memory, where what a compaction has summarised
    no longer counts; in pi 1 of all entries of the session, other branches included."""
    session_file: str | None = None
    """Absolute path of the session file; absent if the session is kept in memory only."""
    session_id: str
    """Id of the session."""
    user_messages: Count
    assistant_messages: Count
    tool_calls: Count
    tool_results: Count
    total_messages: Count
    tokens: TokenTotals
    cost: float
    """Cost of the assistant messages in US dollars."""
    premium_requests: float | None = None
    """Requests that a provider counts against a premium allowance."""


class MessageList(Frame):
    """The conversation."""
    messages: list[AgentMessage]
    """The messages, oldest first."""


class Integrations(Frame):
    """The state of the model provider and of other services."""
    version: str
    """Version of the agent."""
    model: IntegrationModel
    services: list[IntegrationService]
    """The other services."""


class IntegrationModel(Frame):
    """The state of the model provider."""
    state: IntegrationModelState
    provider: str | None = None
    """Id of the provider."""
    latency_ms: float | None = None
    """How long it took to answer, in milliseconds."""


class IntegrationService(Frame):
    """The state of a service that the agent uses."""
    name: str
    """Name of the service."""
    state: IntegrationServiceState
    hint: str | None = None
    """What to do about it, for people to read."""


class AgentEndEvent(Frame):
    """The run is over."""
    type: Literal["agent_end"]
    messages: list[AgentMessage]
    """Every message of this run, in order: what was prompted, what was said, what tools returned. Earlier history is
    not repeated."""


class TurnEndEvent(Frame):
    """The turn is over."""
    type: Literal["turn_end"]
    message: AssistantMessage
    tool_results: list[ToolResultMessage]
    """The results of its tool calls, in the order in which they were told; empty when there are none."""


class MessageStartEvent(Frame):
    """A message begins. Only an assistant message is still incomplete here."""
    type: Literal["message_start"]
    message: AgentMessage


class MessageUpdateEvent(Frame):
    """The assistant message has grown."""
    type: Literal["message_update"]
    assistant_message_event: AssistantMessageEvent
    message: AssistantMessage


class MessageEndEvent(Frame):
    """A message is complete."""
    type: Literal["message_end"]
    message: AgentMessage


class ToolExecutionStartEvent(Frame):
    """A tool call is taken up."""
    type: Literal["tool_execution_start"]
    tool_call_id: str
    """The id of the call."""
    tool_name: str
    """The name of the tool."""
    args: JsonObject
    intent: str | None = None
    """In the model's words, what the call is for."""


class ToolExecutionUpdateEvent(Frame):
    """A tool has something to show while it runs."""
    type: Literal["tool_execution_update"]
    tool_call_id: str
    """The id of the call."""
    tool_name: str
    """The name of the tool."""
    args: JsonObject
    partial_result: AgentToolResult


class ToolExecutionEndEvent(Frame):
    """A tool call is finished."""
    type: Literal["tool_execution_end"]
    tool_call_id: str
    """The id of the call."""
    tool_name: str
    """The name of the tool."""
    result: AgentToolResult
    is_error: bool
    """Whether the call failed."""
    is_warning: bool | None = None
    """Whether the call succeeded with reservations."""


class AutoCompactionStartEvent(Frame):
    """The server begins to shorten the context by itself."""
    type: Literal["auto_compaction_start"]
    reason: CompactionReason
    action: CompactionAction


class AutoCompactionEndEvent(Frame):
    """The automatic compaction is over, one way or the other."""
    type: Literal["auto_compaction_end"]
    action: CompactionAction
    result: CompactionResult | None = None
    """What came of it; only when it succeeded."""
    aborted: bool
    """Whether it was cancelled."""
    will_retry: bool
    """Whether the request that did not fit is now made again."""
    error_message: str | None = None
    """Why it failed."""
    skipped: bool | None = None
    """Present and true when there was nothing to compact."""


class RetryFallbackAppliedEvent(Frame):
    """The next attempt asks another model."""
    type: Literal["retry_fallback_applied"]
    from_: Annotated[str, Field(alias="from")]
    """The model that failed."""
    to: str
    """The model to ask instead."""
    role: str
    """The role that the models are chosen for."""


class RetryFallbackSucceededEvent(Frame):
    """The other model answered."""
    type: Literal["retry_fallback_succeeded"]
    model: str
    """The model that answered."""
    role: str
    """The role that it was chosen for."""


class TtsrTriggeredEvent(Frame):
    """What the model was writing broke a rule; the answer is stopped and tried again with the rule in view."""
    type: Literal["ttsr_triggered"]
    rules: list[Rule]
    """The rules that applied."""


class TodoReminderEvent(Frame):
    """The run ended with open todos; the model is reminded and goes on."""
    type: Literal["todo_reminder"]
    todos: list[TodoReminderItem]
    """What is still open."""
    attempt: Count
    max_attempts: Count


class TodoAutoClearEvent(Frame):
    """A todo that was done has been taken off the list."""
    type: Literal["todo_auto_clear"]


class StartUpdate(Frame):
    """The answer begins. Servers do not send it; message_start says the same."""
    type: Literal["start"]
    partial: AssistantMessage


class TextStartUpdate(Frame):
    """A text block begins."""
    type: Literal["text_start"]
    content_index: Count
    partial: AssistantMessage


class TextDeltaUpdate(Frame):
    """A text block has grown."""
    type: Literal["text_delta"]
    content_index: Count
    delta: str
    """What was added."""
    partial: AssistantMessage


class TextEndUpdate(Frame):
    """A text block is complete."""
    type: Literal["text_end"]
    content_index: Count
    content: str
    """All of the block."""
    partial: AssistantMessage


class ThinkingStartUpdate(Frame):
    """A thinking block begins."""
    type: Literal["thinking_start"]
    content_index: Count
    partial: AssistantMessage


class ThinkingDeltaUpdate(Frame):
    """A thinking block has grown."""
    type: Literal["thinking_delta"]
    content_index: Count
    delta: str
    """What was added."""
    partial: AssistantMessage


class ThinkingEndUpdate(Frame):
    """A thinking block is complete."""
    type: Literal["thinking_end"]
    content_index: Count
    content: str
    """All of the block."""
    partial: AssistantMessage


class ToolcallStartUpdate(Frame):
    """A tool call begins."""
    type: Literal["toolcall_start"]
    content_index: Count
    partial: AssistantMessage


class ToolcallDeltaUpdate(Frame):
    """The arguments of a tool call have grown."""
    type: Literal["toolcall_delta"]
    content_index: Count
    delta: str
    """A piece of the arguments as JSON text; may be empty."""
    partial: AssistantMessage


class ToolcallEndUpdate(Frame):
    """A tool call is complete."""
    type: Literal["toolcall_end"]
    content_index: Count
    tool_call: ToolCall
    partial: AssistantMessage


class DoneUpdate(Frame):
    """The answer is complete. Servers do not send it; message_end says the same."""
    type: Literal["done"]
    reason: DoneReason
    message: AssistantMessage


class ErrorUpdate(Frame):
    """The answer failed. Servers do not send it; message_end says the same."""
    type: Literal["error"]
    reason: ErrorReason
    error: AssistantMessage


class TodoReminderItem(Frame):
    """A todo that is still open."""
    id: str
    """The id of the todo."""
    content: str
    """What is to be done."""
    status: TodoReminderStatus


class Rule(Frame):
    """A rule that watches what the model writes. Hosts treat it as opaque."""
    name: str
    """The name of the rule."""
    path: str
    """The file that it comes from."""
    content: str
    """What the model is told when it applies."""
    globs: list[str] | None = None
    """The files that it is about."""
    always_apply: bool | None = None
    """Whether it is part of every conversation."""
    description: str | None = None
    """What it is for."""
    condition: list[str] | None = None
    """The regular expressions that trigger it."""
    scope: list[str] | None = None
    """What is watched."""
    interrupt_mode: RuleInterruptMode | None = None
    field_source: Annotated[JsonObject, Field(alias="_source")]


class ReadyFrame(Frame):
    """The server is ready. The first line of all, and sent once."""
    type: Literal["ready"]
    version: str | None = None
    """The version of the server."""


class UserMessage(Frame):
    """What the user said. The server always writes the array form: the text block first, then the images."""
    role: Literal["user"]
    content: MessageContent
    synthetic: bool | None = None
    """Whether the server made the message up on the user's behalf."""
    attribution: Attribution | None = None
    provider_payload: JsonObject | None = None
    timestamp: Timestamp


class DeveloperMessage(Frame):
    """An instruction that the server adds by itself, such as a reminder of open todos or a request to go on."""
    role: Literal["developer"]
    content: MessageContent
    attribution: Attribution | None = None
    timestamp: Timestamp


class AssistantMessage(Frame):
    """What the model said in one turn: complete, or a snapshot of what has arrived so far."""
    role: Literal["assistant"]
    content: list[AssistantContent]
    """The blocks in the order in which the model began them; may be empty."""
    api: str
    """The vendor API that was spoken, for example anthropic-messages."""
    provider: str
    """The provider that was asked."""
    model: str
    """The id of the model that was asked."""
    usage: Usage
    stop_reason: StopReason
    timestamp: Timestamp
    response_id: str | None = None
    """The id that the provider gave its answer."""
    provider_payload: JsonObject | None = None
    error_message: str | None = None
    """What went wrong; present exactly when stopReason is error or aborted."""
    duration: Count | None = None
    ttft: Count | None = None


class ToolResultMessage(Frame):
    """The outcome of one tool call, as the model will read it."""
    role: Literal["toolResult"]
    tool_call_id: str
    """The id of the call that this answers."""
    tool_name: str
    """The name of the tool that was called."""
    content: list[UserContent]
    """What the model is told; may be empty."""
    details: Any = None
    """What the tool tells the host beyond the content; its shape is the tool's own. Absent when there is nothing."""
    is_error: bool
    """Whether the call failed."""
    is_warning: bool | None = None
    """Whether the call succeeded with reservations."""
    attribution: Attribution | None = None
    pruned_at: Timestamp | None = None
    timestamp: Timestamp


class BashExecutionMessage(Frame):
    """A shell command that the host ran with the bash command, and what it printed."""
    role: Literal["bashExecution"]
    command: str
    """The command line."""
    output: str
    """What it printed, cleaned, and cut to its end when it was long."""
    exit_code: Annotated[int, Field(ge=-2147483648, le=2147483647)] | None = None
    """The exit status; absent when the command was killed."""
    cancelled: bool
    """Whether the command was stopped before it ended."""
    truncated: bool
    """Whether part of the output is missing."""
    meta: OutputMeta | None = None
    timestamp: Timestamp
    exclude_from_context: bool | None = None
    """Whether the model is kept from seeing this."""


class PythonExecutionMessage(Frame):
    """Python code that the user ran, and what it printed."""
    role: Literal["pythonExecution"]
    code: str
    """The code."""
    output: str
    """What it printed."""
    exit_code: Annotated[int, Field(ge=-2147483648, le=2147483647)] | None = None
    """The exit status; absent when the run was killed."""
    cancelled: bool
    """Whether the run was stopped before it ended."""
    truncated: bool
    """Whether part of the output is missing."""
    meta: OutputMeta | None = None
    timestamp: Timestamp
    exclude_from_context: bool | None = None
    """Whether the model is kept from seeing this."""


class CustomMessage(Frame):
    """A message that an extension, or the server itself, added to the conversation."""
    role: Literal["custom"]
    custom_type: str
    """The kind of message, named by the extension that made it."""
    content: MessageContent
    display: bool
    """Whether a host should show it."""
    details: Any = None
    """Data of the extension that the model does not see."""
    attribution: Attribution | None = None
    timestamp: Timestamp


class HookMessage(Frame):
    """The old form of a custom message; only session files of earlier versions have it."""
    role: Literal["hookMessage"]
    custom_type: str
    """The kind of message, named by the extension that made it."""
    content: MessageContent
    display: bool
    """Whether a host should show it."""
    details: Any = None
    """Data of the extension that the model does not see."""
    attribution: Attribution | None = None
    timestamp: Timestamp


class CompactionSummaryMessage(Frame):
    """What was said before the last compaction; opens the context after one."""
    role: Literal["compactionSummary"]
    summary: str
    """The summary."""
    short_summary: str | None = None
    """The summary in a sentence or two, for display."""
    tokens_before: Count
    provider_payload: JsonObject | None = None
    timestamp: Timestamp


class FileMentionMessage(Frame):
    """Files that the user named in a prompt, read in on their behalf."""
    role: Literal["fileMention"]
    files: list[FileMention]
    """The files, in the order in which they were named."""
    timestamp: Timestamp


class FileMention(Frame):
    """One file that a prompt mentioned."""
    path: str
    """The path as it was resolved."""
    content: str
    """The text of the file, or a note about it."""
    line_count: Count | None = None
    byte_size: Count | None = None
    skipped_reason: FileSkipReason | None = None
    image: ImageContent | None = None


class ThinkingContent(Frame):
    """A block of the model's reasoning."""
    type: Literal["thinking"]
    thinking: str
    """The reasoning; a placeholder when the provider hid it."""
    thinking_signature: str | None = None
    """What the provider wants back with the block, such as a signature or the whole reasoning item; opaque."""


class RedactedThinkingContent(Frame):
    """Reasoning that the provider hid."""
    type: Literal["redactedThinking"]
    data: str
    """The reasoning in encrypted form, to be sent back as it is."""


class ToolCall(Frame):
    """A tool that the model wants to be run."""
    type: Literal["toolCall"]
    id: str
    """The id of the call; results and tool events refer to it."""
    name: str
    """The name of the tool."""
    arguments: JsonObject
    thought_signature: str | None = None
    """A mark of the provider that has to be sent back with the call; opaque."""
    intent: str | None = None
    """In the model's words, what the call is for."""


class AgentToolResult(Frame):
    """What a tool returned, or has to show so far."""
    content: list[UserContent]
    """What the model is told; may be empty."""
    details: Any = None
    """What the tool tells the host beyond the content; its shape is the tool's own. Absent when there is nothing."""
    is_warning: bool | None = None
    """Whether the call succeeded with reservations."""


class Usage(Frame):
    """Tokens and cost of one request to a model."""
    input: Count
    output: Count
    cache_read: Count
    cache_write: Count
    total_tokens: Count
    premium_requests: float | None = None
    """How many requests of a plan with a fixed number of them this took."""
    cost: Cost


class Model(Frame):
    """A model that can be asked, with everything needed to ask it."""
    id: str
    """The id that the provider knows it by."""
    name: str
    """The name for people."""
    api: str
    """The vendor API that it is asked through."""
    provider: str
    """The provider that it belongs to."""
    base_url: str
    """The address of the provider."""
    reasoning: bool
    """Whether it can think before it answers."""
    thinking: ModelThinking | None = None
    input: list[InputKind]
    """What it accepts."""
    cost: ModelPrice
    context_window: Count
    max_tokens: Count
    headers: StringMap | None = None
    compat: JsonObject | None = None
    premium_multiplier: float | None = None
    """How many requests of a plan one request to it counts as."""
    prefer_websockets: bool | None = None
    """Whether it is better asked over a web socket."""
    context_promotion_target: str | None = None
    """The model to change to when the context grows too large for this one."""
    priority: float | None = None
    """Where it stands in a list of models; the lowest comes first."""


class ModelThinking(Frame):
    """How much a model can be told to think, and in which terms."""
    mode: str
    """In which terms: a budget of tokens, an effort, or another way of the provider."""
    min_level: ThinkingLevel
    max_level: ThinkingLevel


class OutputMeta(Frame):
    """What happened to a long output on its way into a message."""
    truncation: OutputTruncation | None = None
    source: OutputSource | None = None
    diagnostics: OutputDiagnostics | None = None
    limits: JsonObject | None = None


class OutputTruncation(Frame):
    """How much of an output was kept, and which part."""
    direction: TruncationDirection
    truncated_by: TruncationUnit
    total_lines: Count
    total_bytes: Count
    output_lines: Count
    output_bytes: Count
    max_bytes: Count | None = None
    shown_range: LineRange | None = None
    artifact_id: str | None = None
    """The id of the stored whole output."""
    next_offset: Count | None = None


class LineRange(Frame):
    """A stretch of lines, counted from 1, both ends included."""
    start: Count
    end: Count


class OutputSource(Frame):
    """Where an output came from."""
    type: OutputSourceKind
    value: str
    """The path, the address or the internal name."""


class OutputDiagnostics(Frame):
    """What checkers found in a file that a tool touched."""
    summary: str
    """The findings in one line."""
    messages: list[str]
    """The findings, one by one."""


class EditorRequest(Frame):
    """Asks the user to write or edit a longer text. It never times out by itself."""
    type: Literal["extension_ui_request"]
    id: str
    """Id of this request; an answer repeats it."""
    method: Literal["editor"]
    title: str
    """The question."""
    prefill: str | None = None
    """The text to begin with."""
    prompt_style: bool | None = None
    """Show it like the place where prompts are entered."""


class CancelRequest(Frame):
    """Takes an editor request back: the agent no longer waits for its answer."""
    type: Literal["extension_ui_request"]
    id: str
    """Id of this request; an answer repeats it."""
    method: Literal["cancel"]
    target_id: str
    """The `id` of that request."""


class UICancelledResponse(Frame):
    """The user closed the dialog without an answer; the agent goes on with its default."""
    type: Literal["extension_ui_response"]
    id: str
    """The `id` of the request."""
    cancelled: Literal[True]
    timed_out: bool | None = None
    """It was closed because its time was over."""


class HostToolDefinition(Frame):
    """A tool that the host carries out."""
    name: str
    """Name under which the model calls it; not empty."""
    label: str | None = None
    """Name to show to people; absent: the same as `name`."""
    description: str
    """What the model is told about it; not empty."""
    parameters: JsonObject
    hidden: bool | None = None
    """True: registered, but not offered to the model."""


class HostToolCall(Frame):
    """Asks the host to carry out a tool call."""
    type: Literal["host_tool_call"]
    id: str
    """Id of this request; updates and the result repeat it."""
    tool_call_id: str
    """Id of the tool call in the assistant message."""
    tool_name: str
    """Name of the tool."""
    arguments: JsonObject


class HostToolCancel(Frame):
    """Tells the host that a call was aborted; its result is no longer wanted."""
    type: Literal["host_tool_cancel"]
    id: str
    """Id of this frame."""
    target_id: str
    """The `id` of the call."""


class HostToolUpdate(Frame):
    """How far a host tool has come. It gets no response."""
    type: Literal["host_tool_update"]
    id: str
    """The `id` of the call."""
    partial_result: AgentToolResult


class HostToolResult(Frame):
    """The result of a host tool. It gets no response."""
    type: Literal["host_tool_result"]
    id: str
    """The `id` of the call."""
    result: AgentToolResult
    is_error: bool | None = None
    """True: the call failed, and the text of the result says why."""


class TodoPhase(Frame):
    """A group of todos."""
    id: str
    """Id of the phase."""
    name: str
    """Its name."""
    tasks: list[TodoItem]
    """Its todos, in order."""


class TodoItem(Frame):
    """One thing to do."""
    id: str
    """Id of the todo."""
    content: str
    """What is to be done."""
    status: TodoStatus
    notes: str | None = None
    """What else is to be known about it."""


class TodoPhaseInput(Frame):
    """A group of todos as a host gives it."""
    id: str | None = None
    """Id of the phase; absent: one is made."""
    name: str
    """Its name."""
    tasks: list[TodoItemInput]
    """Its todos, in order."""


class TodoItemInput(Frame):
    """One thing to do as a host gives it."""
    id: str | None = None
    """Id of the todo; absent: one is made."""
    content: str
    """What is to be done."""
    status: TodoStatus | None = None
    notes: str | None = None
    """What else is to be known about it."""


class SessionHeader(Frame):
    """The first line of a session file."""
    type: Literal["session"]
    version: Count
    id: str
    """Id of the session."""
    timestamp: str
    """When the session began: ISO 8601 in UTC with milliseconds."""
    cwd: str
    """The directory that the session works in."""
    parent_session: str | None = None
    """The file of the session that this one came from; not verified."""
    title: str | None = None
    """The name of the session."""
    title_source: TitleSource | None = None


class MessageEntry(Frame):
    """A message of the conversation."""
    type: Literal["message"]
    id: str
    """Names the entry inside its file."""
    parent_id: str | None
    """The entry before it on its branch; null for the first of one."""
    timestamp: str
    """When it was written: ISO 8601 in UTC with milliseconds."""
    message: AgentMessage


class ModelChangeEntry(Frame):
    """From here on another model answers."""
    type: Literal["model_change"]
    id: str
    """Names the entry inside its file."""
    parent_id: str | None
    """The entry before it on its branch; null for the first of one."""
    timestamp: str
    """When it was written: ISO 8601 in UTC with milliseconds."""
    model: str
    """The provider and the id of the model, with a slash between."""
    role: str | None = None
    """What the model is used for; absent or default: to answer."""


class ThinkingLevelChangeEntry(Frame):
    """From here on models think more, or less."""
    type: Literal["thinking_level_change"]
    id: str
    """Names the entry inside its file."""
    parent_id: str | None
    """The entry before it on its branch; null for the first of one."""
    timestamp: str
    """When it was written: ISO 8601 in UTC with milliseconds."""
    thinking_level: str | None = None
    """The level; null: none is set."""


class CompactionEntry(Frame):
    """The older part of the conversation was replaced by a summary."""
    type: Literal["compaction"]
    id: str
    """Names the entry inside its file."""
    parent_id: str | None
    """The entry before it on its branch; null for the first of one."""
    timestamp: str
    """When it was written: ISO 8601 in UTC with milliseconds."""
    summary: str
    """The summary."""
    short_summary: str | None = None
    """A short version of the summary to show."""
    first_kept_entry_id: str
    """The first entry before this one that stays in the context."""
    tokens_before: Count
    details: Any = None
    """What the maker of the summary notes beside it; any JSON."""
    preserve_data: JsonObject | None = None
    from_extension: bool | None = None
    """Whether an extension made the summary."""


class BranchSummaryEntry(Frame):
    """What was said on a branch that was left."""
    type: Literal["branch_summary"]
    id: str
    """Names the entry inside its file."""
    parent_id: str | None
    """The entry before it on its branch; null for the first of one."""
    timestamp: str
    """When it was written: ISO 8601 in UTC with milliseconds."""
    from_id: str
    """The entry at which the branch was left; root for the very beginning, in pi 1 null."""
    summary: str
    """The summary."""
    details: Any = None
    """What the maker of the summary notes beside it; any JSON."""
    from_extension: bool | None = None
    """Whether an extension made the summary."""


class CustomMessageEntry(Frame):
    """A message that an extension, or the server itself, added to the conversation."""
    type: Literal["custom_message"]
    custom_type: str
    """The kind of message, named by the extension."""
    content: MessageContent
    display: bool
    """Whether a host should show it."""
    details: Any = None
    """Data of the extension that the model does not see."""
    attribution: Attribution | None = None
    id: str
    """Names the entry inside its file."""
    parent_id: str | None
    """The entry before it on its branch; null for the first of one."""
    timestamp: str
    """When it was written: ISO 8601 in UTC with milliseconds."""


class ContextChangeEntry(Frame):
    """From here on services are asked in another context."""
    type: Literal["context_change"]
    id: str
    """Names the entry inside its file."""
    parent_id: str | None
    """The entry before it on its branch; null for the first of one."""
    timestamp: str
    """When it was written: ISO 8601 in UTC with milliseconds."""
    context_name: str
    """The name of the context."""
    tenant: str
    """The tenant."""
    namespace: str
    """The namespace."""


class ServiceTierChangeEntry(Frame):
    """From here on the provider serves in another tier."""
    type: Literal["service_tier_change"]
    id: str
    """Names the entry inside its file."""
    parent_id: str | None
    """The entry before it on its branch; null for the first of one."""
    timestamp: str
    """When it was written: ISO 8601 in UTC with milliseconds."""
    service_tier: str | None = None
    """The tier; null: the usual one."""


class TtsrInjectionEntry(Frame):
    """Rules were brought to the model's attention."""
    type: Literal["ttsr_injection"]
    id: str
    """Names the entry inside its file."""
    parent_id: str | None
    """The entry before it on its branch; null for the first of one."""
    timestamp: str
    """When it was written: ISO 8601 in UTC with milliseconds."""
    injected_rules: list[str]
    """Their names."""


class McpToolSelectionEntry(Frame):
    """From here on other tools of servers are offered."""
    type: Literal["mcp_tool_selection"]
    id: str
    """Names the entry inside its file."""
    parent_id: str | None
    """The entry before it on its branch; null for the first of one."""
    timestamp: str
    """When it was written: ISO 8601 in UTC with milliseconds."""
    selected_tool_names: list[str]
    """Their names."""


class SessionInitEntry(Frame):
    """What an agent was started with by another agent."""
    type: Literal["session_init"]
    id: str
    """Names the entry inside its file."""
    parent_id: str | None
    """The entry before it on its branch; null for the first of one."""
    timestamp: str
    """When it was written: ISO 8601 in UTC with milliseconds."""
    system_prompt: str
    """Its instructions."""
    task: str
    """What it is to do."""
    tools: list[str]
    """The names of its tools."""
    output_schema: Any = None
    """A JSON Schema of what it is to give back."""


class ModeChangeEntry(Frame):
    """From here on the agent works in another mode."""
    type: Literal["mode_change"]
    id: str
    """Names the entry inside its file."""
    parent_id: str | None
    """The entry before it on its branch; null for the first of one."""
    timestamp: str
    """When it was written: ISO 8601 in UTC with milliseconds."""
    mode: str
    """The mode; none: the mode was left."""
    data: JsonObject | None = None


RpcCommand = TypeAliasType("RpcCommand", Annotated[PromptCommand | SteerCommand | FollowUpCommand | AbortCommand |
    AbortAndPromptCommand | NewSessionCommand | GetStateCommand | SetTodosCommand | SetHostToolsCommand |
    SetLocaleCommand | GetIntegrationsCommand | SetModelCommand | CycleModelCommand | GetAvailableModelsCommand |
    SetThinkingLevelCommand | CycleThinkingLevelCommand | SetSteeringModeCommand | SetFollowUpModeCommand |
    SetInterruptModeCommand | CompactCommand | SetAutoCompactionCommand | SetAutoRetryCommand | AbortRetryCommand |
    BashCommand | AbortBashCommand | GetSessionStatsCommand | ExportHtmlCommand | SwitchSessionCommand | BranchCommand |
    GetBranchMessagesCommand | GetLastAssistantTextCommand | SetSessionNameCommand | GetMessagesCommand,
    Field(discriminator="type")])
"""A request of the host. Each is answered by a response with the same `id`; keys that a command does not know are
ignored."""

RpcExtensionUIResponse = TypeAliasType("RpcExtensionUIResponse", UIValueResponse | UIConfirmedResponse |
    UICancelledResponse)
"""The answer of the user to a dialog. It gets no response. An answer to a dialog that is not open is ignored; one of
the wrong kind counts as the default."""

Inbound = TypeAliasType("Inbound", Annotated[RpcCommand | RpcExtensionUIResponse | HostToolUpdate | HostToolResult,
    Field(discriminator="type")])
"""Everything that a host may write: one JSON object a line, ended by a line feed. In an optional member, at any
depth, `null` means the same as absent; a required member refuses it."""

RpcSuccess = TypeAliasType("RpcSuccess", Annotated[PromptResponse | SteerResponse | FollowUpResponse | AbortResponse |
    AbortAndPromptResponse | NewSessionResponse | GetStateResponse | SetTodosResponse | SetHostToolsResponse |
    SetLocaleResponse | GetIntegrationsResponse | SetModelResponse | CycleModelResponse | GetAvailableModelsResponse |
    SetThinkingLevelResponse | CycleThinkingLevelResponse | SetSteeringModeResponse | SetFollowUpModeResponse |
    SetInterruptModeResponse | CompactResponse | SetAutoCompactionResponse | SetAutoRetryResponse | AbortRetryResponse |
    BashResponse | AbortBashResponse | GetSessionStatsResponse | ExportHtmlResponse | SwitchSessionResponse |
    BranchResponse | GetBranchMessagesResponse | GetLastAssistantTextResponse | SetSessionNameResponse |
    GetMessagesResponse, Field(discriminator="command")])
"""A command that was accepted. Told apart by `command`; `data` is there only for the commands that have a result."""

RpcResponse = TypeAliasType("RpcResponse", Annotated[RpcSuccess | RpcErrorResponse, Field(discriminator="success")])
"""The answer to a command, or the refusal of a line that could not be read."""

AgentSessionEvent = TypeAliasType("AgentSessionEvent", Annotated[AgentStartEvent | AgentEndEvent | TurnStartEvent |
    TurnEndEvent | MessageStartEvent | MessageUpdateEvent | MessageEndEvent | ToolExecutionStartEvent |
    ToolExecutionUpdateEvent | ToolExecutionEndEvent | AutoCompactionStartEvent | AutoCompactionEndEvent |
    AutoRetryStartEvent | AutoRetryEndEvent | RetryFallbackAppliedEvent | RetryFallbackSucceededEvent |
    TtsrTriggeredEvent | TodoReminderEvent | TodoAutoClearEvent, Field(discriminator="type")])
"""What happens in the session, as it happens. Events have no id."""

RpcExtensionUIRequest = TypeAliasType("RpcExtensionUIRequest", Annotated[SelectRequest | ConfirmRequest | InputRequest |
    EditorRequest | CancelRequest | NotifyRequest | SetStatusRequest | SetWidgetRequest | SetTitleRequest |
    SetEditorTextRequest, Field(discriminator="method")])
"""Something that an extension wants of the user interface: a dialog that waits for an answer, or a notice that does
not."""

Outbound = TypeAliasType("Outbound", Annotated[RpcResponse | AgentSessionEvent | RpcExtensionUIRequest | ExtensionError
    | ReadyFrame | HostToolCall | HostToolCancel, Field(discriminator="type")])
"""Everything that a server may write: one JSON object a line, ended by a line feed."""

InterruptMode = TypeAliasType("InterruptMode", Literal["immediate", "wait"])
"""What steering does to the tool calls of the turn: `immediate` aborts those that run and skips the rest, `wait`
lets them all finish."""

IntegrationModelState = TypeAliasType("IntegrationModelState", Literal["no_provider", "connected", "auth_error"])
"""Whether the model provider can be used: none is set up, it answers, or it refuses the credentials."""

IntegrationServiceState = TypeAliasType("IntegrationServiceState", Literal["connected", "unauthenticated",
    "unavailable"])
"""Whether a service can be used: it answers, wants a login, or is not there."""

AssistantMessageEvent = TypeAliasType("AssistantMessageEvent", Annotated[StartUpdate | TextStartUpdate | TextDeltaUpdate
    | TextEndUpdate | ThinkingStartUpdate | ThinkingDeltaUpdate | ThinkingEndUpdate | ToolcallStartUpdate |
    ToolcallDeltaUpdate | ToolcallEndUpdate | DoneUpdate | ErrorUpdate, Field(discriminator="type")])
"""How an assistant message has grown."""

CompactionReason = TypeAliasType("CompactionReason", Literal["threshold", "overflow", "idle"])
"""What made a compaction necessary: the host asked for it, the context passed the limit, the provider refused it as
too long, or the session was idle."""

CompactionAction = TypeAliasType("CompactionAction", Literal["context-full", "handoff"])
"""What is done about a full context: the history is summarised, or handed over to a new session."""

TodoReminderStatus = TypeAliasType("TodoReminderStatus", Literal["pending", "in_progress"])
"""How far an open todo is."""

RuleInterruptMode = TypeAliasType("RuleInterruptMode", Literal["never", "prose-only", "tool-only", "always"])
"""When a rule may break into an answer: never, in text only, in tool calls only, always."""

AgentMessage = TypeAliasType("AgentMessage", Annotated[UserMessage | DeveloperMessage | AssistantMessage |
    ToolResultMessage | BashExecutionMessage | PythonExecutionMessage | CustomMessage | HookMessage |
    BranchSummaryMessage | CompactionSummaryMessage | FileMentionMessage, Field(discriminator="role")])
"""A message of the conversation, told apart by its role."""

FileSkipReason = TypeAliasType("FileSkipReason", Literal["tooLarge"])
"""Why the text of a mentioned file was left out."""

AssistantContent = TypeAliasType("AssistantContent", Annotated[TextContent | ThinkingContent | RedactedThinkingContent |
    ToolCall, Field(discriminator="type")])
"""One block of what the model said."""

Attribution = TypeAliasType("Attribution", Literal["user", "agent"])
"""On whose behalf a message was made: the user's, or the agent's own."""

TruncationDirection = TypeAliasType("TruncationDirection", Literal["head", "tail"])
"""Which end of a long output was kept."""

TruncationUnit = TypeAliasType("TruncationUnit", Literal["lines", "bytes"])
"""Which limit a long output ran into."""

OutputSourceKind = TypeAliasType("OutputSourceKind", Literal["path", "url", "internal"])
"""What kind of place an output came from."""

TodoStatus = TypeAliasType("TodoStatus", Literal["pending", "in_progress", "completed", "abandoned"])
"""How far a todo has come."""

TitleSource = TypeAliasType("TitleSource", Literal["auto", "user"])
"""Who chose the name of a session: a model, or the user."""

SessionEntry = TypeAliasType("SessionEntry", Annotated[MessageEntry | ModelChangeEntry | ThinkingLevelChangeEntry |
    CompactionEntry | BranchSummaryEntry | CustomEntry | CustomMessageEntry | LabelEntry | ContextChangeEntry |
    ServiceTierChangeEntry | TtsrInjectionEntry | McpToolSelectionEntry | SessionInitEntry | ModeChangeEntry,
    Field(discriminator="type")])
"""A line of a session file after the header. Readers keep types that they do not know: they are links of the chain
of parents."""

__all__ = [
    "AbortAndPromptCommand", "AbortAndPromptResponse", "AbortBashCommand", "AbortBashResponse", "AbortCommand",
    "AbortResponse", "AbortRetryCommand", "AbortRetryResponse", "AgentEndEvent", "AgentMessage", "AgentSessionEvent",
    "AgentStartEvent", "AgentToolResult", "AssistantContent", "AssistantMessage", "AssistantMessageEvent",
    "Attribution", "AutoCompactionEndEvent", "AutoCompactionStartEvent", "AutoRetryEndEvent", "AutoRetryStartEvent",
    "BashCommand", "BashExecutionMessage", "BashResponse", "BashResult", "BranchCommand", "BranchResponse",
    "BranchSummaryEntry", "BranchSummaryMessage", "CancelRequest", "CompactCommand", "CompactResponse",
    "CompactionAction", "CompactionEntry", "CompactionReason", "CompactionResult", "CompactionSummaryMessage",
    "ConfirmRequest", "ContextChangeEntry", "Cost", "Count", "CustomEntry", "CustomMessage", "CustomMessageEntry",
    "CycleModelCommand", "CycleModelResponse", "CycleThinkingLevelCommand", "CycleThinkingLevelResponse",
    "DeveloperMessage", "DoneReason", "DoneUpdate", "DumpTool", "EditorRequest", "ErrorReason", "ErrorUpdate",
    "ExportHtmlCommand", "ExportHtmlResponse", "ExportedFile", "ExtensionError", "FileMention", "FileMentionMessage",
    "FileSkipReason", "FollowUpCommand", "FollowUpResponse", "ForkMessage", "ForkMessages", "ForkResult",
    "GetAvailableModelsCommand", "GetAvailableModelsResponse", "GetBranchMessagesCommand", "GetBranchMessagesResponse",
    "GetIntegrationsCommand", "GetIntegrationsResponse", "GetLastAssistantTextCommand", "GetLastAssistantTextResponse",
    "GetMessagesCommand", "GetMessagesResponse", "GetSessionStatsCommand", "GetSessionStatsResponse", "GetStateCommand",
    "GetStateResponse", "HookMessage", "HostToolCall", "HostToolCancel", "HostToolDefinition", "HostToolNames",
    "HostToolResult", "HostToolUpdate", "ImageContent", "Inbound", "InputKind", "InputRequest", "IntegrationModel",
    "IntegrationModelState", "IntegrationService", "IntegrationServiceState", "Integrations", "InterruptMode",
    "JsonObject", "LabelEntry", "LastAssistantText", "LineRange", "McpToolSelectionEntry", "MessageContent",
    "MessageEndEvent", "MessageEntry", "MessageList", "MessageStartEvent", "MessageUpdateEvent", "ModeChangeEntry",
    "Model", "ModelChangeEntry", "ModelCycle", "ModelList", "ModelPrice", "ModelThinking", "NewSessionCommand",
    "NewSessionResponse", "NotifyRequest", "NotifyType", "Outbound", "OutputDiagnostics", "OutputMeta", "OutputSource",
    "OutputSourceKind", "OutputTruncation", "PromptCommand", "PromptResponse", "PythonExecutionMessage", "QueueMode",
    "ReadyFrame", "RedactedThinkingContent", "RequestId", "RetryFallbackAppliedEvent", "RetryFallbackSucceededEvent",
    "RpcCommand", "RpcErrorResponse", "RpcExtensionUIRequest", "RpcExtensionUIResponse", "RpcResponse", "RpcSuccess",
    "Rule", "RuleInterruptMode", "SelectRequest", "ServiceTierChangeEntry", "SessionChange", "SessionEntry",
    "SessionHeader", "SessionInitEntry", "SessionState", "SessionStats", "SetAutoCompactionCommand",
    "SetAutoCompactionResponse", "SetAutoRetryCommand", "SetAutoRetryResponse", "SetEditorTextRequest",
    "SetFollowUpModeCommand", "SetFollowUpModeResponse", "SetHostToolsCommand", "SetHostToolsResponse",
    "SetInterruptModeCommand", "SetInterruptModeResponse", "SetLocaleCommand", "SetLocaleResponse", "SetModelCommand",
    "SetModelResponse", "SetSessionNameCommand", "SetSessionNameResponse", "SetStatusRequest", "SetSteeringModeCommand",
    "SetSteeringModeResponse", "SetThinkingLevelCommand", "SetThinkingLevelResponse", "SetTitleRequest",
    "SetTodosCommand", "SetTodosResponse", "SetWidgetRequest", "StartUpdate", "SteerCommand", "SteerResponse",
    "StopReason", "StreamingBehavior", "StringMap", "SwitchSessionCommand", "SwitchSessionResponse", "TextContent",
    "TextDeltaUpdate", "TextEndUpdate", "TextStartUpdate", "ThinkingContent", "ThinkingDeltaUpdate",
    "ThinkingEndUpdate", "ThinkingLevel", "ThinkingLevelChange", "ThinkingLevelChangeEntry", "ThinkingStartUpdate",
    "Timestamp", "TitleSource", "TodoAutoClearEvent", "TodoItem", "TodoItemInput", "TodoList", "TodoPhase",
    "TodoPhaseInput", "TodoReminderEvent", "TodoReminderItem", "TodoReminderStatus", "TodoStatus", "TokenTotals",
    "ToolCall", "ToolExecutionEndEvent", "ToolExecutionStartEvent", "ToolExecutionUpdateEvent", "ToolResultMessage",
    "ToolcallDeltaUpdate", "ToolcallEndUpdate", "ToolcallStartUpdate", "TruncationDirection", "TruncationUnit",
    "TtsrInjectionEntry", "TtsrTriggeredEvent", "TurnEndEvent", "TurnStartEvent", "UICancelledResponse",
    "UIConfirmedResponse", "UIValueResponse", "Usage", "UserContent", "UserMessage", "WidgetPlacement",
]
