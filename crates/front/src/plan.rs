//! The way of each def from one dialect to another, compiled from the schema and the bridges.

use crate::{
    bridges::{Branch, Computed, bridges},
    names::renamed,
    schema::{Def, Property, defs, title_of},
};
use pi_rpc_protocol::Base;
use serde_json::Value;
use std::collections::HashMap;

/// Number of a def in a [`Plan`].
pub type DefId = usize;

/// How values go from one dialect to another.
#[derive(Debug)]
pub struct Plan {
    defs: Vec<DefPlan>,
    by_title: HashMap<&'static str, DefId>,
    /// The def of the frames of each `type`, but for success responses.
    by_type: HashMap<&'static str, DefId>,
    /// The def of the success response to each command.
    responses: HashMap<&'static str, DefId>,
}

/// How a def goes.
#[derive(Debug)]
pub enum DefPlan {
    /// As it is.
    Same,
    /// The other dialect does not have it.
    Absent,
    /// An object, member by member.
    Object {
        members: Vec<MemberPlan>,
        /// Whether members that the schema does not name are kept.
        keeps_unknown: bool,
    },
    /// A union with a tag.
    Tagged {
        tag: &'static str,
        branches: HashMap<&'static str, DefId>,
        instead: HashMap<&'static str, &'static Branch>,
    },
    /// An enumeration.
    Values { allowed: Vec<&'static str>, instead: HashMap<&'static str, &'static str> },
    /// A union that is decided by shape.
    Either(Vec<Node>),
}

/// How a member goes.
#[derive(Debug)]
pub struct MemberPlan {
    /// Name on the wire.
    pub name: &'static str,
    /// Other names in the dialect that it comes from.
    pub others: Vec<&'static str>,
    /// How its value goes.
    pub node: Node,
    /// Whether the dialect that it comes from has it, possibly under another name.
    pub is_given: bool,
    /// Whether the frame needs it.
    pub is_required: bool,
    /// Whether it is computed even if it is given.
    pub is_replaced: bool,
    /// Where its value comes from, if it is not given.
    pub source: Source,
    /// The reason of its bridge.
    pub why: &'static str,
}

/// Where a value comes from that is not given.
#[derive(Clone, Debug)]
pub enum Source {
    /// It is fixed.
    Fixed(Value),
    /// It is computed from the account.
    Computed(Computed),
    /// Nowhere.
    Nowhere,
}

/// How a value goes.
#[derive(Debug)]
pub enum Node {
    /// As it is.
    Same,
    /// As the def.
    Def(DefId),
    /// Each element.
    List(Box<Self>),
    /// As the first alternative that fits.
    Either(Vec<Self>),
    /// Number that the other dialect wants whole.
    Whole,
    /// Text that the other dialect has as a list of texts.
    Texts,
    /// List of texts that the other dialect has as one text.
    Text,
}

impl Plan {
    /// The plan for values of `from` that are to be values of `to`.
    pub fn new(from: Base, to: Base) -> Self {
        let all: Vec<Def> = defs().collect();
        let by_title: HashMap<_, _> = all.iter().enumerate().map(|(at, def)| (def.title, at)).collect();
        let compiler = Compiler { from, to, by_title: &by_title };
        let mut defs: Vec<DefPlan> = all.iter().map(|def| compiler.def(*def)).collect();
        // A def is the same if nothing that it contains differs; the first guess is that every def may be.
        let mut same: Vec<bool> = all.iter().map(|def| def.is_in(from) && def.is_in(to)).collect();
        loop {
            let next: Vec<bool> =
                (0..defs.len()).map(|at| same[at] && compiler.is_same(all[at], &defs[at], &same)).collect();
            if next == same {
                break;
            }
            same = next;
        }
        for (def, _) in defs.iter_mut().zip(&same).filter(|(_, same)| **same) {
            *def = DefPlan::Same;
        }
        let (mut by_type, mut responses) = (HashMap::new(), HashMap::new());
        for root in ["Inbound", "Outbound"] {
            collect_frames(root, &by_title, &all, &mut by_type, &mut responses);
        }
        Self { defs, by_title, by_type, responses }
    }

    /// The def of frames of this `type`.
    pub fn frame(&self, kind: &str) -> Option<DefId> {
        self.by_type.get(kind).copied()
    }

    /// The def of the success response to this command.
    pub fn response(&self, command: &str) -> Option<DefId> {
        self.responses.get(command).copied()
    }

    /// The number of the def with this title.
    pub fn find(&self, title: &str) -> Option<DefId> {
        self.by_title.get(title).copied()
    }

    /// How a def goes.
    pub fn def(&self, id: DefId) -> &DefPlan {
        self.defs.get(id).unwrap_or(&DefPlan::Absent)
    }
}

/// Finds the defs of all frames below a union.
fn collect_frames(
    title: &'static str,
    by_title: &HashMap<&'static str, DefId>,
    all: &[Def],
    by_type: &mut HashMap<&'static str, DefId>,
    responses: &mut HashMap<&'static str, DefId>,
) {
    let Some(id) = by_title.get(title) else { return };
    let def = all[*id];
    let type_of = |title: &str| all[*by_title.get(title)?].constant(TYPE);
    match def.branches() {
        Some((TYPE, branches)) => {
            let ids = branches.iter().filter_map(|(name, title)| Some((*name, *by_title.get(title)?)));
            by_type.extend(ids);
        }
        // All branches have the same type and differ in another member.
        Some((_, branches)) => {
            let first = branches.first().and_then(|(_, title)| type_of(title));
            match first {
                Some(name) if by_type.contains_key(name) => {
                    responses.extend(
                        branches.iter().filter_map(|(name, title)| Some((*name, *by_title.get(title)?))),
                    );
                }
                Some(name) => drop(by_type.insert(name, *id)),
                None => {}
            }
        }
        None => {
            let titles = || def.alternatives().iter().filter_map(title_of);
            let types: Vec<_> = titles().filter_map(type_of).collect();
            match (def.constant(TYPE), types.first()) {
                (Some(name), _) => drop(by_type.insert(name, *id)),
                // A union by shape of frames with one type.
                (None, Some(name))
                    if types.len() == titles().count() && types.iter().all(|it| it == name) =>
                {
                    by_type.insert(name, *id);
                }
                (None, _) => {
                    // Errors stand behind successes, whose defs are found by their command.
                    let titles: Vec<_> = titles().collect();
                    titles
                        .iter()
                        .rev()
                        .for_each(|title| collect_frames(title, by_title, all, by_type, responses));
                }
            }
        }
    }
}

/// The member that names the kind of a frame.
pub const TYPE: &str = "type";

struct Compiler<'a> {
    from: Base,
    to: Base,
    by_title: &'a HashMap<&'static str, DefId>,
}

impl Compiler<'_> {
    fn def(&self, def: Def) -> DefPlan {
        if !def.is_in(self.to) {
            return DefPlan::Absent;
        }
        if let Some(allowed) = def.values(self.to) {
            let table = bridges().values.get(def.title);
            let instead = table.into_iter().flatten();
            let instead = instead.filter(|(_, to)| allowed.contains(&to.as_str()));
            return DefPlan::Values {
                instead: instead.map(|(from, to)| (from.as_str(), to.as_str())).collect(),
                allowed,
            };
        }
        if let Some((tag, branches)) = def.branches() {
            let table = bridges().branches.get(def.title).into_iter().flatten();
            let branches =
                branches.into_iter().filter_map(|(value, title)| Some((value, *self.by_title.get(title)?)));
            return DefPlan::Tagged {
                tag,
                branches: branches.collect(),
                instead: table.map(|(value, branch)| (value.as_str(), branch)).collect(),
            };
        }
        if def.is_object() {
            let members = def.properties().filter(|it| it.is_in(self.to)).map(|it| self.member(def, it));
            return DefPlan::Object { members: members.collect(), keeps_unknown: def.keeps_unknown() };
        }
        match def.alternatives() {
            [] => DefPlan::Same,
            alternatives => DefPlan::Either(alternatives.iter().map(|it| self.node(it)).collect()),
        }
    }

    fn member(&self, def: Def, property: Property) -> MemberPlan {
        let bridge = bridges().members.get(&format!("{}.{}", def.title, property.name));
        let former = renamed(self.to, self.from, property.name);
        let mut others: Vec<&'static str> = (former != property.name).then_some(former).into_iter().collect();
        others.extend(bridge.and_then(|it| it.from.as_deref()));
        let is_there = |name: &str| {
            def.is_in(self.from) && def.properties().any(|it| it.name == name && it.is_in(self.from))
        };
        let source = match bridge {
            Some(it) if it.computed.is_some() => it.computed.map_or(Source::Nowhere, Source::Computed),
            Some(it) => it.default.clone().map_or(Source::Nowhere, Source::Fixed),
            None => property.schema.get("const").cloned().map_or(Source::Nowhere, Source::Fixed),
        };
        let (given, wanted) = (property.schema_in(self.from), property.schema_in(self.to));
        MemberPlan {
            name: property.name,
            is_given: is_there(property.name) || others.iter().any(|name| is_there(name)),
            node: if given == wanted { self.node(wanted) } else { self.retyped(given, wanted) },
            is_required: property.is_required_in(self.to),
            is_replaced: bridge.is_some_and(|it| it.always),
            source,
            others,
            why: bridge.and_then(|it| it.why.as_deref()).unwrap_or_default(),
        }
    }

    /// How a value goes whose type differs between the dialects.
    fn retyped(&self, given: &'static Value, wanted: &'static Value) -> Node {
        let is = |schema: &Value, name: &str| schema.get("type").is_some_and(|it| it == name);
        match () {
            () if is(given, "string") && is(wanted, "array") => Node::Texts,
            () if is(given, "array") && is(wanted, "string") => Node::Text,
            () if title_of(wanted).is_some() && is(given, "number") => Node::Whole,
            () => self.node(wanted),
        }
    }

    fn node(&self, schema: &'static Value) -> Node {
        if let Some(id) = title_of(schema).and_then(|title| self.by_title.get(title)) {
            return Node::Def(*id);
        }
        if let Some(items) = schema.get("items") {
            return Node::List(Box::new(self.node(items)));
        }
        match schema.get("oneOf").and_then(Value::as_array) {
            Some(alternatives) => Node::Either(alternatives.iter().map(|it| self.node(it)).collect()),
            None => Node::Same,
        }
    }

    /// Whether values of the def go as they are, if those of the defs in `same` do.
    fn is_same(&self, def: Def, plan: &DefPlan, same: &[bool]) -> bool {
        match plan {
            DefPlan::Same => true,
            DefPlan::Absent => false,
            DefPlan::Values { allowed, .. } => {
                def.values(self.from).unwrap_or_default().iter().all(|value| allowed.contains(value))
            }
            DefPlan::Tagged { branches, .. } => {
                let may_come = |id: &&DefId| defs().nth(**id).is_some_and(|branch| branch.is_in(self.from));
                branches.values().filter(may_come).all(|id| same[*id])
            }
            DefPlan::Either(nodes) => nodes.iter().all(|node| is_same(node, same)),
            DefPlan::Object { members, .. } => {
                let foreign = |it: &Property| it.is_in(self.from) && !it.is_in(self.to);
                let required =
                    |name: &str| def.properties().any(|it| it.name == name && it.is_required_in(self.from));
                let carried = |member: &MemberPlan| {
                    !member.is_replaced
                        && is_same(&member.node, same)
                        && (!member.is_required || required(member.name))
                };
                !def.properties().any(|it| foreign(&it)) && members.iter().all(carried)
            }
        }
    }
}

fn is_same(node: &Node, same: &[bool]) -> bool {
    match node {
        Node::Same => true,
        Node::Def(id) => same[*id],
        Node::List(items) => is_same(items, same),
        Node::Either(nodes) => nodes.iter().all(|node| is_same(node, same)),
        Node::Whole | Node::Texts | Node::Text => false,
    }
}
