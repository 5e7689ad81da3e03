//! Judges the progress of a bash call: each partial output extends the one before.

use crate::findings::Findings;
use pi_rpc_protocol::{AgentToolResult, RuleId as Rule, UserContent};

/// The text of a result or a partial result.
#[derive(Clone, Debug)]
pub struct Progress {
    /// The joined texts of the content.
    pub text: String,
    /// Whether the text is not the whole output.
    cut: bool,
}

impl Progress {
    /// The progress in `result`.
    pub fn of(result: &AgentToolResult) -> Self {
        let texts = result.content.iter().filter_map(|block| match block {
            UserContent::Text(it) => Some(it.text.as_str()),
            UserContent::Image(_) => None,
        });
        let cut = result.details.as_ref().is_some_and(|details| {
            CUT.iter().any(|pointer| details.pointer(pointer).is_some_and(|value| !value.is_null()))
        });
        Self { text: texts.collect(), cut }
    }

    /// Exercises `rule`: `next`, at the JSON pointer `at`, must extend this progress.
    pub fn expect(&self, rule: Rule, at: &str, next: &Self, found: &mut Findings) {
        match self.leads_to(next) {
            true => found.pass(rule),
            false => {
                let at = format!("{at}/content/0/text");
                let shown = &next.text[..next.text.floor_char_boundary(self.text.len())];
                found.fail_with_difference(rule, &at, "what was shown before, and more", &self.text, &shown);
            }
        }
    }

    /// Whether `next` extends this text, or one of the two was cut short. Line feeds at the end are ignored.
    fn leads_to(&self, next: &Self) -> bool {
        self.cut || next.cut || next.text.starts_with(self.text.trim_end_matches(['\r', '\n']))
    }
}

/// JSON pointers in the details that mark a truncated output.
const CUT: [&str; 3] = ["/truncation", "/fullOutputPath", "/meta/truncation"];
