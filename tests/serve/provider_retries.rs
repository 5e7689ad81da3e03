//! Requests that fail for a moment, end to end: nobody hears of them unless it stays so.

use crate::serve_support::{FakeVendor, Server, all_apis, eventually, of_type, types};
use pi_rpc::protocol::Dialect;
use serde_json::{Value, json};

/// A server whose model plays `turns` behind `api`, under `settings` of `retry.provider`.
fn server(api: &str, settings: Value, turns: Value) -> (FakeVendor, Server) {
    let vendor = FakeVendor::plays(&json!({ "turns": turns }));
    let settings = json!({ "retry": { "enabled": false, "provider": settings } });
    let server = vendor.server_under(&settings, Dialect::Pi, api, &[]);
    (vendor, server)
}

/// A refusal that may be repeated at once.
fn busy() -> Value {
    json!({ "fail": { "status": 529, "message": "Busy", "retryAfter": 0 } })
}

fn answer(frames: &[Value]) -> Value {
    of_type(frames, "turn_end")[0]["message"].clone()
}

#[test]
fn two_failed_requests_emit_no_event() {
    for api in all_apis() {
        let (vendor, mut server) =
            server(api, json!({}), json!([busy(), busy(), { "say": [{ "text": "Here." }] }]));
        let frames = server.run("hi");
        let (answer, types) = (answer(&frames), types(&frames));
        assert_eq!((&answer["content"][0]["text"], &answer["stopReason"]), (&json!("Here."), &json!("stop")));
        assert_eq!(types.iter().filter(|kind| *kind == "agent_start").count(), 1, "{types:?}");
        assert_eq!(of_type(&frames, "auto_retry_start"), Vec::<&Value>::new());
        let sent: Vec<Value> = vendor.journal.received().into_iter().map(|request| request.body).collect();
        assert_eq!(sent, vec![sent[0].clone(); 3], "{api}");
        server.finishes();
    }
}

#[test]
fn three_failures_are_one_errored_message() {
    for (settings, requests) in
        [(json!({}), 3), (json!({ "maxRetries": 0 }), 1), (json!({ "maxRetries": 4 }), 5)]
    {
        let turns = vec![busy(); requests];
        let (vendor, mut server) = server("openai-completions", settings, turns.into());
        let frames = server.run("hi");
        let answer = answer(&frames);
        assert_eq!(
            (&answer["stopReason"], &answer["errorMessage"]),
            (&json!("error"), &json!("529 Busy")),
            "{requests}"
        );
        assert_eq!(of_type(&frames, "turn_end").len(), 1);
        assert_eq!(vendor.journal.received().len(), requests);
        server.finishes();
    }
}

#[test]
fn an_abort_ends_the_wait() {
    let turns = json!([
        { "fail": { "status": 503, "message": "Later", "retryAfter": 50 } },
        { "say": [{ "text": "Going on." }] },
    ]);
    let (vendor, mut server) = server("anthropic-messages", json!({}), turns);
    server.send(json!({ "type": "prompt", "message": "hi" }));
    let running = vendor.journal.running();
    eventually("the vendor has answered", || vendor.journal.received().len() == 1 && *running.borrow() == 0);
    server.send(json!({ "id": "stop", "type": "abort" }));
    let frames = server.until(|frame| frame["id"] == "stop");
    assert_eq!(answer(&frames)["stopReason"], "aborted");
    assert_eq!(vendor.journal.received().len(), 1);
    assert_eq!(answer(&server.run("go on"))["content"][0]["text"], "Going on.");
    server.finishes();
}

#[test]
fn retry_delay_beyond_limit_is_reported() {
    let turns = json!([{ "fail": { "status": 429, "message": "Quota", "retryAfter": 7 } }]);
    let (vendor, mut server) = server("openai-responses", json!({ "maxRetryDelayMs": 6000 }), turns);
    let text = "Server requested 7s retry delay (max: 6s). 429 Quota";
    assert_eq!(answer(&server.run("hi"))["errorMessage"], text);
    assert_eq!(vendor.journal.received().len(), 1);
    server.finishes();
}
