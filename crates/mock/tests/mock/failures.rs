//! Answers that fail: before anything, in the middle, with the connection, or never.

use crate::mock_support::{COMPLETIONS, GOOGLE, MESSAGES, MISTRAL, PI, RESPONSES, prompt, serve, turns};
use serde_json::{Value, json};

const ALL: [&str; 6] = [MESSAGES, COMPLETIONS, RESPONSES, GOOGLE, MISTRAL, PI];

#[tokio::test]
async fn early_failure_is_http_error() {
    let fail = json!({ "status": 429, "message": "Slow down", "retryAfter": 7 });
    let served = turns(json!([{ "fail": fail, "repeat": true }])).await;
    let openai = json!({
        "error": { "message": "Slow down", "type": "requests", "param": null, "code": "rate_limit_exceeded" },
    });
    let anthropic =
        json!({ "type": "error", "error": { "type": "rate_limit_error", "message": "Slow down" } });
    let google = json!({ "error": {
        "code": 429, "message": "Slow down", "status": "RESOURCE_EXHAUSTED",
        "details": [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7s" }],
    } });
    let mistral = json!({
        "object": "error", "message": "Slow down", "type": "rate_limited", "param": null, "code": "1300",
        "raw_status_code": 429,
    });
    let pi = json!({ "error": { "message": "Slow down", "code": "rate_limited" } });
    let expected = [anthropic, openai.clone(), openai, google, mistral, pi];
    for (path, expected) in ALL.into_iter().zip(&expected) {
        for stream in [true, false] {
            let response = served.send(path, &prompt(path, "hi", stream)).await;
            assert_eq!(response.status(), 429, "{path}");
            // Google's service tells it in the body.
            let wait = response.headers().get("retry-after").map(|wait| wait.to_str().unwrap());
            assert_eq!(wait, (path != GOOGLE).then_some("7"), "{path}");
            let body: Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();
            assert_eq!(body, *expected, "{path}");
        }
    }
}

#[tokio::test]
async fn scripted_error_body_is_sent_unchanged() {
    let fail = json!({ "status": 502, "body": "<html>Bad gateway</html>" });
    let served = turns(json!([{ "fail": fail, "repeat": true }])).await;
    for path in ALL {
        let answer = served.ask(path, &prompt(path, "hi", true)).await;
        assert_eq!(answer, (502, "<html>Bad gateway</html>".to_owned()), "{path}");
    }
}

#[tokio::test]
async fn late_failure_is_error_event() {
    let turn = json!({ "say": [{ "text": "Half" }], "fail": { "status": 529 }, "repeat": true });
    let served = turns(json!([turn])).await;
    let ends = [
        (
            MESSAGES,
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n",
        ),
        (
            COMPLETIONS,
            "data: {\"error\":{\"message\":\"Overloaded\",\"type\":\"server_error\",\"param\":null,\"code\":null}}\n\n",
        ),
        (
            RESPONSES,
            "event: error\ndata: {\"type\":\"error\",\"sequence_number\":5,\"code\":\"server_error\",\
             \"message\":\"Overloaded\",\"param\":null}\n\n",
        ),
        (
            MISTRAL,
            "data: {\"object\":\"error\",\"message\":\"Overloaded\",\"type\":\"service_unavailable\",\"param\":null,\
             \"code\":\"1900\",\"raw_status_code\":529}\n\n",
        ),
        (PI, ",\"errorMessage\":\"Overloaded\",\"responseId\":\"scripted_9\"}\n\n"),
        (GOOGLE, "{\"error\":{\"code\":529,\"message\":\"Overloaded\",\"status\":\"UNAVAILABLE\"}}\r\n\r\n"),
    ];
    for (path, end) in ends {
        let (status, text) = served.ask(path, &prompt(path, "hi", true)).await;
        assert_eq!(status, 200, "{path}");
        assert!(text.contains("Half") && text.ends_with(end), "{path}: {text}");
        // Who waits for the whole answer gets an HTTP error; the gateway of pi only streams.
        let (status, _) = served.ask(path, &prompt(path, "hi", false)).await;
        assert_eq!(status, if path == PI { 200 } else { 529 }, "{path}");
    }
}

#[tokio::test]
async fn scripted_disconnect_breaks_connection() {
    let served = turns(json!([
        { "match": "at once", "fail": { "message": "terminated" }, "repeat": true },
        { "say": [{ "text": "Half an answer" }], "fail": { "message": "terminated" }, "repeat": true },
    ]))
    .await;
    for path in ALL {
        let error = served.request(path, &prompt(path, "at once", true)).send().await.unwrap_err();
        assert!(error.is_request(), "{path}: {error:?}");
        let mut response = served.send(path, &prompt(path, "later", true)).await;
        assert_eq!(response.status(), 200, "{path}");
        let mut said = Vec::new();
        let error = loop {
            match response.chunk().await {
                Ok(Some(chunk)) => said.extend(chunk),
                Ok(None) => panic!("{path}: the stream ends as if all were said"),
                Err(error) => break error,
            }
        };
        assert!(error.is_body() || error.is_decode(), "{path}: {error:?}");
        assert!(String::from_utf8(said).unwrap().contains("Half an answer"), "{path}");
    }
}

#[tokio::test]
async fn stream_is_cut_at_byte() {
    let turn = json!({ "say": [{ "text": "Hello äöü", "size": 1 }], "cutAfterBytes": 777, "repeat": true });
    let served = turns(json!([turn])).await;
    for path in ALL {
        for stream in [true, false] {
            let mut response = served.send(path, &prompt(path, "hi", stream)).await;
            let (mut bytes, mut broke) = (0, false);
            while let Some(chunk) = response.chunk().await.unwrap_or_else(|_| {
                broke = true;
                None
            }) {
                bytes += chunk.len();
            }
            // Whole answers of two vendors are shorter.
            assert!(bytes == 777 && broke || !stream && bytes < 777 && !broke, "{path} {stream} {bytes}");
        }
    }
}

#[tokio::test]
async fn hang_lasts_until_client_leaves() {
    let served = turns(json!([
        { "match": "nothing", "hang": true, "repeat": true },
        { "say": [{ "text": "Half" }], "hang": true, "repeat": true },
    ]))
    .await;
    let mut running = served.journal.running();
    for path in ALL {
        let mut response = served.send(path, &prompt(path, "half", true)).await;
        let mut said = String::new();
        while !said.contains("Half") {
            said += str::from_utf8(&response.chunk().await.unwrap().expect("more")).unwrap();
        }
        assert_eq!(*running.borrow(), 1, "{path}");
        drop(response);
        running.wait_for(|running| *running == 0).await.unwrap();

        let body = prompt(path, "nothing", true);
        let asking = tokio::spawn(served.request(path, &body).send());
        running.wait_for(|running| *running == 1).await.unwrap();
        assert!(!asking.is_finished(), "{path}");
        asking.abort();
        running.wait_for(|running| *running == 0).await.unwrap();
    }
}

#[tokio::test]
async fn lenient_mock_answers_refused_request() {
    let served = serve(json!([{ "say": [{ "text": "Well then." }] }]), |mock| mock.lenient()).await;
    let body = json!({ "model": "m", "messages": [{ "role": "user", "content": "hi" }] });
    let (status, answer) = served.ask_json(MESSAGES, &body).await;
    assert_eq!((status, &answer["content"][0]["text"]), (200, &json!("Well then.")));
    assert_eq!(served.journal.received()[0].refusal.as_deref(), Some("max_tokens: Field required"));
}
