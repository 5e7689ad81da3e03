//! Imports run one way, and nothing does IO where it must not: a reader of `machine` never needs to know `server`.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Each module with the modules that it may use.
const MAY_USE: [(&str, &[&str]); 22] = [
    ("folder_walk", &["regular_files"]),
    ("regular_files", &[]),
    ("harmless", &[]),
    ("html", &[]),
    ("protocol", &[]),
    ("private_files", &[]),
    ("secrets", &[]),
    ("machine", &["protocol"]),
    ("session", &["html", "private_files", "protocol"]),
    ("model", &["protocol", "regular_files", "secrets"]),
    ("config", &["model", "protocol", "regular_files", "secrets"]),
    ("export", &["html", "machine", "protocol"]),
    ("prompt", &["folder_walk", "model", "protocol", "regular_files"]),
    (
        "packages",
        &[
            "config",
            "extension",
            "folder_walk",
            "private_files",
            "prompt",
            "protocol",
            "regular_files",
            "secrets",
        ],
    ),
    ("engine", &["machine", "model", "prompt", "protocol", "session"]),
    ("tools", &["engine", "folder_walk", "model", "protocol"]),
    ("extension", &["config", "engine", "harmless", "protocol", "regular_files", "secrets", "tools"]),
    (
        "server",
        &[
            "config",
            "engine",
            "extension",
            "harmless",
            "machine",
            "model",
            "private_files",
            "prompt",
            "protocol",
            "regular_files",
            "secrets",
            "session",
            "tools",
        ],
    ),
    ("mock", &["model", "protocol"]),
    ("client", &["machine", "protocol"]),
    (
        "oracle",
        &["client", "harmless", "html", "machine", "mock", "model", "private_files", "protocol", "secrets"],
    ),
    (
        "cli",
        &[
            "client",
            "config",
            "engine",
            "export",
            "extension",
            "harmless",
            "machine",
            "mock",
            "model",
            "oracle",
            "packages",
            "private_files",
            "prompt",
            "protocol",
            "regular_files",
            "secrets",
            "server",
            "session",
            "tools",
        ],
    ),
];

/// Modules that take time and input as arguments.
const PURE: [&str; 6] = ["protocol", "machine", "session", "engine", "model", "prompt"];

/// The files in them that do IO after all: everything else in these modules says and reads what they carry.
const CARRIERS: [&str; 10] = [
    "model/http.rs",
    "model/http/response.rs",
    "model/http/trust.rs",
    "prompt/discover.rs",
    "prompt/files.rs",
    "prompt/rules.rs",
    "prompt/walk.rs",
    "session/file.rs",
    "session/find.rs",
    "session/open.rs",
];

/// What does IO, or asks the clock or chance.
const IMPURE: [&str; 10] = [
    "tokio",
    "reqwest",
    "std::fs",
    "std::net",
    "std::process",
    "std::thread",
    "Instant::now",
    "SystemTime::now",
    "getrandom",
    "println!",
];

#[test]
fn modules_import_only_what_is_below_them() {
    let wrong = files().into_iter().flat_map(|(module, path, text)| {
        let allowed =
            MAY_USE.iter().find(|(name, _)| *name == module).map_or(&[][..], |(_, allowed)| allowed);
        upward(&module, allowed, &text).into_iter().map(move |line| format!("{}: {line}", path.display()))
    });
    assert_eq!(wrong.collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn pure_modules_do_no_io() {
    let pure = |module: &str, path: &Path| {
        PURE.contains(&module) && !CARRIERS.iter().any(|carrier| path.ends_with(carrier))
    };
    let wrong =
        files().into_iter().filter(|(module, path, _)| pure(module, path)).flat_map(|(_, path, text)| {
            impure(&text).into_iter().map(move |line| format!("{}: {line}", path.display()))
        });
    assert_eq!(wrong.collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn every_module_has_its_place() {
    let mut modules: Vec<String> = files().into_iter().map(|(module, ..)| module).collect();
    modules.dedup();
    let placed: Vec<&str> = MAY_USE.iter().map(|(name, _)| *name).collect();
    let lost: Vec<&String> = modules.iter().filter(|module| !placed.contains(&module.as_str())).collect();
    assert_eq!(lost, Vec::<&String>::new());
}

#[test]
fn a_wrong_import_is_found() {
    assert_eq!(
        upward("machine", &["protocol"], "use crate::{engine::Now, protocol::Said};"),
        ["crate::engine"]
    );
    assert_eq!(upward("engine", &["machine"], "let x = crate::server::serve();"), ["crate::server"]);
    assert_eq!(impure("use std::fs;\n// tokio is fine in a comment\n"), ["std::fs"]);
}

/// The modules that `text` names and may not.
fn upward(module: &str, allowed: &[&str], text: &str) -> Vec<String> {
    let modules = MAY_USE.iter().map(|(name, _)| *name);
    let forbidden = modules.filter(|name| *name != module && !allowed.contains(name));
    let code = code(text);
    forbidden.filter(|name| names(&code, name)).map(|name| format!("crate::{name}")).collect()
}

/// Whether `code` names `crate::<module>`, alone or in a braced list.
fn names(code: &str, module: &str) -> bool {
    if code.contains(&format!("crate::{module}::")) || code.contains(&format!("crate::{module};")) {
        return true;
    }
    let lists = code.split("use crate::{").skip(1).filter_map(|rest| rest.split(';').next());
    lists.flat_map(str::lines).flat_map(|line| line.split(", ")).any(|item| {
        let item = item.trim().trim_start_matches('{');
        item.starts_with(&format!("{module}::"))
    })
}

fn impure(text: &str) -> Vec<String> {
    let code = code(text);
    IMPURE.iter().filter(|word| code.contains(**word)).map(|word| (*word).to_owned()).collect()
}

/// The text without comments and without the unit tests at its end.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Every file under `src/<module>/`, and of the crate that is the module `protocol`: module, path, text.
fn files() -> Vec<(String, PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let protocol = files_below(&root.join("crates/protocol/src")).into_iter();
    let mut found: Vec<(String, PathBuf, String)> =
        protocol.map(|(path, text)| ("protocol".to_owned(), path, text)).collect();
    let src = root.join("src");
    for (path, text) in files_below(&src) {
        if path.parent() != Some(src.as_path())
            && let Some(module) = path.strip_prefix(&src).unwrap().iter().next()
        {
            found.push((module.to_string_lossy().into_owned(), path, text));
        }
    }
    found.sort();
    found
}

fn files_below(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path, text));
            }
        }
    }
    found
}
