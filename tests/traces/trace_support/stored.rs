//! Shapes of files: of session files the entries with their keys, in order, and their
//! parents; of other files the names.

use super::shape;
use regex_lite::Regex;
use serde_json::Value;

/// The lines of a file, each as one shape.
pub fn shapes(lines: &[Value]) -> Vec<String> {
    let shape = |(at, line): (usize, &Value)| {
        let (kind, keys) = (line["type"].as_str().unwrap_or_default(), keys(line));
        match line.get("parentId") {
            None => format!("{kind}: {keys}"),
            Some(parent) => format!("{kind}, {}: {keys}", place(&lines[..at], parent)),
        }
    };
    lines.iter().enumerate().map(shape).collect()
}

/// The names of files, where times and ids stand for others.
pub fn folder(names: &[String]) -> String {
    let id = Regex::new("[0-9]{4}(-[0-9]{2}){2}T[0-9]{2}(-[0-9]{2}){2}-[0-9]{3}Z_[0-9a-f-]+").unwrap();
    let names: Vec<_> = names.iter().map(|name| id.replace(name, "<time>_<id>")).collect();
    format!("folder: {}", names.join(", "))
}

/// Position of the parent of an entry among the lines before it, as ids differ from one run to the next.
fn place(before: &[Value], parent: &Value) -> String {
    match before.iter().rev().position(|line| line.get("parentId").is_some() && line["id"] == *parent) {
        _ if parent.is_null() => "a root".to_owned(),
        Some(0) => "after the one before".to_owned(),
        Some(lines) => format!("after the one {} lines before", lines + 1),
        None => "after nothing that is here".to_owned(),
    }
}

/// The keys of an entry, in their order; of a message with what is in it.
fn keys(line: &Value) -> String {
    let fields = line.as_object().into_iter().flatten();
    let told = fields.map(|(key, value)| match key.as_str() {
        "message" => format!("message ({}) {{{}}}", shape::told(value), keys(value)),
        _ => key.clone(),
    });
    told.collect::<Vec<_>>().join(", ")
}
