//! Reads the rules of user and project that watch the model's output. Blocks on the disk.
//!
//! A rule is a Markdown file in the folder `rules` of the project's own directory or of the agent's. The file's name
//! is the rule's, its text goes to the model, and its front matter holds the conditions. The published sources name
//! the keys, but neither the place of the files nor the form of lists.

use super::{files, walk};
use pi_rpc_files::confinement::Confinement;
use pi_rpc_prompt::front_matter;
use pi_rpc_protocol::{JsonObject, Rule, RuleInterruptMode};
use serde::Deserialize;
use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

/// The rules, and warnings.
#[derive(Debug, Default, PartialEq)]
pub struct RuleFiles {
    /// The project's rules, then the agent's, each by name. Of equal names the first counts.
    pub rules: Vec<Rule>,
    /// A sentence for each file that was left out.
    pub warnings: Vec<String>,
}

impl RuleFiles {
    /// Searches the rules. `project` is the project's own directory, such as `.xcsh` in it, unless the project is not
    /// approved.
    pub fn find(agent_directory: &Path, project: Option<&Path>, confinement: &Confinement) -> Self {
        let mut found = Self::default();
        if let Some(project) = project {
            found.add_folder(&project.join("rules"), "project", confinement);
        }
        found.add_folder(&agent_directory.join("rules"), "user", confinement);
        found
    }

    fn add_folder(&mut self, folder: &Path, level: &str, confinement: &Confinement) {
        let listed = fs::read_dir(folder).and_then(|entries| {
            entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<PathBuf>, _>>()
        });
        let mut paths = match listed {
            Ok(paths) => paths,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return,
            Err(error) => return self.warnings.push(format!("{}: {error}", folder.display())),
        };
        paths.retain(|path| walk::is_markdown(path));
        paths.sort();
        for path in paths {
            let text = files::text(&path, confinement).map_err(|error| error.to_string());
            match text.and_then(|text| self.add(&path, &text, level)) {
                Ok(()) => {}
                Err(why) => self.warnings.push(format!("{}: {why}; the file is left out", path.display())),
            }
        }
    }

    fn add(&mut self, path: &Path, text: &str, level: &str) -> Result<(), String> {
        let rule = read(path, text, level)?;
        if let Some(first) = self.rules.iter().find(|first| first.name == rule.name) {
            return Err(format!("the rule \"{}\" is there already: {}", first.name, first.path));
        }
        self.rules.push(rule);
        Ok(())
    }
}

/// Known keys; others are ignored. Source: xcsh source.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct RuleKeys {
    description: Option<String>,
    globs: Option<OneOrMore>,
    always_apply: Option<bool>,
    condition: Option<OneOrMore>,
    scope: Option<OneOrMore>,
    interrupt_mode: Option<RuleInterruptMode>,
}

/// A list, or its only item.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "a text or a list of texts is wanted")]
enum OneOrMore {
    More(Vec<String>),
    One(String),
}

impl OneOrMore {
    fn list(self) -> Vec<String> {
        match self {
            Self::More(items) => items,
            Self::One(item) => vec![item],
        }
    }

    /// The items, also split at commas, but not at those in a glob's braces.
    fn words(self) -> Vec<String> {
        let items = self.list();
        let words = items.iter().flat_map(|item| {
            let mut depth = 0_usize;
            item.split(move |c| {
                match c {
                    '{' => depth += 1,
                    '}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                c == ',' && depth == 0
            })
        });
        words.map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    }
}

fn read(path: &Path, text: &str, level: &str) -> Result<Rule, String> {
    let (keys, content) = front_matter::read::<RuleKeys>(text)?;
    Ok(Rule {
        name: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        path: path.to_string_lossy().into_owned(),
        content,
        globs: keys.globs.map(OneOrMore::words),
        always_apply: keys.always_apply,
        description: keys.description,
        condition: keys.condition.map(OneOrMore::list),
        scope: keys.scope.map(OneOrMore::words),
        interrupt_mode: keys.interrupt_mode,
        source: JsonObject::from_iter([("level".to_owned(), level.into())]),
        extra: JsonObject::new(),
    })
}
