//! `pi-rpc acp`.

use super::{
    HARNESS, USAGE, log,
    options::{self, HostOptions, Refusal},
    print, process_privacy, refuse,
    serve::{log_panics, log_to_stderr},
    session::{all_folders, folders},
    session_options::load_config,
    session_template::SessionTemplate,
    traces,
};
use pi_rpc_acp::{AgentProcess, EngineSessions, Recorder, Source, serve};
use pi_rpc_files::secrets::Secrets;
use pi_rpc_login::finish_refreshes;
use pi_rpc_protocol::{Dialect, FRAME_LIMIT};
use pi_rpc_server::{Signals, signal_status};
use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};
use tokio::sync::oneshot;

/// Help of `pi-rpc acp`.
pub const HELP: &str = "\
Serve the Agent Client Protocol (ACP) on stdin and stdout, for editors such as Zed, JetBrains, Neovim and Emacs

Usage: pi-rpc acp [OPTIONS]
       pi-rpc acp [--dialect <D>] [--record <FILE>] --agent -- SERVER CMD

      --agent                  Each session is a server of its own that SERVER CMD starts in the session's working directory,
                               in place of this program's own agent
      --dialect <D>            Dialect of the servers (default: the one that their frames show; without --agent pi-1)
      --record <FILE>          Record the conversation with the server of the first session in this file, for pi-rpc check;
                               those of further sessions beside it, with a number in the name
      OPTIONS                  Options of pi-rpc serve, for every session; they do not go with --agent
  -h, --help                   Print this text

What becomes of each message is in docs/reference/acp.md (pi-rpc docs reference/acp). The end of input ends all sessions, which \
are saved, and so does SIGTERM. Logs go to stderr.

Examples:
  pi-rpc acp
  pi-rpc acp --model scripted/demo --confirm-tools bash
  pi-rpc acp --agent -- pi --mode rpc";

/// Shows how a server is named.
const EXAMPLE: &str = "as in: pi-rpc acp --agent -- pi --mode rpc";

/// The command line behind `acp`.
struct AcpOptions {
    /// The server of each session; `None`: this program's own agent.
    agent: Option<Vec<OsString>>,
    record: Option<PathBuf>,
    /// Everything else.
    host: Vec<OsString>,
}

/// Runs the words behind `acp`.
pub fn run(started_as: Option<&OsString>, words: &[OsString]) -> ExitCode {
    let own = words.iter().take_while(|word| *word != "--");
    if own.clone().any(|word| word == "--help" || word == "-h") {
        return print(HELP);
    }
    let prepared = AcpOptions::parse(words).map_err(|text| Refusal(text, USAGE)).and_then(|options| {
        let recorder = options.record.map(Recorder::new);
        let (source, max_line) = source(started_as, options.agent, &options.host)?;
        Ok((source, max_line, recorder))
    });
    let (source, max_line, recorder) = match prepared {
        Ok(prepared) => prepared,
        Err(Refusal(text, status)) => return refuse(&text, status),
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return refuse(&error.to_string(), 1),
    };
    let served = runtime.block_on(async {
        let mut signals = Signals::listen().map_err(|error| format!("signals: {error}"))?;
        let (stop, stopped) = oneshot::channel::<()>();
        // A client that has gone, and a signal, end the input.
        let stopped = async { drop(stopped.await) };
        let served = serve(source, recorder, max_line, tokio::io::stdin(), tokio::io::stdout(), stopped);
        tokio::pin!(served);
        let (served, status) = tokio::select! {
            served = &mut served => (served, None),
            number = signals.next() => {
                drop(stop);
                let status = Some(signal_status(number));
                tokio::select! {
                    served = &mut served => (served, status),
                    _ = signals.next() => (Ok(()), status),
                }
            }
        };
        finish_refreshes().await;
        served.map(|()| status)
    });
    // The thread that reads stdin may never end.
    runtime.shutdown_background();
    traces::finish();
    match served {
        Ok(status) => status.map_or(ExitCode::SUCCESS, ExitCode::from),
        Err(text) => refuse(&text, HARNESS),
    }
}

impl AcpOptions {
    fn parse(words: &[OsString]) -> Result<Self, String> {
        let at = words.iter().position(|word| word == "--");
        let behind: Vec<OsString> = at.map(|at| words[at + 1..].to_vec()).unwrap_or_default();
        let mut own = words[..at.unwrap_or(words.len())].iter();
        let (mut has_agent, mut record, mut host) = (false, None, Vec::new());
        while let Some(word) = own.next() {
            match word.to_str() {
                Some("--agent") => has_agent = true,
                Some("--record") => {
                    let file = own.next().ok_or("--record: expected a file, got nothing")?;
                    record = Some(PathBuf::from(file));
                }
                _ => host.push(word.clone()),
            }
        }
        match (has_agent, behind.is_empty()) {
            (true, false) => Ok(Self { agent: Some(behind), record, host }),
            (false, true) => Ok(Self { agent: None, record, host }),
            (true, true) => Err(format!("--agent: expected a server behind --, {EXAMPLE}")),
            (false, false) => Err(format!("--: expected --agent in front of a server, {EXAMPLE}")),
        }
    }
}

/// Where the servers of sessions come from, and the longest line of the client, in bytes.
fn source(
    started_as: Option<&OsString>,
    agent: Option<Vec<OsString>>,
    words: &[OsString],
) -> Result<(Source, usize), Refusal> {
    let options = options::parse(words)?;
    super::other_backend::refuse_single(&options)?;
    let max_line = options.max_frame.unwrap_or(FRAME_LIMIT);
    log_to_stderr(options.log_format);
    log_panics();
    for warning in options.warnings.iter().cloned().chain(options.misspelt_warnings()) {
        tracing::warn!("{warning}");
    }
    let implied = match options.dialect {
        Some(dialect) => Some(dialect),
        None => options::implied_dialect(started_as)?,
    };
    match agent {
        Some(command) => {
            let is_dialect = |word: &OsString| word.to_str().is_some_and(|it| it.starts_with("--dialect"));
            if let Some(word) = words.iter().enumerate().find_map(|(at, word)| {
                let is_value = at > 0 && words[at - 1] == OsStr::new("--dialect");
                (!is_dialect(word) && !is_value).then_some(word)
            }) {
                let text = "an option of pi-rpc's own agent; write it behind --, or leave --agent out";
                return Err(Refusal(format!("{}: {text}", word.to_string_lossy()), USAGE));
            }
            Ok((Source::Agent(AgentProcess::new(command, implied)), max_line))
        }
        None => {
            let engine = engine(implied.unwrap_or(Dialect::Pi1), options, words)?;
            Ok((Source::Engine(engine), max_line))
        }
    }
}

/// Sessions of this program's own agent.
fn engine(dialect: Dialect, options: HostOptions, arguments: &[OsString]) -> Result<EngineSessions, Refusal> {
    let environment = options.environment(dialect)?;
    let directory =
        std::env::current_dir().map_err(|error| Refusal(format!("the working directory: {error}"), 1))?;
    let secrets = Secrets::default();
    // Warns of what is wrong with the configuration before a session is opened.
    let config = load_config(dialect, &options, &directory, &environment, secrets.clone(), None);
    log::set_secrets(secrets.clone());
    traces::start(&secrets);
    process_privacy::hide(&secrets, &environment, options.api_key.is_some());
    let every = all_folders(&config, &options, &directory, &environment);
    let (folder_options, folder_environment) = (options.clone(), environment.clone());
    let find_folders = move |working: Option<&Path>| match working {
        Some(working) => folders(&config, &folder_options, working, &folder_environment).take(1).collect(),
        None => every(),
    };
    let template = Arc::new(SessionTemplate {
        dialect,
        is_host: false,
        options,
        arguments: arguments.to_vec(),
        directory,
        environment,
        secrets: secrets.clone(),
        owners: None,
    });
    Ok(EngineSessions {
        dialect,
        open: Arc::new(move |request| template.open(request)),
        folders: Box::new(find_folders),
        secrets,
    })
}
