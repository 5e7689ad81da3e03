//! Tools as scripts see them: the names and the types of TypeScript.
//!
//! Types come from JSON Schemas of strangers, so they are bounded: where one is too deep, too long or refers to itself, it is `unknown`.

use serde_json::Value;
use std::fmt::Write as _;

/// The longest type, in bytes.
const MAX_TYPE: usize = 16_000;

/// How deep types may be nested.
const MAX_DEPTH: usize = 24;

/// How many references of one schema are followed.
const MAX_REFERENCES: usize = 32;

/// The name by which scripts call a tool: what no identifier of JavaScript has is `_`.
pub fn identifier(name: &str) -> String {
    let is_part = |c: char, is_first: bool| {
        c == '_' || c == '$' || c.is_ascii_alphabetic() || !is_first && c.is_ascii_digit()
    };
    let mut identifier = String::with_capacity(name.len());
    for c in name.chars() {
        let is_first = identifier.is_empty();
        identifier.push(if is_part(c, is_first) { c } else { '_' });
    }
    if identifier.is_empty() { "_".to_owned() } else { identifier }
}

/// A tool for a script: its description and how it is called. Without `output`, calls resolve to the text of the result.
pub fn described(
    name: &str,
    description: &str,
    guidelines: &[String],
    parameters: &Value,
    output: Option<&Value>,
) -> String {
    let mut text = description.trim().to_owned();
    for guideline in guidelines.iter().map(|it| it.trim()).filter(|it| !it.is_empty()) {
        let _ = write!(text, "\n- {guideline}");
    }
    let (name, arguments, result) = (identifier(name), schema_type(parameters), result_type(output));
    let _ = write!(
        text,
        "\n\ncodemode tool declaration:\n```ts\ndeclare const tools: {{ {name}(args: {arguments}): Promise<{result}>; }};\n```"
    );
    text
}

/// How scripts call a declared tool, as a sentence for the end of its description.
pub fn script_sentence(name: &str, output: Option<&Value>) -> String {
    let identifier = identifier(name);
    let result = match output.and_then(member_names) {
        Some(members) => format!("`{members}`"),
        None => match result_type(output) {
            text if text == "string" => "its text".to_owned(),
            short if short.len() <= 200 && !short.contains('\n') => format!("`{short}`"),
            _ => format!("what `await describeTool({name:?})` shows"),
        },
    };
    format!("Codemode: scripts call it as `tools.{identifier}(args)`, which resolves to {result}.")
}

fn result_type(output: Option<&Value>) -> String {
    output.map_or_else(|| "string".to_owned(), schema_type)
}

/// The type of the values of a schema.
pub fn schema_type(schema: &Value) -> String {
    let mut reading = SchemaReader { root: schema, resolving: Vec::new(), references: 0, left: MAX_TYPE };
    let text = reading.type_of(schema, 0);
    if text.len() > MAX_TYPE { UNKNOWN.to_owned() } else { text }
}

const UNKNOWN: &str = "unknown";

/// The members of the values of an object's schema: `{ a, b? }`.
fn member_names(schema: &Value) -> Option<String> {
    let members = schema.get("properties")?.as_object().filter(|members| !members.is_empty())?;
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|it| it == name));
    let names: Vec<String> = members
        .keys()
        .map(|name| if is_required(name) { key(name) } else { format!("{}?", key(name)) })
        .collect();
    let text = format!("{{ {} }}", names.join(", "));
    (text.len() <= 400).then_some(text)
}

/// The conversion of one schema.
struct SchemaReader<'a> {
    root: &'a Value,
    /// References that are being followed.
    resolving: Vec<&'a str>,
    references: usize,
    /// Bytes that the type may still have.
    left: usize,
}

impl<'a> SchemaReader<'a> {
    fn type_of(&mut self, schema: &'a Value, depth: usize) -> String {
        let text = self.bounded_type(schema, depth);
        self.left = self.left.saturating_sub(text.len());
        text
    }

    fn bounded_type(&mut self, schema: &'a Value, depth: usize) -> String {
        let Value::Object(members) = schema else {
            return if *schema == Value::Bool(false) { "never" } else { UNKNOWN }.to_owned();
        };
        if depth > MAX_DEPTH || self.left == 0 {
            return UNKNOWN.to_owned();
        }
        if let Some(Value::String(reference)) = members.get("$ref") {
            return self.referred(reference, depth);
        }
        if let Some(value) = members.get("const") {
            return value.to_string();
        }
        if let Some(Value::Array(values)) = members.get("enum") {
            return union(values.iter().map(Value::to_string).collect());
        }
        let variants = members.get("anyOf").or_else(|| members.get("oneOf")).and_then(Value::as_array);
        if let Some(variants) = variants {
            return union(variants.iter().map(|variant| self.type_of(variant, depth + 1)).collect());
        }
        if let Some(parts) = members.get("allOf").and_then(Value::as_array) {
            let types: Vec<String> = parts.iter().map(|part| self.type_of(part, depth + 1)).collect();
            let known = types.into_iter().filter(|text| text != UNKNOWN);
            let known: Vec<String> =
                known.map(|text| if text.contains(" | ") { format!("({text})") } else { text }).collect();
            return if known.is_empty() { UNKNOWN.to_owned() } else { known.join(" & ") };
        }
        match members.get("type") {
            Some(Value::Array(kinds)) => {
                let of = |kind: &Value| self.of_kind(kind.as_str().unwrap_or_default(), schema, depth);
                union(kinds.iter().map(of).collect())
            }
            Some(Value::String(kind)) => self.of_kind(kind, schema, depth),
            _ if members.contains_key("properties") => self.of_kind("object", schema, depth),
            _ if members.contains_key("items") => self.of_kind("array", schema, depth),
            _ => UNKNOWN.to_owned(),
        }
    }

    fn referred(&mut self, reference: &'a str, depth: usize) -> String {
        let target = reference.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
        let Some(target) =
            target.filter(|_| !self.resolving.contains(&reference) && self.references < MAX_REFERENCES)
        else {
            return UNKNOWN.to_owned();
        };
        self.references += 1;
        self.resolving.push(reference);
        let text = self.type_of(target, depth + 1);
        self.resolving.pop();
        text
    }

    fn of_kind(&mut self, kind: &str, schema: &'a Value, depth: usize) -> String {
        match kind {
            "integer" => "number".to_owned(),
            "string" | "number" | "boolean" | "null" => kind.to_owned(),
            "array" => match schema.get("items").filter(|items| items.is_object()) {
                Some(items) => format!("Array<{}>", self.type_of(items, depth + 1)),
                None => "Array<unknown>".to_owned(),
            },
            "object" => self.of_object(schema, depth),
            _ => UNKNOWN.to_owned(),
        }
    }

    fn of_object(&mut self, schema: &'a Value, depth: usize) -> String {
        let required = schema.get("required").and_then(Value::as_array);
        let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|it| it == name));
        let mut members = Vec::new();
        for (name, member) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let mark = if is_required(name) { "" } else { "?" };
            let text = format!("{}{mark}: {};", key(name), self.type_of(member, depth + 1));
            members.push((about(member), text));
        }
        match schema.get("additionalProperties") {
            Some(Value::Bool(false)) => {}
            Some(other) => {
                members.push((None, format!("[key: string]: {};", self.type_of(other, depth + 1))));
            }
            None if members.is_empty() => members.push((None, "[key: string]: unknown;".to_owned())),
            None => {}
        }
        if members.is_empty() {
            return "{}".to_owned();
        }
        if members.iter().all(|(about, _)| about.is_none()) {
            let texts: Vec<String> = members.into_iter().map(|(_, text)| text).collect();
            return format!("{{ {} }}", texts.join(" "));
        }
        let mut lines = "{\n".to_owned();
        for (about, text) in members {
            if let Some(about) = about {
                let _ = writeln!(lines, "  // {about}");
            }
            let _ = writeln!(lines, "  {}", text.replace('\n', "\n  "));
        }
        lines + "}"
    }
}

/// What a schema says of its values, in one line: the description, and the default.
fn about(schema: &Value) -> Option<String> {
    let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    if schema.get("type").is_some_and(|kind| kind == "integer") {
        words.push("@integer".to_owned());
    }
    for keyword in ["minimum", "maximum", "default"] {
        if let Some(value) = schema.get(keyword).filter(|value| !value.is_null()) {
            words.push(format!("@{keyword} {value}"));
        }
    }
    let line = words.join(" ");
    let line: String =
        line.chars().filter(|c| !c.is_control() && !['\u{2028}', '\u{2029}'].contains(c)).collect();
    (!line.is_empty()).then_some(line)
}

fn union(mut types: Vec<String>) -> String {
    let mut seen = std::collections::BTreeSet::new();
    types.retain(|text| seen.insert(text.clone()));
    match types.len() {
        0 => "never".to_owned(),
        _ if seen.contains(UNKNOWN) => UNKNOWN.to_owned(),
        _ => types.join(" | "),
    }
}

/// The name of a member as an object type has it.
fn key(name: &str) -> String {
    if identifier(name) == name { name.to_owned() } else { Value::from(name).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn schemas_become_types() {
        for (schema, expected) in [
            (json!({ "type": "object", "properties": {} }), "{ [key: string]: unknown; }"),
            (
                json!({ "type": "object", "required": ["t"], "properties": { "t": { "type": "string" }, "a-b": { "type": "integer", "minimum": 1, "description": "How\nmany" } } }),
                "{\n  t: string;\n  // How many @integer @minimum 1\n  \"a-b\"?: number;\n}",
            ),
            (json!({ "enum": ["a", 1, null] }), "\"a\" | 1 | null"),
            (json!({ "type": ["string", "null"] }), "string | null"),
            (
                json!({ "type": "array", "items": { "anyOf": [{ "type": "string" }, true] } }),
                "Array<unknown>",
            ),
            (
                json!({ "$ref": "#/$defs/n", "$defs": { "n": { "type": "object", "properties": { "next": { "$ref": "#/$defs/n" } } } } }),
                "{ next?: unknown; }",
            ),
            (json!({ "$ref": "https://elsewhere" }), "unknown"),
            (json!({ "allOf": [{ "type": "string" }, {}] }), "string"),
        ] {
            assert_eq!(schema_type(&schema), expected, "{schema}");
        }
    }

    #[test]
    fn explosive_schema_is_unknown() {
        let mut schema = json!({ "type": "string" });
        for _ in 0..60 {
            schema = json!({ "type": "array", "items": schema });
        }
        assert!(schema_type(&schema).contains("unknown"));
        let wide: serde_json::Map<String, Value> =
            (0..5000).map(|at| (format!("member_{at}"), json!({ "type": "string" }))).collect();
        assert_eq!(schema_type(&json!({ "type": "object", "properties": wide })), "unknown");
    }

    #[test]
    fn names_become_identifiers() {
        for (name, expected) in
            [("mcp__t__echo", "mcp__t__echo"), ("my-tool", "my_tool"), ("1a", "_a"), ("", "_")]
        {
            assert_eq!(identifier(name), expected);
        }
    }
}
