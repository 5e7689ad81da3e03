//! A pseudo-terminal for a program.

use rustix::{
    fs::{Mode, OFlags, open},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
};
use std::{fs::File, io::Read as _};

/// Opens a terminal: the outer end, and the one for a program.
pub fn terminal() -> (File, File) {
    let outer = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&outer).unwrap();
    unlockpt(&outer).unwrap();
    let name = ptsname(&outer, Vec::new()).unwrap();
    let inner = open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).unwrap();
    (outer.into(), inner.into())
}

/// Reads the output until no program has the terminal open.
pub fn shown(mut outer: File) -> String {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    // The end is an error.
    while let Ok(count @ 1..) = outer.read(&mut chunk) {
        bytes.extend_from_slice(&chunk[..count]);
    }
    String::from_utf8(bytes).unwrap().replace("\r\n", "\n")
}
