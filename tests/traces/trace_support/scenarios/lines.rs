//! Lines on stdin, and the ends of stdin and stdout.

use super::{command, say};
use crate::trace_support::Host;
use serde_json::json;

pub fn malformed(host: &mut Host) {
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

pub fn unknown_command(host: &mut Host) {
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

pub fn framing(host: &mut Host) {
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
    host.over(mark);
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

pub fn stdout_closed(host: &mut Host) {
    host.call(command("get_state"));
    host.close_stdout();
    host.begin(say("Hello"));
    host.ends();
}
