//! Resolves packages to files: pi's own extensions, and the skills and prompt templates of packages.
//!
//! For hosts of pi's own extensions: [`find`](find()) names the files, in pi's order, and says which could not be found or may
//! not be used.
//!
//! This crate runs none of them. It starts only npm and git, and these only to fetch packages that the command line names. Which
//! code of a project may run is decided in [`Approval`](pi_rpc_config::Approval); what that forbids is left out here.
//! [`find`](find()) blocks on the disk, and on the network where it fetches.
//!
//! - [`find`](find()), [`PackagePlaces`]: combines all places.
//! - [`FoundPackages`], [`PackageResources`], [`PackageFailure`]: what was found, and what could not be.
//! - `finder`: collects the files of each place.
//! - `source`: parses the name of a package; `installed`: finds it on the disk; `fetch`: fetches one that the command
//!   line names.
//! - `package`: lists its files by its `package.json` or its folders, filtered by the settings.
//! - `folder`: finds the extensions of a folder.
//!
//! Sources of the rules: pi source (0.52.12, 0.73.1, 1.5.2), and pi's `packages.md`, `extensions.md` and `security.md`.
//!
//! ```
//! use pi_rpc_config::{Environment, Sources, load};
//! use pi_rpc_packages::{PackagePlaces, find};
//! use std::fs;
//!
//! let home = tempfile::tempdir()?;
//! let extensions = home.path().join(".pi/agent/extensions");
//! fs::create_dir_all(&extensions)?;
//! fs::write(extensions.join("greet.ts"), "export default function (pi) {}")?;
//! let environment: Environment = [("HOME", home.path().to_str().unwrap())].into_iter().collect();
//! let working_directory = home.path().join("project");
//! let sources = Sources {
//!     dialect: pi_rpc_protocol::Dialect::Pi, working_directory: working_directory.clone(), environment: environment.clone(),
//!     approve: None,
//! };
//! let found = find(&PackagePlaces {
//!     config: &load(sources), given: &[], only_given: false, working: &working_directory, environment: &environment,
//!     cache: &home.path().join("cache"),
//! });
//! assert!(found.extensions[0].path.ends_with("/.pi/agent/extensions/greet.ts"));
//! # Ok::<(), std::io::Error>(())
//! ```

mod fetch;
mod find;
mod finder;
mod folder;
mod installed;
mod package;
mod source;

pub use find::{FoundPackages, PackageFailure, PackagePlaces, PackageResources, SourcePlace, find};
pub use installed::installed_place;
