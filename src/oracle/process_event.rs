//! What happened to a process, as recordings have it.

use serde::Deserialize;
use serde_json::Value;

/// What a `meta` record says.
pub enum ProcessEvent {
    /// A process begins; whether it was told to load extensions.
    Spawn {
        /// Its arguments name extensions.
        has_extensions: bool,
    },
    /// The host has closed its side.
    InputClosed,
    /// The process has exited with that status; none: a signal ended it.
    Exit(Option<i64>),
    /// It did not end by itself.
    Killed,
    /// The host ends it: by a signal, or by closing what it writes to.
    StopRequested,
    /// Somebody waited for a response in vain.
    ResponseTimeout,
    /// The host has not taken what the server wrote for so many milliseconds.
    Stalled(f64),
    /// The lines of the session's file.
    SessionFile(Vec<Value>),
    /// Nothing that is judged.
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
    lines: Vec<Value>,
}

impl ProcessEvent {
    /// Reads what a record holds; what is unknown counts for nothing.
    pub fn read(bytes: &[u8]) -> Self {
        let Ok(MetaFields { event, code, what, ms, argv, lines }) = serde_json::from_slice(bytes) else {
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
            "did not exit, killed" => Self::Killed,
            "signal" | "stdout closed" | "closing our read end of stdout" => Self::StopRequested,
            "timeout" if what.is_some_and(|what| what.starts_with("response")) => Self::ResponseTimeout,
            "stalled" => Self::Stalled(ms.unwrap_or_default()),
            "session file" => Self::SessionFile(lines),
            _ => Self::Other,
        }
    }
}
