//! Combines pi's extensions, skills and prompt templates of all places, in pi's order.

use super::{
    finder::{Candidate, Finder, SOURCE_NAMED},
    package::ResourceKind,
};
use pi_rpc_config::{Config, Environment};
use pi_rpc_protocol::{SourceInfo, SourceOrigin, SourceScope};
use std::{collections::HashSet, path::Path};

/// The places to search.
#[derive(Clone, Copy, Debug)]
pub struct PackagePlaces<'a> {
    /// Directories of the agent and of the project, and the settings.
    pub config: &'a Config,
    /// Files, folders and packages named on the command line.
    pub given: &'a [String],
    /// Whether only extensions of the command line count.
    pub only_given: bool,
    /// The working directory.
    pub working: &'a Path,
    /// Environment variables, for the home directory and npm's folders.
    pub environment: &'a Environment,
    /// The folder of fetched packages.
    pub cache: &'a Path,
}

/// Extensions, skills and prompt templates, in pi's order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FoundPackages {
    /// pi's own extensions, each file once.
    pub extensions: Vec<SourceInfo>,
    /// The place of the first extension.
    pub first: Option<SourcePlace>,
    /// The skills of packages.
    pub skills: PackageResources,
    /// The prompt templates of packages.
    pub templates: PackageResources,
    /// Indexes of the names on the command line that are neither an extension of pi nor a package, but perhaps an
    /// executable.
    pub others: Vec<usize>,
    /// Packages and extensions that could not be found.
    pub troubles: Vec<PackageFailure>,
    /// Packages and extensions that may be missing: their project is not approved, or no extension is wanted.
    pub excused: Vec<PackageFailure>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// Files of one kind that packages contain.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PackageResources {
    /// Files from packages of the command line.
    pub given: Vec<SourceInfo>,
    /// Files from packages of the settings.
    pub packaged: Vec<SourceInfo>,
}

/// A package or an extension that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageFailure {
    /// Its name or path, as given.
    pub path: String,
    /// The reason, for the user.
    pub text: String,
}

/// The place that names an extension, by precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SourcePlace {
    /// The command line, at this index.
    Given(usize),
    /// A list of the settings.
    Listed,
    /// A folder of extensions.
    Folder,
    /// A package of the settings.
    Package,
}

/// Finds pi's extensions, and the skills and prompt templates of packages.
///
/// The order is that of pi: today the command line, then of the project what its settings name and what is in its
/// folder, the same of the user, then packages; before 0.58 packages, what the settings name, the folders, the user
/// first in each, then the command line. Of a file that is found twice, the first counts; one that the settings
/// exclude is still found.
pub fn find(places: &PackagePlaces<'_>) -> FoundPackages {
    let mut finder = Finder::new(places);
    let sorted = places.config.dialect.record().project_first;
    finder.add_packages();
    if places.only_given {
        finder.found.excused.append(&mut finder.found.troubles);
    }
    finder.add_lists();
    finder.add_folders();
    let mut candidates = std::mem::take(&mut finder.candidates);
    if sorted {
        candidates.sort_by_key(|it| rank(&it.info));
    }
    finder.add_given(&candidates);
    let given = retain_enabled(std::mem::take(&mut finder.candidates));
    let mut candidates = retain_enabled(candidates);
    candidates.retain(|it| !places.only_given || it.kind != ResourceKind::Extensions);
    let (mut found, withheld) = (finder.found, finder.withheld);
    found.add(match sorted {
        true => [given, candidates].concat(),
        false => [candidates, given].concat(),
    });
    if !places.only_given {
        found.report(withheld);
    }
    found
}

/// The rank of an extension that the command line does not name, from pi 0.58 on.
fn rank(info: &SourceInfo) -> u8 {
    let scope = match info.scope {
        SourceScope::Project => 0,
        _ => 2,
    };
    match info.origin {
        SourceOrigin::Package => 4,
        _ => scope + if info.source == SOURCE_NAMED { 0 } else { 1 },
    }
}

/// Drops repeated files, then those that the settings exclude.
fn retain_enabled(all: Vec<Candidate>) -> Vec<Candidate> {
    let mut seen = HashSet::new();
    // Links may lead to one file in several ways.
    let real =
        |it: &Candidate| (it.kind.folder(), it.path.canonicalize().unwrap_or_else(|_| it.path.clone()));
    all.into_iter().filter(|it| seen.insert(real(it)) && it.is_enabled).collect()
}

impl FoundPackages {
    fn add(&mut self, all: Vec<Candidate>) {
        for Candidate { kind, info, place, .. } in retain_enabled(all) {
            match kind {
                ResourceKind::Extensions => {
                    self.first = Some(self.first.map_or(place, |first| first.min(place)));
                    self.extensions.push(info);
                }
                ResourceKind::Skills => self.skills.add(place, info),
                ResourceKind::Prompts => self.templates.add(place, info),
            }
        }
    }
}

impl FoundPackages {
    /// Reports withheld extensions, except those that are loaded from another place.
    fn report(&mut self, withheld: Vec<PackageFailure>) {
        let real = |path: &str| Path::new(path).canonicalize().ok();
        let loaded: HashSet<_> = self.extensions.iter().map(|it| real(&it.path)).collect();
        self.excused.extend(withheld.into_iter().filter(|it| !loaded.contains(&real(&it.path))));
    }
}

impl PackageResources {
    fn add(&mut self, place: SourcePlace, info: SourceInfo) {
        match place {
            SourcePlace::Given(_) => self.given.push(info),
            SourcePlace::Listed | SourcePlace::Folder | SourcePlace::Package => self.packaged.push(info),
        }
    }
}
