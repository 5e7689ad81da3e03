//! The conversations with our server that were recorded with the originals: the same requests, at the same moments.
//! The prompts are ours; what the model says to them is in `tests/traces/model.json`.

mod commands;
mod compactions;
mod extensions;
mod lines;
mod prompts;
mod retries;
mod sessions;

use super::{Host, RETRY_BASE_MS};
use serde_json::{Value, json};

/// A host's side of a conversation.
pub type Scenario = fn(&mut Host);

/// A conversation.
pub struct Entry {
    pub name: &'static str,
    /// Of the server.
    pub options: &'static [&'static str],
    /// The first wait before another try that the server's user has set, in milliseconds.
    pub retry_base_ms: u64,
    /// The server is extended by the example `ui_check`.
    pub extended: bool,
    pub talk: Scenario,
}

const fn entry(name: &'static str, talk: Scenario) -> Entry {
    Entry { name, options: &[], retry_base_ms: RETRY_BASE_MS, extended: false, talk }
}

const fn extended(name: &'static str, talk: Scenario) -> Entry {
    Entry { extended: true, ..entry(name, talk) }
}

impl Entry {
    const fn with(self, options: &'static [&'static str]) -> Self {
        Self { options, ..self }
    }

    const fn waiting(self, retry_base_ms: u64) -> Self {
        Self { retry_base_ms, ..self }
    }
}

/// All of them.
pub const SCENARIOS: &[Entry] = &[
    entry("startup_get_state", prompts::startup_get_state),
    entry("startup_no_session", prompts::startup_no_session).with(&["--no-session"]),
    entry("prompt_plain", prompts::prompt_plain),
    entry("prompt_thinking", prompts::prompt_thinking),
    entry("prompt_image", prompts::prompt_image),
    entry("prompt_tool", prompts::prompt_tool),
    entry("prompt_tool_slow_output", prompts::prompt_tool_slow_output),
    entry("prompt_tool_files", prompts::prompt_tool_files),
    entry("prompt_two_tools", prompts::prompt_two_tools),
    entry("steer_during_tool", prompts::steer_during_tool),
    entry("steer_while_streaming", prompts::steer_while_streaming),
    entry("follow_up_streaming", prompts::follow_up_streaming),
    entry("prompt_while_streaming", prompts::prompt_while_streaming),
    entry("abort_streaming", prompts::abort_streaming),
    entry("abort_tool", prompts::abort_tool),
    entry("abort_idle", prompts::abort_idle),
    entry("bash_command", commands::bash_command),
    entry("bash_abort", commands::bash_abort),
    entry("retry_then_ok", retries::retry_then_ok),
    entry("retry_abort", retries::retry_abort),
    entry("retry_exhausted", retries::retry_exhausted).waiting(50),
    entry("retry_disabled", retries::retry_disabled),
    entry("compact_ok", compactions::compact_ok),
    entry("compact_empty", compactions::compact_empty),
    entry("compact_abort", compactions::compact_abort),
    entry("compact_auto", compactions::compact_auto),
    entry("error_400", prompts::error_400),
    entry("oai_completions", prompts::oai_completions),
    entry("models", commands::models),
    entry("new_session", sessions::new_session),
    entry("session_name", sessions::session_name),
    entry("clone_and_entries", sessions::clone_and_entries),
    entry("fork", sessions::fork),
    entry("resume_flag", sessions::resume_flag),
    entry("export_html", sessions::export_html),
    extended("ext_dialogs_answered", extensions::dialogs_answered),
    extended("ext_dialogs_cancelled", extensions::dialogs_cancelled),
    extended("ext_dialogs_timeout", extensions::dialogs_timeout),
    extended("ext_fire_and_forget", extensions::fire_and_forget),
    extended("ext_command_while_streaming", extensions::command_while_streaming),
    extended("ext_tool", extensions::tool),
    entry("host_tools", extensions::host_tools),
    entry("todos_interrupt_abort_and_prompt", commands::todos_interrupt_abort_and_prompt),
    entry("malformed", lines::malformed),
    entry("unknown_command", lines::unknown_command),
    entry("framing", lines::framing),
    entry("stdin_close_idle", lines::stdin_close_idle),
    entry("stdin_close_at_once", Host::finish),
    entry("stdin_close_streaming", lines::stdin_close_streaming),
    entry("stdin_close_after_prompt", lines::stdin_close_after_prompt),
    entry("stdin_close_bash", lines::stdin_close_bash),
    entry("stdout_closed", lines::stdout_closed),
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
