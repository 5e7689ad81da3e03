//! Prompts, what may be said during a run, and how runs end.

use super::{command, is_text_delta, say};
use crate::trace_support::Host;
use pi_rpc::protocol::Dialect;
use serde_json::json;

pub fn startup_get_state(host: &mut Host) {
    host.call(command("get_state"));
    host.call(command("get_state"));
    host.finish();
}

pub fn startup_no_session(host: &mut Host) {
    host.call(command("get_state"));
    host.prompt("Hello");
    host.call(command("get_state"));
    host.finish();
}

pub fn prompt_plain(host: &mut Host) {
    host.prompt("Hello");
    host.call(command("get_messages"));
    host.finish();
}

pub fn prompt_thinking(host: &mut Host) {
    host.prompt("Think");
    host.call(command("get_last_assistant_text"));
    host.call(command("get_messages"));
    host.finish();
}

pub fn prompt_image(host: &mut Host) {
    let pixel =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let image = json!({"type": "image", "data": pixel, "mimeType": "image/png"});
    let mark = host.mark();
    host.call(json!({"type": "prompt", "message": "Look", "images": [image]}));
    host.over(mark);
    host.finish();
}

pub fn prompt_tool(host: &mut Host) {
    host.prompt("Call a tool");
    host.call(command("get_messages"));
    host.finish();
}

pub fn prompt_tool_slow_output(host: &mut Host) {
    host.prompt("Call a slow tool");
    host.finish();
}

pub fn prompt_tool_files(host: &mut Host) {
    host.prompt("Write a file");
    host.prompt("Read the file");
    host.prompt("Read no file");
    host.finish();
}

pub fn prompt_two_tools(host: &mut Host) {
    host.prompt("Call two tools");
    host.finish();
}

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

pub fn steer_while_streaming(host: &mut Host) {
    let mark = host.mark();
    host.call(say("Take your time"));
    host.await_since(mark, is_text_delta);
    host.call(json!({"type": "steer", "message": "Turn left"}));
    host.settled(mark);
    host.finish();
}

pub fn follow_up_streaming(host: &mut Host) {
    let mark = host.mark();
    host.call(say("Take your time"));
    host.await_since(mark, is_text_delta);
    host.call(json!({"type": "follow_up", "message": "And then"}));
    host.call(command("get_state"));
    host.settled(mark);
    host.finish();
}

pub fn prompt_while_streaming(host: &mut Host) {
    let busy =
        |behaviour: &str| json!({"type": "prompt", "message": behaviour, "streamingBehavior": behaviour});
    let mark = host.mark();
    host.call(say("Take your time"));
    host.await_since(mark, is_text_delta);
    host.call(say("Now"));
    host.call(busy("steer"));
    host.call(busy("followUp"));
    host.call(busy("bogus"));
    host.call(command("get_state"));
    host.settled(mark);
    host.finish();
}

pub fn abort_streaming(host: &mut Host) {
    let mark = host.mark();
    host.call(say("Think, and never end"));
    host.await_since(mark, is_text_delta);
    host.call(command("abort"));
    host.call(command("get_state"));
    host.call(command("get_messages"));
    host.prompt("Again");
    host.finish();
}

pub fn abort_tool(host: &mut Host) {
    let mark = host.mark();
    let together = host.dialect == Dialect::Pi1;
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

pub fn abort_idle(host: &mut Host) {
    host.call(command("get_state"));
    host.call(command("abort"));
    host.call(command("abort_bash"));
    host.call(command("abort_retry"));
    host.finish();
}

pub fn error_400(host: &mut Host) {
    host.prompt("Refuse");
    host.call(command("get_messages"));
    host.call(command("get_last_assistant_text"));
    host.prompt("Is it better now?");
    host.finish();
}

pub fn oai_completions(host: &mut Host) {
    host.set_model("fakeoai", "fake-c");
    host.prompt("Think");
    host.prompt("Call two tools");
    host.prompt("Refuse");
    host.finish();
}
