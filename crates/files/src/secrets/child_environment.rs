//! The environment of child processes: that of this process without the variables that hold keys.

use std::{collections::BTreeSet, env, process::Command};

/// Passes every variable, as `*` does.
const PASS_ALL: &str = "all";

/// Variables with keys that [`holds_key`] does not find by their words. Source: the catalogue of providers, botocore.
const NAMED: [&str; 3] = ["AWS_ACCESS_KEY_ID", "AWS_BEARER_TOKEN_BEDROCK", "AWS_SECRET_ACCESS_KEY"];

/// The variables of this process that a child does not get. Names are compared without regard to case. The default knows the
/// rule alone, and passes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChildEnvironment {
    /// Names that the rule does not find, in capitals.
    known: BTreeSet<String>,
    /// Patterns of names that are passed all the same, in capitals.
    passed: BTreeSet<String>,
}

impl ChildEnvironment {
    /// Withholds a variable that the rule does not find.
    pub(super) fn withhold(&mut self, name: &str) {
        self.known.insert(name.to_ascii_uppercase());
    }

    /// Passes the variables that these patterns name, although they hold keys.
    pub(super) fn pass<'a>(&mut self, patterns: impl IntoIterator<Item = &'a String>) {
        let capitals = |pattern: &String| match pattern.as_str() {
            PASS_ALL => "*".to_owned(),
            pattern => pattern.to_ascii_uppercase(),
        };
        self.passed.extend(patterns.into_iter().map(capitals));
    }

    /// Whether a child does not get the variable.
    pub fn withholds(&self, name: &str) -> bool {
        let name = name.to_ascii_uppercase();
        (holds_key(&name) || self.known.contains(&name))
            && !self.passed.iter().any(|pattern| matches(pattern, &name))
    }

    /// Removes the withheld variables from those that a child would inherit. Call it before variables of the child's own
    /// are set.
    pub fn withhold_keys(&self, command: &mut Command) {
        for (name, _) in env::vars_os() {
            if self.withholds(&name.to_string_lossy()) {
                command.env_remove(name);
            }
        }
    }
}

/// Whether a variable holds a key, by its name in capitals: `*_API_KEY`, `*_TOKEN`, `*_SECRET*`, and the keys of AWS.
fn holds_key(name: &str) -> bool {
    let mut from_end = name.rsplit('_');
    let (last, before) = (from_end.next(), from_end.next());
    last == Some("TOKEN")
        || (before, last) == (Some("API"), Some("KEY"))
        || name.split('_').any(|word| word.starts_with("SECRET"))
        || NAMED.contains(&name)
}

/// Whether a pattern, in which `*` stands for any text, is that of the whole name.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, rest)) => name.strip_prefix(before).is_some_and(|tail| {
            tail.char_indices().any(|(at, _)| matches(rest, &tail[at..])) || matches(rest, "")
        }),
    }
}

/// Checks an entry of `--pass-keys` or `passKeys`.
///
/// # Errors
///
/// It is neither the name of a variable nor a pattern of such names; the text shows the entry.
pub fn check_passed(entry: &str) -> Result<(), String> {
    let is_part = |part: char| part.is_ascii_alphanumeric() || "_*".contains(part);
    match !entry.is_empty() && entry.chars().all(is_part) {
        true => Ok(()),
        false => {
            // A value that was written behind the name is a key.
            let name = entry.split('=').next().unwrap_or_default();
            Err(format!("expected names of variables, where * stands for any text, or all; got {name:?}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_withheld_by_name() {
        let mut environment = ChildEnvironment::default();
        environment.withhold("Own");
        for name in [
            "OPENAI_API_KEY",
            "openai_api_key",
            "API_KEY",
            "GH_TOKEN",
            "GITHUB_TOKEN",
            "NPM_TOKEN",
            "TOKEN",
            "CLIENT_SECRET",
            "CLIENT_SECRETS_2",
            "SECRET_KEY",
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_SESSION_TOKEN",
            "AWS_SECURITY_TOKEN",
            "AWS_BEARER_TOKEN_BEDROCK",
            "AWS_CONTAINER_AUTHORIZATION_TOKEN",
            "OWN",
            "own",
        ] {
            assert!(environment.withholds(name), "{name}");
        }
        for name in [
            "PATH",
            "AWS_REGION",
            "AWS_PROFILE",
            "AWS_WEB_IDENTITY_TOKEN_FILE",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "OTHER_API_KEY_PATH",
            "MAX_THINKING_TOKENS",
            "SSH_AUTH_SOCK",
            "OWNER",
        ] {
            assert!(!environment.withholds(name), "{name}");
        }
    }

    #[test]
    fn patterns_pass_whole_names() {
        for (pattern, passed) in [
            ("GH_TOKEN", vec!["GH_TOKEN"]),
            ("gh_token", vec!["GH_TOKEN"]),
            ("G*_TOKEN", vec!["GH_TOKEN", "GITHUB_TOKEN"]),
            ("*TOKEN", vec!["GH_TOKEN", "GITHUB_TOKEN", "TOKEN"]),
            ("*HUB*", vec!["GITHUB_TOKEN"]),
            ("GH", vec![]),
            ("TOKEN", vec!["TOKEN"]),
            ("*", vec!["A_API_KEY", "GH_TOKEN", "GITHUB_TOKEN", "TOKEN"]),
            ("all", vec!["A_API_KEY", "GH_TOKEN", "GITHUB_TOKEN", "TOKEN"]),
        ] {
            let mut environment = ChildEnvironment::default();
            environment.pass(&[pattern.to_owned()]);
            let names = ["A_API_KEY", "GH_TOKEN", "GITHUB_TOKEN", "TOKEN"];
            let found: Vec<&str> = names.into_iter().filter(|name| !environment.withholds(name)).collect();
            assert_eq!(found, passed, "{pattern}");
        }
    }

    #[test]
    fn wrong_entries_are_shown_without_values() {
        for entry in ["HF_TOKEN", "*", "all", "A*B"] {
            assert_eq!(check_passed(entry), Ok(()));
        }
        for (entry, shown) in
            [("", ""), ("$HF_TOKEN", "$HF_TOKEN"), ("HF_TOKEN=abc", "HF_TOKEN"), ("A-B", "A-B")]
        {
            let text =
                format!("expected names of variables, where * stands for any text, or all; got {shown:?}");
            assert_eq!(check_passed(entry), Err(text));
        }
    }
}
