//! `cargo bless`: writes everything anew that is generated and committed.

use super::{cargo, root, run as call};
use std::process::Command;

/// Test targets that write what they compare when `UPDATE` is set, with the beginning of the names of these tests, in the order in
/// which one needs the other: pages of the book show what is exported. No call names a package: each would build dependencies anew,
/// with its own features alone.
const WRITERS: [(&str, &str); 8] = [
    ("exported", "exported"),
    // The first one has raised the version of a dialect that has changed, and the second one writes what has it.
    ("exported", "exported"),
    ("exported", "python_types"),
    ("inspect", "contract"),
    ("documents", "generated"),
    ("documents", "commands_left_out"),
    ("oracle", "examples_of_rules"),
    ("client", ""),
];

/// Test targets with snapshots for people to review, or pages that show them.
const SNAPSHOTS: [&str; 14] = [
    "engine",
    "protocol",
    "machine",
    "mock",
    "oracle",
    "page",
    "session",
    "configuration",
    "extension",
    "inspect",
    "kept",
    "login",
    "serve",
    "traces",
];

/// The SDK in TypeScript, made in a copy: its generator's packages are no part of the repository.
const TYPESCRIPT: &str = "
rm -rf target/bless/typescript && mkdir -p target/bless && cp -r sdk/typescript target/bless/typescript
(cd target/bless/typescript && npm ci --silent && node generate.mjs ../../debug/pi-rpc)
cp -r target/bless/typescript/src/generated sdk/typescript/src/";

/// The SDK in Python.
const PYTHON: &str = "
python3 -m venv target/bless/venv && target/bless/venv/bin/pip install --quiet -r sdk/python/requirements.txt
cd sdk/python && ../../target/bless/venv/bin/python generate.py ../../target/debug/pi-rpc";

/// Runs it. `--all`: the SDKs' generated code, too, which needs Node.js, Python and the network.
/// Names of test targets: what their tests write, alone; so are written the pages of `cargo peers --all`.
///
/// # Errors
///
/// A test fails for another reason than a stale file, or a program is missing.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let everything = matches!(arguments, [all] if all == "--all");
    if !everything && arguments.iter().any(|name| name.starts_with('-')) {
        return Err(format!(
            "cargo bless: expected --all or names of test targets, got {}",
            arguments.join(" ")
        ));
    }
    if !everything && !arguments.is_empty() {
        return arguments.iter().try_for_each(|target| {
            let mut command = cargo(&["test", "--quiet", "--test", target]);
            call(command.env("UPDATE", "1").env("INSTA_UPDATE", "always"))
        });
    }
    call(&mut cargo(&["fmt", "--all"]))?;
    let lock = ["metadata", "--format-version", "1", "--manifest-path", "fuzz/Cargo.toml", "--quiet"];
    call(cargo(&lock).stdout(std::process::Stdio::null()))?;
    for (target, test) in WRITERS {
        let mut command = cargo(&["test", "--quiet", "--test", target, test]);
        call(command.env("UPDATE", "1").env("INSTA_UPDATE", "always"))?;
    }
    let mut snapshots = cargo(&["test", "--quiet", "--no-fail-fast"]);
    for target in SNAPSHOTS {
        snapshots.args(["--test", target]);
    }
    call(snapshots.env("INSTA_UPDATE", "always"))?;
    call(cargo(&["test", "--quiet", "-p", "pi-rpc-test-kit"]).env("INSTA_UPDATE", "always"))?;
    if everything {
        for script in [TYPESCRIPT, PYTHON] {
            call(Command::new("sh").args(["-euc", script]).current_dir(root()))?;
        }
    }
    eprintln!("== written; `git diff` shows what has changed");
    Ok(())
}
