//! Exports of the protocol for other tools and for people, independent of this crate.
//!
//! All are made from the bundle of `schema/`, which [`pi_rpc_protocol`] is generated from too: JSON Schema, the meta file with
//! what JSON Schema cannot express, types for TypeScript, Go and Python, OpenAPI and AsyncAPI documents, the reference as HTML and
//! Markdown. [`diff`] compares two
//! exports.

mod asyncapi;
mod diff;
mod extension_frames;
mod go;
mod hooks;
mod json_schema;
mod meta;
mod openapi;
mod page;
mod parts;
mod python;
mod typescript;

pub use asyncapi::asyncapi;
pub use diff::{Bump, Difference, bump, diff};
pub use extension_frames::extension_frames;
pub use go::go;
pub use hooks::{Hook, hook_reference, hooks};
pub use json_schema::{json_schema, part_schema, schema_id};
pub use meta::{
    Chart, CommandAbout, DialogAbout, EffectAbout, EffectCondition, ErrorAbout, EventAbout, EventCase,
    FlowStep, Limits, MemberAbout, Meta, Outcome, Region, RuleInMeta, SessionAbout, StateAbout, Trigger,
    When, meta, meta_schema,
};
pub use openapi::openapi;
pub use page::{Examples, chart_drawing, reference_page};
pub use parts::{Part, file_id, with_file_id};
pub use python::python_types;
pub use typescript::typescript;
