//! Compiles `schema/` into the Rust of `protocol::generated`: structs by typify, then what typify cannot say
//! (tagged unions, presence by dialect, tables) by the modules under `build/`. What the binary carries as files is listed, too.

#[path = "build/bundle.rs"]
mod bundle;
#[path = "build/catalogue.rs"]
mod catalogue;
#[path = "build/checks.rs"]
mod checks;
#[path = "build/embedded.rs"]
mod embedded;
#[path = "build/forms.rs"]
mod forms;
#[path = "build/names.rs"]
mod names;
#[path = "build/records.rs"]
mod records;
#[path = "build/rules.rs"]
mod rules;
#[path = "build/structs.rs"]
mod structs;
#[path = "build/tables.rs"]
mod tables;
#[path = "build/texts.rs"]
mod texts;
#[path = "build/unions.rs"]
mod unions;

use std::{env, fs, path::Path};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=build");
    println!("cargo:rerun-if-changed=schema");
    for folder in embedded::folders().chain([catalogue::FOLDER]) {
        println!("cargo:rerun-if-changed={folder}");
    }
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let out = Path::new(&out);
    let made = generate(Path::new("schema"), out).map_err(|text| format!("schema/: {text}"));
    if let Err(text) = made.and_then(|()| embed(out)) {
        eprintln!("error: {text}");
        std::process::exit(1);
    }
}

fn embed(out: &Path) -> Result<(), String> {
    let root = env::var("CARGO_MANIFEST_DIR").map_err(|error| error.to_string())?;
    let root = Path::new(&root);
    write(&out.join("catalogue.rs"), &catalogue::emit(root)?.to_string())?;
    write(&out.join("embedded.rs"), &embedded::emit(root)?.to_string())?;
    write(&out.join("node_host.rs"), &embedded::emit_host(root)?.to_string())
}

fn generate(schema: &Path, out: &Path) -> Result<(), String> {
    let bundle = bundle::read(schema)?;
    let parts = [
        structs::emit(&bundle)?,
        unions::emit(&bundle)?,
        checks::emit(&bundle)?,
        forms::emit(&bundle)?,
        tables::emit(&bundle)?,
        texts::emit(&bundle),
        records::emit(&bundle)?,
        rules::emit(&bundle)?,
    ];
    let file = syn::parse2(parts.into_iter().collect()).map_err(|e| format!("generated code: {e}"))?;
    write(&out.join("protocol.rs"), &prettyplease::unparse(&file))?;
    write(&out.join("bundle.json"), &serde_json::to_string(&bundle.to_json()).map_err(|e| e.to_string())?)
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}
