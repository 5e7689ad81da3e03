//! Imports between modules have one direction, and pure modules do no IO: `machine` can be read without `server`.

#[path = "imports/readers.rs"]
mod readers;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Modules, each with those that it may import.
const MAY_USE: [(&str, &[&str]); 35] = [
    ("folder_walk", &["confinement", "regular_files"]),
    ("regular_files", &[]),
    ("harmless", &[]),
    ("html", &[]),
    ("protocol", &[]),
    ("private_files", &[]),
    ("process_tree", &[]),
    ("process_watcher", &["process_tree"]),
    ("secrets", &[]),
    ("machine", &["protocol"]),
    ("session", &["html", "private_files", "protocol"]),
    ("model", &["protocol", "regular_files", "secrets"]),
    ("config", &["confinement", "model", "process_watcher", "protocol", "regular_files", "secrets"]),
    ("login", &["config", "model", "private_files", "protocol", "regular_files", "secrets", "strangers"]),
    ("export", &["html", "machine", "protocol"]),
    ("prompt", &["confinement", "folder_walk", "model", "protocol", "regular_files"]),
    (
        "packages",
        &[
            "config",
            "confinement",
            "extension",
            "folder_walk",
            "line_reader",
            "private_files",
            "prompt",
            "protocol",
            "regular_files",
            "secrets",
        ],
    ),
    ("engine", &["machine", "model", "prompt", "protocol", "session"]),
    (
        "tools",
        &[
            "confinement",
            "engine",
            "folder_walk",
            "model",
            "process_tree",
            "process_watcher",
            "protocol",
            "regular_files",
            "secrets",
        ],
    ),
    ("extension", &["config", "engine", "harmless", "protocol", "regular_files", "secrets", "tools"]),
    (
        "server",
        &[
            "config",
            "confinement",
            "engine",
            "extension",
            "harmless",
            "login",
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
    ("acp_backend", &["acp_input", "engine", "harmless", "model", "protocol", "server", "tools"]),
    (
        "session_host",
        &[
            "engine",
            "line_reader",
            "private_files",
            "process_watcher",
            "protocol",
            "regular_files",
            "secrets",
            "server",
            "session",
            "strangers",
        ],
    ),
    ("cluster", &["engine", "protocol", "secrets", "server", "session", "session_host"]),
    (
        "acp",
        &[
            "acp_input",
            "client",
            "model",
            "oracle",
            "private_files",
            "protocol",
            "secrets",
            "session",
            "session_host",
            "tools",
        ],
    ),
    ("attach", &["protocol", "server", "session_host"]),
    ("mock", &["model", "protocol", "strangers"]),
    ("client", &["machine", "process_watcher", "protocol"]),
    (
        "oracle",
        &[
            "client",
            "harmless",
            "html",
            "machine",
            "mock",
            "model",
            "private_files",
            "process_watcher",
            "protocol",
            "regular_files",
            "secrets",
        ],
    ),
    (
        "inspect",
        &[
            "attach",
            "client",
            "export",
            "harmless",
            "machine",
            "oracle",
            "private_files",
            "protocol",
            "strangers",
        ],
    ),
    (
        "cli",
        &[
            "acp",
            "acp_backend",
            "attach",
            "client",
            "cluster",
            "config",
            "confinement",
            "engine",
            "export",
            "extension",
            "harmless",
            "inspect",
            "line_reader",
            "login",
            "machine",
            "mock",
            "model",
            "oracle",
            "packages",
            "private_files",
            "process_watcher",
            "prompt",
            "protocol",
            "regular_files",
            "secrets",
            "server",
            "session",
            "session_host",
            "strangers",
            "tools",
        ],
    ),
    ("acp_input", &["line_reader"]),
    ("line_reader", &["protocol"]),
    ("strangers", &[]),
    ("confinement", &["regular_files"]),
];

/// Modules that do no IO, and get time and input as arguments.
const PURE: [&str; 6] = ["protocol", "machine", "session", "engine", "model", "prompt"];

/// Files in these modules that do IO, on behalf of the rest.
const CARRIERS: [&str; 15] = [
    "model/http.rs",
    "model/http/exchange.rs",
    "model/http/extra_authorities.rs",
    "model/http/google_exchange.rs",
    "model/http/google_token.rs",
    "model/http/response.rs",
    "prompt/discover.rs",
    "prompt/files.rs",
    "prompt/rules.rs",
    "prompt/walk.rs",
    "session/file.rs",
    "session/find.rs",
    "session/open_file.rs",
    "model/http/aws_chain.rs",
    "model/http/signature.rs",
];

/// Names that do IO, or use the clock or randomness.
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
        upward("machine", &["protocol"], "use crate::{engine::Now, protocol::Emission};"),
        ["crate::engine"]
    );
    assert_eq!(upward("engine", &["machine"], "let x = crate::server::serve();"), ["crate::server"]);
    assert_eq!(impure("use std::fs;\n// tokio is fine in a comment\n"), ["std::fs"]);
}

#[test]
fn machine_and_engine_have_no_cycle() {
    for module in ["machine", "engine"] {
        let mut open: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let files: Vec<(String, String)> =
            files().into_iter().filter(|file| file.0 == module).map(|file| (name(&file.1), file.2)).collect();
        let known: BTreeSet<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
        for (file, text) in &files {
            let imported = imports(&code(text)).into_iter().filter_map(|path| place(&known, file, &path));
            open.insert(file.clone(), imported.filter(|other| other != file).collect());
        }
        // A file that imports none of the remaining ones is in no cycle.
        while let Some(file) = open.iter().find(|(_, imports)| imports.is_empty()).map(|it| it.0.clone()) {
            open.remove(&file);
            for imports in open.values_mut() {
                imports.remove(&file);
            }
        }
        assert_eq!(open, BTreeMap::new(), "files of {module} that import each other, or such files");
    }
}

#[test]
fn imports_are_read_from_trees() {
    let text = "use crate::{engine::{io::{Input, Output}, core::Engine}, protocol::Emission};\npub use super::Kind as K;";
    let read = ["crate::engine::io::Input", "crate::engine::io::Output", "crate::engine::core::Engine"];
    assert_eq!(imports(text), [&read[..], &["crate::protocol::Emission", "super::Kind"]].concat());
    let known = BTreeSet::from(["engine", "engine::io", "engine::run::turns"]);
    assert_eq!(place(&known, "engine::core", "crate::engine::io::Input").as_deref(), Some("engine::io"));
    assert_eq!(
        place(&known, "engine::run::state", "super::turns::Run").as_deref(),
        Some("engine::run::turns")
    );
    assert_eq!(place(&known, "engine", "io::Input").as_deref(), Some("engine::io"));
    assert_eq!(place(&known, "engine::core", "std::fmt"), None);
}

/// Module path of a file, such as `engine::run::turns`.
fn name(path: &Path) -> String {
    let path =
        path.strip_prefix(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).unwrap().with_extension("");
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).filter(|part| part != "mod").collect();
    parts.join("::")
}

/// Full paths of all `use` declarations.
fn imports(code: &str) -> Vec<String> {
    let declarations = code.lines().map(str::trim_start).collect::<Vec<_>>().join(" ");
    let declarations = declarations.split("use ").skip(1).filter_map(|rest| rest.split(';').next());
    let mut found = Vec::new();
    for declaration in declarations {
        let mut prefixes = vec![String::new()];
        let mut path = String::new();
        for letter in declaration.chars().chain([',']) {
            match letter {
                '{' => {
                    let within = prefixes.last().cloned().unwrap_or_default() + path.trim();
                    prefixes.push(within);
                    path.clear();
                }
                ',' | '}' => {
                    let own = path.split(" as ").next().unwrap_or_default().trim();
                    if !own.is_empty() {
                        found.push(prefixes.last().cloned().unwrap_or_default() + own);
                    }
                    path.clear();
                    if letter == '}' {
                        prefixes.pop();
                    }
                }
                letter => path.push(letter),
            }
        }
    }
    found
}

/// File of `known` that an import path in `file` refers to.
fn place(known: &BTreeSet<&str>, file: &str, path: &str) -> Option<String> {
    let up = |module: &str| module.rsplit_once("::").map_or(String::new(), |(above, _)| above.to_owned());
    let whole = if let Some(rest) = path.strip_prefix("crate::") {
        rest.to_owned()
    } else if path.starts_with("super::") {
        let (mut module, mut rest) = (file.to_owned(), path);
        while let Some(further) = rest.strip_prefix("super::") {
            (module, rest) = (up(&module), further);
        }
        format!("{module}::{rest}")
    } else {
        // A submodule, or another crate.
        let own = format!("{file}::{}", path.split("::").next().unwrap_or_default());
        return known.contains(own.as_str()).then_some(own);
    };
    let mut module = whole;
    while !module.is_empty() {
        if known.contains(module.as_str()) && (module != file) {
            return Some(module);
        }
        module = up(&module);
    }
    None
}

/// Modules that `text` imports without permission.
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
