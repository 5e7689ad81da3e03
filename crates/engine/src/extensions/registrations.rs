//! The commands and tools of extensions: which of several of one name counts, and where each comes from.
//!
//! | Several of one name | Then |
//! |---|---|
//! | commands | the first counts; from 0.62 of pi on each is called with its number behind a colon |
//! | tools of extensions | the first counts |
//! | a tool of an extension and a built-in one | that of the extension counts |
//!
//! Source: pi source.

use crate::extensions::{host::ExtensionHost, process::ProcessStage};
use pi_rpc_protocol::{
    CommandSource, DialectExtensionApi, ExtensionCommand, ExtensionTool, SlashCommand, SourceInfo,
    SourceOrigin, SourceScope,
};
use std::collections::HashSet;

/// A slash command of an extension.
pub struct CalledCommand {
    /// The place of its process.
    pub place: usize,
    /// Its own name.
    pub name: String,
    /// The file of the extension, where the process has several.
    pub path: Option<String>,
}

impl ExtensionHost {
    /// The command that is called by that name.
    pub fn command(&self, api: DialectExtensionApi, name: &str) -> Option<CalledCommand> {
        let called = self.named(api).into_iter().find(|(called, ..)| called == name);
        called.map(|(_, place, command)| CalledCommand {
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
        let all =
            all.flat_map(|(place, it)| it.registered.commands.iter().flatten().map(move |it| (place, it)));
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

    /// The extension that has a slash command of that name but was not loaded, and the reason.
    pub fn unloaded_command(&self, name: &str) -> Option<(&str, &str)> {
        let unhosted = self.hosted.as_ref().and_then(|hosted| self.all.get(hosted.place));
        let unhosted = unhosted
            .is_some_and(|host| host.stage != ProcessStage::Running && host.registered.commands.is_none());
        let named = self.named_commands.iter().filter(|it| it.names.iter().any(|known| known == name));
        named.map(|it| it.path.as_str()).find_map(|path| match self.unloaded.get(path) {
            Some(reason) => Some((path, reason.as_str())),
            None => unhosted.then_some((path, UNHOSTED)),
        })
    }

    /// The tools that the extensions have registered, each with the place of its extension, in order.
    pub fn tools(&self) -> impl Iterator<Item = (usize, &ExtensionTool)> {
        let all = self.all.iter().enumerate();
        all.flat_map(|(place, it)| it.registered.tools.iter().flatten().map(move |tool| (place, tool)))
    }

    /// A tool of an extension, as it was registered.
    pub fn tool(&self, place: usize, name: &str) -> Option<&ExtensionTool> {
        let mut tools = self.all.get(place)?.registered.tools.iter().flatten();
        tools.find(|tool| tool.name.trim() == name)
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

/// Why no extension of pi's own kind is loaded.
const UNHOSTED: &str = "the process that hosts it is not running";
