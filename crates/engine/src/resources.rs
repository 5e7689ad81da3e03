//! Skills and prompt templates of extensions: requested after `session_start`, before the host is served or, in later
//! versions of pi, told of the change of the session. Configured
//! ones of the same name take precedence. Source: pi source.

use crate::{core::Engine, extensions::hook::Hook, io::Output, requests::ResourceRequest};
use pi_rpc_prompt::Commands;
use pi_rpc_protocol::{DialectExtensionApi, ResourcesHook, RpcSuccess, SessionStartReason};

impl Engine {
    /// Sends the `resources_discover` hook; `response`: to the command that opened the session.
    pub(crate) fn discover_resources(&mut self, response: Option<Box<RpcSuccess>>) {
        let event =
            ResourcesHook { cwd: self.store.place.directory.clone(), reason: SessionStartReason::Startup };
        let (skills, templates) = (Vec::new(), Vec::new());
        self.send_hook(Hook::ResourcesDiscover { event, skills, templates, response });
    }

    /// Sends the hook after a change of the session, in versions of pi that do. Source: pi 1.6.0, observed.
    pub(crate) fn discover_after_change(&mut self, response: Box<RpcSuccess>) {
        match self.dialect.record().extension_api == DialectExtensionApi::V15 {
            true => self.discover_resources(Some(response)),
            false => self.finish_session_change(*response),
        }
    }

    /// Requests the skills and templates in these files and folders, for
    /// [`on_resources_found`](Self::on_resources_found).
    pub(crate) fn search_resources(
        &mut self,
        skills: Vec<String>,
        templates: Vec<String>,
        response: Option<Box<RpcSuccess>>,
    ) {
        if skills.is_empty() && templates.is_empty() {
            return self.end_discovery(response);
        }
        self.requests.files.resources = Some(ResourceRequest { response });
        self.push(Output::FindResources { skills, templates });
    }

    /// Serves the host, or responds to its command.
    fn end_discovery(&mut self, response: Option<Box<RpcSuccess>>) {
        match response {
            None => self.start_serving(),
            Some(response) => self.finish_session_change(*response),
        }
    }

    /// Adds the skills and templates that were found, and rebuilds the system prompt.
    pub(crate) fn on_resources_found(&mut self, found: Commands) {
        let Some(ResourceRequest { response }) = self.requests.files.resources.take() else { return };
        for skill in found.skills {
            if self.instructions.commands.skills.iter().all(|known| known.name != skill.name) {
                self.instructions.commands.skills.push(skill);
            }
        }
        for template in found.templates {
            if self.instructions.commands.templates.iter().all(|known| known.name != template.name) {
                self.instructions.commands.templates.push(template);
            }
        }
        self.rebuild_instructions();
        self.end_discovery(response);
    }
}
