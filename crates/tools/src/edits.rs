//! Several replacements in one text, all matched against the original.
//!
//! If one text does not occur exactly, all texts of the call are matched in [normalized](normalize) form. Lines that a
//! replacement touches are then written in that form; every other line stays as it was. Source: pi 1 source.

use std::ops::Range;

use super::edit::{LineChange, normalize, occurrences, with_line_feeds};
use pi_rpc_tool_specs::Replacement;

/// A match: its place, and the replacement.
struct Match {
    /// The index of the replacement in the call.
    index: usize,
    place: Range<usize>,
    new: String,
}

/// Applies all `edits` to `body`, whose lines end with line feeds, and returns the text with the changes in order; `name`:
/// the file's, for error texts.
pub(super) fn replace_all(
    body: &str,
    edits: &[Replacement],
    name: &str,
) -> Result<(String, Vec<LineChange>), String> {
    let alone = edits.len() == 1;
    if edits.is_empty() {
        return Err("Edit tool input is invalid. edits must contain at least one replacement.".into());
    }
    let wanted: Vec<(String, String)> = edits
        .iter()
        .map(|edit| {
            (with_line_feeds(&edit.old_text).into_owned(), with_line_feeds(&edit.new_text).into_owned())
        })
        .collect();
    if let Some(index) = wanted.iter().position(|(old, _)| old.is_empty()) {
        let which = if alone { "oldText".to_owned() } else { format!("edits[{index}].oldText") };
        return Err(format!("{which} must not be empty in {name}."));
    }
    let plain_body = normalize(body);
    let in_plain =
        wanted.iter().any(|(old, _)| !body.contains(old.as_str()) && plain_body.contains(&normalize(old)));
    let base = if in_plain { plain_body.as_str() } else { body };
    let mut matches = Vec::new();
    for (index, (old, new)) in wanted.into_iter().enumerate() {
        let plain_old = normalize(&old);
        let found = base.find(&old).map(|at| at..at + old.len());
        let found = found.or_else(|| Some(base.find(&plain_old)?).map(|at| at..at + plain_old.len()));
        let Some(place) = found else { return Err(not_found(name, index, alone)) };
        let count = occurrences(&plain_body, &plain_old);
        if count > 1 {
            return Err(not_unique(name, index, alone, count));
        }
        matches.push(Match { index, place, new });
    }
    matches.sort_by_key(|it| it.place.start);
    if let Some([one, other]) = matches.array_windows().find(|[one, other]| one.place.end > other.place.start)
    {
        return Err(format!(
            "edits[{}] and edits[{}] overlap in {name}. Merge them into one edit or target disjoint regions.",
            one.index, other.index
        ));
    }
    let after = match in_plain {
        true => splice_lines(body, base, &matches),
        false => splice(base, 0..base.len(), &matches),
    };
    match after == body {
        true => Err(no_change(name, alone)),
        // Normalization neither adds nor removes line feeds.
        false => {
            Ok((after, matches.iter().map(|it| LineChange::of(base, it.place.clone(), &it.new)).collect()))
        }
    }
}

/// The part `whole` of `base` with its matches replaced.
fn splice(base: &str, whole: Range<usize>, matches: &[Match]) -> String {
    let mut after = String::new();
    let mut at = whole.start;
    for it in matches {
        after += &base[at..it.place.start];
        after += &it.new;
        at = it.place.end;
    }
    after + &base[at..whole.end]
}

/// Replaces the matched lines of `body` by those of `base`, its normalized form, with the matches replaced. Both have the
/// same number of lines, as normalization neither adds nor removes line feeds.
fn splice_lines(body: &str, base: &str, matches: &[Match]) -> String {
    let (old, new) = (line_places(body), line_places(base));
    let line_of = |at: usize| new.partition_point(|line| line.end <= at).min(new.len().saturating_sub(1));
    let mut after = String::new();
    let mut next = 0;
    let mut rest = matches;
    while let Some(first) = rest.first() {
        let start = line_of(first.place.start);
        let mut end = line_of(first.place.end.saturating_sub(1).max(first.place.start));
        let mut count = 1;
        while let Some(it) = rest.get(count).filter(|it| line_of(it.place.start) <= end) {
            end = end.max(line_of(it.place.end.saturating_sub(1).max(it.place.start)));
            count += 1;
        }
        let (group, others) = rest.split_at(count);
        after.extend(old[next..start].iter().map(|line| &body[line.clone()]));
        after += &splice(base, new[start].start..new[end].end, group);
        (next, rest) = (end + 1, others);
    }
    after.extend(old[next..].iter().map(|line| &body[line.clone()]));
    after
}

/// The range of each line, its line feed included. An empty text has one empty line, in which a text that is empty when
/// normalized matches.
fn line_places(text: &str) -> Vec<Range<usize>> {
    if text.is_empty() {
        return vec![Range::default()];
    }
    let mut at = 0;
    let lines = text.split_inclusive('\n').map(|line| {
        let start = at;
        at += line.len();
        start..at
    });
    lines.collect()
}

fn not_found(name: &str, index: usize, alone: bool) -> String {
    match alone {
        true => format!(
            "Could not find the exact text in {name}. The old text must match exactly including all whitespace and \
             newlines."
        ),
        false => format!(
            "Could not find edits[{index}] in {name}. The oldText must match exactly including all whitespace and \
             newlines."
        ),
    }
}

fn not_unique(name: &str, index: usize, alone: bool, count: usize) -> String {
    match alone {
        true => format!(
            "Found {count} occurrences of the text in {name}. The text must be unique. Please provide more context to \
             make it unique."
        ),
        false => format!(
            "Found {count} occurrences of edits[{index}] in {name}. Each oldText must be unique. Please provide more \
             context to make it unique."
        ),
    }
}

fn no_change(name: &str, alone: bool) -> String {
    match alone {
        true => format!(
            "No changes made to {name}. The replacement produced identical content. This might indicate an issue with \
             special characters or the text not existing as expected."
        ),
        false => format!("No changes made to {name}. The replacements produced identical content."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edits(list: &[(&str, &str)]) -> Vec<Replacement> {
        let one =
            |(old, new): &(&str, &str)| Replacement { old_text: (*old).into(), new_text: (*new).into() };
        list.iter().map(one).collect()
    }

    fn edited(body: &str, list: &[(&str, &str)]) -> Result<String, String> {
        replace_all(body, &edits(list), "a.txt").map(|(after, _)| after)
    }

    #[test]
    fn edits_match_the_original_text() {
        assert_eq!(edited("one two", &[("two", "one"), ("one", "two")]).unwrap(), "two one");
        assert_eq!(edited("a\nb\nc\n", &[("c\n", ""), ("a", "A\nA")]).unwrap(), "A\nA\nb\n");
    }

    #[test]
    fn failure_names_the_edit() {
        let text = "one two two";
        let failed = |list: &[(&str, &str)]| edited(text, list).unwrap_err();
        assert_eq!(
            failed(&[("one", "1"), ("three", "3")]),
            "Could not find edits[1] in a.txt. The oldText must match exactly including all whitespace and newlines."
        );
        assert_eq!(
            failed(&[("two", "2"), ("one", "1")]),
            "Found 2 occurrences of edits[0] in a.txt. Each oldText must be unique. Please provide more context to \
             make it unique."
        );
        assert_eq!(
            failed(&[("e two t", ""), ("one", "1")]),
            "edits[1] and edits[0] overlap in a.txt. Merge them into one edit or target disjoint regions."
        );
        assert_eq!(failed(&[("one", "1"), ("", "2")]), "edits[1].oldText must not be empty in a.txt.");
        assert_eq!(failed(&[("", "2")]), "oldText must not be empty in a.txt.");
        assert_eq!(
            failed(&[("one", "one"), ("e two ", "e two ")][..1]),
            "No changes made to a.txt. The replacement produced identical content. This might indicate an issue with \
             special characters or the text not existing as expected."
        );
        assert_eq!(
            edited("one two", &[("one", "one"), ("two", "two")]).unwrap_err(),
            "No changes made to a.txt. The replacements produced identical content."
        );
        assert_eq!(failed(&[]), "Edit tool input is invalid. edits must contain at least one replacement.");
    }

    #[test]
    fn blank_text_matches_in_empty_file() {
        assert_eq!(edited("", &[("\t", "a\nb")]).unwrap(), "a\nb");
        assert_eq!(edited("", &[(" ", "a"), ("b", "c")]).unwrap_err(), not_found("a.txt", 1, false));
    }

    #[test]
    fn untouched_lines_keep_their_typography() {
        let body = "“first”  \n“second” and ‘more’  \n“third”";
        let after = edited(body, &[("\"second\"", "2nd"), ("'more'", "less")]).unwrap();
        assert_eq!(after, "“first”  \n2nd and less\n“third”");
        let after = edited(body, &[("\"first\"\n\"second\"", "both"), ("rd", "RD")]).unwrap();
        assert_eq!(after, "both and 'more'\n\"thiRD\"");
    }
}
