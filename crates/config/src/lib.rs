//! The user's configuration: models, credentials, settings, and the files of prompts.
//!
//! For programs that use the same configuration as pi, xcsh or omp: [`load`] reads it into a [`Config`], [`select`](select())
//! chooses the models of a session, and [`Keys`] resolves credentials when a model is called.
//!
//! The files are pi's own and are only read: `settings.json`, `models.json` and `auth.json` of the agent directory, and
//! `settings.json` of the project; in omp also `agent.db`, a database of keys and logins. The files that are written are
//! `trust.json`, by [`save_decision`], and `mcp.json`, by [`mcp_file`]. This crate opens no network connection and calls no model. It starts a process only where
//! a key or a header is given as a command, and only when that value is needed. What a project brings along runs and is read only
//! as far as [`Approval`] admits it.
//!
//! - [`Sources`], [`Environment`], [`Directories`]: dialect, working directory, variables, and so the places of the files.
//! - [`Approval`]: whether code of a project may run, and its texts may be read; `decisions`: the user's decisions about
//!   projects; `credential_places`: files that are never such texts.
//! - [`settings`], `auth`, [`models_file`]: the files; `package`: packages in the settings; `quick_check`: a fast check against a
//!   schema.
//! - [`catalogue`]: built-in models and providers. [`registered`]: providers that extensions register. `registry`: all models:
//!   the catalogue, `models.json` and registered providers together.
//! - [`login_kinds`]: where tokens of providers come from, as data.
//! - [`mcp`]: the servers of `mcp.json`; `mcp_entry`, [`mcp_oauth`]: one of them; [`mcp_file`]: changes of the file.
//! - `unhonoured`: settings of pi that are not read, with their reasons.
//! - `value`, [`keys`]: values of keys and headers.
//! - [`thinking`], [`pattern`], [`reference`](mod@reference), [`select`](mod@select): thinking levels, globs over names of
//!   models, what a name means, and selection of models.
//! - [`prompt`]: finds and reads instructions, skills, prompt templates and rules.
//!
//! `disk`, `decisions`, `command`, `credential_database`, [`mcp`], [`mcp_file`] and [`prompt`] are the only parts that touch the machine; everything
//! else works on texts.
//!
//! Sources of the rules: pi's published `models.md`, `settings.md` and `providers.md`, and pi 0.73.1 observed.
//!
//! ```
//! use pi_rpc_config::{Environment, SelectionOptions, Sources, load, select};
//! use pi_rpc_protocol::Dialect;
//!
//! let home = tempfile::tempdir()?;
//! let variables = [("HOME", home.path().to_str().unwrap()), ("ANTHROPIC_API_KEY", "sk-ant-example")];
//! let environment: Environment = variables.into_iter().collect();
//! let working_directory = home.path().to_owned();
//! let config = load(Sources { dialect: Dialect::Pi, working_directory, environment, approve: None });
//! assert!(config.keys.is_configured("anthropic"));
//! let wanted = SelectionOptions { model: Some("anthropic/claude-sonnet-4-5".to_owned()), ..SelectionOptions::default() };
//! let selection = select(&config, &wanted)?;
//! assert_eq!(selection.offers[selection.start].endpoint.model.id, "claude-sonnet-4-5");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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
pub mod mcp;
mod mcp_entry;
pub mod mcp_file;
pub mod mcp_oauth;
pub mod models_file;
mod named_model;
mod object_file;
mod other_models;
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
mod unhonoured;
mod value;
pub mod virtual_models;

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
pub use other_models::{OtherModels, SharedOtherModels};
pub use package::{ListedPackages, Package};
pub use pattern::ModelFilter;
pub use registered::{RegisteredProvider, RegisteredProviders};
pub use select::{
    OfferedModel, ScopedModel, Selection, SelectionError, SelectionOptions, offered_models, select,
};
pub use settings::Settings;
pub use unhonoured::{Effect, UnhonouredSetting, missing_text, unhonoured_in, unhonoured_settings};
pub use virtual_models::VirtualModel;
