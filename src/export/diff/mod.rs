//! What differs between two dialects, or two versions of one, and whom it breaks.
//!
//! A is what there was, B what there is. **A client breaks** that was written for A and meets a server of B: it is told
//! what it cannot read, or asks for what is refused. **A server breaks** that was written for A and meets a client of B.
//! What both sides must pass over breaks neither: members that nobody knows, and types of events that nobody knows.

mod behaviour;
mod directions;
mod frames;

use serde::Serialize;
use serde_json::Value;

/// One thing that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// Where: a def and a member, or a path of the meta file.
    pub at: String,
    /// What, in words.
    pub what: String,
    /// Clients of A do not do with servers of B.
    pub breaks_client: bool,
    /// Servers of A do not do with clients of B.
    pub breaks_server: bool,
    /// It is a command, or a frame of extensions, that servers have to learn; who does not send it notices nothing.
    pub is_new_command: bool,
}

impl Difference {
    /// Whether it is about a frame as a whole.
    pub fn is_of_frame(&self) -> bool {
        ["commands ", "events ", "dialogs "].iter().any(|list| self.at.starts_with(list))
    }
}

/// What a version becomes by some differences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bump {
    /// Nothing differs.
    None,
    /// Only words differ.
    Patch,
    /// What was right stays right.
    Minor,
    /// A client or a server breaks.
    Major,
}

impl Bump {
    /// In words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "no change",
            Self::Patch => "a patch: only words differ",
            Self::Minor => "a minor change",
            Self::Major => "a major change",
        }
    }
}

/// What differs between two exported files, both of `--format json-schema` or both of `--format meta`.
///
/// # Errors
///
/// Where they are not two files of one of these formats, or of different parts of the protocol.
pub fn diff(a: &Value, b: &Value) -> Result<Vec<Difference>, String> {
    let both = |key: &str| a.get(key).is_some() && b.get(key).is_some();
    if both("$defs") {
        frames::differences(a, b)
    } else if both("commands") {
        Ok(behaviour::differences(a, b))
    } else {
        Err("two files of --format json-schema were expected, or two of --format meta".to_owned())
    }
}

/// What the version of `a` becomes when `b` is published in its place.
pub fn bump(a: &Value, b: &Value) -> Result<Bump, String> {
    let found = diff(a, b)?;
    let breaks = |it: &Difference| it.breaks_client || it.breaks_server && !it.is_new_command;
    Ok(match found.iter().any(breaks) {
        true => Bump::Major,
        false if !found.is_empty() => Bump::Minor,
        false if without_id(a) != without_id(b) => Bump::Patch,
        false => Bump::None,
    })
}

fn without_id(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(map) = schema.as_object_mut() {
        map.remove("$id");
    }
    schema
}
