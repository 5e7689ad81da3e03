//! Models and providers that are named and do not exist, or exist several times.

use crate::home_support::Home;
use pi_rpc::{
    config::{Config, SelectionOptions, catalogue::BUILT_IN, pattern::full_id, select},
    protocol::ThinkingLevel,
};

#[test]
fn provider_without_models_is_no_router() {
    let text = "Provider \"amazon-bedrock\" has no models here: this version cannot ask them (bedrock-converse-stream).\n\
                Models of your own can be defined for it in models.json, with another api.";
    for (provider, model) in [(None, "amazon-bedrock/nova"), (Some("Amazon-Bedrock"), "nova")] {
        let provider = provider.map(str::to_owned);
        let wanted =
            SelectionOptions { provider, model: Some(model.to_owned()), ..SelectionOptions::default() };
        assert_eq!(select(&config(), &wanted).unwrap_err().to_string(), text);
    }
}

#[test]
fn unknown_saved_default_is_named() {
    let mut config = config();
    config.settings.default_provider = Some("google".to_owned());
    config.settings.default_model = Some("gemini".to_owned());
    let wanted = SelectionOptions {
        model: Some("anthropic/claude-opus-4-6".to_owned()),
        ..SelectionOptions::default()
    };
    let selection = select(&config, &wanted).unwrap();
    assert_eq!(selection.warnings, ["The default model google/gemini of the settings is not known here"]);
}

#[test]
fn provider_alone_starts_its_default_model() {
    let config = Home::new([]).load(&[("ANTHROPIC_API_KEY", "a"), ("OPENAI_API_KEY", "o")]);
    let start = |config: &Config, provider: &str| {
        let wanted = SelectionOptions { provider: Some(provider.to_owned()), ..SelectionOptions::default() };
        let selection = select(config, &wanted).map_err(|refused| refused.to_string())?;
        Ok::<_, String>(full_id(&selection.offers[selection.start].endpoint.model))
    };
    let defaults = |provider: &str| BUILT_IN.provider(provider).unwrap().defaults;
    for provider in ["anthropic", "openai", "OpenAI", "groq", "google", "mistral"] {
        let name = provider.to_lowercase();
        let started = start(&config, provider).unwrap();
        let expected: Vec<String> = defaults(&name).iter().map(|id| format!("{name}/{id}")).collect();
        assert!(expected.contains(&started), "{provider}: {started} of {expected:?}");
    }
    let mut saved = config.clone();
    saved.settings.default_provider = Some("openai".to_owned());
    saved.settings.default_model = Some("gpt-4o".to_owned());
    assert_eq!(start(&saved, "openai").unwrap(), "openai/gpt-4o");
    assert!(start(&saved, "anthropic").unwrap().starts_with("anthropic/"));
    let unknown = "Unknown provider \"nobody\". Use --list-models to see available providers/models.";
    assert_eq!(start(&config, "nobody").unwrap_err(), unknown);
    assert!(
        start(&config, "amazon-bedrock")
            .unwrap_err()
            .starts_with("Provider \"amazon-bedrock\" has no models here")
    );
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
fn config() -> Config {
    Home::new([]).load(&[])
}
