//! `pi-rpc serve`, and `--mode rpc`.

use super::{
    options::{self, HostOptions, Refusal},
    print, refuse,
};
use crate::{
    server::{Library, Options, SYSTEM_PROMPT, serve},
    tools,
};
use std::{ffi::OsString, process::ExitCode};
use tracing_subscriber::{EnvFilter, filter::LevelFilter};

/// The longest line that is read when nothing else is said: 64 MiB.
const MAX_FRAME: usize = 64 * 1024 * 1024;

/// Serves until the host is done.
pub fn run(started_as: Option<&OsString>, arguments: &[OsString]) -> ExitCode {
    let options = match options::parse(arguments) {
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
    if options.model.is_none() && options.provider.as_deref().is_some_and(|provider| provider != "scripted") {
        tracing::warn!("--provider without --model chooses nothing; serving scripted/demo");
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
    for name in
        options.tools.iter().flatten().filter(|name| !tools::specs().iter().any(|spec| spec.name == **name))
    {
        tracing::warn!("--tools: there is no tool {name:?}");
    }
    let (library, level) = Library::open(options.provider.as_deref(), options.model.as_deref())
        .map_err(|error| Refusal(error.to_string(), 1))?;
    let directory =
        std::env::current_dir().map_err(|error| Refusal(format!("the working directory: {error}"), 1))?;
    let parts = [options.system_prompt.unwrap_or_else(|| SYSTEM_PROMPT.to_owned())];
    let parts = parts.into_iter().chain(options.append_system_prompt);
    let system_prompt = parts.map(text_or_file).collect::<Vec<_>>().join("\n\n");
    Ok(Options {
        dialect,
        library,
        level: options.thinking.or(level),
        tools: options.tools,
        system_prompt,
        name: options.name,
        max_frame: options.max_frame.unwrap_or(MAX_FRAME),
        directory,
    })
}

/// The contents of the file of that name, if there is one; else the text itself, as pi does.
fn text_or_file(text: String) -> String {
    std::fs::read_to_string(&text).unwrap_or(text)
}

/// Logs to stderr: stdout belongs to the protocol.
fn log() {
    let filter = EnvFilter::builder().with_default_directive(LevelFilter::WARN.into()).from_env_lossy();
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false).init();
}
