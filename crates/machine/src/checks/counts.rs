//! Judges flags and counts that the server reports of itself, against each other and against the frames.
//!
//! Rules: `message-count`, `streaming-flag`, `compacting-flag`, `stats-consistent`.

use super::frame_context::FrameContext;
use crate::{
    findings::Findings,
    kind::Kind,
    requests::{OpenRequest, Requests},
};
use pi_rpc_protocol::{
    AgentMessage, AgentMessageKind, AssistantContent, DialectStatsOver, DialectStreamingFlag, FlowState,
    GetEntriesCommand, RpcCommand, RpcCommandKind, RpcSuccess, RuleId as Rule, SessionEntry, SessionState,
    SessionStats,
};
use serde::Serialize;
use std::collections::VecDeque;

/// The most commands that are kept.
const MAX_COMMANDS: usize = 4096;

/// The latest reported counts, and what may have changed them.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// A version that increases with everything that may change a count.
    moment: u64,
    state: Option<Reported<u64>>,
    messages: Option<Reported<Tally>>,
    /// The messages among all entries.
    entries: Option<Reported<Tally>>,
    stats: Option<Reported<Tally>>,
    /// The numbers of outstanding `get_entries` that request a part of the entries.
    partial: VecDeque<u64>,
    /// Whether the last run was cut short, so that it may continue unseen.
    cut: bool,
    /// Whether a run has ended and no idle state was reported since.
    restless: bool,
}

/// A value reported by a response.
#[derive(Clone, Copy, Debug)]
struct Reported<T> {
    moment: u64,
    /// The number of the response's frame.
    frame: u64,
    value: T,
}

/// The numbers of messages by kind, as in the statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct Tally {
    #[serde(rename = "userMessages")]
    user: u64,
    #[serde(rename = "assistantMessages")]
    assistant: u64,
    #[serde(rename = "toolCalls")]
    calls: u64,
    #[serde(rename = "toolResults")]
    results: u64,
    #[serde(rename = "totalMessages")]
    all: u64,
}

impl Counts {
    /// Takes in a command, the request with this number.
    pub fn on_command(&mut self, number: u64, command: &RpcCommand) {
        if let RpcCommand::GetEntries(GetEntriesCommand { since: Some(_), .. }) = command {
            self.partial.push_back(number);
            if self.partial.len() > MAX_COMMANDS {
                self.partial.pop_front();
            }
        }
        if !command.kind().is_read() {
            self.moment += 1;
        }
    }

    /// Takes in an outbound frame.
    pub fn on_frame(&mut self, kind: Kind, at: &FrameContext) {
        let reads = matches!(kind, Kind::Response(Some(command), _) if command.is_read());
        if !reads && !matches!(kind, Kind::UiRequest(_)) {
            self.moment += 1;
        }
        if at.met.flow.is_streaming() != at.now.flow.is_streaming() {
            self.cut = matches!(kind, Kind::Response(..));
            self.restless = true;
        }
    }

    /// Takes in a response.
    pub fn on_response(
        &mut self,
        request: &OpenRequest,
        success: Option<&RpcSuccess>,
        at: &FrameContext,
        requests: &Requests,
        found: &mut Findings,
    ) {
        let still = request.met == [FlowState::Idle]
            && at.now.flow == FlowState::Idle
            && requests.outstanding().all(|other| other.command.is_read());
        let moment = self.moment;
        let frame = at.frame;
        // An abort waits until the server is idle.
        if request.command == RpcCommandKind::Abort && success.is_some() && at.now.flow == FlowState::Idle {
            self.restless = false;
        }
        match success {
            Some(RpcSuccess::GetState(state)) => {
                self.flags(&state.data, request, at, requests, found);
                if still {
                    self.state = Some(Reported { moment, frame, value: state.data.message_count });
                }
            }
            Some(RpcSuccess::GetMessages(list)) if still => {
                self.messages = Some(Reported { moment, frame, value: Tally::of(list.data.messages.iter()) });
            }
            Some(RpcSuccess::GetEntries(list)) if still && self.lists_all(request) => {
                self.entries =
                    Some(Reported { moment, frame, value: Tally::of(messages(&list.data.entries)) });
            }
            Some(RpcSuccess::GetSessionStats(stats)) if still => {
                self.stats = Some(Reported { moment, frame, value: Tally::of_stats(&stats.data) });
            }
            _ => return,
        }
        let (list, counted) = match at.dialect.record().stats_over {
            DialectStatsOver::Context => (RpcCommandKind::GetMessages, self.messages),
            DialectStatsOver::Session => (RpcCommandKind::GetEntries, self.entries),
        };
        let now = |command| request.command == command;
        if let (Some(counted), Some(stats)) = (counted, self.stats)
            && [counted.moment, stats.moment] == [moment; 2]
        {
            let (rule, listed) = (Rule::StatsConsistent, format!("the messages of `{list}`, counted"));
            if now(RpcCommandKind::GetSessionStats) {
                found.with_cause(Some(counted.frame), |found| {
                    found.expect_same(rule, "/data", &listed, &counted.value, &stats.value);
                });
            } else if now(list) {
                let what = format!("{listed}, to be as many as `get_session_stats` says");
                found.with_cause(Some(stats.frame), |found| {
                    found.expect_same(rule, "", &what, &stats.value, &counted.value);
                });
            }
        }
        if let (Some(messages), Some(count)) = (self.messages, self.state)
            && [messages.moment, count.moment] == [moment; 2]
        {
            let rule = Rule::MessageCount;
            if now(RpcCommandKind::GetState) {
                let what = "the number of messages that `get_messages` lists";
                found.with_cause(Some(messages.frame), |found| {
                    found.expect_same(rule, "/data/messageCount", what, &messages.value.all, &count.value);
                });
            } else if now(RpcCommandKind::GetMessages) {
                let what = "as many messages as `get_state` counts";
                found.with_cause(Some(count.frame), |found| {
                    found.expect_same(rule, "/data/messages", what, &count.value, &messages.value.all);
                });
            }
        }
    }

    /// Whether a `get_entries` has requested all entries.
    pub fn lists_all(&self, request: &OpenRequest) -> bool {
        !self.partial.contains(&request.number)
    }

    fn flags(
        &mut self,
        state: &SessionState,
        request: &OpenRequest,
        at: &FrameContext,
        requests: &Requests,
        found: &mut Findings,
    ) {
        let all = |is: fn(FlowState) -> bool| request.met.iter().all(|met| is(*met)) && is(at.now.flow);
        // A run that is being prepared shows with the response to its prompt.
        let prepares = || requests.outstanding().any(|other| other.command == RpcCommandKind::Prompt);
        let (on, restless) = match at.dialect.record().streaming_flag {
            DialectStreamingFlag::Run => (all(FlowState::is_streaming), false),
            DialectStreamingFlag::Busy => (all(FlowState::is_streaming), self.restless),
            DialectStreamingFlag::Settled => (all(is_unsettled), prepares()),
        };
        let wanted = match (on, all(|state| state == FlowState::Idle)) {
            (true, _) => Some(true),
            (_, true) if !self.cut && !restless => Some(false),
            _ => None,
        };
        if let Some(wanted) = wanted {
            let rule = Rule::StreamingFlag;
            let what = match wanted {
                true => format!("true: nothing has told the end of {}", at.now.flow.as_str()),
                false => "false, as nothing is under way".to_owned(),
            };
            found.expect_same(rule, "/data/isStreaming", &what, &wanted, &state.is_streaming);
        }
        if all(FlowState::is_compacting) {
            found.expect(Rule::CompactingFlag, state.is_compacting, || {
                "true, as a compaction is under way, at /data/isCompacting".to_owned()
            });
        }
        if all(|state| state == FlowState::Idle) && !state.is_streaming {
            self.restless = false;
        }
    }
}

/// Whether a run is open, or its aftermath is to come.
const fn is_unsettled(state: FlowState) -> bool {
    state.is_streaming() || matches!(state, FlowState::Settling | FlowState::Retrying | FlowState::Compacting)
}

fn messages(entries: &[SessionEntry]) -> impl Iterator<Item = &AgentMessage> {
    entries.iter().filter_map(|entry| match entry {
        SessionEntry::Message(entry) => Some(&entry.message),
        _ => None,
    })
}

impl Tally {
    fn of<'a>(messages: impl Iterator<Item = &'a AgentMessage>) -> Self {
        let mut tally = Self::default();
        for message in messages {
            tally.all += 1;
            match message.kind() {
                AgentMessageKind::User => tally.user += 1,
                AgentMessageKind::Assistant => tally.assistant += 1,
                AgentMessageKind::ToolResult => tally.results += 1,
                _ => {}
            }
            if let AgentMessage::Assistant(message) = message {
                let calls = message.content.iter().filter(|it| matches!(it, AssistantContent::ToolCall(_)));
                tally.calls += calls.count() as u64;
            }
        }
        tally
    }

    const fn of_stats(stats: &SessionStats) -> Self {
        Self {
            user: stats.user_messages,
            assistant: stats.assistant_messages,
            calls: stats.tool_calls,
            results: stats.tool_results,
            all: stats.total_messages,
        }
    }
}
