//! Why a model cannot be used: what is missing, and what would help.

use super::keys::VERTEX;
use pi_rpc_model::api::Api;
use pi_rpc_protocol::{Dialect, errors};
use std::path::{Path, PathBuf};

/// Why there are no credentials for a model. The texts tell the user what would help.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CredentialError {
    /// Nothing is configured for the provider.
    #[error("{}", errors::no_api_key(Dialect::Pi.base(), provider, &no_key_help(provider, variables, agent)))]
    NoKey {
        /// The provider.
        provider: String,
        /// Variables that would help.
        variables: &'static [&'static str],
        /// The agent directory.
        agent: PathBuf,
    },
    /// A variable that the provider's address needs is not set.
    #[error("{variable} is not set; the address of provider {provider} needs it.")]
    NoVariable {
        /// The provider.
        provider: String,
        /// The variable.
        variable: &'static str,
    },
    /// The login has expired, and there is no way to renew it.
    #[error("The login of {provider} in {} has expired, and {help}", file.display())]
    Expired {
        /// The provider.
        provider: String,
        /// The file that holds it.
        file: PathBuf,
        /// What would help.
        help: String,
    },
    /// A command printed no value.
    #[error("Failed to resolve {what} from shell command: {command}")]
    Command {
        /// The value that was expected.
        what: String,
        /// The program of the command: its arguments may hold a key.
        command: String,
    },
    /// A variable that a value names is not set.
    #[error("Failed to resolve {what}: the environment variable {name} is not set")]
    Variable {
        /// The value that refers to it.
        what: String,
        /// The variable.
        name: String,
    },
    /// The command belongs to a project that is not approved.
    #[error(
        "{what} comes from a command of a project that is not approved, so it was not run; --approve approves it"
    )]
    Unapproved {
        /// The value that was expected.
        what: String,
    },
    /// Something that the API needs beside the key is not set.
    #[error("{0}")]
    Setting(String),
    /// The API is not supported.
    #[error("The API {0:?} is not supported by this version; supported: {apis}.", apis = Api::ALL.map(Api::as_str).join(", "))]
    Api(String),
}

/// Ways to configure a key for the provider.
fn no_key_help(provider: &str, variables: &[&str], agent: &Path) -> String {
    let variable = match variables {
        [] => String::new(),
        names => format!("Set {}, or add", names.join(" or ")),
    };
    let add = if variable.is_empty() { "Add" } else { &variable };
    let account = match provider {
        VERTEX => {
            "\n\nOr use an account: set GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION, and GOOGLE_APPLICATION_CREDENTIALS to its \
                   file or run `gcloud auth application-default login`."
        }
        _ => "",
    };
    format!(
        "{add} it to {}/auth.json: {{\"{provider}\": {{\"type\": \"api_key\", \"key\": \"…\"}}}}{account}",
        agent.display()
    )
}
