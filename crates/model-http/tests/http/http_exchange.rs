//! Requests with short answers: what a failure says about sending them again.

use crate::http_support::Server;
use pi_rpc_model_http::http::{ExchangeLimits, Http};
use reqwest::{Method, Request};
use std::time::Duration;

const LIMITS: ExchangeLimits = ExchangeLimits { bytes: 1000, time: Duration::from_secs(60) };

fn request(address: &str) -> Request {
    let mut request = Request::new(Method::POST, format!("http://{address}/x").parse().unwrap());
    *request.body_mut() = Some("{}".into());
    request
}

#[tokio::test]
async fn request_without_connection_is_unsent() {
    let address = Server::new().await.address();
    let failure = Http::default().exchange_within(request(&address), LIMITS).await.err().unwrap();
    assert!(failure.is_unsent && failure.text.starts_with("Connection error: "), "{failure:?}");
}

#[tokio::test]
async fn request_that_was_read_is_not_unsent() {
    let server = Server::new().await;
    let http = Http::default();
    let (answered, ()) = tokio::join!(http.exchange_within(request(&server.address()), LIMITS), async {
        drop(server.accept().await);
    });
    let failure = answered.err().unwrap();
    assert!(!failure.is_unsent && failure.text.starts_with("Connection error: "), "{failure:?}");
}
