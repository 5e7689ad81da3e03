//! A valid conversation as frames that tests spoil, and its judgement by the machine.

use pi_rpc_machine::{Machine, Rule, ServerExit};
use pi_rpc_protocol::{BlockKind, Dialect, Emission, Outbound, Step, Update, read, read_line};
use serde_json::{Value, json};

/// A frame of either side.
#[derive(Clone, Debug)]
pub enum Frame {
    In(Value),
    Out(Value),
    /// Step of the partial message.
    Grows(Update),
    /// End of the input.
    Over,
    /// End of the process, or of the recording.
    End(ServerExit),
}

/// Frames by name.
#[derive(Clone, Debug)]
pub struct Talk {
    frames: Vec<(&'static str, Frame)>,
}

/// A prompt that leads to two calls, and the answer to their results.
pub fn talk() -> Talk {
    let (user, calling, answer) = (user(), assistant("toolUse", calls()), assistant("stop", text("Done.")));
    let (one, two) = (result("t1"), result("t2"));
    let results = json!([one, two]);
    let frames = vec![
        ("prompt", Frame::In(json!({ "id": "p", "type": "prompt", "message": "go" }))),
        ("ack", ok("p", "prompt")),
        ("agent_start", event("agent_start")),
        ("turn_start", event("turn_start")),
        ("user start", message("message_start", &user)),
        ("user end", message("message_end", &user)),
        ("ms", message("message_start", &assistant("stop", json!([])))),
        ("call start t1", grows(0, BlockKind::Toolcall, Step::Start(block(call("t1", json!({})))))),
        ("call delta t1", grows(0, BlockKind::Toolcall, Step::Delta("{\"n\":1}".to_owned()))),
        ("call end t1", grows(0, BlockKind::Toolcall, Step::End(block(call("t1", json!({ "n": 1 })))))),
        ("call start t2", grows(1, BlockKind::Toolcall, Step::Start(block(call("t2", json!({})))))),
        ("call delta t2", grows(1, BlockKind::Toolcall, Step::Delta("{\"n\":1}".to_owned()))),
        ("call end t2", grows(1, BlockKind::Toolcall, Step::End(block(call("t2", json!({ "n": 1 })))))),
        ("me", message("message_end", &calling)),
        ("start t1", tool("start", "t1")),
        ("update t1", tool("update", "t1")),
        ("end t1", tool("end", "t1")),
        ("result start t1", message("message_start", &one)),
        ("result end t1", message("message_end", &one)),
        ("start t2", tool("start", "t2")),
        ("end t2", tool("end", "t2")),
        ("result start t2", message("message_start", &two)),
        ("result end t2", message("message_end", &two)),
        ("turn_end", Frame::Out(json!({ "type": "turn_end", "message": calling, "toolResults": results }))),
        ("turn_start 2", event("turn_start")),
        ("ms 2", message("message_start", &assistant("stop", json!([])))),
        ("text start", grows(0, BlockKind::Text, Step::Start(block(text("")[0].clone())))),
        ("text delta", grows(0, BlockKind::Text, Step::Delta("Done.".to_owned()))),
        ("text end", grows(0, BlockKind::Text, Step::End(block(text("Done.")[0].clone())))),
        ("me 2", message("message_end", &answer)),
        ("turn_end 2", Frame::Out(json!({ "type": "turn_end", "message": answer, "toolResults": [] }))),
        (
            "agent_end",
            Frame::Out(json!({ "type": "agent_end", "messages": [user, calling, one, two, answer] })),
        ),
    ];
    Talk { frames }
}

impl Talk {
    /// Creates a conversation of these frames.
    pub const fn of(frames: Vec<(&'static str, Frame)>) -> Self {
        Self { frames }
    }

    /// Appends another conversation.
    pub fn then(mut self, other: Self) -> Self {
        self.frames.extend(other.frames);
        self
    }

    /// Removes these frames.
    pub fn cut(mut self, names: &[&str]) -> Self {
        for name in names {
            let at = self.place(name);
            self.frames.remove(at);
        }
        self
    }

    /// Removes all but these frames.
    pub fn only(mut self, names: &[&str]) -> Self {
        self.frames.retain(|(name, _)| names.contains(name));
        self
    }

    /// Repeats this frame.
    pub fn twice(mut self, name: &str) -> Self {
        let at = self.place(name);
        self.frames.insert(at, self.frames[at].clone());
        self
    }

    /// Moves the frame `name` behind `after`.
    pub fn moved(mut self, name: &str, after: &str) -> Self {
        let at = self.place(name);
        let frame = self.frames.remove(at);
        let to = self.place(after) + 1;
        self.frames.insert(to, frame);
        self
    }

    /// Inserts `frame` behind `after`.
    pub fn with(mut self, frame: Frame, after: &str) -> Self {
        let to = self.place(after) + 1;
        self.frames.insert(to, ("added", frame));
        self
    }

    /// Replaces a value in a frame; null removes an item of a list.
    pub fn set(mut self, name: &str, pointer: &str, value: Value) -> Self {
        let at = self.place(name);
        let (Frame::In(frame) | Frame::Out(frame)) = &mut self.frames[at].1 else { panic!("{name} grows") };
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
        match frame.pointer_mut(parent).expect("a place") {
            Value::Array(list) if value.is_null() => drop(list.remove(key.parse().expect("an index"))),
            Value::Array(list) => list[key.parse::<usize>().expect("an index")] = value,
            parent => parent[key] = value,
        }
        self
    }

    fn place(&self, name: &str) -> usize {
        let at = self.frames.iter().position(|(known, _)| *known == name);
        at.unwrap_or_else(|| panic!("no frame {name}"))
    }
}

/// The rules that the frames break, in order.
pub fn judge(machine: &mut Machine, dialect: Dialect, talk: &Talk) -> Vec<Rule> {
    let mut broken = Vec::new();
    for (name, frame) in &talk.frames {
        let violations = match frame {
            Frame::In(frame) => match read_line(frame.to_string().as_bytes(), dialect) {
                Ok(frame) => machine.inbound(&frame.expect("not blank")),
                Err(error) => machine.invalid_line(&error),
            },
            Frame::Out(frame) => {
                let line = frame.to_string();
                let frame: Outbound =
                    read(line.as_bytes(), dialect).unwrap_or_else(|error| panic!("{name}: {error}\n{line}"));
                machine.outbound(&frame.into())
            }
            Frame::Grows(update) => machine.outbound(&Emission::Update(update.clone())),
            Frame::Over => {
                machine.end_of_input();
                Vec::new()
            }
            Frame::End(end) => machine.exit(end),
        };
        broken.extend(violations.into_iter().map(|violation| violation.rule));
    }
    broken
}

/// Success response without data.
pub fn ok(id: &str, command: &str) -> Frame {
    Frame::Out(json!({ "id": id, "type": "response", "command": command, "success": true }))
}

/// An event without properties.
pub fn event(kind: &str) -> Frame {
    Frame::Out(json!({ "type": kind }))
}

/// An event with a message.
pub fn message(kind: &str, message: &Value) -> Frame {
    Frame::Out(json!({ "type": kind, "message": message }))
}

/// User message.
pub fn user() -> Value {
    json!({ "role": "user", "content": [{ "type": "text", "text": "go" }], "timestamp": 1 })
}

/// An event of a tool.
pub fn tool(what: &str, id: &str) -> Frame {
    let mut frame =
        json!({ "type": format!("tool_execution_{what}"), "toolCallId": id, "toolName": "count" });
    let done = json!({ "content": text("1") });
    match what {
        "start" => frame["args"] = json!({ "n": 1 }),
        "update" => {
            frame["args"] = json!({ "n": 1 });
            frame["partialResult"] = done;
        }
        _ => {
            frame["result"] = done;
            frame["isError"] = json!(false);
        }
    }
    Frame::Out(frame)
}

/// Step of the partial message.
pub fn grows(index: usize, block: BlockKind, step: Step) -> Frame {
    Frame::Grows(Update { index, block, step, rest: None })
}

/// Content of one text.
pub fn text(text: &str) -> Value {
    json!([{ "type": "text", "text": text }])
}

fn calls() -> Value {
    json!([call("t1", json!({ "n": 1 })), call("t2", json!({ "n": 1 }))])
}

/// A call as a block.
pub fn call(id: &str, arguments: Value) -> Value {
    json!({ "type": "toolCall", "id": id, "name": "count", "arguments": arguments })
}

/// Block in the form of the steps.
pub fn block(block: Value) -> pi_rpc_protocol::AssistantContent {
    serde_json::from_value(block).expect("a block")
}

/// The result of a call.
pub fn result(id: &str) -> Value {
    json!({
        "role": "toolResult", "toolCallId": id, "toolName": "count", "content": text("1"), "isError": false,
        "timestamp": 2,
    })
}

/// Assistant message.
pub fn assistant(stop: &str, content: Value) -> Value {
    let cost = json!({ "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 });
    json!({
        "role": "assistant", "content": content, "api": "a", "provider": "p", "model": "m",
        "usage": {
            "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0, "cost": cost,
        },
        "stopReason": stop, "timestamp": 3,
    })
}

/// Compares a text with the one in `snapshots`.
pub fn snapshot(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../../snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}
