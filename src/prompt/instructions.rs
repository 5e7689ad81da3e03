//! The instructions of a model, by section.

/// A part of the instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// What it is called, in dialects that tell sections apart.
    pub name: String,
    /// What it says.
    pub text: String,
}

impl Section {
    /// A part of that name.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into() }
    }
}

/// What the model is told before the conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instructions(
    /// Its parts, in the order in which they are read.
    pub Vec<Section>,
);

impl Instructions {
    /// All of it, as providers get it.
    pub fn text(&self) -> String {
        let texts = self.0.iter().map(|section| section.text.as_str());
        texts.collect::<Vec<_>>().join("\n\n")
    }
}

impl From<&str> for Instructions {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<String> for Instructions {
    /// Instructions without parts count as who the model is.
    fn from(text: String) -> Self {
        Self(if text.is_empty() { Vec::new() } else { vec![Section::new(PREAMBLE, text)] })
    }
}

/// Who the model is.
pub(super) const PREAMBLE: &str = "preamble";
