//! Packages of npm, unpacked but not installed; versions of packages of npm, crates.io and PyPI; tags of repositories.

use super::Release;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

pub struct Registry {
    /// Where packages are kept, each in a folder by name and version.
    pub folder: PathBuf,
}

impl Registry {
    /// Version of the newest release of a package of npm, or of `crates.io/NAME` or `pypi/NAME`.
    ///
    /// # Errors
    ///
    /// The client of the registry cannot be run, or does not know the package.
    pub fn newest(&self, package: &str) -> Result<String, String> {
        if let Some(name) = package.strip_prefix("crates.io/") {
            return newest_crate(&output(Command::new("cargo").args([
                "info",
                "--registry",
                "crates-io",
                name,
            ]))?);
        }
        if let Some(name) = package.strip_prefix("pypi/") {
            return newest_of_pypi(&output(Command::new("pip").args(["index", "versions", name]))?);
        }
        Ok(output(Command::new("npm").args(["view", package, "version"]))?.trim().to_owned())
    }

    /// The tag of a repository with the highest version.
    ///
    /// # Errors
    ///
    /// git cannot be run, or the repository cannot be reached.
    pub fn newest_tag(&self, address: &str) -> Result<String, String> {
        let mut git = Command::new("git");
        git.args(["ls-remote", "--tags", "--refs", "--sort=version:refname", address]);
        let tags = output(&mut git)?;
        let newest = tags.lines().last().and_then(|line| line.rsplit_once("refs/tags/"));
        newest.map(|(_, tag)| tag.to_owned()).ok_or_else(|| format!("{address} has no tags"))
    }

    /// A release of an agent, unpacked.
    ///
    /// # Errors
    ///
    /// As [`Self::newest`], or the package cannot be written.
    pub fn release(&self, package: &str, version: &str, parts: &[String]) -> Result<Release, String> {
        Ok(Release {
            version: version.to_owned(),
            folder: self.unpacked(package, version)?,
            parts: parts.iter().map(|part| self.unpacked(part, version)).collect::<Result<_, _>>()?,
        })
    }

    fn unpacked(&self, package: &str, version: &str) -> Result<PathBuf, String> {
        let name = format!("{}-{version}", package.trim_start_matches('@').replace('/', "-"));
        let folder = self.folder.join(&name);
        if !folder.join("package.json").is_file() {
            // Unpacked beside its place, so that a stopped run leaves no half of a package.
            let part = self.folder.join(format!("{name}.part"));
            drop(fs::remove_dir_all(&part));
            fs::create_dir_all(&part).map_err(|error| format!("{}: {error}", part.display()))?;
            let wanted = format!("{package}@{version}");
            let mut npm = Command::new("npm");
            npm.args(["pack", "--silent", &wanted, "--pack-destination"]).arg(&part);
            let archive = part.join(output(&mut npm)?.trim());
            output(Command::new("tar").arg("xzf").arg(&archive).arg("-C").arg(&part))?;
            move_folder(&part.join("package"), &folder)?;
            drop(fs::remove_dir_all(&part));
        }
        Ok(folder)
    }
}

/// Reads the newest version in what `cargo info` prints, which names another one where a lock file or an older Rust holds it.
fn newest_crate(told: &str) -> Result<String, String> {
    let line = told.lines().find_map(|line| line.strip_prefix("version: "));
    let line = line.ok_or("cargo info names no version")?;
    let newest = line.split_once("(latest ").map_or(line, |(_, latest)| latest);
    Ok(newest.split([' ', ')']).next().unwrap_or_default().to_owned())
}

/// Reads the newest version in what `pip index versions` prints: in its first line, in brackets.
fn newest_of_pypi(told: &str) -> Result<String, String> {
    let version = told.lines().next().and_then(|line| line.split_once('(')?.1.strip_suffix(')'));
    version.map(str::to_owned).ok_or_else(|| "pip index versions names no version".to_owned())
}

fn move_folder(from: &Path, to: &Path) -> Result<(), String> {
    fs::rename(from, to).map_err(|error| format!("{} to {}: {error}", from.display(), to.display()))
}

/// Standard output of a command that succeeds.
fn output(command: &mut Command) -> Result<String, String> {
    let shown = format!("{command:?}").replace('"', "");
    let output = command.output().map_err(|error| format!("{shown}: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => {
            let told = String::from_utf8_lossy(&output.stderr);
            Err(format!("{shown}: {}: {}", output.status, told.lines().last().unwrap_or_default()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_versions_are_read() {
        let held = "some-crate #tag\nText\nversion: 1.17.0 (latest 1.20.0)\nlicense: MIT\n";
        assert_eq!(newest_crate(held), Ok("1.20.0".to_owned()));
        assert_eq!(newest_crate("x\nversion: 0.1.2 (from crates.io)\n"), Ok("0.1.2".to_owned()));
        assert_eq!(newest_crate("version: 0.1.2\n"), Ok("0.1.2".to_owned()));
        assert_eq!(newest_crate("nothing"), Err("cargo info names no version".to_owned()));
        assert_eq!(newest_of_pypi("some-package (0.12.1)\nAvailable versions: …\n"), Ok("0.12.1".to_owned()));
    }
}
