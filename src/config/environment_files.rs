//! Files with environment variables, as omp reads them.

use super::{Directories, Environment, disk::ConfigFiles, expand_home};
use crate::protocol::Dialect;
use regex::Regex;
use std::{collections::BTreeMap, path::Path, sync::LazyLock};

/// Adds the variables of the dialect's files, if it has any: those of the project, the user's directory, the folder that it
/// lies in and the home directory, the first file first. A variable that `environment` has stays; one that chooses a profile is
/// left out, as the profile says where the files are.
///
/// Source: omp source (`env.ts`).
pub(super) fn with_files(
    dialect: Dialect,
    working: &Path,
    environment: Environment,
    files: &mut ConfigFiles,
) -> Environment {
    let record = &dialect.record().directories;
    let Some(name) = record.environment_file else { return environment };
    let agent = Directories::new(dialect, working, &environment).agent;
    let home = expand_home("~", &environment);
    let folders = [Some(working), Some(agent.as_path()), agent.parent(), Some(home.as_path())];
    folders.into_iter().flatten().fold(environment, |environment, folder| {
        let text = files.text(&folder.join(name)).unwrap_or_default();
        let mut variables = variables(&text, record.environment_alias);
        variables.retain(|name, _| !record.profile_variables.contains(&name.as_str()));
        environment.or(variables)
    })
}

/// The variables that a text sets. A name that begins with `alias` also sets the `PI_` variable with the same rest.
fn variables(text: &str, alias: Option<&str>) -> BTreeMap<String, String> {
    let mut variables = BTreeMap::new();
    for line in ASSIGNMENT.captures_iter(text) {
        let part = |index| line.get(index).map(|part| part.as_str());
        let value = match part(2) {
            Some(quoted) => quoted.replace("\\n", "\n"),
            None => part(3).or(part(4)).or(part(5).map(str::trim_end)).unwrap_or_default().to_owned(),
        };
        variables.insert(line[1].to_owned(), value);
    }
    let rest = |name: &str| Some(format!("PI_{}", name.strip_prefix(alias?)?));
    let aliases: Vec<_> =
        variables.iter().filter_map(|(name, value)| Some((rest(name)?, value.clone()))).collect();
    variables.extend(aliases);
    variables
}

/// A line `NAME=VALUE`; the value may stand in quotes, and then has several lines. A `#` begins a comment.
///
/// Source: Node.js documentation (`util.parseEnv`), which omp calls.
static ASSIGNMENT: LazyLock<Regex> = LazyLock::new(|| {
    let name = r"^[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*";
    let value = r#"(?:"([^"]*)"|'([^']*)'|`([^`]*)`|([^#\r\n]*))"#;
    Regex::new(&format!("(?m){name}{value}")).expect("a pattern")
});

#[cfg(test)]
mod tests {
    use super::variables;

    #[test]
    fn variables_are_read_as_node_does() {
        let text = "# note\nA=plain # note\nexport B = \"two\\nlines\"\r\nC='raw\\n'\nD=`a\nb`\nE=\"open\nOMP_F=x\n1=no\nG\nH=\n";
        let read = variables(text, Some("OMP_"));
        let read: Vec<(&str, &str)> =
            read.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let expected = [
            ("A", "plain"),
            ("B", "two\nlines"),
            ("C", "raw\\n"),
            ("D", "a\nb"),
            ("E", "\"open"),
            ("H", ""),
            ("OMP_F", "x"),
            ("PI_F", "x"),
        ];
        assert_eq!(read, expected);
    }
}
