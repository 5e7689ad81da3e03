//! Logins that expire are renewed at the vendor and in `auth.json`, once, and are not lost.

use crate::serve_support::{
    FakeVendor, Server, binary, chatgpt_token, command, of_type, write_agent_file, write_models_file,
};
use pi_rpc::{mock::ReceivedRequest, protocol::Dialect};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

const EXPIRED: u64 = 1_000_000_000_000;

fn vendor() -> FakeVendor {
    FakeVendor::plays(&json!({ "turns": [{ "repeat": true, "say": [{ "text": "Hello." }] }] }))
}

/// A home with an expired login of ChatGPT, whose refresh token is `refresh`, and another login.
fn home(vendor: &FakeVendor, refresh: &str) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let models = json!([{ "id": "model", "contextWindow": 200_000, "maxTokens": 8000 }]);
    let base = format!("http://{}/backend-api", vendor.address);
    let codex = json!({ "baseUrl": base, "api": "openai-codex-responses", "models": models });
    write_models_file(dir.path(), Dialect::Pi, &json!({ "providers": { "openai-codex": codex } }));
    write_agent_file(dir.path(), Dialect::Pi, "settings.json", &json!({ "retry": { "enabled": false } }));
    let login = json!({
        "type": "oauth", "access": chatgpt_token("old"), "refresh": refresh, "expires": EXPIRED, "accountId": "old",
        "own": [1, 2],
    });
    let all = json!({ "groq": { "type": "api_key", "key": "k" }, "openai-codex": login, "zai": { "type": "api_key", "key": "z" } });
    write_agent_file(dir.path(), Dialect::Pi, "auth.json", &all);
    fs::set_permissions(auth_file(dir.path()), fs::Permissions::from_mode(0o600)).unwrap();
    dir
}

fn auth_file(home: &Path) -> PathBuf {
    home.join(".pi/agent/auth.json")
}

fn logins(home: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(auth_file(home)).unwrap()).unwrap()
}

/// A server with the files of `home`.
fn server(vendor: &FakeVendor, home: &Path) -> Server {
    let dir = tempfile::tempdir().unwrap();
    let mut command = command(binary(), dir.path());
    command.env("HOME", home).env("PI_RPC_TOKEN_ORIGIN", format!("http://{}", vendor.address));
    command.args(["--mode", "rpc", "--no-session", "--dialect", "pi", "--model", "openai-codex/model"]);
    Server::start(Dialect::Pi, dir, command)
}

/// The requests to the token endpoint, and those to the model.
fn received(vendor: &FakeVendor) -> (Vec<ReceivedRequest>, Vec<ReceivedRequest>) {
    vendor.journal.received().into_iter().partition(|request| request.path.ends_with("/token"))
}

fn last_text(frames: &[Value]) -> Value {
    of_type(frames, "message_end").last().unwrap()["message"]["content"][0]["text"].clone()
}

#[test]
fn expired_login_is_renewed_and_written() {
    let vendor = vendor();
    let home = home(&vendor, "refresh_old");
    let mut server = server(&vendor, home.path());
    for _ in 0..2 {
        assert_eq!(last_text(&server.run("hi")), "Hello.");
    }
    server.finishes();
    let (renewals, calls) = received(&vendor);
    assert_eq!(renewals.len(), 1);
    assert_eq!(renewals[0].path, "/oauth/token");
    let client = "app_EMoamEEZ73f0CkXaXp7hrann";
    let sent = format!("grant_type=refresh_token&refresh_token=refresh_old&client_id={client}");
    assert_eq!(renewals[0].body, sent);
    let mut all = logins(home.path());
    let login = all["openai-codex"].take();
    let bearer = format!("Bearer {}", login["access"].as_str().unwrap());
    for call in &calls {
        assert_eq!(call.header("authorization"), Some(bearer.as_str()));
        assert_eq!(call.header("chatgpt-account-id"), Some("account_scripted"));
    }
    assert_eq!(calls.len(), 2);
    assert_eq!(login["refresh"], "scripted-refresh-1");
    assert!(login["expires"].as_u64().unwrap() > EXPIRED, "{login}");
    assert_eq!((&login["accountId"], &login["own"]), (&json!("account_scripted"), &json!([1, 2])));
    assert_eq!(
        all,
        json!({ "groq": { "type": "api_key", "key": "k" }, "openai-codex": null, "zai": { "type": "api_key", "key": "z" } })
    );
    assert_eq!(fs::metadata(auth_file(home.path())).unwrap().permissions().mode() & 0o777, 0o600);
    let mut files: Vec<_> =
        fs::read_dir(home.path().join(".pi/agent")).unwrap().map(|file| file.unwrap().file_name()).collect();
    files.sort();
    assert!(files.iter().all(|name| !name.to_string_lossy().contains("lock")), "{files:?}");
}

#[test]
fn login_is_renewed_once_for_many_processes() {
    let vendor = vendor();
    let home = home(&vendor, "refresh_old");
    let mut servers: Vec<Server> = (0..4).map(|_| server(&vendor, home.path())).collect();
    for server in &mut servers {
        server.send(json!({ "type": "prompt", "message": "hi" }));
    }
    for mut server in servers {
        assert_eq!(last_text(&server.until_type("agent_end")), "Hello.");
        server.finishes();
    }
    let (renewals, calls) = received(&vendor);
    assert_eq!((renewals.len(), calls.len()), (1, 4));
    assert_eq!(logins(home.path())["openai-codex"]["refresh"], "scripted-refresh-1");
}

#[test]
fn refused_renewal_is_explained() {
    let vendor = vendor();
    // The first exchange uses the token up.
    let homes = [home(&vendor, "refresh_old"), home(&vendor, "refresh_old")];
    let [first, second] = homes.each_ref().map(|home| {
        let mut server = server(&vendor, home.path());
        let frames = server.run("hi");
        server.finishes();
        frames
    });
    assert_eq!(last_text(&first), "Hello.");
    let message = &of_type(&second, "message_end").last().unwrap()["message"];
    let expected = "The login of openai-codex has expired, and 127.0.0.1 refuses to renew it (400: invalid_grant: The refresh token \
         was used before.).\n\nLog in again: pi-rpc login openai-codex";
    assert_eq!(message["errorMessage"], expected);
    assert_eq!(logins(homes[1].path())["openai-codex"]["refresh"], "refresh_old");
    assert!(!serde_json::to_string(&second).unwrap().contains("refresh_old"));
}

#[test]
fn lock_of_ended_process_is_taken_over() {
    let vendor = vendor();
    let home = home(&vendor, "refresh_old");
    let lock = home.path().join(".pi/agent/auth.json.lock");
    fs::create_dir(&lock).unwrap();
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    fs::File::open(&lock).unwrap().set_modified(long_ago).unwrap();
    let mut server = server(&vendor, home.path());
    assert_eq!(last_text(&server.run("hi")), "Hello.");
    server.finishes();
    assert!(!lock.exists());
}
