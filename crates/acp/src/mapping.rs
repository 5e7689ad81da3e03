//! The mapping between this protocol and ACP, as `schema/acp.json` has it.

use agent_client_protocol::v1::schema::{StopReason as AcpStopReason, ToolKind};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::{collections::BTreeMap, sync::LazyLock};

/// The text of `schema/acp.json`.
pub const MAPPING: &str = include_str!("../../../schema/acp.json");

static PARSED: LazyLock<Mapping> = LazyLock::new(|| {
    // A test reads the file; what it finds wrong never gets this far.
    serde_json::from_str(MAPPING).unwrap_or_default()
});

/// The mapping of this build.
pub fn mapping() -> &'static Mapping {
    &PARSED
}

/// The parts of the mapping that the bridge looks up.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Mapping {
    /// How tools are shown, by name.
    pub tools: BTreeMap<String, ToolMapping>,
    /// The stop reason of ACP for that of a message; `None`: the prompt fails.
    pub stop_reasons: BTreeMap<String, Option<AcpStopReason>>,
    /// The stop reason of ACP for a message that has failed with this text of `schema/errors.json`, by the text's name.
    pub error_stop_reasons: BTreeMap<String, AcpStopReason>,
    /// The name of the mode for a thinking level.
    pub thinking_levels: BTreeMap<String, String>,
    /// Commands of this protocol that clients give as slash commands.
    pub slash_commands: BTreeMap<String, SlashCommandMapping>,
    /// What becomes of frames on their way to an ACP client.
    pub agent: Tables,
    /// What becomes of messages between a host and an ACP agent.
    pub backend: Tables,
}

/// Tables of fates, by the kind of frame and its name.
pub type Tables = BTreeMap<String, BTreeMap<String, FrameMapping>>;

/// What becomes of a frame.
#[derive(Debug, Deserialize)]
pub struct FrameMapping {
    /// Whether it reaches the other side.
    pub fate: Fate,
    /// What it becomes there.
    pub to: String,
    /// Why it is not carried as it is.
    pub why: Option<String>,
}

/// Whether a frame reaches the other side.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// Nothing is lost.
    Carried,
    /// It arrives as something else.
    Changed,
    /// It does not arrive.
    Lost,
}

/// A command of this protocol as a slash command.
#[derive(Debug, Deserialize)]
pub struct SlashCommandMapping {
    /// What it does, for the user.
    pub description: String,
    /// What its text means.
    pub hint: String,
    /// The command of this protocol.
    pub command: String,
}

/// How calls of a tool are shown.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ToolMapping {
    /// The kind of the tool.
    pub kind: ToolKind,
    /// The title, with arguments in braces.
    pub title: String,
    /// The argument that is the path.
    pub path: Option<String>,
    /// The argument that is the first line.
    pub line: Option<String>,
    /// The argument with a list of replacements.
    pub edits: Option<String>,
    /// The argument, or the member of a replacement, with the old text.
    pub old_text: Option<String>,
    /// The argument, or the member of a replacement, with the new text.
    pub new_text: Option<String>,
    /// The argument that is a shell command.
    pub runs: Option<String>,
    /// The member of the result's details that is the plan.
    pub plan: Option<String>,
}

impl ToolMapping {
    /// The title of a call: the arguments in the places of their names, on one line.
    pub fn title(&self, name: &str, arguments: &Map<String, Value>) -> String {
        let mut title = String::new();
        let mut rest = self.title.as_str();
        while let Some((before, behind)) = rest.split_once('{') {
            let (argument, after) = behind.split_once('}').unwrap_or((behind, ""));
            title += before;
            match arguments.get(argument) {
                Some(Value::String(text)) => title += &one_line(text),
                Some(value) => title += &value.to_string(),
                None => {}
            }
            rest = after;
        }
        title += rest;
        match title.trim() {
            "" => name.to_owned(),
            title => title.to_owned(),
        }
    }
}

/// The longest title, in characters.
const LONGEST_TITLE: usize = 200;

/// The first line of a text, shortened.
fn one_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let mut shown: String = line.chars().take(LONGEST_TITLE).collect();
    if shown.len() < text.trim_end().len() {
        shown.push('…');
    }
    shown
}

impl Mapping {
    /// How calls of the tool are shown; of one that is not listed, as any other.
    pub fn tool(&self, name: &str) -> &ToolMapping {
        static OTHER: LazyLock<ToolMapping> = LazyLock::new(ToolMapping::default);
        self.tools.get(name).unwrap_or(&OTHER)
    }

    /// Whether frames of this kind do not reach the client.
    pub fn is_lost(&self, table: &str, name: &str) -> bool {
        self.agent.get(table).and_then(|table| table.get(name)).is_some_and(|it| it.fate == Fate::Lost)
    }
}
