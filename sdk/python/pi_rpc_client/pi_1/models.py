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
    """Takes back all messages that wait in the queues."""
    id: RequestId | None = None
    type: Literal["clear_queue"]


class SetThinkingLevelCommand(Frame):
    """Sets how much the model thinks. A level that the model does not know is replaced by the nearest one that it
    does."""
    id: RequestId | None = None
    type: Literal["set_thinking_level"]
    level: ThinkingLevel


class GetAvailableThinkingLevelsCommand(Frame):
    """Lists the thinking levels that the model knows."""
    id: RequestId | None = None
    type: Literal["get_available_thinking_levels"]


class BashCommand(Frame):
    """Runs a shell command in the working directory, beside whatever goes on, and adds its output to the
    conversation. Answers when the command has ended; only pi 1 tells of its output before."""
    id: RequestId | None = None
    type: Literal["bash"]
    command: str
    """The command line, handed to the shell as it is."""
    exclude_from_context: bool | None = None
    """Whether the model is kept from seeing the command and its output."""


class CloneCommand(Frame):
    """Begins a new session that holds a copy of the active branch. An extension may veto it."""
    id: RequestId | None = None
    type: Literal["clone"]


class GetEntriesCommand(Frame):
    """Reads the entries of the session, of all branches, in the order in which they were written; the header is not
    among them."""
    id: RequestId | None = None
    type: Literal["get_entries"]
    since: str | None = None
    """Id of an entry: only those after it are wanted. An id that the session does not have is refused."""


class GetTreeCommand(Frame):
    """Reads the entries of the session as a tree."""
    id: RequestId | None = None
    type: Literal["get_tree"]


class PromptResponse(Frame):
    """The prompt was accepted. Its run is told by events and ends with `agent_end`, in pi 1 with `agent_settled`."""
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
    """The queues are empty; what was in them."""
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


class CycleThinkingLevelResponse(Frame):
    """The level in effect now, or null where the model does not think."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["cycle_thinking_level"]
    success: Literal[True]
    data: ThinkingLevelChange | None
    """What the command returns; null where there is nothing to cycle through."""


class GetAvailableThinkingLevelsResponse(Frame):
    """The thinking levels that the model knows."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["get_available_thinking_levels"]
    success: Literal[True]
    data: ThinkingLevelList


class CompactResponse(Frame):
    """The conversation is compacted."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["compact"]
    success: Literal[True]
    data: CompactionResult


class GetSessionStatsResponse(Frame):
    """The figures of the session."""
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
    """The tree of the session."""
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
    """The state of the session at one moment."""
    model: Model | None = None
    """The model in use; absent or null if there is none."""
    thinking_level: ThinkingLevel
    is_streaming: bool
    """A run is open. In pi false during the wait before a retry and during an automatic compaction; in xcsh true as
    long as an accepted prompt is not done with, in pi 1 until `agent_settled`."""
    is_compacting: bool
    """A compaction is under way, asked for or automatic."""
    steering_mode: QueueMode
    follow_up_mode: QueueMode
    session_file: str | None = None
    """Absolute path of the session file, also before it exists; absent if the session is kept in memory only."""
    session_id: str
    """Id of the session; its form depends on the dialect."""
    session_name: str | None = None
    """The name given by `set_session_name`; absent if none was."""
    auto_compaction_enabled: bool
    """A nearly full context is compacted automatically."""
    message_count: Count
    pending_message_count: Count


class ModelCycle(Frame):
    """The outcome of a step to the next model."""
    model: Model
    thinking_level: ThinkingLevel
    is_scoped: bool
    """The models to step through were limited at the start or in the settings."""


class ThinkingLevelChange(Frame):
    """The outcome of a step to the next thinking level."""
    level: ThinkingLevel


class ModelList(Frame):
    """Models to choose from."""
    models: list[Model]
    """The models, in the order in which they are stepped through."""


class ClearedQueue(Frame):
    """The messages that were taken back."""
    steering: list[str]
    """The texts of the steering messages, in order."""
    follow_up: list[str]
    """The texts of the follow-up messages, in order."""


class PromptOutcome(Frame):
    """What became of a prompt."""
    disposition: PromptDisposition


class QueueOutcome(Frame):
    """What became of a message for a queue."""
    disposition: QueueDisposition


class ThinkingLevelList(Frame):
    """Thinking levels to choose from."""
    levels: list[ThinkingLevel]
    """The levels, least first; `off` alone for a model that does not think."""


class EntryList(Frame):
    """Entries of the session."""
    entries: list[SessionEntry]
    """The entries, in the order in which they were written."""
    leaf_id: str | None
    """The entry that the conversation goes on from; null for an empty one."""


class EntryTree(Frame):
    """The session as a tree."""
    tree: list[EntryNode]
    """The entries that nothing comes before; usually one."""
    leaf_id: str | None
    """The entry that the conversation goes on from; null for an empty one."""


class EntryNode(Frame):
    """An entry of the session with what comes after it."""
    entry: SessionEntry
    children: list[EntryNode]
    """What comes after it, oldest first; more than one where branches part."""
    label: str | None = None
    """The mark on it; absent if there is none."""
    label_timestamp: str | None = None
    """When it was marked: ISO 8601 in UTC with milliseconds."""


class CompactionResult(Frame):
    """What a compaction has made of the conversation."""
    summary: str
    """The summary that stands for the older part, with the lists of files that were touched."""
    first_kept_entry_id: str
    """Id of the first session entry that is kept as it was."""
    tokens_before: Count
    estimated_tokens_after: Count | None = None
    usage: Usage | None = None
    details: Any = None
    """What the maker of the summary notes beside it: an object with the sorted lists of paths `readFiles` and
    `modifiedFiles`, or any JSON when an extension supplied it."""


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
    context_usage: ContextUsage | None = None


class ContextUsage(Frame):
    """How full the context is."""
    tokens: Count | None
    """Estimate of the tokens in it; null from a compaction until the next answer."""
    context_window: Count
    percent: float | None
    """The part of the window that is taken, in percent, not rounded; null where the tokens are."""


class ForkResult(Frame):
    """The outcome of going back to an earlier user message."""
    text: str | None = None
    """Text of that user message, for the host to offer again. In pi 1 absent if it was cancelled."""
    cancelled: bool
    """True: an extension vetoed it and nothing has changed."""


class MessageList(Frame):
    """The conversation."""
    messages: list[AgentMessage]
    """The messages, oldest first."""


class CommandList(Frame):
    """What a prompt can call with a leading `/`."""
    commands: list[SlashCommand]
    """Commands of extensions first, then prompt templates, then skills."""


class SlashCommand(Frame):
    """Something that a prompt can call with a leading `/`."""
    name: str
    """Its name without the `/`; that of a skill begins with `skill:`."""
    description: str | None = None
    """What it does, for people to read."""
    source: CommandSource
    source_info: SourceInfo


class SourceInfo(Frame):
    """Where something that a prompt can call comes from."""
    path: str
    """Absolute path of the file that defines it; of what is built in, `builtin:` and a name."""
    source: str
    """How it was found: `auto`, `local`, `cli`, `builtin`, or the package that it belongs to."""
    scope: SourceScope
    origin: SourceOrigin
    base_dir: str | None = None
    """The directory that paths in it are relative to."""
    changelog_path: str | None = None
    """The change log of its package."""


class AgentEndEvent(Frame):
    """The run is over."""
    type: Literal["agent_end"]
    messages: list[AgentMessage]
    """Every message of this run, in order: what was prompted, what was said, what tools returned. Earlier history is
    not repeated."""
    will_retry: bool
    """Whether the run failed for a passing reason and is tried again after a wait."""


class AgentSettledEvent(Frame):
    """Nothing follows by itself any more: no retry, no compaction, no queued message. What a prompt started is done."""
    type: Literal["agent_settled"]
    aborted: bool
    """Whether what went on was aborted."""


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
    usage: Usage
    assistant_message_event: AssistantMessageEvent


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
    parent_tool_call_id: str | None = None
    """The call during which a tool made this one; then the id is that call's, a slash and a number."""


class ToolExecutionUpdateEvent(Frame):
    """A tool has something to show while it runs."""
    type: Literal["tool_execution_update"]
    tool_call_id: str
    """The id of the call."""
    tool_name: str
    """The name of the tool."""
    args: JsonObject
    partial_result: AgentToolResult
    parent_tool_call_id: str | None = None
    """The call during which a tool made this one; then the id is that call's, a slash and a number."""


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
    duration_ms: Count | None = None
    parent_tool_call_id: str | None = None
    """The call during which a tool made this one; then the id is that call's, a slash and a number."""


class QueueUpdateEvent(Frame):
    """The queues have changed: a message was queued, delivered or taken back."""
    type: Literal["queue_update"]
    steering: list[str]
    """The texts of all steering messages that wait, in order."""
    follow_up: list[str]
    """The texts of all follow-up messages that wait, in order."""


class CompactionStartEvent(Frame):
    """The server begins to shorten the context, asked to or by itself."""
    type: Literal["compaction_start"]
    reason: CompactionReason


class CompactionEndEvent(Frame):
    """The compaction is over, one way or the other."""
    type: Literal["compaction_end"]
    reason: CompactionReason
    result: CompactionResult | None = None
    aborted: bool
    """Whether it was cancelled."""
    will_retry: bool
    """Whether the request that did not fit is now made again."""
    error_message: str | None = None
    """Why it failed."""


class SummarizationRetryScheduledEvent(Frame):
    """The request for a summary failed for a passing reason and will be made again after a wait."""
    type: Literal["summarization_retry_scheduled"]
    attempt: Count
    max_attempts: Count
    delay_ms: Count
    error_message: str
    """Why the request failed."""


class SummarizationRetryAttemptStartEvent(Frame):
    """The request for a summary is made again."""
    type: Literal["summarization_retry_attempt_start"]
    source: SummarizationSource
    reason: CompactionReason | None = None


class SummarizationRetryFinishedEvent(Frame):
    """Making the request for a summary again has come to an end, one way or the other."""
    type: Literal["summarization_retry_finished"]


class BashExecutionUpdateEvent(Frame):
    """A shell command of the host has printed something."""
    type: Literal["bash_execution_update"]
    id: RequestId | None = None
    delta: str
    """What is new in its output."""


class EntryAppendedEvent(Frame):
    """The session has a new entry that no other event tells of."""
    type: Literal["entry_appended"]
    entry: SessionEntry


class SessionInfoChangedEvent(Frame):
    """The session has another name."""
    type: Literal["session_info_changed"]
    name: str | None = None
    """The name; absent if it has none any more."""


class ThinkingLevelChangedEvent(Frame):
    """The thinking level has changed, also because another model does not know the old one."""
    type: Literal["thinking_level_changed"]
    level: ThinkingLevel


class StartUpdate(Frame):
    """The answer begins. Servers do not send it; message_start says the same."""
    type: Literal["start"]


class TextStartUpdate(Frame):
    """A text block begins."""
    type: Literal["text_start"]
    content_index: Count


class TextDeltaUpdate(Frame):
    """A text block has grown."""
    type: Literal["text_delta"]
    content_index: Count
    delta: str
    """What was added."""


class TextEndUpdate(Frame):
    """A text block is complete."""
    type: Literal["text_end"]
    content_index: Count
    content: str
    """All of the block."""


class ThinkingStartUpdate(Frame):
    """A thinking block begins."""
    type: Literal["thinking_start"]
    content_index: Count


class ThinkingDeltaUpdate(Frame):
    """A thinking block has grown."""
    type: Literal["thinking_delta"]
    content_index: Count
    delta: str
    """What was added."""


class ThinkingEndUpdate(Frame):
    """A thinking block is complete."""
    type: Literal["thinking_end"]
    content_index: Count
    content: str
    """All of the block."""


class ToolcallStartUpdate(Frame):
    """A tool call begins."""
    type: Literal["toolcall_start"]
    content_index: Count
    id: str
    """The id of the call."""
    tool_name: str
    """The name of the tool."""


class ToolcallDeltaUpdate(Frame):
    """The arguments of a tool call have grown."""
    type: Literal["toolcall_delta"]
    content_index: Count
    delta: str
    """A piece of the arguments as JSON text; may be empty."""


class ToolcallEndUpdate(Frame):
    """A tool call is complete."""
    type: Literal["toolcall_end"]
    content_index: Count
    tool_call: ToolCall


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


class SystemMessage(Frame):
    """What the model is told of itself, its tools and its surroundings. The first opens the first run of a session
    and says everything; later ones say what has changed."""
    role: Literal["system"]
    content: SystemContent
    sections: SystemSections | None = None
    timestamp: Timestamp
    tools_added: list[SystemTool] | None = None
    """The tools that the model can call from here on, besides those before."""
    tools_removed: list[ToolName] | None = None
    """The tools that it cannot call any more."""


class SystemTool(Frame):
    """A tool as the model is told of it."""
    name: str
    """The name of the tool."""
    description: str
    """What the model is told about it."""
    parameters: JsonObject
    constrained_sampling: Any = None
    """How the provider is to hold the model to the schema: an object, or false for not at all."""


class ToolName(Frame):
    """A tool by its name."""
    name: str
    """The name of the tool."""


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
    response_model: str | None = None
    """The model that the provider says has answered, where it is another."""
    raw_stop_reason: str | None = None
    """The provider's own word for why the model stopped; absent if it failed or was aborted."""
    provider_thinking_level: str | None = None
    """The provider's own word for the thinking level that was asked for."""
    diagnostics: list[Diagnostic] | None = None
    """What the provider adapter noticed on the way."""
    deferred: DeferredAnswer | None = None
    end_turn: bool | None = None
    """Whether the model said itself that its turn is over."""
    error_message: str | None = None
    """What went wrong; present exactly when stopReason is error or aborted."""
    duration_ms: Count | None = None
    thinking_level: ThinkingLevel | None = None


class Diagnostic(Frame):
    """Something that a provider adapter noticed during a request."""
    type: str
    """What kind of thing it is."""
    timestamp: Timestamp
    error: JsonObject | None = None
    details: JsonObject | None = None


class DeferredAnswer(Frame):
    """An answer that the provider gives later."""
    provider: str
    """The provider that was asked."""
    model_id: str
    """The model that was asked."""
    api: str
    """The vendor API that was spoken."""
    id: str
    """The id that the provider gave the answer."""
    expires_at: Timestamp | None = None
    poll_after_ms: Count | None = None
    data: Any = None
    """What the provider adapter needs to fetch it; opaque."""


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
    usage: Usage | None = None
    is_error: bool
    """Whether the call failed."""
    duration_ms: Count | None = None
    timestamp: Timestamp
    nested_calls: NestedCalls | None = None


class NestedCalls(Frame):
    """The tools that a tool called itself."""
    calls: list[NestedCall]
    """The calls, in order."""
    complete: bool
    """Whether none of them was left out or is unfinished."""


class NestedCall(Frame):
    """A tool that a tool called."""
    id: str
    """The id of the call: that of the outer call, a slash and a number."""
    name: str
    """The name of the tool."""
    arguments: JsonObject | None = None
    arguments_bytes: Count | None = None
    status: NestedCallStatus
    duration_ms: Count | None = None
    error: str | None = None
    """Why it failed."""


class BranchSummaryMessage(Frame):
    """What was said on a branch of the session that was left."""
    role: Literal["branchSummary"]
    summary: str
    """The summary."""
    from_id: str | None = None
    """The session entry at which the branch was left; root for the very beginning, in pi 1 null."""
    timestamp: Timestamp


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
    namespace: str | None = None
    """The group of tools that the provider has it in."""


class AgentToolResult(Frame):
    """What a tool returned, or has to show so far."""
    content: list[UserContent]
    """What the model is told; may be empty."""
    details: Any = None
    """What the tool tells the host beyond the content; its shape is the tool's own. Absent when there is nothing."""
    structured_content: Any = None
    """The same for programs to read; its shape is the tool's own."""
    is_error: bool | None = None
    """True: the call failed although the tool returned."""
    usage: Usage | None = None
    terminate: bool | None = None
    """Whether the run is to end after this turn."""


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
    """What one request cost, in US dollars."""
    input: float
    """For tokens read."""
    output: float
    """For tokens written."""
    cache_read: float
    """For tokens from a cache."""
    cache_write: float
    """For tokens put into a cache."""
    total: float
    """All of it together."""
    total_from_provider: bool | None = None
    """Whether the provider told the cost; else it was computed. Absent while it is zero."""


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
    thinking_level_map: LevelMap | None = None
    input: list[InputKind]
    """What it accepts."""
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
    """What a model costs, in US dollars for a million tokens."""
    input: float
    """For tokens read."""
    output: float
    """For tokens written."""
    cache_read: float
    """For tokens from a cache."""
    cache_write: float
    """For tokens put into a cache."""
    tiers: list[PriceTier] | None = None
    """What it costs where the context is large."""


class PriceTier(Frame):
    """What a model costs from a number of input tokens on, in US dollars for a million tokens."""
    input: float
    """For tokens read."""
    output: float
    """For tokens written."""
    cache_read: float
    """For tokens from a cache."""
    cache_write: float
    """For tokens put into a cache."""
    input_tokens_above: Count


class PromptCache(Frame):
    """How long a provider keeps what a model has read."""
    short: float | None = None
    """In seconds, if nothing longer is asked for."""
    long: float | None = None
    """In seconds, at most."""


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
    first_kept_entry_id: str
    """The first entry before this one that stays in the context."""
    tokens_before: Count
    details: Any = None
    """What the maker of the summary notes beside it; any JSON."""
    usage: Usage | None = None
    from_hook: bool | None = None
    """Whether an extension made the summary."""
    system_message: SystemMessage | None = None


class BranchSummaryEntry(Frame):
    """What was said on a branch that was left."""
    type: Literal["branch_summary"]
    id: str
    """Names the entry inside its file."""
    parent_id: str | None
    """The entry before it on its branch; null for the first of one."""
    timestamp: str
    """When it was written: ISO 8601 in UTC with milliseconds."""
    from_id: str | None = None
    """The entry at which the branch was left; root for the very beginning, in pi 1 null."""
    summary: str
    """The summary."""
    details: Any = None
    """What the maker of the summary notes beside it; any JSON."""
    usage: Usage | None = None
    from_hook: bool | None = None
    """Whether an extension made the summary."""


class ContextEditEntry(Frame):
    """From here on models are told something else in the place of an earlier entry, or nothing."""
    type: Literal["context_edit"]
    id: str
    """Names the entry inside its file."""
    parent_id: str | None
    """The entry before it on its branch; null for the first of one."""
    timestamp: str
    """When it was written: ISO 8601 in UTC with milliseconds."""
    target_id: str
    """The entry that it is about."""
    replacement: ContextReplacement | None
    """What stands in its place; null: nothing does."""


class ContextReplacement(Frame):
    """What models are told in the place of an entry."""
    content: ReplacedContent


class UsageEntry(Frame):
    """A request to a model that no message came of."""
    type: Literal["usage"]
    id: str
    """Names the entry inside its file."""
    parent_id: str | None
    """The entry before it on its branch; null for the first of one."""
    timestamp: str
    """When it was written: ISO 8601 in UTC with milliseconds."""
    kind: str
    """What it was for."""
    provider: str
    """The provider that was asked."""
    model: str
    """The model that was asked."""
    usage: Usage
    note: str | None = None
    """What more there is to say."""


RpcCommand = TypeAliasType("RpcCommand", Annotated[PromptCommand | SteerCommand | FollowUpCommand | AbortCommand |
    ClearQueueCommand | NewSessionCommand | GetStateCommand | SetModelCommand | CycleModelCommand |
    GetAvailableModelsCommand | SetThinkingLevelCommand | CycleThinkingLevelCommand | GetAvailableThinkingLevelsCommand
    | SetSteeringModeCommand | SetFollowUpModeCommand | CompactCommand | SetAutoCompactionCommand | SetAutoRetryCommand
    | AbortRetryCommand | BashCommand | AbortBashCommand | GetSessionStatsCommand | ExportHtmlCommand |
    SwitchSessionCommand | ForkCommand | CloneCommand | GetForkMessagesCommand | GetEntriesCommand | GetTreeCommand |
    GetLastAssistantTextCommand | SetSessionNameCommand | GetMessagesCommand | GetCommandsCommand,
    Field(discriminator="type")])
"""A request of the host. Each is answered by a response with the same `id`; keys that a command does not know are
ignored."""

Inbound = TypeAliasType("Inbound", Annotated[RpcCommand | RpcExtensionUIResponse, Field(discriminator="type")])
"""Everything that a host may write: one JSON object a line, ended by a line feed. In an optional member, at any
depth, `null` means the same as absent; a required member refuses it."""

RpcSuccess = TypeAliasType("RpcSuccess", Annotated[PromptResponse | SteerResponse | FollowUpResponse | AbortResponse |
    ClearQueueResponse | NewSessionResponse | GetStateResponse | SetModelResponse | CycleModelResponse |
    GetAvailableModelsResponse | SetThinkingLevelResponse | CycleThinkingLevelResponse |
    GetAvailableThinkingLevelsResponse | SetSteeringModeResponse | SetFollowUpModeResponse | CompactResponse |
    SetAutoCompactionResponse | SetAutoRetryResponse | AbortRetryResponse | BashResponse | AbortBashResponse |
    GetSessionStatsResponse | ExportHtmlResponse | SwitchSessionResponse | ForkResponse | CloneResponse |
    GetForkMessagesResponse | GetEntriesResponse | GetTreeResponse | GetLastAssistantTextResponse |
    SetSessionNameResponse | GetMessagesResponse | GetCommandsResponse, Field(discriminator="command")])
"""A command that was accepted. Told apart by `command`; `data` is there only for the commands that have a result."""

RpcResponse = TypeAliasType("RpcResponse", Annotated[RpcSuccess | RpcErrorResponse, Field(discriminator="success")])
"""The answer to a command, or the refusal of a line that could not be read."""

AgentSessionEvent = TypeAliasType("AgentSessionEvent", Annotated[AgentStartEvent | AgentEndEvent | AgentSettledEvent |
    TurnStartEvent | TurnEndEvent | MessageStartEvent | MessageUpdateEvent | MessageEndEvent | ToolExecutionStartEvent |
    ToolExecutionUpdateEvent | ToolExecutionEndEvent | QueueUpdateEvent | CompactionStartEvent | CompactionEndEvent |
    AutoRetryStartEvent | AutoRetryEndEvent | SummarizationRetryScheduledEvent | SummarizationRetryAttemptStartEvent |
    SummarizationRetryFinishedEvent | BashExecutionUpdateEvent | EntryAppendedEvent | SessionInfoChangedEvent |
    ThinkingLevelChangedEvent, Field(discriminator="type")])
"""What happens in the session, as it happens. Events have no id."""

Outbound = TypeAliasType("Outbound", Annotated[RpcResponse | AgentSessionEvent | RpcExtensionUIRequest | ExtensionError,
    Field(discriminator="type")])
"""Everything that a server may write: one JSON object a line, ended by a line feed."""

PromptDisposition = TypeAliasType("PromptDisposition", Literal["started", "queued", "handled"])
"""What became of a prompt: a run follows, it waits behind the open run, or an extension took it and no run follows."""

QueueDisposition = TypeAliasType("QueueDisposition", Literal["queued", "handled"])
"""What became of a message for a queue: it waits, or an extension took it."""

SourceScope = TypeAliasType("SourceScope", Literal["user", "project", "temporary"])
"""For whom something is there: the user, the project, or this process alone."""

SourceOrigin = TypeAliasType("SourceOrigin", Literal["top-level", "package"])
"""Whether something stands alone or belongs to a package."""

AssistantMessageEvent = TypeAliasType("AssistantMessageEvent", Annotated[StartUpdate | TextStartUpdate | TextDeltaUpdate
    | TextEndUpdate | ThinkingStartUpdate | ThinkingDeltaUpdate | ThinkingEndUpdate | ToolcallStartUpdate |
    ToolcallDeltaUpdate | ToolcallEndUpdate | DoneUpdate | ErrorUpdate, Field(discriminator="type")])
"""How an assistant message has grown."""

CompactionReason = TypeAliasType("CompactionReason", Literal["manual", "threshold", "overflow"])
"""What made a compaction necessary: the host asked for it, the context passed the limit, the provider refused it as
too long, or the session was idle."""

SummarizationSource = TypeAliasType("SummarizationSource", Literal["compaction", "branchSummary"])
"""What a summary is for: a compaction, or a branch of the session that is left."""

DoneReason = TypeAliasType("DoneReason", Literal["stop", "length", "toolUse", "deferred"])
"""Why the model stopped, when all went well."""

AgentMessage = TypeAliasType("AgentMessage", Annotated[UserMessage | SystemMessage | AssistantMessage |
    ToolResultMessage | BashExecutionMessage | CustomMessage | BranchSummaryMessage | CompactionSummaryMessage,
    Field(discriminator="role")])
"""A message of the conversation, told apart by its role."""

SystemContent = TypeAliasType("SystemContent", str | list[TextContent])
"""Content of a system message: plain text, or a list of text blocks."""

SystemSections = TypeAliasType("SystemSections", dict[str, str | None])
"""Text by section."""

NestedCallStatus = TypeAliasType("NestedCallStatus", Literal["ok", "error", "unfinished"])
"""What became of a tool that a tool called: it succeeded, it failed, or it never ended."""

AssistantContent = TypeAliasType("AssistantContent", Annotated[TextContent | ThinkingContent | ToolCall,
    Field(discriminator="type")])
"""One block of what the model said."""

MessageBlock = TypeAliasType("MessageBlock", Annotated[TextContent | ThinkingContent | ToolCall | ImageContent,
    Field(discriminator="type")])
"""One block of any message."""

StopReason = TypeAliasType("StopReason", Literal["stop", "length", "toolUse", "error", "aborted", "pending",
    "deferred"])
"""Why the model stopped: it was done, it ran into the token limit, it wants tools to be run, it failed, or it was
aborted. In pi 1 also: it has not stopped yet, or the provider gives the answer later."""

LevelMap = TypeAliasType("LevelMap", dict[str, str | None])
"""The provider's word by thinking level; null: the model does not know the level."""

ThinkingLevel = TypeAliasType("ThinkingLevel", Literal["off", "minimal", "low", "medium", "high", "xhigh", "max"])
"""How hard the model should think before it answers."""

SessionEntry = TypeAliasType("SessionEntry", Annotated[MessageEntry | ModelChangeEntry | ThinkingLevelChangeEntry |
    CompactionEntry | BranchSummaryEntry | ContextEditEntry | UsageEntry | CustomEntry | CustomMessageEntry | LabelEntry
    | SessionInfoEntry, Field(discriminator="type")])
"""A line of a session file after the header. Readers keep types that they do not know: they are links of the chain
of parents."""

ReplacedContent = TypeAliasType("ReplacedContent", str | list[MessageBlock])
"""Content in the place of an entry's: plain text, or blocks as the entry's message has them."""

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
