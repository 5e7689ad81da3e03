//! Packages of npm, unpacked but not installed, and tags of repositories.

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
    /// Version of the newest release.
    ///
    /// # Errors
    ///
    /// npm cannot be run, or does not know the package.
    pub fn newest(&self, package: &str) -> Result<String, String> {
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
