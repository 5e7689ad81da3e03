//! Which extensions there are, and in which order they are asked.
#![cfg(feature = "serve")]

use pi_rpc::{
    config::Environment,
    extension::{Found, Places, find},
};
use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::PathBuf,
};
use tempfile::TempDir;

struct House(TempDir);

impl House {
    fn with(files: &[&str]) -> Self {
        let house = Self(tempfile::tempdir().unwrap());
        files.iter().for_each(|name| house.file(name, 0o755));
        house
    }

    fn file(&self, name: &str, mode: u32) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Finds; paths below this house are told without it.
    fn finds(&self, named: &[&str], configured: &[&str], folders: &[&str]) -> Found {
        let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let home = self.path("home").to_str().unwrap().to_owned();
        let found = find(&Places {
            named: &own(named),
            configured: &own(configured),
            folders: &folders.iter().map(|name| self.path(name)).collect::<Vec<_>>(),
            directory: self.0.path(),
            environment: &[("HOME", home)].into_iter().collect::<Environment>(),
        });
        let house = format!("{}/", self.0.path().display());
        let short = |texts: Vec<String>| texts.iter().map(|text| text.replace(&house, "")).collect();
        Found { paths: short(found.paths), warnings: short(found.warnings) }
    }

    fn finds_paths(&self, named: &[&str], configured: &[&str], folders: &[&str]) -> Vec<String> {
        let Found { paths, warnings } = self.finds(named, configured, folders);
        assert_eq!(warnings, Vec::<String>::new());
        paths
    }
}

#[test]
fn the_command_line_comes_before_the_settings_and_those_before_the_folders() {
    let house = House::with(&["a/z", "b/y", "home/x", "w"]);
    let found = house.finds_paths(&["w", "~/x"], &["b"], &["a", "nowhere"]);
    assert_eq!(found, ["w", "home/x", "b/y", "a/z"]);
}

#[test]
fn a_folder_has_its_executables_and_those_that_stand_for_its_folders_by_name() {
    let house =
        House::with(&["e/b.py", "e/a", "e/c/index", "e/d/index.sh", "e/d/other", "e/f/other", "e/g/h/index"]);
    for (name, mode) in [("e/helper.py", 0o644), ("e/.hidden", 0o755), ("e/a~", 0o755)] {
        house.file(name, mode);
    }
    assert_eq!(house.finds_paths(&[], &[], &["e"]), ["e/a", "e/b.py", "e/c/index", "e/d/index.sh"]);
    assert_eq!(house.finds_paths(&["e"], &[], &[]), ["e/a", "e/b.py", "e/c/index", "e/d/index.sh"]);
    assert_eq!(house.finds_paths(&["e/d"], &[], &[]), ["e/d/index.sh"]);

    house.file("e/plain.ts", 0o644);
    let left_out = "e/plain.ts: extensions in TypeScript cannot be run yet; left out";
    assert_eq!(house.finds(&[], &[], &["e"]).warnings, [left_out]);
}

#[test]
fn a_file_is_taken_once_by_whatever_name() {
    let house = House::with(&["e/a", "e/b"]);
    symlink(house.path("e/a"), house.path("e/link")).unwrap();
    let absolute = house.path("e/b").to_str().unwrap().to_owned();
    assert_eq!(house.finds_paths(&["e/link", "./e/../e/a"], &[&absolute], &["e"]), ["e/link", "e/b"]);
}

#[test]
fn what_is_named_is_taken_even_if_it_cannot_be_started() {
    let house = House::with(&[]);
    house.file("plain.ts", 0o644);
    assert_eq!(house.finds_paths(&["plain.ts", "missing"], &["gone"], &[]), ["plain.ts", "missing", "gone"]);
}

#[test]
fn what_cannot_be_taken_is_warned_of() {
    let house = House::with(&["e/a"]);
    house.file("empty/plain", 0o644);
    let warnings = [
        "empty: no executable in this folder",
        "extensions: !e/a: patterns are not understood; left out",
        "extensions: e/*: patterns are not understood; left out",
    ];
    let found = Found { paths: Vec::new(), warnings: warnings.map(str::to_owned).to_vec() };
    assert_eq!(house.finds(&["empty"], &["!e/a", "e/*"], &[]), found);
}
