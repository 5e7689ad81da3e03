//! What proves to a provider who asks, and what is said where nothing does.

use pi_rpc::{
    config::{Config, Environment, Keys, NoCredentials, Sources, Wanted, load, pattern::full_id, select},
    model::request::Credentials,
    protocol::{Dialect, Model},
};
use serde_json::{Value, json};
use std::{
    fs, thread,
    time::{Duration, Instant},
};

#[test]
fn a_key_comes_from_the_command_line_then_auth_json_then_the_environment_then_models_json() {
    let models = json!({"providers": {"groq": {"baseUrl": "http://x", "apiKey": "of-models-json"}}});
    let auth = json!({"groq": {"type": "api_key", "key": "of-auth-json"}});
    let environment = [("GROQ_API_KEY", "of-the-environment")];
    let key = |keys: &Keys, config: &Config| {
        keys.credentials(&model(config, "groq/openai/gpt-oss-120b")).unwrap().key.unwrap()
    };
    let all = Home::new(&models, &auth).load(&environment);
    let wanted = Wanted {
        model: Some("groq/openai/gpt-oss-120b".to_owned()),
        api_key: Some("of-the-command-line".to_owned()),
        ..Wanted::default()
    };
    assert_eq!(key(&select(&all, &wanted).unwrap().keys, &all), "of-the-command-line");
    assert_eq!(key(&all.keys, &all), "of-auth-json");
    let without = Home::new(&models, &json!({})).load(&environment);
    assert_eq!(key(&without.keys, &without), "of-the-environment");
    let without = Home::new(&models, &json!({})).load(&[]);
    assert_eq!(key(&without.keys, &without), "of-models-json");
}

#[test]
fn a_login_is_used_until_it_ends() {
    let config = Home::new(
        &json!({"providers": {}}),
        &json!({
            "anthropic": {"type": "oauth", "access": "token", "refresh": "r", "expires": 4e12},
            "openai": {"type": "oauth", "access": "token", "refresh": "r", "expires": 1e12}
        }),
    )
    .load(&[("OPENAI_API_KEY", "key")]);
    let token = Credentials { key: Some("token".to_owned()), ..Credentials::default() };
    assert_eq!(config.keys.credentials(&model(&config, "anthropic/claude-opus-4-6")), Ok(token));
    let ended =
        NoCredentials::Expired { provider: "openai".to_owned(), agent: config.directories.agent.clone() };
    assert_eq!(config.keys.credentials(&model(&config, "openai/gpt-5.4")), Err(ended.clone()));
    assert_eq!(
        ended.to_string(),
        format!(
            "The login of openai in {}/auth.json has expired, and this version cannot renew it.\n\n\
             Start pi once to renew it, or use an API key.",
            config.directories.agent.display()
        )
    );
    let selection = select(&config, &Wanted::default()).unwrap();
    let offers =
        selection.offers.iter().map(|offer| (offer.endpoint.model.provider.as_str(), offer.usable.is_ok()));
    let mut offers: Vec<_> = offers.collect();
    offers.dedup();
    assert_eq!(offers, [("anthropic", true), ("openai", false)]);
}

#[test]
fn a_value_is_what_a_command_prints_or_what_a_variable_holds_or_itself() {
    let headers =
        json!({"x-command": "!printf ' out '; echo err >&2", "x-variable": "NAME", "x-text": "UNSET"});
    let models =
        custom(json!({"headers": headers, "apiKey": "!echo key"}), json!({"headers": {"x-text": "own"}}));
    let config = Home::new(&models, &json!({})).load(&[("NAME", "value"), ("UNSET", "")]);
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let expected = Credentials {
        key: Some("key".to_owned()),
        headers: vec![
            header("x-command", "out"),
            header("x-variable", "value"),
            header("x-text", "UNSET"),
            header("x-text", "own"),
        ],
        bearer: false,
    };
    assert_eq!(config.keys.credentials(&model(&config, "x/q")), Ok(expected));
}

#[test]
fn a_command_runs_when_the_model_is_asked_and_only_once() {
    let home = Home::new(&json!({"providers": {}}), &json!({}));
    let count = home.0.path().join("count");
    let key = format!("!echo run >> {}; wc -l < {}", count.display(), count.display());
    home.write("models.json", &custom(json!({"apiKey": key, "authHeader": true}), json!({})));
    let config = home.load(&[]);
    let selection = select(&config, &Wanted::default()).unwrap();
    assert_eq!((selection.offers.len(), selection.offers[0].usable.clone()), (1, Ok(())));
    assert!(!count.exists());
    let expected = Credentials { key: Some("1".to_owned()), bearer: true, ..Credentials::default() };
    for keys in [&selection.keys, &config.keys, &selection.keys] {
        assert_eq!(keys.credentials(&model(&config, "x/q")), Ok(expected.clone()));
    }
}

#[test]
fn a_command_that_gives_nothing_is_an_error() {
    let endless = "!head -c 2000000 /dev/zero | tr '\\0' k";
    for (command, shown) in [
        ("!exit 3", "exit …"),
        ("!echo key; exit 3", "echo …"),
        ("!true", "true"),
        ("!KEY=k false", "…"),
        (endless, "head …"),
    ] {
        let config = Home::new(&custom(json!({"apiKey": command}), json!({})), &json!({})).load(&[]);
        let error = config.keys.credentials(&model(&config, "x/q")).unwrap_err().to_string();
        assert_eq!(
            error,
            format!("Failed to resolve API key for provider \"x\" from shell command: {shown}")
        );
    }
}

#[test]
#[ignore = "takes ten seconds"]
fn a_command_that_takes_too_long_is_ended() {
    let home = Home::new(&json!({"providers": {}}), &json!({}));
    let file = home.0.path().join("file");
    // It cannot stay longer by saying that nothing more will come.
    let key = format!("!exec >&-; sleep 12; touch {}", file.display());
    home.write("models.json", &custom(json!({"apiKey": key}), json!({})));
    let config = home.load(&[]);
    let begun = Instant::now();
    assert!(config.keys.credentials(&model(&config, "x/q")).is_err());
    assert_eq!(begun.elapsed().as_secs(), 10);
    thread::sleep(Duration::from_secs(4));
    assert!(!file.exists());
}

#[test]
fn keys_stay_out_of_logs() {
    let auth = json!({"groq": {"type": "api_key", "key": "secret-1"}});
    let config =
        Home::new(&custom(json!({"apiKey": "secret-2", "headers": {"a": "secret-3"}}), json!({})), &auth);
    let config = config.load(&[("OPENAI_API_KEY", "secret-4")]);
    let wanted =
        Wanted { model: Some("x/q".to_owned()), api_key: Some("secret-5".to_owned()), ..Wanted::default() };
    let selection = select(&config, &wanted).unwrap();
    let printed = format!("{config:?} {selection:?} {:?}", Environment::from_iter([("A", "secret-6")]));
    assert!(!printed.contains("secret"), "{printed}");
}

#[test]
fn a_missing_key_is_explained() {
    let config = Home::new(&json!({"providers": {}}), &json!({})).load(&[]);
    let error =
        config.keys.credentials(&model(&config, "anthropic/claude-opus-4-6")).unwrap_err().to_string();
    let agent = config.directories.agent.display();
    assert_eq!(
        error,
        format!(
            "No API key found for anthropic.\n\nSet ANTHROPIC_OAUTH_TOKEN or ANTHROPIC_API_KEY, or add it to \
             {agent}/auth.json: {{\"anthropic\": {{\"type\": \"api_key\", \"key\": \"…\"}}}}"
        )
    );
}

#[test]
fn an_api_that_is_not_spoken_is_listed_and_refused() {
    let models = custom(json!({"api": "google-generative-ai"}), json!({}));
    let config = Home::new(&models, &json!({})).load(&[]);
    let selection = select(&config, &Wanted::default()).unwrap();
    let reason = "The API \"google-generative-ai\" is not supported by this version; supported: \
                  anthropic-messages, openai-completions, openai-responses.";
    let offer = &selection.offers[selection.start];
    assert_eq!((offer.listed, offer.usable.clone()), (true, Err(reason.to_owned())));
    let error = selection.keys.credentials(&offer.endpoint.model).unwrap_err();
    assert_eq!(error.to_string(), reason);
}

#[test]
fn an_entry_of_the_wrong_shape_is_left_out_and_named_without_its_keys() {
    let config = Home::new(
        &json!({"providers": {}}),
        &json!({
            "groq": {"type": "api_key", "key": "k"}, "openai": {"type": "sk-1"}, "xai": {"type": "api_key"},
            "zai": "sk-2", "cerebras": {"type": "oauth", "access": "sk-3", "expires": "sk-4"}
        }),
    )
    .load(&[]);
    let path = config.directories.agent.join("auth.json");
    let path = path.display();
    let expected = ["openai", "xai", "zai", "cerebras"].map(|provider| {
        format!(
            "{path}: {provider}: expected {{\"type\": \"api_key\", \"key\": \"…\"}} or \
             {{\"type\": \"oauth\", \"access\": \"…\", \"expires\": …}}; the entry is left out"
        )
    });
    assert_eq!(config.warnings, expected);
    let configured = ["groq", "openai", "xai"].map(|provider| config.keys.is_configured(provider));
    assert_eq!(configured, [true, false, false]);

    let config = Home::new(&json!({"providers": {}}), &json!("sk-5")).load(&[]);
    let path = config.directories.agent.join("auth.json");
    assert_eq!(config.warnings, [format!("{}: expected an object; the file is left out", path.display())]);
}

/// A provider `x` with one model `q`, and more keys of each.
fn custom(provider: Value, model: Value) -> Value {
    let mut x = json!({"baseUrl": "http://x", "apiKey": "none", "api": "openai-completions", "models": [{"id": "q"}]});
    x["models"][0].as_object_mut().unwrap().extend(model.as_object().unwrap().clone());
    x.as_object_mut().unwrap().extend(provider.as_object().unwrap().clone());
    json!({"providers": {"x": x}})
}

/// A home directory with pi's files in it.
struct Home(tempfile::TempDir);

impl Home {
    fn new(models: &Value, auth: &Value) -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(home.0.path().join(".pi/agent")).unwrap();
        home.write("models.json", models);
        home.write("auth.json", auth);
        home
    }

    fn write(&self, file: &str, value: &Value) {
        fs::write(self.0.path().join(".pi/agent").join(file), value.to_string()).unwrap();
    }

    fn load(&self, environment: &[(&str, &str)]) -> Config {
        let home = [("HOME", self.0.path().to_str().unwrap())];
        let environment: Environment = environment.iter().copied().chain(home).collect();
        load(Sources {
            dialect: Dialect::Pi,
            working_directory: self.0.path().to_owned(),
            environment,
            approve: None,
        })
    }
}

fn model(config: &Config, name: &str) -> Model {
    let endpoint = config.models().into_iter().find(|endpoint| full_id(&endpoint.model) == name);
    endpoint.unwrap_or_else(|| panic!("{name}")).model
}
