//! `pi-rpc host --status`: hosts, sessions, owners, lag and limits of a host and of those that share sessions with it.

use super::{USAGE, attach::token, options::Refusal, print, refuse};
use pi_rpc_files::harmless::harmless_lines;
use pi_rpc_host::attach::{Authorities, HostAddress, read_status};
use std::{ffi::OsString, path::Path, process::ExitCode};

/// What to read, and how to print it.
struct StatusOptions {
    host: HostAddress,
    authorities: Authorities,
    json: bool,
}

/// Whether a command line of `pi-rpc host` asks for a status.
pub fn is_asked(arguments: &[OsString]) -> bool {
    let words = arguments.iter().map(|word| word.to_string_lossy());
    words.take_while(|word| word != "--").any(|word| word == "--status" || word.starts_with("--status="))
}

/// Prints the status of a host.
pub fn run(arguments: &[OsString]) -> ExitCode {
    match parse(arguments).and_then(|options| read(&options)) {
        Ok(text) => print(&text),
        Err(Refusal(text, status)) => refuse(&text, status),
    }
}

fn parse(arguments: &[OsString]) -> Result<StatusOptions, Refusal> {
    use lexopt::{Arg::Long, ValueExt as _};
    let usage = |error: lexopt::Error| Refusal(format!("host --status: {error}"), USAGE);
    let mut parser = lexopt::Parser::from_args(arguments);
    let (mut host, mut authorities, mut json) = (None, Authorities::default(), false);
    while let Some(argument) = parser.next().map_err(usage)? {
        match argument {
            Long("status") => {
                let text = parser.value().and_then(|value| value.string()).map_err(usage)?;
                let wrong = |reason| Refusal(format!("--status: {reason}"), USAGE);
                let (address, session) = HostAddress::parse(&text).map_err(wrong)?;
                if session.is_some() {
                    return Err(wrong(format!(
                        "{text}: expected the address of a host, got that of a session"
                    )));
                }
                host = Some(address);
            }
            Long("tls-ca") => {
                let file = parser.value().and_then(|value| value.string()).map_err(usage)?;
                let read = Authorities::read(Path::new(&file));
                authorities = read.map_err(|error| Refusal(format!("--tls-ca {file}: {error}"), 1))?;
            }
            Long("json") => json = true,
            other => return Err(usage(other.unexpected())),
        }
    }
    match host {
        Some(host) => Ok(StatusOptions { host, authorities, json }),
        None => Err(Refusal("--status: expected the address of a host".to_owned(), USAGE)),
    }
}

fn read(StatusOptions { host, authorities, json }: &StatusOptions) -> Result<String, Refusal> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Refusal(error.to_string(), 1))?;
    let token = token();
    let status = runtime.block_on(read_status(host, token.as_deref(), authorities));
    let status = status.map_err(|error| Refusal(format!("{host}: {error}"), 1))?;
    match json {
        true => serde_json::to_string_pretty(&status).map_err(|error| Refusal(error.to_string(), 1)),
        false => Ok(harmless_lines(&status.text())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_command_lines_are_refused() {
        let refused = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let Refusal(text, _) = parse(&words).err().unwrap();
            text
        };
        assert_eq!(refused("--status unix:a --nats x"), "host --status: invalid option '--nats'");
        assert_eq!(
            refused("--status unix:a/sessions/b"),
            "--status: unix:a/sessions/b: expected the address of a host, got that of a session"
        );
        assert!(refused("--status a").starts_with("--status: a: expected unix:PATH, "));
    }
}
