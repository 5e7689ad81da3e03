//! Lists the files of the Node host's program, which this program carries with it.

use proc_macro2::TokenStream;
use quote::quote;
use sha2::{Digest as _, Sha256};
use std::{env, fs, path::Path};

/// The program of the Node host, with the folders in it.
const HOST: &str = "src/node";

/// How much of the hash of its files tells two versions of it apart, in bytes.
const HASH: usize = 8;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={HOST}");
    let root = env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let out = Path::new(&out).join("node_host.rs");
    let written =
        emit(Path::new(&root)).and_then(|table| fs::write(out, table.to_string()).map_err(|e| e.to_string()));
    if let Err(text) = written {
        eprintln!("error: {text}");
        std::process::exit(1);
    }
}

/// Emits the table of the files of `HOST`, sorted, by the names that they have in it, and the beginning of their hash.
fn emit(root: &Path) -> Result<TokenStream, String> {
    let rows = files_below(&root.join(HOST), "")?;
    let mut hash = Sha256::new();
    for (name, path) in &rows {
        let text = fs::read(path).map_err(|error| format!("{path}: {error}"))?;
        hash.update(format!("{name}\0{}\0", text.len()));
        hash.update(&text);
    }
    let hash: String = hash.finalize().iter().take(HASH).map(|byte| format!("{byte:02x}")).collect();
    let rows = rows.iter().map(|(name, path)| quote!((#name, include_str!(#path))));
    Ok(quote! {
        pub(super) const FILES: &[(&str, &str)] = &[#(#rows),*];
        pub(super) const HASH: &str = #hash;
    })
}

/// The files in `folder` and in the folders in it, their names behind `prefix`.
fn files_below(folder: &Path, prefix: &str) -> Result<Vec<(String, String)>, String> {
    let text = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut below = files(folder)?;
    below.iter_mut().for_each(|(name, _)| name.insert_str(0, prefix));
    for entry in fs::read_dir(folder).map_err(text)? {
        let entry = entry.map_err(text)?;
        if entry.path().is_dir() {
            let prefix = format!("{prefix}{}/", entry.file_name().to_string_lossy());
            below.extend(files_below(&entry.path(), &prefix)?);
        }
    }
    below.sort();
    Ok(below)
}

/// The name and the path of each file in `folder`.
fn files(folder: &Path) -> Result<Vec<(String, String)>, String> {
    let text = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(text)? {
        let path = entry.map_err(text)?.path();
        if path.is_file()
            && let (Some(name), Some(whole)) =
                (path.file_name().and_then(|name| name.to_str()), path.to_str())
        {
            files.push((name.to_owned(), whole.to_owned()));
        }
    }
    files.sort();
    Ok(files)
}
