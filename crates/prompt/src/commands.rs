//! Slash commands of prompts: templates and skills, without the commands of extensions.

use super::{Skill, Template};
use pi_rpc_protocol::{Base, Check as _, CommandSource, SlashCommand};

/// Templates and skills of a session. Names are unique among templates, and among skills.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Commands {
    /// Templates, in the order of discovery.
    pub templates: Vec<Template>,
    /// Skills, in the order of discovery.
    pub skills: Vec<Skill>,
}

impl Commands {
    /// Replaces what models and hosts are told of the files: descriptions and texts.
    pub fn map_texts(&mut self, map: impl Fn(&str) -> String) {
        for template in &mut self.templates {
            (template.description, template.body) = (map(&template.description), map(&template.body));
        }
        for skill in &mut self.skills {
            skill.description = map(&skill.description);
        }
    }

    /// Expands `text` if it is `/name` of a template, alone or with arguments behind white space.
    pub fn template(&self, text: &str) -> Option<String> {
        let (name, arguments) = call(text.strip_prefix('/')?, char::is_whitespace);
        let template = self.templates.iter().find(|template| template.name == name)?;
        Some(template.expand(arguments))
    }

    /// Finds the skill that `text` calls by `/skill:name`, and its arguments. [`Skill::expand`] expands them with the
    /// skill's file as it is then.
    pub fn skill<'a>(&self, text: &'a str) -> Option<(&Skill, &'a str)> {
        let (name, arguments) = call(text.strip_prefix("/skill:")?, |letter| letter == ' ');
        let skill = self.skills.iter().find(|skill| skill.name == name)?;
        Some((skill, arguments))
    }

    /// Lists the commands for `get_commands` in dialects built on `base`: templates, then skills, hidden ones
    /// included.
    pub fn list(&self, base: Base) -> impl Iterator<Item = SlashCommand> {
        let templates = self.templates.iter().map(move |it| {
            let mut command = SlashCommand {
                name: it.name.clone(),
                description: Some(it.description.clone()),
                source: CommandSource::Prompt,
                location: Some(it.location),
                path: Some(it.path.display().to_string()),
                source_info: Some(it.source.clone()),
            };
            command.fit(base);
            command
        });
        let skills = self.skills.iter().map(|it| SlashCommand {
            name: format!("skill:{}", it.name),
            description: Some(it.description.clone()),
            source: CommandSource::Skill,
            location: Some(it.location),
            path: Some(it.path.display().to_string()),
            source_info: Some(it.source.clone()),
        });
        templates.chain(skills)
    }
}

/// Splits a call into name and arguments at the first letter that is a separator.
fn call(text: &str, is_separator: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_once(is_separator).unwrap_or((text, ""))
}
