//! A server that misbehaves on purpose: it runs another one and changes its output.
//!
//! ```text
//! spoil '[{"twice": "out turn_start"}]' pi-rpc --mode rpc
//! ```
//!
//! The first argument is a list of changes, in the language of `tests/oracle/mutants.json` as far as it fits a stream:
//! `drop`, `twice`, `set`, `insert` and `break`, and `move` to behind what comes later; places are counted from the
//! first. `{"set": ["meta exit", "/code", 1]}` is another exit status.

#[path = "../crates/oracle/tests/oracle/mutation_support/ops.rs"]
#[expect(dead_code, reason = "recordings are spoilt as a whole, streams as they come")]
mod ops;

use ops::{Op, half, is_named, set};
use serde_json::{Value, json};
use std::{
    env,
    io::{self, BufRead as _, BufReader, Write as _},
    process::{Command, ExitCode, Stdio},
};
use tokio::signal::unix::{SignalKind, signal};

fn main() -> io::Result<ExitCode> {
    let mut arguments = env::args_os().skip(1);
    let ops = arguments.next().and_then(|ops| ops.into_string().ok()).unwrap_or_default();
    let mut changes: Vec<Change> =
        serde_json::from_str::<Vec<Op>>(&ops)?.into_iter().map(Change::new).collect();
    // Signals are for the server, which is in the same group; its remaining output is changed, too.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let _guard = runtime.enter();
    let _heard = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()].map(signal);
    let program = arguments.next().ok_or_else(|| io::Error::other("expected a server"))?;
    let mut server = Command::new(program).args(arguments).stdout(Stdio::piped()).spawn()?;
    let said = server.stdout.take().ok_or_else(|| io::Error::other("no pipe to the server"))?;
    let mut out = io::stdout().lock();
    for line in BufReader::new(said).split(b'\n') {
        let line = line?;
        let said = match serde_json::from_slice::<Value>(&line) {
            Ok(frame) => spoil(&mut changes, json!({ "dir": "out", "frame": frame })),
            Err(_) => vec![Value::String(String::from_utf8_lossy(&line).into_owned())],
        };
        for record in said {
            writeln!(out, "{}", text(&record))?;
        }
        out.flush()?;
    }
    let status = server.wait()?.code().unwrap_or(1);
    let mut exit = json!({ "dir": "meta", "frame": { "event": "exit", "code": status } });
    for change in &mut changes {
        if let Op::Set(_, pointer, value) = &change.op
            && is_named(&exit, &change.place)
        {
            set(&mut exit["frame"], pointer, value);
        }
    }
    let code = exit["frame"]["code"].as_u64().and_then(|code| u8::try_from(code).ok());
    Ok(code.unwrap_or(1).into())
}

/// Output in place of the record.
fn spoil(changes: &mut [Change], record: Value) -> Vec<Value> {
    let mut said = vec![record];
    for change in changes {
        said = said.into_iter().flat_map(|record| change.pass(record)).collect();
    }
    said
}

fn text(record: &Value) -> String {
    match record.get("raw").unwrap_or(record) {
        Value::String(text) => text.clone(),
        record => record["frame"].to_string(),
    }
}

/// One change, with its progress.
struct Change {
    op: Op,
    place: String,
    /// Number of remaining matches before the change.
    left: usize,
    /// Delayed record, and its place.
    held: Option<(Value, String)>,
}

impl Change {
    fn new(op: Op) -> Self {
        let at = match &op {
            Op::Drop(at) | Op::Twice(at) | Op::Break(at) | Op::Move(at, _) => at,
            Op::Set(at, ..) | Op::Insert(at, _) => at,
            Op::Swap(..) | Op::End(_) | Op::Later(..) => panic!("no change of a stream: {op:?}"),
        };
        let (place, nth) = at.split_once('#').unwrap_or((at, "1"));
        Self { place: place.to_owned(), left: nth.parse().expect("a number"), held: None, op }
    }

    fn pass(&mut self, mut record: Value) -> Vec<Value> {
        if let Some((held, behind)) = self.held.take() {
            if is_named(&record, &behind) {
                return vec![record, held];
            }
            self.held = Some((held, behind));
        }
        if !is_named(&record, &self.place) {
            return vec![record];
        }
        self.left = self.left.wrapping_sub(1);
        if self.left != 0 {
            return vec![record];
        }
        match &self.op {
            Op::Drop(_) => Vec::new(),
            Op::Twice(_) => vec![record.clone(), record],
            Op::Break(_) => vec![half(&record)],
            Op::Set(_, pointer, value) => {
                set(&mut record["frame"], pointer, value);
                vec![record]
            }
            Op::Insert(_, more) => vec![record, more.clone()],
            Op::Move(_, behind) => {
                self.held = Some((record, behind.clone()));
                Vec::new()
            }
            Op::Swap(..) | Op::End(_) | Op::Later(..) => vec![record],
        }
    }
}
