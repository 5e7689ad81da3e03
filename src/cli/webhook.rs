//! `--webhook`: signed notices of a host's sessions, in the form of Standard Webhooks, retried within bounds.
//!
//! A notice has the id of its session and the time, and nothing that the session says.

use super::{
    USAGE,
    options::{HostOptions, Refusal},
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use pi_rpc_files::{regular_files, secrets::Secrets};
use pi_rpc_host::{NoticeKind, SessionNotice, count_notice, take_notices};
use pi_rpc_session::iso;
use reqwest::{Client, Url, redirect};
use ring::hmac;
use serde_json::json;
use std::{
    env,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::Path,
    sync::Arc,
    time::Duration,
};
use tokio::sync::Semaphore;

/// The variable with the secret.
const SECRET: &str = "PI_RPC_WEBHOOK_SECRET";

/// The fewest bytes of a secret.
const LEAST_SECRET: usize = 24;

/// How long each attempt may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The waits between attempts; behind the last, the notice is given up.
const WAITS: [Duration; 5] = [
    Duration::from_secs(1),
    Duration::from_secs(4),
    Duration::from_secs(16),
    Duration::from_secs(64),
    Duration::from_secs(256),
];

/// Notices that are delivered at the same time.
const AT_ONCE: usize = 8;

/// Where notices go, and how they are signed.
struct Webhook {
    url: Url,
    key: hmac::Key,
    /// Whether the address may be one of a private network, without TLS.
    is_private: bool,
}

/// Begins to deliver notices, if an address is given.
///
/// # Errors
///
/// The address or the secret cannot be used.
pub fn start(options: &HostOptions, secrets: &Secrets) -> Result<(), Refusal> {
    let Some(address) = &options.webhook else { return Ok(()) };
    let webhook = Arc::new(Webhook::new(options, address, secrets)?);
    let Some(mut notices) = take_notices() else { return Ok(()) };
    let places = Arc::new(Semaphore::new(AT_ONCE));
    tokio::spawn(async move {
        while let Some(notice) = notices.recv().await {
            let Ok(place) = places.clone().acquire_owned().await else { return };
            let webhook = webhook.clone();
            tokio::spawn(async move {
                webhook.deliver(&notice).await;
                drop(place);
            });
        }
    });
    Ok(())
}

impl Webhook {
    fn new(options: &HostOptions, address: &str, secrets: &Secrets) -> Result<Self, Refusal> {
        let wrong = |text: String| Refusal(format!("--webhook: {text}"), USAGE);
        secrets.remember_url(address);
        let is_private = options.webhook_private;
        let url = Url::parse(address).map_err(|error| wrong(error.to_string()))?;
        let is_usable = url.scheme() == "https" || (url.scheme() == "http" && is_private);
        if !is_usable || url.host_str().is_none() {
            let text = "expected an address that begins with https:// (http:// with --webhook-private)";
            return Err(wrong(text.to_owned()));
        }
        let secret = secret(options.webhook_secret_file.as_deref())?;
        secrets.remember(&secret);
        let bytes = match secret.strip_prefix("whsec_") {
            Some(encoded) => BASE64_STANDARD
                .decode(encoded)
                .map_err(|_| wrong("the secret: expected Base64 behind whsec_".to_owned()))?,
            None => secret.into_bytes(),
        };
        if bytes.len() < LEAST_SECRET {
            let text = format!("the secret: expected at least {LEAST_SECRET} bytes, got {}", bytes.len());
            return Err(wrong(text));
        }
        Ok(Self { url, key: hmac::Key::new(hmac::HMAC_SHA256, &bytes), is_private })
    }

    /// Delivers a notice, or gives it up.
    async fn deliver(&self, notice: &SessionNotice) {
        let id = format!("msg_{:016x}{:016x}", pi_rpc_server::seed(), pi_rpc_server::seed());
        let body = body(notice);
        let host = self.url.host_str().unwrap_or_default();
        for wait in WAITS.iter().map(Some).chain([None]) {
            let Err(error) = self.send(&id, &body).await else { return count_notice("delivered") };
            match wait.filter(|_| error.is_passing) {
                Some(wait) => tokio::time::sleep(*wait).await,
                None => {
                    tracing::warn!("--webhook: {host}: {}; a notice is given up", error.text);
                    return count_notice("failed");
                }
            }
        }
    }

    async fn send(&self, id: &str, body: &str) -> Result<(), Failure> {
        let sent = async {
            let client = self.client().await?;
            // Anew for each attempt: receivers refuse old ones.
            let seconds = pi_rpc_server::wall_ms() / 1000;
            let signature = self.sign(id, seconds, body);
            let request = client
                .post(self.url.clone())
                .header("content-type", "application/json")
                .header("webhook-id", id)
                .header("webhook-timestamp", seconds)
                .header("webhook-signature", signature)
                .body(body.to_owned());
            let response = request.send().await.map_err(|error| Failure::passing(reason(&error)))?;
            let status = response.status();
            match status.is_success() {
                true => Ok(()),
                false => {
                    let is_passing = status.is_server_error() || matches!(status.as_u16(), 408 | 429);
                    Err(Failure { text: format!("it has answered {status}"), is_passing })
                }
            }
        };
        let late = || Failure::passing(format!("no answer within {} seconds", TIMEOUT.as_secs()));
        tokio::time::timeout(TIMEOUT, sent).await.map_err(|_| late())?
    }

    fn sign(&self, id: &str, seconds: u64, body: &str) -> String {
        let tag = hmac::sign(&self.key, format!("{id}.{seconds}.{body}").as_bytes());
        format!("v1,{}", BASE64_STANDARD.encode(tag))
    }

    /// A client that reaches the address alone, where its name leads to now: a name that leads to a private network later gets
    /// nothing.
    async fn client(&self) -> Result<Client, Failure> {
        let host = self.url.host_str().unwrap_or_default();
        let port = self.url.port_or_known_default().unwrap_or(443);
        let name = host.trim_matches(['[', ']']);
        let found = tokio::net::lookup_host((name, port)).await;
        let addresses: Vec<SocketAddr> =
            found.map_err(|error| Failure::passing(error.to_string()))?.collect();
        if !self.is_private && addresses.iter().any(|address| !is_public(address.ip())) {
            let text = "its address is of a private network; --webhook-private allows that".to_owned();
            return Err(Failure { text, is_passing: false });
        }
        // Fails if a provider is installed already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .user_agent(concat!("pi-rpc/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .no_proxy()
            .resolve_to_addrs(name, &addresses);
        let client = if self.url.scheme() == "http" { client.tls_certs_only([]) } else { client };
        client.build().map_err(|error| Failure { text: reason(&error), is_passing: false })
    }
}

/// Why an attempt has failed.
struct Failure {
    text: String,
    /// Whether another attempt may succeed.
    is_passing: bool,
}

impl Failure {
    const fn passing(text: String) -> Self {
        Self { text, is_passing: true }
    }
}

/// An error without the address, which may have a secret in it.
fn reason(error: &reqwest::Error) -> String {
    let kind = if error.is_connect() { "it cannot be reached" } else { "the request has failed" };
    match std::error::Error::source(error) {
        Some(source) => format!("{kind}: {source}"),
        None => kind.to_owned(),
    }
}

/// The secret, from the file or the variable.
fn secret(file: Option<&str>) -> Result<String, Refusal> {
    let read = match file {
        Some(file) => regular_files::read_to_string(Path::new(file), regular_files::CONFIGURATION)
            .map_err(|error| Refusal(format!("--webhook-secret-file {file}: {error}"), 1))?,
        None => env::var(SECRET).map_err(|_| {
            let text =
                format!("--webhook: its secret is missing: set {SECRET}, or --webhook-secret-file FILE");
            Refusal(text, USAGE)
        })?,
    };
    Ok(read.trim().to_owned())
}

fn body(notice: &SessionNotice) -> String {
    let SessionNotice { kind, session, durable_session, at } = notice;
    let mut data = json!({ "sessionId": session, "durableSessionId": durable_session });
    let kind = match kind {
        NoticeKind::RunDone => "run.done",
        NoticeKind::QuestionWaits(id) => {
            data["dialogId"] = id.as_str().into();
            "question.waits"
        }
    };
    json!({ "type": kind, "timestamp": iso(*at), "data": data }).to_string()
}

/// Whether the address is of the public internet.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

const fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || address.is_multicast()
        || matches!((a, b, c), (0 | 240.., ..) | (100, 64..=127, _) | (192, 0, 0) | (198, 18 | 19, _));
    !is_special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(inner) = address.to_ipv4_mapped() {
        return is_public_v4(inner);
    }
    let [first, second, ..] = address.segments();
    // Global unicast, less documentation, Teredo and 6to4, which lead to other addresses.
    first & 0xe000 == 0x2000 && !(first == 0x2001 && (second == 0xdb8 || second == 0)) && first != 0x2002
}

#[cfg(test)]
mod tests {
    //! What is signed, what is said, and which addresses are private.

    use super::*;

    fn webhook() -> Webhook {
        let key = hmac::Key::new(
            hmac::HMAC_SHA256,
            &BASE64_STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap(),
        );
        Webhook { url: Url::parse("https://example.org/").unwrap(), key, is_private: false }
    }

    #[test]
    fn signature_is_of_standard_webhooks() {
        // The example of the specification.
        let signature =
            webhook().sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, r#"{"test": 2432232314}"#);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn private_addresses_are_known() {
        for text in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "224.0.0.1",
            "255.255.255.255",
            "198.18.0.1",
            "192.0.0.1",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001:db8::1",
        ] {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
        for text in ["8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "::ffff:8.8.8.8"] {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
    }

    #[tokio::test]
    async fn private_address_gets_nothing() {
        for url in ["https://127.0.0.1:9/", "https://localhost:9/", "https://[::1]:9/"] {
            let webhook = Webhook { url: Url::parse(url).unwrap(), ..webhook() };
            let failure = webhook.send("id", "{}").await.unwrap_err();
            let text = "its address is of a private network; --webhook-private allows that";
            assert_eq!((failure.text.as_str(), failure.is_passing), (text, false), "{url}");
        }
    }

    #[test]
    fn notice_has_ids_and_time_alone() {
        let notice = SessionNotice {
            kind: NoticeKind::QuestionWaits("d1".to_owned()),
            session: "s1".to_owned(),
            durable_session: "f1".to_owned(),
            at: 0,
        };
        let expected = json!({
            "type": "question.waits", "timestamp": "1970-01-01T00:00:00.000Z",
            "data": { "sessionId": "s1", "durableSessionId": "f1", "dialogId": "d1" },
        });
        assert_eq!(serde_json::from_str::<serde_json::Value>(&body(&notice)).unwrap(), expected);
    }
}
