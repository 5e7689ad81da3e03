//! What breaks in a client when its server begins to speak another dialect or version, as Markdown.
//!
//! `diff` finds the differences of the frames; this page leads with those that break a client, says what to do about each
//! (`advice`, from `schema/advice.json`), and names places as a client's author does (`places`).

mod advice;
mod behaviour;
mod places;

use crate::{
    diff::{Difference, Kind, diff, directions::Directions},
    json_schema::version_schema,
    meta,
    parts::reachable,
};
use advice::Advice;
use behaviour::Behaviour;
use pi_rpc_protocol::{BUNDLE, DialectVersion};
use places::Places;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// The page on the step from one dialect or version to another, without a title.
///
/// ```
/// use pi_rpc_export::client_changes;
/// use pi_rpc_protocol::DialectVersion;
///
/// let version = |name| DialectVersion::parse(name).ok_or("a dialect");
/// let page = client_changes(version("pi@0.73")?, version("pi-1@0.84.4")?);
/// assert!(page.contains("| command `get_tree` |"));
/// # Ok::<(), &str>(())
/// ```
pub fn client_changes(from: DialectVersion, to: DialectVersion) -> String {
    let (old, new) = (version_schema(from), version_schema(to));
    let metas = [from, to].map(|version| json!(meta(version.dialect)));
    let advice = Advice::new(&metas[1]["record"]);
    let frames = Frames::new(&old, &new, &advice);
    let behaviour = Behaviour::new(&metas, [&old, &new], &advice);
    let notes: Vec<&str> = advice.notes(from, to).collect();
    let [was, is] = [advice.end(&old, &metas[0]["record"]), advice.end(&new, &metas[1]["record"])];
    let ends = if was == is { format!("As before: {was}") } else { format!("Before: {was}\n\nNow: {is}") };
    let mut page = format!("## The end of a run\n\n{ends}\n");
    let mut section = |level: &str, title: &str, text: String| {
        if !text.is_empty() {
            page += &format!("\n{level} {title}\n\n{text}");
        }
    };
    let breaking = [frames.breaking, behaviour.refusals].concat();
    let nothing = "Nothing that a client of before reads or writes is gone or refused.\n".to_owned();
    let breaks = table(["What", "Change", "What to do"], breaking);
    section("##", "What breaks", if breaks.is_empty() { nothing } else { breaks });
    section("##", "What behaves otherwise", table(["What", "Change", "What to do"], behaviour.changes));
    section("###", "Besides", list(notes.into_iter().map(str::to_owned)));
    section("###", "Promises that no longer hold", list(behaviour.lost));
    section("###", "What hosts must keep from now on", list(behaviour.demands));
    section("###", "Texts of errors", table(["Error", "Before", "Now"], behaviour.texts));
    section("##", "What is new", table(["What", "Change", "What it is"], frames.new));
    section("###", "New promises", list(behaviour.gained));
    section(
        "##",
        "Other differences of the server",
        table(["Property", "Change", "What it says"], behaviour.other),
    );
    page
}

/// The differences of the frames, as rows of tables.
struct Frames {
    breaking: Vec<[String; 3]>,
    new: Vec<[String; 3]>,
}

impl Frames {
    fn new(old: &Value, new: &Value, advice: &Advice) -> Self {
        let empty = Map::new();
        let defs = [old, new].map(|schema| schema["$defs"].as_object().unwrap_or(&empty));
        let places = Places::new(defs, advice);
        let directions = Directions::new(defs[0], defs[1]);
        let spoken: BTreeSet<String> =
            defs.into_iter().flat_map(|defs| reachable(defs, &["Inbound", "Outbound"])).collect();
        let bundle: Value = serde_json::from_str(BUNDLE).unwrap_or_default();
        let (mut breaking, mut added) = (Vec::new(), Vec::new());
        for found in diff(old, new).unwrap_or_default() {
            let end = found.at.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(found.at.len());
            let def = &found.at[..end];
            if !spoken.contains(def) {
                continue;
            }
            let is_branch = matches!(found.kind, Kind::BranchNew | Kind::BranchGone);
            let place = match is_branch {
                true => places.branch(&found.at, &found.name, advice),
                false => places.place(&found.at),
            };
            let is_gone = matches!(found.kind, Kind::MemberGone | Kind::BranchGone);
            let breaks = found.breaks_client || is_gone;
            if breaks {
                let what = if is_branch { word(found.kind).to_owned() } else { found.what.clone() };
                push(&mut breaking, found.kind, place, what, advice.of_frames(&found, directions.of(def)));
            } else if matches!(found.kind, Kind::BranchNew | Kind::MemberNew | Kind::ValueNew) {
                let what = if is_branch { word(found.kind).to_owned() } else { found.what.clone() };
                let note = advice.of_place(&found).map(|note| format!(" {note}")).unwrap_or_default();
                push(&mut added, found.kind, place, what, description(&bundle, &found) + &note);
            }
        }
        // What is gone as a whole comes first, then members, then values.
        let rank = |kind: &Kind| match kind {
            Kind::BranchGone => 0,
            Kind::MemberGone | Kind::MemberOptional | Kind::MemberRequired => 1,
            Kind::BranchNew => 2,
            _ => 3,
        };
        breaking.sort_by_key(|(kind, _)| rank(kind));
        added.sort_by_key(|(kind, _)| *kind != Kind::BranchNew);
        let rows = |rows: Vec<(Kind, [String; 3])>| rows.into_iter().map(|(_, row)| row).collect();
        Self { breaking: rows(breaking), new: rows(added) }
    }
}

/// Adds a row, or its place to the row that says the same.
fn push(rows: &mut Vec<(Kind, [String; 3])>, kind: Kind, place: String, what: String, then: String) {
    match rows.iter_mut().find(|(_, row)| !what.is_empty() && row[1] == what && row[2] == then) {
        Some((_, [places, ..])) => {
            // The same kind of frame is named once: event `a`, `b`.
            let last = places.rsplit(", ").find(|place| !place.starts_with('`')).unwrap_or_default();
            let shared = last.split_once(" `").map(|(word, _)| format!("{word} `")).unwrap_or_default();
            let short = if shared.len() > 2 { place.strip_prefix(&shared) } else { None };
            *places += &short.map_or(format!(", {place}"), |short| format!(", `{short}"));
        }
        None => rows.push((kind, [place, what, then])),
    }
}

fn word(kind: Kind) -> &'static str {
    if kind == Kind::BranchGone { "is gone" } else { "is new" }
}

/// What the schema says about something new.
fn description(bundle: &Value, found: &Difference) -> String {
    let defs = &bundle["$defs"];
    let def = &defs[&found.at];
    let own = match found.kind {
        Kind::MemberNew => &def["properties"][&found.name],
        _ => {
            let target = def["discriminator"]["mapping"][&found.name].as_str();
            let name = target.and_then(|target| target.rsplit('/').next()).unwrap_or(&found.name);
            &defs[name]
        }
    };
    own["description"].as_str().unwrap_or_default().to_owned()
}

fn table(head: [&str; 3], rows: Vec<[String; 3]>) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let line = |cells: [String; 3]| {
        let cells = cells.map(|cell| cell.replace('|', "\\|").replace('\n', " "));
        format!("| {} |\n", cells.join(" | "))
    };
    let head = line(head.map(str::to_owned)) + "| --- | --- | --- |\n";
    rows.into_iter().fold(head, |text, row| text + &line(row))
}

fn list(lines: impl IntoIterator<Item = String>) -> String {
    lines.into_iter().map(|line| format!("- {line}\n")).collect()
}
