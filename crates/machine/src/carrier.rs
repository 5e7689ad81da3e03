//! The chart in motion: the flow, and what its states carry.

use crate::{
    flow::{Flow, Verdict},
    kind::Kind,
};
use pi_rpc_protocol::{Base, FlowState};
use statig::{blocking::StateMachine, prelude::*};

/// What the states of a chart carry: nothing for those who follow a conversation, the run and its like for the agent that
/// leads one.
pub trait Carried: Default {
    /// What the state after a cause takes. The default keeps what the state before has, if the state after carries it.
    type Next: Default;

    /// Whether `state` carries such data.
    fn fits(&self, state: FlowState) -> bool;

    /// The data in `state`, after these.
    #[must_use]
    fn followed_by(self, next: Self::Next, state: FlowState) -> Self;
}

impl Carried for () {
    type Next = ();

    fn fits(&self, _: FlowState) -> bool {
        true
    }

    fn followed_by(self, (): (), _: FlowState) -> Self {}
}

/// The flow in a state, and what that state carries. The two move together.
///
/// The data lie beside statig's states: statig gives no safe access to data within a state but to the handlers of events,
/// and an agent works on its run between them.
#[derive(Clone)]
pub struct Chart<D> {
    flow: StateMachine<Flow>,
    carried: D,
}

impl<D: Carried> Chart<D> {
    /// The chart of dialects built on `base`, in its first state.
    pub fn new(base: Base) -> Self {
        Self { flow: Flow::new(base).state_machine(), carried: D::default() }
    }

    /// The state.
    pub fn state(&self) -> FlowState {
        self.flow.state().name()
    }

    /// What the state carries.
    pub const fn carried(&self) -> &D {
        &self.carried
    }

    /// What the state carries.
    pub const fn carried_mut(&mut self) -> &mut D {
        &mut self.carried
    }

    /// Moves by a frame or a step; the state after it takes `next`.
    pub fn advance(&mut self, kind: Kind, next: D::Next) -> Verdict {
        let mut verdict = Verdict::default();
        self.flow.handle_with_context(&kind, &mut verdict);
        verdict.unfit = !self.carry(next);
        verdict
    }

    /// Replaces what the state carries. Returns whether the state carries such data.
    pub fn carry(&mut self, next: D::Next) -> bool {
        let state = self.state();
        self.carried = std::mem::take(&mut self.carried).followed_by(next, state);
        self.carried.fits(state)
    }
}
