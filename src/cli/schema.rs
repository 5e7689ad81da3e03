//! `pi-rpc schema`.

use super::{print, refuse};
use crate::{config::models_file, export, model::scripted::script_schema, protocol::Dialect};
use clap::{Args, ValueEnum};
use std::process::ExitCode;

/// What to print.
#[derive(Args)]
pub struct Options {
    /// The dialect
    #[arg(long, default_value = "pi", env = "PI_RPC_DIALECT")]
    dialect: String,
    /// The format
    #[arg(long, value_enum, default_value_t = Format::JsonSchema)]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// The dialect's frames as one bundled JSON Schema
    JsonSchema,
    /// What the server and an extension write to each other, as JSON Schema
    Extension,
    /// The JSON Schema of script files for the scripted model
    Script,
    /// The JSON Schema of pi's models.json
    Models,
}

/// Prints it.
pub fn run(options: &Options) -> ExitCode {
    let schema = match (options.format, Dialect::parse(&options.dialect)) {
        (Format::Models, _) => return print(models_file::SCHEMA.trim_end()),
        (Format::Script, _) => script_schema(),
        (Format::JsonSchema, Some(dialect)) => export::json_schema(dialect),
        (Format::Extension, Some(dialect)) => export::extension_schema(dialect),
        (Format::JsonSchema | Format::Extension, None) => {
            let known = Dialect::ALL.map(Dialect::as_str).join(", ");
            return refuse(&format!("unknown dialect {:?}; known: {known}", options.dialect), super::USAGE);
        }
    };
    print(&format!("{schema:#}"))
}
