//! Frames as coloured lines for a terminal. Nothing in them can move its cursor or hide.

use anstyle::{AnsiColor, Style};
use pi_rpc_files::harmless::harmless;
use pi_rpc_recording::Direction;
use serde_json::Value;
use std::fmt::Write as _;

const DIM: Style = Style::new().dimmed();
const SENT: Style = AnsiColor::Cyan.on_default();
const NAME: Style = AnsiColor::Blue.on_default();
const TEXT: Style = AnsiColor::Green.on_default();
const OTHER: Style = AnsiColor::Yellow.on_default();
const BAD: Style = AnsiColor::Red.on_default().bold();

/// The most letters of a text in a shortened frame.
const MAX_LETTERS: usize = 160;
/// The most items of an array in a shortened frame.
const MAX_ITEMS: usize = 5;
/// The depth from which on objects and arrays are left out of a shortened frame.
const MAX_DEPTH: usize = 4;

/// A line of either side, shortened unless it is to be shown `whole`.
pub fn frame_text(direction: Direction, line: &[u8], whole: bool) -> String {
    let text = String::from_utf8_lossy(line);
    let shown = match serde_json::from_str::<Value>(&text) {
        Ok(frame) => {
            let mut shown = String::new();
            write_value(&mut shown, &frame, if whole { None } else { Some(MAX_DEPTH) });
            shown
        }
        Err(_) => harmless(&cut(&text, whole)),
    };
    match direction {
        Direction::In => format!("{SENT}→{SENT:#} {shown}"),
        Direction::Out => format!("← {shown}"),
        Direction::Err | Direction::Meta => format!("{DIM}stderr: {}{DIM:#}", harmless(&text)),
    }
}

/// A finding or an error.
pub fn bad(text: &str) -> String {
    format!("{BAD}{}{BAD:#}", harmless(text))
}

/// A remark of this program.
pub fn remark(text: &str) -> String {
    format!("{DIM}{}{DIM:#}", harmless(text))
}

/// Writes a value, shortened to this depth if there is one. Writing to a string does not fail.
fn write_value(to: &mut String, value: &Value, depth: Option<usize>) {
    let deeper = depth.map(|depth| depth.saturating_sub(1));
    match value {
        Value::Object(members) if depth == Some(0) && !members.is_empty() => to.push_str("{…}"),
        Value::Array(items) if depth == Some(0) && !items.is_empty() => to.push_str("[…]"),
        Value::Object(members) => {
            to.push('{');
            for (at, (name, value)) in members.iter().enumerate() {
                let _ = write!(to, "{}{NAME}{}{NAME:#}:", comma(at), quoted(name));
                write_value(to, value, deeper);
            }
            to.push('}');
        }
        Value::Array(items) => {
            to.push('[');
            let shown = if depth.is_none() { items.len() } else { MAX_ITEMS.min(items.len()) };
            for (at, item) in items.iter().take(shown).enumerate() {
                to.push_str(comma(at));
                write_value(to, item, deeper);
            }
            if shown < items.len() {
                let _ = write!(to, ",{DIM}… {} more{DIM:#}", items.len() - shown);
            }
            to.push(']');
        }
        Value::String(text) => drop(write!(to, "{TEXT}{}{TEXT:#}", quoted(&cut(text, depth.is_none())))),
        other => drop(write!(to, "{OTHER}{other}{OTHER:#}")),
    }
}

const fn comma(at: usize) -> &'static str {
    if at == 0 { "" } else { "," }
}

/// The text as JSON, without what a terminal would not show as it is.
fn quoted(text: &str) -> String {
    harmless(&Value::from(text).to_string())
}

fn cut(text: &str, whole: bool) -> String {
    match text.char_indices().nth(MAX_LETTERS).filter(|_| !whole) {
        Some((at, _)) => format!("{}… {} more", &text[..at], text[at..].chars().count()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anstream::adapter::strip_str;

    fn shown(line: &str, whole: bool) -> String {
        strip_str(&frame_text(Direction::Out, line.as_bytes(), whole)).to_string()
    }

    #[test]
    fn frames_are_shortened_and_harmless() {
        assert_eq!(shown(r#"{"a":{"b":[{"c":[1],"d":[]}]}}"#, false), r#"← {"a":{"b":[{"c":[…],"d":[]}]}}"#);
        assert_eq!(shown(r#"{"type":"x","n":1.5,"ok":null}"#, false), r#"← {"type":"x","n":1.5,"ok":null}"#);
        let hostile = format!(
            "{{\"a\":\"\\u001b[2J\u{9b}\u{202e}\",\"b\":\"{}\",\"c\":[1,2,3,4,5,6,7]}}",
            "x".repeat(170)
        );
        let short = format!(
            r#"← {{"a":"\u001b[2J\u{{9b}}\u{{202e}}","b":"{}… 10 more","c":[1,2,3,4,5,… 2 more]}}"#,
            "x".repeat(160)
        );
        assert_eq!(shown(&hostile, false), short);
        let all = format!(
            r#"← {{"a":"\u001b[2J\u{{9b}}\u{{202e}}","b":"{}","c":[1,2,3,4,5,6,7]}}"#,
            "x".repeat(170)
        );
        assert_eq!(shown(&hostile, true), all);
        assert_eq!(shown("\u{1b}[31mno frame", false), r"← \u{1b}[31mno frame");
    }
}
