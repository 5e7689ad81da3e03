//! A vendor that is overloaded, for a while or for good.

use super::{command, say};
use crate::trace_support::Host;
use serde_json::json;

pub fn retry_then_ok(host: &mut Host) {
    let mark = host.mark();
    host.call(say("Be overloaded twice"));
    host.settled(mark);
    host.call(command("get_messages"));
    host.finish();
}

pub fn retry_abort(host: &mut Host) {
    let mark = host.mark();
    host.call(say("Be overloaded"));
    host.event(mark, "auto_retry_start");
    host.call(command("get_state"));
    host.call(command("abort_retry"));
    host.call(command("get_state"));
    host.call(command("get_messages"));
    host.finish();
}

pub fn retry_exhausted(host: &mut Host) {
    let mark = host.mark();
    host.call(say("Be overloaded"));
    host.event(mark, "auto_retry_end");
    host.call(command("get_state"));
    host.call(command("get_messages"));
    host.finish();
}

pub fn retry_disabled(host: &mut Host) {
    host.call(json!({"type": "set_auto_retry", "enabled": false}));
    host.prompt("Be overloaded");
    host.call(command("get_state"));
    host.call(json!({"type": "set_auto_retry", "enabled": true}));
    host.finish();
}
