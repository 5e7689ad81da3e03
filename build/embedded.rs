//! Files that the binary carries with it, by name: scenarios and adapters, what adapters copy, and the program that hosts
//! pi's extensions.

use proc_macro2::TokenStream;
use quote::quote;
use sha2::{Digest as _, Sha256};
use std::{fs, path::Path};

/// The constants, and the folders that each is filled from.
const TABLES: [(&str, &[&str]); 2] =
    [("SCENARIOS", &["scenarios"]), ("ADAPTERS", &["adapters", "examples/extensions"])];

/// The program that hosts pi's extensions, with the folders in it.
const HOST: &str = "src/extension/node";

/// How much of the hash of its files tells two versions of it apart, in bytes.
const HASH: usize = 8;

/// The folders whose changes must be seen.
pub fn folders() -> impl Iterator<Item = &'static str> {
    TABLES.into_iter().flat_map(|(_, folders)| folders).copied().chain([HOST])
}

/// Emits a table of names and texts for each of `TABLES`, sorted by folder and name.
pub fn emit(root: &Path) -> Result<TokenStream, String> {
    let tables = TABLES.into_iter().map(|(name, folders)| {
        let name = proc_macro2::Ident::new(name, proc_macro2::Span::call_site());
        let mut rows = Vec::new();
        for folder in folders {
            rows.extend(files(&root.join(folder))?);
        }
        let rows = rows.iter().map(|(name, path)| quote!((#name, include_str!(#path))));
        Ok(quote!(pub(super) const #name: &[(&str, &str)] = &[#(#rows),*];))
    });
    tables.collect::<Result<Vec<_>, String>>().map(|tables| quote!(#(#tables)*))
}

/// Emits the table of the files of `HOST`, sorted, by the names that they have in it, and the beginning of their hash.
pub fn emit_host(root: &Path) -> Result<TokenStream, String> {
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
