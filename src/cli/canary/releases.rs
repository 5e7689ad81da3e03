//! Releases of pi: which npm has, and their installation.

use pi_rpc_files::secrets::ChildEnvironment;
use pi_rpc_processes::line_reader::read_beginning;
use serde_json::Value;
use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

/// The packages of agents, and the releases that were measured.
const UPSTREAM: &str = include_str!("../../../data/upstream.json");

/// Oldest Node.js that no release refuses whose package names none.
const NODE: u32 = 20;

/// A release that is wanted.
pub struct Release {
    package: String,
    version: String,
}

/// A release that can be started.
pub struct Installed {
    pub version: String,
    /// Node.js and the program.
    pub words: Vec<PathBuf>,
}

/// npm's registry, and where releases are installed.
pub struct Registry {
    package: String,
    folder: PathBuf,
}

impl Registry {
    /// `folder`: where releases are installed, if not in the user's folder for caches.
    ///
    /// # Errors
    ///
    /// No folder is given, and the user has no home.
    pub fn new(folder: Option<PathBuf>) -> Result<Self, String> {
        let upstream: Value = serde_json::from_str(UPSTREAM).unwrap_or_default();
        let package = upstream.pointer("/agents/pi/package").and_then(Value::as_str).unwrap_or_default();
        let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let caches = || variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
        let folder = folder.or_else(|| Some(caches()?.join("pi-rpc/releases")));
        let folder = folder.ok_or("--cache: expected a folder, since HOME is not set")?;
        let folder = std::path::absolute(&folder).map_err(|error| format!("--cache: {error}"))?;
        Ok(Self { package: package.to_owned(), folder })
    }

    /// The releases that are named, else the `last` ones that are not for trial, the oldest first.
    ///
    /// # Errors
    ///
    /// npm cannot be run, or does not know the package.
    pub fn named(&self, names: &[String], last: usize) -> Result<Vec<Release>, String> {
        if !names.is_empty() {
            return Ok(names.iter().map(|name| self.release(name)).collect());
        }
        if last == 0 {
            return Ok(Vec::new());
        }
        let told = output(Command::new("npm").args(["view", &self.package, "versions", "--json"]))?;
        let versions: Vec<String> =
            serde_json::from_str(&told).map_err(|error| format!("npm view {}: {error}", self.package))?;
        let mut versions: Vec<String> = versions.into_iter().filter(|it| !it.contains('-')).collect();
        versions.drain(..versions.len().saturating_sub(last));
        Ok(versions.into_iter().map(|version| Release { package: self.package.clone(), version }).collect())
    }

    /// `name`: a version, or a package, an `@` and a version.
    fn release(&self, name: &str) -> Release {
        match name.rsplit_once('@').filter(|(package, _)| !package.is_empty()) {
            Some((package, version)) => Release { package: package.to_owned(), version: version.to_owned() },
            None => Release { package: self.package.clone(), version: name.to_owned() },
        }
    }

    /// Installs a release, unless it is there already.
    ///
    /// # Errors
    ///
    /// npm cannot install it, or the package has no program.
    pub fn install(&self, release: Release) -> Result<Installed, String> {
        let Release { package, version } = release;
        let wanted = format!("{package}@{version}");
        let folder = self.folder.join(wanted.trim_start_matches('@').replace('/', "-"));
        if !folder.join(DONE).is_file() {
            eprintln!("canary: installing {wanted}");
            fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
            install(&folder, &[&wanted])?;
        }
        let home = folder.join("node_modules").join(&package);
        let manifest = fs::read_to_string(home.join("package.json"));
        let manifest = manifest.map_err(|error| format!("{wanted}: package.json: {error}"))?;
        let manifest: Value =
            serde_json::from_str(&manifest).map_err(|error| format!("{wanted}: package.json: {error}"))?;
        let program = manifest["bin"].as_object().and_then(|bin| bin.values().next()?.as_str());
        let program =
            program.or(manifest["bin"].as_str()).ok_or_else(|| format!("{wanted} has no program"))?;
        let node = self.node(&folder, &manifest)?;
        // Written last, so that half an installation is done again.
        fs::write(folder.join(DONE), "").map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Installed { version, words: vec![node, home.join(program)] })
    }

    /// The user's Node.js, or one that is recent enough for the package.
    fn node(&self, folder: &Path, manifest: &Value) -> Result<PathBuf, String> {
        let wanted =
            manifest.pointer("/engines/node").and_then(Value::as_str).and_then(major).unwrap_or(NODE);
        let own = output(Command::new("node").arg("--version")).ok().and_then(|told| major(&told));
        if own.is_some_and(|own| own >= wanted) {
            return Ok("node".into());
        }
        let (system, machine) = match (env::consts::OS, env::consts::ARCH) {
            (system, "x86_64") => (system, "x64"),
            (system, "aarch64") => (system, "arm64"),
            (system, other) => (system, other),
        };
        let system = if system == "macos" { "darwin" } else { system };
        let name = format!("node-{system}-{machine}");
        let program = folder.join("node_modules").join(&name).join("bin/node");
        if !program.is_file() {
            eprintln!("canary: installing Node.js {wanted}");
            install(folder, &[&format!("{name}@{wanted}")])?;
        }
        Ok(program)
    }
}

/// File of a folder whose installation is complete.
const DONE: &str = "installed";

/// The first number of a version, or of a range of versions.
fn major(text: &str) -> Option<u32> {
    let digits: String =
        text.chars().skip_while(|it| !it.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// Installs packages without running what they bring along.
fn install(folder: &Path, packages: &[&str]) -> Result<(), String> {
    let mut npm = Command::new("npm");
    npm.args([
        "install",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--no-update-notifier",
        "--loglevel=error",
    ]);
    output(npm.arg("--prefix").arg(folder).args(packages)).map(drop)
}

/// The most bytes of what a program prints, and of its errors.
const MOST_PRINTED: u64 = 4 << 20;

/// Standard output of a command that succeeds.
fn output(command: &mut Command) -> Result<String, String> {
    let shown = command.get_program().to_string_lossy().into_owned();
    let failed = |error: io::Error| format!("cannot start {shown}: {error}");
    ChildEnvironment::default().withhold_keys(command);
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(failed)?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let errors = thread::spawn(move || stderr.map(|it| read_beginning(it, MOST_PRINTED)));
    let told = stdout.map(|it| read_beginning(it, MOST_PRINTED)).transpose().map_err(failed)?;
    let status = child.wait().map_err(failed)?;
    if status.success() {
        return Ok(String::from_utf8_lossy(&told.unwrap_or_default()).into_owned());
    }
    let errors = errors.join().ok().flatten().and_then(Result::ok).unwrap_or_default();
    let errors = String::from_utf8_lossy(&errors);
    Err(format!("{shown}: {status}: {}", errors.trim().lines().last().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::major;

    #[test]
    fn first_number_is_found() {
        assert_eq!([">=22.19.0", "v20.20.2", "^18", "*"].map(major), [Some(22), Some(20), Some(18), None]);
    }
}
