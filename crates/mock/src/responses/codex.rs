//! Rules of Responses with the login of a ChatGPT account, beyond those of OpenAI.

use crate::{
    fault::{Fault, PathStep, Problem},
    refusal::VendorRefusal,
};
use pi_rpc_model::chatgpt_token::chatgpt_account;

/// Checks that the token is one of a login, and that `account` is the one that it belongs to.
pub fn check_token(token: &str, account: &str) -> Result<(), VendorRefusal> {
    let refused = |message: &str| Err(VendorRefusal::of(401, "", message));
    match chatgpt_account(token) {
        None if token.trim().is_empty() => refused("Unauthorized"),
        None => refused("Could not parse your authentication token. Please try signing in again."),
        Some(own) if own == account => Ok(()),
        Some(_) => refused("The account of the token is not that of chatgpt-account-id"),
    }
}

/// Words the first fault of a body by the schema of this server.
pub fn check(fault: Option<Fault>) -> Result<(), VendorRefusal> {
    let Some(fault) = fault else { return Ok(()) };
    let names = fault.path.iter().filter_map(|step| match step {
        PathStep::Key(name) => Some(name.as_str()),
        PathStep::Index(_) | PathStep::Branch(_) => None,
    });
    let names: Vec<&str> = names.collect();
    let message = match names[..] {
        ["instructions"] => "Instructions are required".to_owned(),
        ["store"] => "Store must be set to false".to_owned(),
        ["stream"] => "Stream must be set to true".to_owned(),
        ["input", "role"] => "System messages are not allowed".to_owned(),
        [name, ..] if fault.problem == Problem::Missing => format!("Missing required parameter: {name}"),
        [name, ..] => format!("Unsupported parameter: {name}"),
        [] => "Invalid request".to_owned(),
    };
    Err(VendorRefusal::of(400, "", message))
}
