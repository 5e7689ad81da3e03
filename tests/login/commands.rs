//! `pi-rpc login`, `logout` and `models --auth`.

use crate::{
    flows::{agree, own_address},
    login_support::{Home, KIMI, PAST, Vendor, entry},
    serve_support::{binary, command, shown, terminal},
};
use serde_json::json;
use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    os::unix::fs::PermissionsExt as _,
    process::{Command, Output, Stdio},
};

fn pi_rpc(home: &Home, vendor: &Vendor, arguments: &[&str]) -> Command {
    let mut command = command(binary(), home.path());
    command.env("PI_RPC_TOKEN_ORIGIN", format!("http://{}", vendor.address));
    command.env("PI_OAUTH_CALLBACK_HOST", own_address().to_string());
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Exit status and both outputs, without the home's path.
fn run(home: &Home, vendor: &Vendor, arguments: &[&str]) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } = pi_rpc(home, vendor, arguments).output().unwrap();
    let text = [stdout, stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
    (status.code(), text.replace(home.path().to_str().unwrap(), "HOME"))
}

#[test]
fn device_login_is_kept_for_its_user() {
    let (vendor, home) = (Vendor::new(&["authorization_pending"]), Home::new(&json!({})));
    fs::remove_file(home.auth_file()).unwrap();
    let (status, text) = run(&home, &vendor, &["login", KIMI]);
    assert_eq!(
        (status, text.as_str()),
        (
            Some(0),
            "Open this page in any browser:\n  https://login.example/device?user_code=SCRI-PTED\nand enter the code \
             SCRI-PTED\nWaiting for the confirmation …\nLogged in at Kimi Code (subscription). The login is in \
             HOME/.pi/agent/auth.json.\n"
        )
    );
    assert_eq!(home.auth()[KIMI]["refresh"], "scripted-refresh-2");
    let mode = fs::metadata(home.auth_file()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn browser_login_without_terminal_waits() {
    let (vendor, home) = (Vendor::new(&[]), Home::new(&json!({})));
    let mut child = pi_rpc(&home, &vendor, &["login", "anthropic"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut page = String::new();
    while !page.starts_with("  http") {
        page.clear();
        assert!(lines.read_line(&mut page).unwrap() > 0, "no page");
    }
    agree(page.trim(), own_address());
    let mut rest = String::new();
    lines.read_to_string(&mut rest).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(rest.contains("Logged in at Anthropic") && !rest.contains("scripted-"), "{rest}");
    assert_eq!(home.auth()["anthropic"]["access"], "scripted-access-2");
}

#[test]
fn failed_login_says_why() {
    let (vendor, home) = (Vendor::new(&["access_denied"]), Home::new(&json!({})));
    let (status, text) = run(&home, &vendor, &["login", "xai"]);
    assert_eq!(status, Some(1));
    let error = "Error: Not logged in at xAI (SuperGrok or X Premium): the login was refused on the page\n";
    assert!(text.ends_with(error), "{text}");
    assert_eq!(home.auth(), json!({}));
}

#[test]
fn logout_removes_one_login() {
    let auth = json!({ KIMI: entry("a", "r", PAST), "groq": { "type": "api_key", "key": "k" } });
    let (vendor, home) = (Vendor::new(&[]), Home::new(&auth));
    let statuses = [run(&home, &vendor, &["logout", KIMI]).0, run(&home, &vendor, &["logout", KIMI]).0];
    assert_eq!(statuses, [Some(0), Some(1)]);
    assert_eq!(home.auth(), json!({ "groq": { "type": "api_key", "key": "k" } }));
}

#[test]
fn login_commands_explain_themselves() {
    let auth = json!({
        KIMI: entry("token-of-kimi", "refresh-of-kimi", PAST),
        "openrouter": entry("token-of-openrouter", "", 9_007_199_254_740_991.0),
        "zai": entry("token-of-zai", "refresh-of-zai", PAST),
        "groq": { "type": "api_key", "key": "key-of-groq" },
        "xai": { "type": "api_key", "key": "!pass xai" },
    });
    let (vendor, home) = (Vendor::new(&[]), Home::new(&auth));
    let shown = [
        &["login"][..],
        &["login", "groq"],
        &["login", "nobody"],
        &["login", "openrouter", "--device"],
        &["login", KIMI, "--browser"],
        &["logout"],
        &["models", "--auth"],
        &["models", "--auth", "--json"],
    ]
    .map(|arguments| {
        let (status, mut text) = run(&home, &vendor, arguments);
        // The columns are as wide as the home's path.
        while arguments == ["models", "--auth"] && text.contains("   ") {
            text = text.replace("   ", "  ");
        }
        format!("$ pi-rpc {}\n{text}[{}]\n", arguments.join(" "), status.unwrap())
    });
    let shown = shown.join("\n");
    assert!(!shown.contains("-of-"), "{shown}");
    insta::assert_snapshot!(shown);
}

/// Runs with this text on stdin.
fn run_with_stdin(home: &Home, vendor: &Vendor, arguments: &[&str], text: &str) -> (Option<i32>, String) {
    let mut command = pi_rpc(home, vendor, arguments);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    let text = [stdout, stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
    (status.code(), text.replace(home.path().to_str().unwrap(), "HOME"))
}

#[test]
fn key_on_stdin_is_stored() {
    let auth = json!({
        "cloudflare-workers-ai": { "type": "api_key", "key": "old", "env": { "CLOUDFLARE_ACCOUNT_ID": "a" } },
    });
    let (vendor, home) = (Vendor::new(&[]), Home::new(&auth));
    let stored =
        |provider: &str| (Some(0), format!("The key of {provider} is in HOME/.pi/agent/auth.json.\n"));
    let run = |arguments: &[&str], text: &str| run_with_stdin(&home, &vendor, arguments, text);
    assert_eq!(run(&["login", "groq"], "key-of-groq\nrest\n"), stored("groq"));
    assert_eq!(run(&["login", "anthropic", "--key"], "  key-of-anthropic"), stored("anthropic"));
    assert_eq!(run(&["login", "cloudflare-workers-ai"], "new\n"), stored("cloudflare-workers-ai"));
    let expected = json!({
        "cloudflare-workers-ai": { "env": { "CLOUDFLARE_ACCOUNT_ID": "a" }, "type": "api_key", "key": "new" },
        "groq": { "type": "api_key", "key": "key-of-groq" },
        "anthropic": { "type": "api_key", "key": "key-of-anthropic" },
    });
    assert_eq!(home.auth(), expected);
    let (status, text) = run(&["login", "groq"], "!pass groq\n");
    assert!(
        status == Some(1) && text.starts_with("Error: the key: expected") && !text.contains("pass groq"),
        "{text}"
    );
    assert_eq!(home.auth(), expected);
}

#[test]
fn key_typed_at_terminal_is_hidden() {
    let (vendor, home) = (Vendor::new(&[]), Home::new(&json!({})));
    let (mut outer, inner) = terminal();
    let mut command = pi_rpc(&home, &vendor, &["login", "groq"]);
    command.stdin(inner.try_clone().unwrap()).stdout(inner.try_clone().unwrap()).stderr(inner);
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut prompt = vec![0; "API key of groq (it is not shown): ".len()];
    outer.read_exact(&mut prompt).unwrap();
    outer.write_all(b"key-of-groq\n").unwrap();
    assert!(child.wait().unwrap().success());
    let text = shown(outer).replace(home.path().to_str().unwrap(), "HOME");
    assert_eq!(text, "\nThe key of groq is in HOME/.pi/agent/auth.json.\n");
    assert_eq!(home.auth()["groq"]["key"], "key-of-groq");
}
