//! Credentials, and the models that can be used.

use super::{Check, State};
use crate::cli::models::{auth, keyless_providers, unusable_groups};
use pi_rpc_config::{
    self as config, Config, CredentialSource, SelectionError, SelectionOptions, pattern::full_id,
};
use pi_rpc_model::request::Endpoint;
use serde_json::{Value, json};

/// Checks credentials, models and the model that a session starts with.
pub fn check(config: &Config) -> Vec<Check> {
    let all = config.models();
    let (usable, unusable): (Vec<&Endpoint>, Vec<&Endpoint>) =
        all.iter().partition(|endpoint| config.keys.check(&endpoint.model).is_ok());
    let mut checks = vec![start(config, usable.len())];
    checks.extend(auth::sources(config).into_iter().map(|(provider, source)| {
        let usable = usable.iter().filter(|endpoint| endpoint.model.provider == provider).count();
        credential(&provider, &source, usable)
    }));
    checks.extend(
        unusable_groups(&config.keys, &unusable).into_iter().map(|(name, reason)| {
            Check::new(State::Note, "models", format!("{name} cannot be used: {reason}"))
        }),
    );
    let keyless = keyless_providers(&config.keys, &unusable);
    if !keyless.is_empty() {
        let text = format!("{} providers have no key", keyless.len());
        let help = "pi-rpc models lists the variable of each; pi-rpc login stores a key or a login";
        checks.push(Check::new(State::Note, "models", text).with_help(help));
    }
    checks
}

/// Providers without a credential, and the variables that would set one.
pub fn without_key(config: &Config) -> Vec<Value> {
    let all = config.models();
    let all: Vec<&Endpoint> = all.iter().collect();
    let providers = keyless_providers(&config.keys, &all).into_iter().map(|(provider, models)| {
        json!({ "provider": provider, "models": models, "variables": config.keys.variables(provider) })
    });
    providers.collect()
}

fn start(config: &Config, usable: usize) -> Check {
    match config::select(config, &SelectionOptions::default()) {
        Ok(selection) => {
            let model = full_id(&selection.offers[selection.start].endpoint.model);
            let text = format!("{usable} can be used; a session starts with {model}");
            match &selection.warnings[..] {
                [] => Check::new(State::Ok, "models", text),
                warnings => Check::new(State::Note, "models", text).with_help(warnings.join("\n")),
            }
        }
        Err(SelectionError::NoModels { unusable, models_file }) => {
            let help = format!(
                "{}set the variable of a provider (ANTHROPIC_API_KEY, OPENAI_API_KEY, …), log in (pi-rpc login), or write {models_file}",
                unusable.trim_start()
            );
            Check::new(State::Broken, "models", "none can be used").with_help(help)
        }
        Err(error) => Check::new(State::Broken, "models", error.to_string()),
    }
}

fn credential(provider: &str, source: &CredentialSource, usable: usize) -> Check {
    let (kind, place) = (auth::kind_text(source.kind), auth::place_text(&source.place));
    let text = format!("{provider}: {kind} from {place}, {usable} models");
    Check::new(if usable == 0 { State::Broken } else { State::Ok }, "credentials", text)
}
