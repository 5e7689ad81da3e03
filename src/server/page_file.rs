//! The page that a host asks for.

use crate::{private_files, session::is_session_file};
use rustix::fs::OFlags;
use std::{
    fs::{self, OpenOptions},
    io::{self, Error, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

/// Writes a page in the place of what is in the file, for its user alone if there is none yet. A link is followed, and stays
/// one. Whatever is no regular file is left alone, and so is every session, this one and others: a host may mix up two
/// paths. An error is a sentence for people.
pub fn write_page(path: &Path, text: &str, creates_folders: bool) -> Result<(), String> {
    if creates_folders && let Some(folder) = path.parent() {
        private_files::create_folder(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let is_new = fs::symlink_metadata(path).is_err();
    let written = write(path, text);
    // No half of a page stays behind.
    if written.is_err() && is_new {
        let _ = fs::remove_file(path);
    }
    written.map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut open = OpenOptions::new();
    open.read(true).write(true).create(true).truncate(false).mode(private_files::FILE);
    // A pipe that nobody reads is not waited for, and a terminal does not become ours.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut file = open.custom_flags(flags.bits().cast_signed()).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(Error::other("not a regular file"));
    }
    if is_session_file(&file) {
        return Err(Error::other("it is a session, which is not written over"));
    }
    file.set_len(0)?;
    io::Seek::rewind(&mut file)?;
    file.write_all(text.as_bytes())
}
