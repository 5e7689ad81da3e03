//! `pi-rpc mock-llm`.

use super::{print, refuse};
use clap::Args;
use pi_rpc_files::private_files;
use pi_rpc_mock::Mock;
use pi_rpc_model::scripted::Script;
use std::{
    fs::{self, File},
    future::pending,
    io,
    net::SocketAddr,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    process::ExitCode,
};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::oneshot,
};

/// Options of `pi-rpc mock-llm`.
#[derive(Args)]
pub struct Options {
    /// Listen at this address; port 0: any free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Allow an address that other machines can reach. Everyone who reaches it is answered, and agents execute the answers
    #[arg(long)]
    allow_remote: bool,
    /// Play this script instead of the demo
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Append every request to this file as a JSON line, without keys
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Answer requests that the vendor would refuse; the log has the reason
    #[arg(long)]
    lenient: bool,
    /// Let the next polls of device logins and refreshes of tokens fail so: authorization_pending, slow_down, expired_token,
    /// access_denied, invalid_grant, or a status such as 503; with commas between them
    #[arg(long, value_name = "ERRORS", value_delimiter = ',')]
    login_errors: Vec<String>,
    /// Exit at the end of stdin, so that the server cannot outlive a test that started it
    #[arg(long)]
    exit_with_stdin: bool,
}

/// Serves until TERM or INT, or the end of stdin if so requested.
pub fn run(options: &Options) -> ExitCode {
    if !options.listen.ip().is_loopback() && !options.allow_remote {
        let text = format!(
            "--listen {}: other machines could reach it; to allow that, add --allow-remote",
            options.listen
        );
        return refuse(&text, super::USAGE);
    }
    let script = match options.script.as_deref().map_or_else(|| Ok(Script::demo()), read) {
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

async fn serve(options: &Options, script: Script) -> Result<ExitCode, String> {
    let at = |error: io::Error| format!("{}: {error}", options.listen);
    let mut mock = Mock::bind(options.listen, script).await.map_err(at)?;
    if let Some(path) = &options.log {
        let file = File::options().create(true).append(true).mode(private_files::FILE).open(path);
        mock = mock.log_to(file.map_err(|error| format!("{}: {error}", path.display()))?);
    }
    mock = mock.with_login_errors(options.login_errors.clone());
    if options.lenient {
        mock = mock.lenient();
    }
    let failed = |error: io::Error| error.to_string();
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let stdin = end_of_stdin(options.exit_with_stdin);
    print(&format!("listening on http://{}", mock.address()));
    tokio::select! {
        served = mock.serve() => served.map_err(failed).map(|()| ExitCode::SUCCESS),
        _ = terminate.recv() => Ok(ExitCode::SUCCESS),
        _ = interrupt.recv() => Ok(ExitCode::SUCCESS),
        () = stdin => Ok(ExitCode::SUCCESS),
    }
}

/// Waits for the end of stdin if that `matters`, else for ever.
async fn end_of_stdin(matters: bool) {
    if !matters {
        return pending().await;
    }
    let (gone, end) = oneshot::channel::<()>();
    std::thread::spawn(move || {
        // A read error counts as end of file.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        drop(gone);
    });
    let _ = end.await;
}

fn read(path: &Path) -> Result<Script, String> {
    let text = fs::read_to_string(path)
        .map_err(|error| format!("Cannot read the script {}: {error}", path.display()))?;
    Script::from_json(&text).map_err(|error| format!("{}: {error}", path.display()))
}
