//! What a token may do: refusals have a code, and the connection lives.

use crate::{
    extended_support::executable,
    host_support::hello,
    serve_support::eventually,
    tcp_support::{TcpHost, WsClient},
};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
};

/// A host whose token `secret` has these limits.
fn limited(turns: &Value, limits: Value) -> TcpHost {
    TcpHost::start(turns, |_| vec![limits], &[])
}

#[test]
fn directories_stay_below_the_roots() {
    let host = TcpHost::start(&hello(), |here| vec![json!({ "roots": [format!("{here}/root")] })], &[]);
    let at = |name: &str| host.dir.path().join(name).to_str().unwrap().to_owned();
    for folder in ["root/inner", "root2"] {
        fs::create_dir_all(at(folder)).unwrap();
    }
    symlink(at("root2"), at("root/out")).unwrap();
    symlink("/etc/passwd", at("root/link.jsonl")).unwrap();
    let elsewhere = json!({ "type": "session", "version": 3, "id": "x", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": at("root2") });
    fs::write(at("root/elsewhere.jsonl"), format!("{elsewhere}\n")).unwrap();
    let mut client = host.client("secret");
    let root = at("root");
    for (members, field) in [
        (json!({ "cwd": at("root2") }), "cwd"),
        (json!({ "cwd": format!("{root}/../root2") }), "cwd"),
        (json!({ "cwd": format!("{root}/..") }), "cwd"),
        (json!({ "cwd": at("root/out") }), "cwd"),
        (json!({}), "cwd"),
        (json!({ "cwd": root, "sessionPath": at("root2/s.jsonl") }), "sessionPath"),
        (json!({ "cwd": root, "sessionPath": at("root/../root2/s.jsonl") }), "sessionPath"),
        (json!({ "cwd": root, "sessionPath": at("root/out/s.jsonl") }), "sessionPath"),
        (json!({ "cwd": root, "sessionPath": at("root/link.jsonl") }), "sessionPath"),
        (json!({ "cwd": root, "sessionPath": at("root/elsewhere.jsonl") }), "sessionPath"),
        (json!({ "sessionPath": at("root/elsewhere.jsonl") }), "cwd"),
        (json!({ "cwd": root, "modelId": "scripted/../script.json" }), "model"),
    ] {
        let mut frame = json!({ "type": "open_session", "id": 1 });
        frame.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        let error = client.refused(&frame);
        let expected =
            format!("forbidden_directory: {field}: expected a path below the roots of the token, got ");
        assert!(error.starts_with(&expected), "{members}: {error}");
    }
    for query in
        ["cwd=/", &format!("cwd={root}&fork=/etc/passwd"), &format!("cwd={root}&session=/etc/passwd")]
    {
        let (status, error) = host.connect(&format!("/sessions/new?{query}"), "secret").err().unwrap();
        assert_eq!((status, error.split(':').next()), (403, Some("forbidden_directory")), "{query}");
    }
    client.open(&json!({ "cwd": at("root/inner") }));
    client.open(&json!({ "cwd": root, "inMemory": false }));
    client.open(&json!({ "cwd": root, "inMemory": false, "sessionPath": at("root/new.jsonl") }));
}

#[test]
fn commands_stay_below_the_roots() {
    let host = TcpHost::start(&hello(), |here| vec![json!({ "roots": [format!("{here}/root")] })], &[]);
    let root = host.dir.path().join("root");
    fs::create_dir(&root).unwrap();
    let mut client = host.client("secret");
    let session = client.open(&json!({ "cwd": root }));
    let expected = |field: &str, path: &str| {
        let path = root.join(path);
        format!("forbidden_directory: {field}: expected a path below the roots of the token, got {path:?}")
    };
    let switch =
        json!({ "type": "switch_session", "id": 1, "sessionPath": "../x.jsonl", "sessionId": session });
    assert_eq!(client.refused(&switch), expected("sessionPath", "../x.jsonl"));
    let export = json!({ "type": "export_html", "id": 2, "outputPath": "../x.html", "sessionId": session });
    assert_eq!(client.refused(&export), expected("outputPath", "../x.html"));
    let inside = json!({ "type": "switch_session", "id": 3, "sessionPath": "x.jsonl", "sessionId": session });
    assert_eq!(client.request(&inside)["success"], true);
}

#[test]
fn models_stay_among_the_allowed() {
    let host = limited(&hello(), json!({ "models": ["scripted/script.json"] }));
    let mut client = host.client("secret");
    let other = json!({ "type": "open_session", "id": 1, "inMemory": true, "modelId": "scripted/demo" });
    let text = "forbidden_model: model: expected one of scripted/script.json, got \"scripted/demo\"";
    assert_eq!(client.refused(&other), text);
    let listed =
        json!({ "type": "open_session", "id": 1, "inMemory": true, "modelId": "anthropic/claude-opus-4-5" });
    assert!(client.refused(&listed).starts_with("forbidden_model: "));
    let session = client.open(&json!({}));
    let models = client.request(&json!({ "type": "get_available_models", "id": 2, "sessionId": session }));
    let ids: Vec<&Value> = models["data"]["models"].as_array().unwrap().iter().map(|it| &it["id"]).collect();
    assert_eq!(ids, ["script.json"]);
    let set = json!({ "type": "set_model", "id": 3, "provider": "scripted", "modelId": "demo", "sessionId": session });
    assert_eq!(client.request(&set)["success"], false);
    client.request(&json!({ "type": "cycle_model", "id": 4, "sessionId": session }));
    let state = client.request(&json!({ "type": "get_state", "id": 5, "sessionId": session }));
    assert_eq!(state["data"]["model"]["id"], "script.json");
}

#[test]
fn tools_and_dialects_stay_among_the_allowed() {
    let host = limited(&hello(), json!({ "tools": ["read"], "dialects": ["pi-1"] }));
    let mut client = host.client("secret");
    let other = json!({ "type": "open_session", "id": 1, "dialect": "xcsh" });
    let text = "forbidden_dialect: dialect: expected one of pi-1, got \"xcsh\"";
    assert_eq!(client.refused(&other), text);
    let (status, error) = host.connect("/sessions/new?dialect=xcsh", "secret").err().unwrap();
    assert_eq!((status, error.as_str()), (403, text));
    let session = client.open(&json!({}));
    let bash = json!({ "type": "bash", "id": 2, "command": "echo", "sessionId": session });
    assert_eq!(client.refused(&bash), "forbidden_tool: bash: not one of the tools of the token");
    client.send(&json!({ "type": "prompt", "id": 3, "message": "Hi", "sessionId": session }));
    let system = client.find(|frame| frame["message"]["sections"]["tools"].is_string());
    let tools = system["message"]["sections"]["tools"].as_str().unwrap().to_owned();
    let names: Vec<&str> =
        tools.lines().filter_map(|line| line.strip_prefix("- ")?.split(':').next()).collect();
    assert_eq!(names, ["read"]);
}

#[test]
fn unknown_parameter_of_session_is_refused() {
    let host = limited(&hello(), json!({}));
    for name in ["exclude-tools", "tool", "exclude_tool"] {
        let (status, error) =
            host.connect(&format!("/sessions/new?in_memory=true&{name}=bash"), "secret").err().unwrap();
        assert_eq!(status, 400, "{error}");
        assert!(error.contains(&format!("{name:?}: expected one of dialect, session, ")), "{error}");
    }
}

#[test]
fn open_sessions_are_counted() {
    let host = limited(&hello(), json!({ "sessions": 1 }));
    let mut client = host.client("secret");
    let session = client.open(&json!({}));
    let open = json!({ "type": "open_session", "id": 1, "inMemory": true });
    let text = "too_many_sessions: sessions: 1; close one before you open another";
    assert_eq!(client.refused(&open), text);
    let (status, error) = host.connect("/sessions/new?in_memory=true", "secret").err().unwrap();
    assert_eq!((status, error.as_str()), (429, text));
    client.request(&json!({ "type": "close_session", "id": 2, "sessionId": session }));
    client.open(&json!({}));
}

#[test]
fn commands_are_counted_but_not_abort() {
    let host = limited(&hello(), json!({ "commands_per_minute": 2 }));
    let mut client = host.client("secret");
    let session = client.open(&json!({}));
    let state = |id: u64| json!({ "type": "get_state", "id": id, "sessionId": session });
    assert_eq!(client.request(&state(1))["success"], true);
    let text = "rate_limited: commands_per_minute: 2; wait, and send the command again";
    assert_eq!(client.refused(&state(2)), text);
    assert_eq!(client.refused(&json!({ "type": "list_sessions", "id": 3 })), text);
    assert_eq!(client.request(&json!({ "type": "abort", "id": 4, "sessionId": session }))["success"], true);
    let (status, error) = host.connect("/sessions/new", "secret").err().unwrap();
    assert_eq!((status, error.as_str()), (429, text));
}

/// A script whose turns cost a dollar each, and call a tool.
pub fn costly() -> Value {
    let tool = json!({ "tool": "bash", "arguments": { "command": "echo" } });
    let turn = json!({ "repeat": true, "say": [tool], "usage": { "input": 0, "output": 1_000_000 } });
    json!({ "turns": [turn], "model": { "cost": { "output": 1.0 } } })
}

#[test]
fn spend_aborts_the_run_and_refuses() {
    let host = limited(&costly(), json!({ "dollars_per_day": 2.5 }));
    let mut client = host.client("secret");
    let session = client.open(&json!({}));
    let prompt = |id: u64| json!({ "type": "prompt", "id": id, "message": "Hi", "sessionId": session });
    client.send(&prompt(1));
    let mut answers = 0;
    client.find(|frame| {
        answers +=
            u32::from(frame["type"] == "message_end" && frame["message"]["usage"]["output"] == 1_000_000);
        frame["type"] == "agent_settled"
    });
    assert_eq!(answers, 3);
    let text = "spend_exceeded: dollars_per_day: 2.5; more is available from 0:00 UTC on";
    assert_eq!(client.refused(&prompt(2)), text);
    assert_eq!(client.refused(&json!({ "type": "open_session", "id": 3 })), text);
    let (status, error) = host.connect("/sessions/new", "secret").err().unwrap();
    assert_eq!((status, error.as_str()), (402, text));
    let state = client.request(&json!({ "type": "get_state", "id": 4, "sessionId": session }));
    assert_eq!(state["success"], true);
}

/// A command `/ask MODEL`, which asks a model outside of the conversation.
const ASKING: &str = r#"#!/bin/sh
read -r hello
echo '{"type":"register","commands":[{"name":"ask","description":"Asks."}]}'
while read -r line; do
  case $line in
    *'"type":"command"'*)
      id=${line#*'"id":"'} id=${id%%'"'*}
      model=${line#*'"arguments":"'} model=${model%%'"'*}
      echo '{"type":"complete","id":"a","origin":"'$id'","provider":"scripted","modelId":"'$model'",'\
'"messages":[{"role":"user","content":"Hi","timestamp":1}]}';;
    *'"type":"response"'*) echo '{"type":"done","id":"'$id'"}';;
  esac
done
"#;

#[test]
fn requests_of_extensions_are_spent() {
    let dir = tempfile::tempdir().unwrap();
    let extension = executable(dir.path(), "asking", ASKING);
    let turn =
        json!({ "repeat": true, "say": [{ "text": "Yes." }], "usage": { "input": 0, "output": 1_000_000 } });
    let script = json!({ "turns": [turn], "model": { "cost": { "output": 1.0 } } });
    // More than one of the two: an answer, and one for the extension.
    let host = TcpHost::start(&script, |_| vec![json!({ "dollars_per_day": 1.5 })], &["-e", &extension]);
    let mut client = host.client("secret");
    let session = client.open(&json!({}));
    let prompt =
        |id: u64, text: &str| json!({ "type": "prompt", "id": id, "message": text, "sessionId": session });
    client.send(&prompt(1, "Hi"));
    client.find(|frame| frame["type"] == "agent_settled");
    let state = client.request(&json!({ "type": "get_state", "id": 2, "sessionId": session }));
    let model = state["data"]["model"]["id"].as_str().unwrap();
    assert_eq!(client.request(&prompt(3, &format!("/ask {model}")))["data"]["disposition"], "handled");
    let text = "spend_exceeded: dollars_per_day: 1.5; more is available from 0:00 UTC on";
    assert_eq!(client.refused(&prompt(4, "Hi")), text);
}

#[test]
fn tokens_see_only_their_own_sessions() {
    let limits = |_: &str| vec![json!({}), json!({}), json!({ "sees_all": true })];
    let host = TcpHost::start(&hello(), limits, &[]);
    let (mut one, mut other, mut all) = (host.client("secret"), host.client("other"), host.client("third"));
    let session = one.open(&json!({}));
    let list = json!({ "type": "list_sessions", "id": 1 });
    let listed = |client: &mut WsClient| {
        let sessions = client.request(&list)["data"]["sessions"].take();
        sessions.as_array().unwrap().iter().map(|it| it["sessionId"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(listed(&mut one), [json!(session)]);
    assert_eq!(listed(&mut other), [json!(null); 0]);
    assert_eq!(listed(&mut all), [json!(session)]);
    for kind in ["get_state", "close_session", "attach_session"] {
        let frame = json!({ "type": kind, "id": 2, "sessionId": session });
        assert_eq!(other.refused(&frame), "unknown_session", "{kind}");
    }
    let refused = host.connect(&format!("/sessions/{session}"), "other").err();
    assert_eq!(refused, Some((404, "unknown_session".to_owned())));
    assert!(host.connect(&format!("/sessions/{session}"), "third").is_ok());
    let closed = all.request(&json!({ "type": "close_session", "id": 3, "sessionId": session }));
    assert_eq!(closed["success"], true);
}

/// A program that accepts `secret` without all but one session, refuses `other`, and fails otherwise.
const CHECK: &str = r#"#!/bin/sh
token=$(cat)
case $token in
    secret) echo '{"name":"a","limits":{"sessions":1}}' ;;
    other) exit 1 ;;
    *) echo "no such token: $token" >&2; exit 3 ;;
esac
"#;

#[test]
fn program_decides_about_tokens() {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("check");
    fs::write(&program, CHECK).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
    let program = program.to_str().unwrap().to_owned();
    let host = TcpHost::start_in(dir, &hello(), &["--auth-command", &program]);
    let mut client = host.client("secret");
    client.open(&json!({}));
    let refused = client.refused(&json!({ "type": "open_session", "id": 1 }));
    assert_eq!(refused.split(':').next(), Some("too_many_sessions"));
    let unknown = (401, "invalid_token: the host does not know this token".to_owned());
    assert_eq!(host.connect("/", "other").err(), Some(unknown));
    let failed = "auth_unavailable: the program that checks tokens has failed; the host's log has the reason";
    assert_eq!(host.connect("/", "third").err(), Some((503, failed.to_owned())));
    let logged = format!("{program}: expected exit status 0 or 1, got exit status: 3: no such token: ***");
    eventually("the failure is logged", || host.log().contains(&logged));
    assert!(!host.log().contains("third"));
}

#[test]
fn logins_are_for_tokens_that_may() {
    let limits = |_: &str| vec![json!({}), json!({ "logins": true })];
    let host = TcpHost::start(&hello(), limits, &["--wire-login"]);
    let logout =
        |session: &str| json!({ "type": "logout", "id": 1, "providerId": "anthropic", "sessionId": session });
    let mut client = host.client("secret");
    let session = client.open(&json!({}));
    let refused = |command| format!("forbidden_tool: {command}: the token lacks the limit `logins`");
    assert_eq!(client.refused(&logout(&session)), refused("logout"));
    let login = json!({ "type": "login", "id": 2, "providerId": "anthropic", "sessionId": session });
    assert_eq!(client.refused(&login), refused("login"));
    let providers = json!({ "type": "get_login_providers", "id": 3, "sessionId": session });
    assert_eq!(client.request(&providers)["success"], true);
    let mut permitted = host.client("other");
    let session = permitted.open(&json!({}));
    let error = permitted.request(&logout(&session));
    assert!(!error["error"].as_str().unwrap_or_default().starts_with("forbidden"), "{error}");
}

#[test]
fn dialect_with_logins_needs_wire_login() {
    let host = limited(&hello(), json!({ "logins": true, "sees_all": true }));
    let text = "forbidden_dialect: dialect: pi-1@login has logins, which the host was started without (--wire-login)";
    let open = json!({ "type": "open_session", "id": 1, "inMemory": true, "dialect": "pi-1@login" });
    assert_eq!(host.client("secret").refused(&open), text);
    let refused = host.connect("/sessions/new?dialect=pi-1@login", "secret").err().unwrap();
    assert_eq!(refused, (403, text.to_owned()));
}

#[test]
fn session_dir_of_project_stays_below_roots() {
    let host =
        TcpHost::start(&hello(), |here| vec![json!({ "roots": [format!("{here}/root")] })], &["--approve"]);
    let at = |name: &str| host.dir.path().join(name);
    let mut client = host.client("secret");
    for (project, folder, is_below) in [
        ("out", "../../stolen".to_owned(), false),
        ("absolute", at("stolen").to_str().unwrap().to_owned(), false),
        ("linked", "link/inner".to_owned(), false),
        ("home", "~/stolen".to_owned(), false),
        ("inside", ".sessions/new".to_owned(), true),
    ] {
        let cwd = at("root").join(project);
        fs::create_dir_all(cwd.join(".pi")).unwrap();
        symlink(host.dir.path(), cwd.join("link")).unwrap();
        fs::write(cwd.join(".pi/settings.json"), json!({ "sessionDir": folder }).to_string()).unwrap();
        for members in [json!({}), json!({ "sessionPath": "0" })] {
            let mut open = json!({ "type": "open_session", "id": 1, "cwd": cwd });
            open.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
            let opened = client.request(&open);
            let error = opened["error"].as_str().unwrap_or_default();
            let expected =
                "forbidden_directory: sessionDir: expected a path below the roots of the token, got ";
            assert_eq!(error.starts_with(expected), !is_below, "{project}: {opened}");
        }
    }
    assert!(!at("stolen").exists() && !at("inner").exists());
}
