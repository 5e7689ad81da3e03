//! The models that an account may use, as its provider lists them (GitHub Copilot): read after a login and after each
//! refresh. A login also accepts the terms of models that the account has neither accepted nor refused yet.
//!
//! Source: pi 1.5.2.

use super::{
    client::{Answer, FlowError, send},
    request::Names,
};
use pi_rpc_config::{
    catalogue::BUILT_IN,
    login_base_url,
    login_kinds::{AVAILABLE, AccountModels, LoginKind},
};
use pi_rpc_model_http::http::Http;
use pi_rpc_protocol::JsonObject;
use serde_json::{Value, json};

/// The address whose accounts may have models without a place in the list for people.
const OF_INDIVIDUALS: &str = "https://api.individual.githubcopilot.com";

/// The models of an account.
#[derive(Debug, PartialEq, Eq)]
struct ListedModels {
    /// Can be used.
    available: Vec<String>,
    /// Can be used once their terms are accepted.
    unanswered: Vec<String>,
}

/// Adds the models of the account to an entry of `auth.json`. `enables`: accepts the terms of those that wait for it.
///
/// # Errors
///
/// The provider refuses the list, or cannot be reached.
pub async fn add_account_models(
    http: &Http,
    kind: &LoginKind,
    names: &Names,
    mut entry: JsonObject,
    enables: bool,
) -> Result<JsonObject, FlowError> {
    let Some(models) = &kind.account_models else { return Ok(entry) };
    let Some(base) = login_base_url(kind, &entry) else { return Ok(entry) };
    let mut names = names.clone();
    names.set("apiBase", &base);
    names.set_secret("access", entry.get("access").and_then(Value::as_str).unwrap_or_default());
    let answer = send(http, &models.list, &names).await?;
    if !(200..300).contains(&answer.status) {
        return Err(answer.refusal());
    }
    let mut listed = listed(&answer, base == OF_INDIVIDUALS)?;
    if enables {
        enable(http, models, &mut names, &mut listed).await;
    }
    entry.insert(AVAILABLE.to_owned(), json!(listed.available));
    Ok(entry)
}

/// Accepts the terms of the models that wait for it. A model whose terms are not accepted stays unavailable.
async fn enable(http: &Http, models: &AccountModels, names: &mut Names, listed: &mut ListedModels) {
    for id in std::mem::take(&mut listed.unanswered) {
        names.set("modelId", &id);
        match send(http, &models.enable, names).await {
            Ok(answer) if (200..300).contains(&answer.status) => {
                if !listed.available.contains(&id) {
                    listed.available.push(id);
                }
            }
            // The others would be refused, too.
            Ok(answer) if answer.status == 429 => break,
            Ok(_) | Err(_) => {}
        }
    }
}

/// Reads the list. `falls_back`: without a model for people, every model whose terms are accepted counts.
fn listed(answer: &Answer, falls_back: bool) -> Result<ListedModels, FlowError> {
    let data = answer.members.get("data").and_then(Value::as_array);
    let data = data.ok_or_else(|| answer.unusable("`data`: expected an array"))?;
    let usable = data.iter().filter(|model| model["capabilities"]["supports"]["tool_calls"] != false);
    let models: Vec<(&str, bool, Option<&str>)> = usable
        .filter_map(|model| {
            let is_shown = model["model_picker_enabled"] == true;
            Some((model["id"].as_str()?, is_shown, model["policy"]["state"].as_str()))
        })
        .collect();
    let ids = |fits: &dyn Fn(bool, Option<&str>) -> bool| -> Vec<String> {
        let fitting = models.iter().filter(|(_, is_shown, state)| fits(*is_shown, *state));
        fitting.map(|(id, ..)| (*id).to_owned()).collect()
    };
    let shown = ids(&|is_shown, state| is_shown && state != Some("disabled"));
    let falls_back = falls_back && shown.is_empty();
    let available = if falls_back { ids(&|_, state| state == Some("enabled")) } else { shown };
    let known = BUILT_IN.models(|provider| provider == COPILOT);
    let mut unanswered = ids(&|is_shown, state| state == Some("unconfigured") && (is_shown || falls_back));
    unanswered.retain(|id| known.iter().any(|known| known.model.id == *id));
    Ok(ListedModels { available, unanswered })
}

/// The provider whose catalogue limits the models that are enabled.
const COPILOT: &str = "github-copilot";
