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
    """Sends the agent a user message and starts a run. While a run is open, `streamingBehavior` is required and the
    message is queued instead. A message that begins with `/` may name a command of an extension, a prompt
    template or a skill."""
    id: RequestId | None = None
    type: Literal["prompt"]
    message: str
    """Text for the agent, or a slash command with its arguments."""
    images: list[ImageContent] | None = None
    """Images that follow the text, in order; absent: none."""
    streaming_behavior: StreamingBehavior | None = None
    locale: str | None = None
    """Language in which the agent should answer, as a language tag."""


class AbortAndPromptCommand(Frame):
    """Aborts the open run as `abort` does, and any compaction, then starts a new run as `prompt` does."""
    id: RequestId | None = None
    type: Literal["abort_and_prompt"]
    message: str
    """Text for the agent."""
    images: list[ImageContent] | None = None
    """Images that follow the text, in order; absent: none."""


class SetTodosCommand(Frame):
    """Replaces the list of todos. The list is held in memory only."""
    id: RequestId | None = None
    type: Literal["set_todos"]
    phases: list[TodoPhaseInput]
    """Complete new list, in order. Empty: no todos."""


class SetHostToolsCommand(Frame):
    """Replaces the set of tools that the host executes. The model can call them from its next request on."""
    id: RequestId | None = None
    type: Literal["set_host_tools"]
    tools: list[HostToolDefinition]
    """Complete new set. Names are unique and differ from those of the other tools. Empty: no host tools."""


class SetLocaleCommand(Frame):
    """Sets the language in which the agent should answer. `pi-rpc serve` does not do it and answers that it is not
    implemented."""
    id: RequestId | None = None
    type: Literal["set_locale"]
    locale: str
    """Language tag."""


class GetIntegrationsCommand(Frame):
    """Reads whether the model provider and the other services of the agent can be reached. `pi-rpc serve` does not
    do it and answers that it is not implemented."""
    id: RequestId | None = None
    type: Literal["get_integrations"]


class SetInterruptModeCommand(Frame):
    """Sets whether a steering message interrupts the tool calls of the open turn. Takes effect with the next run."""
    id: RequestId | None = None
    type: Literal["set_interrupt_mode"]
    mode: InterruptMode


class BranchCommand(Frame):
    """Starts a new session with the conversation before an earlier user message, without that message. An extension
    may veto this."""
    id: RequestId | None = None
    type: Literal["branch"]
    entry_id: str
    """Id of the session entry of that user message, from `get_branch_messages`."""


class GetBranchMessagesCommand(Frame):
    """Lists the user messages that `branch` accepts."""
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
    """The list was replaced."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["set_todos"]
    success: Literal[True]
    data: TodoList


class SetHostToolsResponse(Frame):
    """The host tools were replaced."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["set_host_tools"]
    success: Literal[True]
    data: HostToolNames


class SetLocaleResponse(Frame):
    """The language was set."""
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
    """The model was selected."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["set_model"]
    success: Literal[True]
    data: Model


class CycleModelResponse(Frame):
    """The next model was selected, or there is only one."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["cycle_model"]
    success: Literal[True]
    data: ModelCycle | None
    """Selected model; null if there is no other one."""


class GetAvailableModelsResponse(Frame):
    """The models that can be selected."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["get_available_models"]
    success: Literal[True]
    data: ModelList


class SetInterruptModeResponse(Frame):
    """The mode was set."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["set_interrupt_mode"]
    success: Literal[True]


class CompactResponse(Frame):
    """The conversation was compacted."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["compact"]
    success: Literal[True]
    data: CompactionResult


class BashResponse(Frame):
    """The command has ended or was cancelled."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["bash"]
    success: Literal[True]
    data: BashResult


class GetSessionStatsResponse(Frame):
    """The statistics of the session."""
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
    """The user messages that `branch` accepts."""
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
    """State of the session at one moment."""
    model: Model | None = None
    """Selected model; absent or null if there is none."""
    thinking_level: ThinkingLevel | None = None
    """Thinking level in effect; `off` for a model that does not support thinking. xcsh omits it, or writes null, if
    no level is set."""
    is_streaming: bool
    """Whether a run is open. In pi false during the wait before a retry and during an automatic compaction; in xcsh
    and omp true until all that an accepted prompt started has ended; in pi 1 true until `agent_settled`."""
    is_compacting: bool
    """Whether a compaction is under way, requested or automatic."""
    steering_mode: QueueMode
    follow_up_mode: QueueMode
    interrupt_mode: InterruptMode
    session_file: str | None = None
    """Absolute path of the session file, which may not exist yet; absent if the session is held in memory only."""
    session_id: str
    """Id of the session; its form depends on the dialect."""
    session_name: str | None = None
    """Name set by `set_session_name`; absent if none is set."""
    auto_compaction_enabled: bool
    """Whether a nearly full context is compacted automatically."""
    message_count: Count
    queued_message_count: Count
    todo_phases: list[TodoPhase]
    """Todos, in order; empty if there are none."""
    system_prompt: str | None = None
    """System prompt in use: its text, in omp a list of its parts."""
    dump_tools: list[DumpTool] | None = None
    """Tools that are offered to the model."""


class DumpTool(Frame):
    """Tool as described to the model."""
    name: str
    """Name of the tool."""
    description: str
    """Description of the tool for the model."""
    parameters: JsonObject


class ModelCycle(Frame):
    """Result of selecting the next model."""
    model: Model
    thinking_level: ThinkingLevel | None = None
    is_scoped: bool
    """Whether the models to cycle through were limited at the start or in the settings."""


class ModelList(Frame):
    """Models that can be selected."""
    models: list[Model]
    """Models, in the order of `cycle_model`."""


class TodoList(Frame):
    """Todos of the session."""
    todo_phases: list[TodoPhase]
    """Phases, in order, with generated ids filled in."""


class HostToolNames(Frame):
    """Registered host tools."""
    tool_names: list[str]
    """Names, in the order of the command."""


class CompactionResult(Frame):
    """Result of a compaction."""
    summary: str
    """Summary that replaces the older part of the conversation, with the lists of files that were read or modified."""
    short_summary: str | None = None
    """Short version of the summary, for display."""
    first_kept_entry_id: str
    """Id of the first session entry that stays in the context unchanged."""
    tokens_before: Count
    details: Any = None
    """Further data from the author of the summary: an object with the sorted lists of paths `readFiles` and
    `modifiedFiles`, or any JSON if an extension supplied it."""
    preserve_data: JsonObject | None = None


class BashResult(Frame):
    """Outcome of a bash command."""
    output: str
    """Standard output and standard error, interleaved, without control sequences; only the end of a long output."""
    exit_code: Annotated[int, Field(ge=-2147483648, le=2147483647)] | None = None
    """Exit code of the command; absent if it was killed."""
    cancelled: bool
    """Whether the command was stopped before its end."""
    truncated: bool
    """Whether the beginning of the output was left out."""
    new_cwd: str | None = None
    """Working directory of the shell after the command."""
    total_lines: Count | None = None
    total_bytes: Count | None = None
    output_lines: Count | None = None
    output_bytes: Count | None = None
    artifact_id: str | None = None
    """Id under which the complete output is stored."""


class SessionStats(Frame):
    """Statistics of the session: in pi and xcsh of the conversation in memory, without messages that a compaction
    has summarised; in pi 1 of all entries, including other branches."""
    session_file: str | None = None
    """Absolute path of the session file; absent if the session is held in memory only."""
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
    """Number of requests that the provider counts against a premium allowance."""


class MessageList(Frame):
    """Messages of the conversation."""
    messages: list[AgentMessage]
    """Messages, oldest first."""


class Integrations(Frame):
    """State of the model provider and of other services."""
    version: str
    """Version of the agent."""
    model: IntegrationModel
    services: list[IntegrationService]
    """States of the other services."""


class IntegrationModel(Frame):
    """State of the model provider."""
    state: IntegrationModelState
    provider: str | None = None
    """Id of the provider."""
    latency_ms: float | None = None
    """Response time in milliseconds."""


class IntegrationService(Frame):
    """State of a service that the agent uses."""
    name: str
    """Name of the service."""
    state: IntegrationServiceState
    hint: str | None = None
    """Advice for people on what to do about the state."""


class AgentEndEvent(Frame):
    """The run has ended. In omp also retries, compactions and reminders that followed by themselves."""
    type: Literal["agent_end"]
    messages: list[AgentMessage]
    """Messages of this run, in order: prompts, assistant messages and tool results. Earlier history is not repeated."""


class TurnEndEvent(Frame):
    """The turn has ended."""
    type: Literal["turn_end"]
    message: AssistantMessage
    tool_results: list[ToolResultMessage]
    """Results of the tool calls, in the order in which they were emitted; empty if there are none."""


class MessageStartEvent(Frame):
    """A message begins. Only an assistant message may still be incomplete."""
    type: Literal["message_start"]
    message: AgentMessage


class MessageUpdateEvent(Frame):
    """The partial message has changed."""
    type: Literal["message_update"]
    assistant_message_event: AssistantMessageEvent
    message: AssistantMessage


class MessageEndEvent(Frame):
    """A message is complete."""
    type: Literal["message_end"]
    message: AgentMessage


class ToolExecutionStartEvent(Frame):
    """A tool call starts."""
    type: Literal["tool_execution_start"]
    tool_call_id: str
    """Id of the tool call."""
    tool_name: str
    """Name of the tool."""
    args: JsonObject
    intent: str | None = None
    """Purpose of the call, in the words of the model; absent: none given."""


class ToolExecutionUpdateEvent(Frame):
    """Progress of a running tool call."""
    type: Literal["tool_execution_update"]
    tool_call_id: str
    """Id of the tool call."""
    tool_name: str
    """Name of the tool."""
    args: JsonObject
    partial_result: AgentToolResult


class ToolExecutionEndEvent(Frame):
    """A tool call has ended."""
    type: Literal["tool_execution_end"]
    tool_call_id: str
    """Id of the tool call."""
    tool_name: str
    """Name of the tool."""
    result: AgentToolResult
    is_error: bool
    """Whether the call failed."""
    is_warning: bool | None = None
    """Whether the call succeeded with a warning; absent: no."""


class AutoCompactionStartEvent(Frame):
    """An automatic compaction begins."""
    type: Literal["auto_compaction_start"]
    reason: CompactionReason
    action: CompactionAction


class AutoCompactionEndEvent(Frame):
    """The automatic compaction has ended, with or without success."""
    type: Literal["auto_compaction_end"]
    action: CompactionAction
    result: CompactionResult | None = None
    """Result; present only on success."""
    aborted: bool
    """Whether the compaction was cancelled."""
    will_retry: bool
    """Whether the request that did not fit is now sent again."""
    error_message: str | None = None
    """Reason of a failure; absent otherwise."""
    skipped: bool | None = None
    """Present and true if there was nothing to compact."""


class RetryFallbackAppliedEvent(Frame):
    """The next attempt uses another model."""
    type: Literal["retry_fallback_applied"]
    from_: Annotated[str, Field(alias="from")]
    """Model that failed."""
    to: str
    """Model of the next attempt."""
    role: str
    """Role that the models are chosen for."""


class RetryFallbackSucceededEvent(Frame):
    """An attempt with a fallback model succeeded."""
    type: Literal["retry_fallback_succeeded"]
    model: str
    """Model that answered."""
    role: str
    """Role that the model was chosen for."""


class TtsrTriggeredEvent(Frame):
    """The streamed text broke a rule. The assistant message is aborted and requested again with the rule added to
    the context."""
    type: Literal["ttsr_triggered"]
    rules: list[Rule]
    """Rules that were broken."""


class TodoReminderEvent(Frame):
    """The run ended with open todos; the agent is reminded of them and continues."""
    type: Literal["todo_reminder"]
    todos: list[TodoReminderItem]
    """Open todos."""
    attempt: Count
    max_attempts: Count


class TodoAutoClearEvent(Frame):
    """A completed todo was removed from the list."""
    type: Literal["todo_auto_clear"]


class StartUpdate(Frame):
    """The assistant message begins. Servers do not send this; `message_start` reports it."""
    type: Literal["start"]
    partial: AssistantMessage


class TextStartUpdate(Frame):
    """A text block begins."""
    type: Literal["text_start"]
    content_index: Count
    partial: AssistantMessage


class TextDeltaUpdate(Frame):
    """Text was added to a text block."""
    type: Literal["text_delta"]
    content_index: Count
    delta: str
    """Delta: the text that was added to the block."""
    partial: AssistantMessage


class TextEndUpdate(Frame):
    """A text block is complete."""
    type: Literal["text_end"]
    content_index: Count
    content: str
    """Complete text of the block."""
    partial: AssistantMessage


class ThinkingStartUpdate(Frame):
    """A thinking block begins."""
    type: Literal["thinking_start"]
    content_index: Count
    partial: AssistantMessage


class ThinkingDeltaUpdate(Frame):
    """Text was added to a thinking block."""
    type: Literal["thinking_delta"]
    content_index: Count
    delta: str
    """Delta: the text that was added to the block."""
    partial: AssistantMessage


class ThinkingEndUpdate(Frame):
    """A thinking block is complete."""
    type: Literal["thinking_end"]
    content_index: Count
    content: str
    """Complete text of the block."""
    partial: AssistantMessage


class ToolcallStartUpdate(Frame):
    """A tool call begins."""
    type: Literal["toolcall_start"]
    content_index: Count
    partial: AssistantMessage


class ToolcallDeltaUpdate(Frame):
    """Text was added to the arguments of a tool call."""
    type: Literal["toolcall_delta"]
    content_index: Count
    delta: str
    """Delta: a piece of the arguments as JSON text; may be empty."""
    partial: AssistantMessage


class ToolcallEndUpdate(Frame):
    """A tool call is complete."""
    type: Literal["toolcall_end"]
    content_index: Count
    tool_call: ToolCall
    partial: AssistantMessage


class DoneUpdate(Frame):
    """The assistant message is complete. Servers do not send this; `message_end` reports it."""
    type: Literal["done"]
    reason: DoneReason
    message: AssistantMessage


class ErrorUpdate(Frame):
    """The assistant message failed. Servers do not send this; `message_end` reports it."""
    type: Literal["error"]
    reason: ErrorReason
    error: AssistantMessage


class TodoReminderItem(Frame):
    """Open todo."""
    id: str
    """Id of the todo."""
    content: str
    """Text of the todo."""
    status: TodoReminderStatus


class Rule(Frame):
    """Rule about the text that a model streams. Opaque to hosts."""
    name: str
    """Name of the rule."""
    path: str
    """File that defines the rule."""
    content: str
    """Instruction that is given to the model when the rule is broken."""
    globs: list[str] | None = None
    """Glob patterns of the files that the rule applies to."""
    always_apply: bool | None = None
    """Whether the rule is part of every conversation."""
    description: str | None = None
    """Purpose of the rule."""
    condition: list[str] | None = None
    """Regular expressions that trigger the rule."""
    scope: list[str] | None = None
    """Parts of the stream that the rule watches."""
    interrupt_mode: RuleInterruptMode | None = None
    field_source: Annotated[JsonObject, Field(alias="_source")]


class ReadyFrame(Frame):
    """The server is ready. Sent once, as the first line."""
    type: Literal["ready"]
    version: str | None = None
    """Version of the server."""


class UserMessage(Frame):
    """Message of the user. The server always writes the array form: the text block first, then the images."""
    role: Literal["user"]
    content: MessageContent
    synthetic: bool | None = None
    """Whether the server generated the message on behalf of the user; absent: no."""
    attribution: Attribution | None = None
    provider_payload: JsonObject | None = None
    timestamp: Timestamp


class DeveloperMessage(Frame):
    """Instruction that the server adds by itself, such as a reminder of open todos or a request to continue."""
    role: Literal["developer"]
    content: MessageContent
    attribution: Attribution | None = None
    timestamp: Timestamp


class AssistantMessage(Frame):
    """Answer of the model in one turn: complete, or a snapshot of the partial message."""
    role: Literal["assistant"]
    content: list[AssistantContent]
    """Blocks in the order in which they began; may be empty."""
    api: str
    """Vendor API of the request, for example `anthropic-messages`."""
    provider: str
    """Id of the provider."""
    model: str
    """Id of the requested model."""
    usage: Usage
    stop_reason: StopReason
    timestamp: Timestamp
    response_id: str | None = None
    """Id that the provider gave the response; absent if none was received."""
    provider_payload: JsonObject | None = None
    error_message: str | None = None
    """Error text; present exactly if `stopReason` is `error` or `aborted`."""
    duration: Count | None = None
    ttft: Count | None = None


class ToolResultMessage(Frame):
    """Result of one tool call, as the model reads it."""
    role: Literal["toolResult"]
    tool_call_id: str
    """Id of the tool call."""
    tool_name: str
    """Name of the tool."""
    content: list[UserContent]
    """Content for the model; may be empty."""
    details: Any = None
    """Data for the host in addition to the content, in a shape of the tool's own; absent if there is none."""
    is_error: bool
    """Whether the call failed."""
    is_warning: bool | None = None
    """Whether the call succeeded with a warning; absent: no."""
    attribution: Attribution | None = None
    pruned_at: Timestamp | None = None
    timestamp: Timestamp


class BashExecutionMessage(Frame):
    """Shell command that the host ran with `bash`, and its output."""
    role: Literal["bashExecution"]
    command: str
    """Command line."""
    output: str
    """Output without control sequences; only its end if it was long."""
    exit_code: Annotated[int, Field(ge=-2147483648, le=2147483647)] | None = None
    """Exit status; absent if the command was killed."""
    cancelled: bool
    """Whether the command was stopped before its end."""
    truncated: bool
    """Whether part of the output was left out."""
    meta: OutputMeta | None = None
    timestamp: Timestamp
    exclude_from_context: bool | None = None
    """Whether the message is hidden from the model; absent: no."""


class PythonExecutionMessage(Frame):
    """Python code that the user ran, and its output."""
    role: Literal["pythonExecution"]
    code: str
    """Python code."""
    output: str
    """Output of the code."""
    exit_code: Annotated[int, Field(ge=-2147483648, le=2147483647)] | None = None
    """Exit status; absent if the run was killed."""
    cancelled: bool
    """Whether the run was stopped before its end."""
    truncated: bool
    """Whether part of the output was left out."""
    meta: OutputMeta | None = None
    timestamp: Timestamp
    exclude_from_context: bool | None = None
    """Whether the message is hidden from the model; absent: no."""


class CustomMessage(Frame):
    """Message that an extension, or the server itself, added to the conversation."""
    role: Literal["custom"]
    custom_type: str
    """Kind of message, named by the extension."""
    content: MessageContent
    display: bool
    """Whether hosts should show the message to the user."""
    details: Any = None
    """Data of the extension, for hosts; not sent to the model."""
    attribution: Attribution | None = None
    timestamp: Timestamp


class HookMessage(Frame):
    """Older form of `CustomMessage`, found only in session files of earlier versions."""
    role: Literal["hookMessage"]
    custom_type: str
    """Kind of message, named by the extension."""
    content: MessageContent
    display: bool
    """Whether hosts should show the message to the user."""
    details: Any = None
    """Data of the extension, for hosts; not sent to the model."""
    attribution: Attribution | None = None
    timestamp: Timestamp


class CompactionSummaryMessage(Frame):
    """Summary of the conversation before the last compaction; the first message of the context after it."""
    role: Literal["compactionSummary"]
    summary: str
    """Text of the summary."""
    short_summary: str | None = None
    """Summary in one or two sentences, for display."""
    tokens_before: Count
    provider_payload: JsonObject | None = None
    timestamp: Timestamp


class FileMentionMessage(Frame):
    """Files that the user named in a prompt, with their contents."""
    role: Literal["fileMention"]
    files: list[FileMention]
    """Files, in the order in which they were named."""
    timestamp: Timestamp


class FileMention(Frame):
    """File that a prompt named."""
    path: str
    """Resolved path."""
    content: str
    """Text of the file, or a note about the file."""
    line_count: Count | None = None
    byte_size: Count | None = None
    skipped_reason: FileSkipReason | None = None
    image: ImageContent | None = None


class ThinkingContent(Frame):
    """Block of reasoning of the model."""
    type: Literal["thinking"]
    thinking: str
    """Reasoning; a placeholder if the provider redacted it."""
    thinking_signature: str | None = None
    """Data to send back to the provider with the block, such as a signature or the whole reasoning item; opaque."""


class RedactedThinkingContent(Frame):
    """Block of reasoning that the provider redacted."""
    type: Literal["redactedThinking"]
    data: str
    """Encrypted reasoning, to be sent back unchanged."""


class ToolCall(Frame):
    """Tool call of the model."""
    type: Literal["toolCall"]
    id: str
    """Id of the call, referred to by results and tool events."""
    name: str
    """Name of the tool."""
    arguments: JsonObject
    thought_signature: str | None = None
    """Signature to send back to the provider with the call; opaque."""
    intent: str | None = None
    """Purpose of the call, in the words of the model; absent: none given."""


class AgentToolResult(Frame):
    """Result of a tool, complete or so far."""
    content: list[UserContent]
    """Content for the model; may be empty."""
    details: Any = None
    """Data for the host in addition to the content, in a shape of the tool's own; absent if there is none."""
    is_warning: bool | None = None
    """Whether the call succeeded with a warning; absent: no."""


class Usage(Frame):
    """Tokens and cost of one request to a model."""
    input: Count
    output: Count
    cache_read: Count
    cache_write: Count
    total_tokens: Count
    premium_requests: float | None = None
    """Number of requests that this one counts as in a plan with a fixed number of requests."""
    cost: Cost


class Model(Frame):
    """Model that can be selected, with everything needed to send requests to it."""
    id: str
    """Id of the model within the provider."""
    name: str
    """Display name."""
    api: str
    """Vendor API of the model."""
    provider: str
    """Id of the provider."""
    base_url: str
    """Base URL of the provider."""
    reasoning: bool
    """Whether the model supports thinking."""
    thinking: ModelThinking | None = None
    input: list[InputKind]
    """Kinds of input that the model accepts."""
    cost: ModelPrice
    context_window: Count
    max_tokens: Count
    headers: StringMap | None = None
    compat: JsonObject | None = None
    premium_multiplier: float | None = None
    """Number of requests that one request counts as in a plan with a fixed number of requests."""
    prefer_websockets: bool | None = None
    """Whether requests should prefer a WebSocket."""
    context_promotion_target: str | None = None
    """Model to switch to when the context grows too large for this one."""
    priority: float | None = None
    """Rank in a list of models; the lowest comes first."""


class ModelThinking(Frame):
    """Range of thinking levels of a model, and how they are sent."""
    mode: str
    """Form in which the level is sent: a token budget, an effort, or another form of the provider."""
    min_level: ThinkingLevel
    max_level: ThinkingLevel


class OutputMeta(Frame):
    """Details about the processing of a long output."""
    truncation: OutputTruncation | None = None
    source: OutputSource | None = None
    diagnostics: OutputDiagnostics | None = None
    limits: JsonObject | None = None


class OutputTruncation(Frame):
    """Extent of the part of an output that was kept."""
    direction: TruncationDirection
    truncated_by: TruncationUnit
    total_lines: Count
    total_bytes: Count
    output_lines: Count
    output_bytes: Count
    max_bytes: Count | None = None
    shown_range: LineRange | None = None
    artifact_id: str | None = None
    """Id under which the complete output is stored."""
    next_offset: Count | None = None


class LineRange(Frame):
    """Range of lines, counted from 1, both ends included."""
    start: Count
    end: Count


class OutputSource(Frame):
    """Source of an output."""
    type: OutputSourceKind
    value: str
    """Path, address or internal name."""


class OutputDiagnostics(Frame):
    """Findings of checkers in a file that a tool changed."""
    summary: str
    """Findings in one line."""
    messages: list[str]
    """Findings, one by one."""


class EditorRequest(Frame):
    """Opens a dialog in which the user writes or edits a longer text. It has no time limit."""
    type: Literal["extension_ui_request"]
    id: str
    """Id of this request; a dialog response repeats it."""
    method: Literal["editor"]
    title: str
    """Question to the user."""
    prefill: str | None = None
    """Initial text; absent: none."""
    prompt_style: bool | None = None
    """Whether to show the editor like the prompt input; absent: no."""


class CancelRequest(Frame):
    """Withdraws an editor dialog, in omp any dialog: the agent no longer waits for its response."""
    type: Literal["extension_ui_request"]
    id: str
    """Id of this request; a dialog response repeats it."""
    method: Literal["cancel"]
    target_id: str
    """`id` of the dialog."""


class UICancelledResponse(Frame):
    """Response to a dialog that the user closed; the agent continues with the default."""
    type: Literal["extension_ui_response"]
    id: str
    """`id` of the UI request."""
    cancelled: Literal[True]
    timed_out: bool | None = None
    """Whether the dialog was closed because its time limit was reached; absent: no."""


class HostToolDefinition(Frame):
    """Tool that the host executes."""
    name: str
    """Name that the model calls the tool by; not empty."""
    label: str | None = None
    """Display name; absent: the same as `name`."""
    description: str
    """Description of the tool for the model; not empty."""
    parameters: JsonObject
    hidden: bool | None = None
    """True: registered, but not offered to the model. Absent: offered."""


class HostToolCall(Frame):
    """Requests the host to execute a tool call."""
    type: Literal["host_tool_call"]
    id: str
    """Id of this request; updates and the result repeat it."""
    tool_call_id: str
    """Id of the tool call in the assistant message."""
    tool_name: str
    """Name of the tool."""
    arguments: JsonObject


class HostToolCancel(Frame):
    """Notifies the host that a call was aborted; its result is no longer needed."""
    type: Literal["host_tool_cancel"]
    id: str
    """Id of this frame."""
    target_id: str
    """`id` of the `host_tool_call`."""


class HostToolUpdate(Frame):
    """Progress of a host tool. Gets no response."""
    type: Literal["host_tool_update"]
    id: str
    """`id` of the `host_tool_call`."""
    partial_result: AgentToolResult


class HostToolResult(Frame):
    """Result of a host tool. Gets no response."""
    type: Literal["host_tool_result"]
    id: str
    """`id` of the `host_tool_call`."""
    result: AgentToolResult
    is_error: bool | None = None
    """True: the call failed, and the text of the result gives the reason. Absent: it succeeded."""


class TodoPhase(Frame):
    """Group of todos."""
    id: str
    """Id of the phase."""
    name: str
    """Name of the phase."""
    tasks: list[TodoItem]
    """Todos of the phase, in order."""


class TodoItem(Frame):
    """Todo of the session."""
    id: str
    """Id of the todo."""
    content: str
    """Text of the todo."""
    status: TodoStatus
    notes: str | None = None
    """Further notes about the todo."""


class TodoPhaseInput(Frame):
    """Group of todos as the host sets it."""
    id: str | None = None
    """Id of the phase; absent: the server generates one."""
    name: str
    """Name of the phase."""
    tasks: list[TodoItemInput]
    """Todos of the phase, in order."""


class TodoItemInput(Frame):
    """Todo as the host sets it."""
    id: str | None = None
    """Id of the todo; absent: the server generates one."""
    content: str
    """Text of the todo."""
    status: TodoStatus | None = None
    notes: str | None = None
    """Further notes about the todo."""


class SessionHeader(Frame):
    """First line of a session file."""
    type: Literal["session"]
    version: Count
    id: str
    """Id of the session."""
    timestamp: str
    """Creation time of the session: ISO 8601 in UTC with milliseconds."""
    cwd: str
    """Working directory of the session."""
    parent_session: str | None = None
    """Path of the session file that this session was made from; not verified. Absent: none."""
    title: str | None = None
    """Name of the session; absent: none."""
    title_source: TitleSource | None = None


class MessageEntry(Frame):
    """Message of the conversation."""
    type: Literal["message"]
    id: str
    """Id of the entry, unique within the session file."""
    parent_id: str | None
    """Id of the entry before this one on its branch; null for an entry without one."""
    timestamp: str
    """Time at which the entry was written: ISO 8601 in UTC with milliseconds."""
    message: AgentMessage


class ModelChangeEntry(Frame):
    """Change of the model."""
    type: Literal["model_change"]
    id: str
    """Id of the entry, unique within the session file."""
    parent_id: str | None
    """Id of the entry before this one on its branch; null for an entry without one."""
    timestamp: str
    """Time at which the entry was written: ISO 8601 in UTC with milliseconds."""
    model: str
    """Id of the provider and id of the model, separated by a slash."""
    role: str | None = None
    """Role of the model; absent or `default`: to answer prompts."""


class ThinkingLevelChangeEntry(Frame):
    """Change of the thinking level."""
    type: Literal["thinking_level_change"]
    id: str
    """Id of the entry, unique within the session file."""
    parent_id: str | None
    """Id of the entry before this one on its branch; null for an entry without one."""
    timestamp: str
    """Time at which the entry was written: ISO 8601 in UTC with milliseconds."""
    thinking_level: str | None = None
    """New level; null: none is set."""


class CompactionEntry(Frame):
    """Compaction: a summary that replaces the older part of the conversation."""
    type: Literal["compaction"]
    id: str
    """Id of the entry, unique within the session file."""
    parent_id: str | None
    """Id of the entry before this one on its branch; null for an entry without one."""
    timestamp: str
    """Time at which the entry was written: ISO 8601 in UTC with milliseconds."""
    summary: str
    """Text of the summary."""
    short_summary: str | None = None
    """Short version of the summary, for display."""
    first_kept_entry_id: str
    """Id of the first entry before this one that stays in the context."""
    tokens_before: Count
    details: Any = None
    """Further data from the author of the summary; any JSON."""
    preserve_data: JsonObject | None = None
    from_extension: bool | None = None
    """Whether an extension made the summary."""


class BranchSummaryEntry(Frame):
    """Summary of a branch that was left."""
    type: Literal["branch_summary"]
    id: str
    """Id of the entry, unique within the session file."""
    parent_id: str | None
    """Id of the entry before this one on its branch; null for an entry without one."""
    timestamp: str
    """Time at which the entry was written: ISO 8601 in UTC with milliseconds."""
    from_id: str
    """Id of the entry at which the branch was left: in pi 1 its last one, elsewhere the one that the summary
    follows; `root` for none."""
    summary: str
    """Text of the summary."""
    details: Any = None
    """Further data from the author of the summary; any JSON."""
    from_extension: bool | None = None
    """Whether an extension made the summary."""


class CustomMessageEntry(Frame):
    """Message that an extension, or the server itself, added to the conversation."""
    type: Literal["custom_message"]
    custom_type: str
    """Kind of message, named by the extension."""
    content: MessageContent
    display: bool
    """Whether hosts should show the message to the user."""
    details: Any = None
    """Data of the extension, for hosts; not sent to the model."""
    attribution: Attribution | None = None
    id: str
    """Id of the entry, unique within the session file."""
    parent_id: str | None
    """Id of the entry before this one on its branch; null for an entry without one."""
    timestamp: str
    """Time at which the entry was written: ISO 8601 in UTC with milliseconds."""


class ContextChangeEntry(Frame):
    """Change of the context in which services are called."""
    type: Literal["context_change"]
    id: str
    """Id of the entry, unique within the session file."""
    parent_id: str | None
    """Id of the entry before this one on its branch; null for an entry without one."""
    timestamp: str
    """Time at which the entry was written: ISO 8601 in UTC with milliseconds."""
    context_name: str
    """Name of the context."""
    tenant: str
    """Name of the tenant."""
    namespace: str
    """Name of the namespace."""


class ServiceTierChangeEntry(Frame):
    """Change of the service tier of the provider."""
    type: Literal["service_tier_change"]
    id: str
    """Id of the entry, unique within the session file."""
    parent_id: str | None
    """Id of the entry before this one on its branch; null for an entry without one."""
    timestamp: str
    """Time at which the entry was written: ISO 8601 in UTC with milliseconds."""
    service_tier: str | None = None
    """New tier; null: the default one."""


class TtsrInjectionEntry(Frame):
    """Rules that were added to the context of the model."""
    type: Literal["ttsr_injection"]
    id: str
    """Id of the entry, unique within the session file."""
    parent_id: str | None
    """Id of the entry before this one on its branch; null for an entry without one."""
    timestamp: str
    """Time at which the entry was written: ISO 8601 in UTC with milliseconds."""
    injected_rules: list[str]
    """Names of the rules."""


class McpToolSelectionEntry(Frame):
    """Change of the tools of MCP servers that are offered to the model."""
    type: Literal["mcp_tool_selection"]
    id: str
    """Id of the entry, unique within the session file."""
    parent_id: str | None
    """Id of the entry before this one on its branch; null for an entry without one."""
    timestamp: str
    """Time at which the entry was written: ISO 8601 in UTC with milliseconds."""
    selected_tool_names: list[str]
    """Names of the offered tools."""


class SessionInitEntry(Frame):
    """Parameters with which another agent started this one."""
    type: Literal["session_init"]
    id: str
    """Id of the entry, unique within the session file."""
    parent_id: str | None
    """Id of the entry before this one on its branch; null for an entry without one."""
    timestamp: str
    """Time at which the entry was written: ISO 8601 in UTC with milliseconds."""
    system_prompt: str
    """System prompt."""
    task: str
    """Task."""
    tools: list[str]
    """Names of the tools."""
    output_schema: Any = None
    """JSON Schema of the expected result."""


class ModeChangeEntry(Frame):
    """Change of the mode of the agent."""
    type: Literal["mode_change"]
    id: str
    """Id of the entry, unique within the session file."""
    parent_id: str | None
    """Id of the entry before this one on its branch; null for an entry without one."""
    timestamp: str
    """Time at which the entry was written: ISO 8601 in UTC with milliseconds."""
    mode: str
    """New mode; `none`: the mode was left."""
    data: JsonObject | None = None


RpcCommand = TypeAliasType("RpcCommand", Annotated[PromptCommand | SteerCommand | FollowUpCommand | AbortCommand |
    AbortAndPromptCommand | NewSessionCommand | GetStateCommand | SetTodosCommand | SetHostToolsCommand |
    SetLocaleCommand | GetIntegrationsCommand | SetModelCommand | CycleModelCommand | GetAvailableModelsCommand |
    SetThinkingLevelCommand | CycleThinkingLevelCommand | SetSteeringModeCommand | SetFollowUpModeCommand |
    SetInterruptModeCommand | CompactCommand | SetAutoCompactionCommand | SetAutoRetryCommand | AbortRetryCommand |
    BashCommand | AbortBashCommand | GetSessionStatsCommand | ExportHtmlCommand | SwitchSessionCommand | BranchCommand |
    GetBranchMessagesCommand | GetLastAssistantTextCommand | SetSessionNameCommand | GetMessagesCommand,
    Field(discriminator="type")])
"""Command of the host. Each is answered by a response with the same `id`; unknown members are ignored."""

RpcExtensionUIResponse = TypeAliasType("RpcExtensionUIResponse", UIValueResponse | UIConfirmedResponse |
    UICancelledResponse)
"""Dialog response: the choice of the user. It gets no response itself. A response to a dialog that is not open is
ignored; one of the wrong kind counts as the default."""

Inbound = TypeAliasType("Inbound", Annotated[RpcCommand | RpcExtensionUIResponse | HostToolUpdate | HostToolResult,
    Field(discriminator="type")])
"""Frame that a host may write: one JSON object per line, ended by a line feed. In an optional member, at any depth,
`null` means the same as absent; a required member refuses it."""

RpcSuccess = TypeAliasType("RpcSuccess", Annotated[PromptResponse | SteerResponse | FollowUpResponse | AbortResponse |
    AbortAndPromptResponse | NewSessionResponse | GetStateResponse | SetTodosResponse | SetHostToolsResponse |
    SetLocaleResponse | GetIntegrationsResponse | SetModelResponse | CycleModelResponse | GetAvailableModelsResponse |
    SetThinkingLevelResponse | CycleThinkingLevelResponse | SetSteeringModeResponse | SetFollowUpModeResponse |
    SetInterruptModeResponse | CompactResponse | SetAutoCompactionResponse | SetAutoRetryResponse | AbortRetryResponse |
    BashResponse | AbortBashResponse | GetSessionStatsResponse | ExportHtmlResponse | SwitchSessionResponse |
    BranchResponse | GetBranchMessagesResponse | GetLastAssistantTextResponse | SetSessionNameResponse |
    GetMessagesResponse, Field(discriminator="command")])
"""Response to a command that succeeded. `command` tells the kinds apart; `data` is present only for commands with a
result."""

RpcResponse = TypeAliasType("RpcResponse", Annotated[RpcSuccess | RpcErrorResponse, Field(discriminator="success")])
"""Response to a command, or to a line that could not be read."""

AgentSessionEvent = TypeAliasType("AgentSessionEvent", Annotated[AgentStartEvent | AgentEndEvent | TurnStartEvent |
    TurnEndEvent | MessageStartEvent | MessageUpdateEvent | MessageEndEvent | ToolExecutionStartEvent |
    ToolExecutionUpdateEvent | ToolExecutionEndEvent | AutoCompactionStartEvent | AutoCompactionEndEvent |
    AutoRetryStartEvent | AutoRetryEndEvent | RetryFallbackAppliedEvent | RetryFallbackSucceededEvent |
    TtsrTriggeredEvent | TodoReminderEvent | TodoAutoClearEvent, Field(discriminator="type")])
"""Event of the session, reported as it happens. Events have no id."""

RpcExtensionUIRequest = TypeAliasType("RpcExtensionUIRequest", Annotated[SelectRequest | ConfirmRequest | InputRequest |
    EditorRequest | CancelRequest | NotifyRequest | SetStatusRequest | SetWidgetRequest | SetTitleRequest |
    SetEditorTextRequest, Field(discriminator="method")])
"""UI request of an extension: a dialog, which waits for a response, or a notice, which does not."""

Outbound = TypeAliasType("Outbound", Annotated[RpcResponse | AgentSessionEvent | RpcExtensionUIRequest | ExtensionError
    | ReadyFrame | HostToolCall | HostToolCancel, Field(discriminator="type")])
"""Frame that a server may write: one JSON object per line, ended by a line feed."""

InterruptMode = TypeAliasType("InterruptMode", Literal["immediate", "wait"])
"""Effect of a steering message on the tool calls of the open turn: `immediate` aborts the running ones and skips the
rest, `wait` lets all of them finish."""

IntegrationModelState = TypeAliasType("IntegrationModelState", Literal["no_provider", "connected", "auth_error"])
"""Whether the model provider can be used: none is configured, it responds, or it rejects the credentials."""

IntegrationServiceState = TypeAliasType("IntegrationServiceState", Literal["connected", "unauthenticated",
    "unavailable"])
"""Whether a service can be used: it responds, requires a login, or is unavailable."""

AssistantMessageEvent = TypeAliasType("AssistantMessageEvent", Annotated[StartUpdate | TextStartUpdate | TextDeltaUpdate
    | TextEndUpdate | ThinkingStartUpdate | ThinkingDeltaUpdate | ThinkingEndUpdate | ToolcallStartUpdate |
    ToolcallDeltaUpdate | ToolcallEndUpdate | DoneUpdate | ErrorUpdate, Field(discriminator="type")])
"""Step in the streaming of an assistant message."""

CompactionReason = TypeAliasType("CompactionReason", Literal["threshold", "overflow", "idle"])
"""Cause of a compaction: the host requested it (`manual`), the context passed the limit (`threshold`), the provider
refused the context as too long (`overflow`), the session was idle (`idle`), or the answer reached its limit
(`incomplete`)."""

CompactionAction = TypeAliasType("CompactionAction", Literal["context-full", "handoff"])
"""Kind of compaction: the history is summarised (`context-full`), handed over (`handoff`), summarised by the
provider (`remote`), shortened (`shake`) or drawn onto images (`snapcompact`)."""

TodoReminderStatus = TypeAliasType("TodoReminderStatus", Literal["pending", "in_progress"])
"""Status of an open todo."""

RuleInterruptMode = TypeAliasType("RuleInterruptMode", Literal["never", "prose-only", "tool-only", "always"])
"""Parts of the stream that a rule may interrupt: none, text only, tool calls only, all."""

AgentMessage = TypeAliasType("AgentMessage", Annotated[UserMessage | DeveloperMessage | AssistantMessage |
    ToolResultMessage | BashExecutionMessage | PythonExecutionMessage | CustomMessage | HookMessage |
    BranchSummaryMessage | CompactionSummaryMessage | FileMentionMessage, Field(discriminator="role")])
"""Message of the conversation. `role` tells the kinds apart."""

FileSkipReason = TypeAliasType("FileSkipReason", Literal["tooLarge"])
"""Reason for leaving out the text of a named file."""

AssistantContent = TypeAliasType("AssistantContent", Annotated[TextContent | ThinkingContent | RedactedThinkingContent |
    ToolCall, Field(discriminator="type")])
"""Content block of an assistant message."""

Attribution = TypeAliasType("Attribution", Literal["user", "agent"])
"""Originator of a message: the user or the agent."""

TruncationDirection = TypeAliasType("TruncationDirection", Literal["head", "tail"])
"""Part of a long output that was kept: its beginning, its end, or both (`middle` was left out)."""

TruncationUnit = TypeAliasType("TruncationUnit", Literal["lines", "bytes"])
"""Limit that a long output reached; `middle`: one of both, and the middle was left out."""

OutputSourceKind = TypeAliasType("OutputSourceKind", Literal["path", "url", "internal"])
"""Kind of source of an output."""

TodoStatus = TypeAliasType("TodoStatus", Literal["pending", "in_progress", "completed", "abandoned"])
"""Status of a todo."""

TitleSource = TypeAliasType("TitleSource", Literal["auto", "user"])
"""Author of the name of a session: a model (`auto`) or the user."""

SessionEntry = TypeAliasType("SessionEntry", Annotated[MessageEntry | ModelChangeEntry | ThinkingLevelChangeEntry |
    CompactionEntry | BranchSummaryEntry | CustomEntry | CustomMessageEntry | LabelEntry | ContextChangeEntry |
    ServiceTierChangeEntry | TtsrInjectionEntry | McpToolSelectionEntry | SessionInitEntry | ModeChangeEntry,
    Field(discriminator="type")])
"""Entry of a session file: any line after the header. Readers keep entries of unknown types, as other entries may
have them as parents."""

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
