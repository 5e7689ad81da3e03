//! Judges the data of success responses: they repeat the requested values, and cycling goes to the next of a list.
//!
//! Rules: `set-as-asked`, `cycle-next`, `models-steady`.

use super::frame_context::FrameContext;
use crate::{
    findings::Findings,
    session_state::{
        known_state::{CycleRange, KnownState},
        levels::Levels,
    },
};
use pi_rpc_protocol::{
    AgentSessionEventKind, Model, ModelCycle, RpcCommand, RpcSuccess, RuleId as Rule,
    SessionMember as Member, SetTodosCommand, ThinkingLevel, ThinkingLevelChange, TodoPhase, TodoStatus,
};

/// Judges a success response before its effects are applied.
pub fn judge(
    known: &KnownState,
    command: &RpcCommand,
    success: &RpcSuccess,
    asked_at: u64,
    at: &FrameContext,
    found: &mut Findings,
) {
    match (command, success) {
        (RpcCommand::SetModel(requested), RpcSuccess::SetModel(response)) => {
            let model = &response.data;
            found.expect_same(
                Rule::SetAsAsked,
                "/data/provider",
                "the provider that was asked for",
                &requested.provider,
                &model.provider,
            );
            found.expect_same(
                Rule::SetAsAsked,
                "/data/id",
                "the model that was asked for",
                &requested.model_id,
                &model.id,
            );
            agrees(known, model, "/data", found);
        }
        (RpcCommand::CycleModel(_), RpcSuccess::CycleModel(response)) => {
            let is_one = known.members.models().is_some_and(|models| models.len() < 2);
            // Before, the model may have been the only one of the list.
            let may_start = at.dialect.record().cycles_to_first && !is_listed(known);
            let fits = match (&response.data, known.cycling) {
                (None, CycleRange::All) => is_one,
                (Some(_), CycleRange::Nothing) => may_start,
                _ => true,
            };
            found.expect(Rule::CycleNext, fits || known.may_change_silently(), || match &response.data {
                None => "a model, as there are several".to_owned(),
                Some(_) => "null, as there was nothing to cycle through before".to_owned(),
            });
            if let Some(cycle) = &response.data {
                agrees(known, &cycle.model, "/data/model", found);
                next_model(known, cycle, at, found);
            }
        }
        (RpcCommand::CycleThinkingLevel(_), RpcSuccess::CycleThinkingLevel(response)) => {
            next_level(known, response.data.as_ref(), asked_at, at, found);
        }
        (RpcCommand::SetHostTools(requested), RpcSuccess::SetHostTools(response)) => {
            // Servers trim names.
            let names: Vec<String> = requested.tools.iter().map(|tool| tool.name.trim().to_owned()).collect();
            found.expect_same(
                Rule::SetAsAsked,
                "/data/toolNames",
                "the tools that were given",
                &names,
                &response.data.tool_names,
            );
        }
        (RpcCommand::SetSessionName(requested), RpcSuccess::SetSessionName(_)) => {
            found.expect(Rule::SetAsAsked, !requested.name.trim().is_empty(), || {
                "the empty name to be refused".to_owned()
            });
        }
        (RpcCommand::NegotiateProtocol(requested), RpcSuccess::NegotiateProtocol(response)) => {
            let (wanted, told) = (requested.protocol_version, response.data.protocol_version);
            // A server may know no version that is as new.
            if told > wanted {
                let what = "the version that was asked for, or an older one";
                found.fail_with_difference(Rule::SetAsAsked, "/data/protocolVersion", what, &wanted, &told);
            }
        }
        (RpcCommand::SetTodos(requested), RpcSuccess::SetTodos(response)) => {
            todos(requested, &response.data.todo_phases, found);
        }
        _ => {}
    }
}

/// A reported model equals that of the list of models.
fn agrees(known: &KnownState, model: &Model, pointer: &str, found: &mut Findings) {
    let same = |other: &&Model| other.provider == model.provider && other.id == model.id;
    if known.may_change_silently() {
        return;
    }
    if let Some(listed) = known.members.models().and_then(|models| models.iter().find(same)) {
        found.expect_same(Rule::ModelsSteady, pointer, "the model as the list has it", listed, model);
    }
}

/// Cycling goes to the model after the current one, if all models are in the range.
fn next_model(known: &KnownState, cycle: &ModelCycle, at: &FrameContext, found: &mut Findings) {
    if cycle.is_scoped || known.may_change_silently() || known.is_changing(Member::Model) {
        return;
    }
    let (Some(models), Some(current)) = (known.members.models(), known.members.model()) else { return };
    let next = match models.iter().position(|model| is_same(model, current)) {
        None if at.dialect.record().cycles_to_first => 0,
        place => (place.unwrap_or(0) + 1) % models.len().max(1),
    };
    if let Some(next) = models.get(next) {
        let name = |model: &Model| format!("{}/{}", model.provider, model.id);
        found.expect(Rule::CycleNext, is_same(next, &cycle.model), || {
            format!("{}, the model behind {}, not {}", name(next), name(current), name(&cycle.model))
        });
    }
}

/// Whether the current model is in the list of models, as far as both are known.
fn is_listed(known: &KnownState) -> bool {
    let (Some(models), Some(current)) = (known.members.models(), known.members.model()) else { return false };
    models.iter().any(|model| is_same(model, current))
}

fn is_same(one: &Model, other: &Model) -> bool {
    one.provider == other.provider && one.id == other.id
}

/// Cycling goes to the level after the current one; a model without thinking has none.
fn next_level(
    known: &KnownState,
    reported: Option<&ThinkingLevelChange>,
    asked_at: u64,
    at: &FrameContext,
    found: &mut Findings,
) {
    if known.may_change_silently() || known.is_changing(Member::ThinkingLevel) {
        return;
    }
    let Some(model) = known.members.model() else { return };
    found.expect(Rule::CycleNext, model.reasoning == reported.is_some(), || match model.reasoning {
        true => "a level, as the model thinks".to_owned(),
        false => "null, as the model does not think".to_owned(),
    });
    let (Some(reported), Some(mut before), Some(levels)) =
        (reported, known.members.levels_since(asked_at), known.members.levels(at.base()))
    else {
        return;
    };
    // If an event reports the level first, the latest is the one that this command has set.
    if before.len() > 1 && AgentSessionEventKind::ThinkingLevelChanged.is_in(at.base()) {
        before.remove(0);
    }
    let next: Vec<ThinkingLevel> = before.iter().flatten().flat_map(|level| levels.next(*level)).collect();
    // If no level is set, any may be the first.
    if !before.contains(&None) {
        found.expect(Rule::CycleNext, next.contains(&reported.level), || {
            let words: Vec<&str> = next.iter().copied().map(ThinkingLevel::as_str).collect();
            format!("{}, which comes next, not {}", words.join(" or "), reported.level)
        });
    }
}

/// The reported levels are those of the model.
pub fn levels_agree(known: &KnownState, reported: &[ThinkingLevel], at: &FrameContext, found: &mut Findings) {
    if known.may_change_silently() || known.is_changing(Member::Model) {
        return;
    }
    let levels = known.members.model().map(|model| Levels::of(model, at.base()));
    if let Some(list) = levels.as_ref().and_then(Levels::list) {
        let reported = reported.to_vec();
        found.expect_same(
            Rule::ModelsSteady,
            "/data/levels",
            "the levels that the model takes",
            &list.to_vec(),
            &reported,
        );
    }
}

/// The todos are repeated as they were given, with optional members filled in.
fn todos(requested: &SetTodosCommand, reported: &[TodoPhase], found: &mut Findings) {
    let shape = |phases: usize| format!("the {phases} phases that were given");
    found
        .expect(Rule::SetAsAsked, requested.phases.len() == reported.len(), || shape(requested.phases.len()));
    for (place, (requested, reported)) in requested.phases.iter().zip(reported).enumerate() {
        let at = format!("/data/todoPhases/{place}");
        found.expect_same(
            Rule::SetAsAsked,
            &format!("{at}/name"),
            "the name that was given",
            &requested.name,
            &reported.name,
        );
        if requested.id.is_some() {
            found.expect_same(
                Rule::SetAsAsked,
                &format!("{at}/id"),
                "the id that was given",
                &requested.id,
                &reported.id,
            );
        }
        let tasks = &requested.tasks;
        found.expect(Rule::SetAsAsked, tasks.len() == reported.tasks.len(), || {
            format!("the {} tasks that were given in `{}`", tasks.len(), requested.name)
        });
        for (place, (requested, reported)) in tasks.iter().zip(&reported.tasks).enumerate() {
            let at = format!("{at}/tasks/{place}");
            found.expect_same(
                Rule::SetAsAsked,
                &format!("{at}/content"),
                "the content that was given",
                &requested.content,
                &reported.content,
            );
            if requested.id.is_some() {
                found.expect_same(
                    Rule::SetAsAsked,
                    &format!("{at}/id"),
                    "the id that was given",
                    &requested.id,
                    &reported.id,
                );
            }
            let status = requested.status.unwrap_or(TodoStatus::Pending);
            found.expect_same(
                Rule::SetAsAsked,
                &format!("{at}/status"),
                "the status that was given",
                &status,
                &reported.status,
            );
            found.expect_same(
                Rule::SetAsAsked,
                &format!("{at}/notes"),
                "the notes that were given",
                &requested.notes,
                &reported.notes,
            );
        }
    }
}
