//! `read` accepts a frame if and only if the exported schema of the dialect does, and keeps all members of the dialect.
//!
//! The frames are generated from the exported schema, of every kind in turn; then each is spoiled in one place. The
//! seed is fixed, `PROPTEST_RNG_SEED` and `PROPTEST_CASES` go further.

use crate::frames_common::{Choices, Frames, choices, same};
use pi_rpc_protocol::{Dialect, FromExtension, Inbound, Outbound, ToExtension, read};
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestError, TestRunner, contextualize_config};
use serde_json::{Value, json};
use std::{cell::RefCell, collections::BTreeSet};

/// Reads a frame and writes it again.
type Reader = fn(&[u8], Dialect) -> Result<Value, String>;

/// The [`Reader`] of a type of frames.
macro_rules! reader {
    ($frame:ty) => {
        |bytes, dialect| {
            let frame = read::<$frame>(bytes, dialect).map_err(|error| error.to_string())?;
            serde_json::to_value(frame).map_err(|error| error.to_string())
        }
    };
}

/// Context of one test.
struct Bench {
    dialect: Dialect,
    root: &'static str,
    frames: Frames,
    validator: jsonschema::Validator,
    reader: Reader,
    /// Number of frames of each kind.
    cases: u32,
}

/// Defs that occurred.
#[derive(Default)]
struct Tally {
    seen: BTreeSet<String>,
    accepted: usize,
    refused: usize,
}

impl Bench {
    fn new(dialect: Dialect, root: &'static str, reader: Reader) -> Self {
        let frames = Frames::of(dialect);
        let validator = frames.validator(root);
        Self { dialect, root, frames, validator, reader, cases: 100 }
    }

    /// Runs `cases` for each kind of frame, and checks that every def of the dialect occurred.
    fn run(&self) {
        let leaves = self.frames.leaves(self.root);
        let tally = RefCell::new(Tally::default());
        for leaf in &leaves {
            let config = Config {
                cases: self.cases,
                failure_persistence: None,
                rng_seed: RngSeed::Fixed(20_260_101),
                max_shrink_iters: 20_000,
                ..Config::default()
            };
            let mut runner = TestRunner::new(contextualize_config(config));
            let outcome = runner.run(&choices(), |numbers| {
                let mut choices = Choices::new(&numbers);
                let tally = &mut *tally.borrow_mut();
                let mut frame = self.frames.value(leaf, &mut choices, &mut tally.seen);
                if !self.compare(&frame)? {
                    return Err(TestCaseError::fail(format!("the schema refuses its own {frame}")));
                }
                self.frames.spoil(&mut frame, &leaves, &mut choices);
                if choices.once_in(8) {
                    self.frames.spoil(&mut frame, &leaves, &mut choices);
                }
                match self.compare(&frame)? {
                    true => tally.accepted += 1,
                    false => tally.refused += 1,
                }
                Ok(())
            });
            if let Err(TestError::Fail(reason, _) | TestError::Abort(reason)) = outcome {
                panic!("{} {leaf}: {reason}", self.dialect);
            }
        }
        let Tally { seen, accepted, refused } = tally.into_inner();
        let kinds: BTreeSet<String> = leaves.into_iter().collect();
        let unseen: Vec<_> = self.inner_defs(&kinds).difference(&seen).cloned().collect();
        assert_eq!(unseen, Vec::<String>::new(), "never generated");
        // Spoiling is of use only if it spoils, and if it spoils in more ways than the schema can tell.
        assert!(refused > accepted && accepted > 0, "{accepted} accepted, {refused} refused");
    }

    /// Every def that values can be of; unions of whole frames are gone through leaf by leaf.
    fn inner_defs(&self, leaves: &BTreeSet<String>) -> BTreeSet<String> {
        let is_union_of_frames = |name: &String| {
            let inner = self.frames.leaves(name);
            inner.len() > 1 && inner.iter().all(|leaf| leaves.contains(leaf))
        };
        self.frames.reachable(self.root).into_iter().filter(|name| !is_union_of_frames(name)).collect()
    }

    /// Whether the schema accepts `frame`; fails if the reader does not agree, or does not keep what it reads.
    fn compare(&self, frame: &Value) -> Result<bool, TestCaseError> {
        let bytes = serde_json::to_vec(frame)?;
        // Decimal fractions as the reader will find them.
        let frame: Value = serde_json::from_slice(&bytes)?;
        // To servers an optional member that is null is absent; a null id is kept, to be echoed.
        let (mut frame, id) = match self.root {
            "Inbound" => (self.frames.without_nulls(self.root, &frame), frame.get("id").cloned()),
            _ => (frame, None),
        };
        let valid = self.validator.is_valid(&frame);
        if id == Some(Value::Null) && frame.get("id").is_none() && frame.is_object() {
            frame["id"] = Value::Null;
        }
        match (self.reader)(&bytes, self.dialect) {
            Ok(read) if valid => {
                let known = self.frames.known_part(self.root, &frame);
                let read = self.frames.known_part(self.root, &read);
                match same(&read, &known) {
                    true => Ok(true),
                    false => {
                        Err(TestCaseError::fail(format!("{frame}\nwas read as {read}\ninstead of {known}")))
                    }
                }
            }
            Ok(_) => Err(TestCaseError::fail(format!("the schema refuses, read accepts {frame}"))),
            Err(error) if valid => {
                Err(TestCaseError::fail(format!("the schema accepts, read refuses {frame}: {error}")))
            }
            Err(_) => Ok(false),
        }
    }
}

/// A test for each dialect and root, with so many frames of each kind.
macro_rules! match_schema {
    ($($name:ident: $dialect:ident, $root:ident, $cases:literal;)*) => {
        $(
            #[test]
            fn $name() {
                let bench = Bench::new(Dialect::$dialect, stringify!($root), reader!($root));
                Bench { cases: $cases, ..bench }.run();
            }
        )*
    };
}

// What extensions write and read has whole models and messages deep inside: more frames until each def has come up.
match_schema! {
    inbound_frames_of_pi_match_schema: Pi, Inbound, 100;
    inbound_frames_of_xcsh_match_schema: Xcsh, Inbound, 100;
    outbound_frames_of_pi_match_schema: Pi, Outbound, 100;
    outbound_frames_of_xcsh_match_schema: Xcsh, Outbound, 100;
    frames_from_extensions_of_pi_match_schema: Pi, FromExtension, 300;
    frames_from_extensions_of_xcsh_match_schema: Xcsh, FromExtension, 300;
    frames_to_extensions_of_pi_match_schema: Pi, ToExtension, 400;
    frames_to_extensions_of_xcsh_match_schema: Xcsh, ToExtension, 400;
}

#[test]
fn dialog_response_kind_ignores_other_dialects() {
    // `timedOut` is a property of xcsh: wrong there, it makes a frame no `cancelled`; in pi it is not looked at.
    let answer = |timed_out: Value| {
        json!({
            "type": "extension_ui_response", "id": "a", "value": "x", "cancelled": true, "timedOut": timed_out
        })
    };
    for (dialect, timed_out, accepted) in [
        (Dialect::Pi, json!(true), false),
        (Dialect::Pi, json!(5), false),
        (Dialect::Xcsh, json!(true), false),
        (Dialect::Xcsh, json!(5), true),
    ] {
        let outcome = Bench::new(dialect, "Inbound", reader!(Inbound)).compare(&answer(timed_out.clone()));
        assert_eq!(outcome.map_err(|error| error.to_string()), Ok(accepted), "{dialect} {timed_out}");
    }
}

#[test]
fn null_counts_as_absent_where_optional() {
    let benches = [Dialect::Pi, Dialect::Pi1, Dialect::Xcsh]
        .map(|dialect| Bench::new(dialect, "Inbound", reader!(Inbound)));
    let compare = |dialect, frame: Value| {
        let bench = benches.iter().find(|bench| bench.dialect == dialect).expect("one of them");
        let outcome = bench.compare(&frame);
        outcome.map_err(|error| format!("{frame}: {error}"))
    };
    let tool = |label: Value, name: Value| {
        json!({ "type": "set_host_tools", "tools": [{
            "name": name, "label": label, "description": "d", "parameters": { "title": null }, "hidden": null
        }] })
    };
    let prompt = |message: Value, images: Value| json!({ "type": "prompt", "message": message, "images": images, "streamingBehavior": null });
    let result = |details: Value, content: Value| {
        json!({
            "type": "host_tool_result", "id": "a", "isError": null,
            "result": { "content": content, "details": details }
        })
    };
    let image = json!({ "type": "image", "data": "", "mimeType": "image/png" });
    for (dialect, frame, accepted) in [
        (Dialect::Pi, prompt(json!("x"), Value::Null), true),
        (Dialect::Pi1, prompt(json!("x"), json!([image])), true),
        (Dialect::Pi, prompt(Value::Null, Value::Null), false),
        (Dialect::Pi, prompt(json!("x"), json!([null])), false),
        (Dialect::Xcsh, tool(Value::Null, json!("t")), true),
        (Dialect::Xcsh, tool(json!("T"), json!("t")), true),
        (Dialect::Xcsh, tool(Value::Null, Value::Null), false),
        (Dialect::Xcsh, result(Value::Null, json!([])), true),
        (Dialect::Xcsh, result(json!({ "a": null }), json!([])), true),
        (Dialect::Xcsh, result(Value::Null, Value::Null), false),
        (Dialect::Pi, json!({ "type": "extension_ui_response", "id": "a", "value": null }), false),
        (
            Dialect::Pi,
            json!({ "type": "extension_ui_response", "id": "a", "value": "x", "cancelled": null }),
            true,
        ),
    ] {
        assert_eq!(compare(dialect, frame.clone()), Ok(accepted), "{dialect} {frame}");
    }
}

#[test]
fn nullable_text_may_precede_tag() {
    let message = json!({
        "fullOutputPath": "/tmp/out", "role": "bashExecution", "command": "ls", "output": "", "cancelled": false,
        "truncated": true, "timestamp": 0
    });
    let event = json!({ "type": "message_end", "message": message });
    let outcome = Bench::new(Dialect::Pi, "Outbound", reader!(Outbound)).compare(&event);
    assert_eq!(outcome.map_err(|error| error.to_string()), Ok(true));
}
