//! What was said in the session, and what the server tells of it: its messages, what they have used, its entries.

use super::{
    frame_context::FrameContext,
    pending_read::{PendingRead, is_judged},
    run::has_broken_down,
};
use crate::{
    machine::{
        findings::Findings,
        requests::{OpenRequest, Requests},
        session_state::{
            answer_texts::AnswerTexts,
            context::ContextSize,
            digest::text_digest,
            entries::{self, Entries},
            fork_points::ForkPoints,
            inactive_sessions::InactiveSessions,
            message_log::{MessageLog, Summary, is_fork_point},
            message_record::{
                MessageKey, MessageRecord, MessageUsage, Presence, answer_text, is_blank, shown_text,
            },
            prices::{self, Prices},
            shells::ShellMessages,
            totals::Totals,
        },
    },
    protocol::{
        AgentEndEvent, AgentMessage, AgentMessageKind as Role, AgentSessionEvent, AgentSessionEventKind,
        AssistantMessage, CompactionAction, CompactionReason, CompactionResult, ContextEditEntry, RpcCommand,
        RpcExtensionUIRequest, RuleId as Rule, SessionEntry, StopReason, errors,
    },
};
use std::{collections::VecDeque, mem};

/// Commands without an answer that are kept, the latest.
const KEPT: usize = 4096;
/// Characters of the newest answer that a finding shows.
const SHOWN: usize = 80;
/// Texts that are shorter, in bytes, are stored as they are.
const STORED_WHOLE: usize = 4096;

/// Follows the session. With it grow its log, its entries and the points at which it can be forked.
#[derive(Clone, Debug, Default)]
pub struct SessionChecks {
    /// Commands so far: their numbers are those of the requests.
    count: u64,
    reads: VecDeque<PendingRead>,
    asked: VecDeque<(u64, CommandArguments)>,
    /// Goes up with everything that may change what a read tells.
    pub(super) version: u64,
    /// Goes up with everything that does more than to add messages.
    pub(super) epoch: u64,
    pub(super) log: MessageLog,
    pub(super) shells: ShellMessages,
    /// What is in memory.
    pub(super) memory: Totals,
    /// What is in the session.
    pub(super) session: Totals,
    pub(super) forks: ForkPoints,
    pub(super) entries: Entries,
    pub(super) prices: Prices,
    /// The window of the model that was told of last; `None`: there may be another model by now.
    pub(super) window: Option<u64>,
    /// The text of the newest answer: its digest, and its beginning.
    pub(super) newest: Option<(u64, String)>,
    /// The answers of the whole process, whatever their sessions.
    pub(super) answer_texts: AnswerTexts,
    pub(super) stranger: ExtensionInfluence,
    /// How much of the context is taken.
    pub(super) context: ContextSize,
    /// The host has run commands in a shell, in this session.
    pub(super) has_shells: bool,
    /// The session's file, as it was told.
    pub(super) file: Option<String>,
    /// The session has begun in this process: its file has the name that the server gives.
    pub(super) has_begun: bool,
    /// The sessions that were left.
    pub(super) left: InactiveSessions,
    run: RunNotes,
}

/// What a command asks for that its answer does not repeat.
#[derive(Clone, Debug)]
pub enum CommandArguments {
    /// A shell command.
    Bash {
        /// The command.
        command: String,
        /// Models are not to be told of it.
        is_excluded: bool,
        /// The session was left since.
        is_left: bool,
    },
    /// A page of the session, perhaps with its place.
    Export(Option<String>),
    /// A fork at this entry.
    Fork(String),
    /// The session of this file.
    Switch(String),
}

/// What is known of extensions, which change the session without a frame that says so.
#[derive(Clone, Debug, Default)]
pub struct ExtensionInfluence {
    /// One has shown itself.
    pub was_seen: bool,
    /// One has given a message other content.
    pub edits: bool,
    /// Prompts without an answer that may be a command of one.
    commands: VecDeque<u64>,
}

/// What is noted of the run that is open or has just ended.
#[derive(Clone, Debug, Default)]
struct RunNotes {
    /// A prompt was accepted that begins the next run.
    has_prompt: bool,
    /// The run is that of a prompt.
    is_prompted: bool,
    /// Its first message is to come.
    opens: bool,
    /// Its last answer leaves memory.
    leaves: bool,
    /// Its last answer may leave memory.
    may_leave: bool,
    /// A rule has stopped its answer.
    is_stopped: bool,
}

impl SessionChecks {
    /// A command came in.
    pub fn on_command(&mut self, command: &RpcCommand) {
        let number = self.count;
        self.count += 1;
        match command {
            RpcCommand::Bash(bash) => {
                let is_excluded = bash.exclude_from_context == Some(true);
                let asked =
                    CommandArguments::Bash { command: bash.command.clone(), is_excluded, is_left: false };
                keep(&mut self.asked, (number, asked));
            }
            RpcCommand::ExportHtml(export) => {
                keep(&mut self.asked, (number, CommandArguments::Export(export.output_path.clone())));
            }
            RpcCommand::Fork(fork) => {
                keep(&mut self.asked, (number, CommandArguments::Fork(fork.entry_id.clone())))
            }
            RpcCommand::Branch(branch) => {
                keep(&mut self.asked, (number, CommandArguments::Fork(branch.entry_id.clone())));
            }
            RpcCommand::SwitchSession(switch) => {
                keep(&mut self.asked, (number, CommandArguments::Switch(switch.session_path.clone())));
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

    /// What was noted when the request of that number came in.
    pub(super) fn take_read(&mut self, request: &OpenRequest) -> Option<PendingRead> {
        let place = self.reads.iter().position(|read| read.number == request.number)?;
        self.reads.remove(place)
    }

    /// What the request of that number asks for.
    pub(super) fn take_asked(&mut self, request: &OpenRequest) -> Option<CommandArguments> {
        let place = self.asked.iter().position(|(number, _)| *number == request.number)?;
        self.asked.remove(place).map(|(_, asked)| asked)
    }

    /// The prompt of that number has an answer; `is_message`: it says that it was no command of an extension.
    pub(super) fn prompt_answered(&mut self, request: &OpenRequest, success: bool, is_message: bool) {
        let commands = self.stranger.commands.len();
        self.stranger.commands.retain(|number| *number != request.number);
        self.stranger.was_seen |= success && !is_message && commands != self.stranger.commands.len();
    }

    /// A prompt was accepted that begins a run.
    pub(super) const fn prompt_begins(&mut self) {
        self.run.has_prompt = true;
    }

    /// Whether the last answer is about to leave memory, or has left it.
    pub(super) const fn is_answer_leaving(&self) -> bool {
        self.run.leaves
    }

    /// Whether an extension may have changed the session.
    pub(super) fn may_be_changed_by_extensions(&self) -> bool {
        self.stranger.was_seen || !self.stranger.commands.is_empty()
    }

    /// Something was missed, or was said out of place.
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

    /// What was said may not be so.
    pub fn doubt(&mut self) {
        self.miss();
        self.answer_texts = AnswerTexts::default();
    }

    /// More has happened than that messages were added.
    pub(super) fn changed(&mut self) {
        self.version += 1;
        self.epoch += 1;
        self.context = ContextSize::Unknown;
        self.shells.lose_places();
    }

    /// The session was left for another one.
    pub(super) fn leave(&mut self) {
        self.store_session();
        self.miss();
        self.window = None;
        self.has_shells = false;
        // Where the message of a command comes that has not ended, servers do not agree.
        for (_, asked) in &mut self.asked {
            if let CommandArguments::Bash { is_left, .. } = asked {
                *is_left = true;
            }
        }
    }

    /// A session has begun without messages.
    pub(super) fn begins_empty(&mut self) {
        self.leave();
        self.has_begun = true;
        self.log.clear();
        self.shells.clear();
        self.forks.clear();
        (self.memory, self.session) = (Totals::empty(), Totals::empty());
    }

    /// There is nothing before what was said.
    pub(super) fn begins_here(&mut self) {
        self.log.mark_beginning();
        self.shells.mark_beginning();
        self.forks.mark_beginning();
    }

    /// Extensions have something to ask, or to show.
    pub fn on_ui_request(&mut self, request: &RpcExtensionUIRequest) {
        // Some servers take a widget away that is none of an extension.
        let is_own = matches!(request, RpcExtensionUIRequest::SetWidget(it) if it.widget_lines.is_none());
        self.stranger.was_seen |= !is_own;
    }

    /// An extension has failed.
    pub const fn on_extension_error(&mut self) {
        self.stranger.was_seen = true;
    }

    /// Sees an event of the session.
    pub fn on_event(&mut self, event: &AgentSessionEvent, at: &FrameContext, found: &mut Findings) {
        use AgentSessionEvent as Event;
        match event {
            Event::AgentStart(_) => self.run_starts(),
            // A run that goes on with an answer does so without the one that failed.
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
            // Models are reminded by a message that no event tells of.
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
                self.entries.expect_next(entries::level_change(changed.level.as_str()));
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
        let Some(said) = self.log.end_run() else { return };
        let told = end.messages.iter().map(|message| MessageKey::of(message, false));
        let same = said.len() == end.messages.len() && said.iter().zip(told).all(|(one, it)| one.key.is(&it));
        match last {
            _ if same => {}
            // The loop itself has failed: its message is in memory alone.
            Some(answer) if has_broken_down(end) => {
                let message = AgentMessage::Assistant(answer.clone());
                let item = MessageRecord { file: Presence::Maybe, ..MessageRecord::of(&message, true) };
                self.memory.add(&item);
                self.session = Totals::default();
                self.newest = newest(answer, item.text);
                self.log.add(item);
            }
            // Some of it was missed; which has a rule of its own.
            _ => self.miss(),
        }
    }

    /// A message is complete.
    fn on_message(&mut self, message: &AgentMessage, at: &FrameContext, found: &mut Findings) {
        self.version += 1;
        self.context = ContextSize::behind(message);
        let item = MessageRecord::of(message, !at.cut);
        self.memory.add(&item);
        match message {
            // No server tells of these so.
            AgentMessage::BashExecution(_) => {
                self.session.add(&item);
                self.has_shells = true;
                return self.shells.miss();
            }
            // Those of extensions are entries of another kind.
            AgentMessage::Custom(_) | AgentMessage::HookMessage(_) => self.session.allow_one(),
            _ => self.session.add(&item),
        }
        if is_fork_point(&item) {
            self.forks.add(item.text);
        }
        if let AgentMessage::Assistant(answer) = message {
            self.check_costs(answer, found);
            // Some servers shorten long texts when they store them.
            let is_short = answer_text(answer).len() < STORED_WHOLE;
            self.answer_texts.add(item.key.name, item.text.filter(|_| is_short));
            if !item.is_empty_abort {
                self.newest = newest(answer, item.text);
            }
            // What a shell has printed during a run is there before the next prompt's.
            let settled = self.shells.settle();
            self.memory.settle(settled);
            self.session.settle(settled);
        }
        self.log.add(item);
        if is_store_failure(message, at) {
            self.log.doubt_run_entries();
            self.session = Totals::default();
        }
    }

    /// Whether an answer costs what its model costs.
    fn check_costs(&self, answer: &AssistantMessage, found: &mut Findings) {
        let Some(expected) = self.prices.costs_of(answer) else { return };
        let told = prices::costs(&answer.usage);
        let names = ["input", "output", "cacheRead", "cacheWrite"];
        let costs: Vec<String> =
            names.iter().zip(expected).map(|(name, cost)| format!("{name} {cost}")).collect();
        found.expect(Rule::CostByPrices, prices::match_reported(&answer.api, &expected, &told), || {
            format!("what the tokens cost by the prices that were told: {}", costs.join(", "))
        });
    }

    /// The last answer leaves memory; `certain`: at once, and in every server.
    fn remove_last_answer(&mut self, certain: bool) {
        self.changed();
        match self.log.remove_last_answer(certain) {
            Some(answer) => self.memory.remove(&answer),
            None => self.memory = Totals::default(),
        }
        self.newest = None;
    }

    /// What was to leave memory has left it without a word, or has not.
    fn on_unannounced_removal(&mut self) {
        if mem::take(&mut self.run.leaves) {
            self.remove_last_answer(false);
        }
    }

    /// An entry was told as it came.
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
        // What did not fit is taken out first by some, and only where the compaction succeeds by others.
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

    /// A summary stands for what was said; `place`: a JSON pointer to the result in the frame.
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
        let summary = Summary { text: text_digest(&result.summary), tokens_before: result.tokens_before };
        // What a shell has printed may be kept alone, and what a provider keeps is told nowhere.
        let has_payload = result.preserve_data.as_ref().is_some_and(|data| !data.is_empty());
        let keeps = whole && !at.has_extensions && !has_payload && !self.log.is_running();
        let first = self.entries.first_from(&result.first_kept_entry_id).filter(|_| keeps);
        let keeps_last = keeps && at.whole && !self.has_shells;
        self.log.compact(whole.then_some(summary), first, keeps_last);
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

    /// Whether the command may leave the session behind before its answer comes.
    pub(super) fn may_be_leaving(requests: &Requests) -> bool {
        use crate::protocol::RpcCommandKind as Command;
        requests.outstanding().any(|request| {
            matches!(
                request.command,
                Command::NewSession
                    | Command::SwitchSession
                    | Command::Fork
                    | Command::Branch
                    | Command::Clone
                    | Command::Compact
            )
        })
    }
}

/// What is kept of the newest answer's text.
fn newest(answer: &AssistantMessage, text: Option<u64>) -> Option<(u64, String)> {
    let shown = answer_text(answer).trim_matches(is_blank).chars().take(SHOWN).collect();
    text.map(|digest| (digest, shown))
}

/// Whether a prompt may be a command of an extension.
fn is_slash(text: &str) -> bool {
    text.trim_start().starts_with('/')
}

/// The digest of a text that hosts are told without the blanks around it.
pub fn trimmed(text: &str) -> u64 {
    shown_text(text.trim_matches(is_blank))
}

fn keep<T>(list: &mut VecDeque<T>, item: T) {
    list.push_back(item);
    if list.len() > KEPT {
        list.pop_front();
    }
}

/// Whether a run failed because what it said could not be written: it may be in memory alone.
fn is_store_failure(message: &AgentMessage, at: &FrameContext) -> bool {
    let AgentMessage::Assistant(answer) = message else { return false };
    let failure = errors::store_failed(at.base(), "");
    answer.error_message.as_ref().is_some_and(|error| error.starts_with(&failure))
}
