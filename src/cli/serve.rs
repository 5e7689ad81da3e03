//! `pi-rpc serve`, and `--mode rpc`.

use super::{
    extending,
    log::Log,
    options::{self, HostOptions, Refusal},
    print, refuse,
    session::Start,
};
use crate::{
    config::{self, Config, Environment, Refused, Sources, Wanted},
    engine::{CompactionPlan, Modes, RetryPlan, todos},
    model::types::ToolSpec,
    prompt::{
        Commands, PromptParts,
        files::{PromptFiles, text_or_file},
        system_prompt, tool_line,
    },
    protocol::Dialect,
    server::{Library, Options, Workplace, scripted_name, serve},
    tools,
};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::ExitCode,
};
use tracing_subscriber::{EnvFilter, filter::LevelFilter};

/// The longest line that is read when nothing else is said: 64 MiB.
const MAX_FRAME: usize = 64 * 1024 * 1024;

/// Serves until the host is done.
pub fn run(started_as: Option<&OsString>, arguments: &[OsString]) -> ExitCode {
    let options = match options::parse(arguments) {
        Ok(options) if options.version => return print(super::VERSION),
        Ok(options) if options.help => {
            let usage = "Speak the protocol on stdin and stdout\n\nUsage: pi-rpc serve [OPTIONS]\n";
            return print(&format!("{usage}\n{}", options::HELP));
        }
        Ok(options) => options,
        Err(Refusal(text, status)) => return refuse(&text, status),
    };
    log();
    for option in &options.ignored {
        tracing::debug!("{option}: not implemented yet; ignored");
    }
    for warning in &options.warnings {
        tracing::warn!("{warning}");
    }
    let options = match resolve(started_as, options) {
        Ok(options) => options,
        Err(Refusal(text, status)) => return refuse(&text, status),
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return refuse(&error.to_string(), 1),
    };
    let served = runtime.block_on(serve(options));
    // The threads of stdin and of a host that does not read may never end; nothing waits for them.
    runtime.shutdown_background();
    match served {
        Ok(status) => ExitCode::from(status),
        Err(text) => refuse(&text, 1),
    }
}

fn resolve(started_as: Option<&OsString>, options: HostOptions) -> Result<Options, Refusal> {
    let dialect = match options.dialect {
        Some(dialect) => dialect,
        None => options::default_dialect(started_as)?,
    };
    let directory =
        std::env::current_dir().map_err(|error| Refusal(format!("the working directory: {error}"), 1))?;
    let environment = Environment::of_process();
    let sources = Sources { dialect, working_directory: directory.clone(), environment: environment.clone() };
    let config = config::load(sources);
    let library = library(&config, &options, &environment)?;
    let mut tools = offered(dialect, options.tools.as_deref());
    tools.retain(|tool| !options.exclude_tools.contains(&tool.name));
    let extending = extending::find(&config, &options, &directory, &environment);
    let system_prompt = instructions(&config, &options, &tools, &extending.commands, &directory);
    let Start { place, session, store } = Start::new(&config, &options, &directory, &environment)?;
    let settings = config.settings;
    let own = Modes::of(dialect);
    let modes = Modes {
        steering: settings.steering_mode.unwrap_or(own.steering),
        follow_up: settings.follow_up_mode.unwrap_or(own.follow_up),
        auto_compaction: settings.compaction.enabled.unwrap_or(own.auto_compaction),
        auto_retry: settings.retry.enabled.unwrap_or(own.auto_retry),
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
    };
    let workplace = Workplace {
        directory,
        shell: settings.shell_path.map(PathBuf::from),
        prefix: settings.shell_command_prefix,
        programs: Some(config.directories.agent.join("bin")),
        scales_images: settings.resizes_images.unwrap_or(true),
    };
    Ok(Options {
        dialect,
        library,
        level: options.thinking,
        modes,
        tools,
        system_prompt,
        extending,
        chosen: options.model.is_some(),
        name: options.name,
        place,
        session,
        store,
        max_frame: options.max_frame.unwrap_or(MAX_FRAME),
        workplace,
    })
}

/// The models: a script alone where one is asked for, else those that the user has configured.
fn library(config: &Config, options: &HostOptions, environment: &Environment) -> Result<Library, Refusal> {
    if let Some(name) = scripted_name(options.provider.as_deref(), options.model.as_deref()) {
        return Library::scripted(name).map_err(|error| Refusal(error.to_string(), 1));
    }
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    let wanted = Wanted {
        provider: options.provider.clone(),
        model: options.model.clone(),
        models: options.models.clone(),
        thinking: options.thinking,
        api_key: options.api_key.clone(),
    };
    let selection = config::select(config, &wanted).map_err(|refused| {
        let hint = match refused {
            Refused::NoModels(_) => NO_MODELS_HINT,
            _ => "",
        };
        Refusal(format!("{refused}{hint}"), 1)
    })?;
    for warning in &selection.warnings {
        tracing::warn!("{warning}");
    }
    Ok(Library::configured(selection, &config.settings, environment))
}

/// What needs no configuration.
const NO_MODELS_HINT: &str = "\n\nOr try --model scripted/demo, which needs no key.";

/// The tools of that names, in that order; without names, the usual ones.
fn offered(dialect: Dialect, names: Option<&[String]>) -> Vec<ToolSpec> {
    let todos = dialect.record().lanes.todos.then(todos::spec);
    let usual = tools::DEFAULT.into_iter().chain(todos.as_ref().map(|_| todos::TODO_WRITE));
    let names =
        names.map_or_else(|| usual.collect(), |names| names.iter().map(String::as_str).collect::<Vec<_>>());
    let known: Vec<ToolSpec> = tools::specs().into_iter().chain(todos).collect();
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

/// What the model is told before the conversation.
fn instructions(
    config: &Config,
    options: &HostOptions,
    tools: &[ToolSpec],
    commands: &Commands,
    directory: &Path,
) -> String {
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
    let lines: Vec<_> = tools.iter().filter_map(|tool| tool_line(&tool.name)).collect();
    let text = |given: &String| {
        text_or_file(given).unwrap_or_else(|warning| {
            tracing::warn!("{warning}");
            given.clone()
        })
    };
    let custom = options.system_prompt.as_ref().map(text).or(files.system);
    let added: Vec<String> = options.append_system_prompt.iter().map(text).collect();
    let append = if added.is_empty() { files.append } else { Some(added.join("\n\n")) };
    system_prompt(&PromptParts {
        tools: &lines,
        custom: custom.as_deref(),
        append: append.as_deref(),
        context_files: &files.context,
        skills: &commands.skills,
        date: &jiff::Timestamp::now().strftime("%Y-%m-%d").to_string(),
        cwd: &directory.to_string_lossy(),
    })
}

/// Logs to stderr: stdout belongs to the protocol.
fn log() {
    let filter = EnvFilter::builder().with_default_directive(LevelFilter::WARN.into()).from_env_lossy();
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(|| Log).with_target(false).init();
}
