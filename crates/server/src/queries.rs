//! Answers queries of extensions for models, settings and keys, which the engine does not have.

use super::{ModelLibrary, models::SCRIPTED};
use pi_rpc_config::Keys;
use pi_rpc_engine::{CallId, Input};
use pi_rpc_login as login;
use pi_rpc_model::request::Credentials;
use pi_rpc_model_http::http::{DEFECT, Http};
use pi_rpc_protocol::{ExtensionAnswer, ExtensionQuery, QueriedKey, QueryKind};
use serde_json::Value;
use std::sync::Arc;

/// The answer to a query, or a lookup that has to run elsewhere.
pub enum QueryAnswer {
    /// The answer, as an input of the engine.
    Ready(Input),
    /// A key, for which a command may have to run.
    Key(KeyLookup),
}

/// The lookup of a key for an extension.
pub struct KeyLookup {
    to: CallId,
    query: ExtensionQuery,
    keys: Keys,
    http: Arc<Http>,
}

/// Answers a query of an extension.
pub fn answer(library: &ModelLibrary, to: CallId, query: ExtensionQuery) -> QueryAnswer {
    let data = match query.about {
        QueryKind::ApiKey => {
            return QueryAnswer::Key(KeyLookup { to, query, keys: library.keys(), http: library.http() });
        }
        QueryKind::Models => serde_json::to_value(library.queried_models()).unwrap_or_default(),
        // The engine answers the others itself.
        _ => library.settings(),
    };
    QueryAnswer::Ready(answer_input(to, query.id, Ok(data)))
}

impl KeyLookup {
    /// The answer if the lookup panics.
    pub fn failure(&self) -> Input {
        answer_input(
            self.to,
            self.query.id.clone(),
            Err(format!("query: the key could not be found: {DEFECT}")),
        )
    }

    /// Renews the login that the key comes from, if it expires soon.
    ///
    /// # Errors
    ///
    /// The answer if there is no valid login.
    pub async fn refresh_login(&self) -> Result<(), Input> {
        let provider = self.query.provider.as_deref().unwrap_or_default();
        let renewed = login::refresh_expiring(&self.http, &self.keys, provider).await;
        renewed.map_err(|error| answer_input(self.to, self.query.id.clone(), Err(error.to_string())))
    }

    /// Resolves the key. Blocks while a command prints it.
    pub fn resolve(self) -> Input {
        let Self { to, query: ExtensionQuery { id, provider, model_id, .. }, keys, .. } = self;
        let Some(provider) = provider else {
            return answer_input(to, id, Err("query: provider: expected the name of a provider".to_owned()));
        };
        let found = match &*provider {
            // A script accepts any key.
            SCRIPTED => Ok((Credentials { key: Some(SCRIPTED.to_owned()), ..Credentials::default() }, false)),
            provider => {
                keys.extension_credentials(provider, model_id.as_deref()).map_err(|error| error.to_string())
            }
        };
        let data = found.map(|(Credentials { key, headers, .. }, is_login)| QueriedKey {
            api_key: key,
            headers: Some(headers.into_iter().collect()),
            is_o_auth: is_login.then_some(true),
        });
        answer_input(to, id, data.map(|key| serde_json::to_value(key).unwrap_or_default()))
    }
}

fn answer_input(to: CallId, id: String, found: Result<Value, String>) -> Input {
    let (data, error) = match found {
        Ok(data) => (Some(data), None),
        Err(error) => (None, Some(error)),
    };
    Input::QueryAnswered { to, answer: Box::new(ExtensionAnswer { id, data, error }) }
}
