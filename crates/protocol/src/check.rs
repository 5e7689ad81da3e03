//! What one dialect asks beyond the union types, and which properties it does not know.

use super::{
    Base, RequestId, Version,
    fault::{Faults, missing_fields},
};
use serde_json::Value;

/// Checks a value against one dialect: presence, values and branches. Generated for every type.
pub trait Check {
    /// Notes everything that the dialect's schema would refuse, and what tells the version of who wrote it.
    fn check(&self, base: Base, faults: &mut Faults);
    /// Drops the fields that dialects built on `base` do not have, so that whoever fills in a frame need not know.
    fn fit(&mut self, base: Base);
    /// Whether the dialect's schema refuses it.
    fn is_refused(&self, base: Base) -> bool {
        let mut faults = Faults::default();
        self.check(base, &mut faults);
        faults.require_until(None);
        !faults.is_empty()
    }
}

impl<T: Check> Check for Option<T> {
    fn check(&self, base: Base, faults: &mut Faults) {
        if let Some(inner) = self {
            inner.check(base, faults);
        }
    }
    fn fit(&mut self, base: Base) {
        if let Some(inner) = self {
            inner.fit(base);
        }
    }
}

impl<T: Check> Check for Vec<T> {
    fn check(&self, base: Base, faults: &mut Faults) {
        for (index, inner) in self.iter().enumerate() {
            let mark = faults.mark();
            inner.check(base, faults);
            faults.at(mark, index);
        }
    }
    fn fit(&mut self, base: Base) {
        self.iter_mut().for_each(|inner| inner.fit(base));
    }
}

/// A frame that [`super::read`] can read.
pub trait Root: Check + Sized + for<'de> serde::Deserialize<'de> + HasId {
    /// Which properties its dialects know.
    const SHAPE: &'static Shape;
    /// `null` in an optional property means the same as its absence, at every depth.
    const NULL_IS_ABSENT: bool;
}

/// The request id that a frame carries, if it is of a kind that may.
pub trait HasId {
    /// As given.
    fn request_id(&self) -> Option<&RequestId>;
    /// Whether properties of other dialects, or ones that are `null`, may have changed what was read.
    fn is_provisional(&self) -> bool {
        false
    }
}

impl HasId for super::Inbound {
    fn request_id(&self) -> Option<&RequestId> {
        match self {
            Self::Command(command) => command.id(),
            _ => None,
        }
    }
    fn is_provisional(&self) -> bool {
        let has_null = |result: &super::AgentToolResult| result.details == Some(Value::Null);
        match self {
            Self::ExtensionUIResponse(_) => true,
            Self::HostToolUpdate(it) => has_null(&it.partial_result),
            Self::HostToolResult(it) => has_null(&it.result),
            Self::Command(_) => false,
        }
    }
}

impl HasId for super::Outbound {
    fn request_id(&self) -> Option<&RequestId> {
        match self {
            Self::Response(super::RpcResponse::Success(response)) => response.id(),
            Self::Response(super::RpcResponse::ErrorResponse(response)) => response.id.as_ref(),
            _ => None,
        }
    }
}

impl HasId for super::ToExtension {
    fn request_id(&self) -> Option<&RequestId> {
        None
    }
    fn is_provisional(&self) -> bool {
        matches!(self, Self::UiAnswer(_))
    }
}

impl HasId for super::FromExtension {
    fn request_id(&self) -> Option<&RequestId> {
        None
    }
}

/// How a type is built, as far as dialects matter.
pub enum Shape {
    /// An object; properties that are in every dialect and hold nothing of interest are left out. Of those, the second
    /// list names the required ones.
    Object(&'static [Property], &'static [&'static str]),
    /// A union by tag.
    Tagged(&'static str, &'static [(&'static str, &'static Self)]),
    /// A union by shape.
    Any(&'static [&'static Self]),
}

/// One property of a [`Shape::Object`].
pub struct Property {
    /// The wire's name.
    pub name: &'static str,
    /// The dialects that have it; `None`: all.
    pub only: Option<&'static [Base]>,
    /// The dialects that require it.
    pub required_in: &'static [Base],
    /// The version that brought it, if it came later.
    pub since: Option<Version>,
    /// What it, or each of its elements, is made of.
    pub inner: Option<&'static Shape>,
}

/// Removes the properties that the dialect does not know, as its schema would not look at them, and puts tags first.
/// With `null_is_absent` it removes optional properties that are `null`, too.
pub fn prune(value: &mut Value, shape: &Shape, base: Base, null_is_absent: bool) {
    let prune = |value: &mut Value, shape: &Shape| prune(value, shape, base, null_is_absent);
    match (value, shape) {
        (Value::Array(items), shape) => items.iter_mut().for_each(|item| prune(item, shape)),
        (Value::Object(map), Shape::Object(properties, _)) => {
            for property in *properties {
                let is_foreign = property.only.is_some_and(|only| !base.is_in(only));
                let may_be_null = null_is_absent && !base.is_in(property.required_in);
                match map.get_mut(property.name) {
                    Some(value) if is_foreign || (may_be_null && value.is_null()) => {
                        map.shift_remove(property.name);
                    }
                    Some(value) => property.inner.into_iter().for_each(|inner| prune(value, inner)),
                    None => {}
                }
            }
        }
        (Value::Object(map), Shape::Tagged(tag, branches)) => {
            let name = match map.get(*tag) {
                Some(Value::String(text)) => text.clone(),
                Some(Value::Bool(flag)) => flag.to_string(),
                _ => return,
            };
            // With the tag in front the branch is read as it is found, and errors name the whole path.
            if let Some(value) = map.shift_remove(*tag) {
                map.shift_insert(0, (*tag).to_owned(), value);
            }
            if let Some((_, shape)) = branches.iter().find(|(value, _)| *value == name) {
                let mut own = Value::Object(std::mem::take(map));
                prune(&mut own, shape);
                if let Value::Object(own) = own {
                    *map = own;
                }
            }
        }
        (value @ Value::Object(_), Shape::Any(shapes)) => {
            shapes.iter().for_each(|shape| prune(value, shape));
        }
        _ => {}
    }
}

/// The required members that `value` lacks at any depth, in words; none where it lacks none. Those that came later than
/// `version` are not asked for, and where it is not known none that came later.
pub fn missing_members(value: &Value, shape: &Shape, base: Base, version: Option<Version>) -> Vec<String> {
    let mut found = Vec::new();
    collect_missing(value, shape, base, version, "", &mut found);
    found
}

fn collect_missing(
    value: &Value,
    shape: &Shape,
    base: Base,
    version: Option<Version>,
    path: &str,
    found: &mut Vec<String>,
) {
    match (value, shape) {
        (Value::Array(items), shape) => {
            for (index, item) in items.iter().enumerate() {
                collect_missing(item, shape, base, version, &format!("{path}[{index}]"), found);
            }
        }
        (Value::Object(map), Shape::Object(properties, required)) => {
            let asked = |property: &&Property| {
                let came = property.since.is_none_or(|since| version.is_some_and(|version| since <= version));
                base.is_in(property.required_in) && property.only.is_none_or(|only| base.is_in(only)) && came
            };
            let others = properties.iter().filter(asked).map(|property| property.name);
            let names: Vec<&str> =
                required.iter().copied().chain(others).filter(|name| !map.contains_key(*name)).collect();
            if !names.is_empty() {
                found.push(missing_fields(path, &names));
            }
            for property in *properties {
                if let (Some(value), Some(inner)) = (map.get(property.name), property.inner) {
                    let joint = if path.is_empty() { "" } else { "." };
                    collect_missing(
                        value,
                        inner,
                        base,
                        version,
                        &format!("{path}{joint}{}", property.name),
                        found,
                    );
                }
            }
        }
        (Value::Object(map), Shape::Tagged(tag, branches)) => {
            let name = match map.get(*tag) {
                Some(Value::String(text)) => text.clone(),
                Some(Value::Bool(flag)) => flag.to_string(),
                _ => return,
            };
            if let Some((_, shape)) = branches.iter().find(|(value, _)| *value == name) {
                collect_missing(value, shape, base, version, path, found);
            }
        }
        // Which branch was meant, nobody knows.
        _ => {}
    }
}
