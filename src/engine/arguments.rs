//! The tools that a model may call, and whether the arguments of a call fit.

use crate::{
    model::types::ToolSpec,
    protocol::{Base, JsonObject, errors},
};
use jsonschema::{
    Validator,
    error::{TypeKind, ValidationErrorKind},
};
use serde_json::Value;
use std::sync::{Arc, OnceLock};

/// The tools that there are, with their compiled schemas.
pub struct Toolbox {
    tools: Vec<Tool>,
    /// What the model is offered, once it was asked for.
    specs: OnceLock<Arc<[ToolSpec]>>,
}

struct Tool {
    spec: ToolSpec,
    validator: Validator,
    owner: Owner,
    offered: bool,
}

/// Who carries a tool out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The server.
    Server,
    /// The extension at this place.
    Extension(usize),
    /// The host.
    Host,
}

impl Toolbox {
    /// Compiles the tools' parameter schemas; the error names the tool.
    pub fn new(specs: Vec<ToolSpec>) -> Result<Self, String> {
        let mut toolbox = Self { tools: Vec::new(), specs: OnceLock::new() };
        for spec in specs {
            let name = spec.name.clone();
            toolbox.add(spec, Owner::Server, true).map_err(|reason| format!("tool {name}: {reason}"))?;
        }
        Ok(toolbox)
    }

    /// Adds a tool; the error says what is wrong with its parameter schema.
    pub(super) fn add(&mut self, spec: ToolSpec, owner: Owner, offered: bool) -> Result<(), String> {
        let validator = jsonschema::validator_for(&spec.parameters).map_err(|error| error.to_string())?;
        self.tools.push(Tool { spec, validator, owner, offered });
        self.specs = OnceLock::new();
        Ok(())
    }

    /// Removes what somebody carries out.
    pub(super) fn remove_of(&mut self, owner: Owner) {
        self.tools.retain(|tool| tool.owner != owner);
        self.specs = OnceLock::new();
    }

    /// Who carries out the tool of that name.
    pub(super) fn owner(&self, name: &str) -> Option<Owner> {
        self.find(name).map(|tool| tool.owner)
    }

    /// Whether the model is offered a tool of that name.
    pub(super) fn is_offered(&self, name: &str) -> bool {
        self.find(name).is_some_and(|tool| tool.offered)
    }

    /// Whether there is a tool of that name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// What the model is told of them.
    pub fn specs(&self) -> &Arc<[ToolSpec]> {
        self.specs.get_or_init(|| {
            self.tools.iter().filter(|tool| tool.offered).map(|tool| tool.spec.clone()).collect()
        })
    }

    /// Whether a tool must run alone, in dialects that run others side by side.
    pub fn is_exclusive(&self, name: &str) -> bool {
        self.find(name).is_some_and(|tool| tool.spec.exclusive)
    }

    /// The arguments as the tool takes them, or the text of the error result.
    pub fn check(&self, base: Base, name: &str, arguments: &JsonObject) -> Result<JsonObject, String> {
        let tool = self.find(name).filter(|tool| tool.offered);
        let Some(tool) = tool else { return Err(errors::tool_not_found(base, name)) };
        let mut value = Value::Object(arguments.clone());
        coerce(&mut value, &tool.spec.parameters);
        let problems: Vec<String> = tool.validator.iter_errors(&value).map(|error| problem(&error)).collect();
        match value {
            Value::Object(arguments) if problems.is_empty() => Ok(arguments),
            _ => {
                let received = serde_json::to_string_pretty(arguments).unwrap_or_default();
                Err(errors::invalid_arguments(base, name, &problems.join("\n"), &received))
            }
        }
    }

    fn find(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.spec.name == name)
    }
}

fn problem(error: &jsonschema::ValidationError) -> String {
    if let ValidationErrorKind::Required { property } = error.kind() {
        let name = property.as_str().unwrap_or_default();
        return format!("  - {name}: must have required property '{name}'");
    }
    let path = error.instance_path().to_string();
    let path = path.trim_start_matches('/').replace('/', ".");
    let path = if path.is_empty() { "root".to_owned() } else { path };
    let reason = match error.kind() {
        ValidationErrorKind::Type { kind: TypeKind::Single(wanted) } => format!("must be {wanted}"),
        _ => error.to_string(),
    };
    format!("  - {path}: {reason}")
}

/// Makes a scalar what the schema asks for where nothing is lost, as models often write `"5"` for 5.
fn coerce(value: &mut Value, schema: &Value) {
    match value {
        Value::Object(map) => {
            let required = schema.get("required").and_then(Value::as_array);
            let is_required = |key: &str| required.is_some_and(|names| names.iter().any(|name| name == key));
            // `null` for an optional argument is as if it were absent.
            map.retain(|key, value| !value.is_null() || is_required(key));
            for (key, value) in map {
                if let Some(schema) = schema.pointer("/properties").and_then(|p| p.get(key)) {
                    coerce(value, schema);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                items.iter_mut().for_each(|item| coerce(item, schema));
            }
        }
        scalar => {
            if let Some(wanted) = schema.get("type").and_then(Value::as_str)
                && let Some(made) = convert(scalar, wanted)
            {
                *scalar = made;
            }
        }
    }
}

fn convert(value: &Value, wanted: &str) -> Option<Value> {
    match (wanted, value) {
        ("number", Value::String(text)) => text.trim().parse::<f64>().ok().and_then(whole_or_float),
        ("integer", Value::String(text)) => text.trim().parse::<i64>().ok().map(Value::from),
        ("number" | "integer", Value::Bool(flag)) => Some(Value::from(i64::from(*flag))),
        ("boolean", Value::Number(number)) => match number.as_f64() {
            Some(0.0) => Some(false.into()),
            Some(1.0) => Some(true.into()),
            _ => None,
        },
        ("boolean", Value::String(text)) => text.parse::<bool>().ok().map(Value::from),
        ("string", Value::Number(number)) => Some(Value::from(number.to_string())),
        ("string", Value::Bool(flag)) => Some(Value::from(flag.to_string())),
        _ => None,
    }
}

fn whole_or_float(number: f64) -> Option<Value> {
    let whole = number as i64;
    match whole as f64 == number {
        true => Some(Value::from(whole)),
        false => serde_json::Number::from_f64(number).map(Value::Number),
    }
}
