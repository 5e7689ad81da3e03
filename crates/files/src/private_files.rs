//! Files and folders for conversations and keys, which only their owner may read, under any umask.
//! What is there already keeps its mode.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::Path,
};

/// The mode of such a file.
pub const FILE: u32 = 0o600;

/// The mode of such a folder.
const FOLDER: u32 = 0o700;

/// Makes the folder and those that it is in, as far as they are missing.
///
/// # Errors
///
/// Those of the system.
pub fn create_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER).create(path)
}

/// Makes the file, or empties it; it may be a pipe or a device.
///
/// # Errors
///
/// Those of the system.
pub fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(FILE).open(path)
}

/// Puts a text into the file; it may be a pipe or a device.
///
/// # Errors
///
/// Those of the system.
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    create(path)?.write_all(text.as_bytes())
}

/// Fails unless the file is the user's and no other user can write to it.
///
/// # Errors
///
/// Those of the system; [`io::ErrorKind::PermissionDenied`].
pub fn check(file: &File) -> io::Result<()> {
    let found = file.metadata()?;
    match found.uid() == rustix::process::geteuid().as_raw() && found.mode() & 0o022 == 0 {
        true => Ok(()),
        false => {
            let text = "not a file of this user's that no other user can write to";
            Err(io::Error::new(io::ErrorKind::PermissionDenied, text))
        }
    }
}

/// Appends to a regular file in one write, and makes it where it is missing.
///
/// # Errors
///
/// Those of the system; [`io::ErrorKind::Other`] for whatever is no regular file.
pub fn append(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A pipe without a reader must not block.
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    let mut options = OpenOptions::new();
    let mut file =
        options.append(true).create(true).mode(FILE).custom_flags(flags.bits().cast_signed()).open(path)?;
    match file.metadata()?.is_file() {
        true => file.write_all(bytes),
        false => Err(io::Error::other("not a regular file")),
    }
}
