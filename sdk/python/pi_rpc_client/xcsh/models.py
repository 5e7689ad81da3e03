"""Made by generate.py from `pi-rpc schema --dialect xcsh`; not to be changed by hand."""

from __future__ import annotations

from typing import Annotated, Any, Dict, Literal

from pydantic import BaseModel as _BaseModel
from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel
from typing_extensions import TypeAliasType


class BaseModel(_BaseModel):
    model_config = ConfigDict(
        extra="allow",
        validate_by_name=True,
        alias_generator=to_camel,
        use_attribute_docstrings=True,
    )


class AbortAndPromptCommand(BaseModel):
    """
    Ends the open run as `abort` does, and any compaction, then starts a new run as `prompt` does.
    """

    id: RequestId | None = None
    type: Literal["abort_and_prompt"]
    """
    Names the command.
    """
    message: str
    """
    The text for the agent.
    """
    images: list[ImageContent] | None = None
    """
    Images that go with the text, in order.
    """


class AbortAndPromptResponse(BaseModel):
    """
    The old run has ended and the prompt was accepted.
    """

    id: RequestId | None = None
    type: Literal["response"]
    """
    Marks a response.
    """
    command: Literal["abort_and_prompt"]
    """
    The `type` of the request.
    """
    success: Literal[True]
    """
    The command was accepted.
    """


class AbortBashCommand(BaseModel):
    """
    Ends the bash commands that the host has started. Without one it does nothing.
    """

    id: RequestId | None = None
    type: Literal["abort_bash"]
    """
    Names the command.
    """


class AbortBashResponse(BaseModel):
    """
    The bash commands were told to end; each sends its own response.
    """

    id: RequestId | None = None
    type: Literal["response"]
    """
    Marks a response.
    """
    command: Literal["abort_bash"]
    """
    The `type` of the request.
    """
    success: Literal[True]
    """
    The command was accepted.
    """


class AbortCommand(BaseModel):
    """
    Ends the open run, the wait before a retry, or the compaction that `compact` has begun, and answers when that is done; in pi 1 any compaction. Queued messages and bash commands stay untouched, and in the other dialects automatic compactions.
    """

    id: RequestId | None = None
    type: Literal["abort"]
    """
    Names the command.
    """


class AbortResponse(BaseModel):
    """
    Nothing runs any more; the `agent_end` of an aborted run came before this.
    """

    id: RequestId | None = None
    type: Literal["response"]
    """
    Marks a response.
    """
    command: Literal["abort"]
    """
    The `type` of the request.
    """
    success: Literal[True]
    """
    The command was accepted.
    """


class AbortRetryCommand(BaseModel):
    """
    Gives up the retry that is being waited for. Without one it does nothing.
    """

    id: RequestId | None = None
    type: Literal["abort_retry"]
    """
    Names the command.
    """


class AbortRetryResponse(BaseModel):
    """
    No retry is waited for any more.
    """

    id: RequestId | None = None
    type: Literal["response"]
    """
    Marks a response.
    """
    command: Literal["abort_retry"]
    """
    The `type` of the request.
    """
    success: Literal[True]
    """
    The command was accepted.
    """


class AgentEndEvent(BaseModel):
    """
    The run is over.
    """

    type: Literal["agent_end"]
    """
    Marks an agent_end event.
    """
    messages: list[AgentMessage]
    """
    Every message of this run, in order: what was prompted, what was said, what tools returned. Earlier history is not repeated.
    """


class AgentStartEvent(BaseModel):
    """
    A run begins: the agent works until agent_end.
    """

    type: Literal["agent_start"]
    """
    Marks an agent_start event.
    """


class AgentToolResult(BaseModel):
    """
    What a tool returned, or has to show so far.
    """

    content: list[UserContent]
    """
    What the model is told; may be empty.
    """
    details: Any | None = None
    """
    What the tool tells the host beyond the content; its shape is the tool's own. Absent when there is nothing.
    """
    is_warning: bool | None = None
    """
    Whether the call succeeded with reservations.
    """


class AssistantMessage(BaseModel):
    """
    What the model said in one turn: complete, or a snapshot of what has arrived so far.
    """

    role: Literal["assistant"]
    """
    Marks an assistant message.
    """
    content: list[AssistantContent]
    """
    The blocks in the order in which the model began them; may be empty.
    """
    api: str
    """
    The vendor API that was spoken, for example anthropic-messages.
    """
    provider: str
    """
    The provider that was asked.
    """
    model: str
    """
    The id of the model that was asked.
    """
    usage: Usage
    stop_reason: StopReason
    timestamp: Timestamp
    response_id: str | None = None
    """
    The id that the provider gave its answer.
    """
    provider_payload: JsonObject | None = None
    error_message: str | None = None
    """
    What went wrong; present exactly when stopReason is error or aborted.
    """
    duration: Count | None = None
    ttft: Count | None = None


Attribution = TypeAliasType(
    "Attribution", Annotated[Literal["user", "agent"], Field(title="Attribution")]
)
"""
On whose behalf a message was made: the user's, or the agent's own.
"""


class AutoCompactionEndEvent(BaseModel):
    """
    The automatic compaction is over, one way or the other.
    """

    type: Literal["auto_compaction_end"]
    """
    Marks an auto_compaction_end event.
    """
    action: CompactionAction
    result: CompactionResult | None = None
    """
    What came of it; only when it succeeded.
    """
    aborted: bool
    """
    Whether it was cancelled.
    """
    will_retry: bool
    """
    Whether the request that did not fit is now made again.
    """
    error_message: str | None = None
    """
    Why it failed.
    """
    skipped: bool | None = None
    """
    Present and true when there was nothing to compact.
    """


class AutoCompactionStartEvent(BaseModel):
    """
    The server begins to shorten the context by itself.
    """

    type: Literal["auto_compaction_start"]
    """
    Marks an auto_compaction_start event.
    """
    reason: CompactionReason
    action: CompactionAction


class AutoRetryEndEvent(BaseModel):
    """
    Trying again has come to an end.
    """

    type: Literal["auto_retry_end"]
    """
    Marks an auto_retry_end event.
    """
    success: bool
    """
    Whether an attempt succeeded.
    """
    attempt: Count
    final_error: str | None = None
    """
    Why it was given up; only without success.
    """


class AutoRetryStartEvent(BaseModel):
    """
    A run failed for a passing reason and will be tried again after a wait.
    """

    type: Literal["auto_retry_start"]
    """
    Marks an auto_retry_start event.
    """
    attempt: Count
    max_attempts: Count
    delay_ms: Count
    error_message: str
    """
    Why the run failed.
    """


class BashCommand(BaseModel):
    """
    Runs a shell command in the working directory, beside whatever goes on, and adds its output to the conversation. Answers when the command has ended; only pi 1 tells of its output before.
    """

    id: RequestId | None = None
    type: Literal["bash"]
    """
    Names the command.
    """
    command: str
    """
    The command line, handed to the shell as it is.
    """


class BashExecutionMessage(BaseModel):
    """
    A shell command that the host ran with the bash command, and what it printed.
    """

    role: Literal["bashExecution"]
    """
    Marks a shell command of the host.
    """
    command: str
    """
    The command line.
    """
    output: str
    """
    What it printed, cleaned, and cut to its end when it was long.
    """
    exit_code: Annotated[int | None, Field(ge=-2147483648, le=2147483647)] = None
    """
    The exit status; absent when the command was killed.
    """
    cancelled: bool
    """
    Whether the command was stopped before it ended.
    """
    truncated: bool
    """
    Whether part of the output is missing.
    """
    meta: OutputMeta | None = None
    timestamp: Timestamp
    exclude_from_context: bool | None = None
    """
    Whether the model is kept from seeing this.
    """


class BashResponse(BaseModel):
    """
    The command has ended, or was cancelled.
    """

    id: RequestId | None = None
    type: Literal["response"]
    """
    Marks a response.
    """
    command: Literal["bash"]
    """
    The `type` of the request.
    """
    success: Literal[True]
    """
    The command was accepted.
    """
    data: BashResult


class BashResult(BaseModel):
    """
    What became of a bash command.
    """

    output: str
    """
    Standard output and standard error as they came, without control sequences; only the end of a long output.
    """
    exit_code: Annotated[int | None, Field(ge=-2147483648, le=2147483647)] = None
    """
    Exit code of the command; absent if it was killed.
    """
    cancelled: bool
    """
    The command was ended before it was done.
    """
    truncated: bool
    """
    The beginning of the output was left out.
    """
    new_cwd: str | None = None
    """
    Working directory of the shell after the command.
    """
    total_lines: Count | None = None
    total_bytes: Count | None = None
    output_lines: Count | None = None
    output_bytes: Count | None = None
    artifact_id: str | None = None
    """
    Id under which the whole output is kept.
    """


class BashToolDetails(BaseModel):
    """
    The details of a result, or of an update, of the bash tool.
    """

    truncation: TruncationResult | None = None
    """
    What was cut; absent when nothing was.
    """
    full_output_path: str | None = None
    """
    The file that holds the whole output, when it was cut.
    """
    timeout_seconds: Count | None = None


class BeforeAgentStartHook(BaseModel):
    """
    A run is about to begin. `message` is added behind what the user said; `systemPrompt` holds for this run.
    """

    type: Literal["before_agent_start"]
    """
    Marks a `before_agent_start`.
    """
    prompt: str
    """
    What the user said.
    """
    images: list[ImageContent] | None = None
    """
    Images that belong to it.
    """
    system_prompt: str
    """
    The instructions so far.
    """


class BeforeCompactHook(BaseModel):
    """
    The conversation is about to be compacted. `cancel` prevents it; `compaction` takes the place of the summary that a model would be asked for.
    """

    type: Literal["session_before_compact"]
    """
    Marks a `session_before_compact`.
    """
    first_kept_entry_id: str
    """
    The first entry that stays as it is.
    """
    tokens_before: Count
    custom_instructions: str | None = None
    """
    What the user asked the summary to dwell on.
    """
    messages_to_summarize: list[AgentMessage]
    """
    What is summed up, oldest first.
    """
    previous_summary: str | None = None
    """
    The summary that came before these messages.
    """
    is_split_turn: bool | None = None
    """
    The cut goes through a turn.
    """
    turn_prefix_messages: list[AgentMessage] | None = None
    """
    The part of that turn that is summed up, oldest first.
    """
    read_files: list[str] | None = None
    """
    Files that were read, in what is summed up.
    """
    modified_files: list[str] | None = None
    """
    Files that were modified, in what is summed up.
    """
    reserve_tokens: Count | None = None
    keep_recent_tokens: Count | None = None
    reason: HookReason | None = None
    will_retry: bool | None = None
    """
    The run that the context was too long for is tried again afterwards.
    """


class BeforeForkHook(BaseModel):
    """
    A session is about to be forked. `cancel` prevents it.
    """

    type: Literal["session_before_fork"]
    """
    Marks a `session_before_fork`.
    """
    entry_id: str
    """
    The message of the user that it is forked at.
    """
    position: ForkPosition | None = None


class BeforeSwitchHook(BaseModel):
    """
    Another session is about to be opened. `cancel` keeps the one that is open.
    """

    type: Literal["session_before_switch"]
    """
    Marks a `session_before_switch`.
    """
    reason: SwitchReason
    target_session_file: str | None = None
    """
    The file of the other session, as the host named it; absent for a new one.
    """


class BeforeTreeHook(BaseModel):
    """
    Another branch of the session is about to be taken up. `cancel` prevents it; `summary` takes the place of the one that a model would be asked for.
    """

    type: Literal["session_before_tree"]
    """
    Marks a `session_before_tree`.
    """
    target_id: str
    """
    The entry chosen.
    """
    old_leaf_id: str | None = None
    """
    Where the session is; absent: at its beginning.
    """
    common_ancestor_id: str | None = None
    """
    The last entry that both branches have; absent: none.
    """
    entries_to_summarize: list[JsonObject]
    """
    What is left behind, as it is kept, oldest first.
    """
    user_wants_summary: bool
    """
    A summary of what is left behind was asked for.
    """
    custom_instructions: str | None = None
    """
    What the summary is to dwell on.
    """
    replace_instructions: bool | None = None
    """
    These instructions stand instead of the usual ones.
    """
    label: str | None = None
    """
    A label for the entry that is added.
    """


class BranchCommand(BaseModel):
    """
    Begins a new session that holds the conversation up to, but without, an earlier user message. An extension may veto it.
    """

    id: RequestId | None = None
    type: Literal["branch"]
    """
    Names the command.
    """
    entry_id: str
    """
    Id of the session entry of a user message, as `get_branch_messages` lists it.
    """


class BranchResponse(BaseModel):
    """
    The new session is open, or an extension vetoed it.
    """

    id: RequestId | None = None
    type: Literal["response"]
    """
    Marks a response.
    """
    command: Literal["branch"]
    """
    The `type` of the request.
    """
    success: Literal[True]
    """
    The command was accepted.
    """
    data: ForkResult


class BranchSummaryEntry(BaseModel):
    """
    What was said on a branch that was left.
    """

    type: Literal["branch_summary"]
    """
    Marks the kind of entry.
    """
    id: str
    """
    Names the entry inside its file.
    """
    parent_id: str | None
    """
    The entry before it on its branch; null for the first of one.
    """
    timestamp: str
    """
    When it was written: ISO 8601 in UTC with milliseconds.
    """
    from_id: str
    """
    The entry at which the branch was left; root for the very beginning, in pi 1 null.
    """
    summary: str
    """
    The summary.
    """
    details: Any | None = None
    """
    What the maker of the summary notes beside it; any JSON.
    """
    from_extension: bool | None = None
    """
    Whether an extension made the summary.
    """


class BranchSummaryMessage(BaseModel):
    """
    What was said on a branch of the session that was left.
    """

    role: Literal["branchSummary"]
    """
    Marks the summary of a branch.
    """
    summary: str
    """
    The summary.
    """
    from_id: str
    """
    The session entry at which the branch was left; root for the very beginning, in pi 1 null.
    """
    timestamp: Timestamp


class CancelRequest(BaseModel):
    """
    Takes an editor request back: the agent no longer waits for its answer.
    """

    type: Literal["extension_ui_request"]
    """
    Marks a request to the user interface.
    """
    id: str
    """
    Id of this request; an answer repeats it.
    """
    method: Literal["cancel"]
    """
    What is asked for.
    """
    target_id: str
    """
    The `id` of that request.
    """


class CompactCommand(BaseModel):
    """
    Replaces the older part of the conversation by a summary. An open run is ended first. In pi and xcsh no event tells of it, only the response.
    """

    id: RequestId | None = None
    type: Literal["compact"]
    """
    Names the command.
    """
    custom_instructions: str | None = None
    """
    What the summary should pay attention to.
    """


class CompactResponse(BaseModel):
    """
    The conversation is compacted.
    """

    id: RequestId | None = None
    type: Literal["response"]
    """
    Marks a response.
    """
    command: Literal["compact"]
    """
    The `type` of the request.
    """
    success: Literal[True]
    """
    The command was accepted.
    """
    data: CompactionResult


class CompactedHook(BaseModel):
    """
    The conversation was compacted.
    """

    type: Literal["session_compact"]
    """
    Marks a `session_compact`.
    """
    compaction_entry: JsonObject
    from_extension: bool
    """
    The summary is an extension's.
    """
    reason: HookReason
    will_retry: bool
    """
    A run is tried again now.
    """


CompactionAction = TypeAliasType(
    "CompactionAction",
    Annotated[Literal["context-full", "handoff"], Field(title="CompactionAction")],
)
"""
What is done about a full context: the history is summarised, or handed over to a new session.
"""


class CompactionDetails(BaseModel):
    """
    `details` of a compaction whose summary no extension made: the files that were touched in what is summed up, sorted. A file is in one of the lists only.
    """

    read_files: list[str]
    """
    Paths of files that were read and not changed.
    """
    modified_files: list[str]
    """
    Paths of files that were written or edited.
    """


class CompactionEntry(BaseModel):
    """
    The older part of the conversation was replaced by a summary.
    """

    type: Literal["compaction"]
    """
    Marks the kind of entry.
    """
    id: str
    """
    Names the entry inside its file.
    """
    parent_id: str | None
    """
    The entry before it on its branch; null for the first of one.
    """
    timestamp: str
    """
    When it was written: ISO 8601 in UTC with milliseconds.
    """
    summary: str
    """
    The summary.
    """
    short_summary: str | None = None
    """
    A short version of the summary to show.
    """
    first_kept_entry_id: str
    """
    The first entry before this one that stays in the context.
    """
    tokens_before: Count
    details: Any | None = None
    """
    What the maker of the summary notes beside it; any JSON.
    """
    preserve_data: JsonObject | None = None
    from_extension: bool | None = None
    """
    Whether an extension made the summary.
    """


CompactionReason = TypeAliasType(
    "CompactionReason",
    Annotated[
        Literal["threshold", "overflow", "idle"], Field(title="CompactionReason")
    ],
)
"""
What made a compaction necessary: the host asked for it, the context passed the limit, the provider refused it as too long, or the session was idle.
"""


class CompactionResult(BaseModel):
    """
    What a compaction has made of the conversation.
    """

    summary: str
    """
    The summary that stands for the older part, with the lists of files that were touched.
    """
    short_summary: str | None = None
    """
    A short version of the summary to show.
    """
    first_kept_entry_id: str
    """
    Id of the first session entry that is kept as it was.
    """
    tokens_before: Count
    details: Any | None = None
    """
    What the maker of the summary notes beside it: an object with the sorted lists of paths `readFiles` and `modifiedFiles`, or any JSON when an extension supplied it.
    """
    preserve_data: JsonObject | None = None


class CompactionSummaryMessage(BaseModel):
    """
    What was said before the last compaction; opens the context after one.
    """

    role: Literal["compactionSummary"]
    """
    Marks the summary of a compaction.
    """
    summary: str
    """
    The summary.
    """
    short_summary: str | None = None
    """
    The summary in a sentence or two, for display.
    """
    tokens_before: Count
    provider_payload: JsonObject | None = None
    timestamp: Timestamp


class ConfirmRequest(BaseModel):
    """
    Asks the user for yes or no.
    """

    type: Literal["extension_ui_request"]
    """
    Marks a request to the user interface.
    """
    id: str
    """
    Id of this request; an answer repeats it.
    """
    method: Literal["confirm"]
    """
    What is asked for.
    """
    title: str
    """
    Headline of the question.
    """
    message: str
    """
    The question.
    """
    timeout: Count | None = None


class ContextChangeEntry(BaseModel):
    """
    From here on services are asked in another context.
    """

    type: Literal["context_change"]
    """
    Marks the kind of entry.
    """
    id: str
    """
    Names the entry inside its file.
    """
    parent_id: str | None
    """
    The entry before it on its branch; null for the first of one.
    """
    timestamp: str
    """
    When it was written: ISO 8601 in UTC with milliseconds.
    """
    context_name: str
    """
    The name of the context.
    """
    tenant: str
    """
    The tenant.
    """
    namespace: str
    """
    The namespace.
    """


class ContextHook(BaseModel):
    """
    A model is about to be asked. `messages` takes the place of the conversation, for this request only.
    """

    type: Literal["context"]
    """
    Marks a `context`.
    """
    messages: list[AgentMessage]
    """
    The conversation, oldest first, without system messages.
    """


class ContextUsage(BaseModel):
    """
    How full the context is.
    """

    tokens: Count | None
    """
    Estimate of the tokens in it; null from a compaction until the next answer.
    """
    context_window: Count
    percent: float | None
    """
    The part of the window that is taken, in percent, not rounded; null where the tokens are.
    """


class Cost(BaseModel):
    """
    What one request cost, in US dollars.
    """

    input: float
    """
    For tokens read.
    """
    output: float
    """
    For tokens written.
    """
    cache_read: float
    """
    For tokens from a cache.
    """
    cache_write: float
    """
    For tokens put into a cache.
    """
    total: float
    """
    All of it together.
    """


Count = TypeAliasType(
    "Count", Annotated[int, Field(ge=0, le=9007199254740991, title="Count")]
)
"""
A whole number that is not negative, small enough for a double to hold exactly.
"""


class CustomEntry(BaseModel):
    """
    State of an extension; models are not told.
    """

    type: Literal["custom"]
    """
    Marks the kind of entry.
    """
    custom_type: str
    """
    The kind of state, named by the extension.
    """
    data: Any | None = None
    """
    The state; any JSON.
    """
    id: str
    """
    Names the entry inside its file.
    """
    parent_id: str | None
    """
    The entry before it on its branch; null for the first of one.
    """
    timestamp: str
    """
    When it was written: ISO 8601 in UTC with milliseconds.
    """


class CustomMessage(BaseModel):
    """
    A message that an extension, or the server itself, added to the conversation.
    """

    role: Literal["custom"]
    """
    Marks a message of an extension.
    """
    custom_type: str
    """
    The kind of message, named by the extension that made it.
    """
    content: MessageContent
    display: bool
    """
    Whether a host should show it.
    """
    details: Any | None = None
    """
    Data of the extension that the model does not see.
    """
    attribution: Attribution | None = None
    timestamp: Timestamp


class CustomMessageEntry(BaseModel):
    """
    A message that an extension, or the server itself, added to the conversation.
    """

    type: Literal["custom_message"]
    """
    Marks the kind of entry.
    """
    custom_type: str
    """
    The kind of message, named by the extension.
    """
    content: MessageContent
    display: bool
    """
    Whether a host should show it.
    """
    details: Any | None = None
    """
    Data of the extension that the model does not see.
    """
    attribution: Attribution | None = None
    id: str
    """
    Names the entry inside its file.
    """
    parent_id: str | None
    """
    The entry before it on its branch; null for the first of one.
    """
    timestamp: str
    """
    When it was written: ISO 8601 in UTC with milliseconds.
    """


class CycleModelCommand(BaseModel):
    """
    Switches to the next available model, as `set_model` does.
    """

    id: RequestId | None = None
    type: Literal["cycle_model"]
    """
    Names the command.
    """


class CycleModelResponse(BaseModel):
    """
    The model that is in use now, or null where there is no other one.
    """

    id: RequestId | None = None
    type: Literal["response"]
    """
    Marks a response.
    """
    command: Literal["cycle_model"]
    """
    The `type` of the request.
    """
    success: Literal[True]
    """
    The command was accepted.
    """
    data: ModelCycle | None
    """
    What the command returns; null where there is nothing to cycle through.
    """


class CycleThinkingLevelCommand(BaseModel):
    """
    Switches to the next thinking level of the model; after the last comes the first.
    """

    id: RequestId | None = None
    type: Literal["cycle_thinking_level"]
    """
    Names the command.
    """


class CycleThinkingLevelResponse(BaseModel):
    """
    The level in effect now, or null where the model does not think.
    """

    id: RequestId | None = None
    type: Literal["response"]
    """
    Marks a response.
    """
    command: Literal["cycle_thinking_level"]
    """
    The `type` of the request.
    """
    success: Literal[True]
    """
    The command was accepted.
    """
    data: ThinkingLevelChange | None
    """
    What the command returns; null where there is nothing to cycle through.
    """


DeliverAs = TypeAliasType(
    "DeliverAs",
    Annotated[Literal["steer", "followUp", "nextTurn"], Field(title="DeliverAs")],
)
"""
When a message is delivered: at the next opportunity of the run, when the run would end, or with what the user says next.
"""


class DeveloperMessage(BaseModel):
    """
    An instruction that the server adds by itself, such as a reminder of open todos or a request to go on.
    """

    role: Literal["developer"]
    """
    Marks a developer message.
    """
    content: MessageContent
    attribution: Attribution | None = None
    timestamp: Timestamp


DoneReason = TypeAliasType(
    "DoneReason",
    Annotated[Literal["stop", "length", "toolUse"], Field(title="DoneReason")],
)
"""
Why the model stopped, when all went well.
"""


class DoneUpdate(BaseModel):
    """
    The answer is complete. Servers do not send it; message_end says the same.
    """

    type: Literal["done"]
    """
    Marks a done update.
    """
    reason: DoneReason
    message: AssistantMessage


class DumpTool(BaseModel):
    """
    A tool as it is described to the model.
    """

    name: str
    """
    Name of the tool.
    """
    description: str
    """
    What the model is told about the tool.
    """
    parameters: JsonObject


class EditToolDetails(BaseModel):
    """
    The details of a result of the edit tool.
    """

    diff: str
    """
    What changed, line by line, with line numbers.
    """
    first_changed_line: Count | None = None


class EditorRequest(BaseModel):
    """
    Asks the user to write or edit a longer text. It never times out by itself.
    """

    type: Literal["extension_ui_request"]
    """
    Marks a request to the user interface.
    """
    id: str
    """
    Id of this request; an answer repeats it.
    """
    method: Literal["editor"]
    """
    What is asked for.
    """
    title: str
    """
    The question.
    """
    prefill: str | None = None
    """
    The text to begin with.
    """
    prompt_style: bool | None = None
    """
    Show it like the place where prompts are entered.
    """


ErrorReason = TypeAliasType(
    "ErrorReason", Annotated[Literal["aborted", "error"], Field(title="ErrorReason")]
)
"""
Why an answer broke off.
"""


class ErrorUpdate(BaseModel):
    """
    The answer failed. Servers do not send it; message_end says the same.
    """

    type: Literal["error"]
    """
    Marks an error update.
    """
    reason: ErrorReason
    error: AssistantMessage


class EventHook(BaseModel):
    """
    An event that somebody has registered for in `awaits`: the server goes on when it was heard. Nothing of the answer counts.
    """

    type: Literal["event"]
    """
    Marks an `event`.
    """
    event: JsonObject


class ExportHtmlCommand(BaseModel):
    """
    Writes the session as one HTML file.
    """

    id: RequestId | None = None
    type: Literal["export_html"]
    """
    Names the command.
    """
    output_path: str | None = None
    """
    Path of the file to write, absolute or relative to the working directory. Absent: a file named after the session in the working directory.
    """


class ExportHtmlResponse(BaseModel):
    """
    The file is written.
    """

    id: RequestId | None = None
    type: Literal["response"]
    """
    Marks a response.
    """
    command: Literal["export_html"]
    """
    The `type` of the request.
    """
    success: Literal[True]
    """
    The command was accepted.
    """
    data: ExportedFile


class ExportedFile(BaseModel):
    """
    Where the session was written to.
    """

    path: str
    """
    The path as the host gave it, or the name of a file in the working directory.
    """


class ExtensionAbort(BaseModel):
    """
    Aborts what goes on.
    """

    type: Literal["abort"]
    """
    Marks an `abort`.
    """
    id: str | None = None
    """
    Id of this action; with one, a `response` says what came of it.
    """
    origin: str | None = None
    """
    Id of the request that it belongs to; absent: none.
    """


class ExtensionAccept(BaseModel):
    """
    The extension has taken a command up.
    """

    type: Literal["accept"]
    """
    Marks an `accept`.
    """
    id: str
    """
    Id of the request.
    """


class ExtensionAnswer(BaseModel):
    """
    The answer to a `query`. It goes to descriptor 3 of a process that was started with one, so that it can be waited for; else to stdin.
    """

    type: Literal["answer"]
    """
    Marks an `answer`.
    """
    id: str
    """
    Id of the query.
    """
    data: Any | None = None
    """
    What was asked for; absent on an error.
    """
    error: str | None = None
    """
    Why there is no answer.
    """


class ExtensionAppendEntry(BaseModel):
    """
    Keeps something in the session that the model does not see.
    """

    type: Literal["append_entry"]
    """
    Marks an `append_entry`.
    """
    id: str | None = None
    """
    Id of this action; with one, a `response` says what came of it.
    """
    origin: str | None = None
    """
    Id of the request that it belongs to; absent: none.
    """
    custom_type: str
    """
    The kind of entry, named by the extension.
    """
    data: Any | None = None
    """
    What is kept.
    """


class ExtensionCancel(BaseModel):
    """
    A request is not wanted any more. The extension still ends it, within 2 s, by whatever would have ended it; what that says does not matter any more.
    """

    type: Literal["cancel"]
    """
    Marks a `cancel`.
    """
    id: str
    """
    Id of the request.
    """


class ExtensionCommand(BaseModel):
    """
    A slash command.
    """

    name: str
    """
    Its name without the `/`: not empty, no blanks.
    """
    description: str | None = None
    """
    What it does, for people to read.
    """
    path: str | None = None
    """
    The file of the extension that it belongs to; absent: that of the process.
    """


class ExtensionCommandCall(BaseModel):
    """
    A slash command of the extension was called. The extension accepts it with `accept`, or with any frame that has its id as `origin`, and ends it with `done` or `failed`.
    """

    type: Literal["command"]
    """
    Marks a `command`.
    """
    id: str
    """
    Id of this request; whatever belongs to it repeats it.
    """
    name: str
    """
    The command, without the `/`, as it was registered.
    """
    arguments: str
    """
    What was written behind the command; may be empty.
    """
    path: str | None = None
    """
    The file of the extension that registered it, if it named one.
    """


class ExtensionCompact(BaseModel):
    """
    Compacts the conversation. The response's `data` is a `CompactionResult`.
    """

    type: Literal["compact"]
    """
    Marks a `compact`.
    """
    id: str | None = None
    """
    Id of this action; with one, a `response` says what came of it.
    """
    origin: str | None = None
    """
    Id of the request that it belongs to; absent: none.
    """
    custom_instructions: str | None = None
    """
    What the summary is to dwell on.
    """


class ExtensionComplete(BaseModel):
    """
    Asks a model outside of the conversation. The response's `data` has `message`, an `AssistantMessage`.
    """

    type: Literal["complete"]
    """
    Marks a `complete`.
    """
    id: str
    """
    Id of this action; a `response` says what came of it.
    """
    origin: str | None = None
    """
    Id of the request that it belongs to; absent: none.
    """
    provider: str
    """
    The provider.
    """
    model_id: str
    """
    The model.
    """
    system_prompt: str | None = None
    """
    The instructions.
    """
    messages: list[AgentMessage]
    """
    The conversation, oldest first.
    """
    tools: list[ExtensionTool] | None = None
    """
    The tools that it may call.
    """
    level: ThinkingLevel | None = None
    max_tokens: Count | None = None


class ExtensionDone(BaseModel):
    """
    A command or a hook is done.
    """

    type: Literal["done"]
    """
    Marks a `done`.
    """
    id: str
    """
    Id of the request.
    """
    result: HookResult | None = None


class ExtensionError(BaseModel):
    """
    An extension failed. No command fails because of it.
    """

    type: Literal["extension_error"]
    """
    Marks an extension_error frame.
    """
    extension_path: str
    """
    The file of the extension, or a name for what failed, such as `command:<name>`.
    """
    event: str
    """
    What the extension was doing: the name of the event, or command.
    """
    error: str
    """
    What went wrong.
    """


class ExtensionEvent(BaseModel):
    """
    An event that the extension has registered for. It gets no answer. A `message_update` comes without its snapshots.
    """

    type: Literal["event"]
    """
    Marks an `event`.
    """
    event: JsonObject


class ExtensionFailed(BaseModel):
    """
    A command, a hook or a tool call has failed.
    """

    type: Literal["failed"]
    """
    Marks a `failed`.
    """
    id: str
    """
    Id of the request.
    """
    error: str
    """
    What went wrong.
    """


class ExtensionFault(BaseModel):
    """
    Something of an extension has failed; the host is told by `extension_error`. It may come before `register`.
    """

    type: Literal["error"]
    """
    Marks an `error`.
    """
    extension_path: str
    """
    The file of the extension.
    """
    event: str
    """
    What it was about: an event, a command, or `load`.
    """
    error: str
    """
    What went wrong.
    """


class ExtensionFlag(BaseModel):
    """
    An option of the command line that an extension reads.
    """

    name: str
    """
    Its name, without `--`.
    """
    description: str | None = None
    """
    What it does, for people to read.
    """
    path: str | None = None
    """
    The file of the extension that it belongs to.
    """
    takes_value: bool
    """
    A text follows it.
    """


class ExtensionFork(BaseModel):
    """
    Begins a session made of a part of this one. The response's `data` has `cancelled`.
    """

    type: Literal["fork"]
    """
    Marks a `fork`.
    """
    id: str
    """
    Id of this action; a `response` says what came of it.
    """
    origin: str | None = None
    """
    Id of the request that it belongs to; absent: none.
    """
    entry_id: str
    """
    The entry that it is forked at.
    """
    position: ForkPosition | None = None


class ExtensionHello(BaseModel):
    """
    The first frame. The extension answers with `register`, before anything else but `error`, `register_provider` and `unregister_provider`.
    """

    type: Literal["hello"]
    """
    Marks a `hello`.
    """
    protocol: Count
    dialect: str
    """
    The dialect that the server speaks with its host.
    """
    cwd: str
    """
    The working directory, absolute.
    """
    agent_directory: str
    """
    The agent's own directory, absolute.
    """
    max_frame: Count
    api: str | None = None
    """
    Version of pi whose extension API the dialect has: `0.52`, `0.58`, `0.73`, `1.5`. For the host of pi's extensions.
    """
    version: str | None = None
    """
    Version of the server. For the host of pi's extensions.
    """
    arguments: list[str] | None = None
    """
    The command line of the server, for the flags of extensions.
    """
    members: list[ExtensionMember] | None = None
    """
    The extensions that the process is to load, in order. For the host of pi's extensions; absent for others.
    """


class ExtensionHook(BaseModel):
    """
    Something is about to happen, or has happened, and the extension may have a say in it. Answered by `done`, whose `result` has the say, or `failed`, within 30 s without its dialogs. The next extension is asked only then.
    """

    type: Literal["hook"]
    """
    Marks a `hook`.
    """
    id: str
    """
    Id of this request; the answer repeats it.
    """
    hook: HookEvent


class ExtensionMember(BaseModel):
    """
    An extension that lives in a process with others.
    """

    path: str
    """
    Its file, absolute: what `extension_error` and `get_commands` name.
    """
    source_info: SourceInfo | None = None


class ExtensionMessage(BaseModel):
    """
    A message of an extension.
    """

    custom_type: str
    """
    The kind of message, named by the extension.
    """
    content: MessageContent
    display: bool
    """
    Whether a host should show it.
    """
    details: Any | None = None
    """
    Data of the extension that the model does not see.
    """


class ExtensionModelCall(BaseModel):
    """
    A model of a provider that the extension has registered with `streams` is asked. Answered by any number of `model_event`, the last of which is `done` or `error`, or by `failed`.
    """

    type: Literal["model_call"]
    """
    Marks a `model_call`.
    """
    id: str
    """
    Id of this request; what the model says repeats it.
    """
    model: Model
    system_prompt: str | None = None
    """
    The instructions.
    """
    messages: list[AgentMessage]
    """
    The conversation, oldest first.
    """
    tools: list[ExtensionTool] | None = None
    """
    The tools that it may call.
    """
    level: ThinkingLevel | None = None
    session_id: str | None = None
    """
    The session, for the cache of the provider.
    """
    max_tokens: Count | None = None


class ExtensionModelEvent(BaseModel):
    """
    Something that a model of the extension says, for a `model_call`.
    """

    type: Literal["model_event"]
    """
    Marks a `model_event`.
    """
    id: str
    """
    Id of the request.
    """
    event: JsonObject


class ExtensionNavigateTree(BaseModel):
    """
    Takes up another branch of the session, if nothing goes on: that of an entry; of a message of the user, the one that it was said on. The response's `data` has `cancelled`, and `editorText`, the text of that message.
    """

    type: Literal["navigate_tree"]
    """
    Marks a `navigate_tree`.
    """
    id: str
    """
    Id of this action; a `response` says what came of it.
    """
    origin: str | None = None
    """
    Id of the request that it belongs to; absent: none.
    """
    target_id: str
    """
    The entry.
    """
    summarize: bool | None = None
    """
    What is left behind is summed up; absent: no.
    """
    custom_instructions: str | None = None
    """
    What the summary is to dwell on.
    """
    replace_instructions: bool | None = None
    """
    These instructions stand instead of the usual ones.
    """
    label: str | None = None
    """
    A label for the summary, or else for the entry.
    """


class ExtensionNewSession(BaseModel):
    """
    Begins another session. The response's `data` has `cancelled`.
    """

    type: Literal["new_session"]
    """
    Marks a `new_session`.
    """
    id: str
    """
    Id of this action; a `response` says what came of it.
    """
    origin: str | None = None
    """
    Id of the request that it belongs to; absent: none.
    """
    parent_session: str | None = None
    """
    The file of the session that it comes from.
    """
    entries: list[JsonObject] | None = None
    """
    What it begins with: messages of the conversation, oldest first.
    """


class ExtensionQuery(BaseModel):
    """
    Wants to know something. Answered at once by `answer`, as things are behind everything that was written before.
    """

    type: Literal["query"]
    """
    Marks a `query`.
    """
    id: str
    """
    Id of the query.
    """
    about: QueryKind
    since: Count | None = None
    provider: str | None = None
    """
    `api_key`: the provider.
    """
    model_id: str | None = None
    """
    `api_key`: the model; absent: any.
    """


class ExtensionRegister(BaseModel):
    """
    What the extension adds and wants to know. The first frame; said again, it takes the place of what was said before.
    """

    type: Literal["register"]
    """
    Marks a `register`.
    """
    commands: list[ExtensionCommand] | None = None
    """
    Slash commands.
    """
    tools: list[ExtensionTool] | None = None
    """
    Tools for the model.
    """
    hooks: list[HookName] | None = None
    """
    What it wants a say in.
    """
    events: list[str] | None = None
    """
    The types of the events that it wants to see; `*` stands for all of them.
    """
    awaits: list[str] | None = None
    """
    Of `events`, those that the server waits for; with `event` in `hooks`.
    """
    flags: list[ExtensionFlag] | None = None
    """
    Options of the command line.
    """
    shortcuts: list[str] | None = None
    """
    Keys. Nobody presses any here.
    """


class ExtensionRegisterProvider(BaseModel):
    """
    Adds a provider, or changes one. Said before `register`, its models are there when the model is chosen that the session begins with.
    """

    type: Literal["register_provider"]
    """
    Marks a `register_provider`.
    """
    id: str | None = None
    """
    Id of this action; with one, a `response` says what came of it.
    """
    name: str
    """
    Its name.
    """
    config: JsonObject
    path: str | None = None
    """
    The file of the extension that it belongs to.
    """
    streams: bool | None = None
    """
    Its models are asked by `model_call`; absent: by the server.
    """


class ExtensionResponse(BaseModel):
    """
    What came of an action that had an id.
    """

    type: Literal["response"]
    """
    Marks a `response`.
    """
    id: str
    """
    Id of the action.
    """
    success: bool
    """
    Whether it was done.
    """
    error: str | None = None
    """
    What went wrong.
    """
    data: Any | None = None
    """
    What the action gave, as its own description says.
    """


class ExtensionRunTool(BaseModel):
    """
    Runs a tool of the server outside of the conversation: no hook is asked, and the host is not told. Where the host wants to be asked before the tool runs (`--confirm-tools`), it is; the action fails if the host does not allow it. The response's `data` has `result`, an `AgentToolResult`, and `isError`.
    """

    type: Literal["run_tool"]
    """
    Marks a `run_tool`.
    """
    id: str
    """
    Id of this action; a `response` says what came of it.
    """
    origin: str | None = None
    """
    Id of the request that it belongs to; absent: none.
    """
    tool_name: str
    """
    The tool, a built-in one.
    """
    arguments: JsonObject


class ExtensionSendMessage(BaseModel):
    """
    Adds a message of the extension to the conversation. In a run it waits for its turn.
    """

    type: Literal["send_message"]
    """
    Marks a `send_message`.
    """
    id: str | None = None
    """
    Id of this action; with one, a `response` says what came of it.
    """
    origin: str | None = None
    """
    Id of the request that it belongs to; absent: none.
    """
    message: ExtensionMessage
    deliver_as: DeliverAs | None = None
    trigger_turn: bool | None = None
    """
    Whether the model answers it, outside of a run; absent: no.
    """


class ExtensionSendUserMessage(BaseModel):
    """
    Says something for the user. The model answers it.
    """

    type: Literal["send_user_message"]
    """
    Marks a `send_user_message`.
    """
    id: str | None = None
    """
    Id of this action; with one, a `response` says what came of it.
    """
    origin: str | None = None
    """
    Id of the request that it belongs to; absent: none.
    """
    content: MessageContent
    deliver_as: DeliverAs | None = None


class ExtensionSetActiveTools(BaseModel):
    """
    Chooses the tools that the model may call from the next request on.
    """

    type: Literal["set_active_tools"]
    """
    Marks a `set_active_tools`.
    """
    id: str | None = None
    """
    Id of this action; with one, a `response` says what came of it.
    """
    origin: str | None = None
    """
    Id of the request that it belongs to; absent: none.
    """
    names: list[str]
    """
    Their names; what there is not is passed over.
    """


class ExtensionSetLabel(BaseModel):
    """
    Labels an entry, or takes its label away.
    """

    type: Literal["set_label"]
    """
    Marks a `set_label`.
    """
    id: str | None = None
    """
    Id of this action; with one, a `response` says what came of it.
    """
    origin: str | None = None
    """
    Id of the request that it belongs to; absent: none.
    """
    entry_id: str
    """
    The entry.
    """
    label: str | None = None
    """
    The label; absent: none.
    """


class ExtensionSetLeaf(BaseModel):
    """
    Goes on behind another entry of the session, at once: nothing is summed up, no hook is called. Fails during a run or a compaction.
    """

    type: Literal["set_leaf"]
    """
    Marks a `set_leaf`.
    """
    id: str | None = None
    """
    Id of this action; with one, a `response` says what came of it.
    """
    origin: str | None = None
    """
    Id of the request that it belongs to; absent: none.
    """
    entry_id: str
    """
    The entry.
    """


class ExtensionSetModel(BaseModel):
    """
    Chooses the model.
    """

    type: Literal["set_model"]
    """
    Marks a `set_model`.
    """
    id: str | None = None
    """
    Id of this action; with one, a `response` says what came of it.
    """
    origin: str | None = None
    """
    Id of the request that it belongs to; absent: none.
    """
    provider: str
    """
    The provider.
    """
    model_id: str
    """
    The model.
    """


class ExtensionSetSessionName(BaseModel):
    """
    Names the session.
    """

    type: Literal["set_session_name"]
    """
    Marks a `set_session_name`.
    """
    id: str | None = None
    """
    Id of this action; with one, a `response` says what came of it.
    """
    origin: str | None = None
    """
    Id of the request that it belongs to; absent: none.
    """
    name: str
    """
    The name.
    """


class ExtensionSetThinkingLevel(BaseModel):
    """
    Chooses the thinking level.
    """

    type: Literal["set_thinking_level"]
    """
    Marks a `set_thinking_level`.
    """
    id: str | None = None
    """
    Id of this action; with one, a `response` says what came of it.
    """
    origin: str | None = None
    """
    Id of the request that it belongs to; absent: none.
    """
    level: ThinkingLevel


class ExtensionShutdown(BaseModel):
    """
    Asks the process to end when what goes on is done.
    """

    type: Literal["shutdown"]
    """
    Marks a `shutdown`.
    """
    id: str | None = None
    """
    Id of this action; with one, a `response` says what came of it.
    """
    origin: str | None = None
    """
    Id of the request that it belongs to; absent: none.
    """


class ExtensionSwitchSession(BaseModel):
    """
    Takes up another session. The response's `data` has `cancelled`.
    """

    type: Literal["switch_session"]
    """
    Marks a `switch_session`.
    """
    id: str
    """
    Id of this action; a `response` says what came of it.
    """
    origin: str | None = None
    """
    Id of the request that it belongs to; absent: none.
    """
    session_path: str
    """
    Its file.
    """


class ExtensionTool(BaseModel):
    """
    A tool that the extension carries out.
    """

    name: str
    """
    Name under which the model calls it; not empty.
    """
    label: str | None = None
    """
    Name to show to people; absent: the same as `name`.
    """
    description: str
    """
    What the model is told about it; not empty.
    """
    parameters: JsonObject
    path: str | None = None
    """
    The file of the extension that it belongs to; absent: that of the process.
    """
    prompt_snippet: str | None = None
    """
    One line about it for the system prompt.
    """
    prompt_guidelines: list[str] | None = None
    """
    What the system prompt says about its use.
    """
    sequential: bool | None = None
    """
    No other call of the same message runs beside it.
    """
    inactive: bool | None = None
    """
    It is offered only when it is chosen by `set_active_tools`.
    """


class ExtensionToolCall(BaseModel):
    """
    The model called a tool of the extension. Answered by any number of `tool_update` and one `tool_result` or `failed`.
    """

    type: Literal["tool_call"]
    """
    Marks a `tool_call`.
    """
    id: str
    """
    Id of this request; updates and the result repeat it.
    """
    tool_call_id: str
    """
    Id of the tool call in the assistant message.
    """
    tool_name: str
    """
    Name of the tool.
    """
    arguments: JsonObject


class ExtensionToolResult(BaseModel):
    """
    The result of a tool.
    """

    type: Literal["tool_result"]
    """
    Marks a `tool_result`.
    """
    id: str
    """
    Id of the request.
    """
    result: AgentToolResult
    is_error: bool | None = None
    """
    True: the call failed, and the text of the result says why.
    """


class ExtensionToolUpdate(BaseModel):
    """
    How far a tool has come.
    """

    type: Literal["tool_update"]
    """
    Marks a `tool_update`.
    """
    id: str
    """
    Id of the request.
    """
    partial_result: AgentToolResult


class ExtensionUIAnswer(BaseModel):
    """
    The answer to a dialog. A dialog that was cancelled, took too long, or whose origin was aborted comes back as `cancelled`.
    """

    type: Literal["ui_answer"]
    """
    Marks an `ui_answer`.
    """
    response: RpcExtensionUIResponse


class ExtensionUICall(BaseModel):
    """
    Wants something of the user interface. A dialog is answered by `ui_answer`.
    """

    type: Literal["ui"]
    """
    Marks an `ui`.
    """
    origin: str | None = None
    """
    Id of the request that it belongs to: a command, a hook or a tool call. A dialog outlives it and belongs to the extension from then on, as where `origin` is absent: only the end of input takes it back.
    """
    request: RpcExtensionUIRequest


class ExtensionUICancel(BaseModel):
    """
    Takes a dialog back. It is answered as `cancelled`; the host is not told, but for an `editor` in dialects that can say so.
    """

    type: Literal["ui_cancel"]
    """
    Marks an `ui_cancel`.
    """
    id: str
    """
    The extension's own id of the request.
    """


class ExtensionUnregisterProvider(BaseModel):
    """
    Takes back what was registered for a provider.
    """

    type: Literal["unregister_provider"]
    """
    Marks an `unregister_provider`.
    """
    id: str | None = None
    """
    Id of this action; with one, a `response` says what came of it.
    """
    name: str
    """
    Its name.
    """


class ExtensionWaitForIdle(BaseModel):
    """
    Waits until nothing goes on any more; then comes the response.
    """

    type: Literal["wait_for_idle"]
    """
    Marks a `wait_for_idle`.
    """
    id: str
    """
    Id of this action; a `response` says what came of it.
    """
    origin: str | None = None
    """
    Id of the request that it belongs to; absent: none.
    """


class ExtensionWithdraw(BaseModel):
    """
    An action is not wanted any more: `compact`, `complete`, `run_tool` or `wait_for_idle`. It ends soon, by its response.
    """

    type: Literal["withdraw"]
    """
    Marks a `withdraw`.
    """
    id: str
    """
    Id of the action.
    """


class FileMention(BaseModel):
    """
    One file that a prompt mentioned.
    """

    path: str
    """
    The path as it was resolved.
    """
    content: str
    """
    The text of the file, or a note about it.
    """
    line_count: Count | None = None
    byte_size: Count | None = None
    skipped_reason: FileSkipReason | None = None
    image: ImageContent | None = None


class FileMentionMessage(BaseModel):
    """
    Files that the user named in a prompt, read in on their behalf.
    """

    role: Literal["fileMention"]
    """
    Marks the contents of mentioned files.
    """
    files: list[FileMention]
    """
    The files, in the order in which they were named.
    """
    timestamp: Timestamp


FileSkipReason = TypeAliasType(
    "FileSkipReason", Annotated[Literal["tooLarge"], Field(title="FileSkipReason")]
)
"""
Why the text of a mentioned file was left out.
"""


class FindToolDetails(BaseModel):
    """
    The details of a result of the find tool.
    """

    result_limit_reached: Count | None = None
    truncation: TruncationResult | None = None


class FollowUpCommand(BaseModel):
    """
    Queues a message for the moment when the agent would stop. Allowed in every state; while no run is open it waits for the end of the next one.
    """

    id: RequestId | None = None
    type: Literal["follow_up"]
    """
    Names the command.
    """
    message: str
    """
    The text for the agent. It may name a prompt template, but no command of an extension.
    """
    images: list[ImageContent] | None = None
    """
    Images that go with the text, in order.
    """


class FollowUpResponse(BaseModel):
    """
    The message is in the follow-up queue.
    """

    id: RequestId | None = None
    type: Literal["response"]
    """
    Marks a response.
    """
    command: Literal["follow_up"]
    """
    The `type` of the request.
    """
    success: Literal[True]
    """
    The command was accepted.
    """


class ForkMessage(BaseModel):
    """
    A user message that one can go back to.
    """

    entry_id: str
    """
    Id of its session entry.
    """
    text: str
    """
    Its text.
    """


class ForkMessages(BaseModel):
    """
    The user messages that one can go back to.
    """

    messages: list[ForkMessage]
    """
    The messages with text, in the order of the session file; in pi and xcsh of all branches, from pi 0.73 on of the active one.
    """


ForkPosition = TypeAliasType(
    "ForkPosition", Annotated[Literal["before", "at"], Field(title="ForkPosition")]
)
"""
Whether a forked session ends before an entry or with it.
"""


class ForkResult(BaseModel):
    """
    The outcome of going back to an earlier user message.
    """

    text: str
    """
    Text of that user message, for the host to offer again. In pi 1 absent if it was cancelled.
    """
    cancelled: bool
    """
    True: an extension vetoed it and nothing has changed.
    """


FromExtension = TypeAliasType(
    "FromExtension",
    Annotated[
        ExtensionRegister | ExtensionAccept | ExtensionDone | ExtensionFailed | ExtensionToolUpdate | ExtensionToolResult | ExtensionUICall | ExtensionUICancel | ExtensionSendMessage | ExtensionSendUserMessage | ExtensionAppendEntry | ExtensionSetModel | ExtensionSetThinkingLevel | ExtensionSetSessionName | ExtensionShutdown | ExtensionFault | ExtensionQuery | ExtensionModelEvent | ExtensionSetActiveTools | ExtensionSetLabel | ExtensionSetLeaf | ExtensionAbort | ExtensionCompact | ExtensionNewSession | ExtensionFork | ExtensionSwitchSession | ExtensionNavigateTree | ExtensionWaitForIdle | ExtensionRunTool | ExtensionComplete | ExtensionRegisterProvider | ExtensionUnregisterProvider | ExtensionWithdraw,
        Field(discriminator="type", title="FromExtension"),
    ],
)
"""
Everything that an extension may write to its stdout: one JSON object a line, ended by a line feed.
"""


class GetAvailableModelsCommand(BaseModel):
    """
    Lists the models that have credentials.
    """

    id: RequestId | None = None
    type: Literal["get_available_models"]
    """
    Names the command.
    """


class GetAvailableModelsResponse(BaseModel):
    """
    The models that can be chosen.
    """

    id: RequestId | None = None
    type: Literal["response"]
    """
    Marks a response.
    """
    command: Literal["get_available_models"]
    """
    The `type` of the request.
    """
    success: Literal[True]
    """
    The command was accepted.
    """
    data: ModelList


class GetBranchMessagesCommand(BaseModel):
    """
    Lists the user messages that `branch` can go back to.
    """

    id: RequestId | None = None
    type: Literal["get_branch_messages"]
    """
    Names the command.
    """


class GetBranchMessagesResponse(BaseModel):
    """
    The user messages of the session.
    """

    id: RequestId | None = None
    type: Literal["response"]
    """
    Marks a response.
    """
    command: Literal["get_branch_messages"]
    """
    The `type` of the request.
    """
    success: Literal[True]
    """
    The command was accepted.
    """
    data: ForkMessages


class GetIntegrationsCommand(BaseModel):
    """
    Reads whether the model provider and other services that the agent uses can be reached. `pi-rpc serve` does not do it and answers that it is not implemented.
    """

    id: RequestId | None = None
    type: Literal["get_integrations"]
    """
    Names the command.
    """


class GetIntegrationsResponse(BaseModel):
    """
    The state of the services.
    """

    id: RequestId | None = None
    type: Literal["response"]
    """
    Marks a response.
    """
    command: Literal["get_integrations"]
    """
    The `type` of the request.
    """
    success: Literal[True]
    """
    The command was accepted.
    """
    data: Integrations


class GetLastAssistantTextCommand(BaseModel):
    """
    Reads the text of the newest assistant message.
    """

    id: RequestId | None = None
    type: Literal["get_last_assistant_text"]
    """
    Names the command.
    """


class GetLastAssistantTextResponse(BaseModel):
    """
    The text, if there is one.
    """

    id: RequestId | None = None
    type: Literal["response"]
    """
    Marks a response.
    """
    command: Literal["get_last_assistant_text"]
    """
    The `type` of the request.
    """
    success: Literal[True]
    """
    The command was accepted.
    """
    data: LastAssistantText


class GetMessagesCommand(BaseModel):
    """
    Reads all messages of the conversation. A message that is still being received is not among them.
    """

    id: RequestId | None = None
    type: Literal["get_messages"]
    """
    Names the command.
    """


class GetMessagesResponse(BaseModel):
    """
    The messages of the conversation.
    """

    id: RequestId | None = None
    type: Literal["response"]
    """
    Marks a response.
    """
    command: Literal["get_messages"]
    """
    The `type` of the request.
    """
    success: Literal[True]
    """
    The command was accepted.
    """
    data: MessageList


class GetSessionStatsCommand(BaseModel):
    """
    Reads counts, tokens and cost of the messages in the conversation.
    """

    id: RequestId | None = None
    type: Literal["get_session_stats"]
    """
    Names the command.
    """


class GetSessionStatsResponse(BaseModel):
    """
    The figures of the session.
    """

    id: RequestId | None = None
    type: Literal["response"]
    """
    Marks a response.
    """
    command: Literal["get_session_stats"]
    """
    The `type` of the request.
    """
    success: Literal[True]
    """
    The command was accepted.
    """
    data: SessionStats


class GetStateCommand(BaseModel):
    """
    Reads the state of the session: model, modes, queue length, what goes on.
    """

    id: RequestId | None = None
    type: Literal["get_state"]
    """
    Names the command.
    """


class GetStateResponse(BaseModel):
    """
    The state of the session.
    """

    id: RequestId | None = None
    type: Literal["response"]
    """
    Marks a response.
    """
    command: Literal["get_state"]
    """
    The `type` of the request.
    """
    success: Literal[True]
    """
    The command was accepted.
    """
    data: SessionState


class GrepToolDetails(BaseModel):
    """
    The details of a result of the grep tool.
    """

    match_limit_reached: Count | None = None
    truncation: TruncationResult | None = None
    lines_truncated: bool | None = None
    """
    Present and true when long lines were shortened.
    """


class HookBash(BaseModel):
    """
    What came of a shell command that an extension has run.
    """

    output: str
    """
    What it printed.
    """
    exit_code: Annotated[int | None, Field(ge=-2147483648, le=2147483647)] = None
    """
    Its exit code; absent when it was killed.
    """
    cancelled: bool
    """
    It was stopped before it ended.
    """
    truncated: bool
    """
    Part of the output is missing.
    """
    full_output_path: str | None = None
    """
    The file that holds everything.
    """


class HookCompaction(BaseModel):
    """
    A summary made by an extension.
    """

    summary: str
    """
    The summary.
    """
    first_kept_entry_id: str
    """
    The first entry that stays as it is.
    """
    tokens_before: Count
    details: Any | None = None
    """
    What the extension notes beside it.
    """


class HookMessage(BaseModel):
    """
    The old form of a custom message; only session files of earlier versions have it.
    """

    role: Literal["hookMessage"]
    """
    Marks a custom message of the old form.
    """
    custom_type: str
    """
    The kind of message, named by the extension that made it.
    """
    content: MessageContent
    display: bool
    """
    Whether a host should show it.
    """
    details: Any | None = None
    """
    Data of the extension that the model does not see.
    """
    attribution: Attribution | None = None
    timestamp: Timestamp


HookName = TypeAliasType(
    "HookName",
    Annotated[
        Literal["session_before_switch", "session_before_fork", "session_before_compact", "input", "before_agent_start", "prepare_arguments", "tool_call", "tool_result", "session_shutdown", "event", "session_start", "session_compact", "session_before_tree", "session_tree", "model_select", "thinking_level_select", "context", "message_end", "before_provider_request", "before_provider_headers", "after_provider_response", "user_bash", "resources_discover"],
        Field(title="HookName"),
    ],
)
"""
What an extension can have a say in.
"""


HookReason = TypeAliasType(
    "HookReason",
    Annotated[Literal["manual", "threshold", "overflow"], Field(title="HookReason")],
)
"""
Why a conversation is compacted: it was asked for, the context has become full, or was too long for the model.
"""


class HookResult(BaseModel):
    """
    What an extension has to say to a hook; each hook looks at its own fields.
    """

    cancel: bool | None = None
    """
    `session_before_*`: it does not happen.
    """
    compaction: HookCompaction | None = None
    action: InputAction | None = None
    text: str | None = None
    """
    `input`, `transform`: what was said instead.
    """
    images: list[ImageContent] | None = None
    """
    `input`, `transform`: the images instead; absent: they stay.
    """
    message: ExtensionMessage | None = None
    system_prompt: str | None = None
    """
    `before_agent_start`: the instructions for this run.
    """
    block: bool | None = None
    """
    `tool_call`: the tool does not run.
    """
    reason: str | None = None
    """
    `tool_call`: why not, for the model.
    """
    content: list[UserContent] | None = None
    """
    `tool_result`: what the model is told instead.
    """
    details: Any | None = None
    """
    `tool_result`: what the host is told instead.
    """
    is_error: bool | None = None
    """
    `tool_result`: whether the call counts as failed.
    """
    input: JsonObject | None = None
    terminate: bool | None = None
    """
    `tool_call`, with `block`: the model is not asked again for the results of this message.
    """
    structured_content: Any | None = None
    """
    `tool_result`: the data instead; with `content` alone there is none any more.
    """
    custom_messages: list[ExtensionMessage] | None = None
    """
    `before_agent_start`: messages behind that of the user, if there are several.
    """
    messages: list[AgentMessage] | None = None
    """
    `context`: the conversation instead. `message_end`: the message instead.
    """
    payload: Any | None = None
    """
    `before_provider_request`: the body instead.
    """
    headers: StringMap | None = None
    bash: HookBash | None = None
    summary: HookSummary | None = None
    custom_instructions: str | None = None
    """
    `session_before_tree`: what the summary is to dwell on.
    """
    replace_instructions: bool | None = None
    """
    `session_before_tree`: these instructions stand instead of the usual ones.
    """
    label: str | None = None
    """
    `session_before_tree`: a label for the entry that is added.
    """
    skill_paths: list[str] | None = None
    """
    `resources_discover`: files and folders of skills.
    """
    prompt_paths: list[str] | None = None
    """
    `resources_discover`: files and folders of prompt templates.
    """


class HookSummary(BaseModel):
    """
    A summary of a branch, made by an extension.
    """

    summary: str
    """
    The summary.
    """
    details: Any | None = None
    """
    What the extension notes beside it.
    """


class HostToolCall(BaseModel):
    """
    Asks the host to carry out a tool call.
    """

    type: Literal["host_tool_call"]
    """
    Marks a call of a host tool.
    """
    id: str
    """
    Id of this request; updates and the result repeat it.
    """
    tool_call_id: str
    """
    Id of the tool call in the assistant message.
    """
    tool_name: str
    """
    Name of the tool.
    """
    arguments: JsonObject


class HostToolCancel(BaseModel):
    """
    Tells the host that a call was aborted; its result is no longer wanted.
    """

    type: Literal["host_tool_cancel"]
    """
    Marks the end of a call of a host tool.
    """
    id: str
    """
    Id of this frame.
    """
    target_id: str
    """
    The `id` of the call.
    """


class HostToolDefinition(BaseModel):
    """
    A tool that the host carries out.
    """

    name: str
    """
    Name under which the model calls it; not empty.
    """
    label: str | None = None
    """
    Name to show to people; absent: the same as `name`.
    """
    description: str
    """
    What the model is told about it; not empty.
    """
    parameters: JsonObject
    hidden: bool | None = None
    """
    True: registered, but not offered to the model.
    """


class HostToolNames(BaseModel):
    """
    The host tools that are registered.
    """

    tool_names: list[str]
    """
    The names, in the order of the request.
    """


class HostToolResult(BaseModel):
    """
    The result of a host tool. It gets no response.
    """

    type: Literal["host_tool_result"]
    """
    Marks the result of a host tool.
    """
    id: str
    """
    The `id` of the call.
    """
    result: AgentToolResult
    is_error: bool | None = None
    """
    True: the call failed, and the text of the result says why.
    """


class HostToolUpdate(BaseModel):
    """
    How far a host tool has come. It gets no response.
    """

    type: Literal["host_tool_update"]
    """
    Marks an update of a host tool.
    """
    id: str
    """
    The `id` of the call.
    """
    partial_result: AgentToolResult


class ImageContent(BaseModel):
    """
    A picture.
    """

    type: Literal["image"]
    """
    Marks an image block.
    """
    data: str
    """
    The bytes in base64, without a data URL in front.
    """
    mime_type: str
    """
    The media type, for example image/png.
    """


InputAction = TypeAliasType(
    "InputAction",
    Annotated[Literal["continue", "transform", "handled"], Field(title="InputAction")],
)
"""
What becomes of something that the user said: it stays as it is, something else is said instead, or it was dealt with.
"""


class InputHook(BaseModel):
    """
    The user has said something. It is not expanded yet. `action` says what becomes of it.
    """

    type: Literal["input"]
    """
    Marks an `input`.
    """
    text: str
    """
    What was said.
    """
    images: list[ImageContent] | None = None
    """
    Images that belong to it.
    """
    source: InputSource
    streaming_behavior: StreamingBehavior | None = None


InputKind = TypeAliasType(
    "InputKind", Annotated[Literal["text", "image"], Field(title="InputKind")]
)
"""
What a model accepts besides tools: text, pictures.
"""


class InputRequest(BaseModel):
    """
    Asks the user for a line of text.
    """

    type: Literal["extension_ui_request"]
    """
    Marks a request to the user interface.
    """
    id: str
    """
    Id of this request; an answer repeats it.
    """
    method: Literal["input"]
    """
    What is asked for.
    """
    title: str
    """
    The question.
    """
    placeholder: str | None = None
    """
    Text to show while nothing is entered.
    """
    timeout: Count | None = None


InputSource = TypeAliasType(
    "InputSource", Annotated[Literal["rpc", "extension"], Field(title="InputSource")]
)
"""
Who said something: the host, or an extension for the user.
"""


class IntegrationModel(BaseModel):
    """
    The state of the model provider.
    """

    state: IntegrationModelState
    provider: str | None = None
    """
    Id of the provider.
    """
    latency_ms: float | None = None
    """
    How long it took to answer, in milliseconds.
    """


IntegrationModelState = TypeAliasType(
    "IntegrationModelState",
    Annotated[
        Literal["no_provider", "connected", "auth_error"],
        Field(title="IntegrationModelState"),
    ],
)
"""
Whether the model provider can be used: none is set up, it answers, or it refuses the credentials.
"""


class IntegrationService(BaseModel):
    """
    The state of a service that the agent uses.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    __annotations__ = {
        "__pydantic_extra__": Dict[str, Any],
    }
    name: str
    """
    Name of the service.
    """
    state: IntegrationServiceState
    hint: str | None = None
    """
    What to do about it, for people to read.
    """


IntegrationServiceState = TypeAliasType(
    "IntegrationServiceState",
    Annotated[
        Literal["connected", "unauthenticated", "unavailable"],
        Field(title="IntegrationServiceState"),
    ],
)
"""
Whether a service can be used: it answers, wants a login, or is not there.
"""


class Integrations(BaseModel):
    """
    The state of the model provider and of other services.
    """

    version: str
    """
    Version of the agent.
    """
    model: IntegrationModel
    services: list[IntegrationService]
    """
    The other services.
    """


InterruptMode = TypeAliasType(
    "InterruptMode",
    Annotated[Literal["immediate", "wait"], Field(title="InterruptMode")],
)
"""
What steering does to the tool calls of the turn: `immediate` aborts those that run and skips the rest, `wait` lets them all finish.
"""


JsonObject = TypeAliasType("JsonObject", dict[str, Any])
"""
An object with any keys.
"""


class LabelEntry(BaseModel):
    """
    A mark on another entry; the last one counts.
    """

    type: Literal["label"]
    """
    Marks the kind of entry.
    """
    id: str
    """
    Names the entry inside its file.
    """
    parent_id: str | None
    """
    The entry before it on its branch; null for the first of one.
    """
    timestamp: str
    """
    When it was written: ISO 8601 in UTC with milliseconds.
    """
    target_id: str
    """
    The entry that is marked.
    """
    label: str | None = None
    """
    The mark; absent or empty: none any more.
    """


class LastAssistantText(BaseModel):
    """
    The text of the newest assistant message.
    """

    text: str | None = None
    """
    Its text blocks, joined; absent or null if there is no assistant message.
    """


class LevelSelectHook(BaseModel):
    """
    Another thinking level was chosen.
    """

    type: Literal["thinking_level_select"]
    """
    Marks a `thinking_level_select`.
    """
    level: ThinkingLevel
    previous_level: ThinkingLevel


class LineRange(BaseModel):
    """
    A stretch of lines, counted from 1, both ends included.
    """

    start: Count
    end: Count


class LsToolDetails(BaseModel):
    """
    The details of a result of the ls tool.
    """

    entry_limit_reached: Count | None = None
    truncation: TruncationResult | None = None


class McpToolSelectionEntry(BaseModel):
    """
    From here on other tools of servers are offered.
    """

    type: Literal["mcp_tool_selection"]
    """
    Marks the kind of entry.
    """
    id: str
    """
    Names the entry inside its file.
    """
    parent_id: str | None
    """
    The entry before it on its branch; null for the first of one.
    """
    timestamp: str
    """
    When it was written: ISO 8601 in UTC with milliseconds.
    """
    selected_tool_names: list[str]
    """
    Their names.
    """


class MessageEndEvent(BaseModel):
    """
    A message is complete.
    """

    type: Literal["message_end"]
    """
    Marks a message_end event.
    """
    message: AgentMessage


class MessageEndHook(BaseModel):
    """
    A message is complete. `messages`, with one message of the same role, takes its place.
    """

    type: Literal["message_end"]
    """
    Marks a `message_end`.
    """
    message: AgentMessage


class MessageEntry(BaseModel):
    """
    A message of the conversation.
    """

    type: Literal["message"]
    """
    Marks the kind of entry.
    """
    id: str
    """
    Names the entry inside its file.
    """
    parent_id: str | None
    """
    The entry before it on its branch; null for the first of one.
    """
    timestamp: str
    """
    When it was written: ISO 8601 in UTC with milliseconds.
    """
    message: AgentMessage


class MessageList(BaseModel):
    """
    The conversation.
    """

    messages: list[AgentMessage]
    """
    The messages, oldest first.
    """


class MessageStartEvent(BaseModel):
    """
    A message begins. Only an assistant message is still incomplete here.
    """

    type: Literal["message_start"]
    """
    Marks a message_start event.
    """
    message: AgentMessage


class MessageUpdateEvent(BaseModel):
    """
    The assistant message has grown.
    """

    type: Literal["message_update"]
    """
    Marks a message_update event.
    """
    assistant_message_event: AssistantMessageEvent
    message: AssistantMessage


class ModeChangeEntry(BaseModel):
    """
    From here on the agent works in another mode.
    """

    type: Literal["mode_change"]
    """
    Marks the kind of entry.
    """
    id: str
    """
    Names the entry inside its file.
    """
    parent_id: str | None
    """
    The entry before it on its branch; null for the first of one.
    """
    timestamp: str
    """
    When it was written: ISO 8601 in UTC with milliseconds.
    """
    mode: str
    """
    The mode; none: the mode was left.
    """
    data: JsonObject | None = None


class Model(BaseModel):
    """
    A model that can be asked, with everything needed to ask it.
    """

    id: str
    """
    The id that the provider knows it by.
    """
    name: str
    """
    The name for people.
    """
    api: str
    """
    The vendor API that it is asked through.
    """
    provider: str
    """
    The provider that it belongs to.
    """
    base_url: str
    """
    The address of the provider.
    """
    reasoning: bool
    """
    Whether it can think before it answers.
    """
    thinking: ModelThinking | None = None
    input: list[InputKind]
    """
    What it accepts.
    """
    cost: ModelPrice
    context_window: Count
    max_tokens: Count
    headers: StringMap | None = None
    compat: JsonObject | None = None
    premium_multiplier: float | None = None
    """
    How many requests of a plan one request to it counts as.
    """
    prefer_websockets: bool | None = None
    """
    Whether it is better asked over a web socket.
    """
    context_promotion_target: str | None = None
    """
    The model to change to when the context grows too large for this one.
    """
    priority: float | None = None
    """
    Where it stands in a list of models; the lowest comes first.
    """


class ModelChangeEntry(BaseModel):
    """
    From here on another model answers.
    """

    type: Literal["model_change"]
    """
    Marks the kind of entry.
    """
    id: str
    """
    Names the entry inside its file.
    """
    parent_id: str | None
    """
    The entry before it on its branch; null for the first of one.
    """
    timestamp: str
    """
    When it was written: ISO 8601 in UTC with milliseconds.
    """
    model: str
    """
    The provider and the id of the model, with a slash between.
    """
    role: str | None = None
    """
    What the model is used for; absent or default: to answer.
    """


class ModelCycle(BaseModel):
    """
    The outcome of a step to the next model.
    """

    model: Model
    thinking_level: ThinkingLevel | None = None
    is_scoped: bool
    """
    The models to step through were limited at the start or in the settings.
    """


class ModelList(BaseModel):
    """
    Models to choose from.
    """

    models: list[Model]
    """
    The models, in the order in which they are stepped through.
    """


class ModelPrice(BaseModel):
    """
    What a model costs, in US dollars for a million tokens.
    """

    input: float
    """
    For tokens read.
    """
    output: float
    """
    For tokens written.
    """
    cache_read: float
    """
    For tokens from a cache.
    """
    cache_write: float
    """
    For tokens put into a cache.
    """


class ModelSelectHook(BaseModel):
    """
    Another model was chosen.
    """

    type: Literal["model_select"]
    """
    Marks a `model_select`.
    """
    model: Model
    previous_model: Model | None = None
    source: ModelSelectSource


ModelSelectSource = TypeAliasType(
    "ModelSelectSource",
    Annotated[Literal["set", "cycle", "restore"], Field(title="ModelSelectSource")],
)
"""
How a model was chosen: by name, as the next one, or with the session that was taken up.
"""


class ModelThinking(BaseModel):
    """
    How much a model can be told to think, and in which terms.
    """

    mode: str
    """
    In which terms: a budget of tokens, an effort, or another way of the provider.
    """
    min_level: ThinkingLevel
    max_level: ThinkingLevel


class NewSessionCommand(BaseModel):
    """
    Leaves the current session and begins an empty one. An extension may veto it.
    """

    id: RequestId | None = None
    type: Literal["new_session"]
    """
    Names the command.
    """
    parent_session: str | None = None
    """
    Path of the session file to note as the parent of the new session. It is not opened; an empty string counts as not given.
    """


class NewSessionResponse(BaseModel):
    """
    The new session is open, or an extension vetoed it.
    """

    id: RequestId | None = None
    type: Literal["response"]
    """
    Marks a response.
    """
    command: Literal["new_session"]
    """
    The `type` of the request.
    """
    success: Literal[True]
    """
    The command was accepted.
    """
    data: SessionChange


class NotifyRequest(BaseModel):
    """
    Shows the user a message.
    """

    type: Literal["extension_ui_request"]
    """
    Marks a request to the user interface.
    """
    id: str
    """
    Id of this request; an answer repeats it.
    """
    method: Literal["notify"]
    """
    What is asked for.
    """
    message: str
    """
    The message.
    """
    notify_type: NotifyType | None = None


NotifyType = TypeAliasType(
    "NotifyType",
    Annotated[Literal["info", "warning", "error"], Field(title="NotifyType")],
)
"""
How grave a notification is.
"""


class ObservedStep(BaseModel):
    """
    An `assistantMessageEvent` without its snapshot.
    """

    type: str
    """
    What happened to the block.
    """
    content_index: Count
    delta: str | None = None
    """
    What was added to it.
    """
    content: str | None = None
    """
    Its text, when it is complete.
    """
    tool_call: ToolCall | None = None


class ObservedUpdate(BaseModel):
    """
    A `message_update` as extensions see it.
    """

    type: Literal["message_update"]
    """
    Marks a `message_update`.
    """
    assistant_message_event: ObservedStep


class OutputDiagnostics(BaseModel):
    """
    What checkers found in a file that a tool touched.
    """

    summary: str
    """
    The findings in one line.
    """
    messages: list[str]
    """
    The findings, one by one.
    """


class OutputMeta(BaseModel):
    """
    What happened to a long output on its way into a message.
    """

    truncation: OutputTruncation | None = None
    source: OutputSource | None = None
    diagnostics: OutputDiagnostics | None = None
    limits: JsonObject | None = None


class OutputSource(BaseModel):
    """
    Where an output came from.
    """

    type: OutputSourceKind
    value: str
    """
    The path, the address or the internal name.
    """


OutputSourceKind = TypeAliasType(
    "OutputSourceKind",
    Annotated[Literal["path", "url", "internal"], Field(title="OutputSourceKind")],
)
"""
What kind of place an output came from.
"""


class OutputTruncation(BaseModel):
    """
    How much of an output was kept, and which part.
    """

    direction: TruncationDirection
    truncated_by: TruncationUnit
    total_lines: Count
    total_bytes: Count
    output_lines: Count
    output_bytes: Count
    max_bytes: Count | None = None
    shown_range: LineRange | None = None
    artifact_id: str | None = None
    """
    The id of the stored whole output.
    """
    next_offset: Count | None = None


class PrepareArgumentsHook(BaseModel):
    """
    The model called a tool of the extension; the arguments are not checked yet. `input` takes the place of them, and is checked against the schema of the tool. An extension that fails here fails the call, and the model is told why. Other extensions are not asked.
    """

    type: Literal["prepare_arguments"]
    """
    Marks a `prepare_arguments`.
    """
    tool_call_id: str
    """
    Id of the tool call in the assistant message.
    """
    tool_name: str
    """
    Name of the tool.
    """
    input: JsonObject


class PromptCommand(BaseModel):
    """
    Gives the agent a user message and starts a run. While a run is open it needs `streamingBehavior`, and the message is queued instead. A message that begins with `/` may name a command of an extension, a prompt template or a skill.
    """

    id: RequestId | None = None
    type: Literal["prompt"]
    """
    Names the command.
    """
    message: str
    """
    The text for the agent, or a slash command with its arguments.
    """
    images: list[ImageContent] | None = None
    """
    Images that go with the text, in order.
    """
    streaming_behavior: StreamingBehavior | None = None
    locale: str | None = None
    """
    Language that the agent should answer in, as a language tag.
    """


class PromptResponse(BaseModel):
    """
    The prompt was accepted. Its run is told by events and ends with `agent_end`, in pi 1 with `agent_settled`.
    """

    id: RequestId | None = None
    type: Literal["response"]
    """
    Marks a response.
    """
    command: Literal["prompt"]
    """
    The `type` of the request.
    """
    success: Literal[True]
    """
    The command was accepted.
    """


class ProviderHeadersHook(BaseModel):
    """
    A request is about to be sent to a provider. `headers` takes the place of its headers.
    """

    type: Literal["before_provider_headers"]
    """
    Marks a `before_provider_headers`.
    """
    headers: StringMap


class ProviderRequestHook(BaseModel):
    """
    A request is about to be sent to a provider. `payload` takes the place of its body.
    """

    type: Literal["before_provider_request"]
    """
    Marks a `before_provider_request`.
    """
    payload: Any
    """
    The body.
    """


class ProviderResponseHook(BaseModel):
    """
    A provider has begun to answer.
    """

    type: Literal["after_provider_response"]
    """
    Marks an `after_provider_response`.
    """
    status: Count
    headers: StringMap


class PythonExecutionMessage(BaseModel):
    """
    Python code that the user ran, and what it printed.
    """

    role: Literal["pythonExecution"]
    """
    Marks a run of Python code.
    """
    code: str
    """
    The code.
    """
    output: str
    """
    What it printed.
    """
    exit_code: Annotated[int | None, Field(ge=-2147483648, le=2147483647)] = None
    """
    The exit status; absent when the run was killed.
    """
    cancelled: bool
    """
    Whether the run was stopped before it ended.
    """
    truncated: bool
    """
    Whether part of the output is missing.
    """
    meta: OutputMeta | None = None
    timestamp: Timestamp
    exclude_from_context: bool | None = None
    """
    Whether the model is kept from seeing this.
    """


class QueriedEntries(BaseModel):
    """
    What a session holds.
    """

    header: JsonObject
    entries: list[JsonObject]
    """
    The entries, as they are kept, in the order of the file, from `since` on.
    """
    leaf_id: str | None = None
    """
    The last entry of the branch; absent: there is none.
    """


class QueriedKey(BaseModel):
    """
    What a provider wants to see.
    """

    api_key: str | None = None
    """
    The key; absent: there is none.
    """
    headers: StringMap | None = None
    is_o_auth: bool | None = None
    """
    The key is of a login.
    """


class QueriedModel(BaseModel):
    """
    A model, and whether it can be asked.
    """

    model: Model
    usable: bool
    """
    There is what is needed to ask it.
    """


class QueriedModels(BaseModel):
    """
    The models that there are.
    """

    models: list[QueriedModel]
    """
    All of them.
    """
    scope: list[Model] | None = None
    """
    Those that are cycled through; absent: all that are usable.
    """


class QueriedPrompt(BaseModel):
    """
    The instructions that hold.
    """

    system_prompt: str
    """
    All of them.
    """
    options: JsonObject


class QueriedState(BaseModel):
    """
    How things are.
    """

    model: Model | None = None
    thinking_level: ThinkingLevel | None = None
    is_idle: bool
    """
    No run goes on, nor anything that leads to one.
    """
    has_pending_messages: bool
    """
    Messages wait for their turn.
    """
    session_id: str
    """
    Id of the session.
    """
    session_file: str | None = None
    """
    The file of the session.
    """
    session_name: str | None = None
    """
    Its name.
    """
    session_directory: str | None = None
    """
    The folder of new sessions.
    """
    leaf_id: str | None = None
    """
    The last entry of the branch; absent: there is none.
    """
    entry_count: Count
    active_tools: list[str]
    """
    The tools that the model may call.
    """
    context_usage: ContextUsage | None = None


class QueriedTool(BaseModel):
    """
    A tool.
    """

    name: str
    """
    Its name.
    """
    description: str
    """
    What the model is told about it.
    """
    parameters: JsonObject
    path: str | None = None
    """
    The file of the extension that it belongs to; absent: it is built in, or the host's.
    """
    prompt_guidelines: list[str] | None = None
    """
    What the system prompt says about its use.
    """
    active: bool
    """
    The model may call it.
    """


class QueriedTools(BaseModel):
    """
    The tools that there are, built in ones first.
    """

    tools: list[QueriedTool]
    """
    The tools.
    """


QueryKind = TypeAliasType(
    "QueryKind",
    Annotated[
        Literal["state", "entries", "models", "tools", "commands", "settings", "system_prompt", "api_key"],
        Field(title="QueryKind"),
    ],
)
"""
What an extension can ask for: `state` (`QueriedState`), `entries` (`QueriedEntries`), `models` (`QueriedModels`), `tools` (`QueriedTools`), `commands` (`CommandList`), `settings` (the user's and the project's settings, merged), `system_prompt` (`QueriedPrompt`), `api_key` (`QueriedKey`).
"""


QueueMode = TypeAliasType(
    "QueueMode", Annotated[Literal["all", "one-at-a-time"], Field(title="QueueMode")]
)
"""
How many waiting messages are delivered at a time: `all` delivers the whole queue, `one-at-a-time` its first message.
"""


class ReadToolDetails(BaseModel):
    """
    The details of a result of the read tool.
    """

    truncation: TruncationResult | None = None
    meta: OutputMeta | None = None


class ReadyFrame(BaseModel):
    """
    The server is ready. The first line of all, and sent once.
    """

    type: Literal["ready"]
    """
    Marks a ready frame.
    """
    version: str | None = None
    """
    The version of the server.
    """


class RedactedThinkingContent(BaseModel):
    """
    Reasoning that the provider hid.
    """

    type: Literal["redactedThinking"]
    """
    Marks a block of hidden reasoning.
    """
    data: str
    """
    The reasoning in encrypted form, to be sent back as it is.
    """


RequestId = TypeAliasType("RequestId", Annotated[str, Field(title="RequestId")])
"""
Ties a response to its request. The host chooses it and does not use it again while the request is open.
"""


class ResourcesHook(BaseModel):
    """
    Skills and prompt templates are looked for. `skillPaths` and `promptPaths` are looked into, too.
    """

    type: Literal["resources_discover"]
    """
    Marks a `resources_discover`.
    """
    cwd: str
    """
    The working directory.
    """
    reason: SessionStartReason


class RetryFallbackAppliedEvent(BaseModel):
    """
    The next attempt asks another model.
    """

    type: Literal["retry_fallback_applied"]
    """
    Marks a retry_fallback_applied event.
    """
    from_: Annotated[str, Field(alias="from")]
    """
    The model that failed.
    """
    to: str
    """
    The model to ask instead.
    """
    role: str
    """
    The role that the models are chosen for.
    """


class RetryFallbackSucceededEvent(BaseModel):
    """
    The other model answered.
    """

    type: Literal["retry_fallback_succeeded"]
    """
    Marks a retry_fallback_succeeded event.
    """
    model: str
    """
    The model that answered.
    """
    role: str
    """
    The role that it was chosen for.
    """


class RpcErrorResponse(BaseModel):
    """
    A command that was refused or failed, or a line that could not be read.
    """

    id: RequestId | None = None
    type: Literal["response"]
    """
    Marks a response.
    """
    command: str
    """
    The `type` of the request, also of one that no dialect knows; `parse` for a line that could not be read as a command.
    """
    success: Literal[False]
    """
    The command was not carried out.
    """
    error: str
    """
    What went wrong, for people to read.
    """


class Rule(BaseModel):
    """
    A rule that watches what the model writes. Hosts treat it as opaque.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    __annotations__ = {
        "__pydantic_extra__": Dict[str, Any],
    }
    name: str
    """
    The name of the rule.
    """
    path: str
    """
    The file that it comes from.
    """
    content: str
    """
    What the model is told when it applies.
    """
    globs: list[str] | None = None
    """
    The files that it is about.
    """
    always_apply: bool | None = None
    """
    Whether it is part of every conversation.
    """
    description: str | None = None
    """
    What it is for.
    """
    condition: list[str] | None = None
    """
    The regular expressions that trigger it.
    """
    scope: list[str] | None = None
    """
    What is watched.
    """
    interrupt_mode: RuleInterruptMode | None = None
    field_source: Annotated[JsonObject, Field(alias="_source")]


RuleInterruptMode = TypeAliasType(
    "RuleInterruptMode",
    Annotated[
        Literal["never", "prose-only", "tool-only", "always"],
        Field(title="RuleInterruptMode"),
    ],
)
"""
When a rule may break into an answer: never, in text only, in tool calls only, always.
"""


class SelectRequest(BaseModel):
    """
    Asks the user to choose one of several options.
    """

    type: Literal["extension_ui_request"]
    """
    Marks a request to the user interface.
    """
    id: str
    """
    Id of this request; an answer repeats it.
    """
    method: Literal["select"]
    """
    What is asked for.
    """
    title: str
    """
    The question.
    """
    options: list[str]
    """
    The options, in order.
    """
    timeout: Count | None = None


class ServiceTierChangeEntry(BaseModel):
    """
    From here on the provider serves in another tier.
    """

    type: Literal["service_tier_change"]
    """
    Marks the kind of entry.
    """
    id: str
    """
    Names the entry inside its file.
    """
    parent_id: str | None
    """
    The entry before it on its branch; null for the first of one.
    """
    timestamp: str
    """
    When it was written: ISO 8601 in UTC with milliseconds.
    """
    service_tier: str | None = None
    """
    The tier; null: the usual one.
    """


class SessionChange(BaseModel):
    """
    Whether another session was opened.
    """

    cancelled: bool
    """
    True: an extension vetoed it and nothing has changed.
    """


class SessionHeader(BaseModel):
    """
    The first line of a session file.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    __annotations__ = {
        "__pydantic_extra__": Dict[str, Any],
    }
    type: Literal["session"]
    """
    Marks the header.
    """
    version: Count
    id: str
    """
    Id of the session.
    """
    timestamp: str
    """
    When the session began: ISO 8601 in UTC with milliseconds.
    """
    cwd: str
    """
    The directory that the session works in.
    """
    parent_session: str | None = None
    """
    The file of the session that this one came from; not verified.
    """
    title: str | None = None
    """
    The name of the session.
    """
    title_source: TitleSource | None = None


class SessionInitEntry(BaseModel):
    """
    What an agent was started with by another agent.
    """

    type: Literal["session_init"]
    """
    Marks the kind of entry.
    """
    id: str
    """
    Names the entry inside its file.
    """
    parent_id: str | None
    """
    The entry before it on its branch; null for the first of one.
    """
    timestamp: str
    """
    When it was written: ISO 8601 in UTC with milliseconds.
    """
    system_prompt: str
    """
    Its instructions.
    """
    task: str
    """
    What it is to do.
    """
    tools: list[str]
    """
    The names of its tools.
    """
    output_schema: Any | None = None
    """
    A JSON Schema of what it is to give back.
    """


class SessionStartHook(BaseModel):
    """
    A session has begun for extensions.
    """

    type: Literal["session_start"]
    """
    Marks a `session_start`.
    """
    reason: SessionStartReason
    previous_session_file: str | None = None
    """
    The file of the session before, if it had one.
    """


SessionStartReason = TypeAliasType(
    "SessionStartReason",
    Annotated[
        Literal["startup", "reload", "new", "resume", "fork"],
        Field(title="SessionStartReason"),
    ],
)
"""
Why a session has begun: the process has started, the extensions were loaded again, or another session was begun, taken up, or made of a part of the one before.
"""


class SessionState(BaseModel):
    """
    The state of the session at one moment.
    """

    model: Model | None = None
    """
    The model in use; absent or null if there is none.
    """
    thinking_level: ThinkingLevel | None = None
    """
    The thinking level in effect; `off` for a model that does not think. xcsh leaves it out, or has null, where no level is set.
    """
    is_streaming: bool
    """
    A run is open. In pi false during the wait before a retry and during an automatic compaction; in xcsh true as long as an accepted prompt is not done with, in pi 1 until `agent_settled`.
    """
    is_compacting: bool
    """
    A compaction is under way, asked for or automatic.
    """
    steering_mode: QueueMode
    follow_up_mode: QueueMode
    interrupt_mode: InterruptMode
    session_file: str | None = None
    """
    Absolute path of the session file, also before it exists; absent if the session is kept in memory only.
    """
    session_id: str
    """
    Id of the session; its form depends on the dialect.
    """
    session_name: str | None = None
    """
    The name given by `set_session_name`; absent if none was.
    """
    auto_compaction_enabled: bool
    """
    A nearly full context is compacted automatically.
    """
    message_count: Count
    queued_message_count: Count
    todo_phases: list[TodoPhase]
    """
    The todos, in order; empty if there are none.
    """
    system_prompt: str | None = None
    """
    The system prompt in use.
    """
    dump_tools: list[DumpTool] | None = None
    """
    The tools that the model is offered.
    """


class SessionStats(BaseModel):
    """
    Counts, tokens and cost: in pi and xcsh of the conversation in memory, where what a compaction has summarised no longer counts; in pi 1 of all entries of the session, other branches included.
    """

    session_file: str | None = None
    """
    Absolute path of the session file; absent if the session is kept in memory only.
    """
    session_id: str
    """
    Id of the session.
    """
    user_messages: Count
    assistant_messages: Count
    tool_calls: Count
    tool_results: Count
    total_messages: Count
    tokens: TokenTotals
    cost: float
    """
    Cost of the assistant messages in US dollars.
    """
    premium_requests: float | None = None
    """
    Requests that a provider counts against a premium allowance.
    """


class SetAutoCompactionCommand(BaseModel):
    """
    Turns the automatic compaction of a nearly full context on or off.
    """

    id: RequestId | None = None
    type: Literal["set_auto_compaction"]
    """
    Names the command.
    """
    enabled: bool
    """
    True: compact automatically.
    """


class SetAutoCompactionResponse(BaseModel):
    """
    The setting is taken.
    """

    id: RequestId | None = None
    type: Literal["response"]
    """
    Marks a response.
    """
    command: Literal["set_auto_compaction"]
    """
    The `type` of the request.
    """
    success: Literal[True]
    """
    The command was accepted.
    """


class SetAutoRetryCommand(BaseModel):
    """
    Turns the automatic retry after a passing fault of the provider on or off. A retry that is under way goes on.
    """

    id: RequestId | None = None
    type: Literal["set_auto_retry"]
    """
    Names the command.
    """
    enabled: bool
    """
    True: retry automatically.
    """


class SetAutoRetryResponse(BaseModel):
    """
    The setting is taken.
    """

    id: RequestId | None = None
    type: Literal["response"]
    """
    Marks a response.
    """
    command: Literal["set_auto_retry"]
    """
    The `type` of the request.
    """
    success: Literal[True]
    """
    The command was accepted.
    """


class SetEditorTextRequest(BaseModel):
    """
    Replaces the text in the place where prompts are entered.
    """

    type: Literal["extension_ui_request"]
    """
    Marks a request to the user interface.
    """
    id: str
    """
    Id of this request; an answer repeats it.
    """
    method: Literal["set_editor_text"]
    """
    What is asked for.
    """
    text: str
    """
    The text.
    """


class SetFollowUpModeCommand(BaseModel):
    """
    Sets how many follow-up messages are delivered at a time.
    """

    id: RequestId | None = None
    type: Literal["set_follow_up_mode"]
    """
    Names the command.
    """
    mode: QueueMode


class SetFollowUpModeResponse(BaseModel):
    """
    The mode is set.
    """

    id: RequestId | None = None
    type: Literal["response"]
    """
    Marks a response.
    """
    command: Literal["set_follow_up_mode"]
    """
    The `type` of the request.
    """
    success: Literal[True]
    """
    The command was accepted.
    """


class SetHostToolsCommand(BaseModel):
    """
    Replaces the set of tools that the host carries out. The model can use them from its next request on.
    """

    id: RequestId | None = None
    type: Literal["set_host_tools"]
    """
    Names the command.
    """
    tools: list[HostToolDefinition]
    """
    The whole new set. Names are unique and differ from those of the other tools. Empty: no host tools.
    """


class SetHostToolsResponse(BaseModel):
    """
    The host tools that are registered now.
    """

    id: RequestId | None = None
    type: Literal["response"]
    """
    Marks a response.
    """
    command: Literal["set_host_tools"]
    """
    The `type` of the request.
    """
    success: Literal[True]
    """
    The command was accepted.
    """
    data: HostToolNames


class SetInterruptModeCommand(BaseModel):
    """
    Sets whether steering cuts the tool calls of a turn short. A change counts from the next run on.
    """

    id: RequestId | None = None
    type: Literal["set_interrupt_mode"]
    """
    Names the command.
    """
    mode: InterruptMode


class SetInterruptModeResponse(BaseModel):
    """
    The mode is set.
    """

    id: RequestId | None = None
    type: Literal["response"]
    """
    Marks a response.
    """
    command: Literal["set_interrupt_mode"]
    """
    The `type` of the request.
    """
    success: Literal[True]
    """
    The command was accepted.
    """


class SetLocaleCommand(BaseModel):
    """
    Sets the language that the agent should answer in. `pi-rpc serve` does not do it and answers that it is not implemented.
    """

    id: RequestId | None = None
    type: Literal["set_locale"]
    """
    Names the command.
    """
    locale: str
    """
    The language, as a language tag.
    """


class SetLocaleResponse(BaseModel):
    """
    The language is set.
    """

    id: RequestId | None = None
    type: Literal["response"]
    """
    Marks a response.
    """
    command: Literal["set_locale"]
    """
    The `type` of the request.
    """
    success: Literal[True]
    """
    The command was accepted.
    """


class SetModelCommand(BaseModel):
    """
    Switches to a model that has credentials. An open run keeps the model that it began with.
    """

    id: RequestId | None = None
    type: Literal["set_model"]
    """
    Names the command.
    """
    provider: str
    """
    Id of the provider.
    """
    model_id: str
    """
    Id of the model within the provider.
    """


class SetModelResponse(BaseModel):
    """
    The model that is in use now.
    """

    id: RequestId | None = None
    type: Literal["response"]
    """
    Marks a response.
    """
    command: Literal["set_model"]
    """
    The `type` of the request.
    """
    success: Literal[True]
    """
    The command was accepted.
    """
    data: Model


class SetSessionNameCommand(BaseModel):
    """
    Gives the session a name to show. Blanks around it are cut off; an empty name is refused.
    """

    id: RequestId | None = None
    type: Literal["set_session_name"]
    """
    Names the command.
    """
    name: str
    """
    The name, one line of text.
    """


class SetSessionNameResponse(BaseModel):
    """
    The name is set.
    """

    id: RequestId | None = None
    type: Literal["response"]
    """
    Marks a response.
    """
    command: Literal["set_session_name"]
    """
    The `type` of the request.
    """
    success: Literal[True]
    """
    The command was accepted.
    """


class SetStatusRequest(BaseModel):
    """
    Sets or clears an entry of the status line.
    """

    type: Literal["extension_ui_request"]
    """
    Marks a request to the user interface.
    """
    id: str
    """
    Id of this request; an answer repeats it.
    """
    method: Literal["setStatus"]
    """
    What is asked for.
    """
    status_key: str
    """
    Which entry.
    """
    status_text: str | None = None
    """
    The text to show; absent: clear the entry.
    """


class SetSteeringModeCommand(BaseModel):
    """
    Sets how many steering messages are delivered at a time.
    """

    id: RequestId | None = None
    type: Literal["set_steering_mode"]
    """
    Names the command.
    """
    mode: QueueMode


class SetSteeringModeResponse(BaseModel):
    """
    The mode is set.
    """

    id: RequestId | None = None
    type: Literal["response"]
    """
    Marks a response.
    """
    command: Literal["set_steering_mode"]
    """
    The `type` of the request.
    """
    success: Literal[True]
    """
    The command was accepted.
    """


class SetThinkingLevelCommand(BaseModel):
    """
    Sets how much the model thinks. A level that the model does not know is replaced by the nearest one that it does.
    """

    id: RequestId | None = None
    type: Literal["set_thinking_level"]
    """
    Names the command.
    """
    level: ThinkingLevel


class SetThinkingLevelResponse(BaseModel):
    """
    The level was taken; `get_state` tells which one is in effect.
    """

    id: RequestId | None = None
    type: Literal["response"]
    """
    Marks a response.
    """
    command: Literal["set_thinking_level"]
    """
    The `type` of the request.
    """
    success: Literal[True]
    """
    The command was accepted.
    """


class SetTitleRequest(BaseModel):
    """
    Sets the title of the window. xcsh sends it only if it was asked to.
    """

    type: Literal["extension_ui_request"]
    """
    Marks a request to the user interface.
    """
    id: str
    """
    Id of this request; an answer repeats it.
    """
    method: Literal["setTitle"]
    """
    What is asked for.
    """
    title: str
    """
    The title.
    """


class SetTodosCommand(BaseModel):
    """
    Replaces the list of todos. It is kept in memory only.
    """

    id: RequestId | None = None
    type: Literal["set_todos"]
    """
    Names the command.
    """
    phases: list[TodoPhaseInput]
    """
    The whole new list, in order. Empty: no todos.
    """


class SetTodosResponse(BaseModel):
    """
    The list as it is now.
    """

    id: RequestId | None = None
    type: Literal["response"]
    """
    Marks a response.
    """
    command: Literal["set_todos"]
    """
    The `type` of the request.
    """
    success: Literal[True]
    """
    The command was accepted.
    """
    data: TodoList


class SetWidgetRequest(BaseModel):
    """
    Sets or removes a block of lines beside the editor.
    """

    type: Literal["extension_ui_request"]
    """
    Marks a request to the user interface.
    """
    id: str
    """
    Id of this request; an answer repeats it.
    """
    method: Literal["setWidget"]
    """
    What is asked for.
    """
    widget_key: str
    """
    Which block.
    """
    widget_lines: list[str] | None = None
    """
    The lines to show; absent: remove the block.
    """
    widget_placement: WidgetPlacement | None = None


RpcExtensionUIRequest = TypeAliasType(
    "RpcExtensionUIRequest",
    Annotated[
        SelectRequest | ConfirmRequest | InputRequest | EditorRequest | CancelRequest | NotifyRequest | SetStatusRequest | SetWidgetRequest | SetTitleRequest | SetEditorTextRequest,
        Field(discriminator="method", title="RpcExtensionUIRequest"),
    ],
)
"""
Something that an extension wants of the user interface: a dialog that waits for an answer, or a notice that does not.
"""


class ShutdownHook(BaseModel):
    """
    The session is about to be left, or the process to end. What is done afterwards is lost.
    """

    type: Literal["session_shutdown"]
    """
    Marks a `session_shutdown`.
    """
    reason: ShutdownReason | None = None
    target_session_file: str | None = None
    """
    The file of the session that comes next, if it has one.
    """


ShutdownReason = TypeAliasType(
    "ShutdownReason",
    Annotated[
        Literal["quit", "reload", "new", "resume", "fork"],
        Field(title="ShutdownReason"),
    ],
)
"""
Why a session is left: the process ends, the extensions are loaded again, another session begins, is taken up, or is made of a part of this one.
"""


class SourceInfo(BaseModel):
    """
    Where something that a prompt can call comes from.
    """

    path: str
    """
    Absolute path of the file that defines it; of what is built in, `builtin:` and a name.
    """
    source: str
    """
    How it was found: `auto`, `local`, `cli`, `builtin`, or the package that it belongs to.
    """
    scope: SourceScope
    origin: SourceOrigin
    base_dir: str | None = None
    """
    The directory that paths in it are relative to.
    """


SourceOrigin = TypeAliasType(
    "SourceOrigin",
    Annotated[Literal["top-level", "package"], Field(title="SourceOrigin")],
)
"""
Whether something stands alone or belongs to a package.
"""


SourceScope = TypeAliasType(
    "SourceScope",
    Annotated[Literal["user", "project", "temporary"], Field(title="SourceScope")],
)
"""
For whom something is there: the user, the project, or this process alone.
"""


class StartUpdate(BaseModel):
    """
    The answer begins. Servers do not send it; message_start says the same.
    """

    type: Literal["start"]
    """
    Marks a start update.
    """
    partial: AssistantMessage


class SteerCommand(BaseModel):
    """
    Queues a message that redirects the agent as soon as possible. Allowed in every state; while no run is open it waits for the next one.
    """

    id: RequestId | None = None
    type: Literal["steer"]
    """
    Names the command.
    """
    message: str
    """
    The text for the agent. It may name a prompt template, but no command of an extension.
    """
    images: list[ImageContent] | None = None
    """
    Images that go with the text, in order.
    """


class SteerResponse(BaseModel):
    """
    The message is in the steering queue.
    """

    id: RequestId | None = None
    type: Literal["response"]
    """
    Marks a response.
    """
    command: Literal["steer"]
    """
    The `type` of the request.
    """
    success: Literal[True]
    """
    The command was accepted.
    """


StopReason = TypeAliasType(
    "StopReason",
    Annotated[
        Literal["stop", "length", "toolUse", "error", "aborted"],
        Field(title="StopReason"),
    ],
)
"""
Why the model stopped: it was done, it ran into the token limit, it wants tools to be run, it failed, or it was aborted. In pi 1 also: it has not stopped yet, or the provider gives the answer later.
"""


StreamingBehavior = TypeAliasType(
    "StreamingBehavior",
    Annotated[Literal["steer", "followUp"], Field(title="StreamingBehavior")],
)
"""
How a prompt is queued while a run is open: `steer` redirects the run as soon as possible, `followUp` waits until it would stop.
"""


StringMap = TypeAliasType("StringMap", dict[str, str])
"""
Text by name.
"""


SwitchReason = TypeAliasType(
    "SwitchReason", Annotated[Literal["new", "resume"], Field(title="SwitchReason")]
)
"""
Why another session is opened: a new one begins, or one is taken up.
"""


class SwitchSessionCommand(BaseModel):
    """
    Leaves the current session and opens the one in a file. An extension may veto it.
    """

    id: RequestId | None = None
    type: Literal["switch_session"]
    """
    Names the command.
    """
    session_path: str
    """
    Path of the session file, absolute or relative to the working directory.
    """


RpcCommand = TypeAliasType(
    "RpcCommand",
    Annotated[
        PromptCommand | SteerCommand | FollowUpCommand | AbortCommand | AbortAndPromptCommand | NewSessionCommand | GetStateCommand | SetTodosCommand | SetHostToolsCommand | SetLocaleCommand | GetIntegrationsCommand | SetModelCommand | CycleModelCommand | GetAvailableModelsCommand | SetThinkingLevelCommand | CycleThinkingLevelCommand | SetSteeringModeCommand | SetFollowUpModeCommand | SetInterruptModeCommand | CompactCommand | SetAutoCompactionCommand | SetAutoRetryCommand | AbortRetryCommand | BashCommand | AbortBashCommand | GetSessionStatsCommand | ExportHtmlCommand | SwitchSessionCommand | BranchCommand | GetBranchMessagesCommand | GetLastAssistantTextCommand | SetSessionNameCommand | GetMessagesCommand,
        Field(discriminator="type", title="RpcCommand"),
    ],
)
"""
A request of the host. Each is answered by a response with the same `id`; keys that a command does not know are ignored.
"""


class SwitchSessionResponse(BaseModel):
    """
    The other session is open, or an extension vetoed it.
    """

    id: RequestId | None = None
    type: Literal["response"]
    """
    Marks a response.
    """
    command: Literal["switch_session"]
    """
    The `type` of the request.
    """
    success: Literal[True]
    """
    The command was accepted.
    """
    data: SessionChange


RpcSuccess = TypeAliasType(
    "RpcSuccess",
    Annotated[
        PromptResponse | SteerResponse | FollowUpResponse | AbortResponse | AbortAndPromptResponse | NewSessionResponse | GetStateResponse | SetTodosResponse | SetHostToolsResponse | SetLocaleResponse | GetIntegrationsResponse | SetModelResponse | CycleModelResponse | GetAvailableModelsResponse | SetThinkingLevelResponse | CycleThinkingLevelResponse | SetSteeringModeResponse | SetFollowUpModeResponse | SetInterruptModeResponse | CompactResponse | SetAutoCompactionResponse | SetAutoRetryResponse | AbortRetryResponse | BashResponse | AbortBashResponse | GetSessionStatsResponse | ExportHtmlResponse | SwitchSessionResponse | BranchResponse | GetBranchMessagesResponse | GetLastAssistantTextResponse | SetSessionNameResponse | GetMessagesResponse,
        Field(discriminator="command", title="RpcSuccess"),
    ],
)
"""
A command that was accepted. Told apart by `command`; `data` is there only for the commands that have a result.
"""


RpcResponse = TypeAliasType(
    "RpcResponse",
    Annotated[
        RpcSuccess | RpcErrorResponse,
        Field(discriminator="success", title="RpcResponse"),
    ],
)
"""
The answer to a command, or the refusal of a line that could not be read.
"""


class TextContent(BaseModel):
    """
    A block of text.
    """

    type: Literal["text"]
    """
    Marks a text block.
    """
    text: str
    """
    The text.
    """
    text_signature: str | None = None
    """
    A mark of the provider that has to be sent back with the text; opaque.
    """


class TextDeltaUpdate(BaseModel):
    """
    A text block has grown.
    """

    type: Literal["text_delta"]
    """
    Marks a text_delta update.
    """
    content_index: Count
    delta: str
    """
    What was added.
    """
    partial: AssistantMessage


class TextEndUpdate(BaseModel):
    """
    A text block is complete.
    """

    type: Literal["text_end"]
    """
    Marks a text_end update.
    """
    content_index: Count
    content: str
    """
    All of the block.
    """
    partial: AssistantMessage


class TextStartUpdate(BaseModel):
    """
    A text block begins.
    """

    type: Literal["text_start"]
    """
    Marks a text_start update.
    """
    content_index: Count
    partial: AssistantMessage


class ThinkingContent(BaseModel):
    """
    A block of the model's reasoning.
    """

    type: Literal["thinking"]
    """
    Marks a thinking block.
    """
    thinking: str
    """
    The reasoning; a placeholder when the provider hid it.
    """
    thinking_signature: str | None = None
    """
    What the provider wants back with the block, such as a signature or the whole reasoning item; opaque.
    """


class ThinkingDeltaUpdate(BaseModel):
    """
    A thinking block has grown.
    """

    type: Literal["thinking_delta"]
    """
    Marks a thinking_delta update.
    """
    content_index: Count
    delta: str
    """
    What was added.
    """
    partial: AssistantMessage


class ThinkingEndUpdate(BaseModel):
    """
    A thinking block is complete.
    """

    type: Literal["thinking_end"]
    """
    Marks a thinking_end update.
    """
    content_index: Count
    content: str
    """
    All of the block.
    """
    partial: AssistantMessage


ThinkingLevel = TypeAliasType(
    "ThinkingLevel",
    Annotated[
        Literal["off", "minimal", "low", "medium", "high", "xhigh"],
        Field(title="ThinkingLevel"),
    ],
)
"""
How hard the model should think before it answers.
"""


class ThinkingLevelChange(BaseModel):
    """
    The outcome of a step to the next thinking level.
    """

    level: ThinkingLevel


class ThinkingLevelChangeEntry(BaseModel):
    """
    From here on models think more, or less.
    """

    type: Literal["thinking_level_change"]
    """
    Marks the kind of entry.
    """
    id: str
    """
    Names the entry inside its file.
    """
    parent_id: str | None
    """
    The entry before it on its branch; null for the first of one.
    """
    timestamp: str
    """
    When it was written: ISO 8601 in UTC with milliseconds.
    """
    thinking_level: str | None = None
    """
    The level; null: none is set.
    """


class ThinkingStartUpdate(BaseModel):
    """
    A thinking block begins.
    """

    type: Literal["thinking_start"]
    """
    Marks a thinking_start update.
    """
    content_index: Count
    partial: AssistantMessage


Timestamp = TypeAliasType(
    "Timestamp", Annotated[int, Field(ge=0, le=9007199254740991, title="Timestamp")]
)
"""
A point in time, in milliseconds since the Unix epoch.
"""


TitleSource = TypeAliasType(
    "TitleSource", Annotated[Literal["auto", "user"], Field(title="TitleSource")]
)
"""
Who chose the name of a session: a model, or the user.
"""


ToExtension = TypeAliasType(
    "ToExtension",
    Annotated[
        ExtensionHello | ExtensionCommandCall | ExtensionToolCall | ExtensionHook | ExtensionCancel | ExtensionEvent | ExtensionUIAnswer | ExtensionResponse | ExtensionAnswer | ExtensionModelCall,
        Field(discriminator="type", title="ToExtension"),
    ],
)
"""
Everything that the server writes to an extension's stdin: one JSON object a line, ended by a line feed.
"""


class TodoAutoClearEvent(BaseModel):
    """
    A todo that was done has been taken off the list.
    """

    type: Literal["todo_auto_clear"]
    """
    Marks a todo_auto_clear event.
    """


class TodoItem(BaseModel):
    """
    One thing to do.
    """

    id: str
    """
    Id of the todo.
    """
    content: str
    """
    What is to be done.
    """
    status: TodoStatus
    notes: str | None = None
    """
    What else is to be known about it.
    """


class TodoItemInput(BaseModel):
    """
    One thing to do as a host gives it.
    """

    id: str | None = None
    """
    Id of the todo; absent: one is made.
    """
    content: str
    """
    What is to be done.
    """
    status: TodoStatus | None = None
    notes: str | None = None
    """
    What else is to be known about it.
    """


class TodoList(BaseModel):
    """
    The todos of the session.
    """

    todo_phases: list[TodoPhase]
    """
    The phases, in order, with ids filled in.
    """


class TodoPhase(BaseModel):
    """
    A group of todos.
    """

    id: str
    """
    Id of the phase.
    """
    name: str
    """
    Its name.
    """
    tasks: list[TodoItem]
    """
    Its todos, in order.
    """


class TodoPhaseInput(BaseModel):
    """
    A group of todos as a host gives it.
    """

    id: str | None = None
    """
    Id of the phase; absent: one is made.
    """
    name: str
    """
    Its name.
    """
    tasks: list[TodoItemInput]
    """
    Its todos, in order.
    """


class TodoReminderEvent(BaseModel):
    """
    The run ended with open todos; the model is reminded and goes on.
    """

    type: Literal["todo_reminder"]
    """
    Marks a todo_reminder event.
    """
    todos: list[TodoReminderItem]
    """
    What is still open.
    """
    attempt: Count
    max_attempts: Count


class TodoReminderItem(BaseModel):
    """
    A todo that is still open.
    """

    id: str
    """
    The id of the todo.
    """
    content: str
    """
    What is to be done.
    """
    status: TodoReminderStatus


TodoReminderStatus = TypeAliasType(
    "TodoReminderStatus",
    Annotated[Literal["pending", "in_progress"], Field(title="TodoReminderStatus")],
)
"""
How far an open todo is.
"""


TodoStatus = TypeAliasType(
    "TodoStatus",
    Annotated[
        Literal["pending", "in_progress", "completed", "abandoned"],
        Field(title="TodoStatus"),
    ],
)
"""
How far a todo has come.
"""


class TokenTotals(BaseModel):
    """
    Sums of tokens over all assistant messages.
    """

    input: Count
    output: Count
    cache_read: Count
    cache_write: Count
    total: Count


class ToolCall(BaseModel):
    """
    A tool that the model wants to be run.
    """

    type: Literal["toolCall"]
    """
    Marks a tool call.
    """
    id: str
    """
    The id of the call; results and tool events refer to it.
    """
    name: str
    """
    The name of the tool.
    """
    arguments: JsonObject
    thought_signature: str | None = None
    """
    A mark of the provider that has to be sent back with the call; opaque.
    """
    intent: str | None = None
    """
    In the model's words, what the call is for.
    """


AssistantContent = TypeAliasType(
    "AssistantContent",
    Annotated[
        TextContent | ThinkingContent | RedactedThinkingContent | ToolCall,
        Field(discriminator="type", title="AssistantContent"),
    ],
)
"""
One block of what the model said.
"""


class ToolCallHook(BaseModel):
    """
    A tool is about to run. `block` prevents it, and the model is told the `reason`. An extension that fails here blocks it, too.
    """

    type: Literal["tool_call"]
    """
    Marks a `tool_call`.
    """
    tool_call_id: str
    """
    Id of the tool call in the assistant message.
    """
    tool_name: str
    """
    Name of the tool.
    """
    input: JsonObject


class ToolExecutionEndEvent(BaseModel):
    """
    A tool call is finished.
    """

    type: Literal["tool_execution_end"]
    """
    Marks a tool_execution_end event.
    """
    tool_call_id: str
    """
    The id of the call.
    """
    tool_name: str
    """
    The name of the tool.
    """
    result: AgentToolResult
    is_error: bool
    """
    Whether the call failed.
    """
    is_warning: bool | None = None
    """
    Whether the call succeeded with reservations.
    """


class ToolExecutionStartEvent(BaseModel):
    """
    A tool call is taken up.
    """

    type: Literal["tool_execution_start"]
    """
    Marks a tool_execution_start event.
    """
    tool_call_id: str
    """
    The id of the call.
    """
    tool_name: str
    """
    The name of the tool.
    """
    args: JsonObject
    intent: str | None = None
    """
    In the model's words, what the call is for.
    """


class ToolExecutionUpdateEvent(BaseModel):
    """
    A tool has something to show while it runs.
    """

    type: Literal["tool_execution_update"]
    """
    Marks a tool_execution_update event.
    """
    tool_call_id: str
    """
    The id of the call.
    """
    tool_name: str
    """
    The name of the tool.
    """
    args: JsonObject
    partial_result: AgentToolResult


class ToolResultHook(BaseModel):
    """
    A tool has run. `content`, `details` and `isError` take the place of what it returned.
    """

    type: Literal["tool_result"]
    """
    Marks a `tool_result`.
    """
    tool_call_id: str
    """
    Id of the tool call in the assistant message.
    """
    tool_name: str
    """
    Name of the tool.
    """
    input: JsonObject
    content: list[UserContent]
    """
    What the model would be told.
    """
    details: Any | None = None
    """
    What the tool tells the host.
    """
    is_error: bool
    """
    Whether the call failed.
    """
    structured_content: Any | None = None
    """
    The result as data, for programs.
    """


class ToolResultMessage(BaseModel):
    """
    The outcome of one tool call, as the model will read it.
    """

    role: Literal["toolResult"]
    """
    Marks a tool result.
    """
    tool_call_id: str
    """
    The id of the call that this answers.
    """
    tool_name: str
    """
    The name of the tool that was called.
    """
    content: list[UserContent]
    """
    What the model is told; may be empty.
    """
    details: Any | None = None
    """
    What the tool tells the host beyond the content; its shape is the tool's own. Absent when there is nothing.
    """
    is_error: bool
    """
    Whether the call failed.
    """
    is_warning: bool | None = None
    """
    Whether the call succeeded with reservations.
    """
    attribution: Attribution | None = None
    pruned_at: Timestamp | None = None
    timestamp: Timestamp


class ToolcallDeltaUpdate(BaseModel):
    """
    The arguments of a tool call have grown.
    """

    type: Literal["toolcall_delta"]
    """
    Marks a toolcall_delta update.
    """
    content_index: Count
    delta: str
    """
    A piece of the arguments as JSON text; may be empty.
    """
    partial: AssistantMessage


class ToolcallEndUpdate(BaseModel):
    """
    A tool call is complete.
    """

    type: Literal["toolcall_end"]
    """
    Marks a toolcall_end update.
    """
    content_index: Count
    tool_call: ToolCall
    partial: AssistantMessage


class ToolcallStartUpdate(BaseModel):
    """
    A tool call begins.
    """

    type: Literal["toolcall_start"]
    """
    Marks a toolcall_start update.
    """
    content_index: Count
    partial: AssistantMessage


AssistantMessageEvent = TypeAliasType(
    "AssistantMessageEvent",
    Annotated[
        StartUpdate | TextStartUpdate | TextDeltaUpdate | TextEndUpdate | ThinkingStartUpdate | ThinkingDeltaUpdate | ThinkingEndUpdate | ToolcallStartUpdate | ToolcallDeltaUpdate | ToolcallEndUpdate | DoneUpdate | ErrorUpdate,
        Field(discriminator="type", title="AssistantMessageEvent"),
    ],
)
"""
How an assistant message has grown.
"""


class TreeHook(BaseModel):
    """
    Another branch of the session was taken up.
    """

    type: Literal["session_tree"]
    """
    Marks a `session_tree`.
    """
    new_leaf_id: str | None = None
    """
    Where the session is now; absent: at its beginning.
    """
    old_leaf_id: str | None = None
    """
    Where it was; absent: at its beginning.
    """
    summary_entry: JsonObject | None = None
    from_extension: bool | None = None
    """
    The summary is an extension's.
    """


TruncationDirection = TypeAliasType(
    "TruncationDirection",
    Annotated[Literal["head", "tail"], Field(title="TruncationDirection")],
)
"""
Which end of a long output was kept.
"""


class TruncationResult(BaseModel):
    """
    What was cut from the output of a built-in tool.
    """

    content: str
    """
    What was kept.
    """
    truncated: bool
    """
    Whether anything was cut.
    """
    truncated_by: TruncationUnit | None
    """
    Which limit was reached; null when none.
    """
    total_lines: Count
    total_bytes: Count
    output_lines: Count
    output_bytes: Count
    last_line_partial: bool
    """
    Whether the line at the cut is itself incomplete.
    """
    first_line_exceeds_limit: bool
    """
    Whether the first line alone was too long, so that nothing was kept.
    """
    max_lines: Count
    max_bytes: Count


TruncationUnit = TypeAliasType(
    "TruncationUnit",
    Annotated[Literal["lines", "bytes"], Field(title="TruncationUnit")],
)
"""
Which limit a long output ran into.
"""


class TtsrInjectionEntry(BaseModel):
    """
    Rules were brought to the model's attention.
    """

    type: Literal["ttsr_injection"]
    """
    Marks the kind of entry.
    """
    id: str
    """
    Names the entry inside its file.
    """
    parent_id: str | None
    """
    The entry before it on its branch; null for the first of one.
    """
    timestamp: str
    """
    When it was written: ISO 8601 in UTC with milliseconds.
    """
    injected_rules: list[str]
    """
    Their names.
    """


SessionEntry = TypeAliasType(
    "SessionEntry",
    Annotated[
        MessageEntry | ModelChangeEntry | ThinkingLevelChangeEntry | CompactionEntry | BranchSummaryEntry | CustomEntry | CustomMessageEntry | LabelEntry | ContextChangeEntry | ServiceTierChangeEntry | TtsrInjectionEntry | McpToolSelectionEntry | SessionInitEntry | ModeChangeEntry,
        Field(discriminator="type", title="SessionEntry"),
    ],
)
"""
A line of a session file after the header. Readers keep types that they do not know: they are links of the chain of parents.
"""


class TtsrTriggeredEvent(BaseModel):
    """
    What the model was writing broke a rule; the answer is stopped and tried again with the rule in view.
    """

    type: Literal["ttsr_triggered"]
    """
    Marks a ttsr_triggered event.
    """
    rules: list[Rule]
    """
    The rules that applied.
    """


class TurnEndEvent(BaseModel):
    """
    The turn is over.
    """

    type: Literal["turn_end"]
    """
    Marks a turn_end event.
    """
    message: AssistantMessage
    tool_results: list[ToolResultMessage]
    """
    The results of its tool calls, in the order in which they were told; empty when there are none.
    """


class TurnStartEvent(BaseModel):
    """
    A turn begins: new input, if any, one answer of the model, and the tools that it calls.
    """

    type: Literal["turn_start"]
    """
    Marks a turn_start event.
    """


AgentSessionEvent = TypeAliasType(
    "AgentSessionEvent",
    Annotated[
        AgentStartEvent | AgentEndEvent | TurnStartEvent | TurnEndEvent | MessageStartEvent | MessageUpdateEvent | MessageEndEvent | ToolExecutionStartEvent | ToolExecutionUpdateEvent | ToolExecutionEndEvent | AutoCompactionStartEvent | AutoCompactionEndEvent | AutoRetryStartEvent | AutoRetryEndEvent | RetryFallbackAppliedEvent | RetryFallbackSucceededEvent | TtsrTriggeredEvent | TodoReminderEvent | TodoAutoClearEvent,
        Field(discriminator="type", title="AgentSessionEvent"),
    ],
)
"""
What happens in the session, as it happens. Events have no id.
"""


Outbound = TypeAliasType(
    "Outbound",
    Annotated[
        RpcResponse | AgentSessionEvent | RpcExtensionUIRequest | ExtensionError | ReadyFrame | HostToolCall | HostToolCancel,
        Field(discriminator="type", title="Outbound"),
    ],
)
"""
Everything that a server may write: one JSON object a line, ended by a line feed.
"""


class UICancelledResponse(BaseModel):
    """
    The user closed the dialog without an answer; the agent goes on with its default.
    """

    type: Literal["extension_ui_response"]
    """
    Marks an answer to a dialog.
    """
    id: str
    """
    The `id` of the request.
    """
    cancelled: Literal[True]
    """
    The dialog was closed.
    """
    timed_out: bool | None = None
    """
    It was closed because its time was over.
    """


class UIConfirmedResponse(BaseModel):
    """
    The user said yes or no.
    """

    type: Literal["extension_ui_response"]
    """
    Marks an answer to a dialog.
    """
    id: str
    """
    The `id` of the request.
    """
    confirmed: bool
    """
    True: yes.
    """


class UIValueResponse(BaseModel):
    """
    The user chose an option or entered a text.
    """

    type: Literal["extension_ui_response"]
    """
    Marks an answer to a dialog.
    """
    id: str
    """
    The `id` of the request.
    """
    value: str
    """
    The option or the text.
    """


RpcExtensionUIResponse = TypeAliasType(
    "RpcExtensionUIResponse",
    Annotated[
        UIValueResponse | UIConfirmedResponse | UICancelledResponse,
        Field(title="RpcExtensionUIResponse"),
    ],
)
"""
The answer of the user to a dialog. It gets no response. An answer to a dialog that is not open is ignored; one of the wrong kind counts as the default.
"""


Inbound = TypeAliasType(
    "Inbound",
    Annotated[
        RpcCommand | RpcExtensionUIResponse | HostToolUpdate | HostToolResult,
        Field(discriminator="type", title="Inbound"),
    ],
)
"""
Everything that a host may write: one JSON object a line, ended by a line feed. In an optional member, at any depth, `null` means the same as absent; a required member refuses it.
"""


class Usage(BaseModel):
    """
    Tokens and cost of one request to a model.
    """

    input: Count
    output: Count
    cache_read: Count
    cache_write: Count
    total_tokens: Count
    premium_requests: float | None = None
    """
    How many requests of a plan with a fixed number of them this took.
    """
    cost: Cost


class UserBashHook(BaseModel):
    """
    The host wants a shell command run. `bash` takes the place of what would come of it. If an extension fails here, it is not run.
    """

    type: Literal["user_bash"]
    """
    Marks an `user_bash`.
    """
    command: str
    """
    The command line.
    """
    exclude_from_context: bool
    """
    Models are not told of it.
    """
    cwd: str
    """
    The directory that it would run in.
    """


HookEvent = TypeAliasType(
    "HookEvent",
    Annotated[
        BeforeSwitchHook | BeforeForkHook | BeforeCompactHook | InputHook | BeforeAgentStartHook | PrepareArgumentsHook | ToolCallHook | ToolResultHook | ShutdownHook | EventHook | SessionStartHook | CompactedHook | BeforeTreeHook | TreeHook | ModelSelectHook | LevelSelectHook | ContextHook | MessageEndHook | ProviderRequestHook | ProviderHeadersHook | ProviderResponseHook | UserBashHook | ResourcesHook,
        Field(discriminator="type", title="HookEvent"),
    ],
)
"""
What an extension can have a say in.
"""


UserContent = TypeAliasType(
    "UserContent",
    Annotated[
        TextContent | ImageContent, Field(discriminator="type", title="UserContent")
    ],
)
"""
One block of what the model is told.
"""


MessageContent = TypeAliasType(
    "MessageContent", Annotated[str | list[UserContent], Field(title="MessageContent")]
)
"""
Content of a message that the model is told: plain text, or a list of blocks.
"""


class UserMessage(BaseModel):
    """
    What the user said. The server always writes the array form: the text block first, then the images.
    """

    role: Literal["user"]
    """
    Marks a user message.
    """
    content: MessageContent
    synthetic: bool | None = None
    """
    Whether the server made the message up on the user's behalf.
    """
    attribution: Attribution | None = None
    provider_payload: JsonObject | None = None
    timestamp: Timestamp


AgentMessage = TypeAliasType(
    "AgentMessage",
    Annotated[
        UserMessage | DeveloperMessage | AssistantMessage | ToolResultMessage | BashExecutionMessage | PythonExecutionMessage | CustomMessage | HookMessage | BranchSummaryMessage | CompactionSummaryMessage | FileMentionMessage,
        Field(discriminator="role", title="AgentMessage"),
    ],
)
"""
A message of the conversation, told apart by its role.
"""


WidgetPlacement = TypeAliasType(
    "WidgetPlacement",
    Annotated[Literal["aboveEditor", "belowEditor"], Field(title="WidgetPlacement")],
)
"""
Where a widget is shown: above or below the editor.
"""
