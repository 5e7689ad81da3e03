//! Models to choose from, and the thinking levels of each.

use crate::protocol::{Model, ThinkingLevel};

/// A model that the session may use.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// As the wire shows it.
    pub model: Model,
    /// Whether it takes the highest level: only some do.
    pub takes_xhigh: bool,
    /// A level that the scope names for it.
    pub level: Option<ThinkingLevel>,
}

/// The levels that a model takes, in order; a model that does not think takes `off` alone.
pub fn levels(choice: &Choice) -> &'static [ThinkingLevel] {
    use ThinkingLevel::{High, Low, Medium, Minimal, Off, Xhigh};
    match (choice.model.reasoning, choice.takes_xhigh) {
        (false, _) => &[Off],
        (true, false) => &[Off, Minimal, Low, Medium, High],
        (true, true) => &[Off, Minimal, Low, Medium, High, Xhigh],
    }
}

/// The level nearest to `wanted` that the model takes: the next higher one, else the next lower.
pub fn clamp(choice: &Choice, wanted: ThinkingLevel) -> ThinkingLevel {
    let levels = levels(choice);
    let higher = levels.iter().find(|level| **level >= wanted);
    higher.or(levels.last()).copied().unwrap_or(ThinkingLevel::Off)
}
