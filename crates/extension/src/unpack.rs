//! Unpacks the program of the Node host from the binary into a folder that only its user can write.
//!
//! The folder is named by the hash of what is in it, and appears whole, by being renamed: any number of servers may
//! use it or make it at once. A folder of another user, or one that others can write, is never used.

use super::embedded::{FILES, HASH};
use rustix::process::geteuid;
use std::{
    fs::{self, DirBuilder, Permissions},
    io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};
use tempfile::TempDir;

/// The mode of a private folder.
const PRIVATE: u32 = 0o700;

/// The file to run.
const MAIN: &str = "main.mjs";

/// The unpacked program.
#[derive(Debug)]
pub(super) struct Unpacked {
    /// The file to run.
    pub(super) main: PathBuf,
    /// The temporary folder, removed with this value, where no cache can be used.
    _temporary: Option<TempDir>,
}

/// Finds the program in one of `caches`, else puts it into the first that can be used, else into a folder of its own.
pub(super) fn unpack(caches: &[PathBuf]) -> io::Result<Unpacked> {
    let kept = caches.iter().find_map(|cache| match unpack_into(cache, FILES) {
        Ok(folder) => Some(folder),
        Err(error) => {
            tracing::debug!("{}: {error}", cache.display());
            None
        }
    });
    if let Some(folder) = kept {
        return Ok(Unpacked { main: folder.join(MAIN), _temporary: None });
    }
    let folder = tempfile::Builder::new().prefix("pi-rpc-").tempdir()?;
    write(folder.path(), FILES)?;
    Ok(Unpacked { main: folder.path().join(MAIN), _temporary: Some(folder) })
}

/// The folder of `files` in `cache`; made if it is not there, and made anew if something of it is missing.
fn unpack_into(cache: &Path, files: &[(&str, &str)]) -> io::Result<PathBuf> {
    DirBuilder::new().recursive(true).mode(PRIVATE).create(cache)?;
    check_private(cache)?;
    let folder = cache.join(format!("node-{HASH}"));
    if folder.symlink_metadata().is_ok() {
        check_private(&folder)?;
        if is_complete(&folder, files) {
            return Ok(folder);
        }
    }
    let fresh = tempfile::Builder::new().prefix(".new-").tempdir_in(cache)?;
    write(fresh.path(), files)?;
    let mut replaced = fs::rename(fresh.path(), &folder);
    if replaced.is_err() && !is_complete(&folder, files) {
        // The rest of the old folder is moved into a temporary one, which is removed.
        let old = tempfile::Builder::new().prefix(".old-").tempdir_in(cache)?;
        fs::rename(&folder, old.path().join("node"))?;
        replaced = fs::rename(fresh.path(), &folder);
    }
    match replaced {
        // The folder has another name now: there is nothing to remove.
        Ok(()) => drop(fresh.keep()),
        // Another server has unpacked the same program meanwhile.
        Err(_) if is_complete(&folder, files) => {}
        Err(error) => return Err(error),
    }
    Ok(folder)
}

fn write(folder: &Path, files: &[(&str, &str)]) -> io::Result<()> {
    fs::set_permissions(folder, Permissions::from_mode(PRIVATE))?;
    for (name, text) in files {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, text)?;
    }
    Ok(())
}

/// Whether every file is there: cleaners of temporary folders remove old ones.
fn is_complete(folder: &Path, files: &[(&str, &str)]) -> bool {
    files.iter().all(|(name, text)| {
        fs::metadata(folder.join(name)).is_ok_and(|file| file.is_file() && file.len() == text.len() as u64)
    })
}

/// Fails unless the folder is the user's and no other user can write to it.
fn check_private(folder: &Path) -> io::Result<()> {
    let found = folder.symlink_metadata()?;
    match found.is_dir() && found.uid() == geteuid().as_raw() && found.mode() & 0o022 == 0 {
        true => Ok(()),
        false => Err(io::Error::other("not a folder that only its user can write")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{os::unix::fs::symlink, thread};

    const SMALL: &[(&str, &str)] = &[("main.mjs", "1"), ("a/b.mjs", "22")];

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn concurrent_unpacks_leave_one_folder() {
        let home = tempfile::tempdir().unwrap();
        let cache = home.path().join("cache/pi-rpc");
        let made = thread::scope(|scope| {
            let all: Vec<_> = (0..8).map(|_| scope.spawn(|| unpack_into(&cache, SMALL).unwrap())).collect();
            all.into_iter().map(|one| one.join().unwrap()).collect::<Vec<_>>()
        });
        let folder = cache.join(format!("node-{HASH}"));
        assert_eq!(made, vec![folder.clone(); 8]);
        assert!(is_complete(&folder, SMALL));
        assert_eq!(names(&cache), [format!("node-{HASH}")]);
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, PRIVATE);
    }

    #[test]
    fn deleted_files_are_unpacked_again() {
        let home = tempfile::tempdir().unwrap();
        let folder = unpack_into(home.path(), SMALL).unwrap();
        for gone in ["main.mjs", "a/b.mjs"] {
            fs::remove_file(folder.join(gone)).unwrap();
            assert_eq!(unpack_into(home.path(), SMALL).unwrap(), folder);
            assert!(is_complete(&folder, SMALL), "{gone}");
        }
        assert_eq!(names(home.path()).len(), 1);
    }

    #[test]
    fn writable_or_linked_folder_is_not_used() {
        let home = tempfile::tempdir().unwrap();
        let folder = unpack_into(home.path(), SMALL).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
        assert!(unpack_into(home.path(), SMALL).is_err());
        fs::remove_dir_all(&folder).unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        symlink(elsewhere.path(), &folder).unwrap();
        assert!(unpack_into(home.path(), SMALL).is_err());
        let Unpacked { main, _temporary } = unpack(&[home.path().to_owned()]).unwrap();
        assert!(_temporary.is_some() && !main.starts_with(home.path()));
    }
}
