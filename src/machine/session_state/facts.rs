//! All members of the session's state, fed by frames, and the rules that what is told agrees with what is known.

use super::{
    asked,
    levels::{Levels, without_thinking},
    sessions::{Left, Sessions},
    slot::{Knowledge, Slot},
    todos::{Reminders, written},
};
use crate::{
    machine::{checks::moment::Moment, findings::Findings, requests::Open},
    protocol::{
        AgentMessage, AgentMessageKind, AgentSessionEvent, AgentSessionEventKind, AssistantMessage, Base,
        CommandSource, DialectCleansSessionName, DialectRecord, Effect, EffectCode, FlowState, MemberValue,
        Model, Outbound, RpcCommand, RpcCommandKind, RpcExtensionUIRequest, RpcSuccess, RuleId as Rule, Said,
        SessionMember as Member, ThinkingLevel, effects_of_event, effects_of_success, told_by,
    },
};
use serde_json::Value;
use std::collections::VecDeque;

/// What is known of the session's state. Holds, besides the values, one copy of each command that has no response yet and
/// changes the state; of more than 4,096 commands without response the oldest count as lost.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    slots: [Slot; Member::ALL.len()],
    /// Commands so far: their numbers are those of the requests.
    count: u64,
    /// Commands without a response, oldest first.
    open: VecDeque<OpenCommand>,
    /// Levels that were in effect, with the model that they were in effect with; the latest.
    levels_seen: VecDeque<(String, ThinkingLevel)>,
    /// The frame of the first prompt for the next run.
    prompted: Option<u64>,
    /// The frame of the prompt that the open run, or the last one, follows.
    run_from: u64,
    /// What cycling models has shown.
    pub cycling: Cycling,
    sessions: Sessions,
    reminders: Reminders,
    /// Something was seen of an extension, which may change what it likes without a frame.
    extension_acts: bool,
}

/// What cycling models has shown: it does not change while a process lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cycling {
    /// Nothing yet.
    #[default]
    Unknown,
    /// There was nothing to cycle through.
    Nothing,
    /// It goes round all models that can be used.
    All,
    /// It goes round those that were named at the start.
    Scoped,
}

/// A command without a response.
#[derive(Clone, Debug)]
struct OpenCommand {
    number: u64,
    /// The frame that it was.
    frame: u64,
    /// It changes nothing.
    is_read: bool,
    /// The command itself, where it changes the state.
    command: Option<Box<RpcCommand>>,
}

const KEPT: usize = 4096;
const LEVELS_KEPT: usize = 64;

impl Facts {
    /// The host wrote a command.
    pub fn command(&mut self, command: &RpcCommand, at: &Moment) {
        let number = self.count;
        self.count += 1;
        let kept = (!command.kind().changes().is_empty()).then(|| Box::new(command.clone()));
        self.open.push_back(OpenCommand {
            number,
            frame: at.frame,
            is_read: command.kind().is_read(),
            command: kept,
        });
        if self.open.len() > KEPT {
            self.open.pop_front();
            self.forget_all(at.frame);
        }
        if matches!(command, RpcCommand::Prompt(_) | RpcCommand::AbortAndPrompt(_))
            && !at.met.flow.is_streaming()
        {
            self.prompted.get_or_insert(at.frame);
            self.reminders.prompted();
        }
        if let RpcCommand::Prompt(prompt) = command
            && prompt.message.trim_start().starts_with('/')
        {
            // It may be a command of an extension.
            self.extension_acts = true;
        }
    }

    /// A response came: `success` holds it where it is one that could be read.
    pub fn answered(
        &mut self,
        request: &Open,
        success: Option<&RpcSuccess>,
        at: &Moment,
        found: &mut Findings,
    ) {
        let Some(place) = self.open.iter().position(|open| open.number == request.number) else { return };
        let Some(open) = self.open.remove(place) else { return };
        if let Some(success) = success {
            self.compacts(success, request, at, found);
            self.tell(success, open.frame, at, found);
            if let Some(command) = &open.command {
                self.succeed(command, success, open.frame, at, found);
            }
        }
        let oldest = self.open.front().map_or(at.frame, |open| open.frame).min(self.run_from);
        let oldest = self.prompted.map_or(oldest, |prompted| oldest.min(prompted));
        self.slots.iter_mut().for_each(|slot| slot.forget_before(oldest));
    }

    /// A command was refused, or its response could not be read: what it may have changed is not known.
    pub fn unread_answer(&mut self, request: &Open, success: bool, at: &Moment) {
        let Some(place) = self.open.iter().position(|open| open.number == request.number) else { return };
        if let Some(OpenCommand { command: Some(command), .. }) = self.open.remove(place)
            && success
        {
            for member in command.kind().changes() {
                self.change(*member, Knowledge::Unknown, at.frame);
            }
        }
    }

    /// Takes what a success tells as it is, without judging it.
    pub fn learn(&mut self, success: &RpcSuccess, at: &Moment) {
        told_by(success, at.base(), &mut |_, value| {
            self.slots[value.member() as usize].change(at.frame, Knowledge::Known(value));
        });
    }

    /// Something was said.
    pub fn said(&mut self, said: &Said, at: &Moment, found: &mut Findings) {
        let Said::Frame(frame) = said else { return };
        match frame {
            Outbound::AgentSessionEvent(event) => {
                if let AgentSessionEvent::TodoReminder(reminder) = event
                    && !at.cut
                {
                    let phases = match self.slot(Member::TodoPhases).value() {
                        Some(MemberValue::TodoPhases(phases)) => Some(phases.as_slice()),
                        _ => None,
                    };
                    let mut reminders = self.reminders;
                    reminders.judge(reminder, phases, found);
                    self.reminders = reminders;
                }
                self.event(event, at);
                if let AgentSessionEvent::MessageEnd(end) = event
                    && let AgentMessage::Assistant(message) = &end.message
                    && !at.cut
                {
                    self.answers(message, found);
                }
            }
            Outbound::ExtensionError(_) => self.extension_acts = true,
            Outbound::ExtensionUIRequest(request) => self.extension_acts |= is_act(request),
            _ => {}
        }
    }

    /// An event was said of which the kind alone is known.
    pub fn unread(&mut self, at: &Moment) {
        self.forget_all(at.frame);
    }

    /// The model, where it is known.
    pub fn model(&self) -> Option<&Model> {
        match self.slot(Member::Model).value()? {
            MemberValue::Model(model) => model.as_ref(),
            _ => None,
        }
    }

    /// The models to choose from, where they are known.
    pub fn models(&self) -> Option<&[Model]> {
        match self.slot(Member::Models).value()? {
            MemberValue::Models(models) => Some(models),
            _ => None,
        }
    }

    /// The thinking level, where it is known; `Some(None)`: none is set.
    pub fn level(&self) -> Option<Option<ThinkingLevel>> {
        match self.slot(Member::ThinkingLevel).value()? {
            MemberValue::ThinkingLevel(level) => Some(*level),
            _ => None,
        }
    }

    /// What the thinking level may have been since `frame`, the latest first; `None` where it is not known.
    pub fn levels_since(&self, frame: u64) -> Option<Vec<Option<ThinkingLevel>>> {
        let level = |known: &Knowledge| match known {
            Knowledge::Known(MemberValue::ThinkingLevel(level)) => Some(*level),
            _ => None,
        };
        self.slot(Member::ThinkingLevel).since(frame).map(level).collect()
    }

    /// Whether an extension was seen that may change what it likes.
    pub const fn may_change_silently(&self) -> bool {
        self.extension_acts
    }

    /// Whether the member can have this value now. A model is the one of its name: its server knows members of it that the
    /// dialect does not tell.
    pub fn allows(&self, value: &MemberValue) -> bool {
        let now = self.slot(value.member()).now();
        match (value, now) {
            (MemberValue::Model(Some(model)), Knowledge::Known(MemberValue::Model(Some(known)))) => {
                key(model) == key(known)
            }
            _ => now.allows(value),
        }
    }

    /// Whether a command without a response may change the member.
    pub fn is_changing(&self, member: Member) -> bool {
        self.open
            .iter()
            .filter_map(|open| open.command.as_ref())
            .any(|it| it.kind().changes().contains(&member))
    }

    /// The levels that the model takes, as far as is known.
    pub fn levels(&self, base: Base) -> Option<Levels> {
        if let Some(MemberValue::ThinkingLevels(list)) = self.slot(Member::ThinkingLevels).value() {
            return Some(Levels::exactly(list));
        }
        let model = self.model()?;
        let mut levels = Levels::of(model, base);
        let key = key(model);
        self.levels_seen.iter().filter(|(of, _)| *of == key).for_each(|(_, level)| levels.saw(*level));
        Some(levels)
    }

    /// Compares what a success tells with what is known.
    fn tell(&mut self, success: &RpcSuccess, asked: u64, at: &Moment, found: &mut Findings) {
        if let RpcSuccess::GetCommands(list) = success {
            let of_extension = |source: &CommandSource| *source == CommandSource::Extension;
            self.extension_acts |= list.data.commands.iter().any(|command| of_extension(&command.source));
            let named = list.data.commands.iter().all(|command| !command.name.starts_with('/'));
            found.expect(Rule::CommandsSteady, named, || "names without their slash".to_owned());
            let commands = &list.data.commands;
            let twice = commands.iter().enumerate().find(|(place, one)| commands[..*place].contains(one));
            found.expect(Rule::CommandsSteady, twice.is_none(), || {
                format!("each command once, not `{}` again", twice.map_or("", |(_, one)| one.name.as_str()))
            });
        }
        if let RpcSuccess::GetAvailableThinkingLevels(list) = success
            && self.slot(Member::Model).is_unchanged_since(asked)
        {
            asked::levels_agree(self, &list.data.levels, at, found);
        }
        let mut told = Vec::new();
        told_by(success, at.base(), &mut |pointer, value| told.push((pointer, value)));
        for (pointer, value) in told {
            let member = value.member();
            if at.cut && may_be_cut(&value) {
                self.change(member, Knowledge::Unknown, at.frame);
                continue;
            }
            if self.is_changing(member) {
                continue;
            }
            let silent = member.is_silent() && self.extension_acts;
            let slot = self.slot_mut(member);
            let agrees = slot.allows_since(asked, &value);
            if let (Some(rule), false) = (rule_of(member), silent) {
                match slot.now() {
                    _ if agrees => {
                        if *slot.now() != Knowledge::Unknown {
                            found.kept(rule);
                        }
                    }
                    Knowledge::Known(known) => {
                        found.expect_same(rule, pointer, expected_of(member), known, &value)
                    }
                    Knowledge::NoneOf(_) => found.broken(rule, "a session of its own, not one that was left"),
                    Knowledge::OneOf(values) => {
                        let first = values.first().unwrap_or(&value).clone();
                        found.expect_same(rule, pointer, expected_of(member), &first, &value);
                    }
                    Knowledge::Unknown => {}
                }
            }
            if slot.is_unchanged_since(asked) || !agrees {
                slot.learn(value);
            }
        }
        self.note_level();
    }

    /// Where nothing is under way and nothing else was asked for, nothing is compacted.
    fn compacts(&self, success: &RpcSuccess, request: &Open, at: &Moment, found: &mut Findings) {
        let RpcSuccess::GetState(state) = success else { return };
        let still = request.met == [FlowState::Idle] && at.now.flow == FlowState::Idle;
        if still && self.open.iter().all(|open| open.is_read) && !self.extension_acts {
            found.expect(Rule::CompactingFlag, !state.data.is_compacting, || {
                "`isCompacting` false".to_owned()
            });
        }
    }

    /// An answer names the model and the level that were set for its run.
    fn answers(&self, message: &AssistantMessage, found: &mut Findings) {
        if self.extension_acts {
            return;
        }
        let is_known =
            |member| self.slot(member).since(self.run_from).all(|known| matches!(known, Knowledge::Known(_)));
        if is_known(Member::Model) && !self.is_changing(Member::Model) {
            let models = self.slot(Member::Model).since(self.run_from).filter_map(|known| match known {
                Knowledge::Known(MemberValue::Model(model)) => model.as_ref(),
                _ => None,
            });
            let names: Vec<String> = models.map(key).collect();
            let told = format!("{}/{}", message.provider, message.model);
            found.expect(Rule::AnswerModel, names.contains(&told), || {
                format!("an answer of {}, not of {told}", names.join(" or "))
            });
        }
        let levels = self.levels_since(self.run_from).filter(|_| !self.is_changing(Member::ThinkingLevel));
        if let (Some(told), Some(levels)) = (message.thinking_level, levels) {
            found.expect(Rule::AnswerModel, levels.contains(&Some(told)), || {
                let words: Vec<&str> = levels.iter().flatten().map(|level| level.as_str()).collect();
                format!("the level {} that was set, not {told}", words.join(" or "))
            });
        }
    }

    /// Does what a command that succeeded does; it was written as frame `asked`.
    fn succeed(
        &mut self,
        command: &RpcCommand,
        success: &RpcSuccess,
        asked: u64,
        at: &Moment,
        found: &mut Findings,
    ) {
        if !at.cut {
            asked::judge(self, command, success, asked, at, found);
        }
        if let RpcSuccess::CycleModel(response) = success {
            self.cycling = match &response.data {
                None => Cycling::Nothing,
                Some(cycle) if cycle.is_scoped => Cycling::Scoped,
                Some(_) => Cycling::All,
            };
        }
        let left = self.left();
        let before = [Member::ThinkingLevel, Member::SessionName].map(|member| {
            let slot = self.slot(member);
            (member, slot.value().cloned(), slot.is_unchanged_since(asked))
        });
        let mut effects = Vec::new();
        effects_of_success(command, success, at.base(), &mut |effect| effects.push(effect));
        for effect in effects {
            self.apply(effect, at);
        }
        self.told_first(before, command.kind(), at, found);
        match command {
            RpcCommand::SetModel(_) | RpcCommand::CycleModel(_) => self.sessions.has_model = true,
            RpcCommand::SetThinkingLevel(_) | RpcCommand::CycleThinkingLevel(_) => {
                self.sessions.has_level = true
            }
            _ => {}
        }
        self.follow(command, success, left, at);
        self.note_level();
    }

    /// Where an event tells a change, it has told it before the response of the command that changes; `before`: the members
    /// as they were known then, and whether they had the same value when the command was written.
    fn told_first(
        &self,
        before: [(Member, Option<MemberValue>, bool); 2],
        command: RpcCommandKind,
        at: &Moment,
        found: &mut Findings,
    ) {
        let events = [AgentSessionEventKind::ThinkingLevelChanged, AgentSessionEventKind::SessionInfoChanged];
        for ((member, before, is_unchanged), event) in before.into_iter().zip(events) {
            let sets = !matches!(command, RpcCommandKind::NewSession) && command.changes().contains(&member);
            let (Some(before), Some(now)) = (before, self.slot(member).value()) else { continue };
            if !sets || self.extension_acts || at.cut || !event.is_in(at.base()) {
                continue;
            }
            let is_told = before == *now;
            found.expect(Rule::ChangesTold, is_told, || match is_unchanged {
                true => format!("`{}` first", event.as_str()),
                false => format!("what was asked for in `{}`", event.as_str()),
            });
        }
    }

    /// The session as it is known when it is left.
    fn left(&self) -> Left {
        let name = match self.slot(Member::SessionName).value() {
            Some(MemberValue::SessionName(name)) => Some(name.clone()),
            _ => None,
        };
        Left {
            id: self.id().cloned(),
            file: self.file().cloned(),
            name,
            model: self.model().filter(|_| self.sessions.has_model).cloned(),
            level: self.level().filter(|_| self.sessions.has_level),
        }
    }

    /// What is known of the session that takes the place of the one that was left.
    fn follow(&mut self, command: &RpcCommand, success: &RpcSuccess, left: Left, at: &Moment) {
        let is_cancelled = match success {
            RpcSuccess::NewSession(response) => response.data.cancelled,
            RpcSuccess::SwitchSession(response) => response.data.cancelled,
            RpcSuccess::Clone(response) => response.data.cancelled,
            RpcSuccess::Fork(response) => response.data.cancelled,
            RpcSuccess::Branch(response) => response.data.cancelled,
            _ => return,
        };
        if is_cancelled {
            return;
        }
        self.sessions.leave(left);
        if let RpcCommand::SwitchSession(switch) = command {
            let Some(taken_up) = self.sessions.of_file(&switch.session_path).cloned() else { return };
            let known = [
                taken_up.id.map(MemberValue::SessionId),
                taken_up.file.map(|file| MemberValue::SessionFile(Some(file))),
                taken_up.name.map(MemberValue::SessionName),
                taken_up.model.map(|model| MemberValue::Model(Some(model))),
                taken_up.level.map(MemberValue::ThinkingLevel),
            ];
            for value in known.into_iter().flatten() {
                self.change(value.member(), Knowledge::Known(value), at.frame);
            }
            return;
        }
        let (id, file) = (self.sessions.new_id(), self.sessions.new_file());
        self.change(Member::SessionId, id, at.frame);
        self.change(Member::SessionFile, file, at.frame);
    }

    fn id(&self) -> Option<&String> {
        match self.slot(Member::SessionId).value()? {
            MemberValue::SessionId(id) => Some(id),
            _ => None,
        }
    }

    fn file(&self) -> Option<&String> {
        match self.slot(Member::SessionFile).value()? {
            MemberValue::SessionFile(file) => file.as_ref(),
            _ => None,
        }
    }

    fn event(&mut self, event: &AgentSessionEvent, at: &Moment) {
        if matches!(event, AgentSessionEvent::AgentStart(_)) {
            self.run_from = self.prompted.take().unwrap_or(self.run_from);
        }
        if let AgentSessionEvent::MessageStart(start) = event
            && start.message.kind() == AgentMessageKind::Custom
        {
            self.extension_acts = true;
        }
        if let AgentSessionEvent::ToolExecutionEnd(end) = event
            && let Some(phases) = written(end)
        {
            let is_doubtful = at.cut && may_be_cut(&MemberValue::TodoPhases(phases.clone()));
            let to = Knowledge::Known(MemberValue::TodoPhases(phases));
            return self.change(
                Member::TodoPhases,
                if is_doubtful { Knowledge::Unknown } else { to },
                at.frame,
            );
        }
        let mut effects = Vec::new();
        effects_of_event(event, at.base(), &mut |effect| effects.push(effect));
        for effect in effects {
            self.apply(effect, at);
        }
    }

    fn apply(&mut self, effect: Effect, at: &Moment) {
        let record = at.dialect.record();
        let (member, to) = match effect {
            Effect::Set(value) | Effect::Next(value, _) => (value.member(), Knowledge::Known(value)),
            Effect::Reset(member) => (member, first_value(member)),
            Effect::Forget(member) | Effect::Append(member) | Effect::Add(member) => {
                (member, Knowledge::Unknown)
            }
            Effect::Clamp(member, wanted, _) => (member, self.clamped(wanted, record, at.base())),
            Effect::Changed(value, code) => {
                let member = value.member();
                (member, changed(value, code, record))
            }
            Effect::Code(_, members) => {
                for member in members {
                    self.change(*member, Knowledge::Unknown, at.frame);
                }
                return;
            }
        };
        let is_doubtful = at.cut && matches!(&to, Knowledge::Known(value) if may_be_cut(value));
        self.change(member, if is_doubtful { Knowledge::Unknown } else { to }, at.frame);
    }

    /// What a level becomes that was asked for; `None`: the one that is set.
    fn clamped(&self, wanted: Option<MemberValue>, record: &DialectRecord, base: Base) -> Knowledge {
        let Some(model) = self.model() else { return Knowledge::Unknown };
        let level = MemberValue::ThinkingLevel;
        if !model.reasoning {
            return Knowledge::Known(level(without_thinking(record)));
        }
        let is_told = AgentSessionEventKind::ThinkingLevelChanged.is_in(base);
        let wanted = match (wanted, self.level()) {
            (Some(MemberValue::ThinkingLevel(level)), _) => level,
            // An event has told it where it has changed with the model.
            (None, Some(now)) if is_told => return Knowledge::Known(level(now)),
            // Where each model brings a level of its own, that is not known.
            (None, Some(now)) if !record.level_follows_model => now,
            _ => return Knowledge::Unknown,
        };
        let Some(wanted) = wanted else { return Knowledge::Known(level(None)) };
        let mut results: Vec<_> =
            self.levels(base).map(|levels| levels.clamp(wanted)).unwrap_or_default().into_iter().collect();
        match (results.pop(), results.is_empty()) {
            (None, _) => Knowledge::Unknown,
            (Some(only), true) => Knowledge::Known(level(Some(only))),
            (Some(last), false) => {
                Knowledge::OneOf(results.into_iter().chain([last]).map(|it| level(Some(it))).collect())
            }
        }
    }

    /// Remembers that the level that is in effect is one that the model takes.
    fn note_level(&mut self) {
        if let (Some(model), Some(Some(level))) = (self.model(), self.level()) {
            let seen = (key(model), level);
            if !self.levels_seen.contains(&seen) {
                self.levels_seen.push_back(seen);
                if self.levels_seen.len() > LEVELS_KEPT {
                    self.levels_seen.pop_front();
                }
            }
        }
    }

    fn forget_all(&mut self, frame: u64) {
        for member in Member::ALL {
            self.change(member, Knowledge::Unknown, frame);
        }
    }

    fn change(&mut self, member: Member, to: Knowledge, frame: u64) {
        self.slot_mut(member).change(frame, to);
    }

    const fn slot(&self, member: Member) -> &Slot {
        &self.slots[member as usize]
    }

    const fn slot_mut(&mut self, member: Member) -> &mut Slot {
        &mut self.slots[member as usize]
    }
}

/// Bytes of a string from which it may be one that was shortened.
const LONG: usize = 256;

/// Whether a value of a frame of which some string was shortened can hold that string.
fn may_be_cut(value: &MemberValue) -> bool {
    fn has_long(value: &Value) -> bool {
        match value {
            Value::String(text) => text.len() >= LONG,
            Value::Array(items) => items.iter().any(has_long),
            Value::Object(members) => members.values().any(has_long),
            _ => false,
        }
    }
    serde_json::to_value(value).is_ok_and(|value| has_long(&value))
}

/// What names a model.
fn key(model: &Model) -> String {
    format!("{}/{}", model.provider, model.id)
}

/// Whether a request to the user shows that an extension does something: one that takes a widget away shows nothing.
fn is_act(request: &RpcExtensionUIRequest) -> bool {
    !matches!(request, RpcExtensionUIRequest::SetWidget(widget) if widget.widget_lines.is_none())
}

/// The value that a member begins with.
fn first_value(member: Member) -> Knowledge {
    match member {
        Member::SessionName => Knowledge::Known(MemberValue::SessionName(None)),
        Member::TodoPhases => Knowledge::Known(MemberValue::TodoPhases(Vec::new())),
        Member::Steering => Knowledge::Known(MemberValue::Steering(Vec::new())),
        Member::FollowUp => Knowledge::Known(MemberValue::FollowUp(Vec::new())),
        _ => Knowledge::Unknown,
    }
}

/// What a code makes of a value.
fn changed(value: MemberValue, code: EffectCode, record: &DialectRecord) -> Knowledge {
    let (MemberValue::SessionName(Some(name)), EffectCode::CleanName) = (value, code) else {
        return Knowledge::Unknown;
    };
    let name = name.trim();
    let is_cleaned = match record.cleans_session_name {
        DialectCleansSessionName::Nothing => false,
        DialectCleansSessionName::LineBreaks => name.contains(['\r', '\n']),
        DialectCleansSessionName::Controls => name.contains(char::is_control) || name.contains("  "),
    };
    // Servers differ in what they trim besides blanks.
    let is_certain = !is_cleaned && !name.is_empty() && !name.contains(['\u{85}', '\u{feff}']);
    match is_certain {
        true => Knowledge::Known(MemberValue::SessionName(Some(name.to_owned()))),
        false => Knowledge::Unknown,
    }
}

/// The rule that what a read tells of the member is what is known; `None`: others judge it.
const fn rule_of(member: Member) -> Option<Rule> {
    match member {
        Member::Model => Some(Rule::StateModel),
        Member::ThinkingLevel => Some(Rule::StateLevel),
        Member::SteeringMode
        | Member::FollowUpMode
        | Member::InterruptMode
        | Member::AutoCompactionEnabled => Some(Rule::StateModes),
        Member::SessionName => Some(Rule::StateName),
        Member::SessionId | Member::SessionFile => Some(Rule::SessionIdentity),
        Member::TodoPhases => Some(Rule::StateTodos),
        Member::Models | Member::ThinkingLevels => Some(Rule::ModelsSteady),
        Member::Commands => Some(Rule::CommandsSteady),
        _ => None,
    }
}

/// What was expected of the member, in words.
const fn expected_of(member: Member) -> &'static str {
    match member {
        Member::Model => "the model that was set last",
        Member::ThinkingLevel => "the thinking level that was set last",
        Member::SessionName => "the name that was set last",
        Member::SessionId | Member::SessionFile => {
            "the session that was told before, as no other took its place"
        }
        Member::TodoPhases => "the todos that were accepted last",
        Member::Models | Member::ThinkingLevels | Member::Commands => "the list that was told before",
        _ => "what was set last",
    }
}
