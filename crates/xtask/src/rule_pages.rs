//! The step of the book that makes a page of each rule: a preprocessor of mdbook, which splits *Rules by example*.

use serde_json::{Value, json};
use std::io::Read as _;

/// The page that is split.
const SOURCE: &str = "reference/rule-examples.md";

/// Answers mdbook: `supports RENDERER` with success, else the book on stdin with the book on stdout.
///
/// # Errors
///
/// The input is no book of mdbook.
pub fn run(rest: &[String]) -> Result<(), String> {
    if rest.first().is_some_and(|word| word == "supports") {
        return Ok(());
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(|error| error.to_string())?;
    let input: Value = serde_json::from_str(&text).map_err(|error| format!("no book of mdbook: {error}"))?;
    let mut book = input.get(1).cloned().ok_or("no book of mdbook: expected [context, book]")?;
    // The member was renamed in mdbook 0.5.
    for list in ["sections", "items"] {
        book[list].as_array_mut().into_iter().flatten().for_each(split);
    }
    println!("{book}");
    Ok(())
}

/// Gives the chapter of the examples, or one below, a page of each rule.
fn split(item: &mut Value) {
    let Some(chapter) = item.get_mut("Chapter") else { return };
    if chapter["path"] != SOURCE {
        return chapter["sub_items"].as_array_mut().into_iter().flatten().for_each(split);
    }
    let content = chapter["content"].as_str().unwrap_or_default().to_owned();
    let (head, pages) = pages(&content);
    let parents = json!([chapter["name"]]);
    let sub_items = pages.iter().map(|(rule, text)| {
        json!({ "Chapter": {
            "name": rule, "content": text, "number": null, "sub_items": [], "path": format!("reference/rule-{rule}.md"),
            "source_path": null, "parent_names": parents,
        } })
    });
    chapter["sub_items"] = sub_items.collect();
    chapter["content"] = head.into();
}

/// The text before the first rule with a list of the rules by area, and the page of each rule.
fn pages(content: &str) -> (String, Vec<(String, String)>) {
    let (mut head, mut pages, mut has_area) = (String::new(), Vec::<(String, String)>::new(), false);
    for line in content.lines() {
        if let Some(rule) = line.strip_prefix("### ") {
            head += &format!("- [{rule}](rule-{rule}.md)\n");
            pages.push((rule.to_owned(), format!("# {rule}\n")));
        } else if line.starts_with("## ") {
            let gap = if pages.is_empty() { "" } else { "\n" };
            head += &format!("{gap}{line}\n\n");
            has_area = true;
        } else if !has_area {
            head += &format!("{line}\n");
        } else if let Some((_, page)) = pages.last_mut() {
            *page += &format!("{line}\n");
        }
    }
    (head, pages)
}

#[cfg(test)]
mod tests {
    use super::pages;

    #[test]
    fn each_rule_has_a_page() {
        let (head, pages) = pages("# Rules\n\n## runs\n\n### one\n\nText.\n\n## tools\n\n### two\n\nMore.\n");
        assert_eq!(head, "# Rules\n\n## runs\n\n- [one](rule-one.md)\n\n## tools\n\n- [two](rule-two.md)\n");
        let names: Vec<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["one", "two"]);
        assert_eq!(pages[1].1, "# two\n\nMore.\n");
    }
}
