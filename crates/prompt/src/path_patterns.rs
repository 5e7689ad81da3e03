//! Lists of paths and patterns in settings, such as `skills` and `prompts`.

use super::skill;
use globset::{GlobBuilder, GlobMatcher};
use std::path::{Component, Path, PathBuf};

/// A parsed list of one settings file. Source: pi's `settings.md` and source.
#[derive(Debug, Default)]
pub struct PathPatterns {
    /// Files and directories, as absolute paths.
    pub paths: Vec<PathBuf>,
    /// `*.md`: if there are any, a file of `paths` has to match one.
    only: Vec<PathPattern>,
    /// `!pattern`: excludes matches.
    without: Vec<PathPattern>,
    /// `+path`: includes nevertheless.
    kept: Vec<PathBuf>,
    /// `-path`: excludes in any case.
    dropped: Vec<PathBuf>,
}

impl PathPatterns {
    /// Parses a list; relative paths begin at `base`. A malformed pattern is left out, with a warning.
    pub fn new(entries: &[String], base: &Path, warnings: &mut Vec<String>) -> Self {
        let mut read = Self::default();
        for entry in entries {
            let mut pattern = |text: &str| {
                PathPattern::new(text, base)
                    .map_err(|error| warnings.push(format!("the setting \"{entry}\" is left out: {error}")))
                    .ok()
            };
            if let Some(text) = entry.strip_prefix('!') {
                read.without.extend(pattern(text));
            } else if let Some(path) = entry.strip_prefix('+') {
                read.kept.push(absolute(base, path));
            } else if let Some(path) = entry.strip_prefix('-') {
                read.dropped.push(absolute(base, path));
            } else if entry.contains(['*', '?']) {
                read.only.extend(pattern(entry));
            } else {
                read.paths.push(absolute(base, entry));
            }
        }
        read
    }

    /// Parses a list that only selects among known files: plain entries are patterns, too.
    pub fn patterns(entries: &[String], base: &Path, warnings: &mut Vec<String>) -> Self {
        let (mut others, mut plain) = (Vec::new(), Vec::new());
        for entry in entries {
            if entry.starts_with(['!', '+', '-']) || entry.contains(['*', '?']) {
                others.push(entry.clone());
            } else {
                // Never malformed without wildcards.
                plain.extend(PathPattern::new(&globset::escape(entry), base));
            }
        }
        let mut read = Self::new(&others, base, warnings);
        read.only.append(&mut plain);
        read
    }

    /// Decides about `file` by the last matching entry of a list; `None`: none matches.
    pub fn last_match(entries: &[String], base: &Path, file: &Path) -> Option<bool> {
        let about = |entry: &&String| match entry.strip_prefix(['+', '-']) {
            Some(path) => is_path_or_skill(&absolute(base, path), file),
            None => PathPattern::new(entry.trim_start_matches('!'), base).is_ok_and(|it| it.matches(file)),
        };
        entries.iter().rev().find(about).map(|entry| !entry.starts_with(['-', '!']))
    }

    /// Whether `file`, found in one of `paths`, is included.
    pub fn includes(&self, file: &Path) -> bool {
        let is_listed = self.only.is_empty() || self.only.iter().any(|it| it.matches(file));
        is_listed && self.includes_discovered(file) || self.is_kept(file) && !self.is_dropped(file)
    }

    /// Whether `file`, found in a usual directory, is included.
    pub fn includes_discovered(&self, file: &Path) -> bool {
        let out = self.without.iter().any(|it| it.matches(file));
        (!out || self.is_kept(file)) && !self.is_dropped(file)
    }

    fn is_kept(&self, file: &Path) -> bool {
        self.kept.iter().any(|path| is_path_or_skill(path, file))
    }

    fn is_dropped(&self, file: &Path) -> bool {
        self.dropped.iter().any(|path| is_path_or_skill(path, file))
    }
}

/// A glob that is matched against whole paths, and against names.
#[derive(Debug)]
struct PathPattern {
    path: GlobMatcher,
    name: GlobMatcher,
}

impl PathPattern {
    fn new(text: &str, base: &Path) -> Result<Self, globset::Error> {
        // The directory is literal, whatever characters its name has.
        let base = globset::escape(&base.to_string_lossy());
        let glob = |text: &str| Ok(GlobBuilder::new(text).literal_separator(true).build()?.compile_matcher());
        let path = absolute(Path::new(&base), text);
        Ok(Self { path: glob(&path.to_string_lossy())?, name: glob(text)? })
    }

    fn matches(&self, file: &Path) -> bool {
        let matches = |path: &Path| {
            self.path.is_match(path) || path.file_name().is_some_and(|name| self.name.is_match(name))
        };
        matches(file) || directory_of_skill(file).is_some_and(matches)
    }
}

/// Whether `path` is `file`, or the directory of a skill with this file.
fn is_path_or_skill(path: &Path, file: &Path) -> bool {
    path == file || directory_of_skill(file) == Some(path)
}

/// The directory of a skill's file; `None`: another file.
fn directory_of_skill(file: &Path) -> Option<&Path> {
    file.parent().filter(|_| file.ends_with(skill::FILE))
}

/// Joins `path` to `base` and resolves `.` and `..` by name alone.
pub fn absolute(base: &Path, path: impl AsRef<Path>) -> PathBuf {
    let mut whole = PathBuf::new();
    for part in base.join(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                whole.pop();
            }
            _ => whole.push(part),
        }
    }
    whole
}
