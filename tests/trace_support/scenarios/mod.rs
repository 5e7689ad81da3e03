//! The conversations with our server that were recorded with the originals: the same requests, at the same moments.
//! The prompts are ours; what the model says to them is in `tests/traces/model.json`.

mod commands;
mod lines;
mod prompts;

use super::Host;
use serde_json::{Value, json};

/// A host's side of a conversation.
pub type Scenario = fn(&mut Host);

/// A conversation: its name, the options of the server, and the host's side.
pub type Entry = (&'static str, &'static [&'static str], Scenario);

/// All of them.
pub const SCENARIOS: &[Entry] = &[
    ("startup_get_state", &[], prompts::startup_get_state),
    ("startup_no_session", &["--no-session"], prompts::startup_no_session),
    ("prompt_plain", &[], prompts::prompt_plain),
    ("prompt_thinking", &[], prompts::prompt_thinking),
    ("prompt_image", &[], prompts::prompt_image),
    ("prompt_tool", &[], prompts::prompt_tool),
    ("prompt_tool_slow_output", &[], prompts::prompt_tool_slow_output),
    ("prompt_tool_files", &[], prompts::prompt_tool_files),
    ("prompt_two_tools", &[], prompts::prompt_two_tools),
    ("steer_during_tool", &[], prompts::steer_during_tool),
    ("steer_while_streaming", &[], prompts::steer_while_streaming),
    ("follow_up_streaming", &[], prompts::follow_up_streaming),
    ("prompt_while_streaming", &[], prompts::prompt_while_streaming),
    ("abort_streaming", &[], prompts::abort_streaming),
    ("abort_tool", &[], prompts::abort_tool),
    ("abort_idle", &[], prompts::abort_idle),
    ("bash_command", &[], commands::bash_command),
    ("bash_abort", &[], commands::bash_abort),
    ("retry_disabled", &[], prompts::retry_disabled),
    ("error_400", &[], prompts::error_400),
    ("oai_completions", &[], prompts::oai_completions),
    ("models", &[], commands::models),
    ("new_session", &[], commands::new_session),
    ("session_name", &[], commands::session_name),
    ("clone_and_entries", &[], commands::clone_and_entries),
    ("host_tools", &[], commands::host_tools),
    ("todos_interrupt_abort_and_prompt", &[], commands::todos_interrupt_abort_and_prompt),
    ("malformed", &[], lines::malformed),
    ("unknown_command", &[], lines::unknown_command),
    ("framing", &[], lines::framing),
    ("stdin_close_idle", &[], lines::stdin_close_idle),
    ("stdin_close_at_once", &[], Host::finish),
    ("stdin_close_streaming", &[], lines::stdin_close_streaming),
    ("stdin_close_after_prompt", &[], lines::stdin_close_after_prompt),
    ("stdin_close_bash", &[], lines::stdin_close_bash),
    ("stdout_closed", &[], lines::stdout_closed),
];

fn command(kind: &str) -> Value {
    json!({ "type": kind })
}

fn say(message: &str) -> Value {
    json!({"type": "prompt", "message": message})
}

fn bash(command: &str) -> Value {
    json!({"type": "bash", "command": command})
}

fn is_text_delta(frame: &Value) -> bool {
    frame["assistantMessageEvent"]["type"] == "text_delta"
}
