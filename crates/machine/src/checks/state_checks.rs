//! Judges reported members of the session's state, against what is known of them.
//!
//! Rules: `compacting-flag`, `changes-told`, `state-model`, `state-level`, `state-modes`, `state-name`,
//! `state-todos`, `answer-model`, `cycle-next`, `models-steady`, `commands-steady`, `session-identity`.

use super::{frame_context::FrameContext, reminders::Reminders, success_data};
use crate::{
    findings::Findings,
    requests::OpenRequest,
    session_state::{
        known_members::key,
        known_state::{KnownState, is_act, may_be_cut},
        member_history::Knowledge,
        todos::is_finished,
    },
};
use pi_rpc_protocol::{
    AgentMessage, AgentSessionEvent, AgentSessionEventKind, AssistantMessage, CommandSource, Dialect,
    Emission, FlowState, MemberValue, Model, Outbound, RpcCommand, RpcCommandKind, RpcSuccess,
    RuleId as Rule, SessionMember as Member, SessionState, ThinkingLevel, members_of_success,
};

/// The known state of the session, and the checks of frames against it.
#[derive(Clone, Debug, Default)]
pub struct StateChecks {
    known: KnownState,
    reminders: Reminders,
    /// Whether an event has told of another model since the last response to a command that selects one.
    is_model_told: bool,
    /// The newest answer whose model was not known.
    unjudged: Option<UnjudgedAnswer>,
    /// Whether cycling goes through a list of its own, as it was told last.
    scoped: Option<bool>,
}

/// What an answer says of its model.
#[derive(Clone, Debug)]
struct UnjudgedAnswer {
    provider: String,
    model: String,
    api: String,
    level: Option<ThinkingLevel>,
    /// The frame of the prompt of its run: its request may be as old.
    since: u64,
    /// The frame of the answer.
    frame: u64,
}

impl StateChecks {
    /// What is known of the session's state.
    pub const fn known_state(&self) -> &KnownState {
        &self.known
    }

    /// Takes in a command, the request with this number.
    pub fn on_command(&mut self, number: u64, command: &RpcCommand, at: &FrameContext) {
        self.known.on_command(number, command, at);
        if matches!(command, RpcCommand::Prompt(_) | RpcCommand::AbortAndPrompt(_))
            && !at.met.flow.is_streaming()
        {
            self.reminders.prompted();
        }
    }

    /// Takes in a response; `success` is `None` for an error.
    pub fn on_response(
        &mut self,
        request: &OpenRequest,
        success: Option<&RpcSuccess>,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        let Some(open) = self.known.take_command(request) else { return };
        if let Some(success) = success {
            self.compacts(success, request, at, found);
            self.compare(success, open.frame, at, found);
            if let Some(command) = &open.command {
                self.succeed(command, success, open.frame, at, found);
            }
            if request.command.replaces_session() {
                // With other settings, perhaps.
                self.scoped = None;
            }
        }
        self.known.forget_passed(at);
    }

    /// Judges and applies the success of a command that was frame number `asked`.
    fn succeed(
        &mut self,
        command: &RpcCommand,
        success: &RpcSuccess,
        since: u64,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        if !at.cut {
            success_data::judge(&self.known, command, success, since, at, found);
        }
        let before = [Member::ThinkingLevel, Member::SessionName].map(|member| {
            let slot = self.known.members.slot(member);
            (member, slot.value().cloned(), slot.is_unchanged_since(since))
        });
        let model = self.known.members.model().map(key);
        let left = self.known.previous_session(at);
        self.known.apply_success(command, success, at);
        self.told_first(before, command.kind(), at, found);
        self.model_told_first(model, command.kind(), at, found);
        self.known.switch_session(command, success, left, at);
        self.known.members.note_level();
    }

    /// Takes in a response that could not be read: the members that its command may have changed become unknown.
    pub fn on_unread_response(&mut self, request: &OpenRequest, success: bool, at: &FrameContext) {
        self.known.on_unread_response(request, success, at);
    }

    /// Learns the members that a success reports, without judging them.
    pub fn learn(&mut self, success: &RpcSuccess, at: &FrameContext) {
        self.known.learn(success, at);
    }

    /// Takes in an event of which only the kind is known.
    pub fn on_unread_event(&mut self, at: &FrameContext) {
        self.known.on_unread_event(at);
        self.unjudged = None;
    }

    /// Takes in an emitted frame.
    pub fn on_outbound(&mut self, emission: &Emission, at: &FrameContext, found: &mut Findings) {
        let Emission::Frame(frame) = emission else { return };
        match frame {
            Outbound::AgentSessionEvent(event) => self.on_event(event, at, found),
            Outbound::ExtensionError(_) => self.known.note_extension(),
            Outbound::ExtensionUIRequest(request) if is_act(request) => self.known.note_extension(),
            _ => {}
        }
    }

    /// Takes in an event.
    fn on_event(&mut self, event: &AgentSessionEvent, at: &FrameContext, found: &mut Findings) {
        if let AgentSessionEvent::TodoReminder(reminder) = event
            && !at.cut
        {
            self.reminders.judge(reminder, self.known.members.todo_phases(), found);
        }
        let excused = || self.known.may_change_silently() || self.known.is_changing(Member::TodoPhases);
        if matches!(event, AgentSessionEvent::TodoAutoClear(_))
            && let Some(phases) = self.known.members.todo_phases()
            && !excused()
        {
            let mut tasks = phases.iter().flat_map(|phase| &phase.tasks);
            found.expect(Rule::StateTodos, tasks.any(|task| is_finished(task.status)), || {
                "a todo that is done before one is cleared".to_owned()
            });
        }
        if matches!(event, AgentSessionEvent::ModelChanged(_)) {
            let is_judged = at.met.flow == FlowState::Idle && at.whole && !at.has_extensions;
            if is_judged && !self.known.may_change_silently() {
                let has_cause = !self.is_model_told && !self.known.has_only_reads_outstanding();
                found.expect(Rule::ChangesTold, has_cause, || {
                    "a command that selects another model, and this event once for it".to_owned()
                });
            }
            self.is_model_told = self.known.is_changing(Member::Model);
        }
        self.known.on_event(event, at);
        if let AgentSessionEvent::MessageEnd(end) = event
            && let AgentMessage::Assistant(message) = &end.message
            && !at.cut
        {
            self.answers(message, at, found);
        }
    }

    /// Compares the reported members of a success with the known ones.
    fn compare(&mut self, success: &RpcSuccess, since: u64, at: &FrameContext, found: &mut Findings) {
        if let RpcSuccess::GetCommands(list) = success {
            let of_extension = |source: &CommandSource| *source == CommandSource::Extension;
            if list.data.commands.iter().any(|command| of_extension(&command.source)) {
                self.known.note_extension();
            }
            let named = list.data.commands.iter().all(|command| !command.name.starts_with('/'));
            found.expect(Rule::CommandsSteady, named, || "names without their slash".to_owned());
            let commands = &list.data.commands;
            let twice = commands.iter().enumerate().find(|(place, one)| commands[..*place].contains(one));
            found.expect(Rule::CommandsSteady, twice.is_none(), || {
                format!("each command once, not `{}` again", twice.map_or("", |(_, one)| one.name.as_str()))
            });
        }
        if let RpcSuccess::CycleModel(response) = success
            && let Some(cycle) = &response.data
            && let Some(before) = self.scoped.replace(cycle.is_scoped)
            && !self.known.may_change_silently()
        {
            let what = "the same as before, as no command changes the list";
            found.expect_same(Rule::CycleNext, "/data/isScoped", what, &before, &cycle.is_scoped);
        }
        if let RpcSuccess::GetAvailableModels(list) = success {
            let models = &list.data.models;
            let twice = models.iter().enumerate().find(|(place, one)| models[..*place].contains(one));
            found.expect(Rule::ModelsSteady, twice.is_none(), || {
                let name = twice.map(|(_, model)| key(model)).unwrap_or_default();
                format!("each model once, not `{name}` again")
            });
            let slot = self.known.members.slot(Member::Model);
            let current = self.known.members.model().filter(|_| slot.is_unchanged_since(since));
            let is_current = |model: &&Model| current.is_some_and(|current| key(current) == key(model));
            let place = models.iter().position(|model| is_current(&model));
            if let (Some(current), Some(place), false) = (current, place, at.cut) {
                let at = format!("/data/models/{place}");
                let what = "the model that is in use, as it was told before";
                found.expect_same(Rule::ModelsSteady, &at, what, current, &models[place]);
            }
        }
        if let RpcSuccess::GetState(state) = success {
            self.unknown_answer(&state.data, since, at, found);
            // What is known already is compared with that.
            let is_new = *self.known.members.slot(Member::Model).now() == Knowledge::Unknown;
            let models = self.known.members.models().filter(|_| is_new && !self.known.may_change_silently());
            let listed = models.zip(state.data.model.as_ref());
            let listed = listed.and_then(|(list, model)| {
                Some((list.iter().find(|listed| key(listed) == key(model))?, model))
            });
            if let (Some((listed, model)), false) = (listed, at.cut) {
                let what = "the model as the list has it";
                found.expect_same(Rule::ModelsSteady, "/data/model", what, listed, model);
            }
        }
        if let RpcSuccess::GetAvailableThinkingLevels(list) = success
            && self.known.members.slot(Member::Model).is_unchanged_since(since)
        {
            success_data::levels_agree(&self.known, &list.data.levels, at, found);
        }
        let mut reported = Vec::new();
        members_of_success(success, at.base(), &mut |pointer, value| reported.push((pointer, value)));
        for (pointer, value) in reported {
            let member = value.member();
            if at.cut && may_be_cut(&value) {
                self.known.change(member, Knowledge::Unknown, at.frame);
                continue;
            }
            if self.known.is_changing(member) {
                continue;
            }
            let silent = member.is_silent() && self.known.may_change_silently();
            let slot = self.known.members.slot(member);
            let agrees = slot.allows_since(since, &value);
            if let (Some(rule), false) = (rule_of(member), silent) {
                match slot.now() {
                    _ if agrees => {
                        if *slot.now() != Knowledge::Unknown {
                            found.pass(rule);
                        }
                    }
                    Knowledge::Known(known) => {
                        found.expect_same(rule, pointer, expected_of(member), known, &value)
                    }
                    Knowledge::NoneOf(_) => found.fail(rule, "a session of its own, not one that was left"),
                    Knowledge::OneOf(values) => {
                        let first = values.first().unwrap_or(&value).clone();
                        found.expect_same(rule, pointer, expected_of(member), &first, &value);
                    }
                    Knowledge::Unknown => {}
                }
            }
            if slot.is_unchanged_since(since) || !agrees {
                if let MemberValue::ThinkingLevel(level) = &value {
                    self.known.sessions.learn_level(*level);
                }
                self.known.members.slot_mut(value.member()).set(Knowledge::Known(value));
            }
        }
        self.known.members.note_level();
    }

    /// Judges that an idle server without other commands is not compacting.
    fn compacts(&self, success: &RpcSuccess, request: &OpenRequest, at: &FrameContext, found: &mut Findings) {
        let RpcSuccess::GetState(state) = success else { return };
        let still = request.met == [FlowState::Idle] && at.now.flow == FlowState::Idle;
        if still && self.known.has_only_reads_outstanding() && !self.known.may_change_silently() {
            found.expect(Rule::CompactingFlag, !state.data.is_compacting, || {
                "false, as nothing is under way, at /data/isCompacting".to_owned()
            });
        }
    }

    /// Judges that an answer has the model and the level that were set for its run.
    fn answers(&mut self, message: &AssistantMessage, at: &FrameContext, found: &mut Findings) {
        let known = &self.known;
        if known.may_change_silently() {
            return;
        }
        let is_known = |member| {
            known
                .members
                .slot(member)
                .since(known.run_prompt())
                .all(|known| matches!(known, Knowledge::Known(_)))
        };
        if is_known(Member::Model) && !known.is_changing(Member::Model) {
            let models =
                known.members.slot(Member::Model).since(known.run_prompt()).filter_map(|known| match known {
                    Knowledge::Known(MemberValue::Model(model)) => model.as_ref(),
                    _ => None,
                });
            let models: Vec<&Model> = models.collect();
            if models.iter().any(|model| is_virtual(model, at.dialect)) {
                return;
            }
            let names: Vec<String> = models.iter().copied().map(key).collect();
            let reported = format!("{}/{}", message.provider, message.model);
            found.expect(Rule::AnswerModel, names.contains(&reported), || {
                format!("an answer of {}, not of {reported}", names.join(" or "))
            });
            let named = models.iter().filter(|model| key(model) == reported);
            let apis: Vec<&str> = named.map(|model| model.api.as_str()).collect();
            if let Some(api) = apis.first().filter(|_| !apis.contains(&message.api.as_str())) {
                let what = "the api of the model";
                found.fail_with_difference(Rule::AnswerModel, "/message/api", what, api, &message.api);
            }
        } else if !known.is_changing(Member::Model) {
            self.unjudged = Some(UnjudgedAnswer {
                provider: message.provider.clone(),
                model: message.model.clone(),
                api: message.api.clone(),
                level: message.thinking_level,
                since: known.run_prompt(),
                frame: found.frame(),
            });
        }
        let levels = known
            .members
            .levels_since(known.run_prompt())
            .filter(|_| !known.is_changing(Member::ThinkingLevel));
        if let (Some(reported), Some(levels)) = (message.thinking_level, levels) {
            found.expect(Rule::AnswerModel, levels.contains(&Some(reported)), || {
                let words: Vec<&str> = levels.iter().flatten().map(|level| level.as_str()).collect();
                format!("the level {} that was set, not {reported}", words.join(" or "))
            });
        }
    }

    /// Judges the newest answer by the model that is reported now, if nothing has changed it in between.
    fn unknown_answer(&mut self, state: &SessionState, since: u64, at: &FrameContext, found: &mut Findings) {
        let Some(answer) = self.unjudged.take() else { return };
        let slot = self.known.members.slot(Member::Model);
        let is_same = *slot.now() == Knowledge::Unknown && slot.is_unchanged_since(answer.since);
        let is_changing = self.known.is_changing(Member::Model) || self.known.may_change_silently();
        let level = self.known.members.slot(Member::ThinkingLevel);
        let has_level = *level.now() == Knowledge::Unknown
            && level.is_unchanged_since(answer.since)
            && !self.known.is_changing(Member::ThinkingLevel);
        let model = state.model.as_ref().filter(|_| is_same && !is_changing && answer.frame < since);
        let model = model.filter(|model| !is_virtual(model, at.dialect));
        let Some(model) = model else { return };
        let reported = format!("{}/{}", answer.provider, answer.model);
        found.with_cause(Some(answer.frame), |found| {
            found.expect(Rule::AnswerModel, reported == key(model), || {
                format!("the model that has answered, {reported}, not {}", key(model))
            });
            if reported == key(model) {
                let what = "the api of the answer";
                found.expect_same(Rule::AnswerModel, "/data/model/api", what, &answer.api, &model.api);
                if let (Some(level), Some(told), true) = (answer.level, state.thinking_level, has_level) {
                    let (at, what) = ("/data/thinkingLevel", "the level of the answer");
                    found.expect_same(Rule::AnswerModel, at, what, &level, &told);
                }
            }
        });
    }

    /// Judges that an event has told of another model before the response to the command that has selected it. `before` is the
    /// name of the model before.
    fn model_told_first(
        &mut self,
        before: Option<String>,
        command: RpcCommandKind,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        if !command.changes().contains(&Member::Model) {
            return;
        }
        let is_told = std::mem::take(&mut self.is_model_told);
        if !matches!(command, RpcCommandKind::SetModel | RpcCommandKind::CycleModel) {
            return;
        }
        let event = AgentSessionEventKind::ModelChanged;
        let now = self.known.members.model().map(key);
        let is_judged = before.is_some() && now.is_some() && before != now && event.is_in(at.base());
        if is_judged && !self.known.may_change_silently() && !at.cut {
            found.expect(Rule::ChangesTold, is_told, || format!("`{}` first", event.as_str()));
        }
    }

    /// Judges that an event has reported a change before the response of its command. `before` has the members as known before
    /// the response, each with whether it was the same when the command was written.
    fn told_first(
        &self,
        before: [(Member, Option<MemberValue>, bool); 2],
        command: RpcCommandKind,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        let events = [AgentSessionEventKind::ThinkingLevelChanged, AgentSessionEventKind::SessionInfoChanged];
        for ((member, before, is_unchanged), event) in before.into_iter().zip(events) {
            let sets = !matches!(command, RpcCommandKind::NewSession) && command.changes().contains(&member);
            let (Some(before), Some(now)) = (before, self.known.members.slot(member).value()) else {
                continue;
            };
            if !sets || self.known.may_change_silently() || at.cut || !event.is_in(at.base()) {
                continue;
            }
            let is_told = before == *now;
            found.expect(Rule::ChangesTold, is_told, || match is_unchanged {
                true => format!("`{}` first", event.as_str()),
                false => format!("what was asked for in `{}`", event.as_str()),
            });
        }
    }
}

/// The rule for the reported value of a member; `None` if other checks judge it.
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

/// The expectation for a member, in words.
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

/// Whether answers to requests with the model are of others.
pub(super) fn is_virtual(model: &Model, dialect: Dialect) -> bool {
    dialect.record().virtual_model_api == Some(model.api.as_str())
}
