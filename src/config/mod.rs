//! What the user has configured: which models there are, who asks them, and how.
//!
//! The files are pi's own and are only read: `settings.json`, `models.json` and `auth.json` of the agent directory, and
//! `settings.json` of the project. [`load`] reads them into a [`Config`]; [`select`](select()) decides with which model
//! a session starts and which it may change to; [`Keys`] finds out, when a model is asked, what proves who asks.
//!
//! - `directory`, `environment`: where to look.
//! - `approval`: which code of a project may run.
//! - `disk`, `command`: what touches the machine; everything else is made of texts.
//! - [`settings`], `auth`, [`models_file`]: the files; `package`: the packages that settings name.
//! - [`catalogue`]: the models and providers that are known without any file.
//! - [`registered`]: what extensions register on top of that.
//! - `registry`: catalogue and `models.json` together.
//! - `value`, [`keys`]: keys and headers.
//! - [`thinking`], [`pattern`], [`select`](mod@select): choosing.
//!
//! Sources of the rules: pi's published `models.md`, `settings.md` and `providers.md`, and pi 0.73.1 observed.

mod approval;
mod auth;
pub mod catalogue;
mod command;
mod directory;
mod disk;
mod environment;
pub mod keys;
pub mod models_file;
mod package;
pub mod pattern;
mod quick_check;
pub mod registered;
mod registry;
pub mod select;
pub mod settings;
pub mod thinking;
mod value;

pub use approval::{Approval, ProjectCode, WithheldCode};
pub use directory::{Directories, expand_home, sessions_folder};
pub use disk::{Config, Sources, load};
pub use environment::Environment;
pub use keys::{CredentialError, Keys};
pub use package::{ListedPackages, Package};
pub use registered::{RegisteredProvider, RegisteredProviders};
pub use select::{OfferedModel, ScopedModel, Selection, SelectionError, SelectionOptions, select};
pub use settings::Settings;
