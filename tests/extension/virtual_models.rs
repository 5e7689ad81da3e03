//! Virtual models: requests go to the model that their extension names.

use crate::asking_support::{
    Extension, PeerStep, Playback, done, fails, says, scenario, shorthand, waits, writes,
};
use pi_rpc::protocol::Dialect::Pi1;
use serde_json::{Value, json};
use shorthand::{prompt, says as model_says};

/// An extension that adds the virtual model `router/auto`, and does `steps` for each request.
fn router(steps: impl IntoIterator<Item = PeerStep>) -> Extension {
    let register = json!({
        "type": "register_virtual_model", "id": "r", "provider": "router", "modelId": "auto", "name": "Auto",
    });
    let hello = [writes(register), writes(json!({ "type": "register" }))];
    Extension::silent("a").on("hello", hello).on("hook model_route", steps)
}

fn routes_to(id: &str) -> [PeerStep; 1] {
    let route = json!({ "provider": "scripted", "modelId": id, "thinkingLevel": "low" });
    [says(json!({ "route": route }))]
}

fn selected(extension: Extension, answers: Value) -> Playback {
    scenario(answers)
        .extended(extension)
        .host(10, json!({ "id": "m", "type": "set_model", "provider": "router", "modelId": "auto" }))
        .host(20, prompt("p", "go"))
        .host(2000, json!({ "id": "g", "type": "get_state" }))
        .play(Pi1)
}

fn answer(played: &Playback) -> Value {
    let messages = played.last("agent_end")["messages"].as_array().expect("messages").clone();
    messages.into_iter().rfind(|it| it["role"] == "assistant").expect("an answer")
}

#[test]
fn answer_names_the_routed_model() {
    let played = selected(router(routes_to("work")), json!([model_says("Hi.")]));
    let answer = answer(&played);
    assert_eq!(
        json!([answer["provider"], answer["model"], answer["thinkingLevel"], answer["stopReason"]]),
        json!(["scripted", "work", "low", "stop"])
    );
    assert_eq!(played.answers("g")[0]["data"]["model"]["id"], "auto");
    let asked = &played.wrote(">a", "hook model_route")[0]["hook"];
    assert_eq!(json!([asked["reason"], asked["model"]["id"]]), json!(["user", "auto"]));
    let roles: Vec<&Value> =
        asked["messages"].as_array().expect("messages").iter().map(|it| &it["role"]).collect();
    assert_eq!(roles, ["system", "user"]);
}

#[test]
fn failed_route_fails_the_answer() {
    let failed = [fails("no way")];
    for (extension, why) in [
        (router(failed), "no way"),
        (
            router(routes_to("nothing")),
            "Virtual model router/auto routed to scripted/nothing, which is not a physical model.",
        ),
        (router([done()]), "The extension named no model for the request."),
    ] {
        let played = selected(extension, json!([]));
        let answer = answer(&played);
        assert_eq!(
            json!([answer["model"], answer["stopReason"], answer["errorMessage"]]),
            json!(["auto", "error", why])
        );
        assert_eq!(played.asked, Vec::<String>::new());
        assert!(played.frames("extension_error").next().is_none(), "{}", played.log);
    }
}

#[test]
fn abort_cancels_the_route() {
    let late = router([waits(5000), done()]);
    let played = scenario(json!([]))
        .extended(late)
        .host(10, json!({ "id": "m", "type": "set_model", "provider": "router", "modelId": "auto" }))
        .host(20, prompt("p", "go"))
        .host(500, json!({ "id": "a", "type": "abort" }))
        .play(Pi1);
    assert_eq!(answer(&played)["stopReason"], "aborted");
    assert_eq!(played.wrote(">a", "cancel").len(), 1, "{}", played.log);
}
