//! Explores how nodes count what one name uses: clocks that differ, answers that are lost, writes that come late, nodes that end, a record
//! that is deleted.

use crate::decisions::{
    account::{Account, AccountInput, AccountOutput, UsageRequest},
    usage::{Moment, UsageRecord},
};
use stateright::{Checker as _, HasDiscoveries, Model, Property};

/// Commands a minute.
const LIMIT: u32 = 2;

/// Milliseconds of a step of time, in which one command drains.
const STEP: u64 = 30_000;

/// Noon of a day.
const NOON: u64 = (20_000 * 24 + 12) * 3_600_000;

/// A decision that is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// As it was: a write that was not answered is sent again.
    RepeatsUnanswered,
    /// As it was: a record that seems to be of the future does not drain.
    ForgetsReading,
    /// Planted: a record has drained up to what the clock of its writer says.
    TrustsClocks,
    /// Planted: records are written behind whatever is there.
    Unfenced,
}

/// How much of each may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Budget {
    /// Requests for commands.
    commands: u8,
    /// Requests to add dollars.
    additions: u8,
    /// Steps of time.
    steps: u8,
    /// Answers that are lost, of writes that are stored or not.
    losses: u8,
    /// Writes that come later than they are given up.
    delays: u8,
    /// Records that are deleted.
    deletions: u8,
    /// Nodes that end and start again.
    restarts: u8,
}

const COUNTS: Budget =
    Budget { commands: 4, additions: 1, steps: 2, losses: 0, delays: 0, deletions: 0, restarts: 0 };

#[derive(Clone, Debug)]
struct Accounts {
    /// Milliseconds that the clock of each node is ahead.
    clocks: Vec<i64>,
    budget: Budget,
    fault: Option<Fault>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Node {
    account: Account,
    /// What it is to do, if it has a request.
    next: Option<AccountOutput>,
    takes_command: bool,
    /// When it has decided on its writes, by their names.
    decided: Vec<(u64, u64)>,
    /// Since when it is refused commands, with none counted anywhere meanwhile, and when it was last.
    refused: Option<(u64, u64)>,
}

impl Node {
    const fn new(account: Account) -> Self {
        Self { account, next: None, takes_command: false, decided: Vec::new(), refused: None }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct World {
    time: u64,
    record: Option<UsageRecord>,
    revision: u64,
    nodes: Vec<Node>,
    late: Vec<(UsageRecord, u64)>,
    /// When the commands were counted that were granted since the record was deleted.
    granted: Vec<u64>,
    /// Dollars that were spent, and of those the ones that a node has taken along or a deletion has forgiven.
    spent: u64,
    gone: u64,
    starts: u64,
    budget: Budget,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Take(usize),
    AddDollars(usize),
    Proceed(usize),
    /// The answer is lost; `true`: the write is stored.
    Lose(usize, bool),
    Delay(usize),
    Arrive(usize),
    Pass,
    Delete,
    Restart(usize),
}

impl World {
    /// Stores a record behind a revision. `false`: another one was there.
    fn store(&mut self, record: UsageRecord, behind: u64) -> bool {
        let is_stored = self.revision == behind;
        if is_stored {
            let level = |record: &UsageRecord| (record.at, record.commands);
            let counts = self.record.as_ref().is_none_or(|before| level(before) != level(&record));
            (self.record, self.revision) = (Some(record), self.revision + 1);
            self.nodes.iter_mut().filter(|_| counts).for_each(|node| node.refused = None);
        }
        is_stored
    }

    fn day() -> u64 {
        NOON / (24 * 3_600_000)
    }

    /// Dollars in the record.
    fn recorded(&self) -> u64 {
        self.record.as_ref().map_or(0, |record| record.dollars.of(Self::day()))
    }

    /// Dollars that nodes count for themselves.
    fn counted_by_nodes(&self) -> u64 {
        self.nodes.iter().map(|node| node.account.spent_here(Self::day())).sum()
    }
}

impl Accounts {
    fn moment(&self, world: &World, node: usize) -> Moment {
        let passed = world.time * STEP;
        Moment { elapsed: passed, wall: (NOON + passed).saturating_add_signed(self.clocks[node]) }
    }

    fn tell(&self, world: &mut World, node: usize, input: AccountInput) {
        let now = self.moment(world, node);
        let known = &mut world.nodes[node];
        let output = known.account.handle(input, now);
        known.next = None;
        match output {
            AccountOutput::End(false) => known.refused.get_or_insert((world.time, 0)).1 = world.time,
            AccountOutput::End(true) if known.takes_command => {
                // The record is the write that counts it.
                let write = world.record.as_ref().map(|record| record.write);
                let decided = known.decided.iter().find(|(name, _)| Some(*name) == write);
                world.granted.push(decided.map_or(world.time, |(_, time)| *time));
                world.granted.sort_unstable();
                known.decided.clear();
                world.spent += 1;
                known.account.spend(World::day(), 1);
            }
            AccountOutput::End(true) => {}
            output => {
                if let AccountOutput::Write(record, _) = &output {
                    known.decided.push((record.write, world.time));
                }
                known.next = Some(output);
            }
        }
    }

    fn write(&self, world: &mut World, node: usize, mut record: UsageRecord, behind: u64) -> bool {
        if self.fault == Some(Fault::TrustsClocks) {
            record.at = self.moment(world, node).wall;
        }
        let behind = if self.fault == Some(Fault::Unfenced) { world.revision } else { behind };
        world.store(record, behind)
    }

    fn new_account(world: &mut World) -> Account {
        world.starts += 1;
        Account::new(100 * world.starts)
    }

    fn take(&self, world: &mut World, node: usize) {
        world.budget.commands -= 1;
        if self.fault == Some(Fault::ForgetsReading) {
            world.gone += world.nodes[node].account.spent_here(World::day());
            world.nodes[node].account = Self::new_account(world);
        }
        self.request(world, node, UsageRequest::Command(LIMIT));
    }

    fn request(&self, world: &mut World, node: usize, request: UsageRequest) {
        world.nodes[node].takes_command = request != UsageRequest::Dollars;
        self.tell(world, node, AccountInput::Request(request));
    }

    fn proceed(&self, world: &mut World, node: usize) {
        match world.nodes[node].next.take() {
            Some(AccountOutput::Read) => {
                let found = AccountInput::Found(world.record.clone(), world.revision);
                self.tell(world, node, found);
            }
            Some(AccountOutput::Write(record, behind)) => {
                let answer = match self.write(world, node, record, behind) {
                    true => AccountInput::Written(world.revision),
                    false => AccountInput::Overtaken,
                };
                self.tell(world, node, answer);
            }
            Some(AccountOutput::End(_)) | None => {}
        }
    }
}

impl Model for Accounts {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        let count = self.clocks.len() as u64;
        vec![World {
            time: 0,
            record: None,
            revision: 0,
            nodes: (0..count).map(|index| Node::new(Account::new(100 * index))).collect(),
            late: Vec::new(),
            granted: Vec::new(),
            spent: 0,
            gone: 0,
            starts: count,
            budget: self.budget,
        }]
    }

    fn actions(&self, world: &World, steps: &mut Vec<Step>) {
        let budget = world.budget;
        for (index, node) in world.nodes.iter().enumerate() {
            match &node.next {
                None => {
                    if budget.commands > 0 {
                        steps.push(Step::Take(index));
                    }
                    if budget.additions > 0 && node.account.has_unadded() {
                        steps.push(Step::AddDollars(index));
                    }
                }
                Some(next) => {
                    steps.push(Step::Proceed(index));
                    if matches!(next, AccountOutput::Write(..)) {
                        if budget.losses > 0 {
                            steps.extend([Step::Lose(index, true), Step::Lose(index, false)]);
                        }
                        if budget.delays > 0 {
                            steps.push(Step::Delay(index));
                        }
                    }
                }
            }
            if budget.restarts > 0 {
                steps.push(Step::Restart(index));
            }
        }
        steps.extend((0..world.late.len()).map(Step::Arrive));
        if budget.steps > 0 {
            steps.push(Step::Pass);
        }
        if budget.deletions > 0 && world.record.is_some() {
            steps.push(Step::Delete);
        }
    }

    fn next_state(&self, world: &World, step: Step) -> Option<World> {
        let mut world = world.clone();
        match step {
            Step::Take(node) => self.take(&mut world, node),
            Step::AddDollars(node) => {
                world.budget.additions -= 1;
                self.request(&mut world, node, UsageRequest::Dollars);
            }
            Step::Proceed(node) => self.proceed(&mut world, node),
            Step::Lose(node, is_stored) => {
                world.budget.losses -= 1;
                let Some(AccountOutput::Write(record, behind)) = world.nodes[node].next.take() else {
                    return None;
                };
                if is_stored {
                    self.write(&mut world, node, record, behind);
                }
                let answer = match self.fault {
                    Some(Fault::RepeatsUnanswered) => AccountInput::Overtaken,
                    _ => AccountInput::Unanswered,
                };
                self.tell(&mut world, node, answer);
            }
            Step::Delay(node) => {
                world.budget.delays -= 1;
                let Some(AccountOutput::Write(record, behind)) = world.nodes[node].next.take() else {
                    return None;
                };
                world.late.push((record, behind));
                self.tell(&mut world, node, AccountInput::Unanswered);
            }
            Step::Arrive(late) => {
                let (record, behind) = world.late.remove(late);
                world.store(record, behind);
            }
            Step::Pass => {
                world.budget.steps -= 1;
                world.time += 1;
            }
            Step::Delete => {
                world.budget.deletions -= 1;
                world.gone = world.spent;
                (world.record, world.revision) = (None, world.revision + 1);
                world.granted.clear();
            }
            Step::Restart(node) => {
                world.budget.restarts -= 1;
                world.gone += world.nodes[node].account.spent_here(World::day());
                let account = Self::new_account(&mut world);
                world.nodes[node] = Node::new(account);
            }
        }
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(BOUNDED, |model: &Self, world: &World| {
                // Two clocks that differ drain the difference once, and never more than all there is.
                let (first, last) = (model.clocks.iter().min(), model.clocks.iter().max());
                let spread = last.zip(first).map_or(0, |(last, first)| last.abs_diff(*first).div_ceil(STEP));
                let spare = spread.min(u64::from(LIMIT));
                let granted = &world.granted;
                (0..granted.len()).all(|first| {
                    (first..granted.len()).all(|last| {
                        let count = (last - first + 1) as u64;
                        count <= u64::from(LIMIT) + (granted[last] - granted[first]) + spare
                    })
                })
            }),
            Property::always(REFUSED_FOR_A_MINUTE, |_, world: &World| {
                let is_short = |(since, last): (u64, u64)| (last - since) * STEP < 60_000;
                world.nodes.iter().all(|node| node.refused.is_none_or(is_short))
            }),
            Property::always(ONCE, |_, world: &World| world.recorded() <= world.spent),
            Property::always(NOT_LOST, |_, world: &World| {
                world.recorded() + world.counted_by_nodes() + world.gone >= world.spent
            }),
        ]
    }
}

const BOUNDED: &str = "commands stay within the limit, over all nodes";
const REFUSED_FOR_A_MINUTE: &str = "a token below its limit is refused for a minute at most";
const ONCE: &str = "no dollar is counted twice in the record";
const NOT_LOST: &str = "a dollar is in the record, or counted where it was spent";

fn explore(clocks: &[i64], budget: Budget, fault: Option<Fault>) -> (Vec<&'static str>, usize) {
    let model = Accounts { clocks: clocks.to_vec(), budget, fault };
    let checker = model.checker().threads(2).finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    let discoveries = checker.discoveries();
    for (name, path) in &discoveries {
        println!("{fault:?}: {name}: {:?}", path.clone().into_actions());
    }
    (discoveries.keys().copied().collect(), checker.unique_state_count())
}

const HOUR: i64 = 3_600_000;
const STEPS: i64 = STEP as i64;

#[test]
fn limits_hold_over_all_nodes() {
    let few = Budget { commands: 3, steps: 1, ..COUNTS };
    let explored: [(&str, &[i64], Budget); 6] = [
        ("three nodes", &[0, 0, 0], few),
        ("clocks that differ", &[0, STEPS / 2, -STEPS / 2], Budget { additions: 0, ..few }),
        ("a clock that is an hour ahead", &[0, HOUR], Budget { commands: 5, additions: 0, ..COUNTS }),
        ("answers are lost", &[0, 0], Budget { commands: 2, losses: 2, additions: 2, ..few }),
        ("a write comes late, a node ends", &[0, 0], Budget { commands: 2, delays: 1, restarts: 1, ..few }),
        ("the record is deleted", &[0, 0], Budget { commands: 2, delays: 1, deletions: 1, ..few }),
    ];
    for (name, clocks, budget) in explored {
        let (broken, states) = explore(clocks, budget, None);
        println!("{name}: {states} states");
        assert!(broken.is_empty(), "{name}: {broken:?}");
    }
}

#[test]
fn limits_hold_in_larger_worlds() {
    if std::env::var_os("PI_RPC_MODEL_SECONDS").is_none() {
        return;
    }
    let few = Budget { commands: 3, steps: 1, losses: 1, delays: 1, ..COUNTS };
    for budget in [Budget { restarts: 1, ..few }, Budget { deletions: 1, ..few }] {
        let (broken, states) = explore(&[0, 0], budget, None);
        println!("{budget:?}: {states} states");
        assert!(broken.is_empty(), "{broken:?}");
    }
}

#[test]
fn wrong_counts_are_found() {
    let lossy = Budget { commands: 3, losses: 1, ..COUNTS };
    let many = Budget { commands: 5, additions: 0, ..COUNTS };
    let faults: [(Fault, &[i64], Budget, &str); 4] = [
        (Fault::RepeatsUnanswered, &[0, 0], lossy, ONCE),
        (Fault::ForgetsReading, &[0, HOUR], many, REFUSED_FOR_A_MINUTE),
        (Fault::TrustsClocks, &[0, -STEPS], many, BOUNDED),
        (Fault::Unfenced, &[0, 0], COUNTS, BOUNDED),
    ];
    for (fault, clocks, budget, promise) in faults {
        let (broken, states) = explore(clocks, budget, Some(fault));
        println!("{fault:?}: {states} states");
        assert!(broken.contains(&promise), "{fault:?}: {broken:?}");
    }
}
