//! What configured keys and headers come to, and the secrets that are learnt from them.

use super::Keys;
use crate::{
    credential_error::CredentialError,
    models_file::ProviderKeys,
    value::{interpolate, resolve},
};
use pi_rpc_protocol::JsonObject;

/// Headers without keys that errors are about. Any other may hold one.
const PUBLIC_HEADERS: [&str; 9] = [
    "accept",
    "anthropic-beta",
    "anthropic-version",
    "content-type",
    "http-referer",
    "openai-organization",
    "openai-project",
    "user-agent",
    "x-title",
];

impl Keys {
    pub(super) fn secret(&self, text: &str, what: impl Fn() -> String) -> Result<String, CredentialError> {
        self.resolve(text, what).inspect(|value| self.secrets.remember(value))
    }

    pub(super) fn headers(
        &self,
        configured: &JsonObject,
        of: &str,
    ) -> Result<Vec<(String, String)>, CredentialError> {
        let texts = configured.iter().filter_map(|(name, value)| Some((name, value.as_str()?)));
        let resolved = texts.map(|(name, text)| {
            let what = || format!("{of} header {name:?}");
            let value =
                if is_public_header(name) { self.resolve(text, what) } else { self.secret(text, what) };
            Ok((name.clone(), value?))
        });
        resolved.collect()
    }

    pub(super) fn resolve(&self, text: &str, what: impl Fn() -> String) -> Result<String, CredentialError> {
        if self.withholds_commands && text.starts_with('!') {
            return Err(CredentialError::Unapproved { what: what() });
        }
        if self.interpolates && !text.starts_with('!') {
            return interpolate(text, &self.environment)
                .map_err(|name| CredentialError::Variable { what: what(), name });
        }
        resolve(text, &self.environment, &self.commands).ok_or_else(|| CredentialError::Command {
            what: what(),
            command: program_of(text.trim_start_matches('!')),
        })
    }

    /// Adds every possible key of a provider to the secrets.
    pub(super) fn learn_provider_secrets(&self, provider: &ProviderKeys) {
        let overrides = provider.model_overrides.values().filter_map(|over| over.get("headers")?.as_object());
        let headers = provider.models.iter().map(|model| &model.headers).chain([&provider.headers]);
        let headers = headers.chain(overrides).flatten().filter(|(name, _)| !is_public_header(name));
        let headers = headers.filter_map(|(_, value)| value.as_str());
        provider.api_key.as_deref().into_iter().chain(headers).for_each(|text| self.learn_secret(text));
        let own = provider.models.iter().filter_map(|model| model.base_url.as_ref());
        provider.base_url.iter().chain(own).for_each(|url| self.secrets.remember_url(url));
    }

    /// Adds a configured key to the secrets, and withholds the variables that hold it.
    pub(crate) fn learn_secret(&self, text: &str) {
        if text.starts_with('!') {
            return;
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let named = text.split('$').skip(1).map(|part| part.trim_start_matches('{'));
        let named = named.map(|part| &part[..part.find(|c| !is_name(c)).unwrap_or(part.len())]);
        let mut is_text = true;
        for name in named.chain([text]) {
            let Some(value) = self.environment.get(name) else { continue };
            is_text = false;
            if self.secrets.withhold(name) {
                self.secrets.remember(value);
            }
        }
        if is_text {
            self.secrets.remember(text);
        }
    }
}

fn is_public_header(header: &str) -> bool {
    PUBLIC_HEADERS.contains(&header.to_ascii_lowercase().as_str())
}

/// The program of a command, without its arguments.
fn program_of(command: &str) -> String {
    match command.trim().split_once(char::is_whitespace) {
        Some((program, _)) if !program.contains('=') => format!("{program} …"),
        None if !command.contains('=') => command.trim().to_owned(),
        _ => "…".to_owned(),
    }
}
