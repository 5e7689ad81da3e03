//! `pi-rpc inspect`.

use super::{HARNESS, USAGE, refuse};
use clap::Args;
use pi_rpc_files::secrets::{ChildEnvironment, redact_command_line};
use pi_rpc_host::attach::{Authorities, HostAddress};
use pi_rpc_inspect::{App, HostAccess, PageServer, ServerCommand, Subject};
use pi_rpc_protocol::DialectVersion;
use std::{
    env,
    ffi::OsString,
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
};
use tokio::signal::unix::{SignalKind, signal};

/// Options of `pi-rpc inspect`.
#[derive(Args)]
pub struct Options {
    /// Judge by this dialect (default: the one that the frames show); pi-1@0.84: as version 0.84 of the server speaks it
    #[arg(long, value_name = "D", env = "PI_RPC_DIALECT", value_parser = super::named_version)]
    dialect: Option<DialectVersion>,
    /// Port of 127.0.0.1 for the page (default: any that is free)
    #[arg(long, value_name = "PORT", default_value = "0", hide_default_value = true)]
    port: u16,
    /// Only print the address of the page
    #[arg(long)]
    no_browser: bool,
    /// Trust hosts at wss:// that these authorities vouch for, too; in PEM
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// A recording or a plain log of a server's stdout, which may grow; or a host: unix:PATH, ws://HOST:PORT or
    /// wss://HOST:PORT, with /sessions/ID for one session
    #[arg(value_name = "FILE|URL", required_unless_present = "command")]
    subject: Option<String>,
    /// The server to start, and its arguments
    #[arg(last = true, value_name = "SERVER CMD", conflicts_with = "subject")]
    command: Vec<OsString>,
}

/// Text behind the options in `--help`.
pub const HELP: &str = "\
The page is served to this machine alone, at an address with a token. A host at ws:// or wss:// wants a \
token: set PI_RPC_TOKEN. Ends with Ctrl-C, and the server with it.

Examples:
  pi-rpc inspect -- pi --mode rpc
  pi-rpc inspect unix:/run/user/1000/pi-rpc.sock
  pi-rpc inspect --no-browser talk.jsonl";

/// The variable with the token for a session host.
const TOKEN: &str = "PI_RPC_TOKEN";

/// Serves the page until a signal comes.
pub fn run(options: Options) -> ExitCode {
    let Options { dialect, port, no_browser, tls_ca, subject, command } = options;
    let subject = match subject_of(subject, command, dialect, tls_ca.as_deref()) {
        Ok(subject) => subject,
        Err(text) => return refuse(&text, USAGE),
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return refuse(&error.to_string(), HARNESS),
    };
    match runtime.block_on(serve(subject, dialect, port, !no_browser)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => refuse(&format!("inspect: {error}"), HARNESS),
    }
}

fn subject_of(
    subject: Option<String>,
    command: Vec<OsString>,
    dialect: Option<DialectVersion>,
    tls_ca: Option<&Path>,
) -> Result<Subject, String> {
    let Some(subject) = subject else {
        let shown = redact_command_line(command.iter().map(OsString::as_os_str));
        let mut words = command.into_iter();
        let program = words.next().unwrap_or_default();
        let dialect = dialect.map(|dialect| dialect.to_string());
        return Ok(Subject::Command(ServerCommand { program, arguments: words.collect(), shown, dialect }));
    };
    let is_host = ["unix:", "ws://", "wss://"].iter().any(|scheme| subject.starts_with(scheme));
    if !is_host {
        return match Path::new(&subject).is_file() {
            true => Ok(Subject::File(subject.into())),
            false => Err(format!("{subject}: expected a file, unix:PATH, ws://HOST:PORT or wss://HOST:PORT")),
        };
    }
    let (address, session) = HostAddress::parse(&subject)?;
    let authorities = match tls_ca {
        Some(file) => {
            Authorities::read(file).map_err(|error| format!("--tls-ca {}: {error}", file.display()))?
        }
        None => Authorities::default(),
    };
    // A command line is seen by every program of the machine.
    let token = env::var(TOKEN).ok().filter(|token| !token.is_empty());
    Ok(Subject::Host(HostAccess { address, token, authorities }, session))
}

async fn serve(
    subject: Subject,
    dialect: Option<DialectVersion>,
    port: u16,
    opens_browser: bool,
) -> io::Result<()> {
    let server = PageServer::bind(port).await?;
    let mut interrupts = signal(SignalKind::interrupt())?;
    let mut terminations = signal(SignalKind::terminate())?;
    let app = App::start(subject, dialect, &scripts_folder())?;
    let address = server.address();
    // Another program may wait for the line.
    writeln!(io::stdout(), "{address}")?;
    if opens_browser && has_screen() {
        open(&server.address_for_browser()?);
    }
    let end = async move {
        tokio::select! {
            _ = interrupts.recv() => {}
            _ = terminations.recv() => {}
        }
    };
    tokio::select! {
        served = server.serve(app.clone(), std::future::pending()) => served?,
        () = end => {}
    }
    app.close().await;
    Ok(())
}

/// Where scripts of commands are saved.
fn scripts_folder() -> PathBuf {
    let home = || env::var_os("HOME").map(|home| Path::new(&home).join(".config"));
    let configuration = env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    configuration.or_else(home).unwrap_or_else(env::temp_dir).join("pi-rpc").join("scripts")
}

/// Whether a browser would have somewhere to appear.
fn has_screen() -> bool {
    cfg!(target_os = "macos") || ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| env::var_os(name).is_some())
}

/// Opens the user's browser. The address was printed, in case there is none.
fn open(address: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(program);
    ChildEnvironment::default().withhold_keys(&mut command);
    command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // It may end long after us.
    drop(command.spawn());
}
