//! Reads the frames of a folder into the generated types of a dialect, and writes them again; a verdict a line.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::{env, error::Error, fs};

#[allow(clippy::all, dead_code)]
mod dialects {
    use super::again;

    include!(concat!(env!("OUT_DIR"), "/dialects.rs"));
}

/// Reads a frame and writes it.
type Again = fn(Value) -> Result<Value, serde_json::Error>;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let (dialect, frames) =
        (arguments.next().ok_or("a dialect")?, arguments.next().ok_or("a file of frames")?);
    let (_, inbound, outbound) =
        dialects::DIALECTS.iter().find(|(name, ..)| *name == dialect).ok_or("a dialect that there is")?;
    for line in fs::read_to_string(frames)?.lines() {
        let sample: Value = serde_json::from_str(line)?;
        let again = if sample["root"] == "Inbound" { inbound } else { outbound };
        let verdict = match again(sample["frame"].clone()) {
            Ok(written) => json!({ "errors": [], "written": written }),
            Err(error) => json!({ "errors": [error.to_string()] }),
        };
        println!("{verdict}");
    }
    Ok(())
}

fn again<T: DeserializeOwned + Serialize>(frame: Value) -> Result<Value, serde_json::Error> {
    serde_json::to_value(serde_json::from_value::<T>(frame)?)
}
