//! `pi-rpc models` and `--list-models`.

use crate::home_support::Home;
use pi_rpc::config::CredentialError;
use serde_json::{Value, json};
use std::{path::Path, process::Command};

const MODELS: &str = r#"{"providers": {
    "workshop": {"baseUrl": "http://127.0.0.1:1/v1", "api": "openai-completions", "apiKey": "none", "models": [
        {"id": "oak-70b", "reasoning": true, "input": ["text", "image"], "contextWindow": 1000000, "maxTokens": 900,
         "thinkingLevelMap": {"minimal": null}, "cost": {"input": 0.25, "output": 4, "cacheRead": 0, "cacheWrite": 0}},
        {"id": "elm"}]},
    "greenhouse": {"baseUrl": "http://127.0.0.1:1", "api": "some-other-api", "apiKey": "none",
        "models": [{"id": "fern"}]}
}}"#;

#[test]
fn models_lists_choices_and_reasons() {
    let home = home();
    let (stdout, stderr) = run(home.path(), &["models"]);
    let agent = home.agent().display().to_string();
    let mut lines = stdout.lines().map(|line| line.replace(&agent, "<agent>"));
    let head: Vec<String> = lines.by_ref().take(2).collect();
    assert_eq!(head, ["Agent directory  <agent>", "Read             <agent>/models.json"]);
    assert!(lines.next().is_some_and(|line| line.starts_with("Built in         the model list of ")));
    let rest: Vec<String> = lines.by_ref().take(13).collect();
    assert_eq!(
        rest,
        [
            "Starts with      workshop/oak-70b, thinking medium",
            "",
            "MODEL            CONTEXT OUTPUT  THINKING            IMAGES   $ IN  $ OUT",
            "workshop/oak-70b      1M    900  off,low..high       yes      0.25      4",
            "workshop/elm        128K    16K  -                   -           0      0",
            "Prices in US dollars per million tokens.",
            "",
            "Unusable:",
            &*format!("  greenhouse/fern: {}", CredentialError::Api("some-other-api".to_owned())),
            "",
            "Without a key (set the variable, or use auth.json or models.json):",
            "  amazon-bedrock                 208 models  AWS_BEARER_TOKEN_BEDROCK or AWS_PROFILE",
            "  ant-ling                         3 models  ANT_LING_API_KEY",
        ]
    );
    assert_eq!(stderr, "");
}

#[test]
fn key_of_unsupported_api_is_named() {
    let models = json!({ "providers": { "later": {
        "baseUrl": "https://later.example", "apiKey": "k", "api": "later-api", "models": [{ "id": "a" }, { "id": "b" }],
    } } });
    let home = Home::new([("models.json", &*models.to_string())]);
    let (stdout, _) = run(home.path(), &["models"]);
    let part = format!("  later, 2 models: {}\n", CredentialError::Api("later-api".to_owned()));
    assert!(stdout.contains(&part), "{stdout}");
}

#[test]
fn words_narrow_the_list() {
    let home = home();
    let (stdout, _) = run(home.path(), &["models", "WORK", "elm"]);
    let models: Vec<&str> = stdout.lines().filter(|line| line.contains("128K")).collect();
    assert_eq!(models, ["workshop/elm    128K    16K  -                   -           0      0"]);
    assert!(!stdout.contains("oak-70b ") && !stdout.contains("Without a key"), "{stdout}");
}

#[test]
fn list_models_prints_only_the_table() {
    let home = home();
    let listed = |words: &str| run(home.path(), &["--mode", "rpc", "--list-models", words]);
    let table = "provider  model    context  max-out  thinking  images\n\
                 workshop  elm      128K     16.4K    no        no    \n\
                 workshop  oak-70b  1M       900      yes       yes   \n";
    assert_eq!(listed("work"), (table.to_owned(), String::new()));
    assert_eq!(listed("fir"), ("No models matching \"fir\"\n".to_owned(), String::new()));
    home.write("models.json", "{\"providers\": 1}");
    let (stdout, stderr) = listed("work");
    assert_eq!(stdout, "No models available; pi-rpc models says what each provider needs\n");
    assert!(stderr.starts_with("Warning: Invalid models.json schema:\n"), "{stderr}");
}

#[test]
fn models_without_prompts_are_listed_by_type() {
    let home = home();
    let (stdout, _) = run(home.path(), &["models"]);
    assert!(stdout.contains("\nFor scripts of codemode, not offered: 81 of type classifier\n"), "{stdout}");
    assert!(stdout.contains("\nFor scripts of codemode, not offered: 74 of type image\n"), "{stdout}");
    let (stdout, _) = run(home.path(), &["models", "flux.2-pro", "openrouter"]);
    let tail =
        "For scripts of codemode, not offered: 1 of type image\n  openrouter/black-forest-labs/flux.2-pro\n";
    assert!(stdout.ends_with(tail), "{stdout}");
    let (stdout, _) = run(home.path(), &["models", "--json", "flux.2-pro"]);
    let listing: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(listing["others"]["image"]["openrouter"], json!(["black-forest-labs/flux.2-pro"]));
}

#[test]
fn json_listing_is_complete() {
    let home = home();
    let agent = home.agent();
    let (stdout, _) = run(home.path(), &["models", "--json", "workshop/oak"]);
    let mut listing: Value = serde_json::from_str(&stdout).unwrap();
    listing["catalogue"] = Value::Null;
    let expected = json!({
        "agentDirectory": agent,
        "projectDirectory": home.path().join(".pi"),
        "files": [agent.join("models.json")],
        "catalogue": null,
        "warnings": [],
        "start": {"provider": "workshop", "id": "oak-70b", "thinkingLevel": "medium"},
        "others": {},
        "models": [{
            "provider": "workshop", "id": "oak-70b", "name": "oak-70b", "api": "openai-completions",
            "baseUrl": "http://127.0.0.1:1/v1", "contextWindow": 1_000_000, "maxTokens": 900,
            "thinkingLevels": ["off", "low", "medium", "high"], "input": ["text", "image"],
            "cost": {"input": 0.25, "output": 4, "cacheRead": 0, "cacheWrite": 0},
            "listed": true, "unusable": null
        }]
    });
    assert_eq!(listing, expected);
}

#[test]
fn warnings_precede_the_list() {
    let home = home();
    let settings =
        json!({"defaultProvider": "workshop", "defaultModel": "ash", "enabledModels": ["elm", "ivy"]});
    home.write("settings.json", &settings.to_string());
    let (stdout, _) = run(home.path(), &["models"]);
    let warnings = "\nStarts with      workshop/elm, thinking off\n\n\
                    Warning: The default model workshop/ash of the settings is not known here\n\n\
                    Warning: No models match pattern \"ivy\"\n";
    assert!(stdout.contains(warnings), "{stdout}");
    home.write("settings.json", "{}");
    home.write("models.json", "{\"providers\": 1}");
    let (stdout, _) = run(home.path(), &["models", "nothing-is-called-so"]);
    let path = home.agent().join("models.json").display().to_string();
    let expected = format!(
        "Starts with      no model yet\n\nWarning: Invalid models.json schema:\n  - /providers: must be object\n\n\
         File: {path}\n\nNo model has these words in its provider, id or name.\n"
    );
    assert!(stdout.ends_with(&expected), "{stdout}");
}

#[test]
fn dialect_chooses_agent_directory() {
    let home = home();
    let (stdout, _) = run(home.path(), &["models", "--dialect", "xcsh"]);
    let agent = home.path().join(".xcsh/agent").display().to_string();
    assert_eq!(stdout.lines().next(), Some(&*format!("Agent directory  {agent}")));
    let (stdout, _) = run(home.path(), &["--mode", "rpc", "--dialect", "xcsh", "--list-models"]);
    assert!(stdout.starts_with("No models available"), "{stdout}");
}

fn home() -> Home {
    Home::new([("models.json", MODELS)])
}

/// What the binary prints, with nothing but a home in its environment.
fn run(home: &Path, arguments: &[&str]) -> (String, String) {
    let mut binary = Command::new(env!("CARGO_BIN_EXE_pi-rpc"));
    let output = binary.args(arguments).env_clear().env("HOME", home).current_dir(home).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    assert_eq!(output.status.code(), Some(0));
    (text(output.stdout), text(output.stderr))
}
