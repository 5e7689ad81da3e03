//! Compiles `schema/` into Rust by the modules under `build/`: structs, tagged unions, presence by dialect, tables.
#![allow(clippy::disallowed_macros, clippy::disallowed_methods)] // a build script reads and prints

#[path = "build/bundle.rs"]
mod bundle;
#[path = "build/checks.rs"]
mod checks;
#[path = "build/effects.rs"]
mod effects;
#[path = "build/forms.rs"]
mod forms;
#[path = "build/host_responses.rs"]
mod host_responses;
#[path = "build/names.rs"]
mod names;
#[path = "build/records.rs"]
mod records;
#[path = "build/rules.rs"]
mod rules;
#[path = "build/source.rs"]
mod source;
#[path = "build/structs.rs"]
mod structs;
#[path = "build/tables.rs"]
mod tables;
#[path = "build/texts.rs"]
mod texts;
#[path = "build/types.rs"]
mod types;
#[path = "build/unions.rs"]
mod unions;

use std::{env, fs, path::Path};

/// Path of the schema: a link to that at the root of the project, and a folder in the packed crate.
const SCHEMA: &str = "schema";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=build");
    println!("cargo:rerun-if-changed={SCHEMA}");
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    if let Err(text) = generate(Path::new(SCHEMA), Path::new(&out)) {
        eprintln!("error: schema/: {text}");
        std::process::exit(1);
    }
}

fn generate(schema: &Path, out: &Path) -> Result<(), String> {
    let bundle = bundle::read(schema)?;
    let parts = [
        structs::emit(&bundle)?,
        unions::emit(&bundle)?,
        checks::emit(&bundle)?,
        forms::emit(&bundle)?,
        tables::emit(&bundle)?,
        host_responses::emit(&bundle)?,
        texts::emit(&bundle),
        records::emit(&bundle)?,
        rules::emit(&bundle)?,
        effects::emit(&bundle)?,
    ];
    write(&out.join("protocol.rs"), &source::source(parts.into_iter().collect()))?;
    write(&out.join("bundle.json"), &serde_json::to_string(&bundle.to_json()).map_err(|e| e.to_string())?)
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}
