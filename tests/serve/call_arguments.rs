//! Calls that the model did not finish saying, end to end: no file is written and no command runs.

use crate::serve_support::{FakeVendor, Server, all_apis, of_type};
use pi_rpc::protocol::Dialect::Pi1;
use serde_json::{Value, json};

/// Servers whose model plays `turns`: behind each API, and by themselves.
fn servers(turns: &Value) -> impl Iterator<Item = (&'static str, Option<FakeVendor>, Server)> {
    let settings = json!({ "retry": { "baseDelayMs": 1 } });
    let behind = all_apis().map(move |api| {
        let vendor = FakeVendor::plays(&json!({ "turns": turns }));
        let server = vendor.server_under(&settings, Pi1, api, &[]);
        (api, Some(vendor), server)
    });
    behind.chain([("scripted", None, Server::script(Pi1, turns.clone()))])
}

fn run(server: &mut Server) -> Vec<Value> {
    server.send(json!({ "id": "p", "type": "prompt", "message": "go" }));
    server.until_type("agent_settled")
}

#[test]
fn cut_write_leaves_no_file() {
    let raw = "{\"path\":\"cut.txt\",\"content\":\"first half of the fi";
    let turns =
        json!([{ "say": [{ "tool": "write", "rawArguments": raw }] }, { "say": [{ "text": "Done." }] }]);
    for (api, _vendor, mut server) in servers(&turns) {
        let frames = run(&mut server);
        let ends = of_type(&frames, "tool_execution_end");
        assert_eq!((ends.len(), &ends[0]["isError"]), (1, &json!(true)), "{api}");
        let text = ends[0]["result"]["content"][0]["text"].as_str().unwrap();
        // This API's calls come whole: the script's becomes one without arguments.
        if !api.starts_with("google-") {
            assert!(
                text.starts_with("Invalid arguments for tool \"write\": ") && text.ends_with(raw),
                "{api}: {text}"
            );
        }
        assert!(!server.path("cut.txt").exists(), "{api}");
        server.finishes();
    }
}

#[test]
fn call_of_unreasoned_answer_is_not_run() {
    let call = json!({ "tool": "bash", "arguments": { "command": "touch ran.txt" } });
    let turns = json!([{ "say": [call], "noReason": true }, { "say": [{ "text": "Done." }] }]);
    for (api, _vendor, mut server) in servers(&turns) {
        let frames = run(&mut server);
        let retries = of_type(&frames, "auto_retry_start");
        let error = retries.first().and_then(|retry| retry["errorMessage"].as_str());
        assert!(error.is_some_and(|error| error.starts_with("terminated: ")), "{api}: {retries:?}");
        assert!(of_type(&frames, "tool_execution_start").is_empty(), "{api}");
        assert!(!server.path("ran.txt").exists(), "{api}");
        server.finishes();
    }
}
