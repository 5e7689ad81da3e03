//! Models and providers that are named and do not exist, or exist several times.

use crate::home_support::Home;
use pi_rpc::{
    config::{Config, CredentialError, SelectionOptions, catalogue::BUILT_IN, pattern::full_id, select},
    protocol::ThinkingLevel,
};

/// A model with an API that is not supported.
const LATER: &str = r#"{ "providers": { "later": {
    "baseUrl": "https://later.example", "apiKey": "key", "api": "later-api", "models": [{ "id": "balanced" }]
} } }"#;

#[test]
fn unsupported_api_is_named_with_model() {
    let config = Home::new([("models.json", LATER)]).load(&[]);
    let refused = |provider: Option<&str>, model: Option<&str>| {
        let [provider, model] = [provider, model].map(|it| it.map(str::to_owned));
        let wanted = SelectionOptions { provider, model, ..SelectionOptions::default() };
        select(&config, &wanted).unwrap_err().to_string()
    };
    let text = format!("Model \"later/balanced\" cannot be used. {}", unsupported("later-api"));
    let named = [(None, Some("later/balanced")), (Some("Later"), Some("balanced")), (Some("later"), None)];
    for (provider, model) in named {
        assert_eq!(refused(provider, model), text);
    }
    assert_eq!(
        select(&config, &SelectionOptions::default()).unwrap_err().to_string(),
        format!(
            "No models available.\n\nConfigured, but unusable:\n  later (models.json): {}\n\nSet an API key \
             environment variable:\n  ANTHROPIC_API_KEY, OPENAI_API_KEY, OPENROUTER_API_KEY, etc.\n\nOr create {}",
            unsupported("later-api"),
            config.directories.agent.join("models.json").display()
        )
    );
}

#[test]
fn unknown_saved_default_is_named() {
    let mut config = Home::new([("models.json", LATER)]).load(&[]);
    let wanted = SelectionOptions {
        model: Some("anthropic/claude-opus-4-6".to_owned()),
        ..SelectionOptions::default()
    };
    let unusable = format!(
        "The default model later/balanced of the settings cannot be used: {}",
        unsupported("later-api")
    );
    let unknown = "The default model google/gemini of the settings is not known here";
    for (provider, id, warning) in [("google", "gemini", unknown), ("later", "balanced", &unusable)] {
        config.settings.default_provider = Some(provider.to_owned());
        config.settings.default_model = Some(id.to_owned());
        assert_eq!(select(&config, &wanted).unwrap().warnings, [warning]);
    }
}

#[test]
fn provider_alone_starts_its_default_model() {
    let keys = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GROQ_API_KEY", "GEMINI_API_KEY"];
    let config = Home::new([]).load(&keys.map(|name| (name, "key")));
    for (provider, default) in [
        ("anthropic", "anthropic/claude-opus-5-5"),
        ("openai", "openai/gpt-6.2-sol"),
        ("OpenAI", "openai/gpt-6.2-sol"),
        ("groq", "groq/openai/gpt-oss-120b"),
        ("google", "google/gemini-4-argon"),
    ] {
        assert_eq!(start(&config, provider, None).unwrap(), default);
    }
    let mut saved = config.clone();
    saved.settings.default_provider = Some("openai".to_owned());
    saved.settings.default_model = Some("gpt-4o".to_owned());
    assert_eq!(start(&saved, "openai", None).unwrap(), "openai/gpt-4o");
    assert_eq!(start(&saved, "anthropic", None).unwrap(), "anthropic/claude-opus-5-5");
}

#[test]
fn provider_alone_needs_name_and_key() {
    let config = Home::new([]).load(&[("ANTHROPIC_API_KEY", "key")]);
    let unknown = "Unknown provider \"nobody\". Use --list-models to see available providers/models.";
    assert_eq!(start(&config, "nobody", None).unwrap_err(), unknown);
    let agent = config.directories.agent.display();
    let keyless = format!(
        "--provider groq: No API key found for groq.\n\nSet GROQ_API_KEY, or add it to {agent}/auth.json: \
         {{\"groq\": {{\"type\": \"api_key\", \"key\": \"…\"}}}}"
    );
    assert_eq!(start(&config, "groq", None).unwrap_err(), keyless);
    assert_eq!(start(&config, "groq", Some("key")).unwrap(), "groq/openai/gpt-oss-120b");
}

#[test]
fn id_of_several_providers_prefers_configured_one() {
    let id = "MiniMax-M2.7";
    for provider in ["minimax", "minimax-cn"] {
        let config = Home::new([]).load(&[(BUILT_IN.provider(provider).unwrap().env[0], "key")]);
        let leveled = format!("{id}:low");
        for (pattern, level) in [(id, None), (&*leveled, Some(ThinkingLevel::Low))] {
            let wanted = SelectionOptions { model: Some(pattern.to_owned()), ..SelectionOptions::default() };
            let selection = select(&config, &wanted).unwrap();
            let model = &selection.offers[selection.start].endpoint.model;
            assert_eq!(
                (&*model.provider, &*model.id, selection.named_level),
                (provider, id, level),
                "{pattern}"
            );
        }
    }
}

/// Nothing is configured.
/// The start model for `--provider` alone.
fn start(config: &Config, provider: &str, key: Option<&str>) -> Result<String, String> {
    let [provider, api_key] = [Some(provider), key].map(|it| it.map(str::to_owned));
    let wanted = SelectionOptions { provider, api_key, ..SelectionOptions::default() };
    let selection = select(config, &wanted).map_err(|refused| refused.to_string())?;
    Ok(full_id(&selection.offers[selection.start].endpoint.model))
}

fn unsupported(api: &str) -> String {
    CredentialError::Api(api.to_owned()).to_string()
}
