//! Who else may read or change the configuration.

use super::{Check, State};
use pi_rpc_config::{Config, Directories};
use std::{fs, os::unix::fs::MetadataExt as _, path::Path};

/// Bits of a mode that let others read.
const READ: u32 = 0o044;

/// Bits of a mode that let the group write, and everybody. Many systems give each user a group of their own.
const GROUP_WRITE: u32 = 0o020;
const WRITE: u32 = 0o002;

/// Checks owner and mode of the agent directory and of the files in it.
pub fn check(config: &Config) -> Vec<Check> {
    let Directories { agent, data, .. } = &config.directories;
    let database = config.dialect.record().credentials.database;
    let own = config.files.iter().filter(|file| file.starts_with(agent) || file.starts_with(data));
    let mut checks: Vec<Check> =
        std::iter::once(agent).chain(own).filter_map(|path| examine(path, database)).collect();
    if checks.is_empty() && agent.is_dir() {
        checks.push(Check::new(
            State::Ok,
            "permissions",
            "only you can change the configuration and read keys",
        ));
    }
    checks
}

/// What is wrong with the permissions of a path; `None`: nothing, or it is not there.
fn examine(path: &Path, database: Option<&str>) -> Option<Check> {
    let metadata = fs::metadata(path).ok()?;
    let (mode, owner) = (metadata.mode() & 0o777, metadata.uid());
    let shown = path.display();
    let me = rustix::process::getuid().as_raw();
    if owner != me && owner != 0 {
        let text = format!("{shown} belongs to user {owner}, and you are {me}");
        return Some(Check::new(State::Broken, "permissions", text).with_help(format!("chown {me} {shown}")));
    }
    // Files of settings may name commands that are run.
    if mode & WRITE != 0 {
        let text = format!("others may write {shown} (mode {mode:03o})");
        return Some(Check::new(State::Broken, "permissions", text).with_help(format!("chmod go-w {shown}")));
    }
    let holds_keys =
        path.file_name().is_some_and(|name| name == "auth.json" || database.is_some_and(|it| name == it));
    if holds_keys && mode & READ != 0 {
        let text = format!("others may read {shown} (mode {mode:03o}), which holds keys");
        return Some(Check::new(State::Broken, "permissions", text).with_help(format!("chmod 600 {shown}")));
    }
    if mode & GROUP_WRITE != 0 {
        let text = format!("your group may write {shown} (mode {mode:03o})");
        return Some(Check::new(State::Note, "permissions", text).with_help(format!("chmod g-w {shown}")));
    }
    None
}
