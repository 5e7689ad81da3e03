//! Who acts beside the host and the engine: models, tools and shells. Each knows what it does next and when; the
//! world keeps the time.

use super::scenario::{Ending, Work};
use pi_rpc::{
    engine::{CallId, Input, ModelCall, Purpose, ShellEnd},
    model::{
        scripted::{Ask, Player, Step, ToolText, What},
        types::{BlockStart, StreamEvent},
    },
    protocol::{
        AgentMessage, AgentToolResult, Dialect, MessageContent, TextContent, UserContent, UserMessage, errors,
    },
};
use std::collections::VecDeque;

/// Something that was started and goes on by itself.
#[derive(Debug)]
pub struct Actor {
    /// By which the engine knows it.
    pub call: CallId,
    steps: VecDeque<(u64, Input)>,
    /// Counts how often the plan changed: a step planned before that does not happen.
    pub plan: u32,
    /// It was cancelled. A model owes nothing then; whatever it still says must not be heard.
    pub cancelled: bool,
    /// What it does when it is cancelled.
    stop: Vec<(u64, Input)>,
    echo: Option<Input>,
}

impl Actor {
    /// A model that answers `call` as `player` has it. `strays`: it also says what has no place in its answer.
    pub fn model(call: &ModelCall, player: &mut Player, strays: bool) -> Self {
        let tools: Vec<String> = call.tools.iter().map(|tool| tool.name.clone()).collect();
        let newest = call.messages.iter().rposition(|message| matches!(**message, AgentMessage::User(_)));
        let (before, since) = call.messages.split_at(newest.map_or(0, |at| at + 1));
        let prompt = match before.last().map(AsRef::as_ref) {
            Some(AgentMessage::User(message)) => text_of(message),
            _ => String::new(),
        };
        let results: Vec<ToolText> = since
            .iter()
            .filter_map(|message| match message.as_ref() {
                AgentMessage::ToolResult(result) => Some(ToolText {
                    name: result.tool_name.clone(),
                    text: blocks_text(&result.content),
                    is_error: result.is_error,
                }),
                _ => None,
            })
            .collect();
        let summary = call.purpose != Purpose::Turn;
        let (call, count) = (call.call, call.count);
        let ask =
            Ask { prompt: &prompt, call: count, results: &results, tools: &tools, summary, input_chars: 40 };
        let step = |step: Step| match step.what {
            What::Event(event) => Some((step.delay_ms, Input::Model { call, event })),
            What::Hang => None,
        };
        let said = player.answer(&ask).into_iter().filter_map(step);
        let steps = said.flat_map(|step| {
            let stray = if strays { stray(&step.1) } else { Vec::new() };
            [step].into_iter().chain(stray)
        });
        let steps = steps.collect();
        Self { call, steps, plan: 0, cancelled: false, stop: Vec::new(), echo: None }
    }

    /// A tool called `name` that goes as `work` has it. `echoes`: it reports once more when it is long over.
    pub fn tool(call: CallId, name: &str, work: &Work, dialect: Dialect, echoes: bool) -> Self {
        let base = dialect.base();
        let result = |text: String| AgentToolResult {
            content: vec![UserContent::Text(TextContent { text, text_signature: None })],
            details: None,
            is_warning: None,
            structured_content: None,
            is_error: None,
            usage: None,
            terminate: None,
        };
        let (end_wait, waits) = work.waits.split_last().unwrap_or((&0, &[]));
        let line = |n: usize| format!("{call}.{n}\n");
        let progress =
            |so_far: usize| Input::ToolProgress { call, result: result((0..=so_far).map(line).collect()) };
        let end = |text: String, is_error: bool| Input::ToolEnd { call, result: result(text), is_error };
        let natural = match work.ending {
            Ending::Done => Some(end((0..=waits.len()).map(line).collect(), false)),
            Ending::Failed => Some(end(format!("{name} {call} failed"), true)),
            Ending::Never => None,
        };
        let aborted = if name == "bash" { errors::bash_aborted(base) } else { errors::tool_aborted(base) };
        let stop = match &natural {
            Some(natural) if work.too_late => natural.clone(),
            _ => end(aborted, true),
        };
        let reports = waits.iter().enumerate().map(|(n, wait)| (*wait, progress(n)));
        Self {
            call,
            steps: reports.chain(natural.map(|end| (*end_wait, end))).collect(),
            plan: 0,
            cancelled: false,
            // It may have been about to say something.
            stop: echoes.then(|| (0, progress(8))).into_iter().chain([(work.stops_after, stop)]).collect(),
            echo: echoes.then(|| progress(9)),
        }
    }

    /// A shell command of the host that goes as `work` has it.
    pub fn shell(call: CallId, command: &str, work: &Work) -> Self {
        let wait = work.waits.iter().sum();
        let done = |cancelled: bool| ShellEnd {
            output: format!("{command} said {call}"),
            exit_code: (!cancelled).then_some(0),
            cancelled,
            directory: Some(format!("/at/{call}")),
            counts: [1, 9, 1, 9],
            ..ShellEnd::default()
        };
        let natural = match work.ending {
            Ending::Done => Some(Ok(done(false))),
            Ending::Failed => Some(Err(format!("no shell for {call}"))),
            Ending::Never => None,
        };
        let stop = match &natural {
            Some(natural) if work.too_late => natural.clone(),
            _ => Ok(done(true)),
        };
        Self {
            call,
            steps: natural.map(|end| (wait, Input::ShellEnd { call, end })).into_iter().collect(),
            plan: 0,
            cancelled: false,
            stop: vec![(work.stops_after, Input::ShellEnd { call, end: stop })],
            echo: None,
        }
    }

    /// How long until it does something again, if it does.
    pub fn wait(&self) -> Option<u64> {
        self.steps.front().map(|(wait, _)| *wait)
    }

    /// What it does now. The last step of a tool leaves its echo.
    pub fn step(&mut self) -> Option<Input> {
        let (_, input) = self.steps.pop_front()?;
        if matches!(input, Input::ToolEnd { .. })
            && let Some(echo) = self.echo.take()
        {
            self.steps.push_back((2, echo));
        }
        Some(input)
    }

    /// Cancels it: a tool or a shell ends soon; a model falls silent unless it `echoes`.
    pub fn cancel(&mut self, echoes: bool) {
        // A second cancel changes nothing any more.
        if std::mem::replace(&mut self.cancelled, true) {
            return;
        }
        if !self.stop.is_empty() {
            self.plan += 1;
            self.steps = std::mem::take(&mut self.stop).into();
        } else if !echoes {
            self.steps.clear();
        }
    }
}

/// What a confused model says after `input`: more of a block that has ended, and of one that never began.
fn stray(input: &Input) -> Vec<(u64, Input)> {
    let Input::Model { call, event: StreamEvent::End { index, .. } } = *input else { return Vec::new() };
    let on = |index| {
        let delta = StreamEvent::Delta { index, delta: "stray".to_owned() };
        [delta, StreamEvent::End { index, signature: Some("stray".to_owned()) }]
    };
    let start = StreamEvent::Start { index: index + 7, block: BlockStart::Text };
    let events = on(index).into_iter().chain([start]).chain(on(index + 7));
    events.map(|event| (0, Input::Model { call, event })).collect()
}

/// Whether the answer is over with this.
pub const fn ends_answer(event: &StreamEvent) -> bool {
    matches!(event, StreamEvent::Finish(_) | StreamEvent::Fail { .. })
}

/// The text of a user's message.
pub fn text_of(message: &UserMessage) -> String {
    match &message.content {
        MessageContent::Text(text) => text.clone(),
        MessageContent::Blocks(blocks) => blocks_text(blocks),
    }
}

/// The text in some blocks.
pub fn blocks_text(blocks: &[UserContent]) -> String {
    let text = |block: &UserContent| match block {
        UserContent::Text(text) => Some(text.text.clone()),
        UserContent::Image(_) => None,
    };
    blocks.iter().filter_map(text).collect()
}
