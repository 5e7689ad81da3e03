//! What a bash has shown so far.

use crate::{
    machine::findings::Findings,
    protocol::{AgentToolResult, RuleId as Rule, UserContent},
};

/// The text of a result or of a partial one.
#[derive(Clone, Debug)]
pub struct Progress {
    /// All texts of the content together.
    pub text: String,
    /// It is not the whole output.
    cut: bool,
}

impl Progress {
    /// What `result` shows.
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

    /// Puts `rule` to the test: `next`, the result at the JSON pointer `at`, shows what is here, and more.
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

    /// Whether `next` may follow: it extends what is here, unless one of the two was cut short. Line feeds at the end
    /// come and go.
    fn leads_to(&self, next: &Self) -> bool {
        self.cut || next.cut || next.text.starts_with(self.text.trim_end_matches(['\r', '\n']))
    }
}

/// Where the details say that an output was cut short.
const CUT: [&str; 3] = ["/truncation", "/fullOutputPath", "/meta/truncation"];
