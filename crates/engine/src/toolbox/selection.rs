//! Which tools a session has, of all that the server, extensions and the host register: what `--tools`,
//! `--exclude-tools`, `defaultTools` and the client of a session host leave.
//!
//! An entry is a name, or a pattern in which `*` stands for any characters; case counts. An entry that takes a tool away
//! and matches none may be a slip, so the session does not start; one that allows or adds a tool is a warning.

use super::listing::ScriptListing;
use crate::consent_patterns::nearest;
use std::collections::BTreeSet;

/// Which tools a session has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolSelection {
    /// The names of all built-in tools of the dialect, offered or not.
    pub built_in: Vec<String>,
    /// Lists of entries; a tool that is missing from one of them is never offered. Tools of the host are not subject to
    /// them: it has been told of none of these lists, or wrote them itself.
    pub allowed: Vec<Vec<String>>,
    /// Entries of the tools that are never offered, those of the host included.
    pub excluded: Vec<String>,
    /// Entries of the tools that `--tools` names: they are offered although their extension registers them inactive, or the
    /// session was without them.
    pub added: Vec<String>,
    /// Names of the tools that are offered by default although their extension registers them inactive.
    pub active: Vec<String>,
    /// Names of the tools that extensions register and that are offered only when an extension chooses them.
    pub inactive: Vec<String>,
    /// Whether a resumed session goes on without the tools that it was without: no option names the tools.
    pub follows_session: bool,
    /// How the other tools are described to a model that has a tool for scripts.
    pub script_listing: ScriptListing,
    /// All entries as the user wrote them, for the report about those that match nothing.
    pub entries: Vec<ToolEntry>,
}

/// An entry in a list of tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolEntry {
    /// The option, or the file and its key.
    pub source: String,
    /// The name or pattern, without its sign.
    pub pattern: String,
    /// What becomes of tools that match.
    pub effect: ToolEntryEffect,
}

/// What an entry does with tools that it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolEntryEffect {
    /// They are allowed or added.
    Adds,
    /// They are taken away.
    Removes,
}

/// The tools that the system messages of a session declare.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedTools {
    /// The tools that the model had last.
    pub last: BTreeSet<String>,
    /// All tools that the model ever had.
    pub ever: BTreeSet<String>,
}

/// Whether an entry, a name or a pattern with `*`, matches the tool `name`.
pub fn matches_tool(pattern: &str, name: &str) -> bool {
    let Some((first, others)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let (between, last) = others.rsplit_once('*').unwrap_or(("", others));
    for part in between.split('*') {
        match rest.split_once(part) {
            Some((_, behind)) => rest = behind,
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Whether one of `patterns` matches the tool `name`.
pub fn matches_any(patterns: &[String], name: &str) -> bool {
    patterns.iter().any(|pattern| matches_tool(pattern, name))
}

impl ToolSelection {
    /// Whether the tool may be offered.
    pub fn admits(&self, name: &str, is_of_host: bool) -> bool {
        !matches_any(&self.excluded, name)
            && (is_of_host || self.allowed.iter().all(|list| matches_any(list, name)))
    }

    /// Whether a session that recorded these tools goes on with the tool. One that is not built in may be newer than the
    /// session. Source: pi 1.6 source.
    pub fn keeps(&self, recorded: &RecordedTools, name: &str) -> bool {
        let is_newer = || !self.built_in.iter().any(|it| it == name) && !recorded.ever.contains(name);
        let is_kept = !self.follows_session || recorded.last.contains(name) || is_newer();
        is_kept || matches_any(&self.added, name)
    }

    /// Whether a tool of an extension is offered from the start.
    pub fn starts_active(&self, name: &str, registered_active: bool) -> bool {
        self.admits(name, false)
            && !self.inactive.iter().any(|it| it == name)
            && (registered_active
                || matches_any(&self.added, name)
                || self.active.iter().any(|it| it == name))
    }

    /// The report about the entries that match none of the `registered` tools.
    pub fn report(&self, registered: &BTreeSet<String>) -> SelectionReport {
        let mut report = SelectionReport::default();
        let known = || self.built_in.iter().chain(registered).map(String::as_str);
        for ToolEntry { source, pattern, effect } in &self.entries {
            if known().any(|name| matches_tool(pattern, name)) {
                continue;
            }
            let hint = match nearest(pattern, known()) {
                Some(name) => format!("did you mean \"{name}\"?"),
                None => {
                    let names: BTreeSet<&str> = known().collect();
                    let names: Vec<&str> = names.into_iter().take(MOST_NAMES).collect();
                    format!("expected one of {}, or a pattern of them (b*)", names.join(", "))
                }
            };
            match effect {
                ToolEntryEffect::Adds => {
                    report.warnings.push(format!("{source}: no tool matches \"{pattern}\"; {hint}"));
                }
                ToolEntryEffect::Removes => {
                    let text = format!(
                        "{source}: no tool matches \"{pattern}\", so that nothing would be taken away; {hint}"
                    );
                    report.refusal.get_or_insert(text);
                }
            }
        }
        report
    }
}

/// Names of tools in a report.
const MOST_NAMES: usize = 40;

/// What is wrong with the entries of a selection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SelectionReport {
    /// Why the session does not start.
    pub refusal: Option<String>,
    /// Entries that have no effect, for the log.
    pub warnings: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn star_stands_for_any_characters() {
        for (pattern, name, matches) in [
            ("read", "read", true),
            ("read", "reads", false),
            ("Read", "read", false),
            ("r?ad", "read", false),
            ("*", "read", true),
            ("*", "", true),
            ("r*", "read", true),
            ("r*", "bread", false),
            ("*d", "read", true),
            ("*d", "reads", false),
            ("r*d", "read", true),
            ("r*d", "rd", true),
            ("rea*ad", "read", false),
            ("mcp__*__get*", "mcp__a__b__get_it", true),
            ("*a*a*", "banana", true),
            ("*a*a*a*a*", "banana", false),
            ("**", "x", true),
            ("", "read", false),
        ] {
            assert_eq!(matches_tool(pattern, name), matches, "{pattern} {name}");
        }
    }
}
