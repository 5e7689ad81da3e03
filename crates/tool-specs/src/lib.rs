//! The definitions of the built-in tools for the model: names, descriptions, schemas of arguments.
//!
//! For programs that offer these tools to a model, wherever the tools run. [`ReadArguments`] and the other structs are the
//! arguments of a call, as a tool deserializes them.
//!
//! This crate runs no tool and does no IO: the crate `pi-rpc-tools` runs them. Doc comments of the argument structs become
//! descriptions in the schemas, so they are written for the model.
//!
//! - [`specs`]: the tools as a dialect has them.
//! - [`DEFAULT_TOOLS`]: the names of those that are offered by default.
//!
//! ```
//! use pi_rpc_protocol::Dialect;
//! use pi_rpc_tool_specs::{DEFAULT_TOOLS, specs};
//!
//! let tools = specs(&Dialect::Pi.record().tools);
//! let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
//! assert_eq!(names, ["read", "bash", "edit", "write", "grep", "find", "ls"]);
//! assert_eq!(tools[0].parameters["required"][0], "path");
//! assert!(DEFAULT_TOOLS.iter().all(|name| names.contains(name)));
//! ```

// A doc comment on the arguments as a whole would be sent to the model.
#![allow(missing_docs)]

use schemars::JsonSchema;
use serde::Deserialize;

use pi_rpc_model::types::ToolSpec;
use pi_rpc_protocol::{DialectTools, DialectToolsEdits};
use serde_json::{Value, json};
use std::sync::Arc;

/// The tools that are offered by default, as in pi.
pub const DEFAULT_TOOLS: [&str; 4] = ["read", "bash", "edit", "write"];

/// All built-in tools as a dialect has them, in pi's order. Tools that change something run alone in dialects with parallel
/// tool calls.
pub fn specs(rules: &DialectTools) -> Vec<ToolSpec> {
    let edit = match rules.edits {
        DialectToolsEdits::One => ToolSpec::of::<EditArguments>(
            "edit",
            "Change one place in a text file: `oldText`, which must be there exactly once, becomes `newText`. Copy \
             `oldText` from the file as it is, blanks and line ends included, with enough around it to be unique.",
            true,
        ),
        DialectToolsEdits::List => ToolSpec::of::<EditsArguments>(
            "edit",
            "Change one or more places in a text file, all in one call: each `oldText` in `edits`, which must be there \
             exactly once, becomes its `newText`. Copy `oldText` from the file as it is, blanks and line ends \
             included, with enough around it to be unique. The places must not overlap.",
            true,
        ),
    };
    let mut specs = vec![
        ToolSpec::of::<ReadArguments>(
            "read",
            "Show a file. Text comes from the start of the file, or from `offset`, up to 2000 lines or 50KB, whichever \
             is less; the result says how to go on when there is more. PNG, JPEG, GIF and WebP files come as images, \
             large ones scaled down.",
            false,
        ),
        ToolSpec::of::<BashArguments>(
            "bash",
            "Run a shell command in the working directory and get its output, stdout and stderr together. Of long \
             output only the end is given, up to 50KB, and the path of a file with all of it. There is no input. A \
             time limit can be set.",
            true,
        ),
        edit,
        ToolSpec::of::<WriteArguments>(
            "write",
            "Make a file with this content. A file that is already there is replaced as a whole; directories that are \
             missing are made.",
            true,
        ),
        ToolSpec::of::<GrepArguments>(
            "grep",
            "Search files for a regular expression or a plain text, line by line. Each hit comes as path, line number \
             and line. Hidden files are searched; what .gitignore excludes and binary files are not. At most 100 hits, \
             unless you set another limit, and 50KB; lines are cut at 500 characters.",
            false,
        ),
        ToolSpec::of::<FindArguments>(
            "find",
            "List the files and directories whose names fit a glob pattern, with paths relative to where the search \
             starts, directories with a slash at the end. Hidden ones are included, what .gitignore excludes is not. \
             At most 1000 paths, unless you set another limit, and 50KB.",
            false,
        ),
        ToolSpec::of::<LsArguments>(
            "ls",
            "List a directory: names in alphabetical order, hidden ones included, directories with a slash at the end. \
             At most 500 names, unless you set another limit, and 50KB.",
            false,
        ),
    ];
    if rules.structured_content {
        for spec in &mut specs {
            spec.output = structured_schema(&spec.name).map(Arc::new);
        }
    }
    specs
}

/// The schema of a tool's structured results; `None`: it has none.
fn structured_schema(name: &str) -> Option<Value> {
    let text = || json!({ "type": "string" });
    let image = json!({
        "type": "object",
        "required": ["type", "data", "mimeType", "note"],
        "properties": { "type": { "const": "image" }, "data": text(), "mimeType": text(), "note": text() },
        "additionalProperties": false,
    });
    match name {
        "read" => Some(json!({ "anyOf": [text(), image] })),
        "bash" => Some(json!({
            "type": "object",
            "required": ["output", "truncated", "exit_code", "wall_time_seconds"],
            "properties": {
                "output": text(),
                "truncated": { "type": "boolean" },
                "full_output_path": text(),
                "exit_code": { "type": "number" },
                "wall_time_seconds": { "type": "number" },
            },
            "additionalProperties": false,
        })),
        _ => None,
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct ReadArguments {
    /// The file, absolute or relative to the working directory
    pub path: String,
    /// The line to start from; the first is 1
    #[schemars(with = "f64")]
    #[serde(default)]
    pub offset: Option<f64>,
    /// How many lines at most
    #[schemars(with = "f64")]
    #[serde(default)]
    pub limit: Option<f64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct BashArguments {
    /// The command, as bash understands it
    pub command: String,
    /// End the command after so many seconds
    #[schemars(with = "f64")]
    #[serde(default)]
    pub timeout: Option<f64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EditArguments {
    /// The file, absolute or relative to the working directory
    pub path: String,
    /// The text to replace, as it stands in the file
    pub old_text: String,
    /// The text to put there
    pub new_text: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct EditsArguments {
    /// The file, absolute or relative to the working directory
    pub path: String,
    /// The replacements; each is looked for in the file as it was before the call
    pub edits: Vec<Replacement>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "models would read it")]
pub struct Replacement {
    /// The text to replace, as it stands in the file
    pub old_text: String,
    /// The text to put there
    pub new_text: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct WriteArguments {
    /// The file, absolute or relative to the working directory
    pub path: String,
    /// Everything that is to be in the file
    pub content: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrepArguments {
    /// What to search for: a regular expression, or with `literal` a plain text
    pub pattern: String,
    /// The directory or file to search; without one, the working directory
    #[schemars(with = "String")]
    #[serde(default)]
    pub path: Option<String>,
    /// Search only files that fit this glob, such as `*.rs` or `src/**/*.rs`
    #[schemars(with = "String")]
    #[serde(default)]
    pub glob: Option<String>,
    /// Whether capital and small letters are the same; without it, they differ
    #[schemars(with = "bool")]
    #[serde(default)]
    pub ignore_case: Option<bool>,
    /// Whether the pattern is a plain text; without it, it is a regular expression
    #[schemars(with = "bool")]
    #[serde(default)]
    pub literal: Option<bool>,
    /// How many lines to show before and after each hit; without it, none
    #[schemars(with = "f64")]
    #[serde(default)]
    pub context: Option<f64>,
    /// How many hits at most; without one, 100
    #[schemars(with = "f64")]
    #[serde(default)]
    pub limit: Option<f64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct FindArguments {
    /// The glob: `*.rs` fits names anywhere, `src/**/*.rs` fits paths
    pub pattern: String,
    /// The directory to search; without one, the working directory
    #[schemars(with = "String")]
    #[serde(default)]
    pub path: Option<String>,
    /// How many paths at most; without one, 1000
    #[schemars(with = "f64")]
    #[serde(default)]
    pub limit: Option<f64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct LsArguments {
    /// The directory; without one, the working directory
    #[schemars(with = "String")]
    #[serde(default)]
    pub path: Option<String>,
    /// How many names at most; without one, 500
    #[schemars(with = "f64")]
    #[serde(default)]
    pub limit: Option<f64>,
}
