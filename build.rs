//! Lists what the binary carries as files: the catalogue of models, scenarios and adapters, the program that hosts pi's
//! extensions. Notes the commit and the target for `--version`.

#[path = "build/catalogue.rs"]
mod catalogue;
#[path = "build/commit.rs"]
mod commit;
#[path = "build/embedded.rs"]
mod embedded;

use std::{env, fs, path::Path};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=build");
    for folder in embedded::folders().chain([catalogue::FOLDER]) {
        println!("cargo:rerun-if-changed={folder}");
    }
    let root = env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    if let Some(commit) = commit::find(Path::new(&root)) {
        println!("cargo:rustc-env=PI_RPC_COMMIT={commit}");
    }
    println!("cargo:rustc-env=PI_RPC_TARGET={}", env::var("TARGET").expect("cargo sets TARGET"));
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    if let Err(text) = embed(Path::new(&root), Path::new(&out)) {
        eprintln!("error: {text}");
        std::process::exit(1);
    }
}

fn embed(root: &Path, out: &Path) -> Result<(), String> {
    write(&out.join("catalogue.rs"), &catalogue::emit(root)?.to_string())?;
    write(&out.join("embedded.rs"), &embedded::emit(root)?.to_string())?;
    write(&out.join("node_host.rs"), &embedded::emit_host(root)?.to_string())
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}
