//! What a prompt can call with a leading `/`, besides the commands of extensions.

use super::{Skill, Template};
use crate::protocol::{Base, Check as _, CommandSource, SlashCommand};

/// The templates and skills of a session. No two templates have the same name, and no two skills.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Commands {
    /// In the order in which they were found.
    pub templates: Vec<Template>,
    /// In the order in which they were found.
    pub skills: Vec<Skill>,
}

impl Commands {
    /// What `text` stands for, where it is `/name` of a template, alone or with arguments behind a blank.
    pub fn template(&self, text: &str) -> Option<String> {
        let (name, arguments) = call(text.strip_prefix('/')?);
        let template = self.templates.iter().find(|template| template.name == name)?;
        Some(template.expand(arguments))
    }

    /// The skill that `text` calls by `/skill:name`, and the arguments behind it. [`Skill::expand`] makes of them, and of
    /// the skill's file as it is then, what `text` stands for.
    pub fn skill<'a>(&self, text: &'a str) -> Option<(&Skill, &'a str)> {
        let (name, arguments) = call(text.strip_prefix("/skill:")?);
        let skill = self.skills.iter().find(|skill| skill.name == name)?;
        Some((skill, arguments))
    }

    /// What `get_commands` lists of them in dialects built on `base`: the templates, then the skills, also those that the
    /// model is not told of.
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

/// A name, and what is behind the first blank.
fn call(text: &str) -> (&str, &str) {
    text.split_once(' ').unwrap_or((text, ""))
}
