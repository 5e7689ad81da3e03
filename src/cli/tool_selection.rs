//! From `--tools`, `--exclude-tools`, `--no-tools`, `defaultTools` and the lists of a session host's client to the tools of a
//! session.
//!
//! Source of the grammar and of what wins over what: pi 1.6's `cli.md` and `settings.md`.

use super::options::{DisabledTools, HostOptions, NarrowerTools, Refusal};
use pi_rpc_config::{
    Config,
    settings::{CodemodeMode, CodemodeSettings, DefaultTools},
};
use pi_rpc_engine::{ScriptListing, ToolEntry, ToolEntryEffect, ToolSelection, matches_tool, todos};
use pi_rpc_model::types::ToolSpec;
use pi_rpc_protocol::DialectExtensionApi;
use pi_rpc_tools as tools;
use std::path::Path;

/// The tools of a session.
pub struct SelectedTools {
    /// Built-in tools that are offered, in the order of the request.
    pub offered: Vec<ToolSpec>,
    /// Built-in tools that only extensions may offer.
    pub spare: Vec<ToolSpec>,
    /// What is left of these and of those that are registered later.
    pub selection: ToolSelection,
}

/// The sign and the name of an entry.
#[derive(Clone, Copy)]
enum Entry<'a> {
    Name(&'a str),
    Add(&'a str),
    Remove(&'a str),
}

fn read(entry: &str) -> Entry<'_> {
    match (entry.strip_prefix('+'), entry.strip_prefix('-')) {
        (Some(name), _) => Entry::Add(name),
        (_, Some(name)) => Entry::Remove(name),
        _ => Entry::Name(entry),
    }
}

/// Whether an entry changes a selection instead of naming one.
fn is_change(entry: &str) -> bool {
    entry.starts_with(['+', '-'])
}

/// Checks the grammar of `--tools`: names and patterns with `*`, or only exact names behind `+` or `-`.
///
/// # Errors
///
/// What is wrong.
pub fn check_tool_list(entries: &[String]) -> Result<(), String> {
    let changes: Vec<&String> = entries.iter().filter(|entry| is_change(entry)).collect();
    if changes.is_empty() {
        return Ok(());
    }
    if changes.len() < entries.len() {
        return Err(format!(
            "tool names cannot be mixed with +name or -name entries, got {}",
            entries.join(",")
        ));
    }
    match changes.iter().find(|entry| entry.contains('*') || entry.len() == 1) {
        Some(entry) => {
            Err(format!("+name and -name entries take exact tool names, not patterns, got {entry}"))
        }
        None => Ok(()),
    }
}

/// Selects the tools of a session.
///
/// # Errors
///
/// A list of a session host's client is malformed.
pub fn select(config: &Config, options: &HostOptions) -> Result<SelectedTools, Refusal> {
    let rules = config.dialect.record();
    let todos = rules.lanes.todos.then(todos::spec);
    let usual = tools::DEFAULT_TOOLS.into_iter().chain(todos.as_ref().map(|_| todos::TODO_WRITE));
    let usual: Vec<String> = usual.map(str::to_owned).collect();
    let known: Vec<ToolSpec> = tools::specs(&rules.tools).into_iter().chain(todos).collect();
    // Up to pi 0.57, `--tools` names the built-in tools to begin with, and extensions may choose others. From about 0.68 on
    // it names those of extensions, too.
    let is_final = rules.extension_api != DialectExtensionApi::V052;
    let reaches_extensions = is_final && rules.extension_api != DialectExtensionApi::V058;
    let mut names_built_in = options.no_tools.is_some();
    let mut selection = ToolSelection {
        built_in: known.iter().map(|tool| tool.name.clone()).collect(),
        excluded: options.exclude_tools.clone(),
        follows_session: options.no_tools.is_none()
            && options.tools.as_ref().is_none_or(|list| list.iter().any(|entry| is_change(entry))),
        script_listing: script_listing(config.settings.codemode),
        ..ToolSelection::default()
    };
    note(&mut selection, "--exclude-tools", &options.exclude_tools, ToolEntryEffect::Removes);
    let mut names = match options.no_tools {
        Some(_) => Vec::new(),
        None => default_names(config, &usual, &mut selection),
    };
    match options.tools.as_deref() {
        Some(list) if list.iter().any(|entry| is_change(entry)) => {
            change(&mut selection, "--tools", list, &mut names);
        }
        Some(list) => {
            note(&mut selection, "--tools", list, ToolEntryEffect::Adds);
            (selection.added, selection.inactive) = (list.to_vec(), Vec::new());
            names = in_order(list, &known);
            selection.allowed.extend(reaches_extensions.then(|| list.to_vec()));
            names_built_in = true;
        }
        None => {}
    }
    if options.no_tools == Some(DisabledTools::All) && selection.allowed.is_empty() && reaches_extensions {
        selection.allowed.push(names.clone());
    }
    let mut is_limited =
        options.tools.is_some() || options.no_tools.is_some() || !config.settings.default_tools.is_empty();
    for narrower in &options.narrower_tools {
        narrow(&mut selection, narrower, (&mut names, is_limited), &known)?;
        let list = narrower.entries.iter().find(|list| !list.iter().any(|entry| is_change(entry)));
        names_built_in |= narrower.no_built_in || list.is_some();
        let is_limit = reaches_extensions || narrower.source == TOKEN_TOOLS;
        selection.allowed.extend(list.filter(|_| is_limit).cloned());
        is_limited = true;
    }
    let mut offered: Vec<ToolSpec> = Vec::new();
    for name in &names {
        let tool = known.iter().find(|tool| tool.name == *name && selection.admits(name, false));
        offered.extend(tool.filter(|tool| !offered.contains(tool)).cloned());
    }
    let may_be_chosen = |tool: &&ToolSpec| {
        (!names_built_in || !is_final)
            && tool.name != todos::TODO_WRITE
            && !offered.contains(tool)
            && selection.admits(&tool.name, false)
    };
    let spare = known.iter().filter(may_be_chosen).cloned().collect();
    Ok(SelectedTools { offered, spare, selection })
}

/// What a model with `codemode` is told of other tools.
fn script_listing(settings: CodemodeSettings) -> ScriptListing {
    ScriptListing {
        replaces_declarations: settings.mode == Some(CodemodeMode::Only),
        budget: settings.inline_budget.unwrap_or(ScriptListing::default().budget),
    }
}

/// Stands for the tools of a token in reports.
pub const TOKEN_TOOLS: &str = "tools of the token";

/// The known tools that a list names, in its order; then those that its patterns match, in their own.
fn in_order(list: &[String], known: &[ToolSpec]) -> Vec<String> {
    let exact = list.iter().filter(|entry| known.iter().any(|tool| tool.name == **entry)).cloned();
    let mut names: Vec<String> = exact.collect();
    for tool in known {
        if !names.contains(&tool.name) && list.iter().any(|entry| matches_tool(entry, &tool.name)) {
            names.push(tool.name.clone());
        }
    }
    names
}

/// The names that `defaultTools` of the user and of the project select; `usual` without such a list.
fn default_names(config: &Config, usual: &[String], selection: &mut ToolSelection) -> Vec<String> {
    let is_of_project = |path: &Path| path.parent() == Some(config.directories.project.as_path());
    let (mut of_user, mut all): (Vec<&str>, Option<Vec<&str>>) = (Vec::new(), None);
    for DefaultTools { path, entries } in &config.settings.default_tools {
        let source = format!("{}: defaultTools", path.display());
        for entry in entries {
            let (name, effect) = match read(entry) {
                Entry::Name(name) | Entry::Add(name) => (name, ToolEntryEffect::Adds),
                Entry::Remove(name) => (name, ToolEntryEffect::Removes),
            };
            let pattern = name.to_owned();
            selection.entries.push(ToolEntry { source: source.clone(), pattern, effect });
        }
        let entries = entries.iter().map(String::as_str);
        // An empty list takes everything away; pi ignores that of a project beside one of the user.
        let changes = entries.len() > 0 && entries.clone().all(is_change);
        all = Some(match all.filter(|_| changes) {
            Some(before) => before.into_iter().chain(entries).collect(),
            None => entries.collect(),
        });
        if !is_of_project(path) {
            of_user = all.clone().unwrap_or_default();
        }
    }
    let Some(all) = all else { return usual.to_vec() };
    let has_users = config.settings.default_tools.iter().any(|list| !is_of_project(&list.path));
    let users = if has_users { resolved(&of_user, usual) } else { usual.to_vec() };
    let mut names = resolved(&all, usual);
    if !config.approval.is_approved() {
        // A project that nobody has approved may take tools away, and add none.
        names.retain(|name| users.contains(name));
    }
    let inactive = all.iter().filter_map(|entry| entry.strip_prefix('-'));
    selection.inactive.extend(inactive.filter(|name| !names.iter().any(|it| it == name)).map(str::to_owned));
    selection.active.clone_from(&names);
    names
}

/// The names that the entries of `defaultTools` select.
fn resolved(entries: &[&str], usual: &[String]) -> Vec<String> {
    let plain = entries.iter().filter(|entry| !is_change(entry)).map(|entry| (*entry).to_owned());
    let mut names: Vec<String> = plain.collect();
    if names.is_empty() && !entries.is_empty() {
        names = usual.to_vec();
    }
    for entry in entries {
        apply(read(entry), &mut names);
    }
    names
}

/// Adds a name to a selection, or takes it out.
fn apply(entry: Entry<'_>, names: &mut Vec<String>) {
    match entry {
        Entry::Add(name) if !names.iter().any(|it| it == name) => names.push(name.to_owned()),
        Entry::Remove(name) => names.retain(|it| it != name),
        Entry::Name(_) | Entry::Add(_) => {}
    }
}

/// Notes the entries of an option, for the report about those that match nothing.
fn note(selection: &mut ToolSelection, source: &str, patterns: &[String], effect: ToolEntryEffect) {
    let entry = |pattern: &String| ToolEntry { source: source.to_owned(), pattern: pattern.clone(), effect };
    selection.entries.extend(patterns.iter().map(entry));
}

/// Applies a list of entries behind `+` or `-`; the last one for a name counts. What such a list of the command line
/// takes away stays away, whatever extensions choose.
fn change(selection: &mut ToolSelection, source: &str, entries: &[String], names: &mut Vec<String>) {
    let mut removed: Vec<&str> = Vec::new();
    for entry in entries {
        let entry = read(entry);
        apply(entry, names);
        let (Entry::Name(name) | Entry::Add(name) | Entry::Remove(name)) = entry;
        removed.retain(|it| *it != name);
        let effect = match entry {
            Entry::Remove(_) => {
                removed.push(name);
                ToolEntryEffect::Removes
            }
            Entry::Name(_) | Entry::Add(_) => {
                selection.added.push(name.to_owned());
                selection.inactive.retain(|it| it != name);
                ToolEntryEffect::Adds
            }
        };
        note(selection, source, &[name.to_owned()], effect);
    }
    selection.excluded.extend(removed.into_iter().map(str::to_owned));
}

/// Applies a list of a session host's client, or of its token. `is_limited`: the session host has a selection of its own,
/// to which they add nothing.
fn narrow(
    selection: &mut ToolSelection,
    NarrowerTools { source, entries, no_built_in }: &NarrowerTools,
    (names, is_limited): (&mut Vec<String>, bool),
    known: &[ToolSpec],
) -> Result<(), Refusal> {
    let of_host = names.clone();
    if *no_built_in {
        names.clear();
    }
    if let Some(entries) = entries {
        check_tool_list(entries).map_err(|error| Refusal(format!("{source}: {error}"), 1))?;
        if entries.iter().any(|entry| is_change(entry)) {
            change(selection, source, entries, names);
        } else {
            note(selection, source, entries, ToolEntryEffect::Adds);
            *names = in_order(entries, known);
        }
    }
    if is_limited {
        names.retain(|name| of_host.contains(name));
    }
    Ok(())
}
