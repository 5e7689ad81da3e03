//! Rows of the generated tables: dispositions of commands, and states in which events may occur.

use super::{Base, Disposition, ErrorText, FlowState};

/// Disposition of a command in a state, under conditions, all of which must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// Dialects to which the row applies; `None`: all.
    pub only: Option<&'static [Base]>,
    /// Member and the values of it for which the row applies; `None`: any.
    pub when: Option<(&'static str, &'static [&'static str])>,
    /// Disposition of the command.
    pub disposition: Disposition,
    /// Error text of a rejection.
    pub error: Option<ErrorText>,
}

/// States in which an event may occur, under conditions, all of which must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fires {
    /// Dialects to which the row applies; `None`: all.
    pub only: Option<&'static [Base]>,
    /// Member and the values of it for which the row applies; `None`: any.
    pub when: Option<(&'static str, &'static [&'static str])>,
    /// States in which the event may occur.
    pub states: &'static [FlowState],
    /// The same states, each as the bit of its place in [`FlowState::ALL`].
    pub mask: u32,
    /// State that the event leads to; `None`: the state stays.
    pub to: Option<FlowState>,
}

impl Fires {
    /// Whether the event may occur in `state`.
    pub const fn is_in(&self, state: FlowState) -> bool {
        self.mask >> state as u32 & 1 == 1
    }
}

/// How long the response to a command may take, where nothing holds the server up (`x-answered`, `x-reads`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseTime {
    /// It comes at once in every state.
    Always,
    /// It comes at once, unless a dialog or an extension holds it up.
    Soon,
    /// It may wait for a provider, for the host, or for a run to end.
    Later,
    /// It comes with the end of the work that the command begins.
    AnyTime,
}

/// Work under way that a command is given to end (`x-ends`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndedWork {
    /// The run.
    Run,
    /// The wait for a retry.
    Retry,
    /// The shell command of the host.
    Shell,
    /// The login.
    Login,
}

impl Case {
    /// Finds the first case that applies; `choice` returns the value of a member.
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

/// Replaces each placeholder by its value. Placeholders within values are not replaced.
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

/// The values of the `{placeholders}` of a template, each with its name, if the text is made from it. A value ends where what
/// follows it in the template begins.
pub fn placeholder_values<'t, 'a>(template: &'t str, text: &'a str) -> Option<Vec<(&'t str, &'a str)>> {
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

#[cfg(test)]
mod tests {
    use super::{fill, placeholder_values};

    #[test]
    fn placeholders_are_read_from_text() {
        let values = placeholder_values("No session: {path} ({why})", "No session: /a (gone)");
        assert_eq!(values.as_deref(), Some(&[("path", "/a"), ("why", "gone")][..]));
        assert_eq!(placeholder_values("Busy.", "busy."), None);
    }

    #[test]
    fn values_are_not_searched_for_placeholders() {
        let values = [("{a}", "{b}"), ("{b}", "{a}")];
        assert_eq!(fill("{a} {b}{c} { {a", &values), "{b} {a}{c} { {a");
        assert_eq!(fill("{a}", &values), "{b}");
        assert_eq!(fill("", &values), "");
    }
}
