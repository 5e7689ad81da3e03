//! `cargo bless`: writes everything anew that is generated and committed.

use super::{cargo, root, run as call};
use std::process::Command;

/// Tests that write what they compare when `UPDATE` is set, with the package that they are of, in the order in which one needs
/// the other: pages of the book show what is exported.
const WRITERS: [(&str, &str, &str); 7] = [
    ("pi-rpc", "exported", "exported"),
    // The first one has raised the version of a dialect that has changed, and the second one writes what has it.
    ("pi-rpc", "exported", "exported"),
    ("pi-rpc", "exported", "python_types"),
    ("pi-rpc", "inspect", "contract"),
    ("pi-rpc", "documents", "generated"),
    ("pi-rpc", "documents", "commands_left_out"),
    ("pi-rpc", "client", ""),
];

/// Packages with snapshots for people to review, and the target of their tests.
const SNAPSHOTS: [(&str, &str); 15] = [
    ("pi-rpc-engine", "engine"),
    ("pi-rpc-export", "protocol"),
    ("pi-rpc-machine", "machine"),
    ("pi-rpc-mock", "mock"),
    ("pi-rpc-oracle", "oracle"),
    ("pi-rpc-page", "page"),
    ("pi-rpc-session-store", "session"),
    ("pi-rpc-test-kit", ""),
    ("pi-rpc", "configuration"),
    ("pi-rpc", "extension"),
    ("pi-rpc", "inspect"),
    ("pi-rpc", "kept"),
    ("pi-rpc", "login"),
    ("pi-rpc", "serve"),
    ("pi-rpc", "traces"),
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
            let package =
                SNAPSHOTS.iter().find(|(_, known)| known == target).map_or("pi-rpc", |(package, _)| package);
            let mut command = cargo(&["test", "--quiet", "-p", package, "--test", target]);
            call(command.env("UPDATE", "1").env("INSTA_UPDATE", "always"))
        });
    }
    call(&mut cargo(&["fmt", "--all"]))?;
    let lock = ["metadata", "--format-version", "1", "--manifest-path", "fuzz/Cargo.toml", "--quiet"];
    call(cargo(&lock).stdout(std::process::Stdio::null()))?;
    for (package, target, test) in WRITERS {
        let mut command = cargo(&["test", "--quiet", "-p", package, "--test", target, test]);
        call(command.env("UPDATE", "1").env("INSTA_UPDATE", "always"))?;
    }
    for (package, target) in SNAPSHOTS {
        let mut command = cargo(&["test", "--quiet", "-p", package]);
        if !target.is_empty() {
            command.args(["--test", target]);
        }
        call(command.env("INSTA_UPDATE", "always"))?;
    }
    if everything {
        for script in [TYPESCRIPT, PYTHON] {
            call(Command::new("sh").args(["-euc", script]).current_dir(root()))?;
        }
    }
    eprintln!("== written; `git diff` shows what has changed");
    Ok(())
}
