//! Credentials of providers, and the errors where there are none.

use crate::home_support::{Home, configured, endpoint};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use pi_rpc::{
    config::{Config, Environment, Keys, SelectionOptions, select},
    model::{api::Api, request::Credentials},
    protocol::{Dialect, Model},
};
use serde_json::{Value, json};
use std::{
    fs, thread,
    time::{Duration, Instant},
};

/// Longer than anything takes that works.
const PATIENCE: Duration = Duration::from_secs(120);

#[test]
fn key_sources_have_an_order() {
    let models = json!({"providers": {"groq": {"baseUrl": "http://x", "apiKey": "of-models-json"}}});
    let auth = json!({"groq": {"type": "api_key", "key": "of-auth-json"}});
    let environment = [("GROQ_API_KEY", "of-the-environment")];
    let key = |keys: &Keys, config: &Config| {
        keys.credentials(&model(config, "groq/openai/gpt-oss-120b")).unwrap().key.unwrap()
    };
    let all = configured(&models, &auth, &environment);
    let wanted = SelectionOptions {
        model: Some("groq/openai/gpt-oss-120b".to_owned()),
        api_key: Some("of-the-command-line".to_owned()),
        ..SelectionOptions::default()
    };
    assert_eq!(key(&select(&all, &wanted).unwrap().keys, &all), "of-the-command-line");
    assert_eq!(key(&all.keys, &all), "of-auth-json");
    let without = configured(&models, &json!({}), &environment);
    assert_eq!(key(&without.keys, &without), "of-the-environment");
    let without = configured(&models, &json!({}), &[]);
    assert_eq!(key(&without.keys, &without), "of-models-json");
}

#[test]
fn auth_token_goes_into_authorization() {
    let environment = [("ANTHROPIC_AUTH_TOKEN", "token"), ("ANTHROPIC_API_KEY", "key")];
    let config = configured(&none(), &json!({}), &environment);
    let found = config.keys.credentials(&model(&config, "anthropic/claude-opus-4-6")).unwrap();
    let header = ("authorization".to_owned(), "Bearer token".to_owned());
    assert_eq!((found.key, found.headers), (None, vec![header]));
    let stored = json!({"anthropic": {"type": "api_key", "key": "stored"}});
    let config = configured(&none(), &stored, &environment);
    let found = config.keys.credentials(&model(&config, "anthropic/claude-opus-4-6")).unwrap();
    assert_eq!((found.key.as_deref(), found.headers), (Some("stored"), vec![]));
}

#[test]
fn login_is_used_until_it_expires() {
    let config = configured(
        &none(),
        &json!({
            "anthropic": {"type": "oauth", "access": "token", "refresh": "r", "expires": 4e12},
            "groq": {"type": "oauth", "access": "token", "refresh": "r", "expires": 1e12},
            "openai": {"type": "oauth", "access": "token", "expires": 1e12}
        }),
        &[("GROQ_API_KEY", "key")],
    );
    let token = Credentials { key: Some("token".to_owned()), ..Credentials::default() };
    assert_eq!(config.keys.credentials(&model(&config, "anthropic/claude-opus-4-6")), Ok(token));
    let error = |name: &str| config.keys.credentials(&model(&config, name)).unwrap_err().to_string();
    let expired = |provider: &str| {
        format!("The login of {provider} in {}/auth.json has expired", config.directories.agent.display())
    };
    assert_eq!(
        [error("groq/openai/gpt-oss-120b"), error("openai/gpt-5.4")],
        [
            format!(
                "{}, and pi-rpc does not know how to renew it.\n\nLog in again with the program that made it, or use an \
                 API key.",
                expired("groq")
            ),
            format!(
                "{}, and it holds nothing to renew it with.\n\nLog in again: pi-rpc login openai",
                expired("openai")
            ),
        ]
    );
    let selection = select(&config, &SelectionOptions::default()).unwrap();
    let offers =
        selection.offers.iter().map(|offer| (offer.endpoint.model.provider.as_str(), offer.usable.is_ok()));
    let mut offers: Vec<_> = offers.collect();
    offers.dedup();
    assert_eq!(offers, [("anthropic", true), ("groq", false), ("openai", false)]);
}

#[test]
fn value_is_command_variable_or_text() {
    let headers =
        json!({"x-command": "!printf ' out '; echo err >&2", "x-variable": "NAME", "x-text": "UNSET"});
    let models =
        custom(json!({"headers": headers, "apiKey": "!echo key"}), json!({"headers": {"x-text": "own"}}));
    let config = configured(&models, &json!({}), &[("NAME", "value"), ("UNSET", "")]);
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let expected = Credentials {
        key: Some("key".to_owned()),
        headers: vec![
            header("x-command", "out"),
            header("x-variable", "value"),
            header("x-text", "UNSET"),
            header("x-text", "own"),
        ],
        ..Credentials::default()
    };
    assert_eq!(config.keys.credentials(&model(&config, "x/q")), Ok(expected));
}

#[test]
fn only_dollar_names_variables_in_pi_1() {
    let headers = json!({"x-bare": "NAME", "x-named": "$NAME", "x-braces": "a ${NAME} ${a-b} $5"});
    let models = custom(json!({"headers": headers, "apiKey": "MYK"}), json!({})).to_string();
    let home = Home::new([("models.json", &*models)]);
    let config = home.load_as(Dialect::Pi1, &[("NAME", "value"), ("MYK", "other")]);
    let found = config.keys.credentials(&model(&config, "x/q")).unwrap();
    let headers: Vec<&str> = found.headers.iter().map(|(_, value)| value.as_str()).collect();
    assert_eq!((found.key.as_deref(), headers), (Some("MYK"), vec!["NAME", "value", "a value ${a-b} $5"]));
}

#[test]
fn key_command_runs_once_on_request() {
    let home = Home::new([]);
    let count = home.path().join("count");
    let key = format!("!echo run >> {}; wc -l < {}", count.display(), count.display());
    home.write("models.json", &custom(json!({"apiKey": key, "authHeader": true}), json!({})).to_string());
    let config = home.load(&[]);
    let selection = select(&config, &SelectionOptions::default()).unwrap();
    assert_eq!((selection.offers.len(), selection.offers[0].usable.clone()), (1, Ok(())));
    assert!(!count.exists());
    let expected = Credentials { key: Some("1".to_owned()), bearer: true, ..Credentials::default() };
    for keys in [&selection.keys, &config.keys, &selection.keys] {
        assert_eq!(keys.credentials(&model(&config, "x/q")), Ok(expected.clone()));
    }
}

#[test]
fn failed_key_command_is_an_error() {
    let endless = "!head -c 2000000 /dev/zero | tr '\\0' k";
    for (command, shown) in [
        ("!exit 3", "exit …"),
        ("!echo key; exit 3", "echo …"),
        ("!true", "true"),
        ("!KEY=k false", "…"),
        (endless, "head …"),
    ] {
        let config = configured(&custom(json!({"apiKey": command}), json!({})), &json!({}), &[]);
        let error = config.keys.credentials(&model(&config, "x/q")).unwrap_err().to_string();
        assert_eq!(
            error,
            format!("Failed to resolve API key for provider \"x\" from shell command: {shown}")
        );
    }
}

#[test]
#[ignore = "takes ten seconds"]
fn slow_key_command_is_killed() {
    let home = Home::new([]);
    let pid = home.path().join("pid");
    // It cannot stay longer by saying that nothing more will come.
    let key = format!("!exec >&-; echo $$ > {}; exec sleep 600", pid.display());
    home.write("models.json", &custom(json!({"apiKey": key}), json!({})).to_string());
    let config = home.load(&[]);
    assert!(config.keys.credentials(&model(&config, "x/q")).is_err());
    let pid = fs::read_to_string(pid).unwrap();
    let deadline = Instant::now() + PATIENCE;
    // Gone, or dead and not waited for.
    while fs::read_to_string(format!("/proc/{}/stat", pid.trim())).is_ok_and(|stat| !stat.contains(") Z ")) {
        assert!(Instant::now() < deadline, "the command goes on");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn keys_stay_out_of_logs() {
    let auth = json!({"groq": {"type": "api_key", "key": "secret-1"}});
    let models = custom(json!({"apiKey": "secret-2", "headers": {"a": "secret-3"}}), json!({}));
    let config = configured(&models, &auth, &[("OPENAI_API_KEY", "secret-4")]);
    let wanted = SelectionOptions {
        model: Some("x/q".to_owned()),
        api_key: Some("secret-5".to_owned()),
        ..SelectionOptions::default()
    };
    let selection = select(&config, &wanted).unwrap();
    let printed = format!("{config:?} {selection:?} {:?}", Environment::from_iter([("A", "secret-6")]));
    assert!(!printed.contains("secret"), "{printed}");
}

#[test]
fn missing_key_is_explained() {
    let config = configured(&none(), &json!({}), &[]);
    let error =
        config.keys.credentials(&model(&config, "anthropic/claude-opus-4-6")).unwrap_err().to_string();
    let agent = config.directories.agent.display();
    assert_eq!(
        error,
        format!(
            "No API key found for anthropic.\n\nSet ANTHROPIC_AUTH_TOKEN or ANTHROPIC_OAUTH_TOKEN or ANTHROPIC_API_KEY, or add it to \
             {agent}/auth.json: {{\"anthropic\": {{\"type\": \"api_key\", \"key\": \"…\"}}}}"
        )
    );
}

#[test]
fn google_account_needs_file_and_place() {
    let home = Home::new([]);
    home.write("account.json", "{}");
    let file = home.agent().join("account.json").display().to_string();
    let all = [
        ("GOOGLE_APPLICATION_CREDENTIALS", &*file),
        ("GCLOUD_PROJECT", "p"),
        ("GOOGLE_CLOUD_LOCATION", "global"),
    ];
    let usable = |environment: &[(&str, &str)], auth: &Value| {
        home.write("auth.json", &auth.to_string());
        let config = home.load(environment);
        let credentials = config.keys.credentials(&model(&config, "google-vertex/gemini-2.5-pro"));
        credentials.map(|credentials| credentials.variable("GOOGLE_CLOUD_LOCATION").map(str::to_owned))
    };
    let none = json!({});
    assert_eq!(usable(&all, &none), Ok(Some("global".to_owned())));
    for missing in 0..all.len() {
        let few: Vec<_> =
            all.iter().enumerate().filter(|(at, _)| *at != missing).map(|(_, pair)| *pair).collect();
        let error = usable(&few, &none).unwrap_err().to_string();
        assert!(error.contains("set GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION"), "{error}");
    }
    // A login of pi may hold them.
    let env = json!({
        "GOOGLE_APPLICATION_CREDENTIALS": file, "GOOGLE_CLOUD_PROJECT": "q", "GOOGLE_CLOUD_LOCATION": "eu",
    });
    let login = json!({ "google-vertex": { "type": "api_key", "env": env } });
    assert_eq!(usable(&[("GOOGLE_CLOUD_LOCATION", "global")], &login), Ok(Some("eu".to_owned())));
}

#[test]
fn variables_of_login_precede_environment() {
    let models = custom(json!({"api": "azure-openai-responses", "baseUrl": "http://x"}), json!({}));
    let auth = json!({"x": {
        "type": "api_key", "key": "k", "env": {"AZURE_OPENAI_RESOURCE_NAME": "mine", "AZURE_OPENAI_BASE_URL": ""},
    }});
    let environment = [
        ("AZURE_OPENAI_RESOURCE_NAME", "other"),
        ("AZURE_OPENAI_BASE_URL", "http://base"),
        ("AWS_REGION", "of-another-api"),
    ];
    let config = configured(&models, &auth, &environment);
    let credentials = config.keys.credentials(&model(&config, "x/q")).unwrap();
    let expected = [("AZURE_OPENAI_BASE_URL", "http://base"), ("AZURE_OPENAI_RESOURCE_NAME", "mine")];
    let variables: Vec<_> =
        credentials.variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    assert_eq!((credentials.key.as_deref(), variables), (Some("k"), expected.to_vec()));
    // A login of variables alone leaves the key to the other sources.
    let auth = json!({"x": {"type": "api_key", "env": {"AZURE_OPENAI_RESOURCE_NAME": "mine"}}});
    let config = configured(&models, &auth, &[]);
    assert_eq!(config.warnings, Vec::<String>::new());
    let credentials = config.keys.credentials(&model(&config, "x/q")).unwrap();
    assert_eq!(credentials.key.as_deref(), Some("none"));
}

#[test]
fn cloudflare_account_comes_from_the_login() {
    let auth = json!({"cloudflare-ai-gateway": {
        "type": "api_key", "key": "k", "env": {"CLOUDFLARE_ACCOUNT_ID": "mine", "CLOUDFLARE_GATEWAY_ID": "gate"},
    }});
    let environment = [("CLOUDFLARE_ACCOUNT_ID", "other")];
    let config = configured(&json!({}), &auth, &environment);
    let model = model(&config, "cloudflare-ai-gateway/workers-ai/@cf/moonshotai/kimi-k2.7-code");
    assert!(config.keys.is_offered(&model) && config.keys.check(&model).is_ok());
    let address = config.keys.address(&model);
    assert!(address.starts_with("https://gateway.ai.cloudflare.com/v1/mine/gate"), "{address}");
    let missing = configured(
        &json!({}),
        &json!({"cloudflare-ai-gateway": {"type": "api_key", "key": "k"}}),
        &environment,
    );
    assert!(!missing.keys.is_offered(&model));
}

#[test]
fn model_without_azure_resource_is_unusable() {
    let models = custom(json!({"api": "azure-openai-responses", "baseUrl": " "}), json!({}));
    let config = configured(&models, &json!({}), &[]);
    let error = select(&config, &SelectionOptions::default()).unwrap_err().to_string();
    assert!(error.contains("x (models.json): No Azure resource is configured."), "{error}");
    let error = config.keys.credentials(&model(&config, "x/q")).unwrap_err().to_string();
    assert!(error.contains("Set AZURE_OPENAI_BASE_URL or AZURE_OPENAI_RESOURCE_NAME"), "{error}");
}

#[test]
fn chatgpt_account_comes_from_token() {
    let claims = json!({"https://api.openai.com/auth": {"chatgpt_account_id": "account"}}).to_string();
    let token = format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(claims));
    let models = custom(json!({"api": "openai-codex-responses", "apiKey": token}), json!({}));
    let config = configured(&models, &json!({}), &[]);
    let credentials = config.keys.credentials(&model(&config, "x/q")).unwrap();
    assert_eq!(credentials.account.as_deref(), Some("account"));
    let config = configured(&models, &json!({"x": {"type": "api_key", "key": "sk-proj"}}), &[]);
    let error = config.keys.credentials(&model(&config, "x/q")).unwrap_err().to_string();
    assert!(
        error.starts_with("The token of x names no ChatGPT account: ") && !error.contains("sk-"),
        "{error}"
    );
}

#[test]
fn unsupported_api_is_refused_before_requests() {
    let models = custom(json!({"api": "some-other-api"}), json!({}));
    let config = configured(&models, &json!({}), &[]);
    let endpoint = config.models_of(|name| name == "x").remove(0);
    let error = config.keys.credentials(&endpoint.model).unwrap_err();
    let apis = Api::ALL.map(Api::as_str).join(", ");
    let reason = format!("The API \"some-other-api\" is not supported by this version; supported: {apis}.");
    assert_eq!(error.to_string(), reason);
    let selection = select(&config, &SelectionOptions::default());
    assert!(selection.unwrap_err().to_string().contains(&format!("x (models.json): {reason}")));
}

#[test]
fn invalid_auth_entry_is_named_without_keys() {
    let config = configured(
        &none(),
        &json!({
            "groq": {"type": "api_key", "key": "k"}, "openai": {"type": "sk-1"}, "xai": {"type": "api_key"},
            "zai": "sk-2", "cerebras": {"type": "oauth", "access": "sk-3", "expires": "sk-4"}
        }),
        &[],
    );
    let path = config.directories.agent.join("auth.json");
    let path = path.display();
    let expected = ["openai", "xai", "zai", "cerebras"].map(|provider| {
        format!(
            "{path}: {provider}: expected {{\"type\": \"api_key\", \"key\": \"…\"}} or \
             {{\"type\": \"oauth\", \"access\": \"…\", \"expires\": …}}; the entry is left out"
        )
    });
    assert_eq!(config.warnings, expected);
    let keyed = ["groq", "openai", "xai"].map(|provider| config.keys.is_configured(provider));
    assert_eq!(keyed, [true, false, false]);

    let config = configured(&none(), &json!("sk-5"), &[]);
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

fn model(config: &Config, name: &str) -> Model {
    endpoint(config, name).model
}

/// No providers in `models.json`, or no keys in `auth.json`.
fn none() -> Value {
    json!({"providers": {}})
}
