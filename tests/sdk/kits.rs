//! The kits for tests, in an empty project that has the package from its file: a client that keeps the rules passes, and a
//! broken rule is the message of the test that broke it.

use crate::{
    packages::{in_project, npm_project, printed, wheel},
    toolchain_support::{environment, packages},
};
use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// Tests that use the kits.
fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sdk/kits").join(name)
}

/// Runs tests that are expected to fail: what is printed.
#[track_caller]
fn failing(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().expect("a runner");
    let text = String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr);
    assert_eq!(status.code(), Some(1), "{text}");
    text
}

/// The judgement of the command `set_session_name` without a name, as far as it is the same each time.
const BROKEN: [&str; 3] = [
    "MUST host-schema: Every frame of the host is valid under the dialect's schema.",
    "client: {",
    "recording: ",
];

#[track_caller]
fn has_all(text: &str, expected: &[&str]) {
    let missing: Vec<_> = expected.iter().filter(|it| !text.contains(**it)).collect();
    assert!(missing.is_empty(), "{missing:?} are missing in:\n{text}");
}

/// pytest in a project that has the wheel.
fn pytest(name: &str) -> Option<(tempfile::TempDir, Command)> {
    let python = environment("sdk/python/requirements.txt")?;
    let (project, site) = wheel("sdk/python")?;
    let mut pytest = in_project(&python, project.path());
    pytest.env("PYTHONPATH", site).env("PYTHONDONTWRITEBYTECODE", "1").env_remove("PI_RPC_BIN");
    pytest.args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "--color=no", "--basetemp"]);
    pytest.arg(project.path().join("temporary")).arg(program(name)).arg("--rootdir").arg(project.path());
    Some((project, pytest))
}

/// Writes a program of a README, which has its name behind the fence, into the project.
fn readme_program(readme: &str, language: &str, name: &str, project: &Path) -> PathBuf {
    let text = fs::read_to_string(readme).expect("a README");
    let block =
        text.split(&format!("```{language} {name}\n")).nth(1).and_then(|rest| rest.split("```").next());
    let file = project.join(name);
    fs::write(&file, block.expect("a program")).expect("a file");
    file
}

#[test]
fn pytest_kit_passes_client_that_keeps_rules() {
    let Some((project, mut pytest)) = pytest("test_kept.py") else { return };
    pytest.arg(readme_program("sdk/python/README.md", "python", "test_client.py", project.path()));
    has_all(&printed(&mut pytest), &["6 passed"]);
}

#[test]
fn pytest_kit_fails_test_with_broken_rule() {
    let Some((_project, mut pytest)) = pytest("test_broken.py") else { return };
    let text = failing(&mut pytest);
    has_all(&text, &BROKEN);
    has_all(
        &text,
        &[
            "MUST host-line: ",
            "no conversation to judge: ",
            "Captured pi-rpc call",
            "3 failed, 2 passed, 2 errors",
        ],
    );
}

/// The runner of Node.js in a project that has the package.
fn node_test(name: &str) -> Option<(tempfile::TempDir, Command)> {
    let (project, _) = npm_project()?;
    let file = project.path().join(name);
    fs::copy(program(name), &file).expect("a file");
    let mut node = in_project(Path::new("node"), project.path());
    node.args(["--test", "--test-reporter=tap"]).arg(file).env_remove("PI_RPC_BIN");
    Some((project, node))
}

#[test]
fn node_kit_passes_client_that_keeps_rules() {
    let Some((project, mut node)) = node_test("kept.test.mjs") else { return };
    node.arg(readme_program("sdk/typescript/README.md", "js", "client.test.mjs", project.path()));
    has_all(&printed(&mut node), &["# pass 5", "# fail 0"]);
}

#[test]
fn node_kit_fails_test_with_broken_rule() {
    let Some((_project, mut node)) = node_test("broken.test.mjs") else { return };
    let text = failing(&mut node);
    has_all(&text, &BROKEN);
    has_all(&text, &["MUST host-line: ", "no conversation to judge: ", "# pass 0", "# fail 3"]);
}

#[test]
fn vitest_kit_fails_test_with_broken_rule() {
    let Some((project, _)) = npm_project() else { return };
    let Some(tools) = packages("tests/sdk/kits/vitest") else { return };
    fs::copy(program("vitest/client.test.mjs"), project.path().join("client.test.mjs")).expect("a file");
    // Vite looks for its packages beside the project's own.
    for module in fs::read_dir(tools.join("node_modules")).expect("node_modules").flatten() {
        let link = project.path().join("node_modules").join(module.file_name());
        if !link.exists() {
            symlink(module.path(), link).expect("a link");
        }
    }
    let mut vitest = in_project(Path::new("node"), project.path());
    vitest.arg(tools.join("node_modules/vitest/vitest.mjs")).args(["run", "--reporter=verbose"]);
    let text = failing(vitest.env("NO_COLOR", "1").env_remove("PI_RPC_BIN"));
    has_all(&text, &BROKEN);
    has_all(&text, &["1 failed | 1 passed"]);
}
