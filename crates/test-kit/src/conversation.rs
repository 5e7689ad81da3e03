//! Conversations as data: generated at random, shrunk, stored as files, and played under the watchers of their kind.

use crate::{
    Answers, PassedLines, Playback, Scenario, Work,
    between::Between,
    extension_actions,
    habits::{Habit, Habits},
    rules::{Brief, Lasting, NO_SESSION, Watcher, toolbox},
    scenario,
    scenario::{JudgedRules, ScenarioEvent},
    work::WorkSource,
    world::World,
};
use pi_rpc_engine::{CompactionPlan, ModelChoice, Setup, Toolbox};
use pi_rpc_machine::Rule;
use pi_rpc_protocol::{Base, Dialect, Model, RpcCommandKind, ThinkingLevel};
use pi_rpc_tool_specs::specs;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::{Value, json};

/// Rules that frames alone cannot judge while extensions handle prompts, queue messages and start runs.
const UNSEEN: [Rule; 9] = [
    Rule::AckBeforeStart,
    Rule::DeliverFifo,
    Rule::Disposition,
    Rule::OneAtATime,
    Rule::OneQueuePerTurn,
    Rule::OverflowRetry,
    Rule::QueueCount,
    Rule::RunAfterAck,
    Rule::StreamingFlag,
];

/// Subject of a conversation, which selects its watchers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// No files, retries or compactions: [`Brief`] predicts everything.
    Brief,
    /// Like `Brief`, with messages of many calls and many interruptions by the host.
    Crowded,
    /// Retries, compactions, several sessions, and a disk that fills up: [`Lasting`].
    Lasting,
    /// Like `Lasting`, with extensions, dialogs and host tools.
    Asking,
    /// One extension with all actions; each action must get one response.
    Acting,
}

/// One conversation and its surroundings.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Conversation {
    /// Subject.
    pub kind: Kind,
    /// Dialect.
    #[serde(serialize_with = "write_dialect", deserialize_with = "read_dialect")]
    pub dialect: Dialect,
    /// Lines of the host.
    pub host: Vec<HostLine>,
    /// Turns of the script of the model.
    pub turns: Vec<Value>,
    /// Courses of tool calls, cyclically.
    pub tools: Vec<Work>,
    /// Courses of shell commands of the host, cyclically.
    pub shells: Vec<Work>,
    /// Way in which the conversation is cut off, and time.
    #[serde(default, skip_serializing_if = "is_default")]
    pub close: Option<(u64, Close)>,
    /// Whether cancelled work still sends inputs afterwards.
    #[serde(default, skip_serializing_if = "is_default")]
    pub echoes: bool,
    /// Whether models also send invalid events.
    #[serde(default, skip_serializing_if = "is_default")]
    pub strays: bool,
    /// Whether sessions are stored in files.
    #[serde(default, skip_serializing_if = "is_default")]
    pub kept: bool,
    /// Times at which the disk is full.
    #[serde(default, skip_serializing_if = "is_default")]
    pub full: Vec<DiskFull>,
    /// Habits of each extension.
    #[serde(default, skip_serializing_if = "is_default")]
    pub habits: Vec<Vec<Habit>>,
    /// Ways in which the host answers dialogs and calls, cyclically.
    #[serde(default, skip_serializing_if = "is_default")]
    pub answers: Vec<Answers>,
    /// Tools that need confirmation.
    #[serde(default, skip_serializing_if = "is_default")]
    pub confirm: Vec<String>,
    /// Frames of the acting extension, each with the milliseconds since the previous one.
    #[serde(default, skip_serializing_if = "is_default")]
    pub actions: Vec<(u64, Value)>,
    /// Answers of the acting extension to hooks.
    #[serde(default, skip_serializing_if = "is_default")]
    pub outcome: usize,
    /// Whether the acting extension exits after its last frame.
    #[serde(default, skip_serializing_if = "is_default")]
    pub dies: bool,
    /// Seed of the engine, and of the order of events at the same time.
    pub seed: u64,
}

/// Line of the host.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HostLine {
    /// Milliseconds since the previous line.
    pub wait: u64,
    /// Line, in which `@N` stands for a session file or an entry.
    pub line: String,
}

/// Period in which the disk is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskFull {
    /// Start, in milliseconds.
    pub at: u64,
    /// Number of writes that still succeed.
    pub left: usize,
    /// Milliseconds until writes succeed again.
    pub lasts: u64,
}

/// End of the conversation by the host or the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Close {
    /// End of input.
    EndOfInput,
    /// Shutdown of the process.
    Shutdown,
}

impl Conversation {
    /// Creates an empty conversation.
    pub fn new(kind: Kind, dialect: Dialect) -> Self {
        let work =
            Work { waits: vec![20], ending: crate::WorkOutcome::Done, stops_after: 5, too_late: false };
        Self {
            kind,
            dialect,
            host: Vec::new(),
            turns: Vec::new(),
            tools: vec![work.clone()],
            shells: vec![work],
            close: None,
            echoes: false,
            strays: false,
            kept: !matches!(kind, Kind::Brief | Kind::Crowded),
            full: Vec::new(),
            habits: Vec::new(),
            answers: Vec::new(),
            confirm: Vec::new(),
            actions: Vec::new(),
            outcome: 0,
            dies: false,
            seed: 0,
        }
    }

    /// Plays the conversation under the watchers of its kind.
    ///
    /// # Errors
    ///
    /// The first violation, and the log up to it.
    pub fn play(&self) -> Result<Playback, String> {
        match self.kind {
            Kind::Acting => extension_actions::play(self),
            _ => self.scenario().run_out(self.dialect),
        }
    }

    /// Plays the lines of the host with a server of another dialect, the front between; nobody watches the server.
    ///
    /// # Errors
    ///
    /// The conversation has no end, or the machine of the server finds a violation.
    pub fn play_behind_front(&self, server: Dialect) -> Result<PassedLines, String> {
        let mut scenario = Self { dialect: server, close: None, ..self.clone() }.scenario();
        scenario.watchers = Box::new(|_| Vec::new());
        let mut world = World::new(server, &scenario, false);
        let (between, first) = Between::new(server, self.dialect);
        world.between = Some(between);
        world.pass((Vec::new(), first));
        world.run()?;
        let mut between = world.between.take().ok_or("no front")?;
        between.passed.states = between.states();
        Ok(between.passed)
    }

    fn scenario(&self) -> Scenario {
        let mut scenario = scenario(self.turns.clone().into());
        let mut moment = 0;
        for HostLine { wait, line } in &self.host {
            moment += wait;
            scenario = scenario.given(moment, ScenarioEvent::Line(line.clone()));
        }
        for DiskFull { at, left, lasts } in &self.full {
            scenario =
                scenario.given(*at, ScenarioEvent::Left(*left)).given(at + lasts, ScenarioEvent::Full(false));
        }
        if let Some((at, close)) = self.close {
            let close =
                if close == Close::EndOfInput { ScenarioEvent::EndOfInput } else { ScenarioEvent::Shutdown };
            scenario = scenario.given(at, close);
        }
        let (tools, shells) = (self.tools.clone(), self.shells.clone());
        scenario.works = WorkSource::Listed { tools, shells, echoes: self.echoes };
        (scenario.echoes, scenario.strays, scenario.kept) = (self.echoes, self.strays, self.kept);
        (scenario.checks_growth, scenario.shuffles) = (false, Some(self.seed));
        match self.kind {
            Kind::Brief | Kind::Crowded => self.brief(scenario),
            _ => self.lasting(scenario),
        }
    }

    fn brief(&self, mut scenario: Scenario) -> Scenario {
        let (seed, base, joins_all) = (self.seed, self.dialect.base(), !self.seed.is_multiple_of(3));
        scenario.no_session = Some(NO_SESSION);
        scenario.reads_frames = false;
        scenario.changes.push(Box::new(move |setup: &mut Setup| {
            setup.models = ["plain", "thinker", "dreamer"].map(|id| lab(id, 128_000, base)).to_vec();
            setup.start = (seed % 3) as usize;
            let two = || vec![(0, None), (1, Some(ThinkingLevel::Low))];
            setup.scope = seed.is_multiple_of(2).then(two);
            (setup.modes.auto_retry, setup.modes.auto_compaction) = (false, false);
            setup.tools = toolbox();
            setup.seed = seed;
        }));
        scenario.watchers = Box::new(move |dialect| vec![Box::new(Brief::new(dialect, joins_all))]);
        scenario
    }

    fn lasting(&self, mut scenario: Scenario) -> Scenario {
        let (seed, kept, confirm, asks) =
            (self.seed, self.kept, self.confirm.clone(), !self.answers.is_empty());
        let base = self.dialect.base();
        scenario.files = vec![
            ("/sessions/garbage.jsonl", "no session\n".to_owned()),
            ("/sessions/empty.jsonl", String::new()),
        ];
        scenario.answers.clone_from(&self.answers);
        for (place, habits) in self.habits.iter().enumerate() {
            scenario.extensions.push(Box::new(Habits::new(place, habits.clone())));
        }
        if !self.habits.is_empty() {
            scenario.judged = JudgedRules::AllBut(&UNSEEN);
        }
        scenario.changes.push(Box::new(move |setup: &mut Setup| {
            setup.models = ["thinker", "plain"].map(|id| lab(id, 10_000, base)).to_vec();
            setup.start = (seed % 2) as usize;
            setup.modes.compaction = CompactionPlan { reserve: 1000, keep_recent: 8 };
            setup.tools = Toolbox::new(specs(&setup.dialect.record().tools));
            setup.extension_setup.confirm = confirm.clone();
            setup.seed = seed;
        }));
        scenario.watchers = Box::new(move |dialect| -> Vec<Box<dyn Watcher>> {
            vec![Box::new(Lasting::new(dialect, kept, asks))]
        });
        scenario
    }
}

/// Model of the provider `lab`.
fn lab(id: &str, window: u64, base: Base) -> ModelChoice {
    let reasoning = id != "plain";
    let model = json!({
        "id": id, "name": id, "api": "scripted", "provider": "lab", "baseUrl": "", "reasoning": reasoning,
        "input": ["text"], "contextWindow": window, "maxTokens": window / 10,
        "cost": { "input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75 },
    });
    let mut model: Model = serde_json::from_value(model).expect("a model");
    // Where hosts can ask for the levels, the highest ones are those that the model's map names.
    if id == "dreamer" && RpcCommandKind::GetAvailableThinkingLevels.is_in(base) {
        model.thinking_level_map =
            Some([("xhigh".to_owned(), Some("xhigh".to_owned()))].into_iter().collect());
    }
    let most = if id == "dreamer" { ThinkingLevel::Xhigh } else { ThinkingLevel::High };
    let levels = ThinkingLevel::ALL.into_iter().filter(|level| match reasoning {
        true => *level <= most,
        false => *level == ThinkingLevel::Off,
    });
    ModelChoice { model, levels: levels.collect(), preferred: None, unusable: None }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn write_dialect<S: Serializer>(dialect: &Dialect, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(dialect.as_str())
}

fn read_dialect<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Dialect, D::Error> {
    let name = String::deserialize(deserializer)?;
    let dialect = Dialect::ALL.into_iter().find(|dialect| dialect.as_str() == name);
    dialect.ok_or_else(|| D::Error::custom(format!("no dialect: {name}")))
}
