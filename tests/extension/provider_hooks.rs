//! What extensions have a say in while a provider is asked: the real binary, real HTTP, the fake vendor.

use crate::extended_support::{notice, script};
use crate::serve_support::{
    BEDROCK, FakeVendor, Server, all_apis, base_url, key_of, of_type, write_agent_file, write_models_file,
};
use pi_rpc::{mock::ReceivedRequest, protocol::Dialect};
use serde_json::{Value, json};

/// Registers for `$hooks`, answers each hook with the text that its function gives, and counts them in a file.
const SAYS: &str = r#"
    say "{\"type\":\"register\",\"hooks\":[$hooks]}"
    while await hook; do
      event=${line#*'"hook":{"type":"'} event=${event%%'"'*}
      echo "$event" >> asked
      result=$($event)
      say '{"type":"done","id":"'"$id"'"'"$result"'}'
    done"#;

/// A server with an extension that runs `functions` for `hooks`, and a model of `api` that says hello.
fn server(api: &str, hooks: &[&str], functions: &str) -> (FakeVendor, Server) {
    let turns = json!({ "turns": [{ "repeat": true, "say": [{ "text": "Hello." }] }] });
    let vendor = FakeVendor::plays(&turns);
    let dir = tempfile::tempdir().unwrap();
    let hooks =
        hooks.iter().map(|hook| format!("\"{hook}\"")).collect::<Vec<_>>().join(",").replace('"', "\\\"");
    let body = format!("hooks=\"{hooks}\"\n{functions}\n{SAYS}");
    let extension = script(dir.path(), "extension", &body);
    let base = base_url(api, &format!("http://{}", vendor.address));
    let model = json!({ "id": "model", "contextWindow": 200_000, "maxTokens": 8000 });
    let provider = json!({ "baseUrl": base, "apiKey": key_of(api), "api": api, "models": [model] });
    write_models_file(dir.path(), Dialect::Pi, &json!({ "providers": { "fake": provider } }));
    write_agent_file(dir.path(), Dialect::Pi, "settings.json", &json!({ "retry": { "enabled": false } }));
    (vendor, crate::serve_support::start(Dialect::Pi, dir, &["--model", "fake/model", "-e", &extension]))
}

fn asked(server: &Server) -> Vec<String> {
    let asked = std::fs::read_to_string(server.path("asked")).unwrap_or_default();
    asked.lines().map(str::to_owned).collect()
}

fn received(vendor: &FakeVendor) -> ReceivedRequest {
    let mut all = vendor.journal.received();
    assert_eq!(all.len(), 1);
    all.remove(0)
}

#[test]
fn provider_hooks_change_the_sent_request() {
    let functions = r#"
        before_provider_headers() {
          rest=${line#*'"headers":{'}
          printf ',"result":{"headers":{"X-Extension":"was here",%s' "${rest%'}'}"
        }
        before_provider_request() {
          rest=${line#*'"payload":{'}
          printf ',"result":{"payload":{"$member":0.25,%s' "${rest%'}'}"
        }"#;
    let at_the_top = r#"{"$member":0.25,%s' "${rest%'}'}""#;
    // The gateway of pi has it among the options.
    let among_options = r#"{%s"options":{"temperature":0.25,%s' "${rest%%'"options":{'*}" "$(end=${rest##*'"options":{'}; echo "${end%'}'}")""#;
    for api in all_apis() {
        let hooks = ["before_provider_request", "before_provider_headers"];
        // Some services have the temperature elsewhere, and the model in the path.
        let (member, value, has_model) = match api {
            "google-generative-ai" | "google-vertex" => ("store", json!(true), false),
            BEDROCK => ("requestMetadata", json!({ "team": "a" }), false),
            _ => ("temperature", json!(0.25), true),
        };
        let functions = match api {
            "pi-messages" => functions.replace(at_the_top, among_options),
            _ => functions.replace("$member\":0.25", &format!("{member}\":{value}")),
        };
        let (vendor, mut server) = server(api, &hooks, &functions);
        let frames = server.run("hi");
        assert_eq!(of_type(&frames, "extension_error"), Vec::<&Value>::new(), "{api}");
        let request = received(&vendor);
        assert_eq!((request.refusal.as_deref(), request.status), (None, Some(200)), "{api}");
        assert_eq!(request.header("x-extension"), Some("was here"), "{api}");
        let members = if api == "pi-messages" { &request.body["options"] } else { &request.body };
        assert_eq!(members[member], value, "{api}");
        assert!(!has_model || request.body["model"] == "model", "{api}");
        assert_eq!(asked(&server), ["before_provider_headers", "before_provider_request"], "{api}");
        server.finishes();
    }
}

#[test]
fn provider_hooks_without_result_change_nothing() {
    let says_nothing = "before_provider_request() { :; }; before_provider_headers() { :; }";
    for api in all_apis() {
        let hooks = ["before_provider_request", "before_provider_headers"];
        let (vendor, mut with) = server(api, &hooks, says_nothing);
        let (other, mut without) = server(api, &[], "");
        with.run("hi");
        without.run("hi");
        // Each conversation has its own folder, and its own key for the cache of the provider.
        let told = |vendor: &FakeVendor, server: &Server| {
            let ReceivedRequest { mut headers, mut body, .. } = received(vendor);
            headers.retain(|(name, _)| !["host", "content-length"].contains(&&**name));
            let is_session = |name: &str| {
                name.contains("session") || ["x-affinity", "x-client-request-id"].contains(&name)
            };
            headers.iter_mut().filter(|(name, _)| is_session(name)).for_each(|(_, id)| id.clear());
            body.as_object_mut().unwrap().remove("prompt_cache_key");
            if api == "pi-messages" {
                body["options"].take();
                let messages = body["context"]["messages"].as_array_mut().unwrap();
                messages.iter_mut().for_each(|message| drop(message["timestamp"].take()));
            }
            (headers, body.to_string().replace(server.dir.path().to_str().unwrap(), "/work"))
        };
        assert_eq!(told(&vendor, &with), told(&other, &without), "{api}");
        assert_eq!((asked(&with).len(), asked(&without).len()), (2, 0));
        with.finishes();
        without.finishes();
    }
}

#[test]
fn response_hook_runs_before_first_delta() {
    let sees = r#"after_provider_response() {
        case $line in *'"status":200'*'"content-type":"text/event-stream'*)
          say '{"type":"ui","request":{"type":"extension_ui_request","id":"n","method":"notify","message":"seen"}}' >&2
          echo seen >> seen;;
        esac
    }"#;
    let (_vendor, mut server) = server("anthropic-messages", &["after_provider_response"], sees);
    server.send(json!({ "id": "p", "type": "prompt", "message": "hi" }));
    let frames = server.until(|frame| frame["assistantMessageEvent"]["type"] == "text_start");
    assert!(frames.iter().all(|frame| notice(frame).is_none()));
    assert_eq!(std::fs::read_to_string(server.path("seen")).unwrap(), "seen\n");
    server.until_type("agent_end");
    assert_eq!(asked(&server), ["after_provider_response"]);
    server.finishes();
}

#[test]
fn stream_hook_sees_every_event_in_order() {
    let sees = r#"provider_stream_event() { echo "${line#*'"data":'}" >> seen; }"#;
    let (_vendor, mut server) = server("anthropic-messages", &["provider_stream_event"], sees);
    let frames = server.run("hi");
    assert_eq!(of_type(&frames, "extension_error"), Vec::<&Value>::new());
    let seen = std::fs::read_to_string(server.path("seen")).unwrap();
    let kinds: Vec<&str> = seen.lines().filter_map(|line| line.split('"').nth(3)).collect();
    assert_eq!((kinds.first(), kinds.last()), (Some(&"message_start"), Some(&"message_stop")), "{seen}");
    assert!(kinds.contains(&"content_block_delta"), "{seen}");
    server.finishes();
}

#[test]
fn failing_provider_hook_is_reported_and_skipped() {
    let fails =
        r#"before_provider_request() { say '{"type":"failed","id":"'"$id"'","error":"no idea"}' >&3; }"#;
    let fails = format!("exec 3>&1\n{fails}");
    let (vendor, mut server) = server("openai-completions", &["before_provider_request"], &fails);
    let frames = server.run("hi");
    let errors = of_type(&frames, "extension_error");
    let [error] = errors[..] else { panic!("one error: {errors:?}") };
    assert_eq!((&error["event"], &error["error"]), (&json!("before_provider_request"), &json!("no idea")));
    assert_eq!(received(&vendor).status, Some(200));
    server.finishes();
}

#[test]
fn abort_ends_request_with_outstanding_hook() {
    let waits = "before_provider_request() { [ -e begun ] || { touch begun; await cancel; }; }";
    let (vendor, mut server) = server("openai-responses", &["before_provider_request"], waits);
    server.send(json!({ "id": "p", "type": "prompt", "message": "hi" }));
    server.awaits("begun");
    server.send(json!({ "id": "a", "type": "abort" }));
    let frames = server.until(|frame| frame["id"] == "a");
    let answer = of_type(&frames, "agent_end")[0]["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(answer["stopReason"], "aborted");
    assert_eq!(vendor.journal.received(), []);
    let frames = server.run("again");
    assert_eq!(of_type(&frames, "extension_error"), Vec::<&Value>::new());
}
