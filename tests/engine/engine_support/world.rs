//! Lets a scenario happen in virtual time.

use super::{
    Checked,
    actors::Actor,
    ensure,
    scenario::{Close, Scenario, Work},
    watch::{NO_SESSION, Watch, toolbox},
};
use pi_rpc::{
    engine::{CallId, Choice, Engine, Extending, Input, Modes, Now, Output, Place, Setup, limits::Limits},
    model::scripted::{Player, Script},
    protocol::{Model, ThinkingLevel, read_line},
};
use serde_json::json;
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
    fmt::Debug,
    time::Duration,
};

/// Inputs after which a conversation counts as endless.
const ENDLESS: usize = 20_000;

/// Characters told of one input or output.
const TOLD: usize = 240;

/// Lets `scenario` happen. The error tells the first rule that was broken, and all that happened up to then.
pub fn play(scenario: &Scenario) -> Checked {
    World::new(scenario, None).run().map_err(|wrong| {
        // Everything is determined by the scenario, so the story can be told afterwards.
        let mut told = World::new(scenario, Some(Vec::new()));
        drop(told.run());
        format!("{wrong}\n\n{}", told.story.unwrap_or_default().join("\n"))
    })
}

struct World<'a> {
    scenario: &'a Scenario,
    engine: Engine,
    watch: Watch,
    player: Player,
    actors: BTreeMap<CallId, Actor>,
    now: u64,
    /// What is due: when, by lot among the things due together, and what.
    due: BinaryHeap<Reverse<(u64, u64, Due)>>,
    lots: u64,
    tools: usize,
    shells: usize,
    story: Option<Vec<String>>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// The host writes the line of this number.
    Line(usize),
    /// An actor makes a step, unless its plan has changed since.
    Step(CallId, u32),
    Close,
}

impl<'a> World<'a> {
    fn new(scenario: &'a Scenario, story: Option<Vec<String>>) -> Self {
        let script = json!({ "turns": scenario.turns }).to_string();
        let script = Script::from_json(&script).expect("a script");
        let models = vec![choice("plain", false), choice("thinker", true), choice("dreamer", true)];
        let setup = Setup {
            dialect: scenario.dialect,
            models,
            start: (scenario.seed % 3) as usize,
            chosen: false,
            scope: scenario.seed.is_multiple_of(2).then(|| vec![(0, None), (1, Some(ThinkingLevel::Low))]),
            level: None,
            modes: Modes { auto_retry: false, auto_compaction: false, ..Modes::of(scenario.dialect) },
            limits: Limits::default(),
            place: Place::in_memory("/work"),
            session: None,
            tools: toolbox(),
            system_prompt: "Be brief.".into(),
            extending: Extending::default(),
            name: None,
            seed: scenario.seed,
            checked: true,
        };
        let mut world = Self {
            scenario,
            engine: Engine::new(setup, now(0)),
            watch: Watch::new(scenario.dialect, !scenario.seed.is_multiple_of(3)),
            player: Player::new(script),
            actors: BTreeMap::new(),
            now: 0,
            due: BinaryHeap::new(),
            lots: scenario.seed,
            tools: 0,
            shells: 0,
            story,
        };
        world.plan_line(0);
        if let Some((at, _)) = scenario.close {
            world.plan(at, Due::Close);
        }
        world
    }

    fn run(&mut self) -> Checked {
        self.perform()?;
        self.until_quiet()?;
        if !self.watch.exited() {
            self.watch.quiet(&self.engine)?;
            // Whatever still hangs comes to its end now.
            self.take(Input::Shutdown)?;
            self.until_quiet()?;
        }
        ensure!(self.watch.exited(), "shut down, and nothing left to do, but no Exit");
        Ok(())
    }

    fn until_quiet(&mut self) -> Checked {
        for _ in 0..ENDLESS {
            if self.watch.exited() {
                return Ok(());
            }
            let Some(Reverse((at, _, due))) = self.due.pop() else { return Ok(()) };
            self.now = at;
            match due {
                Due::Line(number) => self.line(number)?,
                Due::Step(call, plan) => self.step(call, plan)?,
                Due::Close => self.close()?,
            }
        }
        Err(format!("still not quiet after {ENDLESS} inputs"))
    }

    fn line(&mut self, number: usize) -> Checked {
        let line = self.scenario.host[number].text(number);
        self.plan_line(number + 1);
        match read_line(line.as_bytes(), self.scenario.dialect) {
            Ok(None) => Ok(()),
            Ok(Some(frame)) => self.take(Input::line(Ok(frame))),
            Err(error) => self.take(Input::line(Err(error))),
        }
    }

    fn close(&mut self) -> Checked {
        match self.scenario.close {
            Some((_, Close::EndOfInput)) => {
                self.due.retain(|Reverse((_, _, due))| !matches!(due, Due::Line(_)));
                self.take(Input::EndOfInput)
            }
            _ => self.take(Input::Shutdown),
        }
    }

    fn step(&mut self, call: CallId, plan: u32) -> Checked {
        let Some(actor) = self.actors.get_mut(&call).filter(|actor| actor.plan == plan) else {
            return Ok(());
        };
        let Some(input) = actor.step() else { return Ok(()) };
        self.plan_step(call);
        self.take(input)
    }

    fn take(&mut self, input: Input) -> Checked {
        self.tell("→", &input);
        self.watch.input(&input, now(self.now))?;
        self.engine.handle(input, now(self.now));
        self.perform()?;
        self.watch.handled(&self.engine)
    }

    fn perform(&mut self) -> Checked {
        while let Some(output) = self.engine.poll() {
            self.tell("  ←", &output);
            self.watch.output(&output)?;
            match output {
                Output::CallModel(call) => {
                    let model = Actor::model(&call, &mut self.player, self.scenario.strays);
                    self.start(model);
                }
                Output::StartTool(start) => {
                    let work = next(&self.scenario.tools, &mut self.tools);
                    let (dialect, echoes) = (self.scenario.dialect, self.scenario.echoes);
                    self.start(Actor::tool(start.call, &start.name, work, dialect, echoes));
                }
                Output::StartShell(start) => {
                    let work = next(&self.scenario.shells, &mut self.shells);
                    self.start(Actor::shell(start.call, &start.command, work));
                }
                Output::CancelModel(call) | Output::CancelTool(call) | Output::CancelShell(call) => {
                    let Some(actor) = self.actors.get_mut(&call) else { continue };
                    let plan = actor.plan;
                    actor.cancel(self.scenario.echoes);
                    if actor.plan != plan {
                        self.plan_step(call);
                    }
                }
                Output::OpenSession(_) => {
                    let refused = Err(NO_SESSION.to_owned());
                    self.engine.handle(Input::Opened(Box::new(refused)), now(self.now));
                }
                Output::Say(_)
                | Output::Violation(_)
                | Output::Exit
                | Output::Store(_)
                | Output::StartExtension { .. }
                | Output::ToExtension { .. }
                | Output::StopExtension(_)
                | Output::ReadFile(_)
                | Output::LookInto { .. }
                | Output::Query { .. }
                | Output::Provide { .. }
                | Output::Choose
                | Output::Hooked { .. }
                | Output::CloseSession
                | Output::HurryStore
                | Output::WriteFile { .. } => {}
            }
        }
        Ok(())
    }

    fn tell(&mut self, arrow: &str, what: &impl Debug) {
        if let Some(story) = &mut self.story {
            let line: String = format!("{:>4} {arrow} {what:?}", self.now).chars().take(TOLD).collect();
            story.push(line);
        }
    }

    fn start(&mut self, actor: Actor) {
        let call = actor.call;
        self.actors.insert(call, actor);
        self.plan_step(call);
    }

    fn plan_line(&mut self, number: usize) {
        if let Some(act) = self.scenario.host.get(number) {
            self.plan(act.wait, Due::Line(number));
        }
    }

    fn plan_step(&mut self, call: CallId) {
        let Some(actor) = self.actors.get(&call) else { return };
        if let Some(wait) = actor.wait() {
            self.plan(wait, Due::Step(call, actor.plan));
        }
    }

    fn plan(&mut self, wait: u64, due: Due) {
        // A multiplicative generator: its high bits are as good as drawn by lot.
        self.lots = self.lots.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.due.push(Reverse((self.now + wait, self.lots >> 32, due)));
    }
}

fn next<'a>(works: &'a [Work], used: &mut usize) -> &'a Work {
    *used += 1;
    &works[(*used - 1) % works.len()]
}

fn now(millis: u64) -> Now {
    Now { monotonic: Duration::from_millis(millis), wall: 1_700_000_000_000 + millis }
}

fn choice(id: &str, reasoning: bool) -> Choice {
    let model = json!({
        "id": id, "name": id, "api": "scripted", "provider": "lab", "baseUrl": "", "reasoning": reasoning,
        "input": ["text"], "contextWindow": 128_000, "maxTokens": 16_384,
        "cost": { "input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75 },
    });
    let model: Model = serde_json::from_value(model).expect("a model");
    let most = if id == "dreamer" { ThinkingLevel::Xhigh } else { ThinkingLevel::High };
    let levels = ThinkingLevel::ALL.into_iter().filter(|level| match reasoning {
        true => *level <= most,
        false => *level == ThinkingLevel::Off,
    });
    Choice { model, levels: levels.collect(), preferred: None, unusable: None }
}
