//! `pi-rpc models --discover`, before servers that answer as Ollama, llama.cpp, LM Studio and vLLM do.

use crate::home_support::Home;
use pi_rpc::config::pattern::full_id;
use serde_json::{Value, json};
use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    process::{Command, Output},
    thread,
};

/// Answers by method and path.
type Routes = Vec<(&'static str, Value)>;

/// A server of these answers; anything else is not found.
fn serve(routes: Routes) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let routes = routes.clone();
            thread::spawn(move || answer(stream.unwrap(), &routes));
        }
    });
    address
}

fn answer(stream: TcpStream, routes: &Routes) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
            break;
        }
        head.push(line.to_lowercase());
    }
    let length = head.iter().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).unwrap();
    let asked = head.first().map(|line| line.rsplit_once(' ').unwrap().0.to_owned()).unwrap_or_default();
    let asked = match serde_json::from_slice::<Value>(&body) {
        Ok(body) => format!("{asked} {}", body["model"].as_str().unwrap()),
        Err(_) => asked,
    };
    let found = routes.iter().find(|(route, _)| *route == asked).map(|(_, answer)| answer.to_string());
    let (status, text) = match found {
        Some(text) => ("200 OK", text),
        None => ("404 Not Found", "404 page not found".to_owned()),
    };
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", text.len());
    let mut stream = stream;
    let _ = stream.write_all(format!("{head}{text}").as_bytes());
}

fn discover(addresses: &[String]) -> Output {
    let home = Home::new([]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_pi-rpc"));
    command
        .env_clear()
        .env("HOME", home.path())
        .env("HTTP_PROXY", "http://127.0.0.1:1")
        .current_dir(home.path());
    command.args(["models", &format!("--discover={}", addresses.join(","))]).output().unwrap()
}

fn entry(address: SocketAddr, name: &str, effort: bool, models: Value) -> Value {
    json!({ "providers": { name: {
        "baseUrl": format!("http://{address}/v1"), "api": "openai-completions", "apiKey": "none",
        "compat": { "supportsDeveloperRole": false, "supportsReasoningEffort": effort },
        "models": models,
    } } })
}

#[track_caller]
fn expect(routes: Routes, name: &str, effort: bool, models: Value) {
    let address = serve(routes);
    let output = discover(&[format!("http://{address}/")]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    let count = models.as_array().unwrap().len();
    let words = if count == 1 { "model" } else { "models" };
    assert_eq!(stderr, format!("http://{address}/: {name}, {count} {words}\n"));
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(printed, entry(address, name, effort, models.clone()));
    assert_eq!(output.status.code(), Some(0));
    // The entry is a models.json that works as it is.
    let config = Home::new([("models.json", &printed.to_string())]).load(&[]);
    assert_eq!(config.warnings, Vec::<String>::new());
    let ids =
        models.as_array().unwrap().iter().map(|model| format!("{name}/{}", model["id"].as_str().unwrap()));
    let known: Vec<String> = config.models_of(|it| it == name).iter().map(|it| full_id(&it.model)).collect();
    assert_eq!(known, ids.collect::<Vec<_>>());
}

#[test]
fn ollama_tells_models_and_abilities() {
    let shown = |able: Value, tokens: u64| json!({ "capabilities": able, "model_info": { "general.architecture": "qwen3", "qwen3.context_length": tokens } });
    let routes = vec![
        ("get /api/version", json!({ "version": "0.12.3" })),
        (
            "get /api/tags",
            json!({ "models": [{ "name": "qwen3:8b" }, { "name": "gemma3:4b" }, { "name": "nomic:1" }] }),
        ),
        ("post /api/show qwen3:8b", shown(json!(["completion", "tools", "thinking"]), 40_960)),
        ("post /api/show gemma3:4b", shown(json!(["completion", "vision"]), 8192)),
        ("post /api/show nomic:1", shown(json!(["embedding"]), 2048)),
    ];
    let models = json!([
        { "id": "qwen3:8b", "reasoning": true, "contextWindow": 40_960, "maxTokens": 16_384 },
        { "id": "gemma3:4b", "input": ["text", "image"], "contextWindow": 8192, "maxTokens": 4096 },
    ]);
    expect(routes, "ollama", true, models);
}

#[test]
fn llama_cpp_tells_context_and_vision() {
    let routes = vec![
        (
            "get /v1/models",
            json!({ "object": "list", "data": [{ "id": "gemma.gguf", "owned_by": "llamacpp", "meta": { "n_ctx_train": 131_072 } }] }),
        ),
        (
            "get /props",
            json!({ "default_generation_settings": { "n_ctx": 4096 }, "modalities": { "vision": true } }),
        ),
    ];
    let models =
        json!([{ "id": "gemma.gguf", "input": ["text", "image"], "contextWindow": 4096, "maxTokens": 2048 }]);
    expect(routes, "llama-cpp", false, models);
}

#[test]
fn lm_studio_leaves_out_embeddings() {
    let routes = vec![(
        "get /api/v0/models",
        json!({ "object": "list", "data": [
            { "id": "qwen2-vl-7b", "type": "vlm", "state": "loaded", "max_context_length": 32_768, "loaded_context_length": 8192 },
            { "id": "openai/gpt-oss-20b", "type": "llm", "state": "not-loaded", "max_context_length": 131_072 },
            { "id": "nomic", "type": "embeddings", "max_context_length": 2048 },
        ] }),
    )];
    let models = json!([
        { "id": "qwen2-vl-7b", "input": ["text", "image"], "contextWindow": 8192, "maxTokens": 4096 },
        { "id": "openai/gpt-oss-20b", "contextWindow": 131_072, "maxTokens": 16_384 },
    ]);
    expect(routes, "lm-studio", false, models);
}

#[test]
fn vllm_tells_its_context() {
    let model = json!({ "id": "meta/llama", "object": "model", "owned_by": "vllm", "max_model_len": 32_768 });
    let routes = vec![("get /v1/models", json!({ "object": "list", "data": [model] }))];
    let models = json!([{ "id": "meta/llama", "contextWindow": 32_768, "maxTokens": 16_384 }]);
    expect(routes, "vllm", false, models);
}

#[test]
fn absent_servers_are_named() {
    let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let strange = serve(vec![("get /v1/models", json!("hello"))]);
    let empty = serve(vec![
        ("get /api/version", json!({ "version": "1" })),
        ("get /api/tags", json!({ "models": [] })),
    ]);
    let addresses = [unused, strange, empty].map(|address| format!("http://{address}"));
    let output = discover(&addresses);
    let [unused, strange, empty] = addresses;
    let stderr = String::from_utf8(output.stderr).unwrap();
    let expected = format!(
        "{unused}: nothing answers\n{strange}: no list of models at /v1/models\n{empty}: ollama, without a model\n\
         Error: No model server was found. Start one, or name its address: --discover=URL\n"
    );
    assert_eq!((stderr, output.status.code(), output.stdout.len()), (expected, Some(1), 0));
}
