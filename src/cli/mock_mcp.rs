//! `pi-rpc mock-mcp`.

use super::{print, refuse};
use clap::Args;
use pi_rpc_files::private_files;
use pi_rpc_mock::mcp::{McpMock, McpScript, serve_stdio};
use std::{
    fs::{self, File},
    io,
    net::SocketAddr,
    os::unix::fs::OpenOptionsExt as _,
    path::PathBuf,
    process::ExitCode,
};
use tokio::signal::unix::{SignalKind, signal};

/// Options of `pi-rpc mock-mcp`.
#[derive(Args)]
pub struct Options {
    /// Serve by streamable HTTP at this address instead of on stdin and stdout; port 0: any free one
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
    /// Allow an address that other machines can reach. Everyone who reaches it is answered
    #[arg(long)]
    allow_remote: bool,
    /// Play this script instead of a server with the tool echo
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Append every message of the client (with --listen: every request, without keys) to this file as a JSON line
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
}

/// Examples, for `--help`.
pub const HELP: &str = "\
Example:
  pi-rpc mock-mcp --listen 127.0.0.1:0 --script examples/mcp/difficult.json";

/// Serves until the end of stdin, or until TERM or INT with `--listen`.
pub fn run(options: &Options) -> ExitCode {
    if let Some(address) = options.listen.filter(|it| !it.ip().is_loopback() && !options.allow_remote) {
        let text =
            format!("--listen {address}: other machines could reach it; to allow that, add --allow-remote");
        return refuse(&text, super::USAGE);
    }
    let script = match options.script.as_deref().map_or_else(|| Ok(McpScript::demo()), read) {
        Ok(script) => script,
        Err(text) => return refuse(&text, 1),
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return refuse(&error.to_string(), 1),
    };
    let served = runtime.block_on(serve(options, script));
    // Open answers and the thread that reads stdin must not delay the exit.
    runtime.shutdown_background();
    served.unwrap_or_else(|text| refuse(&text, 1))
}

async fn serve(options: &Options, script: McpScript) -> Result<ExitCode, String> {
    let failed = |error: io::Error| error.to_string();
    let log = match &options.log {
        None => None,
        Some(path) => {
            let file = File::options().create(true).append(true).mode(private_files::FILE).open(path);
            Some(file.map_err(|error| format!("{}: {error}", path.display()))?)
        }
    };
    let Some(address) = options.listen else {
        // Whoever listens for TERM is not ended by it.
        let _ignored = match script.ignores_end {
            true => Some(signal(SignalKind::terminate()).map_err(failed)?),
            false => None,
        };
        let status = serve_stdio(script, tokio::io::stdin(), tokio::io::stdout(), log).await;
        return Ok(ExitCode::from(status));
    };
    let mut mock = McpMock::bind(address, script).await.map_err(|error| format!("{address}: {error}"))?;
    if let Some(log) = log {
        mock = mock.log_to(log);
    }
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    print(&format!("listening on http://{}/mcp", mock.address()));
    tokio::select! {
        served = mock.serve() => served.map_err(failed).map(|()| ExitCode::SUCCESS),
        _ = terminate.recv() => Ok(ExitCode::SUCCESS),
        _ = interrupt.recv() => Ok(ExitCode::SUCCESS),
    }
}

fn read(path: &std::path::Path) -> Result<McpScript, String> {
    let text = fs::read_to_string(path)
        .map_err(|error| format!("Cannot read the script {}: {error}", path.display()))?;
    McpScript::from_json(&text).map_err(|error| format!("{}: {error}", path.display()))
}
