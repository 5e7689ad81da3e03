//! Which runs that wait for a permission another process could go on with.

use crate::bare_setup::bare_setup;
use pi_rpc_engine::{Engine, Input, Now, Output, Toolbox};
use pi_rpc_model::types::{BlockStart, Finish, StreamEvent, ToolSpec};
use pi_rpc_protocol::{Dialect, Encoder, read_line};
use serde_json::{Value, json};
use std::time::Duration;

/// An engine that asks before `bash`, which the model calls in its answer. Its disk answers at once, but for pages.
struct World {
    engine: Engine,
    encoder: Encoder,
    said: Vec<Value>,
    started: usize,
}

impl World {
    fn new() -> Self {
        let (name, description) = ("bash".to_owned(), "Runs a command.".to_owned());
        let parameters = json!({ "type": "object" }).into();
        let bash = ToolSpec { name, description, parameters, exclusive: true, output: None };
        let mut setup = bare_setup();
        setup.place.folder = Some("/sessions".into());
        setup.tools = Toolbox::new(vec![bash]);
        setup.extension_setup.confirm = vec!["bash".to_owned()];
        let engine = Engine::new(setup, NOW);
        let mut world = Self { engine, encoder: Encoder::new(Dialect::Pi), said: Vec::new(), started: 0 };
        world.perform();
        world
    }

    fn handle(&mut self, input: Input) {
        self.engine.handle(input, NOW);
        self.perform();
    }

    fn host(&mut self, frame: Value) {
        let line = read_line(frame.to_string().as_bytes(), Dialect::Pi).transpose().expect("no blank line");
        self.handle(Input::line(line));
    }

    fn perform(&mut self) {
        while let Some(output) = self.engine.poll() {
            match output {
                Output::Emit(said) => {
                    let mut bytes = Vec::new();
                    self.encoder.encode(&said, &mut bytes);
                    self.said.push(serde_json::from_slice(&bytes).expect("JSON"));
                }
                Output::Store(_) => self.engine.handle(Input::Stored, NOW),
                Output::CallModel(call) => {
                    let block = BlockStart::ToolCall { id: "t1".to_owned(), name: "bash".to_owned() };
                    for event in [
                        StreamEvent::Start { index: 0, block },
                        StreamEvent::Delta { index: 0, delta: "{}".to_owned() },
                        StreamEvent::End { index: 0, signature: None },
                        StreamEvent::Finish(Finish::ToolUse),
                    ] {
                        self.engine.handle(Input::Model { call: call.call, event }, NOW);
                    }
                }
                Output::StartTool(_) => self.started += 1,
                Output::Violation(violation) => panic!("{violation}"),
                _ => {}
            }
        }
    }
}

const NOW: Now = Now { monotonic: Duration::ZERO, wall: 0 };

#[test]
fn unwritten_answer_is_no_open_question() {
    let mut world = World::new();
    world.host(json!({ "id": "p", "type": "prompt", "message": "go" }));
    let asked = world.said.iter().find(|frame| frame["type"] == "extension_ui_request").expect("a question");
    let answer = json!({ "type": "extension_ui_response", "id": asked["id"], "value": "Allow once" });
    assert!(world.engine.waiting_run().is_some());
    world.host(json!({ "id": "e", "type": "export_html" }));
    assert_eq!(world.engine.waiting_run(), None);
    world.host(answer);
    assert_eq!((world.engine.waiting_run(), world.started), (None, 0));
    world.handle(Input::FileWritten(Ok(())));
    assert_eq!(world.started, 1);
}
