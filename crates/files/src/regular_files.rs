//! The one reader of files that somebody else has put there: a project, a package, the user.
//!
//! Only regular files are read, opened without waiting, and no more of them than their kind may have: a link to a device, a
//! pipe or an enormous file costs neither time nor memory, and none of the host's input.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

/// What a file is for, and how much of it is read at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The name, for errors.
    pub name: &'static str,
    /// The most bytes.
    pub limit: u64,
}

/// `settings.json`, `models.json`, `auth.json`, `trust.json`, `.npmrc`.
pub const CONFIGURATION: Kind = Kind { name: "a file of settings", limit: 8 << 20 };
/// `AGENTS.md`, `CLAUDE.md`, `SYSTEM.md` and whatever options name in their place.
pub const INSTRUCTIONS: Kind = Kind { name: "a file of instructions", limit: 4 << 20 };
/// A skill, a prompt template, a rule: more is no text for a model.
pub const TEXT: Kind = Kind { name: "a skill, template or rule", limit: 1 << 20 };
/// `package.json`.
pub const MANIFEST: Kind = Kind { name: "a package.json", limit: 4 << 20 };
/// `.gitignore` and its like.
pub const IGNORE_FILE: Kind = Kind { name: "an ignore file", limit: 1 << 20 };
/// What the scripted model plays.
pub const SCRIPT: Kind = Kind { name: "a script", limit: 256 << 20 };
/// What a server under test has written.
pub const SERVER_FILE: Kind = Kind { name: "a file of the server", limit: 256 << 20 };
/// Certificates.
pub const CERTIFICATES: Kind = Kind { name: "a file of certificates", limit: 16 << 20 };

/// Opens a regular file for reading. A pipe without a writer does not block.
///
/// # Errors
///
/// Those of the system; [`io::ErrorKind::Other`] for whatever is no regular file.
pub fn open(path: &Path) -> io::Result<File> {
    // Looked at first: opening some devices does something.
    is_regular(&fs::metadata(path)?)?;
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    is_regular(&file.metadata()?)?;
    Ok(file)
}

fn is_regular(metadata: &fs::Metadata) -> io::Result<()> {
    match metadata.is_file() {
        true => Ok(()),
        false => Err(io::Error::other("not a regular file")),
    }
}

/// The bytes of a regular file.
///
/// # Errors
///
/// As [`open`]; [`io::ErrorKind::FileTooLarge`] for a file that is longer than its kind may be.
pub fn read(path: &Path, kind: Kind) -> io::Result<Vec<u8>> {
    read_open(open(path)?, kind)
}

/// The bytes of an open file.
///
/// # Errors
///
/// As [`read`].
pub fn read_open(file: File, kind: Kind) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len();
    if length > kind.limit {
        return Err(too_long(length, kind));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    // It may grow while it is read, and those of the system's own file systems say that they are empty.
    file.take(kind.limit + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 {
        length if length > kind.limit => Err(too_long(length, kind)),
        _ => Ok(bytes),
    }
}

/// The mark that a file in UTF-8 may begin with.
pub const BYTE_ORDER_MARK: char = '\u{feff}';

/// The text of a regular file.
///
/// # Errors
///
/// As [`read`]; [`io::ErrorKind::InvalidData`] for what is not UTF-8.
pub fn read_to_string(path: &Path, kind: Kind) -> io::Result<String> {
    text(read(path, kind)?)
}

/// The text in these bytes of a file, without a byte order mark, which editors on Windows begin files with.
///
/// # Errors
///
/// [`io::ErrorKind::InvalidData`] for what is not UTF-8.
pub fn text(bytes: Vec<u8>) -> io::Result<String> {
    let invalid = |_| io::Error::new(io::ErrorKind::InvalidData, "stream did not contain valid UTF-8");
    let mut text = String::from_utf8(bytes).map_err(invalid)?;
    if text.starts_with(BYTE_ORDER_MARK) {
        text.drain(..BYTE_ORDER_MARK.len_utf8());
    }
    Ok(text)
}

/// Whether something that opens the file by itself would come to an end; a file that is not there is no trouble.
///
/// # Errors
///
/// It is neither a regular file nor a folder, or too long.
pub fn check(path: &Path, kind: Kind) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(there) if there.is_file() && there.len() > kind.limit => Err(too_long(there.len(), kind)),
        Ok(there) if !there.is_dir() => is_regular(&there),
        _ => Ok(()),
    }
}

fn too_long(length: u64, kind: Kind) -> io::Error {
    let Kind { name, limit } = kind;
    let text = format!("{name} may have {limit} bytes, and this has {length} or more");
    io::Error::new(io::ErrorKind::FileTooLarge, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_are_opened() {
        for path in ["/dev/zero", "/dev/null", "/"] {
            let error = open(Path::new(path)).unwrap_err();
            assert_eq!(
                (error.kind(), error.to_string().as_str()),
                (io::ErrorKind::Other, "not a regular file")
            );
        }
        let missing = open(Path::new("/nonesuch")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn byte_order_mark_is_no_text() {
        assert_eq!(text("\u{feff}{\u{feff}}".into()).unwrap(), "{\u{feff}}");
        assert_eq!(text("\u{feff}".into()).unwrap(), "");
        assert!(text(b"\xff\xfe".to_vec()).is_err());
    }

    #[test]
    fn limit_counts_bytes_of_its_kind() {
        let kind = Kind { name: "a test", limit: 3 };
        let file = std::env::temp_dir().join(format!("pi-rpc-limit-{}", std::process::id()));
        fs::write(&file, "abc").unwrap();
        assert_eq!(read_to_string(&file, kind).unwrap(), "abc");
        fs::write(&file, "abcd").unwrap();
        let error = read(&file, kind).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(error.to_string(), "a test may have 3 bytes, and this has 4 or more");
        assert!(check(&file, kind).is_err() && check(Path::new("/nonesuch"), kind).is_ok());
        fs::remove_file(&file).unwrap();
    }
}
