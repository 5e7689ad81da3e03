//! `pi-rpc mock-mcp`, the real binary.

use serde_json::{Value, json};
use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::TcpStream,
    process::{Command, Stdio},
};

/// What the binary answers to these messages on its stdin, and its status.
fn play(script: &Value, messages: &[Value]) -> (Vec<Value>, Option<i32>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script.json");
    std::fs::write(&path, script.to_string()).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_pi-rpc"))
        .args(["mock-mcp", "--script"])
        .arg(&path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    messages.iter().for_each(|message| writeln!(stdin, "{message}").unwrap());
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let read = |line: &str| serde_json::from_str(line).unwrap_or_else(|_| json!(line));
    (text.lines().map(read).collect(), output.status.code())
}

fn request(id: u64, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn hello() -> Value {
    request(1, "initialize", json!({ "protocolVersion": "2025-06-18", "capabilities": {} }))
}

fn call(id: u64, name: &str) -> Value {
    request(
        id,
        "tools/call",
        json!({ "name": name, "arguments": { "a": 1 }, "_meta": { "progressToken": 9 } }),
    )
}

#[test]
fn scripted_calls_come_in_order() {
    let tool = json!({ "name": "t", "calls": [
        [{ "progress": { "progress": 1 } }, { "text": "one" }, { "structured": 1 }],
        [{ "fail": { "code": -32603, "message": "full" } }],
        [{ "write": "noise" }, { "exit": 3 }],
    ] });
    let script = json!({ "tools": [tool, { "name": "echo" }] });
    let messages = [hello(), call(2, "echo"), call(3, "t"), call(4, "t"), call(5, "t")];
    let (answers, status) = play(&script, &messages);
    let greeting = json!({ "protocolVersion": "2025-06-18", "serverInfo": { "name": "scripted", "version": "1" },
        "capabilities": { "tools": { "listChanged": true }, "logging": {} } });
    let answer = |id: u64, result: Value| json!({ "jsonrpc": "2.0", "id": id, "result": result });
    let text = |text: &str| json!([{ "type": "text", "text": text }]);
    let expected = [
        answer(1, greeting),
        answer(2, json!({ "content": text("{\"a\":1}") })),
        json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": { "progress": 1, "progressToken": 9 } }),
        answer(3, json!({ "content": text("one"), "structuredContent": 1 })),
        json!({ "jsonrpc": "2.0", "id": 4, "error": { "code": -32603, "message": "full" } }),
        json!("noise"),
    ];
    assert_eq!((answers, status), (expected.to_vec(), Some(3)));
}

#[test]
fn lists_have_pages_and_copies() {
    let script = json!({ "pageSize": 2, "tools": [{ "name": "t", "copies": 3 }] });
    let next = |cursor: &str| request(3, "tools/list", json!({ "cursor": cursor }));
    let (answers, _) =
        play(&script, &[hello(), request(2, "tools/list", json!({})), next("2"), call(4, "t_3")]);
    let names = |answer: &Value| -> Vec<String> {
        let tools = answer["result"]["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(
        (names(&answers[1]), &answers[1]["result"]["nextCursor"]),
        (vec!["t_1".to_owned(), "t_2".to_owned()], &json!("2"))
    );
    assert_eq!(
        (names(&answers[2]), &answers[2]["result"]["nextCursor"]),
        (vec!["t_3".to_owned()], &Value::Null)
    );
    assert_eq!(answers[3]["result"]["content"][0]["text"], "{\"a\":1}");
}

#[test]
fn clients_that_break_the_order_are_refused() {
    let early = request(1, "tools/list", json!({}));
    let (answers, _) = play(&json!({}), &[early, hello(), json!({ "id": 3, "method": "ping" })]);
    assert_eq!(answers[0]["error"], json!({ "code": -32600, "message": "expected initialize first" }));
    assert_eq!(answers[2]["error"], json!({ "code": -32600, "message": "jsonrpc: expected \"2.0\"" }));
}

#[test]
fn wrong_scripts_name_their_place() {
    for (script, expected) in [
        (
            json!({ "tools": [{ "name": "t", "calls": [[{ "say": "x" }]] }] }),
            "tools[0].calls[0][0]: unknown variant `say`",
        ),
        (
            json!({ "onStart": [{ "http": { "status": 99 } }] }),
            "onStart[0]: http.status: expected 200 to 599, got 99",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("script.json");
        std::fs::write(&path, script.to_string()).unwrap();
        let output =
            Command::new(env!("CARGO_BIN_EXE_pi-rpc")).args(["mock-mcp", "--script"]).arg(&path).output();
        let output = output.unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(1) && text.contains(expected), "{text}");
    }
}

#[test]
fn http_requests_are_checked_and_answered() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script.json");
    let tool = json!({ "name": "t", "calls": [[{ "notify": { "method": "notifications/message" } }, { "text": "one" }]] });
    std::fs::write(&path, json!({ "key": "k", "tools": [tool] }).to_string()).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_pi-rpc"))
        .args(["mock-mcp", "--listen", "127.0.0.1:0", "--script"])
        .arg(&path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line
        .trim_end()
        .strip_prefix("listening on http://")
        .unwrap()
        .strip_suffix("/mcp")
        .unwrap()
        .to_owned();
    let post = |headers: &str, message: &Value| {
        let body = message.to_string();
        let mut stream = TcpStream::connect(&address).unwrap();
        let length = body.len();
        write!(stream, "POST /mcp HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}").unwrap();
        std::io::read_to_string(stream).unwrap()
    };
    let key = "authorization: Bearer k\r\n";
    let usual =
        format!("{key}accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n");
    assert!(post("", &hello()).starts_with("HTTP/1.1 401"));
    assert!(post(key, &hello()).starts_with("HTTP/1.1 406"));
    assert!(post(&usual, &call(2, "t")).starts_with("HTTP/1.1 400"));
    let opened = post(&usual, &hello());
    assert!(
        opened.contains("mcp-session-id: scripted-session-1\r\n") && opened.contains("\"protocolVersion\""),
        "{opened}"
    );
    let usual = format!("{usual}mcp-session-id: scripted-session-1\r\n");
    let answer = post(&usual, &call(2, "t"));
    let events: Vec<&str> = answer.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    assert!(events.len() == 2 && events[1].contains("\"one\""), "{answer}");
    child.kill().unwrap();
    child.wait().unwrap();
}
