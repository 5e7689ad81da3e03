//! What one dialect asks beyond the union types, and which properties it does not know.

use super::{Base, RequestId};
use serde_json::Value;

/// Checks a value against one dialect: presence, values and branches. Generated for every type.
pub trait Check {
    /// The first thing that the dialect's schema would refuse.
    fn check(&self, base: Base) -> Result<(), Fault>;
    /// Drops the fields that dialects built on `base` do not have, so that whoever fills in a frame need not know.
    fn fit(&mut self, base: Base);
}

/// Where a value leaves its dialect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    path: String,
    text: String,
}

impl Fault {
    pub(super) fn missing(field: &str) -> Self {
        Self { path: String::new(), text: format!("missing field `{field}`") }
    }

    pub(super) fn foreign(value: &str) -> Self {
        Self { path: String::new(), text: format!("`{value}` does not exist in this dialect") }
    }

    /// Whether the frame as a whole is of a type that only other dialects have.
    pub fn is_foreign_type(&self, kind: &str) -> bool {
        *self == Self::foreign(kind)
    }

    pub(super) fn not_a_string(field: &str) -> Self {
        Self { path: field.to_owned(), text: "expected a string".to_owned() }
    }

    pub(super) fn within(mut self, field: &str) -> Self {
        let joint = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{field}{joint}{}", self.path);
        self
    }

    fn at(mut self, index: usize) -> Self {
        let joint = if self.path.is_empty() { "" } else { "." };
        self.path = format!("[{index}]{joint}{}", self.path);
        self
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.path.is_empty() {
            true => f.write_str(&self.text),
            false => write!(f, "`{}`: {}", self.path, self.text),
        }
    }
}

impl<T: Check> Check for Option<T> {
    fn check(&self, base: Base) -> Result<(), Fault> {
        self.as_ref().map_or(Ok(()), |inner| inner.check(base))
    }
    fn fit(&mut self, base: Base) {
        if let Some(inner) = self {
            inner.fit(base);
        }
    }
}

impl<T: Check> Check for Vec<T> {
    fn check(&self, base: Base) -> Result<(), Fault> {
        self.iter()
            .enumerate()
            .try_for_each(|(index, inner)| inner.check(base).map_err(|fault| fault.at(index)))
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
    /// An object; properties that are in every dialect and hold nothing of interest are left out.
    Object(&'static [Property]),
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
    /// What it, or each of its elements, is made of.
    pub inner: Option<&'static Shape>,
}

/// Removes the properties that the dialect does not know, as its schema would not look at them, and puts tags first.
/// With `null_is_absent` it removes optional properties that are `null`, too.
pub fn prune(value: &mut Value, shape: &Shape, base: Base, null_is_absent: bool) {
    let prune = |value: &mut Value, shape: &Shape| prune(value, shape, base, null_is_absent);
    match (value, shape) {
        (Value::Array(items), shape) => items.iter_mut().for_each(|item| prune(item, shape)),
        (Value::Object(map), Shape::Object(properties)) => {
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
