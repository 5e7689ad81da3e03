//! Commands of the host, and models.

use super::{bash, command, is_text_delta, say};
use crate::trace_support::Host;
use pi_rpc::protocol::{Base, Dialect};
use serde_json::json;

pub fn bash_command(host: &mut Host) {
    host.call(bash("echo out; echo err >&2; exit 3"));
    host.call(bash("seq 1 20000"));
    host.call(bash("printf 'no newline'"));
    host.call(bash("no_such_command"));
    host.call(bash(""));
    host.call(json!({"type": "bash", "command": "echo hidden", "excludeFromContext": true}));
    let first = host.begin(bash("until [ -e go ]; do sleep 0.01; done; echo first"));
    let second = host.begin(bash("echo second"));
    if host.dialect != Dialect::Xcsh {
        // Nothing waits for another command in this dialect.
        host.response(&second);
    }
    host.touch("go");
    host.response(&first);
    host.response(&second);
    host.call(command("get_messages"));
    host.prompt("Tell me what that was");
    host.finish();
}

pub fn bash_abort(host: &mut Host) {
    host.call(command("get_state"));
    let running = host.begin(bash("echo begun; touch begun; sleep 60"));
    host.awaits("begun");
    host.call(command("abort_bash"));
    host.response(&running);
    host.call(command("get_state"));
    host.call(command("get_messages"));
    host.finish();
}

pub fn todos_interrupt_abort_and_prompt(host: &mut Host) {
    host.call(command("get_state"));
    let tasks = json!([{"id": "t1", "content": "this", "status": "pending"}]);
    host.call(json!({"type": "set_todos", "phases": [{"id": "p1", "name": "First", "tasks": tasks}]}));
    host.call(command("get_state"));
    host.call(json!({"type": "set_todos", "phases": "x"}));
    host.call(json!({"type": "set_todos", "phases": []}));
    for mode in ["wait", "immediate", "bogus"] {
        host.call(json!({"type": "set_interrupt_mode", "mode": mode}));
        host.call(command("get_state"));
    }
    host.call(json!({"type": "set_interrupt_mode", "mode": "immediate"}));
    let mark = host.mark();
    host.call(say("Call one that waits, then another"));
    // Where the calls run together, the second one need not wait.
    let together = matches!(host.dialect.base(), Base::Pi1 | Base::Omp);
    host.event(mark, if together { "tool_execution_end" } else { "tool_execution_start" });
    host.call(json!({"type": "steer", "message": "Turn left"}));
    host.touch("go");
    host.settled(mark);
    let mark = host.mark();
    host.call(say("Speak slowly"));
    host.await_since(mark, is_text_delta);
    let answer = host.call(json!({"type": "abort_and_prompt", "message": "Something new"}));
    // Where there is no such command, the run goes on.
    let mark = if answer["success"] == true { host.mark() } else { mark };
    host.settled(mark);
    let mark = host.mark();
    let answer = host.call(json!({"type": "abort_and_prompt", "message": "When idle"}));
    if answer["success"] == true {
        host.over(mark);
    }
    host.call(command("get_messages"));
    host.finish();
}
