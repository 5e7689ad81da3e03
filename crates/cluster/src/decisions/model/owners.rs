//! What an owner does, by what it knows of NATS.

use super::{
    faults::Fault,
    nats::{Command, Nats, Told, Written},
    steps::Cluster,
    world::{Owner, OwnerStep},
};
use crate::{
    decisions::{
        ownership::{may_follow, unanswered},
        questions::{self, LeftRun},
        way_in::ClientMessage,
    },
    session_record::OutstandingCommand,
};

/// Each step of an owner returns `false` where it is the owner no more.
impl Cluster {
    pub(super) fn take_over(&self, nats: &mut Nats, owner: &mut Owner, host: usize) -> bool {
        let epoch = owner.record.0.epoch;
        match owner.step {
            OwnerStep::Record => {
                owner.step = OwnerStep::Entries;
                nats.write_record(&owner.record, &mut owner.revision)
            }
            OwnerStep::Entries => {
                owner.step = OwnerStep::Output;
                if !may_follow(nats.entries.last().map_or(0, |last| last.epoch), epoch) {
                    return false;
                }
                nats.entries.push(Written { epoch, host, content: None });
                owner.entries = nats.entries.len();
                true
            }
            OwnerStep::Output => {
                owner.step = OwnerStep::Runs;
                if !may_follow(nats.output.last().map_or(0, |last| last.epoch), epoch) {
                    return false;
                }
                nats.output.push(Written { epoch, host, content: Told::Owner });
                let answered: Vec<OutstandingCommand> = nats
                    .output
                    .iter()
                    .filter_map(|told| match told.content {
                        Told::Done(command) | Told::Lost(command) => Some(outstanding(command)),
                        _ => None,
                    })
                    .collect();
                let taken = &mut owner.record.0.taken;
                for lost in unanswered(std::mem::take(&mut taken.outstanding), &answered) {
                    nats.output.push(Written { epoch, host, content: Told::Lost(command(&lost)) });
                }
                match LeftRun::of(owner.record.0.waiting.is_some(), owner.is_cut) {
                    LeftRun::GoesOn if self.faults.has(Fault::QuestionDropped) => {}
                    LeftRun::GoesOn => owner.question = Some(false),
                    LeftRun::Closed { is_told: true } if self.bounds.asks => {
                        nats.output.push(Written { epoch, host, content: Told::Closed });
                    }
                    LeftRun::Closed { .. } => {}
                }
                owner.output = nats.output.len();
                true
            }
            OwnerStep::Runs => true,
        }
    }

    pub(super) fn take_input(&self, nats: &mut Nats, owner: &mut Owner, host: usize) -> bool {
        let taken = &mut owner.record.0.taken;
        let Some(message) = nats.input.get(taken.position as usize) else { return true };
        taken.position += 1;
        let name = message.client.to_string();
        let counts = taken.admit(&name, message.numbered, self.bounds.max_clients)
            || self.faults.has(Fault::NumbersUnchecked);
        let is_line = matches!(message.numbered, ClientMessage::Line { .. });
        let command = (message.client, message.command);
        if counts && is_line {
            owner.queue.push(command);
            if !self.faults.has(Fault::OutstandingUnnoted) && !self.is_answer(command) {
                taken.outstanding.push(outstanding(command));
            }
        }
        let (is_running, waits) = note(owner, true);
        owner.record.0.is_running = is_running;
        if !waits && !self.faults.has(Fault::AnswerLeavesQuestion) {
            owner.record.0.waiting = None;
        }
        if self.faults.has(Fault::ExecutesBeforeNoting) && counts && is_line {
            owner.queue.pop();
            if !self.append(nats, owner, command, host) {
                return false;
            }
        }
        let record = owner.record.clone();
        nats.write_record(&record, &mut owner.revision)
    }

    pub(super) fn execute(&self, nats: &mut Nats, owner: &mut Owner, host: usize) -> bool {
        let command = owner.queue.remove(0);
        // A second answer is to no question.
        if self.is_answer(command) && owner.question.take().is_none() {
            return true;
        }
        if self.bounds.asks && !self.is_answer(command) {
            owner.question = Some(false);
        }
        self.append(nats, owner, command, host)
    }

    /// Tells clients of the open question.
    pub(super) fn ask(&self, nats: &mut Nats, owner: &mut Owner, host: usize) -> bool {
        if owner.output != nats.output.len() {
            return false;
        }
        owner.question = Some(true);
        nats.output.push(Written { epoch: owner.record.0.epoch, host, content: Told::Asked });
        owner.output = nats.output.len();
        true
    }

    /// Notes in the record what the session is doing.
    pub(super) fn note(&self, nats: &mut Nats, owner: &mut Owner, _: usize) -> bool {
        let (is_running, waits) = note(owner, false);
        owner.record.0.is_running = is_running;
        owner.record.0.waiting = waits.then(Box::default);
        let record = owner.record.clone();
        nats.write_record(&record, &mut owner.revision)
    }

    /// Appends the entry of a command, behind the last one that the owner knows.
    fn append(&self, nats: &mut Nats, owner: &mut Owner, command: Command, host: usize) -> bool {
        if owner.entries != nats.entries.len() && !self.faults.has(Fault::EntriesUnfenced) {
            return false;
        }
        nats.entries.push(Written { epoch: owner.record.0.epoch, host, content: Some(command) });
        owner.entries = nats.entries.len();
        owner.executed.push(command);
        true
    }

    pub(super) fn respond(&self, nats: &mut Nats, owner: &mut Owner, host: usize) -> bool {
        if owner.output != nats.output.len() && !self.faults.has(Fault::OutputUnfenced) {
            return false;
        }
        let command = owner.executed.remove(0);
        nats.output.push(Written { epoch: owner.record.0.epoch, host, content: Told::Done(command) });
        owner.output = nats.output.len();
        let taken = &mut owner.record.0.taken;
        taken.outstanding = unanswered(std::mem::take(&mut taken.outstanding), &[outstanding(command)]);
        true
    }
}

/// What the record is to say of an owner: whether a run is open, and whether it waits. `taken`: input is taken with it.
pub(super) fn note(owner: &Owner, taken: bool) -> (bool, bool) {
    let is_current = questions::is_current(taken, 0, owner.queue.len() as u64);
    (owner.question.is_some(), owner.question.is_some() && is_current)
}

fn outstanding((client, command): Command) -> OutstandingCommand {
    OutstandingCommand { client: client.to_string(), id: None, command: command.to_string() }
}

fn command(outstanding: &OutstandingCommand) -> Command {
    (outstanding.client.parse().unwrap(), outstanding.command.parse().unwrap())
}
