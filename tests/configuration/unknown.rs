//! Models of providers that pi knows and this program cannot ask.

use pi_rpc::{
    config::{Config, Environment, Sources, Wanted, load, select},
    protocol::Dialect,
};

#[test]
fn a_provider_without_models_here_is_not_mistaken_for_a_router() {
    let text = "Provider \"google\" has no models here: this version cannot ask them (google-generative-ai).\n\
                Models of your own can be defined for it in models.json, with another api.";
    for (provider, model) in [(None, "google/gemini-2.5-pro"), (Some("Google"), "gemini-2.5-pro")] {
        let provider = provider.map(str::to_owned);
        let wanted = Wanted { provider, model: Some(model.to_owned()), ..Wanted::default() };
        assert_eq!(select(&config(), &wanted).unwrap_err().to_string(), text);
    }
}

#[test]
fn a_saved_default_that_does_not_exist_here_is_named() {
    let mut config = config();
    config.settings.default_provider = Some("google".to_owned());
    config.settings.default_model = Some("gemini".to_owned());
    let wanted = Wanted { model: Some("anthropic/claude-opus-4-6".to_owned()), ..Wanted::default() };
    let selection = select(&config, &wanted).unwrap();
    assert_eq!(selection.warnings, ["The default model google/gemini of the settings is not known here"]);
}

/// Nothing is configured.
fn config() -> Config {
    let environment = Environment::default();
    load(Sources {
        dialect: Dialect::Pi,
        working_directory: "/nonexistent".into(),
        environment,
        approve: None,
    })
}
