//! What operators read of a host by HTTP: whether it is there, its metrics, and its status.

use super::{
    host_error::HostError,
    host_status::HostStatus,
    listener::{Server, refuse, refuse_session},
    metrics::METRICS,
    permission::{SessionOwner, permit},
    principal::Principal,
    scoped_host::ScopedHost,
};
use axum::{
    Extension, Json,
    extract::State,
    http::{
        HeaderMap, StatusCode,
        header::{ACCEPT, CONTENT_TYPE},
    },
    response::{Html, IntoResponse as _, Response},
};
use pi_rpc_protocol::ConnectionErrorCode;
use std::sync::Arc;

/// `ok`, or 503 once the host ends.
pub async fn health(State(server): State<Server>) -> (StatusCode, &'static str) {
    match server.host.is_draining() {
        true => (StatusCode::SERVICE_UNAVAILABLE, "draining\n"),
        false => (StatusCode::OK, "ok\n"),
    }
}

/// Metrics of all principals, for those who see all sessions.
pub async fn metrics(
    State(server): State<Server>,
    Extension(principal): Extension<Arc<Principal>>,
) -> Response {
    if permit(&principal, SessionOwner::NOBODY, ()).is_err() {
        let reason = "expected a token with sees_all";
        return refuse(StatusCode::FORBIDDEN, ConnectionErrorCode::ForbiddenMetrics, reason);
    }
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(CONTENT_TYPE, kind)], METRICS.text(&server.host)).into_response()
}

/// The status of the host and those that share sessions with it, as far as the principal may see it: a page for browsers, else JSON.
pub async fn status(
    State(server): State<Server>,
    Extension(principal): Extension<Arc<Principal>>,
    headers: HeaderMap,
) -> Response {
    let accepted = headers.get(ACCEPT).and_then(|accepted| accepted.to_str().ok()).unwrap_or_default();
    match read_status(server, principal).await {
        Ok(status) if accepted.contains("text/html") => Html(status.page()).into_response(),
        Ok(status) => Json(status).into_response(),
        Err(error) => refuse_session(&error),
    }
}

async fn read_status(server: Server, principal: Arc<Principal>) -> Result<HostStatus, HostError> {
    // It costs what a list of sessions costs.
    ScopedHost::new(server.host.clone(), principal.clone()).count_command(false).await?;
    let tokens = server.access.clone();
    let tokens = tokio::task::spawn_blocking(move || tokens.known()).await;
    let tokens = tokens.map_err(|error| HostError::OpenFailed(error.to_string()))?;
    Ok(HostStatus::read(&server.host, &server.access.usage(), tokens, &principal).await)
}
