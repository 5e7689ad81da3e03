//! Carries values from one dialect to another, as a [`Plan`] says.

use crate::{
    account::Account,
    plan::{DefId, DefPlan, MemberPlan, Node, Plan, Source},
};
use serde_json::{Map, Value};

impl Plan {
    /// Carries a value of the def; `None`: the other dialect cannot have it.
    pub fn carry(&self, id: DefId, value: Value, account: &Account) -> Option<Value> {
        match (self.def(id), value) {
            (DefPlan::Same, value) => Some(value),
            (DefPlan::Absent, _) => None,
            (DefPlan::Values { allowed, instead }, Value::String(text)) => match () {
                () if allowed.contains(&text.as_str()) => Some(Value::String(text)),
                () => instead.get(text.as_str()).map(|other| (*other).into()),
            },
            (DefPlan::Tagged { tag, branches, instead }, Value::Object(mut object)) => {
                let value = tag_of(&object, tag)?;
                let absent =
                    |id: Option<&DefId>| id.is_none_or(|id| matches!(self.def(*id), DefPlan::Absent));
                let branch = branches.get(value.as_str());
                let Some(other) = instead.get(value.as_str()).filter(|_| absent(branch)) else {
                    return self.carry(*branch?, Value::Object(object), account);
                };
                object.insert((*tag).to_owned(), other.to.clone().into());
                for (old, new) in &other.renames {
                    if let Some(value) = object.remove(old) {
                        object.insert(new.clone(), value);
                    }
                }
                object.extend(other.set.clone());
                self.carry(*branches.get(other.to.as_str())?, Value::Object(object), account)
            }
            (DefPlan::Object { members, keeps_unknown }, Value::Object(object)) => {
                self.carry_object(members, *keeps_unknown, object, account).map(Value::Object)
            }
            (DefPlan::Either(nodes), value) => self.carry_either(nodes, value, account),
            (DefPlan::Values { .. } | DefPlan::Tagged { .. } | DefPlan::Object { .. }, _) => None,
        }
    }

    fn carry_object(
        &self,
        members: &[MemberPlan],
        keeps_unknown: bool,
        mut object: Map<String, Value>,
        account: &Account,
    ) -> Option<Map<String, Value>> {
        let mut carried = Map::new();
        // What is computed, or has another name, may need members that are taken out of the object below.
        let early: Vec<Option<Value>> =
            members.iter().map(|member| self.early(member, &object, account)).collect();
        for (member, early) in members.iter().zip(early) {
            let own = object.get_mut(member.name).filter(|_| !member.is_replaced);
            let carried_value = match own {
                Some(given) => self.carry_node(&member.node, given.take(), account),
                None => early,
            };
            let value = carried_value.or_else(|| {
                let fixed = fixed(&member.source).filter(|_| member.is_required)?;
                match &member.node {
                    // Members of a fixed object may be computed.
                    Node::Def(id) if fixed.is_object() => self.carry(*id, fixed, account),
                    _ => Some(fixed),
                }
            });
            match value {
                Some(value) => {
                    carried.insert(member.name.to_owned(), value);
                }
                None if member.is_required => return None,
                None => {}
            }
        }
        if keeps_unknown {
            object.retain(|name, _| {
                !members.iter().any(|it| it.name == name || it.others.contains(&name.as_str()))
            });
            carried.extend(object);
        }
        Some(carried)
    }

    /// The value of a member that has another name in the object, or of a required one that is computed: one that is not given, or
    /// that is replaced.
    fn early(&self, member: &MemberPlan, object: &Map<String, Value>, account: &Account) -> Option<Value> {
        let given = object.get(member.name);
        let other = || member.others.iter().find_map(|name| object.get(*name));
        match (given, other()) {
            (Some(_), _) if !member.is_replaced => None,
            (None, Some(other)) if !member.is_replaced => {
                self.carry_node(&member.node, other.clone(), account)
            }
            (given, other) => match &member.source {
                Source::Computed(value) if member.is_required => {
                    account.compute(*value, given.or(other), object)
                }
                _ => None,
            },
        }
    }

    fn carry_node(&self, node: &Node, value: Value, account: &Account) -> Option<Value> {
        match (node, value) {
            (Node::Same, value) => Some(value),
            (Node::Def(id), value) => self.carry(*id, value, account),
            (Node::List(node), Value::Array(items)) => {
                // What the other dialect cannot have is left out of a list.
                let items = items.into_iter().filter_map(|item| self.carry_node(node, item, account));
                Some(Value::Array(items.collect()))
            }
            (Node::List(_), _) => None,
            (Node::Either(nodes), value) => self.carry_either(nodes, value, account),
            (Node::Whole, Value::Number(number)) => {
                number.as_f64().map(|number| Value::from(number.round() as i64))
            }
            (Node::Texts, text @ Value::String(_)) => Some(Value::Array(vec![text])),
            (Node::Text, Value::Array(texts)) => {
                let texts: Vec<&str> = texts.iter().filter_map(Value::as_str).collect();
                Some(Value::String(texts.join("\n\n")))
            }
            (Node::Whole | Node::Texts | Node::Text, _) => None,
        }
    }

    fn carry_either(&self, nodes: &[Node], value: Value, account: &Account) -> Option<Value> {
        match nodes.iter().find(|node| self.fits(node, &value)) {
            Some(node) => self.carry_node(node, value, account),
            None if nodes.iter().any(|node| matches!(node, Node::Same)) => Some(value),
            None => None,
        }
    }

    /// Whether a value can be of a node that stands beside others.
    fn fits(&self, node: &Node, value: &Value) -> bool {
        match (node, value) {
            (Node::List(_), Value::Array(_)) => true,
            (Node::Def(id), value) => match (self.def(*id), value) {
                (DefPlan::Object { members, .. }, Value::Object(object)) => members
                    .iter()
                    .filter(|it| it.is_required && it.is_given)
                    .all(|it| object.contains_key(it.name)),
                (DefPlan::Tagged { tag, .. }, Value::Object(object)) => object.contains_key(*tag),
                (DefPlan::Values { .. }, Value::String(_)) | (DefPlan::Either(_), _) => true,
                // Null is an alternative of its own.
                (DefPlan::Same, value) => !value.is_null(),
                _ => false,
            },
            _ => false,
        }
    }
}

fn fixed(source: &Source) -> Option<Value> {
    match source {
        Source::Fixed(value) => Some(value.clone()),
        Source::Computed(_) | Source::Nowhere => None,
    }
}

/// The tag of an object, as the mapping of its union has it.
fn tag_of(object: &Map<String, Value>, tag: &str) -> Option<String> {
    match object.get(tag)? {
        Value::String(text) => Some(text.clone()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}
