//! Finds executable extensions: those named, and those in the folders for extensions.

use super::spawn::{is_pi_extension, is_program};
use pi_rpc_config::{Environment, expand_home};
use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
};

/// The stem of the executable that stands for its folder.
const INDEX: &str = "index";

/// The places to search for extensions.
#[derive(Clone, Debug)]
pub struct SearchPlaces<'a> {
    /// Files and folders named on the command line.
    pub named: &'a [String],
    /// Files and folders named in settings, absolute or beginning with `~`; patterns are left out. Empty where nothing
    /// may be discovered.
    pub configured: &'a [String],
    /// Folders to search; missing ones are ignored.
    pub folders: &'a [PathBuf],
    /// As `configured`, from a project that is not approved: not to be started.
    pub withheld_configured: &'a [String],
    /// As `folders`, from a project that is not approved: not to be started.
    pub withheld_folders: &'a [PathBuf],
    /// The base of relative names.
    pub directory: &'a Path,
    /// Environment variables, for the home directory.
    pub environment: &'a Environment,
    /// The position of the Node host, if there are extensions of pi's own kind.
    pub pi_extensions: Option<Position>,
}

/// A position in the order of extensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// Before this one of the command line.
    Named(usize),
    /// Before those of the settings.
    Configured,
    /// Before those of the folders.
    Folders,
    /// After all of them.
    Last,
}

/// The executable extensions, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundExtensions {
    /// Absolute paths, in the order in which hooks are sent; each file once.
    pub paths: Vec<String>,
    /// The index in `paths` before which the process of pi's own extensions comes, if there are any.
    pub pi_extensions: Option<usize>,
    /// Absolute paths of extensions that are not to be started: their project is not approved.
    pub withheld: Vec<String>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// Finds the extensions that are executables: those of the command line, then of the settings, then of the folders.
///
/// A name is that of an executable, or of a folder. In a folder, an executable `index` (with any ending) stands for
/// all of it; without one, its executables are meant and the `index` of each folder in it, in the order of their
/// names. Hidden files and copies that end in `~` are left out. A named file is taken even if it cannot be started:
/// the host is notified of the reason. Sources of the order: pi source.
pub fn find(places: &SearchPlaces<'_>) -> FoundExtensions {
    let mut finder = Finder { pi_extensions: places.pi_extensions, ..Finder::default() };
    for (number, name) in places.named.iter().enumerate() {
        finder.reach(Position::Named(number));
        finder.add_named(places, name);
    }
    finder.reach(Position::Named(places.named.len()));
    finder.reach(Position::Configured);
    finder.add_configured(places, places.configured);
    finder.reach(Position::Folders);
    for folder in places.folders {
        finder.add_members(folder);
    }
    finder.reach(Position::Last);
    // Files that other places contain, too, are known by now.
    let mut withheld = Finder { known: finder.known, ..Finder::default() };
    withheld.add_configured(places, places.withheld_configured);
    for folder in places.withheld_folders {
        withheld.add_members(folder);
    }
    FoundExtensions { withheld: withheld.found.paths, ..finder.found }
}

#[derive(Default)]
struct Finder {
    found: FoundExtensions,
    /// The files found, by their real paths.
    known: HashSet<PathBuf>,
    pi_extensions: Option<Position>,
}

impl Finder {
    fn reach(&mut self, position: Position) {
        if self.pi_extensions == Some(position) {
            self.found.pi_extensions = Some(self.found.paths.len());
        }
    }

    fn add_configured(&mut self, places: &SearchPlaces<'_>, names: &[String]) {
        let is_pattern = |name: &&String| name.starts_with(['!', '+', '-']) || name.contains(['*', '?']);
        for name in names.iter().filter(|name| !is_pattern(name)) {
            self.add_named(places, name);
        }
    }

    fn add_named(&mut self, places: &SearchPlaces<'_>, name: &str) {
        let path = places.directory.join(expand_home(name, places.environment));
        match path.is_dir() {
            true => self.add_named_folder(path),
            // An extension of pi's own kind, found by `packages`.
            false if is_pi_extension(&path) && path.exists() => {}
            false => self.add(path),
        }
    }

    fn add(&mut self, path: PathBuf) {
        let real = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        if !self.known.insert(real) {
            return;
        }
        match path.into_os_string().into_string() {
            Ok(path) => self.found.paths.push(path),
            Err(path) => {
                self.found.warnings.push(format!("{}: the name is not UTF-8; left out", path.display()));
            }
        }
    }

    fn add_named_folder(&mut self, folder: PathBuf) {
        if let Some(index) = index(&folder) {
            return self.add(index);
        }
        let before = self.found.paths.len();
        self.add_members(&folder);
        if self.found.paths.len() == before && !members(&folder).iter().any(|path| is_pi_extension(path)) {
            self.found.warnings.push(format!("{}: no executable in this folder", folder.display()));
        }
    }

    fn add_members(&mut self, folder: &Path) {
        for path in members(folder) {
            if path.is_dir() {
                index(&path).into_iter().for_each(|index| self.add(index));
            } else if is_program(&path) {
                self.add(path);
            }
        }
    }
}

/// The executable that stands for a folder.
fn index(folder: &Path) -> Option<PathBuf> {
    let is_index = |path: &PathBuf| path.file_stem().is_some_and(|stem| stem == INDEX);
    members(folder).into_iter().find(|path| is_index(path) && is_program(path))
}

/// The visible files of a folder, by name.
fn members(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    names.retain(|name| {
        let name = name.as_encoded_bytes();
        !name.starts_with(b".") && !name.ends_with(b"~")
    });
    names.sort();
    names.into_iter().map(|name| folder.join(name)).collect()
}
