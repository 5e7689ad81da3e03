//! Reading of any bytes as a frame, in every dialect and direction: the reader accepts exactly what the schema accepts,
//! what was read and is written again reads the same, and every line of a host is a frame or leads to a valid error
//! response.

use crate::frames_common::{Choices, Frames, same};
use pi_rpc::protocol::{
    Dialect, FromExtension, Inbound, LineError, Outbound, RpcResponse, ToExtension, read, read_line,
};
use serde_json::Value;
use std::{collections::BTreeSet, sync::LazyLock};

/// The first byte selects the dialect and the kind of frame, and whether the rest is a line or the choices that
/// generate a frame of the schema.
pub fn check(data: &[u8]) {
    let Some((chosen, line)) = data.split_first() else { return };
    let chosen = usize::from(*chosen);
    let kind = &KINDS[chosen % KINDS.len()];
    let dialect = Dialect::ALL[chosen / KINDS.len() % Dialect::ALL.len()];
    let is_made = chosen / KINDS.len() / Dialect::ALL.len() % 2 == 1;
    if is_made {
        return made(kind, line);
    }
    reads_again(kind, line, dialect);
    if kind.root == "Inbound" {
        answers(line, dialect);
    }
    let based = kind.schemas.iter().find(|schema| schema.dialect.base() == dialect.base());
    if let Some(schema) = based
        && let Ok(value) = serde_json::from_slice::<Value>(line)
    {
        schema.agrees(kind, &value);
    }
}

/// Kind of frame.
struct Kind {
    root: &'static str,
    reader: fn(&[u8], Dialect) -> Result<Value, String>,
    schemas: LazyLock<Vec<Schema>>,
}

static KINDS: [Kind; 4] = [
    Kind {
        root: "Inbound",
        reader: |bytes, dialect| written(read::<Inbound>(bytes, dialect)),
        schemas: LazyLock::new(|| Schema::all("Inbound")),
    },
    Kind {
        root: "Outbound",
        reader: |bytes, dialect| written(read::<Outbound>(bytes, dialect)),
        schemas: LazyLock::new(|| Schema::all("Outbound")),
    },
    Kind {
        root: "FromExtension",
        reader: |bytes, dialect| written(read::<FromExtension>(bytes, dialect)),
        schemas: LazyLock::new(|| Schema::all("FromExtension")),
    },
    Kind {
        root: "ToExtension",
        reader: |bytes, dialect| written(read::<ToExtension>(bytes, dialect)),
        schemas: LazyLock::new(|| Schema::all("ToExtension")),
    },
];

fn written<T: serde::Serialize, E: ToString>(read: Result<T, E>) -> Result<Value, String> {
    serde_json::to_value(read.map_err(|error| error.to_string())?).map_err(|error| error.to_string())
}

/// Exported schema of one dialect.
struct Schema {
    dialect: Dialect,
    frames: Frames,
    validator: jsonschema::Validator,
}

impl Schema {
    fn all(root: &str) -> Vec<Self> {
        let of = |dialect| {
            let frames = Frames::of(dialect);
            let validator = frames.validator(root);
            Self { dialect, frames, validator }
        };
        [Dialect::Pi, Dialect::Xcsh].into_iter().map(of).collect()
    }

    /// Checks that the reader accepts what the schema accepts, and keeps the members of the dialect.
    fn agrees(&self, kind: &Kind, value: &Value) {
        let bytes = serde_json::to_vec(value).expect("JSON");
        // Numbers in the form that the reader sees.
        let value: Value = serde_json::from_slice(&bytes).expect("JSON");
        let read = (kind.reader)(&bytes, self.dialect);
        match (read, self.validator.is_valid(&value)) {
            (Ok(read), true) => {
                let known = self.frames.known_part(kind.root, &value);
                assert!(same(&read, &known), "{value}\nwas read as {read}\ninstead of {known}");
            }
            (Ok(_), false) => panic!("the schema refuses, read accepts {value}"),
            (Err(error), true) => panic!("the schema accepts, read refuses {value}: {error}"),
            (Err(_), false) => {}
        }
    }
}

/// Generates a frame from the schema, and a spoiled copy.
fn made(kind: &Kind, numbers: &[u8]) {
    let numbers: Vec<u32> =
        numbers.chunks(2).map(|pair| pair.iter().fold(0, |n, byte| (n << 8) | u32::from(*byte))).collect();
    let mut choices = Choices::new(&numbers);
    let schema = &kind.schemas[choices.below(kind.schemas.len())];
    let leaves = schema.frames.leaves(kind.root);
    let leaf = &leaves[choices.below(leaves.len())];
    let mut frame = schema.frames.value(leaf, &mut choices, &mut BTreeSet::new());
    schema.agrees(kind, &frame);
    for _ in 0..2 {
        schema.frames.spoil(&mut frame, &leaves, &mut choices);
        schema.agrees(kind, &frame);
    }
}

fn reads_again(kind: &Kind, line: &[u8], dialect: Dialect) {
    let Ok(once) = (kind.reader)(line, dialect) else { return };
    let text = serde_json::to_vec(&once).expect("JSON");
    let again = (kind.reader)(&text, dialect);
    assert_eq!(again.as_ref(), Ok(&once), "read from {}", String::from_utf8_lossy(&text));
}

/// Checks the reading of a host line: a frame, or an error response.
fn answers(line: &[u8], dialect: Dialect) {
    let read_as = read_line(line, dialect);
    match &read_as {
        Ok(Some(frame)) => {
            // The command reads the same after writing, unless its id is not a string.
            let text = serde_json::to_vec(frame).expect("JSON");
            assert_eq!(read_line(&text, dialect).as_ref(), Ok(&Some(frame.clone())));
        }
        Ok(None) => assert!(line.trim_ascii().is_empty() || line.starts_with(b"\xef\xbb\xbf")),
        Err(_) => {}
    }
    if let Err(error) = read_as
        && error.is_answered()
    {
        let is_text = match &error {
            LineError::Parse { id, .. }
            | LineError::Unknown { id, .. }
            | LineError::Field { id, .. }
            | LineError::Refused { id, .. } => id.as_ref().is_none_or(|id| id.is_string()),
        };
        let answer = RpcResponse::ErrorResponse(error.response(dialect));
        let answer = serde_json::to_vec(&Outbound::Response(answer)).expect("JSON");
        if is_text {
            read::<Outbound>(&answer, dialect).expect("an answer is a frame");
        }
    }
}
