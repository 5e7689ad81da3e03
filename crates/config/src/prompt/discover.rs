//! Discovers skills and prompt templates. Blocks on the disk.
//!
//! The order decides which of equal names counts, and the order of lists: files named by the settings, then the usual
//! directories, then the command line. Packages are resolved elsewhere; their files come before those of the command
//! line, or first of all where the user precedes the project. Source: pi's `skills.md` and `prompt-templates.md`; the
//! order as observed.

use super::{files, walk};
use pi_rpc_files::confinement::Confinement;
use pi_rpc_prompt::{
    Commands, Skill, Template,
    path_patterns::{PathPatterns, absolute},
    source::{self, source_info},
};
use pi_rpc_protocol::{CommandLocation, SourceInfo, SourceScope};
use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
};

/// Places to search. All directories are absolute.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchPlaces {
    /// The working directory, the base of the command line's paths.
    pub working: PathBuf,
    /// The home directory, if known: its `.agents/skills` belongs to the user, too.
    pub home: Option<PathBuf>,
    /// The agent's own directory, with the user's `skills` and `prompts`.
    pub user: PathBuf,
    /// The project's own directory, with its `skills` and `prompts`.
    pub project: PathBuf,
    /// Whether skills and templates of the project are left out: it is not approved.
    pub withholds_project: bool,
    /// Whether the project's settings may name files outside of it: it is approved.
    pub project_names_any: bool,
    /// What the files of the project may be.
    pub confinement: Confinement,
    /// Whether the project precedes the user.
    pub project_first: bool,
    /// Named skills.
    pub skills: NamedPaths,
    /// Named prompt templates.
    pub templates: NamedPaths,
}

/// Paths of skills or templates that settings, command line and packages name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NamedPaths {
    /// List of the user's settings.
    pub by_user: Vec<String>,
    /// List of the project's settings.
    pub by_project: Vec<String>,
    /// Files and directories of the command line.
    pub given: Vec<String>,
    /// Whether only `given` counts.
    pub only_given: bool,
    /// Files of packages of the settings.
    pub packaged: Vec<SourceInfo>,
    /// Files of packages of the command line.
    pub brought: Vec<SourceInfo>,
}

/// The discovered commands, and warnings.
#[derive(Debug, Default, PartialEq)]
pub struct Discovered {
    /// Templates and skills.
    pub commands: Commands,
    /// A sentence for each file that was left out or breaks the rules.
    pub warnings: Vec<String>,
}

impl Discovered {
    /// Searches only these files and folders; relative paths begin at `working`.
    pub fn find_in(
        working: &Path,
        skills: Vec<String>,
        templates: Vec<String>,
        confinement: &Confinement,
    ) -> Self {
        let only = |given| NamedPaths { given, only_given: true, ..NamedPaths::default() };
        Self::find(&SearchPlaces {
            working: working.to_owned(),
            skills: only(skills),
            templates: only(templates),
            confinement: confinement.clone(),
            ..SearchPlaces::default()
        })
    }

    /// Searches all places.
    pub fn find(places: &SearchPlaces) -> Self {
        let mut found = Self::default();
        let mut known = HashSet::new();
        for candidate in places.candidates(CommandKind::Skill, &places.skills, &mut found.warnings) {
            // Several links may lead to one skill.
            let real = fs::canonicalize(&candidate.file).unwrap_or_else(|_| candidate.file.clone());
            if known.insert(real) {
                found.add_skill(places, candidate);
            }
        }
        for candidate in places.candidates(CommandKind::Template, &places.templates, &mut found.warnings) {
            found.add_template(places, candidate);
        }
        found
    }

    fn add_skill(&mut self, places: &SearchPlaces, FileCandidate { file, source }: FileCandidate) {
        let file = file.as_path();
        let Some(text) = self.text(file, &places.confinement) else { return };
        let (mut skill, warnings) = match Skill::read(file, &text, places.location(CommandKind::Skill, file))
        {
            Ok(read) => read,
            Err(error) => return self.warn_left_out(file, &error),
        };
        skill.source = source.unwrap_or(skill.source);
        self.warnings.extend(warnings.iter().map(|warning| format!("{}: {warning}", file.display())));
        match self.commands.skills.iter().find(|first| first.name == skill.name) {
            Some(first) => {
                let why = format!("the skill \"{}\" is there already: {}", first.name, first.path.display());
                self.warn_left_out(file, &why);
            }
            None => self.commands.skills.push(skill),
        }
    }

    fn add_template(&mut self, places: &SearchPlaces, FileCandidate { file, source }: FileCandidate) {
        let file = file.as_path();
        let Some(text) = self.text(file, &places.confinement) else { return };
        let location = places.location(CommandKind::Template, file);
        let mut template = match Template::read(file, &text, location) {
            Ok(template) => template,
            Err(error) => return self.warn_left_out(file, &error),
        };
        template.source = source.unwrap_or(template.source);
        match self.commands.templates.iter().find(|first| first.name == template.name) {
            Some(first) => {
                let why =
                    format!("the template \"{}\" is there already: {}", first.name, first.path.display());
                self.warn_left_out(file, &why);
            }
            None => self.commands.templates.push(template),
        }
    }

    fn text(&mut self, file: &Path, confinement: &Confinement) -> Option<String> {
        match files::text(file, confinement) {
            Ok(text) if walk::is_markdown(file) => return Some(text),
            Ok(_) => self.warn_left_out(file, "its name does not end in .md"),
            Err(error) => self.warn_left_out(file, &error.to_string()),
        }
        None
    }

    fn warn_left_out(&mut self, file: &Path, why: &str) {
        self.warnings.push(format!("{}: {why}; the file is left out", file.display()));
    }
}

/// The kind of file that is searched.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CommandKind {
    Skill,
    Template,
}

impl CommandKind {
    /// Name of the directory of this kind, at users and projects.
    const fn directory(self) -> &'static str {
        match self {
            Self::Skill => "skills",
            Self::Template => "prompts",
        }
    }

    /// Lists the files of a directory; with `further` also templates in subdirectories, where the settings name them.
    fn files(
        self,
        directory: &Path,
        further: bool,
        confinement: &Confinement,
        warnings: &mut Vec<String>,
    ) -> Vec<PathBuf> {
        match self {
            Self::Skill => walk::skills(directory, confinement, warnings),
            Self::Template => walk::templates(directory, further, confinement, warnings),
        }
    }
}

/// A file that may be a skill or a template.
struct FileCandidate {
    file: PathBuf,
    /// Its source; `None`: the command line.
    source: Option<SourceInfo>,
}

/// Skills or templates of the user, or of the project.
struct SearchScope {
    whose: SourceScope,
    entries: PathPatterns,
    directories: Vec<PathBuf>,
}

impl SearchPlaces {
    /// Lists the files, each path once.
    fn candidates(
        &self,
        kind: CommandKind,
        named: &NamedPaths,
        warnings: &mut Vec<String>,
    ) -> Vec<FileCandidate> {
        let mut candidates: Vec<FileCandidate> = Vec::new();
        let found = |file: PathBuf, source: SourceInfo| FileCandidate { file, source: Some(source) };
        let packaged = |all: &[SourceInfo]| -> Vec<FileCandidate> {
            all.iter().map(|source| found(PathBuf::from(&source.path), source.clone())).collect()
        };
        if self.project_first {
            candidates.extend(packaged(&named.brought));
        }
        if !named.only_given {
            if !self.project_first {
                candidates.extend(packaged(&named.packaged));
            }
            let scopes = self.scopes(kind, named, warnings);
            for SearchScope { whose, entries, .. } in &scopes {
                let confines = *whose == SourceScope::Project && !self.project_names_any;
                let mut named = Vec::new();
                // A settings file may be shared by machines that do not have all files.
                for path in entries.paths.iter().filter(|path| path.exists()) {
                    match self.confinement.check_named_by_project(path) {
                        Err(error) if confines => {
                            let text = format!(
                                "{}: {error}; what the project's settings name is left out",
                                path.display()
                            );
                            warnings.push(text);
                        }
                        _ => named.push(path),
                    }
                }
                let all = named.into_iter().flat_map(|path| match path.is_dir() {
                    true => kind.files(path, true, &self.confinement, warnings),
                    false => vec![path.clone()],
                });
                candidates.extend(all.filter(|file| entries.includes(file)).map(|file| {
                    let source = source_info(&file, source::SOURCE_NAMED, *whose, None);
                    found(file, source)
                }));
            }
            for SearchScope { whose, entries, directories } in &scopes {
                for directory in directories.iter().filter(|directory| directory.is_dir()) {
                    let all = kind.files(directory, false, &self.confinement, warnings).into_iter();
                    candidates.extend(all.filter(|file| entries.includes_discovered(file)).map(|file| {
                        let source =
                            source_info(&file, source::SOURCE_DISCOVERED, *whose, directory.parent());
                        found(file, source)
                    }));
                }
            }
            if self.project_first {
                candidates.extend(packaged(&named.packaged));
            }
        }
        if !self.project_first {
            candidates.extend(packaged(&named.brought));
        }
        for given in named.given.iter().map(|path| absolute(&self.working, path)) {
            let files = match given.is_dir() {
                true => kind.files(&given, false, &self.confinement, warnings),
                false => vec![given.clone()],
            };
            candidates.extend(files.into_iter().map(|file| FileCandidate { file, source: None }));
        }
        let mut seen = HashSet::new();
        candidates.retain(|candidate| seen.insert(candidate.file.clone()));
        candidates
    }

    /// User and project, in their order; the user alone where the project is not approved.
    fn scopes(&self, kind: CommandKind, named: &NamedPaths, warnings: &mut Vec<String>) -> Vec<SearchScope> {
        let shared = Path::new(".agents/skills");
        let of_home = self.home.as_ref().map(|home| home.join(shared));
        let mut user = vec![self.user.join(kind.directory())];
        let mut project = vec![self.project.join(kind.directory())];
        if kind == CommandKind::Skill {
            let of_repository = ancestors_in_repository(&self.working).into_iter().map(|it| it.join(shared));
            project.extend(of_repository.filter(|it| Some(it) != of_home.as_ref()));
            user.extend(of_home);
        }
        let entries = PathPatterns::new(&named.by_user, &self.user, warnings);
        let user = SearchScope { whose: SourceScope::User, entries, directories: user };
        let entries = PathPatterns::new(&named.by_project, &self.project, warnings);
        let project = SearchScope { whose: SourceScope::Project, entries, directories: project };
        if self.withholds_project {
            return vec![user];
        }
        if self.project_first { vec![project, user] } else { vec![user, project] }
    }

    /// The owner of the directory of a file.
    fn location(&self, kind: CommandKind, file: &Path) -> CommandLocation {
        if file.starts_with(self.user.join(kind.directory())) {
            CommandLocation::User
        } else if file.starts_with(self.project.join(kind.directory())) {
            CommandLocation::Project
        } else {
            CommandLocation::Path
        }
    }
}

/// A directory and its ancestors, up to the root of its repository, or of the file system.
fn ancestors_in_repository(directory: &Path) -> Vec<&Path> {
    let all: Vec<&Path> = directory.ancestors().collect();
    let root = all.iter().position(|it| it.join(".git").exists());
    all[..root.map_or(all.len(), |root| root + 1)].to_vec()
}
