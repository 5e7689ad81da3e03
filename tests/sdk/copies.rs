//! What the inspector copies as a test of a client is one, and passes.

use crate::{
    python::{passes, python},
    toolchain_support::run,
    typescript::built,
};
use pi_rpc::{
    inspect::{CopyForm, copied},
    oracle::Direction,
    protocol::Dialect,
};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::symlink, process::Command};

/// A conversation with a refusal and with texts that need escapes, copied in a form.
fn conversation(form: CopyForm) -> String {
    let server = [
        env!("CARGO_BIN_EXE_pi-rpc"),
        "serve",
        "--dialect",
        "pi-1",
        "--no-session",
        "--model",
        "scripted/demo",
    ];
    let frames: Vec<(Direction, Value)> = vec![
        (Direction::In, json!({ "id": "1", "type": "set_session_name", "name": "A \"b\" ${x} `y` \\ é" })),
        (Direction::Out, json!({ "type": "session_info_changed", "name": "A" })),
        (
            Direction::Out,
            json!({ "id": "1", "type": "response", "command": "set_session_name", "success": true }),
        ),
        (Direction::In, json!({ "id": "2", "type": "set_model", "provider": "x", "modelId": "y" })),
        (
            Direction::Out,
            json!({ "id": "2", "type": "response", "command": "set_model", "success": false, "error": "Model not found: x/y" }),
        ),
        (Direction::In, json!({ "id": "3", "type": "set_auto_retry", "enabled": true })),
        (
            Direction::Out,
            json!({ "id": "3", "type": "response", "command": "set_auto_retry", "success": true }),
        ),
    ];
    copied(form, Dialect::Pi1, &server.map(str::to_owned), &frames).text
}

#[test]
fn copied_python_test_passes() {
    let Some(mut python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let text = conversation(CopyForm::Python) + "\n\ntest_conversation()\n";
    let file = folder.path().join("conversation.py");
    fs::write(&file, text).unwrap();
    passes(python.arg(file));
}

#[test]
fn copied_typescript_test_compiles_and_passes() {
    let Some(package) = built() else { return };
    let folder = tempfile::tempdir().unwrap();
    let modules = folder.path().join("node_modules");
    fs::create_dir(&modules).unwrap();
    let installed = package.parent().unwrap().join("node_modules");
    symlink(package, modules.join("pi-rpc-client")).unwrap();
    symlink(installed.join("@types"), modules.join("@types")).unwrap();
    fs::write(folder.path().join("package.json"), r#"{ "type": "module" }"#).unwrap();
    fs::write(folder.path().join("conversation.ts"), conversation(CopyForm::TypeScript)).unwrap();
    let mut tsc = Command::new("node");
    tsc.arg(installed.join("typescript/bin/tsc")).current_dir(folder.path());
    tsc.args(["--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,esnext.disposable"]);
    tsc.args(["--types", "node", "conversation.ts"]);
    run(&mut tsc).unwrap_or_else(|error| panic!("{error}"));
    let mut test = Command::new("node");
    test.args(["--test", "conversation.js"]).current_dir(folder.path());
    run(&mut test).unwrap_or_else(|error| panic!("{error}"));
}
