//! Finds out the dialect of a server by commands that change nothing: those that only some dialects have, and those whose answers have
//! members that only some have.

use crate::{
    front::Output,
    plan::TYPE,
    schema::{Def, defs, title_of},
};
use pi_rpc_protocol::{Base, Dialect, DialectReady, Outbound, RpcCommandKind, errors, read};
use serde_json::{Map, Value, json};

/// A server whose dialect is not known yet.
#[derive(Debug)]
pub struct Detection {
    candidates: Vec<Base>,
    /// Commands that are not answered.
    open: Vec<RpcCommandKind>,
    /// Lines that are no answers, in order.
    lines: Vec<Vec<u8>>,
}

impl Default for Detection {
    fn default() -> Self {
        Self::new()
    }
}

impl Detection {
    /// Any dialect is possible.
    pub fn new() -> Self {
        Self { candidates: Base::ALL.to_vec(), open: questions(), lines: Vec::new() }
    }

    /// Writes the commands.
    pub fn start(&self, out: &mut Output) {
        for kind in &self.open {
            let command = json!({ "id": format!("{ID}{kind}"), "type": kind.as_str() });
            out.to_server.extend(command.to_string().into_bytes());
            out.to_server.push(b'\n');
        }
    }

    /// Takes a line of the server. Returns its dialect, once it is known.
    pub fn server_line(&mut self, line: &[u8]) -> Option<Dialect> {
        let frame: Value = serde_json::from_slice(line).unwrap_or_default();
        let command = frame.get("command").and_then(Value::as_str).and_then(RpcCommandKind::parse);
        // The client may have asked the same. Servers that do not know a command need not repeat its id.
        let is_own = |kind: &RpcCommandKind| match frame.get("id").and_then(Value::as_str) {
            Some(id) => id == format!("{ID}{kind}"),
            None => frame.get("success") == Some(&Value::Bool(false)),
        };
        match command.filter(is_own).and_then(|kind| self.open.iter().position(|it| *it == kind)) {
            Some(at) => {
                let kind = self.open.remove(at);
                let is_unknown = |base: &Base| {
                    frame
                        .get("error")
                        .is_some_and(|text| *text == errors::unknown_command(*base, kind.as_str()))
                };
                self.keep(|base| kind.is_in(*base) != is_unknown(base));
                if let Some(data) = frame.get("data").and_then(Value::as_object) {
                    self.keep(|base| has_members(kind, data, *base));
                }
            }
            None => {
                self.lines.push(line.to_vec());
                let greets = |base: &Base| base.record().ready != DialectReady::None;
                let reads = |base: &Base| {
                    Dialect::parse(base.as_str())
                        .is_some_and(|dialect| read::<Outbound>(line, dialect).is_ok())
                };
                if self.lines.len() == 1 && frame.get("type").is_some_and(|it| it == "ready") {
                    self.keep(|base| greets(base) && reads(base));
                }
            }
        }
        if self.open.is_empty() {
            self.candidates.first().and_then(|base| Dialect::parse(base.as_str()))
        } else {
            None
        }
    }

    /// The lines that were no answers, for the translator.
    pub fn into_lines(self) -> Vec<Vec<u8>> {
        self.lines
    }

    /// Keeps the dialects that fit, unless none does.
    fn keep(&mut self, fits: impl Fn(&Base) -> bool) {
        if self.candidates.iter().any(&fits) {
            self.candidates.retain(fits);
        }
    }
}

/// Beginning of the ids of the commands.
const ID: &str = "pi-rpc-front-";

/// The def of what the command is answered with.
fn answer(kind: RpcCommandKind) -> Option<Def> {
    let is_it =
        |def: &Def| def.constant(TYPE) == Some("response") && def.constant("command") == Some(kind.as_str());
    let data = defs().find(is_it)?.properties().find(|property| property.name == "data")?;
    let title = title_of(data.schema)?;
    defs().find(|def| def.title == title)
}

/// Whether the dialect has every member of an answer that any dialect has.
fn has_members(kind: RpcCommandKind, data: &Map<String, Value>, base: Base) -> bool {
    let given = answer(kind).into_iter().flat_map(Def::properties);
    given.filter(|property| data.contains_key(property.name)).all(|property| property.is_in(base))
}

/// Whether answers to the command may have a member that not all of these dialects have.
fn tells_apart(kind: RpcCommandKind, class: &[Base]) -> bool {
    let is_in_some = |count: usize| count > 0 && count < class.len();
    class.iter().all(|base| kind.is_in(*base))
        && answer(kind)
            .into_iter()
            .flat_map(Def::properties)
            .any(|property| is_in_some(class.iter().filter(|base| property.is_in(**base)).count()))
}

/// As few reading commands as tell apart what reading commands and the members of their answers can.
fn questions() -> Vec<RpcCommandKind> {
    let mut classes = vec![Base::ALL.to_vec()];
    let mut chosen = Vec::new();
    for kind in RpcCommandKind::ALL.into_iter().filter(|kind| kind.is_read()) {
        let parts: Vec<Vec<Base>> = classes
            .iter()
            .flat_map(|class| {
                let (with, without): (Vec<Base>, Vec<Base>) =
                    class.iter().partition(|base| kind.is_in(**base));
                [with, without].into_iter().filter(|part| !part.is_empty())
            })
            .collect();
        if parts.len() > classes.len() {
            chosen.push(kind);
            classes = parts;
        }
    }
    for class in classes.iter().filter(|class| class.len() > 1) {
        if !chosen.iter().any(|kind| tells_apart(*kind, class)) {
            let mut reading = RpcCommandKind::ALL.into_iter().filter(|kind| kind.is_read());
            chosen.extend(reading.find(|kind| tells_apart(*kind, class)));
        }
    }
    chosen
}
