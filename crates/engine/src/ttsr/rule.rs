//! A compiled rule.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use pi_rpc_protocol::{AssistantContent, Rule, RuleInterruptMode, complete_strings};
use regex::Regex;

/// A kind of content that rules apply to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchedContent<'a> {
    /// Text for the user.
    Text,
    /// Thinking.
    Thinking,
    /// The arguments of a call of the tool of this name.
    Arguments(&'a str),
}

impl<'a> WatchedContent<'a> {
    /// The kind of content of a block; `None`: rules do not apply to it.
    pub fn of(block: &'a AssistantContent) -> Option<Self> {
        match block {
            AssistantContent::Text(_) => Some(Self::Text),
            AssistantContent::Thinking(thinking) if thinking.redacted != Some(true) => Some(Self::Thinking),
            AssistantContent::ToolCall(call) => Some(Self::Arguments(&call.name)),
            AssistantContent::Thinking(_) | AssistantContent::RedactedThinking(_) => None,
        }
    }
}

/// A rule with its expressions compiled.
#[derive(Debug)]
pub struct CompiledRule {
    pub rule: Rule,
    conditions: Vec<Regex>,
    scope: Vec<Scope>,
    globs: Option<GlobSet>,
}

/// One word of a rule's scope.
#[derive(Debug, PartialEq, Eq)]
enum Scope {
    Text,
    Thinking,
    Tools,
    Tool(String),
}

impl CompiledRule {
    /// Compiles a rule; `None`: it never applies. Invalid parts are left out, with a warning.
    pub fn new(rule: Rule, warnings: &mut Vec<String>) -> Option<Self> {
        let given = rule.condition.as_deref().unwrap_or_default();
        if given.is_empty() || rule.interrupt_mode == Some(RuleInterruptMode::Never) {
            return None;
        }
        let mut warn = |what: &str, why: &str| {
            warnings.push(format!("{}: {what}: {why}; ignored", rule.path));
        };
        let conditions: Vec<Regex> =
            given.iter().filter_map(|text| condition(text).map_err(|why| warn(text, &why)).ok()).collect();
        let scope: Vec<Scope> = match &rule.scope {
            None => vec![Scope::Text, Scope::Thinking, Scope::Tools],
            Some(words) => words
                .iter()
                .filter_map(|word| {
                    let scope = Scope::parse(word);
                    if scope.is_none() {
                        warn(word, "expected text, thinking, tool or tool:<name>");
                    }
                    scope
                })
                .collect(),
        };
        let globs =
            rule.globs.as_deref().filter(|globs| !globs.is_empty()).map(|globs| glob_set(globs, &mut warn));
        if conditions.is_empty() || scope.is_empty() {
            return None;
        }
        Some(Self { rule, conditions, scope, globs })
    }

    /// Whether the rule applies to this kind of content.
    pub fn watches(&self, watched: WatchedContent<'_>) -> bool {
        let in_calls = matches!(watched, WatchedContent::Arguments(_));
        let may = match self.rule.interrupt_mode {
            None | Some(RuleInterruptMode::Always) => true,
            Some(RuleInterruptMode::ProseOnly) => !in_calls,
            Some(RuleInterruptMode::ToolOnly) => in_calls,
            Some(RuleInterruptMode::Never) => false,
        };
        may && (in_calls || self.globs.is_none()) && self.scope.iter().any(|scope| scope.has(watched))
    }

    /// Whether a condition matches in `text` somewhere from the byte `from` on.
    pub fn matches(&self, text: &str, from: usize) -> bool {
        self.conditions.iter().any(|condition| condition.is_match_at(text, from))
    }

    /// Whether the rule applies to some files only.
    pub const fn is_of_files(&self) -> bool {
        self.globs.is_some()
    }

    /// Whether the rule applies to the file at `path`; `None`: the path is not known yet.
    pub fn matches_path(&self, path: Option<&str>) -> Option<bool> {
        match &self.globs {
            None => Some(true),
            Some(globs) => path.map(|path| globs.is_match(path)),
        }
    }
}

impl Scope {
    fn parse(word: &str) -> Option<Self> {
        match word.trim() {
            "text" => Some(Self::Text),
            "thinking" => Some(Self::Thinking),
            "tool" => Some(Self::Tools),
            word => word
                .strip_prefix("tool:")
                .filter(|name| !name.is_empty())
                .map(|name| Self::Tool(name.to_owned())),
        }
    }

    fn has(&self, watched: WatchedContent<'_>) -> bool {
        match (self, watched) {
            (Self::Text, WatchedContent::Text)
            | (Self::Thinking, WatchedContent::Thinking)
            | (Self::Tools, WatchedContent::Arguments(_)) => true,
            (Self::Tool(name), WatchedContent::Arguments(tool)) => name == tool,
            _ => false,
        }
    }
}

fn condition(text: &str) -> Result<Regex, String> {
    let regex = Regex::new(text).map_err(|error| {
        // The last line states the fault, the lines before it show the place.
        let text = error.to_string();
        text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
    })?;
    match regex.is_match("") {
        true => Err("it matches the empty text".to_owned()),
        false => Ok(regex),
    }
}

/// Globs as they are usual for rules: relative ones fit at any depth, `*` stays in its directory.
fn glob_set(globs: &[String], warn: &mut impl FnMut(&str, &str)) -> GlobSet {
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        let anywhere = if glob.starts_with('/') { glob.clone() } else { format!("**/{glob}") };
        match GlobBuilder::new(&anywhere).literal_separator(true).build() {
            Ok(built) => drop(set.add(built)),
            Err(error) => warn(glob, &error.kind().to_string()),
        }
    }
    set.build().unwrap_or_else(|error| {
        warn("globs", &error.to_string());
        GlobSet::empty()
    })
}

/// The path in the JSON text of arguments that still stream, once it is complete.
pub fn path_in(arguments: &str) -> Option<String> {
    let strings = complete_strings(arguments);
    let path = |key: &str| strings.iter().find(|(name, _)| name == key).map(|(_, path)| path.clone());
    path("path").or_else(|| path("file_path"))
}
