//! What the model is told first: its instructions, and the skills and templates that go with them.

use crate::prompt::{Commands, PromptSource, Section};
use std::sync::Arc;

/// The instructions of the model.
#[derive(Debug)]
pub struct Instructions {
    /// The whole text.
    pub text: Arc<str>,
    /// Its parts, for dialects that tell them apart.
    pub sections: Vec<Section>,
    /// What the text is made of again when the tools change; `None`: it stays as it is.
    pub source: Option<PromptSource>,
    /// Skills and prompt templates.
    pub commands: Commands,
}
