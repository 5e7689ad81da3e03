//! Repair of lone surrogate escapes, which JavaScript writes when it cuts a string within a character.

use std::borrow::Cow;

/// The JSON text with every lone surrogate escape (`\ud83d` without its other half) replaced by `\ufffd`. The
/// originals accept such lines; a Rust string cannot hold them.
pub fn mend_surrogates(text: &str) -> Cow<'_, str> {
    let mut mended = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', &text.as_bytes()[at..]) {
        let escape = at + found;
        at = escape
            + match (unit(text, escape), unit(text, escape + ESCAPE)) {
                (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 2 * ESCAPE,
                (Some(0xd800..=0xdfff), _) => {
                    mended.push_str(&text[copied..escape]);
                    mended.push_str("\\ufffd");
                    copied = escape + ESCAPE;
                    ESCAPE
                }
                // A backslash and the escaped byte; the text may end there.
                _ => 2,
            };
        at = at.min(text.len());
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    mended.push_str(&text[copied..]);
    Cow::Owned(mended)
}

/// Bytes of `\uXXXX`.
const ESCAPE: usize = 6;

/// The UTF-16 unit that the escape at `at` stands for.
fn unit(text: &str, at: usize) -> Option<u32> {
    let digits = text.get(at..at + ESCAPE)?.strip_prefix("\\u")?;
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_halves_are_replaced() {
        for (text, wanted) in [
            (r#"{"a":"\ud83d\ude00"}"#, r#"{"a":"\ud83d\ude00"}"#),
            (r#"{"a":"\ud83d b"}"#, r#"{"a":"\ufffd b"}"#),
            (r#"{"a":"\ude00\uD83D\n"}"#, r#"{"a":"\ufffd\ufffd\n"}"#),
            (r#"{"a":"\ud83d\ud83d\ude00"}"#, r#"{"a":"\ufffd\ud83d\ude00"}"#),
            (r#"{"a":"\\ud83d"}"#, r#"{"a":"\\ud83d"}"#),
            (r#"{"a":"\\\ud83d"}"#, r#"{"a":"\\\ufffd"}"#),
            (r#"{"a":"é\ud83d"#, r#"{"a":"é\ufffd"#),
            (r#"\"#, r#"\"#),
            (r#"\ud8é"#, r#"\ud8é"#),
        ] {
            assert_eq!(mend_surrogates(text), wanted);
        }
    }
}
