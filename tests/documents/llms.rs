//! `docs/llms.txt`: the contents of the book for programs that read, with the first sentence of each page.

use crate::documents_support::{page, prose};

/// The file, made of `docs/SUMMARY.md` and its pages.
pub fn text() -> String {
    let summary = page("docs/SUMMARY.md");
    let mut text = String::from("# pi-rpc\n\n");
    text += &format!("> {}\n", first_sentence("introduction.md"));
    text += "\nThe program has these pages, too: `pi-rpc docs`, `pi-rpc docs PAGE`. `pi-rpc schema` prints the protocol as JSON Schema.\n";
    for line in summary.lines().skip(1) {
        if let Some(section) = line.strip_prefix("# ") {
            text += &format!("\n## {section}\n\n");
        } else if let Some((title, path)) = link(line) {
            text += &format!("- [{title}]({path}): {}\n", first_sentence(path));
        }
    }
    text
}

/// The title and the path of an entry of the contents.
fn link(line: &str) -> Option<(&str, &str)> {
    line.trim_start().strip_prefix("- [")?.strip_suffix(')')?.split_once("](")
}

/// The first sentence below the heading of a page.
fn first_sentence(path: &str) -> String {
    let text = prose(&page(&format!("docs/{path}")));
    let is_text =
        |paragraph: &&str| !paragraph.is_empty() && !paragraph.starts_with(['#', '|', '-', '<', '!']);
    let paragraph = text.split("\n\n").map(str::trim).find(is_text).unwrap_or_default().replace('\n', " ");
    let sentence = paragraph.split_once(". ").map_or(paragraph.as_str(), |(sentence, _)| sentence);
    // Links of a page lead from there.
    let mut plain = String::new();
    let mut rest = sentence.trim_end_matches(['.', ':']);
    while let Some((before, (label, behind))) = rest.split_once('[').and_then(|(before, link)| {
        let (label, target) = link.split_once("](")?;
        Some((before, (label, target.split_once(')')?.1)))
    }) {
        plain += before;
        plain += label;
        rest = behind;
    }
    plain + rest
}
