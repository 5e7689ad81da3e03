//! Judges responses about the session's content: messages, statistics, the last answer, fork points.
//!
//! Rules: `stats-consistent`, `messages-listed`, `stats-usage`, `fork-messages`,
//! `compaction-result`, `bash-message`.

use super::{
    frame_context::FrameContext,
    pending_read::{Interference, PendingRead},
    session_checks::{CommandArguments, SessionChecks},
    state_checks::is_virtual,
};
use crate::{
    findings::Findings,
    requests::{OpenRequest, Requests, ResponseHead},
    session_state::{
        context::ContextSize,
        digest::text_digest,
        entries,
        fork_points::ForkMismatch,
        known_state::{LONG, changes_session},
        message_log::{KeptFault, ListedMessages},
        message_record::{MessageRecord, Presence},
        shells::ShellFault,
        totals::{ROUNDED, Totals},
    },
};
use pi_rpc_protocol::{
    AgentMessage, AgentMessageKind as Role, AgentSessionEventKind, BashResult, DialectStatsOver, FlowState,
    ForkMessage, Model, PromptDisposition, RpcCommandKind, RpcSuccess, RuleId as Rule, SessionMember,
    SessionState, SessionStats,
};

impl SessionChecks {
    /// Takes in a response; `success` is the success frame, if it is one and could be read.
    pub fn on_response(
        &mut self,
        answer: &ResponseHead,
        success: Option<&RpcSuccess>,
        request: &OpenRequest,
        requests: &Requests,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        let place = self.reads.iter().position(|read| read.number == request.number);
        if let Some(read) = place.and_then(|place| self.reads.remove(place)) {
            let sight = self.sight(&read, request, requests, at);
            if let Some(success) = success {
                self.read_answered(success, &read, sight, at, found);
            }
            return;
        }
        if request.command.is_read() {
            if let Some(RpcSuccess::GetAvailableModels(it)) = success {
                it.data.models.iter().for_each(|model| self.learn_prices(model, found));
            }
            return;
        }
        self.version += 1;
        let place = self.outstanding.iter().position(|(number, _)| *number == request.number);
        let arguments =
            place.and_then(|place| self.outstanding.remove(place)).map(|(_, arguments)| arguments);
        match success {
            Some(success) => self.done(success, arguments, request, at, found),
            None if answer.success => self.done_unread(request),
            None => self.refused(request, at),
        }
    }

    fn sight(
        &self,
        read: &PendingRead,
        request: &OpenRequest,
        requests: &Requests,
        at: &FrameContext,
    ) -> Interference {
        let stays = |flow| request.met == [flow] && at.now.flow == flow;
        // In the wait before a retry, the failed answer is not in memory.
        let idle = stays(FlowState::Idle) || (stays(FlowState::Retrying) && !self.run.leaves);
        let streams = |flow: FlowState| flow.is_streaming() && flow != FlowState::StreamingCompacting;
        if idle && read.version == self.version && requests.outstanding().all(|other| other.command.is_read())
        {
            return Interference::None;
        }
        let runs = streams(at.now.flow) && request.met.iter().all(|met| streams(*met));
        match runs && read.epoch == self.epoch && !Self::may_be_leaving(requests) {
            true => Interference::Running,
            false => Interference::Unknown,
        }
    }

    fn read_answered(
        &mut self,
        success: &RpcSuccess,
        read: &PendingRead,
        sight: Interference,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        match success {
            RpcSuccess::GetMessages(it) => self.listed(&it.data.messages, read, sight, at, found),
            RpcSuccess::GetMessagesPage(it) => self.page_listed(&it.data, read, sight, at, found),
            RpcSuccess::GetState(it) => {
                self.state(&it.data, sight, at, found);
                self.count_of_run(&it.data, read, sight, at, found);
                Self::context_of_state(&it.data, at, found);
            }
            RpcSuccess::GetSessionStats(it) => self.stats(&it.data, sight, at, found),
            RpcSuccess::GetLastAssistantText(it) => {
                self.last_text(it.data.text.as_deref(), sight, at, found);
            }
            RpcSuccess::GetForkMessages(it) => self.fork_messages(&it.data.messages, sight, at, found),
            RpcSuccess::GetBranchMessages(it) => self.fork_messages(&it.data.messages, sight, at, found),
            RpcSuccess::GetEntries(it) => self.entries_listed(&it.data, read, sight, at, found),
            RpcSuccess::GetTree(it) => self.tree_listed(&it.data, read, sight, at, found),
            _ => {}
        }
    }

    /// Takes in the success of a command that changes the session.
    fn done(
        &mut self,
        success: &RpcSuccess,
        arguments: Option<CommandArguments>,
        request: &OpenRequest,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        match success {
            RpcSuccess::Prompt(it) => {
                let outcome = it.data.as_ref().and_then(|it| it.disposition);
                let is_message =
                    matches!(outcome, Some(PromptDisposition::Started | PromptDisposition::Queued));
                self.stranger.was_seen |= outcome == Some(PromptDisposition::Handled);
                self.prompt_answered(request, true, is_message);
                if request.met.iter().all(|met| *met == FlowState::Idle) {
                    self.run.has_prompt = true;
                }
            }
            RpcSuccess::AbortAndPrompt(_) => self.prompt_answered(request, true, false),
            RpcSuccess::Bash(it) => self.shell_ends(&it.data, arguments, request, at),
            RpcSuccess::ExportHtml(it) => {
                if let Some(CommandArguments::Export(path)) = arguments {
                    self.exported(path.as_deref(), &it.data.path, at, found);
                }
            }
            RpcSuccess::NewSession(it) if !it.data.cancelled => {
                self.leave();
                (self.has_begun, self.has_forked) = (true, false);
                self.log.clear();
                self.shells.clear();
                self.forks.clear();
                (self.memory, self.session) = (Totals::empty(), Totals::empty());
            }
            RpcSuccess::SwitchSession(it) if !it.data.cancelled => {
                self.on_reopened(arguments, at);
                self.has_forked = true;
            }
            RpcSuccess::Fork(it) => self.forked(arguments, &it.data, at, found),
            RpcSuccess::Branch(it) => self.forked(arguments, &it.data, at, found),
            RpcSuccess::Clone(it) if !it.data.cancelled => self.cloned(),
            RpcSuccess::NavigateTree(it) => self.navigated(arguments, &it.data, at, found),
            RpcSuccess::Compact(it) if !AgentSessionEventKind::CompactionStart.is_in(at.base()) => {
                self.compacted(&it.data, "/data", at, found);
            }
            RpcSuccess::SetModel(it) => self.model_set(&it.data, at, found),
            RpcSuccess::CycleModel(it) => {
                if let Some(cycle) = &it.data {
                    self.model_set(&cycle.model, at, found);
                }
            }
            _ => {}
        }
        // An extension's message before the response may belong to the new session.
        if changes_session(success) && self.extension_message > request.frame {
            self.miss();
        }
    }

    /// Takes in the unreadable success of a command that changes the session.
    fn done_unread(&mut self, request: &OpenRequest) {
        self.prompt_answered(request, true, false);
        match request.command {
            command if command.replaces_session() => {
                self.leave();
                self.left.forget();
            }
            RpcCommandKind::Compact => self.miss(),
            RpcCommandKind::NavigateTree => self.miss(),
            command if command.drops().contains(&SessionMember::Messages) => self.miss(),
            RpcCommandKind::Bash => self.shell_missed(),
            RpcCommandKind::SetModel | RpcCommandKind::CycleModel => self.window = None,
            _ => {}
        }
    }

    /// Takes in the error of a command.
    fn refused(&mut self, request: &OpenRequest, at: &FrameContext) {
        self.prompt_answered(request, false, false);
        if request.command == RpcCommandKind::NavigateTree {
            self.stay_on_branch();
        }
        let has_stopped = request.met.iter().any(|met| met.is_streaming());
        // Some servers stop the run first, without events about its last answer.
        let is_told = AgentSessionEventKind::CompactionStart.is_in(at.base());
        if request.command.cuts() && has_stopped && !is_told {
            self.miss();
        }
    }

    fn model_set(&mut self, model: &Model, at: &FrameContext, found: &mut Findings) {
        self.learn_prices(model, found);
        self.window = (!is_virtual(model, at.dialect)).then_some(model.context_window);
        self.context = ContextSize::Unknown;
        self.entries.expect(entries::model_change(&model.provider, &model.id));
    }

    fn shell_ends(
        &mut self,
        result: &BashResult,
        arguments: Option<CommandArguments>,
        request: &OpenRequest,
        at: &FrameContext,
    ) {
        self.has_shells = true;
        let Some(CommandArguments::Bash { command, is_excluded, is_left }) = arguments.filter(|_| !at.cut)
        else {
            return self.shell_missed();
        };
        // Servers with output events have commands that are excluded from the context.
        let is_known = AgentSessionEventKind::BashExecutionUpdate.is_in(at.base());
        let is_excluded = is_known.then_some(is_excluded);
        let is_idle = at.now.flow == FlowState::Idle && request.met.iter().all(|met| *met == FlowState::Idle);
        // If the beginning was missed, an unseen run may be open.
        self.shells.end(&command, result, is_excluded, !is_idle, !is_left && at.whole);
        for account in [&mut self.memory, &mut self.session] {
            match is_idle && !is_left {
                true => account.add_other(),
                false => account.allow_one(),
            }
        }
    }

    /// Takes in that the message of a shell command is not known.
    fn shell_missed(&mut self) {
        self.has_shells = true;
        self.shells.miss();
        self.memory.allow_one();
        self.session.allow_one();
    }

    /// Judges a list of the messages in memory.
    pub(super) fn listed(
        &mut self,
        messages: &[AgentMessage],
        read: &PendingRead,
        sight: Interference,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        let list = ListedMessages::of(messages.iter().enumerate(), !at.cut);
        if self.may_be_changed_by_extensions() {
            if !self.stranger.edits {
                let altered = self.log.altered(&list);
                found.expect(Rule::MessagesListed, altered.is_none(), || {
                    altered.map(|fault| fault.expected("/data/messages")).unwrap_or_default()
                });
            }
            return;
        }
        self.answers_as_said(messages, at, found);
        if sight == Interference::Unknown {
            return;
        }
        let is_calm = sight == Interference::None;
        // While an answer streams, no message is added; the answer itself is added with its end.
        let is_still = read.version == self.version && at.now.flow == FlowState::StreamingMessage;
        let held = if is_calm { self.log.len() } else { read.messages };
        let fit = self.log.match_memory(&list, held, is_calm || is_still);
        let fault = fit.as_ref().err().copied();
        found.expect(Rule::MessagesListed, fault.is_none(), || {
            fault.map(|fault| fault.expected("/data/messages")).unwrap_or_default()
        });
        if fault.is_some() && !is_calm {
            return self.miss();
        }
        if !is_calm {
            return;
        }
        self.summarised(messages, &list, at, found);
        if !at.cut {
            let fault = self.shells.compare(messages);
            found.expect(Rule::BashMessage, fault.is_ok(), || match fault {
                Err(ShellFault::NeverEmitted(place)) => {
                    format!("only the commands that `bash` has run, not that at /data/messages/{place}")
                }
                Err(ShellFault::Repeated(place)) => {
                    format!("each command once, not that at /data/messages/{place} again")
                }
                Err(ShellFault::Misplaced(place)) => {
                    format!("the command at /data/messages/{place} where it was listed before")
                }
                Err(ShellFault::Exclusion(place)) => {
                    format!("what was asked for at /data/messages/{place}/excludeFromContext")
                }
                Err(ShellFault::Missing(count)) => {
                    format!("the messages of all commands that `bash` has run: {count} are missing")
                }
                Ok(()) => String::new(),
            });
        }
        self.log.learn(messages, !at.cut, fit.ok());
        self.shells.learn((!at.cut).then_some(messages));
        if fault.is_some() {
            self.shells.lose_places();
        }
        let known = self.log.replacements().iter().chain(self.log.in_memory());
        self.memory = Totals::of(known);
        self.memory.take_reported(messages.len() as u64, self.shells.waiting());
    }

    /// Judges that the answers of a reopened session are listed as they were emitted.
    fn answers_as_said(&self, messages: &[AgentMessage], at: &FrameContext, found: &mut Findings) {
        // If the content is known, it is compared as a whole.
        if at.cut || self.log.begins_in_memory() {
            return;
        }
        let is_other = |message: &AgentMessage| {
            let item = MessageRecord::of(message, true);
            message.kind() == Role::Assistant
                && item.text.is_some_and(|text| self.answer_texts.contradicts(item.key.name, text))
        };
        let other = messages.iter().position(is_other);
        found.expect(Rule::MessagesListed, other.is_none(), || {
            format!("the answer as it was said at /data/messages/{}", other.unwrap_or_default())
        });
    }

    /// Judges that the list begins with the summary of the compaction, followed by the kept messages.
    fn summarised(
        &self,
        messages: &[AgentMessage],
        list: &ListedMessages,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        let mut summaries = messages.iter().enumerate().filter_map(|(place, message)| match message {
            AgentMessage::CompactionSummary(it) => Some((place, it)),
            _ => None,
        });
        let reported = summaries.next();
        if let Some((place, _)) = summaries.next() {
            found.fail(
                Rule::CompactionResult,
                format!("one summary, the last, not another at /data/messages/{place}"),
            );
        }
        if !self.log.is_compacted() {
            return;
        }
        let Some((place, reported)) = reported else {
            return found
                .fail(Rule::CompactionResult, "the summary that the compaction has told in /data/messages");
        };
        // A recorder shortens long texts alone.
        let is_whole = !at.cut || reported.summary.len() < LONG;
        if let (Some(summary), true) = (self.log.summary(), is_whole) {
            found.expect(Rule::CompactionResult, text_digest(&reported.summary) == summary.text, || {
                format!("the summary that the compaction has told at /data/messages/{place}")
            });
            let told = reported.short_summary.as_ref().filter(|text| !at.cut || text.len() < LONG);
            if let (Some(short), Some(told)) = (summary.short, told) {
                found.expect(Rule::CompactionResult, short == text_digest(told), || {
                    format!("what the compaction has told at /data/messages/{place}/shortSummary")
                });
            }
            let (what, pointer) =
                ("what the compaction has told", format!("/data/messages/{place}/tokensBefore"));
            let (expected, got) = (&summary.tokens_before, &reported.tokens_before);
            found.expect_same(Rule::CompactionResult, &pointer, what, expected, got);
        }
        let fault = self.log.kept_fault(list);
        found.expect(Rule::CompactionResult, fault.is_none(), || match fault {
            Some(KeptFault::First) => {
                "the message of the entry that was named, the first that is kept, behind the summary"
                    .to_owned()
            }
            Some(KeptFault::Last) => {
                "the newest message, which a compaction keeps, behind the summary".to_owned()
            }
            None => String::new(),
        });
    }

    /// Judges the number of messages in the state.
    fn state(&mut self, state: &SessionState, sight: Interference, at: &FrameContext, found: &mut Findings) {
        self.named(&state.session_id, state.session_file.as_deref(), sight, at, found);
        if let Some(model) = &state.model {
            self.learn_prices(model, found);
            let is_certain = sight == Interference::None && !is_virtual(model, at.dialect);
            self.window = is_certain.then_some(model.context_window);
        }
        if sight != Interference::None || self.may_be_changed_by_extensions() {
            return;
        }
        let count = state.message_count;
        self.count_of_streamed(count, found);
        if !self.counted(count, "/data/messageCount", found) {
            return;
        }
        let certain = self.log.in_memory().filter(|item| item.memory == Presence::In).count();
        let least = (certain + self.shells.certain()) as u64;
        let is_certain = self.log.in_memory().count() == certain && self.shells.are_certain();
        if count == least && is_certain && !self.log.begins_in_memory() && !self.log.is_compacted() {
            // There is no content before the known one.
            self.log.mark_beginning();
            self.shells.mark_beginning();
            self.forks.mark_beginning();
            // Usage of the session besides its messages is not known.
            if !self.log.has_removed() {
                self.session = Totals { all: Some(count), ..Totals::of(self.log.in_memory()) };
            }
        }
        self.memory.take_reported(count, self.shells.waiting());
    }

    /// Judges the list of user messages.
    fn fork_messages(
        &mut self,
        reported: &[ForkMessage],
        sight: Interference,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        if sight != Interference::None || self.may_be_changed_by_extensions() {
            return;
        }
        let is_again = |(place, one): &(usize, &ForkMessage)| {
            reported[..*place].iter().any(|before| before.entry_id == one.entry_id)
        };
        let again = reported.iter().enumerate().find(is_again).map(|(place, _)| place);
        found.expect(Rule::ForkMessages, again.is_none(), || {
            format!("an id of its own at /data/messages/{}/entryId", again.unwrap_or_default())
        });
        self.fork_entries(reported, at, found);
        let difference = self.forks.compare(reported, !at.cut);
        found.expect(Rule::ForkMessages, difference.is_ok(), || match difference {
            Err(ForkMismatch::Text(place)) => {
                format!("the text of the user's message at /data/messages/{place}/text")
            }
            Err(ForkMismatch::Id(place)) => {
                format!("the id that the message had before at /data/messages/{place}/entryId")
            }
            Err(ForkMismatch::Count(count)) => format!("the {count} messages of the user in /data/messages"),
            Ok(()) => String::new(),
        });
        self.forks.learn(reported, !at.cut);
    }

    /// Completes the totals if `count` messages are exactly those that were emitted, so that none came before them.
    fn complete_totals(&mut self, count: u64, at: &FrameContext) {
        let known = self.log.in_memory().count();
        let is_certain = self.log.in_memory().all(|item| item.memory == Presence::In)
            && self.shells.are_certain()
            && known as u64 + self.shells.certain() as u64 == count;
        let is_plain = !self.log.is_compacted() && !self.log.has_removed() && !self.log.is_running();
        if !is_certain || !is_plain || !at.whole || at.has_extensions || at.cut {
            return;
        }
        let totals = Totals { all: Some(count), ..Totals::of(self.log.in_memory()) };
        if self.memory.tokens.is_none() && self.log.replacements().is_empty() {
            self.memory = totals.clone();
        }
        if self.session.tokens.is_none() {
            self.session = totals;
        }
    }

    /// Judges the statistics.
    fn stats(&mut self, stats: &SessionStats, sight: Interference, at: &FrameContext, found: &mut Findings) {
        let reported =
            [stats.tokens.input, stats.tokens.output, stats.tokens.cache_read, stats.tokens.cache_write];
        let total = reported.iter().fold(0_u64, |sum, tokens| sum.saturating_add(*tokens));
        // Sums are capped at the largest number of a frame.
        let most = reported.contains(&MOST_TOLD) || stats.tokens.total == MOST_TOLD;
        found.expect(Rule::StatsUsage, most || total == stats.tokens.total, || {
            format!("the sum of the others, {total}, at /data/tokens/total")
        });
        self.context_usage(stats, sight, at, found);
        self.named(&stats.session_id, stats.session_file.as_deref(), sight, at, found);
        if sight != Interference::None || self.may_be_changed_by_extensions() {
            return;
        }
        self.complete_totals(stats.total_messages, at);
        let account = match at.dialect.record().stats_over {
            DialectStatsOver::Context => &mut self.memory,
            DialectStatsOver::Session => &mut self.session,
        };
        let counts = [stats.user_messages, stats.assistant_messages, stats.tool_calls, stats.tool_results];
        let names = ["userMessages", "assistantMessages", "toolCalls", "toolResults"];
        for (place, name) in names.iter().enumerate() {
            if let Some(expected) = account.counts.map(|counts| counts[place]) {
                let pointer = format!("/data/{name}");
                found.expect_same(Rule::StatsConsistent, &pointer, COUNTED, &expected, &counts[place]);
            }
        }
        if account.all.is_some() {
            let largest = account.all.unwrap_or_default() + account.possible();
            match account.fits_all(stats.total_messages) {
                true => found.pass(Rule::StatsConsistent),
                false => found.expect_same(
                    Rule::StatsConsistent,
                    "/data/totalMessages",
                    COUNTED,
                    &largest,
                    &stats.total_messages,
                ),
            }
        }
        let kinds = ["input", "output", "cacheRead", "cacheWrite"];
        for (place, kind) in kinds.iter().enumerate().filter(|_| !most) {
            if let Some(expected) = account.tokens.map(|tokens| tokens[place]) {
                let pointer = format!("/data/tokens/{kind}");
                found.expect_same(Rule::StatsUsage, &pointer, USED, &expected, &reported[place]);
            }
        }
        let cost = stats.cost.as_f64().unwrap_or_default();
        if let Some(expected) = account.cost {
            match (expected - cost).abs() <= ROUNDED * expected.abs().max(1.0) {
                true => found.pass(Rule::StatsUsage),
                false => found.expect_same(Rule::StatsUsage, "/data/cost", USED, &expected, &cost),
            }
        }
        *account = Totals {
            counts: Some(counts),
            tokens: (!most).then_some(reported),
            cost: Some(cost),
            ..Totals::default()
        };
        account.take_reported(stats.total_messages, self.shells.waiting());
    }
}

/// The largest integer in a frame.
const MOST_TOLD: u64 = (1 << 53) - 1;
const COUNTED: &str = "as many as were said";
const USED: &str = "what the messages have used";
