//! Frames of the run that wait for the extensions' handlers of their event.
//!
//! A handler runs before the host is sent the event, as in pi: what it shows comes first. The chart has moved already,
//! and the run goes no further meanwhile; what its streams and tools still emit waits behind the frame, in order. All
//! other frames pass: dialogs, notices, errors, responses, and events that may come in any state.

use crate::{core::Engine, io::Output};
use pi_rpc_protocol::{AgentSessionEventKind, Emission, Outbound, fires_anywhere};
use std::collections::VecDeque;

/// The frames that are held, oldest first.
#[derive(Debug, Default)]
pub struct HeldFrames(VecDeque<Held>);

#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "few frames are held, and each is moved once")]
enum Held {
    /// Handlers hold back what comes behind.
    Handlers,
    Frame(Emission),
}

impl HeldFrames {
    /// Takes the frame at the front, if no handlers hold it back.
    fn pop_released(&mut self) -> Option<Emission> {
        match self.0.pop_front()? {
            Held::Frame(frame) => Some(frame),
            Held::Handlers => {
                self.0.push_front(Held::Handlers);
                None
            }
        }
    }
}

impl Engine {
    /// Holds back the next frame of the run, and those behind it.
    pub(crate) fn hold_frames(&mut self) {
        self.held_frames.0.push_back(Held::Handlers);
    }

    /// Emits a frame, or holds it behind another one of its run.
    pub(crate) fn emit_or_hold(&mut self, frame: Emission) {
        match self.held_frames.0.is_empty() || !is_of_run(&frame) {
            true => self.push(Output::Emit(frame)),
            false => self.held_frames.0.push_back(Held::Frame(frame)),
        }
    }

    /// Emits what the oldest handlers have held back.
    pub(crate) fn release_frames(&mut self) {
        if matches!(self.held_frames.0.front(), Some(Held::Handlers)) {
            self.held_frames.0.pop_front();
        }
        while let Some(frame) = self.held_frames.pop_released() {
            self.push(Output::Emit(frame));
        }
    }

    /// Emits everything that is held: no handler is waited for any more.
    pub(crate) fn release_all_frames(&mut self) {
        while !self.held_frames.0.is_empty() {
            self.release_frames();
        }
    }
}

/// Whether a frame keeps its place among the frames of the run.
fn is_of_run(frame: &Emission) -> bool {
    match frame {
        Emission::Update(_) => true,
        Emission::Frame(Outbound::AgentSessionEvent(event))
        | Emission::Line { frame: Outbound::AgentSessionEvent(event), .. } => is_run_event(event.kind()),
        Emission::Frame(_) | Emission::Line { .. } => false,
    }
}

/// Whether events of this kind keep their place among the events of the run, and are held for their handlers: those that
/// the chart of states ties to a state.
pub fn is_run_event(kind: AgentSessionEventKind) -> bool {
    !fires_anywhere(kind.as_str())
}
