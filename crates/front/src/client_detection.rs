//! Finds out the dialect of a client by its commands: those that only some dialects have, members that only some have, and whether the
//! first one waits for the greeting of the server.

use crate::{
    plan::TYPE,
    schema::{Def, defs},
};
use pi_rpc_protocol::{Base, Dialect, DialectReady, RpcCommandKind, read_line};
use serde_json::{Map, Value};

/// A client whose dialect is not known yet.
#[derive(Debug)]
pub struct ClientDetection {
    candidates: Vec<Base>,
    /// Whether its first command has come before the server wrote anything.
    spoke_first: bool,
}

impl Default for ClientDetection {
    fn default() -> Self {
        Self::new()
    }
}

impl ClientDetection {
    /// Any dialect is possible.
    pub fn new() -> Self {
        Self { candidates: Base::ALL.to_vec(), spoke_first: false }
    }

    /// Notes that the client gives commands before the server has written anything. One whose server greets waits for that.
    pub const fn speaks_first(&mut self) {
        self.spoke_first = true;
    }

    /// Takes a line of the client. Returns the name of the command, if it leaves out dialects that were possible before.
    pub fn client_line(&mut self, line: &[u8]) -> Option<&'static str> {
        let frame: Map<String, Value> = serde_json::from_slice(line).ok()?;
        let kind = frame.get(TYPE).and_then(Value::as_str).and_then(RpcCommandKind::parse)?;
        let def = defs().find(|def| def.constant(TYPE) == Some(kind.as_str()))?;
        let before = self.candidates.len();
        let fits = |base: &Base| kind.is_in(*base) && has_members(def, &frame, *base) && reads(line, *base);
        if self.candidates.iter().any(fits) {
            self.candidates.retain(fits);
        }
        (self.candidates.len() < before).then_some(kind.as_str())
    }

    /// Whether nothing has shown yet which dialect the client speaks.
    pub fn is_open(&self) -> bool {
        self.candidates.len() == Base::ALL.len()
    }

    /// Whether the client may speak the dialect.
    pub fn may_be(&self, dialect: Dialect) -> bool {
        self.candidates.contains(&dialect.base())
    }

    /// The likeliest dialect: of those that are left, one whose client would have begun as this one did, and that a program speaks today.
    pub fn likeliest(&self) -> Option<Dialect> {
        let begins_so = |dialect: &Dialect| !self.spoke_first || dialect.record().ready == DialectReady::None;
        let is_spoken = |dialect: &Dialect| !dialect.record().started_as.is_empty();
        let left = self.candidates.iter().filter_map(|base| Dialect::parse(base.as_str()));
        // Of equals, the last is taken.
        left.rev().max_by_key(|dialect| (begins_so(dialect), is_spoken(dialect)))
    }
}

/// Whether the dialect has every member of the command that any dialect has.
fn has_members(def: Def, frame: &Map<String, Value>, base: Base) -> bool {
    def.properties().filter(|property| frame.contains_key(property.name)).all(|property| property.is_in(base))
}

fn reads(line: &[u8], base: Base) -> bool {
    Dialect::parse(base.as_str()).is_some_and(|dialect| read_line(line, dialect).is_ok())
}

#[cfg(test)]
mod tests {
    use super::ClientDetection;
    use pi_rpc_protocol::Dialect;

    /// The dialect that commands show; `None`: any is possible.
    fn shown(lines: &[&str]) -> Option<Dialect> {
        let mut detection = ClientDetection::new();
        for line in lines {
            detection.client_line(line.as_bytes());
        }
        if detection.is_open() { None } else { detection.likeliest() }
    }

    #[test]
    fn common_commands_show_nothing() {
        let lines = [
            r#"{"type":"get_state"}"#,
            r#"{"type":"prompt","message":"Hello"}"#,
            "not JSON",
            r#"{"type":"other"}"#,
        ];
        assert_eq!(shown(&lines), None);
    }

    #[test]
    fn commands_of_one_dialect_show_it() {
        assert_eq!(shown(&[r#"{"type":"get_entries"}"#]), Some(Dialect::Pi1));
        assert_eq!(shown(&[r#"{"type":"negotiate_protocol","protocolVersion":2}"#]), Some(Dialect::Omp));
    }

    #[test]
    fn member_of_one_dialect_shows_it() {
        let line = r#"{"type":"bash","command":"ls","excludeFromContext":true}"#;
        assert_eq!(shown(&[r#"{"type":"get_state"}"#, line]), Some(Dialect::Pi1));
    }

    #[test]
    fn client_that_speaks_first_is_ungreeted() {
        let line = r#"{"type":"get_login_providers"}"#;
        assert_eq!(shown(&[line]), Some(Dialect::Omp));
        let mut detection = ClientDetection::new();
        detection.speaks_first();
        detection.client_line(line.as_bytes());
        assert_eq!(detection.likeliest(), Some(Dialect::Pi1Login));
        // Where only dialects with a greeting have the command, the client has one of them nevertheless.
        let mut detection = ClientDetection::new();
        detection.speaks_first();
        detection.client_line(br#"{"type":"negotiate_protocol","protocolVersion":2}"#);
        assert_eq!(detection.likeliest(), Some(Dialect::Omp));
    }

    #[test]
    fn contradiction_changes_nothing() {
        let lines = [
            r#"{"type":"get_entries"}"#,
            r#"{"type":"fork","entryId":"e"}"#,
            r#"{"type":"negotiate_protocol","protocolVersion":2}"#,
        ];
        assert_eq!(shown(&lines), Some(Dialect::Pi1));
    }
}
