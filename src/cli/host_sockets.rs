//! The sockets of a session host: bound here, passed by systemd, or handed over by the host before it.

use super::{
    log::Log,
    options::{HostOptions, LogFormat, Refusal},
    upgrade::{handed_over_files, is_handed_over},
};
use pi_rpc_host::{Address, Certificate, Listener, PassedSocket, passed_sockets};
use serde_json::json;
use std::{io::Write as _, sync::Arc};

/// Where a host listens.
pub struct HostSockets {
    addresses: Vec<Address>,
    /// Sockets that are bound already.
    passed: Vec<PassedSocket>,
    /// Whether those are the sockets of all addresses.
    are_all_passed: bool,
    certificate: Option<Arc<Certificate>>,
}

impl HostSockets {
    /// Takes the sockets that are there, and checks that every TCP port has tokens. Call it while there is one thread.
    ///
    /// # Errors
    ///
    /// An address, the certificate or what systemd passes is wrong, or a TCP port has no tokens.
    pub fn new(options: &HostOptions) -> Result<Self, Refusal> {
        let usage = |text: String| Refusal(text, super::USAGE);
        let addresses: Result<Vec<Address>, _> =
            options.listen.iter().map(|text| Address::parse(text)).collect();
        let addresses = addresses.map_err(|error| usage(error.to_string()))?;
        if addresses.is_empty() && !options.multi_session {
            let text =
                "host: expected at least one --listen unix:PATH, ws://HOST:PORT, wss://HOST:PORT or systemd:";
            return Err(usage(text.to_owned()));
        }
        let are_all_passed = is_handed_over() && !addresses.is_empty();
        let passed = match are_all_passed || addresses.contains(&Address::Systemd) {
            true => passed_sockets().map_err(|error| Refusal(format!("--listen systemd: {error}"), 1))?,
            false => Vec::new(),
        };
        let is_open_to_tcp =
            addresses.iter().any(|address| matches!(address, Address::Tcp(_) | Address::Tls(_)))
                || passed.iter().any(|socket| matches!(socket, PassedSocket::Tcp(_)));
        if is_open_to_tcp && options.token_file.is_none() && options.auth_command.is_none() {
            return Err(usage(TOKENS_EXPECTED.to_owned()));
        }
        let certificate = certificate(options)?;
        Ok(Self { addresses, passed, are_all_passed, certificate })
    }

    /// Whether there is an address.
    pub const fn is_empty(&self) -> bool {
        self.addresses.is_empty()
    }

    /// Listens at all of them.
    ///
    /// # Errors
    ///
    /// An address cannot be listened at.
    pub async fn bind(self, format: LogFormat) -> Result<Vec<Listener>, String> {
        let Self { addresses, passed, are_all_passed, certificate } = self;
        let certificate = certificate.as_ref();
        let named: Vec<Address> =
            addresses.into_iter().filter(|address| *address != Address::Systemd).collect();
        // Those of systemd come first.
        let of_systemd = match are_all_passed {
            true => passed.len().saturating_sub(named.len()),
            false => passed.len(),
        };
        let identities = if are_all_passed { handed_over_files() } else { Vec::new() };
        let mut listeners = Vec::new();
        for (at, socket) in passed.into_iter().enumerate() {
            let address = at.checked_sub(of_systemd).and_then(|at| named.get(at));
            let address = address.unwrap_or(&Address::Systemd);
            let identity = identities.get(at).map(String::as_str);
            let adopted = Listener::adopt(socket, address, identity, certificate);
            listeners.push(adopted.map_err(|error| format!("a socket that was passed on: {error}"))?);
        }
        for address in named.iter().filter(|_| !are_all_passed) {
            listeners.push(Listener::bind(address, certificate).await.map_err(|error| error.to_string())?);
        }
        listeners.iter().for_each(|listener| announce(listener, format));
        Ok(listeners)
    }
}

const TOKENS_EXPECTED: &str = "--listen at a TCP port: expected --token-file or --auth-command as well, as every \
                               program of this machine could connect";

/// The certificate for `wss://`.
fn certificate(options: &HostOptions) -> Result<Option<Arc<Certificate>>, Refusal> {
    match (&options.tls_cert, &options.tls_key) {
        (None, None) => Ok(None),
        (Some(chain), Some(key)) => {
            let loaded = Certificate::load(chain.into(), key.into());
            let loaded = loaded.map_err(|error| Refusal(format!("--tls-cert, --tls-key: {error}"), 1))?;
            Ok(Some(Arc::new(loaded)))
        }
        (Some(_), None) => Err(Refusal("--tls-cert: expected --tls-key as well".to_owned(), super::USAGE)),
        (None, Some(_)) => Err(Refusal("--tls-key: expected --tls-cert as well".to_owned(), super::USAGE)),
    }
}

/// Logs an address, whatever `RUST_LOG` says: a port that the system has chosen is known from here alone.
fn announce(listener: &Listener, format: LogFormat) {
    let text = format!("listening at {listener}");
    // The log is never lost.
    let _ = match format {
        LogFormat::Text => writeln!(Log, "{text}"),
        LogFormat::Json => writeln!(Log, "{}", json!({ "level": "INFO", "fields": { "message": text } })),
    };
}
