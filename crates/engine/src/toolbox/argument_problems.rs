//! What is wrong with the arguments of a call, in the order of the tool's schema, for the model.
//!
//! The validator decides whether arguments fit. This walk explains a refusal as pi 1.6 does: missing members first, then
//! the declared ones in the order of their declaration, then what is unknown. A keyword that needs no order is left to the
//! validator. Each pair of schema and value that is on a way is visited once, so a walk takes the steps of a check.

use crate::toolbox::{
    arguments::compile_with_limits,
    coercion::{is_of, types},
    schema_cost::Schema,
};
use jsonschema::{ValidationError, Validator, error::ValidationErrorKind};
use pi_rpc_protocol::{Base, errors};
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// The maximum of argument problems in an error for the model.
const MOST_PROBLEMS: usize = 100;

/// The most values of an `enum` that a problem lists.
const MOST_VALUES: usize = 20;

/// Keywords that look at a value as a whole, in the order of reports.
const OF_SCALARS: [&str; 10] = [
    "enum",
    "const",
    "minLength",
    "maxLength",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
];

/// Keywords about an object as a whole, behind its members.
const OF_OBJECTS: [&str; 2] = ["minProperties", "maxProperties"];

/// Keywords about a list as a whole, behind its items.
const OF_LISTS: [&str; 3] = ["minItems", "maxItems", "uniqueItems"];

/// The lines about `arguments`, which `validator` refuses.
pub(super) fn problem_lines(
    base: Base,
    schema: &Value,
    validator: &Validator,
    arguments: &Value,
) -> Vec<String> {
    let mut walk = Walk { base, schema: Schema::new(schema), validators: HashMap::new() };
    let mut problems = Vec::new();
    walk.schema_at(schema, arguments, &Path::default(), &mut problems);
    if problems.is_empty() {
        problems =
            validator.iter_errors(arguments).take(MOST_PROBLEMS).flat_map(problems_of_validator).collect();
    }
    problems.truncate(MOST_PROBLEMS);
    problems.iter().map(Problem::line).collect()
}

/// JSON as pi writes it: a whole number has no fraction, however the model has written it.
pub(super) fn without_empty_fractions(value: &Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => {
            let float = number.as_f64().unwrap_or_default();
            let whole = float as i64;
            if whole as f64 == float { Value::from(whole) } else { value.clone() }
        }
        Value::Array(items) => items.iter().map(without_empty_fractions).collect(),
        Value::Object(map) => {
            Value::Object(map.iter().map(|(key, it)| (key.clone(), without_empty_fractions(it))).collect())
        }
        _ => value.clone(),
    }
}

/// The place of a value in the arguments.
#[derive(Clone, Default)]
struct Path(Vec<String>);

impl Path {
    fn join(&self, key: impl ToString) -> Self {
        let mut all = self.0.clone();
        all.push(key.to_string());
        Self(all)
    }

    fn text(&self) -> String {
        if self.0.is_empty() { "root".to_owned() } else { self.0.join(".") }
    }

    /// How long the place is, written down; the longer of two places is the deeper one.
    fn len(&self) -> usize {
        self.0.iter().map(|key| key.len() + 1).sum()
    }
}

struct Problem {
    path: Path,
    reason: String,
}

impl Problem {
    fn line(&self) -> String {
        format!("  - {}: {}", self.path.text(), self.reason)
    }
}

struct Walk<'s> {
    base: Base,
    schema: Schema<'s>,
    /// Validators of single keywords, by the addresses of their values.
    validators: HashMap<*const Value, Option<Validator>>,
}

impl<'s> Walk<'s> {
    fn schema_at(&mut self, schema: &'s Value, value: &Value, path: &Path, out: &mut Vec<Problem>) {
        let here = |reason: String| Problem { path: path.clone(), reason };
        let map = match schema {
            Value::Bool(false) => return out.push(here("no value is allowed here".to_owned())),
            Value::Object(map) if out.len() < MOST_PROBLEMS => map,
            _ => return,
        };
        let wanted = types(schema);
        if !wanted.is_empty() && !wanted.iter().any(|it| is_of(value, it)) {
            let reason = errors::argument_type(self.base, &wanted.join(" or "), type_name(value));
            return out.push(here(reason));
        }
        self.keywords(&OF_SCALARS, map, value, path, out);
        match value {
            Value::Object(members) => self.object(map, members, value, path, out),
            Value::Array(items) => self.list(map, items, value, path, out),
            _ => {}
        }
        for part in map.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.schema_at(part, value, path, out);
        }
        for (keyword, is_exclusive) in [("anyOf", false), ("oneOf", true)] {
            if let Some(branches) = map.get(keyword).and_then(Value::as_array) {
                self.union(branches, is_exclusive, value, path, out);
            }
        }
        if let Some(refused) = map.get("not")
            && self.accepts(refused, value)
        {
            out.push(here("must not match the schema in not".to_owned()));
        }
        if let Some(condition) = map.get("if") {
            let branch = if self.accepts(condition, value) { "then" } else { "else" };
            if let Some(branch) = map.get(branch) {
                self.schema_at(branch, value, path, out);
            }
        }
        if let Some(target) = map.get("$ref").and_then(Value::as_str).and_then(|it| self.schema.target(it)) {
            self.schema_at(target, value, path, out);
        }
    }

    /// Whether the walk finds nothing wrong.
    fn accepts(&mut self, schema: &'s Value, value: &Value) -> bool {
        let mut found = Vec::new();
        self.schema_at(schema, value, &Path::default(), &mut found);
        found.is_empty()
    }

    /// Reports those of the keywords that refuse the value.
    fn keywords(
        &mut self,
        keywords: &[&str],
        schema: &'s Map<String, Value>,
        value: &Value,
        path: &Path,
        out: &mut Vec<Problem>,
    ) {
        for keyword in keywords {
            if let Some(limit) = schema.get(*keyword)
                && !self.passes(keyword, limit, value)
            {
                out.push(Problem { path: path.clone(), reason: keyword_reason(keyword, limit) });
            }
        }
    }

    /// Whether the value satisfies one keyword, by the validator.
    fn passes(&mut self, keyword: &str, limit: &'s Value, value: &Value) -> bool {
        let compiled = self.validators.entry(std::ptr::from_ref(limit));
        let validator = compiled.or_insert_with(|| compile_with_limits(&json!({ keyword: limit })).ok());
        validator.as_ref().is_none_or(|it| it.is_valid(value))
    }

    fn object(
        &mut self,
        schema: &'s Map<String, Value>,
        members: &Map<String, Value>,
        value: &Value,
        path: &Path,
        out: &mut Vec<Problem>,
    ) {
        for name in required(schema.get("required")).filter(|name| !members.contains_key(*name)) {
            let reason = errors::argument_missing(self.base, name);
            out.push(Problem { path: path.join(name), reason });
        }
        let declared = schema.get("properties").and_then(Value::as_object);
        for (name, own) in declared.into_iter().flatten() {
            if let Some(member) = members.get(name) {
                self.schema_at(own, member, &path.join(name), out);
            }
        }
        let patterns = schema.get("patternProperties").and_then(Value::as_object);
        for (name, member) in members {
            let mut is_known = declared.is_some_and(|it| it.contains_key(name));
            for (pattern, own) in patterns.into_iter().flatten() {
                if self.matches(pattern, own, name) {
                    is_known = true;
                    self.schema_at(own, member, &path.join(name), out);
                }
            }
            match schema.get("additionalProperties") {
                Some(Value::Bool(false)) if !is_known => {
                    out.push(Problem { path: path.join(name), reason: "unknown field".to_owned() });
                }
                Some(own) if !is_known => self.schema_at(own, member, &path.join(name), out),
                _ => {}
            }
            if let Some(names) = schema.get("propertyNames")
                && !self.accepts(names, &Value::from(name.as_str()))
            {
                out.push(Problem { path: path.join(name), reason: "invalid property name".to_owned() });
            }
        }
        self.keywords(&OF_OBJECTS, schema, value, path, out);
        for keyword in ["dependentRequired", "dependencies", "dependentSchemas"] {
            let dependent = schema.get(keyword).and_then(Value::as_object).into_iter().flatten();
            for (name, needs) in dependent.filter(|(name, _)| members.contains_key(*name)) {
                if !needs.is_array() {
                    self.schema_at(needs, value, path, out);
                }
                for missing in required(Some(needs)).filter(|name| !members.contains_key(*name)) {
                    let reason = format!("required when {name} is present");
                    out.push(Problem { path: path.join(missing), reason });
                }
            }
        }
    }

    /// Whether a name is one that `patternProperties` means; `schema` is what they have to be.
    fn matches(&mut self, pattern: &str, schema: &'s Value, name: &str) -> bool {
        let compiled = self.validators.entry(std::ptr::from_ref(schema));
        let validator = compiled.or_insert_with(|| compile_with_limits(&json!({ "pattern": pattern })).ok());
        validator.as_ref().is_some_and(|it| it.is_valid(&Value::from(name)))
    }

    fn list(
        &mut self,
        schema: &'s Map<String, Value>,
        items: &[Value],
        value: &Value,
        path: &Path,
        out: &mut Vec<Problem>,
    ) {
        let (first, rest) = match (schema.get("items"), schema.get("prefixItems")) {
            (Some(Value::Array(first)), _) => (first.as_slice(), schema.get("additionalItems")),
            (rest, Some(Value::Array(first))) => (first.as_slice(), rest),
            (rest, _) => (&[][..], rest),
        };
        for (at, item) in items.iter().enumerate() {
            if let Some(own) = first.get(at).or(rest) {
                self.schema_at(own, item, &path.join(at), out);
            }
        }
        self.keywords(&OF_LISTS, schema, value, path, out);
        if let Some(wanted) = schema.get("contains") {
            let limit = |keyword: &str| schema.get(keyword).and_then(Value::as_u64);
            let (least, most) = (limit("minContains").unwrap_or(1), limit("maxContains"));
            let found = items.iter().filter(|item| self.accepts(wanted, item)).count() as u64;
            if found < least || most.is_some_and(|most| found > most) {
                out.push(Problem { path: path.clone(), reason: contains_reason(least, most) });
            }
        }
    }

    /// Reports the branch that the value was most likely meant for: the one that its tag names, else the one that declares
    /// most of its members, and among these the one whose first problem is deepest.
    fn union(
        &mut self,
        branches: &'s [Value],
        is_exclusive: bool,
        value: &Value,
        path: &Path,
        out: &mut Vec<Problem>,
    ) {
        let found: Vec<_> = branches
            .iter()
            .map(|branch| {
                let mut own = Vec::new();
                self.schema_at(branch, value, path, &mut own);
                own
            })
            .collect();
        let fitting = found.iter().filter(|problems| problems.is_empty()).count();
        if fitting == 1 || fitting > 1 && !is_exclusive {
            return;
        }
        if fitting > 1 {
            let reason = "matches more than one alternative".to_owned();
            return out.push(Problem { path: path.clone(), reason });
        }
        if let (Some((key, tags)), Some(members)) = (self.tag(branches), value.as_object()) {
            let at = members.get(key).and_then(|given| tags.iter().position(|tag| *tag == given));
            let Some(problems) = at.and_then(|at| found.into_iter().nth(at)) else {
                let reason = format!("expected one of {}", listed(&tags));
                return out.push(Problem { path: path.join(key), reason });
            };
            return out.extend(problems);
        }
        let declares = |branch: &'s Value| {
            let declared = self.resolved(branch).get("properties").and_then(Value::as_object);
            let members = value.as_object().into_iter().flatten();
            members.filter(|(name, _)| declared.is_some_and(|it| it.contains_key(*name))).count()
        };
        let mut best: Option<((usize, usize), Vec<Problem>)> = None;
        for (branch, problems) in branches.iter().zip(found) {
            let rank = (declares(branch), problems[0].path.len());
            if best.as_ref().is_none_or(|(known, _)| rank > *known) {
                best = Some((rank, problems));
            }
        }
        out.extend(best.into_iter().flat_map(|(_, problems)| problems));
    }

    /// The first member by whose value the branches differ, and its value in each.
    fn tag(&self, branches: &'s [Value]) -> Option<(&'s str, Vec<&'s Value>)> {
        let resolved: Vec<_> = branches.iter().map(|branch| self.resolved(branch)).collect();
        let first = resolved.first()?.get("properties")?.as_object()?;
        first.keys().find_map(|key| {
            let tag = |branch: &&'s Value| branch.get("properties")?.get(key)?.get("const");
            let tags: Vec<_> = resolved.iter().map(tag).collect::<Option<_>>()?;
            let is_tag = |(at, tag): (usize, &&Value)| {
                !tag.is_object() && !tag.is_array() && !tags[..at].contains(tag)
            };
            tags.iter().enumerate().all(is_tag).then_some((key.as_str(), tags))
        })
    }

    /// What a schema refers to, or the schema itself.
    fn resolved(&self, schema: &'s Value) -> &'s Value {
        let target = schema.get("$ref").and_then(Value::as_str).and_then(|it| self.schema.target(it));
        target.unwrap_or(schema)
    }
}

/// The names of a list of names.
fn required(names: Option<&Value>) -> impl Iterator<Item = &str> {
    names.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// The words of pi 1.6, in every dialect.
fn keyword_reason(keyword: &str, limit: &Value) -> String {
    let limit = &without_empty_fractions(limit);
    let few = |unit: &str| format!("expected at least {limit} {unit}");
    let many = |unit: &str| format!("expected at most {limit} {unit}");
    match keyword {
        "enum" => {
            format!("expected one of {}", listed(&limit.as_array().into_iter().flatten().collect::<Vec<_>>()))
        }
        "minLength" => few("characters"),
        "maxLength" => many("characters"),
        "pattern" => format!("expected to match {}", limit.as_str().unwrap_or_default()),
        "minimum" => format!("expected >= {limit}"),
        "maximum" => format!("expected <= {limit}"),
        "exclusiveMinimum" => format!("expected > {limit}"),
        "exclusiveMaximum" => format!("expected < {limit}"),
        "multipleOf" => format!("expected a multiple of {limit}"),
        "minProperties" => few("properties"),
        "maxProperties" => many("properties"),
        "minItems" => few("items"),
        "maxItems" => many("items"),
        "uniqueItems" => "expected unique items".to_owned(),
        _ => format!("expected {limit}"),
    }
}

fn contains_reason(least: u64, most: Option<u64>) -> String {
    let items = |count: u64| if count == 1 { "item" } else { "items" };
    match most {
        None => format!("expected at least {least} matching {}", items(least)),
        Some(most) if least == 0 => format!("expected at most {most} matching {}", items(most)),
        Some(most) => format!("expected between {least} and {most} matching items"),
    }
}

/// Values as JSON, the first of them where they are many.
fn listed(values: &[&Value]) -> String {
    let shown: Vec<_> = values.iter().take(MOST_VALUES).map(|value| value.to_string()).collect();
    let more = match values.len().saturating_sub(MOST_VALUES) {
        0 => String::new(),
        more => format!(", ... and {more} more"),
    };
    format!("[{}{more}]", shown.join(","))
}

/// The problems behind an error of the validator, for keywords that the walk does not look at.
fn problems_of_validator(error: ValidationError<'_>) -> Vec<Problem> {
    let segments = error.instance_path().as_str().split('/').skip(1);
    let path = Path(segments.map(|it| it.replace("~1", "/").replace("~0", "~")).collect());
    match error.kind() {
        ValidationErrorKind::UnevaluatedProperties { unexpected } => unexpected
            .iter()
            .map(|name| Problem { path: path.join(name), reason: "unknown field".to_owned() })
            .collect(),
        _ => vec![Problem { path, reason: error.to_string() }],
    }
}

/// Name of the type of a value, in the words of JSON Schema.
fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) if is_of(value, "integer") => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use crate::toolbox::arguments::{ToolAccess, ToolOwner, Toolbox};
    use pi_rpc_model::types::ToolSpec;
    use pi_rpc_protocol::{Dialect, JsonObject};
    use serde_json::{Value, json};
    use std::collections::BTreeMap;

    /// Calls of a tool that is called `own`, by what is wrong with them.
    const CASES: &str = include_str!("../../../../tests/as_pi/argument_errors/cases.json");

    /// What pi-ai 1.6.0 answers; `cargo bless as_pi` records it.
    const RECORDED: &str = include_str!("../../../../tests/as_pi/argument_errors/recorded.json");

    /// Cases in which pi makes another value of an argument, and runs the call.
    const DIFFERENT: [&str; 2] = ["fraction for an integer", "null for a required scalar"];

    #[derive(serde::Deserialize)]
    struct Case {
        parameters: Value,
        arguments: JsonObject,
    }

    fn answer(parameters: Value, arguments: &JsonObject) -> Option<String> {
        let spec = ToolSpec {
            name: "own".to_owned(),
            description: String::new(),
            parameters: parameters.into(),
            exclusive: false,
            output: None,
        };
        let mut toolbox = Toolbox::new(Vec::new());
        toolbox.add(spec, ToolOwner::Extension(0), true, ToolAccess::DIRECT).unwrap();
        toolbox.check(Dialect::Pi1.base(), "own", arguments).err()
    }

    #[test]
    fn wrong_arguments_are_told_as_in_pi() {
        let cases: BTreeMap<String, Case> = serde_json::from_str(CASES).unwrap();
        let recorded: BTreeMap<String, Option<String>> = serde_json::from_str(RECORDED).unwrap();
        let ours = cases.into_iter().map(|(name, it)| (name, answer(it.parameters, &it.arguments)));
        let ours: BTreeMap<_, _> = ours.collect();
        let differ: Vec<_> = ours.iter().filter(|(name, text)| recorded.get(*name) != Some(text)).collect();
        let differ: Vec<_> = differ.into_iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(differ, DIFFERENT);
    }

    #[test]
    fn problems_are_listed_to_a_limit() {
        let parameters = json!({ "properties": { "a": { "items": { "type": "object" } } } });
        let arguments = json!({ "a": vec![1; 1000] });
        let text = answer(parameters, arguments.as_object().unwrap()).unwrap();
        let (problems, _) = text.split_once("\n\n").unwrap();
        let lines: Vec<_> = problems.lines().skip(1).collect();
        let expected: Vec<_> =
            (0..100).map(|at| format!("  - a.{at}: expected object, got integer")).collect();
        assert_eq!(lines, expected);
    }

    #[test]
    fn unevaluated_members_are_named() {
        let parameters = json!({ "allOf": [{ "properties": { "a": {} } }], "unevaluatedProperties": false });
        let arguments = json!({ "a": 1, "b": 2 });
        let text = answer(parameters, arguments.as_object().unwrap()).unwrap();
        assert!(text.starts_with("Validation failed for tool \"own\":\n  - b: unknown field\n\n"), "{text}");
    }
}
