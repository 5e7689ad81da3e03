//! `pi-rpc schema`.

use super::{print, refuse};
use clap::{Args, ValueEnum};
use pi_rpc_config::{models_file, settings::SETTINGS_SCHEMA};
use pi_rpc_conform::live::adapter_schema;
use pi_rpc_export::{self as export, Bump, Difference, Part};
use pi_rpc_machine::chart;
use pi_rpc_mock::mcp::mcp_script_schema;
use pi_rpc_model::scripted::script_schema;
use pi_rpc_oracle::{expectations_schema, report::report_schema};
use pi_rpc_protocol::{Dialect, DialectVersion};
use pi_rpc_scenario::scenario_schema;
use serde_json::{Value, json};
use std::{fs, path::PathBuf, process::ExitCode};

/// Options of `pi-rpc schema`.
#[derive(Args)]
pub struct Options {
    /// Dialect to export
    #[arg(long, default_value_t = super::options::DEFAULT_DIALECT.as_str().to_owned(), env = "PI_RPC_DIALECT")]
    dialect: String,
    /// Format of the export
    #[arg(long, value_enum, default_value_t = Format::JsonSchema)]
    format: Format,
    /// Export only this part (json-schema, typescript, go and openapi)
    #[arg(long, value_enum, default_value_t = Part::All)]
    part: Part,
    /// Compare two dialects or exported files: differences, and which side each breaks. Exit with 1 on a major change
    #[arg(long, num_args = 2, value_names = ["A", "B"], conflicts_with_all = ["format", "part"])]
    diff: Option<Vec<String>>,
    /// Print the differences as a JSON list
    #[arg(long, requires = "diff")]
    json: bool,
    /// Print what breaks in a client on the way from A to B, and what to do, as Markdown. A and B are dialects or versions, such as pi-1@0.84
    #[arg(long, requires = "diff", conflicts_with = "json")]
    guide: bool,
    /// Write to FILE instead of stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// The dialect's frames as one bundled JSON Schema
    JsonSchema,
    /// What JSON Schema cannot express: legality, order, the chart, texts, rules, defaults
    Meta,
    /// The JSON Schema of `meta`
    MetaSchema,
    /// The dialect's frames as TypeScript types
    Typescript,
    /// The dialect's frames as Go types that depend on the standard library only
    Go,
    /// The dialect's frames as an OpenAPI 3.1 document of components, with discriminators that generators take
    Openapi,
    /// The dialect's frames as an AsyncAPI 3.0 document: the channels of the server and its operations
    Asyncapi,
    /// The frames of extensions as Python types, the same for every dialect
    Python,
    /// The reference of all dialects as one HTML page, this dialect first
    Html,
    /// The hooks of extensions as Markdown: each with its event, its result and an example
    Hooks,
    /// The chart of the states as a Mermaid diagram
    Mermaid,
    /// The same as a drawing (SVG)
    Svg,
    /// The chart as SCXML, the W3C's language for state machines
    Scxml,
    /// The chart as the configuration of a machine of XState 5
    Xstate,
    /// The dialects: name → base, title and version
    Dialects,
    /// The JSON Schema of script files for the scripted model
    Script,
    /// The JSON Schema of script files for the scripted MCP server
    McpScript,
    /// The JSON Schema of the supported part of pi's settings.json
    Settings,
    /// The JSON Schema of pi's models.json
    Models,
    /// The JSON Schema of the reports that `check` and `conform` write as JSON
    Report,
    /// The JSON Schema of the files that `--expect` takes
    Expect,
    /// The JSON Schema of scenarios, which `conform` plays
    Scenario,
    /// The JSON Schema of adapters, which describe to `conform` how a server is started
    Adapter,
}

impl Format {
    /// Whether the format depends on the dialect.
    const fn is_per_dialect(self) -> bool {
        matches!(
            self,
            Self::JsonSchema
                | Self::Meta
                | Self::Typescript
                | Self::Go
                | Self::Openapi
                | Self::Asyncapi
                | Self::Html
                | Self::Hooks
                | Self::Mermaid
                | Self::Svg
                | Self::Scxml
                | Self::Xstate
        )
    }
}

/// Prints the export, or the comparison.
pub fn run(options: &Options) -> ExitCode {
    if let Some([a, b]) = options.diff.as_deref() {
        return if options.guide { guide(a, b, options) } else { compare(a, b, options) };
    }
    let dialect = match Dialect::parse(&options.dialect) {
        Some(dialect) => dialect,
        None if options.format.is_per_dialect() => {
            return refuse(&super::unknown_dialect(&options.dialect), super::USAGE);
        }
        None => super::options::DEFAULT_DIALECT,
    };
    let has_parts =
        matches!(options.format, Format::JsonSchema | Format::Typescript | Format::Go | Format::Openapi);
    if options.part != Part::All && !has_parts {
        return refuse("--part: expected --format json-schema, typescript, go or openapi", super::USAGE);
    }
    let schema = export::part_schema(dialect, options.part);
    if schema["oneOf"].as_array().is_none_or(Vec::is_empty) {
        let why = format!("--part {}: the dialect {dialect} has no such frames", options.part.as_str());
        return refuse(&why, super::USAGE);
    }
    write(&text(options, dialect, schema), options)
}

fn write(text: &str, options: &Options) -> ExitCode {
    let Some(path) = &options.output else { return print(text) };
    match fs::write(path, format!("{text}\n")) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => refuse(&format!("{}: {error}", path.display()), super::USAGE),
    }
}

/// Prints what breaks in a client; with status 0, as nothing is judged.
fn guide(a: &str, b: &str, options: &Options) -> ExitCode {
    let (from, to) = match (DialectVersion::parse(a), DialectVersion::parse(b)) {
        (Some(from), Some(to)) => (from, to),
        (None, _) => return refuse(&super::unknown_version(a), super::USAGE),
        (_, None) => return refuse(&super::unknown_version(b), super::USAGE),
    };
    write(export::client_changes(from, to).trim_end(), options)
}

/// Prints the differences; exits with 1 on a major change.
fn compare(a: &str, b: &str, options: &Options) -> ExitCode {
    let (found, bump) = match differences(a, b) {
        Ok(found) => found,
        Err(why) => return refuse(&format!("--diff: {why}"), super::USAGE),
    };
    let text = if options.json { pretty(json!(found)) } else { render_differences(&found, bump) };
    let written = write(&text, options);
    if bump == Bump::Major && written == ExitCode::SUCCESS { ExitCode::FAILURE } else { written }
}

fn differences(a: &str, b: &str) -> Result<(Vec<Difference>, Bump), String> {
    let (a, b) = (exported(a)?, exported(b)?);
    let (mut found, mut bump) = (Vec::new(), Bump::None);
    for (a, b) in a.iter().zip(&b) {
        let mut more = export::diff(a, b)?;
        // The schemas have already reported frames that only one dialect has.
        more.retain(|it| {
            found.is_empty() || !["is new", "is gone"].contains(&it.what.as_str()) || !it.is_of_frame()
        });
        found.extend(more);
        bump = bump.max(export::bump(a, b)?);
    }
    Ok((found, bump))
}

/// Both exports of a dialect, or the one in the file of this name.
fn exported(what: &str) -> Result<Vec<Value>, String> {
    if let Some(dialect) = Dialect::parse(what) {
        return Ok(vec![export::json_schema(dialect), json!(export::meta(dialect))]);
    }
    let text = fs::read_to_string(what)
        .map_err(|error| format!("{what}: expected a dialect or an exported file: {error}"))?;
    let value = serde_json::from_str(&text).map_err(|error| format!("{what}: {error}"))?;
    Ok(vec![value])
}

fn render_differences(found: &[Difference], bump: Bump) -> String {
    let mut lines = Vec::new();
    for it in found {
        let whom = match (it.breaks_client, it.breaks_server) {
            (true, true) => "breaks both",
            (true, false) => "breaks clients",
            (false, true) => "breaks servers",
            (false, false) => "",
        };
        lines.push(format!("{whom:14}  {}: {}", it.at, it.what));
    }
    let count = |breaks: fn(&Difference) -> bool| found.iter().filter(|it| breaks(it)).count();
    let (clients, servers) = (count(|it| it.breaks_client), count(|it| it.breaks_server));
    let differences =
        if found.len() == 1 { "1 difference".to_owned() } else { format!("{} differences", found.len()) };
    lines.push(format!("{differences}: clients break by {clients}, servers by {servers}; {}", bump.as_str()));
    lines.join("\n")
}

fn text(options: &Options, dialect: Dialect, schema: Value) -> String {
    match options.format {
        Format::JsonSchema => pretty(schema),
        Format::Meta => pretty(json!(export::meta(dialect))),
        Format::MetaSchema => pretty(export::meta_schema()),
        Format::Typescript => export::typescript(dialect, options.part).trim_end().to_owned(),
        Format::Go => export::go(dialect, options.part).trim_end().to_owned(),
        Format::Openapi => pretty(export::openapi(dialect, options.part)),
        Format::Asyncapi => pretty(export::asyncapi(dialect)),
        Format::Html => export::reference_page(dialect),
        Format::Python => export::python_types(),
        Format::Hooks => export::hook_reference(dialect),
        Format::Mermaid => chart(dialect.base()).trim_end().to_owned(),
        Format::Svg => export::chart_drawing(dialect),
        Format::Scxml => export::scxml(dialect).trim_end().to_owned(),
        Format::Xstate => pretty(export::xstate(dialect)),
        Format::Dialects => pretty(dialect_list()),
        Format::Settings => SETTINGS_SCHEMA.trim_end().to_owned(),
        Format::Models => models_file::SCHEMA.trim_end().to_owned(),
        Format::Script => pretty(export::with_file_id("script", script_schema())),
        Format::McpScript => pretty(export::with_file_id("mcp-script", mcp_script_schema())),
        Format::Report => pretty(export::with_file_id("report", report_schema())),
        Format::Expect => pretty(export::with_file_id("expect", expectations_schema())),
        Format::Scenario => pretty(export::with_file_id("scenario", scenario_schema())),
        Format::Adapter => pretty(export::with_file_id("adapter", adapter_schema())),
    }
}

/// As the files in `schema/` are laid out.
fn pretty(schema: Value) -> String {
    export::laid_out(&schema, 120)
}

fn dialect_list() -> Value {
    let about = |dialect: Dialect| {
        let record = dialect.record();
        let base = record.extends.unwrap_or(record.id);
        (
            record.id.to_owned(),
            json!({ "base": base, "frames": record.frames, "title": record.title, "version": record.version }),
        )
    };
    Value::Object(Dialect::ALL.into_iter().map(about).collect())
}
