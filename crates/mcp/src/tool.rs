//! Definitions of tools, from what a server lists.

use super::schema_cost;
use pi_rpc_protocol::JsonObject;
use serde_json::{Value, json};

/// The longest description, in bytes; more is cut.
const MAX_DESCRIPTION: usize = 16 * 1024;

/// The largest schema of arguments, in bytes of JSON; a tool with a larger one is left out.
const MAX_SCHEMA: usize = 256 * 1024;

/// A tool of a server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tool {
    /// The name at the server.
    pub name: String,
    /// A text for the model; not empty.
    pub description: String,
    /// The schema of its arguments: that of an object.
    pub parameters: JsonObject,
    /// The schema of `structuredContent` of its results, if the server gives one.
    pub output: Option<Value>,
}

impl Tool {
    /// Reads a definition.
    ///
    /// # Errors
    ///
    /// Why the tool is left out.
    pub(crate) fn read(server: &str, value: &Value) -> Result<Self, String> {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let name = text(value.get("name")).filter(|name| !name.trim().is_empty());
        let name = name.ok_or("a tool without a name is left out")?;
        let schema = value.get("inputSchema").cloned().unwrap_or_else(|| json!({}));
        let Value::Object(mut parameters) = schema else {
            return Err(format!(
                "the tool \"{}\" is left out: inputSchema: expected an object",
                shown(&name)
            ));
        };
        if serde_json::to_string(&parameters).is_ok_and(|text| text.len() > MAX_SCHEMA) {
            return Err(format!(
                "the tool \"{}\" is left out: its schema is larger than {MAX_SCHEMA} bytes",
                shown(&name)
            ));
        }
        if !schema_cost::is_bounded(&parameters) {
            let text =
                format!("inputSchema: it refers to its parts more than {} times", schema_cost::MAX_COST);
            return Err(format!("the tool \"{}\" is left out: {text}", shown(&name)));
        }
        parameters.entry("type").or_insert_with(|| "object".into());
        parameters.entry("properties").or_insert_with(|| json!({}));
        let title = text(value.get("title")).or_else(|| text(value.pointer("/annotations/title")));
        let described = text(value.get("description")).map(|text| text.trim().to_owned());
        let described =
            described.filter(|text| !text.is_empty()).or(title.filter(|title| !title.trim().is_empty()));
        let described = described.unwrap_or_else(|| format!("MCP tool {name} from server {server}"));
        // Only shown, in types: one that is too large is left out.
        let output = value.get("outputSchema").filter(|schema| schema.to_string().len() <= MAX_SCHEMA);
        Ok(Self { description: plain(&described), name, parameters, output: output.cloned() })
    }

    /// The schema of a whole result, as scripts get it.
    pub(crate) fn result_schema(&self) -> JsonObject {
        let text = || json!({ "type": "string" });
        let kinds = ["text", "image", "audio", "resource_link", "resource"];
        let block = json!({
            "type": "object",
            "required": ["type"],
            "properties": { "type": { "enum": kinds }, "text": text(), "data": text(), "mimeType": text() },
            "additionalProperties": true,
        });
        let structured = self.output.clone().unwrap_or(Value::Bool(true));
        let schema = json!({
            "type": "object",
            "required": ["content"],
            "properties": {
                "content": { "type": "array", "items": block },
                "structuredContent": structured,
                "isError": { "type": "boolean" },
            },
        });
        schema.as_object().cloned().unwrap_or_default()
    }
}

/// A text without control characters, which hosts might pass to a terminal, cut where it is too long.
fn plain(text: &str) -> String {
    let text = &text[..text.floor_char_boundary(MAX_DESCRIPTION)];
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

/// The beginning of a name, for an error.
fn shown(name: &str) -> String {
    plain(name).chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_parts_are_filled_in() {
        let tool = Tool::read("s", &json!({ "name": "echo" })).unwrap();
        assert_eq!(tool.description, "MCP tool echo from server s");
        assert_eq!(Value::from(tool.parameters), json!({ "type": "object", "properties": {} }));
        let titled =
            json!({ "name": "e", "annotations": { "title": "E" }, "inputSchema": { "type": "object" } });
        assert_eq!(Tool::read("s", &titled).unwrap().description, "E");
    }

    #[test]
    fn unusable_definitions_are_named() {
        for (value, error) in [
            (json!({}), "a tool without a name is left out"),
            (
                json!({ "name": "x", "inputSchema": 1 }),
                "the tool \"x\" is left out: inputSchema: expected an object",
            ),
            (
                json!({ "name": "x", "inputSchema": { "description": "y".repeat(MAX_SCHEMA) } }),
                "the tool \"x\" is left out: its schema is larger than 262144 bytes",
            ),
        ] {
            assert_eq!(Tool::read("s", &value).unwrap_err(), error);
        }
    }

    #[test]
    fn descriptions_have_no_control_characters() {
        let tool = Tool::read("s", &json!({ "name": "x", "description": "a\u{1b}[2Jb\nc" })).unwrap();
        assert_eq!(tool.description, "a[2Jb\nc");
        let long =
            Tool::read("s", &json!({ "name": "x", "description": "é".repeat(MAX_DESCRIPTION) })).unwrap();
        assert_eq!(long.description.len(), MAX_DESCRIPTION);
    }
}
