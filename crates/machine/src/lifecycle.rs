//! The region `input` as a statig machine: how far the process is, from its start to its exit.
//!
//! ```text
//! greeting ─→ open ─→ draining ─→ exited
//!    └──────────┴────────┴─→ stopping ─↗
//! ```
//!
//! | State | Entered by | Commands of the host | Work under way |
//! |---|---|---|---|
//! | `greeting` | the start | held | – |
//! | `open` | every extension has registered and knows the session | served | goes on |
//! | `draining` | the end of the input (`pi`), an extension's `shutdown` | served as long as the input is open | is finished |
//! | `stopping` | the end of the input (`pi-1`, `xcsh`), a signal | ignored after a signal | is aborted, or left as it is |
//! | `exited` | nothing is left to do | ignored | – |
//!
//! Source: the originals, which differ at the end of the input. Decided here: after it, a `bash` of `pi-1` still ends
//! and is answered (its original drops it); a signal aborts and ends every child in all dialects.
//!
//! A server knows its own state. The oracle and clients infer it: from a frame (the host is greeted), a response (commands are served), the end
//! of the input, and the exit.

use pi_rpc_protocol::DialectEndOfInput;
use statig::{blocking::StateMachine, prelude::*};

/// How far the process is.
#[derive(Clone)]
pub struct Lifecycle(StateMachine<Region>);

/// What moves the region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LifecycleEvent {
    /// The host is greeted: frames may be emitted.
    Greeted,
    /// Commands are served: extensions have registered, and know the session.
    Served,
    /// The input has ended. Held commands are served first.
    Ended,
    /// The process is to exit once everything under way is finished.
    Drained,
    /// The process is to exit soon: a signal.
    Stopped,
    /// Extensions were notified of the exit.
    ExitNotified,
    /// The process has exited.
    Exited,
}

impl LifecycleEvent {
    /// All events.
    pub const ALL: [Self; 7] = [
        Self::Greeted,
        Self::Served,
        Self::Ended,
        Self::Drained,
        Self::Stopped,
        Self::ExitNotified,
        Self::Exited,
    ];

    /// The event in words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Greeted => "the host is greeted",
            Self::Served => "the server serves",
            Self::Ended => "end of input",
            Self::Drained => "an extension requests the exit",
            Self::Stopped => "a signal",
            Self::ExitNotified => "extensions know of the exit",
            Self::Exited => "exit",
        }
    }
}

/// How far the greeting is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GreetingStage {
    /// Extensions register; nothing may be emitted yet.
    Registering,
    /// The host is greeted; extensions learn of the session, and name skills and templates.
    Introducing {
        /// Whether an extension has requested the exit meanwhile.
        drains: bool,
    },
}

/// The host's side of the pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pipe {
    /// Frames may come.
    Open,
    /// The host has closed it: no dialog is answered any more.
    Ended,
}

/// Whether extensions were notified of the exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitNotice {
    /// Not yet.
    Pending,
    /// Notified; they have until the timeout.
    Sent,
}

/// How the work under way ends when the process stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The work is left as it is: `xcsh` after the end of the input.
    Leave,
    /// The work is aborted: `pi-1` after the end of the input, every dialect after a signal.
    Abort,
    /// The work was left, and is then aborted by a signal.
    LeaveAborted,
}

/// How the process stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StopPlan {
    how: Stop,
    /// Whether the host was greeted; a process that is stopped before stays silent.
    is_greeted: bool,
}

#[derive(Clone)]
struct Region {
    end_of_input: DialectEndOfInput,
}

#[state_machine(
    initial = "State::greeting(GreetingStage::Registering, Pipe::Open)",
    state(derive(Clone, Copy, Debug, PartialEq, Eq)),
    superstate(derive(Debug))
)]
impl Region {
    /// Extensions start; commands of the host are held.
    #[state(superstate = "process")]
    fn greeting(greeting: &mut GreetingStage, pipe: &mut Pipe, event: &LifecycleEvent) -> Outcome<State> {
        match (event, *greeting) {
            (LifecycleEvent::Greeted, GreetingStage::Registering) => {
                *greeting = GreetingStage::Introducing { drains: false };
                Handled
            }
            (LifecycleEvent::Drained, _) => {
                *greeting = GreetingStage::Introducing { drains: true };
                Handled
            }
            (LifecycleEvent::Served, _) => Transition(State::open(*pipe)),
            (LifecycleEvent::Ended, _) => {
                *pipe = Pipe::Ended;
                Handled
            }
            (LifecycleEvent::Stopped, _) => {
                let is_greeted = *greeting != GreetingStage::Registering;
                Transition(State::stopping(StopPlan { how: Stop::Abort, is_greeted }, ExitNotice::Pending))
            }
            _ => Super,
        }
    }

    /// Commands of the host are served; the pipe may have ended after commands that were held.
    #[state(superstate = "process")]
    fn open(&self, pipe: &mut Pipe, event: &LifecycleEvent) -> Outcome<State> {
        match event {
            LifecycleEvent::Ended => Transition(self.after_end(ExitNotice::Pending)),
            LifecycleEvent::Drained => Transition(State::draining(ExitNotice::Pending, *pipe)),
            LifecycleEvent::Stopped => Transition(stops(Stop::Abort, ExitNotice::Pending)),
            _ => Super,
        }
    }

    /// The process exits once everything under way is finished.
    #[state(superstate = "process")]
    fn draining(&self, notice: &mut ExitNotice, pipe: &mut Pipe, event: &LifecycleEvent) -> Outcome<State> {
        match event {
            LifecycleEvent::Ended if self.end_of_input == DialectEndOfInput::Finish => {
                *pipe = Pipe::Ended;
                Handled
            }
            LifecycleEvent::Ended => Transition(self.after_end(*notice)),
            LifecycleEvent::Stopped => Transition(stops(Stop::Abort, *notice)),
            LifecycleEvent::ExitNotified => {
                *notice = ExitNotice::Sent;
                Handled
            }
            _ => Super,
        }
    }

    /// The process exits soon: no run opens any more. The input has ended, or is not read any more.
    #[state(superstate = "process")]
    fn stopping(
        &self,
        stop: &mut StopPlan,
        notice: &mut ExitNotice,
        event: &LifecycleEvent,
    ) -> Outcome<State> {
        match event {
            LifecycleEvent::Ended
                if self.end_of_input == DialectEndOfInput::Exit && stop.how == Stop::Abort =>
            {
                stop.how = Stop::LeaveAborted;
            }
            LifecycleEvent::Stopped if stop.how == Stop::Leave => stop.how = Stop::LeaveAborted,
            LifecycleEvent::ExitNotified => *notice = ExitNotice::Sent,
            _ => return Super,
        }
        Handled
    }

    #[state]
    fn exited() -> Outcome<State> {
        Handled
    }

    #[superstate]
    fn process(event: &LifecycleEvent) -> Outcome<State> {
        match event {
            LifecycleEvent::Exited => Transition(State::exited()),
            _ => Handled,
        }
    }
}

impl Region {
    /// The state after the end of the input, once every line was read.
    fn after_end(&self, notice: ExitNotice) -> State {
        match self.end_of_input {
            DialectEndOfInput::Finish => State::draining(notice, Pipe::Ended),
            DialectEndOfInput::Exit => stops(Stop::Leave, notice),
            DialectEndOfInput::AbortRun => stops(Stop::Abort, notice),
        }
    }
}

/// The state of a process that stops after it has greeted the host.
const fn stops(how: Stop, notice: ExitNotice) -> State {
    State::Stopping { stop: StopPlan { how, is_greeted: true }, notice }
}

impl Lifecycle {
    /// The region at the start, before extensions have registered.
    pub fn new(end_of_input: DialectEndOfInput) -> Self {
        Self(Region { end_of_input }.state_machine())
    }

    /// Moves the region.
    pub fn handle(&mut self, event: LifecycleEvent) {
        // An exit that was requested during the greeting is begun once commands are served.
        let drains = event == LifecycleEvent::Served && self.drains_after_greeting();
        self.0.handle(&event);
        if drains {
            self.0.handle(&LifecycleEvent::Drained);
        }
    }

    /// Name of the state in the schema.
    pub fn name(&self) -> &'static str {
        match self.0.state() {
            State::Greeting { .. } => "greeting",
            State::Open { .. } => "open",
            State::Draining { .. } => "draining",
            State::Stopping { .. } => "stopping",
            State::Exited {} => "exited",
        }
    }

    /// Whether the host was greeted: anything may be emitted.
    pub fn is_greeted(&self) -> bool {
        !matches!(
            self.0.state(),
            State::Greeting { greeting: GreetingStage::Registering, .. }
                | State::Stopping { stop: StopPlan { is_greeted: false, .. }, .. }
        )
    }

    /// Whether commands of the host are served rather than held.
    pub fn is_greeting_over(&self) -> bool {
        !matches!(self.0.state(), State::Greeting { .. })
    }

    /// Whether the exit is decided.
    pub fn is_ending(&self) -> bool {
        matches!(self.0.state(), State::Draining { .. } | State::Stopping { .. } | State::Exited {})
    }

    /// Whether the host has closed its side of the pipe, or is not read any more.
    pub fn is_input_over(&self) -> bool {
        match self.0.state() {
            State::Greeting { pipe, .. } | State::Open { pipe } | State::Draining { pipe, .. } => {
                *pipe == Pipe::Ended
            }
            State::Stopping { .. } | State::Exited {} => true,
        }
    }

    /// Whether the input has ended or the exit was requested.
    pub fn is_closing(&self) -> bool {
        match self.0.state() {
            State::Greeting { greeting, pipe } => {
                *pipe == Pipe::Ended || *greeting == GreetingStage::Introducing { drains: true }
            }
            State::Open { pipe } => *pipe == Pipe::Ended,
            State::Draining { .. } | State::Stopping { .. } | State::Exited {} => true,
        }
    }

    fn drains_after_greeting(&self) -> bool {
        matches!(
            self.0.state(),
            State::Greeting { greeting: GreetingStage::Introducing { drains: true }, .. }
        )
    }

    /// Whether the work under way is left as it is, and nothing is waited for.
    pub fn leaves_work(&self) -> bool {
        matches!(
            self.0.state(),
            State::Stopping { stop: StopPlan { how: Stop::Leave | Stop::LeaveAborted, .. }, .. }
        )
    }

    /// Whether the work under way is aborted, and none begins.
    pub fn aborts_work(&self) -> bool {
        matches!(
            self.0.state(),
            State::Stopping { stop: StopPlan { how: Stop::Abort | Stop::LeaveAborted, .. }, .. }
        )
    }

    /// Whether no new work begins.
    pub fn is_stopping(&self) -> bool {
        matches!(self.0.state(), State::Stopping { .. })
    }

    /// Whether frames of extensions are ignored.
    pub fn disregards_extensions(&self) -> bool {
        let is_notified = matches!(self.0.state(), State::Draining { notice: ExitNotice::Sent, .. });
        self.is_stopping() || self.is_exited() || is_notified
    }

    /// Whether extensions are still to be notified of the exit.
    pub fn owes_exit_notice(&self) -> bool {
        let (State::Draining { notice, .. } | State::Stopping { notice, .. }) = self.0.state() else {
            return false;
        };
        *notice == ExitNotice::Pending
    }

    /// Whether the process has exited: inputs are ignored.
    pub fn is_exited(&self) -> bool {
        matches!(self.0.state(), State::Exited {})
    }
}
