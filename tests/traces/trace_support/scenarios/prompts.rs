//! Prompts, commands during a run, and ends of runs.

use super::{command, say};
use crate::trace_support::Host;
use pi_rpc::protocol::Base;
use serde_json::json;

pub fn steer_during_tool(host: &mut Host) {
    let mark = host.mark();
    host.call(say("Call a tool that waits"));
    let shows_at_once = host.dialect.record().tools.empty_first_update;
    host.event(mark, if shows_at_once { "tool_execution_update" } else { "tool_execution_start" });
    host.call(json!({"type": "steer", "message": "Turn left"}));
    host.call(command("get_state"));
    host.touch("go");
    host.settled(mark);
    host.call(command("get_messages"));
    host.finish();
}

pub fn abort_tool(host: &mut Host) {
    let mark = host.mark();
    let together = matches!(host.dialect.base(), Base::Pi1 | Base::Omp);
    host.call(say(if together {
        "Call one without end, and one that waits"
    } else {
        "Call one without end"
    }));
    host.await_since(mark, |frame| frame["partialResult"]["content"][0]["text"] == "started\n");
    if together {
        host.touch("go");
        host.event(mark, "tool_execution_end");
    }
    host.call(command("abort"));
    host.call(command("get_state"));
    host.call(command("get_messages"));
    host.finish();
}

pub fn steer_and_follow_up_idle(host: &mut Host) {
    host.call(command("get_state"));
    for (kind, message) in [("steer", "Turn left"), ("follow_up", "And then")] {
        let mark = host.mark();
        host.call(json!({"type": kind, "message": message}));
        host.settled(mark);
    }
    host.prompt("Hello");
    host.call(command("get_state"));
    host.call(command("get_messages"));
    host.finish();
}
