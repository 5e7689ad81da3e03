//! Checks of a value against one dialect, in addition to those of its type.
//!
//! The Rust types are the union of all dialects. [`Check`] finds what one dialect refuses in a value, [`Shape`] lists
//! the members that only some dialects have or require, so that [`prune`] can remove foreign ones before a value is
//! read.

use super::{
    Base, RequestId, Version,
    fault::{Faults, missing_fields},
    json::FromJson,
};
use serde_json::Value;

/// Check of a value against one dialect: required members, enumerations and branches of unions. Generated for every
/// type.
pub trait Check {
    /// Adds every fault under the schema of the dialect to `faults`, and the versions that the members in the value
    /// came with.
    fn check(&self, base: Base, faults: &mut Faults);
    /// Removes the members that `base` does not have.
    fn fit(&mut self, base: Base);
    /// Whether the schema of the dialect refuses the value.
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

/// A union of frames that [`super::read`] accepts.
pub trait Root: Check + FromJson + HasId {
    /// Members that only some dialects have or require.
    const SHAPE: &'static Shape;
    /// Whether `null` in an optional member means the same as its absence, at every depth.
    const NULL_IS_ABSENT: bool;
}

/// Access to the request id of a frame.
pub trait HasId {
    /// Request id as given; `None` for frames without one.
    fn request_id(&self) -> Option<&RequestId>;
    /// Whether foreign members, or members that are `null`, may have led to a wrong branch, so that the frame must be
    /// read again.
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
            Self::Command(_) | Self::HostUriResult(_) => false,
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

/// Structure of a type, as far as dialects differ in it.
pub enum Shape {
    /// Object. Members that are in every dialect and contain no differences are omitted from the first list; the second
    /// list has the names of the required ones among them.
    Object(&'static [Property], &'static [&'static str]),
    /// Union decided by a tag: its name, then the branches by value.
    Tagged(&'static str, &'static [(&'static str, &'static Self)]),
    /// Union decided by shape: its branches.
    Any(&'static [&'static Self]),
}

/// Member of a [`Shape::Object`].
pub struct Property {
    /// Name on the wire.
    pub name: &'static str,
    /// Dialects that have the member; `None`: all.
    pub only: Option<&'static [Base]>,
    /// Dialects that require the member.
    pub required_in: &'static [Base],
    /// Version of pi that added the member; `None`: the first.
    pub since: Option<Version>,
    /// Structure of the value, or of each of its elements.
    pub inner: Option<&'static Shape>,
}

/// Removes the members that the dialect does not have, as its schema ignores them, and moves tags to the front.
/// With `null_is_absent`, also removes optional members that are `null`.
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
            // With the tag in front, the branch is read while the object streams by, and errors have the whole path.
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

/// Error texts for the required members that are missing in `value`, at any depth. Members that were added after
/// `version` are not required; without a `version`, no member that was added later is.
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
            let is_required = |property: &&Property| {
                let came = property.since.is_none_or(|since| version.is_some_and(|version| since <= version));
                base.is_in(property.required_in) && property.only.is_none_or(|only| base.is_in(only)) && came
            };
            let others = properties.iter().filter(is_required).map(|property| property.name);
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
        // A union by shape: the intended branch is unknown, so no member counts as missing.
        _ => {}
    }
}
