//! Logins over the wire, as whole frames in virtual time: what the host is shown, and how a login ends.

use pi_rpc_protocol::{
    Dialect::{Pi1, Pi1Login},
    RpcCommandKind,
};
use pi_rpc_test_kit::{Playback, Scenario, scenario, shorthand::*};
use serde_json::{Value, json};

fn login(id: &str, provider: &str) -> Value {
    json!({ "id": id, "type": "login", "providerId": provider })
}

fn pasted(text: &str) -> Value {
    json!({ "type": "extension_ui_response", "id": "ui 1", "value": text })
}

fn start() -> Scenario {
    scenario(json!([]))
}

fn done(id: &str, provider: &str) -> Value {
    json!({ "id": id, "type": "response", "command": "login", "success": true, "data": { "providerId": provider } })
}

fn failed(id: &str, error: &str) -> Value {
    json!({ "id": id, "type": "response", "command": "login", "success": false, "error": error })
}

/// The frames of the server, UI requests without their ids.
fn frames(played: &Playback) -> Vec<Value> {
    let mut frames = played.said.clone();
    for frame in frames.iter_mut().filter(|frame| frame["type"] == "extension_ui_request") {
        frame.as_object_mut().unwrap().shift_remove("id");
    }
    frames
}

#[test]
fn code_is_shown_until_login_ends() {
    let played = start().host(0, login("l", "kimi-coding")).finish(Pi1Login);
    let page = json!({
        "type": "extension_ui_request", "method": "open_url", "url": "https://kimi-coding.example/login",
        "instructions": "Enter the code AB-12", "userCode": "AB-12",
    });
    assert_eq!(frames(&played), [page, done("l", "kimi-coding")], "{}", played.log);
}

#[test]
fn pasted_address_ends_browser_login() {
    let page = json!({
        "type": "extension_ui_request", "method": "open_url", "url": "https://anthropic.example/login",
    });
    let dialog = json!({
        "type": "extension_ui_request", "method": "input", "timeout": 600_000,
        "title": "Waiting for the browser. If it runs on another machine: enter the address that it ended at, or the code",
    });
    let ended = |text: &str| {
        frames(&start().host(0, login("l", "anthropic")).host(50, pasted(text)).finish(Pi1Login))
    };
    assert_eq!(ended("c#s"), [page.clone(), dialog.clone(), done("l", "anthropic")]);
    let error = failed("l", "Not logged in at anthropic: the page sent no code back");
    assert_eq!(ended(""), [page, dialog, error]);
}

#[test]
fn cancelled_dialog_cancels_the_login() {
    let cancel = json!({ "type": "extension_ui_response", "id": "ui 1", "cancelled": true });
    let played = start().host(0, login("l", "anthropic")).host(50, cancel).finish(Pi1Login);
    assert_eq!(frames(&played)[2..], [failed("l", "Login cancelled")], "{}", played.log);
    // Unanswered, the dialog ends after ten minutes.
    let played =
        start().host(0, login("l", "anthropic")).host(600_020, command("get_state")).finish(Pi1Login);
    assert_eq!(frames(&played)[2], failed("l", "Login cancelled"), "{}", played.log);
}

#[test]
fn abort_login_cancels_open_login() {
    let abort = json!({ "id": "a", "type": "abort_login" });
    let aborted = json!({ "id": "a", "type": "response", "command": "abort_login", "success": true });
    let played = start().host(0, login("l", "anthropic")).host(50, abort.clone()).finish(Pi1Login);
    assert_eq!(frames(&played)[2..], [aborted.clone(), failed("l", "Login cancelled")], "{}", played.log);
    assert_eq!(frames(&start().host(0, abort).finish(Pi1Login)), [aborted]);
}

#[test]
fn second_login_is_refused_meanwhile() {
    let both = start().host(0, login("l", "kimi-coding")).host(20, login("m", "anthropic"));
    let played = both.host(200, login("n", "kimi-coding")).finish(Pi1Login);
    let frames = frames(&played);
    let refused =
        failed("m", "A login at kimi-coding is open. Wait for its end, or cancel it with abort_login.");
    assert_eq!([&frames[1], &frames[2]], [&refused, &done("l", "kimi-coding")], "{}", played.log);
    assert_eq!(frames[4], done("n", "kimi-coding"), "{}", played.log);
}

#[test]
fn unknown_provider_is_refused_by_name() {
    let played = start().host(0, login("l", "nobody")).finish(Pi1Login);
    assert_eq!(frames(&played), [failed("l", "Unknown OAuth provider: nobody")]);
}

#[test]
fn login_goes_on_beside_a_run() {
    let run = scenario(json!([says("Hello.")])).host(0, login("l", "kimi-coding")).host(5, prompt("p", "hi"));
    let played = run.finish(Pi1Login);
    assert_eq!(played.answers("l"), [&done("l", "kimi-coding")], "{}", played.log);
    assert_eq!(played.last("agent_settled")["type"], "agent_settled", "{}", played.log);
}

#[test]
fn end_of_input_cancels_open_login() {
    for close in [Scenario::ends, Scenario::stops] {
        let played = close(start().host(0, login("l", "anthropic")), 50).finish(Pi1Login);
        assert_eq!(frames(&played)[2..], [failed("l", "Login cancelled")], "{}", played.log);
    }
}

#[test]
fn logout_tells_whether_something_was_removed() {
    let logout = |id: &str, provider: &str| json!({ "id": id, "type": "logout", "providerId": provider });
    let played =
        start().host(0, logout("a", "anthropic")).host(50, logout("k", "kimi-coding")).finish(Pi1Login);
    let data = |provider: &str, removed: bool| json!({ "providerId": provider, "removed": removed });
    assert_eq!(played.data("a"), data("anthropic", true));
    assert_eq!(played.data("k"), data("kimi-coding", false));
}

#[test]
fn providers_are_listed_with_their_state() {
    let played = start().host(0, command("get_login_providers")).finish(Pi1Login);
    let expected = json!({ "providers": [
        { "id": "anthropic", "name": "ANTHROPIC", "available": true, "authenticated": true, "methods": ["browser"],
          "expires": 4_000_000_000_000_u64 },
        { "id": "kimi-coding", "name": "KIMI-CODING", "available": true, "authenticated": false, "methods": ["device"] },
    ] });
    assert_eq!(played.data("get_login_providers"), expected);
}

#[test]
fn logins_exist_only_where_opted_in() {
    use RpcCommandKind::{AbortLogin, GetLoginProviders, Login, Logout};
    for kind in [GetLoginProviders, Login, AbortLogin, Logout] {
        let frame = json!({ "id": "x", "type": kind.as_str(), "providerId": "anthropic" });
        let played = start().host(0, frame).finish(Pi1);
        let expected = json!({
            "id": "x", "type": "response", "command": kind.as_str(), "success": false,
            "error": format!("Unknown command: {kind}"),
        });
        assert_eq!(played.said, [expected], "{}", played.log);
    }
}
