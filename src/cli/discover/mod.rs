//! `pi-rpc models --discover`: model servers on this machine, as an entry for `models.json`.

mod servers;

use self::servers::{LocalServer, USUAL};
use super::print;
use pi_rpc_files::harmless::harmless_lines;
use serde_json::{Map, Value, json};
use std::{fmt::Write as _, io::Write as _, process::ExitCode, time::Duration};

/// Time limit for one request: a server on this machine answers at once or not at all.
const LIMIT: Duration = Duration::from_secs(3);

/// Largest answer that is read, in bytes.
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// Asks these addresses, or the usual ones without any; prints the entry, and what was found on stderr.
pub fn run(addresses: &[String]) -> ExitCode {
    let usual = || USUAL.iter().map(|(_, port)| format!("http://127.0.0.1:{port}")).collect();
    let addresses: Vec<String> = if addresses.is_empty() { usual() } else { addresses.to_vec() };
    let found = tokio::runtime::Builder::new_current_thread().enable_all().build().map(|runtime| {
        let asked = addresses.iter().map(|address| servers::find(address.trim_end_matches('/')));
        runtime.block_on(futures_util::future::join_all(asked))
    });
    let found = match found {
        Ok(found) => found,
        Err(error) => return super::refuse(&error.to_string(), 1),
    };
    let mut notes = String::new();
    let mut servers: Vec<LocalServer> = Vec::new();
    for (address, answer) in addresses.iter().zip(found) {
        let _ = match answer {
            Ok(server) if server.models.is_empty() => {
                writeln!(notes, "{address}: {}, without a model", server.name)
            }
            Ok(server) => {
                let count = server.models.len();
                let models = if count == 1 { "model" } else { "models" };
                let written = writeln!(notes, "{address}: {}, {count} {models}", server.name);
                servers.push(server);
                written
            }
            Err(reason) => writeln!(notes, "{address}: {reason}"),
        };
    }
    let _ = std::io::stderr().write_all(harmless_lines(&notes).as_bytes());
    if servers.is_empty() {
        return super::refuse("No model server was found. Start one, or name its address: --discover=URL", 1);
    }
    print(&format!("{:#}", entry(&servers)))
}

/// The entry of `models.json`. A second server of a kind gets the port in its name.
fn entry(servers: &[LocalServer]) -> Value {
    let mut providers = Map::new();
    for server in servers {
        let port = server.address.rsplit_once(':').map_or("", |(_, port)| port);
        let name = match providers.contains_key(server.name) {
            true => format!("{}-{port}", server.name),
            false => server.name.to_owned(),
        };
        providers.insert(name, provider(server));
    }
    json!({ "providers": providers })
}

fn provider(server: &LocalServer) -> Value {
    let models: Vec<Value> = server.models.iter().map(servers::LocalModel::as_json).collect();
    json!({
        "baseUrl": format!("{}/v1", server.address),
        "api": "openai-completions",
        "apiKey": "none",
        "compat": { "supportsDeveloperRole": false, "supportsReasoningEffort": server.takes_effort },
        "models": models,
    })
}
