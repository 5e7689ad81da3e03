//! Below which span of its client a run is.

use crate::{
    collector::{Collector, trees},
    runs::traced,
    serve_support::{binary, command},
    tcp_support::{TOKENS, TcpHost, WsClient},
};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    process::Stdio,
};

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const OTHER: &str = "00-1af7651916cd43dd8448eb211c80319c-c7ad6b7169203331-01";

/// Where the spans that [`PARENT`] and [`OTHER`] name are, as a tree shows them.
const BELOW_PARENT: &str = "below b7ad6b7169203331 of 0af7651916cd43dd8448eb211c80319c: invoke_agent";
const BELOW_OTHER: &str = "below c7ad6b7169203331 of 1af7651916cd43dd8448eb211c80319c: invoke_agent";

/// The beginnings of all roots.
fn roots(trees: &str) -> Vec<&str> {
    let roots = trees.lines().filter(|line| !line.starts_with(' '));
    roots.map(|line| line.split(" (").next().unwrap_or(line)).collect()
}

fn turns() -> Value {
    json!([{ "repeat": true, "say": [{ "text": "Done." }] }])
}

#[test]
fn frame_precedes_variable() {
    let collector = Collector::start();
    let mut server = traced(&turns(), &collector.address, &[("TRACEPARENT", PARENT)]);
    for meta in [json!({}), json!({ "traceparent": OTHER }), json!({ "traceparent": "none" })] {
        server.send(json!({ "type": "prompt", "message": "go", "_meta": meta }));
        server.until_type("agent_settled");
    }
    server.finishes();
    assert_eq!(roots(&collector.trees()), [BELOW_PARENT, BELOW_OTHER, BELOW_PARENT]);
}

#[test]
fn runs_without_client_are_roots() {
    let collector = Collector::start();
    let mut server = traced(&turns(), &collector.address, &[("TRACEPARENT", "garbage")]);
    for _ in 0..2 {
        server.send(json!({ "type": "prompt", "message": "go" }));
        server.until_type("agent_settled");
    }
    server.finishes();
    assert_eq!(roots(&collector.trees()), ["invoke_agent", "invoke_agent"]);
}

/// A host whose spans go to the collector.
fn host(collector: &Collector) -> TcpHost {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("tokens"), TOKENS[0].1).unwrap();
    let variables = [("OTEL_EXPORTER_OTLP_ENDPOINT", collector.address.as_str())];
    TcpHost::start_with(dir, &turns(), &["--token-file", "tokens"], &variables)
}

/// Runs a prompt in a session of a host, to its end.
fn run(client: &mut WsClient, prompt: &Value) {
    client.send(prompt);
    client.find(|frame| frame["type"] == "agent_settled");
}

#[test]
fn host_takes_header_of_client() {
    let collector = Collector::start();
    let host = host(&collector);
    let headers = [("traceparent", PARENT)];
    let mut client = host.connect_with("/sessions/new?in_memory=true", "secret", &headers).unwrap();
    run(&mut client, &json!({ "type": "prompt", "message": "go" }));
    run(&mut client, &json!({ "type": "prompt", "message": "go", "_meta": { "traceparent": OTHER } }));
    host.signal(Signal::TERM);
    assert_eq!(host.whole_log().matches("WARN").count(), 0);
    assert_eq!(roots(&collector.trees()), [BELOW_PARENT, BELOW_OTHER]);
}

#[test]
fn host_knows_clients_of_session_apart() {
    let collector = Collector::start();
    let host = host(&collector);
    let mut own = host.connect_with("/", "secret", &[("traceparent", PARENT)]).unwrap();
    let opened = own.request(&json!({ "type": "open_session", "id": "o", "noSession": true }));
    let session = opened["data"]["sessionId"].as_str().unwrap().to_owned();
    let mut other = host.connect("/", "secret").unwrap();
    let prompt = json!({ "type": "prompt", "message": "go", "sessionId": session });
    run(&mut own, &prompt);
    run(&mut other, &prompt);
    host.signal(Signal::TERM);
    assert_eq!(host.whole_log().matches("WARN").count(), 0);
    assert_eq!(roots(&collector.trees()), [BELOW_PARENT, "invoke_agent"]);
}

#[test]
fn attach_passes_its_variable_on() {
    let collector = Collector::start();
    let host = host(&collector);
    let mut line = command(binary(), host.dir.path());
    line.env_remove("PI_RPC_DIALECT").args(["attach", &host.address, "--no-session"]);
    line.env("PI_RPC_TOKEN", "secret").env("TRACEPARENT", PARENT).env("TRACESTATE", "a=1");
    let mut client = line.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = client.stdin.take().unwrap();
    writeln!(input, "{}", json!({ "type": "prompt", "message": "go" })).unwrap();
    let mut lines = BufReader::new(client.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("agent_settled")));
    drop(input);
    assert!(client.wait().unwrap().success());
    host.signal(Signal::TERM);
    assert_eq!(host.whole_log().matches("WARN").count(), 0);
    let spans = collector.spans();
    assert_eq!(roots(&trees(&spans)), [BELOW_PARENT]);
    assert!(spans.iter().all(|span| span.trace_state == "a=1"), "{spans:?}");
}

#[cfg(feature = "acp")]
#[test]
fn editor_names_span_of_prompt() {
    let collector = Collector::start();
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("script.json"), json!({ "turns": turns() }).to_string()).unwrap();
    let mut line = command(binary(), dir.path());
    line.args(["acp", "--model", "scripted/script.json"]);
    line.env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.address).env("TRACEPARENT", PARENT);
    let mut agent = line.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = agent.stdin.take().unwrap();
    let mut output = BufReader::new(agent.stdout.take().unwrap());
    let mut request = |id: u64, method: &str, params: Value| {
        writeln!(input, "{}", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .unwrap();
        loop {
            let mut line = String::new();
            assert_ne!(output.read_line(&mut line).unwrap(), 0);
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == id && message.get("method").is_none() {
                return message["result"].clone();
            }
        }
    };
    request(0, "initialize", json!({ "protocolVersion": 1 }));
    let session = request(1, "session/new", json!({ "cwd": dir.path(), "mcpServers": [] }));
    let prompt = [json!({ "type": "text", "text": "go" })];
    let params = json!({ "sessionId": session["sessionId"], "prompt": prompt });
    let mut carrying = params.clone();
    carrying["_meta"] = json!({ "traceparent": OTHER });
    for (id, params) in [(2, carrying), (3, params)] {
        assert_eq!(request(id, "session/prompt", params)["stopReason"], "end_turn");
    }
    drop(input);
    assert!(agent.wait().unwrap().success());
    assert_eq!(roots(&collector.trees()), [BELOW_OTHER, BELOW_PARENT]);
}
