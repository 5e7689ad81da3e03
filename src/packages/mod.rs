//! pi's own extensions, and the packages that bring extensions, skills and prompt templates along: which of them count.
//! Nothing of them is run here.
//!
//! - [`find`](find()): all places together, in pi's order. Blocks on the disk.
//! - `looking`: each place by itself.
//! - `source`: what a package is called; `installed`: where it is; `fetching`: one that the command line names and that is
//!   nowhere.
//! - `package`: what is in one, by its `package.json` or by the names of its folders, as far as the settings want it.
//! - `folder`: the extensions of a folder.
//!
//! Which code of a project may run is decided in [`Approval`](crate::config::Approval).
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
