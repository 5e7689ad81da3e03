//! The types of the protocol, the reader of frames, and tables of what each dialect allows.
//!
//! The types and tables in this crate are generated from `schema/` when it is built. There are three layers: the JSON
//! Schema of one dialect (`pi_rpc::export`), the Rust types, which are the union of all dialects, and [`read`], which
//! accepts a value if and only if the dialect's schema does. `pi_rpc::protocol` is this crate.
//!
//! For programs that read or write frames of this protocol. This crate judges one frame at a time: whether it may come now, behind the
//! frames before it, is what `pi-rpc-machine` knows. It opens nothing: bytes come in, bytes go out.
//!
//! ```
//! use pi_rpc_protocol::{Dialect, Inbound, RpcCommand, read};
//!
//! let line = br#"{"id":"1","type":"prompt","message":"hello"}"#;
//! let Ok(Inbound::Command(RpcCommand::Prompt(prompt))) = read(line, Dialect::Pi) else { panic!() };
//! assert_eq!(prompt.message, "hello");
//! ```

mod call_arguments;
mod check;
mod chunks;
mod command;
mod dispatch;
mod emission;
mod encoded_partial;
mod encoder;
mod fault;
mod forest;
mod framing;
mod id;
mod json;
mod legality;
mod line;
mod member;
mod model_text;
mod named_model;
mod number;
mod partial_json;
mod plain;
mod read;
mod surrogates;
mod tool_result;
mod version;

#[allow(clippy::all, dead_code, reason = "generated")]
mod generated {
    use super::{
        RequestId, Version,
        check::{Check, Property, Root, Shape},
        command::Command,
        fault::{Faults, ValueType},
        json::{Const, FromJson, JsonError, JsonReader, TextOrList, deserialize, unknown_tag},
        legality::{Case, EndedWork, Fires, ResponseTime, fill},
        member::IntoMember,
        plain::{Bases, Form, Member},
    };
    include!(concat!(env!("OUT_DIR"), "/protocol.rs"));
}

/// Object with any members, in the order in which they were read.
pub type JsonObject = serde_json::Map<String, serde_json::Value>;

/// Prefix of the types and members that `serve --hazard` adds to frames.
pub const HAZARD_PREFIX: &str = "hazard_";

pub use call_arguments::{arguments_error, parse_arguments, parse_repaired, received_arguments};
pub use check::Check;
pub use chunks::{CUT_MARK, CUT_MEMBERS, ChunkError, ChunkReassembler, ReassembledLine, split_frame};
pub use command::Command;
pub use emission::{BlockKind, Emission, Step, Update};
pub use encoder::Encoder;
pub use fault::{Fault, Faults, LateMember, ValueType};
pub use forest::{Children, Forest, ForestNode, MAX_FOREST_DEPTH};
pub use framing::{FRAME_LIMIT, LineSplitter, SplitLine};
pub use generated::*;
pub use id::RequestId;
pub use json::{FromJson, JsonError, JsonReader, from_slice, from_str, from_value, member_from_slice};
pub use legality::{Case, EndedWork, Fires, ResponseTime, placeholder_values};
pub use line::{LineError, read_line};
pub use number::number;
pub use partial_json::{complete_strings, parse_partial};
pub use plain::{Bases, Form, Member, PlainMessage};
pub use read::read_scalar_id;
pub use read::{ReadError, Versioned, read, read_versioned};
pub use surrogates::mend_surrogates;
pub use version::{DialectVersion, Version};

/// Bundle of `schema/` as JSON: `$defs`, `states`, `errors`, `texts`, `dialects`.
pub static BUNDLE: &str = include_str!(concat!(env!("OUT_DIR"), "/bundle.json"));
