//! Compactions, by the host's command or of a full context.

use super::{command, say};
use crate::trace_support::Host;
use pi_rpc::protocol::Dialect;
use serde_json::json;

pub fn compact_abort(host: &mut Host) {
    for _ in 0..3 {
        host.prompt("Say much, to be summed up slowly");
    }
    let compaction = host.begin(command("compact"));
    host.call(command("get_state"));
    host.call(command("abort"));
    host.response(&compaction);
    host.prompt("Right after that");
    host.finish();
}

pub fn compact_auto(host: &mut Host) {
    for _ in 0..2 {
        host.prompt("Say much, to be summed up slowly");
    }
    let mark = host.mark();
    host.call(say("Fill the context"));
    host.event(mark, "agent_end");
    host.call(command("get_state"));
    host.await_since(mark, |frame| {
        ["auto_compaction_end", "compaction_end"].iter().any(|kind| frame["type"] == *kind)
    });
    if host.dialect == Dialect::Xcsh {
        // The model is asked to go on.
        host.await_since(mark, |frame| {
            frame["type"] == "agent_end" && frame["messages"][0]["role"] == "developer"
        });
    }
    host.call(command("get_state"));
    // The recording of omp, whose compaction ends before its run does, asks once less.
    if host.dialect != Dialect::Omp {
        host.call(command("get_state"));
    }
    host.call(json!({"type": "set_auto_compaction", "enabled": false}));
    host.call(command("get_state"));
    host.finish();
}
