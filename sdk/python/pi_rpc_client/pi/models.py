"""Made by generate.py from `pi-rpc schema --dialect pi`; not to be changed by hand."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from ..frame import Frame


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


class SteerCommand(Frame):
    """Queues a message that redirects the agent as soon as possible. Allowed in every state; while no run is open it
    waits for the next one."""
    id: RequestId | None = None
    type: Literal["steer"]
    message: str
    """The text for the agent. It may name a prompt template, but no command of an extension."""
    images: list[ImageContent] | None = None
    """Images that go with the text, in order."""


class FollowUpCommand(Frame):
    """Queues a message for the moment when the agent would stop. Allowed in every state; while no run is open it
    waits for the end of the next one."""
    id: RequestId | None = None
    type: Literal["follow_up"]
    message: str
    """The text for the agent. It may name a prompt template, but no command of an extension."""
    images: list[ImageContent] | None = None
    """Images that go with the text, in order."""


class AbortCommand(Frame):
    """Ends the open run, the wait before a retry, or the compaction that `compact` has begun, and answers when that
    is done; in pi 1 any compaction. Queued messages and bash commands stay untouched, and in the other dialects
    automatic compactions."""
    id: RequestId | None = None
    type: Literal["abort"]


class NewSessionCommand(Frame):
    """Leaves the current session and begins an empty one. An extension may veto it."""
    id: RequestId | None = None
    type: Literal["new_session"]
    parent_session: str | None = None
    """Path of the session file to note as the parent of the new session. It is not opened; an empty string counts as
    not given."""


class GetStateCommand(Frame):
    """Reads the state of the session: model, modes, queue length, what goes on."""
    id: RequestId | None = None
    type: Literal["get_state"]


class SetModelCommand(Frame):
    """Switches to a model that has credentials. An open run keeps the model that it began with."""
    id: RequestId | None = None
    type: Literal["set_model"]
    provider: str
    """Id of the provider."""
    model_id: str
    """Id of the model within the provider."""


class CycleModelCommand(Frame):
    """Switches to the next available model, as `set_model` does."""
    id: RequestId | None = None
    type: Literal["cycle_model"]


class GetAvailableModelsCommand(Frame):
    """Lists the models that have credentials."""
    id: RequestId | None = None
    type: Literal["get_available_models"]


class SetThinkingLevelCommand(Frame):
    """Sets how much the model thinks. A level that the model does not know is replaced by the nearest one that it
    does."""
    id: RequestId | None = None
    type: Literal["set_thinking_level"]
    level: ThinkingLevel


class CycleThinkingLevelCommand(Frame):
    """Switches to the next thinking level of the model; after the last comes the first."""
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
    tells of it, only the response."""
    id: RequestId | None = None
    type: Literal["compact"]
    custom_instructions: str | None = None
    """What the summary should pay attention to."""


class SetAutoCompactionCommand(Frame):
    """Turns the automatic compaction of a nearly full context on or off."""
    id: RequestId | None = None
    type: Literal["set_auto_compaction"]
    enabled: bool
    """True: compact automatically."""


class SetAutoRetryCommand(Frame):
    """Turns the automatic retry after a passing fault of the provider on or off. A retry that is under way goes on."""
    id: RequestId | None = None
    type: Literal["set_auto_retry"]
    enabled: bool
    """True: retry automatically."""


class AbortRetryCommand(Frame):
    """Gives up the retry that is being waited for. Without one it does nothing."""
    id: RequestId | None = None
    type: Literal["abort_retry"]


class BashCommand(Frame):
    """Runs a shell command in the working directory, beside whatever goes on, and adds its output to the
    conversation. Answers when the command has ended; only pi 1 tells of its output before."""
    id: RequestId | None = None
    type: Literal["bash"]
    command: str
    """The command line, handed to the shell as it is."""


class AbortBashCommand(Frame):
    """Ends the bash commands that the host has started. Without one it does nothing."""
    id: RequestId | None = None
    type: Literal["abort_bash"]


class GetSessionStatsCommand(Frame):
    """Reads counts, tokens and cost of the messages in the conversation."""
    id: RequestId | None = None
    type: Literal["get_session_stats"]


class ExportHtmlCommand(Frame):
    """Writes the session as one HTML file."""
    id: RequestId | None = None
    type: Literal["export_html"]
    output_path: str | None = None
    """Path of the file to write, absolute or relative to the working directory. Absent: a file named after the
    session in the working directory."""


class SwitchSessionCommand(Frame):
    """Leaves the current session and opens the one in a file. An extension may veto it."""
    id: RequestId | None = None
    type: Literal["switch_session"]
    session_path: str
    """Path of the session file, absolute or relative to the working directory."""


class ForkCommand(Frame):
    """Begins a new session that holds the conversation up to, but without, an earlier user message. An extension may
    veto it."""
    id: RequestId | None = None
    type: Literal["fork"]
    entry_id: str
    """Id of the session entry of a user message, as `get_fork_messages` lists it."""


class GetForkMessagesCommand(Frame):
    """Lists the user messages that `fork` can go back to."""
    id: RequestId | None = None
    type: Literal["get_fork_messages"]


class GetLastAssistantTextCommand(Frame):
    """Reads the text of the newest assistant message."""
    id: RequestId | None = None
    type: Literal["get_last_assistant_text"]


class SetSessionNameCommand(Frame):
    """Gives the session a name to show. Blanks around it are cut off; an empty name is refused."""
    id: RequestId | None = None
    type: Literal["set_session_name"]
    name: str
    """The name, one line of text."""


class GetMessagesCommand(Frame):
    """Reads all messages of the conversation. A message that is still being received is not among them."""
    id: RequestId | None = None
    type: Literal["get_messages"]


class GetCommandsCommand(Frame):
    """Lists what a prompt can call with a leading `/`: commands of extensions, prompt templates and skills."""
    id: RequestId | None = None
    type: Literal["get_commands"]


class RpcErrorResponse(Frame):
    """A command that was refused or failed, or a line that could not be read."""
    id: RequestId | None = None
    type: Literal["response"]
    command: str
    """The `type` of the request, also of one that no dialect knows; `parse` for a line that could not be read as a
    command."""
    success: Literal[False]
    error: str
    """What went wrong, for people to read."""


class PromptResponse(Frame):
    """The prompt was accepted. Its run is told by events and ends with `agent_end`, in pi 1 with `agent_settled`."""
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
    """Nothing runs any more; the `agent_end` of an aborted run came before this."""
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


class SetThinkingLevelResponse(Frame):
    """The level was taken; `get_state` tells which one is in effect."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["set_thinking_level"]
    success: Literal[True]


class CycleThinkingLevelResponse(Frame):
    """The level in effect now, or null where the model does not think."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["cycle_thinking_level"]
    success: Literal[True]
    data: ThinkingLevelChange | None
    """What the command returns; null where there is nothing to cycle through."""


class SetSteeringModeResponse(Frame):
    """The mode is set."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["set_steering_mode"]
    success: Literal[True]


class SetFollowUpModeResponse(Frame):
    """The mode is set."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["set_follow_up_mode"]
    success: Literal[True]


class CompactResponse(Frame):
    """The conversation is compacted."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["compact"]
    success: Literal[True]
    data: CompactionResult


class SetAutoCompactionResponse(Frame):
    """The setting is taken."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["set_auto_compaction"]
    success: Literal[True]


class SetAutoRetryResponse(Frame):
    """The setting is taken."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["set_auto_retry"]
    success: Literal[True]


class AbortRetryResponse(Frame):
    """No retry is waited for any more."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["abort_retry"]
    success: Literal[True]


class BashResponse(Frame):
    """The command has ended, or was cancelled."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["bash"]
    success: Literal[True]
    data: BashResult


class AbortBashResponse(Frame):
    """The bash commands were told to end; each sends its own response."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["abort_bash"]
    success: Literal[True]


class GetSessionStatsResponse(Frame):
    """The figures of the session."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["get_session_stats"]
    success: Literal[True]
    data: SessionStats


class ExportHtmlResponse(Frame):
    """The file is written."""
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
    """The user messages of the session."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["get_fork_messages"]
    success: Literal[True]
    data: ForkMessages


class GetLastAssistantTextResponse(Frame):
    """The text, if there is one."""
    id: RequestId | None = None
    type: Literal["response"]
    command: Literal["get_last_assistant_text"]
    success: Literal[True]
    data: LastAssistantText


class SetSessionNameResponse(Frame):
    """The name is set."""
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


class SessionChange(Frame):
    """Whether another session was opened."""
    cancelled: bool
    """True: an extension vetoed it and nothing has changed."""


class CompactionResult(Frame):
    """What a compaction has made of the conversation."""
    summary: str
    """The summary that stands for the older part, with the lists of files that were touched."""
    first_kept_entry_id: str
    """Id of the first session entry that is kept as it was."""
    tokens_before: Count
    details: Any = None
    """What the maker of the summary notes beside it: an object with the sorted lists of paths `readFiles` and
    `modifiedFiles`, or any JSON when an extension supplied it."""


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
    full_output_path: str | None = None
    """Path of a file with the whole output, if it was large."""


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


class TokenTotals(Frame):
    """Sums of tokens over all assistant messages."""
    input: Count
    output: Count
    cache_read: Count
    cache_write: Count
    total: Count


class ExportedFile(Frame):
    """Where the session was written to."""
    path: str
    """The path as the host gave it, or the name of a file in the working directory."""


class ForkResult(Frame):
    """The outcome of going back to an earlier user message."""
    text: str
    """Text of that user message, for the host to offer again. In pi 1 absent if it was cancelled."""
    cancelled: bool
    """True: an extension vetoed it and nothing has changed."""


class ForkMessages(Frame):
    """The user messages that one can go back to."""
    messages: list[ForkMessage]
    """The messages with text, in the order of the session file; in pi and xcsh of all branches, from pi 0.73 on of
    the active one."""


class ForkMessage(Frame):
    """A user message that one can go back to."""
    entry_id: str
    """Id of its session entry."""
    text: str
    """Its text."""


class LastAssistantText(Frame):
    """The text of the newest assistant message."""
    text: str | None = None
    """Its text blocks, joined; absent or null if there is no assistant message."""


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
    location: CommandLocation | None = None
    path: str | None = None
    """Absolute path of the file that defines it."""


class AgentStartEvent(Frame):
    """A run begins: the agent works until agent_end."""
    type: Literal["agent_start"]


class AgentEndEvent(Frame):
    """The run is over."""
    type: Literal["agent_end"]
    messages: list[AgentMessage]
    """Every message of this run, in order: what was prompted, what was said, what tools returned. Earlier history is
    not repeated."""


class TurnStartEvent(Frame):
    """A turn begins: new input, if any, one answer of the model, and the tools that it calls."""
    type: Literal["turn_start"]


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


class AutoCompactionStartEvent(Frame):
    """The server begins to shorten the context by itself."""
    type: Literal["auto_compaction_start"]
    reason: CompactionReason


class AutoCompactionEndEvent(Frame):
    """The automatic compaction is over, one way or the other."""
    type: Literal["auto_compaction_end"]
    result: CompactionResult | None = None
    """What came of it; only when it succeeded."""
    aborted: bool
    """Whether it was cancelled."""
    will_retry: bool
    """Whether the request that did not fit is now made again."""
    error_message: str | None = None
    """Why it failed."""


class AutoRetryStartEvent(Frame):
    """A run failed for a passing reason and will be tried again after a wait."""
    type: Literal["auto_retry_start"]
    attempt: Count
    max_attempts: Count
    delay_ms: Count
    error_message: str
    """Why the run failed."""


class AutoRetryEndEvent(Frame):
    """Trying again has come to an end."""
    type: Literal["auto_retry_end"]
    success: bool
    """Whether an attempt succeeded."""
    attempt: Count
    final_error: str | None = None
    """Why it was given up; only without success."""


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


class ExtensionError(Frame):
    """An extension failed. No command fails because of it."""
    type: Literal["extension_error"]
    extension_path: str
    """The file of the extension, or a name for what failed, such as `command:<name>`."""
    event: str
    """What the extension was doing: the name of the event, or command."""
    error: str
    """What went wrong."""


class UserMessage(Frame):
    """What the user said. The server always writes the array form: the text block first, then the images."""
    role: Literal["user"]
    content: MessageContent
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
    error_message: str | None = None
    """What went wrong; present exactly when stopReason is error or aborted."""


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
    full_output_path: str | None = None
    """The file that holds the whole output, when it was too long."""
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
    timestamp: Timestamp


class BranchSummaryMessage(Frame):
    """What was said on a branch of the session that was left."""
    role: Literal["branchSummary"]
    summary: str
    """The summary."""
    from_id: str
    """The session entry at which the branch was left; root for the very beginning, in pi 1 null."""
    timestamp: Timestamp


class CompactionSummaryMessage(Frame):
    """What was said before the last compaction; opens the context after one."""
    role: Literal["compactionSummary"]
    summary: str
    """The summary."""
    tokens_before: Count
    timestamp: Timestamp


class TextContent(Frame):
    """A block of text."""
    type: Literal["text"]
    text: str
    """The text."""
    text_signature: str | None = None
    """A mark of the provider that has to be sent back with the text; opaque."""


class ThinkingContent(Frame):
    """A block of the model's reasoning."""
    type: Literal["thinking"]
    thinking: str
    """The reasoning; a placeholder when the provider hid it."""
    thinking_signature: str | None = None
    """What the provider wants back with the block, such as a signature or the whole reasoning item; opaque."""
    redacted: bool | None = None
    """Whether the provider hid the reasoning; the signature then holds its encrypted form."""


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


class ImageContent(Frame):
    """A picture."""
    type: Literal["image"]
    data: str
    """The bytes in base64, without a data URL in front."""
    mime_type: str
    """The media type, for example image/png."""


class AgentToolResult(Frame):
    """What a tool returned, or has to show so far."""
    content: list[UserContent]
    """What the model is told; may be empty."""
    details: Any = None
    """What the tool tells the host beyond the content; its shape is the tool's own. Absent when there is nothing."""


class Usage(Frame):
    """Tokens and cost of one request to a model."""
    input: Count
    output: Count
    cache_read: Count
    cache_write: Count
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
    input: list[InputKind]
    """What it accepts."""
    cost: ModelPrice
    context_window: Count
    max_tokens: Count
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


class SelectRequest(Frame):
    """Asks the user to choose one of several options."""
    type: Literal["extension_ui_request"]
    id: str
    """Id of this request; an answer repeats it."""
    method: Literal["select"]
    title: str
    """The question."""
    options: list[str]
    """The options, in order."""
    timeout: Count | None = None


class ConfirmRequest(Frame):
    """Asks the user for yes or no."""
    type: Literal["extension_ui_request"]
    id: str
    """Id of this request; an answer repeats it."""
    method: Literal["confirm"]
    title: str
    """Headline of the question."""
    message: str
    """The question."""
    timeout: Count | None = None


class InputRequest(Frame):
    """Asks the user for a line of text."""
    type: Literal["extension_ui_request"]
    id: str
    """Id of this request; an answer repeats it."""
    method: Literal["input"]
    title: str
    """The question."""
    placeholder: str | None = None
    """Text to show while nothing is entered."""
    timeout: Count | None = None


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


class NotifyRequest(Frame):
    """Shows the user a message."""
    type: Literal["extension_ui_request"]
    id: str
    """Id of this request; an answer repeats it."""
    method: Literal["notify"]
    message: str
    """The message."""
    notify_type: NotifyType | None = None


class SetStatusRequest(Frame):
    """Sets or clears an entry of the status line."""
    type: Literal["extension_ui_request"]
    id: str
    """Id of this request; an answer repeats it."""
    method: Literal["setStatus"]
    status_key: str
    """Which entry."""
    status_text: str | None = None
    """The text to show; absent: clear the entry."""


class SetWidgetRequest(Frame):
    """Sets or removes a block of lines beside the editor."""
    type: Literal["extension_ui_request"]
    id: str
    """Id of this request; an answer repeats it."""
    method: Literal["setWidget"]
    widget_key: str
    """Which block."""
    widget_lines: list[str] | None = None
    """The lines to show; absent: remove the block."""
    widget_placement: WidgetPlacement | None = None


class SetTitleRequest(Frame):
    """Sets the title of the window. xcsh sends it only if it was asked to."""
    type: Literal["extension_ui_request"]
    id: str
    """Id of this request; an answer repeats it."""
    method: Literal["setTitle"]
    title: str
    """The title."""


class SetEditorTextRequest(Frame):
    """Replaces the text in the place where prompts are entered."""
    type: Literal["extension_ui_request"]
    id: str
    """Id of this request; an answer repeats it."""
    method: Literal["set_editor_text"]
    text: str
    """The text."""


class UIValueResponse(Frame):
    """The user chose an option or entered a text."""
    type: Literal["extension_ui_response"]
    id: str
    """The `id` of the request."""
    value: str
    """The option or the text."""


class UIConfirmedResponse(Frame):
    """The user said yes or no."""
    type: Literal["extension_ui_response"]
    id: str
    """The `id` of the request."""
    confirmed: bool
    """True: yes."""


class UICancelledResponse(Frame):
    """The user closed the dialog without an answer; the agent goes on with its default."""
    type: Literal["extension_ui_response"]
    id: str
    """The `id` of the request."""
    cancelled: Literal[True]


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
    provider: str
    """The provider."""
    model_id: str
    """The id of the model."""


class ThinkingLevelChangeEntry(Frame):
    """From here on models think more, or less."""
    type: Literal["thinking_level_change"]
    id: str
    """Names the entry inside its file."""
    parent_id: str | None
    """The entry before it on its branch; null for the first of one."""
    timestamp: str
    """When it was written: ISO 8601 in UTC with milliseconds."""
    thinking_level: str
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
    first_kept_entry_id: str
    """The first entry before this one that stays in the context."""
    tokens_before: Count
    details: Any = None
    """What the maker of the summary notes beside it; any JSON."""
    from_hook: bool | None = None
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
    from_hook: bool | None = None
    """Whether an extension made the summary."""


class CustomEntry(Frame):
    """State of an extension; models are not told."""
    type: Literal["custom"]
    custom_type: str
    """The kind of state, named by the extension."""
    data: Any = None
    """The state; any JSON."""
    id: str
    """Names the entry inside its file."""
    parent_id: str | None
    """The entry before it on its branch; null for the first of one."""
    timestamp: str
    """When it was written: ISO 8601 in UTC with milliseconds."""


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
    id: str
    """Names the entry inside its file."""
    parent_id: str | None
    """The entry before it on its branch; null for the first of one."""
    timestamp: str
    """When it was written: ISO 8601 in UTC with milliseconds."""


class LabelEntry(Frame):
    """A mark on another entry; the last one counts."""
    type: Literal["label"]
    id: str
    """Names the entry inside its file."""
    parent_id: str | None
    """The entry before it on its branch; null for the first of one."""
    timestamp: str
    """When it was written: ISO 8601 in UTC with milliseconds."""
    target_id: str
    """The entry that is marked."""
    label: str | None = None
    """The mark; absent or empty: none any more."""


class SessionInfoEntry(Frame):
    """The session was named."""
    type: Literal["session_info"]
    id: str
    """Names the entry inside its file."""
    parent_id: str | None
    """The entry before it on its branch; null for the first of one."""
    timestamp: str
    """When it was written: ISO 8601 in UTC with milliseconds."""
    name: str | None = None
    """The name."""


RpcCommand = TypeAliasType("RpcCommand", Annotated[PromptCommand | SteerCommand | FollowUpCommand | AbortCommand |
    NewSessionCommand | GetStateCommand | SetModelCommand | CycleModelCommand | GetAvailableModelsCommand |
    SetThinkingLevelCommand | CycleThinkingLevelCommand | SetSteeringModeCommand | SetFollowUpModeCommand |
    CompactCommand | SetAutoCompactionCommand | SetAutoRetryCommand | AbortRetryCommand | BashCommand | AbortBashCommand
    | GetSessionStatsCommand | ExportHtmlCommand | SwitchSessionCommand | ForkCommand | GetForkMessagesCommand |
    GetLastAssistantTextCommand | SetSessionNameCommand | GetMessagesCommand | GetCommandsCommand,
    Field(discriminator="type")])
"""A request of the host. Each is answered by a response with the same `id`; keys that a command does not know are
ignored."""

RpcExtensionUIResponse = TypeAliasType("RpcExtensionUIResponse", UIValueResponse | UIConfirmedResponse |
    UICancelledResponse)
"""The answer of the user to a dialog. It gets no response. An answer to a dialog that is not open is ignored; one of
the wrong kind counts as the default."""

Inbound = TypeAliasType("Inbound", Annotated[RpcCommand | RpcExtensionUIResponse, Field(discriminator="type")])
"""Everything that a host may write: one JSON object a line, ended by a line feed. In an optional member, at any
depth, `null` means the same as absent; a required member refuses it."""

RpcSuccess = TypeAliasType("RpcSuccess", Annotated[PromptResponse | SteerResponse | FollowUpResponse | AbortResponse |
    NewSessionResponse | GetStateResponse | SetModelResponse | CycleModelResponse | GetAvailableModelsResponse |
    SetThinkingLevelResponse | CycleThinkingLevelResponse | SetSteeringModeResponse | SetFollowUpModeResponse |
    CompactResponse | SetAutoCompactionResponse | SetAutoRetryResponse | AbortRetryResponse | BashResponse |
    AbortBashResponse | GetSessionStatsResponse | ExportHtmlResponse | SwitchSessionResponse | ForkResponse |
    GetForkMessagesResponse | GetLastAssistantTextResponse | SetSessionNameResponse | GetMessagesResponse |
    GetCommandsResponse, Field(discriminator="command")])
"""A command that was accepted. Told apart by `command`; `data` is there only for the commands that have a result."""

RpcResponse = TypeAliasType("RpcResponse", Annotated[RpcSuccess | RpcErrorResponse, Field(discriminator="success")])
"""The answer to a command, or the refusal of a line that could not be read."""

AgentSessionEvent = TypeAliasType("AgentSessionEvent", Annotated[AgentStartEvent | AgentEndEvent | TurnStartEvent |
    TurnEndEvent | MessageStartEvent | MessageUpdateEvent | MessageEndEvent | ToolExecutionStartEvent |
    ToolExecutionUpdateEvent | ToolExecutionEndEvent | AutoCompactionStartEvent | AutoCompactionEndEvent |
    AutoRetryStartEvent | AutoRetryEndEvent, Field(discriminator="type")])
"""What happens in the session, as it happens. Events have no id."""

RpcExtensionUIRequest = TypeAliasType("RpcExtensionUIRequest", Annotated[SelectRequest | ConfirmRequest | InputRequest |
    EditorRequest | NotifyRequest | SetStatusRequest | SetWidgetRequest | SetTitleRequest | SetEditorTextRequest,
    Field(discriminator="method")])
"""Something that an extension wants of the user interface: a dialog that waits for an answer, or a notice that does
not."""

Outbound = TypeAliasType("Outbound", Annotated[RpcResponse | AgentSessionEvent | RpcExtensionUIRequest | ExtensionError,
    Field(discriminator="type")])
"""Everything that a server may write: one JSON object a line, ended by a line feed."""

RequestId = TypeAliasType("RequestId", str)
"""Ties a response to its request. The host chooses it and does not use it again while the request is open."""

StreamingBehavior = TypeAliasType("StreamingBehavior", Literal["steer", "followUp"])
"""How a prompt is queued while a run is open: `steer` redirects the run as soon as possible, `followUp` waits until
it would stop."""

QueueMode = TypeAliasType("QueueMode", Literal["all", "one-at-a-time"])
"""How many waiting messages are delivered at a time: `all` delivers the whole queue, `one-at-a-time` its first
message."""

CommandSource = TypeAliasType("CommandSource", Literal["extension", "prompt", "skill"])
"""What a slash command is: a command of an extension, a prompt template or a skill."""

CommandLocation = TypeAliasType("CommandLocation", Literal["user", "project", "path"])
"""Where a slash command was found: in the user's directory, in the project, or at a path that was given."""

AssistantMessageEvent = TypeAliasType("AssistantMessageEvent", Annotated[StartUpdate | TextStartUpdate | TextDeltaUpdate
    | TextEndUpdate | ThinkingStartUpdate | ThinkingDeltaUpdate | ThinkingEndUpdate | ToolcallStartUpdate |
    ToolcallDeltaUpdate | ToolcallEndUpdate | DoneUpdate | ErrorUpdate, Field(discriminator="type")])
"""How an assistant message has grown."""

CompactionReason = TypeAliasType("CompactionReason", Literal["threshold", "overflow"])
"""What made a compaction necessary: the host asked for it, the context passed the limit, the provider refused it as
too long, or the session was idle."""

DoneReason = TypeAliasType("DoneReason", Literal["stop", "length", "toolUse"])
"""Why the model stopped, when all went well."""

ErrorReason = TypeAliasType("ErrorReason", Literal["aborted", "error"])
"""Why an answer broke off."""

AgentMessage = TypeAliasType("AgentMessage", Annotated[UserMessage | AssistantMessage | ToolResultMessage |
    BashExecutionMessage | CustomMessage | BranchSummaryMessage | CompactionSummaryMessage,
    Field(discriminator="role")])
"""A message of the conversation, told apart by its role."""

AssistantContent = TypeAliasType("AssistantContent", Annotated[TextContent | ThinkingContent | ToolCall,
    Field(discriminator="type")])
"""One block of what the model said."""

UserContent = TypeAliasType("UserContent", Annotated[TextContent | ImageContent, Field(discriminator="type")])
"""One block of what the model is told."""

MessageContent = TypeAliasType("MessageContent", str | list[UserContent])
"""Content of a message that the model is told: plain text, or a list of blocks."""

StopReason = TypeAliasType("StopReason", Literal["stop", "length", "toolUse", "error", "aborted"])
"""Why the model stopped: it was done, it ran into the token limit, it wants tools to be run, it failed, or it was
aborted. In pi 1 also: it has not stopped yet, or the provider gives the answer later."""

InputKind = TypeAliasType("InputKind", Literal["text", "image"])
"""What a model accepts besides tools: text, pictures."""

ThinkingLevel = TypeAliasType("ThinkingLevel", Literal["off", "minimal", "low", "medium", "high", "xhigh"])
"""How hard the model should think before it answers."""

Count = TypeAliasType("Count", Annotated[int, Field(ge=0, le=9007199254740991)])
"""A whole number that is not negative, small enough for a double to hold exactly."""

Timestamp = TypeAliasType("Timestamp", Annotated[int, Field(ge=0, le=9007199254740991)])
"""A point in time, in milliseconds since the Unix epoch."""

StringMap = TypeAliasType("StringMap", dict[str, str])
"""Text by name."""

NotifyType = TypeAliasType("NotifyType", Literal["info", "warning", "error"])
"""How grave a notification is."""

WidgetPlacement = TypeAliasType("WidgetPlacement", Literal["aboveEditor", "belowEditor"])
"""Where a widget is shown: above or below the editor."""

JsonObject = TypeAliasType("JsonObject", dict[str, Any])
"""An object with any keys."""

SessionEntry = TypeAliasType("SessionEntry", Annotated[MessageEntry | ModelChangeEntry | ThinkingLevelChangeEntry |
    CompactionEntry | BranchSummaryEntry | CustomEntry | CustomMessageEntry | LabelEntry | SessionInfoEntry,
    Field(discriminator="type")])
"""A line of a session file after the header. Readers keep types that they do not know: they are links of the chain
of parents."""

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
