//! Files and texts that somebody else has written, read and shown without harm; and what must not leave this process.
//!
//! - [`regular_files`]: the one reader of files of a project, a package or the user: bounded, and of regular files only.
//! - [`confinement`]: which files a project may name as its own.
//! - [`folder_walk`]: walks folders as their ignore files want it.
//! - [`private_files`]: files and folders that only their owner may read.
//! - [`secrets`]: known credentials, redacted in texts and withheld from child processes.
//! - [`harmless`]: texts from outside as a terminal may show them.

pub mod confinement;
pub mod folder_walk;
pub mod harmless;
pub mod private_files;
pub mod regular_files;
pub mod secrets;
