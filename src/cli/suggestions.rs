//! Suggestions for mistyped options. Other unknown options may belong to an extension, so they are accepted.

use strsim::damerau_levenshtein;

/// Most typing errors (wrong, missing, extra or exchanged letters) in a long name; in a short one, a third of its length.
const MAX_TYPOS: usize = 2;

/// The option in `help` that is most similar to `name`, without its dashes; `None` if `name` is an option itself, or no
/// option is similar.
pub fn suggest<'a>(name: &str, help: &'a str) -> Option<&'a str> {
    let options = help.split_whitespace().filter_map(|word| word.strip_prefix("--"));
    nearest(name, options.map(|name| name.trim_end_matches(|end: char| !end.is_alphanumeric())))
}

/// The name that is most similar to `name`; `None` if it is one of them, or none is similar.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let distance = |known: &&str| damerau_levenshtein(name, known);
    let nearest =
        known.into_iter().min_by_key(|known| (distance(known), known.len().abs_diff(name.len())))?;
    let typos = distance(&nearest);
    (typos > 0 && typos <= MAX_TYPOS.min(name.chars().count() / 3)).then_some(nearest)
}

#[cfg(test)]
mod tests {
    use super::{super::options::HELP, *};

    #[test]
    fn typo_suggests_the_nearest_option() {
        let near = ["modle", "thinkin", "sessoin", "no-sesion", "max-quueue", "confirm-tool"];
        let found = near.map(|name| suggest(name, HELP));
        let expected = ["model", "thinking", "session", "no-session", "max-queue", "confirm-tools"].map(Some);
        assert_eq!(found, expected);
    }

    #[test]
    fn typo_suggests_the_nearest_dialect() {
        let found = ["pi2", "pi_1", "xchs", "omg"].map(|name| nearest(name, ["pi", "pi-1", "xcsh", "omp"]));
        assert_eq!(found, ["pi", "pi-1", "xcsh", "omp"].map(Some));
        assert_eq!(nearest("claude", ["pi", "pi-1", "xcsh", "omp"]), None);
    }

    #[test]
    fn other_unknown_option_misses_none() {
        for name in ["model", "plan", "x", "verbose", "theme", "preset", "sandbox-image"] {
            assert_eq!(suggest(name, HELP), None, "{name}");
        }
    }
}
