//! The parts of the system prompt, kept for when the tools change.

use super::{
    Skill, context_file::ContextFile, instructions::Instructions, text::PromptParts, text::ToolLine,
    text::sections, text::system_prompt, text::tagged,
};
use pi_rpc_protocol::JsonObject;
use serde_json::{Value, json};

/// All parts of the system prompt but tools and skills.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptSource {
    /// Replaces the introduction, the list of tools and the guidelines.
    pub custom: Option<String>,
    /// Follows the introduction or its replacement.
    pub append: Option<String>,
    /// Context files, the most general first.
    pub context_files: Vec<ContextFile>,
    /// The date as `YYYY-MM-DD`, in UTC.
    pub date: String,
    /// The working directory of tools.
    pub cwd: String,
    /// Servers whose tools are not declared, for the last section; read where `codemode` or `tool_search` is offered.
    pub mcp_servers: Option<String>,
    /// Whether the dialect has sections.
    pub in_sections: bool,
}

/// The tools that declare or call tools of servers.
const REACHING: [&str; 2] = ["codemode", "tool_search"];

impl PromptSource {
    /// Builds the system prompt for these tools, with the guidelines of extensions.
    pub fn instructions(
        &self,
        tools: &[ToolLine<'_>],
        guidelines: &[&str],
        skills: &[Skill],
    ) -> Instructions {
        let parts = PromptParts {
            tools,
            guidelines,
            custom: self.custom.as_deref(),
            append: self.append.as_deref(),
            context_files: &self.context_files,
            skills,
            date: &self.date,
            cwd: &self.cwd,
        };
        match self.in_sections {
            true => {
                let mut instructions = sections(&parts);
                let is_reached = tools.iter().any(|tool| REACHING.contains(&tool.name));
                if let Some(text) = self.mcp_servers.as_ref().filter(|_| is_reached) {
                    instructions.0.push(tagged("mcp_servers", text));
                }
                instructions
            }
            false => system_prompt(&parts).into(),
        }
    }

    /// The parts for extensions, by pi's names (source: pi source).
    pub fn options(&self, skills: &[Skill]) -> JsonObject {
        let files = self.context_files.iter();
        let files =
            files.map(|file| json!({ "path": file.path.display().to_string(), "content": file.content }));
        let skills = skills.iter().map(|skill| {
            json!({
                "name": skill.name,
                "description": skill.description,
                "filePath": skill.path.display().to_string(),
                "baseDir": skill.path.parent().unwrap_or(&skill.path).display().to_string(),
                "sourceInfo": skill.source,
                "disableModelInvocation": skill.hidden,
            })
        });
        let mut options = JsonObject::new();
        options.insert("contextFiles".to_owned(), files.collect());
        options.insert("skills".to_owned(), skills.collect());
        for (name, text) in [("customPrompt", &self.custom), ("appendSystemPrompt", &self.append)] {
            if let Some(text) = text {
                options.insert(name.to_owned(), Value::String(text.clone()));
            }
        }
        options
    }
}
