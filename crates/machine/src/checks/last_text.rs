//! Judges the text that `get_last_assistant_text` returns.
//!
//! Rule: `last-text`.

use super::{
    frame_context::FrameContext,
    pending_read::Interference,
    session_checks::{SessionChecks, trimmed},
};
use crate::findings::Findings;
use pi_rpc_protocol::{DialectLastText, RuleId as Rule};

/// The digest of the text that is expected, beside the one that is reported.
enum ExpectedText {
    /// Not known.
    Unknown,
    /// The reported one.
    Reported,
    /// Another one; 0 for none.
    Other(u64),
}

impl SessionChecks {
    /// Judges the text of the newest answer.
    pub(super) fn last_text(
        &self,
        reported: Option<&str>,
        sight: Interference,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        if let Some(reported) = reported {
            let bare = reported.trim_matches([' ', '\t', '\r', '\n']);
            found.expect(Rule::LastText, reported == bare, || {
                "a text without blanks around it at /data/text".to_owned()
            });
        }
        if sight != Interference::None || at.cut || self.may_be_changed_by_extensions() {
            return;
        }
        let reported = reported.map_or(0, trimmed);
        let mut wrong = None;
        for choice in [DialectLastText::Newest, DialectLastText::WithText] {
            if !at.may(|record| record.last_text == choice) {
                continue;
            }
            match self.expected_text(choice, reported) {
                ExpectedText::Unknown => return,
                ExpectedText::Reported => return found.pass(Rule::LastText),
                ExpectedText::Other(text) => wrong = Some((choice, text)),
            }
        }
        let Some((choice, expected)) = wrong else { return };
        let newest = match choice {
            DialectLastText::Newest => "newest answer",
            DialectLastText::WithText => "newest answer with a text or `stop`",
        };
        let what = match &self.newest {
            _ if expected == 0 => format!("no text, as the {newest} has none, at /data/text"),
            Some((digest, shown)) if *digest == expected => {
                format!("the text of the {newest}, which begins with `{shown}`, at /data/text")
            }
            _ => format!("the text of the {newest} at /data/text"),
        };
        found.fail(Rule::LastText, what);
    }

    /// Compares the text that is reported as that of the last answer.
    fn expected_text(&self, choice: DialectLastText, reported: u64) -> ExpectedText {
        let mut expected = self.log.begins_in_memory().then_some(0);
        for (answer, is_certain) in self.log.answers() {
            let Some(text) = answer.text else { return ExpectedText::Unknown };
            if choice == DialectLastText::WithText && text == 0 && !answer.is_stop {
                continue;
            }
            if is_certain {
                expected = Some(text);
                break;
            }
            // It may have been removed from memory.
            if text == reported {
                return ExpectedText::Reported;
            }
        }
        match expected {
            None => ExpectedText::Unknown,
            Some(text) if text == reported => ExpectedText::Reported,
            Some(text) => ExpectedText::Other(text),
        }
    }
}
