//! Looks at the NATS servers by which hosts share their sessions.

use super::Check;
#[cfg(not(feature = "cluster"))]
use super::State;
use clap::Args;
use std::path::PathBuf;

/// Where NATS is, and how to log in: as for `pi-rpc host`.
#[derive(Args)]
#[group(skip)]
pub struct Options {
    /// Look at the NATS servers of hosts that share their sessions
    #[arg(long = "nats", value_name = "URLS")]
    urls: Option<String>,
    /// Log in to NATS with this file of credentials
    #[arg(long = "nats-credentials", value_name = "FILE", requires = "urls")]
    credentials: Option<PathBuf>,
    /// Log in to NATS with the seed of a key (NKey) in this file
    #[arg(long = "nats-nkey", value_name = "FILE", requires = "urls")]
    nkey: Option<PathBuf>,
    /// Trust the certificates in this file for NATS
    #[arg(long = "nats-ca", value_name = "FILE", requires = "urls")]
    authorities: Option<PathBuf>,
    /// Show NATS this certificate
    #[arg(long = "nats-cert", value_name = "FILE", requires = "urls")]
    certificate: Option<PathBuf>,
    /// The key of --nats-cert
    #[arg(long = "nats-key", value_name = "FILE", requires = "urls")]
    key: Option<PathBuf>,
}

/// What was found out; nothing where no servers are named.
#[cfg(feature = "cluster")]
pub fn check(options: &Options) -> Vec<Check> {
    use super::State;
    use pi_rpc_cluster::{Condition, NatsOptions, diagnose};
    let Some(urls) = options.urls.clone() else { return Vec::new() };
    let nats = NatsOptions {
        urls,
        credentials: options.credentials.clone(),
        nkey: options.nkey.clone(),
        authorities: options.authorities.clone(),
        certificate: options.certificate.clone(),
        key: options.key.clone(),
        replicas: 1,
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return vec![Check::new(State::Broken, "nats", error.to_string())],
    };
    let found = runtime.block_on(diagnose(&nats)).into_iter().map(|found| {
        let state = match found.condition {
            Condition::Good => State::Ok,
            Condition::Notable => State::Note,
            Condition::Bad => State::Broken,
        };
        Check { help: found.help, ..Check::new(state, "nats", found.text) }
    });
    found.collect()
}

/// Says that this program knows no NATS.
#[cfg(not(feature = "cluster"))]
pub fn check(options: &Options) -> Vec<Check> {
    let text = "this pi-rpc was built without the cargo feature `cluster`";
    options.urls.iter().map(|_| Check::new(State::Broken, "nats", text)).collect()
}
