//! Models that extensions bring.

use crate::asking_support::{Extension, PeerStep, Playback, done, scenario, shorthand, waits, writes};
use pi_rpc::{
    engine::ExtensionSetup,
    protocol::Dialect::{self, Pi, Pi1, Pi073, Xcsh},
};
use serde_json::{Value, json};
use shorthand::{prompt, says as model_says};

const DIALECTS: [Dialect; 4] = [Pi, Pi073, Pi1, Xcsh];

fn register(streams: bool) -> Value {
    json!({
        "type": "register_provider", "id": "r", "name": "lab", "streams": streams,
        "config": { "baseUrl": "http://lab", "apiKey": "k", "api": "lab-api", "models": [{ "id": "mine" }] },
    })
}

fn set_model(id: &str) -> Value {
    json!({ "id": id, "type": "set_model", "provider": "lab", "modelId": "mine" })
}

/// An extension that answers for a model, with these events for its first call.
fn lab(events: &[Value]) -> Extension {
    let events =
        events.iter().map(|event| writes(json!({ "type": "model_event", "id": "$", "event": event })));
    let hello = [writes(register(true)), writes(json!({ "type": "register" }))];
    Extension::silent("a").on("hello", hello).on("model_call", events)
}

fn usage() -> Value {
    json!({
        "input": 7, "output": 3, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 10,
        "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 },
    })
}

fn message(content: Value, stop: &str) -> Value {
    json!({
        "role": "assistant", "content": content, "api": "lab-api", "provider": "lab", "model": "mine", "usage": usage(),
        "stopReason": stop, "timestamp": 1,
    })
}

/// What the last run said.
fn answered(played: &Playback) -> &Value {
    let messages = played.last("agent_end")["messages"].as_array().expect("messages");
    messages.iter().rfind(|it| it["role"] == "assistant").expect("an answer")
}

#[test]
fn early_provider_may_supply_initial_model() {
    for dialect in DIALECTS {
        let played = scenario(json!([model_says("1")]))
            .kept()
            .extended(
                lab(&[])
                    .on("model_call", [writes(json!({ "type": "failed", "id": "$", "error": "no idea" }))]),
            )
            .extension_setup(ExtensionSetup { unchosen: true, ..ExtensionSetup::default() })
            .host(10, json!({ "id": "g", "type": "get_state" }))
            .host(20, json!({ "id": "m", "type": "get_available_models" }))
            .play(dialect);
        assert_eq!(played.answers("g")[0]["data"]["model"]["id"], "mine", "{dialect}");
        let models = &played.answers("m")[0]["data"]["models"];
        let ids: Vec<&Value> = models.as_array().expect("models").iter().map(|it| &it["id"]).collect();
        assert_eq!(ids, ["play", "work", "plain", "mine"], "{dialect}");
        assert_eq!(played.wrote(">a", "response r")[0]["success"], true, "{dialect}");
    }
}

#[test]
fn session_records_only_the_provided_model() {
    for dialect in DIALECTS {
        let played = scenario(json!([]))
            .kept()
            .extended(lab(&[json!({ "type": "done", "message": message(json!([{ "type": "text", "text": "Hi." }]), "stop") })]))
            .host(10, prompt("p", "go"))
            .play(dialect);
        let lines = played.disk.lines();
        let named = lines.iter().filter(|it| it["type"] == "model_change").count();
        assert_eq!(named, 1, "{dialect}\n{}", played.log);
        assert_eq!(answered(&played)["model"], "mine", "{dialect}");
        assert_eq!(played.asked, Vec::<String>::new(), "{dialect}");
    }
}

#[test]
fn extension_model_streams_like_any_other() {
    let call =
        json!({ "type": "toolCall", "id": "t1", "name": "bash", "arguments": { "command": "sleep 10" } });
    let first = [
        json!({ "type": "start" }),
        json!({ "type": "thinking_start", "contentIndex": 0 }),
        json!({ "type": "thinking_delta", "contentIndex": 0, "delta": "Hm" }),
        json!({ "type": "thinking_end", "contentIndex": 0, "content": "Hm" }),
        json!({ "type": "text_start", "contentIndex": 1 }),
        json!({ "type": "text_delta", "contentIndex": 1, "delta": "I " }),
        json!({ "type": "text_delta", "contentIndex": 1, "delta": "look." }),
        json!({ "type": "text_end", "contentIndex": 1, "content": "I look." }),
        json!({ "type": "toolcall_start", "contentIndex": 2 }),
        json!({ "type": "toolcall_delta", "contentIndex": 2, "delta": "{" }),
        json!({ "type": "toolcall_end", "contentIndex": 2, "toolCall": call }),
        json!({ "type": "done", "reason": "toolUse", "message": message(json!([
            { "type": "thinking", "thinking": "Hm" }, { "type": "text", "text": "I look." }, call,
        ]), "toolUse") }),
    ];
    let second = [
        json!({ "type": "done", "reason": "stop", "message": message(json!([{ "type": "text", "text": "Done." }]), "stop") }),
    ];
    let says = |events: &[Value]| -> Vec<PeerStep> {
        events
            .iter()
            .map(|event| writes(json!({ "type": "model_event", "id": "$", "event": event })))
            .collect()
    };
    for dialect in DIALECTS {
        let played = scenario(json!([]))
            .extended(lab(&first).on("model_call", says(&second)))
            .host(10, prompt("p", "go"))
            .play(dialect);
        let messages = played.last("agent_end")["messages"].as_array().expect("messages").clone();
        let roles: Vec<&str> =
            messages.iter().filter_map(|it| it["role"].as_str()).filter(|role| *role != "system").collect();
        assert_eq!(roles, ["user", "assistant", "toolResult", "assistant"], "{dialect}");
        let answer = messages.iter().find(|it| it["role"] == "assistant").expect("an answer");
        assert_eq!(answer["content"][2]["arguments"], json!({ "command": "sleep 10" }), "{dialect}");
        assert_eq!(
            (&answer["stopReason"], &answer["usage"]["input"]),
            (&json!("toolUse"), &json!(7)),
            "{dialect}"
        );
        assert_eq!(answered(&played)["content"][0]["text"], "Done.", "{dialect}");
        assert_eq!(played.started, ["sleep 10"], "{dialect}");
        let asked = played.wrote(">a", "model_call");
        let roles: Vec<&Value> =
            asked[1]["messages"].as_array().expect("messages").iter().map(|it| &it["role"]).collect();
        assert_eq!(roles, ["user", "assistant", "toolResult"], "{dialect}");
        assert_eq!(
            (&asked[0]["systemPrompt"], &asked[0]["model"]["id"]),
            (&json!("Be brief."), &json!("mine")),
            "{dialect}"
        );
        assert_eq!(asked[0]["tools"].as_array().map(Vec::len), Some(2), "{dialect}");
    }
}

#[test]
fn failing_extension_model_fails_the_run() {
    let error = json!({ "type": "model_event", "id": "$", "event": { "type": "error", "reason": "error", "error": { "errorMessage": "no idea" } } });
    let endings: [(PeerStep, &str); 4] = [
        (writes(json!({ "type": "failed", "id": "$", "error": "no idea" })), "no idea"),
        (writes(error), "no idea"),
        (
            writes(json!({ "type": "model_event", "id": "$", "event": { "type": "error", "error": {} } })),
            "The extension sent no answer of the model",
        ),
        (PeerStep::Ends("killed"), "The extension is not running"),
    ];
    for dialect in DIALECTS {
        for (ending, text) in &endings {
            let hello = [writes(register(true)), writes(json!({ "type": "register" }))];
            let played = scenario(json!([]))
                .extended(Extension::silent("a").on("hello", hello).on("model_call", [ending.clone()]))
                .modes(|modes| modes.auto_retry = false)
                .host(10, prompt("p", "go"))
                .play(dialect);
            let answer = answered(&played);
            assert_eq!(
                (&answer["stopReason"], &answer["errorMessage"]),
                (&json!("error"), &json!(text)),
                "{dialect}"
            );
        }
    }
}

#[test]
fn abort_cancels_extension_model_and_ignores_it() {
    for dialect in DIALECTS {
        let late =
            json!({ "type": "model_event", "id": "$", "event": { "type": "text_start", "contentIndex": 0 } });
        let hello = [writes(register(true)), writes(json!({ "type": "register" }))];
        let played = scenario(json!([]))
            .extended(Extension::silent("a").on("hello", hello).on("cancel", [writes(late)]))
            .host(10, prompt("p", "go"))
            .host(100, json!({ "id": "x", "type": "abort" }))
            .play(dialect);
        assert_eq!(played.wrote(">a", "cancel").len(), 1, "{dialect}");
        assert_eq!(answered(&played)["stopReason"], "aborted", "{dialect}");
    }
}

#[test]
fn provider_is_added_and_removed_at_runtime() {
    let gone = json!({ "type": "unregister_provider", "id": "u", "name": "lab" });
    let bad = json!({ "type": "register_provider", "id": "b", "name": "lab2", "config": {} });
    let unsaid = json!({ "type": "register_provider", "name": "lab2", "config": {}, "path": "/x/lab.ts" });
    for dialect in DIALECTS {
        let played = scenario(json!([model_says("1")]))
            .extended(Extension::new("a", json!({})).on(
                "start",
                [
                    waits(100),
                    writes(register(false)),
                    waits(100),
                    writes(bad.clone()),
                    writes(unsaid.clone()),
                    waits(200),
                    writes(gone.clone()),
                ],
            ))
            .host(50, set_model("s1"))
            .host(150, set_model("s2"))
            .host(250, prompt("p", "go"))
            .host(500, set_model("s3"))
            .host(600, prompt("q", "go"))
            .play(dialect);
        let done = |id: &str| played.answers(id)[0]["success"].clone();
        assert_eq!(
            [done("s1"), done("s2"), done("s3")],
            [json!(false), json!(true), json!(false)],
            "{dialect}"
        );
        assert_eq!(played.asked.len(), 1, "{dialect}");
        assert!(played.asked[0].starts_with("turn mine"), "{dialect}: {}", played.asked[0]);
        assert_eq!(played.wrote(">a", "response b")[0]["error"], "baseUrl: missing", "{dialect}");
        let told = played.last("extension_error");
        assert_eq!(
            json!([told["extensionPath"], told["event"], told["error"]]),
            json!(["/x/lab.ts", "register_provider", "baseUrl: missing"]),
            "{dialect}"
        );
        assert_eq!(played.error("q"), "gone", "{dialect}");
    }
}

#[test]
fn extension_requests_model_of_another_extension() {
    let answer = json!({ "type": "done", "message": message(json!([{ "type": "text", "text": "A rhyme." }]), "stop") });
    let complete = json!({
        "type": "complete", "id": "c", "provider": "lab", "modelId": "mine", "maxTokens": 9,
        "messages": [{ "role": "user", "content": "Say something.", "timestamp": 1 }],
    });
    let asks = Extension::new("b", json!({ "hooks": ["input"] }))
        .on("hook input", [writes(complete)])
        .on("response c", [writes(json!({ "type": "done", "id": "2" })), done()]);
    for dialect in DIALECTS {
        let played = scenario(json!([]))
            .extended(lab(std::slice::from_ref(&answer)))
            .extended(asks.clone())
            .host(10, prompt("p", "go"))
            .finish(dialect);
        let asked = played.wrote(">a", "model_call");
        assert_eq!(asked[0]["maxTokens"], 9, "{dialect}");
        let response = played.wrote(">b", "response c")[0];
        assert_eq!(response["data"]["message"]["content"][0]["text"], "A rhyme.", "{dialect}");
    }
}
