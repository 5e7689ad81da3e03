//! Error texts of one dialect in the words of another.

use crate::schema::error_templates;
use pi_rpc_protocol::Base;

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
            let values = values_of(given, text)?;
            Some(fill(wanted, &values))
        });
        found.unwrap_or_else(|| text.to_owned())
    }
}

/// The values of the placeholders of a template, if the text is made from it.
fn values_of<'a>(template: &'a str, text: &'a str) -> Option<Vec<(&'a str, &'a str)>> {
    let (mut template, mut text, mut values) = (template, text, Vec::new());
    while let Some((before, rest)) = template.split_once('{') {
        let (name, after) = rest.split_once('}')?;
        text = text.strip_prefix(before)?;
        let next = after.split('{').next().unwrap_or_default();
        let end = if next.is_empty() { text.len() } else { text.find(next)? };
        let (value, rest) = text.split_at(end);
        values.push((name, value));
        (template, text) = (after, rest);
    }
    (template == text).then_some(values)
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
    use super::{fill, values_of};

    #[test]
    fn values_move_between_templates() {
        let values = values_of("No session: {path} ({why})", "No session: /a (gone)");
        assert_eq!(values.as_deref(), Some(&[("path", "/a"), ("why", "gone")][..]));
        assert_eq!(fill("{why}: {path}", &values.unwrap_or_default()), "gone: /a");
        assert_eq!(values_of("Busy.", "busy."), None);
    }
}
