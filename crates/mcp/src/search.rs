//! The ranking of `tool_search`: BM25 over descriptions, with the name and the server as fields of their own.
//!
//! A tool with more of the words ranks before one with fewer; a word in the name counts more than any number in the description; a
//! query that is the name of a tool comes first. Source: pi 1.6.0 source.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What a tool is found by.
pub(crate) struct Document {
    /// The name that the model calls.
    pub name: String,
    /// Its description, and what its schema says.
    pub text: String,
    /// What the server says of itself.
    pub server_text: String,
}

const K1: f64 = 1.2;
const B: f64 = 0.75;

/// How often a word in the name counts.
const NAME_WEIGHT: f64 = 3.0;

/// How often a word of the server counts.
const SERVER_WEIGHT: f64 = 0.5;

const STOP_WORDS: [&str; 20] = [
    "a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "in", "is", "it", "of", "on", "or",
    "that", "the", "this", "to",
];

/// The places of the documents that match, best first.
pub(crate) fn rank(query: &str, documents: &[Document], limit: usize) -> Vec<usize> {
    let terms: BTreeSet<String> = words(query).into_iter().collect();
    let indexed: Vec<Indexed> = documents.iter().map(Indexed::of).collect();
    if terms.is_empty() || indexed.is_empty() {
        return Vec::new();
    }
    let count = |number: usize| f64::from(u32::try_from(number).unwrap_or(u32::MAX));
    let total: usize = indexed.iter().map(|it| it.length).sum();
    let average = Some(count(total) / count(indexed.len())).filter(|it| *it > 0.0).unwrap_or(1.0);
    let weights: Vec<(&String, f64)> = terms
        .iter()
        .map(|term| {
            let frequency = count(indexed.iter().filter(|it| it.has(term)).count());
            (term, (1.0 + (count(indexed.len()) - frequency + 0.5) / (frequency + 0.5)).ln())
        })
        .collect();
    let bonus: f64 = weights.iter().map(|(_, weight)| weight).sum();
    let exact = normal(query);
    let mut found: Vec<(bool, usize, f64, usize)> = Vec::new();
    for (at, document) in indexed.iter().enumerate() {
        let norm = K1 * (1.0 - B + B * count(document.length) / average);
        let (mut score, mut covered) = (0.0, 0);
        for (term, weight) in &weights {
            let times = count(document.counts.get(*term).copied().unwrap_or_default());
            let of = |set: &BTreeSet<String>, weight: f64| if set.contains(*term) { weight } else { 0.0 };
            let value = of(&document.name, NAME_WEIGHT)
                + of(&document.server, SERVER_WEIGHT)
                + times * (K1 + 1.0) / (times + norm);
            covered += usize::from(value > 0.0);
            score += weight * value;
        }
        if covered == 0 {
            continue;
        }
        if !document.local.is_empty() && document.local.iter().all(|term| terms.contains(term)) {
            score += bonus;
        }
        let name = normal(&documents[at].name);
        found.push((name == exact || name.ends_with(&format!("__{exact}")), covered, score, at));
    }
    found.sort_by(|one, other| (other.0, other.1).cmp(&(one.0, one.1)).then(other.2.total_cmp(&one.2)));
    found.into_iter().take(limit).map(|(.., at)| at).collect()
}

/// What a schema says: descriptions, and the names of members.
pub(crate) fn schema_text(schema: &Value, parts: &mut Vec<String>) {
    // Schemas are bounded in size, and the parser bounds their depth. Sound references are read where they are defined.
    let Value::Object(members) = schema else { return };
    if let Some(Value::String(text)) = members.get("description") {
        parts.push(text.clone());
    }
    for key in ["properties", "$defs", "definitions"] {
        for (name, member) in members.get(key).and_then(Value::as_object).into_iter().flatten() {
            parts.push(name.clone());
            schema_text(member, parts);
        }
    }
    if let Some(items) = members.get("items") {
        schema_text(items, parts);
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        for variant in members.get(key).and_then(Value::as_array).into_iter().flatten() {
            schema_text(variant, parts);
        }
    }
}

struct Indexed {
    name: BTreeSet<String>,
    local: Vec<String>,
    counts: BTreeMap<String, usize>,
    length: usize,
    server: BTreeSet<String>,
}

impl Indexed {
    fn of(document: &Document) -> Self {
        let text = words(&document.text);
        let length = text.len();
        let mut counts = BTreeMap::new();
        text.into_iter().for_each(|word| *counts.entry(word).or_default() += 1);
        let local = document.name.rsplit("__").next().unwrap_or_default();
        Self {
            name: words(&document.name).into_iter().collect(),
            local: words(local),
            counts,
            length,
            server: words(&document.server_text).into_iter().collect(),
        }
    }

    fn has(&self, term: &str) -> bool {
        self.name.contains(term) || self.counts.contains_key(term) || self.server.contains(term)
    }
}

fn normal(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '$' { c } else { '_' };
    name.trim().to_lowercase().chars().map(letter).collect()
}

/// The words of a text: split where the case changes, without the commonest, in the singular.
fn words(text: &str) -> Vec<String> {
    let mut split = String::with_capacity(text.len());
    let letters: Vec<char> = text.chars().collect();
    for (at, letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| letters[at]);
        let after = letters.get(at + 1);
        let begins = letter.is_ascii_uppercase()
            && before.is_some_and(|it| {
                it.is_ascii_lowercase()
                    || it.is_ascii_digit()
                    || it.is_ascii_uppercase() && after.is_some_and(char::is_ascii_lowercase)
            });
        if begins {
            split.push(' ');
        }
        split.extend(letter.to_lowercase());
    }
    let parts = split.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    parts.filter(|word| !STOP_WORDS.contains(word) && *word != "with").map(singular).collect()
}

fn singular(word: &str) -> String {
    let long = word.len() > 4;
    match word {
        _ if !word.is_ascii() => word.to_owned(),
        _ if long && word.ends_with("ies") => format!("{}y", &word[..word.len() - 3]),
        _ if long && ["ches", "shes", "sses", "xes", "zes"].iter().any(|end| word.ends_with(end)) => {
            word[..word.len() - 2].to_owned()
        }
        _ if word.len() > 3 && word.ends_with('s') && !word.ends_with("ss") => {
            word[..word.len() - 1].to_owned()
        }
        _ => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(name: &str, text: &str) -> Document {
        Document { name: format!("mcp__s__{name}"), text: text.to_owned(), server_text: "mcp__s".to_owned() }
    }

    #[test]
    fn names_count_more_than_descriptions() {
        let documents = [
            document("list_issues", "Lists what is open."),
            document("other", "issue issue issue, about issues"),
            document("screenshot", "Takes a picture of a window."),
            document("window", "Moves it."),
        ];
        for (query, expected) in [
            ("issues", vec![0, 1]),
            ("screenshot window", vec![2, 3]),
            ("s__window", vec![3]),
            ("the", vec![]),
            ("nothing", vec![]),
        ] {
            let ranked = rank(query, &documents, 8);
            assert_eq!(ranked[..expected.len().min(ranked.len())], expected, "{query}: {ranked:?}");
        }
        assert_eq!(rank("issues", &documents, 1), [0]);
    }

    #[test]
    fn words_split_by_case_and_singular() {
        assert_eq!(words("getHTTPResponses for the Queries"), ["get", "http", "response", "query"]);
    }
}
