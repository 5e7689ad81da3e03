//! Each way to log in, at each provider, against a vendor that is played.

use crate::login_support::{Home, Vendor, http};
use pi_rpc::{
    config::{
        Environment,
        login_kinds::{LOGINS, LoginKind, login_kinds},
    },
    login::{Flow, FlowError, LoginOptions, Notice, log_in, store_entry},
    model::http::Http,
    protocol::JsonObject,
    secrets::Secrets,
};
use serde_json::{Value, json};
use std::{
    io::{Read as _, Write as _},
    net::{Ipv4Addr, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};
use tokio::{sync::mpsc, time::timeout};

/// Longer than any login takes that works.
const PATIENCE: Duration = Duration::from_secs(120);

/// The kind of login of a provider, with all requests at `vendor`.
fn kind_at(vendor: &Vendor, provider: &str) -> LoginKind {
    fn redirect(value: &mut Value, origin: &str) {
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    match value.as_str().filter(|url| name == "url" && *url != "{discovered}") {
                        Some(url) => {
                            let rest = url.trim_start_matches("https://");
                            *value = format!("{origin}{}", &rest[rest.find('/').unwrap()..]).into();
                        }
                        None => redirect(value, origin),
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| redirect(item, origin)),
            _ => {}
        }
    }
    let mut table: Value = serde_json::from_str(LOGINS).unwrap();
    let mut kind = table["providers"][provider].take();
    redirect(&mut kind, &format!("http://{}", vendor.address));
    serde_json::from_value(kind).unwrap()
}

/// An address of this machine that no other test process listens at.
pub fn own_address() -> Ipv4Addr {
    let [_, _, high, low] = std::process::id().to_be_bytes();
    Ipv4Addr::new(127, 77, high, low.max(1))
}

/// Sends a `GET`, and returns the head of the answer.
fn get(host: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Opens a page as a user who agrees, and comes back to the listener at `address`.
pub fn agree(page: &str, address: Ipv4Addr) {
    let to = consent(page);
    let (host, path) = split(&to);
    let (_, port) = host.rsplit_once(':').unwrap();
    get(&format!("{address}:{port}"), path);
}

/// Opens a page as a user who agrees, and returns where the browser is sent.
fn consent(page: &str) -> String {
    let (host, path) = split(page);
    let answer = get(host, path);
    let to = answer.lines().find_map(|line| line.strip_prefix("location: "));
    to.unwrap_or_else(|| panic!("{page}: {answer}")).to_owned()
}

/// Host and path of an address.
fn split(address: &str) -> (&str, &str) {
    let rest = address.strip_prefix("http://").unwrap();
    rest.split_at(rest.find('/').unwrap())
}

/// A user who opens each page, agrees, and is sent back to the listener.
fn user(address: Ipv4Addr) -> (impl FnMut(Notice), Arc<Mutex<Vec<Notice>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let notices = seen.clone();
    let user = move |notice: Notice| {
        if let Notice::OpenPage { page } = &notice {
            let page = page.clone();
            thread::spawn(move || agree(&page, address));
        }
        notices.lock().unwrap().push(notice);
    };
    (user, seen)
}

async fn login(vendor: &Vendor, provider: &str, by_device: bool) -> Result<JsonObject, FlowError> {
    let kind = kind_at(vendor, provider);
    let flow = match by_device {
        true => Flow::Device(kind.device.as_ref().unwrap()),
        false => Flow::Browser(kind.browser.as_ref().unwrap()),
    };
    let address = own_address();
    let environment: Environment = [("PI_OAUTH_CALLBACK_HOST", address.to_string())].into_iter().collect();
    let secrets = Secrets::default();
    let (_sender, pasted) = mpsc::channel(1);
    let options = LoginOptions {
        environment: &environment,
        secrets: &secrets,
        device_id: None,
        seed: JsonObject::new(),
        pasted,
    };
    let (mut user, seen) = user(address);
    let http = http();
    let done = timeout(PATIENCE, log_in(&http, &kind, flow, options, &mut user)).await;
    let done = done.unwrap_or_else(|_| panic!("{provider}: the browser never came back"));
    assert_eq!(seen.lock().unwrap().len(), 1, "{provider}");
    for entry in done.iter() {
        let shown = secrets.redact(entry["access"].as_str().unwrap()).into_owned();
        assert_eq!(shown, "***", "{provider}");
    }
    done
}

/// The entry without what the clock decides, and with long tokens shortened.
fn shown(entry: JsonObject) -> Value {
    let mut entry = Value::Object(entry);
    if entry["expires"].as_f64().unwrap() < 9e15 {
        entry["expires"] = "…".into();
    }
    if entry["access"].as_str().unwrap().len() > 60 {
        entry["access"] = "…".into();
    }
    entry
}

#[tokio::test]
async fn browser_login_makes_the_entry() {
    let mut made = Vec::new();
    // One after the other: two of them need the same port.
    for (provider, _) in login_kinds().filter(|(_, kind)| kind.browser.is_some()) {
        let entry = login(&Vendor::new(&[]), provider, false).await;
        made.push(format!(
            "{provider}: {}",
            shown(entry.unwrap_or_else(|error| panic!("{provider}: {error}")))
        ));
    }
    insta::assert_snapshot!(made.join("\n"));
}

#[test]
fn device_login_waits_and_makes_the_entry() {
    let providers: Vec<&str> =
        login_kinds().filter(|(_, kind)| kind.device.is_some()).map(|(provider, _)| provider).collect();
    let made = thread::scope(|scope| {
        let begin = |provider: &'static str| {
            scope.spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                let vendor = Vendor::new(&["authorization_pending", "slow_down"]);
                let entry = runtime.block_on(login(&vendor, provider, true));
                format!("{provider}: {}", shown(entry.unwrap_or_else(|error| panic!("{provider}: {error}"))))
            })
        };
        let all: Vec<_> = providers.into_iter().map(begin).collect();
        all.into_iter().map(|login| login.join().unwrap()).collect::<Vec<_>>()
    });
    insta::assert_snapshot!(made.join("\n"));
}

#[tokio::test]
async fn device_login_ends_with_its_reason() {
    let end = |errors: &'static [&'static str]| async move {
        login(&Vendor::new(errors), "kimi-coding", true).await.unwrap_err()
    };
    let (expired, denied, other) =
        tokio::join!(end(&["expired_token"]), end(&["access_denied"]), end(&["invalid_grant"]));
    assert_eq!((expired, denied), (FlowError::Expired, FlowError::Denied));
    let reason = "127.0.0.1 refuses it (400: invalid_grant: Scripted: invalid_grant.)".to_owned();
    assert_eq!(other, FlowError::Refused(reason));
}

#[tokio::test]
async fn pasted_code_replaces_the_browser() {
    let vendor = Vendor::new(&[]);
    let kind = kind_at(&vendor, "anthropic");
    let environment = Environment::default();
    let secrets = Secrets::default();
    let (sender, pasted) = mpsc::channel(1);
    let options = LoginOptions {
        environment: &environment,
        secrets: &secrets,
        device_id: None,
        seed: JsonObject::new(),
        pasted,
    };
    // The browser is on another machine: it ends at an address that leads nowhere.
    let mut user = move |notice: Notice| {
        let Notice::OpenPage { page } = notice else { panic!("{notice:?}") };
        let sender = sender.clone();
        thread::spawn(move || sender.blocking_send(consent(&page)).unwrap());
    };
    let flow = Flow::Browser(kind.browser.as_ref().unwrap());
    let entry = log_in(&Http::default(), &kind, flow, options, &mut user).await.unwrap();
    assert_eq!(entry["access"], "scripted-access-2");
}

#[tokio::test]
async fn stored_login_leaves_others_alone() {
    let home = Home::new(&json!({ "groq": { "type": "api_key", "key": "k" } }));
    let entry = json!({ "type": "oauth", "access": "a", "refresh": "r", "expires": 1 });
    store_entry(&home.auth_file(), "xai", entry.as_object().unwrap().clone()).await.unwrap();
    assert_eq!(home.auth(), json!({ "groq": { "type": "api_key", "key": "k" }, "xai": entry }));
}
