//! The gate for commands: what the schema says of a command in the current state.
//!
//! Every command of the host passes it before anything is done for it, and what it says is executed: `reject` with the
//! schema's text, `queue`, `preempt`, `noop`. Commands of which extensions decide first pass it again afterwards, because the
//! state may have changed since: prompts, messages for a queue, and changes of the session.

use crate::core::Engine;
use pi_rpc_protocol::{Base, Case, Disposition, RpcCommand, RpcCommandKind};

/// The treatment of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// A run follows.
    Run,
    /// The message waits for its turn.
    Queue,
    /// What goes on is ended first.
    Preempt,
    /// There is nothing to end.
    Noop,
    /// The command acts beside whatever goes on.
    Control,
    /// The command is refused with this text.
    Reject(&'static str),
}

impl Gate {
    /// The treatment by a row of the schema; a command without a row acts beside whatever goes on.
    fn of(case: Option<&Case>, base: Base) -> Self {
        match case.map_or(Disposition::Control, |case| case.disposition) {
            Disposition::Run => Self::Run,
            Disposition::Queue => Self::Queue,
            Disposition::Preempt => Self::Preempt,
            Disposition::Noop => Self::Noop,
            Disposition::Control => Self::Control,
            Disposition::Reject => {
                let text = case.and_then(|case| case.error).map(|error| error.template(base));
                Self::Reject(text.unwrap_or_default())
            }
        }
    }
}

impl Engine {
    /// The treatment of a command in the current state.
    pub(crate) fn gate(&self, command: &RpcCommand) -> Gate {
        Gate::of(self.activity.machine().disposition(command), self.dialect.base())
    }

    /// The treatment of a command of this kind in the current state, whatever its members are.
    pub(crate) fn gate_of_kind(&self, kind: RpcCommandKind) -> Gate {
        Gate::of(self.activity.machine().disposition_of(kind), self.dialect.base())
    }
}

#[cfg(test)]
mod tests {
    //! What the schema refuses is refused with its text.

    use super::*;
    use pi_rpc_protocol::{Dialect, FlowState};

    #[test]
    fn every_refusal_has_a_text() {
        for base in Dialect::ALL.into_iter().map(Dialect::base) {
            for (kind, state) in RpcCommandKind::ALL
                .into_iter()
                .filter(|kind| kind.is_in(base))
                .flat_map(|kind| FlowState::ALL.map(|state| (kind, state)))
            {
                let gate = Gate::of(Case::first(kind.cases(state), base, |_| None), base);
                assert_ne!(gate, Gate::Reject(""), "{base:?}: {kind} in {state}");
            }
        }
    }
}
