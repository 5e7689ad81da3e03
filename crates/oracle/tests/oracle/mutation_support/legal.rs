//! Simple changes of a recording that are legal, each with the reason.

const ENDED: &str = "the input has ended, and xcsh then exits without another word";
const MAY_BE_ABSENT: &str = "it may be absent, and there may be others";
const PROGRESS: &str = "each progress shows all that was printed; how often is the server's affair";
const LENIENT: &str =
    "arguments are read from what was streamed as far as it goes, and no further than their end";
const FREE: &str = "what a tool takes, keeps and tells is its own affair";
const FITTED: &str = "omp fits arguments to the schema of the tool, which may name them otherwise";
const AT_ONCE: &str = "calls run at once, and each ends when it ends";
const ABORTED: &str = "the message was aborted, and may hold more than was streamed";
const BESIDE: &str = "it is done beside what else goes on, and may be answered before or after it";

const NESTED: &str = "the arguments of a script's call stand in no message before it";

const STORED: &str = "what an extension stores is its own affair";

const ENTRY: &str = "what is kept besides messages is told as it comes, and not always";

const COMMANDS: &str = "slash commands come and go; when they are listed is the server's affair";
const UNKNOWN_BEFORE: &str = "no frame before it has told the model or the level, which may be the same";

/// The way of spoiling, the beginning of the frame's label, and the reason why the change is legal.
pub const LEGAL: &[(&str, &str, &str)] = &[
    ("renamed", "tool_execution_start /args/command", FITTED),
    ("renamed", "tool_execution_start /args/path", NESTED),
    ("renamed", "tool_execution_start /args/t", NESTED),
    ("retyped", "tool_execution_start /args/path", NESTED),
    ("retyped", "tool_execution_start /args/t", NESTED),
    ("renamed", "entry_appended /entry/data", STORED),
    ("retyped", "entry_appended /entry/data", STORED),
    ("dropped", "agent_end", ENDED),
    ("dropped", "agent_settled", "the input ends before anything tells that the rest is over"),
    (
        "dropped",
        "auto_retry_end",
        "nothing comes behind it from which one could know that the run was the last",
    ),
    (
        "dropped",
        "bash_execution_update",
        "what an extension runs in the server's place is not told on its way",
    ),
    ("dropped", "extension_ui_request notify", "nobody knows what an extension wants to show"),
    ("dropped", "extension_ui_request cancel", "the dialog may still be answered"),
    ("dropped", "entry_appended", ENTRY),
    ("dropped", "message_update text_delta", ABORTED),
    ("dropped", "message_update toolcall_delta", LENIENT),
    ("dropped", "response prompt", "xcsh may answer it with the error alone, or had no time before it ended"),
    ("dropped", "response", ENDED),
    ("dropped", "summarization_retry_attempt_start", "an abort ends the wait, and then nothing is tried"),
    ("dropped", "tool_execution_update", PROGRESS),
    ("renamed", "auto_compaction_end /result/", MAY_BE_ABSENT),
    ("renamed", "auto_compaction_end /result", "pi tells so that there was nothing to compact"),
    ("renamed", "compaction_end /result/", MAY_BE_ABSENT),
    ("renamed", "extension_ui_request", MAY_BE_ABSENT),
    ("renamed", "message_update text_", MAY_BE_ABSENT),
    ("renamed", "message_update thinking_", MAY_BE_ABSENT),
    ("renamed", "message_update toolcall_", MAY_BE_ABSENT),
    ("renamed", "ready /version", MAY_BE_ABSENT),
    ("renamed", "response", MAY_BE_ABSENT),
    ("renamed", "summarization_retry_attempt_start /reason", MAY_BE_ABSENT),
    ("renamed", "tool_execution_end /isWarning", MAY_BE_ABSENT),
    ("renamed", "tool_execution_end /result/structuredContent", FREE),
    ("renamed", "tool_execution_end /result/details", FREE),
    ("renamed", "tool_execution_end /result/isError", MAY_BE_ABSENT),
    ("retyped", "tool_execution_end /result/details", FREE),
    ("retyped", "tool_execution_update /partialResult/details", FREE),
    ("renamed", "tool_execution_update /partialResult/details", FREE),
    ("retyped", "response get_entries /data/entries/*/systemMessage/toolsAdded/*/parameters/", FREE),
    ("retyped", "response get_messages /data/messages/*/toolsAdded/*/parameters/", FREE),
    ("retyped", "tool_execution_end /result/structuredContent", FREE),
    ("said twice", "message_update toolcall_delta", LENIENT),
    ("said twice", "session_info_changed", "a name may be given again"),
    ("said twice", "tool_execution_update", PROGRESS),
    ("swapped with the next", "agent_end", ENTRY),
    ("swapped with the next", "auto_retry_start", ENTRY),
    ("swapped with the next", "compaction_start", "extensions have branches summed up, without a compaction"),
    ("swapped with the next", "entry_appended", ENTRY),
    ("swapped with the next", "message_update toolcall_delta", "an empty delta adds nothing"),
    ("swapped with the next", "response abort_bash", BESIDE),
    ("swapped with the next", "response bash", BESIDE),
    ("swapped with the next", "response follow_up", BESIDE),
    ("swapped with the next", "response get_state", BESIDE),
    (
        "swapped with the next",
        "response prompt",
        "an extension's command may ask before its prompt is answered",
    ),
    ("swapped with the next", "response steer", BESIDE),
    ("swapped with the next", "tool_execution_end", AT_ONCE),
    ("swapped with the next", "tool_execution_update", AT_ONCE),
    (
        "swapped with the next",
        "tool_execution_start",
        "calls to the host and events go two ways to the output",
    ),
    ("dropped", "available_commands_update", COMMANDS),
    ("dropped", "model_changed", UNKNOWN_BEFORE),
    ("dropped", "prompt_result", "the command of an extension may take as long as it likes"),
    ("dropped", "thinking_level_changed", UNKNOWN_BEFORE),
    ("renamed", "available_commands_update /commands/*/description", MAY_BE_ABSENT),
    ("said twice", "available_commands_update", COMMANDS),
    ("swapped with the next", "available_commands_update", COMMANDS),
    ("swapped with the next", "extension_ui_request notify", BESIDE),
    ("swapped with the next", "extension_ui_request cancel", BESIDE),
    ("swapped with the next", "model_changed", UNKNOWN_BEFORE),
    ("swapped with the next", "response abort", BESIDE),
    ("swapped with the next", "thinking_level_changed", UNKNOWN_BEFORE),
];

/// The reason why a change is legal, if it is listed.
pub fn why(way: &str, what: &str) -> Option<&'static str> {
    LEGAL.iter().find(|row| row.0 == way && what.starts_with(row.1)).map(|row| row.2)
}
