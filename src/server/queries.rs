//! What extensions want to know and only the server does.

use super::{ModelLibrary, models::SCRIPTED};
use crate::{
    config::Keys,
    engine::{CallId, Input},
    model::{http::DEFECT, request::Credentials},
    protocol::{ExtensionAnswer, ExtensionQuery, QueriedKey, QueryKind},
};
use serde_json::Value;

/// The answer to a query, or what it takes to find it.
pub enum QueryAnswer {
    /// The answer.
    Ready(Input),
    /// A key, which a command may have to print.
    Key(KeyLookup),
}

/// A key that is looked for.
pub struct KeyLookup {
    to: CallId,
    query: ExtensionQuery,
    keys: Keys,
}

/// Looks for what an extension wants to know.
pub fn answer(library: &ModelLibrary, to: CallId, query: ExtensionQuery) -> QueryAnswer {
    let data = match query.about {
        QueryKind::ApiKey => return QueryAnswer::Key(KeyLookup { to, query, keys: library.keys() }),
        QueryKind::Models => serde_json::to_value(library.queried_models()).unwrap_or_default(),
        // The engine knows the rest.
        _ => library.settings(),
    };
    QueryAnswer::Ready(answer_input(to, query.id, Ok(data)))
}

impl KeyLookup {
    /// The answer where the search itself fails.
    pub fn failure(&self) -> Input {
        answer_input(
            self.to,
            self.query.id.clone(),
            Err(format!("query: the key could not be found: {DEFECT}")),
        )
    }

    /// Finds the key; may take a while.
    pub fn resolve(self) -> Input {
        let Self { to, query: ExtensionQuery { id, provider, model_id, .. }, keys } = self;
        let Some(provider) = provider else {
            return answer_input(to, id, Err("query: provider: expected the name of a provider".to_owned()));
        };
        let found = match &*provider {
            // A script takes any.
            SCRIPTED => Ok((Credentials { key: Some(SCRIPTED.to_owned()), ..Credentials::default() }, false)),
            provider => {
                keys.extension_credentials(provider, model_id.as_deref()).map_err(|error| error.to_string())
            }
        };
        let told = found.map(|(Credentials { key, headers, .. }, is_login)| QueriedKey {
            api_key: key,
            headers: Some(headers.into_iter().collect()),
            is_o_auth: is_login.then_some(true),
        });
        answer_input(to, id, told.map(|key| serde_json::to_value(key).unwrap_or_default()))
    }
}

fn answer_input(to: CallId, id: String, found: Result<Value, String>) -> Input {
    let (data, error) = match found {
        Ok(data) => (Some(data), None),
        Err(error) => (None, Some(error)),
    };
    Input::Known { to, answer: Box::new(ExtensionAnswer { id, data, error }) }
}
