//! Scripts of commands that the user has saved: a file of JSON Lines each.

use super::wire::Script;
use pi_rpc_files::private_files;
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// The folder with the scripts.
#[derive(Clone, Debug)]
pub struct ScriptFolder(PathBuf);

/// The longest name, in bytes.
const LONGEST_NAME: usize = 64;
/// The most scripts that are listed.
const MAX_SCRIPTS: usize = 1000;
/// The ending of the files.
const ENDING: &str = ".jsonl";

impl ScriptFolder {
    /// The scripts in this folder, which need not exist.
    pub fn new(folder: &Path) -> Self {
        Self(folder.to_owned())
    }

    /// All scripts, by name.
    pub fn list(&self) -> Vec<Script> {
        let Ok(entries) = fs::read_dir(&self.0) else { return Vec::new() };
        let names = entries.flatten().filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            Some(name.strip_suffix(ENDING)?.to_owned())
        });
        let mut names: Vec<String> = names.filter(|name| is_name(name)).take(MAX_SCRIPTS).collect();
        names.sort();
        names.into_iter().filter_map(|name| self.read(&name)).collect()
    }

    /// The script with this name.
    pub fn read(&self, name: &str) -> Option<Script> {
        let text = fs::read_to_string(self.path(name).ok()?).ok()?;
        let lines = text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect();
        Some(Script { name: name.to_owned(), lines })
    }

    /// Saves a script.
    ///
    /// # Errors
    ///
    /// The name is none, a line has a line feed, or the system refuses.
    pub fn save(&self, name: &str, lines: &[String]) -> io::Result<()> {
        let path = self.path(name)?;
        if lines.iter().any(|line| line.contains(['\n', '\r'])) {
            return Err(invalid("lines: expected one line each, got a line feed".to_owned()));
        }
        private_files::create_folder(&self.0)?;
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        private_files::write(&path, &text)
    }

    /// Removes a script.
    ///
    /// # Errors
    ///
    /// There is none with this name, or the system refuses.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path(name)?)
    }

    fn path(&self, name: &str) -> io::Result<PathBuf> {
        match is_name(name) {
            true => Ok(self.0.join(format!("{name}{ENDING}"))),
            false => Err(invalid(format!("{name:?}: expected a name of letters, digits, blanks, - and _"))),
        }
    }
}

fn is_name(name: &str) -> bool {
    let is_letter = |letter: char| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_');
    !name.trim().is_empty() && name.len() <= LONGEST_NAME && name.chars().all(is_letter)
}

fn invalid(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let scripts = ScriptFolder::new(&folder.path().join("scripts"));
        for name in ["../a", "a/b", ".", "", " ", "a\n"] {
            assert!(scripts.save(name, &[]).is_err(), "{name:?}");
        }
        scripts.save("my script", &["{}".to_owned()]).unwrap();
        assert_eq!(scripts.list(), [Script { name: "my script".to_owned(), lines: vec!["{}".to_owned()] }]);
        scripts.remove("my script").unwrap();
        assert_eq!(scripts.list(), []);
    }
}
