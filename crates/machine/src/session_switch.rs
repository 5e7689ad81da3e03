//! The region `switch` as a statig machine: whether the session is being changed. A region of its own, as a change begins in
//! `idle` and in `starting`, and leaves the flow where it is.

use statig::{blocking::StateMachine, prelude::*};

/// Whether the session is being changed.
#[derive(Clone)]
pub struct SessionSwitch(StateMachine<Region>);

/// What moves the region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchEvent {
    /// Extensions are notified that the session is about to change.
    Begins,
    /// The change is over, or came to nothing.
    Ends,
}

#[derive(Clone, Default)]
struct Region;

#[state_machine(initial = "State::steady()", state(derive(Clone, Debug)))]
impl Region {
    #[state]
    fn steady(event: &SwitchEvent) -> Outcome<State> {
        match event {
            SwitchEvent::Begins => Transition(State::switching()),
            SwitchEvent::Ends => Handled,
        }
    }

    #[state]
    fn switching(event: &SwitchEvent) -> Outcome<State> {
        match event {
            SwitchEvent::Begins => Handled,
            SwitchEvent::Ends => Transition(State::steady()),
        }
    }
}

impl Default for SessionSwitch {
    fn default() -> Self {
        Self(Region.state_machine())
    }
}

impl SessionSwitch {
    /// Moves the region.
    pub fn handle(&mut self, event: SwitchEvent) {
        self.0.handle(&event);
    }

    /// Name of the state in the schema.
    pub fn name(&self) -> &'static str {
        if self.is_switching() { "switching" } else { "steady" }
    }

    /// Whether the session is being changed.
    pub fn is_switching(&self) -> bool {
        matches!(self.0.state(), State::Switching {})
    }
}
