//! The rules of a session, and which of them the model has received.

use crate::ttsr::rule::{CompiledRule, WatchedContent, path_in};
use pi_rpc_protocol::{Attribution, CustomMessage, MessageContent, Rule, texts};
use std::collections::{BTreeMap, BTreeSet};

/// The `customType` of the message that tells the model which rules its answer was stopped for. Source: xcsh source.
pub const INJECTION: &str = "ttsr-injection";

/// How far back a match may begin, in bytes: every step of the stream costs so much at most, however long the answer.
const LOOK_BACK: usize = 4 * 1024;

/// The rules of a session.
#[derive(Debug, Default)]
pub struct Rules {
    compiled: Vec<CompiledRule>,
    /// Names of the rules that were injected.
    injected: BTreeSet<String>,
    /// The blocks of the answer that streams, by their place in it.
    blocks: BTreeMap<usize, WatchedBlock>,
}

/// The text of a block so far.
#[derive(Debug, Default)]
struct WatchedBlock {
    text: String,
    /// Of a call: the file that it is about, once that is written.
    path: Option<String>,
    /// Places of the rules that matched before the file was known.
    matched: BTreeSet<usize>,
}

impl Rules {
    /// Makes rules ready to match, and says what of them cannot be understood. Those that watch nothing are no trouble;
    /// of several with one name the first counts.
    pub fn new(rules: Vec<Rule>) -> (Self, Vec<String>) {
        let mut warnings = Vec::new();
        let mut names = BTreeSet::new();
        let own = rules.into_iter().filter(|rule| names.insert(rule.name.clone()));
        let compiled = own.filter_map(|rule| CompiledRule::new(rule, &mut warnings)).collect();
        (Self { compiled, ..Self::default() }, warnings)
    }

    /// Matches the next delta of the block at `index` of the answer. `Some`: the rules that the answer goes against,
    /// at least one, none of them injected before. The rest of the answer need not be fed then.
    pub fn feed(&mut self, index: usize, watched: WatchedContent<'_>, delta: &str) -> Option<Vec<Rule>> {
        if delta.is_empty() || !self.compiled.iter().any(|rule| rule.watches(watched)) {
            return None;
        }
        let block = self.blocks.entry(index).or_default();
        let from = block.text.floor_char_boundary(block.text.len().saturating_sub(LOOK_BACK));
        block.text.push_str(delta);
        let WatchedBlock { text, path, matched } = block;
        // A path ends with a quotation mark: without one, the arguments need not be parsed again.
        let has_file = |rule: &CompiledRule| rule.is_of_files() && rule.watches(watched);
        if path.is_none() && delta.contains('"') && self.compiled.iter().any(has_file) {
            *path = path_in(text);
        }
        let mut broken = Vec::new();
        for (place, compiled) in self.compiled.iter().enumerate() {
            let is_injected = self.injected.contains(&compiled.rule.name);
            if is_injected
                || !compiled.watches(watched)
                || !matched.contains(&place) && !compiled.matches(text, from)
            {
                continue;
            }
            match compiled.matches_path(path.as_deref()) {
                Some(true) => broken.push(compiled.rule.clone()),
                Some(false) => {}
                None => drop(matched.insert(place)),
            }
        }
        (!broken.is_empty()).then_some(broken)
    }

    /// Another answer begins.
    pub fn reset(&mut self) {
        self.blocks.clear();
    }

    /// Marks rules as injected: they stop no further answer.
    pub fn mark_injected(&mut self, rules: &[Rule]) {
        self.injected.extend(rules.iter().map(|rule| rule.name.clone()));
    }

    /// Restores the names of the injected rules from the session's branch.
    pub fn restore(&mut self, names: impl IntoIterator<Item = String>) {
        self.injected = names.into_iter().collect();
    }

    /// The message that injects `rules`, made at `wall` milliseconds since the Unix epoch.
    pub fn injection_message(rules: &[Rule], wall: u64) -> CustomMessage {
        let texts =
            rules.iter().map(|rule| texts::rule_injected(&rule.name, &rule.path, rule.content.trim()));
        CustomMessage {
            custom_type: INJECTION.to_owned(),
            content: MessageContent::Text(texts.collect::<Vec<_>>().join("\n\n")),
            display: false,
            details: None,
            attribution: Some(Attribution::Agent),
            timestamp: wall,
        }
    }
}
