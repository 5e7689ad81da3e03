//! Error texts of one dialect in the words of another.

use crate::schema::error_templates;
use pi_rpc_protocol::{Base, placeholder_values};

/// The error texts that differ between two dialects.
#[derive(Debug)]
pub struct ErrorTexts {
    /// Templates of the server, and of the client.
    pairs: Vec<(&'static str, &'static str)>,
}

impl ErrorTexts {
    /// The texts of `from` in the words of `to`.
    pub fn new(from: Base, to: Base) -> Self {
        let pairs = error_templates().filter_map(|texts| {
            let text = |base: Base| texts.get(base.as_str())?.as_str();
            let (given, wanted) = (text(from)?, text(to)?);
            (given != wanted).then_some((given, wanted))
        });
        Self { pairs: pairs.collect() }
    }

    /// The text in the words of the other dialect; one that is not in the schema stays.
    pub fn carry(&self, text: &str) -> String {
        let found = self.pairs.iter().find_map(|(given, wanted)| {
            let values = placeholder_values(given, text)?;
            Some(fill(wanted, &values))
        });
        found.unwrap_or_else(|| text.to_owned())
    }
}

fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let (mut rest, mut text) = (template, String::new());
    while let Some((before, behind)) = rest.split_once('{') {
        text.push_str(before);
        let (name, after) = behind.split_once('}').unwrap_or((behind, ""));
        text.push_str(values.iter().find(|(it, _)| *it == name).map_or("", |(_, value)| value));
        rest = after;
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::fill;
    use pi_rpc_protocol::placeholder_values;

    #[test]
    fn values_move_between_templates() {
        let values = placeholder_values("No session: {path} ({why})", "No session: /a (gone)");
        assert_eq!(fill("{why}: {path}", &values.unwrap_or_default()), "gone: /a");
    }
}
