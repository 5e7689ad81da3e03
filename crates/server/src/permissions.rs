//! The file with the permissions that the user has given for good, `permissions.json` of the agent directory.
//!
//! It is read for each call that needs consent, so that a permission that is revoked counts no more at once, in every process.
//! Whatever cannot be read, or is not understood, permits nothing; nor does a file that others may have written.

use pi_rpc_engine::permissions::{Coverage, GuardedCall, Permission, PermissionScope};
use pi_rpc_files::{private_files, regular_files};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

/// The file's name.
pub const FILE_NAME: &str = "permissions.json";

/// The most permissions that are kept. Where there are more, the oldest of a session are dropped.
const MAX_PERMISSIONS: usize = 1000;

/// The permissions of a user, as a session has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionFile {
    path: PathBuf,
    /// Whose sessions they are for: the name of a token; `None`: of local clients.
    owner: Option<String>,
}

/// A permission in the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StoredPermission {
    /// Names it for `pi-rpc permissions revoke`.
    pub id: String,
    /// When it was given, in milliseconds since the Unix epoch.
    pub given: u64,
    /// Whose sessions it is for; absent: of local clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// What it permits.
    pub permission: Permission,
}

/// The file. Entries of later versions stay as they are, and permit nothing.
#[derive(Default, Serialize, Deserialize)]
struct Stored {
    permissions: Vec<Value>,
}

impl PermissionFile {
    /// The file in the user's agent directory, for the sessions of an owner.
    pub fn new(agent: &Path, owner: Option<String>) -> Self {
        Self { path: agent.join(FILE_NAME), owner }
    }

    /// The same file, for the sessions of this owner.
    #[must_use]
    pub fn of(self, owner: Option<String>) -> Self {
        Self { owner, ..self }
    }

    /// Whether a permission covers the call.
    pub fn covers(&self, mut call: GuardedCall) -> bool {
        let stored = match self.read() {
            Ok(stored) => stored,
            Err(error) => {
                tracing::warn!("{}: {error}; it permits nothing", self.path.display());
                return false;
            }
        };
        let Ok(directory) = fs::canonicalize(&call.directory) else { return false };
        call.directory = directory;
        let real_path = call.path().and_then(|path| match call.tool.as_str() {
            // It would open another spelling of a path that is not there.
            "read" => fs::canonicalize(path).ok(),
            _ => resolve(&path),
        });
        let own = understood(&stored).filter(|stored| stored.owner == self.owner);
        own.into_iter().any(|stored| stored.permission.covers(&call, real_path.as_deref()))
    }

    /// Adds a permission that was given now.
    ///
    /// # Errors
    ///
    /// Its folder cannot be named without links, there are too many permissions, or the system refuses the file.
    pub fn add(
        &self,
        mut permission: Permission,
        directory: &Path,
        id: String,
        given: u64,
    ) -> io::Result<()> {
        let real = fs::canonicalize(directory)?;
        if let Coverage::Path(folder) = &mut permission.covers {
            let below = folder.strip_prefix(directory).map(|rest| real.join(rest));
            let expected: PathBuf = below.unwrap_or_else(|_| folder.clone()).components().collect();
            if resolve(&expected).as_deref() != Some(&*expected) {
                return Err(io::Error::other(format!("{}: a link leads elsewhere", folder.display())));
            }
            *folder = expected;
        }
        if let PermissionScope::Project(project) = &mut permission.scope {
            *project = real;
        }
        self.change(|stored| {
            let known = understood(stored).any(|it| it.permission == permission && it.owner == self.owner);
            if known {
                return Ok(());
            }
            if stored.permissions.len() >= MAX_PERMISSIONS {
                let is_of_session = |value: &Value| value["permission"]["scope"].get("session").is_some();
                let oldest = stored.permissions.iter().position(is_of_session);
                let full = || io::Error::other(format!("there are {MAX_PERMISSIONS} permissions already"));
                stored.permissions.remove(oldest.ok_or_else(full)?);
            }
            let added = StoredPermission { id, given, owner: self.owner.clone(), permission };
            stored.permissions.push(serde_json::to_value(added)?);
            Ok(())
        })
    }

    /// All permissions, of every owner, in the order in which they were given.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn list(&self) -> io::Result<Vec<StoredPermission>> {
        self.read().map(|stored| understood(&stored).collect())
    }

    /// Removes the permissions that `is_revoked` picks. Returns those.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub fn revoke(
        &self,
        is_revoked: impl Fn(&StoredPermission) -> bool,
    ) -> io::Result<Vec<StoredPermission>> {
        let mut revoked = Vec::new();
        self.change(|stored| {
            stored.permissions.retain(|value| match read_entry(value).filter(&is_revoked) {
                Some(entry) => {
                    revoked.push(entry);
                    false
                }
                None => true,
            });
            Ok(())
        })?;
        Ok(revoked)
    }

    fn read(&self) -> io::Result<Stored> {
        let read = regular_files::open(&self.path).and_then(|file| {
            private_files::check(&file)?;
            regular_files::read_open(file, regular_files::CONFIGURATION)
        });
        match read {
            Ok(text) => Ok(serde_json::from_slice(&text)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Stored::default()),
            Err(error) => Err(error),
        }
    }

    /// Changes the file as a whole, while no other process does.
    fn change(&self, change: impl FnOnce(&mut Stored) -> io::Result<()>) -> io::Result<()> {
        if let Some(folder) = self.path.parent() {
            private_files::create_folder(folder)?;
        }
        let lock: File = private_files::create(&self.path.with_extension("json.lock"))?;
        lock.lock()?;
        let mut stored = self.read()?;
        change(&mut stored)?;
        let new = self.path.with_extension("json.new");
        private_files::write(&new, &format!("{}\n", serde_json::to_string_pretty(&stored)?))?;
        // The file may be a link, which stays.
        fs::rename(new, self.path.canonicalize().unwrap_or_else(|_| self.path.clone()))
    }
}

fn understood(stored: &Stored) -> impl Iterator<Item = StoredPermission> {
    stored.permissions.iter().filter_map(read_entry)
}

fn read_entry(value: &Value) -> Option<StoredPermission> {
    serde_json::from_value(value.clone()).ok()
}

/// The path without links; what does not exist yet lies below what does.
fn resolve(path: &Path) -> Option<PathBuf> {
    let mut missing = Vec::new();
    let mut existing = path;
    loop {
        match fs::canonicalize(existing) {
            Ok(real) => return Some(missing.into_iter().rev().fold(real, |path, name| path.join(name))),
            // A link whose target is missing would be written through.
            Err(_) if existing.is_symlink() => return None,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                missing.push(existing.file_name()?);
                existing = existing.parent()?;
            }
            Err(_) => return None,
        }
    }
}

#[cfg(test)]
mod tests;
