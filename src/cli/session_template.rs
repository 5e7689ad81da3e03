//! The options of a hosted session: those of the session host, what its client asks for, within the limits of the client's token.

use super::{
    options::{self, HostOptions, NarrowerTools, Refusal, SessionStart},
    session,
    session_options::{load_session_config, session_with_servers},
    tool_selection::TOKEN_TOOLS,
};
use pi_rpc_config::{Config, Environment, ModelFilter, SelectionOptions, named_model};
use pi_rpc_files::secrets::Secrets;
use pi_rpc_host::{
    FileAccess, FileOwners, HostError, OpenRequest, Principal, Roots, Start, TokenLimits, ToolLimits,
    real_path,
};
use pi_rpc_protocol::{Dialect, MultiSessionErrorCode};
use pi_rpc_server::{FileGuard, SessionOptions, scripted_name};
use pi_rpc_session_store::working_directory;
use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// What all sessions of a process have in common.
pub struct SessionTemplate {
    /// The dialect of sessions that name none.
    pub dialect: Dialect,
    /// Whether the sessions are of clients of a session host, which approve no project.
    pub is_host: bool,
    /// The options of the session host, or of the host that has started `serve`.
    pub options: HostOptions,
    /// The host's command line, which extensions may read options from.
    pub arguments: Vec<OsString>,
    /// The working directory of the host.
    pub directory: PathBuf,
    /// The environment of the host.
    pub environment: Environment,
    /// Credentials of all sessions, redacted in the log.
    pub secrets: Secrets,
    /// Whose the files of sessions are; `None`: all clients are the local user.
    pub owners: Option<Arc<FileOwners>>,
}

impl SessionTemplate {
    /// The options of a new session. Blocks.
    ///
    /// # Errors
    ///
    /// The limits of its owner forbid it, or what it needs cannot be used.
    pub fn open(&self, request: OpenRequest) -> Result<SessionOptions, HostError> {
        let limits = request.owner.as_ref().map_or_else(TokenLimits::none, |owner| owner.limits.clone());
        let owner = request.owner.unwrap_or_else(Principal::local);
        let owner_name = Some(owner.name.clone()).filter(|name| name != Principal::LOCAL);
        let files = self.owners.as_ref().map(|owners| owners.of(owner));
        let dialect = request.dialect.unwrap_or(self.dialect);
        limits.check_dialect(dialect)?;
        let dialect = self.dialect_of(dialect)?;
        let mut options = self.options.clone();
        let names_model = request.provider.is_some() || request.model.is_some();
        if names_model {
            (options.provider, options.model) = (request.provider, request.model);
        }
        options.thinking = request.level.or(options.thinking);
        // Whatever dialect a client chooses, no tool runs without what was to guard it.
        options.require_extensions.get_or_insert(true);
        options.name = request.name.or(options.name);
        options.budget.narrow(&request.budget);
        narrow_tools(&mut options, request.tool_limits, limits.tools.as_deref());
        // Where another's session works is not told.
        let is_below = |path: &Path| {
            limits.roots.as_ref().is_some_and(|roots| real_path(path).is_ok_and(|path| roots.contain(&path)))
        };
        let is_known = |path: &&Path| {
            let is_other = |files: &FileAccess| files.refuse_noted(path).is_err() || !is_below(path);
            files.as_ref().is_none_or(|files| files.permit(path).is_ok() || !is_other(files))
        };
        let before = request.start.name().map(Path::new).filter(is_known).and_then(working_directory);
        let is_of_host = request.start == Start::New;
        options.session = match request.start {
            Start::New => options.session,
            Start::InMemory => SessionStart::InMemory,
            Start::Newest => SessionStart::Newest,
            Start::Named(name) => SessionStart::Open(name),
            Start::Fork(name) => SessionStart::Fork(name),
        };
        let mut directory = request.directory.or(before).unwrap_or_else(|| self.directory.clone());
        if let Some(roots) = &limits.roots {
            directory = roots.check("cwd", &directory)?;
        }
        match fs::metadata(&directory).map(|found| found.is_dir()) {
            Ok(true) => {}
            Ok(false) => return Err(not_a_directory(&directory, &io::ErrorKind::NotADirectory.into())),
            Err(error) => return Err(not_a_directory(&directory, &error)),
        }
        let host = self.is_host.then_some(self.dialect);
        let secrets = self.secrets.clone();
        let mut config = load_session_config(
            dialect,
            &options,
            &self.arguments,
            &directory,
            &self.environment,
            secrets,
            host,
        );
        if let Some(roots) = &limits.roots {
            self.confine_folder(&options, roots, &config, &directory)?;
        }
        // What the host's options copy is for all clients.
        let is_for_all = is_of_host && matches!(options.session, SessionStart::Fork(_));
        if let Some(files) = files.as_ref().filter(|_| !is_for_all) {
            self.permit_session(&mut options, files, &limits, &config, &directory)?;
        }
        if let Some(roots) = &limits.roots {
            confine_script(&options, roots, names_model)?;
        }
        if let Some(models) = &limits.models {
            narrow_models(&mut options, &mut config, models, names_model)?;
        }
        let mut session =
            session_with_servers(config, &options, &self.arguments, directory, &self.environment, &limits)?;
        session.permissions = session.permissions.map(|file| file.of(owner_name));
        session.file_guard = files.map(|files| Arc::new(files) as Arc<dyn FileGuard>);
        Ok(session)
    }

    /// The dialect of a session: with logins if the host allows them, whatever the client asks for.
    fn dialect_of(&self, wanted: Dialect) -> Result<Dialect, HostError> {
        if self.options.wire_login {
            return Ok(options::with_logins(wanted)?);
        }
        match options::has_logins(wanted) && !options::has_logins(self.dialect) {
            true => Err(HostError::Forbidden(
                MultiSessionErrorCode::ForbiddenDialect,
                format!("dialect: {wanted} has logins, which the host was started without (--wire-login)"),
            )),
            false => Ok(wanted),
        }
    }

    /// Checks that a folder of sessions that the project has chosen is below the roots.
    fn confine_folder(
        &self,
        options: &HostOptions,
        roots: &Roots,
        config: &Config,
        directory: &Path,
    ) -> Result<(), HostError> {
        let folder = session::project_folder(config, options, directory, &self.environment);
        match folder.filter(|_| options.session != SessionStart::InMemory) {
            Some(folder) => roots.check_folder("sessionDir", &folder),
            None => Ok(()),
        }
    }

    /// Finds the session that a client or the host's options name, checks that its opener may have it, and notes whose it is.
    fn permit_session(
        &self,
        options: &mut HostOptions,
        files: &FileAccess,
        limits: &TokenLimits,
        config: &Config,
        directory: &Path,
    ) -> Result<(), HostError> {
        let is_seen = |path: &Path| files.permit(path).is_ok();
        let locate = |options: &HostOptions| {
            let found = session::locate(config, options, directory, &self.environment, &is_seen);
            found.map_err(|error| match &limits.roots {
                // The reason may name directories of others.
                Some(_) => HostError::OpenFailed("no such session below the roots".to_owned()),
                None => error.into(),
            })
        };
        let mut found = locate(options)?;
        if found.is_none() && options.session == SessionStart::Newest {
            // Otherwise the newest one of others would be found.
            options.session = SessionStart::New;
            found = locate(options)?;
        }
        let Some(path) = found else { return Ok(()) };
        let real = match &limits.roots {
            Some(roots) => self.confine_session(&path, files, roots, options, config, directory)?,
            None => path,
        };
        let permitted = files.permit(&real)?;
        if let SessionStart::Fork(_) = options.session {
            options.session = SessionStart::Fork(permitted.to_string_lossy().into_owned());
            return Ok(());
        }
        files.claim(&permitted)?;
        if !(limits.sees_all && limits.roots.is_none()) {
            options.session = SessionStart::Open(permitted.to_string_lossy().into_owned());
        }
        Ok(())
    }

    /// Checks that the file of a session and its working directory are below the roots. The host's own folders of sessions may
    /// be elsewhere. Returns the path without symbolic links.
    fn confine_session(
        &self,
        path: &Path,
        files: &FileAccess,
        roots: &Roots,
        options: &HostOptions,
        config: &Config,
        directory: &Path,
    ) -> Result<PathBuf, HostError> {
        let real = real_path(path).ok();
        let mut folders = session::folders(config, options, directory, &self.environment);
        let is_in = |folder: PathBuf| {
            real.as_ref().is_some_and(|real| real_path(&folder).is_ok_and(|it| real.starts_with(it)))
        };
        match real.as_ref().filter(|_| folders.any(is_in)) {
            Some(real) => files.permit(real).map(drop)?,
            None => {
                roots.check("sessionPath", path)?;
                // Where a session of another works is not told.
                files.refuse_noted(path)?;
            }
        }
        let real = real.ok_or(HostError::UnknownSession)?;
        if let Some(directory) = working_directory(&real) {
            roots.check("sessionPath", &directory)?;
        }
        Ok(real)
    }
}

/// Checks that a script in place of a model, which a client names, is below the roots.
fn confine_script(options: &HostOptions, roots: &Roots, is_named: bool) -> Result<(), HostError> {
    let script = scripted_name(options.provider.as_deref(), options.model.as_deref());
    match script.filter(|name| is_named && *name != "demo") {
        Some(name) => roots.check("model", Path::new(name)).map(drop),
        None => Ok(()),
    }
}

/// Leaves of the host's tools what the client and its token allow.
fn narrow_tools(options: &mut HostOptions, client: ToolLimits, token: Option<&[String]>) {
    let ToolLimits { only, without, confirmed, no_built_in } = client;
    if only.is_some() || no_built_in {
        options.narrower_tools.push(NarrowerTools { source: "tools", entries: only, no_built_in });
    }
    if let Some(token) = token {
        let entries = Some(token.to_vec());
        options.narrower_tools.push(NarrowerTools { source: TOKEN_TOOLS, entries, no_built_in: false });
    }
    options.exclude_tools.extend(without);
    options.confirm_tools.extend(confirmed);
}

/// Leaves only the models that match one of the globs.
///
/// # Errors
///
/// The client names another one.
fn narrow_models(
    options: &mut HostOptions,
    config: &mut Config,
    globs: &[String],
    is_named: bool,
) -> Result<(), HostError> {
    let filter = ModelFilter::new(globs);
    let (provider, model) = (options.provider.as_deref(), options.model.as_deref());
    let script = scripted_name(provider, model);
    let exists = |config: &Config| match (provider, model) {
        (provider, Some(model)) => named_model(model, provider, &SelectionOptions::default(), config).is_ok(),
        (Some(provider), None) => !config.models_of(|name| name.eq_ignore_ascii_case(provider)).is_empty(),
        (None, None) => true,
    };
    let is_known = script.is_some() || exists(config);
    config.model_filter = Some(filter.clone());
    let is_admitted = match script {
        Some(name) => filter.admits_named("scripted", without_level(name)),
        None => exists(config),
    };
    if is_admitted {
        return Ok(());
    }
    if is_named && is_known {
        let name = [provider, model].into_iter().flatten().collect::<Vec<_>>().join("/");
        let text = format!("model: expected one of {}, got {name:?}", globs.join(", "));
        return Err(HostError::Forbidden(MultiSessionErrorCode::ForbiddenModel, text));
    }
    if !is_named {
        // The host's own choice is not for this token.
        (options.provider, options.model) = (None, None);
    }
    Ok(())
}

/// The name of a script without the thinking level behind it.
fn without_level(name: &str) -> &str {
    pi_rpc_config::pattern::without_level(name).0
}

fn not_a_directory(directory: &Path, error: &io::Error) -> HostError {
    HostError::OpenFailed(format!("cwd: {}: {error}", directory.display()))
}

impl From<Refusal> for HostError {
    fn from(Refusal(text, _): Refusal) -> Self {
        Self::OpenFailed(text)
    }
}
