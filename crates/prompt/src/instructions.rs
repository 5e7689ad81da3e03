//! The system prompt of a model, in sections.

/// A section of the system prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its name, in dialects with sections.
    pub name: String,
    /// Its text.
    pub text: String,
}

impl Section {
    /// Creates a section.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into() }
    }
}

/// The system prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instructions(
    /// Its sections, in order.
    pub Vec<Section>,
);

impl Instructions {
    /// The whole text, as providers get it.
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
    /// A plain text becomes the preamble.
    fn from(text: String) -> Self {
        Self(if text.is_empty() { Vec::new() } else { vec![Section::new(PREAMBLE, text)] })
    }
}

/// Name of the section that introduces the model.
pub(super) const PREAMBLE: &str = "preamble";
