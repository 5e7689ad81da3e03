//! The file of a Unix socket, which is removed at the end if it is still the one that was made.

use std::{
    fs, io,
    os::unix::fs::{FileTypeExt as _, MetadataExt as _},
    path::{Path, PathBuf},
};

/// A socket's file, known by its device and inode: another host may have put its own in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SocketFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl SocketFile {
    /// The socket that is at `path` now; `None`: there is none.
    pub fn at(path: &Path) -> Option<Self> {
        let found = fs::symlink_metadata(path).ok().filter(|found| found.file_type().is_socket())?;
        Some(Self { path: path.to_owned(), device: found.dev(), inode: found.ino() })
    }

    /// The file of [`identity`](Self::identity), if it is still at `path`.
    pub fn known(path: &Path, identity: &str) -> Option<Self> {
        Self::at(path).filter(|file| file.identity() == identity)
    }

    /// Its device and inode, for the program that takes the place of this one.
    pub fn identity(&self) -> String {
        format!("{}:{}", self.device, self.inode)
    }

    /// Removes the file, if it is still the one that it was.
    ///
    /// # Errors
    ///
    /// The system refuses it.
    pub fn remove(&self) -> io::Result<()> {
        match Self::at(&self.path).as_ref() == Some(self) {
            true => fs::remove_file(&self.path),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn file_of_another_socket_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let _first = UnixListener::bind(&path).unwrap();
        let file = SocketFile::at(&path).unwrap();
        fs::rename(&path, dir.path().join("old")).unwrap();
        let _second = UnixListener::bind(&path).unwrap();
        file.remove().unwrap();
        assert!(path.exists());
        assert_eq!(SocketFile::known(&path, &file.identity()), None);
        let file = SocketFile::at(&path).unwrap();
        assert_eq!(SocketFile::known(&path, &file.identity()).as_ref(), Some(&file));
        file.remove().unwrap();
        assert!(!path.exists());
    }
}
