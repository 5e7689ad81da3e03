//! An open session file: its known state, and safe writes to it.

use super::file::WriteError;
use bytes::Bytes;
use pi_rpc_files::private_files;
use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, fchown},
    path::Path,
};

/// An open session file and its state as this process left it.
#[derive(Debug)]
pub struct OpenFile {
    /// The file, open for reading and appending.
    pub file: File,
    /// Known length in bytes.
    pub length: u64,
    /// The last line lacks its line feed.
    pub lacks_feed: bool,
    /// Why the file cannot be written to; `None`: it can.
    pub refusal: Option<io::Error>,
    /// The file is new, and its folder is not synced yet: a loss of power may lose it.
    pub needs_folder_sync: bool,
}

impl OpenFile {
    /// Checks that the file is writable, and unchanged since the last write.
    pub fn unchanged(&self, path: &Path) -> Result<(), WriteError> {
        if let Some(error) = &self.refusal {
            let error = io::Error::new(error.kind(), error.to_string());
            return Err(WriteError::Refused(path.to_owned(), error));
        }
        let is_known = self.file.metadata().is_ok_and(|own| own.len() == self.length) && self.is_own(path);
        if is_known { Ok(()) } else { Err(WriteError::Changed(path.to_owned())) }
    }

    /// Whether the file at `path` is still this one.
    pub fn is_own(&self, path: &Path) -> bool {
        let own = self.file.metadata();
        own.is_ok_and(|own| fs::metadata(path).is_ok_and(|there| is_same(&own, &there)))
    }

    /// Appends lines; all or none of them stay. A single line is a single write. With `synced` they count as written
    /// only once they are on the disk.
    pub fn append(
        &mut self,
        lines: impl IntoIterator<Item = Bytes>,
        synced: Option<&Path>,
    ) -> io::Result<()> {
        let written = self.write(lines.into_iter());
        let written =
            written.and_then(|written| synced.map_or(Ok(()), |path| self.sync(path)).map(|()| written));
        match written {
            Ok(written) => {
                self.length += written;
                self.lacks_feed = false;
                Ok(())
            }
            Err(error) => {
                // Removes a partial line.
                self.cut(self.length);
                Err(error)
            }
        }
    }

    /// Syncs the file to the disk, and the folder if the file is new.
    pub fn sync(&mut self, path: &Path) -> io::Result<()> {
        self.file.sync_data()?;
        if self.needs_folder_sync {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
            self.needs_folder_sync = false;
        }
        Ok(())
    }

    /// Writes lines, short ones gathered; returns the number of bytes.
    fn write(&self, lines: impl Iterator<Item = Bytes>) -> io::Result<u64> {
        let mut written = 0;
        let mut put = |bytes: &[u8]| {
            written += bytes.len() as u64;
            (&self.file).write_all(bytes)
        };
        let mut gathered = if self.lacks_feed { b"\n".to_vec() } else { Vec::new() };
        for line in lines {
            // A long line is written without a copy.
            if gathered.is_empty() && line.len() >= GATHERED {
                put(&line)?;
                continue;
            }
            gathered.extend_from_slice(&line);
            if gathered.len() >= GATHERED {
                put(&gathered)?;
                gathered.clear();
            }
        }
        put(&gathered)?;
        Ok(written)
    }

    /// Truncates the file to `length`. If that fails, nothing more is written: it would follow a partial line.
    pub fn cut(&mut self, length: u64) {
        if self.refusal.is_none() {
            self.refusal = self.file.set_len(length).err();
            self.length = length;
        }
    }
}

/// Bytes of short lines that make one write.
const GATHERED: usize = 1 << 20;

/// Whether two metadata describe the same file.
pub fn is_same(one: &fs::Metadata, other: &fs::Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Creates and locks a file that only its user can read.
pub fn create_locked(path: &Path) -> io::Result<OpenFile> {
    if let Some(directory) = path.parent() {
        private_files::create_folder(directory)?;
    }
    make(path)
}

fn make(path: &Path) -> io::Result<OpenFile> {
    let file =
        OpenOptions::new().read(true).append(true).create_new(true).mode(private_files::FILE).open(path)?;
    // The file is new: only a file system without locks can refuse.
    let _ = file.try_lock();
    Ok(OpenFile { file, length: 0, lacks_feed: false, refusal: None, needs_folder_sync: true })
}

/// Replaces the file atomically by one with other lines.
pub fn replace(path: &Path, open: &mut OpenFile, lines: impl IntoIterator<Item = Bytes>) -> io::Result<()> {
    // The target of a link is replaced, not the link.
    let path = fs::canonicalize(path)?;
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".pi-rpc");
    let beside = path.with_file_name(name);
    // A leftover of a process that was killed: the lock is held here, so it is not in use.
    let _ = fs::remove_file(&beside);
    let written = (|| {
        let mut new = make(&beside)?;
        new.append(lines, None)?;
        let old = open.file.metadata()?;
        // Only the super-user can change the owner, and only for its sake it is needed.
        let _ = fchown(&new.file, Some(old.uid()), Some(old.gid()));
        new.file.set_permissions(old.permissions())?;
        // Synced before it replaces the old file: a loss of power could else leave neither.
        new.file.sync_all()?;
        fs::rename(&beside, &path)?;
        Ok(new)
    })();
    match written {
        Ok(new) => {
            *open = new;
            Ok(())
        }
        Err(error) => {
            let _ = fs::remove_file(&beside);
            Err(error)
        }
    }
}
