//! Speed of hot paths: `cargo bench`. The figures serve to compare two versions on one machine.

#[path = "counts/src/world.rs"]
mod world;

use divan::{Bencher, counter::BytesCount, counter::ItemsCount};
use pi_rpc::{
    machine::Machine,
    protocol::{
        AgentMessage, AgentSessionEvent, AssistantContent, AssistantMessage, Dialect, Emission, Encoder,
        Inbound, MessageUpdateEvent, Outbound, RpcCommandKind, TextContent, TextDeltaUpdate, read, read_line,
    },
};
use std::{
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
};
use world::{DELTA, answer, conversation, engine, framed};

fn main() {
    divan::main();
}

/// Line of a command, with its required members.
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

/// Reads bytes as a typed command, as a user of the library does.
#[divan::bench(args = RpcCommandKind::ALL.map(RpcCommandKind::as_str))]
fn parse(bencher: Bencher, name: &str) {
    let kind = RpcCommandKind::parse(name).unwrap();
    let (line, dialect) = (line(kind), dialect(kind));
    bencher
        .counter(BytesCount::of_str(&line))
        .bench_local(|| read::<Inbound>(line.as_bytes(), dialect).unwrap());
}

/// For comparison: reads the same prompt as an untyped value.
#[divan::bench]
fn parse_a_prompt_as_value(bencher: Bencher) {
    let line = line(RpcCommandKind::Prompt);
    bencher
        .counter(BytesCount::of_str(&line))
        .bench_local(|| serde_json::from_slice::<serde_json::Value>(line.as_bytes()).unwrap());
}

/// Reads a line with the checks of the server: duplicate keys, UTF-8, the commands of the dialect.
#[divan::bench(args = [world::GET_STATE, world::PROMPT])]
fn read_a_line(bencher: Bencher, line: &str) {
    bencher
        .counter(BytesCount::of_str(line))
        .bench_local(|| read_line(line.as_bytes(), Dialect::Pi).unwrap().unwrap());
}

/// Handles a line up to the bytes of its response, without pipes.
#[divan::bench]
fn get_state_through_the_engine(bencher: Bencher) {
    let (mut engine, now) = engine();
    let mut encoder = Encoder::new(Dialect::Pi);
    let mut out = Vec::new();
    bencher.counter(ItemsCount::new(1_usize)).bench_local(|| {
        out.clear();
        answer(&mut engine, &mut encoder, world::GET_STATE, now, &mut out);
        out.len()
    });
}

/// Passes the frames of a turn through the machine, with and without checks; time per frame.
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

/// Passes a run with deltas of 20 characters through engine, machine and encoder.
#[divan::bench(args = [500, 2000, 8000], sample_count = 10)]
fn run_of_deltas(bencher: Bencher, deltas: usize) {
    let bytes = framed(&conversation(deltas));
    bencher
        .counter(ItemsCount::new(deltas))
        .counter(BytesCount::new(bytes))
        .bench_local(|| framed(&conversation(deltas)));
}

/// Encodes the emissions of the engine.
#[divan::bench(args = [2000], sample_count = 10)]
fn framing(bencher: Bencher, deltas: usize) {
    let said = conversation(deltas);
    bencher.counter(BytesCount::new(framed(&said))).bench_local(|| framed(&said));
}

/// For comparison: serialises every snapshot as a whole, twice, as the type of the frame would.
#[divan::bench(args = [2000], sample_count = 10)]
fn framing_by_serialising(bencher: Bencher, deltas: usize) {
    let Some(AgentMessage::Assistant(message)) =
        conversation(deltas).into_iter().find_map(|said| match said {
            Emission::Frame(Outbound::AgentSessionEvent(AgentSessionEvent::MessageEnd(end))) => {
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
        let (delta, partial) = (DELTA.to_owned(), Some(growing.clone()));
        let event = TextDeltaUpdate { content_index: 0, delta, partial }.into();
        let frame = MessageUpdateEvent {
            message_id: None,
            assistant_message_event: event,
            message: Some(growing.clone()),
            usage: None,
        };
        bytes += divan::black_box(serde_json::to_vec(&frame).unwrap()).len();
    }
    bytes
}

/// Time from the start of the binary to its first response.
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
