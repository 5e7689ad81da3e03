//! Conversations as data: drawn at random, shrunk, kept as files, and played under the watchers of their kind.

use crate::{
    Answers, Playback, Scenario, Work, extension_actions,
    habits::{Habit, Habits},
    rules::{Brief, Lasting, NO_SESSION, Watcher, toolbox},
    scenario,
    scenario::{JudgedRules, ScenarioEvent},
    work::WorkSource,
};
use pi_rpc::{
    engine::{Choice, CompactionPlan, Setup, Toolbox},
    machine::Rule,
    protocol::{Base, Dialect, Model, RpcCommandKind, ThinkingLevel},
    tools::specs,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::{Value, json};

/// Rules that the frames alone cannot judge where extensions take prompts, queue messages and begin runs.
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

/// What a conversation is about, and which watchers follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// No files, no retries, no compaction: [`Brief`] knows all that may happen.
    Brief,
    /// The same about messages with many calls, while the host keeps interfering.
    Crowded,
    /// Retries, compactions, one session after another, a disk that fills up: [`Lasting`].
    Lasting,
    /// The same with extensions, dialogs and tools of the host.
    Asking,
    /// One extension that does all that extensions may do; each of its actions gets one response.
    Acting,
}

/// One conversation and its surroundings.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Conversation {
    /// What it is about.
    pub kind: Kind,
    /// The dialect spoken.
    #[serde(serialize_with = "write_dialect", deserialize_with = "read_dialect")]
    pub dialect: Dialect,
    /// What the host writes.
    pub host: Vec<HostLine>,
    /// The turns of the model's script.
    pub turns: Vec<Value>,
    /// How tool calls go, by turns.
    pub tools: Vec<Work>,
    /// How shell commands of the host go, by turns.
    pub shells: Vec<Work>,
    /// How the conversation is cut off, and when.
    #[serde(default, skip_serializing_if = "is_default")]
    pub close: Option<(u64, Close)>,
    /// What was cancelled is still heard of afterwards.
    #[serde(default, skip_serializing_if = "is_default")]
    pub echoes: bool,
    /// Models also say what has no place in their answers.
    #[serde(default, skip_serializing_if = "is_default")]
    pub strays: bool,
    /// Sessions are kept in files.
    #[serde(default, skip_serializing_if = "is_default")]
    pub kept: bool,
    /// When the disk fills up.
    #[serde(default, skip_serializing_if = "is_default")]
    pub full: Vec<DiskFull>,
    /// The habits of each extension.
    #[serde(default, skip_serializing_if = "is_default")]
    pub habits: Vec<Vec<Habit>>,
    /// How the host answers what it is asked, by turns.
    #[serde(default, skip_serializing_if = "is_default")]
    pub answers: Vec<Answers>,
    /// The tools that the host is asked about.
    #[serde(default, skip_serializing_if = "is_default")]
    pub confirm: Vec<String>,
    /// The frames that the acting extension writes, each so many milliseconds after the one before.
    #[serde(default, skip_serializing_if = "is_default")]
    pub actions: Vec<(u64, Value)>,
    /// How the acting extension answers hooks.
    #[serde(default, skip_serializing_if = "is_default")]
    pub outcome: usize,
    /// The acting extension ends when it has done everything.
    #[serde(default, skip_serializing_if = "is_default")]
    pub dies: bool,
    /// The engine's seed, and what decides between things due at the same moment.
    pub seed: u64,
}

/// A line of the host.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HostLine {
    /// Milliseconds after the line before.
    pub wait: u64,
    /// The line; `@N` stands for a session file or an entry.
    pub line: String,
}

/// A disk that has no space for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskFull {
    /// From this millisecond on,
    pub at: u64,
    /// so many writes succeed,
    pub left: usize,
    /// then none until so many milliseconds later.
    pub lasts: u64,
}

/// How the host or the system ends the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Close {
    /// The host closes its side of the pipe.
    EndOfInput,
    /// The process is told to stop.
    Shutdown,
}

impl Conversation {
    /// One in which nothing happens.
    pub fn new(kind: Kind, dialect: Dialect) -> Self {
        let work = Work { waits: vec![20], ending: crate::Ending::Done, stops_after: 5, too_late: false };
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

    /// Lets it happen under the watchers of its kind.
    ///
    /// # Errors
    ///
    /// The first rule that is broken, and all that happened up to then.
    pub fn play(&self) -> Result<Playback, String> {
        match self.kind {
            Kind::Acting => extension_actions::play(self),
            _ => self.scenario().run_out(self.dialect),
        }
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
            setup.extending.confirm = confirm.clone();
            setup.seed = seed;
        }));
        scenario.watchers = Box::new(move |dialect| -> Vec<Box<dyn Watcher>> {
            vec![Box::new(Lasting::new(dialect, kept, asks))]
        });
        scenario
    }
}

/// A model of the provider `lab`.
fn lab(id: &str, window: u64, base: Base) -> Choice {
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
    Choice { model, levels: levels.collect(), preferred: None, unusable: None }
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
