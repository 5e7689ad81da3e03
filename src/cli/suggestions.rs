//! Options that are nearly known: most likely slips of the pen, while any other unknown option may be an extension's.

use strsim::damerau_levenshtein;

/// Letters that may be wrong, missing, too many or exchanged in a long name; of a short one, a third.
const MAX_TYPOS: usize = 2;

/// The option of `help` that `name` is nearly, without its dashes; `None` if it is one of them, or near to none.
pub fn suggest<'a>(name: &str, help: &'a str) -> Option<&'a str> {
    let distance = |known: &&str| damerau_levenshtein(name, known);
    let nearest =
        long_options(help).min_by_key(|known| (distance(known), known.len().abs_diff(name.len())))?;
    let typos = distance(&nearest);
    (typos > 0 && typos <= MAX_TYPOS.min(name.chars().count() / 3)).then_some(nearest)
}

/// The long options that a help text names.
fn long_options(help: &str) -> impl Iterator<Item = &str> {
    let options = help.split_whitespace().filter_map(|word| word.strip_prefix("--"));
    options.map(|name| name.trim_end_matches(|end: char| !end.is_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::{super::options::HELP, *};

    #[test]
    fn slip_names_the_option_it_misses() {
        let near = ["modle", "thinkin", "sessoin", "no-sesion", "max-quueue", "confirm-tool"];
        let found = near.map(|name| suggest(name, HELP));
        let expected = ["model", "thinking", "session", "no-session", "max-queue", "confirm-tools"].map(Some);
        assert_eq!(found, expected);
    }

    #[test]
    fn other_unknown_option_misses_none() {
        for name in ["model", "plan", "x", "verbose", "theme", "preset", "sandbox-image"] {
            assert_eq!(suggest(name, HELP), None, "{name}");
        }
    }
}
