//! The scripted model: recording of requests, and planning of answers.

use crate::{
    playback::Called,
    world::{Event, World},
};
use pi_rpc_engine::{Input, ModelCall, Purpose};
use pi_rpc_model::{
    scripted::{ScriptedCall, StepAction, ToolText},
    types::{BlockStart, StreamEvent},
};
use pi_rpc_protocol::{AgentMessage, MessageContent, UserContent};

impl World<'_> {
    pub(crate) fn call_model(&mut self, call: &ModelCall) {
        let newest = call.messages.iter().rposition(|message| matches!(**message, AgentMessage::User(_)));
        let prompt = newest.map(|at| user_text(&call.messages[at])).unwrap_or_default();
        let results: Vec<ToolText> = call.messages[newest.unwrap_or(0)..]
            .iter()
            .filter_map(|message| match message.as_ref() {
                AgentMessage::ToolResult(it) => Some(ToolText {
                    name: it.tool_name.clone(),
                    text: text(&it.content),
                    is_error: it.is_error,
                }),
                _ => None,
            })
            .collect();
        let tools: Vec<String> = call.tools.iter().map(|tool| tool.name.clone()).collect();
        if self.records {
            self.note_call(call, &tools);
        }
        let ask = ScriptedCall {
            prompt: &prompt,
            call: call.count,
            results: &results,
            tools: &tools,
            summary: matches!(call.purpose, Purpose::Summary),
            input_chars: 400,
        };
        let is_first = call.count == 0;
        let (call, mut due) = (call.call, self.now);
        if is_first && !self.scenario.stream.is_empty() {
            for event in self.scenario.stream.clone() {
                self.plan(due, call, Event::Step(call, Box::new(Input::Model { call, event })));
            }
            return;
        }
        for step in self.player.answer(&ask) {
            due += step.delay_ms;
            let StepAction::Event(event) = step.action else { continue };
            let strays = if self.scenario.strays { strays(&event) } else { Vec::new() };
            for event in [event].into_iter().chain(strays) {
                self.plan(due, call, Event::Step(call, Box::new(Input::Model { call, event })));
            }
        }
    }

    fn note_call(&mut self, call: &ModelCall, tools: &[String]) {
        let roles: String = call.messages.iter().map(|message| letter(message)).collect();
        let what = match call.purpose {
            Purpose::Turn => "turn",
            Purpose::Summary => "summary",
            Purpose::Extension(_) => "outside",
            Purpose::Warming => "warming",
        };
        let forced = call.forced_tool.as_ref().map(|tool| format!(" must {tool}")).unwrap_or_default();
        self.played.asked.push(format!("{what} {} [{roles}]{forced}", call.model.id));
        let messages = call.messages.iter().map(|it| serde_json::to_value(it.as_ref()).expect("JSON"));
        self.played.called.push(Called {
            instructions: call.system_prompt.to_string(),
            tools: tools.to_vec(),
            messages: messages.collect(),
            has_system_messages: call.has_system_messages,
        });
    }
}

/// Invalid events after `event`: a delta for a block that has ended, and one for a block that never began.
fn strays(event: &StreamEvent) -> Vec<StreamEvent> {
    let StreamEvent::End { index, .. } = *event else { return Vec::new() };
    let on = |index| {
        let delta = StreamEvent::Delta { index, delta: "stray".to_owned() };
        [delta, StreamEvent::End { index, signature: Some("stray".to_owned()) }]
    };
    let start = StreamEvent::Start { index: index + 7, block: BlockStart::Text };
    on(index).into_iter().chain([start]).chain(on(index + 7)).collect()
}

fn user_text(message: &AgentMessage) -> String {
    match message {
        AgentMessage::User(it) => match &it.content {
            MessageContent::Blocks(blocks) => text(blocks),
            _ => String::new(),
        },
        _ => String::new(),
    }
}

fn text(blocks: &[UserContent]) -> String {
    let texts = blocks.iter().filter_map(|block| match block {
        UserContent::Text(it) => Some(it.text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// First letter of the role; `S` for a summary.
fn letter(message: &AgentMessage) -> char {
    match message {
        AgentMessage::User(_) => 'u',
        AgentMessage::Assistant(_) => 'a',
        AgentMessage::ToolResult(_) => 't',
        AgentMessage::BashExecution(_) => 'b',
        AgentMessage::Developer(_) => 'd',
        AgentMessage::Custom(_) => 'c',
        AgentMessage::System(_) => 's',
        AgentMessage::CompactionSummary(_) => 'S',
        _ => '?',
    }
}
