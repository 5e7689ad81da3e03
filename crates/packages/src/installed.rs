//! Finds installed packages. Blocks on the disk.

use super::source::Source;
use pi_rpc_config::{Environment, expand_home};
use pi_rpc_files::regular_files::{self, CONFIGURATION};
use std::{
    env,
    path::{Path, PathBuf},
};

/// Where the package that settings name is installed, if it is; `owner` is the directory of the agent or of the project.
pub fn installed_place(
    source: &str,
    owner: &Path,
    of_user: bool,
    environment: &Environment,
) -> Option<PathBuf> {
    let found = find_installed(&Source::parse(source), owner, of_user, environment)?;
    Some(found.canonicalize().unwrap_or(found))
}

/// Finds an installed package; `owner` is the directory of the agent or of the project.
///
/// Old versions of pi install packages of the user globally.
pub(super) fn find_installed(
    source: &Source,
    owner: &Path,
    of_user: bool,
    environment: &Environment,
) -> Option<PathBuf> {
    match source {
        Source::Npm { name, .. } => {
            if name.split('/').any(|part| ["", ".", ".."].contains(&part)) {
                return None;
            }
            let own = owner.join("npm/node_modules").join(name);
            let everybody = if of_user { global_npm_folders(environment) } else { Vec::new() };
            let all = [own].into_iter().chain(everybody.into_iter().map(|folder| folder.join(name)));
            all.into_iter().find(|folder| folder.is_dir())
        }
        Source::Git { host, path, .. } => {
            Some(owner.join("git").join(host).join(path)).filter(|folder| folder.is_dir())
        }
        Source::Local(path) => Some(owner.join(expand_home(path, environment))).filter(|path| path.exists()),
    }
}

/// The folders in which npm may install globally, derived without running npm, which is slow.
fn global_npm_folders(environment: &Environment) -> Vec<PathBuf> {
    let variables = ["npm_config_prefix", "NPM_CONFIG_PREFIX", "PREFIX"];
    let named = variables.into_iter().filter_map(|name| environment.get(name)).map(PathBuf::from);
    let settings = expand_home("~/.npmrc", environment);
    let settings = regular_files::read_to_string(&settings, CONFIGURATION).unwrap_or_default();
    let set = settings.lines().filter_map(|line| {
        let (key, value) = line.split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']).replace("${HOME}", "~");
        (key.trim() == "prefix").then(|| expand_home(&value, environment))
    });
    let nodes =
        environment.get("PATH").into_iter().flat_map(env::split_paths).map(|folder| folder.join("node"));
    let node = nodes.into_iter().find_map(|node| node.canonicalize().ok());
    let own = node.and_then(|node| Some(node.parent()?.parent()?.to_owned()));
    named.chain(set).chain(own).map(|prefix| prefix.join("lib/node_modules")).collect()
}
