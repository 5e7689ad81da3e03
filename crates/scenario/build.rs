//! Lists the files that the program carries with it, by name: scenarios and adapters, and what adapters copy.
#![allow(clippy::disallowed_macros, clippy::disallowed_methods)] // a build script reads and prints

use proc_macro2::TokenStream;
use quote::quote;
use std::{env, fs, path::Path};

/// The constants, and the folders that each is filled from.
const TABLES: [(&str, &[&str]); 2] =
    [("SCENARIOS", &["../../scenarios"]), ("ADAPTERS", &["../../adapters", "../../examples/extensions"])];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    for folder in TABLES.into_iter().flat_map(|(_, folders)| folders) {
        println!("cargo:rerun-if-changed={folder}");
    }
    let root = env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let out = Path::new(&out).join("embedded.rs");
    let written =
        emit(Path::new(&root)).and_then(|table| fs::write(out, table.to_string()).map_err(|e| e.to_string()));
    if let Err(text) = written {
        eprintln!("error: {text}");
        std::process::exit(1);
    }
}

/// Emits a table of names and texts for each of `TABLES`, sorted by folder and name.
fn emit(root: &Path) -> Result<TokenStream, String> {
    let tables = TABLES.into_iter().map(|(name, folders)| {
        let name = proc_macro2::Ident::new(name, proc_macro2::Span::call_site());
        let mut rows = Vec::new();
        for folder in folders {
            rows.extend(files(&root.join(folder))?);
        }
        let rows = rows.iter().map(|(name, path)| quote!((#name, include_str!(#path))));
        let about = format!(
            "Names and texts of the files of {}.",
            folders.iter().map(|it| it.trim_start_matches("../")).collect::<Vec<_>>().join(" and ")
        );
        Ok(quote!(#[doc = #about] pub const #name: &[(&str, &str)] = &[#(#rows),*];))
    });
    tables.collect::<Result<Vec<_>, String>>().map(|tables| quote!(#(#tables)*))
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
