//! Lists the files of a package. Blocks on the disk.

use super::folder;
use globset::GlobBuilder;
use ignore::WalkBuilder;
use pi_rpc_config::{Package, prompt::walk};
use pi_rpc_files::{
    confinement::Confinement,
    regular_files::{self, MANIFEST},
};
use pi_rpc_prompt::path_patterns::{PathPatterns, absolute};
use serde::Deserialize;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The kinds of files in packages that the server uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResourceKind {
    Extensions,
    Skills,
    Prompts,
}

impl ResourceKind {
    pub(super) const ALL: [Self; 3] = [Self::Extensions, Self::Skills, Self::Prompts];

    /// The name of the folder for this kind, in a package or in the directory of an agent or a project.
    pub(super) const fn folder(self) -> &'static str {
        match self {
            Self::Extensions => "extensions",
            Self::Skills => "skills",
            Self::Prompts => "prompts",
        }
    }

    /// The files of this kind in a folder.
    fn files(self, folder: &Path, confinement: &Confinement, warnings: &mut Vec<String>) -> Vec<PathBuf> {
        match self {
            Self::Extensions => folder::extensions(folder),
            Self::Skills => walk::skills(folder, confinement, warnings),
            Self::Prompts => walk::templates(folder, true, confinement, warnings),
        }
    }

    /// Resolves paths to files of this kind; a folder stands for the files in it.
    pub(super) fn files_of(
        self,
        paths: Vec<PathBuf>,
        confinement: &Confinement,
        warnings: &mut Vec<String>,
    ) -> Vec<PathBuf> {
        let files = paths.into_iter().flat_map(|path| match path.is_dir() {
            true => self.files(&path, confinement, warnings),
            false => Vec::from_iter(path.is_file().then_some(path)),
        });
        files.collect()
    }
}

/// The `pi` of a `package.json`. A member that is no list of texts is absent.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Manifest {
    #[serde(deserialize_with = "texts")]
    pub(super) extensions: Option<Vec<String>>,
    #[serde(deserialize_with = "texts")]
    skills: Option<Vec<String>>,
    #[serde(deserialize_with = "texts")]
    prompts: Option<Vec<String>>,
    #[serde(deserialize_with = "texts")]
    themes: Option<Vec<String>>,
    #[serde(rename = "changelogPath")]
    changelog: Option<Value>,
}

fn texts<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(deserializer)?).ok())
}

#[derive(Deserialize)]
struct PackageJson {
    pi: Option<Manifest>,
    main: Option<Value>,
}

impl PackageJson {
    fn read(folder: &Path) -> Option<Self> {
        let text = regular_files::read_to_string(&folder.join("package.json"), MANIFEST).ok()?;
        serde_json::from_str(&text).ok()
    }
}

/// The `main` of the `package.json` in `folder`, if it has one.
pub(super) fn main_file(folder: &Path) -> Option<String> {
    PackageJson::read(folder)?.main?.as_str().map(str::to_owned)
}

impl Manifest {
    /// Reads the manifest of the package in `folder`, if it has one.
    pub(super) fn read(folder: &Path) -> Option<Self> {
        PackageJson::read(folder)?.pi
    }

    const fn of(&self, kind: ResourceKind) -> Option<&Vec<String>> {
        match kind {
            ResourceKind::Extensions => self.extensions.as_ref(),
            ResourceKind::Skills => self.skills.as_ref(),
            ResourceKind::Prompts => self.prompts.as_ref(),
        }
    }

    const fn names_anything(&self) -> bool {
        self.extensions.is_some() || self.skills.is_some() || self.prompts.is_some() || self.themes.is_some()
    }
}

/// The change log of the package in `root`, if it has one; nothing outside of it counts.
pub(super) fn changelog(root: &Path) -> Option<String> {
    let named = Manifest::read(root).and_then(|manifest| manifest.changelog);
    let path = absolute(root, named.as_ref().and_then(Value::as_str).unwrap_or(CHANGELOG));
    let is_inside = path.canonicalize().ok()?.starts_with(root.canonicalize().ok()?);
    (is_inside && path.is_file()).then(|| path.to_string_lossy().into_owned())
}

/// The usual name of a change log.
const CHANGELOG: &str = "CHANGELOG.md";

/// A file of a package, and whether it is enabled: a disabled file still hides the same file of another place.
pub(super) type Part = (ResourceKind, PathBuf, bool);

/// Lists the files of the package in `root`, filtered by `wanted`; `None` if the folder is no package.
pub(super) fn package_files(
    root: &Path,
    wanted: &Package,
    confinement: &Confinement,
    warnings: &mut Vec<String>,
) -> Option<Vec<Part>> {
    // A manifest that names no files counts as absent.
    let manifest = Manifest::read(root).filter(Manifest::names_anything);
    let is_package = manifest.is_some()
        || wanted.is_filtered()
        || ResourceKind::ALL.iter().any(|kind| root.join(kind.folder()).is_dir());
    if !is_package {
        return None;
    }
    let mut parts = Vec::new();
    for kind in ResourceKind::ALL {
        let filter = wanted.of(kind.folder());
        // Without a filter, a manifest that leaves a kind out means that there is none.
        let by_folder = manifest.is_none() || filter.is_some() || wanted.is_filtered();
        let files = match manifest.as_ref().and_then(|manifest| manifest.of(kind)) {
            Some(entries) => manifest_files((kind, entries), root, confinement, warnings),
            None if by_folder => kind.files_of(vec![root.join(kind.folder())], confinement, warnings),
            None => Vec::new(),
        };
        let entries = filter.map(|filter| (filter, PathPatterns::patterns(filter, root, warnings)));
        for file in files {
            let counts = match &entries {
                None if wanted.autoload == Some(false) => continue,
                None => true,
                Some((filter, _)) if filter.is_empty() && wanted.autoload != Some(false) => false,
                Some((filter, _)) if wanted.autoload == Some(false) => {
                    match PathPatterns::last_match(filter, root, &file) {
                        Some(counts) => counts,
                        None => continue,
                    }
                }
                Some((_, entries)) => entries.includes(&file),
            };
            parts.push((kind, file, counts));
        }
    }
    Some(parts)
}

/// The files that a manifest names: paths and globs, and patterns that leave some of them out.
fn manifest_files(
    (kind, entries): (ResourceKind, &[String]),
    root: &Path,
    confinement: &Confinement,
    warnings: &mut Vec<String>,
) -> Vec<PathBuf> {
    let (overrides, names): (Vec<String>, Vec<String>) =
        entries.iter().cloned().partition(|entry| entry.starts_with(['!', '+', '-']));
    let paths = names.iter().flat_map(|name| match name.contains(['*', '?']) {
        true => expand_glob(name, root),
        false => vec![absolute(root, name)],
    });
    let files = kind.files_of(paths.collect(), confinement, warnings);
    let entries = PathPatterns::patterns(&overrides, root, warnings);
    files.into_iter().filter(|file| entries.includes(file)).collect()
}

/// The paths below `root` that a glob names, hidden ones left out, sorted.
fn expand_glob(glob: &str, root: &Path) -> Vec<PathBuf> {
    let glob = glob.strip_prefix("./").unwrap_or(glob);
    let Ok(matcher) = GlobBuilder::new(glob).literal_separator(true).build() else { return Vec::new() };
    let matcher = matcher.compile_matcher();
    // Only the folder that the literal beginning of the glob names is searched.
    let plain = glob.split('/').take_while(|part| !part.contains(['*', '?', '[', '{']));
    let begin = absolute(root, plain.collect::<PathBuf>());
    let mut walk = WalkBuilder::new(begin);
    walk.standard_filters(false).hidden(true).sort_by_file_name(Ord::cmp);
    let inside = glob.contains("node_modules");
    walk.filter_entry(move |entry| inside || entry.file_name() != "node_modules");
    let found = walk.build().flatten().map(ignore::DirEntry::into_path);
    found.filter(|path| path.strip_prefix(root).is_ok_and(|path| matcher.is_match(path))).collect()
}
