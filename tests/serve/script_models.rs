//! Models that scripts run: classifiers and models for images, of the catalogue and as extensions change them.

use crate::{
    codemode::script,
    mcp::{ends, finish},
    serve_support::{self, FakeVendor, Server, of_type, write_agent_file, write_models_file},
};
use pi_rpc::protocol::Dialect::Pi1;
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    os::unix::fs::PermissionsExt as _,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};
use tempfile::TempDir;

/// A provider of classifiers and images; returns its address, and the path, key and body of each request.
fn side_provider() -> (String, Arc<Mutex<Vec<(String, String, Value)>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let requests: Arc<Mutex<Vec<_>>> = Arc::default();
    let received = requests.clone();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let (mut path, mut key, mut length) = (String::new(), String::new(), 0);
            for line in stream.by_ref().lines().map(Result::unwrap).take_while(|line| !line.is_empty()) {
                let lower = line.to_lowercase();
                if let Some(value) = lower.strip_prefix("content-length: ") {
                    length = value.parse().unwrap();
                } else if lower.starts_with("authorization: ") {
                    key = line["authorization: ".len()..].to_owned();
                } else if let Some(rest) = line.strip_prefix("POST ") {
                    path = rest.split(' ').next().unwrap().to_owned();
                }
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body).unwrap();
            let answer = match path.ends_with("systemone") {
                true => {
                    json!({ "answers": { "rude": { "type": "noul", "noul": 0.25 } }, "usage": { "input_tokens": 100 } })
                }
                false => {
                    json!({ "choices": [{ "message": { "images": [{ "image_url": { "url": format!("data:image/png;base64,{PNG}") } }] } }] })
                }
            };
            received.lock().unwrap().push((path, key, serde_json::from_slice(&body).unwrap()));
            let answer = answer.to_string();
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                answer.len()
            );
            stream.get_mut().write_all((head + &answer).as_bytes()).unwrap();
        }
    });
    (address, requests)
}

/// A picture of one dot.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// A server of ours whose model runs this script, with classifiers and models for images at this address.
fn with_side_provider(side: &str, code: &str, options: &[&str]) -> Server {
    with_side_provider_in(tempfile::tempdir().unwrap(), side, code, options)
}

fn with_side_provider_in(dir: TempDir, side: &str, code: &str, options: &[&str]) -> Server {
    let vendor = FakeVendor::plays(&json!({ "turns": [script(code), ends()] }));
    let provider = |base: String| json!({ "baseUrl": base, "apiKey": "side-key" });
    let mut main =
        provider(serve_support::base_url("anthropic-messages", &format!("http://{}", vendor.address)));
    main["api"] = "anthropic-messages".into();
    main["models"] = json!([{ "id": "model", "contextWindow": 200_000, "maxTokens": 8000 }]);
    let models = json!({ "providers": {
        "fake": main, "typesafe": provider(format!("{side}/v1")), "openrouter": provider(format!("{side}/api")),
    } });
    write_models_file(dir.path(), Pi1, &models);
    write_agent_file(dir.path(), Pi1, "settings.json", &json!({ "defaultTools": ["+codemode"] }));
    serve_support::start(Pi1, dir, &[&["--model", "fake/model"], options].concat())
}

#[test]
fn scripts_run_classifiers_and_image_models() {
    let (side, requests) = side_provider();
    let code = "const question = { type: 'bool', instructions: 'Rude?', criteria: { true: 'yes', false: 'no' } };\n\
                const jev = await models.getModelOfType('classifier', 'typesafe', 'jev-latest');\n\
                const judged = await models.classify(jev, { state: { text: 'Hi' }, questions: { rude: question } });\n\
                text(judged.answers.rude.probability);\n\
                const [painter, ...others] = await models.getAvailableOfType('image');\n\
                text(others.every((it) => it.provider === 'openrouter'));\n\
                const made = await models.generateImages(painter, { input: [{ type: 'text', text: 'A fox' }] });\n\
                made.output.forEach((block) => image(block));\n\
                try { await models.classify(painter, {}) } catch (error) { text(error.message.includes('is of type image')) }\n\
                return (await models.getAvailableOfType('chat')).map((it) => it.id);";
    let mut server = with_side_provider(&side, code, &[]);
    let frames = server.run("go");
    let ends = of_type(&frames, "tool_execution_end");
    let result = &ends[0]["result"];
    let texts = result["content"].to_string();
    assert!(texts.contains("==> text 1/4 <==\\n0.25\\n==> text 2/4 <==\\ntrue"), "{texts}");
    assert!(texts.contains("==> text 3/4 <==\\ntrue") && texts.contains("\\\"model\\\""), "{texts}");
    assert!(texts.contains(PNG), "{texts}");
    let calls = result["details"]["calls"].as_array().unwrap();
    let calls: Vec<_> = calls.iter().map(|call| (&call["name"], &call["status"])).collect();
    let names = ["models.classify", "models.generateImages"].map(Value::from);
    assert_eq!(calls, [(&names[0], &json!("ok")), (&names[1], &json!("ok"))]);
    assert_eq!(result["usage"]["totalTokens"], 100);
    let requests = requests.lock().unwrap();
    let sent: Vec<_> = requests.iter().map(|(path, key, _)| (path.as_str(), key.as_str())).collect();
    assert_eq!(sent, [("/v1/systemone", "Bearer side-key"), ("/api/chat/completions", "Bearer side-key")]);
    assert_eq!(requests[0].2["questions"]["rude"]["type"], "noul");
    drop(requests);
    finish(server);
}

/// A script that asks a classifier by `judge()`.
fn judging(code: &str) -> String {
    format!(
        "const jev = await models.getModelOfType('classifier', 'typesafe', 'jev-latest');\n\
         const question = {{ type: 'bool', instructions: 'Rude?', criteria: {{ true: 'yes', false: 'no' }} }};\n\
         const judge = () => models.classify(jev, {{ state: {{ text: 'Hi' }}, questions: {{ rude: question }} }});\n\
         {code}"
    )
}

#[test]
fn aborted_script_costs_what_it_used() {
    let (side, _) = side_provider();
    let code = judging("await judge(); await tools.bash({ command: 'sleep 60' })");
    let mut server = with_side_provider(&side, &code, &[]);
    server.send(json!({ "type": "prompt", "message": "go" }));
    server.until(|frame| frame["type"] == "tool_execution_start" && frame["parentToolCallId"].is_string());
    server.send(json!({ "type": "abort" }));
    let frames = server.until_type("agent_settled");
    let ends = of_type(&frames, "message_end");
    let result = ends.iter().find(|end| end["message"]["role"] == "toolResult").unwrap();
    assert_eq!(result["message"]["usage"]["totalTokens"], 100, "{result}");
    server.close_stdin();
    assert_eq!(server.ends().status.code(), Some(0));
}

/// An extension that registers this provider, in this folder.
fn registering_provider(dir: &TempDir, name: &str, config: &Value) -> String {
    let frames = [
        json!({ "type": "register" }),
        json!({ "type": "register_provider", "id": "p", "name": name, "config": config }),
    ];
    fs::write(dir.path().join("frames"), frames.map(|frame| format!("{frame}\n")).concat()).unwrap();
    let path = dir.path().join("registering");
    fs::write(&path, "#!/bin/sh\nread -r hello\ncat frames\ncat > /dev/null\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn registered_provider_redirects_script_models() {
    let (side, requests) = side_provider();
    let dir = tempfile::tempdir().unwrap();
    let config = json!({ "baseUrl": format!("{side}/gateway"), "apiKey": "gateway-key" });
    let extension = registering_provider(&dir, "typesafe", &config);
    let code = judging("return (await judge()).answers.rude.probability");
    let mut server = with_side_provider_in(dir, "http://127.0.0.1:9", &code, &["-e", &extension]);
    let frames = server.run("go");
    let result = of_type(&frames, "tool_execution_end")[0]["result"]["content"].to_string();
    assert!(result.contains("0.25"), "{result}");
    let sent: Vec<_> =
        requests.lock().unwrap().iter().map(|(path, key, _)| (path.clone(), key.clone())).collect();
    assert_eq!(sent, [("/gateway/systemone".to_owned(), "Bearer gateway-key".to_owned())]);
    finish(server);
}

#[test]
fn registered_models_replace_those_of_scripts() {
    let dir = tempfile::tempdir().unwrap();
    let model = json!({ "id": "m", "name": "M", "reasoning": false, "input": ["text"], "contextWindow": 1000, "maxTokens": 100,
        "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0 } });
    let config = json!({ "baseUrl": "http://127.0.0.1:9", "apiKey": "k", "api": "openai-completions", "models": [model] });
    let extension = registering_provider(&dir, "typesafe", &config);
    let code = "return [await models.getModelsOfType('classifier', 'typesafe'), \
                (await models.getModelsOfType('chat', 'typesafe')).map((it) => it.id)]";
    let mut server = with_side_provider_in(dir, "http://127.0.0.1:9", code, &["-e", &extension]);
    let frames = server.run("go");
    let result = of_type(&frames, "tool_execution_end")[0]["result"]["content"][1]["text"].clone();
    assert_eq!(result, r#"[[],["m"]]"#);
    finish(server);
}

#[test]
fn broken_request_is_not_sent_again() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let side = format!("http://{}", listener.local_addr().unwrap());
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = connections.clone();
    thread::spawn(move || {
        for stream in listener.incoming() {
            counted.fetch_add(1, Ordering::SeqCst);
            // Read, and so perhaps performed and charged for.
            let _ = stream.unwrap().read(&mut [0; 1 << 16]);
        }
    });
    let mut server = with_side_provider(&side, &judging("return (await judge()).stopReason"), &[]);
    let frames = server.run("go");
    let result = &of_type(&frames, "tool_execution_end")[0]["result"];
    assert_eq!(result["content"][1]["text"], "error", "{result}");
    assert_eq!(connections.load(Ordering::SeqCst), 1);
    finish(server);
}
