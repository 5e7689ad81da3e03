//! Files that omp writes: YAML, with JSON in its place where there is none.

use pi_rpc::{
    config::{Config, Settings, Sources, load, models_file, pattern::full_id},
    protocol::{Dialect, ThinkingLevel},
};
use std::{fs, path::Path};

/// The configuration in the dialect omp, with these files in a user's home, which is the project, too.
fn configured(files: &[(&str, &str)]) -> Config {
    let home = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = home.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    load(Sources {
        dialect: Dialect::Omp,
        working_directory: home.path().to_owned(),
        environment: [("HOME", home.path().to_str().unwrap())].into_iter().collect(),
        approve: None,
    })
}

/// The models of the file that are not built in.
fn own_models(config: &Config) -> Vec<String> {
    let models = config.models().into_iter().filter(|endpoint| endpoint.model.provider.starts_with("my-"));
    models.map(|endpoint| full_id(&endpoint.model)).collect()
}

const MODELS: &str = "
providers:
  my-shop: # a comment
    baseUrl: http://localhost:1
    apiKey: key
    api: anthropic-messages
    models:
      - id: oak
        contextWindow: 1000
        reasoning: true
";

const JSON_MODELS: &str = r#"{"providers": {"my-yard": {"baseUrl": "http://x", "apiKey": "k", "api": "openai-completions", "models": [{"id": "elm"}]}}}"#;

#[test]
fn yaml_models_win_over_json() {
    let yaml = (".omp/agent/models.yml", MODELS);
    let json = (".omp/agent/models.json", JSON_MODELS);
    let config = configured(&[yaml, json]);
    assert_eq!((own_models(&config), &config.warnings), (vec!["my-shop/oak".to_owned()], &Vec::new()));
    assert_eq!(own_models(&configured(&[json])), ["my-yard/elm"]);
    assert_eq!(own_models(&configured(&[(".omp/agent/models.yaml", MODELS), json])), ["my-shop/oak"]);
}

#[test]
fn yaml_settings_of_both_are_merged() {
    let config = configured(&[
        (
            ".omp/agent/config.yml",
            "modelRoles:\n  default: my-shop/oak:low\nretry:\n  maxRetries: 3\n  enabled: false\n",
        ),
        (".omp/agent/settings.json", r#"{"retry": {"maxRetries": 4}}"#),
        (".omp/config.yml", "retry:\n  enabled: true\n"),
    ]);
    let settings = config.settings;
    assert_eq!(
        (settings.default_provider.as_deref(), settings.default_model.as_deref()),
        (Some("my-shop"), Some("oak"))
    );
    assert_eq!(settings.default_thinking_level, Some(ThinkingLevel::Low));
    assert_eq!((settings.retry.max_retries, settings.retry.enabled), (Some(3), Some(true)));
    assert_eq!(config.warnings, Vec::<String>::new());
}

#[test]
fn start_model_may_have_colons() {
    let read = |role: &str| {
        let text = format!("modelRoles:\n  default: {role}\n");
        let (settings, warnings) = Settings::read(&text, Path::new("config.yml"));
        assert_eq!(warnings, Vec::<String>::new());
        (settings.default_model.unwrap_or_default(), settings.default_thinking_level)
    };
    assert_eq!(read("local/qwen:7b"), ("qwen:7b".to_owned(), None));
    assert_eq!(read("local/qwen:7b:high"), ("qwen:7b".to_owned(), Some(ThinkingLevel::High)));
    assert_eq!(read("router/a/b"), ("a/b".to_owned(), None));
}

#[test]
fn broken_yaml_is_left_out_with_warning() {
    let (settings, warnings) = Settings::read("retry: [", Path::new("/a/config.yml"));
    assert_eq!(settings, Settings::default());
    assert!(
        warnings[0].starts_with("/a/config.yml: ") && warnings[0].ends_with("; the file is left out"),
        "{warnings:?}"
    );
    let (_, warnings) = Settings::read("- a", Path::new("config.yml"));
    assert_eq!(warnings, ["config.yml: expected settings by name; the file is left out"]);
    let error = models_file::read("providers: [", Path::new("/a/models.yml")).unwrap_err().to_string();
    assert!(
        error.starts_with("Failed to parse models.yml: ") && error.ends_with("File: /a/models.yml"),
        "{error}"
    );
}

#[test]
fn empty_yaml_has_no_settings() {
    for text in ["", "# nothing\n"] {
        assert_eq!(Settings::read(text, Path::new("config.yml")), (Settings::default(), Vec::new()));
    }
}
