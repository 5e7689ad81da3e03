//! What frames have shown of the members of a session's state, and what an effect of the schema makes of them.

use super::{
    levels::{Levels, without_thinking},
    member_history::{Knowledge, MemberHistory},
    todos::without_one_finished,
};
use pi_rpc_protocol::{
    AgentSessionEventKind, Base, Dialect, DialectCleansSessionName, DialectRecord, Effect, EffectCode,
    MemberValue, Model, SessionMember as Member, ThinkingLevel, TodoPhase,
};
use std::collections::VecDeque;

/// The known values of all members. Oracle, server and client store them here; lists that grow (messages, entries, queues)
/// have models of their own.
#[derive(Clone, Debug, Default)]
pub struct KnownMembers {
    slots: [MemberHistory; Member::ALL.len()],
    /// The latest levels that were in effect, each with its model.
    levels_seen: VecDeque<(String, ThinkingLevel)>,
}

/// The most levels that are remembered.
const MAX_LEVELS: usize = 64;

impl KnownMembers {
    /// What an effect (`x-effects` in the schema) makes of the members.
    pub fn after(&self, effect: Effect, dialect: Dialect) -> Vec<(Member, Knowledge)> {
        let record = dialect.record();
        let change = match effect {
            Effect::Set(value) | Effect::Next(value, _) => (value.member(), Knowledge::Known(value)),
            Effect::Reset(member) => {
                (member, member.first_value().map_or(Knowledge::Unknown, Knowledge::Known))
            }
            Effect::Forget(member) | Effect::Append(member) | Effect::Add(member) => {
                (member, Knowledge::Unknown)
            }
            Effect::Clamp(member, wanted, _) => (member, self.clamped(wanted, record, dialect.base())),
            Effect::Changed(value, code) => (value.member(), changed(value, code, record)),
            Effect::Code(EffectCode::ClearDoneTodo, _) => {
                let lists = self.todo_phases().into_iter().flat_map(without_one_finished);
                let lists: Vec<MemberValue> = lists.map(MemberValue::TodoPhases).collect();
                let known = if lists.is_empty() { Knowledge::Unknown } else { Knowledge::OneOf(lists) };
                (Member::TodoPhases, known)
            }
            Effect::Code(_, members) => {
                return members.iter().map(|member| (*member, Knowledge::Unknown)).collect();
            }
        };
        vec![change]
    }

    /// The model, if known.
    pub fn model(&self) -> Option<&Model> {
        match self.slot(Member::Model).value()? {
            MemberValue::Model(model) => model.as_ref(),
            _ => None,
        }
    }

    /// The todos, if known.
    pub fn todo_phases(&self) -> Option<&[TodoPhase]> {
        match self.slot(Member::TodoPhases).value()? {
            MemberValue::TodoPhases(phases) => Some(phases),
            _ => None,
        }
    }

    /// The available models, if known.
    pub fn models(&self) -> Option<&[Model]> {
        match self.slot(Member::Models).value()? {
            MemberValue::Models(models) => Some(models),
            _ => None,
        }
    }

    /// The thinking level, if known; `Some(None)` if none is set.
    pub fn level(&self) -> Option<Option<ThinkingLevel>> {
        match self.slot(Member::ThinkingLevel).value()? {
            MemberValue::ThinkingLevel(level) => Some(*level),
            _ => None,
        }
    }

    /// The possible thinking levels since `frame`, the latest first; `None` if they are not known.
    pub fn levels_since(&self, frame: u64) -> Option<Vec<Option<ThinkingLevel>>> {
        let level = |known: &Knowledge| match known {
            Knowledge::Known(MemberValue::ThinkingLevel(level)) => Some(*level),
            _ => None,
        };
        self.slot(Member::ThinkingLevel).since(frame).map(level).collect()
    }

    /// Whether the member can have this value now. Models are compared by name, as the server may know more members of a model
    /// than the dialect reports.
    pub fn allows(&self, value: &MemberValue) -> bool {
        let now = self.slot(value.member()).now();
        match (value, now) {
            (MemberValue::Model(Some(model)), Knowledge::Known(MemberValue::Model(Some(known)))) => {
                key(model) == key(known)
            }
            (MemberValue::Model(Some(model)), Knowledge::OneOf(models)) => models
                .iter()
                .any(|known| matches!(known, MemberValue::Model(Some(known)) if key(known) == key(model))),
            _ => now.allows(value),
        }
    }

    /// The thinking levels of the model, as far as they are known.
    pub fn levels(&self, base: Base) -> Option<Levels> {
        if let Some(MemberValue::ThinkingLevels(list)) = self.slot(Member::ThinkingLevels).value() {
            return Some(Levels::exactly(list));
        }
        let model = self.model()?;
        let mut levels = Levels::of(model, base);
        let key = key(model);
        self.levels_seen.iter().filter(|(of, _)| *of == key).for_each(|(_, level)| levels.confirm(*level));
        Some(levels)
    }

    /// The level in effect for a requested level, or for the current one if `wanted` is `None`.
    fn clamped(&self, wanted: Option<MemberValue>, record: &DialectRecord, base: Base) -> Knowledge {
        let Some(model) = self.model() else { return Knowledge::Unknown };
        let level = MemberValue::ThinkingLevel;
        if !model.reasoning {
            return Knowledge::Known(level(without_thinking(record)));
        }
        let is_told = AgentSessionEventKind::ThinkingLevelChanged.is_in(base);
        let wanted = match (wanted, self.level()) {
            (Some(MemberValue::ThinkingLevel(level)), _) => level,
            // If it has changed with the model, an event has reported it.
            (None, Some(now)) if is_told => return Knowledge::Known(level(now)),
            // If each model has a level of its own, that is not known.
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

    /// Remembers the level in effect as one that the model supports.
    pub fn note_level(&mut self) {
        if let (Some(model), Some(Some(level))) = (self.model(), self.level()) {
            let seen = (key(model), level);
            if !self.levels_seen.contains(&seen) {
                self.levels_seen.push_back(seen);
                if self.levels_seen.len() > MAX_LEVELS {
                    self.levels_seen.pop_front();
                }
            }
        }
    }

    /// The history of a member.
    pub const fn slot(&self, member: Member) -> &MemberHistory {
        &self.slots[member as usize]
    }

    /// The history of a member, to learn a reported value.
    pub const fn slot_mut(&mut self, member: Member) -> &mut MemberHistory {
        &mut self.slots[member as usize]
    }
}

/// The name of a model, with its provider.
pub fn key(model: &Model) -> String {
    format!("{}/{}", model.provider, model.id)
}

/// Applies an effect code to a value.
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
    // Servers differ in which characters they trim besides blanks.
    let is_certain =
        !is_cleaned && !name.is_empty() && !name.contains(['\u{85}', '\u{feff}', '\u{2028}', '\u{2029}']);
    match is_certain {
        true => Knowledge::Known(MemberValue::SessionName(Some(name.to_owned()))),
        false => Knowledge::Unknown,
    }
}
