//! Files and folders that hold credentials: no project's instructions.

use super::{Directories, Environment, expand_home};
use pi_rpc_protocol::Dialect;
use std::path::{Path, PathBuf};

/// The files of an agent directory, or of one of data, that hold credentials in some dialect.
const OF_AGENT: [&str; 10] = [
    "auth.json",
    "models.json",
    "models.yml",
    "models.yaml",
    "mcp.json",
    "mcp-auth.json",
    "agent.db",
    "agent.db-wal",
    "agent.db-journal",
    ".env",
];

/// Files and folders of the user with credentials of this program's providers and of common programs.
const OF_USER: [&str; 13] = [
    "~/.env",
    "~/.omp/.env",
    "~/.ssh",
    "~/.aws",
    "~/.azure",
    "~/.gnupg",
    "~/.kube",
    "~/.docker",
    "~/.config/gcloud",
    "~/.config/gh",
    "~/.netrc",
    "~/.npmrc",
    "~/.git-credentials",
];

/// Variables that name a file with credentials.
const VARIABLES: [&str; 5] = [
    "GOOGLE_APPLICATION_CREDENTIALS",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_CONFIG_FILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "NPM_CONFIG_USERCONFIG",
];

/// The files and folders that hold credentials of the user, of every dialect, where the environment places them and where
/// they usually are. Not all of them exist.
pub(super) fn credential_places(working: &Path, environment: &Environment) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for dialect in Dialect::ALL {
        let Directories { agent, data, .. } = Directories::new(dialect, working, environment);
        folders.extend([agent, data, expand_home(dialect.record().directories.agent, environment)]);
    }
    folders.sort();
    folders.dedup();
    let of_agents = folders.iter().flat_map(|folder| OF_AGENT.map(|name| folder.join(name)));
    let named = VARIABLES.into_iter().filter_map(|name| environment.get(name));
    let of_user = OF_USER.into_iter().chain(named).map(|path| working.join(expand_home(path, environment)));
    of_agents.chain(of_user).collect()
}
