//! The commands of a dialect as people type them, from its schema: names, members, and what values these take.

use pi_rpc_export::json_schema;
use pi_rpc_protocol::Dialect;
use serde_json::Value;

/// The commands of a dialect.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    commands: Vec<CommandEntry>,
}

/// A command.
#[derive(Clone, Debug)]
pub struct CommandEntry {
    /// Its `type`.
    pub name: String,
    /// What it does.
    pub description: String,
    /// Its members without `id` and `type`, in the order of the schema.
    pub members: Vec<MemberEntry>,
}

/// A member of a command.
#[derive(Clone, Debug)]
pub struct MemberEntry {
    /// Its name.
    pub name: String,
    /// What it means.
    pub description: String,
    /// Whether the command needs it.
    pub is_required: bool,
    /// The values that it takes.
    pub values: MemberValues,
}

/// The values of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberValues {
    /// Any text.
    Text,
    /// One of these texts.
    Choice(Vec<String>),
    /// `true` or `false`.
    Flag,
    /// A number.
    Number,
    /// An array or an object, written as JSON.
    Json,
}

impl Catalogue {
    /// The commands of `dialect`.
    pub fn of(dialect: Dialect) -> Self {
        let schema = json_schema(dialect);
        let defs = &schema["$defs"];
        let branches = defs["RpcCommand"]["oneOf"].as_array().into_iter().flatten();
        let mut commands: Vec<CommandEntry> =
            branches.map(|branch| resolve(branch, defs)).filter_map(|def| command(def, defs)).collect();
        commands.sort_by(|one, other| one.name.cmp(&other.name));
        Self { commands }
    }

    /// All commands, by name.
    pub fn commands(&self) -> &[CommandEntry] {
        &self.commands
    }

    /// The command of this name.
    pub fn command(&self, name: &str) -> Option<&CommandEntry> {
        self.commands.iter().find(|command| command.name == name)
    }

    /// The command whose name is most similar, if it is similar at all.
    pub fn nearest(&self, name: &str) -> Option<&str> {
        let names = self.commands.iter().map(|command| command.name.as_str());
        let nearest = names.min_by_key(|known| strsim::damerau_levenshtein(name, known))?;
        (strsim::damerau_levenshtein(name, nearest) <= MAX_TYPOS).then_some(nearest)
    }
}

/// The most typing errors in a name that is taken for another.
const MAX_TYPOS: usize = 3;

impl CommandEntry {
    /// The member of this name.
    pub fn member(&self, name: &str) -> Option<&MemberEntry> {
        self.members.iter().find(|member| member.name == name)
    }

    /// The member that takes the text behind the command: the first required one that is a text, else the first text.
    pub fn main_text(&self) -> Option<&MemberEntry> {
        let mut texts = self.members.iter().filter(|member| member.values == MemberValues::Text);
        texts.clone().find(|member| member.is_required).or_else(|| texts.next())
    }

    /// The names of its members, those in brackets that may be left out.
    pub fn usage(&self) -> String {
        let shown = self.members.iter().map(|member| match member.is_required {
            true => member.name.clone(),
            false => format!("[{}]", member.name),
        });
        shown.collect::<Vec<_>>().join(" ")
    }
}

fn command(def: &Value, defs: &Value) -> Option<CommandEntry> {
    let properties = def["properties"].as_object()?;
    let required: Vec<&str> =
        def["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let own = properties.iter().filter(|(name, _)| !matches!(name.as_str(), "id" | "type"));
    let members = own.map(|(name, property)| {
        let target = resolve(property, defs);
        let description = property["description"].as_str().or(target["description"].as_str());
        MemberEntry {
            name: name.clone(),
            description: description.unwrap_or_default().to_owned(),
            is_required: required.contains(&name.as_str()),
            values: values(target, defs),
        }
    });
    Some(CommandEntry {
        name: properties.get("type")?["const"].as_str()?.to_owned(),
        description: def["description"].as_str().unwrap_or_default().to_owned(),
        members: members.collect(),
    })
}

fn values(schema: &Value, defs: &Value) -> MemberValues {
    if let Some(choices) = schema["enum"].as_array() {
        return MemberValues::Choice(choices.iter().filter_map(Value::as_str).map(str::to_owned).collect());
    }
    // A value that may be null is of its other type.
    let branches = schema["oneOf"].as_array().into_iter().flatten();
    if let Some(only) = branches.map(|it| resolve(it, defs)).find(|it| it["type"] != "null") {
        return values(only, defs);
    }
    match schema["type"].as_str().or_else(|| schema["type"][0].as_str()) {
        Some("string") => MemberValues::Text,
        Some("boolean") => MemberValues::Flag,
        Some("integer" | "number") => MemberValues::Number,
        _ => MemberValues::Json,
    }
}

/// The definition that a schema refers to, else the schema itself.
fn resolve<'a>(schema: &'a Value, defs: &'a Value) -> &'a Value {
    let name = schema["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/"));
    name.map_or(schema, |name| resolve(&defs[name], defs))
}
