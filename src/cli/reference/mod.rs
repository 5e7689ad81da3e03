//! The generated parts of the book in `docs/`, as Markdown: whatever clap, a schema or a constant knows.
//!
//! A page has a block `<!-- generated: NAME -->` … `<!-- end -->` for each of them; `tests/documents` compares.

mod acp;
mod changes;
mod dialects;
mod front;
mod limits;
mod options;
mod providers;
mod rules;
mod settings;
mod states;

use pi_rpc_config::{models_file, settings::SETTINGS_SCHEMA};
use pi_rpc_export as export;
use pi_rpc_protocol::Dialect;

/// The text of each generated block, by its name.
pub fn reference_blocks() -> Vec<(&'static str, String)> {
    let mut blocks = vec![
        ("commands", options::commands()),
        ("serve-options", options::serve()),
        ("settings", settings::members(SETTINGS_SCHEMA)),
        ("unhonoured-settings", settings::unhonoured()),
        ("models-file", settings::members(models_file::SCHEMA)),
        ("providers", providers::all()),
        ("extension-frames", export::extension_frames(Dialect::Pi1)),
        ("rules", rules::all()),
        ("acp", acp::all()),
        ("front", front::all()),
        ("dialects", dialects::who()),
        ("records", dialects::records()),
        ("commands-by-state", states::commands()),
        ("transitions", states::transitions()),
        ("host-limits", limits::host()),
        ("peer-limits", limits::peers()),
        ("tool-limits", limits::tools()),
        ("extension-limits", limits::extensions()),
        ("file-limits", limits::files()),
    ];
    blocks.extend(changes::all());
    blocks
}

/// A table of Markdown.
fn table<const N: usize>(head: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut text = line(head.map(str::to_owned).to_vec());
    text += &line(vec!["---".to_owned(); N]);
    for row in rows {
        text += &line(row.map(|cell| cell.replace('|', "\\|").replace('\n', " ")).to_vec());
    }
    text
}

/// A name as code; nothing for no name.
fn code(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!("`{name}`") }
}

/// Names as code, one after another.
fn codes<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> String {
    names.into_iter().map(|name| code(name.as_ref())).collect::<Vec<_>>().join(", ")
}

/// The dialects that stand for themselves: an overlay has the frames and the tiers of its base.
fn bases() -> impl Iterator<Item = Dialect> {
    Dialect::ALL.into_iter().filter(|dialect| {
        let record = dialect.record();
        record.extends.is_none() || !record.started_as.is_empty()
    })
}
