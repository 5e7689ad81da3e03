//! How fast: `cargo bench`. Figures are for comparing two versions on one machine, side by side.

use divan::{Bencher, counter::BytesCount, counter::ItemsCount};
use pi_rpc::{
    engine::{Engine, Extending, Input, Modes, Now, Output, Place, Setup, Toolbox},
    machine::Machine,
    model::types::{BlockStart, Finish, StreamEvent, TokenCounts},
    protocol::{
        AgentMessage, AgentSessionEvent, AssistantContent, AssistantMessage, Dialect, Encoder, Inbound,
        MessageUpdateEvent, Outbound, RpcCommandKind, Said, TextContent, TextDeltaUpdate, read, read_line,
    },
    server::Library,
    tools,
};
use std::{
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
    time::Duration,
};

fn main() {
    divan::main();
}

/// A line for each command, with the fields that it needs.
fn line(kind: RpcCommandKind) -> String {
    use RpcCommandKind as Kind;
    let fields = match kind {
        Kind::Prompt => {
            r#","message":"Look at the tests and tell me which of them can fail.","streamingBehavior":"steer""#
        }
        Kind::Steer | Kind::FollowUp | Kind::AbortAndPrompt => r#","message":"Only the ones under tests/""#,
        Kind::SetTodos => {
            r#","phases":[{"id":"phase-1","name":"One","tasks":[{"id":"task-1","content":"Do it","status":"pending"}]}]"#
        }
        Kind::SetHostTools => {
            r#","tools":[{"name":"echo","description":"Echo","parameters":{"type":"object"}}]"#
        }
        Kind::SetLocale => r#","locale":"de""#,
        Kind::SetModel => r#","provider":"scripted","modelId":"demo""#,
        Kind::SetThinkingLevel => r#","level":"high""#,
        Kind::SetSteeringMode | Kind::SetFollowUpMode => r#","mode":"all""#,
        Kind::SetInterruptMode => r#","mode":"wait""#,
        Kind::SetAutoCompaction | Kind::SetAutoRetry => r#","enabled":true"#,
        Kind::Bash => r#","command":"ls -la""#,
        Kind::SwitchSession => r#","sessionPath":"/tmp/session.jsonl""#,
        Kind::Fork | Kind::Branch => r#","entryId":"0a1b2c3d""#,
        Kind::SetSessionName => r#","name":"benchmarks""#,
        _ => "",
    };
    format!(r#"{{"id":"req-1","type":"{}"{fields}}}"#, kind.as_str())
}

fn dialect(kind: RpcCommandKind) -> Dialect {
    if kind.is_in(Dialect::Pi.base()) { Dialect::Pi } else { Dialect::Xcsh }
}

/// Bytes to a typed command, as a client of the library reads it.
#[divan::bench(args = RpcCommandKind::ALL.map(RpcCommandKind::as_str))]
fn parse(bencher: Bencher, name: &str) {
    let kind = RpcCommandKind::parse(name).unwrap();
    let (line, dialect) = (line(kind), dialect(kind));
    bencher
        .counter(BytesCount::of_str(&line))
        .bench_local(|| read::<Inbound>(line.as_bytes(), dialect).unwrap());
}

/// To compare with: the same prompt as an untyped value.
#[divan::bench]
fn parse_a_prompt_as_value(bencher: Bencher) {
    let line = line(RpcCommandKind::Prompt);
    bencher
        .counter(BytesCount::of_str(&line))
        .bench_local(|| serde_json::from_slice::<serde_json::Value>(line.as_bytes()).unwrap());
}

/// The same with what the server looks for beside: duplicate keys, UTF-8, the dialect's commands.
#[divan::bench]
fn read_a_prompt_line(bencher: Bencher) {
    let line = line(RpcCommandKind::Prompt);
    bencher
        .counter(BytesCount::of_str(&line))
        .bench_local(|| read_line(line.as_bytes(), Dialect::Pi).unwrap().unwrap());
}

/// One frame through the machine, without and with its checks: a turn's frames, averaged.
#[divan::bench(args = [false, true])]
fn machine(bencher: Bencher, checked: bool) {
    let said = conversation(20);
    let prompt: Inbound = read(line(RpcCommandKind::Prompt).as_bytes(), Dialect::Pi).unwrap();
    bencher.counter(ItemsCount::new(said.len())).bench_local(|| {
        let mut machine = Machine::new(Dialect::Pi, checked);
        machine.inbound(&prompt);
        said.iter().map(|said| machine.outbound(said).len()).sum::<usize>()
    });
}

/// A run of so many deltas of 20 characters through engine, machine and framing.
#[divan::bench(args = [500, 2000, 8000], sample_count = 10)]
fn run_of_deltas(bencher: Bencher, deltas: usize) {
    let bytes = framed(&conversation(deltas));
    bencher
        .counter(ItemsCount::new(deltas))
        .counter(BytesCount::new(bytes))
        .bench_local(|| framed(&conversation(deltas)));
}

/// The encoder alone, on what the engine has said.
#[divan::bench(args = [2000], sample_count = 10)]
fn framing(bencher: Bencher, deltas: usize) {
    let said = conversation(deltas);
    bencher.counter(BytesCount::new(framed(&said))).bench_local(|| framed(&said));
}

/// To compare with: every snapshot serialised as a whole, twice, as a frame's type would have it.
#[divan::bench(args = [2000], sample_count = 10)]
fn framing_by_serialising(bencher: Bencher, deltas: usize) {
    let Some(AgentMessage::Assistant(message)) =
        conversation(deltas).into_iter().find_map(|said| match said {
            Said::Frame(Outbound::AgentSessionEvent(AgentSessionEvent::MessageEnd(end))) => {
                matches!(end.message, AgentMessage::Assistant(_)).then_some(end.message)
            }
            _ => None,
        })
    else {
        panic!("the conversation has an assistant message")
    };
    bencher
        .counter(BytesCount::new(serialised(&message, deltas)))
        .bench_local(|| serialised(&message, deltas));
}

fn serialised(whole: &AssistantMessage, deltas: usize) -> usize {
    let mut growing = AssistantMessage { content: Vec::new(), ..whole.clone() };
    let mut text = String::new();
    let mut bytes = 0;
    for _ in 0..deltas {
        text.push_str(DELTA);
        let block = TextContent { text: text.clone(), text_signature: None };
        growing.content = vec![AssistantContent::Text(block)];
        let (delta, partial) = (DELTA.to_owned(), growing.clone());
        let event = TextDeltaUpdate { content_index: 0, delta, partial }.into();
        let frame = MessageUpdateEvent { assistant_message_event: event, message: growing.clone() };
        bytes += divan::black_box(serde_json::to_vec(&frame).unwrap()).len();
    }
    bytes
}

const DELTA: &str = "twenty characters ok";

/// From starting the binary to its first response.
#[divan::bench(sample_count = 50, sample_size = 1)]
fn start_to_first_response() -> String {
    let mut child = Command::new(env!("CARGO_BIN_EXE_pi-rpc"))
        .args(["serve", "--no-session", "--model", "scripted/demo"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"{\"type\":\"get_state\"}\n").unwrap();
    let mut answer = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut answer).unwrap();
    drop(stdin);
    child.wait().unwrap();
    answer
}

/// Bytes of everything said, encoded into one reused buffer as the writer does it.
fn framed(said: &[Said]) -> usize {
    let mut encoder = Encoder::default();
    let mut out = Vec::new();
    let mut bytes = 0;
    for said in said {
        encoder.encode(said, &mut out);
        if out.len() > 64 * 1024 {
            bytes += divan::black_box(&out).len();
            out.clear();
        }
    }
    bytes + out.len()
}

/// What the engine says when a model answers one prompt with so many deltas.
fn conversation(deltas: usize) -> Vec<Said> {
    let library = Library::scripted("demo").unwrap();
    let setup = Setup {
        dialect: Dialect::Pi,
        models: library.choices().to_vec(),
        start: 0,
        chosen: false,
        scope: None,
        level: None,
        modes: Modes::of(Dialect::Pi),
        place: Place::in_memory("/work"),
        session: None,
        tools: Toolbox::new(tools::specs()).unwrap(),
        system_prompt: "".into(),
        extending: Extending::default(),
        name: None,
        seed: 1,
        checked: false,
    };
    let now = Now { monotonic: Duration::ZERO, wall: 1_800_000_000_000 };
    let mut engine = Engine::new(setup, now);
    let mut said = Vec::new();
    let mut call = 0;
    let mut take = |engine: &mut Engine, call: &mut u64| {
        while let Some(output) = engine.poll() {
            match output {
                Output::Say(frame) => said.push(frame),
                Output::CallModel(request) => *call = request.call,
                _ => {}
            }
        }
    };
    let prompt = read(line(RpcCommandKind::Prompt).as_bytes(), Dialect::Pi);
    engine.handle(Input::Frame(Box::new(prompt.unwrap())), now);
    take(&mut engine, &mut call);
    let counts = TokenCounts { input: 10, output: 1, ..TokenCounts::default() };
    let start = [StreamEvent::Usage(counts), StreamEvent::Start { index: 0, block: BlockStart::Text }];
    let grow = (0..deltas).map(|_| StreamEvent::Delta { index: 0, delta: DELTA.to_owned() });
    let end = [StreamEvent::End { index: 0, signature: None }, StreamEvent::Finish(Finish::Stop)];
    for event in start.into_iter().chain(grow).chain(end) {
        engine.handle(Input::Model { call, event }, now);
        take(&mut engine, &mut call);
    }
    assert!(matches!(said.last(), Some(Said::Frame(Outbound::AgentSessionEvent(_)))));
    said
}
