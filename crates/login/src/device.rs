//! Login by a code that the user types into a browser on any machine (RFC 8628, and what vendors made of it).

use super::{
    Notice,
    client::{Answer, FlowError, now_ms, obtain, send},
    request::{Names, entry_of, web_page},
};
use pi_rpc_config::login_kinds::{DeviceFlow, DeviceOutcome, LoginKind};
use pi_rpc_model_http::http::Http;
use pi_rpc_protocol::JsonObject;
use serde_json::Value;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Seconds between two polls if the vendor names none.
const INTERVAL: f64 = 5.0;
/// Fewest seconds between two polls.
const MIN_INTERVAL: f64 = 1.0;
/// Seconds that a request to slow down adds, without a number of its own.
const SLOW_DOWN: f64 = 5.0;
/// Lifetime of a code in seconds if neither vendor nor table name one.
const LIFETIME: f64 = 900.0;

/// What a poll has shown.
enum Poll {
    Done(Answer),
    Pending,
    /// Not so often; the new interval in seconds, if one is named.
    SlowDown(Option<f64>),
}

/// Logs in; `notify` tells the user where to type which code. `previous`: members that the entry begins with.
///
/// # Errors
///
/// The user or the vendor refuses, or nothing happens for as long as the code is valid.
pub async fn log_in(
    http: &Http,
    kind: &LoginKind,
    flow: &DeviceFlow,
    mut names: Names,
    mut previous: JsonObject,
    notify: &mut (dyn FnMut(Notice) + Send),
) -> Result<JsonObject, FlowError> {
    let answer = send(http, &flow.start, &names).await?;
    if !(200..300).contains(&answer.status) {
        return Err(answer.refusal());
    }
    let text = |member: &str| {
        let found = answer.members.get(member).and_then(Value::as_str).filter(|text| !text.is_empty());
        found.ok_or_else(|| answer.unusable(&format!("`{member}`: expected a text")))
    };
    names.set_secret("deviceCode", text(&flow.started.device_code)?);
    let user_code = text("user_code")?;
    names.set("userCode", user_code);
    let page = match &flow.started.page {
        Some(page) => page.clone(),
        None => {
            let pages = flow.started.pages.iter().filter_map(|member| answer.members.get(member)?.as_str());
            let expected = || answer.unusable("expected an http:// or https:// address of a page");
            pages.into_iter().find_map(web_page).ok_or_else(expected)?
        }
    };
    let lifetime =
        number(&answer.members, "expires_in").or(flow.started.lifetime_seconds).unwrap_or(LIFETIME);
    let deadline = Instant::now() + Duration::from_secs_f64(lifetime.clamp(0.0, 86_400.0));
    let mut interval = number(&answer.members, "interval").unwrap_or(INTERVAL).max(MIN_INTERVAL);
    notify(Notice::EnterCode { page, code: user_code.to_owned() });
    let done = loop {
        let pause = Duration::from_secs_f64(interval.min(lifetime));
        if Instant::now() + pause > deadline {
            return Err(FlowError::Expired);
        }
        sleep(pause).await;
        match poll(http, flow, &names).await? {
            Poll::Done(answer) => break answer,
            Poll::Pending => {}
            Poll::SlowDown(asked) => interval = asked.unwrap_or(interval + SLOW_DOWN).max(MIN_INTERVAL),
        }
    };
    let text = |member: &str| {
        let found = done.members.get(member).and_then(Value::as_str).filter(|text| !text.is_empty());
        found.ok_or_else(|| done.unusable(&format!("`{member}`: expected a text")))
    };
    match flow.then {
        DeviceOutcome::Answer => {
            entry_of(kind, &done.members, &previous, now_ms()).map_err(|reason| done.unusable(&reason))
        }
        DeviceOutcome::Exchange => {
            names.set_secret("code", text("authorization_code")?);
            names.set_secret("verifier", text("code_verifier")?);
            names.set("redirectUri", flow.code_redirect_uri.as_deref().unwrap_or_default());
            let Some(browser) = &kind.browser else {
                return Err(done.unusable("a code, and no exchange for it"));
            };
            obtain(http, kind, &browser.exchange, &names, &previous).await
        }
        DeviceOutcome::Refresh => {
            let token = text("access_token")?;
            names.set_secret("refresh", token);
            previous.insert("refresh".to_owned(), token.into());
            let Some(refresh) = &kind.refresh else {
                return Err(done.unusable("a token, and no use for it"));
            };
            obtain(http, kind, refresh, &names, &previous).await
        }
    }
}

async fn poll(http: &Http, flow: &DeviceFlow, names: &Names) -> Result<Poll, FlowError> {
    let answer = send(http, &flow.poll, names).await?;
    let error = answer.members.get("error");
    let error = error.and_then(|error| error.as_str().or_else(|| error["code"].as_str()));
    match error {
        Some("authorization_pending") => Ok(Poll::Pending),
        Some("slow_down") => Ok(Poll::SlowDown(number(&answer.members, "interval"))),
        Some("expired_token") => Err(FlowError::Expired),
        Some("access_denied" | "authorization_denied") => Err(FlowError::Denied),
        Some(error) if flow.pending_errors.iter().any(|pending| pending == error) => Ok(Poll::Pending),
        _ if flow.pending_statuses.contains(&answer.status) => Ok(Poll::Pending),
        Some(_) => Err(answer.refusal()),
        None if (200..300).contains(&answer.status) => Ok(Poll::Done(answer)),
        None => Err(answer.refusal()),
    }
}

/// A positive number, which some vendors write as a text.
fn number(members: &JsonObject, member: &str) -> Option<f64> {
    let found = members.get(member)?;
    let number = found.as_f64().or_else(|| found.as_str()?.trim().parse().ok())?;
    (number.is_finite() && number > 0.0).then_some(number)
}
