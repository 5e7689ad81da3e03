//! Resolves packages to files: pi's own extensions, and the skills and prompt templates of packages. Runs none of them.
//!
//! - [`find`](find()): combines all places, in pi's order. Blocks on the disk.
//! - `finder`: collects the files of each place.
//! - `source`: parses the name of a package; `installed`: finds it on the disk; `fetch`: fetches one that the command
//!   line names.
//! - `package`: lists its files by its `package.json` or its folders, filtered by the settings.
//! - `folder`: finds the extensions of a folder.
//!
//! Which code of a project may run is decided in [`Approval`](pi_rpc_config::Approval).
//!
//! Sources of the rules: pi source (0.52.12, 0.73.1, 1.5.2), and pi's `packages.md`, `extensions.md` and `security.md`.

mod fetch;
mod find;
mod finder;
mod folder;
mod installed;
mod package;
mod source;

pub use find::{FoundPackages, PackageFailure, PackagePlaces, PackageResources, SourcePlace, find};
