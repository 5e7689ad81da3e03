//! Finds out the dialect of a server by commands that change nothing and that only some dialects have.

use crate::front::Output;
use pi_rpc_protocol::{Base, Dialect, DialectReady, Outbound, RpcCommandKind, errors, read};
use serde_json::{Value, json};

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
        match command.and_then(|kind| self.open.iter().position(|it| *it == kind)) {
            Some(at) => {
                let kind = self.open.remove(at);
                let is_unknown = |base: &Base| {
                    frame
                        .get("error")
                        .is_some_and(|text| *text == errors::unknown_command(*base, kind.as_str()))
                };
                self.keep(|base| kind.is_in(*base) != is_unknown(base));
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

/// As few reading commands as tell apart what reading commands can.
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
    chosen
}
