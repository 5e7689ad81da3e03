//! The rows of the generated tables: when a command is legal, when an event may fire.

use super::{Base, Disposition, ErrorText, FlowState};

/// One row of what becomes of a command in a state. A row applies if all of its conditions hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// Only in dialects built on these.
    pub only: Option<&'static [Base]>,
    /// Only if this field has one of these values.
    pub when: Option<(&'static str, &'static [&'static str])>,
    /// What becomes of it.
    pub disposition: Disposition,
    /// The text of a rejection.
    pub error: Option<ErrorText>,
}

/// One row of where an event may fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fires {
    /// Only in dialects built on these.
    pub only: Option<&'static [Base]>,
    /// Only if this field has one of these values.
    pub when: Option<(&'static str, &'static [&'static str])>,
    /// The states in which it may be said.
    pub states: &'static [FlowState],
    /// The state that it leads to; `None`: the state stays.
    pub to: Option<FlowState>,
}

impl Case {
    /// The first case that applies; `choice` gives the value of a field.
    pub fn first(
        cases: &'static [Self],
        base: Base,
        choice: impl Fn(&str) -> Option<&'static str>,
    ) -> Option<&'static Self> {
        cases.iter().find(|case| {
            case.only.is_none_or(|only| base.is_in(only))
                && case.when.is_none_or(|(field, is)| choice(field).is_some_and(|value| is.contains(&value)))
        })
    }
}

/// Replaces each placeholder by its value. What looks like a placeholder inside a value stays as it is.
pub fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(start) = rest.find('{') {
        text.push_str(&rest[..start]);
        rest = &rest[start..];
        let (taken, value) = match values.iter().find(|(hole, _)| rest.starts_with(hole)) {
            Some((hole, value)) => (hole.len(), *value),
            None => (1, "{"),
        };
        text.push_str(value);
        rest = &rest[taken..];
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::fill;

    #[test]
    fn values_are_not_searched_for_placeholders() {
        let values = [("{a}", "{b}"), ("{b}", "{a}")];
        assert_eq!(fill("{a} {b}{c} { {a", &values), "{b} {a}{c} { {a");
        assert_eq!(fill("{a}", &values), "{b}");
        assert_eq!(fill("", &values), "");
    }
}
