//! Finds, compares and replaces the ids of commands and responses, and leaves the rest of a frame as it is.

use pi_rpc_protocol::{HostResponseKind, RequestId};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{MapAccess, Visitor},
    ser::SerializeMap,
};
use serde_json::{Value, value::RawValue};
use std::{borrow::Cow, fmt};

/// A line of the host that has a response.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub command: String,
    pub id: Option<RequestId>,
}

impl Request {
    pub fn matches(&self, command: &str, id: Option<&RequestId>) -> bool {
        self.command == command && self.id.as_ref() == id
    }
}

/// Parses a line of the host as a request, if it is one.
pub fn request(line: &[u8]) -> Option<Request> {
    let head: Head = serde_json::from_slice(line).ok()?;
    let command = head.kind.filter(|kind| HostResponseKind::parse(kind).is_none())?;
    Some(Request { command, id: head.id })
}

/// The command and the id of a response; `None` for other frames.
pub fn id_of(line: &[u8]) -> Option<(String, Option<RequestId>)> {
    let head: Head = serde_json::from_slice(line).ok()?;
    (head.kind.as_deref() == Some("response")).then_some((head.command?, head.id))
}

/// The type of a frame.
pub fn kind_of(line: &[u8]) -> Option<String> {
    serde_json::from_slice::<Head>(line).ok()?.kind
}

/// The members that identify a line; members of a wrong type count as absent.
#[derive(Deserialize)]
struct Head {
    #[serde(rename = "type", default, deserialize_with = "lenient")]
    kind: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    command: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    id: Option<RequestId>,
}

fn lenient<'de, D: Deserializer<'de>, T: for<'a> Deserialize<'a>>(from: D) -> Result<Option<T>, D::Error> {
    Value::deserialize(from).map(|value| T::deserialize(&value).ok())
}

/// The shape of a line of the host, for comparison: all members except its id and timestamp. `None` if it is not a JSON
/// object.
pub fn shape(line: &[u8]) -> Option<Value> {
    let mut value: Value = serde_json::from_slice(line).ok()?;
    let members = value.as_object_mut()?;
    // The `id` of a response is that of the outbound frame that it belongs to.
    let responds = members.get("type").and_then(Value::as_str).and_then(HostResponseKind::parse).is_some();
    members.retain(|name, value| !(value.is_null() || name == "timestamp" || name == "id" && !responds));
    Some(value)
}

/// Replaces the id of a frame, or inserts it at the front; `None` removes the id.
pub fn with_id(line: &[u8], id: Option<&RequestId>) -> Vec<u8> {
    let Ok(Members(mut members)) = serde_json::from_slice::<Members<'_>>(line) else { return line.to_vec() };
    let own = id.and_then(|id| serde_json::value::to_raw_value(id).ok());
    let at = members.iter().position(|(name, _)| name == "id");
    match (at, &own) {
        (Some(at), Some(own)) => {
            if let Some(member) = members.get_mut(at) {
                member.1 = own;
            }
        }
        (Some(at), None) => drop(members.remove(at)),
        (None, Some(own)) => members.insert(0, (Cow::Borrowed("id"), own)),
        (None, None) => return line.to_vec(),
    }
    serde_json::to_vec(&Members(members)).unwrap_or_else(|_| line.to_vec())
}

/// The members of an object, with the original text of each value.
struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some((name, value)) = map.next_entry::<String, &'de RawValue>()? {
            members.push((Cow::Owned(name), value));
        }
        Ok(Members(members))
    }
}

impl Serialize for Members<'_> {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}
