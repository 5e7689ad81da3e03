//! The tool `edit`: its result is the file with the replacements and nothing else, with the line ends of the file,
//! and its diff and its patch lead from the one to the other.

use pi_rpc::tools::{EditResult, Replacement};

/// The first byte selects the form of `edit`; then, separated by NUL, the file and pairs of old and new texts
/// follow.
pub fn check(data: &[u8]) {
    let Some((form, data)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(data);
    let mut texts = text.split('\0');
    let file = texts.next().unwrap_or_default();
    let mut edits = Vec::new();
    while let (Some(old), Some(new)) = (texts.next(), texts.next()) {
        edits.push(Replacement { old_text: old.to_owned(), new_text: new.to_owned() });
    }
    let edited = match (form % 2, &*edits) {
        (0, [edit, ..]) => EditResult::one(file, edit, "f"),
        (0, []) => return,
        _ => EditResult::all(file, &edits, "f"),
    };
    let Ok(edited) = edited else { return };
    let edits = if form % 2 == 0 { &edits[..1] } else { &edits };
    keeps_its_form(file, &edited);
    replaces(file, edits, &edited);
    assert_eq!(lines(&diffed(&edited)), lines(&edited.after), "{}", edited.diff().diff);
    assert_eq!(patched(&edited), edited.after, "{}", edited.patch("f"));
}

/// Checks that the byte order mark and the line ends of the file stay.
fn keeps_its_form(file: &str, edited: &EditResult) {
    let mark = '\u{feff}';
    let body = file.strip_prefix(mark).unwrap_or(file);
    let after = edited.file.strip_prefix(mark).filter(|_| body.len() < file.len());
    let after = after.unwrap_or(&edited.file);
    assert_eq!(after.len() < edited.file.len(), body.len() < file.len(), "the mark");
    assert_eq!(fed(after), edited.after, "the lines");
    if !body.contains('\r') {
        assert_eq!(after, edited.after, "no other line ends");
    }
    assert!(!edited.before.contains('\r') && !edited.after.contains('\r'));
}

/// Checks that exact matches are replaced and nothing else changes, and that the new texts are present.
fn replaces(file: &str, edits: &[Replacement], edited: &EditResult) {
    let body = fed(file.strip_prefix('\u{feff}').unwrap_or(file));
    let edits: Vec<(String, String)> =
        edits.iter().map(|it| (fed(&it.old_text), fed(&it.new_text))).collect();
    for (_, new) in &edits {
        assert!(edited.after.contains(new.as_str()), "{new:?} is not in {:?}", edited.after);
    }
    assert_ne!(edited.before, edited.after, "something changes");
    let mut places: Option<Vec<(usize, &(String, String))>> =
        edits.iter().map(|edit| Some((body.find(&edit.0)?, edit))).collect();
    if let Some(places) = &mut places {
        places.sort_by_key(|(at, _)| *at);
        let (mut expected, mut rest) = (String::new(), 0);
        for (at, (old, new)) in places {
            expected += &body[rest..*at];
            expected += new;
            rest = *at + old.len();
        }
        expected += &body[rest..];
        assert_eq!((&edited.before, &edited.after), (&body, &expected));
    }
}

fn fed(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').map(|line| line.strip_suffix('\n').unwrap_or(line)).collect()
}

/// Applies the numbered diff to the old text.
fn diffed(edited: &EditResult) -> String {
    let details = edited.diff();
    let old = lines(&edited.before);
    let mut gone = vec![false; old.len()];
    let mut come = std::collections::BTreeMap::new();
    for line in shown(&details.diff) {
        match line {
            Shown::Gone(number, text) => {
                assert_eq!(old.get(number - 1), Some(&text), "line {number} goes");
                gone[number - 1] = true;
            }
            Shown::Come(number, text) => {
                come.insert(number, text);
            }
            Shown::Kept(number, text) => {
                assert_eq!(old.get(number - 1), Some(&text), "line {number} is kept")
            }
            Shown::LeftOut => {}
        }
    }
    let mut kept = old.iter().zip(gone).filter(|(_, gone)| !gone).map(|(line, _)| *line);
    let mut after = Vec::new();
    loop {
        let number = after.len() + 1;
        match come.remove(&number) {
            Some(line) => after.push(line),
            None => match kept.next() {
                Some(line) => after.push(line),
                None => break,
            },
        }
    }
    assert!(come.is_empty(), "lines that come beyond the end: {come:?}");
    after.iter().map(|line| format!("{line}\n")).collect()
}

enum Shown<'d> {
    Gone(usize, &'d str),
    Come(usize, &'d str),
    Kept(usize, &'d str),
    LeftOut,
}

fn shown(diff: &str) -> Vec<Shown<'_>> {
    let read = |line| {
        let (sign, rest) = str::split_at(line, 1);
        let rest = rest.trim_start_matches(' ');
        if sign == " " && rest == "..." {
            return Shown::LeftOut;
        }
        let (number, text) = rest.split_once(' ').expect("a number and a line");
        let number = number.parse().expect("a number");
        match sign {
            "-" => Shown::Gone(number, text),
            "+" => Shown::Come(number, text),
            " " => Shown::Kept(number, text),
            other => panic!("{other:?} is no sign"),
        }
    };
    if diff.is_empty() { Vec::new() } else { diff.split('\n').map(read).collect() }
}

/// Applies the unified patch to the old text.
fn patched(edited: &EditResult) -> String {
    let patch = edited.patch("f");
    let patch = patch.strip_prefix("--- f\n+++ f\n").expect("a header");
    let old: Vec<&str> = edited.before.split_inclusive('\n').collect();
    let mut at = 0;
    let mut after: Vec<String> = Vec::new();
    let mut rest = patch.split_inclusive('\n').peekable();
    while let Some(line) = rest.next() {
        if let Some(range) = line.strip_prefix("@@ -") {
            let (start, others) = range.split_once([',', ' ']).expect("a range");
            let start: usize = start.parse().expect("a number");
            // An empty range starts after the line with its number.
            let start = if others.starts_with("0 ") { start } else { start - 1 };
            after.extend(old[at..start].iter().map(|line| (*line).to_owned()));
            at = start;
            continue;
        }
        let (sign, text) = line.split_at(1);
        let is_last = rest.next_if(|line| line.starts_with('\\')).is_some();
        let text = if is_last { text.strip_suffix('\n').unwrap_or(text) } else { text };
        if sign != "+" {
            assert_eq!(old.get(at), Some(&text), "line {} of the old text", at + 1);
            at += 1;
        }
        if sign != "-" {
            after.push(text.to_owned());
        }
    }
    after.extend(old[at..].iter().map(|line| (*line).to_owned()));
    after.concat()
}
