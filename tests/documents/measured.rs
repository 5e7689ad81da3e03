//! The releases that we are measured by stand in `data/upstream.json`; whatever else names one, names the same. `cargo bless`
//! writes pages and data anew; what needs more than another number, such as a lock file, is only named.

use crate::documents_support::{ROOT, page};
use serde_json::Value;
use std::{env, fs, path::Path};

#[test]
fn stated_releases_are_the_measured_ones() {
    let data: Value = serde_json::from_str(&page("data/upstream.json")).expect("JSON");
    let mut wrong = Vec::new();
    for (path, templates) in data["stated"].as_object().expect("stated") {
        let path = filled(path, &data);
        let Ok(mut text) = fs::read_to_string(Path::new(ROOT).join(&path)) else {
            wrong.push(format!("{path}: is not there; data/upstream.json names it"));
            continue;
        };
        for template in templates.as_array().into_iter().flatten().filter_map(Value::as_str) {
            let is_written = env::var_os("UPDATE").is_some() && !path.starts_with("tests/");
            let wanted = filled(template, &data);
            match rewritten(&text, template, &wanted) {
                Some(new) if new == text => {}
                Some(new) if is_written => text = new,
                Some(_) => wrong.push(format!("{path}: expected `{}`", wanted.trim_end())),
                None => wrong.push(format!("{path}: nothing reads as `{}`", template.trim_end())),
            }
        }
        if env::var_os("UPDATE").is_some() {
            fs::write(Path::new(ROOT).join(&path), text).expect(&path);
        }
    }
    assert!(
        wrong.is_empty(),
        "{}\ndata/upstream.json has the measured releases; cargo bless",
        wrong.join("\n")
    );
}

#[test]
fn another_release_is_written_anew() {
    let text = "Compared with pi 1.6.0, and 1.5.2.";
    let new = rewritten(text, "with pi {pi},", "with pi 1.7.10,");
    assert_eq!(new.as_deref(), Some("Compared with pi 1.7.10, and 1.5.2."));
    assert_eq!(rewritten(text, "with omp {omp},", "with omp 1,"), None);
}

/// A template with the measured releases: `{pi}`, or `{pi.minor}` for the first two numbers.
fn filled(template: &str, data: &Value) -> String {
    data["agents"].as_object().expect("agents").iter().fold(template.to_owned(), |text, (name, agent)| {
        let release = agent["measured"].as_str().expect("a release");
        let minor = release.rsplit_once('.').map_or(release, |(minor, _)| minor);
        text.replace(&format!("{{{name}}}"), release).replace(&format!("{{{name}.minor}}"), minor)
    })
}

/// The text with what fits the template, whatever the release in it, as it is wanted; `None`: nothing fits.
fn rewritten(text: &str, template: &str, wanted: &str) -> Option<String> {
    let (before, rest) = template.split_once('{')?;
    let (_, after) = rest.split_once('}')?;
    let starts = text.match_indices(before).map(|(at, _)| at);
    let (start, end) = starts
        .filter_map(|start| {
            let from = start + before.len();
            let is_of_number = |letter: char| letter.is_ascii_digit() || letter == '.';
            let length = text[from..].find(|letter| !is_of_number(letter)).unwrap_or(text.len() - from);
            let fits = length > 0 && text[from + length..].starts_with(after);
            fits.then_some((start, from + length + after.len()))
        })
        .next()?;
    Some(format!("{}{wanted}{}", &text[..start], &text[end..]))
}
