//! Where an extension cannot be loaded, nothing is served in `pi-1`, nor where that is required: it might have guarded
//! the tools.

use crate::extended_support::{error, executable, script};
use crate::serve_support::{Server, binary, command, of_type};
use pi_rpc::protocol::Dialect::{self, Pi, Pi1, Xcsh};
use serde_json::json;
use std::{fs, path::Path, process::Command};

const HINT: &str =
    "Hint: Start without extensions by -ne, or without those that cannot be loaded by --keep-going.\n";

/// A way in which the extension `FILE` cannot be loaded, and why it says it cannot.
struct Way {
    file: &'static str,
    prepare: fn(&Path),
    reason: &'static str,
}

const WAYS: [Way; 8] = [
    Way { file: "gone.ts", prepare: |_| {}, reason: "it cannot be started: there is no such file" },
    Way {
        file: "plain",
        prepare: |dir| fs::write(dir.join("plain"), "").unwrap(),
        reason: "it cannot be started: the file is not executable (chmod +x)",
    },
    Way {
        file: "exits",
        prepare: |dir| drop(script(dir, "exits", "echo broken >&2; exit 3")),
        reason: "it exited with status 3: broken",
    },
    Way {
        file: "babbles",
        prepare: |dir| drop(script(dir, "babbles", "say babble; exit 0")),
        reason: "it exited with status 0",
    },
    Way {
        file: "wrong",
        prepare: |dir| drop(script(dir, "wrong", r#"say '{"type":"register","tools":7}'; await nothing"#)),
        reason: "",
    },
    Way {
        file: "no_node.ts",
        prepare: |dir| write(dir, "no_node.ts"),
        reason: "PI_RPC_NODE: expected a program, and ./node is none",
    },
    Way {
        file: "throws.ts",
        prepare: |dir| {
            write(dir, "throws.ts");
            let path = dir.join("throws.ts").display().to_string();
            let fault = json!({ "type": "error", "extensionPath": path, "event": "load", "error": "thrown" });
            script(dir, "node", &format!("say '{fault}'; say '{{\"type\":\"register\"}}'; await nothing"));
        },
        reason: "thrown",
    },
    Way {
        file: "crashes.ts",
        prepare: |dir| {
            write(dir, "crashes.ts");
            script(dir, "node", "kill -KILL $$");
        },
        reason: "it was killed by signal 9",
    },
];

fn write(dir: &Path, name: &str) {
    fs::write(dir.join(name), "export default () => {};\n").unwrap();
}

fn serve(dir: &Path, dialect: Dialect, file: &str, options: &[&str]) -> Command {
    let mut command = command(binary(), dir);
    command.env("PI_RPC_NODE", "./node").env("XDG_CACHE_HOME", dir.join("caches"));
    command.args(["serve", "--no-session", "--model", "scripted/demo", "--dialect", dialect.as_str()]);
    command.args(["-e", file]).args(options);
    command
}

#[test]
fn pi_1_refuses_start_without_an_extension() {
    for Way { file, prepare, reason } in WAYS {
        let dir = tempfile::tempdir().unwrap();
        prepare(dir.path());
        let output = serve(dir.path(), Pi1, file, &[]).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        let path = dir.path().join(file);
        let begin = format!("Error: Failed to load extension \"{}\": ", path.display());
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &b""[..]), "{file}: {stderr}");
        let told = stderr.find(&begin).unwrap_or_else(|| panic!("{file}: {stderr}"));
        assert!(stderr[told + begin.len()..].starts_with(reason), "{file}: {stderr}");
        assert!(stderr.ends_with(HINT), "{file}: {stderr}");
    }
}

#[test]
fn keep_going_serves_without_the_extension() {
    for dialect in [Pi, Pi1, Xcsh] {
        let dir = tempfile::tempdir().unwrap();
        let options: &[&str] = if dialect == Pi1 { &["--keep-going"] } else { &[] };
        let line = serve(dir.path(), dialect, "gone", options);
        let mut server = Server::start(dialect, dir, line);
        server.send(json!({ "id": "s", "type": "get_state" }));
        let frames = server.until(|frame| frame["id"] == "s");
        let text =
            "the extension has ended and is not started again: it cannot be started: there is no such file";
        let reported = of_type(&frames, "extension_error");
        assert_eq!(reported.len(), 1, "{dialect}: {frames:?}");
        assert_eq!(reported[0]["extensionPath"], error(&server, "gone", "end", text)["extensionPath"]);
        server.finishes();
    }
}

#[test]
fn required_extensions_refuse_start_in_every_dialect() {
    for dialect in [Pi, Xcsh] {
        let dir = tempfile::tempdir().unwrap();
        let output = serve(dir.path(), dialect, "gone", &["--require-extensions"]).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{dialect}: {output:?}");
    }
}

#[test]
fn missing_packages_refuse_start_in_pi_1() {
    for package in ["npm:gone", "./gone"] {
        let dir = tempfile::tempdir().unwrap();
        let agent = dir.path().join(".pi/agent");
        fs::create_dir_all(&agent).unwrap();
        fs::write(agent.join("settings.json"), json!({ "packages": [package] }).to_string()).unwrap();
        executable(
            dir.path(),
            "good",
            "#!/bin/sh\nread hello\necho '{\"type\":\"register\"}'\ncat > /dev/null\n",
        );
        let output = serve(dir.path(), Pi1, "good", &[]).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains(&format!("Failed to load extension \"{package}\": ")), "{stderr}");
        let output = serve(dir.path(), Pi1, "good", &["-ne"]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
}

#[test]
fn unapproved_project_extension_refuses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let project = dir.path().join("work");
    fs::create_dir_all(project.join(".pi/extensions")).unwrap();
    script(&project.join(".pi/extensions"), "own", "exit 1");
    write(&project.join(".pi/extensions"), "own.ts");
    executable(
        dir.path(),
        "good",
        "#!/bin/sh\nread hello\necho '{\"type\":\"register\"}'\ncat > /dev/null\n",
    );
    let mut line = serve(dir.path(), Pi1, "../good", &[]);
    line.current_dir(&project);
    let output = line.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}
