//! Files and folders for conversations and keys, which only their owner may read, under any umask.
//! What is there already keeps its mode.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
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
