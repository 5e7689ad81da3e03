//! What is known of models without any file.

use pi_rpc::{
    config::{Environment, Sources, catalogue::Catalogue, load, models_file, pattern::full_id},
    model::api::Api,
    protocol::{Dialect, ThinkingLevel},
};
use serde_json::Value;

const MODELS: &str = include_str!("../data/models.json");
const PROVIDERS: &str = include_str!("../data/providers.json");

#[test]
fn every_model_and_provider_of_the_data_is_read() {
    let catalogue = Catalogue::built_in();
    let data: Value = serde_json::from_str(MODELS).unwrap();
    let ids = data["providers"].as_object().unwrap().iter().flat_map(|(provider, models)| {
        let models = models.as_array().unwrap().iter();
        models.map(move |model| format!("{provider}/{}", model["id"].as_str().unwrap()))
    });
    let read: Vec<String> = catalogue.models.iter().map(|entry| full_id(&entry.model)).collect();
    assert_eq!(read, ids.collect::<Vec<_>>());
    let data: Value = serde_json::from_str(PROVIDERS).unwrap();
    let known: Vec<&String> = data["providers"].as_object().unwrap().keys().collect();
    assert_eq!(catalogue.providers.iter().map(|provider| &provider.id).collect::<Vec<_>>(), known);
    assert_eq!((catalogue.date.len(), catalogue.source.contains("pi-ai")), (10, true));
}

#[test]
fn models_are_such_as_this_program_can_ask() {
    for entry in &Catalogue::built_in().models {
        let model = &entry.model;
        let name = full_id(model);
        assert!(Api::parse(&model.api).is_some(), "{name}: {}", model.api);
        assert!(model.base_url.starts_with("https://"), "{name}: {}", model.base_url);
        assert!(!entry.levels.levels(model.reasoning).is_empty(), "{name} takes no level");
        assert!(model.context_window > 0 && model.max_tokens > 0, "{name}");
    }
}

#[test]
fn every_provider_with_models_has_a_key_variable_and_a_default() {
    let catalogue = Catalogue::built_in();
    let mut providers: Vec<&str> = catalogue.models.iter().map(|it| it.model.provider.as_str()).collect();
    providers.dedup();
    for id in providers {
        let provider = catalogue.provider(id).unwrap_or_else(|| panic!("{id}"));
        let has = |default: &String| {
            catalogue.models.iter().any(|it| it.model.provider == id && it.model.id == *default)
        };
        assert!(!provider.env.is_empty(), "{id}");
        assert!(provider.defaults.iter().any(has), "{id} has none of {:?}", provider.defaults);
    }
}

#[test]
fn a_model_that_decides_how_long_to_think_is_told_efforts() {
    let sources = Sources {
        dialect: Dialect::Pi,
        working_directory: "/nonexistent".into(),
        environment: Environment::default(),
    };
    let config = load(sources);
    let of = |name: &str| {
        let endpoint = config.models.iter().find(|endpoint| full_id(&endpoint.model) == name).unwrap();
        (endpoint.adaptive, endpoint.efforts.get(&ThinkingLevel::Xhigh).map(String::as_str))
    };
    assert_eq!(of("anthropic/claude-opus-4-6"), (true, Some("max")));
    assert_eq!(of("anthropic/claude-opus-4-7"), (true, Some("xhigh")));
    assert_eq!(of("anthropic/claude-haiku-4-5"), (false, None));
    assert_eq!(of("deepseek/deepseek-v4-pro"), (false, Some("max")));
}

#[test]
fn the_schema_of_models_json_is_valid_and_takes_the_built_in_models() {
    let schema: Value = serde_json::from_str(models_file::SCHEMA).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let data: Value = serde_json::from_str(MODELS).unwrap();
    for (provider, models) in data["providers"].as_object().unwrap() {
        let file = serde_json::json!({"providers": {provider.as_str(): {"models": models}}});
        assert!(validator.is_valid(&file), "{provider}");
    }
}
