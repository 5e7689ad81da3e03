//! The extensions of a conversation: their processes, what they are told and what they write.

use super::{
    extension::Does,
    plan::DYING_MS,
    world::{Event, World},
};
use pi_rpc::{
    engine::{CallId, Input},
    prompt::{Commands, Skill, Template},
    protocol::{CommandLocation, FromExtension, ToExtension, read},
};
use std::path::Path;

impl World {
    /// What there is of the files that an extension names.
    pub(super) fn found(&self, skills: Vec<String>, templates: Vec<String>) -> Commands {
        let text = |path: &str| self.disk.read(Path::new(path)).expect("a file");
        let skill = |path: &String| Skill::read(Path::new(path), &text(path), CommandLocation::Path);
        let template = |path: &String| Template::read(Path::new(path), &text(path), CommandLocation::Path);
        Commands {
            skills: skills.iter().map(|path| skill(path).expect("a skill").0).collect(),
            templates: templates.iter().map(|path| template(path).expect("a template")).collect(),
        }
    }

    pub(super) fn start_extension(&mut self, process: CallId, place: usize) {
        self.processes.insert(process, place);
        let does = self.extensions[place].starts();
        self.plan_extension(process, does);
    }

    /// What is left to write is not written any more; the end takes a while.
    pub(super) fn stop_extension(&mut self, process: CallId) {
        let Some(place) = self.processes.get(&process) else { return };
        let name = self.extensions[*place].name;
        self.step(&format!("#{name}"), &serde_json::json!({ "type": "stopped" }));
        self.due.retain(|_, event| !matches!(event, Event::Extension(of, _) if *of == process));
        self.due(self.now + DYING_MS, Event::Extension(process, Does::Ends("killed")));
    }

    pub(super) fn tell_extension(&mut self, process: CallId, frame: &ToExtension) {
        // Nobody hears it any more.
        let Some(place) = self.processes.get(&process).copied() else { return };
        let line = serde_json::to_string(frame).expect("JSON");
        if let Err(error) = read::<ToExtension>(line.as_bytes(), self.dialect) {
            panic!("{}: {error}\n{line}", self.dialect);
        }
        let value = serde_json::from_str(&line).expect("JSON");
        self.step(&format!(">{}", self.extensions[place].name), &value);
        let does = self.extensions[place].hears(&value);
        self.plan_extension(process, does);
    }

    /// What an extension does now, as an input; `None` if its process is gone.
    pub(super) fn extension_does(&mut self, process: CallId, does: Does) -> Option<Input> {
        let place = *self.processes.get(&process)?;
        let mark = format!("<{}", self.extensions[place].name);
        Some(match does {
            Does::Waits(_) => return None,
            Does::Writes(frame) => {
                self.step(&mark, &frame);
                let line = frame.to_string();
                let frame = read::<FromExtension>(line.as_bytes(), self.dialect)
                    .unwrap_or_else(|error| panic!("{}: {error}\n{line}", self.dialect));
                Input::Extension { from: process, frame: Box::new(frame) }
            }
            Does::Strays(text) => {
                self.step(&mark, &serde_json::json!({ "type": "strays" }));
                Input::ExtensionStrayed { from: process, text: text.to_owned() }
            }
            Does::Misregisters(text) => {
                self.step(&mark, &serde_json::json!({ "type": "misregisters" }));
                Input::ExtensionMisregistered { from: process, text: text.to_owned() }
            }
            Does::Ends(text) => {
                self.processes.remove(&process);
                self.step(&mark, &serde_json::json!({ "type": "ends" }));
                Input::ExtensionEnded { from: process, text: text.to_owned() }
            }
        })
    }

    fn plan_extension(&mut self, process: CallId, does: Vec<(u64, Does)>) {
        for (after, does) in does {
            self.due(self.now + after, Event::Extension(process, does));
        }
    }
}
