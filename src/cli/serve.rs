//! `pi-rpc serve` and `--mode rpc`: from options and configuration to the server's [`Options`].

use super::{
    extensions,
    log::{self, Log},
    models,
    options::{self, HostOptions, Refusal},
    print, printed_prompts, process_privacy, refuse,
    session::InitialSession,
};
use crate::{
    config::{self, Config, Environment, SelectionError, SelectionOptions, Sources},
    engine::{CompactionPlan, Modes, RetryPlan, limits::Limits, todos},
    login::finish_refreshes,
    model::{http::Http, types::ToolSpec},
    prompt::{
        PromptSource,
        files::{PromptFiles, text_or_file},
        tool_line,
    },
    protocol::{Dialect, DialectExtensionApi, FRAME_LIMIT},
    server::{
        Hazards, LoginAccess, MAX_PENDING_BYTES, ModelLibrary, Options, PrintMode, ToolEnvironment,
        scripted_name, serve, wall_ms,
    },
    session::{SyncPolicy, day},
    tools::{self, OutputFiles},
};
use std::{
    any::Any,
    backtrace::{Backtrace, BacktraceStatus},
    ffi::OsString,
    io::{self, IsTerminal as _, Write as _},
    panic,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    thread,
    time::Duration,
};
use tracing_subscriber::{EnvFilter, filter::LevelFilter};

/// Parses the options and serves until the end of input.
pub fn run(started_as: Option<&OsString>, arguments: &[OsString]) -> ExitCode {
    let options = match options::parse(arguments) {
        Ok(options) if options.version => return print(super::VERSION),
        Ok(HostOptions { list_models: Some(words), dialect, .. }) => {
            return match dialect.map_or_else(|| options::default_dialect(started_as), Ok) {
                Ok(dialect) => models::run(&models::Options::from_list_models(&words, dialect)),
                Err(Refusal(text, status)) => refuse(&text, status),
            };
        }
        Ok(options) if options.help => {
            let usage = "Serve the protocol on stdin and stdout\n\nUsage: pi-rpc serve [OPTIONS]\n";
            return print(&format!("{usage}\n{}", options::HELP));
        }
        Ok(options) => options,
        Err(Refusal(text, status)) => return refuse(&text, status),
    };
    log_to_stderr();
    log_panics();
    for option in &options.ignored {
        tracing::debug!("{option}: not implemented yet; ignored");
    }
    for warning in &options.warnings {
        tracing::warn!("{warning}");
    }
    if options.print_format().is_none() && io::stdin().is_terminal() {
        // A person at a terminal would see nothing otherwise.
        let _ = writeln!(Log, "{}", terminal_notice(started_as, &options));
    }
    let options = match resolve(started_as, options, arguments) {
        Ok(options) => options,
        Err(Refusal(text, status)) => return refuse(&text, status),
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return refuse(&error.to_string(), 1),
    };
    let served = runtime.block_on(async {
        let served = serve(options).await;
        finish_refreshes().await;
        served
    });
    // Blocked threads may never end; nothing waits for them.
    runtime.shutdown_background();
    match served {
        Ok(status) => ExitCode::from(status),
        Err(text) => refuse(&text, 1),
    }
}

/// The notice for a person who has started a server at a terminal.
fn terminal_notice(started_as: Option<&OsString>, options: &HostOptions) -> String {
    let dialect = options.dialect.map_or_else(|| options::default_dialect(started_as), Ok);
    let dialect = dialect.map(Dialect::as_str).unwrap_or_default();
    format!(
        "pi-rpc {}: serving the protocol of {dialect} on stdin and stdout, one JSON object a line, such as \
         {{\"type\":\"get_state\"}}; Ctrl-D ends it. For a prompt and its answer: pi-rpc -p PROMPT",
        super::VERSION
    )
}

fn resolve(
    started_as: Option<&OsString>,
    options: HostOptions,
    arguments: &[OsString],
) -> Result<Options, Refusal> {
    let dialect = match options.dialect {
        Some(dialect) => dialect,
        None => options::default_dialect(started_as)?,
    };
    let dialect = if options.wire_login { options::with_logins(dialect)? } else { dialect };
    let max_frame = options.max_frame.unwrap_or(FRAME_LIMIT);
    let print = printed_prompts::read(&options, max_frame)?
        .map(|(printed, prompts)| PrintMode::new(printed, prompts));
    let directory =
        std::env::current_dir().map_err(|error| Refusal(format!("the working directory: {error}"), 1))?;
    let environment = Environment::of_process();
    let sources = Sources {
        dialect,
        working_directory: directory.clone(),
        environment: environment.clone(),
        approve: options.approve,
    };
    let mut config = config::load(sources);
    let secrets = config.keys.secrets().clone();
    options.api_key.iter().for_each(|key| secrets.remember(key));
    secrets.pass(options.pass_keys.iter().chain(&config.settings.pass_keys));
    log::set_secrets(secrets.clone());
    process_privacy::hide(&secrets, &environment, options.api_key.is_some());
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    let retries = u32::try_from(dialect.record().retry.request_retries).unwrap_or(u32::MAX);
    config.settings.retry.provider_retries.get_or_insert(retries);
    if let Some(silence) = options.idle_timeout_ms {
        config.settings.http_idle_timeout_ms = Some(silence);
        config.settings.retry.provider_timeout_ms = Some(silence);
    }
    let mut tools = selected_tools(dialect, options.tools.as_deref());
    tools.retain(|tool| !options.exclude_tools.contains(&tool.name));
    let spare_tools = spare_tools(dialect, &options, &tools);
    let (mut extension_setup, node) =
        extensions::find(&config, &options, arguments, &directory, &environment)?;
    let extended = !extension_setup.extensions.is_empty();
    let (library, unchosen) = library(&config, &options, &environment, extended)?;
    let login_access = LoginAccess {
        http: Arc::new(Http::with_secrets(secrets.clone())),
        secrets: secrets.clone(),
        environment: environment.clone(),
        auth_file: config.keys.auth_file(),
        device_id: config.written_settings.get("deviceId").and_then(|id| id.as_str()).map(str::to_owned),
    };
    let source = prompt_source(&config, &options, &directory);
    let lines: Vec<_> = tools.iter().filter_map(|tool| tool_line(&tool.name)).collect();
    let system_prompt = source.instructions(&lines, &[], &extension_setup.commands.skills);
    (extension_setup.prompt_source, extension_setup.unchosen) = (extended.then_some(source), unchosen);
    let InitialSession { place, session, store } =
        InitialSession::new(&config, &options, &directory, &environment)?;
    let settings = config.settings;
    let usual = Limits::default();
    let own = Modes::of(dialect);
    let modes = Modes {
        steering: settings.steering_mode.unwrap_or(own.steering),
        follow_up: settings.follow_up_mode.unwrap_or(own.follow_up),
        auto_compaction: settings.compaction.enabled.unwrap_or(own.auto_compaction),
        auto_retry: settings.retry.enabled.unwrap_or(own.auto_retry),
        interrupt: settings.interrupt_mode.unwrap_or(own.interrupt),
        level: settings.default_thinking_level.unwrap_or(own.level),
        retry: RetryPlan {
            most: settings.retry.max_retries.unwrap_or(own.retry.most),
            base_ms: settings.retry.base_delay_ms.unwrap_or(own.retry.base_ms),
            cap_ms: settings.retry.max_delay_ms.unwrap_or(own.retry.cap_ms),
        },
        compaction: CompactionPlan {
            reserve: settings.compaction.reserve_tokens.unwrap_or(own.compaction.reserve),
            keep_recent: settings.compaction.keep_recent_tokens.unwrap_or(own.compaction.keep_recent),
        },
        syncs_runs: options.sync == SyncPolicy::Run,
    };
    let tool_environment = ToolEnvironment {
        directory,
        shell: settings.shell_path.map(PathBuf::from),
        prefix: settings.shell_command_prefix,
        programs: config.programs,
        output_file_limit: options.max_output_file,
        output_files: options.max_output_files.map_or_else(OutputFiles::default, OutputFiles::new),
        secrets,
        scales_images: settings.resizes_images.unwrap_or(true),
    };
    Ok(Options {
        dialect,
        library,
        login_access,
        level: options.thinking,
        modes,
        tools,
        spare_tools,
        system_prompt,
        extension_setup,
        node,
        chosen: options.model.is_some() || options.provider.is_some(),
        name: options.name,
        place,
        session,
        store,
        print,
        disk_timeout: match options.disk_timeout_ms.unwrap_or(DISK_TIMEOUT_MS) {
            0 => None,
            millis => Some(Duration::from_millis(millis)),
        },
        max_frame,
        max_unread: options.max_unread.unwrap_or(MAX_PENDING_BYTES),
        limits: Limits {
            queue: options.max_queue.unwrap_or(usual.queue),
            session: options.max_session.unwrap_or(usual.session),
            shells: options.max_bash.unwrap_or(usual.shells),
        },
        tool_environment,
        hazards: (!options.hazards.is_empty()).then(|| Hazards::new(options.hazards, options.seed, dialect)),
    })
}

/// The models: a script if the options name one, else the configured ones. With `extended`, an extension may add the model
/// that the options name; the second value is then `true`, and the model is chosen later.
fn library(
    config: &Config,
    options: &HostOptions,
    environment: &Environment,
    extended: bool,
) -> Result<(ModelLibrary, bool), Refusal> {
    let reloadable =
        |library: ModelLibrary, wanted| library.extendable(config.clone(), Some(wanted), environment.clone());
    if let Some(name) = scripted_name(options.provider.as_deref(), options.model.as_deref()) {
        let library = ModelLibrary::scripted(name).map_err(|error| Refusal(error.to_string(), 1))?;
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

/// The tools with these names, in this order; the default ones without names. Unknown names are logged.
fn selected_tools(dialect: Dialect, names: Option<&[String]>) -> Vec<ToolSpec> {
    let todos = dialect.record().lanes.todos.then(todos::spec);
    let usual = tools::DEFAULT_TOOLS.into_iter().chain(todos.as_ref().map(|_| todos::TODO_WRITE));
    let names =
        names.map_or_else(|| usual.collect(), |names| names.iter().map(String::as_str).collect::<Vec<_>>());
    let known: Vec<ToolSpec> = tools::specs(&dialect.record().tools).into_iter().chain(todos).collect();
    let mut offered: Vec<ToolSpec> = Vec::new();
    for name in names {
        match known.iter().find(|spec| spec.name == name) {
            Some(spec) if !offered.contains(spec) => offered.push(spec.clone()),
            Some(_) => {}
            None => {
                let names: Vec<&str> = known.iter().map(|spec| spec.name.as_str()).collect();
                tracing::warn!("Unknown tool \"{name}\". Valid tools: {}", names.join(", "));
            }
        }
    }
    offered
}

/// The built-in tools that only extensions may offer: the remaining ones, unless the options name tools.
fn spare_tools(dialect: Dialect, options: &HostOptions, offered: &[ToolSpec]) -> Vec<ToolSpec> {
    if options.tools.is_some() && dialect.record().extension_api != DialectExtensionApi::V052 {
        return Vec::new();
    }
    let mut spare = tools::specs(&dialect.record().tools);
    let known = |name: &str| offered.iter().any(|tool| tool.name == name);
    spare.retain(|tool| !known(&tool.name) && !options.exclude_tools.contains(&tool.name));
    spare
}

/// The parts of the system prompt, from options and files.
fn prompt_source(config: &Config, options: &HostOptions, directory: &Path) -> PromptSource {
    let files = match options.no_context_files {
        false => PromptFiles::find(
            &config.directories.agent,
            directory,
            config.dialect.record().directories.project,
        ),
        true => PromptFiles::default(),
    };
    for warning in &files.warnings {
        tracing::warn!("{warning}");
    }
    let text = |given: &String| {
        text_or_file(given).unwrap_or_else(|warning| {
            tracing::warn!("{warning}");
            given.clone()
        })
    };
    let custom = options.system_prompt.as_ref().map(text).or(files.system);
    let added: Vec<String> = options.append_system_prompt.iter().map(text).collect();
    let append = if added.is_empty() { files.append } else { Some(added.join("\n\n")) };
    PromptSource {
        custom,
        append,
        context_files: files.context,
        date: day(wall_ms()),
        cwd: directory.to_string_lossy().into_owned(),
        in_sections: config.dialect.record().system_message_opens_run,
    }
}

/// Logs to stderr: stdout belongs to the protocol.
fn log_to_stderr() {
    let wanted = std::env::var(EnvFilter::DEFAULT_ENV).unwrap_or_default();
    tracing_subscriber::fmt()
        .with_env_filter(log_filter(&wanted))
        .with_writer(|| Log)
        .with_target(false)
        .init();
}

/// Selects what is logged: what `wanted` says, else warnings. Clients of AWS log whole answers, with keys that are not
/// known yet and so could not be redacted; what fails there is told in the answer.
fn log_filter(wanted: &str) -> EnvFilter {
    let others = wanted.split(',').map(str::trim).filter(|it| !it.is_empty() && !it.starts_with(AWS_TARGETS));
    let mut directives: Vec<String> = others.map(str::to_owned).collect();
    if directives.is_empty() {
        directives.push(LevelFilter::WARN.to_string());
    }
    directives.push(format!("{AWS_TARGETS}=error"));
    EnvFilter::builder().parse_lossy(directives.join(","))
}

/// The beginning of the targets of AWS's clients.
const AWS_TARGETS: &str = "aws_";

/// Logs panics, which must not block on stderr; with `RUST_BACKTRACE`, their backtraces.
fn log_panics() {
    panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let thread = thread::current();
        let thread = thread.name().unwrap_or("a thread");
        tracing::error!(
            "a defect of this program: panic in {thread} at {place}{}",
            static_message(panic.payload())
        );
        let way = Backtrace::capture();
        if way.status() == BacktraceStatus::Captured {
            tracing::error!("{way}");
        }
    }));
}

/// The message of a panic, if it is a constant: a formatted one may contain a key.
fn static_message(payload: &(dyn Any + Send)) -> String {
    payload.downcast_ref::<&str>().map(|words| format!(": {words}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_constant_panic_messages_are_logged() {
        let logged = |panics: fn()| static_message(&*panic::catch_unwind(panics).unwrap_err());
        assert_eq!(logged(|| panic!("out of order")), ": out of order");
        assert_eq!(logged(|| panic!("the key is {}", std::process::id())), "");
        assert_eq!(logged(|| drop("é"[1..].to_owned())), "");
    }
}
