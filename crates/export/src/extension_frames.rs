//! The frames between the server and an extension as Markdown: each with its members.

use super::{
    hooks::Page,
    json_schema::part_schema,
    parts::{Part, target_name},
};
use pi_rpc_protocol::{BUNDLE, Dialect};
use serde_json::Value;
use std::fmt::Write as _;

/// The frames of `dialect`, those to an extension first, then the types that they are made of.
pub fn extension_frames(dialect: Dialect) -> String {
    let schema = part_schema(dialect, Part::Extension);
    let bundle: Value = serde_json::from_str(BUNDLE).expect("build.rs wrote JSON");
    let page = Page { exported: &schema["$defs"], annotated: &bundle["$defs"] };
    let mut out = String::new();
    for (title, union) in [("From the server", "ToExtension"), ("From the extension", "FromExtension")] {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "## {title}");
        let frames = schema["$defs"][union]["discriminator"]["mapping"].as_object().into_iter().flatten();
        for (name, def) in frames.filter_map(|(name, target)| Some((name, target_name(target)?))) {
            let _ = write!(out, "\n### {name}\n\n{}\n\n", page.description(def));
            page.members(def, |member| member != "type", "Member", &mut out);
        }
        out.push('\n');
    }
    out
}
