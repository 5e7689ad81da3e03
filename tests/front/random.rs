//! Random hosts and random servers of different dialects, the front between, in virtual time: both conversations are legal, and both
//! sides are in the same state once nothing is due.

use crate::front_support::judge;
use pi_rpc::protocol::Dialect;
use std::collections::BTreeMap;

/// Seeds of each pair. `cargo test --test explore -- --front --seconds N` plays more.
const SEEDS: u64 = 1;

#[test]
fn random_conversations_are_legal_on_both_sides() {
    let mut failed = BTreeMap::new();
    for server in [Dialect::Pi, Dialect::Pi1] {
        for client in [Dialect::Pi, Dialect::Pi073, Dialect::Pi1]
            .into_iter()
            .filter(|client| client.base() != server.base())
        {
            for seed in 0..SEEDS {
                if let Err(error) = judge(server, client, seed) {
                    failed.insert(format!("{server} → {client}, seed {seed}"), error);
                }
            }
        }
    }
    let text: Vec<String> = failed.iter().map(|(name, error)| format!("{name}: {error}")).collect();
    assert!(failed.is_empty(), "{} fail\n{}", failed.len(), text.join("\n\n"));
}
