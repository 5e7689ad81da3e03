//! What becomes of each member of each frame between two dialects.

use crate::{
    bridges::bridges,
    ends::{COMPUTED, TOLD},
    host_tools::CARRIED,
    listed_commands::COMPUTED as LISTED,
    names::{renamed, renamed_command},
    plan::{DefId, DefPlan, MemberPlan, Plan, Source, TYPE},
    queues::COMPUTED as QUEUES,
    schema::{Def, Property, defs},
};
use pi_rpc_protocol::{AgentSessionEventKind as Event, Base, Dialect, RpcCommandKind};

/// The way of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the server to the client.
    ToClient,
    /// From the client to the server.
    ToServer,
}

/// What becomes of a frame, a member, a value or a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// It arrives, possibly under another name.
    Same,
    /// It is computed from the account of the session.
    Computed,
    /// It has a fixed value, or the nearest one.
    Default,
    /// It does not arrive, although its receiver has a place for it, or its sender relies on it.
    Lost,
    /// The command that it belongs to is refused.
    Refused,
    /// The client's dialect has no place for it: the client's own server never wrote it.
    Absent,
}

impl Fate {
    /// All fates, in the order of tables.
    pub const ALL: [Self; 6] =
        [Self::Same, Self::Computed, Self::Default, Self::Lost, Self::Refused, Self::Absent];

    /// The word in tables.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Computed => "computed",
            Self::Default => "default",
            Self::Lost => "lost",
            Self::Refused => "refused",
            Self::Absent => "absent",
        }
    }
}

/// What becomes of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberFate {
    /// Its name; that of a value or a branch in quotation marks; `*`: the whole frame.
    pub name: String,
    /// What becomes of it.
    pub fate: Fate,
    /// Whether the dialect that it is carried to requires it.
    pub is_required: bool,
    /// The value, the other name, or the reason.
    pub note: String,
}

/// What becomes of the members of a frame, or of a type within frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameLosses {
    /// The way.
    pub way: Way,
    /// The title of its def.
    pub title: &'static str,
    /// Its `type`, if it is a frame.
    pub kind: Option<&'static str>,
    /// Its members that one of the two dialects has.
    pub members: Vec<MemberFate>,
}

/// What becomes of every frame, and of the types within them, between a server and a client.
pub fn losses(server: Dialect, client: Dialect) -> Vec<FrameLosses> {
    let (server, client) = (server.base(), client.base());
    let mut all = frames_losses(Way::ToClient, OUTBOUND, server, client);
    all.extend(unwritten_events(server, client));
    all.extend(frames_losses(Way::ToServer, "Inbound", client, server));
    all
}

/// The numbers of members with each fate, in the order of [`Fate::ALL`].
pub fn counts(frames: &[FrameLosses]) -> [usize; Fate::ALL.len()] {
    let mut counts = [0; Fate::ALL.len()];
    frames.iter().flat_map(|frame| &frame.members).for_each(|member| counts[member.fate as usize] += 1);
    counts
}

/// The def of all frames of a server.
const OUTBOUND: &str = "Outbound";

/// Events of the client's dialect that the server's does not have under any name.
fn unwritten_events(server: Base, client: Base) -> Vec<FrameLosses> {
    let announced = || bridges().announcements.iter().flat_map(|it| &it.events);
    let events = defs().filter(|def| def.is_in(client) && !def.is_in(server));
    let events = events.filter_map(|def| {
        let event = Event::parse(def.constant(TYPE)?)?;
        let is_placed = event.fires().iter().any(|row| row.only.is_none_or(|only| client.is_in(only)));
        let is_renamed = renamed(client, server, event.as_str()) != event.as_str();
        (is_placed && !is_renamed).then_some((def, event.as_str()))
    });
    let losses = events.map(|(def, kind)| {
        let is_announced = announced().any(|it| it.fixed.get(TYPE).is_some_and(|it| it == kind));
        let is_computed = is_announced
            || COMPUTED.iter().chain(&TOLD).chain(&QUEUES).chain(&LISTED).any(|it| it.as_str() == kind);
        let member = match is_computed {
            true => fate("*", Fate::Computed, false, "from what the client does and what the server tells"),
            false => fate("*", Fate::Lost, false, "the server never tells it"),
        };
        FrameLosses { way: Way::ToClient, title: def.title, kind: Some(kind), members: vec![member] }
    });
    losses.collect()
}

fn frames_losses(way: Way, root: &'static str, from: Base, to: Base) -> Vec<FrameLosses> {
    let plan = Plan::new(from, to);
    let all: Vec<Def> = defs().collect();
    let mut found = Vec::new();
    let Some(start) = plan.find(root) else { return found };
    let is_refused = |id: DefId| way == Way::ToServer && is_refused(all[id], plan.def(id), &plan, from, to);
    let reached = self::reached(start, &all, &plan, from, |_| false);
    // What only refused commands contain is not sent without them.
    let served = self::reached(start, &all, &plan, from, is_refused);
    for (id, def) in all.iter().enumerate().filter(|(id, _)| reached[*id]) {
        let members = match served[id] || is_refused(id) {
            true => def_losses(way, *def, plan.def(id), &plan, from, to),
            false => vec![fate("*", Fate::Refused, false, "of refused commands alone")],
        };
        if !members.is_empty() {
            found.push(FrameLosses { way, title: def.title, kind: def.constant(TYPE), members });
        }
    }
    found
}

/// Which defs are found from `start`; what a def contains for which `ends` holds is not looked at.
fn reached(start: DefId, all: &[Def], plan: &Plan, from: Base, ends: impl Fn(DefId) -> bool) -> Vec<bool> {
    let mut reached = vec![false; all.len()];
    let mut next = vec![start];
    while let Some(id) = next.pop() {
        if !std::mem::replace(&mut reached[id], true) && !ends(id) {
            let titles = all[id].references().filter_map(|title| plan.find(title));
            next.extend(titles.filter(|id| all[*id].is_in(from)));
        }
    }
    reached
}

/// Whether a frame of the client is a command that is refused, or an answer to what the server never asks.
fn is_refused(def: Def, plan: &DefPlan, whole: &Plan, from: Base, to: Base) -> bool {
    matches!(plan, DefPlan::Absent)
        && def.constant(TYPE).is_some()
        && absent(Way::ToServer, def, whole, from, to).fate == Fate::Refused
}

fn def_losses(way: Way, def: Def, plan: &DefPlan, whole: &Plan, from: Base, to: Base) -> Vec<MemberFate> {
    match plan {
        DefPlan::Same => {
            let members = def.properties().filter(|it| !it.is_constant() && it.is_in(from));
            members.map(|it| fate(it.name, Fate::Same, it.is_required_in(to), "")).collect()
        }
        DefPlan::Absent => vec![absent(way, def, whole, from, to)],
        DefPlan::Values { allowed, instead } => {
            let values = def.values(from).unwrap_or_default().into_iter();
            let shown = |value: &str| format!("\"{value}\"");
            values
                .map(|value| match instead.get(value) {
                    _ if allowed.contains(&value) => fate(&shown(value), Fate::Same, false, ""),
                    Some(other) => fate(&shown(value), Fate::Default, false, &shown(other)),
                    None => fate(&shown(value), Fate::Lost, false, ""),
                })
                .collect()
        }
        DefPlan::Object { members, .. } => {
            let mut fates: Vec<MemberFate> =
                members.iter().filter(|it| !is_constant(def, it.name)).filter_map(member_fate).collect();
            let carried = |name: &str| {
                members.iter().any(|it| it.is_given && (it.name == name || it.others.contains(&name)))
            };
            let left_out = def.properties().filter(|it: &Property| it.is_in(from) && !carried(it.name));
            fates.extend(left_out.map(|it| fate(it.name, left_out_fate(way), false, "")));
            fates
        }
        // The branches are defs of their own.
        DefPlan::Tagged { .. } | DefPlan::Either(_) => Vec::new(),
    }
}

/// The fate of a member that the receiver's dialect does not have: absent on the way to a client, which was written without it; lost
/// on the way to a server, where the client wants an effect of it.
const fn left_out_fate(way: Way) -> Fate {
    match way {
        Way::ToClient => Fate::Absent,
        Way::ToServer => Fate::Lost,
    }
}

fn is_constant(def: Def, name: &str) -> bool {
    def.properties().any(|it| it.name == name && it.is_constant())
}

/// `None`: neither side has it.
fn member_fate(member: &MemberPlan) -> Option<MemberFate> {
    let other = member.others.first().filter(|_| !member.is_given).copied().unwrap_or_default();
    let of = |which, note: &str| Some(fate(member.name, which, member.is_required, note));
    match &member.source {
        _ if member.is_given && !member.is_replaced => of(Fate::Same, other),
        Source::Computed(_) => of(Fate::Computed, member.why),
        Source::Fixed(value) => of(Fate::Default, &value.to_string()),
        Source::Nowhere if member.is_required => of(Fate::Lost, "missing"),
        Source::Nowhere => None,
    }
}

/// What becomes of a def that the other dialect does not have.
fn absent(way: Way, def: Def, plan: &Plan, from: Base, to: Base) -> MemberFate {
    if way == Way::ToServer && CARRIED.contains(&def.title) {
        return fate(
            "*",
            Fate::Computed,
            false,
            "by an extension in the server (`--host-tools`), else refused",
        );
    }
    let carried = |name: &str| {
        let has = |id: usize| !matches!(plan.def(id), DefPlan::Absent);
        plan.frame(name).is_some_and(has)
    };
    match def.constant(TYPE) {
        Some(kind) if way == Way::ToServer => match RpcCommandKind::parse(kind) {
            Some(command) => {
                let other = renamed_command(from, to, command);
                let steps = bridges().sequences.get(kind).filter(|it| {
                    it.steps.iter().all(|step| RpcCommandKind::parse(step).is_some_and(|step| step.is_in(to)))
                });
                match (other, steps) {
                    (Some(other), _) => fate("*", Fate::Same, false, other.as_str()),
                    (None, Some(steps)) => fate(
                        "*",
                        Fate::Computed,
                        false,
                        &format!("{}: {}", steps.steps.join(", "), steps.why),
                    ),
                    (None, None) => fate("*", Fate::Refused, false, ""),
                }
            }
            // It answers a frame of the server.
            None => fate("*", Fate::Refused, false, "the server never asks for it"),
        },
        Some(kind) if COMPUTED.iter().any(|it| it.as_str() == kind) => {
            fate("*", Fate::Computed, false, "the end of the run")
        }
        Some(kind) => match renamed(from, to, kind) {
            other if other != kind && carried(other) => fate("*", Fate::Same, false, other),
            _ => match def
                .constant("command")
                .and_then(RpcCommandKind::parse)
                .and_then(|it| renamed_command(from, to, it))
            {
                Some(other) => fate("*", Fate::Same, false, other.as_str()),
                None => fate("*", left_out_fate(way), false, ""),
            },
        },
        None => {
            let instead = bridges()
                .branches
                .values()
                .flatten()
                .find(|(name, _)| def.constant("role") == Some(name) || def.constant(TYPE) == Some(name));
            instead.map_or_else(
                || fate("*", left_out_fate(way), false, ""),
                |(_, branch)| fate("*", Fate::Same, false, &format!("{}: {}", branch.to, branch.why)),
            )
        }
    }
}

fn fate(name: &str, fate: Fate, is_required: bool, note: &str) -> MemberFate {
    MemberFate { name: name.to_owned(), fate, is_required, note: note.to_owned() }
}
