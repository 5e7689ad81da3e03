//! Plays a script: picks the turn for each call of the model.

use std::borrow::Cow;

use super::{
    block::{Block, TextBlock},
    demo,
    script::{Script, TurnSource},
    steps::Step,
    turn::Turn,
};

/// One call of the model, reduced to the parts that a script can match.
#[derive(Debug, Clone, Copy)]
pub struct ScriptedCall<'a> {
    /// Text of the newest user message.
    pub prompt: &'a str,
    /// Number of this session's model calls; makes ids unique.
    pub call: usize,
    /// Tool results since the newest user message, in order.
    pub results: &'a [ToolText],
    /// Names of the offered tools.
    pub tools: &'a [String],
    /// Whether the call asks for a summary of a conversation.
    pub summary: bool,
    /// Approximate size of the context in characters, for the estimate of input tokens.
    pub input_chars: usize,
}

/// The result of a tool call as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolText {
    /// The tool's name.
    pub name: String,
    /// The result's text.
    pub text: String,
    /// Whether the tool failed.
    pub is_error: bool,
}

/// A script that is played, and its used turns.
#[derive(Debug, Clone)]
pub struct Player {
    script: Script,
    used: Vec<bool>,
}

impl Player {
    /// Creates a player at the beginning of `script`.
    pub fn new(script: Script) -> Self {
        let used = vec![false; script.turns().len()];
        Self { script, used }
    }

    /// The script.
    pub fn script(&self) -> &Script {
        &self.script
    }

    /// Answers a call: takes a turn and expands it.
    pub fn answer(&mut self, ask: &ScriptedCall<'_>) -> Vec<Step> {
        self.take(ask).steps(ask)
    }

    /// Takes the first unused turn that fits; without one, a turn that reports their absence.
    pub fn take(&mut self, ask: &ScriptedCall<'_>) -> Cow<'_, Turn> {
        let turns = match &self.script.source {
            TurnSource::Demo if ask.summary => return Cow::Owned(summary(ask)),
            TurnSource::Demo => return Cow::Owned(demo::turn(ask)),
            TurnSource::Turns(turns) => turns,
        };
        let mut candidates = turns.iter().zip(&mut self.used);
        match candidates.find(|(turn, used)| !**used && turn.fits(ask)) {
            Some((turn, used)) => {
                *used = !turn.repeat;
                Cow::Borrowed(turn)
            }
            None if ask.summary => Cow::Owned(summary(ask)),
            None => Cow::Owned(exhausted_turn(&self.used)),
        }
    }
}

/// The summary if the script has none.
fn summary(ask: &ScriptedCall<'_>) -> Turn {
    let size = ask.input_chars;
    let text = format!("## Goal\nA scripted summary of {size} characters.\n\n## Next Steps\n1. None.");
    Turn { say: vec![Block::Text(TextBlock { text, ..TextBlock::default() })], ..Turn::default() }
}

/// The answer if no turn is left.
fn exhausted_turn(used: &[bool]) -> Turn {
    let total = used.len();
    let left = used.iter().filter(|used| !**used).count();
    let text = if left == 0 {
        format!("The script ends here: all of its turns ({total}) have been played.")
    } else {
        format!(
            "The script has no turn for this: {left} of its {total} turns are left, and none of them fits."
        )
    };
    Turn { say: vec![Block::Text(TextBlock { text, ..TextBlock::default() })], ..Turn::default() }
}
