//! Skills and prompt templates of extensions: asked for when the session has begun for them, and before the host is served.
//! Those that are known already count before them. Source: pi source.

use crate::engine::{core::Engine, extensions::hook::Hook, io::Output, requests::ResourceRequest};
use crate::{
    prompt::Commands,
    protocol::{ResourcesHook, SessionStartReason},
};

impl Engine {
    /// Asks the extensions for skills and templates.
    pub(in crate::engine) fn discover_resources(&mut self) {
        let event =
            ResourcesHook { cwd: self.store.place.directory.clone(), reason: SessionStartReason::Startup };
        self.send_hook(Hook::ResourcesDiscover { event, skills: Vec::new(), templates: Vec::new() });
    }

    /// Has these searched; goes on in [`on_resources_found`](Self::on_resources_found).
    pub(in crate::engine) fn search_resources(&mut self, skills: Vec<String>, templates: Vec<String>) {
        if skills.is_empty() && templates.is_empty() {
            return self.start_serving();
        }
        self.requests.files.resources = Some(ResourceRequest);
        self.push(Output::FindResources { skills, templates });
    }

    /// What was found there joins what is known, and the model is told of it.
    pub(in crate::engine) fn on_resources_found(&mut self, found: Commands) {
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
