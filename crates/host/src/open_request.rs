//! What a client says of the session that it opens.

use super::{host_error::HostError, principal::Principal};
use pi_rpc_engine::BudgetPlan;
use pi_rpc_protocol::{Dialect, ThinkingLevel};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{path::PathBuf, sync::Arc};

/// A session that is to be opened.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct OpenRequest {
    /// Who opens it; `None`: a local client.
    #[serde(serialize_with = "write_owner", deserialize_with = "read_owner")]
    pub owner: Option<Arc<Principal>>,
    /// The dialect; `None`: that of the host's options.
    #[serde(serialize_with = "write_dialect", deserialize_with = "read_dialect")]
    pub dialect: Option<Dialect>,
    /// Where the session begins.
    pub start: Start,
    /// The working directory.
    pub directory: Option<PathBuf>,
    /// The provider of a new session's model.
    pub provider: Option<String>,
    /// The id of a new session's model.
    pub model: Option<String>,
    /// The thinking level of a new session.
    pub level: Option<ThinkingLevel>,
    /// The display name of a new session.
    pub name: Option<String>,
    /// Tools that the client does without.
    pub tool_limits: ToolLimits,
    /// Budgets of the session, which lower those of the host's options.
    pub budget: BudgetPlan,
}

/// Tools that a client does without, of those that the host offers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolLimits {
    /// The only ones that are offered, by the grammar of `--tools`; `None`: all that the host offers.
    pub only: Option<Vec<String>>,
    /// Whether built-in ones are offered only if [`Self::only`] names them.
    pub no_built_in: bool,
    /// Ones that are not offered.
    pub without: Vec<String>,
    /// Patterns of those whose calls need consent.
    pub confirmed: Vec<String>,
}

/// Where a session begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Start {
    /// A new one, kept as the host's options say.
    #[default]
    New,
    /// A new one, without a file.
    InMemory,
    /// The newest one of its working directory, else a new one.
    Newest,
    /// This file, or the session whose id begins so. A file that does not exist is created.
    Named(String),
    /// A copy of this one.
    Fork(String),
}

impl OpenRequest {
    /// The budgets that a client names: the values of `max_cost`, `max_turns` and `max_time`, as the options have them.
    ///
    /// # Errors
    ///
    /// A limit is wrong.
    pub fn budget(limits: [(&str, Option<String>); 3]) -> Result<BudgetPlan, HostError> {
        let mut plan = BudgetPlan::default();
        for (name, text) in limits {
            let Some(text) = text else { continue };
            let option = name.replace('_', "-");
            let wrong = |reason| HostError::OpenFailed(format!("{name} {text}: {reason}"));
            plan.read(&option, &text).map_err(wrong)?;
        }
        Ok(plan)
    }

    /// The dialect that a client names.
    ///
    /// # Errors
    ///
    /// There is none of that name.
    pub fn dialect(name: Option<&str>) -> Result<Option<Dialect>, HostError> {
        let Some(name) = name else { return Ok(None) };
        let known = Dialect::ALL.map(Dialect::as_str).join(", ");
        let unknown = || HostError::OpenFailed(format!("dialect: expected one of {known}, got {name:?}"));
        Dialect::parse(name).map(Some).ok_or_else(unknown)
    }
}

fn write_dialect<S: Serializer>(dialect: &Option<Dialect>, serializer: S) -> Result<S::Ok, S::Error> {
    dialect.map(Dialect::as_str).serialize(serializer)
}

fn write_owner<S: Serializer>(owner: &Option<Arc<Principal>>, serializer: S) -> Result<S::Ok, S::Error> {
    owner.as_deref().serialize(serializer)
}

fn read_owner<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Arc<Principal>>, D::Error> {
    Ok(Option::<Principal>::deserialize(deserializer)?.map(Arc::new))
}

fn read_dialect<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Dialect>, D::Error> {
    let name = Option::<String>::deserialize(deserializer)?;
    OpenRequest::dialect(name.as_deref()).map_err(|error| serde::de::Error::custom(error.text()))
}

impl Start {
    /// The file or id of the session that it begins from: of the one that is resumed or copied.
    pub fn source(&self) -> Option<&str> {
        match self {
            Self::Named(name) | Self::Fork(name) => Some(name),
            Self::New | Self::InMemory | Self::Newest => None,
        }
    }

    /// The file or id of the session that is resumed.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Named(name) => Some(name),
            Self::New | Self::InMemory | Self::Newest | Self::Fork(_) => None,
        }
    }
}
