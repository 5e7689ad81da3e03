//! What `conform` says on stderr while it plays.

use crate::serve_support::binary;
use serde_json::Value;
use std::process::{Command, Output};

fn conform(arguments: &[&str]) -> Output {
    let mut conform = Command::new(binary());
    conform.arg("conform").args(arguments).env_remove("PI_RPC_DIALECT");
    conform.output().unwrap()
}

/// The lines on stderr.
fn lines(output: &Output) -> Vec<String> {
    String::from_utf8(output.stderr.clone()).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn server_that_never_starts_ends_the_run() {
    for (server, why) in [
        (&["false"][..], "the server never wrote anything, and ended with status 1"),
        (&["no-such-server"], "no-such-server cannot be started: No such file or directory (os error 2)"),
        (
            &["sh", "-c", "echo hello"],
            "nothing that the server wrote is a frame of the protocol, and ended with status 0",
        ),
    ] {
        let arguments = [&["--scenario", "prompt-*", "--format", "json", "--"], server].concat();
        let output = conform(&arguments);
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((output.status.code(), report["subjects"].as_array().unwrap().len()), (Some(3), 1));
        let said = lines(&output).concat();
        let (reason, left) = said.rsplit_once(": ").unwrap();
        assert_eq!(reason, why);
        assert!(left.ends_with(" scenarios were not played"), "{left}");
    }
}

#[test]
fn foreign_dialect_ends_the_run() {
    let server = binary().to_str().unwrap();
    let names = ["--adapter", "pi", "--scenario", "prompt-plain", "--scenario", "prompt-two"];
    let told = ["--dialect", "pi"];
    let output = conform(&[&told, &names[..], &["--", server, "--dialect", "pi-1"]].concat());
    let said = "Error: this server speaks `pi-1`, not `pi`: its `message_start` is invalid in pi (`message`: `system` does \
                not exist in this dialect); add `--dialect pi-1`";
    assert_eq!((output.status.code(), lines(&output)), (Some(3), vec![said.to_owned()]));
    let output = conform(&[&names, &["--", server, "--dialect", "pi-1"][..]].concat());
    assert_eq!(lines(&output), [""; 0]);
}

#[test]
fn long_run_says_how_far_it_is() {
    let server = ["--", "sh", "-c", r#"echo '{"type":"turn_end"}'"#];
    let short = conform(&[&["--scenario", "i*"], &server[..]].concat());
    assert_eq!(lines(&short), [""; 0]);
    let output = conform(&[&["--scenario", "s*", "--format", "json"], &server[..]].concat());
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let subjects = report["subjects"].as_array().unwrap();
    let said = lines(&output);
    assert_eq!(said.len(), 10, "{said:?}");
    let (last, name) = (&said[9], subjects.last().unwrap()["name"].as_str().unwrap());
    let failed = subjects.iter().filter(|subject| subject["outcome"] == "failed").count();
    let count = subjects.len();
    assert_eq!(last, &format!("conform: {count}/{count} played, {failed} failed, 0 seconds left; {name}"));
}
