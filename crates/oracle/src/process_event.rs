//! Reads the `meta` records of a recording: events of the server's process.

use serde::Deserialize;
use serde_json::Value;

/// An event of the server's process that counts for judging.
pub enum ProcessEvent {
    /// The process starts.
    Spawn {
        /// Whether its arguments name extensions.
        has_extensions: bool,
    },
    /// The host has closed the server's input.
    InputClosed,
    /// The process has exited with this status; `None` if a signal ended it.
    Exit(Option<i64>),
    /// The command lines of what the process has started and still ran a while after its exit.
    ProcessesLeft(Vec<String>),
    /// The process did not exit in time and was killed.
    Killed,
    /// The host has asked the process to end, by a signal or by closing its output.
    StopRequested,
    /// The host gave up waiting for a response.
    ResponseTimeout,
    /// The host has not read the server's output for this many milliseconds.
    Stalled(f64),
    /// The lines of the session file at the end of the process.
    SessionFile(Vec<Value>),
    /// An event that is not judged.
    Other,
}

#[derive(Deserialize)]
struct MetaFields {
    event: String,
    code: Option<i64>,
    what: Option<String>,
    ms: Option<f64>,
    #[serde(default)]
    argv: Value,
    #[serde(default)]
    commands: Vec<String>,
    #[serde(default)]
    lines: Vec<Value>,
}

impl ProcessEvent {
    /// Reads the body of a `meta` record. Unknown events are [`ProcessEvent::Other`].
    pub fn read(bytes: &[u8]) -> Self {
        let Ok(MetaFields { event, code, what, ms, argv, commands, lines }) = serde_json::from_slice(bytes)
        else {
            return Self::Other;
        };
        match event.as_str() {
            "spawn" => {
                let words = argv.as_array().into_iter().flatten().filter_map(Value::as_str);
                let mut loads =
                    words.map(|word| word == "-e" || word.split('=').next() == Some("--extension"));
                Self::Spawn { has_extensions: loads.any(|loads| loads) }
            }
            "stdin closed" => Self::InputClosed,
            "exit" => Self::Exit(code),
            "processes left" => Self::ProcessesLeft(commands),
            "did not exit, killed" => Self::Killed,
            "signal" | "stdout closed" | "closing our read end of stdout" => Self::StopRequested,
            "timeout" if what.is_some_and(|what| what.starts_with("response")) => Self::ResponseTimeout,
            "stalled" => Self::Stalled(ms.unwrap_or_default()),
            "session file" => Self::SessionFile(lines),
            _ => Self::Other,
        }
    }
}
