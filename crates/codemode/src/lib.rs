//! Runs scripts that a model wrote: JavaScript in a process of its own, which reaches nothing but calls that its user answers.
//!
//! For programs that let a model write a script instead of many calls of tools. The process has no file, no network, no
//! environment, no timer and no thread beside its own, and limits of memory and time that the kernel keeps; what it may call is
//! named in the [`Script`], and each call comes as an [`Event`] that is answered or not.
//!
//! This crate knows no tool and no session: what a call does, and whether it may be done, is decided by its user. It believes
//! nothing that the process writes.
//!
//! - [`parse`]: the first line of a script, which may have options.
//! - [`Script`], [`Sandbox`], [`Event`]: a script, the process that runs it, and what it does.
//! - `is_worker`, `work` (feature `quickjs`): the other end, for the `main` of the program that is started.
//!
//! ```text
//! Sandbox::start ──── a line: the script ───────────→ work
//! Sandbox::next  ←─── a line each: call, output, end ─┤ QuickJS
//! Sandbox::answer ─── a line: value or error ───────→─┘
//! ```
//!
//! ```
//! use pi_rpc_codemode::{SourceOptions, parse};
//!
//! let (code, options) = parse("// @options: {\"timeout_ms\": 500}\nreturn 1;").unwrap();
//! assert_eq!(code, "\nreturn 1;");
//! assert_eq!(options, SourceOptions { timeout_ms: Some(500), ..SourceOptions::default() });
//! assert!(parse("").is_err());
//! ```

mod limits;
mod messages;
mod sandbox;
mod source;
#[cfg(feature = "quickjs")]
mod worker;

pub use messages::{CallTarget, OutputItem, ScriptTool};
pub use sandbox::{Completion, Event, Failure, Sandbox, SandboxProgram, Script};
pub use source::{SourceOptions, parse};
#[cfg(feature = "quickjs")]
pub use worker::{is_worker, work};
