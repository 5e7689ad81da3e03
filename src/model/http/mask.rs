//! Keys in what people are shown: providers repeat what they were sent.

use crate::secrets::{MASK, Secrets};

/// Bytes of the shortest value that is taken for a key: what is shorter opens nothing, and is a part of other words.
const SHORTEST: usize = 8;

/// Headers that hold no secrets. Any other may: users name those of their providers themselves.
const HARMLESS: [&str; 8] = [
    "accept",
    "anthropic-beta",
    "anthropic-dangerous-direct-browser-access",
    "anthropic-version",
    "content-type",
    "http-referer",
    "user-agent",
    "x-title",
];

/// The secrets that are known, and those of one request.
pub struct Mask(Secrets, Vec<String>);

impl Mask {
    /// Those that are `known`, and those among the `headers` of a request: names in lower case, and values.
    pub fn of(headers: &[(String, String)], known: Secrets) -> Self {
        let secret = headers.iter().filter(|(name, _)| !HARMLESS.contains(&name.as_str()));
        let values = secret.map(|(_, value)| value.split_once(' ').map_or(&**value, |(_, key)| key.trim()));
        let written = values.flat_map(|value| [value.to_owned(), in_json(value)]);
        let mut keys: Vec<String> = written.filter(|value| value.len() >= SHORTEST).collect();
        // One may be a part of another.
        keys.sort_by_key(|key| std::cmp::Reverse(key.len()));
        keys.dedup();
        Self(known, keys)
    }

    /// `text` without them.
    pub fn hide(&self, text: String) -> String {
        let hidden = self.1.iter().fold(text, |text, key| match text.contains(key.as_str()) {
            true => text.replace(key.as_str(), MASK),
            false => text,
        });
        self.0.mask(&hidden).into_owned()
    }
}

/// The value as it stands between the quotes of JSON.
fn in_json(value: &str) -> String {
    let quoted = serde_json::Value::from(value).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_hidden_in_every_header_and_spelling_and_other_words_stay() {
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mask = Mask::of(
            &[
                header("authorization", "Bearer sk-0123456789"),
                header("x-api-key", "sk-0123456789-and-more"),
                header("x-own", "quo\"ted\\key"),
                header("x-short", "key"),
                header("accept", "application/json"),
            ],
            Secrets::default(),
        );
        let text =
            r#"no sk-0123456789 sk-0123456789-and-more quo\"ted\\key quo"ted\key key application/json"#;
        assert_eq!(mask.hide(text.to_owned()), "no *** *** *** *** key application/json");
        assert_eq!(mask.hide("sk-01234".to_owned()), "sk-01234");
    }
}
