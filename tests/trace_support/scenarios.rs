//! The conversations with our server that were recorded with the originals: the same requests, at the same moments.
//! The prompts are ours; what the model says to them is in `tests/traces/model.json`.

use super::Host;
use pi_rpc::protocol::Dialect;
use serde_json::{Value, json};

/// A host's side of a conversation.
pub type Scenario = fn(&mut Host);

/// Each with the options of the server.
pub const SCENARIOS: &[(&str, &[&str], Scenario)] = &[
    ("startup_get_state", &[], startup_get_state),
    ("startup_no_session", &["--no-session"], startup_no_session),
    ("prompt_plain", &[], prompt_plain),
    ("prompt_thinking", &[], prompt_thinking),
    ("prompt_image", &[], prompt_image),
    ("prompt_tool", &[], prompt_tool),
    ("prompt_tool_slow_output", &[], prompt_tool_slow_output),
    ("prompt_tool_files", &[], prompt_tool_files),
    ("prompt_two_tools", &[], prompt_two_tools),
    ("steer_during_tool", &[], steer_during_tool),
    ("steer_while_streaming", &[], steer_while_streaming),
    ("follow_up_streaming", &[], follow_up_streaming),
    ("prompt_while_streaming", &[], prompt_while_streaming),
    ("abort_streaming", &[], abort_streaming),
    ("abort_tool", &[], abort_tool),
    ("abort_idle", &[], abort_idle),
    ("bash_command", &[], bash_command),
    ("bash_abort", &[], bash_abort),
    ("retry_disabled", &[], retry_disabled),
    ("error_400", &[], error_400),
    ("oai_completions", &[], oai_completions),
    ("models", &[], models),
    ("new_session", &[], new_session),
    ("session_name", &[], session_name),
    ("clone_and_entries", &[], clone_and_entries),
    ("host_tools", &[], host_tools),
    ("todos_interrupt_abort_and_prompt", &[], todos_interrupt_abort_and_prompt),
    ("malformed", &[], malformed),
    ("unknown_command", &[], unknown_command),
    ("framing", &[], framing),
    ("stdin_close_idle", &[], stdin_close_idle),
    ("stdin_close_at_once", &[], Host::finish),
    ("stdin_close_streaming", &[], stdin_close_streaming),
    ("stdin_close_after_prompt", &[], stdin_close_after_prompt),
    ("stdin_close_bash", &[], stdin_close_bash),
    ("stdout_closed", &[], stdout_closed),
];

fn command(kind: &str) -> Value {
    json!({ "type": kind })
}

fn say(message: &str) -> Value {
    json!({"type": "prompt", "message": message})
}

fn bash(command: &str) -> Value {
    json!({"type": "bash", "command": command})
}

fn is_text_delta(frame: &Value) -> bool {
    frame["assistantMessageEvent"]["type"] == "text_delta"
}

fn startup_get_state(host: &mut Host) {
    host.call(command("get_state"));
    host.call(command("get_state"));
    host.finish();
}

fn startup_no_session(host: &mut Host) {
    host.call(command("get_state"));
    host.prompt("Hello");
    host.call(command("get_state"));
    host.finish();
}

fn prompt_plain(host: &mut Host) {
    host.prompt("Hello");
    host.call(command("get_messages"));
    host.finish();
}

fn prompt_thinking(host: &mut Host) {
    host.prompt("Think");
    host.call(command("get_last_assistant_text"));
    host.call(command("get_messages"));
    host.finish();
}

fn prompt_image(host: &mut Host) {
    let pixel =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let image = json!({"type": "image", "data": pixel, "mimeType": "image/png"});
    let mark = host.mark();
    host.call(json!({"type": "prompt", "message": "Look", "images": [image]}));
    host.event(mark, "agent_end");
    host.finish();
}

fn prompt_tool(host: &mut Host) {
    host.prompt("Call a tool");
    host.call(command("get_messages"));
    host.finish();
}

fn prompt_tool_slow_output(host: &mut Host) {
    host.prompt("Call a slow tool");
    host.finish();
}

fn prompt_tool_files(host: &mut Host) {
    host.prompt("Write a file");
    host.prompt("Read the file");
    host.prompt("Read no file");
    host.finish();
}

fn prompt_two_tools(host: &mut Host) {
    host.prompt("Call two tools");
    host.finish();
}

fn steer_during_tool(host: &mut Host) {
    let mark = host.mark();
    host.call(say("Call a tool that waits"));
    host.event(mark, "tool_execution_start");
    host.call(json!({"type": "steer", "message": "Turn left"}));
    host.call(command("get_state"));
    host.touch("go");
    host.settled(mark);
    host.call(command("get_messages"));
    host.finish();
}

fn steer_while_streaming(host: &mut Host) {
    let mark = host.mark();
    host.call(say("Take your time"));
    host.event(mark, "message_update");
    host.call(json!({"type": "steer", "message": "Turn left"}));
    host.settled(mark);
    host.finish();
}

fn follow_up_streaming(host: &mut Host) {
    let mark = host.mark();
    host.call(say("Take your time"));
    host.event(mark, "message_update");
    host.call(json!({"type": "follow_up", "message": "And then"}));
    host.call(command("get_state"));
    host.settled(mark);
    host.finish();
}

fn prompt_while_streaming(host: &mut Host) {
    let busy =
        |behaviour: &str| json!({"type": "prompt", "message": behaviour, "streamingBehavior": behaviour});
    let mark = host.mark();
    host.call(say("Take your time"));
    host.event(mark, "message_update");
    host.call(say("Now"));
    host.call(busy("steer"));
    host.call(busy("followUp"));
    host.call(busy("bogus"));
    host.call(command("get_state"));
    host.settled(mark);
    host.finish();
}

fn abort_streaming(host: &mut Host) {
    let mark = host.mark();
    host.call(say("Think, and never end"));
    host.await_since(mark, is_text_delta);
    host.call(command("abort"));
    host.call(command("get_state"));
    host.call(command("get_messages"));
    host.prompt("Again");
    host.finish();
}

fn abort_tool(host: &mut Host) {
    let mark = host.mark();
    host.call(say("Call one without end"));
    host.await_since(mark, |frame| frame["partialResult"]["content"][0]["text"] == "started\n");
    host.call(command("abort"));
    host.call(command("get_state"));
    host.call(command("get_messages"));
    host.finish();
}

fn abort_idle(host: &mut Host) {
    host.call(command("get_state"));
    host.call(command("abort"));
    host.call(command("abort_bash"));
    host.call(command("abort_retry"));
    host.finish();
}

fn bash_command(host: &mut Host) {
    host.call(bash("echo out; echo err >&2; exit 3"));
    host.call(bash("seq 1 20000"));
    host.call(bash("printf 'no newline'"));
    host.call(bash("no_such_command"));
    host.call(bash(""));
    host.call(json!({"type": "bash", "command": "echo hidden", "excludeFromContext": true}));
    let first = host.begin(bash("until [ -e go ]; do sleep 0.01; done; echo first"));
    let second = host.begin(bash("echo second"));
    if host.dialect == Dialect::Pi {
        // Nothing waits for another command in this dialect.
        host.response(&second);
    }
    host.touch("go");
    host.response(&first);
    host.response(&second);
    host.call(command("get_messages"));
    host.prompt("What was that?");
    host.finish();
}

fn bash_abort(host: &mut Host) {
    host.call(command("get_state"));
    let running = host.begin(bash("echo begun; touch begun; sleep 60"));
    host.awaits("begun");
    host.call(command("abort_bash"));
    host.response(&running);
    host.call(command("get_state"));
    host.call(command("get_messages"));
    host.finish();
}

fn retry_disabled(host: &mut Host) {
    host.call(json!({"type": "set_auto_retry", "enabled": false}));
    host.prompt("Be overloaded");
    host.call(command("get_state"));
    host.call(json!({"type": "set_auto_retry", "enabled": true}));
    host.finish();
}

/// How a vendor's refusal is read shows only with a vendor over HTTP; what is said of it shows with any model.
fn error_400(host: &mut Host) {
    host.prompt("Refuse");
    host.call(command("get_messages"));
    host.call(command("get_last_assistant_text"));
    host.prompt("Is it better now?");
    host.finish();
}

/// The model is to speak another vendor's API: [`error_400`]'s remark holds for all of this.
fn oai_completions(host: &mut Host) {
    host.call(host.set_model(true));
    host.prompt("Think");
    host.prompt("Call two tools");
    host.prompt("Refuse");
    host.finish();
}

fn models(host: &mut Host) {
    host.call(command("get_available_models"));
    host.call(host.set_model(false));
    host.call(command("get_state"));
    host.call(json!({"type": "set_model", "provider": "nope", "modelId": "none"}));
    host.call(json!({"type": "set_model", "provider": "fake"}));
    host.call(command("set_model"));
    for _ in 0..5 {
        host.call(command("cycle_model"));
    }
    host.call(host.set_model(true));
    host.prompt("Hello");
    host.finish();
}

fn new_session(host: &mut Host) {
    host.prompt("In the first session");
    host.call(command("get_state"));
    host.call(command("new_session"));
    host.call(command("get_state"));
    host.call(command("get_messages"));
    host.call(json!({"type": "new_session", "parentSession": "/nonexistent"}));
    host.prompt("In the third");
    host.call(command("get_state"));
    let mark = host.mark();
    host.call(say("Never end"));
    host.await_since(mark, is_text_delta);
    host.call(command("new_session"));
    host.call(command("get_state"));
    host.finish();
}

fn session_name(host: &mut Host) {
    let name = |name: &str| json!({"type": "set_session_name", "name": name});
    host.call(name("my name"));
    host.call(command("get_state"));
    host.call(name(""));
    host.call(name("   "));
    host.call(name("  trimmed  "));
    host.call(command("get_state"));
    host.call(command("set_session_name"));
    host.finish();
}

fn clone_and_entries(host: &mut Host) {
    host.call(command("clone"));
    host.prompt("Hello");
    host.call(command("clone"));
    host.call(command("get_state"));
    host.call(command("get_entries"));
    host.call(command("get_tree"));
    host.finish();
}

/// What `pi` answers; in `xcsh` this goes on.
fn host_tools(host: &mut Host) {
    host.call(command("get_state"));
    let tool = json!({"name": "echo", "description": "Says it again", "parameters": {"type": "object"}});
    host.call(json!({"type": "set_host_tools", "tools": [tool]}));
    host.finish();
}

fn todos_interrupt_abort_and_prompt(host: &mut Host) {
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
    host.event(mark, "tool_execution_start");
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
        host.event(mark, "agent_end");
    }
    host.call(command("get_messages"));
    host.finish();
}

fn malformed(host: &mut Host) {
    let lines: [&[u8]; 21] = [
        b"{bad\n",
        b"\n",
        b"   \n",
        b"42\n",
        b"null\n",
        b"[]\n",
        b"\"x\"\n",
        b"true\n",
        b"{}\n",
        b"{\"id\":\"no type\"}\n",
        b"{\"id\":\"null\",\"type\":null}\n",
        b"{\"id\":\"number\",\"type\":5}\n",
        b"[{\"type\":\"get_state\"}]\n",
        b"{\"id\":\"more\",\"type\":\"get_state\"} behind\n",
        b"{\"id\":\"twice\",\"type\":\"bogus\",\"type\":\"get_session_stats\"}\n",
        b"{\"id\":\"1\",\"type\":\"get_session_stats\"}{\"id\":\"2\",\"type\":\"get_session_stats\"}\n",
        b"\xff\xfe{\n",
        b"{\"id\":\"bad\xffbyte\",\"type\":\"get_session_stats\"}\n",
        b"\xef\xbb\xbf{\"id\":\"mark\",\"type\":\"get_session_stats\"}\n",
        b"{\"id\":\"nul\\u0000\",\"type\":\"get_session_stats\"}\n",
        b"  {\"id\":\"blanks\",\"type\":\"get_session_stats\"}  \n",
    ];
    host.call(command("get_state"));
    for line in lines {
        host.send_bytes(line);
        host.barrier();
    }
    host.call(command("get_state"));
    host.finish();
}

fn unknown_command(host: &mut Host) {
    host.call(command("get_state"));
    for frame in [
        json!({"id": "u1", "type": "no_such_command"}),
        json!({"type": "no_such_command"}),
        json!({"id": "u2", "type": ""}),
        json!({"id": "u3", "type": "GET_STATE"}),
        json!({"id": "u4", "type": "response"}),
        json!({"id": "u5", "type": "extension_ui_response"}),
        json!({"id": "u6", "type": "extension_ui_response", "value": "x"}),
        json!({"id": "u7", "type": "__proto__"}),
        json!({"id": "u8", "type": "constructor"}),
    ] {
        host.send(frame);
        host.barrier();
    }
    host.call(command("get_state"));
    host.finish();
}

fn framing(host: &mut Host) {
    let whole = |host: &mut Host, line: &[u8]| {
        host.send_bytes(line);
        host.barrier();
    };
    host.call(command("get_state"));
    whole(host, b"{\"id\":\"crlf\",\"type\":\"get_session_stats\"}\r\n");
    host.send_bytes(b"{\"id\":\"cr\",\"type\":\"get_session_stats\"}\r");
    whole(host, b"\n");
    let mark = host.mark();
    host.send_bytes(
        "{\"id\":\"ls\",\"type\":\"prompt\",\"message\":\"a\u{2028}b\u{2029}c\u{85}d\"}\n".as_bytes(),
    );
    host.event(mark, "agent_end");
    host.call(command("get_messages"));
    host.send_bytes(b"{\"id\":\"split\",");
    host.send_bytes(b"\"type\":\"get_session");
    whole(host, b"_stats\"}\n");
    let line = |id: &str| format!("{{\"id\":\"{id}\",\"type\":\"get_session_stats\"}}\n");
    whole(host, format!("{}{}\n{}", line("m1"), line("m2"), line("m3")).as_bytes());
    host.send_bytes(b"{\"id\":\"\xc3");
    whole(host, b"\xa9\",\"type\":\"get_session_stats\"}\n");
    let name =
        "{\"id\":\"emoji\",\"type\":\"set_session_name\",\"name\":\"\u{1f600} \\ud83d\\ude00 \\ud83d\"}\n";
    whole(host, name.as_bytes());
    host.call(command("get_state"));
    host.send_bytes(b"{\"id\":\"eof\",\"type\":\"get_session_stats\"}");
    host.finish();
}

fn stdin_close_idle(host: &mut Host) {
    host.call(command("get_state"));
    host.finish();
}

fn stdin_close_streaming(host: &mut Host) {
    let mark = host.mark();
    host.call(say("Speak slowly"));
    host.await_since(mark, is_text_delta);
    host.finish();
}

fn stdin_close_after_prompt(host: &mut Host) {
    host.call(command("get_state"));
    host.begin(say("Hello"));
    host.finish();
}

fn stdin_close_bash(host: &mut Host) {
    host.call(command("get_state"));
    host.begin(bash("touch begun; sleep 0.2; echo done"));
    host.awaits("begun");
    host.finish();
}

fn stdout_closed(host: &mut Host) {
    host.call(command("get_state"));
    host.close_stdout();
    host.begin(say("Hello"));
    host.ends();
}
