//! What the model is told about each tool: its name, what it is for, and the schema of its arguments.
//!
//! The doc comments of the argument structs are the descriptions in the schema, so they are written for the model.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Deserialize;
use serde_json::Value;

use crate::model::types::ToolSpec;

/// All tools of this module.
pub fn specs() -> Vec<ToolSpec> {
    vec![
        ToolSpec {
            name: "read".to_owned(),
            description: "Show a file. Text comes from the start of the file, or from `offset`, up to 2000 lines or \
                          50KB, whichever is less; the result says how to go on when there is more. PNG, JPEG, GIF and \
                          WebP files come as images.".to_owned(),
            parameters: schema_of::<ReadArguments>(),
            exclusive: false,
        },
        ToolSpec {
            name: "bash".to_owned(),
            description: "Run a shell command in the working directory and get its output, stdout and stderr \
                          together. Of long output only the end is given, up to 50KB, and the path of a file with all \
                          of it. There is no input. A time limit can be set.".to_owned(),
            parameters: schema_of::<BashArguments>(),
            exclusive: true,
        },
        ToolSpec {
            name: "ls".to_owned(),
            description: "List a directory: names in alphabetical order, hidden ones included, directories with a \
                          slash at the end. At most 500 names, unless you set another limit, and 50KB.".to_owned(),
            parameters: schema_of::<LsArguments>(),
            exclusive: false,
        },
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ReadArguments {
    /// The file, absolute or relative to the working directory
    pub(super) path: String,
    /// The line to start from; the first is 1
    #[schemars(with = "f64")]
    #[serde(default)]
    pub(super) offset: Option<f64>,
    /// How many lines at most
    #[schemars(with = "f64")]
    #[serde(default)]
    pub(super) limit: Option<f64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct BashArguments {
    /// The command, as bash understands it
    pub(super) command: String,
    /// End the command after so many seconds
    #[schemars(with = "f64")]
    #[serde(default)]
    pub(super) timeout: Option<f64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct LsArguments {
    /// The directory; without one, the working directory
    #[schemars(with = "String")]
    #[serde(default)]
    pub(super) path: Option<String>,
    /// How many names at most; without one, 500
    #[schemars(with = "f64")]
    #[serde(default)]
    pub(super) limit: Option<f64>,
}

/// The schema of `T`, without what no model needs to read.
fn schema_of<T: JsonSchema>() -> Value {
    let generator =
        SchemaSettings::draft2020_12().with(|settings| settings.meta_schema = None).into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    if let Some(schema) = schema.as_object_mut() {
        schema.shift_remove("title");
        for property in schema
            .get_mut("properties")
            .and_then(Value::as_object_mut)
            .into_iter()
            .flat_map(|all| all.values_mut())
        {
            if let Some(property) = property.as_object_mut() {
                property.shift_remove("format");
                property.shift_remove("default");
            }
        }
    }
    schema
}
