//! The host of pi's extensions, tried by its own tests, with a server of theirs.
//!
//! All of them run with a Node.js that has hooks for modules: `PI_RPC_NODE`, the one in the path, or the one that is
//! installed beside the published releases of pi. Those about loading run with the oldest Node.js that will do as well,
//! and with the one in the path. Without one nothing is tested, which is told on stderr; `PI_RPC_REQUIRE_NODE=1` makes
//! that a failure.
//!
//! Where Node.js does not remove types (before 22.13), the binary does with the feature `strip-types`, else a package.

use crate::{
    serve_support::{Server, binary, command},
    toolchain_support::{had, locked, run},
};
use pi_rpc::protocol::Dialect;
use serde_json::{Value, json};
use std::{
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

/// The first Node.js with hooks that run at once.
const HOOKED: (u32, u32) = (22, 15);

/// The oldest Node.js that will do.
const OLDEST: (u32, u32) = (18, 19);

const REQUIRED: &str = "PI_RPC_REQUIRE_NODE";

/// The packages that remove types where Node.js does not, in the order of preference.
const STRIPPERS: [&str; 4] = ["jiti", "amaro", "esbuild", "typescript"];

/// The tests of what differs where Node.js has no hooks.
const ABOUT_LOADING: [&str; 7] =
    ["descriptors", "isolation", "layouts", "loader", "standins", "start", "strippers"];

#[test]
fn host_tests_pass_with_hooks() {
    let Some(node) = had(hooked(), REQUIRED) else { return };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/node_host");
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.to_string_lossy().ends_with(".test.mjs")).collect();
    files.sort();
    assert!(!files.is_empty());
    passes(&node, &files);
}

#[test]
fn loading_tests_pass_with_oldest_node() {
    let Some(node) = had(oldest(), REQUIRED) else { return };
    passes(&node, &about_loading());
}

#[test]
fn loading_tests_pass_with_node_in_path() {
    let Some(node) = had(in_path(), REQUIRED) else { return };
    passes(&node, &about_loading());
}

/// jiti is what loads extensions in pi itself.
#[test]
fn layouts_resolve_as_in_pi() {
    let Some(home) = had(locked("tests/peer_support/pi-1.5.2", &[]), REQUIRED) else { return };
    let modules = home.join("node_modules");
    let mut tests = Command::new(modules.join(".bin/node"));
    tests.args(["--experimental-import-meta-resolve", "--test", "tests/node_host/layouts.test.mjs"]);
    tests.current_dir(env!("CARGO_MANIFEST_DIR")).env("PI_RPC_JITI", modules.join("jiti/lib/jiti.mjs"));
    run(&mut tests).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn typescript_extension_runs_with_oldest_node() {
    let Some(node) = had(oldest(), REQUIRED) else { return };
    assert_greets(&node);
}

#[test]
fn typescript_extension_runs_with_node_in_path() {
    let Some(node) = had(in_path(), REQUIRED) else { return };
    assert_greets(&node);
}

/// Bun reads TypeScript itself, and the pipe of the frames in another way.
#[test]
fn typescript_extension_runs_with_bun() {
    let Some(home) = had(locked("tests/node_host/bun", &[]), REQUIRED) else { return };
    let programs = ["linux-x64", "linux-aarch64"]
        .map(|system| home.join("node_modules/@oven").join(format!("bun-{system}")).join("bin/bun"));
    let Some(bun) = programs.iter().find(|program| program.exists()) else { return };
    let answer = greeting(bun, None);
    assert_eq!(answer["message"], json!("Hello, you"), "{answer}");
}

#[cfg(not(feature = "strip-types"))]
#[test]
fn typescript_without_stripper_says_what_to_install() {
    let Some(node) = had(oldest(), REQUIRED) else { return };
    let answer = greeting(&node, None);
    let error = answer["error"].as_str().unwrap();
    assert!(error.contains("/greet.ts: Node 18.19.0 cannot read TypeScript. Install Node 22.13"), "{answer}");
}

/// The real binary runs an extension in TypeScript, by its own means with the feature, else by each of the packages.
#[track_caller]
fn assert_greets(node: &Path) {
    let hello = json!("Hello, you");
    if cfg!(feature = "strip-types") {
        let answer = greeting(node, None);
        assert_eq!(answer["message"], hello, "{answer}");
        return;
    }
    let Some(packages) = had(strippers(), REQUIRED) else { return };
    for name in STRIPPERS {
        let answer = greeting(node, Some(&packages.join(name)));
        assert_eq!(answer["message"], hello, "{name}: {answer}");
    }
}

/// What the binary answers with an extension with what old versions of Node.js cannot read: types, an enum, paths without
/// endings, a package of pi. `package` is installed beside it.
#[track_caller]
fn greeting(node: &Path, package: Option<&Path>) -> Value {
    let dir = tempfile::tempdir().unwrap();
    if let Some(package) = package {
        let modules = dir.path().join("node_modules");
        fs::create_dir(&modules).unwrap();
        symlink(package, modules.join(package.file_name().unwrap())).unwrap();
    }
    let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
    write("words.ts", "export enum Word { Hello = 'Hello' }\nexport interface Named { name: string }\n");
    write(
        "greet.ts",
        r#"import { Text } from "@earendil-works/pi-tui";
import { Word, type Named } from "./words";
export default (pi: any) => {
  const whom: Named = { name: new Text("you", 0, 0).render(3).join("") };
  pi.registerCommand("greet", { handler: async (_: string, ctx: any) => ctx.ui.notify(`${Word.Hello}, ${whom.name}`) });
};
"#,
    );
    let mut command = command(binary(), dir.path());
    command
        .env("PI_RPC_NODE", node)
        .env("PATH", "/usr/bin:/bin")
        .env("XDG_CACHE_HOME", dir.path().join("caches"));
    command.args([
        "--mode",
        "rpc",
        "--no-session",
        "--model",
        "scripted/demo",
        "--dialect",
        "pi",
        "-e",
        "greet.ts",
    ]);
    let mut server = Server::start(Dialect::Pi, dir, command);
    server.send(json!({ "id": "g", "type": "prompt", "message": "/greet" }));
    let frames = server.until(|frame| frame["type"] == "extension_ui_request" || frame["success"] == false);
    server.finishes();
    frames.last().unwrap().clone()
}

/// Runs test files of the host.
#[track_caller]
fn passes(node: &Path, files: &[PathBuf]) {
    let mut tests = Command::new(node);
    tests.args(["--experimental-vm-modules", "--experimental-import-meta-resolve", "--test"]).args(files);
    let Some(packages) = had(strippers(), REQUIRED) else { return };
    tests.env("PI_RPC_STRIPPERS", &packages);
    if cfg!(feature = "strip-types") {
        tests.env("PI_RPC_TYPE_STRIPPER", binary());
    } else {
        tests.env("NODE_PATH", &packages).env_remove("PI_RPC_TYPE_STRIPPER");
    }
    run(&mut tests).unwrap_or_else(|error| panic!("{error}"));
}

fn about_loading() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/node_host");
    ABOUT_LOADING.iter().map(|name| folder.join(format!("{name}.test.mjs"))).collect()
}

/// A Node.js that runs extensions in TypeScript by itself; `None` where there is none, which is told.
pub fn reading_typescript() -> Option<PathBuf> {
    had(hooked(), REQUIRED)
}

/// The folder with the packages that remove types.
fn strippers() -> Result<PathBuf, String> {
    Ok(locked("tests/node_host/strippers", &[])?.join("node_modules"))
}

fn hooked() -> Result<PathBuf, String> {
    let given = env::var_os("PI_RPC_NODE").map_or_else(|| "node".into(), PathBuf::from);
    if is_since(&given, HOOKED) {
        return Ok(given);
    }
    let installed = locked("tests/peer_support/pi-1.5.2", &[])?.join("node_modules/.bin/node");
    is_since(&installed, HOOKED)
        .then_some(installed)
        .ok_or_else(|| format!("no Node.js {}.{} or later", HOOKED.0, HOOKED.1))
}

fn oldest() -> Result<PathBuf, String> {
    Ok(locked("tests/node_host/node-18", &[])?.join("node_modules/.bin/node"))
}

fn in_path() -> Result<PathBuf, String> {
    let path = env::split_paths(&env::var_os("PATH").unwrap_or_default())
        .map(|it| it.join("node"))
        .find(|it| it.exists());
    path.filter(|node| is_since(node, OLDEST))
        .ok_or_else(|| format!("no Node.js {}.{} or later in PATH", OLDEST.0, OLDEST.1))
}

fn is_since(node: &Path, version: (u32, u32)) -> bool {
    let Ok(found) = run(Command::new(node).arg("--version")) else { return false };
    let mut parts = found.trim_start_matches('v').split('.').map_while(|part| part.parse().ok());
    matches!((parts.next(), parts.next()), (Some(major), Some(minor)) if (major, minor) >= version)
}
