//! Arguments of tool calls, partial and complete, and truncation of the results of
//! tools.

use pi_rpc::{
    engine::Toolbox,
    protocol::{Base, Dialect, parse_partial},
    tools::{Limits, specs, truncate_head, truncate_tail},
};
use serde_json::Value;
use std::sync::LazyLock;

/// The first two bytes are limits, the rest is a text.
pub fn check(data: &[u8]) {
    let [lines, bytes, rest @ ..] = data else { return };
    let text = String::from_utf8_lossy(rest);
    shortened(
        &text,
        Limits { lines: u64::from(*lines), bytes: u64::from(*bytes), ignores_final_feed: false },
    );
    growing(&text);
}

/// Checks that partial arguments only grow, and equal the complete ones at the end.
fn growing(text: &str) {
    let shown = Value::Object(parse_partial(text));
    let Ok(whole @ Value::Object(_)) = serde_json::from_str::<Value>(text) else { return };
    assert_eq!(shown, whole, "complete arguments");
    checked(&whole);
    if whole.to_string().len() != text.trim().len() {
        // Duplicate keys, and numbers in other notations.
        return;
    }
    for (end, _) in text.char_indices().take(200) {
        let shown = Value::Object(parse_partial(&text[..end]));
        assert!(is_part(&shown, &whole), "{} was shown as {shown}", &text[..end]);
    }
}

/// Whether `part` can be parsed from a prefix of `whole`: all values except the last one are complete.
fn is_part(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => {
            part.keys().eq(whole.keys().take(part.len())) && are_parts(part.values().zip(whole.values()))
        }
        (Value::Array(part), Value::Array(whole)) => {
            part.len() <= whole.len() && are_parts(part.iter().zip(whole))
        }
        (Value::String(part), Value::String(whole)) => whole.starts_with(part.as_str()),
        // More digits may follow.
        (Value::Number(_), Value::Number(_)) => true,
        _ => part == whole,
    }
}

fn are_parts<'v>(pairs: impl Iterator<Item = (&'v Value, &'v Value)>) -> bool {
    let mut pairs = pairs.peekable();
    while let Some((part, whole)) = pairs.next() {
        if part != whole && (pairs.peek().is_some() || !is_part(part, whole)) {
            return false;
        }
    }
    true
}

/// Checks that coerced arguments are valid arguments.
fn checked(arguments: &Value) {
    static TOOLS: LazyLock<Vec<(Dialect, Toolbox)>> = LazyLock::new(|| {
        let of = |dialect: Dialect| (dialect, Toolbox::new(specs(&dialect.record().tools)));
        [Dialect::Pi, Dialect::Pi1, Dialect::Xcsh].map(of).into()
    });
    let Value::Object(arguments) = arguments else { return };
    for (dialect, tools) in &*TOOLS {
        let base: Base = dialect.base();
        for spec in tools.specs().iter() {
            if let Ok(fit) = tools.check(base, &spec.name, arguments) {
                assert_eq!(tools.check(base, &spec.name, &fit).as_ref(), Ok(&fit), "{}", spec.name);
            }
        }
    }
}

fn shortened(text: &str, limits: Limits) {
    let fits = text.len() as u64 <= limits.bytes && (text.matches('\n').count() as u64) < limits.lines;
    for (result, is_head) in [(truncate_head(text, limits), true), (truncate_tail(text, limits), false)] {
        assert_eq!(result.truncated, !fits, "{result:?}");
        assert_eq!(
            (result.total_bytes, result.output_bytes),
            (text.len() as u64, result.content.len() as u64)
        );
        assert!(result.output_bytes <= limits.bytes || fits, "{result:?}");
        let shown = result.content.matches('\n').count() as u64 + u64::from(!result.content.is_empty());
        assert!(shown <= limits.lines || fits, "{result:?}");
        let kept = if is_head { text.starts_with(&result.content) } else { text.ends_with(&result.content) };
        assert!(kept, "{result:?}");
    }
}
