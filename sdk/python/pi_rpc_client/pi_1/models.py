"""Made by generate.py from `pi-rpc schema --dialect pi-1`; not to be changed by hand."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from ..frame import Frame
from ..pi.models import (
    AbortBashCommand, AbortBashResponse, AbortCommand, AbortResponse, AbortRetryCommand, AbortRetryResponse,
    AgentStartEvent, AutoRetryEndEvent, AutoRetryStartEvent, BashExecutionMessage, BashResponse, BashResult,
    CommandSource, CompactCommand, CompactionSummaryMessage, ConfirmRequest, Count, CustomEntry, CustomMessage,
    CustomMessageEntry, CycleModelCommand, CycleThinkingLevelCommand, EditorRequest, ErrorReason, ExportHtmlCommand,
    ExportHtmlResponse, ExportedFile, ExtensionError, FollowUpCommand, ForkCommand, ForkMessage, ForkMessages,
    GetAvailableModelsCommand, GetCommandsCommand, GetForkMessagesCommand, GetForkMessagesResponse,
    GetLastAssistantTextCommand, GetLastAssistantTextResponse, GetMessagesCommand, GetSessionStatsCommand,
    GetStateCommand, ImageContent, InputKind, InputRequest, JsonObject, LabelEntry, LastAssistantText, MessageContent,
    ModelChangeEntry, NewSessionCommand, NewSessionResponse, NotifyRequest, NotifyType, PromptCommand, QueueMode,
    RequestId, RpcErrorResponse, RpcExtensionUIRequest, RpcExtensionUIResponse, SelectRequest, SessionChange,
    SessionHeader, SessionInfoEntry, SetAutoCompactionCommand, SetAutoCompactionResponse, SetAutoRetryCommand,
    SetAutoRetryResponse, SetEditorTextRequest, SetFollowUpModeCommand, SetFollowUpModeResponse, SetModelCommand,
    SetSessionNameCommand, SetSessionNameResponse, SetStatusRequest, SetSteeringModeCommand, SetSteeringModeResponse,
    SetThinkingLevelResponse, SetTitleRequest, SetWidgetRequest, SteerCommand, StreamingBehavior, StringMap,
    SwitchSessionCommand, SwitchSessionResponse, TextContent, ThinkingContent, ThinkingLevelChangeEntry, Timestamp,
    TokenTotals, TurnStartEvent, UICancelledResponse, UIConfirmedResponse, UIValueResponse, UserContent, UserMessage,
    WidgetPlacement,
)


class ClearQueueCommand(Frame):
    """Removes all messages from the steering and follow-up queues and returns their texts."""
    id: RequestId | None = None
    type: Literal["clear_queue"]


class SetThinkingLevelCommand(Frame):
    """Sets the thinking level. A level that the model does not support is replaced by the nearest one that it does."""
    id: RequestId | None = None
    type: Literal["set_thinking_level"]
    level: ThinkingLevel


class GetAvailableThinkingLevelsCommand(Frame):
    """Lists the thinking levels that the model supports."""
    id: RequestId | None = None
    type: Literal["get_available_thinking_levels"]


class BashCommand(Frame):
    """Runs a shell command in the working directory, independently of any run, and adds its output to the
    conversation. The response follows when the command has ended; only pi 1 reports output before that."""
    id: RequestId | None = None
    type: Literal["bash"]
    command: str
    """Command line, passed to the shell unchanged."""
    exclude_from_context: bool | None = None
    """Whether the command and its output are hidden from the model; absent: no."""


class CloneCommand(Frame):
    """Starts a new session with a copy of the active branch. An extension may veto this."""
    id: RequestId | None = None
    type: Literal["clone"]


class GetEntriesCommand(Frame):
    """Lists the entries of the session, on all branches, in the order in which they were written, without the
    header."""
    id: RequestId | None = None
    type: Literal["get_entries"]
    since: str | None = None
    """Id of an entry: lists only the entries after it. An unknown id is refused. Absent: all entries."""


class GetTreeCommand(Frame):
    """Returns the entries of the session as a tree."""
    id: RequestId | None = None
    type: Literal["get_tree"]


class PromptResponse(Frame):
    """The prompt was accepted. Events report its run, which ends with `agent_end`, in pi 1 with `agent_settled`."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["prompt"]
    success: Literal[True]
    data: PromptOutcome


class SteerResponse(Frame):
    """The message is in the steering queue."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["steer"]
    success: Literal[True]
    data: QueueOutcome


class FollowUpResponse(Frame):
    """The message is in the follow-up queue."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["follow_up"]
    success: Literal[True]
    data: QueueOutcome


class ClearQueueResponse(Frame):
    """The queues are empty."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["clear_queue"]
    success: Literal[True]
    data: ClearedQueue


class GetStateResponse(Frame):
    """The state of the session."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["get_state"]
    success: Literal[True]
    data: SessionState


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


class CycleThinkingLevelResponse(Frame):
    """The next level was selected, or the model does not support thinking."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["cycle_thinking_level"]
    success: Literal[True]
    data: ThinkingLevelChange | None
    """Level in effect; null if the model does not support thinking."""


class GetAvailableThinkingLevelsResponse(Frame):
    """The thinking levels that the model supports."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["get_available_thinking_levels"]
    success: Literal[True]
    data: ThinkingLevelList


class CompactResponse(Frame):
    """The conversation was compacted."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["compact"]
    success: Literal[True]
    data: CompactionResult


class GetSessionStatsResponse(Frame):
    """The statistics of the session."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["get_session_stats"]
    success: Literal[True]
    data: SessionStats


class ForkResponse(Frame):
    """The new session is open, or an extension vetoed it."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["fork"]
    success: Literal[True]
    data: ForkResult


class CloneResponse(Frame):
    """The copy is open, or an extension vetoed it."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["clone"]
    success: Literal[True]
    data: SessionChange


class GetEntriesResponse(Frame):
    """The entries of the session."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["get_entries"]
    success: Literal[True]
    data: EntryList


class GetTreeResponse(Frame):
    """The entries of the session as a tree."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["get_tree"]
    success: Literal[True]
    data: EntryTree


class GetMessagesResponse(Frame):
    """The messages of the conversation."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["get_messages"]
    success: Literal[True]
    data: MessageList


class GetCommandsResponse(Frame):
    """The slash commands."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["get_commands"]
    success: Literal[True]
    data: CommandList


class SessionState(Frame):
    """State of the session at one moment."""
    model: Model | None = None
    """Selected model; absent or null if there is none."""
    thinking_level: ThinkingLevel
    is_streaming: bool
    """Whether a run is open. In pi false during the wait before a retry and during an automatic compaction; in xcsh
    and omp true until all that an accepted prompt started has ended; in pi 1 true until `agent_settled`."""
    is_compacting: bool
    """Whether a compaction is under way, requested or automatic."""
    steering_mode: QueueMode
    follow_up_mode: QueueMode
    session_file: str | None = None
    """Absolute path of the session file, which may not exist yet; absent if the session is held in memory only."""
    session_id: str
    """Id of the session; its form depends on the dialect."""
    session_name: str | None = None
    """Name set by `set_session_name`; absent if none is set."""
    auto_compaction_enabled: bool
    """Whether a nearly full context is compacted automatically."""
    message_count: Count
    pending_message_count: Count


class ModelCycle(Frame):
    """Result of selecting the next model."""
    model: Model
    thinking_level: ThinkingLevel
    is_scoped: bool
    """Whether the models to cycle through were limited at the start or in the settings."""


class ThinkingLevelChange(Frame):
    """Result of selecting the next thinking level."""
    level: ThinkingLevel


class ModelList(Frame):
    """Models that can be selected."""
    models: list[Model]
    """Models, in the order of `cycle_model`."""


class ClearedQueue(Frame):
    """Messages that were removed from the queues."""
    steering: list[str]
    """Texts of the steering messages, in order."""
    follow_up: list[str]
    """Texts of the follow-up messages, in order."""


class PromptOutcome(Frame):
    """Outcome of a prompt."""
    disposition: PromptDisposition


class QueueOutcome(Frame):
    """Outcome of a message for a queue."""
    disposition: QueueDisposition


class ThinkingLevelList(Frame):
    """Thinking levels that can be selected."""
    levels: list[ThinkingLevel]
    """Levels, lowest first; only `off` for a model that does not support thinking."""


class EntryList(Frame):
    """Entries of the session."""
    entries: list[SessionEntry]
    """Entries, in the order in which they were written."""
    leaf_id: str | None
    """Id of the entry that the conversation continues from; null for an empty session."""


class EntryTree(Frame):
    """Entries of the session as a tree."""
    tree: list[EntryNode]
    """Entries without a parent; usually one."""
    leaf_id: str | None
    """Id of the entry that the conversation continues from; null for an empty session."""


class EntryNode(Frame):
    """Entry of the session with the entries that follow it."""
    entry: SessionEntry
    children: list[EntryNode]
    """Entries that follow directly, oldest first; several where branches part."""
    label: str | None = None
    """Label of the entry; absent if it has none."""
    label_timestamp: str | None = None
    """Time at which the label was set: ISO 8601 in UTC with milliseconds."""


class CompactionResult(Frame):
    """Result of a compaction."""
    summary: str
    """Summary that replaces the older part of the conversation, with the lists of files that were read or modified."""
    first_kept_entry_id: str
    """Id of the first session entry that stays in the context unchanged."""
    tokens_before: Count
    estimated_tokens_after: Count | None = None
    usage: Usage | None = None
    details: Any = None
    """Further data from the author of the summary: an object with the sorted lists of paths `readFiles` and
    `modifiedFiles`, or any JSON if an extension supplied it."""


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
    context_usage: ContextUsage | None = None


class ContextUsage(Frame):
    """Fill level of the context."""
    tokens: Count | None
    """Estimated number of tokens in the context; null from a compaction until the next assistant message."""
    context_window: Count
    percent: float | None
    """Used part of the context window in percent, not rounded; null if `tokens` is null."""


class ForkResult(Frame):
    """Outcome of a fork."""
    text: str | None = None
    """Text of the user message, for the host to offer again. In pi 1 absent if the fork was cancelled."""
    cancelled: bool
    """Whether an extension vetoed the fork; nothing has changed then."""


class MessageList(Frame):
    """Messages of the conversation."""
    messages: list[AgentMessage]
    """Messages, oldest first."""


class CommandList(Frame):
    """Slash commands."""
    commands: list[SlashCommand]
    """Commands of extensions first, then prompt templates, then skills."""


class SlashCommand(Frame):
    """Slash command: a word that a prompt can begin with after `/`."""
    name: str
    """Name without the `/`; that of a skill begins with `skill:`."""
    description: str | None = None
    """Description for people."""
    source: CommandSource
    source_info: SourceInfo


class SourceInfo(Frame):
    """Source of a slash command or an extension."""
    path: str
    """Absolute path of the defining file; for something built in, `builtin:` and a name."""
    source: str
    """Way in which the file was found: `auto`, `local`, `cli`, `builtin`, or the name of its package."""
    scope: SourceScope
    origin: SourceOrigin
    base_dir: str | None = None
    """Directory that relative paths in the file refer to."""
    changelog_path: str | None = None
    """Path of the change log of the package."""


class AgentEndEvent(Frame):
    """The run has ended. In omp also retries, compactions and reminders that followed by themselves."""
    type: Literal["agent_end"]
    messages: list[AgentMessage]
    """Messages of this run, in order: prompts, assistant messages and tool results. Earlier history is not repeated."""
    will_retry: bool
    """Whether the run failed with a transient error and is retried after a wait."""


class AgentSettledEvent(Frame):
    """Everything that a prompt started has ended: no retry, compaction or queued message follows by itself."""
    type: Literal["agent_settled"]
    aborted: bool
    """Whether the work was aborted."""


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
    usage: Usage
    assistant_message_event: AssistantMessageEvent


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
    parent_tool_call_id: str | None = None
    """Id of the call whose tool made this nested call; the id of the nested call is that id, a slash and a number.
    Absent: the model made the call."""


class ToolExecutionUpdateEvent(Frame):
    """Progress of a running tool call."""
    type: Literal["tool_execution_update"]
    tool_call_id: str
    """Id of the tool call."""
    tool_name: str
    """Name of the tool."""
    args: JsonObject
    partial_result: AgentToolResult
    parent_tool_call_id: str | None = None
    """Id of the call whose tool made this nested call; the id of the nested call is that id, a slash and a number.
    Absent: the model made the call."""


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
    duration_ms: Count | None = None
    parent_tool_call_id: str | None = None
    """Id of the call whose tool made this nested call; the id of the nested call is that id, a slash and a number.
    Absent: the model made the call."""


class QueueUpdateEvent(Frame):
    """The queues have changed: a message was queued, delivered or removed."""
    type: Literal["queue_update"]
    steering: list[str]
    """Texts of the waiting steering messages, in order."""
    follow_up: list[str]
    """Texts of the waiting follow-up messages, in order."""


class CompactionStartEvent(Frame):
    """A compaction begins, on request or automatically."""
    type: Literal["compaction_start"]
    reason: CompactionReason


class CompactionEndEvent(Frame):
    """The compaction has ended, with or without success."""
    type: Literal["compaction_end"]
    reason: CompactionReason
    result: CompactionResult | None = None
    aborted: bool
    """Whether the compaction was cancelled."""
    will_retry: bool
    """Whether the request that did not fit is now sent again."""
    error_message: str | None = None
    """Reason of a failure; absent otherwise."""


class SummarizationRetryScheduledEvent(Frame):
    """A request for a summary failed with a transient error and is retried after a wait."""
    type: Literal["summarization_retry_scheduled"]
    attempt: Count
    max_attempts: Count
    delay_ms: Count
    error_message: str
    """Error of the failed request."""


class SummarizationRetryAttemptStartEvent(Frame):
    """A request for a summary is sent again."""
    type: Literal["summarization_retry_attempt_start"]
    source: SummarizationSource
    reason: CompactionReason | None = None


class SummarizationRetryFinishedEvent(Frame):
    """The retries of a request for a summary have ended, with or without success."""
    type: Literal["summarization_retry_finished"]


class BashExecutionUpdateEvent(Frame):
    """Output of a running bash command of the host."""
    type: Literal["bash_execution_update"]
    id: RequestId | None = None
    delta: str
    """Delta: the output since the last update."""


class EntryAppendedEvent(Frame):
    """An entry was appended to the session that no other event reports."""
    type: Literal["entry_appended"]
    entry: SessionEntry


class SessionInfoChangedEvent(Frame):
    """The name of the session has changed."""
    type: Literal["session_info_changed"]
    name: str | None = None
    """New name; absent if it was removed."""


class ThinkingLevelChangedEvent(Frame):
    """The thinking level has changed, possibly because a newly selected model does not support the old one."""
    type: Literal["thinking_level_changed"]
    level: ThinkingLevel


class StartUpdate(Frame):
    """The assistant message begins. Servers do not send this; `message_start` reports it."""
    type: Literal["start"]


class TextStartUpdate(Frame):
    """A text block begins."""
    type: Literal["text_start"]
    content_index: Count


class TextDeltaUpdate(Frame):
    """Text was added to a text block."""
    type: Literal["text_delta"]
    content_index: Count
    delta: str
    """Delta: the text that was added to the block."""


class TextEndUpdate(Frame):
    """A text block is complete."""
    type: Literal["text_end"]
    content_index: Count
    content: str
    """Complete text of the block."""


class ThinkingStartUpdate(Frame):
    """A thinking block begins."""
    type: Literal["thinking_start"]
    content_index: Count


class ThinkingDeltaUpdate(Frame):
    """Text was added to a thinking block."""
    type: Literal["thinking_delta"]
    content_index: Count
    delta: str
    """Delta: the text that was added to the block."""


class ThinkingEndUpdate(Frame):
    """A thinking block is complete."""
    type: Literal["thinking_end"]
    content_index: Count
    content: str
    """Complete text of the block."""


class ToolcallStartUpdate(Frame):
    """A tool call begins."""
    type: Literal["toolcall_start"]
    content_index: Count
    id: str
    """Id of the tool call."""
    tool_name: str
    """Name of the tool."""


class ToolcallDeltaUpdate(Frame):
    """Text was added to the arguments of a tool call."""
    type: Literal["toolcall_delta"]
    content_index: Count
    delta: str
    """Delta: a piece of the arguments as JSON text; may be empty."""


class ToolcallEndUpdate(Frame):
    """A tool call is complete."""
    type: Literal["toolcall_end"]
    content_index: Count
    tool_call: ToolCall


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


class SystemMessage(Frame):
    """Instructions to the model about itself, its tools and its environment. The first one opens the first run of a
    session and is complete; later ones contain only changes."""
    role: Literal["system"]
    content: SystemContent
    sections: SystemSections | None = None
    timestamp: Timestamp
    tools_added: list[SystemTool] | None = None
    """Tools that become available to the model with this message."""
    tools_removed: list[ToolName] | None = None
    """Tools that are no longer available to the model."""


class SystemTool(Frame):
    """Tool as described to the model."""
    name: str
    """Name of the tool."""
    description: str
    """Description of the tool for the model."""
    parameters: JsonObject
    constrained_sampling: Any = None
    """Constraint of the output to the schema, for the provider: an object, or false for none."""


class ToolName(Frame):
    """Reference to a tool by its name."""
    name: str
    """Name of the tool."""


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
    response_model: str | None = None
    """Model that answered according to the provider; absent if it is the requested one."""
    raw_stop_reason: str | None = None
    """Stop reason as the provider named it; absent if the request failed or was aborted."""
    provider_thinking_level: str | None = None
    """Requested thinking level as the provider names it."""
    diagnostics: list[Diagnostic] | None = None
    """Diagnostics of the provider adapter."""
    deferred: DeferredAnswer | None = None
    end_turn: bool | None = None
    """Whether the model itself declared the turn finished."""
    error_message: str | None = None
    """Error text; present exactly if `stopReason` is `error` or `aborted`."""
    duration_ms: Count | None = None
    thinking_level: ThinkingLevel | None = None


class Diagnostic(Frame):
    """Observation of a provider adapter during a request."""
    type: str
    """Kind of observation; from pi 1.6 on also `openai_input_transformations`, whose details list the reasoning that
    a request left out."""
    timestamp: Timestamp
    error: JsonObject | None = None
    details: JsonObject | None = None


class DeferredAnswer(Frame):
    """Reference to an answer that the provider gives later."""
    provider: str
    """Id of the provider."""
    model_id: str
    """Id of the requested model."""
    api: str
    """Vendor API of the request."""
    id: str
    """Id that the provider gave the answer."""
    expires_at: Timestamp | None = None
    poll_after_ms: Count | None = None
    data: Any = None
    """Data with which the provider adapter fetches the answer; opaque."""


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
    usage: Usage | None = None
    is_error: bool
    """Whether the call failed."""
    duration_ms: Count | None = None
    timestamp: Timestamp
    nested_calls: NestedCalls | None = None


class NestedCalls(Frame):
    """Calls that a tool made to other tools."""
    calls: list[NestedCall]
    """Calls, in order."""
    complete: bool
    """Whether no call was left out and all have finished."""


class NestedCall(Frame):
    """Call that a tool made to another tool."""
    id: str
    """Id of the call: that of the outer call, a slash and a number."""
    name: str
    """Name of the called tool."""
    status: NestedCallStatus
    arguments: JsonObject | None = None
    arguments_bytes: Count | None = None
    duration_ms: Count | None = None
    error: str | None = None
    """Error text."""


class BranchSummaryMessage(Frame):
    """Summary of a branch of the session that was left."""
    role: Literal["branchSummary"]
    summary: str
    """Text of the summary."""
    from_id: str | None = None
    """Id of the entry at which the branch was left: in pi 1 its last one, elsewhere the one that the summary
    follows; `root` for none."""
    timestamp: Timestamp


class ToolCall(Frame):
    """Tool call of the model."""
    type: Literal["toolCall"]
    id: str
    """Id of the call, referred to by results and tool events."""
    name: str
    """Name of the tool."""
    arguments: JsonObject
    arguments_error: str | None = None
    """Why the arguments are no complete JSON object, with the place, and below it their text; the call does not run,
    and `arguments` is empty. Absent: they are one."""
    thought_signature: str | None = None
    """Signature to send back to the provider with the call; opaque."""
    namespace: str | None = None
    """Group of tools to which the provider assigns the tool."""


class AgentToolResult(Frame):
    """Result of a tool, complete or so far."""
    content: list[UserContent]
    """Content for the model; may be empty."""
    details: Any = None
    """Data for the host in addition to the content, in a shape of the tool's own; absent if there is none."""
    structured_content: Any = None
    """Result as data for programs, in a shape of the tool's own."""
    is_error: bool | None = None
    """True: the call failed although the tool returned a result. Absent: it succeeded."""
    usage: Usage | None = None
    terminate: bool | None = None
    """Whether the model needs no further request for the results of this turn; counts if every result of the turn
    has it. Absent: no."""


class Usage(Frame):
    """Tokens and cost of one request to a model."""
    input: Count
    output: Count
    cache_read: Count
    cache_write: Count
    cache_write1h: Annotated[Count | None, Field(alias="cacheWrite1h")] = None
    reasoning: Count | None = None
    total_tokens: Count
    cost: Cost


class Cost(Frame):
    """Cost of one request, in US dollars."""
    input: float
    """Cost of the input tokens."""
    output: float
    """Cost of the output tokens."""
    cache_read: float
    """Cost of the tokens read from a cache."""
    cache_write: float
    """Cost of the tokens written to a cache."""
    total: float
    """Total cost."""
    total_from_provider: bool | None = None
    """True: the provider reported the total; false: it was computed from prices. Absent while the total is zero."""


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
    thinking_level_map: LevelMap | None = None
    input: list[InputKind]
    """Kinds of input that the model accepts."""
    input_limits: JsonObject | None = None
    cost: ModelPrice
    prompt_cache: PromptCache | None = None
    context_window: Count
    max_tokens: Count
    sampling_params: JsonObject | None = None
    sampling_params_by_thinking_level: JsonObject | None = None
    headers: StringMap | None = None
    compat: JsonObject | None = None


class ModelPrice(Frame):
    """Prices of a model, in US dollars per million tokens."""
    input: float
    """Price of input tokens."""
    output: float
    """Price of output tokens."""
    cache_read: float
    """Price of tokens read from a cache."""
    cache_write: float
    """Price of tokens written to a cache."""
    tiers: list[PriceTier] | None = None
    """Prices for large requests; absent: the same prices for all."""


class PriceTier(Frame):
    """Prices of a model from a number of input tokens on, in US dollars per million tokens."""
    input: float
    """Price of input tokens."""
    output: float
    """Price of output tokens."""
    cache_read: float
    """Price of tokens read from a cache."""
    cache_write: float
    """Price of tokens written to a cache."""
    input_tokens_above: Count


class PromptCache(Frame):
    """Lifetime of the prompt cache of a provider."""
    short: float | None = None
    """Default lifetime in seconds."""
    long: float | None = None
    """Longest lifetime in seconds."""


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
    first_kept_entry_id: str
    """Id of the first entry before this one that stays in the context."""
    tokens_before: Count
    details: Any = None
    """Further data from the author of the summary; any JSON."""
    usage: Usage | None = None
    from_hook: bool | None = None
    """Whether an extension made the summary."""
    system_message: SystemMessage | None = None


class BranchSummaryEntry(Frame):
    """Summary of a branch that was left."""
    type: Literal["branch_summary"]
    id: str
    """Id of the entry, unique within the session file."""
    parent_id: str | None
    """Id of the entry before this one on its branch; null for an entry without one."""
    timestamp: str
    """Time at which the entry was written: ISO 8601 in UTC with milliseconds."""
    from_id: str | None = None
    """Id of the entry at which the branch was left: in pi 1 its last one, elsewhere the one that the summary
    follows; `root` for none."""
    summary: str
    """Text of the summary."""
    details: Any = None
    """Further data from the author of the summary; any JSON."""
    usage: Usage | None = None
    from_hook: bool | None = None
    """Whether an extension made the summary."""


class ContextEditEntry(Frame):
    """Replacement of an earlier entry in the context of the model, or its removal."""
    type: Literal["context_edit"]
    id: str
    """Id of the entry, unique within the session file."""
    parent_id: str | None
    """Id of the entry before this one on its branch; null for an entry without one."""
    timestamp: str
    """Time at which the entry was written: ISO 8601 in UTC with milliseconds."""
    target_id: str
    """Id of the replaced entry."""
    replacement: ContextReplacement | None
    """Replacement; null: the entry is removed from the context."""


class ContextReplacement(Frame):
    """Replacement of an entry in the context of the model."""
    content: ReplacedContent


class UsageEntry(Frame):
    """Request to a model that led to no message."""
    type: Literal["usage"]
    id: str
    """Id of the entry, unique within the session file."""
    parent_id: str | None
    """Id of the entry before this one on its branch; null for an entry without one."""
    timestamp: str
    """Time at which the entry was written: ISO 8601 in UTC with milliseconds."""
    kind: str
    """Purpose of the request."""
    provider: str
    """Id of the provider."""
    model: str
    """Id of the model."""
    usage: Usage
    note: str | None = None
    """Further note."""


RpcCommand = TypeAliasType("RpcCommand", Annotated[PromptCommand | SteerCommand | FollowUpCommand | AbortCommand |
    ClearQueueCommand | NewSessionCommand | GetStateCommand | SetModelCommand | CycleModelCommand |
    GetAvailableModelsCommand | SetThinkingLevelCommand | CycleThinkingLevelCommand | GetAvailableThinkingLevelsCommand
    | SetSteeringModeCommand | SetFollowUpModeCommand | CompactCommand | SetAutoCompactionCommand | SetAutoRetryCommand
    | AbortRetryCommand | BashCommand | AbortBashCommand | GetSessionStatsCommand | ExportHtmlCommand |
    SwitchSessionCommand | ForkCommand | CloneCommand | GetForkMessagesCommand | GetEntriesCommand | GetTreeCommand |
    GetLastAssistantTextCommand | SetSessionNameCommand | GetMessagesCommand | GetCommandsCommand,
    Field(discriminator="type")])
"""Command of the host. Each is answered by a response with the same `id`; unknown members are ignored."""

Inbound = TypeAliasType("Inbound", Annotated[RpcCommand | RpcExtensionUIResponse, Field(discriminator="type")])
"""Frame that a host may write: one JSON object per line, ended by a line feed. In an optional member, at any depth,
`null` means the same as absent; a required member refuses it."""

RpcSuccess = TypeAliasType("RpcSuccess", Annotated[PromptResponse | SteerResponse | FollowUpResponse | AbortResponse |
    ClearQueueResponse | NewSessionResponse | GetStateResponse | SetModelResponse | CycleModelResponse |
    GetAvailableModelsResponse | SetThinkingLevelResponse | CycleThinkingLevelResponse |
    GetAvailableThinkingLevelsResponse | SetSteeringModeResponse | SetFollowUpModeResponse | CompactResponse |
    SetAutoCompactionResponse | SetAutoRetryResponse | AbortRetryResponse | BashResponse | AbortBashResponse |
    GetSessionStatsResponse | ExportHtmlResponse | SwitchSessionResponse | ForkResponse | CloneResponse |
    GetForkMessagesResponse | GetEntriesResponse | GetTreeResponse | GetLastAssistantTextResponse |
    SetSessionNameResponse | GetMessagesResponse | GetCommandsResponse, Field(discriminator="command")])
"""Response to a command that succeeded. `command` tells the kinds apart; `data` is present only for commands with a
result."""

RpcResponse = TypeAliasType("RpcResponse", Annotated[RpcSuccess | RpcErrorResponse, Field(discriminator="success")])
"""Response to a command, or to a line that could not be read."""

AgentSessionEvent = TypeAliasType("AgentSessionEvent", Annotated[AgentStartEvent | AgentEndEvent | AgentSettledEvent |
    TurnStartEvent | TurnEndEvent | MessageStartEvent | MessageUpdateEvent | MessageEndEvent | ToolExecutionStartEvent |
    ToolExecutionUpdateEvent | ToolExecutionEndEvent | QueueUpdateEvent | CompactionStartEvent | CompactionEndEvent |
    AutoRetryStartEvent | AutoRetryEndEvent | SummarizationRetryScheduledEvent | SummarizationRetryAttemptStartEvent |
    SummarizationRetryFinishedEvent | BashExecutionUpdateEvent | EntryAppendedEvent | SessionInfoChangedEvent |
    ThinkingLevelChangedEvent, Field(discriminator="type")])
"""Event of the session, reported as it happens. Events have no id."""

Outbound = TypeAliasType("Outbound", Annotated[RpcResponse | AgentSessionEvent | RpcExtensionUIRequest | ExtensionError,
    Field(discriminator="type")])
"""Frame that a server may write: one JSON object per line, ended by a line feed."""

PromptDisposition = TypeAliasType("PromptDisposition", Literal["started", "queued", "handled"])
"""Outcome of a prompt: a run follows (`started`), the message waits behind the open run (`queued`), or an extension
handled it and no run follows (`handled`)."""

QueueDisposition = TypeAliasType("QueueDisposition", Literal["queued", "handled"])
"""Outcome of a message for a queue: it waits there (`queued`), or an extension handled it (`handled`)."""

SourceScope = TypeAliasType("SourceScope", Literal["user", "project", "temporary"])
"""Scope of a definition: the user, the project, or this process."""

SourceOrigin = TypeAliasType("SourceOrigin", Literal["top-level", "package"])
"""Whether a file stands alone or belongs to a package."""

AssistantMessageEvent = TypeAliasType("AssistantMessageEvent", Annotated[StartUpdate | TextStartUpdate | TextDeltaUpdate
    | TextEndUpdate | ThinkingStartUpdate | ThinkingDeltaUpdate | ThinkingEndUpdate | ToolcallStartUpdate |
    ToolcallDeltaUpdate | ToolcallEndUpdate | DoneUpdate | ErrorUpdate, Field(discriminator="type")])
"""Step in the streaming of an assistant message."""

CompactionReason = TypeAliasType("CompactionReason", Literal["manual", "threshold", "overflow"])
"""Cause of a compaction: the host requested it (`manual`), the context passed the limit (`threshold`), the provider
refused the context as too long (`overflow`), the session was idle (`idle`), or the answer reached its limit
(`incomplete`)."""

SummarizationSource = TypeAliasType("SummarizationSource", Literal["compaction", "branchSummary"])
"""Purpose of a summary: a compaction, or a branch of the session that is left."""

DoneReason = TypeAliasType("DoneReason", Literal["stop", "length", "toolUse", "deferred"])
"""Stop reason of an assistant message that did not fail."""

AgentMessage = TypeAliasType("AgentMessage", Annotated[UserMessage | SystemMessage | AssistantMessage |
    ToolResultMessage | BashExecutionMessage | CustomMessage | BranchSummaryMessage | CompactionSummaryMessage,
    Field(discriminator="role")])
"""Message of the conversation. `role` tells the kinds apart."""

SystemContent = TypeAliasType("SystemContent", str | list[TextContent])
"""Content of a system message: plain text, or a list of text blocks."""

SystemSections = TypeAliasType("SystemSections", dict[str, str | None])
"""Text by section."""

NestedCallStatus = TypeAliasType("NestedCallStatus", Literal["ok", "error", "unfinished"])
"""Outcome of a nested call: success, failure, or not finished."""

AssistantContent = TypeAliasType("AssistantContent", Annotated[TextContent | ThinkingContent | ToolCall,
    Field(discriminator="type")])
"""Content block of an assistant message."""

MessageBlock = TypeAliasType("MessageBlock", Annotated[TextContent | ThinkingContent | ToolCall | ImageContent,
    Field(discriminator="type")])
"""Content block of any message."""

StopReason = TypeAliasType("StopReason", Literal["stop", "length", "toolUse", "error", "aborted", "pending",
    "deferred"])
"""Reason why an assistant message ended: the model was done (`stop`), reached the token limit (`length`), calls
tools (`toolUse`), failed (`error`) or was aborted (`aborted`). Only in pi 1: the message is not complete yet
(`pending`), or the provider gives the answer later (`deferred`)."""

LevelMap = TypeAliasType("LevelMap", dict[str, str | None])
"""Name that the provider uses for each thinking level; null: the model does not support the level."""

ThinkingLevel = TypeAliasType("ThinkingLevel", Literal["off", "minimal", "low", "medium", "high", "xhigh", "max"])
"""Amount of thinking before an answer, in rising order from `off`."""

SessionEntry = TypeAliasType("SessionEntry", Annotated[MessageEntry | ModelChangeEntry | ThinkingLevelChangeEntry |
    CompactionEntry | BranchSummaryEntry | ContextEditEntry | UsageEntry | CustomEntry | CustomMessageEntry | LabelEntry
    | SessionInfoEntry, Field(discriminator="type")])
"""Entry of a session file: any line after the header. Readers keep entries of unknown types, as other entries may
have them as parents."""

ReplacedContent = TypeAliasType("ReplacedContent", str | list[MessageBlock])
"""Content that replaces that of an entry: plain text, or content blocks of the same kinds as in the message of the
entry."""

__all__ = [
    "AbortBashCommand", "AbortBashResponse", "AbortCommand", "AbortResponse", "AbortRetryCommand", "AbortRetryResponse",
    "AgentEndEvent", "AgentMessage", "AgentSessionEvent", "AgentSettledEvent", "AgentStartEvent", "AgentToolResult",
    "AssistantContent", "AssistantMessage", "AssistantMessageEvent", "AutoRetryEndEvent", "AutoRetryStartEvent",
    "BashCommand", "BashExecutionMessage", "BashExecutionUpdateEvent", "BashResponse", "BashResult",
    "BranchSummaryEntry", "BranchSummaryMessage", "ClearQueueCommand", "ClearQueueResponse", "ClearedQueue",
    "CloneCommand", "CloneResponse", "CommandList", "CommandSource", "CompactCommand", "CompactResponse",
    "CompactionEndEvent", "CompactionEntry", "CompactionReason", "CompactionResult", "CompactionStartEvent",
    "CompactionSummaryMessage", "ConfirmRequest", "ContextEditEntry", "ContextReplacement", "ContextUsage", "Cost",
    "Count", "CustomEntry", "CustomMessage", "CustomMessageEntry", "CycleModelCommand", "CycleModelResponse",
    "CycleThinkingLevelCommand", "CycleThinkingLevelResponse", "DeferredAnswer", "Diagnostic", "DoneReason",
    "DoneUpdate", "EditorRequest", "EntryAppendedEvent", "EntryList", "EntryNode", "EntryTree", "ErrorReason",
    "ErrorUpdate", "ExportHtmlCommand", "ExportHtmlResponse", "ExportedFile", "ExtensionError", "FollowUpCommand",
    "FollowUpResponse", "ForkCommand", "ForkMessage", "ForkMessages", "ForkResponse", "ForkResult",
    "GetAvailableModelsCommand", "GetAvailableModelsResponse", "GetAvailableThinkingLevelsCommand",
    "GetAvailableThinkingLevelsResponse", "GetCommandsCommand", "GetCommandsResponse", "GetEntriesCommand",
    "GetEntriesResponse", "GetForkMessagesCommand", "GetForkMessagesResponse", "GetLastAssistantTextCommand",
    "GetLastAssistantTextResponse", "GetMessagesCommand", "GetMessagesResponse", "GetSessionStatsCommand",
    "GetSessionStatsResponse", "GetStateCommand", "GetStateResponse", "GetTreeCommand", "GetTreeResponse",
    "ImageContent", "Inbound", "InputKind", "InputRequest", "JsonObject", "LabelEntry", "LastAssistantText", "LevelMap",
    "MessageBlock", "MessageContent", "MessageEndEvent", "MessageEntry", "MessageList", "MessageStartEvent",
    "MessageUpdateEvent", "Model", "ModelChangeEntry", "ModelCycle", "ModelList", "ModelPrice", "NestedCall",
    "NestedCallStatus", "NestedCalls", "NewSessionCommand", "NewSessionResponse", "NotifyRequest", "NotifyType",
    "Outbound", "PriceTier", "PromptCache", "PromptCommand", "PromptDisposition", "PromptOutcome", "PromptResponse",
    "QueueDisposition", "QueueMode", "QueueOutcome", "QueueUpdateEvent", "ReplacedContent", "RequestId", "RpcCommand",
    "RpcErrorResponse", "RpcExtensionUIRequest", "RpcExtensionUIResponse", "RpcResponse", "RpcSuccess", "SelectRequest",
    "SessionChange", "SessionEntry", "SessionHeader", "SessionInfoChangedEvent", "SessionInfoEntry", "SessionState",
    "SessionStats", "SetAutoCompactionCommand", "SetAutoCompactionResponse", "SetAutoRetryCommand",
    "SetAutoRetryResponse", "SetEditorTextRequest", "SetFollowUpModeCommand", "SetFollowUpModeResponse",
    "SetModelCommand", "SetModelResponse", "SetSessionNameCommand", "SetSessionNameResponse", "SetStatusRequest",
    "SetSteeringModeCommand", "SetSteeringModeResponse", "SetThinkingLevelCommand", "SetThinkingLevelResponse",
    "SetTitleRequest", "SetWidgetRequest", "SlashCommand", "SourceInfo", "SourceOrigin", "SourceScope", "StartUpdate",
    "SteerCommand", "SteerResponse", "StopReason", "StreamingBehavior", "StringMap",
    "SummarizationRetryAttemptStartEvent", "SummarizationRetryFinishedEvent", "SummarizationRetryScheduledEvent",
    "SummarizationSource", "SwitchSessionCommand", "SwitchSessionResponse", "SystemContent", "SystemMessage",
    "SystemSections", "SystemTool", "TextContent", "TextDeltaUpdate", "TextEndUpdate", "TextStartUpdate",
    "ThinkingContent", "ThinkingDeltaUpdate", "ThinkingEndUpdate", "ThinkingLevel", "ThinkingLevelChange",
    "ThinkingLevelChangeEntry", "ThinkingLevelChangedEvent", "ThinkingLevelList", "ThinkingStartUpdate", "Timestamp",
    "TokenTotals", "ToolCall", "ToolExecutionEndEvent", "ToolExecutionStartEvent", "ToolExecutionUpdateEvent",
    "ToolName", "ToolResultMessage", "ToolcallDeltaUpdate", "ToolcallEndUpdate", "ToolcallStartUpdate", "TurnEndEvent",
    "TurnStartEvent", "UICancelledResponse", "UIConfirmedResponse", "UIValueResponse", "Usage", "UsageEntry",
    "UserContent", "UserMessage", "WidgetPlacement",
]
