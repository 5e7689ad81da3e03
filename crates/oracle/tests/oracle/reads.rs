//! A command that only reads explains no difference between two reports of the server.

use crate::mutation_support::{broken, valid};
use pi_rpc_machine::Rule;
use pi_rpc_protocol::{Dialect, RpcCommandKind};
use serde_json::{Value, json};

/// A valid recording in which `get_state` counts one message too many while `other` is outstanding.
fn contradiction(dialect: Dialect, other: RpcCommandKind) -> Vec<Value> {
    let mut records = valid(&format!("{dialect}/plain"));
    let is_state = |record: &Value| record["dir"] == "out" && record["frame"]["command"] == "get_state";
    let at = records.iter().position(is_state).unwrap();
    let count = &mut records[at]["frame"]["data"]["messageCount"];
    *count = json!(count.as_u64().unwrap() + 1);
    let command = json!({ "id": "read", "type": other.as_str(), "subagentId": "one" });
    records.insert(at, json!({ "t": records[at]["t"], "dir": "in", "frame": command }));
    records
}

#[test]
fn outstanding_read_hides_no_contradiction() {
    for dialect in [Dialect::Pi, Dialect::Pi1, Dialect::Xcsh, Dialect::Omp] {
        let reads = RpcCommandKind::ALL.into_iter().filter(|it| it.is_read() && it.is_in(dialect.base()));
        let hides = |read: &RpcCommandKind| {
            !broken(dialect, &contradiction(dialect, *read)).contains(Rule::MessageCount.as_str())
        };
        assert_eq!(reads.filter(hides).collect::<Vec<_>>(), [], "{dialect}");
    }
}

#[test]
fn outstanding_change_excuses_contradiction() {
    for dialect in [Dialect::Pi, Dialect::Pi1, Dialect::Xcsh, Dialect::Omp] {
        let broken = broken(dialect, &contradiction(dialect, RpcCommandKind::NewSession));
        assert!(!broken.contains(Rule::MessageCount.as_str()), "{dialect}: {broken:?}");
    }
}
