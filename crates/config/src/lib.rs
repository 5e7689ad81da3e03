//! The user's configuration: models, credentials and settings.
//!
//! The files are pi's own and are only read: `settings.json`, `models.json` and `auth.json` of the agent directory,
//! and `settings.json` of the project; in omp also `agent.db`, a database of keys and logins. [`load`] reads them into a [`Config`]; [`select`](select()) chooses the models
//! of a session; [`Keys`] resolves credentials when a model is called.
//!
//! - `directory`, `environment`: places of the files.
//! - `decisions`: the user's decisions about projects.
//! - `approval`: whether code of a project may run, and its texts may be read; `credential_places`: files that are never such
//!   texts.
//! - `disk`, `decisions`, `command`, `credential_database`: the only parts that touch the machine; everything else works on texts.
//! - [`settings`], `auth`, [`models_file`]: the files; `package`: packages in the settings; `quick_check`: a fast
//!   check against a schema.
//! - [`catalogue`]: built-in models and providers.
//! - [`registered`]: providers that extensions register.
//! - `registry`: all models: the catalogue, `models.json` and registered providers together.
//! - [`login_kinds`]: where tokens of providers come from, as data.
//! - `value`, [`keys`]: values of keys and headers; `token`: claims of tokens.
//! - [`thinking`], [`pattern`], [`reference`](mod@reference), [`select`](mod@select): thinking levels, globs over names of models, what a
//!   name means, and selection of models.
//!
//! Sources of the rules: pi's published `models.md`, `settings.md` and `providers.md`, and pi 0.73.1 observed.

mod approval;
mod auth;
mod aws;
pub mod catalogue;
mod command;
mod credential_database;
mod credential_error;
mod credential_order;
mod credential_places;
mod credential_source;
mod decisions;
mod directory;
mod disk;
mod environment;
pub mod keys;
pub mod login_kinds;
mod login_use;
pub mod models_file;
mod named_model;
mod object_file;
mod package;
pub mod pattern;
pub mod prompt;
mod quick_check;
pub mod reference;
pub mod registered;
mod registry;
pub mod select;
pub mod settings;
pub mod thinking;
mod value;

pub use approval::{Approval, ExtensionDecision, ProjectCode, WithheldCode};
pub use credential_error::CredentialError;
pub use credential_source::{CredentialKind, CredentialPlace, CredentialSource, read_stored_logins};
pub use decisions::save_decision;
pub use directory::{Directories, InvalidProfile, expand_home, sessions_folder, with_profile};
pub use disk::{Config, ProjectPolicy, Sources, load, load_with_policy, load_with_secrets};
pub use environment::Environment;
pub use keys::Keys;
pub use login_use::{host_of, login_base_url};
pub use named_model::{NamedModel, named_model};
pub use package::{ListedPackages, Package};
pub use pattern::ModelFilter;
pub use registered::{RegisteredProvider, RegisteredProviders};
pub use select::{
    OfferedModel, ScopedModel, Selection, SelectionError, SelectionOptions, offered_models, select,
};
pub use settings::Settings;
