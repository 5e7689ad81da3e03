//! Cost of a turn after many others: `cargo bench --bench turns`. It should be constant in the engine; a
//! request contains the whole conversation, as the APIs of vendors require.

use divan::{Bencher, counter::BytesCount};
use pi_rpc::{
    engine::{
        Engine, ExtensionSetup, Input, ModelCall, Modes, Now, Output, SessionStorage, Setup, Toolbox,
        limits::Limits,
    },
    model::{
        api::Api,
        request::{Credentials, Endpoint, ModelRequest, RequestOptions},
        types::{BlockStart, Finish, StreamEvent, TokenCounts},
    },
    protocol::{AgentToolResult, Dialect, Encoder, TextContent, ThinkingLevel, read},
    server::ModelLibrary,
    tools,
};
use std::{collections::BTreeMap, time::Duration};

fn main() {
    divan::main();
}

const TURNS: [usize; 4] = [10, 100, 500, 2000];

/// One prompt and its answer, after `turns` others.
#[divan::bench(args = TURNS, sample_count = 200, sample_size = 1)]
fn prompted_turn(bencher: Bencher, turns: usize) {
    let mut talk = Talk::new(Dialect::Pi1);
    (0..turns).for_each(|_| talk.turn());
    bencher.bench_local(|| talk.turn());
}

/// One tool call and the next request, after `turns` others in the same run.
#[divan::bench(args = TURNS, sample_count = 200, sample_size = 1)]
fn tool_turn(bencher: Bencher, turns: usize) {
    let mut talk = Talk::new(Dialect::Pi1);
    talk.prompt();
    (0..turns).for_each(|_| talk.tool_turn());
    bencher.bench_local(|| talk.tool_turn());
}

/// The end of a run with `turns` tool turns, all of which are in `agent_end`.
#[divan::bench(args = TURNS, sample_count = 10, sample_size = 1)]
fn end_of_run(bencher: Bencher, turns: usize) {
    bencher
        .with_inputs(|| {
            let mut talk = Talk::new(Dialect::Pi1);
            talk.prompt();
            (0..turns).for_each(|_| talk.tool_turn());
            talk
        })
        .bench_local_values(|mut talk| talk.answer());
}

/// `get_state` after `turns` turns.
#[divan::bench(args = TURNS, sample_count = 200, sample_size = 1)]
fn get_state(bencher: Bencher, turns: usize) {
    let mut talk = Talk::new(Dialect::Pi1);
    (0..turns).for_each(|_| talk.turn());
    bencher.bench_local(|| talk.command(r#"{"type":"get_state"}"#));
}

/// The body of a request after `turns` turns.
#[divan::bench(args = TURNS, consts = [0, 1, 2], sample_count = 20)]
fn request<const API: usize>(bencher: Bencher, turns: usize) {
    let mut talk = Talk::new(Dialect::Pi1);
    (0..turns).for_each(|_| talk.turn());
    talk.prompt();
    let call = talk.call.take().expect("a request");
    let api = [Api::AnthropicMessages, Api::OpenaiCompletions, Api::OpenaiResponses][API];
    let mut model = call.model.clone();
    model.api = api.as_str().to_owned();
    let endpoint =
        Endpoint { model, levels: vec![ThinkingLevel::Off], efforts: BTreeMap::new(), adaptive: false };
    let credentials = Credentials::default();
    let options = RequestOptions { budgets: BTreeMap::new(), blocks_images: false, caches_long: false };
    let request = ModelRequest {
        endpoint: &endpoint,
        credentials: &credentials,
        max_answer_tokens: None,
        level: ThinkingLevel::Off,
        system_prompt: &call.system_prompt,
        messages: &call.messages,
        has_system_messages: false,
        tools: &call.tools,
        forced_tool: None,
        session_id: &call.session_id,
        options: &options,
    };
    let body = || api.request(&request).body.to_string();
    bencher.counter(BytesCount::of_str(&body())).bench_local(body);
}

/// Conversation of an engine with a model under the control of the benchmark.
struct Talk {
    engine: Engine,
    call: Option<Box<ModelCall>>,
    tool: u64,
    encoder: Encoder,
    out: Vec<u8>,
}

impl Talk {
    fn new(dialect: Dialect) -> Self {
        let library = ModelLibrary::scripted("demo").unwrap();
        let setup = Setup {
            dialect,
            models: library.choices().to_vec(),
            start: 0,
            chosen: false,
            reloads_models: false,
            scope: None,
            level: None,
            modes: Modes { auto_compaction: false, ..Modes::of(dialect) },
            limits: Limits::default(),
            place: SessionStorage::in_memory("/work"),
            session: None,
            tools: Toolbox::new(tools::specs(&dialect.record().tools)),
            system_prompt: "You help.".into(),
            extension_setup: ExtensionSetup::default(),
            name: None,
            seed: 1,
            checked: false,
        };
        let engine = Engine::new(setup, NOW);
        let mut talk = Self { engine, call: None, tool: 0, encoder: Encoder::new(dialect), out: Vec::new() };
        talk.take();
        talk
    }

    /// Handles outputs as the server does, without writing.
    fn take(&mut self) {
        while let Some(output) = self.engine.poll() {
            match output {
                Output::Emit(said) => {
                    self.out.clear();
                    self.encoder.encode(&said, &mut self.out);
                }
                Output::CallModel(call) => self.call = Some(call),
                Output::StartTool(start) => self.tool = start.call,
                _ => {}
            }
        }
    }

    fn handle(&mut self, input: Input) {
        self.engine.handle(input, NOW);
        self.take();
    }

    fn command(&mut self, line: &str) {
        self.handle(Input::Frame(Box::new(read(line.as_bytes(), Dialect::Pi1).unwrap())));
    }

    fn prompt(&mut self) {
        self.command(
            r#"{"type":"prompt","message":"Look at the tests and tell me which of them can fail."}"#,
        );
    }

    fn say(&mut self, block: BlockStart, text: &str, finish: Finish) {
        // The request completes before the answer.
        let call = self.call.take().expect("a request").call;
        let counts = TokenCounts { input: 10, output: 1, ..TokenCounts::default() };
        for event in [
            StreamEvent::Usage(counts),
            StreamEvent::Start { index: 0, block },
            StreamEvent::Delta { index: 0, delta: text.to_owned() },
            StreamEvent::End { index: 0, signature: None },
            StreamEvent::Finish(finish),
        ] {
            self.handle(Input::Model { call, event });
        }
    }

    fn answer(&mut self) {
        self.say(BlockStart::Text, &"An answer of some words. ".repeat(16), Finish::Stop);
    }

    fn turn(&mut self) {
        self.prompt();
        self.answer();
    }

    fn tool_turn(&mut self) {
        let block = BlockStart::ToolCall { id: "call".to_owned(), name: "read".to_owned() };
        self.say(block, r#"{"path":"a.rs"}"#, Finish::ToolUse);
        let text = TextContent { text: "What stands there. ".repeat(20), text_signature: None };
        let result = AgentToolResult {
            content: vec![text.into()],
            details: None,
            is_warning: None,
            structured_content: None,
            is_error: None,
            usage: None,
            terminate: None,
        };
        self.handle(Input::ToolEnd { call: self.tool, result, is_error: false });
    }
}

/// The time, which is constant.
const NOW: Now = Now { monotonic: Duration::ZERO, wall: 1_800_000_000_000 };
