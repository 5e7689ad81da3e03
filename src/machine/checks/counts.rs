//! What the server says of its own state, against what was seen.

use super::moment::Moment;
use crate::{
    machine::{
        findings::Findings,
        kind::Kind,
        requests::{Open, Requests},
    },
    protocol::{
        AgentMessage, AgentMessageKind, AssistantContent, DialectStatsOver, DialectStreamingFlag, FlowState,
        GetEntriesCommand, RpcCommand, RpcCommandKind, RpcSuccess, RuleId as Rule, SessionEntry,
        SessionState, SessionStats,
    },
};
use std::collections::VecDeque;

/// Commands that are kept, the latest.
const KEPT: usize = 4096;

#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Goes up with everything that may change a count.
    moment: u64,
    state: Option<(u64, u64)>,
    messages: Option<(u64, Tally)>,
    /// The messages of all entries.
    entries: Option<(u64, Tally)>,
    stats: Option<(u64, Tally)>,
    /// Commands so far: their numbers are those of the requests.
    count: u64,
    /// The `get_entries` without an answer that ask for a part; the latest.
    partial: VecDeque<u64>,
    /// The last run was cut short: whether it goes on unseen is not known.
    cut: bool,
    /// A run has ended, and the server has not said since that it rests.
    restless: bool,
}

/// How many messages of which kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    user: u64,
    assistant: u64,
    calls: u64,
    results: u64,
    all: u64,
}

impl Counts {
    pub fn command(&mut self, command: &RpcCommand) {
        if let RpcCommand::GetEntries(GetEntriesCommand { since: Some(_), .. }) = command {
            self.partial.push_back(self.count);
            if self.partial.len() > KEPT {
                self.partial.pop_front();
            }
        }
        self.count += 1;
        if !only_reads(command.kind()) {
            self.moment += 1;
        }
    }

    /// Something was said.
    pub fn moved(&mut self, kind: Kind, at: &Moment) {
        let reads = matches!(kind, Kind::Response(Some(command), _) if only_reads(command));
        if !reads && !matches!(kind, Kind::Ask(_)) {
            self.moment += 1;
        }
        if at.met.flow.is_streaming() != at.now.flow.is_streaming() {
            self.cut = matches!(kind, Kind::Response(..));
            self.restless = true;
        }
    }

    pub fn answered(
        &mut self,
        request: &Open,
        success: Option<&RpcSuccess>,
        at: &Moment,
        requests: &Requests,
        found: &mut Findings,
    ) {
        let still = request.met == [FlowState::Idle]
            && at.now.flow == FlowState::Idle
            && requests.waiting().all(|other| only_reads(other.command));
        let moment = self.moment;
        match success {
            Some(RpcSuccess::GetState(state)) => {
                self.flags(&state.data, request, at, requests, found);
                if still {
                    self.state = Some((moment, state.data.message_count));
                }
            }
            Some(RpcSuccess::GetMessages(list)) if still => {
                self.messages = Some((moment, Tally::of(list.data.messages.iter())));
            }
            Some(RpcSuccess::GetEntries(list)) if still && self.lists_all(request) => {
                self.entries = Some((moment, Tally::of(messages(&list.data.entries))));
            }
            Some(RpcSuccess::GetSessionStats(stats)) if still => {
                self.stats = Some((moment, Tally::said(&stats.data)));
            }
            _ => return,
        }
        let (list, counted) = match at.dialect.record().stats_over {
            DialectStatsOver::Context => (RpcCommandKind::GetMessages, self.messages),
            DialectStatsOver::Session => (RpcCommandKind::GetEntries, self.entries),
        };
        if let (Some((first, counted)), Some((second, stats))) = (counted, self.stats)
            && first == moment
            && second == moment
            && (request.command == list || request.command == RpcCommandKind::GetSessionStats)
        {
            found.expect(Rule::StatsConsistent, stats == counted, || {
                format!("the counts of {list}, {counted:?}")
            });
        }
        let Some((_, messages)) = self.messages.filter(|(when, _)| *when == moment) else { return };
        let now = |command| request.command == command || request.command == RpcCommandKind::GetMessages;
        if let Some((_, count)) = self.state.filter(|(when, _)| *when == moment)
            && now(RpcCommandKind::GetState)
        {
            found.expect(Rule::MessageCount, count == messages.all, || {
                format!("a count of {} messages, as get_messages has them", messages.all)
            });
        }
    }

    /// Whether a `get_entries` has asked for all of them.
    pub fn lists_all(&self, request: &Open) -> bool {
        !self.partial.contains(&request.number)
    }

    fn flags(
        &mut self,
        state: &SessionState,
        request: &Open,
        at: &Moment,
        requests: &Requests,
        found: &mut Findings,
    ) {
        let all = |is: fn(FlowState) -> bool| request.met.iter().all(|met| is(*met)) && is(at.now.flow);
        // A run that is being prepared is seen when its prompt is answered.
        let prepares = || requests.waiting().any(|other| other.command == RpcCommandKind::Prompt);
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
            found.expect(Rule::StreamingFlag, state.is_streaming == wanted, || {
                format!("`isStreaming` {wanted}")
            });
        }
        if all(is_compacting) {
            found.expect(Rule::CompactingFlag, state.is_compacting, || "`isCompacting` true".to_owned());
        }
        if all(|state| state == FlowState::Idle) && !state.is_streaming {
            self.restless = false;
        }
    }
}

/// Whether a run is open, or what follows one is to come.
const fn is_unsettled(state: FlowState) -> bool {
    state.is_streaming() || matches!(state, FlowState::Settling | FlowState::Retrying | FlowState::Compacting)
}

const fn is_compacting(state: FlowState) -> bool {
    matches!(
        state,
        FlowState::Compacting
            | FlowState::StreamingCompacting
            | FlowState::CompactingManual
            | FlowState::CompactingBeforePrompt
    )
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

    const fn said(stats: &SessionStats) -> Self {
        Self {
            user: stats.user_messages,
            assistant: stats.assistant_messages,
            calls: stats.tool_calls,
            results: stats.tool_results,
            all: stats.total_messages,
        }
    }
}

/// Whether the command leaves everything as it is.
const fn only_reads(command: RpcCommandKind) -> bool {
    use RpcCommandKind as Command;
    matches!(
        command,
        Command::GetState
            | Command::GetMessages
            | Command::GetSessionStats
            | Command::GetAvailableModels
            | Command::GetLastAssistantText
            | Command::GetCommands
            | Command::GetForkMessages
            | Command::GetEntries
            | Command::GetTree
            | Command::GetAvailableThinkingLevels
            | Command::GetBranchMessages
    )
}
