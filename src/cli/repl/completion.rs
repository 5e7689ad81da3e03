//! Completes commands, their members and the values of those.

use super::{
    catalogue::{Catalogue, MemberValues},
    input::{LOCAL_COMMANDS, first_word},
};

/// A way to complete the word at the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// What is listed.
    pub shown: String,
    /// What takes the place of the word.
    pub text: String,
}

/// The place where the word at the cursor begins, and its candidates; `is_refused` says of a command that the server would not
/// take it now.
pub fn complete(
    line: &str,
    catalogue: &Catalogue,
    is_refused: impl Fn(&str) -> bool,
) -> (usize, Vec<Candidate>) {
    let begin = line.rfind(char::is_whitespace).map_or(0, |at| at + 1);
    let word = &line[begin..];
    let (first, _) = first_word(line);
    if begin == 0 || matches!(line[..begin].trim(), "?" | "!") {
        let (mark, typed) = word.strip_prefix('!').map_or(("", word), |typed| ("!", typed));
        let names = catalogue.commands().iter().map(|command| command.name.as_str());
        let local = LOCAL_COMMANDS.iter().map(|(name, _)| *name).filter(|_| begin == 0 && mark.is_empty());
        let named = names.chain(local).filter(|name| name.starts_with(typed));
        let candidates = named.map(|name| Candidate {
            shown: if is_refused(name) { format!("{name} (refused now)") } else { name.to_owned() },
            text: format!("{mark}{name} "),
        });
        return (begin, candidates.collect());
    }
    let Some(command) = catalogue.command(first.trim_start_matches('!')) else { return (begin, Vec::new()) };
    if let Some((name, typed)) = word.split_once('=') {
        let values = match command.member(name).map(|member| &member.values) {
            Some(MemberValues::Choice(values)) => values.clone(),
            Some(MemberValues::Flag) => ["true", "false"].map(str::to_owned).to_vec(),
            _ => Vec::new(),
        };
        let fitting = values.into_iter().filter(|value| value.starts_with(typed));
        let candidates = fitting.map(|value| Candidate { text: format!("{name}={value} "), shown: value });
        return (begin, candidates.collect());
    }
    let is_given = |name: &str| line.contains(&format!(" {name}="));
    let members = command.members.iter().filter(|it| it.name.starts_with(word) && !is_given(&it.name));
    let candidates =
        members.map(|it| Candidate { shown: it.name.clone(), text: format!("{}=", it.name) }).collect();
    (begin, candidates)
}

/// The members of a command that was typed and nothing behind it.
pub fn hint(line: &str, catalogue: &Catalogue) -> Option<String> {
    let name = line.strip_suffix(' ').filter(|name| !name.contains(char::is_whitespace))?;
    let usage = catalogue.command(name.trim_start_matches('!'))?.usage();
    (!usage.is_empty()).then_some(usage)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pi_rpc_protocol::Dialect;

    fn completed(line: &str) -> (usize, Vec<String>) {
        let (begin, candidates) = complete(line, &Catalogue::of(Dialect::Pi1), |name| name == "compact");
        (begin, candidates.into_iter().map(|it| format!("{}|{}", it.shown, it.text)).collect())
    }

    #[test]
    fn commands_members_and_values_are_completed() {
        let rows: [(&str, usize, &[&str]); 8] = [
            ("promp", 0, &["prompt|prompt "]),
            ("!promp", 0, &["prompt|!prompt "]),
            ("comp", 0, &["compact (refused now)|compact "]),
            (".st", 0, &[".state|.state "]),
            ("? promp", 2, &["prompt|prompt "]),
            ("set_model m", 10, &["modelId|modelId="]),
            ("set_model modelId=x ", 20, &["provider|provider="]),
            (
                "set_thinking_level level=m",
                19,
                &["minimal|level=minimal ", "medium|level=medium ", "max|level=max "],
            ),
        ];
        for (line, begin, candidates) in rows {
            let wanted = candidates.iter().map(|text| (*text).to_owned()).collect();
            assert_eq!(completed(line), (begin, wanted), "{line}");
        }
    }

    #[test]
    fn hint_lists_members() {
        let hint = |line| hint(line, &Catalogue::of(Dialect::Pi1));
        assert_eq!(hint("prompt ").as_deref(), Some("message [images] [streamingBehavior]"));
        assert_eq!((hint("abort "), hint("prompt"), hint("prompt x ")), (None, None, None));
    }
}
