//! The model lists of two releases, and ours.

use super::{Page, facts::read};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// Members of the chat models, by provider and id.
type Models = BTreeMap<String, BTreeMap<String, Value>>;

/// Prints which models are new, gone or other, and which members differ how often; a default of `compat` that moves
/// with the list shows in the number of its member.
///
/// # Errors
///
/// A list cannot be read.
pub fn compare(old: &Path, new: &Path, ours: &BTreeSet<String>, page: &mut Page) -> Result<(), String> {
    let (was, is) = (models(old)?, models(new)?);
    page.heading(2, &format!("models ({} to {})", was.len(), is.len()));
    let missing_in = |models: &Models, names: &Models| {
        names.keys().filter(|name| !models.contains_key(*name)).cloned().collect::<Vec<_>>()
    };
    for (how, names) in [("new", missing_in(&was, &is)), ("gone", missing_in(&is, &was))] {
        if !names.is_empty() {
            page.news_line(&format!("{how}, {}: `{}`", names.len(), names.join("`, `")));
        }
    }
    let both = || is.iter().filter_map(|(name, model)| Some((was.get(name)?, model)));
    let other = both().filter(|(before, now)| before != now).count();
    if other > 0 {
        let members = differing_members(both());
        page.news_line(&format!("other, {other}; members: {members}"));
        let nothing = Value::Null;
        let compat = |model: &BTreeMap<String, Value>| {
            let compat = model.get("compat").unwrap_or(&nothing).as_object();
            compat.into_iter().flatten().map(|(name, value)| (name.clone(), value.clone())).collect()
        };
        let pairs: Vec<(BTreeMap<_, _>, BTreeMap<_, _>)> =
            both().map(|(before, now)| (compat(before), compat(now))).collect();
        page.line(&format!("- of `compat`: {}", differing_members(pairs.iter().map(|(a, b)| (a, b)))));
    }
    let missing = is.keys().filter(|name| !ours.contains(*name)).count();
    let gone = ours.iter().filter(|name| !is.contains_key(*name)).count();
    page.line(&format!(
        "Here are {}: {missing} of the new list are missing, {gone} are gone from it.",
        ours.len()
    ));
    Ok(())
}

/// How often each member differs, the most frequent first.
fn differing_members<'a>(
    pairs: impl Iterator<Item = (&'a BTreeMap<String, Value>, &'a BTreeMap<String, Value>)>,
) -> String {
    let mut counts = BTreeMap::<&str, usize>::new();
    for (before, now) in pairs {
        let names: BTreeSet<_> = before.keys().chain(now.keys()).collect();
        for name in names.into_iter().filter(|name| before.get(*name) != now.get(*name)) {
            *counts.entry(name).or_default() += 1;
        }
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts.iter().map(|(name, count)| format!("`{name}` {count}")).collect::<Vec<_>>().join(", ")
}

fn models(folder: &Path) -> Result<Models, String> {
    let mut models = Models::new();
    for entry in fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))? {
        let path = entry.map_err(|error| error.to_string())?.path();
        let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if is_hidden || path.extension().is_none_or(|end| end != "json") {
            continue;
        }
        let apis: BTreeMap<String, BTreeMap<String, BTreeMap<String, Value>>> =
            serde_json::from_str(&read(&path)?)
                .map_err(|error| format!("{}: expected models by API and id: {error}", path.display()))?;
        for model in apis.into_values().flat_map(BTreeMap::into_values) {
            let text = |name: &str| model.get(name).and_then(Value::as_str);
            if let (Some("chat"), Some(provider), Some(id)) = (text("type"), text("provider"), text("id")) {
                models.insert(format!("{provider}/{id}"), model);
            }
        }
    }
    Ok(models)
}
