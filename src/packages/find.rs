//! All places together.

use super::{
    finder::{Candidate, Finder, SOURCE_NAMED},
    package::ResourceKind,
};
use crate::{
    config::{Config, Environment},
    protocol::{SourceInfo, SourceOrigin, SourceScope},
};
use std::{collections::HashSet, path::Path};

/// Where to look.
#[derive(Clone, Copy, Debug)]
pub struct PackagePlaces<'a> {
    /// The directories of the agent and of the project, and what the settings say.
    pub config: &'a Config,
    /// What the command line names: files, folders, packages.
    pub given: &'a [String],
    /// No extensions but those.
    pub only_given: bool,
    /// The working directory.
    pub working: &'a Path,
    /// Knows the home directory, and where npm installs.
    pub environment: &'a Environment,
    /// What is fetched is kept here.
    pub cache: &'a Path,
}

/// What was found, in pi's order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FoundPackages {
    /// pi's own extensions, each file once.
    pub extensions: Vec<SourceInfo>,
    /// Of what kind the first of them is.
    pub first: Option<SourcePlace>,
    /// The skills of packages.
    pub skills: PackageResources,
    /// The prompt templates of packages.
    pub templates: PackageResources,
    /// What the command line names and is no extension of pi nor a package, but perhaps an executable, by its place there.
    pub others: Vec<usize>,
    /// What could not be found.
    pub troubles: Vec<PackageFailure>,
    /// What the user should know, though it stops nothing.
    pub warnings: Vec<String>,
}

/// What packages bring along.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PackageResources {
    /// Those of the command line.
    pub given: Vec<SourceInfo>,
    /// Those of the settings.
    pub packaged: Vec<SourceInfo>,
}

/// Something that was named and is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageFailure {
    /// What was named.
    pub path: String,
    /// What is wrong with it.
    pub text: String,
}

/// Where something stands among what extends a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SourcePlace {
    /// At this place of the command line.
    Given(usize),
    /// In the lists of the settings.
    Listed,
    /// In the folders of extensions.
    Folder,
    /// In a package.
    Package,
}

/// Finds pi's extensions, and the skills and prompt templates of packages.
///
/// The order is that of pi: today the command line, then of the project what its settings name and what is in its folder,
/// the same of the user, then packages; before 0.58 packages, what the settings name, the folders, the user first in each,
/// then the command line. Of a file that is found twice, the first counts; one that the settings exclude is still found.
pub fn find(places: &PackagePlaces<'_>) -> FoundPackages {
    let mut finder = Finder::new(places);
    let sorted = places.config.dialect.record().project_first;
    finder.add_packages();
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

/// The order of what is not named by the command line, from 0.58 on.
fn rank(info: &SourceInfo) -> u8 {
    let scope = match info.scope {
        SourceScope::Project => 0,
        _ => 2,
    };
    match info.origin {
        SourceOrigin::Package => 4,
        _ => scope + if is_named(info) { 0 } else { 1 },
    }
}

/// Each file once, and of those that stay what the settings do not exclude.
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
    /// Reports what was left out, but for what is found elsewhere, too.
    fn report(&mut self, withheld: Vec<PackageFailure>) {
        let real = |path: &str| Path::new(path).canonicalize().ok();
        let loaded: HashSet<_> = self.extensions.iter().map(|it| real(&it.path)).collect();
        self.troubles.extend(withheld.into_iter().filter(|it| !loaded.contains(&real(&it.path))));
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

/// Whether the settings name it, or the folder that it is in.
fn is_named(info: &SourceInfo) -> bool {
    info.source == SOURCE_NAMED
}
