//! Names of the events of the chart, and the frames that they stand for.

use pi_rpc_machine::Kind;
use pi_rpc_protocol::{
    AgentSessionEventKind, Base, FlowState, HostResponseKind, PromptDisposition, RpcCommandKind,
    RpcExtensionUIRequest, RpcExtensionUIRequestKind, RpcResponse,
};
use serde_json::{Value, json};

/// The event of frames of this kind: the type, then the role, delta type, `success` or `stopReason`, separated by dots.
///
/// ```
/// use pi_rpc_export::event_name;
/// use pi_rpc_machine::Kind;
/// use pi_rpc_protocol::{RpcCommandKind, StopReason};
///
/// assert_eq!(event_name(Kind::AssistantEnd(StopReason::ToolUse)), "message_end.assistant.toolUse");
/// assert_eq!(event_name(Kind::Response(Some(RpcCommandKind::Fork), true)), "response.fork.ok");
/// ```
pub fn event_name(kind: Kind) -> String {
    if let Kind::Unannounced(step) = kind {
        return format!("step.{}", snake_case(&format!("{step:?}")));
    }
    let words = kind.to_string();
    match words.strip_suffix(')').and_then(|words| words.split_once('(')) {
        Some((of, details)) => format!("{of}.{}", details.replace(' ', ".")),
        None => words.replace(' ', "_"),
    }
}

fn snake_case(name: &str) -> String {
    let mut out = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.extend(letter.to_lowercase());
    }
    out
}

/// A command as an event: what becomes of some commands depends on one member, whose values have events of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandEvent {
    /// The command.
    pub command: RpcCommandKind,
    /// The member and its value; `None`: the member is absent, or does not matter.
    pub member: Option<(&'static str, &'static str)>,
}

impl CommandEvent {
    /// The name of the event: `command.steer`, `command.prompt.followUp`.
    pub fn name(self) -> String {
        let name = event_name(Kind::Command(self.command));
        self.member.map_or(name.clone(), |(_, value)| format!("{name}.{value}"))
    }
}

/// The events of a command in dialects built on `base`; those of a member's values first.
pub fn command_events(command: RpcCommandKind, base: Base) -> Vec<CommandEvent> {
    let mut members: Vec<(&str, &str)> = Vec::new();
    let cases = FlowState::ALL.into_iter().flat_map(|state| command.cases(state));
    for (field, values) in
        cases.filter(|case| case.only.is_none_or(|only| base.is_in(only))).filter_map(|case| case.when)
    {
        members.extend(values.iter().map(|value| (field, *value)));
    }
    members.sort_unstable();
    members.dedup();
    let refined = members.into_iter().map(Some);
    refined.chain([None]).map(|member| CommandEvent { command, member }).collect()
}

/// All kinds of frames of dialects built on `base`, without commands, which are [`CommandEvent`]s.
pub fn kinds(base: Base) -> Vec<Kind> {
    let has = |kind: &Kind| match kind {
        Kind::Command(_) => false,
        // A success names its command.
        Kind::Response(None, is_success) => !is_success,
        kind => host_response(*kind).map_or(kind.is_in(base), |response| response.is_in(base)),
    };
    Kind::all().into_iter().filter(has).collect()
}

const fn host_response(kind: Kind) -> Option<HostResponseKind> {
    Some(match kind {
        Kind::DialogResponse => HostResponseKind::ExtensionUiResponse,
        Kind::HostToolUpdate => HostResponseKind::HostToolUpdate,
        Kind::HostToolResult => HostResponseKind::HostToolResult,
        Kind::HostUriResult => HostResponseKind::HostUriResult,
        _ => return None,
    })
}

/// The members by which a frame is known to be an event: alternatives, each an object that the frame includes. Empty for events
/// that are no frames. The first event that matches is the frame's, in the order of [`frames`].
fn patterns(kind: Kind) -> Vec<Value> {
    match kind {
        Kind::Response(command, is_success) => response_patterns(command, is_success),
        Kind::MessageUpdate(update) => {
            vec![
                json!({ "type": AgentSessionEventKind::MessageUpdate.as_str(), "assistantMessageEvent": { "type": update.as_str() } }),
            ]
        }
        Kind::UiRequest(method) => {
            vec![json!({ "type": RpcExtensionUIRequest::TYPE, "method": method.as_str() })]
        }
        kind => match (kind.name(), host_response(kind)) {
            (Some(name), _) => vec![event_pattern(kind, name)],
            (None, Some(response)) => vec![json!({ "type": response.as_str() })],
            (None, None) => Vec::new(),
        },
    }
}

fn response_patterns(command: Option<RpcCommandKind>, is_success: bool) -> Vec<Value> {
    let Some(command) = command else {
        // To a line that is no command of the dialect.
        return vec![json!({ "type": RpcResponse::TYPE, "success": is_success })];
    };
    let name = command.as_str();
    let pattern = |success: bool, data: Option<Value>| {
        let mut pattern = json!({ "type": RpcResponse::TYPE, "command": name, "success": success });
        if let Some(data) = data {
            pattern["data"] = data;
        }
        pattern
    };
    if is_success {
        return vec![pattern(true, None)];
    }
    let mut patterns = vec![pattern(false, None)];
    if command.replaces_session() {
        patterns.push(pattern(true, Some(json!({ "cancelled": true }))));
    }
    if command == RpcCommandKind::Prompt {
        patterns.push(pattern(true, Some(json!({ "agentInvoked": false }))));
        let others = PromptDisposition::ALL.into_iter().filter(|it| *it != PromptDisposition::Started);
        patterns.extend(others.map(|other| pattern(true, Some(json!({ "disposition": other.as_str() })))));
    }
    patterns
}

fn event_pattern(kind: Kind, name: &str) -> Value {
    let mut pattern = json!({ "type": name });
    for member in ["role", "stopReason"] {
        if let Some(value) = kind.field(member) {
            pattern["message"][member] = json!(value);
        }
    }
    if let Kind::RetryEnd(success) = kind {
        pattern["success"] = json!(success);
    }
    // Every other reason is one of the server.
    if let Kind::CompactionStart(true) | Kind::CompactionEnd(true) = kind {
        pattern["reason"] = json!(kind.field("reason"));
    }
    pattern
}

/// How frames become events, in dialects built on `base`: a list of patterns with their events, of which the first that the frame
/// includes is its own.
pub fn frames(base: Base) -> Vec<Value> {
    let mut rows: Vec<(String, Value)> = Vec::new();
    for command in RpcCommandKind::ALL.into_iter().filter(|command| command.is_in(base)) {
        for event in command_events(command, base) {
            let mut pattern = json!({ "type": command.as_str() });
            if let Some((member, value)) = event.member {
                pattern[member] = json!(value);
            }
            rows.push((event.name(), pattern));
        }
    }
    for kind in kinds(base) {
        rows.extend(patterns(kind).into_iter().map(|pattern| (event_name(kind), pattern)));
    }
    // The patterns with more members first.
    rows.sort_by_key(|(_, pattern)| std::cmp::Reverse(members(pattern)));
    rows.into_iter().map(|(event, frame)| json!({ "event": event, "frame": frame })).collect()
}

/// The number of values in a pattern, at any depth.
fn members(pattern: &Value) -> usize {
    pattern.as_object().map_or(1, |object| object.values().map(members).sum())
}

/// The events of dialogs in dialects built on `base`.
pub fn dialog_events(base: Base) -> Vec<String> {
    let dialogs = RpcExtensionUIRequestKind::ALL.into_iter().filter(|kind| kind.is_dialog());
    dialogs.map(Kind::UiRequest).filter(|kind| kind.is_in(base)).map(event_name).collect()
}
