//! Another's program whose sessions clients of this host use: how it is started, and who may not have one.
//!
//! The host cannot hold that program to folders, models or tools. So a token with `roots`, `models` or `tools` gets no session of it.

use super::{
    file_owners::FileOwners,
    host_error::HostError,
    open_request::{OpenRequest, Start, ToolLimits},
    principal::Principal,
};
use pi_rpc_engine::BudgetPlan;
use pi_rpc_protocol::{Dialect, DialectVersion};
use pi_rpc_session_store::working_directory;
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
};

/// A program that serves one session on its stdin and stdout.
#[derive(Clone, Debug)]
pub struct OtherServer {
    /// The program.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// What it speaks.
    pub speaks: DialectVersion,
    /// What clients speak that name no dialect.
    pub dialect: Dialect,
    /// The working directory of sessions that name none.
    pub directory: PathBuf,
}

/// A session of an [`OtherServer`] that its client may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherSessionOptions {
    /// What its clients speak.
    pub dialect: Dialect,
    /// The working directory.
    pub directory: PathBuf,
    /// Arguments behind those of the server.
    pub arguments: Vec<OsString>,
}

impl OtherServer {
    /// The options of a session. Blocks.
    ///
    /// # Errors
    ///
    /// The owner has a limit that the server cannot be held to, or the request has something that only the server decides.
    pub fn prepare(
        &self,
        request: &OpenRequest,
        owners: &Arc<FileOwners>,
    ) -> Result<OtherSessionOptions, HostError> {
        // Every member is named, so that a new one is decided here.
        let OpenRequest {
            owner,
            dialect,
            start,
            directory,
            provider,
            model,
            level,
            name,
            tool_limits,
            budget,
        } = request;
        let owner = owner.clone().unwrap_or_else(Principal::local);
        owner.limits.check_other_server()?;
        let dialect = dialect.unwrap_or(self.dialect);
        owner.limits.check_dialect(dialect)?;
        let unheld = [
            ("provider", provider.is_some()),
            ("model", model.is_some()),
            ("thinking", level.is_some()),
            ("name", name.is_some()),
            ("tools", *tool_limits != ToolLimits::default()),
            ("max_cost, max_turns and max_time", *budget != BudgetPlan::default()),
        ];
        if let Some((member, _)) = unheld.into_iter().find(|(_, is_given)| *is_given) {
            let text = format!("{member}: the sessions of this host are another program's, which decides it");
            return Err(HostError::OpenFailed(text));
        }
        let (arguments, found) = match start {
            Start::New => (Vec::new(), None),
            Start::InMemory => (vec![OsString::from("--no-session")], None),
            Start::Named(path) => {
                let path = Path::new(path);
                if !path.is_absolute() || !path.is_file() {
                    return Err(HostError::UnknownSession);
                }
                let files = owners.of(owner.clone());
                let permitted = files.permit(path)?.into_inner();
                let found = working_directory(&permitted);
                (vec![OsString::from("--session"), permitted.into_os_string()], found)
            }
            Start::Newest | Start::Fork(_) => {
                let text =
                    "newest and fork: not with sessions of another program; name the file of a session";
                return Err(HostError::OpenFailed(text.to_owned()));
            }
        };
        let directory = directory.clone().or(found).unwrap_or_else(|| self.directory.clone());
        if !directory.is_dir() {
            return Err(HostError::OpenFailed(format!("cwd: {}: not a directory", directory.display())));
        }
        Ok(OtherSessionOptions { dialect, directory, arguments })
    }
}
