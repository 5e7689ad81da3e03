//! The published packages, installed once.

use std::{
    env, fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
    thread,
};

/// The releases that files are exchanged with: of the dialect `pi`, and the last of its name.
pub const RELEASES: [&str; 2] = ["0.52.12", "0.73.1"];

const PACKAGE: &str = "@mariozechner/pi-coding-agent";

/// Set to 1, it makes a failure of what else would be left out.
const REQUIRED: &str = "PI_RPC_REQUIRE_PEERS";

/// The programs of the [`RELEASES`]; `None` where they cannot be had, which is told.
pub fn peers() -> Option<[&'static Path; 2]> {
    static INSTALLED: OnceLock<Result<[PathBuf; 2], String>> = OnceLock::new();
    match INSTALLED.get_or_init(install_all) {
        Ok(paths) => Some(paths.each_ref().map(PathBuf::as_path)),
        Err(reason) if env::var(REQUIRED).is_ok_and(|value| value == "1") => {
            panic!("{REQUIRED}=1, and pi cannot be installed: {reason}")
        }
        Err(reason) => {
            let test = thread::current().name().unwrap_or("a test").to_owned();
            // Tests that pass are not heard by the usual macros.
            let _ = writeln!(io::stderr(), "NOT RUN: {test}: no real pi to exchange files with: {reason}");
            None
        }
    }
}

fn install_all() -> Result<[PathBuf; 2], String> {
    node()?;
    let both = thread::scope(|scope| {
        RELEASES.map(|version| scope.spawn(move || install(version))).map(|one| one.join().expect("no panic"))
    });
    let [old, new] = both;
    Ok([old?, new?])
}

/// Whether there is a Node.js that runs both.
fn node() -> Result<(), String> {
    let output = Command::new("node").arg("--version").output().map_err(|error| format!("node: {error}"))?;
    let version = String::from_utf8_lossy(&output.stdout);
    let major = version.trim().trim_start_matches('v').split('.').next().and_then(|major| major.parse().ok());
    match major {
        Some(20_u32..) => Ok(()),
        _ => Err(format!("node is {}, and 20 is needed", version.trim())),
    }
}

/// The program of that release, installed unless it is there already.
fn install(version: &str) -> Result<PathBuf, String> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target directory");
    let home = target.join("peers").join(version);
    let program = home.join("node_modules/.bin/pi");
    if program.exists() {
        return Ok(program);
    }
    // Under another name until it is whole: an installation may be killed, and several may run.
    let unfinished = home.with_extension(format!("{}.unfinished", std::process::id()));
    let text = |error: io::Error| format!("{}: {error}", unfinished.display());
    fs::create_dir_all(&unfinished).map_err(text)?;
    fs::write(unfinished.join("package.json"), "{\"private\": true}").map_err(text)?;
    let installed = Command::new("npm")
        .args(["install", "--no-save", "--ignore-scripts", "--omit=optional", "--no-audit", "--no-fund"])
        .args(["--no-update-notifier", "--fetch-retries=1", "--fetch-timeout=20000", "--loglevel=error"])
        .arg(format!("{PACKAGE}@{version}"))
        .current_dir(&unfinished)
        .stdin(Stdio::null())
        .output();
    let result = match installed {
        Err(error) => Err(format!("npm: {error}")),
        Ok(output) if !output.status.success() => Err(format!(
            "npm install {PACKAGE}@{version}: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        )),
        Ok(_) => Ok(()),
    };
    // Another run may have been faster; then its installation is as good.
    let renamed = result.and_then(|()| fs::rename(&unfinished, &home).map_err(text));
    if renamed.is_err() {
        let _ = fs::remove_dir_all(&unfinished);
    }
    if program.exists() { Ok(program) } else { renamed.map(|()| program) }
}
