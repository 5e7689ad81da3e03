//! Each provider's API, end to end: the real binary, real HTTP, the fake vendor.

use crate::serve_support::{
    self, BOTH, FakeVendor, Server, all_apis, eventually, of_type, processes_of, start,
};
use pi_rpc::protocol::Dialect;
use serde_json::{Value, json};

/// The assistant messages of the frames.
fn answers(frames: &[Value]) -> Vec<Value> {
    let ends = of_type(frames, "message_end").into_iter().map(|frame| frame["message"].clone());
    ends.filter(|message| message["role"] == "assistant").collect()
}

fn block_types(message: &Value) -> Vec<&str> {
    message["content"].as_array().unwrap().iter().map(|block| block["type"].as_str().unwrap()).collect()
}

/// A server whose model plays `turns` behind `api`, and which does not try again by itself.
fn server(dialect: Dialect, api: &str, turns: &Value) -> (FakeVendor, Server) {
    let vendor = FakeVendor::plays(&json!({ "turns": turns }));
    let settings = json!({ "retry": { "provider": { "maxRetries": 0 } } });
    let mut server = vendor.server_under(&settings, dialect, api, &[]);
    assert_eq!(server.ask("once", json!({ "type": "set_auto_retry", "enabled": false }))["success"], true);
    (vendor, server)
}

#[test]
fn text_and_thinking_stream_with_usage() {
    let turns = json!([{
        "say": [{ "thinking": "Let me think about it.", "signature": "c2ln" }, { "text": "Hello from far away." }],
        "size": 5, "usage": { "input": 1000, "output": 100, "cacheRead": 200 },
    }]);
    for dialect in BOTH {
        for api in all_apis() {
            let (vendor, mut server) = server(dialect, api, &turns);
            let frames = server.run("hi");
            let answer = answers(&frames).pop().unwrap();
            assert_eq!(block_types(&answer), ["thinking", "text"], "{api}");
            assert_eq!(answer["content"][0]["thinking"], "Let me think about it.", "{api}");
            assert_eq!(answer["content"][1]["text"], "Hello from far away.", "{api}");
            assert_eq!(answer["stopReason"], "stop", "{api}");
            let usage = &answer["usage"];
            assert_eq!(
                (&usage["input"], &usage["output"], &usage["cacheRead"]),
                (&json!(1000), &json!(100), &json!(200))
            );
            assert_eq!(usage["totalTokens"], 1300, "{api}");
            // The gateway of pi charges by itself.
            let price = if api == "pi-messages" { 1.0 } else { 3.0 };
            assert_eq!(usage["cost"]["input"], price / 1_000_000.0 * 1000.0, "{api}");
            let updates = of_type(&frames, "message_update");
            assert!(
                updates.iter().filter(|it| it["assistantMessageEvent"]["type"] == "text_delta").count() >= 4,
                "{api}"
            );
            assert_eq!(vendor.refusals(), Vec::<String>::new());
            server.finishes();
        }
    }
}

#[test]
fn absurd_numbers_of_tokens_do_no_harm() {
    let usage =
        json!({ "input": u64::MAX, "output": u64::MAX, "cacheRead": u64::MAX, "cacheWrite": u64::MAX });
    let turns = json!([{ "say": [{ "text": "Expensive." }], "usage": usage, "repeat": true }]);
    let (_vendor, mut server) = server(Dialect::Pi, "anthropic-messages", &turns);
    for _ in 0..2 {
        assert_eq!(answers(&server.run("hi"))[0]["content"][0]["text"], "Expensive.");
    }
    let tokens = &server.data(json!({ "type": "get_session_stats" }))["tokens"];
    assert_eq!(tokens["total"], 2 * 4 * (1_u64 << 40));
    server.finishes();
}

#[test]
fn an_image_reaches_the_vendor() {
    const PIXEL: &str =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    for api in all_apis() {
        let (vendor, mut server) = server(Dialect::Pi, api, &json!([{ "say": [{ "text": "A pixel." }] }]));
        let image = json!({ "type": "image", "data": PIXEL, "mimeType": "image/png" });
        server.send(json!({ "type": "prompt", "message": "What is it?", "images": [image] }));
        let frames = server.until_type("agent_end");
        assert_eq!(answers(&frames)[0]["content"][0]["text"], "A pixel.", "{api}");
        let sent = vendor.journal.received().pop().unwrap().body.to_string();
        assert!(sent.contains(PIXEL) && sent.contains("png"), "{api}: {sent}");
        server.finishes();
    }
}

#[test]
fn abort_ends_request_before_and_during_stream() {
    let turns = json!([
        { "match": "nothing", "hang": true },
        { "match": "half", "say": [{ "text": "This will never be said in full." }], "size": 4, "hang": true, "afterDeltas": 3 },
        { "match": "after", "say": [{ "text": "Still here." }] },
    ]);
    for api in all_apis() {
        let (vendor, mut server) = server(Dialect::Pi, api, &turns);
        for (asked, prompt, said) in [(1, "nothing", ""), (2, "half", "This will ne")] {
            server.send(json!({ "type": "prompt", "message": prompt }));
            match said {
                "" => eventually("the vendor is asked", || vendor.journal.received().len() == asked),
                said => {
                    server.until(|frame| frame["message"]["content"][0]["text"] == said);
                }
            }
            server.send(json!({ "id": "stop", "type": "abort" }));
            let frames = server.until(|frame| frame["id"] == "stop");
            let answer = answers(&frames).pop().unwrap();
            assert_eq!(answer["stopReason"], "aborted", "{api}");
            assert_eq!(answer["content"][0]["text"].as_str().unwrap_or_default(), said, "{api}");
            let live = vendor.journal.running();
            eventually("the request is over", || *live.borrow() == 0);
        }
        let frames = server.run("after");
        assert_eq!(answers(&frames)[0]["content"][0]["text"], "Still here.", "{api}");
        assert_eq!(server.data(json!({ "type": "get_messages" }))["messages"].as_array().unwrap().len(), 6);
        assert_eq!(vendor.refusals(), Vec::<String>::new(), "{api}");
        server.finishes();
    }
}

#[test]
fn key_command_ends_with_its_request() {
    for how in ["abort", "signal", "end of input"] {
        let dialect = if how == "end of input" { Dialect::Xcsh } else { Dialect::Pi };
        let dir = tempfile::tempdir().unwrap();
        let agent = dir.path().join(dialect.record().directories.agent.trim_start_matches("~/"));
        let models = json!({ "providers": { "fake": {
            "baseUrl": "http://127.0.0.1:9", "apiKey": "!touch asked; sleep 1000; echo key",
            "api": "anthropic-messages", "models": [{ "id": "model" }],
        } } });
        std::fs::create_dir_all(&agent).unwrap();
        std::fs::write(agent.join("models.json"), models.to_string()).unwrap();
        let mut server = serve_support::start(dialect, dir, &["--model", "fake/model"]);
        server.send(json!({ "type": "prompt", "message": "hi" }));
        server.awaits("asked");
        let home = server.path("asked").parent().unwrap().to_owned();
        match how {
            "abort" => {
                server.ask("stop", json!({ "type": "abort" }));
                let sleeps = || processes_of(&home).iter().any(|process| process.contains("sleep 1000"));
                eventually("the command ends", || !sleeps());
                server.close_stdin();
            }
            "signal" => server.signal(rustix::process::Signal::TERM),
            _ => server.close_stdin(),
        }
        // What is killed may take a moment to be gone.
        eventually("nothing is left", || processes_of(&home).is_empty());
        server.ends();
    }
}

#[test]
fn prompt_without_key_is_refused_with_advice() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = start(Dialect::Pi, dir, &["--model", "anthropic/claude-opus-4-6"]);
    let refusal = server.ask("p", json!({ "type": "prompt", "message": "hi" }));
    let auth = server.path(".pi/agent/auth.json").display().to_string();
    assert_eq!(
        refusal["error"],
        format!(
            "No API key found for anthropic.\n\nSet ANTHROPIC_AUTH_TOKEN or ANTHROPIC_OAUTH_TOKEN or ANTHROPIC_API_KEY, or add it to {auth}: \
             {{\"anthropic\": {{\"type\": \"api_key\", \"key\": \"…\"}}}}"
        )
    );
    assert_eq!(server.data(json!({ "type": "get_available_models" }))["models"], json!([]));
    server.finishes();
}

#[test]
fn effort_of_answer_returns_with_it() {
    let vendor = FakeVendor::plays(&json!({ "turns": [{ "repeat": true, "say": [{ "text": "Yes." }] }] }));
    let base = format!("http://{}", vendor.address);
    for (api, base) in [("anthropic-messages", base.clone()), ("openai-responses", format!("{base}/v1"))] {
        let dir = tempfile::tempdir().unwrap();
        let compat = json!({ "supportsMidConvoEffort": true, "forceAdaptiveThinking": true });
        let model = json!({ "id": "model", "reasoning": true, "compat": compat });
        let models = json!({ "providers": {
            "fake": { "baseUrl": base, "apiKey": "sk-key", "api": api, "models": [model] },
        } });
        serve_support::write_models_file(dir.path(), Dialect::Pi1, &models);
        let mut server = start(Dialect::Pi1, dir, &["--model", "fake/model", "--thinking", "low"]);
        let frames = server.run("one");
        assert_eq!(of_type(&frames, "turn_end")[0]["message"]["providerThinkingLevel"], "low");
        server.ask("level", json!({ "type": "set_thinking_level", "level": "high" }));
        server.run("two");
        let sent = vendor.journal.received().pop().unwrap();
        let items = if api == "anthropic-messages" { &sent.body["messages"] } else { &sent.body["input"] };
        let effort = |item: &Value| {
            let named = [&item["output_config"]["effort"], &item["reasoning"]["effort"]];
            named.into_iter().find_map(Value::as_str).map(str::to_owned)
        };
        let efforts: Vec<String> = items.as_array().unwrap().iter().filter_map(effort).collect();
        assert_eq!(efforts, ["low", "high"], "{api}");
        // Reads what follows the run.
        server.ask("state", json!({ "type": "get_state" }));
        assert_eq!(vendor.refusals(), Vec::<String>::new());
        server.finishes();
    }
}
