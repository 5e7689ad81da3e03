//! Asking a model over HTTP under the environment of the process: proxies and certificates.
//!
//! An environment belongs to a whole process, so that each request is sent by a process of its own.

use crate::http_support::{self, ANSWER, PATIENCE, Server, finished, ok, request, write};
use pi_rpc_model_http::http::Http;
use std::{env, process::Stdio};
use tokio::process::Command;

/// The process that sends the request, started by the other tests; it prints the events. Does nothing otherwise.
#[tokio::test]
async fn asking() {
    let Ok(url) = env::var("ASKED") else { return };
    let http = Http::default().with_proxy(env::var("PROXY_OF_SETTINGS").ok());
    println!("{:?}", http_support::ask_by(&http, request(&url, "k"), PATIENCE).await);
}

/// What a process under `environment` prints that asks `url`.
async fn ask(url: &str, environment: &[(&str, &str)]) -> String {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "http_environment::asking", "--nocapture"]).stdin(Stdio::null());
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"] {
        command.env_remove(name).env_remove(name.to_lowercase());
    }
    command.env("ASKED", url).envs(environment.iter().copied()).kill_on_drop(true);
    String::from_utf8(command.output().await.unwrap().stdout).unwrap()
}

/// Asks `url`, and answers on `server`; the first line of the request. The answer must arrive.
async fn line(server: &Server, url: &str, environment: &[(&str, &str)]) -> String {
    let (printed, request) = tokio::join!(ask(url, environment), async {
        let (mut connection, request) = server.accept().await;
        write(&mut connection, ok(ANSWER).as_bytes()).await;
        request
    });
    assert!(printed.contains(&format!("{:?}", finished())), "{printed}");
    request.lines().next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn local_model_needs_no_proxy() {
    let server = Server::new().await;
    let environment = [
        ("http_proxy", "http://127.0.0.1:1"),
        ("ALL_PROXY", "http://127.0.0.1:1"),
        ("SSL_CERT_FILE", "/nonexistent"),
        ("SSL_CERT_DIR", "/nonexistent"),
    ];
    let url = format!("http://{}/x", server.address());
    assert_eq!(line(&server, &url, &environment).await, "POST /x HTTP/1.1");
}

#[tokio::test]
async fn remote_model_is_asked_through_proxy() {
    let server = Server::new().await;
    let proxy = format!("http://{}", server.address());
    assert_eq!(
        line(&server, "http://model.invalid/x", &[("http_proxy", &proxy)]).await,
        "POST http://model.invalid/x HTTP/1.1"
    );
}

#[tokio::test]
async fn wrong_proxy_sends_nothing() {
    for (variable, name) in
        [("PROXY_OF_SETTINGS", "httpProxy"), ("HTTPS_PROXY", "HTTPS_PROXY"), ("http_proxy", "HTTP_PROXY")]
    {
        let printed = ask("http://model.invalid/x", &[(variable, "http://[secret")]).await;
        let text = format!("{name}: expected the address of a proxy (http://HOST:PORT)");
        assert!(printed.contains(&text) && !printed.contains("secret"), "{printed}");
    }
}

#[tokio::test]
async fn http_proxy_serves_https_alone() {
    let server = Server::new().await;
    let proxy = format!("http://{}", server.address());
    let environment = [("HTTP_PROXY", &*proxy)];
    let (_, request) = tokio::join!(ask("https://model.invalid/x", &environment), async {
        let (mut connection, request) = server.accept().await;
        write(&mut connection, b"HTTP/1.1 403 Forbidden\r\n\r\n").await;
        request
    });
    assert_eq!(request.lines().next(), Some("CONNECT model.invalid:443 HTTP/1.1"));
}

#[tokio::test]
async fn proxy_of_settings_follows_the_environment() {
    let server = Server::new().await;
    let proxy = server.address().to_string();
    let url = "http://model.invalid/x";
    let expected = "POST http://model.invalid/x HTTP/1.1";
    assert_eq!(line(&server, url, &[("PROXY_OF_SETTINGS", &proxy)]).await, expected);
    let both = [("PROXY_OF_SETTINGS", "http://127.0.0.1:1"), ("http_proxy", &proxy)];
    assert_eq!(line(&server, url, &both).await, expected);
}

#[tokio::test]
async fn no_proxy_hosts_are_asked_directly() {
    let environment = [("http_proxy", "http://127.0.0.1:1"), ("NO_PROXY", "model.invalid")];
    let printed = ask("http://model.invalid/x", &environment).await;
    assert!(printed.contains("Connection error: model.invalid: dns error: "), "{printed}");
}
