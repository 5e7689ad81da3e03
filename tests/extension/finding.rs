//! Which extensions there are, and in which order they are asked.

use pi_rpc::{
    config::Environment,
    extension::{FoundExtensions, Position, SearchPlaces, find},
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
    fn finds(&self, named: &[&str], configured: &[&str], folders: &[&str]) -> FoundExtensions {
        self.finds_beside(None, named, configured, folders)
    }

    /// Finds what stands beside pi's own.
    fn finds_beside(
        &self,
        pi_extensions: Option<Position>,
        named: &[&str],
        configured: &[&str],
        folders: &[&str],
    ) -> FoundExtensions {
        let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let home = self.path("home").to_str().unwrap().to_owned();
        let found = find(&SearchPlaces {
            named: &own(named),
            configured: &own(configured),
            folders: &folders.iter().map(|name| self.path(name)).collect::<Vec<_>>(),
            withheld_configured: &[],
            withheld_folders: &[],
            directory: self.0.path(),
            environment: &[("HOME", home)].into_iter().collect::<Environment>(),
            pi_extensions,
        });
        let house = format!("{}/", self.0.path().display());
        let short = |texts: Vec<String>| texts.iter().map(|text| text.replace(&house, "")).collect();
        FoundExtensions { paths: short(found.paths), warnings: short(found.warnings), ..found }
    }

    fn finds_paths(&self, named: &[&str], configured: &[&str], folders: &[&str]) -> Vec<String> {
        let FoundExtensions { paths, warnings, .. } = self.finds(named, configured, folders);
        assert_eq!(warnings, Vec::<String>::new());
        paths
    }
}

#[test]
fn command_line_precedes_settings_and_folders() {
    let house = House::with(&["a/z", "b/y", "home/x", "w"]);
    let found = house.finds_paths(&["w", "~/x"], &["b"], &["a", "nowhere"]);
    assert_eq!(found, ["w", "home/x", "b/y", "a/z"]);
}

#[test]
fn folder_lists_executables_and_index_programs() {
    let house =
        House::with(&["e/b.py", "e/a", "e/c/index", "e/d/index.sh", "e/d/other", "e/f/other", "e/g/h/index"]);
    for (name, mode) in [("e/helper.py", 0o644), ("e/.hidden", 0o755), ("e/a~", 0o755)] {
        house.file(name, mode);
    }
    assert_eq!(house.finds_paths(&[], &[], &["e"]), ["e/a", "e/b.py", "e/c/index", "e/d/index.sh"]);
    assert_eq!(house.finds_paths(&["e"], &[], &[]), ["e/a", "e/b.py", "e/c/index", "e/d/index.sh"]);
    assert_eq!(house.finds_paths(&["e/d"], &[], &[]), ["e/d/index.sh"]);

    // pi's own are looked for elsewhere, though some of them may be executed by their modes.
    house.file("e/plain.ts", 0o644);
    house.file("e/odd.js", 0o755);
    assert_eq!(
        house.finds_paths(&["e/plain.ts"], &["e/odd.js"], &["e"]),
        ["e/a", "e/b.py", "e/c/index", "e/d/index.sh"]
    );
}

#[test]
fn file_with_several_names_loads_once() {
    let house = House::with(&["e/a", "e/b"]);
    symlink(house.path("e/a"), house.path("e/link")).unwrap();
    let absolute = house.path("e/b").to_str().unwrap().to_owned();
    assert_eq!(house.finds_paths(&["e/link", "./e/../e/a"], &[&absolute], &["e"]), ["e/link", "e/b"]);
}

#[test]
fn named_path_is_kept_even_if_missing() {
    let house = House::with(&[]);
    house.file("plain.py", 0o644);
    assert_eq!(house.finds_paths(&["plain.py", "missing"], &["gone"], &[]), ["plain.py", "missing", "gone"]);
}

#[test]
fn unusable_folder_gives_warning() {
    let house = House::with(&["e/a"]);
    house.file("empty/plain", 0o644);
    let warnings = vec!["empty: no executable in this folder".to_owned()];
    assert_eq!(
        house.finds(&["empty"], &["!e/a", "e/*"], &[]),
        FoundExtensions { warnings, ..FoundExtensions::default() }
    );
}

#[test]
fn pi_extension_process_takes_first_members_place() {
    let house = House::with(&["a", "b", "c", "d/e"]);
    for (position, place) in [
        (Position::Named(0), 0),
        (Position::Named(1), 1),
        (Position::Named(2), 2),
        (Position::Configured, 2),
        (Position::Folders, 3),
        (Position::Last, 4),
    ] {
        let found = house.finds_beside(Some(position), &["a", "b"], &["c"], &["d"]);
        assert_eq!((found.pi_extensions, found.paths.len()), (Some(place), 4), "{position:?}");
    }
}
