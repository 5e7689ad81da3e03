//! From options and the configuration of a directory to the [`SessionOptions`] of a session in it.

use super::{
    USAGE, extensions,
    options::{HostOptions, Refusal},
    project_trust,
    session::InitialSession,
    tool_selection::{self, SelectedTools},
    traces,
};
use pi_rpc_config::{
    self as config, Config, Environment, ProjectPolicy, SelectionError, SelectionOptions, Sources,
    expand_home, load_with_policy, missing_text,
    prompt::files::{PromptFiles, text_or_file},
};
use pi_rpc_engine::{CompactionPlan, Modes, RetryPlan, WarmingPlan, limits::Limits};
use pi_rpc_files::secrets::{self, Secrets};
use pi_rpc_model::http_options::CacheWarming;
use pi_rpc_model_http::http::Http;
use pi_rpc_prompt::{ContextFile, PromptSource, tool_line};
use pi_rpc_protocol::Dialect;
use pi_rpc_server::{
    LoginAccess, ModelLibrary, PermissionFile, SessionOptions, ToolEnvironment, scripted_name, wall_ms,
};
use pi_rpc_session::day;
use pi_rpc_session_store::SyncPolicy;
use pi_rpc_tools::OutputFiles;
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// Loads the configuration of a directory, with the keys of the options. Logs its warnings; `secrets` learns its credentials.
/// `host`: the dialect of the host that has the session.
pub fn load_config(
    dialect: Dialect,
    options: &HostOptions,
    directory: &Path,
    environment: &Environment,
    secrets: Secrets,
    host: Option<Dialect>,
) -> Config {
    let config = read_config(dialect, options, directory, environment, secrets, policy(options, host));
    finish_config(config, options, directory, environment)
}

/// Like [`load_config`], for a session: where the project needs an approval, extensions of the user are asked first.
/// `arguments`: the command line, for their flags.
pub fn load_session_config(
    dialect: Dialect,
    options: &HostOptions,
    arguments: &[OsString],
    directory: &Path,
    environment: &Environment,
    secrets: Secrets,
    host: Option<Dialect>,
) -> Config {
    let policy = policy(options, host);
    let read = |policy| read_config(dialect, options, directory, environment, secrets.clone(), policy);
    let config = read(policy.clone());
    let config = match project_trust::decide(&config, options, arguments, directory, environment) {
        Some(decision) => read(ProjectPolicy { extension: Some(decision), ..policy }),
        None => config,
    };
    finish_config(config, options, directory, environment)
}

/// What options and host let projects do.
fn policy(options: &HostOptions, host: Option<Dialect>) -> ProjectPolicy {
    let files = [
        &options.token_file,
        &options.tls_key,
        &options.nats_credentials,
        &options.nats_nkey,
        &options.nats_key,
        &options.webhook_secret_file,
    ];
    ProjectPolicy {
        follows_links: options.follow_links,
        host,
        extension: None,
        credentials: files.into_iter().flatten().map(PathBuf::from).collect(),
    }
}

fn read_config(
    dialect: Dialect,
    options: &HostOptions,
    directory: &Path,
    environment: &Environment,
    secrets: Secrets,
    policy: ProjectPolicy,
) -> Config {
    let sources = Sources {
        dialect,
        working_directory: directory.to_owned(),
        environment: environment.clone(),
        approve: options.approve,
    };
    load_with_policy(sources, secrets, policy)
}

fn finish_config(
    mut config: Config,
    options: &HostOptions,
    directory: &Path,
    environment: &Environment,
) -> Config {
    admit_named_files(&mut config, options, directory, environment);
    let secrets = config.keys.secrets();
    options.api_key.iter().for_each(|key| secrets.remember(key));
    secrets.pass(options.pass_keys.iter().chain(&config.settings.pass_keys));
    for warning in config.warnings.iter().chain(&config.withheld_texts) {
        tracing::warn!("{warning}");
    }
    if let Some(text) = missing_text(&config.written_settings) {
        tracing::warn!("{text}; pi-rpc doctor names the rest");
    }
    let retries = u32::try_from(config.dialect.record().retry.request_retries).unwrap_or(u32::MAX);
    config.settings.retry.provider_retries.get_or_insert(retries);
    if let Some(silence) = options.idle_timeout_ms {
        config.settings.http_idle_timeout_ms = Some(silence);
        config.settings.retry.provider_timeout_ms = Some(silence);
    }
    config
}

/// Lets the project's files be in what the user names, by options or settings.
fn admit_named_files(
    config: &mut Config,
    options: &HostOptions,
    directory: &Path,
    environment: &Environment,
) {
    let named = [&options.skills, &options.prompt_templates, &options.extensions].into_iter().flatten();
    let named = named.map(|path| directory.join(expand_home(path, environment)));
    let lists = config.settings.skills.iter().chain(&config.settings.prompts);
    let lists = lists.filter(|list| list.directory != config.directories.project);
    let listed = lists.flat_map(|list| {
        list.entries.iter().map(|entry| list.directory.join(expand_home(entry, environment)))
    });
    for path in named.chain(listed).collect::<Vec<_>>() {
        config.confinement.admit(&path);
    }
}

/// The options of a session in `directory`. `arguments` are the command line, which extensions may read options from.
///
/// # Errors
///
/// The model, the extensions or the session that the options name cannot be used.
pub fn session_options(
    config: Config,
    options: &HostOptions,
    arguments: &[OsString],
    directory: PathBuf,
    environment: &Environment,
) -> Result<SessionOptions, Refusal> {
    let dialect = config.dialect;
    check_passed_keys(&config)?;
    if let Some(fault) = config.settings.faults.first() {
        return Err(Refusal(fault.clone(), USAGE));
    }
    if options.agent.is_some() && !config.settings.default_tools.is_empty() {
        tracing::warn!("defaultTools of the settings has no effect: the agent has its own tools");
    }
    let SelectedTools { offered: tools, spare: spare_tools, selection: tool_selection } =
        tool_selection::select(&config, options)?;
    let (mut extension_setup, node) = extensions::find(&config, options, arguments, &directory, environment)?;
    let extended = !extension_setup.extensions.is_empty();
    let (library, unchosen) = library(&config, options, environment, extended)?;
    let source = prompt_source(&config, options, &directory);
    let lines: Vec<_> = tools.iter().filter_map(|tool| tool_line(&tool.name)).collect();
    let system_prompt = source.instructions(&lines, &[], &extension_setup.commands.skills);
    // A resumed session may have had fewer tools.
    let is_rebuilt = extended || dialect.record().system_message_opens_run;
    (extension_setup.prompt_source, extension_setup.unchosen) = (is_rebuilt.then_some(source), unchosen);
    let InitialSession { place, session, store } =
        InitialSession::new(&config, options, &directory, environment)?;
    let secrets = config.keys.secrets().clone();
    let login_access = LoginAccess {
        http: Arc::new(Http::with_secrets(secrets.clone()).with_proxy(config.settings.http_proxy.clone())),
        secrets: secrets.clone(),
        environment: environment.clone(),
        auth_file: config.keys.auth_file(),
        device_id: config.written_settings.get("deviceId").and_then(|id| id.as_str()).map(str::to_owned),
    };
    let settings = config.settings;
    let usual = Limits::default();
    let own = Modes::of(dialect);
    let compaction = CompactionPlan {
        reserve: settings.compaction.reserve_tokens.unwrap_or(own.compaction.reserve),
        keep_recent: settings.compaction.keep_recent_tokens.unwrap_or(own.compaction.keep_recent),
    };
    let keeps_long = settings.request_options(environment).caches_long;
    let overrides = settings.compaction.model_overrides.into_iter().map(|(model, tokens)| {
        let reserve = tokens.reserve_tokens.unwrap_or(compaction.reserve);
        let keep_recent = tokens.keep_recent_tokens.unwrap_or(compaction.keep_recent);
        (model, CompactionPlan { reserve, keep_recent })
    });
    let modes = Modes {
        steering: settings.steering_mode.unwrap_or(own.steering),
        follow_up: settings.follow_up_mode.unwrap_or(own.follow_up),
        // An agent keeps its own context.
        auto_compaction: options.agent.is_none()
            && settings.compaction.enabled.unwrap_or(own.auto_compaction),
        auto_retry: settings.retry.enabled.unwrap_or(own.auto_retry),
        interrupt: settings.interrupt_mode.unwrap_or(own.interrupt),
        level: settings.default_thinking_level.unwrap_or(own.level),
        retry: RetryPlan {
            most: settings.retry.max_retries.unwrap_or(own.retry.most),
            base_ms: settings.retry.base_delay_ms.unwrap_or(own.retry.base_ms),
            longest_ms: settings.retry.longest_delay_ms.unwrap_or(own.retry.longest_ms),
            cap_ms: settings.retry.max_delay_ms.unwrap_or(own.retry.cap_ms),
        },
        compaction,
        compaction_overrides: overrides.collect(),
        branch_reserve: settings.branch_reserve_tokens.unwrap_or(own.branch_reserve),
        syncs_runs: options.sync == SyncPolicy::Run,
        budget: options.budget,
        cache_warming: WarmingPlan {
            // An agent in place of models has no cache of ours.
            mode: match options.agent.is_some() {
                true => CacheWarming::Off,
                false => settings.cache_warming.unwrap_or(CacheWarming::Idle),
            },
            keeps_long,
        },
    };
    let tool_environment = ToolEnvironment {
        directory,
        shell: settings.shell_path.map(PathBuf::from),
        prefix: settings.shell_command_prefix,
        programs: config.programs,
        output_file_limit: options.max_output_file,
        output_files: options.max_output_files.map_or_else(OutputFiles::default, OutputFiles::new),
        secrets,
        confinement: config.confinement,
        scales_images: settings.resizes_images.unwrap_or(true),
        delegate: None,
    };
    let observer = traces::observer(&extension_setup.extensions);
    // A project would permit itself what it likes.
    let is_of_user = !config.approval.agent_is_inside();
    let permissions = is_of_user.then(|| PermissionFile::new(&config.directories.agent, None));
    Ok(SessionOptions {
        dialect,
        library,
        login_access,
        level: options.thinking,
        modes,
        tools,
        spare_tools,
        tool_selection,
        system_prompt,
        extension_setup,
        node,
        built_in: None,
        chosen: options.model.is_some() || options.provider.is_some(),
        name: options.name.clone(),
        place,
        session,
        store,
        files: None,
        file_guard: None,
        permissions,
        disk_timeout: match options.disk_timeout_ms.unwrap_or(DISK_TIMEOUT_MS) {
            0 => None,
            millis => Some(Duration::from_millis(millis)),
        },
        limits: Limits {
            queue: options.max_queue.unwrap_or(usual.queue),
            session: options.max_session.unwrap_or(usual.session),
            shells: options.max_bash.unwrap_or(usual.shells),
        },
        agent: None,
        tool_environment,
        observer,
    })
}

#[cfg(feature = "mcp")]
pub use super::mcp_servers::session_with_servers;

/// The options of a session in `directory`; this program was built without servers of the Model Context Protocol.
///
/// # Errors
///
/// As those of [`session_options`].
#[cfg(not(feature = "mcp"))]
pub fn session_with_servers(
    config: Config,
    options: &HostOptions,
    arguments: &[OsString],
    directory: PathBuf,
    environment: &Environment,
    _limits: &pi_rpc_host::TokenLimits,
) -> Result<SessionOptions, Refusal> {
    session_options(config, options, arguments, directory, environment)
}

/// Refuses a wrong entry of `passKeys`.
fn check_passed_keys(config: &Config) -> Result<(), Refusal> {
    for (at, entry) in config.settings.pass_keys.iter().enumerate() {
        let wrong = |reason| Refusal(format!("settings: passKeys[{at}]: {reason}"), 1);
        secrets::check_passed(entry).map_err(wrong)?;
    }
    Ok(())
}

/// The models: a script if the options name one, else the configured ones. With `extended`, an extension may add the model
/// that the options name; the second value is then `true`, and the model is chosen later.
fn library(
    config: &Config,
    options: &HostOptions,
    environment: &Environment,
    extended: bool,
) -> Result<(ModelLibrary, bool), Refusal> {
    if options.agent.is_some() {
        // The agent tells its models once it runs.
        return Ok((ModelLibrary::unchosen(String::new()), false));
    }
    let reloadable =
        |library: ModelLibrary, wanted| library.extendable(config.clone(), Some(wanted), environment.clone());
    if let Some(name) = scripted_name(options.provider.as_deref(), options.model.as_deref()) {
        let mut library = ModelLibrary::scripted(name).map_err(|error| Refusal(error.to_string(), 1))?;
        if let Some(filter) = &config.model_filter {
            library.retain(|model| filter.admits(model));
        }
        return Ok(match extended {
            true => (library.extendable(config.clone(), None, environment.clone()), false),
            false => (library, false),
        });
    }
    let wanted = SelectionOptions {
        provider: options.provider.clone(),
        model: options.model.clone(),
        models: options.models.clone(),
        thinking: options.thinking,
        api_key: options.api_key.clone(),
    };
    let selection = match config::select(config, &wanted) {
        Ok(selection) => selection,
        Err(refused) => {
            return match refused {
                SelectionError::NoModels { .. } => {
                    let text = format!("{refused}{NO_MODELS_HINT}");
                    // An extension may add one later.
                    if !extended {
                        tracing::warn!("{text}");
                    }
                    Ok((reloadable(ModelLibrary::unchosen(text), wanted), extended))
                }
                _ if extended => Ok((reloadable(ModelLibrary::unchosen(refused.to_string()), wanted), true)),
                _ => Err(Refusal(refused.to_string(), 1)),
            };
        }
    };
    for warning in &selection.warnings {
        tracing::warn!("{warning}");
    }
    let follows = config.dialect.record().level_follows_model;
    let library = ModelLibrary::configured(selection, &config.settings, environment, follows);
    Ok((reloadable(library, wanted), false))
}

/// Default of `--disk-timeout`: longer than a disk takes to spin up, or a network to recover.
const DISK_TIMEOUT_MS: u64 = 30_000;

/// Hint at the model that needs no configuration.
const NO_MODELS_HINT: &str = "\n\nOr try --model scripted/demo, which needs no key.";

/// The parts of the system prompt, from options and files.
fn prompt_source(config: &Config, options: &HostOptions, directory: &Path) -> PromptSource {
    let agent = &config.directories.agent;
    let project = config.approval.admits_texts().then_some(config.directories.project.as_path());
    let files = match options.no_context_files {
        false => PromptFiles::find(agent, directory, project, &config.confinement),
        true => PromptFiles::without_context(agent, project, &config.confinement),
    };
    for warning in &files.warnings {
        tracing::warn!("{warning}");
    }
    let text = |given: &String| {
        text_or_file(given, &config.confinement).unwrap_or_else(|warning| {
            tracing::warn!("{warning}");
            given.clone()
        })
    };
    let custom = options.system_prompt.as_ref().map(text).or(files.system);
    let added: Vec<String> = options.append_system_prompt.iter().map(text).collect();
    let append = if added.is_empty() { files.append } else { Some(added.join("\n\n")) };
    let secrets = config.keys.secrets();
    let masked = |text: String| secrets.redact(&text).into_owned();
    let context_files = files.context.into_iter();
    PromptSource {
        custom: custom.map(masked),
        append: append.map(masked),
        context_files: context_files
            .map(|ContextFile { path, content }| ContextFile { path, content: masked(content) })
            .collect(),
        date: day(wall_ms()),
        mcp_servers: None,
        cwd: directory.to_string_lossy().into_owned(),
        in_sections: config.dialect.record().system_message_opens_run,
    }
}
