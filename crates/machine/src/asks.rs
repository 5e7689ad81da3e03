//! The region `asks` as a statig machine: the dialogs that wait for the host.

use statig::{blocking::StateMachine, prelude::*};
use std::collections::BTreeSet;

/// The most outstanding dialogs that are tracked, in case a host answers none.
const MAX_DIALOGS: usize = 4096;

/// The open dialogs.
#[derive(Clone)]
pub struct Asks(StateMachine<Region>);

/// What moves the region.
#[derive(Clone, Copy, Debug)]
pub enum AskEvent<'a> {
    /// A dialog with this id is open.
    Opened(&'a str),
    /// It is open no more: it was answered, has timed out, or was cancelled.
    Closed(&'a str),
}

#[derive(Clone, Default)]
struct Region;

#[state_machine(initial = "State::none()", state(derive(Clone, Debug)))]
impl Region {
    #[state]
    fn none(event: &AskEvent<'_>) -> Outcome<State> {
        match event {
            AskEvent::Opened(id) => Transition(State::awaiting_ui(BTreeSet::from([(*id).to_owned()]))),
            AskEvent::Closed(_) => Handled,
        }
    }

    #[state]
    fn awaiting_ui(open: &mut BTreeSet<String>, event: &AskEvent<'_>) -> Outcome<State> {
        match event {
            AskEvent::Opened(id) => {
                open.insert((*id).to_owned());
                if open.len() > MAX_DIALOGS {
                    open.pop_first();
                }
            }
            AskEvent::Closed(id) => {
                open.remove(*id);
                if open.is_empty() {
                    return Transition(State::none());
                }
            }
        }
        Handled
    }
}

impl Default for Asks {
    fn default() -> Self {
        Self(Region.state_machine())
    }
}

impl Asks {
    /// Moves the region.
    pub fn handle(&mut self, event: AskEvent<'_>) {
        self.0.handle(&event);
    }

    /// Name of the state in the schema.
    pub fn name(&self) -> &'static str {
        match self.0.state() {
            State::None {} => "none",
            State::AwaitingUi { .. } => "awaiting_ui",
        }
    }

    /// Number of open dialogs.
    pub fn count(&self) -> usize {
        match self.0.state() {
            State::None {} => 0,
            State::AwaitingUi { open } => open.len(),
        }
    }
}
