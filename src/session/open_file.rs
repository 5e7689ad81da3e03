//! One file that is open: what this process knows of it, and how it is changed.

use super::file::WriteError;
use crate::private_files;
use bytes::Bytes;
use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, fchown},
    path::Path,
};

/// A session file.
#[derive(Debug)]
pub struct OpenFile {
    /// For reading, and for writing at its end.
    pub file: File,
    /// How long it is, as far as this process knows.
    pub length: u64,
    /// The last line has no line feed.
    pub lacks_feed: bool,
    /// Why nothing can be written to it.
    pub refusal: Option<io::Error>,
    /// It is new, and a loss of power may leave its folder without it.
    pub needs_folder_sync: bool,
}

impl OpenFile {
    /// Whether the file is what this process left, and may be written to.
    pub fn unchanged(&self, path: &Path) -> Result<(), WriteError> {
        if let Some(error) = &self.refusal {
            let error = io::Error::new(error.kind(), error.to_string());
            return Err(WriteError::Refused(path.to_owned(), error));
        }
        let is_known = self.file.metadata().is_ok_and(|own| own.len() == self.length) && self.is_own(path);
        if is_known { Ok(()) } else { Err(WriteError::Changed(path.to_owned())) }
    }

    /// Whether the file at `path` is this one.
    pub fn is_own(&self, path: &Path) -> bool {
        let own = self.file.metadata();
        own.is_ok_and(|own| fs::metadata(path).is_ok_and(|there| is_same(&own, &there)))
    }

    /// Writes lines at its end; all or none of them stay. A single line is a single write. `synced`: only when they are on
    /// the disk are they written.
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
                // No part of a line stays behind.
                self.cut(self.length);
                Err(error)
            }
        }
    }

    /// Waits until all that was written is on the disk, the name of a new file in its folder included.
    pub fn sync(&mut self, path: &Path) -> io::Result<()> {
        self.file.sync_data()?;
        if self.needs_folder_sync {
            sync_folder(path)?;
            self.needs_folder_sync = false;
        }
        Ok(())
    }

    /// Returns how many bytes it wrote.
    fn write(&self, lines: impl Iterator<Item = Bytes>) -> io::Result<u64> {
        let mut written = 0;
        let mut put = |bytes: &[u8]| {
            written += bytes.len() as u64;
            (&self.file).write_all(bytes)
        };
        let mut gathered = if self.lacks_feed { b"\n".to_vec() } else { Vec::new() };
        for line in lines {
            // A long line is not copied.
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

    /// Takes off what stands after `length`. If that fails, nothing more is written: it would follow half a line.
    pub fn cut(&mut self, length: u64) {
        if self.refusal.is_none() {
            self.refusal = self.file.set_len(length).err();
            self.length = length;
        }
    }
}

/// How many bytes of short lines make one write.
const GATHERED: usize = 1 << 20;

/// Whether two descriptions are of one file.
pub fn is_same(one: &fs::Metadata, other: &fs::Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Makes a file and locks it, for its user alone.
pub fn create_locked(path: &Path) -> io::Result<OpenFile> {
    if let Some(directory) = path.parent() {
        private_files::create_folder(directory)?;
    }
    make(path)
}

fn make(path: &Path) -> io::Result<OpenFile> {
    let file =
        OpenOptions::new().read(true).append(true).create_new(true).mode(private_files::FILE).open(path)?;
    // Only a file system without locks can refuse it for a file that nobody knows yet.
    let _ = file.try_lock();
    Ok(OpenFile { file, length: 0, lacks_feed: false, refusal: None, needs_folder_sync: true })
}

fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// Puts a new file in the place of the old one.
pub fn replace(path: &Path, open: &mut OpenFile, lines: impl IntoIterator<Item = Bytes>) -> io::Result<()> {
    // A link stays a link.
    let path = fs::canonicalize(path)?;
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".pi-rpc");
    let beside = path.with_file_name(name);
    // Left by somebody who was killed: the lock says that nobody is writing it now.
    let _ = fs::remove_file(&beside);
    let written = (|| {
        let mut new = make(&beside)?;
        new.append(lines, None)?;
        let old = open.file.metadata()?;
        // Only the super-user can give a file away, and only its files need it.
        let _ = fchown(&new.file, Some(old.uid()), Some(old.gid()));
        new.file.set_permissions(old.permissions())?;
        // On the disk before it is in the old one's place: else a loss of power could leave neither.
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
