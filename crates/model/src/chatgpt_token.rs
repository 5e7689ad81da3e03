//! The account that a token of ChatGPT names.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::Value;

/// The claim in which OpenAI's tokens name the account.
const OPENAI_CLAIM: &str = "https://api.openai.com/auth";

/// The id of the ChatGPT account that an access token of OpenAI belongs to. `None`: it is no JSON Web Token, or names
/// no account.
pub fn chatgpt_account(token: &str) -> Option<String> {
    let parts: Vec<&str> = token.split('.').collect();
    let [_, payload, _] = parts[..] else { return None };
    let claims = URL_SAFE_NO_PAD.decode(payload.trim_end_matches('=')).ok()?;
    let claims: Value = serde_json::from_slice(&claims).ok()?;
    let account = claims[OPENAI_CLAIM]["chatgpt_account_id"].as_str()?;
    Some(account.to_owned()).filter(|account| !account.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn account_is_read_from_whole_tokens() {
        let token = |claims: &Value| format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(claims.to_string()));
        let account = |id: &str| json!({ "name": "ü?>", OPENAI_CLAIM: { "chatgpt_account_id": id } });
        assert_eq!(chatgpt_account(&token(&account("a-1"))), Some("a-1".to_owned()));
        let cut = token(&account("a-1")).trim_end_matches(".c2ln").to_owned();
        let without = [token(&account("")), token(&json!({})), cut, "sk-key".to_owned(), "a.*.b".to_owned()];
        assert_eq!(without.map(|token| chatgpt_account(&token)), [const { None }; 5]);
    }
}
