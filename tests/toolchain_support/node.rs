//! Node.js and packages of npm.

use super::{had, installed, run};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Environment variable: 1 turns a missing Node.js into a failure.
const REQUIRED: &str = "PI_RPC_REQUIRE_NODE";

/// The folder that has `node_modules`, as the `package.json` and the `package-lock.json` of `folder` (of this project)
/// say; `None` where it cannot be had, which is told.
pub fn packages(folder: &str) -> Option<PathBuf> {
    had(locked(folder, &[]), REQUIRED)
}

/// Installs [`packages`] with further options for npm; the error says why that failed.
pub fn locked(folder: &str, options: &[&str]) -> Result<PathBuf, String> {
    let version = node()?;
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let read = |name: &str| {
        fs::read_to_string(source.join(name)).map_err(|error| format!("{folder}/{name}: {error}"))
    };
    let files = [("package.json", read("package.json")?), ("package-lock.json", read("package-lock.json")?)];
    let from = format!("{version}\n{}{}", files[0].1, files[1].1);
    installed(&format!("toolchains/node-{}", folder.replace('/', "-")), &from, |home| {
        for (name, text) in &files {
            fs::write(home.join(name), text).map_err(|error| format!("{}: {error}", home.display()))?;
        }
        run(npm("ci").args(options).current_dir(home)).map(drop)
    })
}

/// Version of the installed Node.js, if recent enough.
pub fn node() -> Result<String, String> {
    let version = run(Command::new("node").arg("--version"))?;
    let major = version.trim_start_matches('v').split('.').next().and_then(|major| major.parse().ok());
    match major {
        Some(20_u32..) => Ok(version),
        _ => Err(format!("node is {version}, and 20 is needed")),
    }
}

/// `npm` with that command: quiet, quick to give up, and without the scripts of packages.
pub fn npm(command: &str) -> Command {
    let mut npm = Command::new("npm");
    npm.args([command, "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"]);
    npm.args(["--fetch-retries=1", "--fetch-timeout=20000", "--loglevel=error"]);
    npm
}
