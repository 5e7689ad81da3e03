//! The dialects of the page: list, differences, records and limits.

use super::{
    fields::{is_required, with_value},
    inline::{description, dialect_marks, grouped_by_value, link, prose, text, texts},
    schema_index::SchemaIndex,
};
use crate::{Difference, diff, json_schema};
use maud::{Markup, html};
use pi_rpc_protocol::Dialect;
use serde_json::Value;

/// The list of dialects: the first of the page and the bases, then folded the other overlays.
pub(super) fn dialect_list(index: &SchemaIndex) -> Markup {
    let first = index.dialects.first().copied();
    let is_open = |dialect: &Dialect| Some(*dialect) == first || dialect.record().extends.is_none();
    let (open, folded): (Vec<_>, Vec<_>) = index.dialects.iter().copied().partition(is_open);
    html! {
        (described(&open))
        details {
            summary { "Versions and variants of them: " (folded.len()) }
            (described(&folded))
        }
    }
}

fn described(dialects: &[Dialect]) -> Markup {
    html! {
        dl.fields {
            @for dialect in dialects {
                @let record = dialect.record();
                dt id={ "dialect-" (dialect.as_str()) } { code.name { (dialect.as_str()) } " " span.type { (record.title) } }
                dd {
                    (record.description)
                    @match record.extends {
                        Some(base) if record.frames == base => { " It speaks the frames of " code { (base) } "." },
                        Some(base) => { " What it changes of the frames of " code { (base) } " is a " a href={ "#overlay-" (dialect) } { "list" } "." },
                        None => {},
                    }
                    " Version of its schema: " (record.version) "."
                }
            }
        }
    }
}

/// The differences between the base dialects, and between overlays and their bases.
pub(super) fn differences(index: &SchemaIndex) -> Markup {
    html! {
        section aria-labelledby="differences" {
            h2 id="differences" { "Differences between the dialects" }
            h3 id="differences-frames" { "Frames and types that not every dialect has" }
            (frames(index))
            h3 id="differences-fields" { "Fields that differ" }
            (table(index, "Field", &fields(index)))
            h3 id="differences-values" { "Values that differ" }
            (table(index, "Value", &values(index)))
            h3 id="differences-commands" { "Commands with other dispositions" }
            p { "For the same command in the same state; the dispositions are explained in the " a href="#states" { "table of states" } "." }
            (table(index, "Command and state", &dispositions(index)))
            h3 id="differences-texts" { "Texts that differ" }
            (table(index, "Error", &errors(index)))
            @for dialect in index.dialects.iter().filter(|dialect| is_overlay(**dialect)) { (changes(index, *dialect)) }
        }
    }
}

/// Whether the dialect changes the frames of its base.
fn is_overlay(dialect: Dialect) -> bool {
    dialect.record().extends.is_some_and(|base| base != dialect.record().frames)
}

/// The changes that an overlay makes to the frames of its base.
fn changes(index: &SchemaIndex, dialect: Dialect) -> Markup {
    let base = Dialect::ALL.into_iter().find(|base| dialect.record().extends == Some(base.as_str()));
    let found =
        base.and_then(|base| diff(&json_schema(base), &json_schema(dialect)).ok()).unwrap_or_default();
    html! {
        details {
            summary id={ "overlay-" (dialect) } { "Changes of " (dialect_marks(&[dialect])) " to the frames of " (dialect_marks(base.as_slice())) }
            ul { @for Difference { at, what, .. } in found { li { (prose(index, &format!("`{at}`: {what}"))) } } }
        }
    }
}

/// A row: its head, and a cell for each base.
type Row = (Markup, Vec<Markup>);

fn table(index: &SchemaIndex, what: &str, rows: &[Row]) -> Markup {
    html! {
        @if rows.is_empty() { p { "None." } } @else {
            div.wide { table {
                thead { tr { th scope="col" { (what) } @for base in &index.bases { th scope="col" { (base.as_str()) } } } }
                tbody { @for (head, cells) in rows { tr { th scope="row" { (head) } @for cell in cells { td { (cell) } } } } }
            } }
        }
    }
}

fn frames(index: &SchemaIndex) -> Markup {
    let rows = index.families.iter().filter_map(|family| {
        let partial = |member: &&super::schema_index::Member| index.bases_of(index.def(&member.def)).len() < index.bases.len();
        let members: Vec<_> = family.members.iter().filter(partial).collect();
        let cell = |base: &Dialect| {
            let own = members.iter().filter(|member| index.bases_of(index.def(&member.def)).contains(base));
            html! { @for (at, member) in own.enumerate() { @if at > 0 { ", " } a href={ "#" (member.anchor) } { code { (member.label) } } } }
        };
        let head = html! { a href={ "#" (family.id) } { (family.title) } };
        (!members.is_empty()).then(|| (head, index.bases.iter().map(cell).collect::<Vec<Markup>>()))
    });
    table(index, "Only in", &rows.collect::<Vec<Row>>())
}

/// Properties that only some bases with the definition have or require.
fn fields(index: &SchemaIndex) -> Vec<Row> {
    let mut rows = Vec::new();
    for (name, def) in index.defs() {
        let owners = index.bases_of(def);
        for (property, schema) in def["properties"].as_object().into_iter().flatten() {
            let state = |base: Dialect| match (owners.contains(&base), index.has(base, schema, "x-dialects"))
            {
                (false, _) => None,
                (true, false) => Some("–"),
                (true, true) if is_required(index, base, name, property) => Some("required"),
                (true, true) => Some("optional"),
            };
            if grouped_by_value(owners.iter().map(|base| (*base, state(*base)))).len() > 1 {
                let cells = index.bases.iter().map(|base| html! { (state(*base).unwrap_or("")) }).collect();
                rows.push((html! { (link(index, name)) " " code { (property) } }, cells));
            }
        }
    }
    rows
}

fn values(index: &SchemaIndex) -> Vec<Row> {
    let mut rows = Vec::new();
    for (name, def) in index.defs() {
        let owners = index.bases_of(def);
        for value in texts(&def["enum"]) {
            let having = with_value(index, def, value);
            if having.len() < owners.len() {
                let cell = |base: &Dialect| html! { (if having.contains(base) { "yes" } else { "–" }) };
                rows.push((
                    html! { (link(index, name)) " " code { "\"" (value) "\"" } },
                    index.bases.iter().map(cell).collect(),
                ));
            }
        }
    }
    rows
}

fn dispositions(index: &SchemaIndex) -> Vec<Row> {
    let commands =
        index.families.iter().filter(|family| family.id == "commands").flat_map(|family| &family.members);
    let mut rows = Vec::new();
    for command in commands {
        for (state, outcomes) in super::legality::by_state(index, &command.def) {
            if outcomes.len() > 1 {
                let cell = |base: &Dialect| {
                    let own = outcomes.iter().filter(|(bases, _)| bases.contains(base));
                    html! {
                        @for (_, outcomes) in own.clone() { (super::legality::outcome_list(outcomes)) }
                        @if own.count() == 0 { "–" }
                    }
                };
                let head = html! { a href={ "#" (command.anchor) } { code { (command.label) } } " in " code { (state) } };
                rows.push((head, index.bases.iter().map(cell).collect()));
            }
        }
    }
    rows
}

fn errors(index: &SchemaIndex) -> Vec<Row> {
    let errors = index.part("errors").as_object().into_iter().flatten();
    let differing = errors.filter_map(|(name, error)| Some((name, error["text"].as_object()?)));
    let cell = |by_base: &serde_json::Map<String, Value>, base: &Dialect| {
        by_base.get(base.as_str()).map_or(html! { "–" }, |own| html! { span.wire { (text(own)) } })
    };
    differing
        .map(|(name, by_base)| {
            let cells = index.bases.iter().map(|base| cell(by_base, base)).collect();
            (html! { a href={ "#error-" (name) } { code { (name) } } }, cells)
        })
        .collect()
}

/// The records of all dialects, with differences marked.
pub(super) fn records(index: &SchemaIndex) -> Markup {
    let schema = index.part("record");
    html! {
        section aria-labelledby="records" {
            h2 id="records" { "Defaults and behaviour" }
            p { "All differences of dialects besides the frames. A value without marks holds for all." }
            div.wide { table.records {
                thead { tr { th scope="col" { "What" } th scope="col" { "Value" } } }
                @for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                    @if !ABOUT.contains(&name.as_str()) { tbody id={ "record-" (name) } { (record(index, &[name], property)) } }
                }
            } }
        }
    }
}

/// Members of the record that are shown elsewhere.
const ABOUT: [&str; 7] = ["id", "title", "description", "extends", "frames", "startedAs", "version"];

fn record(index: &SchemaIndex, path: &[&str], schema: &Value) -> Markup {
    if let Some(inner) = schema["properties"].as_object() {
        return html! {
            tr.group { th scope="rowgroup" colspan="2" { code { (path.join(".")) } " " (prose(index, description(schema))) } }
            @for (name, schema) in inner { (record(index, &[path, &[name]].concat(), schema)) }
        };
    }
    row(index, &path.join("."), schema, |dialect| value(index, dialect, path))
}

/// A row of records or limits: name, description, and values grouped by dialects.
fn row(index: &SchemaIndex, name: &str, schema: &Value, value: impl Fn(Dialect) -> Value) -> Markup {
    let values = grouped_by_value(index.dialects.iter().map(|dialect| (*dialect, value(*dialect))));
    html! {
        tr.differs[values.len() > 1] {
            th scope="row" { code { (name) } p.soft { (prose(index, description(schema))) } }
            td { @for (dialects, value) in &values {
                div.value { @if values.len() > 1 { span { (dialect_marks(dialects)) } } div { (value_markup(value)) } }
            } }
        }
    }
}

fn value(index: &SchemaIndex, dialect: Dialect, path: &[&str]) -> Value {
    let record = index.meta(dialect).map_or(&Value::Null, |meta| &meta.record);
    path.iter().fold(record, |at, key| &at[*key]).clone()
}

fn value_markup(value: &Value) -> Markup {
    html! {
        @match value {
            Value::Bool(true) => "yes",
            Value::Bool(false) => "no",
            Value::Null => "none",
            Value::String(text) => span.wire { (text) },
            Value::Array(list) if list.is_empty() => "none",
            Value::Array(list) => @for item in list { div { (value_markup(item)) } },
            other => (other.to_string()),
        }
    }
}

/// The table of limits.
pub(super) fn limits(index: &SchemaIndex) -> Markup {
    let schema = crate::meta_schema();
    let about = schema.pointer("/$defs/Limits/properties").and_then(Value::as_object);
    let limit = |dialect: Dialect, name: &str| {
        let limits = index.meta(dialect).map(|meta| serde_json::json!(meta.limits));
        limits.map_or(Value::Null, |limits| limits[name].clone())
    };
    html! {
        section aria-labelledby="limits" {
            h2 id="limits" { "Limits" }
            p { "Times are milliseconds, sizes bytes." }
            div.wide { table.records {
                thead { tr { th scope="col" { "What" } th scope="col" { "Value" } } }
                tbody {
                    @for (name, schema) in about.into_iter().flatten() {
                        (row(index, name, schema, |dialect| limit(dialect, name)))
                    }
                }
            } }
        }
    }
}

/// The legend of marks and sources.
pub(super) fn legend(index: &SchemaIndex) -> Markup {
    let sources: Value = serde_json::from_str(SOURCES).unwrap_or_default();
    html! {
        p {
            "What only some dialects have is marked with their names: " (dialect_marks(&index.bases)) " What is not documented is marked "
            span.seen { "observed" } "."
        }
        details {
            summary { "Sources" }
            dl.fields {
                @for (name, about) in sources.as_object().into_iter().flatten() {
                    dt { span.name { (name) } }
                    dd { (prose(index, text(about))) }
                }
            }
        }
    }
}

const SOURCES: &str = include_str!("../../../../schema/sources.json");
