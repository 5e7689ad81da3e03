//! Collects extensions, skills and templates from each place: packages, settings, folders, command line.

use super::{
    fetch::fetch,
    find::{FoundPackages, PackageFailure, PackagePlaces, SourcePlace},
    folder,
    installed::find_installed,
    package::{ResourceKind, changelog, package_files},
    source::Source,
};
use pi_rpc_config::{Package, ProjectCode, expand_home, settings::PathList};
use pi_rpc_extension::is_pi_extension;
use pi_rpc_prompt::path_patterns::{PathPatterns, absolute};
use pi_rpc_protocol::{DialectExtensionApi, SourceInfo, SourceOrigin, SourceScope};
use std::path::{Path, PathBuf};

/// pi's `source` of a file that the settings name; below, of one in a folder of extensions and of the command line.
pub(super) const SOURCE_NAMED: &str = "local";
const SOURCE_IN_FOLDER: &str = "auto";
const SOURCE_GIVEN: &str = "cli";

/// A file that may be loaded.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) kind: ResourceKind,
    pub(super) path: PathBuf,
    pub(super) info: SourceInfo,
    pub(super) place: SourcePlace,
    /// Whether the settings do not exclude the file.
    pub(super) is_enabled: bool,
}

/// Collects candidates from the places, in the order of the calls.
pub(super) struct Finder<'a> {
    places: &'a PackagePlaces<'a>,
    /// Failures and warnings so far.
    pub(super) found: FoundPackages,
    /// Candidates, in the order in which they were found.
    pub(super) candidates: Vec<Candidate>,
    /// Extensions that are left out because the project is not approved.
    pub(super) withheld: Vec<PackageFailure>,
}

/// An owner of settings: the user or the project.
#[derive(Clone, Copy)]
struct Owner<'a> {
    scope: SourceScope,
    directory: &'a Path,
}

impl<'a> Finder<'a> {
    pub(super) fn new(places: &'a PackagePlaces<'a>) -> Self {
        Self { places, found: FoundPackages::default(), candidates: Vec::new(), withheld: Vec::new() }
    }

    /// User and project, in the order of the dialect.
    fn owners(&self) -> Vec<Owner<'a>> {
        let directories = &self.places.config.directories;
        let user = Owner { scope: SourceScope::User, directory: &directories.agent };
        let project = Owner { scope: SourceScope::Project, directory: &directories.project };
        let both = match self.places.config.dialect.record().project_first {
            true => [project, user],
            false => [user, project],
        };
        both.to_vec()
    }

    /// Adds an extension of `owner`, or records that the project is not approved.
    fn add_extension(&mut self, owner: Owner<'_>, extension: Candidate) {
        let approval = &self.places.config.approval;
        if approval.admits(owner.directory, ProjectCode::Script) {
            self.candidates.push(extension);
        } else if extension.is_enabled {
            let text = approval.refusal(ProjectCode::Script);
            self.withheld.push(PackageFailure { path: extension.info.path, text });
        }
    }

    /// Adds the packages of the settings. If both owners name one, the project's entry counts, unless it only filters.
    pub(super) fn add_packages(&mut self) {
        let lists = &self.places.config.settings.packages;
        let of = |owner: Owner<'a>| {
            let lists = lists.iter().filter(move |list| list.directory == owner.directory);
            lists
                .flat_map(|list| &list.entries)
                .map(move |package| (owner, package, Source::parse(&package.source)))
        };
        let approval = &self.places.config.approval;
        let admits = |owner: &Owner<'a>| approval.admits(owner.directory, ProjectCode::Package);
        let (owners, refused): (Vec<_>, Vec<_>) = self.owners().into_iter().partition(admits);
        let refused = refused.into_iter().flat_map(of).map(|(_, package, _)| PackageFailure {
            path: package.source.clone(),
            text: approval.refusal(ProjectCode::Package),
        });
        self.found.excused.extend(refused);
        let all: Vec<(Owner<'a>, &Package, Source)> = owners.into_iter().flat_map(of).collect();
        let mut done: Vec<(String, SourceScope)> = Vec::new();
        for (owner, package, source) in &all {
            let name = |owner: &Owner<'_>, source: &Source| self.identity(owner, source);
            let own = name(owner, source);
            let elsewhere = |(other, _, source): &&(Owner<'a>, &Package, Source)| {
                other.scope != owner.scope && name(other, source) == own
            };
            let hidden = owner.scope == SourceScope::User
                && all.iter().filter(elsewhere).any(|(_, package, _)| package.autoload != Some(false));
            if hidden || done.contains(&(own.clone(), owner.scope)) {
                continue;
            }
            // A package that the project only filters is in the user's directory.
            let base = all.iter().filter(elsewhere).map(|(other, ..)| *other).next();
            let base =
                base.filter(|_| owner.scope == SourceScope::Project && package.autoload == Some(false));
            done.push((own, owner.scope));
            self.add_package(*owner, base.unwrap_or(*owner), package, source);
        }
    }

    /// The identity of a package, without version and protocol.
    fn identity(&self, owner: &Owner<'_>, source: &Source) -> String {
        match source {
            Source::Npm { name, .. } => format!("npm:{name}"),
            Source::Git { host, path, .. } => format!("git:{host}/{path}"),
            Source::Local(path) => {
                let path = absolute(owner.directory, expand_home(path, self.places.environment));
                format!("local:{}", path.display())
            }
        }
    }

    fn add_package(&mut self, owner: Owner<'_>, base: Owner<'_>, package: &Package, source: &Source) {
        let of_user = base.scope == SourceScope::User;
        let Some(root) = find_installed(source, base.directory, of_user, self.places.environment) else {
            let folder = base.directory.display();
            let text = match source {
                Source::Local(_) => format!("there is no such package in {folder}"),
                Source::Npm { spec, .. } => {
                    format!("the package is not installed: npm install --prefix {folder}/npm {spec}")
                }
                Source::Git { repository, host, path, .. } => {
                    format!("the package is not installed: git clone {repository} {folder}/git/{host}/{path}")
                }
            };
            self.found.troubles.push(PackageFailure { path: package.source.clone(), text });
            return;
        };
        let root = absolute(&root, "");
        let tells = self.places.config.dialect.record().extension_api == DialectExtensionApi::V15;
        let changelog = changelog(&root).filter(|_| tells);
        let info = |path: &Path, base: &Path| SourceInfo {
            source: package.source.clone(),
            scope: owner.scope,
            origin: SourceOrigin::Package,
            changelog_path: changelog.clone(),
            ..basic_source_info(path, Some(base))
        };
        self.add_root(&root, package, SourcePlace::Package, info);
    }

    /// Adds the files of the package, folder or file at `root`; `false` if none is for pi.
    fn add_root(
        &mut self,
        root: &Path,
        package: &Package,
        place: SourcePlace,
        info: impl Fn(&Path, &Path) -> SourceInfo,
    ) -> bool {
        let candidates = |kind, path: PathBuf, base: &Path, is_enabled| {
            let info = info(&path, base);
            Candidate { kind, path, info, place, is_enabled }
        };
        if root.is_file() {
            let folder = root.parent().unwrap_or(root);
            self.candidates.extend(
                is_pi_extension(root)
                    .then(|| candidates(ResourceKind::Extensions, root.to_owned(), folder, true)),
            );
            return is_pi_extension(root);
        }
        let confinement = &self.places.config.confinement;
        match package_files(root, package, confinement, &mut self.found.warnings) {
            Some(parts) => {
                let before = self.candidates.len();
                for (kind, path, is_enabled) in parts {
                    // A manifest of the project names paths, too.
                    match confinement.owns(root).then(|| confinement.check_named_by_project(&path)) {
                        Some(Err(error)) if kind != ResourceKind::Extensions => {
                            let text = format!("{}: {error}; the file is left out", path.display());
                            self.found.warnings.push(text);
                        }
                        _ => self.candidates.push(candidates(kind, path, root, is_enabled)),
                    }
                }
                self.candidates.len() > before
            }
            // The folder itself is loaded.
            None if folder::entry_points(root).is_some() || folder::has_main(root) => {
                self.candidates.push(candidates(ResourceKind::Extensions, root.to_owned(), root, true));
                true
            }
            None => false,
        }
    }

    /// Adds the extensions that the settings name.
    pub(super) fn add_lists(&mut self) {
        for owner in self.owners() {
            let entries = self.entries(owner);
            let (kind, confinement) = (ResourceKind::Extensions, &self.places.config.confinement);
            let files = kind.files_of(entries.paths.clone(), confinement, &mut self.found.warnings);
            for path in files.into_iter().filter(|path| is_pi_extension(path) || path.is_dir()) {
                let info = SourceInfo {
                    source: SOURCE_NAMED.to_owned(),
                    scope: owner.scope,
                    ..basic_source_info(&path, None)
                };
                let is_enabled = entries.includes(&path);
                let kind = ResourceKind::Extensions;
                self.add_extension(
                    owner,
                    Candidate { kind, path, info, place: SourcePlace::Listed, is_enabled },
                );
            }
        }
    }

    /// Adds the extensions in the folders of user and project.
    pub(super) fn add_folders(&mut self) {
        for owner in self.owners() {
            let entries = self.entries(owner);
            for path in folder::extensions(&owner.directory.join(ResourceKind::Extensions.folder())) {
                let base = Some(owner.directory);
                let info = SourceInfo {
                    source: SOURCE_IN_FOLDER.to_owned(),
                    scope: owner.scope,
                    ..basic_source_info(&path, base)
                };
                let is_enabled = entries.includes_discovered(&path);
                let kind = ResourceKind::Extensions;
                self.add_extension(
                    owner,
                    Candidate { kind, path, info, place: SourcePlace::Folder, is_enabled },
                );
            }
        }
    }

    fn entries(&mut self, owner: Owner<'_>) -> PathPatterns {
        let lists = &self.places.config.settings.extensions;
        let lists = lists.iter().filter(|list: &&PathList| list.directory == owner.directory);
        let entries = lists.flat_map(|list| &list.entries);
        let entries: Vec<String> = entries
            .map(|entry| expand_home(entry, self.places.environment).to_string_lossy().into_owned())
            .collect();
        PathPatterns::new(&entries, owner.directory, &mut self.found.warnings)
    }

    /// Adds what the command line names. A file that is known from another place keeps its source.
    pub(super) fn add_given(&mut self, candidates: &[Candidate]) {
        for (number, given) in self.places.given.iter().enumerate() {
            let source = Source::parse(given);
            let root = match &source {
                Source::Local(path) => {
                    Ok(absolute(self.places.working, expand_home(path, self.places.environment)))
                }
                _ => {
                    let child = self.places.config.keys.secrets().child_environment();
                    let npm = self.places.config.settings.npm_command.as_deref().unwrap_or_default();
                    fetch(&source, self.places.cache, self.places.environment, npm, &child)
                }
            };
            let root = match root {
                Ok(root) if root.exists() => root,
                // The missing file might have been an executable.
                Ok(_) => {
                    self.found.others.push(number);
                    continue;
                }
                Err(text) => {
                    self.found.troubles.push(PackageFailure { path: given.clone(), text });
                    continue;
                }
            };
            let info = |path: &Path, _: &Path| {
                let elsewhere = candidates.iter().find(|it| it.path == path).map(|it| it.info.clone());
                elsewhere.unwrap_or_else(|| SourceInfo {
                    source: SOURCE_GIVEN.to_owned(),
                    ..basic_source_info(path, None)
                })
            };
            if !self.add_root(&root, &Package::new(given), SourcePlace::Given(number), info) {
                match source {
                    Source::Local(_) => self.found.others.push(number),
                    _ => {
                        let text = "the package contains no extension, skill or prompt template".to_owned();
                        self.found.troubles.push(PackageFailure { path: given.clone(), text });
                    }
                }
            }
        }
    }
}

/// The source of a file without further information.
fn basic_source_info(path: &Path, base: Option<&Path>) -> SourceInfo {
    SourceInfo {
        path: path.to_string_lossy().into_owned(),
        source: String::new(),
        scope: SourceScope::Temporary,
        origin: SourceOrigin::TopLevel,
        base_dir: base.map(|base| base.to_string_lossy().into_owned()),
        changelog_path: None,
    }
}
