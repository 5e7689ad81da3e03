//! Files and texts that somebody else has written, read and shown without harm; and what must not leave this process.
//!
//! For programs that open files of a project, a package or the user, print texts of models and servers to a terminal, or start
//! processes while they hold keys.
//!
//! This crate starts no process and opens no network connection. It never follows a link out of a project unless it is told to,
//! never waits for a pipe or a device, and never holds more of a file than its kind may have.
//!
//! - [`regular_files`]: the one reader of files of a project, a package or the user: bounded, and of regular files only.
//! - [`confinement`]: which files a project may name as its own.
//! - [`private_files`]: files and folders that only their owner may read.
//! - [`secrets`]: known credentials, redacted in texts and withheld from child processes.
//! - [`harmless`]: texts from outside as a terminal may show them.
//!
//! ```
//! use pi_rpc_files::{harmless::harmless, regular_files::{self, CONFIGURATION}, secrets::Secrets};
//! use std::path::Path;
//!
//! // A device is no file of settings, and is not even opened.
//! let refused = regular_files::read(Path::new("/dev/zero"), CONFIGURATION).unwrap_err();
//! assert_eq!(refused.to_string(), "not a regular file");
//!
//! let secrets = Secrets::default();
//! secrets.remember("sk-ant-1234567890");
//! assert_eq!(secrets.redact("401: the key sk-ant-1234567890 is unknown"), "401: the key *** is unknown");
//!
//! assert_eq!(harmless("done\u{1b}[2J"), r"done\u{1b}[2J");
//! ```

pub mod confinement;
pub mod harmless;
pub mod private_files;
pub mod regular_files;
pub mod secrets;
