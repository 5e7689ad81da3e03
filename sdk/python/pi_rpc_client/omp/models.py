"""Made by generate.py from `pi-rpc schema --dialect omp`; not to be changed by hand."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from ..frame import Frame
from ..pi.models import (
    AbortBashCommand, AbortBashResponse, AbortCommand, AbortResponse, AbortRetryCommand, AbortRetryResponse,
    AgentStartEvent, BashCommand, BranchSummaryMessage, CompactCommand, ConfirmRequest, Cost, Count, CustomEntry,
    CycleModelCommand, CycleThinkingLevelCommand, DoneReason, ErrorReason, ExportHtmlCommand, ExportHtmlResponse,
    ExportedFile, ExtensionError, FollowUpCommand, FollowUpResponse, ForkMessage, ForkMessages, ForkResult,
    GetAvailableModelsCommand, GetLastAssistantTextCommand, GetLastAssistantTextResponse, GetMessagesCommand,
    GetSessionStatsCommand, GetStateCommand, ImageContent, InputKind, InputRequest, JsonObject, LabelEntry,
    LastAssistantText, MessageContent, ModelPrice, NewSessionCommand, NewSessionResponse, NotifyRequest, NotifyType,
    PromptCommand, QueueMode, RequestId, SessionChange, SetAutoCompactionCommand, SetAutoCompactionResponse,
    SetAutoRetryCommand, SetAutoRetryResponse, SetEditorTextRequest, SetFollowUpModeCommand, SetFollowUpModeResponse,
    SetModelCommand, SetSessionNameCommand, SetSessionNameResponse, SetStatusRequest, SetSteeringModeCommand,
    SetSteeringModeResponse, SetThinkingLevelResponse, SetTitleRequest, SetWidgetRequest, SteerCommand, SteerResponse,
    StopReason, StreamingBehavior, StringMap, SwitchSessionCommand, SwitchSessionResponse, TextContent, Timestamp,
    TurnStartEvent, UIConfirmedResponse, UIValueResponse, UserContent, WidgetPlacement,
)
from ..pi_1.models import (
    ContextUsage, CycleThinkingLevelResponse, SetThinkingLevelCommand, ThinkingLevel, ThinkingLevelChange,
)
from ..xcsh.models import (
    AbortAndPromptCommand, AbortAndPromptResponse, AssistantContent, Attribution, BranchCommand, BranchResponse,
    BranchSummaryEntry, CancelRequest, CompactionEntry, ContextChangeEntry, CustomMessage, CustomMessageEntry,
    EditorRequest, FileMention, FileMentionMessage, FileSkipReason, GetBranchMessagesCommand, GetBranchMessagesResponse,
    HookMessage, HostToolCall, HostToolCancel, HostToolNames, InterruptMode, LineRange, McpToolSelectionEntry,
    ModeChangeEntry, ModelChangeEntry, OutputDiagnostics, OutputSource, OutputSourceKind, RedactedThinkingContent,
    RetryFallbackAppliedEvent, RetryFallbackSucceededEvent, RpcExtensionUIResponse, Rule, RuleInterruptMode,
    ServiceTierChangeEntry, SessionHeader, SessionInitEntry, SetHostToolsResponse, SetInterruptModeCommand,
    SetInterruptModeResponse, ThinkingContent, ThinkingLevelChangeEntry, TitleSource, TodoReminderStatus, TodoStatus,
    ToolCall, ToolExecutionStartEvent, TtsrInjectionEntry, TtsrTriggeredEvent, UICancelledResponse, Usage,
)


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


class RpcErrorResponse(Frame):
    """Response to a command that was refused or failed, or to a line that could not be read."""
    id: RequestId | None = None
    type: Literal["response"]
    command: str
    """`type` of the command, even an unknown one; `parse` for a line that could not be read as a command."""
    success: Literal[False]
    error: str
    """Error text, for people to read."""
    code: ErrorCode | None = None


class PromptResponse(Frame):
    """The prompt was accepted. Events report its run, which ends with `agent_end`, in pi 1 with `agent_settled`."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["prompt"]
    success: Literal[True]
    data: PromptOutcome | None = None


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
    fast_mode_enabled: bool
    """Whether the fast mode was switched on."""
    tokens_per_second: float | None
    """Speed of the last answer in tokens per second; null before the first, and if the last one failed, was aborted
    or took less than 100 ms."""
    fast_mode_active: bool
    """Whether the fast mode applies to the model."""
    system_prompt: list[str] | None = None
    """System prompt in use: its text, in omp a list of its parts."""
    dump_tools: list[DumpTool] | None = None
    """Tools that are offered to the model."""
    context_usage: ContextUsage


class DumpTool(Frame):
    """Tool as described to the model."""
    name: str
    """Name of the tool."""
    description: str
    """Description of the tool for the model."""
    parameters: JsonObject
    examples: Any = None
    """Examples of calls, in a form of the tool's own."""


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


class PromptOutcome(Frame):
    """Outcome of a prompt."""
    agent_invoked: bool | None = None
    """Whether a run follows, for a built-in slash command."""


class TodoList(Frame):
    """Todos of the session."""
    todo_phases: list[TodoPhase]
    """Phases, in order, with generated ids filled in."""


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
    working_dir: str | None = None
    """Working directory of the command; absent if it was cancelled."""
    total_lines: Count | None = None
    total_bytes: Count | None = None
    output_lines: Count | None = None
    output_bytes: Count | None = None
    elided_bytes: Count | None = None
    elided_lines: Count | None = None


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
    context_usage: ContextUsage | None = None


class TokenTotals(Frame):
    """Sums of tokens over all assistant messages."""
    input: Count
    output: Count
    reasoning: Count
    cache_read: Count
    cache_write: Count
    total: Count


class MessageList(Frame):
    """Messages of the conversation."""
    messages: list[AgentMessage]
    """Messages, oldest first."""


class AgentEndEvent(Frame):
    """The run has ended. In omp also retries, compactions and reminders that followed by themselves."""
    type: Literal["agent_end"]
    messages: list[AgentMessage]
    """Messages of this run, in order: prompts, assistant messages and tool results. Earlier history is not repeated."""
    is_terminal: bool
    """Whether nothing follows by itself; false: background work will open a further run."""
    message_count: Count | None = None


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


class AutoRetryStartEvent(Frame):
    """A run failed with a transient error and is retried after a wait."""
    type: Literal["auto_retry_start"]
    attempt: Count
    max_attempts: Count
    delay_ms: Annotated[float, Field(ge=0)]
    """Duration of the wait in milliseconds."""
    error_message: str
    """Error of the failed run."""
    error_id: Count | None = None


class AutoRetryEndEvent(Frame):
    """The retries have ended."""
    type: Literal["auto_retry_end"]
    success: bool
    """Whether an attempt succeeded."""
    attempt: Count
    final_error: str | None = None
    """Reason for giving up; absent on success."""
    retry_errors: list[JsonObject] | None = None
    """Failed answers that the retries replaced: the session entry of each, and a note."""


class ThinkingLevelChangedEvent(Frame):
    """The thinking level has changed, possibly because a newly selected model does not support the old one."""
    type: Literal["thinking_level_changed"]
    thinking_level: ThinkingLevel | None = None
    configured: ThinkingLevel | None = None
    resolved: ThinkingLevel | None = None


class TodoReminderEvent(Frame):
    """The run ended with open todos; the agent is reminded of them and continues."""
    type: Literal["todo_reminder"]
    todos: list[TodoReminderItem]
    """Open todos."""
    attempt: Count
    max_attempts: Count


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
    content: str
    """Text of the todo."""
    status: TodoReminderStatus


class ReadyFrame(Frame):
    """The server is ready. Sent once, as the first line."""
    type: Literal["ready"]
    protocol_version: Count
    supported_protocol_versions: list[Count]
    """Versions that `negotiate_protocol` can select, and the one in force."""
    max_frame_bytes: Count
    max_reassembled_frame_bytes: Count


class UserMessage(Frame):
    """Message of the user. The server always writes the array form: the text block first, then the images."""
    role: Literal["user"]
    content: MessageContent
    synthetic: bool | None = None
    """Whether the server generated the message on behalf of the user; absent: no."""
    steering: bool | None = None
    """Whether the message came as steering; absent: no."""
    attribution: Attribution | None = None
    provider_payload: JsonObject | None = None
    timestamp: Timestamp


class DeveloperMessage(Frame):
    """Instruction that the server adds by itself, such as a reminder of open todos or a request to continue."""
    role: Literal["developer"]
    content: MessageContent
    attribution: Attribution | None = None
    timestamp: Timestamp
    synthetic: bool | None = None
    """Whether the server generated the message; absent: no."""


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
    error_status: Count | None = None
    error_id: Count | None = None
    duration: Annotated[float, Field(ge=0)] | None = None
    """Duration of the request in milliseconds."""
    ttft: Annotated[float, Field(ge=0)] | None = None
    """Time to the first token in milliseconds."""
    completed_at: Timestamp | None = None
    context_snapshot: JsonObject | None = None
    retry_recovery: JsonObject | None = None


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


class CompactionSummaryMessage(Frame):
    """Summary of the conversation before the last compaction; the first message of the context after it."""
    role: Literal["compactionSummary"]
    summary: str
    """Text of the summary."""
    short_summary: str | None = None
    """Summary in one or two sentences, for display."""
    tokens_before: Count
    tokens_after: Count | None = None
    method: str | None = None
    """Way in which the history was compacted."""
    blocks: list[JsonObject] | None = None
    """Content blocks that stand for the history; opaque."""
    images: list[JsonObject] | None = None
    """Images that the history was drawn onto; opaque."""
    provider_payload: JsonObject | None = None
    timestamp: Timestamp


class AgentToolResult(Frame):
    """Result of a tool, complete or so far."""
    content: list[UserContent]
    """Content for the model; may be empty."""
    details: Any = None
    """Data for the host in addition to the content, in a shape of the tool's own; absent if there is none."""
    is_error: bool | None = None
    """True: the call failed although the tool returned a result. Absent: it succeeded."""


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
    is_oAuth: Annotated[bool | None, Field(alias="isOAuth")] = None
    """Whether requests are made with a login; absent: no."""
    identity: JsonObject | None = None
    requires_glyph_tokenization: bool | None = None
    """Whether texts on images need glyphs of their own."""
    headers: StringMap | None = None
    compat: JsonObject | None = None
    supports_computer_use: bool | None = None
    """Whether the model can operate a computer."""
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
    efforts: list[ThinkingLevel]
    """Levels that the model supports, besides `off`."""


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


class SelectRequest(Frame):
    """Opens a dialog in which the user chooses one of several options."""
    type: Literal["extension_ui_request"]
    id: str
    """Id of this request; a dialog response repeats it."""
    method: Literal["select"]
    title: str
    """Question to the user."""
    options: list[str]
    """Options, in order."""
    option_details: list[JsonObject] | None = None
    """Details of the options, in the same order, each with a `description` or none."""
    timeout: Count | None = None


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
    load_mode: ToolLoadMode | None = None
    reads_skill_uris: bool | None = None
    """Whether the tool reads addresses of skills; absent: no."""


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
    name: str
    """Name of the phase."""
    tasks: list[TodoItem]
    """Todos of the phase, in order."""


class TodoItem(Frame):
    """Todo of the session."""
    content: str
    """Text of the todo."""
    status: TodoStatus
    blocker: str | None = None
    """What keeps the todo from being done."""


class TodoPhaseInput(Frame):
    """Group of todos as the host sets it."""
    name: str
    """Name of the phase."""
    tasks: list[TodoItemInput]
    """Todos of the phase, in order."""


class TodoItemInput(Frame):
    """Todo as the host sets it."""
    content: str
    """Text of the todo."""
    status: TodoStatus | None = None
    blocker: str | None = None
    """What keeps the todo from being done."""


class LoginProvider(Frame):
    """A provider that can be logged in to, and its login."""
    id: str
    """Id of the provider."""
    name: str
    """Name for people."""
    available: bool
    """Whether a way to log in is known."""
    authenticated: bool
    """Whether a login is stored that is valid or can be renewed."""


class LoginProviderList(Frame):
    """The providers that can be logged in to."""
    providers: list[LoginProvider]
    """The providers, in the order of the list of logins."""


class LoginResult(Frame):
    """The provider that was logged in to."""
    provider_id: str
    """Id of the provider."""


class GetLoginProvidersCommand(Frame):
    """Lists the providers that can be logged in to, each with the state of its login."""
    id: RequestId | None = None
    type: Literal["get_login_providers"]


class LoginCommand(Frame):
    """Logs in at a provider. `open_url` names the page for the user; the response comes at the end of the login. One
    login is open at a time."""
    id: RequestId | None = None
    type: Literal["login"]
    provider_id: str
    """Id of the provider."""


class GetLoginProvidersResponse(Frame):
    """The providers that can be logged in to."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["get_login_providers"]
    success: Literal[True]
    data: LoginProviderList


class LoginResponse(Frame):
    """The login is stored. A dialog that it opened is closed."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["login"]
    success: Literal[True]
    data: LoginResult


class OpenUrlRequest(Frame):
    """Shows the user a page to open in a browser, for a login."""
    type: Literal["extension_ui_request"]
    id: str
    """Id of this request."""
    method: Literal["open_url"]
    url: str
    """Address of the page."""
    launch_url: str | None = None
    """Address to open instead of `url`; absent: `url`."""
    instructions: str | None = None
    """What the user is to do there; absent: to follow the page."""


class NegotiateProtocolCommand(Frame):
    """Selects a version of the protocol, from the next frame on. There is no way back to version 1."""
    id: RequestId | None = None
    type: Literal["negotiate_protocol"]
    protocol_version: Count


class NegotiateProtocolResponse(Frame):
    """The version is in force from the next frame on."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["negotiate_protocol"]
    success: Literal[True]
    data: NegotiatedProtocol


class NegotiatedProtocol(Frame):
    """Selected version of the protocol."""
    protocol_version: Count


class RpcChunk(Frame):
    """Piece of a frame that is larger than `maxFrameBytes`; in version 2 of the protocol only. The chunks of a frame
    follow each other without another frame between them."""
    type: Literal["rpc_chunk"]
    chunk_id: str
    """Id of the whole frame."""
    index: Count
    count: Count
    byte_length: Count
    data: str
    """Bytes of the piece in base64."""


class RpcFrameError(Frame):
    """Stands for a frame that is too large even for chunks."""
    type: Literal["rpc_frame_error"]
    original_type: str | None = None
    """`type` of that frame; absent if it had none."""
    error: str
    """Error text."""


class HandoffCommand(Frame):
    """Replaces the conversation by a summary that a model writes for a successor. Refused while a run is open.
    `pi-rpc serve` does not do it and answers that it is not implemented."""
    id: RequestId | None = None
    type: Literal["handoff"]
    custom_instructions: str | None = None
    """Instructions for the summary; absent: none."""


class HandoffResponse(Frame):
    """The conversation was replaced."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["handoff"]
    success: Literal[True]
    data: HandoffResult | None = None
    """Result of the command; null if there was none."""


class HandoffResult(Frame):
    """Result of a handoff."""
    saved_path: str | None = None
    """File with the summary; absent: none was written."""


class GetMessagesPageCommand(Frame):
    """Lists a part of the messages of the conversation, as `get_messages` lists all. Refused while a run or a
    compaction is under way."""
    id: RequestId | None = None
    type: Literal["get_messages_page"]
    cursor: str | None = None
    """`nextCursor` of the page before; absent: the first page."""
    limit: Count | None = None


class GetMessagesPageResponse(Frame):
    """A page of the messages."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["get_messages_page"]
    success: Literal[True]
    data: MessagePage


class MessagePage(Frame):
    """Part of the messages of the conversation."""
    messages: list[AgentMessage]
    """Messages, oldest first; at least one, unless there is none."""
    next_cursor: str | None = None
    """Cursor of the next page; absent on the last one."""
    total_messages: Count


class GetAvailableCommandsCommand(Frame):
    """Lists the slash commands."""
    id: RequestId | None = None
    type: Literal["get_available_commands"]


class GetAvailableCommandsResponse(Frame):
    """The slash commands."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["get_available_commands"]
    success: Literal[True]
    data: AvailableCommandList


class AvailableCommandList(Frame):
    """Slash commands."""
    commands: list[AvailableCommand]
    """Commands."""


class AvailableCommand(Frame):
    """Slash command: a word that a prompt can begin with after `/`."""
    name: str
    """Name without the `/`."""
    aliases: list[str] | None = None
    """Further names; absent: none."""
    description: str | None = None
    """Description for people."""
    input: CommandInput | None = None
    subcommands: list[Subcommand] | None = None
    """First words of the arguments; absent: any."""
    source: AvailableCommandSource


class CommandInput(Frame):
    """Arguments of a slash command."""
    hint: str | None = None
    """Form of the arguments, for people."""


class Subcommand(Frame):
    """First word of the arguments of a slash command."""
    name: str
    """The word."""
    description: str | None = None
    """Description for people."""
    usage: str | None = None
    """Form of what follows the word."""


class SetHostUriSchemesCommand(Frame):
    """Replaces the set of schemes of addresses that the host reads and writes. `pi-rpc serve` does not do it and
    answers that it is not implemented."""
    id: RequestId | None = None
    type: Literal["set_host_uri_schemes"]
    schemes: list[HostUriScheme]
    """Complete new set. Empty: none."""


class SetHostUriSchemesResponse(Frame):
    """The schemes were replaced."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["set_host_uri_schemes"]
    success: Literal[True]
    data: HostUriSchemeNames


class HostUriScheme(Frame):
    """Scheme of addresses that the host reads and writes."""
    scheme: str
    """Name before `://`."""
    description: str | None = None
    """Description for the model."""
    writable: bool | None = None
    """Whether the host also writes; absent: no."""
    immutable: bool | None = None
    """Whether the contents never change; absent: they may."""


class HostUriSchemeNames(Frame):
    """Registered schemes."""
    schemes: list[str]
    """Names in lower case, in the order of the command."""


class HostUriRequest(Frame):
    """Requests the host to read or write an address of one of its schemes."""
    type: Literal["host_uri_request"]
    id: str
    """Id of this request; the result repeats it."""
    operation: HostUriOperation
    url: str
    """Address."""
    content: str | None = None
    """New content; absent for `read`."""


class HostUriCancel(Frame):
    """Notifies the host that a request for an address was aborted."""
    type: Literal["host_uri_cancel"]
    id: str
    """Id of this frame."""
    target_id: str
    """`id` of the `host_uri_request`."""


class HostUriResult(Frame):
    """Result of a request for an address. Gets no response."""
    type: Literal["host_uri_result"]
    id: str
    """`id` of the `host_uri_request`."""
    content: str | None = None
    """Content; absent for `write`."""
    content_type: str | None = None
    """Media type of the content; absent: plain text."""
    notes: list[str] | None = None
    """Notes for the model; absent: none."""
    immutable: bool | None = None
    """Whether the content never changes; absent: it may."""
    is_error: bool | None = None
    """True: the request failed. Absent: it succeeded."""
    error: str | None = None
    """Reason of a failure."""


class SetSubagentSubscriptionCommand(Frame):
    """Selects the events about subagents that the host gets. At the start it gets none."""
    id: RequestId | None = None
    type: Literal["set_subagent_subscription"]
    level: SubagentSubscription


class SetSubagentSubscriptionResponse(Frame):
    """The subscription is in force."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["set_subagent_subscription"]
    success: Literal[True]
    data: SubagentSubscriptionLevel


class SubagentSubscriptionLevel(Frame):
    """Events about subagents that the host gets."""
    level: SubagentSubscription


class GetSubagentsCommand(Frame):
    """Lists the running subagents."""
    id: RequestId | None = None
    type: Literal["get_subagents"]


class GetSubagentsResponse(Frame):
    """The running subagents."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["get_subagents"]
    success: Literal[True]
    data: SubagentList


class SubagentList(Frame):
    """Running subagents."""
    subagents: list[Subagent]
    """Subagents, by index."""


class Subagent(Frame):
    """Subagent: a session of its own that a tool call has started."""
    id: str
    """Id of the subagent."""
    index: Count
    agent: str
    """Name of its definition."""
    agent_source: str
    """Place of its definition."""
    description: str | None = None
    """Description for people."""
    status: SubagentStatus
    task: str | None = None
    """Task as the model gave it."""
    assignment: str | None = None
    """Task with its context."""
    session_file: str | None = None
    """Absolute path of its session file."""
    last_update: Timestamp
    parent_tool_call_id: str | None = None
    """Id of the tool call that started it."""
    progress: JsonObject | None = None


class GetSubagentMessagesCommand(Frame):
    """Reads what the session file of a subagent holds from a byte on. `pi-rpc serve` does not do it and answers that
    it is not implemented."""
    id: RequestId | None = None
    type: Literal["get_subagent_messages"]
    subagent_id: str | None = None
    """Id of the subagent; absent: `sessionFile` names it."""
    session_file: str | None = None
    """Session file of the subagent; absent: `subagentId` names it."""
    from_byte: Count | None = None


class GetSubagentMessagesResponse(Frame):
    """A part of the session file."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["get_subagent_messages"]
    success: Literal[True]
    data: SubagentMessages


class SubagentMessages(Frame):
    """Part of the session file of a subagent."""
    session_file: str
    """Absolute path of the file."""
    from_byte: Count
    next_byte: Count
    reset: bool
    """Whether the file was read from its beginning, because it is shorter than `fromByte`."""
    entries: list[JsonObject]
    """Entries of the file, in order."""
    messages: list[AgentMessage]
    """Messages among them."""


class SetFastModeCommand(Frame):
    """Switches the fast mode on or off: requests with a priority that costs more. Refused for a model without it."""
    id: RequestId | None = None
    type: Literal["set_fast_mode"]
    enabled: bool
    """Whether to switch it on."""


class SetFastModeResponse(Frame):
    """The fast mode is set."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["set_fast_mode"]
    success: Literal[True]
    data: FastMode


class FastMode(Frame):
    """State of the fast mode."""
    enabled: bool
    """Whether it was switched on."""
    active: bool
    """Whether it applies to the model."""


class ModelChangedEvent(Frame):
    """Another model was selected; the response follows."""
    type: Literal["model_changed"]


class NoticeEvent(Frame):
    """Notice of a part of the server, for people."""
    type: Literal["notice"]
    level: NoticeLevel
    message: str
    """Text."""
    source: str | None = None
    """Part of the server."""


class PromptResultEvent(Frame):
    """A prompt is over: one that an extension has handled without a run, from 18.3 on each that was accepted."""
    type: Literal["prompt_result"]
    id: RequestId | None = None
    agent_invoked: bool
    """Whether a run followed; always false in 18.2."""


class CommandOutputEvent(Frame):
    """Output of a built-in slash command."""
    type: Literal["command_output"]
    text: str
    """Output."""


class AvailableCommandsUpdateEvent(Frame):
    """The slash commands: at the start, and before the response to a change of the session."""
    type: Literal["available_commands_update"]
    commands: list[AvailableCommand]
    """Commands."""


class SessionInfoUpdateEvent(Frame):
    """A slash command has renamed the session."""
    type: Literal["session_info_update"]
    title: str
    """New name."""
    session_id: str
    """Id of the session."""


class ConfigUpdateEvent(Frame):
    """A slash command has changed the model or the thinking level."""
    type: Literal["config_update"]
    model: Model | None = None
    thinking_level: ThinkingLevel | None = None


class AdvisorCostChangedEvent(Frame):
    """The cost of the advisor has changed."""
    type: Literal["advisor_cost_changed"]


class AdvisorYieldedEvent(Frame):
    """The advisor has finished."""
    type: Literal["advisor_yielded"]


class ConfigWarningsChangedEvent(Frame):
    """The warnings about the configuration have changed."""
    type: Literal["config_warnings_changed"]


class IrcMessageEvent(Frame):
    """Message between agents."""
    type: Literal["irc_message"]
    message: Any = None
    """Message; opaque."""


class GoalUpdatedEvent(Frame):
    """The goal of the session has changed."""
    type: Literal["goal_updated"]
    goal: Any = None
    """Goal; opaque."""
    state: Any = None
    """Progress; opaque."""


class SubagentLifecycleEvent(Frame):
    """A subagent has started or ended."""
    type: Literal["subagent_lifecycle"]
    payload: JsonObject


class SubagentProgressEvent(Frame):
    """A subagent has made progress."""
    type: Literal["subagent_progress"]
    payload: JsonObject


class SubagentEventEvent(Frame):
    """Event of the session of a subagent."""
    type: Literal["subagent_event"]
    payload: JsonObject


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


RpcCommand = TypeAliasType("RpcCommand", Annotated[PromptCommand | SteerCommand | FollowUpCommand | AbortCommand |
    AbortAndPromptCommand | NewSessionCommand | GetStateCommand | SetTodosCommand | SetHostToolsCommand |
    SetModelCommand | CycleModelCommand | GetAvailableModelsCommand | SetThinkingLevelCommand |
    CycleThinkingLevelCommand | SetSteeringModeCommand | SetFollowUpModeCommand | SetInterruptModeCommand |
    CompactCommand | SetAutoCompactionCommand | SetAutoRetryCommand | AbortRetryCommand | BashCommand | AbortBashCommand
    | GetSessionStatsCommand | ExportHtmlCommand | SwitchSessionCommand | BranchCommand | GetBranchMessagesCommand |
    GetLastAssistantTextCommand | SetSessionNameCommand | GetMessagesCommand | GetLoginProvidersCommand | LoginCommand |
    NegotiateProtocolCommand | HandoffCommand | GetMessagesPageCommand | GetAvailableCommandsCommand |
    SetHostUriSchemesCommand | SetSubagentSubscriptionCommand | GetSubagentsCommand | GetSubagentMessagesCommand |
    SetFastModeCommand, Field(discriminator="type")])
"""Command of the host. Each is answered by a response with the same `id`; unknown members are ignored."""

Inbound = TypeAliasType("Inbound", Annotated[RpcCommand | RpcExtensionUIResponse | HostToolUpdate | HostToolResult |
    HostUriResult, Field(discriminator="type")])
"""Frame that a host may write: one JSON object per line, ended by a line feed. In an optional member, at any depth,
`null` means the same as absent; a required member refuses it."""

RpcSuccess = TypeAliasType("RpcSuccess", Annotated[PromptResponse | SteerResponse | FollowUpResponse | AbortResponse |
    AbortAndPromptResponse | NewSessionResponse | GetStateResponse | SetTodosResponse | SetHostToolsResponse |
    SetModelResponse | CycleModelResponse | GetAvailableModelsResponse | SetThinkingLevelResponse |
    CycleThinkingLevelResponse | SetSteeringModeResponse | SetFollowUpModeResponse | SetInterruptModeResponse |
    CompactResponse | SetAutoCompactionResponse | SetAutoRetryResponse | AbortRetryResponse | BashResponse |
    AbortBashResponse | GetSessionStatsResponse | ExportHtmlResponse | SwitchSessionResponse | BranchResponse |
    GetBranchMessagesResponse | GetLastAssistantTextResponse | SetSessionNameResponse | GetMessagesResponse |
    GetLoginProvidersResponse | LoginResponse | NegotiateProtocolResponse | HandoffResponse | GetMessagesPageResponse |
    GetAvailableCommandsResponse | SetHostUriSchemesResponse | SetSubagentSubscriptionResponse | GetSubagentsResponse |
    GetSubagentMessagesResponse | SetFastModeResponse, Field(discriminator="command")])
"""Response to a command that succeeded. `command` tells the kinds apart; `data` is present only for commands with a
result."""

RpcResponse = TypeAliasType("RpcResponse", Annotated[RpcSuccess | RpcErrorResponse, Field(discriminator="success")])
"""Response to a command, or to a line that could not be read."""

AgentSessionEvent = TypeAliasType("AgentSessionEvent", Annotated[AgentStartEvent | AgentEndEvent | TurnStartEvent |
    TurnEndEvent | MessageStartEvent | MessageUpdateEvent | MessageEndEvent | ToolExecutionStartEvent |
    ToolExecutionUpdateEvent | ToolExecutionEndEvent | AutoCompactionStartEvent | AutoCompactionEndEvent |
    AutoRetryStartEvent | AutoRetryEndEvent | ThinkingLevelChangedEvent | RetryFallbackAppliedEvent |
    RetryFallbackSucceededEvent | TtsrTriggeredEvent | TodoReminderEvent | ModelChangedEvent | NoticeEvent |
    PromptResultEvent | CommandOutputEvent | AvailableCommandsUpdateEvent | SessionInfoUpdateEvent | ConfigUpdateEvent |
    AdvisorCostChangedEvent | AdvisorYieldedEvent | ConfigWarningsChangedEvent | IrcMessageEvent | GoalUpdatedEvent |
    SubagentLifecycleEvent | SubagentProgressEvent | SubagentEventEvent, Field(discriminator="type")])
"""Event of the session, reported as it happens. Events have no id."""

RpcExtensionUIRequest = TypeAliasType("RpcExtensionUIRequest", Annotated[SelectRequest | ConfirmRequest | InputRequest |
    EditorRequest | CancelRequest | NotifyRequest | SetStatusRequest | SetWidgetRequest | SetTitleRequest |
    SetEditorTextRequest | OpenUrlRequest, Field(discriminator="method")])
"""UI request of an extension: a dialog, which waits for a response, or a notice, which does not."""

Outbound = TypeAliasType("Outbound", Annotated[RpcResponse | AgentSessionEvent | RpcExtensionUIRequest | ExtensionError
    | ReadyFrame | HostToolCall | HostToolCancel | HostUriRequest | HostUriCancel | RpcChunk | RpcFrameError,
    Field(discriminator="type")])
"""Frame that a server may write: one JSON object per line, ended by a line feed."""

AssistantMessageEvent = TypeAliasType("AssistantMessageEvent", Annotated[StartUpdate | TextStartUpdate | TextDeltaUpdate
    | TextEndUpdate | ThinkingStartUpdate | ThinkingDeltaUpdate | ThinkingEndUpdate | ToolcallStartUpdate |
    ToolcallDeltaUpdate | ToolcallEndUpdate | DoneUpdate | ErrorUpdate, Field(discriminator="type")])
"""Step in the streaming of an assistant message."""

CompactionReason = TypeAliasType("CompactionReason", Literal["threshold", "overflow", "idle", "incomplete"])
"""Cause of a compaction: the host requested it (`manual`), the context passed the limit (`threshold`), the provider
refused the context as too long (`overflow`), the session was idle (`idle`), or the answer reached its limit
(`incomplete`)."""

CompactionAction = TypeAliasType("CompactionAction", Literal["context-full", "handoff", "remote", "shake",
    "snapcompact"])
"""Kind of compaction: the history is summarised (`context-full`), handed over (`handoff`), summarised by the
provider (`remote`), shortened (`shake`) or drawn onto images (`snapcompact`)."""

AgentMessage = TypeAliasType("AgentMessage", Annotated[UserMessage | DeveloperMessage | AssistantMessage |
    ToolResultMessage | BashExecutionMessage | PythonExecutionMessage | CustomMessage | HookMessage |
    BranchSummaryMessage | CompactionSummaryMessage | FileMentionMessage, Field(discriminator="role")])
"""Message of the conversation. `role` tells the kinds apart."""

TruncationDirection = TypeAliasType("TruncationDirection", Literal["head", "tail", "middle"])
"""Part of a long output that was kept: its beginning, its end, or both (`middle` was left out)."""

TruncationUnit = TypeAliasType("TruncationUnit", Literal["lines", "bytes", "middle"])
"""Limit that a long output reached; `middle`: one of both, and the middle was left out."""

ErrorCode = TypeAliasType("ErrorCode", Literal["session_busy", "stale_cursor"])
"""Reason of an error, for programs: the conversation is changing (`session_busy`), has changed since the cursor was
given (`stale_cursor`), or has no entry with the id (`unknown_since`)."""

ToolLoadMode = TypeAliasType("ToolLoadMode", Literal["essential", "discoverable"])
"""When the model gets to know a host tool: from the start, or by a search."""

AvailableCommandSource = TypeAliasType("AvailableCommandSource", Literal["builtin", "skill", "extension", "custom",
    "mcp_prompt", "file"])
"""Kind of slash command."""

HostUriOperation = TypeAliasType("HostUriOperation", Literal["read", "write"])
"""Operation on an address of the host."""

SubagentSubscription = TypeAliasType("SubagentSubscription", Literal["off", "progress", "events"])
"""Events about subagents that the host gets: none, progress, or also the events of their sessions."""

SubagentStatus = TypeAliasType("SubagentStatus", Literal["pending", "running", "completed", "failed", "aborted"])
"""State of a subagent."""

NoticeLevel = TypeAliasType("NoticeLevel", Literal["info", "warning", "error"])
"""Severity of a notice."""

SessionEntry = TypeAliasType("SessionEntry", Annotated[MessageEntry | ModelChangeEntry | ThinkingLevelChangeEntry |
    CompactionEntry | BranchSummaryEntry | CustomEntry | CustomMessageEntry | LabelEntry | ContextChangeEntry |
    ServiceTierChangeEntry | TtsrInjectionEntry | McpToolSelectionEntry | SessionInitEntry | ModeChangeEntry,
    Field(discriminator="type")])
"""Entry of a session file: any line after the header. Readers keep entries of unknown types, as other entries may
have them as parents."""

__all__ = [
    "AbortAndPromptCommand", "AbortAndPromptResponse", "AbortBashCommand", "AbortBashResponse", "AbortCommand",
    "AbortResponse", "AbortRetryCommand", "AbortRetryResponse", "AdvisorCostChangedEvent", "AdvisorYieldedEvent",
    "AgentEndEvent", "AgentMessage", "AgentSessionEvent", "AgentStartEvent", "AgentToolResult", "AssistantContent",
    "AssistantMessage", "AssistantMessageEvent", "Attribution", "AutoCompactionEndEvent", "AutoCompactionStartEvent",
    "AutoRetryEndEvent", "AutoRetryStartEvent", "AvailableCommand", "AvailableCommandList", "AvailableCommandSource",
    "AvailableCommandsUpdateEvent", "BashCommand", "BashExecutionMessage", "BashResponse", "BashResult",
    "BranchCommand", "BranchResponse", "BranchSummaryEntry", "BranchSummaryMessage", "CancelRequest", "CommandInput",
    "CommandOutputEvent", "CompactCommand", "CompactResponse", "CompactionAction", "CompactionEntry",
    "CompactionReason", "CompactionResult", "CompactionSummaryMessage", "ConfigUpdateEvent",
    "ConfigWarningsChangedEvent", "ConfirmRequest", "ContextChangeEntry", "ContextUsage", "Cost", "Count",
    "CustomEntry", "CustomMessage", "CustomMessageEntry", "CycleModelCommand", "CycleModelResponse",
    "CycleThinkingLevelCommand", "CycleThinkingLevelResponse", "DeveloperMessage", "DoneReason", "DoneUpdate",
    "DumpTool", "EditorRequest", "ErrorCode", "ErrorReason", "ErrorUpdate", "ExportHtmlCommand", "ExportHtmlResponse",
    "ExportedFile", "ExtensionError", "FastMode", "FileMention", "FileMentionMessage", "FileSkipReason",
    "FollowUpCommand", "FollowUpResponse", "ForkMessage", "ForkMessages", "ForkResult", "GetAvailableCommandsCommand",
    "GetAvailableCommandsResponse", "GetAvailableModelsCommand", "GetAvailableModelsResponse",
    "GetBranchMessagesCommand", "GetBranchMessagesResponse", "GetLastAssistantTextCommand",
    "GetLastAssistantTextResponse", "GetLoginProvidersCommand", "GetLoginProvidersResponse", "GetMessagesCommand",
    "GetMessagesPageCommand", "GetMessagesPageResponse", "GetMessagesResponse", "GetSessionStatsCommand",
    "GetSessionStatsResponse", "GetStateCommand", "GetStateResponse", "GetSubagentMessagesCommand",
    "GetSubagentMessagesResponse", "GetSubagentsCommand", "GetSubagentsResponse", "GoalUpdatedEvent", "HandoffCommand",
    "HandoffResponse", "HandoffResult", "HookMessage", "HostToolCall", "HostToolCancel", "HostToolDefinition",
    "HostToolNames", "HostToolResult", "HostToolUpdate", "HostUriCancel", "HostUriOperation", "HostUriRequest",
    "HostUriResult", "HostUriScheme", "HostUriSchemeNames", "ImageContent", "Inbound", "InputKind", "InputRequest",
    "InterruptMode", "IrcMessageEvent", "JsonObject", "LabelEntry", "LastAssistantText", "LineRange", "LoginCommand",
    "LoginProvider", "LoginProviderList", "LoginResponse", "LoginResult", "McpToolSelectionEntry", "MessageContent",
    "MessageEndEvent", "MessageEntry", "MessageList", "MessagePage", "MessageStartEvent", "MessageUpdateEvent",
    "ModeChangeEntry", "Model", "ModelChangeEntry", "ModelChangedEvent", "ModelCycle", "ModelList", "ModelPrice",
    "ModelThinking", "NegotiateProtocolCommand", "NegotiateProtocolResponse", "NegotiatedProtocol", "NewSessionCommand",
    "NewSessionResponse", "NoticeEvent", "NoticeLevel", "NotifyRequest", "NotifyType", "OpenUrlRequest", "Outbound",
    "OutputDiagnostics", "OutputMeta", "OutputSource", "OutputSourceKind", "OutputTruncation", "PromptCommand",
    "PromptOutcome", "PromptResponse", "PromptResultEvent", "PythonExecutionMessage", "QueueMode", "ReadyFrame",
    "RedactedThinkingContent", "RequestId", "RetryFallbackAppliedEvent", "RetryFallbackSucceededEvent", "RpcChunk",
    "RpcCommand", "RpcErrorResponse", "RpcExtensionUIRequest", "RpcExtensionUIResponse", "RpcFrameError", "RpcResponse",
    "RpcSuccess", "Rule", "RuleInterruptMode", "SelectRequest", "ServiceTierChangeEntry", "SessionChange",
    "SessionEntry", "SessionHeader", "SessionInfoUpdateEvent", "SessionInitEntry", "SessionState", "SessionStats",
    "SetAutoCompactionCommand", "SetAutoCompactionResponse", "SetAutoRetryCommand", "SetAutoRetryResponse",
    "SetEditorTextRequest", "SetFastModeCommand", "SetFastModeResponse", "SetFollowUpModeCommand",
    "SetFollowUpModeResponse", "SetHostToolsCommand", "SetHostToolsResponse", "SetHostUriSchemesCommand",
    "SetHostUriSchemesResponse", "SetInterruptModeCommand", "SetInterruptModeResponse", "SetModelCommand",
    "SetModelResponse", "SetSessionNameCommand", "SetSessionNameResponse", "SetStatusRequest", "SetSteeringModeCommand",
    "SetSteeringModeResponse", "SetSubagentSubscriptionCommand", "SetSubagentSubscriptionResponse",
    "SetThinkingLevelCommand", "SetThinkingLevelResponse", "SetTitleRequest", "SetTodosCommand", "SetTodosResponse",
    "SetWidgetRequest", "StartUpdate", "SteerCommand", "SteerResponse", "StopReason", "StreamingBehavior", "StringMap",
    "Subagent", "SubagentEventEvent", "SubagentLifecycleEvent", "SubagentList", "SubagentMessages",
    "SubagentProgressEvent", "SubagentStatus", "SubagentSubscription", "SubagentSubscriptionLevel", "Subcommand",
    "SwitchSessionCommand", "SwitchSessionResponse", "TextContent", "TextDeltaUpdate", "TextEndUpdate",
    "TextStartUpdate", "ThinkingContent", "ThinkingDeltaUpdate", "ThinkingEndUpdate", "ThinkingLevel",
    "ThinkingLevelChange", "ThinkingLevelChangeEntry", "ThinkingLevelChangedEvent", "ThinkingStartUpdate", "Timestamp",
    "TitleSource", "TodoItem", "TodoItemInput", "TodoList", "TodoPhase", "TodoPhaseInput", "TodoReminderEvent",
    "TodoReminderItem", "TodoReminderStatus", "TodoStatus", "TokenTotals", "ToolCall", "ToolExecutionEndEvent",
    "ToolExecutionStartEvent", "ToolExecutionUpdateEvent", "ToolLoadMode", "ToolResultMessage", "ToolcallDeltaUpdate",
    "ToolcallEndUpdate", "ToolcallStartUpdate", "TruncationDirection", "TruncationUnit", "TtsrInjectionEntry",
    "TtsrTriggeredEvent", "TurnEndEvent", "TurnStartEvent", "UICancelledResponse", "UIConfirmedResponse",
    "UIValueResponse", "Usage", "UserContent", "UserMessage", "WidgetPlacement",
]
