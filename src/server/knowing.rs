//! What extensions want to know and only the server does.

use super::{Library, models::SCRIPTED};
use crate::{
    config::Keys,
    engine::{CallId, Input},
    model::{http::DEFECT, request::Credentials},
    protocol::{ExtensionAnswer, ExtensionQuery, QueriedKey, QueryKind},
};
use serde_json::Value;

/// The answer to a query, or what it takes to find it.
pub enum Found {
    /// The answer.
    Now(Input),
    /// A key, which a command may have to print.
    Key(Looking),
}

/// A key that is looked for.
pub struct Looking {
    to: CallId,
    query: ExtensionQuery,
    keys: Keys,
}

/// Looks for what an extension wants to know.
pub fn find(library: &Library, to: CallId, query: ExtensionQuery) -> Found {
    let data = match query.about {
        QueryKind::ApiKey => return Found::Key(Looking { to, query, keys: library.keys() }),
        QueryKind::Models => serde_json::to_value(library.queried()).unwrap_or_default(),
        // The engine knows the rest.
        _ => library.settings(),
    };
    Found::Now(known(to, query.id, Ok(data)))
}

impl Looking {
    /// The answer where the search itself fails.
    pub fn lost(&self) -> Input {
        known(self.to, self.query.id.clone(), Err(format!("query: the key could not be found: {DEFECT}")))
    }

    /// Finds the key; may take a while.
    pub fn find(self) -> Input {
        let Self { to, query: ExtensionQuery { id, provider, model_id, .. }, keys } = self;
        let Some(provider) = provider else {
            return known(to, id, Err("query: provider: expected the name of a provider".to_owned()));
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
        known(to, id, told.map(|key| serde_json::to_value(key).unwrap_or_default()))
    }
}

fn known(to: CallId, id: String, found: Result<Value, String>) -> Input {
    let (data, error) = match found {
        Ok(data) => (Some(data), None),
        Err(error) => (None, Some(error)),
    };
    Input::QueryAnswered { to, answer: Box::new(ExtensionAnswer { id, data, error }) }
}
