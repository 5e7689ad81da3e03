//! Compares two dialects, or two versions of one, and decides which side each difference breaks.
//!
//! A is the old one, B the new one. A difference **breaks clients** if one written for A fails with a server of B: it gets
//! frames that it cannot read, or its commands are refused. It **breaks servers** if one written for A fails with a client of
//! B. Unknown members and unknown types of events break neither, as both sides must ignore them.
//!
//! `frames` compares exported schemas, `behaviour` meta files; `directions` knows which side writes a definition.

pub mod behaviour;
pub mod directions;
mod frames;

use serde::Serialize;
use serde_json::Value;

/// A difference.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// Its place: definition and member, or a path in the meta file.
    pub at: String,
    /// Its description.
    pub what: String,
    /// Whether clients of A fail with servers of B.
    pub breaks_client: bool,
    /// Whether servers of A fail with clients of B.
    pub breaks_server: bool,
    /// Whether it is a new command or frame of extensions, which only affects clients that send it.
    pub is_new_command: bool,
    /// What happened to what is called `name`.
    #[serde(skip)]
    pub kind: Kind,
    /// Member, branch or value that the difference is about; empty if it is about the place itself.
    #[serde(skip)]
    pub name: String,
}

/// What happened to a member, a branch of a union or a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A member that is gone.
    MemberGone,
    /// A member that may be absent now.
    MemberOptional,
    /// A member that has to be there now.
    MemberRequired,
    /// A member that is new.
    MemberNew,
    /// A branch of a union that is gone.
    BranchGone,
    /// A branch of a union that is new.
    BranchNew,
    /// A value or a type that is no longer valid.
    ValueGone,
    /// A value or a type that is valid now.
    ValueNew,
    /// Anything else.
    #[default]
    Other,
}

impl Difference {
    /// Whether it concerns a whole frame.
    pub fn is_of_frame(&self) -> bool {
        ["commands ", "events ", "dialogs "].iter().any(|list| self.at.starts_with(list))
    }
}

/// The change of a version number that differences require.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bump {
    /// Nothing differs.
    None,
    /// Only words differ.
    Patch,
    /// Nothing breaks.
    Minor,
    /// Clients or servers break.
    Major,
}

impl Bump {
    /// The change in words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "no change",
            Self::Patch => "a patch: only words differ",
            Self::Minor => "a minor change",
            Self::Major => "a major change",
        }
    }
}

/// The differences of two exported files, both of `--format json-schema` or both of `--format meta`.
///
/// # Errors
///
/// The files have other formats, or are of different parts of the protocol.
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

/// The change of the version number that `b` requires after `a`.
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
