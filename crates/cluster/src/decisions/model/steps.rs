//! What may happen next, and what comes of it.

use super::{
    faults::{Fault, Faults},
    nats::{Command, Message, Nats, Record, Told, Written},
    owners::note,
    world::{Budget, Client, Host, Owner, OwnerStep, Way, WayState, World},
};
use crate::{
    decisions::{
        membership::{Members, NodeInfo},
        ownership::{is_orphan, take_over},
        way_in::{ClientMessage, Entry},
    },
    session_record::SessionRecord,
};
use stateright::{Model, Property};
use std::time::Duration;

/// How large the world is.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub hosts: usize,
    pub clients: usize,
    /// Commands of each client.
    pub commands: u8,
    /// Clients whose lines are counted.
    pub max_clients: usize,
    /// Whether the first command asks for a permission; the others are answers.
    pub asks: bool,
    pub budget: Budget,
}

/// The model, with the faults that are put into its decisions.
#[derive(Clone, Debug)]
pub struct Cluster {
    pub bounds: Bounds,
    pub faults: Faults,
}

/// A step, of a host or of a client at a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Write(usize),
    Connect(usize, usize),
    Enter(usize, usize),
    Publish(usize, usize),
    Delay(usize, usize),
    Refuse(usize, usize),
    Arrive(usize),
    Claim(usize),
    TakeOver(usize),
    TakeInput(usize),
    Execute(usize),
    Respond(usize),
    Ask(usize),
    Note(usize),
    Crash(usize),
    Start(usize),
    Expire(usize),
    Fail(usize),
}

impl Model for Cluster {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        let Bounds { hosts, clients, budget, .. } = self.bounds;
        let host =
            Host { is_up: true, start: 0, owner: None, ways: vec![None; clients], memory: vec![0; clients] };
        let client = Client { at: None, sent: Default::default(), written: 0, refused: Vec::new() };
        let mut record = Record(SessionRecord::default());
        take_over(&mut record.0, &host.lease(0));
        let nats = Nats {
            record: record.clone(),
            revision: 1,
            input: Vec::new(),
            entries: vec![Written { epoch: 1, host: 0, content: None }],
            output: vec![Written { epoch: 1, host: 0, content: Told::Owner }],
        };
        let mut hosts = vec![host; hosts];
        // The first one runs the session.
        let (queue, executed) = (Vec::new(), Vec::new());
        let step = OwnerStep::Runs;
        hosts[0].owner = Some(Owner {
            step,
            record,
            revision: 1,
            entries: 1,
            output: 1,
            queue,
            executed,
            question: None,
            is_cut: false,
        });
        let late = Vec::new();
        vec![World { nats, hosts, clients: vec![client; clients], late, budget }]
    }

    fn actions(&self, world: &World, steps: &mut Vec<Step>) {
        self.progress(world, steps);
        let budget = world.budget;
        for (index, host) in world.hosts.iter().enumerate().filter(|(_, host)| host.is_up) {
            if budget.crashes > 0 {
                steps.push(Step::Crash(index));
            }
            let is_opening = host.owner.as_ref().is_some_and(|owner| owner.step == OwnerStep::Output);
            if budget.failures > 0 && is_opening {
                steps.push(Step::Fail(index));
            }
            if budget.expiries > 0 && self.is_expirable(world, index) {
                steps.push(Step::Expire(index));
            }
            for (client, way) in host.ways.iter().enumerate() {
                if let Some(Way { state: WayState::Entered { .. }, queue, .. }) = way
                    && !queue.is_empty()
                {
                    if budget.delays > 0 {
                        steps.push(Step::Delay(index, client));
                    }
                    if budget.refusals > 0 {
                        steps.push(Step::Refuse(index, client));
                    }
                }
            }
            for (client, state) in world.clients.iter().enumerate() {
                let may_leave = |at: usize| {
                    let way = world.hosts[at].ways[client].as_ref();
                    // A client that is forgotten while lines of its last connection are on their way is beyond the bounds.
                    self.bounds.max_clients >= self.bounds.clients
                        || way.is_none_or(|way| way.queue.is_empty())
                };
                if budget.moves > 0
                    && state.at.is_some_and(may_leave)
                    && self.takes_connection(world, client, index)
                {
                    steps.push(Step::Connect(client, index));
                }
            }
        }
    }

    fn next_state(&self, world: &World, step: Step) -> Option<World> {
        let mut world = world.clone();
        self.apply(&mut world, step);
        if self.has_one_owner() {
            self.serve_at_once(&mut world);
        }
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("one owner writes", |_, world: &World| {
                is_in_order(&world.nats.entries) && is_in_order(&world.nats.output)
            }),
            Property::always("what was told is there, once, in order", |_, world: &World| {
                let entries: Vec<Command> =
                    world.nats.entries.iter().filter_map(|entry| entry.content).collect();
                let told = world.nats.output.iter().filter_map(|told| match told.content {
                    Told::Done(command) => Some(command),
                    _ => None,
                });
                let mut rest = entries.iter();
                told.into_iter().all(|command| rest.any(|entry| *entry == command))
            }),
            Property::always("a command is executed once, in order", |_, world: &World| {
                (0..world.clients.len()).all(|client| {
                    let executed = world.nats.entries.iter().filter_map(|entry| entry.content);
                    let executed: Vec<u8> =
                        executed.filter(|command| command.0 == client).map(|command| command.1).collect();
                    executed.is_sorted_by(|one, next| one < next)
                })
            }),
            Property::always(
                "what was confirmed is executed, or its client is told",
                |model, world: &World| {
                    !model.is_quiet(world)
                        || (0..world.clients.len()).all(|client| model.is_decided(world, client))
                },
            ),
            Property::always("what was asked about is executed once", |model, world: &World| {
                let executed = world.nats.entries.iter().filter_map(|entry| entry.content);
                executed.filter(|command| model.is_answer(*command)).count() <= 1
            }),
            Property::always(
                "a question is open, answered, or its client is told",
                |model, world: &World| !model.is_quiet(world) || model.is_answerable(world),
            ),
            Property::always("a session is openable again", |model, world: &World| {
                !model.is_quiet(world) || is_served(world)
            }),
            Property::sometimes("example: all commands are executed", |model, world: &World| {
                let executed = world.nats.entries.iter().filter(|entry| entry.content.is_some()).count();
                let Bounds { clients, commands, asks, .. } = model.bounds;
                // Of the answers, one counts.
                let most = if asks { 2 } else { usize::from(commands) };
                model.is_quiet(world) && executed == clients * most
            }),
        ]
    }
}

/// Whether owners follow each other, and none writes behind a later one.
fn is_in_order<T>(written: &[Written<T>]) -> bool {
    written
        .is_sorted_by(|one, next| one.epoch < next.epoch || one.epoch == next.epoch && one.host == next.host)
}

/// Whether clients see an open question.
fn is_asked(world: &World) -> bool {
    let last = world.nats.output.iter().rfind(|told| matches!(told.content, Told::Asked | Told::Closed));
    last.is_some_and(|told| told.content == Told::Asked)
}

/// Whether a host runs the session, has taken all input, and each client has written and has no line left.
fn is_served(world: &World) -> bool {
    let runs = |host: &Host| host.owner.as_ref().is_some_and(|owner| owner.step == OwnerStep::Runs);
    let is_taken = world.nats.record.0.taken.position as usize == world.nats.input.len();
    let is_sent =
        world.clients.iter().all(|client| client.at.is_some() && client.sent.unconfirmed().len() == 0);
    world.hosts.iter().any(runs) && is_taken && is_sent
}

impl Cluster {
    /// Whether a command is the answer to a question: it has no response.
    pub(super) fn is_answer(&self, (_, command): Command) -> bool {
        self.bounds.asks && command > 1
    }

    /// Whether each command of a client that it does not send again has an outcome.
    fn is_decided(&self, world: &World, client: usize) -> bool {
        let Client { sent, written, refused, .. } = &world.clients[client];
        let commands = (1..=*written).filter(|command| !self.is_answer((client, *command)));
        commands.into_iter().all(|command| {
            let is_told = world.nats.output.iter().any(|told| told.content == Told::Lost((client, command)));
            let is_executed = world.nats.entries.iter().any(|entry| entry.content == Some((client, command)));
            sent.unconfirmed().any(|it| *it == command)
                || is_told
                || is_executed
                || refused.contains(&command)
        })
    }

    /// Whether a question that clients were told of is open where the session runs, was executed, or was closed before their eyes.
    fn is_answerable(&self, world: &World) -> bool {
        let is_executed = world.nats.entries.iter().any(|it| it.content.is_some_and(|it| self.is_answer(it)));
        let is_open = |host: &Host| host.owner.as_ref().is_some_and(|owner| owner.question.is_some());
        !is_asked(world) || is_executed || world.hosts.iter().any(is_open)
    }

    /// Whether a client writes its next command: an answer only to a question that it sees, once each time.
    fn may_write(&self, world: &World, client: usize) -> bool {
        let next = world.clients[client].written + 1;
        let asked = world.nats.output.iter().filter(|told| told.content == Told::Asked).count();
        let may_answer = is_asked(world) && asked >= usize::from(next) - 1;
        next <= self.bounds.commands && (!self.is_answer((client, next)) || may_answer)
    }

    /// Whether nothing is left to do without a fault of the world.
    fn is_quiet(&self, world: &World) -> bool {
        let mut steps = Vec::new();
        self.progress(world, &mut steps);
        steps.is_empty()
    }

    /// Whether nothing happens within the bounds by which the first owner loses the session.
    fn has_one_owner(&self) -> bool {
        let Budget { crashes, expiries, failures, .. } = self.bounds.budget;
        crashes + expiries + failures == 0
    }

    /// Lets the owner do all that it can. When it does so makes no difference to others where it stays the owner: they read the input
    /// as far as it is there, taken or not.
    fn serve_at_once(&self, world: &mut World) {
        let waits = |world: &World| {
            let owner = world.hosts[0].owner.as_ref();
            owner.is_some_and(|owner| (owner.record.0.taken.position as usize) < world.nats.input.len())
        };
        while waits(world) {
            self.with_owner(world, 0, Self::take_input);
            for act in [Self::execute, Self::respond] {
                if world.hosts[0]
                    .owner
                    .as_ref()
                    .is_some_and(|owner| !owner.queue.is_empty() || !owner.executed.is_empty())
                {
                    self.with_owner(world, 0, act);
                }
            }
        }
    }

    /// What hosts and clients do by themselves.
    fn progress(&self, world: &World, steps: &mut Vec<Step>) {
        for (index, client) in world.clients.iter().enumerate() {
            match client.at {
                Some(_) if self.may_write(world, index) => steps.push(Step::Write(index)),
                Some(_) => {}
                None => {
                    let hosts = 0..world.hosts.len();
                    let open = hosts.filter(|host| self.takes_connection(world, index, *host));
                    steps.extend(open.map(|host| Step::Connect(index, host)));
                }
            }
        }
        steps.extend((0..world.late.len()).map(Step::Arrive));
        for (index, host) in world.hosts.iter().enumerate() {
            if !host.is_up {
                steps.push(Step::Start(index));
                continue;
            }
            for (client, way) in host.ways.iter().enumerate() {
                let Some(way) = way.as_ref().filter(|way| !way.queue.is_empty()) else { continue };
                steps.push(match way.state {
                    WayState::New { .. } => Step::Enter(index, client),
                    WayState::Entered { .. } => Step::Publish(index, client),
                });
            }
            match &host.owner {
                None if self.is_orphan(world, index) => steps.push(Step::Claim(index)),
                None => {}
                Some(owner) if owner.step != OwnerStep::Runs => steps.push(Step::TakeOver(index)),
                Some(owner) => {
                    if !owner.queue.is_empty() {
                        steps.push(Step::Execute(index));
                    }
                    if !owner.executed.is_empty() {
                        steps.push(Step::Respond(index));
                    }
                    if (owner.record.0.taken.position as usize) < world.nats.input.len() {
                        steps.push(Step::TakeInput(index));
                    }
                    if owner.question == Some(false) {
                        steps.push(Step::Ask(index));
                    }
                    if note(owner, false) != (owner.record.0.is_running, owner.record.0.waiting.is_some()) {
                        steps.push(Step::Note(index));
                    }
                }
            }
        }
    }

    /// Whether a host lets a client in: lines of its last connection there are not on their way any more.
    fn takes_connection(&self, world: &World, client: usize, host: usize) -> bool {
        let host = &world.hosts[host];
        host.is_up && host.ways[client].as_ref().is_none_or(|way| way.queue.is_empty())
    }

    /// The hosts as each other sees them: those that are up are alive.
    fn members(&self, world: &World) -> Members {
        let mut members = Members::new(Duration::ZERO);
        for (index, host) in world.hosts.iter().enumerate().filter(|(_, host)| host.is_up) {
            members.note(host.lease(index), NodeInfo::default(), false, Duration::ZERO);
        }
        members
    }

    fn is_orphan(&self, world: &World, host: usize) -> bool {
        let (record, own) = (&world.nats.record.0, world.hosts[host].lease(host));
        let is_here = self.faults.has(Fault::OwnNameIsHeld);
        is_orphan(record, &own, is_here, &self.members(world), Duration::ZERO)
    }

    /// Whether another host than its owner could take the session, if the lease of the owner was over.
    fn is_expirable(&self, world: &World, host: usize) -> bool {
        let owner = world.nats.record.0.owner.as_ref();
        world.hosts[host].owner.is_none()
            && owner.is_some_and(|owner| *owner != world.hosts[host].lease(host))
    }

    fn apply(&self, world: &mut World, step: Step) {
        match step {
            Step::Write(client) => {
                let state = &mut world.clients[client];
                state.written += 1;
                state.sent.push(state.written);
                if let Some(way) = state.at.and_then(|at| world.hosts[at].ways[client].as_mut()) {
                    way.queue.push(state.written);
                }
            }
            Step::Connect(client, host) => self.connect(world, client, host),
            Step::Enter(host, client) => self.enter(world, host, client),
            Step::Publish(host, client) => {
                let message = self.next_message(world, host, client);
                self.arrive(world, message);
                self.settle(world, host, client, false);
            }
            Step::Delay(host, client) => {
                world.budget.delays -= 1;
                world.late.push(self.next_message(world, host, client));
            }
            Step::Refuse(host, client) => {
                world.budget.refusals -= 1;
                self.settle(world, host, client, true);
            }
            Step::Arrive(index) => {
                let message = world.late.remove(index);
                self.arrive(world, message);
            }
            Step::Claim(host) => self.claim(world, host),
            Step::Expire(host) => {
                world.budget.expiries -= 1;
                self.claim(world, host);
            }
            Step::Fail(host) => {
                world.budget.failures -= 1;
                world.hosts[host].owner = None;
            }
            Step::TakeOver(host) => self.with_owner(world, host, Self::take_over),
            Step::TakeInput(host) => self.with_owner(world, host, Self::take_input),
            Step::Execute(host) => self.with_owner(world, host, Self::execute),
            Step::Respond(host) => self.with_owner(world, host, Self::respond),
            Step::Ask(host) => self.with_owner(world, host, Self::ask),
            Step::Note(host) => self.with_owner(world, host, Self::note),
            Step::Crash(host) => {
                world.budget.crashes -= 1;
                let state = &mut world.hosts[host];
                (state.is_up, state.owner) = (false, None);
                state.ways.fill(None);
                state.memory.fill(0);
                let lost = world.clients.iter_mut().filter(|client| client.at == Some(host));
                lost.for_each(|client| client.at = None);
            }
            Step::Start(host) => {
                let state = &mut world.hosts[host];
                (state.is_up, state.start) = (true, state.start + 1);
            }
        }
    }

    /// Connects a client, which leaves the host that it was at.
    fn connect(&self, world: &mut World, client: usize, host: usize) {
        if let Some(before) = world.clients[client].at.replace(host) {
            world.budget.moves -= 1;
            if let Some(way) = &mut world.hosts[before].ways[client] {
                way.is_connected = false;
            }
        }
        let told = match self.faults.has(Fault::CountsFromMemory) {
            true => world.hosts[host].memory[client],
            false => world.nats.received(client).lines,
        };
        let sent = &mut world.clients[client].sent;
        match self.faults.has(Fault::ClientCountsAlone) {
            true => drop(sent.confirm(told)),
            false => drop(sent.resume(told)),
        }
        let queue = sent.unconfirmed().copied().collect();
        let state = match self.faults.has(Fault::NoAttachments) {
            true => WayState::Entered { attachment: 0, before: told },
            false => {
                let (known, position) = (world.nats.received(client), world.nats.input.len());
                let attachment = known.next_attachment(world.nats.record.0.taken.position);
                WayState::New { attachment, known, position }
            }
        };
        world.hosts[host].ways[client] = Some(Way { is_connected: true, told, written: 0, state, queue });
    }

    fn enter(&self, world: &mut World, host: usize, client: usize) {
        let World { nats, hosts, clients, .. } = world;
        let Some(way) = &mut hosts[host].ways[client] else { return };
        let WayState::New { attachment, known, position } = way.state else { return };
        let numbered = ClientMessage::Attach { attachment };
        nats.input.push(Message { client, numbered, command: 0 });
        let before = nats.client_input(client, known, position, nats.input.len());
        match Entry::judge(before, attachment, Some(way.told)) {
            Entry::Entered(before) => way.state = WayState::Entered { attachment, before },
            Entry::Outdated => {
                if way.is_connected {
                    clients[client].at = None;
                }
                hosts[host].ways[client] = None;
            }
        }
    }

    /// The next line of a connection, as it is published.
    fn next_message(&self, world: &World, host: usize, client: usize) -> Message {
        let way = world.hosts[host].ways[client].as_ref();
        let (number, queue) = way.map_or((None, &[][..]), |way| match way.state {
            WayState::Entered { attachment, before } => {
                (Some((attachment, before + way.written + 1)), &*way.queue)
            }
            _ => (None, &*way.queue),
        });
        let (attachment, line) = number.unwrap_or_default();
        let attachment = (!self.faults.has(Fault::NoAttachments)).then_some(attachment);
        let command = queue.first().copied().unwrap_or_default();
        Message { client, numbered: ClientMessage::Line { attachment, line }, command }
    }

    /// Stores a message of the input.
    fn arrive(&self, world: &mut World, message: Message) {
        let is_known = |known: &Message| (known.client, known.numbered) == (message.client, message.numbered);
        if !(self.faults.has(Fault::IdsRepeat) && world.nats.input.iter().any(is_known)) {
            world.nats.input.push(message);
        }
    }

    /// Ends the next line of a connection, which was stored or `is_refused`, and tells the client.
    fn settle(&self, world: &mut World, host: usize, client: usize, is_refused: bool) {
        let message = self.next_message(world, host, client);
        let is_sent = world.late.contains(&message) || world.nats.input.contains(&message);
        let World { hosts, clients, .. } = world;
        let Host { ways, memory, .. } = &mut hosts[host];
        let Some(way) = &mut ways[client] else { return };
        let command = way.queue.remove(0);
        way.written += 1;
        memory[client] = way.told + way.written;
        let state = &mut clients[client];
        let is_connected = way.is_connected && state.at == Some(host);
        // One that may still be stored is not answered: the client sends it again.
        let is_uncertain = is_refused && is_sent && !self.faults.has(Fault::AnswersUncertain);
        if is_connected && !is_uncertain {
            drop(state.sent.confirm(way.told + way.written));
        }
        if is_refused {
            if is_connected && !is_uncertain {
                state.refused.push(command);
            }
            if !self.faults.has(Fault::CountsRefused) {
                // The lines behind it would be counted with it: they are sent again by another connection.
                state.at = state.at.filter(|_| !is_connected);
                ways[client] = None;
            }
        }
    }

    fn claim(&self, world: &mut World, host: usize) {
        let World { nats, hosts, .. } = world;
        let lease = hosts[host].lease(host);
        let mut record = nats.record.clone();
        let is_cut = take_over(&mut record.0, &lease).is_cut;
        hosts[host].owner = Some(Owner {
            step: OwnerStep::Record,
            record,
            revision: nats.revision,
            entries: 0,
            output: 0,
            queue: Vec::new(),
            executed: Vec::new(),
            question: None,
            is_cut,
        });
    }

    /// Lets an owner act. It is none any more where `act` says so.
    fn with_owner(
        &self,
        world: &mut World,
        host: usize,
        act: fn(&Self, &mut Nats, &mut Owner, usize) -> bool,
    ) {
        let Some(mut owner) = world.hosts[host].owner.take() else { return };
        if act(self, &mut world.nats, &mut owner, host) {
            world.hosts[host].owner = Some(owner);
        }
    }
}
