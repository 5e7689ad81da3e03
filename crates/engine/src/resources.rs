//! Skills and prompt templates of extensions: requested after `session_start`, before the host is served. Configured
//! ones of the same name take precedence. Source: pi source.

use crate::{core::Engine, extensions::hook::Hook, io::Output, requests::ResourceRequest};
use pi_rpc_prompt::Commands;
use pi_rpc_protocol::{ResourcesHook, SessionStartReason};

impl Engine {
    /// Sends the `resources_discover` hook.
    pub(crate) fn discover_resources(&mut self) {
        let event =
            ResourcesHook { cwd: self.store.place.directory.clone(), reason: SessionStartReason::Startup };
        self.send_hook(Hook::ResourcesDiscover { event, skills: Vec::new(), templates: Vec::new() });
    }

    /// Requests the skills and templates in these files and folders, for
    /// [`on_resources_found`](Self::on_resources_found).
    pub(crate) fn search_resources(&mut self, skills: Vec<String>, templates: Vec<String>) {
        if skills.is_empty() && templates.is_empty() {
            return self.start_serving();
        }
        self.requests.files.resources = Some(ResourceRequest);
        self.push(Output::FindResources { skills, templates });
    }

    /// Adds the skills and templates that were found, and rebuilds the system prompt.
    pub(crate) fn on_resources_found(&mut self, found: Commands) {
        let Some(ResourceRequest) = self.requests.files.resources.take() else { return };
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
        self.start_serving();
    }
}
