//! What is kept of a record in memory. Its text stays in the file.

use pi_rpc_machine::State;
use pi_rpc_protocol::FlowState;
use pi_rpc_recording::Direction;

/// The facts of a record. Some 50 bytes, whatever the length of its line.
#[derive(Clone, Copy, Debug)]
pub struct RecordFacts {
    /// Milliseconds since the recording began.
    pub t: f64,
    /// The offset of its line in the file.
    pub offset: u64,
    /// The length of its line in the file, without the line feed.
    pub span: u32,
    /// The item that it belongs to, plus one; 0: none.
    item: u32,
    /// The record that it answers; 0: none.
    pub cause: u32,
    /// The number of its kind's name.
    pub kind: u16,
    /// The number of its type's name; 0: none.
    pub name: u16,
    /// The number of its session's name; 0: none.
    pub session: u16,
    dialogs: u16,
    shells: u16,
    flow: u8,
    direction: u8,
    /// Whether the input has ended, whether strings were shortened.
    flags: u8,
}

const CLOSING: u8 = 1;
const SHORTENED: u8 = 2;

/// The directions by their numbers.
const DIRECTIONS: [Direction; 4] = [Direction::In, Direction::Out, Direction::Err, Direction::Meta];

impl RecordFacts {
    /// The facts of a record at `offset`, of which nothing else is known yet.
    pub fn new(t: f64, direction: Direction, offset: u64, span: u32, is_shortened: bool) -> Self {
        Self {
            t,
            offset,
            span,
            item: 0,
            cause: 0,
            kind: 0,
            name: 0,
            session: 0,
            dialogs: 0,
            shells: 0,
            flow: 0,
            direction: direction as u8,
            flags: if is_shortened { SHORTENED } else { 0 },
        }
    }

    /// Sets the state after the record.
    pub fn set_state(&mut self, state: State) {
        self.flow = state.flow as u8;
        self.dialogs = state.dialogs.try_into().unwrap_or(u16::MAX);
        self.shells = state.shell.try_into().unwrap_or(u16::MAX);
        self.flags = self.flags & !CLOSING | if state.closing { CLOSING } else { 0 };
    }

    /// The state after the record.
    pub fn state(&self) -> State {
        State {
            flow: self.flow(),
            dialogs: self.dialogs.into(),
            shell: self.shells.into(),
            closing: self.flags & CLOSING != 0,
        }
    }

    /// The state of the flow after the record.
    pub fn flow(&self) -> FlowState {
        FlowState::ALL.get(usize::from(self.flow)).copied().unwrap_or(FlowState::Idle)
    }

    /// The source of the record.
    pub fn direction(&self) -> Direction {
        DIRECTIONS.get(usize::from(self.direction)).copied().unwrap_or(Direction::Meta)
    }

    /// Whether the recorder shortened long strings.
    pub const fn is_shortened(&self) -> bool {
        self.flags & SHORTENED != 0
    }

    /// The item that the record belongs to.
    pub const fn item(&self) -> Option<u32> {
        self.item.checked_sub(1)
    }

    /// Sets the item that the record belongs to.
    pub const fn set_item(&mut self, item: u32) {
        self.item = item.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_stay_small() {
        assert!(size_of::<RecordFacts>() <= 64);
    }

    #[test]
    fn state_is_kept_whole() {
        for flow in FlowState::ALL {
            let state = State { flow, dialogs: 2, shell: 1, closing: true };
            let mut facts = RecordFacts::new(0.0, Direction::Err, 0, 0, true);
            facts.set_state(state);
            assert_eq!(
                (facts.state(), facts.direction(), facts.is_shortened()),
                (state, Direction::Err, true)
            );
        }
    }
}
