//! The region `shell` as a statig machine: the bash commands of the host that run.

use statig::{blocking::StateMachine, prelude::*};

/// The running bash commands.
#[derive(Clone)]
pub struct Shell(StateMachine<Region>);

/// What moves the region: the number of bash commands without a response. A command opens one; a response need not close it, as
/// it may be for another request.
#[derive(Clone, Copy, Debug)]
pub struct OpenCommands(pub usize);

#[derive(Clone, Default)]
struct Region;

#[state_machine(initial = "State::idle()", state(derive(Clone, Debug)))]
impl Region {
    #[state]
    fn idle(event: &OpenCommands) -> Outcome<State> {
        match event {
            OpenCommands(0) => Handled,
            OpenCommands(count) => Transition(State::bash(*count)),
        }
    }

    #[state]
    fn bash(running: &mut usize, event: &OpenCommands) -> Outcome<State> {
        match event {
            OpenCommands(0) => Transition(State::idle()),
            OpenCommands(count) => {
                *running = *count;
                Handled
            }
        }
    }
}

impl Default for Shell {
    fn default() -> Self {
        Self(Region.state_machine())
    }
}

impl Shell {
    /// Moves the region.
    pub fn handle(&mut self, event: OpenCommands) {
        self.0.handle(&event);
    }

    /// Name of the state in the schema.
    pub fn name(&self) -> &'static str {
        match self.0.state() {
            State::Idle {} => "idle",
            State::Bash { .. } => "bash",
        }
    }

    /// Number of running commands.
    pub fn count(&self) -> usize {
        match self.0.state() {
            State::Idle {} => 0,
            State::Bash { running } => *running,
        }
    }
}
