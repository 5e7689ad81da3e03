//! Completes violations whose expectation names a member of the frame: with its pointer and its actual value.

use pi_rpc_machine::{Difference, Violation};
use serde_json::Value;

/// Adds the difference to violations that have none and name a member.
pub fn complete(violations: &mut [Violation], frame: &str) {
    let mut parsed: Option<Value> = None;
    for violation in violations.iter_mut().filter(|violation| violation.difference.is_none()) {
        let Some(pointer) = pointer_in(&violation.expected).map(str::to_owned) else { continue };
        let frame = parsed.get_or_insert_with(|| serde_json::from_str(frame).unwrap_or_default());
        violation.difference = Some(Difference::of_member(&pointer, &violation.expected, frame));
    }
}

/// The first JSON pointer in an expectation.
fn pointer_in(expected: &str) -> Option<&str> {
    let words = expected.split_whitespace().map(|word| word.trim_end_matches([',', ';', ':', '.']));
    words.filter(|word| word.len() > 1 && word.starts_with('/')).find(|word| {
        word.chars().all(|letter| letter.is_ascii_alphanumeric() || ['/', '_', '~', '-'].contains(&letter))
    })
}

#[cfg(test)]
mod tests {
    use super::pointer_in;

    #[test]
    fn pointer_is_word_with_slashes() {
        assert_eq!(pointer_in("a text at /data/text"), Some("/data/text"));
        assert_eq!(pointer_in("2 messages at /data/messageCount, as there are"), Some("/data/messageCount"));
        assert_eq!(pointer_in("an answer of p/m, not of `/x`"), None);
    }
}
