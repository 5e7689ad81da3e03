//! Keys that this process knows: redacted in texts, and withheld from the environment of child processes.

mod child_environment;
mod spelling;

pub use child_environment::{ChildEnvironment, check_passed};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use std::{
    borrow::Cow,
    collections::BTreeSet,
    ffi::OsStr,
    fmt,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

/// Replacement of a key.
pub const MASK: &str = "***";

/// Shortest key, in bytes: a shorter one would match ordinary text.
const MIN_KEY_BYTES: usize = 8;

/// Variables that never hold a key, and that hardly any program can do without.
const COMMON_VARIABLES: [&str; 10] =
    ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "PWD", "TMPDIR", "HOSTNAME"];

/// The known keys. Clones share them.
#[derive(Clone, Default)]
pub struct Secrets(Arc<RwLock<KnownSecrets>>);

#[derive(Default)]
struct KnownSecrets {
    /// Keys, also in Base64.
    values: BTreeSet<String>,
    environment: ChildEnvironment,
}

// Keys must not reach logs.
impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").finish_non_exhaustive()
    }
}

impl Secrets {
    /// Adds a key, or a header with one: as it is, without its scheme (`Bearer …`), and in Base64. Values of less
    /// than eight bytes are ignored.
    pub fn remember(&self, value: &str) {
        self.write().values.extend(search_forms(value));
    }

    /// Adds the credentials in a URL: the password, or the name without one, and the values of its query.
    pub fn remember_url(&self, url: &str) {
        let (user, rest) = split_authority(url);
        let (name, password) = user.split_once(':').unwrap_or((user, user));
        let secret = if password.is_empty() { name } else { password };
        let plain = format!("{}:{}", percent_decoded(name), percent_decoded(password));
        for text in [secret.to_owned(), percent_decoded(secret), BASE64_STANDARD.encode(plain)] {
            if !user.is_empty() {
                self.remember(&text);
            }
        }
        let query = rest.split_once('?').map_or("", |(_, query)| query);
        for (_, value) in query.split('&').filter_map(|part| part.split_once('=')) {
            self.remember(value);
            self.remember(&percent_decoded(value));
        }
    }

    /// Withholds a variable from child processes, whatever its name; `false`: it is one that every program needs.
    pub fn withhold(&self, variable: &str) -> bool {
        let holds = !COMMON_VARIABLES.contains(&variable);
        if holds {
            self.write().environment.withhold(variable);
        }
        holds
    }

    /// Passes the variables that these patterns name to child processes nevertheless. `*` stands for any text, `all` for
    /// every variable.
    pub fn pass<'a>(&self, patterns: impl IntoIterator<Item = &'a String>) {
        self.write().environment.pass(patterns);
    }

    /// The variables that child processes get.
    pub fn child_environment(&self) -> ChildEnvironment {
        self.read().environment.clone()
    }

    /// Replaces every known key in `text` by `***`, in any spelling: as in a URL, in HTML, in JSON, in Base64, one
    /// inside another.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.redact_with(text, &[])
    }

    /// Like [`Self::redact`], also with the keys in `more`, which come from [`search_forms`].
    pub fn redact_with<'a>(&self, text: &'a str, more: &[String]) -> Cow<'a, str> {
        let known = self.read();
        let keys: Vec<&String> = known.values.iter().chain(more).collect();
        spelling::redact(text, &keys)
    }

    fn read(&self) -> RwLockReadGuard<'_, KnownSecrets> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, KnownSecrets> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The forms in which a key, or a header with one, is searched in texts: as it is, without its scheme, in Base64.
pub fn search_forms(value: &str) -> impl Iterator<Item = String> {
    let value = value.trim();
    let bare = value.split_once(' ').map_or(value, |(_, bare)| bare.trim());
    let mut forms: Vec<String> = Vec::new();
    if bare.len() >= MIN_KEY_BYTES {
        forms.extend([bare.to_owned()]);
        forms.extend(spelling::in_base64(bare).filter(|form| form.len() >= MIN_KEY_BYTES));
    }
    if value.len() >= MIN_KEY_BYTES {
        forms.push(value.to_owned());
    }
    forms.into_iter()
}

/// Whether a provider's variable holds a key, by its name: some hold the name of a profile or a path.
pub fn names_key(variable: &str) -> bool {
    ["KEY", "TOKEN", "SECRET", "PASSWORD"].iter().any(|word| variable.contains(word))
}

/// Formats a command line with `***` in place of the key.
pub fn redact_command_line<'a>(words: impl IntoIterator<Item = &'a OsStr>) -> Vec<String> {
    let mut is_key = false;
    let redacted = words.into_iter().map(|word| {
        let word = word.to_string_lossy();
        match word.split_once('=') {
            _ if std::mem::replace(&mut is_key, word == API_KEY) => MASK.to_owned(),
            Some((API_KEY, _)) => format!("{API_KEY}={MASK}"),
            _ => word.into_owned(),
        }
    });
    redacted.collect()
}

/// The option with a key, here and in the originals.
const API_KEY: &str = "--api-key";

/// Formats a URL with `***` in place of its credentials and of every value of its query.
pub fn redact_url(url: &str) -> String {
    let (user, rest) = split_authority(url);
    let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
    if user.is_empty() && !rest.contains('?') {
        return url.to_owned();
    }
    let user = if user.is_empty() { String::new() } else { format!("{MASK}@") };
    let (path, query) = rest.split_once('?').map_or((rest, None), |(path, query)| (path, Some(query)));
    let hidden = |part: &str| match part.split_once('=') {
        Some((name, _)) => format!("{name}={MASK}"),
        None => MASK.to_owned(),
    };
    let query = query.map(|query| query.split('&').map(hidden).collect::<Vec<_>>().join("&"));
    let query = query.map_or_else(String::new, |query| format!("?{query}"));
    format!("{scheme}://{user}{path}{query}")
}

/// Splits a URL into its credentials and the rest, from the host on. In a text that is no URL there are none.
fn split_authority(url: &str) -> (&str, &str) {
    let Some((_, rest)) = url.split_once("://") else { return ("", "") };
    let authority = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    match rest[..authority].rfind('@') {
        Some(at) => (&rest[..at], &rest[at + 1..]),
        None => ("", rest),
    }
}

/// Percent-encodes a text.
#[cfg(test)]
fn percent_encoded(text: &str) -> String {
    let written = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(written).collect()
}

/// Decodes percent-encoding.
pub fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let digits =
            behind.get(..2).filter(|_| *first == b'%').and_then(|digits| str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_is_redacted_in_every_form() {
        let secrets = Secrets::default();
        secrets.remember("Bearer sk-ab+cd/ef=");
        secrets.remember("sk-ab+cd/ef=-and-longer");
        secrets.remember("short");
        let text = "sk-ab+cd/ef=, Bearer sk-ab+cd/ef=, sk-ab%2Bcd%2Fef%3D, sk-ab+cd/ef=-and-longer, c2stYWIrY2QvZWY9, short, sk-ab";
        assert_eq!(secrets.redact(text), "***, ***, ***, ***, ***, short, sk-ab");
        assert!(matches!(secrets.redact("nothing"), Cow::Borrowed("nothing")));
    }

    #[test]
    fn command_line_key_is_redacted() {
        for (line, expected) in [
            ("--plan --api-key k -e m", "--plan --api-key *** -e m"),
            ("--api-key=k --plan", "--api-key=*** --plan"),
            ("--plan --api-key", "--plan --api-key"),
        ] {
            assert_eq!(redact_command_line(line.split(' ').map(OsStr::new)).join(" "), expected);
        }
    }

    #[test]
    fn url_credentials_and_query_are_redacted() {
        for (url, shown) in [
            ("https://api.example/v1", "https://api.example/v1"),
            ("https://u:pass@host:1/v1", "https://***@host:1/v1"),
            ("https://token@host", "https://***@host"),
            ("http://host/v1?key=abc&plain", "http://host/v1?key=***&***"),
            ("http://u:p@w@host?x=1", "http://***@host?x=***"),
            ("http://host/a@b", "http://host/a@b"),
            ("scripted:", "scripted:"),
            ("/not/a@url", "/not/a@url"),
        ] {
            assert_eq!(redact_url(url), shown);
        }
    }

    #[test]
    fn url_credentials_are_remembered() {
        let secrets = Secrets::default();
        secrets.remember_url("http://me:p%40ssword@proxy:3128/?key=query-key");
        // What HTTP says of it: `me:p@ssword`.
        let text = "p%40ssword p@ssword query-key bWU6cEBzc3dvcmQ= me";
        assert_eq!(secrets.redact(text), "*** *** *** *** me");
    }
}
