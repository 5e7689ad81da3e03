//! Wrong decisions, of which the model has to find each.

/// A decision that is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// As it was: a host tells a client the lines that it has had itself.
    CountsFromMemory,
    /// As it was: connections have no numbers, so that a late line takes the number of another one.
    NoAttachments,
    /// As it was: messages are known by client and number, also those of a client that was forgotten meanwhile.
    IdsRepeat,
    /// As it was: a client goes on with its own count where the host's is lower.
    ClientCountsAlone,
    /// As it was: lines behind one that was given up are published, and counted with it.
    CountsRefused,
    /// As it was: a line that may still be stored is answered with an error, and counted.
    AnswersUncertain,
    /// Planted: a command is executed before it is noted as taken.
    ExecutesBeforeNoting,
    /// Planted: entries are written behind whatever is there.
    EntriesUnfenced,
    /// Planted: output is written behind whatever is there.
    OutputUnfenced,
    /// Planted: the record does not name the commands that were taken.
    OutstandingUnnoted,
    /// Planted: a line that was received counts again.
    NumbersUnchecked,
    /// Planted: a session that names a host counts as run by it.
    OwnNameIsHeld,
    /// Planted: the record still says that the run waits when an answer is taken.
    AnswerLeavesQuestion,
    /// Planted: the run of a record that says that it waits does not go on.
    QuestionDropped,
}

/// The faults of a model.
#[derive(Clone, Debug, Default)]
pub struct Faults(pub Vec<Fault>);

impl Faults {
    pub fn has(&self, fault: Fault) -> bool {
        self.0.contains(&fault)
    }
}
