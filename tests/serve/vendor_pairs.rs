//! A conversation goes on at every other vendor: what one has said, the next takes.

use crate::serve_support::{
    FakeVendor, Server, base_url, key_of, of_type, start, write_agent_file, write_models_file,
};
use pi_rpc::protocol::Dialect;
use serde_json::{Value, json};

/// A model of each API, by its id; of Google's one with ids of calls, and one without; of Bedrock's one that signs its thinking, and
/// one that does not.
const MODELS: [(&str, &str); 12] = [
    ("anthropic-messages", "claude"),
    ("openai-completions", "gpt-c"),
    ("openai-responses", "gpt-r"),
    ("azure-openai-responses", "gpt-a"),
    ("openai-codex-responses", "gpt-x"),
    ("google-generative-ai", "gemini-2.5-pro"),
    ("google-generative-ai", "gemini-3.1-pro-preview"),
    ("mistral-conversations", "magistral"),
    ("google-vertex", "gemini-3.5-flash"),
    ("pi-messages", "balanced"),
    ("bedrock-converse-stream", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
    ("bedrock-converse-stream", "amazon.nova-pro-v1:0"),
];

const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn server(vendor: &FakeVendor) -> Server {
    let provider = |(api, id): (&str, &str)| {
        let model = json!({
            "id": id, "reasoning": true, "input": ["text", "image"], "contextWindow": 200_000, "maxTokens": 50_000,
        });
        let base = base_url(api, &format!("http://{}", vendor.address));
        (id.to_owned(), json!({ "baseUrl": base, "apiKey": key_of(api), "api": api, "models": [model] }))
    };
    let providers: serde_json::Map<_, _> = MODELS.into_iter().map(provider).collect();
    let dir = tempfile::tempdir().unwrap();
    write_models_file(dir.path(), Dialect::Pi, &json!({ "providers": providers }));
    write_agent_file(dir.path(), Dialect::Pi, "settings.json", &json!({ "retry": { "enabled": false } }));
    start(Dialect::Pi, dir, &["--model", "claude/claude", "--thinking", "low"])
}

#[test]
fn conversation_continues_at_every_other_vendor() {
    let call = |command: &str| json!({ "tool": "bash", "arguments": { "command": command } });
    let turns = json!([
        { "match": "work", "onResult": "", "repeat": true, "say": [{ "text": "Done." }] },
        { "match": "work", "repeat": true, "say": [
            { "thinking": "Let me see.", "signature": "c2lnbmVk" }, { "text": "Two things." },
            call("echo one; exit 3"), call("echo two"),
        ] },
    ]);
    let vendor = FakeVendor::plays(&json!({ "turns": turns }));
    for (from, to) in MODELS.into_iter().flat_map(|from| MODELS.map(|to| (from, to))) {
        let mut server = server(&vendor);
        for (_, id) in [from, to, from] {
            server.data(json!({ "type": "set_model", "provider": id, "modelId": id }));
            let image = json!({ "type": "image", "data": PIXEL, "mimeType": "image/png" });
            server.send(json!({ "type": "prompt", "message": "work", "images": [image] }));
            let frames = server.until_type("agent_end");
            let ends: Vec<&Value> = of_type(&frames, "turn_end");
            let mut texts = ends.iter().map(|frame| &frame["message"]["content"]);
            assert_eq!(texts.next_back().unwrap()[0]["text"], "Done.", "{from:?} {to:?}: {ends:?}");
        }
        server.finishes();
        assert_eq!(vendor.refusals(), Vec::<String>::new(), "{from:?} {to:?}");
    }
}
