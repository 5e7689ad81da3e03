//! Judges why commands are refused: a text that the dialect has for a reason is for commands with that reason.
//!
//! Rule: `refusal-reason`.

use super::frame_context::FrameContext;
use crate::{
    findings::Findings,
    requests::{OpenRequest, Requests, ResponseHead},
};
use pi_rpc_protocol::{
    AgentSessionEventKind, Base, ErrorText, FlowState, RpcCommand, RpcCommandKind, RuleId as Rule,
    placeholder_values,
};
use std::collections::VecDeque;

/// The most commands whose values are kept.
const MAX_COMMANDS: usize = 256;

/// The values of outstanding commands that a refusal may name.
#[derive(Clone, Debug, Default)]
pub struct Refusals {
    commands: VecDeque<(u64, Values)>,
}

/// Values of a command, each with the name of its placeholder.
type Values = Vec<(&'static str, String)>;

impl Refusals {
    /// Takes in a command, the request with this number.
    pub fn on_command(&mut self, number: u64, command: &RpcCommand) {
        let values = match command {
            RpcCommand::SetModel(it) => {
                vec![("provider", it.provider.clone()), ("model", it.model_id.clone())]
            }
            RpcCommand::NavigateTree(it) => vec![("id", it.target_id.clone())],
            RpcCommand::GetEntries(it) => vec![("id", it.since.clone().unwrap_or_default())],
            RpcCommand::SetSessionName(it) => vec![("name", it.name.clone())],
            _ => return,
        };
        self.commands.push_back((number, values));
        if self.commands.len() > MAX_COMMANDS {
            self.commands.pop_front();
        }
    }

    /// Judges the reason of a refusal.
    pub fn on_response(
        &mut self,
        answer: &ResponseHead,
        request: &OpenRequest,
        requests: &Requests,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        let place = self.commands.iter().position(|(number, _)| *number == request.number);
        let values = place.and_then(|place| self.commands.remove(place)).map(|(_, values)| values);
        let (false, Some(error)) = (answer.success, &answer.error) else { return };
        let kind = request.command;
        let may_begin =
            |other: &OpenRequest| other.command.has_message() || other.command == RpcCommandKind::Compact;
        // Without an event for it, nobody sees when a server takes prompts again.
        let is_seen = AgentSessionEventKind::AgentSettled.is_in(at.base());
        let is_unsure =
            !is_seen || !at.whole || at.has_extensions || at.cut || requests.outstanding().any(may_begin);
        let expected = match reason(error, at.base()) {
            Some((ErrorText::UnknownCommand, _)) if is_everywhere(kind) => {
                Some(format!("no `{kind}` to be unknown, which every server has"))
            }
            Some((text, named)) if text.refuses().contains(&kind) => {
                misfit(text, &named, &values.filter(|_| !at.cut).unwrap_or_default(), request, is_unsure)
            }
            Some((text, _)) if !text.refuses().is_empty() => {
                let of: Vec<String> = text.refuses().iter().map(|kind| format!("`{kind}`")).collect();
                Some(format!("a reason to refuse `{kind}`; the text is for {}", of.join(", ")))
            }
            Some(_) => None,
            // A server may refuse any command for a reason of its own: a limit, a disk, a cluster that is gone.
            None => None,
        };
        match expected {
            None => found.pass(Rule::RefusalReason),
            Some(expected) => found.fail(Rule::RefusalReason, format!("{expected}, at /error")),
        }
    }
}

/// The text of the dialect that a refusal has, with the values that it names.
fn reason(error: &str, base: Base) -> Option<(ErrorText, Vec<(&'static str, &str)>)> {
    // A template without words of its own fits everything.
    let has_words = |template: &str| !template.starts_with('{');
    ErrorText::ALL.into_iter().find_map(|text| {
        let template = text.template(base);
        Some((text, placeholder_values(template, error).filter(|_| has_words(template))?))
    })
}

/// What a refusal of a command with this reason had to be, if the reason does not hold.
fn misfit(
    text: ErrorText,
    named: &[(&str, &str)],
    values: &[(&'static str, String)],
    request: &OpenRequest,
    is_unsure: bool,
) -> Option<String> {
    let value = |name: &str| values.iter().find(|(it, _)| *it == name).map(|(_, value)| value.as_str());
    let other = named.iter().find_map(|(name, named)| {
        let asked = value(name).filter(|asked| asked != named)?;
        Some(format!("the {name} of the command, {asked:?}, not {named:?}"))
    });
    // Ids may have the characters that stand between them.
    let joined = |values: Vec<&str>| values.join("/");
    let is_same = joined(named.iter().map(|(_, named)| *named).collect())
        == joined(named.iter().filter_map(|(name, _)| value(name)).collect());
    if other.is_some() && !is_same {
        return other;
    }
    let kind = request.command;
    match text {
        ErrorText::SessionNameEmpty => value("name")
            .filter(|name| !name.trim().is_empty())
            .map(|name| format!("the name to be taken, as {name:?} is not empty")),
        // An extension, or a prompt that is not answered yet, may have begun what no frame shows.
        ErrorText::Busy | ErrorText::CompactingPrompt => {
            let is_idle = request.met.iter().all(|met| *met == FlowState::Idle);
            (is_idle && !is_unsure).then(|| format!("the `{kind}` to be accepted, as nothing is under way"))
        }
        _ => None,
    }
}

/// Whether every dialect has the command, so that no version of a server lacks it.
fn is_everywhere(kind: RpcCommandKind) -> bool {
    Base::ALL.into_iter().all(|base| kind.is_in(base))
}
