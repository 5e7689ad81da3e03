//! What servers log, in a file that all sessions share. Source: pi 1.6.0 source.

use jiff::Timestamp;
use pi_rpc_files::{harmless::harmless, private_files, secrets::Secrets};
use serde_json::Value;
use std::{fs, path::PathBuf};

/// Bytes from which the file is moved aside: 5 MiB.
const MAX_FILE: u64 = 5 * 1024 * 1024;

/// The longest text of a line, in bytes; more is cut.
const MAX_TEXT: usize = 16 * 1024;

/// The log of one server.
pub(crate) struct ServerLog {
    pub path: PathBuf,
    pub server: String,
    pub secrets: Secrets,
}

impl ServerLog {
    /// Appends what a server logs. A log that cannot be written must not end a session.
    pub(crate) fn write(&self, params: &Value) {
        let line = line(&self.server, params, Timestamp::now());
        let line = self.secrets.redact(&line);
        let is_full = fs::symlink_metadata(&self.path).is_ok_and(|found| found.len() > MAX_FILE);
        if is_full {
            let mut aside = self.path.clone().into_os_string();
            aside.push(".1");
            let _ = fs::rename(&self.path, aside);
        }
        // Other sessions append to the same file.
        let _ = private_files::append(&self.path, line.as_bytes());
    }
}

/// `TIME [SERVER] LEVEL LOGGER: TEXT`; further lines are indented.
fn line(server: &str, params: &Value, now: Timestamp) -> String {
    let text = |key: &str| params.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let level: String = harmless(text("level").unwrap_or("info")).chars().take(20).collect();
    let logger =
        text("logger").map(|logger| format!(" {}:", harmless(logger).chars().take(80).collect::<String>()));
    let data = match params.get("data") {
        Some(Value::String(data)) => data.clone(),
        Some(data) => data.to_string(),
        None => String::new(),
    };
    let data = &data[..data.floor_char_boundary(MAX_TEXT)];
    let data = data.lines().map(harmless).collect::<Vec<_>>().join("\n    ");
    format!("{now:.3} [{server}] {level}{} {data}\n", logger.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn line_has_time_server_and_level() {
        let now = Timestamp::from_second(1_700_000_000).unwrap();
        for (params, expected) in [
            (
                json!({ "level": "error", "logger": "disk", "data": "full\nagain" }),
                "2023-11-14T22:13:20.000Z [s] error disk: full\n    again\n",
            ),
            (json!({ "data": { "a": 1 } }), "2023-11-14T22:13:20.000Z [s] info {\"a\":1}\n"),
            (json!(7), "2023-11-14T22:13:20.000Z [s] info \n"),
        ] {
            assert_eq!(line("s", &params, now), expected);
        }
    }
}
