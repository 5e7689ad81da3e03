//! Skills and prompt templates on a disk, for tests.
#![allow(dead_code)] // each test binary uses its part

use pi_rpc::{
    prompt::discover::{Discovered, SearchPlaces},
    protocol::Base,
};
use std::{
    fs,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

/// A home with a project in it, which is a repository.
pub struct Home(pub TempDir);

impl Home {
    pub fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        home.put("work/.git/HEAD", "");
        home
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    /// Writes a file and the directories above it.
    pub fn put(&self, path: &str, text: &str) -> &Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// Writes a skill with this name and description, in a directory of its name.
    pub fn skill(&self, directory: &str, name: &str, description: &str) -> &Self {
        let text = format!("---\nname: {name}\ndescription: {description}\n---\nDo {description}.\n");
        self.put(&format!("{directory}/{name}/SKILL.md"), &text)
    }

    /// Links `from` to `to`.
    pub fn link(&self, from: &str, to: &str) -> &Self {
        std::os::unix::fs::symlink(self.path(to), self.path(from)).unwrap();
        self
    }

    /// A server in `work`, whose user has this home.
    pub fn places(&self) -> SearchPlaces {
        SearchPlaces {
            working: self.path("work"),
            home: Some(self.0.path().to_owned()),
            user: self.path(".pi/agent"),
            project: self.path("work/.pi"),
            ..SearchPlaces::default()
        }
    }

    /// Names, descriptions and paths of what `get_commands` lists, and the warnings; paths begin at the home.
    pub fn found(&self, places: &SearchPlaces) -> (Vec<String>, Vec<String>) {
        let Discovered { commands, warnings } = Discovered::find(places);
        let commands = commands.list(Base::Pi).map(|it| {
            let (description, path) = (it.description.unwrap(), it.path.unwrap());
            format!("{} | {description} | {:?} | {}", it.name, it.location.unwrap(), self.short(&path))
        });
        (commands.collect(), warnings.iter().map(|warning| self.short(warning)).collect())
    }

    /// A text in which `~` stands for the home.
    pub fn short(&self, text: &str) -> String {
        text.replace(&self.0.path().display().to_string(), "~")
    }
}

/// Names of the found commands; fails on a warning.
#[track_caller]
pub fn names(home: &Home, places: &SearchPlaces) -> Vec<String> {
    let (found, warnings) = home.found(places);
    assert_eq!(warnings, Vec::<String>::new());
    found.iter().map(|line| line.split(" | ").next().unwrap_or_default().to_owned()).collect()
}

/// Compares the warnings with a snapshot.
#[track_caller]
pub fn assert_warnings(name: &str, warnings: &[String]) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, warnings.join("\n")));
}

/// A list of the settings or of the command line.
pub fn list(entries: &[&str]) -> Vec<String> {
    entries.iter().map(|entry| (*entry).to_owned()).collect()
}

/// The path of a file of this test.
pub fn path(path: &str) -> &Path {
    Path::new(path)
}
