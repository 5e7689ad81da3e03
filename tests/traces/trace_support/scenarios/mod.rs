//! The conversations with our server that were recorded with the originals: the same requests, at the same moments.
//! The prompts are ours; what the model says to them is in `tests/traces/model.json`.

mod commands;
mod compactions;
mod extensions;
mod lines;
mod prompts;
mod sessions;

use super::Host;
use pi_rpc::protocol::Dialect;
use serde_json::{Value, json};

/// A host's side of a conversation.
pub enum Script {
    /// Steps in the notation of [`step`]; the input ends after the last one.
    Steps(&'static [&'static str]),
    /// Code, for a conversation that depends on the server's frames.
    Code(fn(&mut Host)),
}

/// A conversation.
pub struct Entry {
    pub name: &'static str,
    /// Options of the server.
    pub options: &'static [&'static str],
    /// Delay before the first retry in the settings, in milliseconds; none: the default of the dialect.
    pub retry_base_ms: Option<u64>,
    /// Whether the server runs the extension `ui_check`.
    pub extended: bool,
    script: Script,
}

const fn entry(name: &'static str, script: Script) -> Entry {
    Entry { name, options: &[], retry_base_ms: None, extended: false, script }
}

const fn steps(name: &'static str, steps: &'static [&'static str]) -> Entry {
    entry(name, Script::Steps(steps))
}

const fn code(name: &'static str, code: fn(&mut Host)) -> Entry {
    entry(name, Script::Code(code))
}

impl Entry {
    const fn with(self, options: &'static [&'static str]) -> Self {
        Self { options, ..self }
    }

    const fn waiting(self, retry_base_ms: u64) -> Self {
        Self { retry_base_ms: Some(retry_base_ms), ..self }
    }

    const fn extended(self) -> Self {
        Self { extended: true, ..self }
    }

    /// Delay before the first retry, in milliseconds.
    pub fn retry_base(&self, dialect: Dialect) -> u64 {
        self.retry_base_ms.unwrap_or(dialect.record().defaults.retry_base_ms)
    }

    /// Plays the conversation.
    pub fn talk(&self, host: &mut Host) {
        match self.script {
            Script::Code(code) => code(host),
            Script::Steps(steps) => {
                let mut mark = host.mark();
                steps.iter().for_each(|text| step(host, text, &mut mark));
                host.finish();
            }
        }
    }
}

/// Plays one step, and sets `mark` to the beginning of the last run:
///
/// - `run TEXT`: a prompt and all of its run; `say TEXT`: a prompt and its response.
/// - `COMMAND` or `{…}`: a command and its response; `begin {…}`: a command alone.
/// - `until over`, `until settled`: the end of the run; `until text`: a piece of an answer; `until file FILE`;
///   `until EVENT`.
/// - `look at folder`.
fn step(host: &mut Host, step: &str, mark: &mut usize) {
    let frame = |text: &str| serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    if matches!(step.split_once(' '), Some(("run" | "say", _))) {
        *mark = host.mark();
    }
    match step.split_once(' ') {
        _ if step.starts_with('{') => drop(host.call(frame(step))),
        Some(("run", text)) => host.prompt(text),
        Some(("say", text)) => drop(host.call(say(text))),
        Some(("begin", text)) => drop(host.begin(frame(text))),
        Some(("until", "over")) => host.over(*mark),
        Some(("until", "settled")) => host.settled(*mark),
        Some(("until", "text")) => drop(host.await_since(*mark, is_text_delta)),
        Some(("until", what)) => match what.strip_prefix("file ") {
            Some(file) => host.awaits(file),
            None => host.event(*mark, what),
        },
        Some(("look", "at folder")) => host.look_at_folder(),
        Some(_) => panic!("no step: {step}"),
        None => drop(host.call(command(step))),
    }
}

const FIRE: [&str; 3] = [
    r#"{"type":"prompt","message":"/fire"}"#,
    r#"{"type":"steer","message":"/fire"}"#,
    r#"{"type":"follow_up","message":"/fire"}"#,
];

/// All conversations.
#[rustfmt::skip]
pub const SCENARIOS: &[Entry] = &[
    steps("startup_get_state", &["get_state", "get_state"]),
    steps("startup_no_session", &["get_state", "run Hello", "get_state"]).with(&["--no-session"]),
    steps("prompt_plain", &["run Hello", "get_messages"]),
    steps("prompt_thinking", &["run Think", "get_last_assistant_text", "get_messages"]),
    steps("prompt_image", &[
        r#"{"type":"prompt","images":[{"type":"image","mimeType":"image/png","data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}],"message":"Look"}"#,
        "until over",
    ]),
    steps("prompt_tool", &["run Call a tool", "get_messages"]),
    steps("prompt_tool_slow_output", &["run Call a slow tool"]),
    steps("prompt_tool_files", &["run Write a file", "run Read the file", "run Read no file"]),
    steps("prompt_two_tools", &["run Call two tools"]),
    code("steer_during_tool", prompts::steer_during_tool),
    steps("steer_while_streaming", &[
        "say Take your time", "until text", r#"{"type":"steer","message":"Turn left"}"#, "until settled",
    ]),
    steps("follow_up_streaming", &[
        "say Take your time", "until text", r#"{"type":"follow_up","message":"And then"}"#, "get_state",
        "until settled",
    ]),
    steps("prompt_while_streaming", &[
        "say Take your time", "until text",
        r#"{"type":"prompt","message":"Now"}"#,
        r#"{"type":"prompt","message":"steer","streamingBehavior":"steer"}"#,
        r#"{"type":"prompt","message":"followUp","streamingBehavior":"followUp"}"#,
        r#"{"type":"prompt","message":"bogus","streamingBehavior":"bogus"}"#,
        "get_state", "until settled",
    ]),
    steps("abort_streaming", &[
        "say Think, and never end", "until text", "abort", "get_state", "get_messages", "run Again",
    ]),
    code("abort_tool", prompts::abort_tool),
    steps("abort_idle", &["get_state", "abort", "abort_bash", "abort_retry"]),
    code("bash_command", commands::bash_command),
    code("bash_abort", commands::bash_abort),
    steps("retry_then_ok", &["say Be overloaded twice", "until settled", "get_messages"]),
    steps("retry_abort", &[
        "say Be overloaded", "until auto_retry_start", "get_state", "abort_retry", "get_state", "get_messages",
    ]),
    steps("retry_exhausted", &["say Be overloaded", "until auto_retry_end", "get_state", "get_messages"])
        .waiting(50),
    steps("retry_disabled", &[
        r#"{"type":"set_auto_retry","enabled":false}"#, "run Be overloaded", "get_state",
        r#"{"type":"set_auto_retry","enabled":true}"#,
    ]),
    steps("compact_ok", &[
        "run Say much", "run Say much", "run Say much", "compact", "get_state", "get_session_stats", "get_messages",
        "run After that", "get_session_stats", r#"{"type":"compact","customInstructions":"above all the code"}"#,
    ]),
    steps("compact_empty", &["compact", "run Hello", "compact", "get_state"]),
    code("compact_abort", compactions::compact_abort),
    code("compact_auto", compactions::compact_auto),
    steps("error_400", &["run Refuse", "get_messages", "get_last_assistant_text", "run Is it better now?"]),
    steps("oai_completions", &[
        r#"{"type":"set_model","provider":"fakeoai","modelId":"fake-c"}"#, "run Think", "run Call two tools", "run Refuse",
    ]),
    steps("models", &[
        "get_available_models", r#"{"type":"set_model","provider":"fake","modelId":"fake-2"}"#, "get_state",
        r#"{"type":"set_model","provider":"nope","modelId":"none"}"#, r#"{"type":"set_model","provider":"fake"}"#,
        "set_model", "cycle_model", "cycle_model", "cycle_model", "cycle_model", "cycle_model",
        r#"{"type":"set_model","provider":"fake","modelId":"fake-1"}"#, "run Hello",
    ]),
    code("new_session", sessions::new_session),
    steps("session_name", &[
        r#"{"type":"set_session_name","name":"my name"}"#, "get_state",
        r#"{"type":"set_session_name","name":""}"#, r#"{"type":"set_session_name","name":"   "}"#,
        r#"{"type":"set_session_name","name":"  trimmed  "}"#, "get_state", "set_session_name",
    ]),
    code("clone_and_entries", sessions::clone_and_entries),
    code("fork", sessions::fork),
    code("resume_flag", sessions::resume_flag),
    steps("export_html", &[
        "export_html", "run Something", "export_html", "look at folder",
        r#"{"type":"export_html","outputPath":"out.html"}"#,
        r#"{"type":"export_html","outputPath":"missing/folder/out.html"}"#,
    ]),
    code("ext_dialogs_answered", extensions::dialogs_answered).extended(),
    code("ext_dialogs_cancelled", extensions::dialogs_cancelled).extended(),
    code("ext_dialogs_timeout", extensions::dialogs_timeout).extended(),
    code("ext_fire_and_forget", extensions::fire_and_forget).extended(),
    steps("ext_command_while_streaming", &[
        "say Speak slowly", "until text", FIRE[0], FIRE[1], FIRE[2], "until settled",
    ]).extended(),
    code("ext_tool", extensions::tool).extended(),
    code("host_tools", extensions::host_tools),
    code("todos_interrupt_abort_and_prompt", commands::todos_interrupt_abort_and_prompt),
    code("malformed", lines::malformed),
    code("unknown_command", lines::unknown_command),
    code("framing", lines::framing),
    steps("stdin_close_idle", &["get_state"]),
    steps("stdin_close_at_once", &[]),
    steps("stdin_close_streaming", &["say Speak slowly", "until text"]),
    steps("stdin_close_after_prompt", &["get_state", r#"begin {"type":"prompt","message":"Be slow to answer"}"#]),
    steps("stdin_close_bash", &[
        "get_state", r#"begin {"type":"bash","command":"touch begun; sleep 0.2; echo done"}"#, "until file begun",
    ]),
    code("stdout_closed", lines::stdout_closed),
    code("steer_and_follow_up_idle", prompts::steer_and_follow_up_idle),
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
