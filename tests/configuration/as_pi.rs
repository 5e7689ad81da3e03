//! What real pi makes of the same files, arguments and environment: `tests/configurations/`, recorded by its
//! `record.mjs`.
//!
//! Compared are all models that `models.json` defines, and those of the catalogue that both have.

use pi_rpc::{
    config::{
        Config, CredentialError, Environment, Selection, SelectionOptions, Sources, catalogue::BUILT_IN,
        load, pattern::full_id, select,
    },
    protocol::{Dialect, ThinkingLevel},
};
use serde_json::{Map, Value};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

#[test]
fn recorded_cases_match_pi() {
    let mut cases = 0;
    let mut wrong = Vec::new();
    for entry in fs::read_dir(root()).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        if !folder.is_dir() {
            continue;
        }
        cases += 1;
        let case = Case::open(&folder);
        // Such a case has a test of its own, below.
        if case.differs {
            continue;
        }
        let expected = read(&folder.join("expected.json"));
        let (ours, theirs) = (case.outcome(&expected), case.expected(&expected));
        if ours != theirs {
            wrong.push(format!("{name}: {}\n  here: {ours:?}\n  pi:   {theirs:?}", case.about));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(cases > 20, "{cases} cases");
}

#[test]
fn differing_cases_explain_themselves() {
    let outcome = |name: &str| {
        let case = Case::open(&root().join(name));
        assert!(case.differs, "{name}");
        let agent = case.config.directories.agent.display().to_string();
        match select(&case.config, &case.wanted) {
            Ok(selection) => {
                let start = full_id(&selection.offers[selection.start].endpoint.model);
                format!("{start}: {}", selection.warnings.join("\n"))
            }
            Err(refused) => refused.to_string().replace(&agent, "<agent>"),
        }
    };
    let unlisted = "openai/gpt-5.1-codex-max: Model \"gpt-5.1-codex-max\" not found for provider \"openai\". Using \
                    custom model id.";
    let other = |model: &str, provider: &str, other: &str| {
        format!(
            "Model \"{model}\" cannot be used: provider \"{provider}\" does not list it and has no credentials. Another \
             configured provider has that id: --model {other}"
        )
    };
    let beside = " Another configured provider has that id: workshop/cellar/oak";
    let cases = [
        (
            "nothing-configured",
            "No models available.\n\nSet an API key environment variable:\n  \
             ANTHROPIC_API_KEY, OPENAI_API_KEY, OPENROUTER_API_KEY, etc.\n\nOr create <agent>/models.json"
                .to_owned(),
        ),
        ("name-of-router-without-key", unlisted.to_owned()),
        (
            "name-of-router-with-its-key",
            other("openai/gpt-5.1-codex-max", "openai", "openrouter/openai/gpt-5.1-codex-max"),
        ),
        (
            "id-with-slash",
            format!(
                "cellar/oak: Model \"oak\" not found for provider \"cellar\". Using custom model id.{beside}"
            ),
        ),
        (
            "foreign-api",
            format!(
                "Model \"greenhouse/fern\" cannot be used. {}",
                CredentialError::Api("some-other-api".to_owned())
            ),
        ),
    ];
    for (name, expected) in cases {
        assert_eq!(outcome(name), expected, "{name}");
    }
}

/// The files of a case, laid out as pi finds them, and what pi-rpc makes of them.
struct Case {
    about: String,
    /// pi-rpc does otherwise on purpose; the case says why.
    differs: bool,
    config: Config,
    wanted: SelectionOptions,
    /// Models whose levels are compared.
    levels: Vec<String>,
    _home: tempfile::TempDir,
}

/// What is compared.
#[derive(Debug, Default, PartialEq)]
struct Outcome {
    refused: Option<String>,
    warnings: Vec<String>,
    models: Vec<String>,
    start: Option<(String, String)>,
    cycle: Vec<String>,
    scope_levels: BTreeMap<String, String>,
    levels: BTreeMap<String, Vec<String>>,
}

impl Case {
    fn open(folder: &Path) -> Self {
        let case = read(&folder.join("case.json"));
        let home = tempfile::tempdir().unwrap();
        let (agent, work) = (home.path().join("agent"), home.path().join("work"));
        fs::create_dir_all(work.join(".pi")).unwrap();
        fs::create_dir(&agent).unwrap();
        for file in ["models.json", "auth.json", "settings.json"] {
            copy(&folder.join(file), &agent.join(file));
        }
        copy(&folder.join("project.json"), &work.join(".pi/settings.json"));
        let own = [("PI_CODING_AGENT_DIR".to_owned(), agent.display().to_string())];
        let of_case = case["environment"].as_object().unwrap().iter();
        let of_case = of_case.map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned()));
        let environment: Environment = of_case.chain(own).collect();
        // The dialect of the release that was recorded.
        let dialect = match read(&folder.join("expected.json"))["pi"].as_str() {
            Some(release) if release.starts_with('0') => Dialect::Pi,
            _ => Dialect::Pi1,
        };
        let config = load(Sources { dialect, working_directory: work, environment, approve: Some(true) });
        Self {
            about: case["about"].as_str().unwrap().to_owned(),
            differs: case.get("differs").is_some(),
            wanted: wanted(&strings(&case["arguments"])),
            levels: strings(&case["levels"]),
            config,
            _home: home,
        }
    }

    /// What pi-rpc does, without the models that only its catalogue has.
    fn outcome(&self, expected: &Value) -> Outcome {
        let selection = match select(&self.config, &self.wanted) {
            Ok(selection) => selection,
            Err(refused) => {
                return Outcome { refused: Some(first_line(&refused.to_string())), ..Outcome::default() };
            }
        };
        let known = strings(&expected["models"]);
        let both = |name: &String| known.contains(name) || self.is_custom(name);
        let listed = names(&selection).into_iter().filter(both).collect();
        let start = &selection.offers[selection.start].endpoint.model;
        let scope_levels = selection.scope.iter().flatten().filter_map(|scoped| {
            let endpoint = &selection.offers[scoped.at].endpoint;
            let level = pi_rpc::config::thinking::clamp(&endpoint.levels, scoped.level?);
            Some((full_id(&endpoint.model), level.to_string()))
        });
        Outcome {
            refused: None,
            warnings: selection.warnings.clone(),
            models: listed,
            start: Some((full_id(start), selection.level.to_string())),
            cycle: cycle(&selection).into_iter().filter(both).collect(),
            scope_levels: scope_levels.collect(),
            levels: self.levels.iter().map(|name| (name.clone(), self.levels_of(name))).collect(),
        }
    }

    /// What pi did, without the models that only its catalogue has.
    fn expected(&self, expected: &Value) -> Outcome {
        let stderr = strings(&expected["stderr"]);
        if expected["status"] != 0 {
            let refused = stderr.first().map(|line| line.trim_start_matches("Error: ").to_owned());
            return Outcome { refused, ..Outcome::default() };
        }
        let both = |name: &String| self.endpoint(name).is_some();
        let warnings = stderr.iter().filter_map(|line| Some(line.strip_prefix("Warning: ")?.to_owned()));
        // Parts of the files that pi does not understand are told in other words.
        let warnings = warnings.filter(|warning| !warning.starts_with('('));
        let steps = expected["cycle"].as_array().unwrap().iter();
        let steps = steps.map(|step| (text(&step["model"]), text(&step["level"])));
        let scoped = self.scoped();
        let levels = expected["levels"].as_object().unwrap().iter();
        Outcome {
            refused: None,
            warnings: warnings.collect(),
            models: strings(&expected["models"]).into_iter().filter(both).collect(),
            start: Some((text(&expected["start"]), text(&expected["level"]))),
            cycle: steps.clone().map(|(model, _)| model).filter(both).collect(),
            scope_levels: steps.filter(|(model, _)| scoped.contains(model)).collect(),
            levels: levels.map(|(name, levels)| (name.clone(), strings(levels))).collect(),
        }
    }

    /// The models for which the scope names a level.
    fn scoped(&self) -> Vec<String> {
        let Ok(selection) = select(&self.config, &self.wanted) else { return Vec::new() };
        let scoped = selection.scope.iter().flatten().filter(|scoped| scoped.level.is_some());
        scoped.map(|scoped| full_id(&selection.offers[scoped.at].endpoint.model)).collect()
    }

    fn endpoint(&self, name: &str) -> Option<pi_rpc::model::request::Endpoint> {
        let models = self.config.models_of(|provider| name.starts_with(provider));
        models.into_iter().find(|endpoint| full_id(&endpoint.model) == name)
    }

    fn is_custom(&self, name: &str) -> bool {
        let built_in = BUILT_IN.models(|provider| name.starts_with(provider));
        self.endpoint(name).is_some() && !built_in.iter().any(|entry| full_id(&entry.model) == name)
    }

    fn levels_of(&self, name: &str) -> Vec<String> {
        let levels = self.endpoint(name).map_or_else(Vec::new, |endpoint| endpoint.levels);
        levels.iter().map(ThinkingLevel::to_string).collect()
    }
}

/// The models that hosts are told of.
fn names(selection: &Selection) -> Vec<String> {
    let listed = selection.offers.iter().filter(|offer| offer.listed);
    listed.map(|offer| full_id(&offer.endpoint.model)).collect()
}

/// What `cycle_model` goes through, from behind the start model round to it; nothing where there is but one.
fn cycle(selection: &Selection) -> Vec<String> {
    let all: Vec<String> = match &selection.scope {
        Some(scope) => {
            scope.iter().map(|scoped| full_id(&selection.offers[scoped.at].endpoint.model)).collect()
        }
        None => names(selection),
    };
    if all.len() < 2 {
        return Vec::new();
    }
    let start = full_id(&selection.offers[selection.start].endpoint.model);
    // Where the start is not in the round, pi begins with the first.
    let begin = all.iter().position(|name| *name == start).map_or(0, |at| at + 1);
    let mut all = all;
    let round = all.len();
    all.rotate_left(begin % round);
    all
}

/// pi's options, as far as the cases use them.
fn wanted(arguments: &[String]) -> SelectionOptions {
    let mut wanted = SelectionOptions::default();
    for pair in arguments.chunks(2) {
        let value = pair[1].clone();
        match pair[0].as_str() {
            "--provider" => wanted.provider = Some(value),
            "--model" => wanted.model = Some(value),
            "--models" => wanted.models = Some(value.split(',').map(|it| it.trim().to_owned()).collect()),
            "--thinking" => wanted.thinking = ThinkingLevel::parse(&value),
            "--api-key" => wanted.api_key = Some(value),
            other => panic!("{other}"),
        }
    }
    wanted
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/configurations")
}

fn copy(from: &Path, to: &Path) {
    if from.exists() {
        fs::copy(from, to).unwrap();
    }
}

fn read(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Value::Object(serde_json::from_str::<Map<String, Value>>(&text).unwrap())
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().map(text).collect()
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
