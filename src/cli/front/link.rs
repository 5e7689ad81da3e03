//! The front by the name of an agent: a link called `pi` that stands before the real one in `PATH`.

use super::server;
use crate::cli::{HARNESS, USAGE, options, refuse};
use pi_rpc_protocol::{Dialect, DialectVersion};
use std::{
    env,
    ffi::{OsStr, OsString},
    fs,
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

/// The variable that makes a link of an agent's name the front: the dialect of the client, or [`FOUND_OUT`].
const SPEAK: &str = "PI_RPC_FRONT";

/// The value of [`SPEAK`] with which the dialect of the client is found out.
const FOUND_OUT: &str = "auto";

/// The variable with the server's program; without it, the next one in `PATH` with the name of the link.
const SERVER: &str = "PI_RPC_FRONT_SERVER";

/// The variable with the dialect of the server; without it, it is found out.
const SERVER_DIALECT: &str = "PI_RPC_FRONT_SERVER_DIALECT";

/// The variable that counts how many links have started one another.
pub const DEPTH: &str = "PI_RPC_FRONT_DEPTH";

/// The most links that start one another: agents that start agents are few, a program that starts itself has no end.
const MOST_LINKS: u32 = 8;

/// Runs the front, if the program was started by a link for it.
pub fn run(started_as: Option<&OsString>, words: &[OsString]) -> Option<ExitCode> {
    let own = options::program_dialect(started_as)?;
    let speak = env::var(SPEAK).ok().filter(|value| !value.is_empty())?;
    Some(match front(Path::new(started_as?), own, &speak, words) {
        Ok(status) => status,
        Err((text, status)) => refuse(&text, status),
    })
}

fn front(link: &Path, own: Dialect, speak: &str, words: &[OsString]) -> Result<ExitCode, (String, u8)> {
    let dialect = |name: &str, text: &str| {
        DialectVersion::parse(text)
            .ok_or_else(|| (format!("{name}: {}", crate::cli::unknown_version(text)), USAGE))
    };
    let given = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let depth: u32 = given(DEPTH).and_then(|text| text.parse().ok()).unwrap_or_default();
    if depth >= MOST_LINKS {
        let text = format!(
            "the front has started itself {depth} times: {SERVER} names the program of the real server"
        );
        return Err((text, HARNESS));
    }
    let name = link.file_name().unwrap_or_default();
    let program = match env::var_os(SERVER).filter(|value| !value.is_empty()) {
        Some(program) => PathBuf::from(program),
        None => behind(name).ok_or_else(|| {
            let name = name.to_string_lossy();
            (
                format!(
                    "there is no `{name}` in PATH behind this link; {SERVER} names the program of the server"
                ),
                HARNESS,
            )
        })?,
    };
    // The only thread so far: of the next links, and of nobody else.
    let depth = (depth + 1).to_string();
    if !is_rpc(words) {
        let error = Command::new(&program).args(words).env(DEPTH, depth).exec();
        return Err((format!("cannot start {}: {error}", program.display()), HARNESS));
    }
    let server = given(SERVER_DIALECT).map(|text| dialect(SERVER_DIALECT, &text)).transpose()?;
    let client = match speak {
        // Another agent's name says what the client expects.
        FOUND_OUT => {
            let other = options::program_dialect(Some(&program.as_os_str().to_owned()));
            other.filter(|other| other.base() != own.base()).map(|_| own)
        }
        text => Some(dialect(SPEAK, text)?.dialect),
    };
    let options = server::Options {
        program: program.as_os_str(),
        arguments: words,
        server,
        client,
        host_tools: false,
        depth: Some(depth),
    };
    server::run(options).map(ExitCode::from).map_err(|text| (text, HARNESS))
}

/// Whether the agent is to serve the protocol.
fn is_rpc(words: &[OsString]) -> bool {
    let is_mode = |pair: &[OsString]| pair[0] == "--mode" && pair[1] == "rpc";
    words.windows(2).any(is_mode) || words.iter().any(|word| word == "--mode=rpc")
}

/// The first program in `PATH` of that name that is not this one.
fn behind(name: &OsStr) -> Option<PathBuf> {
    let own = env::current_exe().ok().and_then(|path| path.canonicalize().ok());
    let path = env::var_os("PATH")?;
    let is_other = |program: &PathBuf| {
        let may_run =
            fs::metadata(program).is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0);
        may_run && program.canonicalize().ok() != own
    };
    env::split_paths(&path).map(|folder| folder.join(name)).find(is_other)
}
