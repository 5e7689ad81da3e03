//! What has passed before anything was translated is noted, and not sent again.

use pi_rpc_front::{Front, Output};
use pi_rpc_protocol::Dialect;
use serde_json::{Value, json};

/// The types of what the front sends to the server after these lines of it.
fn asked(front: &mut Front, lines: &[Value]) -> Vec<String> {
    let mut out = Output::default();
    for line in lines {
        front.server_line(line.to_string().as_bytes(), &mut out);
    }
    let sent = String::from_utf8(out.to_server).expect("UTF-8");
    let kind =
        |line: &str| serde_json::from_str::<Value>(line).expect("JSON")["type"].as_str().map(str::to_owned);
    sent.lines().filter_map(kind).collect()
}

fn prompt(id: &str) -> String {
    json!({ "type": "prompt", "id": id, "message": "Hi" }).to_string()
}

#[test]
fn passed_prompt_is_not_sent_again() {
    let mut front = Front::new(Dialect::Pi1.into(), Dialect::Pi);
    front.start(&mut Output::default());
    front.passed_client_line(prompt("1").as_bytes());
    let response = json!({ "type": "response", "id": "1", "command": "prompt", "success": true, "data": { "disposition": "started" } });
    let end = json!({ "type": "agent_end", "messages": [], "willRetry": false });
    assert_eq!(asked(&mut front, &[response, json!({ "type": "agent_start" }), end]), [""; 0]);
    // The server of this client would take it now; the real one has refused it.
    front.passed_client_line(prompt("2").as_bytes());
    let refusal =
        json!({ "type": "response", "id": "2", "command": "prompt", "success": false, "error": "busy" });
    assert_eq!(asked(&mut front, &[refusal, json!({ "type": "agent_settled", "aborted": false })]), [""; 0]);
    // From now on it is translated.
    let mut out = Output::default();
    front.client_line(prompt("3").as_bytes(), &mut out);
    assert!(String::from_utf8(out.to_server).expect("UTF-8").contains("\"id\":\"3\""));
}

#[test]
fn passed_end_is_not_told_again() {
    let mut front = Front::new(Dialect::Pi.into(), Dialect::Pi1);
    front.start(&mut Output::default());
    front.passed_client_line(prompt("1").as_bytes());
    let response = json!({ "type": "response", "id": "1", "command": "prompt", "success": true });
    let mut passed = Output::default();
    for line in [response, json!({ "type": "agent_start" }), json!({ "type": "agent_end", "messages": [] })] {
        front.server_line(line.to_string().as_bytes(), &mut passed);
    }
    front.forget_held();
    // The front has asked whether more follows; the answer shows the end of all work, and no second end of the run.
    let question: Value = serde_json::from_slice(&passed.to_server).expect("one question");
    let state = json!({
        "thinkingLevel": "off", "isStreaming": false, "isCompacting": false, "steeringMode": "all", "followUpMode": "all",
        "sessionId": "s", "autoCompactionEnabled": true, "messageCount": 0, "pendingMessageCount": 0,
    });
    let answer = json!({ "type": "response", "id": question["id"], "command": "get_state", "success": true, "data": state });
    let mut out = Output::default();
    front.server_line(answer.to_string().as_bytes(), &mut out);
    let told: Value = serde_json::from_slice(&out.to_client).expect("one frame");
    assert_eq!(told["type"], "agent_settled");
}
