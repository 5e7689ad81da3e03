//! Models of extensions in the real server: asked by it or answered by them, from the beginning on.

use crate::extended_support::{answer, notice, script};
use crate::serve_support::{FakeVendor, Server, binary, command};
use pi_rpc::protocol::Dialect::{self, Pi, Pi1, Pi073, Xcsh};
use serde_json::{Value, json};
use std::time::Duration;

const SOON: Duration = Duration::from_secs(8);

const DIALECTS: [Dialect; 4] = [Pi, Pi073, Pi1, Xcsh];

/// A server without any model of its own and with an extension that does `body`.
fn server(dialect: Dialect, body: &str, options: &[&str]) -> Server {
    let dir = tempfile::tempdir().unwrap();
    let path = script(dir.path(), "lab", body);
    let mut command = command(binary(), dir.path());
    command.args(["serve", "--no-session", "--dialect", dialect.as_str(), "-e", &path]).args(options);
    command.env("LAB_KEY", "secret");
    Server::start(dialect, dir, command)
}

/// `register_provider`, then `register`.
fn registers(name: &str, streams: bool, config: &Value) -> String {
    let provider = json!({ "type": "register_provider", "name": name, "streams": streams, "config": config });
    format!("say '{provider}'\nsay '{{\"type\":\"register\"}}'\n")
}

fn lab(base_url: &str, api: &str, key: &str) -> Value {
    json!({ "baseUrl": base_url, "apiKey": key, "api": api, "models": [{ "id": "mine" }, { "id": "other" }] })
}

/// Answers every call with `Hi.`
const ANSWERS: &str = r#"while await model_call; do
  event() { say '{"type":"model_event","id":"'$id'","event":'"$1"'}'; }
  event '{"type":"text_start","contentIndex":0}'
  event '{"type":"text_delta","contentIndex":0,"delta":"Hi."}'
  event '{"type":"text_end","contentIndex":0,"content":"Hi."}'
  event '{"type":"done","reason":"stop","message":{"role":"assistant","content":[{"type":"text","text":"Hi."}],"api":"lab-api","provider":"lab","model":"mine","usage":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":1}}'
done"#;

#[test]
fn session_starts_with_extension_model() {
    for dialect in DIALECTS {
        let body = registers("lab", true, &lab("http://nowhere", "lab-api", "none")) + ANSWERS;
        for options in [&["--model", "lab/mine"][..], &["--provider", "lab", "--model", "mine"], &[]] {
            let mut server = server(dialect, &body, options);
            if dialect == Xcsh {
                assert_eq!(server.next()["type"], "ready");
            }
            let state = server.data(json!({ "type": "get_state" }));
            assert_eq!(
                json!([state["model"]["provider"], state["model"]["id"]]),
                json!(["lab", "mine"]),
                "{dialect}"
            );
            let models = server.data(json!({ "type": "get_available_models" }));
            let ids: Vec<&Value> = models["models"].as_array().unwrap().iter().map(|it| &it["id"]).collect();
            assert_eq!(ids, ["mine", "other"], "{dialect}");
            assert_eq!(answer(&server.run("go")), "Hi.", "{dialect}");
            server.close_stdin();
            assert!(server.ends_within(SOON).status.success(), "{dialect}");
        }
    }
}

#[test]
fn unknown_model_ends_server_despite_extensions() {
    let body = registers("lab", true, &lab("http://nowhere", "lab-api", "none")) + ANSWERS;
    let ended = server(Pi, &body, &["--provider", "nobody", "--model", "nothing"]).ends_within(SOON);
    assert_eq!((ended.status.code(), ended.frames), (Some(1), vec![]));
    assert!(ended.stderr.contains("Unknown provider \"nobody\""), "{}", ended.stderr);
    let mut server = server(Pi, "say '{\"type\":\"register\"}'\nawait nothing", &[]);
    assert_eq!(server.data(json!({ "type": "get_state" })).get("model"), Some(&Value::Null));
    server.close_stdin();
    let ended = server.ends_within(SOON);
    assert!(ended.stderr.contains("No models available."), "{}", ended.stderr);
}

#[test]
fn server_requests_extension_model_with_named_key() {
    for dialect in DIALECTS {
        let turns = json!({ "turns": [{ "repeat": true, "say": [{ "text": "From afar." }] }] });
        let vendor = FakeVendor::plays(&turns);
        let key = if dialect == Pi1 { "$LAB_KEY" } else { "LAB_KEY" };
        let config = lab(&format!("http://{}", vendor.address), "anthropic-messages", key);
        let query = r#"
            say '{"type":"query","id":"k","about":"api_key","provider":"lab"}'
            await answer
            notify "$(printf %s "$line" | tr -d '\"')"
            await nothing"#;
        let mut server =
            server(dialect, &(registers("lab", false, &config) + query), &["--model", "lab/mine"]);
        let told = server.until(|frame| notice(frame).is_some());
        let wanted = "{type:answer,id:k,data:{apiKey:secret,headers:{}}}";
        assert_eq!(notice(told.last().unwrap()), Some(wanted), "{dialect}");
        assert_eq!(answer(&server.run("go")), "From afar.", "{dialect}");
        assert_eq!(vendor.refusals(), Vec::<String>::new(), "{dialect}");
        server.close_stdin();
        assert!(server.ends_within(SOON).status.success(), "{dialect}");
    }
}

#[test]
fn incomplete_provider_is_reported_and_skipped() {
    let bad = json!({ "type": "register_provider", "name": "bad", "config": { "models": [{ "id": "x" }] } });
    let body = registers("lab", true, &lab("http://nowhere", "lab-api", "none"))
        + &format!("say '{bad}'\n{ANSWERS}");
    let mut server = server(Pi, &body, &["--model", "lab/mine"]);
    let error = server.until_type("extension_error");
    assert_eq!(error.last().unwrap()["error"], "Provider bad: \"baseUrl\" is required when defining models.");
    assert_eq!(answer(&server.run("go")), "Hi.");
    server.finishes();
}

#[test]
fn queries_include_models_of_extensions() {
    let dir = tempfile::tempdir().unwrap();
    let agent = dir.path().join(".pi/agent");
    std::fs::create_dir_all(&agent).unwrap();
    std::fs::write(agent.join("settings.json"), r#"{"theme":"dark","compaction":{"enabled":false,"own":1}}"#)
        .unwrap();
    let project = dir.path().join("work/.pi");
    std::fs::create_dir_all(&project).unwrap();
    std::fs::write(project.join("settings.json"), r#"{"compaction":{"enabled":true}}"#).unwrap();
    let body = registers("lab", true, &lab("http://nowhere", "lab-api", "none"))
        + r#"
        say '{"type":"query","id":"m","about":"models"}'
        await answer
        printf '%s' "$line" > models.json
        say '{"type":"query","id":"s","about":"settings"}'
        await answer
        printf '%s' "$line" > settings.json
        notify ready
        await nothing"#;
    let path = script(dir.path(), "lab", &body);
    let mut command = command(binary(), dir.path());
    command.current_dir(dir.path().join("work"));
    command.args(["serve", "--no-session", "--dialect", "pi", "-e", &path, "--models", "lab/other"]);
    let mut server = Server::start(Pi, dir, command);
    server.until(|frame| notice(frame) == Some("ready"));
    let read = |name: &str| -> Value {
        serde_json::from_str(&std::fs::read_to_string(server.path("work").join(name)).unwrap()).unwrap()
    };
    let models = read("models.json");
    let all = models["data"]["models"].as_array().unwrap();
    let usable: Vec<&Value> =
        all.iter().filter(|it| it["usable"] == true).map(|it| &it["model"]["id"]).collect();
    assert_eq!(usable, ["mine", "other"]);
    assert!(all.len() > 100, "those without a key, too: {}", all.len());
    assert_eq!(
        read("settings.json")["data"],
        json!({ "theme": "dark", "compaction": { "enabled": true, "own": 1 } })
    );
    server.finishes();
}

#[test]
fn extension_activates_unoffered_built_in_tools() {
    let body = registers("lab", true, &lab("http://nowhere", "lab-api", "none"))
        + r#"
        say '{"type":"set_active_tools","names":["grep","read"]}'
        say '{"type":"query","id":"t","about":"tools"}'
        await answer
        printf '%s' "$line" > tools.json
        notify ready
        await nothing"#;
    let mut server = server(Pi073, &body, &[]);
    server.until(|frame| notice(frame) == Some("ready"));
    let told: Value =
        serde_json::from_str(&std::fs::read_to_string(server.path("tools.json")).unwrap()).unwrap();
    let tools: Vec<String> = told["data"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| format!("{} {}", it["name"].as_str().unwrap(), it["active"]))
        .collect();
    let mut names = tools.clone();
    names.sort();
    assert_eq!(
        names,
        ["bash false", "edit false", "find false", "grep true", "ls false", "read true", "write false"]
    );
    server.finishes();
}
