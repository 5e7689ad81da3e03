"""Made by generate.py from `pi-rpc schema --dialect pi`; not to be changed by hand."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from ..frame import Frame


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


class SteerCommand(Frame):
    """Queues a message that redirects the agent as soon as possible. Allowed in every state; without an open run the
    message waits for the next one, in omp it starts one."""
    id: RequestId | None = None
    type: Literal["steer"]
    message: str
    """Text for the agent. It may name a prompt template, but no command of an extension."""
    images: list[ImageContent] | None = None
    """Images that follow the text, in order; absent: none."""


class FollowUpCommand(Frame):
    """Queues a message that is delivered when the agent would otherwise stop. Allowed in every state; without an
    open run the message waits for the end of the next one, in omp it starts one."""
    id: RequestId | None = None
    type: Literal["follow_up"]
    message: str
    """Text for the agent. It may name a prompt template, but no command of an extension."""
    images: list[ImageContent] | None = None
    """Images that follow the text, in order; absent: none."""


class AbortCommand(Frame):
    """Aborts the open run, the wait before a retry, or a compaction begun by `compact` (in pi 1 and omp, any
    compaction). The response follows once that has ended. Queued messages and bash commands are not affected,
    nor, in the other dialects, automatic compactions. In omp bash commands are aborted, too, and queued messages
    start a run."""
    id: RequestId | None = None
    type: Literal["abort"]


class NewSessionCommand(Frame):
    """Leaves the current session and starts an empty one. An extension may veto this."""
    id: RequestId | None = None
    type: Literal["new_session"]
    parent_session: str | None = None
    """Path of the session file to record as the parent of the new session. The file is not opened. Absent or empty:
    none."""


class GetStateCommand(Frame):
    """Reads the state of the session: model, modes, queue length, activity."""
    id: RequestId | None = None
    type: Literal["get_state"]


class SetModelCommand(Frame):
    """Selects a model that has credentials. An open run keeps the model that it began with."""
    id: RequestId | None = None
    type: Literal["set_model"]
    provider: str
    """Id of the provider."""
    model_id: str
    """Id of the model within the provider."""


class CycleModelCommand(Frame):
    """Selects the next available model, as `set_model` does."""
    id: RequestId | None = None
    type: Literal["cycle_model"]


class GetAvailableModelsCommand(Frame):
    """Lists the models that have credentials."""
    id: RequestId | None = None
    type: Literal["get_available_models"]


class SetThinkingLevelCommand(Frame):
    """Sets the thinking level. A level that the model does not support is replaced by the nearest one that it does."""
    id: RequestId | None = None
    type: Literal["set_thinking_level"]
    level: ThinkingLevel


class CycleThinkingLevelCommand(Frame):
    """Selects the next thinking level of the model; after the last comes the first."""
    id: RequestId | None = None
    type: Literal["cycle_thinking_level"]


class SetSteeringModeCommand(Frame):
    """Sets how many steering messages are delivered at a time."""
    id: RequestId | None = None
    type: Literal["set_steering_mode"]
    mode: QueueMode


class SetFollowUpModeCommand(Frame):
    """Sets how many follow-up messages are delivered at a time."""
    id: RequestId | None = None
    type: Literal["set_follow_up_mode"]
    mode: QueueMode


class CompactCommand(Frame):
    """Replaces the older part of the conversation by a summary. An open run is ended first. In pi and xcsh no event
    reports the compaction, only the response."""
    id: RequestId | None = None
    type: Literal["compact"]
    custom_instructions: str | None = None
    """Instructions for the summary; absent: none."""


class SetAutoCompactionCommand(Frame):
    """Turns the automatic compaction of a nearly full context on or off."""
    id: RequestId | None = None
    type: Literal["set_auto_compaction"]
    enabled: bool
    """Whether to compact automatically."""


class SetAutoRetryCommand(Frame):
    """Turns the automatic retry after a transient provider error on or off. A retry that is under way continues."""
    id: RequestId | None = None
    type: Literal["set_auto_retry"]
    enabled: bool
    """Whether to retry automatically."""


class AbortRetryCommand(Frame):
    """Cancels the wait before a retry. No effect if there is none."""
    id: RequestId | None = None
    type: Literal["abort_retry"]


class BashCommand(Frame):
    """Runs a shell command in the working directory, independently of any run, and adds its output to the
    conversation. The response follows when the command has ended; only pi 1 reports output before that."""
    id: RequestId | None = None
    type: Literal["bash"]
    command: str
    """Command line, passed to the shell unchanged."""


class AbortBashCommand(Frame):
    """Ends the bash commands that the host has started. No effect if there is none."""
    id: RequestId | None = None
    type: Literal["abort_bash"]


class GetSessionStatsCommand(Frame):
    """Reads the statistics of the session: message counts, tokens and cost."""
    id: RequestId | None = None
    type: Literal["get_session_stats"]


class ExportHtmlCommand(Frame):
    """Writes the session to a single HTML file."""
    id: RequestId | None = None
    type: Literal["export_html"]
    output_path: str | None = None
    """Path of the HTML file, absolute or relative to the working directory. Absent: a file in the working directory,
    named after the session."""


class SwitchSessionCommand(Frame):
    """Leaves the current session and opens another one from its file. An extension may veto this."""
    id: RequestId | None = None
    type: Literal["switch_session"]
    session_path: str
    """Path of the session file, absolute or relative to the working directory."""


class ForkCommand(Frame):
    """Starts a new session with the conversation before an earlier user message, without that message. An extension
    may veto this."""
    id: RequestId | None = None
    type: Literal["fork"]
    entry_id: str
    """Id of the session entry of that user message, from `get_fork_messages`."""


class GetForkMessagesCommand(Frame):
    """Lists the user messages that `fork` accepts."""
    id: RequestId | None = None
    type: Literal["get_fork_messages"]


class GetLastAssistantTextCommand(Frame):
    """Returns the text of the newest assistant message."""
    id: RequestId | None = None
    type: Literal["get_last_assistant_text"]


class SetSessionNameCommand(Frame):
    """Sets the display name of the session. Surrounding white space is removed; an empty name is refused."""
    id: RequestId | None = None
    type: Literal["set_session_name"]
    name: str
    """Name, one line of text."""


class GetMessagesCommand(Frame):
    """Lists all messages of the conversation, without a partial message."""
    id: RequestId | None = None
    type: Literal["get_messages"]


class GetCommandsCommand(Frame):
    """Lists the slash commands: commands of extensions, prompt templates and skills."""
    id: RequestId | None = None
    type: Literal["get_commands"]


class RpcErrorResponse(Frame):
    """Response to a command that was refused or failed, or to a line that could not be read."""
    id: RequestId | None = None
    type: Literal["response"]
    command: str
    """`type` of the command, even an unknown one; `parse` for a line that could not be read as a command."""
    success: Literal[False]
    error: str
    """Error text, for people to read."""


class PromptResponse(Frame):
    """The prompt was accepted. Events report its run, which ends with `agent_end`, in pi 1 with `agent_settled`."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["prompt"]
    success: Literal[True]


class SteerResponse(Frame):
    """The message is in the steering queue."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["steer"]
    success: Literal[True]


class FollowUpResponse(Frame):
    """The message is in the follow-up queue."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["follow_up"]
    success: Literal[True]


class AbortResponse(Frame):
    """Nothing runs any more; the `agent_end` of an aborted run came before this response."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["abort"]
    success: Literal[True]


class NewSessionResponse(Frame):
    """The new session is open, or an extension vetoed it."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["new_session"]
    success: Literal[True]
    data: SessionChange


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


class SetThinkingLevelResponse(Frame):
    """The level was set; `get_state` returns the one in effect."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["set_thinking_level"]
    success: Literal[True]


class CycleThinkingLevelResponse(Frame):
    """The next level was selected, or the model does not support thinking."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["cycle_thinking_level"]
    success: Literal[True]
    data: ThinkingLevelChange | None
    """Level in effect; null if the model does not support thinking."""


class SetSteeringModeResponse(Frame):
    """The mode was set."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["set_steering_mode"]
    success: Literal[True]


class SetFollowUpModeResponse(Frame):
    """The mode was set."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["set_follow_up_mode"]
    success: Literal[True]


class CompactResponse(Frame):
    """The conversation was compacted."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["compact"]
    success: Literal[True]
    data: CompactionResult


class SetAutoCompactionResponse(Frame):
    """The setting was changed."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["set_auto_compaction"]
    success: Literal[True]


class SetAutoRetryResponse(Frame):
    """The setting was changed."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["set_auto_retry"]
    success: Literal[True]


class AbortRetryResponse(Frame):
    """No retry is outstanding."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["abort_retry"]
    success: Literal[True]


class BashResponse(Frame):
    """The command has ended or was cancelled."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["bash"]
    success: Literal[True]
    data: BashResult


class AbortBashResponse(Frame):
    """The bash commands are being ended; each has a response of its own."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["abort_bash"]
    success: Literal[True]


class GetSessionStatsResponse(Frame):
    """The statistics of the session."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["get_session_stats"]
    success: Literal[True]
    data: SessionStats


class ExportHtmlResponse(Frame):
    """The file was written."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["export_html"]
    success: Literal[True]
    data: ExportedFile


class SwitchSessionResponse(Frame):
    """The other session is open, or an extension vetoed it."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["switch_session"]
    success: Literal[True]
    data: SessionChange


class ForkResponse(Frame):
    """The new session is open, or an extension vetoed it."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["fork"]
    success: Literal[True]
    data: ForkResult


class GetForkMessagesResponse(Frame):
    """The user messages that `fork` accepts."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["get_fork_messages"]
    success: Literal[True]
    data: ForkMessages


class GetLastAssistantTextResponse(Frame):
    """The text of the newest assistant message, if there is one."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["get_last_assistant_text"]
    success: Literal[True]
    data: LastAssistantText


class SetSessionNameResponse(Frame):
    """The name was set."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["set_session_name"]
    success: Literal[True]


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


class SessionChange(Frame):
    """Outcome of a change of the session."""
    cancelled: bool
    """Whether an extension vetoed the change; nothing has changed then."""


class CompactionResult(Frame):
    """Result of a compaction."""
    summary: str
    """Summary that replaces the older part of the conversation, with the lists of files that were read or modified."""
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
    full_output_path: str | None = None
    """Path of the file with the complete output; absent if the output is short."""


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


class TokenTotals(Frame):
    """Sums of tokens over all assistant messages."""
    input: Count
    output: Count
    cache_read: Count
    cache_write: Count
    total: Count


class ExportedFile(Frame):
    """File with the exported session."""
    path: str
    """Path as the host gave it, or the name of a file in the working directory."""


class ForkResult(Frame):
    """Outcome of a fork."""
    text: str
    """Text of the user message, for the host to offer again. In pi 1 absent if the fork was cancelled."""
    cancelled: bool
    """Whether an extension vetoed the fork; nothing has changed then."""


class ForkMessages(Frame):
    """User messages that a session can be forked at."""
    messages: list[ForkMessage]
    """Messages with a text, in the order of the session file: in pi and xcsh of all branches, from pi 0.73 on of the
    active one."""


class ForkMessage(Frame):
    """User message that a session can be forked at."""
    entry_id: str
    """Id of the session entry of the message."""
    text: str
    """Text of the message."""


class LastAssistantText(Frame):
    """Text of the newest assistant message."""
    text: str | None = None
    """Text blocks of the message, joined; absent or null if there is no assistant message."""


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
    location: CommandLocation | None = None
    path: str | None = None
    """Absolute path of the file that defines the command."""


class AgentStartEvent(Frame):
    """A run begins; it lasts until `agent_end`."""
    type: Literal["agent_start"]


class AgentEndEvent(Frame):
    """The run has ended. In omp also retries, compactions and reminders that followed by themselves."""
    type: Literal["agent_end"]
    messages: list[AgentMessage]
    """Messages of this run, in order: prompts, assistant messages and tool results. Earlier history is not repeated."""


class TurnStartEvent(Frame):
    """A turn begins: input messages, if any, one assistant message, and the tool calls in it."""
    type: Literal["turn_start"]


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


class AutoCompactionEndEvent(Frame):
    """The automatic compaction has ended, with or without success."""
    type: Literal["auto_compaction_end"]
    result: CompactionResult | None = None
    """Result; present only on success."""
    aborted: bool
    """Whether the compaction was cancelled."""
    will_retry: bool
    """Whether the request that did not fit is now sent again."""
    error_message: str | None = None
    """Reason of a failure; absent otherwise."""


class AutoRetryStartEvent(Frame):
    """A run failed with a transient error and is retried after a wait."""
    type: Literal["auto_retry_start"]
    attempt: Count
    max_attempts: Count
    delay_ms: Count
    error_message: str
    """Error of the failed run."""


class AutoRetryEndEvent(Frame):
    """The retries have ended."""
    type: Literal["auto_retry_end"]
    success: bool
    """Whether an attempt succeeded."""
    attempt: Count
    final_error: str | None = None
    """Reason for giving up; absent on success."""


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


class ExtensionError(Frame):
    """An extension failed. No command fails because of this."""
    type: Literal["extension_error"]
    extension_path: str
    """File of the extension, or a name for the failed part, such as `command:<name>`."""
    event: str
    """Type of the event that the extension was handling, or `command`, or another operation."""
    error: str
    """Error text."""


class UserMessage(Frame):
    """Message of the user. The server always writes the array form: the text block first, then the images."""
    role: Literal["user"]
    content: MessageContent
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
    error_message: str | None = None
    """Error text; present exactly if `stopReason` is `error` or `aborted`."""


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
    full_output_path: str | None = None
    """File with the complete output; absent if nothing was left out."""
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
    timestamp: Timestamp


class BranchSummaryMessage(Frame):
    """Summary of a branch of the session that was left."""
    role: Literal["branchSummary"]
    summary: str
    """Text of the summary."""
    from_id: str
    """Id of the entry at which the branch was left: in pi 1 its last one, elsewhere the one that the summary
    follows; `root` for none."""
    timestamp: Timestamp


class CompactionSummaryMessage(Frame):
    """Summary of the conversation before the last compaction; the first message of the context after it."""
    role: Literal["compactionSummary"]
    summary: str
    """Text of the summary."""
    tokens_before: Count
    timestamp: Timestamp


class TextContent(Frame):
    """Text block."""
    type: Literal["text"]
    text: str
    """Text."""
    text_signature: str | None = None
    """Signature to send back to the provider with the text; opaque."""


class ThinkingContent(Frame):
    """Block of reasoning of the model."""
    type: Literal["thinking"]
    thinking: str
    """Reasoning; a placeholder if the provider redacted it."""
    thinking_signature: str | None = None
    """Data to send back to the provider with the block, such as a signature or the whole reasoning item; opaque."""
    redacted: bool | None = None
    """Whether the provider redacted the reasoning; the signature then holds its encrypted form. Absent: no."""


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


class ImageContent(Frame):
    """Image block."""
    type: Literal["image"]
    data: str
    """Bytes of the image in base64, without a `data:` prefix."""
    mime_type: str
    """Media type, for example `image/png`."""


class AgentToolResult(Frame):
    """Result of a tool, complete or so far."""
    content: list[UserContent]
    """Content for the model; may be empty."""
    details: Any = None
    """Data for the host in addition to the content, in a shape of the tool's own; absent if there is none."""


class Usage(Frame):
    """Tokens and cost of one request to a model."""
    input: Count
    output: Count
    cache_read: Count
    cache_write: Count
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
    input: list[InputKind]
    """Kinds of input that the model accepts."""
    cost: ModelPrice
    context_window: Count
    max_tokens: Count
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
    timeout: Count | None = None


class ConfirmRequest(Frame):
    """Opens a dialog in which the user answers yes or no."""
    type: Literal["extension_ui_request"]
    id: str
    """Id of this request; a dialog response repeats it."""
    method: Literal["confirm"]
    title: str
    """Heading of the dialog."""
    message: str
    """Question to the user."""
    timeout: Count | None = None


class InputRequest(Frame):
    """Opens a dialog in which the user enters a line of text."""
    type: Literal["extension_ui_request"]
    id: str
    """Id of this request; a dialog response repeats it."""
    method: Literal["input"]
    title: str
    """Question to the user."""
    placeholder: str | None = None
    """Text to show while the field is empty; absent: none."""
    timeout: Count | None = None


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


class NotifyRequest(Frame):
    """Shows the user a notification."""
    type: Literal["extension_ui_request"]
    id: str
    """Id of this request; a dialog response repeats it."""
    method: Literal["notify"]
    message: str
    """Text of the notification."""
    notify_type: NotifyType | None = None


class SetStatusRequest(Frame):
    """Sets or clears an entry of the status line."""
    type: Literal["extension_ui_request"]
    id: str
    """Id of this request; a dialog response repeats it."""
    method: Literal["setStatus"]
    status_key: str
    """Key of the entry."""
    status_text: str | None = None
    """Text to show; absent: the entry is cleared."""


class SetWidgetRequest(Frame):
    """Sets or removes a block of lines beside the editor."""
    type: Literal["extension_ui_request"]
    id: str
    """Id of this request; a dialog response repeats it."""
    method: Literal["setWidget"]
    widget_key: str
    """Key of the block."""
    widget_lines: list[str] | None = None
    """Lines to show; absent: the block is removed."""
    widget_placement: WidgetPlacement | None = None


class SetTitleRequest(Frame):
    """Sets the title of the window. xcsh sends it only if `PI_RPC_EMIT_TITLE` is set."""
    type: Literal["extension_ui_request"]
    id: str
    """Id of this request; a dialog response repeats it."""
    method: Literal["setTitle"]
    title: str
    """Title."""


class SetEditorTextRequest(Frame):
    """Replaces the text of the prompt input."""
    type: Literal["extension_ui_request"]
    id: str
    """Id of this request; a dialog response repeats it."""
    method: Literal["set_editor_text"]
    text: str
    """Text."""


class UIValueResponse(Frame):
    """Response to a dialog in which the user chose an option or entered a text."""
    type: Literal["extension_ui_response"]
    id: str
    """`id` of the UI request."""
    value: str
    """Chosen option, or entered text."""


class UIConfirmedResponse(Frame):
    """Response to a dialog in which the user answered yes or no."""
    type: Literal["extension_ui_response"]
    id: str
    """`id` of the UI request."""
    confirmed: bool
    """True: yes; false: no."""


class UICancelledResponse(Frame):
    """Response to a dialog that the user closed; the agent continues with the default."""
    type: Literal["extension_ui_response"]
    id: str
    """`id` of the UI request."""
    cancelled: Literal[True]


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
    provider: str
    """Id of the provider."""
    model_id: str
    """Id of the model within the provider."""


class ThinkingLevelChangeEntry(Frame):
    """Change of the thinking level."""
    type: Literal["thinking_level_change"]
    id: str
    """Id of the entry, unique within the session file."""
    parent_id: str | None
    """Id of the entry before this one on its branch; null for an entry without one."""
    timestamp: str
    """Time at which the entry was written: ISO 8601 in UTC with milliseconds."""
    thinking_level: str
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
    first_kept_entry_id: str
    """Id of the first entry before this one that stays in the context."""
    tokens_before: Count
    details: Any = None
    """Further data from the author of the summary; any JSON."""
    from_hook: bool | None = None
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
    from_hook: bool | None = None
    """Whether an extension made the summary."""


class CustomEntry(Frame):
    """State of an extension; not sent to the model."""
    type: Literal["custom"]
    custom_type: str
    """Kind of state, named by the extension."""
    data: Any = None
    """State; any JSON."""
    id: str
    """Id of the entry, unique within the session file."""
    parent_id: str | None
    """Id of the entry before this one on its branch; null for an entry without one."""
    timestamp: str
    """Time at which the entry was written: ISO 8601 in UTC with milliseconds."""


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
    id: str
    """Id of the entry, unique within the session file."""
    parent_id: str | None
    """Id of the entry before this one on its branch; null for an entry without one."""
    timestamp: str
    """Time at which the entry was written: ISO 8601 in UTC with milliseconds."""


class LabelEntry(Frame):
    """Label of another entry; the last one for an entry applies."""
    type: Literal["label"]
    id: str
    """Id of the entry, unique within the session file."""
    parent_id: str | None
    """Id of the entry before this one on its branch; null for an entry without one."""
    timestamp: str
    """Time at which the entry was written: ISO 8601 in UTC with milliseconds."""
    target_id: str
    """Id of the labelled entry."""
    label: str | None = None
    """Label; absent or empty: removes the label."""


class SessionInfoEntry(Frame):
    """Change of the name of the session."""
    type: Literal["session_info"]
    id: str
    """Id of the entry, unique within the session file."""
    parent_id: str | None
    """Id of the entry before this one on its branch; null for an entry without one."""
    timestamp: str
    """Time at which the entry was written: ISO 8601 in UTC with milliseconds."""
    name: str | None = None
    """New name."""


RpcCommand = TypeAliasType("RpcCommand", Annotated[PromptCommand | SteerCommand | FollowUpCommand | AbortCommand |
    NewSessionCommand | GetStateCommand | SetModelCommand | CycleModelCommand | GetAvailableModelsCommand |
    SetThinkingLevelCommand | CycleThinkingLevelCommand | SetSteeringModeCommand | SetFollowUpModeCommand |
    CompactCommand | SetAutoCompactionCommand | SetAutoRetryCommand | AbortRetryCommand | BashCommand | AbortBashCommand
    | GetSessionStatsCommand | ExportHtmlCommand | SwitchSessionCommand | ForkCommand | GetForkMessagesCommand |
    GetLastAssistantTextCommand | SetSessionNameCommand | GetMessagesCommand | GetCommandsCommand,
    Field(discriminator="type")])
"""Command of the host. Each is answered by a response with the same `id`; unknown members are ignored."""

RpcExtensionUIResponse = TypeAliasType("RpcExtensionUIResponse", UIValueResponse | UIConfirmedResponse |
    UICancelledResponse)
"""Dialog response: the choice of the user. It gets no response itself. A response to a dialog that is not open is
ignored; one of the wrong kind counts as the default."""

Inbound = TypeAliasType("Inbound", Annotated[RpcCommand | RpcExtensionUIResponse, Field(discriminator="type")])
"""Frame that a host may write: one JSON object per line, ended by a line feed. In an optional member, at any depth,
`null` means the same as absent; a required member refuses it."""

RpcSuccess = TypeAliasType("RpcSuccess", Annotated[PromptResponse | SteerResponse | FollowUpResponse | AbortResponse |
    NewSessionResponse | GetStateResponse | SetModelResponse | CycleModelResponse | GetAvailableModelsResponse |
    SetThinkingLevelResponse | CycleThinkingLevelResponse | SetSteeringModeResponse | SetFollowUpModeResponse |
    CompactResponse | SetAutoCompactionResponse | SetAutoRetryResponse | AbortRetryResponse | BashResponse |
    AbortBashResponse | GetSessionStatsResponse | ExportHtmlResponse | SwitchSessionResponse | ForkResponse |
    GetForkMessagesResponse | GetLastAssistantTextResponse | SetSessionNameResponse | GetMessagesResponse |
    GetCommandsResponse, Field(discriminator="command")])
"""Response to a command that succeeded. `command` tells the kinds apart; `data` is present only for commands with a
result."""

RpcResponse = TypeAliasType("RpcResponse", Annotated[RpcSuccess | RpcErrorResponse, Field(discriminator="success")])
"""Response to a command, or to a line that could not be read."""

AgentSessionEvent = TypeAliasType("AgentSessionEvent", Annotated[AgentStartEvent | AgentEndEvent | TurnStartEvent |
    TurnEndEvent | MessageStartEvent | MessageUpdateEvent | MessageEndEvent | ToolExecutionStartEvent |
    ToolExecutionUpdateEvent | ToolExecutionEndEvent | AutoCompactionStartEvent | AutoCompactionEndEvent |
    AutoRetryStartEvent | AutoRetryEndEvent, Field(discriminator="type")])
"""Event of the session, reported as it happens. Events have no id."""

RpcExtensionUIRequest = TypeAliasType("RpcExtensionUIRequest", Annotated[SelectRequest | ConfirmRequest | InputRequest |
    EditorRequest | NotifyRequest | SetStatusRequest | SetWidgetRequest | SetTitleRequest | SetEditorTextRequest,
    Field(discriminator="method")])
"""UI request of an extension: a dialog, which waits for a response, or a notice, which does not."""

Outbound = TypeAliasType("Outbound", Annotated[RpcResponse | AgentSessionEvent | RpcExtensionUIRequest | ExtensionError,
    Field(discriminator="type")])
"""Frame that a server may write: one JSON object per line, ended by a line feed."""

RequestId = TypeAliasType("RequestId", str)
"""Id that ties a response to its command. The host chooses it and does not reuse it while the command is open."""

StreamingBehavior = TypeAliasType("StreamingBehavior", Literal["steer", "followUp"])
"""How a prompt is queued while a run is open: `steer` redirects the run as soon as possible, `followUp` waits until
it would stop."""

QueueMode = TypeAliasType("QueueMode", Literal["all", "one-at-a-time"])
"""Number of queued messages that are delivered at a time: `all` delivers the whole queue, `one-at-a-time` its first
message."""

CommandSource = TypeAliasType("CommandSource", Literal["extension", "prompt", "skill"])
"""Kind of slash command: of an extension, a prompt template, or a skill."""

CommandLocation = TypeAliasType("CommandLocation", Literal["user", "project", "path"])
"""Place of the definition of a slash command: the user's directory, the project, or a path that was given."""

AssistantMessageEvent = TypeAliasType("AssistantMessageEvent", Annotated[StartUpdate | TextStartUpdate | TextDeltaUpdate
    | TextEndUpdate | ThinkingStartUpdate | ThinkingDeltaUpdate | ThinkingEndUpdate | ToolcallStartUpdate |
    ToolcallDeltaUpdate | ToolcallEndUpdate | DoneUpdate | ErrorUpdate, Field(discriminator="type")])
"""Step in the streaming of an assistant message."""

CompactionReason = TypeAliasType("CompactionReason", Literal["threshold", "overflow"])
"""Cause of a compaction: the host requested it (`manual`), the context passed the limit (`threshold`), the provider
refused the context as too long (`overflow`), the session was idle (`idle`), or the answer reached its limit
(`incomplete`)."""

DoneReason = TypeAliasType("DoneReason", Literal["stop", "length", "toolUse"])
"""Stop reason of an assistant message that did not fail."""

ErrorReason = TypeAliasType("ErrorReason", Literal["aborted", "error"])
"""Stop reason of an assistant message that failed or was aborted."""

AgentMessage = TypeAliasType("AgentMessage", Annotated[UserMessage | AssistantMessage | ToolResultMessage |
    BashExecutionMessage | CustomMessage | BranchSummaryMessage | CompactionSummaryMessage,
    Field(discriminator="role")])
"""Message of the conversation. `role` tells the kinds apart."""

AssistantContent = TypeAliasType("AssistantContent", Annotated[TextContent | ThinkingContent | ToolCall,
    Field(discriminator="type")])
"""Content block of an assistant message."""

UserContent = TypeAliasType("UserContent", Annotated[TextContent | ImageContent, Field(discriminator="type")])
"""Content block of a message to the model."""

MessageContent = TypeAliasType("MessageContent", str | list[UserContent])
"""Content of a message to the model: plain text, or content blocks."""

StopReason = TypeAliasType("StopReason", Literal["stop", "length", "toolUse", "error", "aborted"])
"""Reason why an assistant message ended: the model was done (`stop`), reached the token limit (`length`), calls
tools (`toolUse`), failed (`error`) or was aborted (`aborted`). Only in pi 1: the message is not complete yet
(`pending`), or the provider gives the answer later (`deferred`)."""

InputKind = TypeAliasType("InputKind", Literal["text", "image"])
"""Kind of input of a model: text or images."""

ThinkingLevel = TypeAliasType("ThinkingLevel", Literal["off", "minimal", "low", "medium", "high", "xhigh"])
"""Amount of thinking before an answer, in rising order from `off`."""

Count = TypeAliasType("Count", Annotated[int, Field(ge=0, le=9007199254740991)])
"""Non-negative integer that a double holds exactly."""

Timestamp = TypeAliasType("Timestamp", Annotated[int, Field(ge=0, le=9007199254740991)])
"""Point in time, in milliseconds since the Unix epoch."""

StringMap = TypeAliasType("StringMap", dict[str, str])
"""Object whose values are strings."""

NotifyType = TypeAliasType("NotifyType", Literal["info", "warning", "error"])
"""Severity of a notification."""

WidgetPlacement = TypeAliasType("WidgetPlacement", Literal["aboveEditor", "belowEditor"])
"""Position of a widget: above or below the editor."""

JsonObject = TypeAliasType("JsonObject", dict[str, Any])
"""An object with any keys."""

SessionEntry = TypeAliasType("SessionEntry", Annotated[MessageEntry | ModelChangeEntry | ThinkingLevelChangeEntry |
    CompactionEntry | BranchSummaryEntry | CustomEntry | CustomMessageEntry | LabelEntry | SessionInfoEntry,
    Field(discriminator="type")])
"""Entry of a session file: any line after the header. Readers keep entries of unknown types, as other entries may
have them as parents."""

__all__ = [
    "AbortBashCommand", "AbortBashResponse", "AbortCommand", "AbortResponse", "AbortRetryCommand", "AbortRetryResponse",
    "AgentEndEvent", "AgentMessage", "AgentSessionEvent", "AgentStartEvent", "AgentToolResult", "AssistantContent",
    "AssistantMessage", "AssistantMessageEvent", "AutoCompactionEndEvent", "AutoCompactionStartEvent",
    "AutoRetryEndEvent", "AutoRetryStartEvent", "BashCommand", "BashExecutionMessage", "BashResponse", "BashResult",
    "BranchSummaryEntry", "BranchSummaryMessage", "CommandList", "CommandLocation", "CommandSource", "CompactCommand",
    "CompactResponse", "CompactionEntry", "CompactionReason", "CompactionResult", "CompactionSummaryMessage",
    "ConfirmRequest", "Cost", "Count", "CustomEntry", "CustomMessage", "CustomMessageEntry", "CycleModelCommand",
    "CycleModelResponse", "CycleThinkingLevelCommand", "CycleThinkingLevelResponse", "DoneReason", "DoneUpdate",
    "EditorRequest", "ErrorReason", "ErrorUpdate", "ExportHtmlCommand", "ExportHtmlResponse", "ExportedFile",
    "ExtensionError", "FollowUpCommand", "FollowUpResponse", "ForkCommand", "ForkMessage", "ForkMessages",
    "ForkResponse", "ForkResult", "GetAvailableModelsCommand", "GetAvailableModelsResponse", "GetCommandsCommand",
    "GetCommandsResponse", "GetForkMessagesCommand", "GetForkMessagesResponse", "GetLastAssistantTextCommand",
    "GetLastAssistantTextResponse", "GetMessagesCommand", "GetMessagesResponse", "GetSessionStatsCommand",
    "GetSessionStatsResponse", "GetStateCommand", "GetStateResponse", "ImageContent", "Inbound", "InputKind",
    "InputRequest", "JsonObject", "LabelEntry", "LastAssistantText", "MessageContent", "MessageEndEvent",
    "MessageEntry", "MessageList", "MessageStartEvent", "MessageUpdateEvent", "Model", "ModelChangeEntry", "ModelCycle",
    "ModelList", "ModelPrice", "NewSessionCommand", "NewSessionResponse", "NotifyRequest", "NotifyType", "Outbound",
    "PromptCommand", "PromptResponse", "QueueMode", "RequestId", "RpcCommand", "RpcErrorResponse",
    "RpcExtensionUIRequest", "RpcExtensionUIResponse", "RpcResponse", "RpcSuccess", "SelectRequest", "SessionChange",
    "SessionEntry", "SessionHeader", "SessionInfoEntry", "SessionState", "SessionStats", "SetAutoCompactionCommand",
    "SetAutoCompactionResponse", "SetAutoRetryCommand", "SetAutoRetryResponse", "SetEditorTextRequest",
    "SetFollowUpModeCommand", "SetFollowUpModeResponse", "SetModelCommand", "SetModelResponse", "SetSessionNameCommand",
    "SetSessionNameResponse", "SetStatusRequest", "SetSteeringModeCommand", "SetSteeringModeResponse",
    "SetThinkingLevelCommand", "SetThinkingLevelResponse", "SetTitleRequest", "SetWidgetRequest", "SlashCommand",
    "StartUpdate", "SteerCommand", "SteerResponse", "StopReason", "StreamingBehavior", "StringMap",
    "SwitchSessionCommand", "SwitchSessionResponse", "TextContent", "TextDeltaUpdate", "TextEndUpdate",
    "TextStartUpdate", "ThinkingContent", "ThinkingDeltaUpdate", "ThinkingEndUpdate", "ThinkingLevel",
    "ThinkingLevelChange", "ThinkingLevelChangeEntry", "ThinkingStartUpdate", "Timestamp", "TokenTotals", "ToolCall",
    "ToolExecutionEndEvent", "ToolExecutionStartEvent", "ToolExecutionUpdateEvent", "ToolResultMessage",
    "ToolcallDeltaUpdate", "ToolcallEndUpdate", "ToolcallStartUpdate", "TurnEndEvent", "TurnStartEvent",
    "UICancelledResponse", "UIConfirmedResponse", "UIValueResponse", "Usage", "UserContent", "UserMessage",
    "WidgetPlacement",
]
