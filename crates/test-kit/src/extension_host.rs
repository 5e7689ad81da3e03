//! Simulated extension processes: their start and end, and the frames in both directions.

use crate::{
    Checked,
    disk::Disk,
    extension::PeerStep,
    plan::CANCEL_MS,
    world::{Event, World},
};
use pi_rpc_engine::{CallId, Input};
use pi_rpc_prompt::{Commands, Skill, Template};
use pi_rpc_protocol::{CommandLocation, FromExtension, ToExtension, read};
use serde_json::{Value, json};
use std::path::Path;

/// Skills and prompt templates in the files that an extension names.
pub fn discover(disk: &Disk, skills: &[String], templates: &[String]) -> Commands {
    let text = |path: &str| disk.read(Path::new(path)).expect("a file");
    let skill = |path: &String| Skill::read(Path::new(path), &text(path), CommandLocation::Path);
    let template = |path: &String| Template::read(Path::new(path), &text(path), CommandLocation::Path);
    Commands {
        skills: skills.iter().map(|path| skill(path).expect("a skill").0).collect(),
        templates: templates.iter().map(|path| template(path).expect("a template")).collect(),
    }
}

impl World<'_> {
    pub(crate) fn start_extension(&mut self, process: CallId, place: usize) {
        self.processes.insert(process, place);
        let does = self.extensions[place].on_start();
        self.plan_extension(process, does);
    }

    /// Ends an extension after a delay; its planned frames are dropped.
    pub(crate) fn stop_extension(&mut self, process: CallId) {
        let Some(place) = self.processes.get(&process) else { return };
        let name = self.extensions[*place].name().to_owned();
        self.step(&format!("#{name}"), &json!({ "type": "stopped" }));
        self.due.retain(|_, event| !matches!(event, Event::Extension(of, _) if *of == process));
        self.plan(self.now + CANCEL_MS, process, Event::Extension(process, PeerStep::Ends("killed")));
    }

    pub(crate) fn send_to_extension(&mut self, process: CallId, frame: &ToExtension) -> Checked {
        let line = serde_json::to_string(frame).map_err(|error| error.to_string())?;
        read::<ToExtension>(line.as_bytes(), self.dialect).map_err(|error| format!("{error}\n{line}"))?;
        let value: Value = serde_json::from_str(&line).map_err(|error| error.to_string())?;
        for watcher in &mut self.watchers {
            watcher.frame_to_extension(process, &value);
        }
        // The process has ended.
        let Some(place) = self.processes.get(&process).copied() else { return Ok(()) };
        let name = self.extensions[place].name().to_owned();
        self.step(&format!(">{name}"), &value);
        let does = self.extensions[place].on_frame(&value)?;
        self.plan_extension(process, does);
        Ok(())
    }

    /// Turns a step of an extension into an input; `None` if its process has ended.
    pub(crate) fn extension_step(
        &mut self,
        process: CallId,
        does: PeerStep,
    ) -> Result<Option<Input>, String> {
        let Some(place) = self.processes.get(&process).copied() else { return Ok(None) };
        let mark = format!("<{}", self.extensions[place].name());
        Ok(Some(match does {
            PeerStep::Waits(_) => return Ok(None),
            PeerStep::Writes(frame) => {
                self.step(&mark, &frame);
                self.extensions[place].writes(&frame);
                for watcher in &mut self.watchers {
                    watcher.frame_from_extension(process, &frame);
                }
                let line = frame.to_string();
                let frame = read::<FromExtension>(line.as_bytes(), self.dialect)
                    .map_err(|error| format!("{error}\n{line}"))?;
                Input::Extension { from: process, frame: Box::new(frame) }
            }
            PeerStep::Strays(text) => {
                self.step(&mark, &json!({ "type": "strays" }));
                Input::ExtensionBadLine { from: process, text: text.to_owned() }
            }
            PeerStep::Misregisters(text) => {
                self.step(&mark, &json!({ "type": "misregisters" }));
                Input::ExtensionBadRegister { from: process, text: text.to_owned() }
            }
            PeerStep::Ends(text) => {
                self.processes.remove(&process);
                self.extensions[place].ends();
                self.step(&mark, &json!({ "type": "ends" }));
                Input::ExtensionEnded { from: process, text: text.to_owned() }
            }
        }))
    }

    fn plan_extension(&mut self, process: CallId, does: Vec<(u64, PeerStep)>) {
        for (after, does) in does {
            self.plan(self.now + after, process, Event::Extension(process, does));
        }
    }
}
