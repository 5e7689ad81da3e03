//! The lines, the conversation and the session that benches and counts share.
#![allow(dead_code)] // each of the two uses its part

use pi_rpc::{
    engine::{
        Engine, ExtensionSetup, Input, ModelChoice, Modes, Now, Output, SessionStorage, Setup, Toolbox,
        limits::Limits,
    },
    model::types::{BlockStart, Finish, StreamEvent, TokenCounts},
    protocol::{Dialect, Emission, Encoder, Inbound, Model, Outbound, ThinkingLevel, read, read_line},
};
use serde_json::json;
use std::{hint::black_box, time::Duration};

pub const GET_STATE: &str = r#"{"id":"req-1","type":"get_state"}"#;

pub const PROMPT: &str = r#"{"id":"req-1","type":"prompt","message":"Look at the tests and tell me which of them can fail, and why they would do so; begin with the slow ones.","streamingBehavior":"steer"}"#;

pub const DELTA: &str = "twenty characters ok";

pub fn prompt() -> Inbound {
    read(PROMPT.as_bytes(), Dialect::Pi).expect("a prompt")
}

/// Creates an engine at the start of a conversation.
pub fn engine() -> (Engine, Now) {
    let model: Model = serde_json::from_value(json!({
        "id": "demo", "name": "demo", "api": "scripted", "provider": "scripted", "baseUrl": "scripted:",
        "reasoning": true, "input": ["text"], "contextWindow": 200_000, "maxTokens": 64_000,
        "cost": { "input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75 },
    }))
    .expect("a model");
    let levels = vec![ThinkingLevel::Off, ThinkingLevel::Low, ThinkingLevel::High];
    let setup = Setup {
        dialect: Dialect::Pi,
        models: vec![ModelChoice { model, levels, preferred: None, unusable: None }],
        start: 0,
        chosen: false,
        reloads_models: false,
        scope: None,
        level: None,
        modes: Modes::of(Dialect::Pi),
        limits: Limits::default(),
        place: SessionStorage::in_memory("/work"),
        session: None,
        tools: Toolbox::new(Vec::new()),
        system_prompt: "".into(),
        extension_setup: ExtensionSetup::default(),
        name: None,
        seed: 1,
        checked: false,
    };
    let now = Now { monotonic: Duration::ZERO, wall: 1_800_000_000_000 };
    (Engine::new(setup, now), now)
}

/// Emissions of the engine when a model answers one prompt with `deltas` deltas.
pub fn conversation(deltas: usize) -> Vec<Emission> {
    let (mut engine, now) = engine();
    let mut said = Vec::new();
    let mut call = 0;
    let mut take = |engine: &mut Engine, call: &mut u64| {
        while let Some(output) = engine.poll() {
            match output {
                Output::Emit(frame) => said.push(frame),
                Output::CallModel(request) => *call = request.call,
                _ => {}
            }
        }
    };
    engine.handle(Input::Frame(Box::new(prompt())), now);
    take(&mut engine, &mut call);
    let counts = TokenCounts { input: 10, output: 1, ..TokenCounts::default() };
    let start = [StreamEvent::Usage(counts), StreamEvent::Start { index: 0, block: BlockStart::Text }];
    let grow = (0..deltas).map(|_| StreamEvent::Delta { index: 0, delta: DELTA.to_owned() });
    let end = [StreamEvent::End { index: 0, signature: None }, StreamEvent::Finish(Finish::Stop)];
    for event in start.into_iter().chain(grow).chain(end) {
        engine.handle(Input::Model { call, event }, now);
        take(&mut engine, &mut call);
    }
    assert!(matches!(said.last(), Some(Emission::Frame(Outbound::AgentSessionEvent(_)))));
    said
}

/// Number of bytes of the emissions, encoded into one reused buffer, as the writer does.
pub fn framed(said: &[Emission]) -> usize {
    let mut encoder = Encoder::new(Dialect::Pi);
    let mut out = Vec::new();
    let mut bytes = 0;
    for said in said {
        encoder.encode(said, &mut out);
        if out.len() > 64 * 1024 {
            bytes += black_box(&out).len();
            out.clear();
        }
    }
    bytes + out.len()
}

/// Appends the bytes of all immediate emissions of one line to `out`.
pub fn answer(engine: &mut Engine, encoder: &mut Encoder, line: &str, now: Now, out: &mut Vec<u8>) {
    if let Some(input) = read_line(line.as_bytes(), Dialect::Pi).transpose().map(Input::line) {
        engine.handle(input, now);
    }
    while let Some(output) = engine.poll() {
        if let Output::Emit(said) = output {
            encoder.encode(&said, out);
        }
    }
}

/// Session file with `messages` messages, alternating between user and assistant, in the form of pi.
pub fn session_file(messages: usize) -> String {
    let mut file = json!({
        "type": "session", "version": 3, "id": "0198c0de-0000-7000-8000-000000000000",
        "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/work",
    })
    .to_string();
    let cost =
        json!({ "input": 0.00003, "output": 0.0015, "cacheRead": 0, "cacheWrite": 0, "total": 0.00153 });
    let mut parent = None;
    for number in 0..messages {
        let at = 1_767_225_600_000_u64 + number as u64 * 1000;
        let text = "Which of the tests can fail, and why would they? ".repeat(4);
        let message = match number % 2 {
            0 => json!({ "role": "user", "content": [{ "type": "text", "text": text }], "timestamp": at }),
            _ => json!({
                "role": "assistant", "content": [{ "type": "text", "text": text.repeat(4) }],
                "api": "scripted", "provider": "scripted", "model": "demo",
                "usage": { "input": 10, "output": 100, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 110, "cost": cost },
                "stopReason": "stop", "timestamp": at,
            }),
        };
        let id = format!("{number:08x}");
        let entry = json!({
            "type": "message", "id": id, "parentId": parent, "timestamp": "2026-01-01T00:00:00.000Z",
            "message": message,
        });
        file.push('\n');
        file.push_str(&entry.to_string());
        parent = Some(id);
    }
    file.push('\n');
    file
}
