//! Redacts keys in error texts: providers repeat what they were sent.

use pi_rpc_files::secrets::{Secrets, search_forms};

/// Headers without secrets. Any other may hold one: users name the headers of their providers.
const HARMLESS: [&str; 10] = [
    "accept",
    "anthropic-beta",
    "anthropic-dangerous-direct-browser-access",
    "anthropic-version",
    "content-type",
    "http-referer",
    "openai-beta",
    "originator",
    "user-agent",
    "x-title",
];

/// The known secrets, and those of one request.
pub struct Redactor(Secrets, Vec<String>);

impl Redactor {
    /// Collects the `known` secrets and those among the `headers` of a request (lower-case names and values).
    pub fn of(headers: &[(String, String)], known: Secrets) -> Self {
        let secret = headers.iter().filter(|(name, _)| !HARMLESS.contains(&name.as_str()));
        Self(known, secret.flat_map(|(_, value)| search_forms(value)).collect())
    }

    /// Replaces every secret in `text` by `***`.
    pub fn redact(&self, text: String) -> String {
        self.0.redact_with(&text, &self.1).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redactor_hides_request_keys_in_any_spelling() {
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let redactor = Redactor::of(
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
            r#"no sk-0123456789 sk-0123456789-and-more quo\"ted\\key quo&quot;ted\key key application/json"#;
        assert_eq!(redactor.redact(text.to_owned()), "no *** *** *** *** key application/json");
        assert_eq!(redactor.redact("sk-01234".to_owned()), "sk-01234");
    }
}
