//! The tool `edit`: what it finds, what it writes, what it says.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use crate::tools_support::{self, Place, assert_error, assert_ok};
use pi_rpc_tools::ToolOutput;
use proptest::prelude::*;
use serde_json::{Value, json};

impl Place {
    async fn edit(&self, path: &str, old: &str, new: &str) -> ToolOutput {
        self.call("edit", json!({"path": path, "oldText": old, "newText": new})).await
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }
}

/// Edits `before`; the whole result, and the file after it.
async fn edited(before: &str, old: &str, new: &str) -> (String, Option<Value>, String) {
    let place = Place::new();
    place.write("f", before);
    let output = place.edit("f", old, new).await;
    (tools_support::text(&output).to_owned(), output.details, place.text("f"))
}

/// The diff and the first changed line of an edit that works.
async fn diff(before: &str, old: &str, new: &str) -> (String, u64) {
    let (text, details, _) = edited(before, old, new).await;
    assert_eq!(text, "Successfully replaced text in f.");
    let details = details.unwrap();
    assert_eq!(details.as_object().unwrap().len(), 2, "{details}");
    (details["diff"].as_str().unwrap().to_owned(), details["firstChangedLine"].as_u64().unwrap())
}

fn numbered(lines: std::ops::RangeInclusive<u32>) -> String {
    lines.map(|line| format!("{line}\n")).collect()
}

#[tokio::test]
async fn a_text_gives_way_to_another() {
    let (text, details, file) = edited("one\ntwo\nthree\n", "two", "2").await;
    assert_eq!(text, "Successfully replaced text in f.");
    assert_eq!(details, Some(json!({"diff": " 1 one\n-2 two\n+2 2\n 3 three", "firstChangedLine": 2})));
    assert_eq!(file, "one\n2\nthree\n");
}

#[tokio::test]
async fn byte_order_mark_and_carriage_returns_stay() {
    let (_, details, file) = edited("\u{FEFF}a\r\nb\r\nc", "a\nb", "x\r\ny").await;
    assert_eq!(file, "\u{FEFF}x\r\ny\r\nc");
    assert_eq!(details.unwrap()["diff"], "-1 a\n-2 b\n+1 x\n+2 y\n 3 c");
    let (_, _, file) = edited("a\nb\r\nc\rd", "d", "e").await;
    assert_eq!(file, "a\nb\r\nc\re");
}

#[tokio::test]
async fn untouched_lines_keep_their_ends() {
    for (before, old, new, after) in [
        ("a\r\nb\nc", "c", "d", "a\r\nb\nd"),
        ("a\r\nb\nc\r\n", "b", "x\ny", "a\r\nx\ny\nc\r\n"),
        ("a\r\nb\nc\r\n", "a\n", "x\ny\n", "x\r\ny\r\nb\nc\r\n"),
        ("a\r\nb\nc\n", "a\nb\n", "", "c\n"),
        ("a\nb\r\nc", "c", "c\nd", "a\nb\r\nc\r\nd"),
        ("a\rb\n", "b", "", "a\r\n\n"),
        ("say \u{201C}hi\u{201D}\r\nb\n", "say \"hi\"", "X", "X\r\nb\n"),
    ] {
        let (_, _, file) = edited(before, old, new).await;
        assert_eq!(file, after, "{before:?}");
    }
}

#[tokio::test]
async fn typographic_differences_do_not_matter() {
    for (before, old, after) in [
        ("say \u{201C}hi\u{201D}, it\u{2019}s\n", "\"hi\", it's", "say X\n"),
        ("a \u{2014} b \u{2212} c", "a - b - c", "X"),
        ("a\u{00A0}b\u{3000}c", "a b c", "X"),
        ("one  \ntwo\t\nthree", "one\ntwo", "X\nthree"),
        ("\u{FB01}ne \u{FF21}", "fine A", "X"),
        ("cafe\u{301} au lait", "caf\u{E9} au", "X lait"),
        ("plain", "plain \u{2003}", "X"),
    ] {
        let (text, _, file) = edited(before, old, "X").await;
        assert_eq!((text.as_str(), file.as_str()), ("Successfully replaced text in f.", after), "{before:?}");
    }
    // What was found only in plain form leaves the whole file in plain form, and the diff starts from that.
    let (_, details, file) = edited("\u{2018}a\u{2019}  \n\u{2018}b\u{2019}\n", "'b'", "c").await;
    assert_eq!(file, "'a'\nc\n");
    assert_eq!(details.unwrap()["diff"], " 1 'a'\n-2 'b'\n+2 c");
    // What was found as it is leaves the rest alone.
    let (_, _, file) = edited("\u{2018}a\u{2019}  \nb\n", "b", "c").await;
    assert_eq!(file, "\u{2018}a\u{2019}  \nc\n");
}

#[tokio::test]
async fn failed_edit_is_reported_without_change() {
    let absent = "Could not find the exact text in f. The old text must match exactly including all whitespace and \
                  newlines.";
    let several = |count: u32| {
        format!(
            "Found {count} occurrences of the text in f. The text must be unique. Please provide more context to make \
             it unique."
        )
    };
    let unchanged = "No changes made to f. The replacement produced identical content. This might indicate an issue \
                     with special characters or the text not existing as expected.";
    for (before, old, new, error) in [
        ("abc", "d", "e", absent),
        ("abc", "B", "e", absent),
        ("ab ab ab", "ab", "c", &several(3)),
        ("aaaa", "aa", "c", &several(2)),
        // Once as it is, once more in plain form.
        ("it's, it\u{2019}s", "it's", "c", &several(2)),
        ("abc", "", "c", &several(2)),
        ("a b c", " b", " b", unchanged),
        ("it\u{2019}s", "it's", "it's", unchanged),
    ] {
        let (text, details, file) = edited(before, old, new).await;
        assert_eq!((text.as_str(), details, file.as_str()), (error, Some(json!({})), before));
    }
    let (text, _, file) = edited("", "", "new\n").await;
    assert_eq!((text.as_str(), file.as_str()), ("Successfully replaced text in f.", "new\n"));
}

#[tokio::test]
async fn files_that_cannot_be_edited_are_named() {
    let place = Place::new();
    assert_error(&place.edit("missing", "a", "b").await, "File not found: missing");
    assert_error(&place.edit(".", "a", "b").await, "EISDIR: illegal operation on a directory, read");
    place.fifo("fifo");
    let fifo = format!("Not a regular file: {}", place.path("fifo").display());
    assert_error(&place.edit("fifo", "a", "b").await, &fifo);
    place.write("latin", b"caf\xe9 a");
    let text = "latin is not UTF-8 text; editing it as text would damage it. Use bash to change it.";
    assert_error(&place.edit("latin", "a", "b").await, text);
    assert_eq!(fs::read(place.path("latin")).unwrap(), b"caf\xe9 a");
}

#[tokio::test]
async fn four_lines_are_shown_around_changes() {
    let (shown, first) = diff(&numbered(1..=20), "10\n", "ten\n10b\n").await;
    let lines = [
        "    ...", "  6 6", "  7 7", "  8 8", "  9 9", "-10 10", "+10 ten", "+11 10b", " 11 11", " 12 12",
        " 13 13", " 14 14", "    ...",
    ];
    assert_eq!((shown, first), (lines.join("\n"), 10));
    let (shown, first) = diff("a\nb\nc\nd\ne\nf\n", "c\nd", "").await;
    assert_eq!((shown.as_str(), first), (" 1 a\n 2 b\n-3 c\n-4 d\n+3 \n 5 e\n 6 f", 3));
}

#[tokio::test]
async fn everything_between_two_changes_is_shown() {
    let old = numbered(3..=14);
    let new = old.replace("3\n4\n", "X\n4\n").replace("14\n", "Y\n");
    let (shown, first) = diff(&numbered(1..=20), &old, &new).await;
    let between: Vec<String> = (4..=13).map(|line| format!(" {line:>2} {line}")).collect();
    let lines = ["  1 1", "  2 2", "- 3 3", "+ 3 X", &between.join("\n"), "-14 14", "+14 Y"].join("\n");
    assert_eq!((shown, first), (format!("{lines}\n 15 15\n 16 16\n 17 17\n 18 18\n    ..."), 3));
}

#[tokio::test]
async fn diff_numbers_fit_the_longer_text() {
    let (shown, _) = diff("a", "a", &numbered(1..=9)).await;
    assert!(shown.starts_with("- 1 a\n+ 1 1\n"), "{shown}");
    let (shown, _) = diff("a\nb", "b", "b\n").await;
    assert_eq!(shown, " 1 a\n-2 b\n+2 b");
}

#[tokio::test]
async fn mode_links_and_other_names_stay() {
    let place = Place::new();
    place.write("real", "a");
    fs::set_permissions(place.path("real"), fs::Permissions::from_mode(0o750)).unwrap();
    symlink("real", place.path("link")).unwrap();
    assert_ok(&place.edit("link", "a", "b").await, "Successfully replaced text in link.");
    assert!(place.path("link").is_symlink());
    assert_eq!(place.text("real"), "b");
    assert_eq!(fs::metadata(place.path("real")).unwrap().mode() & 0o7777, 0o750);
    fs::hard_link(place.path("real"), place.path("other")).unwrap();
    for (old, new) in [("b", "much longer"), ("much longer", "c")] {
        assert_ok(&place.edit("real", old, new).await, "Successfully replaced text in real.");
        assert_eq!(place.text("other"), new);
    }
    let mut names: Vec<_> =
        fs::read_dir(place.dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["link", "other", "real"], "nothing is left behind");
}

#[tokio::test]
async fn concurrent_edits_are_all_applied() {
    let place = Place::new();
    let before: String = (0..20).map(|n| format!("<{n}>\n")).collect();
    place.write("f", &before);
    symlink("f", place.path("link")).unwrap();
    let edits: Vec<_> = (0..20)
        .map(|n| {
            let path = if n % 2 == 0 { "f" } else { "link" };
            place.start(
                "edit",
                json!({"path": path, "oldText": format!("<{n}>"), "newText": format!("[{n}]")}),
            )
        })
        .collect();
    for edit in edits {
        assert!(!edit.ends().await.is_error);
    }
    assert_eq!(place.text("f"), before.replace('<', "[").replace('>', "]"));
}

/// What the lines of a diff say about the old and the new text, as line number and line.
fn told(diff: &str, mark: char) -> Vec<(usize, String)> {
    let lines = diff.split('\n').filter(|line| line.starts_with(mark));
    lines
        .map(|line| {
            let (number, text) = line[1..].trim_start().split_once(' ').unwrap();
            (number.parse().unwrap(), text.to_owned())
        })
        .collect()
}

/// `old` with the diff applied, as lines.
fn applied(diff: &str, old: &str) -> Vec<String> {
    let gone: Vec<(usize, String)> = told(diff, '-');
    let old: Vec<String> = old.split('\n').map(str::to_owned).collect();
    for (number, line) in &gone {
        assert_eq!(&old[number - 1], line);
    }
    let kept =
        old.into_iter().enumerate().filter(|(at, _)| !gone.iter().any(|(number, _)| number - 1 == *at));
    let mut lines: Vec<String> = kept.map(|(_, line)| line).collect();
    for (number, line) in told(diff, '+') {
        lines.insert(number - 1, line);
    }
    lines
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn exact_edit_replaces_and_diff_applies(
        head in "([abé]{0,3}\n){0,8}", old in "[abc]{0,2}\n?Q[abc\n]{0,9}", tail in "\n([ab]{0,3}\n){0,8}z",
        new in "([abcQ]{0,3}\n){0,4}[ab]{0,2}",
    ) {
        prop_assume!(old != new);
        let before = format!("{head}{old}{tail}");
        let after = format!("{head}{new}{tail}");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (text, details, file) = runtime.block_on(edited(&before, &old, &new));
        prop_assert_eq!(text, "Successfully replaced text in f.");
        prop_assert_eq!(&file, &after);
        let details = details.unwrap();
        let diff = details["diff"].as_str().unwrap();
        let after: Vec<String> = after.split('\n').map(str::to_owned).collect();
        prop_assert_eq!(applied(diff, &before), after.clone());
        let same = before.split('\n').zip(&after).take_while(|(old, new)| old == new).count();
        // A line that only moved may be told from either side.
        prop_assert!(details["firstChangedLine"].as_u64().unwrap() >= same as u64);
    }
}
