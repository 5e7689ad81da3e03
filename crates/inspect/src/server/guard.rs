//! Access to the page: the address has a token, and requests of pages of other origins are refused.

use axum::{
    extract::{ConnectInfo, Request, State},
    http::{
        HeaderMap, HeaderName, HeaderValue, StatusCode, Uri,
        header::{
            CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, ORIGIN, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
            X_FRAME_OPTIONS,
        },
    },
    middleware::Next,
    response::{IntoResponse as _, Redirect, Response},
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use pi_rpc_guarded_listener::Place;
use std::{
    hint::black_box,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// The token in the page's address, and the port.
#[derive(Debug)]
pub struct Guard {
    token: String,
    port: u16,
    /// The token of the address by which a browser is started, and until when it is good. Once used, it is gone.
    ticket: Mutex<Option<(String, Instant)>>,
}

/// What the page may load, and from where: nothing but what this server has.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
                      connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'";

/// Where tickets are shown. No token is as short as this.
const TICKETS: &str = "/open/";
/// How long a browser may take to start.
const TICKET_TIME: Duration = Duration::from_secs(120);

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

impl Guard {
    /// A guard with a random token of 256 bits.
    ///
    /// # Errors
    ///
    /// The system has no randomness.
    pub fn new(port: u16) -> io::Result<Self> {
        Ok(Self { token: random_token()?, port, ticket: Mutex::new(None) })
    }

    /// An address that leads to the page once. A browser's command line is seen by every program of the machine.
    ///
    /// # Errors
    ///
    /// The system has no randomness.
    pub fn address_for_browser(&self) -> io::Result<String> {
        let ticket = random_token()?;
        let address = format!("http://127.0.0.1:{}{TICKETS}{ticket}", self.port);
        *self.ticket() = Some((ticket, Instant::now() + TICKET_TIME));
        Ok(address)
    }

    fn ticket(&self) -> MutexGuard<'_, Option<(String, Instant)>> {
        self.ticket.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a ticket is good. It is not any more then.
    fn takes_ticket(&self, shown: &str) -> bool {
        let mut ticket = self.ticket();
        let is_good = ticket.as_ref().is_some_and(|(known, until)| {
            is_equal(shown.as_bytes(), known.as_bytes()) && Instant::now() < *until
        });
        if is_good {
            *ticket = None;
        }
        is_good
    }

    /// The address of the page.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token)
    }

    /// Why a request is refused.
    fn refusal(&self, path: &str, headers: &HeaderMap) -> Option<(StatusCode, &'static str)> {
        let own = ["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", self.port));
        let header = |name: &HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or_default());
        // A name of another site may be made to lead here.
        if !header(&HOST).is_some_and(|host| own.iter().any(|own| own == host)) {
            return Some((StatusCode::FORBIDDEN, "host: expected 127.0.0.1"));
        }
        let is_own_page = |origin: &str| {
            origin.strip_prefix("http://").is_some_and(|rest| own.iter().any(|own| own == rest))
        };
        if header(&ORIGIN).is_some_and(|origin| !is_own_page(origin)) {
            return Some((StatusCode::FORBIDDEN, "origin: expected this page"));
        }
        // A link elsewhere may open the page, but nothing of it.
        let site = header(&FETCH_SITE).unwrap_or("none");
        if !["none", "same-origin"].contains(&site) {
            return Some((StatusCode::FORBIDDEN, "sec-fetch-site: expected this page"));
        }
        if path.strip_prefix(TICKETS).is_some_and(|ticket| self.takes_ticket(ticket)) {
            return None;
        }
        let token = path.trim_start_matches('/').split('/').next().unwrap_or_default();
        match is_equal(token.as_bytes(), self.token.as_bytes()) {
            true => None,
            false => Some((StatusCode::NOT_FOUND, "expected the address that `pi-rpc inspect` has printed")),
        }
    }
}

fn random_token() -> io::Result<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

/// Compares in a time that depends on the lengths alone.
fn is_equal(one: &[u8], other: &[u8]) -> bool {
    let differs = one.iter().zip(other).fold(0, |sum, (one, other)| black_box(sum | (one ^ other)));
    one.len() == other.len() && differs == 0
}

/// The path behind the token. `None`: the slash behind it is missing, without which relative addresses lead elsewhere.
fn without_token(uri: &Uri) -> Option<Uri> {
    let whole = uri.path_and_query()?.as_str();
    let at = whole.get(1..)?.find('/')? + 1;
    whole[at..].parse().ok()
}

/// Refuses strangers, and says with every answer what a browser may do with it.
pub async fn check(
    State(guard): State<Arc<Guard>>,
    ConnectInfo(place): ConnectInfo<Place>,
    mut request: Request,
    next: Next,
) -> Response {
    let refusal = guard.refusal(request.uri().path(), request.headers());
    let mut response = match (refusal, without_token(request.uri())) {
        (Some(refusal), _) => refusal.into_response(),
        (None, _) if request.uri().path().starts_with(TICKETS) => {
            Redirect::to(&format!("/{}/", guard.token)).into_response()
        }
        (None, Some(uri)) => {
            place.admit();
            *request.uri_mut() = uri;
            next.run(request).await
        }
        (None, None) => StatusCode::NOT_FOUND.into_response(),
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (X_FRAME_OPTIONS, "DENY"),
        (OPENER_POLICY, "same-origin"),
        (RESOURCE_POLICY, "same-origin"),
        (CACHE_CONTROL, "no-store"),
    ] {
        if !headers.contains_key(&name) {
            headers.insert(name, HeaderValue::from_static(value));
        }
    }
    response
}
