//! Tracks the content of the session (messages, entries, usage) for the checks in `session_reads`, `session_entries`,
//! `session_files` and `session_context`, which judge what the server reports of it.
//!
//! Rules: `cost-by-prices`, `compaction-result`.

use super::{
    frame_context::FrameContext,
    pending_read::{PendingRead, is_judged},
    run::has_broken_down,
};
use crate::{
    findings::Findings,
    requests::{OpenRequest, Requests},
    session_state::{
        answer_texts::AnswerTexts,
        context::ContextSize,
        digest::text_digest,
        entries::{self, Entries},
        fork_points::ForkPoints,
        inactive_sessions::InactiveSessions,
        known_state::LONG,
        message_log::{MessageLog, Summary, is_fork_point},
        message_record::{
            MessageKey, MessageRecord, MessageUsage, Presence, answer_text, is_blank, shown_text,
        },
        prices::{self, Prices},
        shells::ShellMessages,
        totals::Totals,
    },
};
use pi_rpc_protocol::{
    AgentEndEvent, AgentMessage, AgentMessageKind as Role, AgentSessionEvent, AgentSessionEventKind,
    AssistantMessage, CompactionAction, CompactionReason, CompactionResult, ContextEditEntry, Model,
    RpcCommand, RpcCommandKind, RpcExtensionUIRequest, RuleId as Rule, SessionEntry, SessionMember,
    StopReason, errors,
};
use std::{collections::VecDeque, mem};

/// The most outstanding commands that are kept.
const MAX_COMMANDS: usize = 4096;
/// The most answers that are kept until their prices are known.
const MAX_UNPRICED: usize = 64;
/// The most characters of the newest answer in a finding.
const SHOWN: usize = 80;
/// The length in bytes below which every server stores a text unchanged.
const STORED_WHOLE: usize = 4096;

/// The content of the session so far. Grows with the session, up to the limits of its parts.
#[derive(Clone, Debug, Default)]
pub struct SessionChecks {
    pub(super) reads: VecDeque<PendingRead>,
    pub(super) outstanding: VecDeque<(u64, CommandArguments)>,
    /// A version that increases with everything that may change the result of a read.
    pub(super) version: u64,
    /// A version that increases with everything except added messages.
    pub(super) epoch: u64,
    pub(super) log: MessageLog,
    pub(super) shells: ShellMessages,
    /// The totals of the messages in memory.
    pub(super) memory: Totals,
    /// The totals of the messages of the session.
    pub(super) session: Totals,
    pub(super) forks: ForkPoints,
    pub(super) entries: Entries,
    pub(super) prices: Prices,
    /// The latest answers of models whose prices are not known, without their content, each with its frame.
    unpriced: VecDeque<(u64, AssistantMessage)>,
    /// The context window of the current model; `None` if the model may have changed.
    pub(super) window: Option<u64>,
    /// The digest and the beginning of the newest answer's text.
    pub(super) newest: Option<(u64, String)>,
    /// The answers of the whole process, over all sessions.
    pub(super) answer_texts: AnswerTexts,
    pub(super) stranger: ExtensionInfluence,
    /// The size of the context.
    pub(super) context: ContextSize,
    /// The shell commands of the host in this session.
    pub(super) has_shells: bool,
    /// The reported path of the session's file.
    pub(super) file: Option<String>,
    /// Whether the session was created in this process, so that the server has named its file.
    pub(super) has_begun: bool,
    /// Whether the session is or may be a part of another one, which may have another model than its entries say.
    pub(super) has_forked: bool,
    /// Whether the session has continued on another branch, so that its entries are no sequence.
    pub(super) has_branched: bool,
    /// The frame of the newest message of an extension.
    pub(super) extension_message: u64,
    /// The inactive sessions.
    pub(super) left: InactiveSessions,
    pub(super) run: RunNotes,
    /// The number of messages that were emitted.
    pub(super) emitted: u64,
    /// The number of messages that was reported last while an answer streamed.
    pub(super) streamed: Option<StreamedCount>,
}

/// A number of messages that was reported while an answer streamed.
#[derive(Clone, Copy, Debug)]
pub(super) struct StreamedCount {
    pub(super) count: u64,
    /// The number of messages that were emitted until then.
    pub(super) emitted: u64,
    pub(super) epoch: u64,
    pub(super) frame: u64,
}

/// Arguments of a command that its response does not repeat.
#[derive(Clone, Debug)]
pub enum CommandArguments {
    /// A shell command.
    Bash {
        /// The command.
        command: String,
        /// Whether the command is excluded from the model's context.
        is_excluded: bool,
        /// Whether the session has changed since.
        is_left: bool,
    },
    /// An export of the session, with the requested path.
    Export(Option<String>),
    /// A fork at this entry.
    Fork(String),
    /// A navigation to another branch.
    Navigate {
        /// The id of the chosen entry.
        target: String,
        /// Whether an entry for a label is added.
        adds_label: bool,
    },
    /// The session of this file.
    Switch(String),
}

/// Evidence that extensions may have changed the session without a frame.
#[derive(Clone, Debug, Default)]
pub struct ExtensionInfluence {
    /// Whether an extension has acted.
    pub was_seen: bool,
    /// Whether an extension has changed the content of a message.
    pub edits: bool,
    /// The numbers of outstanding prompts that may be commands of extensions.
    commands: VecDeque<u64>,
}

/// Notes on the current run, or the one that has just ended.
#[derive(Clone, Debug, Default)]
pub(super) struct RunNotes {
    /// Whether an accepted prompt begins the next run.
    pub(super) has_prompt: bool,
    /// Whether the run is that of a prompt.
    is_prompted: bool,
    /// Whether the first message is to come.
    opens: bool,
    /// Whether the last answer will be removed from memory.
    pub(super) leaves: bool,
    /// Whether the last answer may be removed from memory.
    may_leave: bool,
    /// Whether a TTSR rule has stopped the answer.
    is_stopped: bool,
}

impl SessionChecks {
    /// Takes in a command, the request with this number.
    pub fn on_command(&mut self, number: u64, command: &RpcCommand) {
        match command {
            RpcCommand::Bash(bash) => {
                let is_excluded = bash.exclude_from_context == Some(true);
                let arguments =
                    CommandArguments::Bash { command: bash.command.clone(), is_excluded, is_left: false };
                keep(&mut self.outstanding, (number, arguments));
            }
            RpcCommand::ExportHtml(export) => {
                keep(&mut self.outstanding, (number, CommandArguments::Export(export.output_path.clone())));
            }
            RpcCommand::Fork(fork) => {
                keep(&mut self.outstanding, (number, CommandArguments::Fork(fork.entry_id.clone())))
            }
            RpcCommand::Branch(branch) => {
                keep(&mut self.outstanding, (number, CommandArguments::Fork(branch.entry_id.clone())));
            }
            RpcCommand::NavigateTree(it) => {
                let arguments = CommandArguments::Navigate {
                    target: it.target_id.clone(),
                    adds_label: it.label.as_ref().is_some_and(|label| !label.is_empty()),
                };
                keep(&mut self.outstanding, (number, arguments));
            }
            RpcCommand::SwitchSession(switch) => {
                keep(&mut self.outstanding, (number, CommandArguments::Switch(switch.session_path.clone())));
            }
            RpcCommand::Prompt(prompt) if is_slash(&prompt.message) => {
                keep(&mut self.stranger.commands, number);
            }
            RpcCommand::AbortAndPrompt(prompt) if is_slash(&prompt.message) => {
                keep(&mut self.stranger.commands, number);
            }
            _ => {}
        }
        if is_judged(command.kind()) {
            let since = match command {
                RpcCommand::GetEntries(get) => get.since.clone(),
                _ => None,
            };
            let read = PendingRead {
                number,
                version: self.version,
                epoch: self.epoch,
                messages: self.log.len(),
                entries: self.entries.listed().unwrap_or_default(),
                since,
            };
            keep(&mut self.reads, read);
        }
    }

    /// Takes in the response to a prompt; `is_message`: it shows that the prompt was not a command of an extension.
    pub(super) fn prompt_answered(&mut self, request: &OpenRequest, success: bool, is_message: bool) {
        let commands = self.stranger.commands.len();
        self.stranger.commands.retain(|number| *number != request.number);
        self.stranger.was_seen |= success && !is_message && commands != self.stranger.commands.len();
    }

    /// Whether an extension may have changed the session.
    pub(super) fn may_be_changed_by_extensions(&self) -> bool {
        self.stranger.was_seen || !self.stranger.commands.is_empty()
    }

    /// Forgets the content after missed or misplaced frames.
    pub fn miss(&mut self) {
        self.changed();
        self.log.forget();
        (self.memory, self.session) = (Totals::default(), Totals::default());
        self.forks.forget();
        self.entries.forget();
        self.shells.forget();
        self.newest = None;
        self.run = RunNotes::default();
        (self.file, self.has_begun) = (None, false);
    }

    /// Notes that the frames so far are contradictory.
    pub fn doubt(&mut self) {
        self.miss();
        self.answer_texts = AnswerTexts::default();
    }

    /// Notes a change that is more than added messages.
    pub(super) fn changed(&mut self) {
        self.version += 1;
        self.epoch += 1;
        self.context = ContextSize::Unknown;
        self.shells.lose_places();
    }

    /// Takes in that the session was left for another one.
    pub(super) fn leave(&mut self) {
        self.store_session();
        self.miss();
        self.window = None;
        (self.has_shells, self.has_branched) = (false, false);
        // Servers differ in which session gets the message of a running shell command.
        for (_, arguments) in &mut self.outstanding {
            if let CommandArguments::Bash { is_left, .. } = arguments {
                *is_left = true;
            }
        }
    }

    /// Takes in a UI request.
    pub fn on_ui_request(&mut self, request: &RpcExtensionUIRequest) {
        // Some servers remove a widget that belongs to no extension.
        let is_own = matches!(request, RpcExtensionUIRequest::SetWidget(it) if it.widget_lines.is_none());
        self.stranger.was_seen |= !is_own;
    }

    /// Takes in an error of an extension.
    pub const fn on_extension_error(&mut self) {
        self.stranger.was_seen = true;
    }

    /// Takes in an event.
    pub fn on_event(&mut self, event: &AgentSessionEvent, at: &FrameContext, found: &mut Findings) {
        use AgentSessionEvent as Event;
        match event {
            Event::AgentStart(_) => self.run_starts(),
            // A run that continues with an answer has dropped the failed one.
            Event::MessageStart(start)
                if mem::take(&mut self.run.opens)
                    && start.message.kind() == Role::Assistant
                    && self.log.ends_in_failure() =>
            {
                self.remove_last_answer(false);
            }
            Event::MessageEnd(end) => self.on_message(&end.message, at, found),
            Event::AgentEnd(end) => self.run_ends(end),
            Event::AutoRetryStart(_) if AgentSessionEventKind::EntryAppended.is_in(at.base()) => {
                self.run.leaves = true;
            }
            Event::AutoRetryStart(_) => self.remove_last_answer(true),
            Event::AutoRetryEnd(_) => self.on_unannounced_removal(),
            Event::EntryAppended(appended) => self.on_entry_appended(&appended.entry, at),
            Event::AutoCompactionStart(start) => self.compaction_starts(start.reason),
            Event::CompactionStart(start) => self.compaction_starts(start.reason),
            Event::AutoCompactionEnd(end) if end.action == Some(CompactionAction::Handoff) => {
                self.leave();
            }
            Event::AutoCompactionEnd(end) => self.compaction_ends(end.result.as_ref(), at, found),
            Event::CompactionEnd(end) => self.compaction_ends(end.result.as_ref(), at, found),
            Event::TtsrTriggered(_) => self.run.is_stopped = true,
            // The reminder adds a message without an event.
            Event::TodoReminder(_) => {
                self.version += 1;
                self.memory.allow_one();
            }
            Event::SessionInfoChanged(changed) => {
                self.version += 1;
                if let Some(name) = changed.name.as_ref().filter(|_| !at.cut) {
                    self.entries.expect(entries::name_change(name));
                }
            }
            Event::ThinkingLevelChanged(changed) => {
                self.version += 1;
                if let Some(level) = changed.level {
                    self.entries.expect_next(entries::level_change(level.as_str()));
                }
            }
            _ => {}
        }
    }

    fn run_starts(&mut self) {
        self.version += 1;
        self.on_unannounced_removal();
        if self.run.is_stopped {
            self.remove_last_answer(false);
        }
        self.run = RunNotes { is_prompted: self.run.has_prompt, opens: true, ..RunNotes::default() };
        self.log.begin_run();
        if self.run.is_prompted {
            self.shells.begin_run();
        }
    }

    fn run_ends(&mut self, end: &AgentEndEvent) {
        self.version += 1;
        if self.run.is_stopped {
            self.remove_last_answer(false);
        }
        let last = end.messages.iter().rev().find_map(|message| match message {
            AgentMessage::Assistant(message) => Some(message),
            _ => None,
        });
        let reason = last.map(|answer| answer.stop_reason);
        self.run.may_leave = matches!(reason, Some(StopReason::Error | StopReason::Length));
        let Some(emitted) = self.log.end_run() else { return };
        let reported = end.messages.iter().map(|message| MessageKey::of(message, false));
        let same = emitted.len() == end.messages.len()
            && emitted.iter().zip(reported).all(|(one, it)| one.key.is(&it));
        match last {
            _ if same => {}
            // The agent loop itself has failed: its message is in memory only.
            Some(answer) if has_broken_down(end) => {
                let message = AgentMessage::Assistant(answer.clone());
                let item = MessageRecord { file: Presence::Maybe, ..MessageRecord::of(&message, true) };
                self.memory.add(&item);
                self.session = Totals::default();
                self.newest = newest(answer, item.text);
                self.log.add(item);
            }
            // Messages were missed, for which there is another rule.
            _ => self.miss(),
        }
    }

    /// Takes in a complete message.
    fn on_message(&mut self, message: &AgentMessage, at: &FrameContext, found: &mut Findings) {
        (self.version, self.emitted) = (self.version + 1, self.emitted + 1);
        self.context = ContextSize::behind(message);
        let item = MessageRecord::of(message, !at.cut);
        self.memory.add(&item);
        match message {
            // No server has events for these.
            AgentMessage::BashExecution(_) => {
                self.session.add(&item);
                self.has_shells = true;
                return self.shells.miss();
            }
            // Messages of extensions are entries of another kind.
            AgentMessage::Custom(_) | AgentMessage::HookMessage(_) => {
                self.extension_message = at.frame;
                self.session.allow_one();
            }
            _ => self.session.add(&item),
        }
        if is_fork_point(&item) {
            self.forks.add(item.text);
        }
        if let AgentMessage::Assistant(answer) = message {
            self.check_costs(answer, found);
            self.keep_unpriced(answer, at);
            // Some servers shorten long texts when they store them.
            let is_short = answer_text(answer).len() < STORED_WHOLE;
            self.answer_texts.add(item.key.name, item.text.filter(|_| is_short));
            if !item.is_empty_abort {
                self.newest = newest(answer, item.text);
            }
            // Messages of shell commands during a run come before the message of the next prompt.
            let settled = self.shells.settle();
            self.memory.settle(settled);
            self.session.settle(settled);
        }
        self.log.add(item);
        // What the run has said could not be written: it may be in memory alone.
        if let AgentMessage::Assistant(answer) = message
            && let Some(error) = &answer.error_message
            && error.starts_with(&errors::store_failed(at.base(), ""))
        {
            self.log.doubt_run_entries();
            self.session = Totals::default();
        }
    }

    /// Learns the prices of a model, and judges the earlier answers of it.
    pub(super) fn learn_prices(&mut self, model: &Model, found: &mut Findings) {
        self.prices.learn(model);
        let is_of_it = |(_, answer): &(u64, AssistantMessage)| {
            answer.provider == model.provider && answer.model == model.id
        };
        let (answers, rest): (VecDeque<_>, VecDeque<_>) =
            mem::take(&mut self.unpriced).into_iter().partition(is_of_it);
        for (frame, answer) in answers {
            found.with_cause(Some(frame), |found| self.check_costs(&answer, found));
        }
        self.unpriced = rest;
    }

    /// Keeps the usage of an answer until the prices of its model are known.
    fn keep_unpriced(&mut self, answer: &AssistantMessage, at: &FrameContext) {
        if self.prices.costs_of(answer).is_none() && answer.usage.total_tokens > 0 && !at.cut {
            self.unpriced.push_back((at.frame, AssistantMessage { content: Vec::new(), ..answer.clone() }));
            if self.unpriced.len() > MAX_UNPRICED {
                self.unpriced.pop_front();
            }
        }
    }

    /// Judges the costs of an answer by the prices of its model.
    fn check_costs(&self, answer: &AssistantMessage, found: &mut Findings) {
        let Some(expected) = self.prices.costs_of(answer) else { return };
        let cost = &answer.usage.cost;
        let reported = [&cost.input, &cost.output, &cost.cache_read, &cost.cache_write]
            .map(|part| part.as_f64().unwrap_or_default());
        let names = ["input", "output", "cacheRead", "cacheWrite"];
        let costs: Vec<String> =
            names.iter().zip(expected).map(|(name, cost)| format!("{name} {cost}")).collect();
        found.expect(Rule::CostByPrices, prices::match_reported(&answer.api, &expected, &reported), || {
            format!("what the tokens cost by the prices that were told: {}", costs.join(", "))
        });
    }

    /// Removes the last answer from memory; `certain`: at once, and in every server.
    fn remove_last_answer(&mut self, certain: bool) {
        self.changed();
        match self.log.remove_last_answer(certain) {
            Some(answer) => self.memory.remove(&answer),
            None => self.memory = Totals::default(),
        }
        self.newest = None;
    }

    /// Takes into account that the server may have removed an answer from memory without a frame.
    fn on_unannounced_removal(&mut self) {
        if mem::take(&mut self.run.leaves) {
            self.remove_last_answer(false);
        }
    }

    /// Takes in an announced entry.
    fn on_entry_appended(&mut self, entry: &SessionEntry, at: &FrameContext) {
        self.version += 1;
        if at.cut {
            self.entries.forget();
        } else {
            self.entries.announce(entry);
        }
        match entry {
            SessionEntry::ContextEdit(ContextEditEntry { replacement: None, .. })
                if self.run.leaves || self.run.may_leave =>
            {
                (self.run.leaves, self.run.may_leave) = (false, self.run.may_leave);
                self.remove_last_answer(true);
            }
            SessionEntry::ContextEdit(_) => {
                (self.stranger.was_seen, self.stranger.edits) = (true, true);
            }
            SessionEntry::Usage(entry) => self.session.spend(&MessageUsage::of_usage(&entry.usage)),
            _ => {}
        }
    }

    fn compaction_starts(&mut self, reason: CompactionReason) {
        self.changed();
        // Some servers remove the overflowing answer before the compaction, others only after its success.
        if reason == CompactionReason::Overflow {
            self.remove_last_answer(false);
        }
    }

    fn compaction_ends(
        &mut self,
        result: Option<&CompactionResult>,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        self.changed();
        if let Some(result) = result {
            self.compacted(result, "/result", at, found);
        }
    }

    /// Takes in the summary of a compaction; `place` is the JSON pointer to the result in the frame.
    pub(super) fn compacted(
        &mut self,
        result: &CompactionResult,
        place: &str,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        self.changed();
        self.context = ContextSize::Uncounted;
        let whole = !at.cut;
        let summary = Summary {
            text: text_digest(&result.summary),
            short: result.short_summary.as_deref().filter(|it| whole || it.len() < LONG).map(text_digest),
            tokens_before: result.tokens_before,
        };
        // Messages of shell commands may be kept alone, and no frame shows what a provider keeps.
        let has_payload = result.preserve_data.as_ref().is_some_and(|data| !data.is_empty());
        let keeps = whole && !at.has_extensions && !has_payload && !self.log.is_running();
        let first = self.entries.first_from(&result.first_kept_entry_id).filter(|_| keeps);
        let keeps_last = keeps && at.whole && !self.has_shells;
        let is_known = whole || result.summary.len() < LONG;
        self.log.compact(is_known.then_some(summary), first, keeps_last);
        self.shells.doubt();
        self.memory = Totals::default();
        self.newest = None;
        if let Some(usage) = &result.usage {
            self.session.spend(&MessageUsage::of_usage(usage));
        }
        if at.cut {
            self.entries.forget();
        } else {
            let says =
                entries::compaction(&result.summary, &result.first_kept_entry_id, result.tokens_before);
            self.entries.expect(says);
        }
        found.expect(Rule::CompactionResult, !result.summary.trim().is_empty(), || {
            format!("a text at {place}/summary")
        });
        found.expect(Rule::CompactionResult, !result.first_kept_entry_id.is_empty(), || {
            format!("the id of an entry at {place}/firstKeptEntryId")
        });
    }

    /// Whether an outstanding command may have changed the session already.
    pub(super) fn may_be_leaving(requests: &Requests) -> bool {
        let leaves = |it: RpcCommandKind| {
            it == RpcCommandKind::Compact || it.drops().contains(&SessionMember::Messages)
        };
        requests.outstanding().any(|request| leaves(request.command))
    }
}

/// The digest and the beginning of an answer's text.
fn newest(answer: &AssistantMessage, text: Option<u64>) -> Option<(u64, String)> {
    let shown = answer_text(answer).trim_matches(is_blank).chars().take(SHOWN).collect();
    text.map(|digest| (digest, shown))
}

/// Whether a prompt may be a command of an extension.
fn is_slash(text: &str) -> bool {
    text.trim_start().starts_with('/')
}

/// The digest of a text without the blanks around it, as it is reported to hosts.
pub fn trimmed(text: &str) -> u64 {
    shown_text(text.trim_matches(is_blank))
}

fn keep<T>(list: &mut VecDeque<T>, item: T) {
    list.push_back(item);
    if list.len() > MAX_COMMANDS {
        list.pop_front();
    }
}
