//! A guide to the library: five worked examples. Each runs as a test of the documentation.
//!
//! | You want to | Use | Needs the feature |
//! |---|---|---|
//! | [read and check frames](#parse-a-frame) | [`protocol`](pi_rpc_protocol) | – |
//! | [know what is legal now](#ask-the-machine) | [`machine`](pi_rpc_machine) | – |
//! | [judge a recording](#judge-a-recording) | [`oracle`](pi_rpc_oracle) | `serve` |
//! | [run the agent in your own program](#embed-the-server) | [`engine`](pi_rpc_engine) | `engine` |
//! | [talk to an agent](#write-a-client) | [`client`](pi_rpc_client) | `serve` |
//!
//! The book beside the code (`docs/`, or `pi-rpc docs`) explains the protocol and the binary; this page is about the types.
//!
//! # Parse a frame
//!
//! Bytes become lines with [`LineSplitter`](pi_rpc_protocol::LineSplitter), and a line becomes a frame with
//! [`read`](pi_rpc_protocol::read), which accepts a value if and only if the schema of the dialect does.
//! [`read_line`](pi_rpc_protocol::read_line) does the same as a server does it: it takes a CR before the line feed, and an error
//! has the `id` that the error response must repeat.
//!
//! ```
//! use pi_rpc::protocol::{Dialect, FRAME_LIMIT, Inbound, LineSplitter, RpcCommand, SplitLine, read};
//!
//! let mut lines = LineSplitter::new(FRAME_LIMIT);
//! lines.push(b"{\"type\":\"prompt\",\"mess");
//! assert_eq!(lines.next_line(), None);
//! lines.push(b"age\":\"Hello\"}\n");
//! let Some(SplitLine::Line(line)) = lines.next_line() else { panic!("the line is complete") };
//!
//! let Inbound::Command(RpcCommand::Prompt(prompt)) = read(line, Dialect::Pi)? else { panic!("a prompt") };
//! assert_eq!(prompt.message, "Hello");
//!
//! // An error names the member that is wrong.
//! let error = read::<Inbound>(br#"{"type":"prompt","message":7}"#, Dialect::Pi).unwrap_err();
//! assert!(error.to_string().contains("message"), "{error}");
//! # Ok::<(), pi_rpc::protocol::ReadError>(())
//! ```
//!
//! A frame becomes bytes with [`Encoder`](pi_rpc_protocol::Encoder), which also makes the snapshots of a partial message in the
//! dialects that want them.
//!
//! # Ask the machine
//!
//! A [`Machine`](pi_rpc_machine::Machine) takes every frame of a conversation, in both directions. It says what becomes of a
//! command here, which state the conversation is in, and which rule a frame breaks.
//!
//! ```
//! use pi_rpc::{
//!     machine::{Machine, Rule},
//!     protocol::{Dialect, Disposition, FlowState, Inbound, Outbound, RpcCommand, Emission, read},
//! };
//!
//! let mut machine = Machine::new(Dialect::Pi, true);
//! let prompt: Inbound = read(br#"{"id":"1","type":"prompt","message":"Hello"}"#, Dialect::Pi)?;
//! let Inbound::Command(command) = &prompt else { panic!("a command") };
//! let fate = |machine: &Machine, command: &RpcCommand| machine.disposition(command).map(|case| case.disposition);
//!
//! // An idle agent runs a prompt.
//! assert_eq!(machine.flow(), FlowState::Idle);
//! assert_eq!(fate(&machine, command), Some(Disposition::Run));
//! assert_eq!(machine.inbound(&prompt), []);
//!
//! let mut says = |frame: &str| -> Result<_, pi_rpc::protocol::ReadError> {
//!     let frame: Outbound = read(frame.as_bytes(), Dialect::Pi)?;
//!     let violations = machine.outbound(&Emission::Frame(frame));
//!     Ok((machine.flow(), violations, fate(&machine, command)))
//! };
//! says(r#"{"id":"1","type":"response","command":"prompt","success":true}"#)?;
//!
//! // While it streams, a prompt is rejected unless it says whether it steers or follows up.
//! let (flow, violations, fate) = says(r#"{"type":"agent_start"}"#)?;
//! assert_eq!((flow.as_str(), &violations[..], fate), ("streaming.between", &[][..], Some(Disposition::Reject)));
//!
//! // A run has no second beginning.
//! let (_, violations, _) = says(r#"{"type":"agent_start"}"#)?;
//! assert_eq!(violations[0].rule, Rule::RunNesting);
//! println!("{}", violations[0]);
//! # Ok::<(), pi_rpc::protocol::ReadError>(())
//! ```
//!
//! Hosts that want to know whether a command may be sent now use
//! [`SessionState`](pi_rpc_client::SessionState), which has a machine and keeps model, modes, queues and messages besides.
//!
//! # Judge a recording
//!
//! [`JudgeOptions`](pi_rpc_oracle::JudgeOptions) judges a file that `pi-rpc tap` has recorded, or a plain log of what a server wrote. A
//! [`Report`](pi_rpc_oracle::report::Report) puts the outcomes together for people, JUnit or a browser.
//!
//! ```
//! use pi_rpc::{
//!     machine::{Rule, Tier},
//!     oracle::{Expectations, JudgeOptions, report::Report},
//! };
//!
//! // The server announces a message and never ends it.
//! let recording = r#"
//! {"t":0,"dir":"meta","frame":{"event":"spawn","dialect":"pi"}}
//! {"t":1,"dir":"in","frame":{"id":"1","type":"prompt","message":"Hello"}}
//! {"t":2,"dir":"out","frame":{"id":"1","type":"response","command":"prompt","success":true}}
//! {"t":3,"dir":"out","frame":{"type":"agent_start"}}
//! {"t":4,"dir":"out","frame":{"type":"turn_start"}}
//! {"t":5,"dir":"out","frame":{"type":"message_start","message":{"role":"user","content":"Hello","timestamp":1}}}
//! {"t":6,"dir":"out","frame":{"type":"agent_end","messages":[]}}
//! "#;
//! let subject = JudgeOptions::default().judge("unfinished", recording.trim_start().as_bytes());
//! assert!(subject.findings.iter().any(|found| found.rule == Rule::RunNesting && found.tier == Tier::Must));
//!
//! let report = Report::new(vec![subject], Expectations::default(), Tier::Should);
//! assert_eq!(report.status(), 1);
//! println!("{}", report.to_human());
//! ```
//!
//! A live conversation goes to a [`Judge`](pi_rpc_oracle::Judge) record by record; [`live`](pi_rpc_conform::live) plays scenarios
//! with a server, and [`tap`](pi_rpc_conform::tap) stands between a host and a server.
//!
//! # Embed the server
//!
//! The [`Engine`](pi_rpc_engine::Engine) decides everything that an agent does and performs nothing: your program gives it what
//! happened ([`Input`](pi_rpc_engine::Input)) and the time, and performs what it wants
//! ([`Output`](pi_rpc_engine::Output)) until nothing is left. Here the model is a constant, and stdout a vector.
//! [`server::serve`](pi_rpc_server::serve) is the same loop on real pipes, processes and clocks.
//!
//! ```
//! use pi_rpc::{
//!     engine::{Engine, ExtensionSetup, Input, Modes, Now, Output, SessionStorage, Setup, Toolbox, limits::Limits},
//!     model::types::{BlockStart, Finish, StreamEvent},
//!     protocol::{Dialect, Encoder, read},
//!     server::ModelLibrary,
//! };
//! use std::time::Duration;
//!
//! let dialect = Dialect::Pi1;
//! let now = Now { monotonic: Duration::ZERO, wall: 1_800_000_000_000 };
//! let setup = Setup {
//!     dialect,
//!     models: ModelLibrary::scripted("demo").expect("it needs no file").choices().to_vec(),
//!     start: 0,
//!     chosen: false,
//!     reloads_models: false,
//!     scope: None,
//!     level: None,
//!     modes: Modes::of(dialect),
//!     limits: Limits::default(),
//!     place: SessionStorage::in_memory("/work"),
//!     session: None,
//!     tools: Toolbox::new(Vec::new()),
//!     system_prompt: "You help.".into(),
//!     extension_setup: ExtensionSetup::default(),
//!     name: None,
//!     seed: 1,
//!     checked: true,
//! };
//! let mut engine = Engine::new(setup, now);
//! let mut encoder = Encoder::new(dialect);
//! let mut stdout = Vec::new();
//!
//! let prompt = read(br#"{"id":"1","type":"prompt","message":"Hello"}"#, dialect)?;
//! let mut inputs = vec![Input::Frame(Box::new(prompt))];
//! while let Some(input) = (!inputs.is_empty()).then(|| inputs.remove(0)) {
//!     engine.handle(input, now);
//!     while let Some(output) = engine.poll() {
//!         match output {
//!             Output::Emit(frame) => encoder.encode(&frame, &mut stdout),
//!             Output::CallModel(call) => inputs.extend(
//!                 [
//!                     StreamEvent::Start { index: 0, block: BlockStart::Text },
//!                     StreamEvent::Delta { index: 0, delta: "Hello yourself.".to_owned() },
//!                     StreamEvent::End { index: 0, signature: None },
//!                     StreamEvent::Finish(Finish::Stop),
//!                 ]
//!                 .map(|event| Input::Model { call: call.call, event }),
//!             ),
//!             // The machine objects to a frame of ours.
//!             Output::Violation(violation) => panic!("{violation}"),
//!             _ => {}
//!         }
//!     }
//! }
//! let stdout = String::from_utf8(stdout).expect("frames are UTF-8");
//! let first = stdout.lines().next();
//! assert_eq!(first, Some(r#"{"id":"1","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}"#));
//! assert!(stdout.contains("Hello yourself."));
//! assert!(stdout.trim_end().ends_with(r#"{"type":"agent_settled","aborted":false}"#), "{stdout}");
//! # Ok::<(), pi_rpc::protocol::ReadError>(())
//! ```
//!
//! # Write a client
//!
//! A [`Client`](pi_rpc_client::Client) starts a server, gives each command a typed answer, and hands out events and dialogs.
//! `examples/client.rs` is a longer one. For TypeScript and Python see `sdk/`.
//!
//! ```
//! use pi_rpc::{
//!     client::{Client, Options},
//!     protocol::{Dialect, GetStateCommand},
//! };
//! use tokio::process::Command;
//!
//! # let binary = concat!(env!("CARGO_MANIFEST_DIR"), "/target/debug/pi-rpc");
//! # // `cargo test --doc` alone does not build it.
//! # if !std::path::Path::new(binary).exists() { return }
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
//! # runtime.block_on(async {
//! # let home = tempfile::tempdir().unwrap();
//! let mut server = Command::new("pi-rpc");
//! # let mut server = Command::new(binary);
//! # server.env("HOME", home.path()).current_dir(home.path());
//! server.args(["serve", "--dialect", "pi", "--no-session", "--model", "scripted/demo"]);
//! let (client, _events) = Client::spawn(Options::new(server, Dialect::Pi)).await?;
//!
//! let result = client.prompt("What is in this folder?").await?;
//! assert!(result.text().contains("folder"), "{}", result.text());
//!
//! let state = client.call(GetStateCommand::default()).await?;
//! assert!(!state.is_streaming);
//! assert_eq!(state.message_count, 4);
//! client.close().await;
//! # Ok::<(), pi_rpc::client::Error>(())
//! # }).expect("the server answers");
//! ```
