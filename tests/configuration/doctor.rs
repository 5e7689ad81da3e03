//! `pi-rpc doctor`: what works, what is broken, and no key in either.

use crate::{home_support::Home, omp_database::OmpDatabase};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt as _, process::Command};

const KEY: &str = "sk-ant-secret-0123456789";

/// Exit status and output of the program in this home, with these variables.
fn doctor(home: &Home, arguments: &[&str], variables: &[(&str, &str)]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pi-rpc"));
    command.arg("doctor").args(arguments).current_dir(home.path()).env_clear();
    command.env("HOME", home.path()).env("PATH", "/nowhere").envs(variables.iter().copied());
    let output = command.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

/// A home whose folder and `auth.json` have these modes.
fn home(auth: &str, mode: u32) -> Home {
    let home = Home::new([("auth.json", auth)]);
    for (path, mode) in [(home.agent(), 0o755), (home.agent().join("auth.json"), mode)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    home
}

fn stored_key() -> String {
    json!({ "anthropic": { "type": "api_key", "key": KEY } }).to_string()
}

/// The checks that are in this state, as their subjects and texts.
fn checks(report: &str, state: &str) -> Vec<String> {
    let report: Value = serde_json::from_str(report).unwrap();
    let checks = report["checks"].as_array().unwrap().iter().filter(|check| check["state"] == state);
    let text = |check: &Value, member: &str| check[member].as_str().unwrap().to_owned();
    checks.map(|check| format!("{}: {}", text(check, "subject"), text(check, "text"))).collect()
}

#[test]
fn usable_model_is_healthy() {
    let home = home(&stored_key(), 0o600);
    let (status, report) = doctor(&home, &["--json"], &[]);
    assert_eq!((status, checks(&report, "broken")), (Some(0), Vec::new()), "{report}");
    let agent = home.agent().display().to_string();
    let credential = format!("credentials: anthropic: key from {agent}/auth.json, ");
    let found = checks(&report, "ok");
    assert!(found.iter().any(|check| check.starts_with(&credential)), "{found:?}");
    assert!(found.contains(&format!("configuration: read {agent}/auth.json")), "{found:?}");
    assert!(!report.contains(KEY), "{report}");
}

#[test]
fn lack_of_models_is_broken() {
    let home = home("{}", 0o600);
    let (status, report) = doctor(&home, &["--json"], &[]);
    assert_eq!((status, checks(&report, "broken")), (Some(1), vec!["models: none can be used".to_owned()]));
    let report: Value = serde_json::from_str(&report).unwrap();
    let keyless = report["withoutKey"].as_array().unwrap().iter();
    let variables = keyless.clone().find(|it| it["provider"] == "openai").map(|it| it["variables"].clone());
    assert_eq!((&report["healthy"], variables), (&json!(false), Some(json!(["OPENAI_API_KEY"]))));
}

#[test]
fn withheld_variables_are_listed_by_name() {
    let home = home(&stored_key(), 0o600);
    home.write("settings.json", r#"{ "passKeys": ["NPM_*"] }"#);
    let variables = [("GH_TOKEN", KEY), ("my_api_key", KEY), ("NPM_TOKEN", KEY), ("AWS_REGION", "eu-x-9")];
    let (_, report) = doctor(&home, &["--json"], &variables);
    let text = "environment: withheld from commands and extensions: GH_TOKEN, my_api_key";
    assert!(checks(&report, "note").contains(&text.to_owned()), "{report}");
    assert!(!report.contains(KEY), "{report}");
}

#[test]
fn readable_keys_are_broken() {
    let home = home(&stored_key(), 0o644);
    let (status, text) = doctor(&home, &[], &[]);
    let file = home.agent().join("auth.json").display().to_string();
    let broken: Vec<&str> = text.lines().filter(|line| line.starts_with("BROKEN")).collect();
    let expected = format!("BROKEN  permissions    others may read {file} (mode 644), which holds keys");
    assert_eq!((status, broken), (Some(1), vec![&*expected]), "{text}");
    assert!(text.contains(&format!("chmod 600 {file}")) && !text.contains(KEY), "{text}");
}

#[test]
fn unreadable_file_is_broken() {
    let home = home(&stored_key(), 0o600);
    home.write("models.json", "{ \"providers\": 3 }");
    let (status, report) = doctor(&home, &["--json"], &[]);
    let broken = checks(&report, "broken");
    assert_eq!((status, broken.len()), (Some(1), 1), "{broken:?}");
    assert!(broken[0].starts_with("configuration: ") && broken[0].contains("models.json"), "{broken:?}");
}

#[test]
fn extension_without_node_is_broken() {
    let home = home(&stored_key(), 0o600);
    fs::create_dir(home.agent().join("extensions")).unwrap();
    home.write("extensions/one.ts", "export default () => {};");
    let (status, report) = doctor(&home, &["--json"], &[]);
    assert_eq!(
        (status, checks(&report, "broken")),
        (Some(1), vec!["node: pi's own extensions are not loaded".to_owned()]),
    );
}

#[test]
fn database_of_omp_is_examined() {
    let home = Home::new([]);
    let agent = home.path().join(".omp/agent");
    fs::create_dir_all(&agent).unwrap();
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
    let path = agent.join("agent.db");
    let shown = path.display().to_string();
    let database = OmpDatabase::create(&path);
    database.add("groq", "api_key", &json!({ "key": KEY }));
    database.add("mistral", "oauth", &json!({ "access": KEY, "refresh": KEY, "expires": 1 }));
    database.close();
    let examine = |mode: u32, variables: &[(&str, &str)]| {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let (status, report) = doctor(&home, &["--dialect", "omp", "--json"], variables);
        assert!(!report.contains(KEY), "{report}");
        (status, report)
    };
    let has = |report: &str, state: &str, text: &str| {
        let found = checks(report, state);
        assert!(found.iter().any(|check| check.starts_with(text)), "{text}\n{found:#?}");
    };
    let (_, report) = examine(0o600, &[]);
    has(&report, "ok", &format!("configuration: read {shown}"));
    has(&report, "ok", &format!("credentials: groq: key from {shown}, "));
    has(&report, "note", "models: mistral, ");
    assert!(report.contains(&format!("The login of mistral in {shown} has expired, and")), "{report}");
    let (status, report) = examine(0o644, &[]);
    has(&report, "broken", &format!("permissions: others may read {shown} (mode 644), which holds keys"));
    assert_eq!(status, Some(1));
    let (_, report) = examine(0o600, &[("OMP_PROFILE", "work")]);
    let profile = home.path().join(".omp/profiles/work/agent");
    let profile = profile.display();
    has(&report, "note", &format!("configuration: there is no directory {profile} (from OMP_PROFILE)"));
    fs::write(&path, "this is a text, and longer than the head of a database is. ".repeat(20)).unwrap();
    let (status, report) = examine(0o600, &[]);
    has(&report, "broken", &format!("configuration: {shown}: it is no SQLite database, or a broken one; "));
    assert_eq!(status, Some(1));
}
