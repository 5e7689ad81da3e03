//! The commands and tools of extensions: which of several of one name counts, and where each comes from.
//!
//! | Several of one name | Then |
//! |---|---|
//! | commands | the first counts; from 0.62 of pi on each is called with its number behind a colon |
//! | tools of extensions | the first counts |
//! | a tool of an extension and a built-in one | that of the extension counts |
//!
//! Source: pi source.

use crate::engine::{Engine, extensions::processes::Extensions, toolbox::arguments::Owner};
use crate::{
    model::types::ToolSpec,
    protocol::{
        CommandSource, DialectExtensionApi, ExtensionCommand, ExtensionTool, SlashCommand, SourceInfo,
        SourceOrigin, SourceScope, errors,
    },
};
use std::collections::HashSet;

/// A slash command of an extension.
pub struct Called {
    /// The place of its process.
    pub place: usize,
    /// Its own name.
    pub name: String,
    /// The file of the extension, where the process has several.
    pub path: Option<String>,
}

impl Extensions {
    /// The command that is called by that name.
    pub fn commanded(&self, api: DialectExtensionApi, name: &str) -> Option<Called> {
        let called = self.named(api).into_iter().find(|(called, ..)| called == name);
        called.map(|(_, place, command)| Called {
            place,
            name: command.name.clone(),
            path: command.path.clone(),
        })
    }

    /// Their slash commands, in order.
    pub fn commands(&self, api: DialectExtensionApi) -> impl Iterator<Item = SlashCommand> {
        self.named(api).into_iter().map(|(name, place, command)| {
            let source = self.source(place, command.path.as_deref());
            SlashCommand {
                name,
                description: command.description.clone(),
                source: CommandSource::Extension,
                location: None,
                path: Some(source.path.clone()),
                source_info: Some(source),
            }
        })
    }

    /// Each command with the name that it is called by, and the place of its process.
    fn named(&self, api: DialectExtensionApi) -> Vec<(String, usize, &ExtensionCommand)> {
        let all = self.all.iter().enumerate();
        let all = all.flat_map(|(place, it)| it.adds.commands.iter().flatten().map(move |it| (place, it)));
        let all: Vec<_> = all.collect();
        let numbered = !matches!(api, DialectExtensionApi::V052 | DialectExtensionApi::V058);
        let mut taken = HashSet::new();
        let named = all.iter().enumerate().map(|(at, (place, command))| {
            let same = |(_, it): &&(usize, &ExtensionCommand)| it.name == command.name;
            let mut name = command.name.clone();
            if numbered && all.iter().filter(same).count() > 1 {
                let mut number = all[..=at].iter().filter(same).count();
                name = format!("{}:{number}", command.name);
                while taken.contains(&name) {
                    number += 1;
                    name = format!("{}:{number}", command.name);
                }
            }
            taken.insert(name.clone());
            (name, *place, *command)
        });
        named.collect()
    }

    /// Where something comes from that the process at this place has registered for that file.
    fn source(&self, place: usize, file: Option<&str>) -> SourceInfo {
        let members = self.hosted.iter().flat_map(|hosted| &hosted.members);
        let member = members.filter(|member| Some(member.path.as_str()) == file);
        member.filter_map(|member| member.source_info.clone()).next().unwrap_or_else(|| SourceInfo {
            path: file.unwrap_or_else(|| self.path(place)).to_owned(),
            source: "cli".to_owned(),
            scope: SourceScope::Temporary,
            origin: SourceOrigin::TopLevel,
            base_dir: None,
            changelog_path: None,
        })
    }
}

impl Engine {
    /// The command of an extension that is called by that name.
    pub(in crate::engine) fn extension_command(&self, name: &str) -> Option<Called> {
        self.extensions.commanded(self.dialect.record().extension_api, name)
    }

    /// Offers the model the tools of the extensions, one that has registered just now among them; says what is wrong with
    /// its tools, and which of others have lost their place to one of it.
    pub(in crate::engine) fn offer_tools(&mut self, registered: usize) -> Vec<(usize, String)> {
        let known = self.tools.take_of_extensions();
        let mut wrong = Vec::new();
        for place in 0..self.extensions.all.len() {
            let tools = self.extensions.all[place].adds.tools.clone();
            for tool in tools.iter().flatten() {
                let name = tool.name.trim();
                let was_offered = known.iter().find(|(it, owner, _)| it == name && *owner == place);
                let offered = was_offered.map_or(!tool.inactive.unwrap_or(false), |(.., offered)| *offered);
                let added = self.add_tool(place, tool, offered);
                let new = place == registered || was_offered.is_some();
                wrong.extend(added.err().filter(|_| new).map(|text| (place, text)));
            }
        }
        wrong
    }

    fn add_tool(&mut self, place: usize, tool: &ExtensionTool, offered: bool) -> Result<(), String> {
        let base = self.dialect.base();
        let (name, description) = (tool.name.trim(), tool.description.trim());
        if name.is_empty() || description.is_empty() {
            return Err(errors::tool_name(base, name));
        }
        if self.tools.owner(name).is_some_and(|owner| owner != Owner::Server) {
            return Err(errors::tool_conflict(base, name));
        }
        let spec = ToolSpec {
            name: name.to_owned(),
            description: description.to_owned(),
            parameters: tool.parameters.clone().into(),
            exclusive: tool.sequential.unwrap_or(false),
        };
        let owner = Owner::Extension(place);
        self.tools.add(spec, owner, offered).map_err(|unsound| unsound.told(base, name))
    }
}
