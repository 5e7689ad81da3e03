//! A server that starts without a usable model, and a host that mends it.

use crate::serve_support::{FakeVendor, Server, binary, command, of_type, write_agent_file};
use pi_rpc::protocol::Dialect;
use serde_json::{Value, json};

const DIALECTS: [Dialect; 3] = [Dialect::Pi, Dialect::Pi1, Dialect::Xcsh];

/// A server with a key for an API that is not supported, and no other.
fn server(dialect: Dialect) -> Server {
    let dir = tempfile::tempdir().unwrap();
    let models = json!({ "providers": { "later": {
        "baseUrl": "https://later.example", "apiKey": "key", "api": "later-api", "models": [{ "id": "model" }],
    } } });
    write_agent_file(dir.path(), dialect, "models.json", &models);
    let mut serve = command(binary(), dir.path());
    serve.args(["--mode", "rpc", "--no-session", "--dialect", dialect.as_str()]);
    let mut server = Server::start(dialect, dir, serve);
    if dialect == Dialect::Xcsh {
        assert_eq!(server.next()["type"], "ready");
    }
    server
}

/// Ends a server that has warned of its missing model.
fn ends(mut server: Server) {
    server.close_stdin();
    assert_eq!(server.ends().status.code(), Some(0));
}

fn set_model(provider: &str, id: &str) -> Value {
    json!({ "type": "set_model", "provider": provider, "modelId": id })
}

/// Defines the model `fake/model` for a server that runs.
fn write_models(server: &Server, vendor: &FakeVendor, key: &str) {
    let models = json!({ "providers": { "fake": {
        "baseUrl": format!("http://{}", vendor.address), "apiKey": key, "api": "anthropic-messages",
        "models": [{ "id": "model", "reasoning": true }],
    } } });
    write_agent_file(server.dir.path(), server.dialect, "models.json", &models);
}

#[test]
fn unusable_key_starts_without_model() {
    let reason = "Configured, but unusable:\n  later (models.json): The API \"later-api\" is not supported";
    for dialect in DIALECTS {
        let mut server = server(dialect);
        let state = server.data(json!({ "type": "get_state" }));
        let named = state.pointer("/model/id").and_then(Value::as_str);
        assert_eq!(named, dialect.record().unselected_model, "{dialect}");
        assert_eq!(server.data(json!({ "type": "get_available_models" })), json!({ "models": [] }));
        server.send(json!({ "id": "p", "type": "prompt", "message": "hi" }));
        let refused = server.until(|frame| frame["success"] == false).pop().unwrap();
        assert!(refused["error"].as_str().unwrap().contains(reason), "{dialect}: {refused}");
        let named = server.ask("s", set_model("later", "model"));
        let error = named["error"].as_str().unwrap();
        let expected = "Model not found: later/model\n\nThe API \"later-api\" is not supported";
        assert!(error.starts_with(expected), "{dialect}: {error}");
        ends(server);
    }
}

#[test]
fn set_model_mends_missing_model() {
    for dialect in DIALECTS {
        let vendor = FakeVendor::plays(&json!({ "turns": [{ "say": [{ "text": "Here." }] }] }));
        let mut server = server(dialect);
        let error = server.ask("1", set_model("fake", "model"))["error"].clone();
        assert_eq!(error, "Model not found: fake/model", "{dialect}");
        write_models(&server, &vendor, "key");
        let listed = server.data(json!({ "type": "get_available_models" }));
        assert_eq!(listed["models"][0]["id"], "model", "{dialect}: {listed}");
        assert_eq!(server.data(set_model("fake", "model"))["id"], "model", "{dialect}");
        let state = server.data(json!({ "type": "get_state" }));
        let level = if dialect == Dialect::Xcsh { "high" } else { "medium" };
        assert_eq!((&state["model"]["id"], &state["thinkingLevel"]), (&json!("model"), &json!(level)));
        let frames = server.run("hi");
        assert_eq!(of_type(&frames, "turn_end")[0]["message"]["content"][0]["text"], "Here.", "{dialect}");
        ends(server);
    }
}

#[test]
fn set_model_takes_unlisted_vendor_id() {
    for dialect in DIALECTS {
        let mut server = server(dialect);
        let wanted = || set_model("anthropic", "claude-sonnet-4-20250514");
        let error = server.ask("1", wanted())["error"].clone();
        let expected =
            "Model not found: anthropic/claude-sonnet-4-20250514\n\nNo API key found for anthropic.";
        assert!(error.as_str().unwrap().starts_with(expected), "{dialect}: {error}");
        let auth = json!({ "anthropic": { "type": "api_key", "key": "sk-later" } });
        write_agent_file(server.dir.path(), dialect, "auth.json", &auth);
        let set = server.data(wanted());
        assert_eq!((&set["id"], &set["provider"]), (&json!("claude-sonnet-4-20250514"), &json!("anthropic")));
        let part = server.ask("2", set_model("anthropic", "sonnet"))["error"].clone();
        let hint = "Model not found: anthropic/sonnet\n\nDid you mean anthropic/claude-sonnet-5-5?";
        assert_eq!(part, hint, "{dialect}");
        ends(server);
    }
}

#[test]
fn key_that_came_later_is_redacted() {
    let fail = json!({ "fail": { "status": 401, "message": "sk-planted-later-0123456789 is wrong" } });
    let vendor = FakeVendor::plays(&json!({ "turns": [fail] }));
    let mut server = server(Dialect::Pi1);
    write_models(&server, &vendor, "sk-planted-later-0123456789");
    server.data(set_model("fake", "model"));
    let frames = server.run("hi");
    let message = &of_type(&frames, "turn_end")[0]["message"];
    let error = message["errorMessage"].as_str().unwrap();
    assert!(error.contains("\"*** is wrong\""), "{error}");
    let headers = &vendor.journal.received()[0].headers;
    assert!(
        headers.contains(&("x-api-key".to_owned(), "sk-planted-later-0123456789".to_owned())),
        "{headers:?}"
    );
    ends(server);
}
