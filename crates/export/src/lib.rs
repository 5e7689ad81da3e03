//! Exports of the protocol for other tools and for people: schemas, types for other languages, documents.
//!
//! For generators of code and documents, and for the CI of projects that depend on a version of the protocol. All exports are
//! made from the bundle of `schema/`, which [`pi_rpc_protocol`] is generated from too, so that neither can lag behind the other.
//!
//! This crate does no IO: each function takes a dialect and returns a text or a JSON value, the same one each time. It reads no
//! frames and no recordings.
//!
//! - [`json_schema`](json_schema()), [`part_schema`]: the frames as JSON Schema 2020-12, all of them or one [`Part`].
//! - [`meta`](meta()), [`Meta`]: what JSON Schema cannot express: responses, states, effects, limits.
//! - [`typescript`](typescript()), [`go`](go()), [`python_types`]: types for other languages.
//! - [`openapi`](openapi()), [`asyncapi`](asyncapi()): documents for other generators.
//! - [`scxml`](scxml()), [`xstate`](xstate()): the chart for interpreters of state machines.
//! - [`reference_page`], [`chart_drawing`], [`hook_reference`]: for people.
//! - [`laid_out`]: JSON in lines that a person reads.
//! - [`diff`](diff()), [`Difference`], [`bump`]: what differs between two exports, and which side it breaks.
//! - [`client_changes`], [`version_schema`]: what an author of a client has to do about it, between dialects and versions.
//!
//! ```
//! use pi_rpc_export::{Bump, bump, diff, json_schema};
//! use pi_rpc_protocol::Dialect;
//! use serde_json::json;
//!
//! let now = json_schema(Dialect::Pi);
//! assert_eq!(now["$defs"]["SteerCommand"]["required"], json!(["type", "message"]));
//! let mut next = now.clone();
//! next["$defs"]["SteerCommand"]["required"] = json!(["type", "message", "images"]);
//! assert!(diff(&now, &next)?[0].breaks_client);
//! assert_eq!(bump(&now, &next)?, Bump::Major);
//! # Ok::<(), String>(())
//! ```

mod asyncapi;
mod changes;
mod diff;
mod extension_frames;
mod go;
mod hooks;
mod json;
mod json_schema;
mod meta;
mod node_host;
mod openapi;
mod page;
mod parts;
mod python;
mod statechart;
mod typescript;

pub use asyncapi::asyncapi;
pub use changes::client_changes;
pub use diff::{Bump, Difference, bump, diff};
pub use extension_frames::extension_frames;
pub use go::go;
pub use hooks::{Hook, hook_reference, hooks};
pub use json::laid_out;
pub use json_schema::{json_schema, part_schema, schema_id, version_schema};
pub use meta::{
    Chart, CommandAbout, DialogAbout, EffectAbout, EffectCondition, ErrorAbout, EventAbout, EventCase,
    FlowStep, Limits, MemberAbout, Meta, Outcome, Region, RuleInMeta, SessionAbout, StateAbout, Trigger,
    When, meta, meta_schema,
};
pub use node_host::node_host_lists;
pub use openapi::openapi;
pub use page::{Examples, chart_drawing, reference_page};
pub use parts::{Part, file_id, with_file_id};
pub use python::python_types;
pub use statechart::{CommandEvent, command_events, event_name, scxml, xstate};
pub use typescript::typescript;
