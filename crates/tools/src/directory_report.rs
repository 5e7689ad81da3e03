//! Finds the directory in which a command ends, for dialects in which `cd` lasts from one command to the next.
//!
//! A trap makes the shell write its directory to a private file on exit. The output of the command stays untouched, and so
//! do the line numbers in its errors. A command that replaces the shell (`exec`), sets an EXIT trap of its own or is killed
//! reports no directory.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use tokio::process::Command;

use super::output::private_file;
use pi_rpc_files::regular_files::{self, Kind};

/// The report: a path, which the system limits.
const REPORT: Kind = Kind { name: "a report", limit: 64 << 10 };

/// The private directory for the report; removed on drop.
pub(super) struct DirectoryReport {
    place: PathBuf,
}

impl DirectoryReport {
    pub(super) fn new() -> io::Result<Self> {
        let place = std::env::temp_dir().join(format!("pi-cwd-{:016x}", getrandom::u64()?));
        std::fs::DirBuilder::new().mode(0o700).create(&place)?;
        Ok(Self { place })
    }

    /// Makes `process`, a `shell` that will run `script`, report its directory. Returns the script to run instead.
    ///
    /// bash reads the trap from a file before the script; for other shells it stands on the script's first line.
    pub(super) fn instrument(
        &self,
        shell: &Path,
        script: &str,
        process: &mut Command,
    ) -> io::Result<OsString> {
        let mut lines = self.trap();
        if shell.file_name() == Some(OsStr::new("bash")) {
            // The original `BASH_ENV` is restored and sourced.
            lines.extend(match std::env::var_os("BASH_ENV") {
                None => b"\nunset BASH_ENV\n".to_vec(),
                Some(file) => [b"\nBASH_ENV=".as_slice(), &quote(&file), b"\n. \"$BASH_ENV\"\n"].concat(),
            });
            let file = self.place.join("env");
            private_file(&file)?.write_all(&lines)?;
            process.env("BASH_ENV", file);
            return Ok(script.into());
        }
        lines.extend_from_slice(b"; ");
        lines.extend_from_slice(script.as_bytes());
        Ok(OsString::from_vec(lines))
    }

    /// The reported directory, if there is a report and the directory exists.
    pub(super) fn read(&self) -> Option<PathBuf> {
        // A command may have put something else in its place.
        let mut bytes = regular_files::read(&self.place.join("cwd"), REPORT).ok()?;
        bytes.pop_if(|byte| *byte == b'\n');
        let directory = PathBuf::from(OsString::from_vec(bytes));
        directory.is_dir().then_some(directory)
    }

    /// The trap. `set +x` and the redirections keep it silent; `>|` works under `noclobber`.
    fn trap(&self) -> Vec<u8> {
        let file = quote(self.place.join("cwd").as_os_str());
        let body = [b"{ set +x; command pwd >|".as_slice(), &file, b"; } 2>/dev/null || :"].concat();
        [b"trap ".as_slice(), &quote(OsStr::from_bytes(&body)), b" EXIT"].concat()
    }
}

impl Drop for DirectoryReport {
    fn drop(&mut self) {
        // A leftover in the temporary directory does no harm.
        let _ = std::fs::remove_dir_all(&self.place);
    }
}

fn quote(text: &OsStr) -> Vec<u8> {
    let mut quoted = vec![b'\''];
    for byte in text.as_bytes() {
        match byte {
            b'\'' => quoted.extend_from_slice(b"'\\''"),
            other => quoted.push(*other),
        }
    }
    quoted.push(b'\'');
    quoted
}
