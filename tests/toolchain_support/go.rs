//! Go, as PyPI has it.

use super::{environment, run};
use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// An installed Go.
pub struct Go {
    /// Folder of `go` and `gofmt`.
    programs: PathBuf,
    /// Folder of what has been compiled.
    cache: PathBuf,
}

/// The Go of `generators/go/requirements.txt`; `None`, with a note, where it cannot be had.
pub fn go() -> Option<Go> {
    let python = environment("generators/go/requirements.txt")?;
    let cache = python.parent().expect("bin").join("../go-cache");
    let package =
        run(Command::new(python).args(["-c", "import go; print(go.__path__[0])"])).expect("the package go");
    Some(Go { programs: Path::new(&package).join("bin"), cache })
}

impl Go {
    /// `go` that keeps what it has compiled below `target`, and downloads nothing.
    pub fn command(&self) -> Command {
        let mut go = Command::new(self.programs.join("go"));
        go.env("GOCACHE", &self.cache).env("GOTOOLCHAIN", "local").env("GOPROXY", "off");
        go.env("GOFLAGS", "-buildvcs=false").env("CGO_ENABLED", "0");
        go
    }

    /// Path of `gofmt`.
    pub fn gofmt(&self) -> PathBuf {
        self.programs.join("gofmt")
    }
}
