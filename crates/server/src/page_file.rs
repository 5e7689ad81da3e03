//! Writes the HTML page of `export_html`.

use pi_rpc_files::private_files;
use pi_rpc_session_store::is_session_file;
use rustix::fs::OFlags;
use std::{
    fs::{self, OpenOptions},
    io::{self, Error, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

/// Replaces the content of a file by a page; a new file is readable by its owner alone. Symbolic links are followed. An error
/// is a sentence for people.
///
/// Refuses what is no regular file, and every session file, since a host may mix up two paths.
pub fn write_page(path: &Path, text: &str, creates_folders: bool) -> Result<(), String> {
    if creates_folders && let Some(folder) = path.parent() {
        private_files::create_folder(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let is_new = fs::symlink_metadata(path).is_err();
    let written = write(path, text);
    // No partial page is left behind.
    if written.is_err() && is_new {
        let _ = fs::remove_file(path);
    }
    written.map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut open = OpenOptions::new();
    open.read(true).write(true).create(true).truncate(false).mode(private_files::FILE);
    // Opening a pipe without a reader does not block, and a terminal does not become the controlling one.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut file = open.custom_flags(flags.bits().cast_signed()).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(Error::other("not a regular file"));
    }
    if is_session_file(&file) {
        return Err(Error::other("a session file is not overwritten by a page"));
    }
    file.set_len(0)?;
    io::Seek::rewind(&mut file)?;
    file.write_all(text.as_bytes())
}
