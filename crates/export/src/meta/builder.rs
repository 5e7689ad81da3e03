//! Builds the meta file from the tables, the machine and the bundle.

use super::{
    frames::{Frames, text, texts},
    session::Session,
    types::{
        Chart, CommandAbout, DialogAbout, ErrorAbout, EventAbout, EventCase, FlowStep, Limits, Meta, Outcome,
        Region, RuleInMeta, StateAbout, Trigger, When,
    },
};
use crate::{Part, file_id, json_schema, schema_id, with_file_id};
use pi_rpc_machine::{Kind, arrows, required_events};
use pi_rpc_protocol::{
    BUNDLE, Case, CompactionReason, Dialect, FRAME_LIMIT, FlowState, Need, PromptDisposition, RpcCommandKind,
    RuleId, fires,
};
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The largest number that a double holds exactly together with its neighbours.
const LARGEST: u64 = (1 << 53) - 1;

/// The meta file of `dialect`.
///
/// ```
/// use pi_rpc_export::meta;
/// use pi_rpc_protocol::Dialect;
///
/// let meta = meta(Dialect::Pi);
/// let prompt = &meta.commands[0];
/// assert_eq!((prompt.r#type.as_str(), prompt.response.as_str()), ("prompt", "PromptResponse"));
/// ```
pub fn meta(dialect: Dialect) -> Meta {
    let bundle: Value = serde_json::from_str(BUNDLE).expect("build.rs wrote JSON");
    let exported = json_schema(dialect);
    let builder = MetaBuilder { dialect, frames: Frames::new(&exported, &bundle), bundle: &bundle };
    let record = dialect.record();
    let data = builder.record();
    Meta {
        schema: file_id("meta"),
        dialect: dialect.as_str(),
        base: dialect.base().as_str(),
        title: record.title,
        description: record.description,
        version: record.version,
        frames: schema_id(dialect, Part::All),
        commands: builder.commands(),
        events: builder.events(),
        dialogs: builder.dialogs(),
        chart: builder.chart(),
        session: builder.session().about(),
        errors: builder.errors(),
        since: builder.since(&exported),
        rules: builder.rules(),
        defaults: data["defaults"].clone(),
        limits: Limits {
            integer: LARGEST,
            frame: FRAME_LIMIT as u64,
            retries: record.defaults.max_retries,
            retry_delay: record.defaults.retry_base_ms,
            retry_delay_cap: record.defaults.retry_cap_ms,
            bash_bytes: record.bash.max_bytes,
            bash_lines: record.bash.max_lines,
            bash_time: record.bash.timeout_seconds.map(|seconds| seconds * 1000),
        },
        record: data,
    }
}

/// The JSON Schema of the meta file.
pub fn meta_schema() -> Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    // The record has a schema of its own.
    let bundle: Value = serde_json::from_str(BUNDLE).expect("build.rs wrote JSON");
    let mut schema = with_file_id("meta", generator.into_root_schema_for::<Meta>().to_value());
    let mut record = bundle["record"].clone();
    if let Some(record) = record.as_object_mut() {
        record.remove("$schema");
    }
    schema["properties"]["defaults"] = record["properties"]["defaults"].clone();
    schema["properties"]["record"] = record;
    schema
}

struct MetaBuilder<'a> {
    dialect: Dialect,
    frames: Frames,
    bundle: &'a Value,
}

impl MetaBuilder<'_> {
    fn session(&self) -> Session<'_> {
        Session::new(&self.frames, &self.bundle["session"], self.base())
    }

    fn commands(&self) -> Vec<CommandAbout> {
        let base = self.dialect.base();
        let mut commands = Vec::new();
        for (name, def) in self.frames.branches("RpcCommand") {
            let Some(kind) = RpcCommandKind::parse(&name) else { continue };
            let response = self.frames.annotation(&def, "x-response").unwrap_or_default();
            let lead = |to: fn(RpcCommandKind, FlowState) -> Option<FlowState>| {
                self.states().filter_map(|from| Some((from, to(kind, from)?.as_str()))).collect()
            };
            let outcomes = |state| {
                let own =
                    kind.cases(state).iter().filter(|case| case.only.is_none_or(|only| base.is_in(only)));
                let mut list: Vec<Outcome> = own.map(outcome).collect();
                // Outcomes after one without a condition are unreachable.
                let last = list.iter().position(|outcome| outcome.when.is_none());
                list.truncate(last.map_or(list.len(), |last| last + 1));
                list
            };
            commands.push(CommandAbout {
                effects: self.session().effects(&def, Some(&response)),
                tells: self.session().tells(&response),
                data: self.frames.member(&response, "data").cloned(),
                response,
                error: "RpcErrorResponse".to_owned(),
                description: self.frames.description(&def),
                control: kind.is_control(),
                reads: kind.is_read(),
                observed: self.frames.observed(&def),
                served: kind.is_served(),
                causes: self.causes(&def),
                states: self.states().map(|state| (state, outcomes(state))).collect(),
                leads_to: lead(RpcCommandKind::leads_to),
                fails_to: lead(RpcCommandKind::fails_to),
                sources: self.frames.list(&def, "x-doc"),
                r#type: name,
                request: def,
            });
        }
        commands
    }

    /// The states of the dialect.
    fn states(&self) -> impl Iterator<Item = FlowState> {
        let base = self.dialect.base();
        FlowState::ALL.into_iter().filter(move |state| state.is_in(base))
    }

    /// The events that a command causes, as far as the dialect has them.
    fn causes(&self, def: &str) -> Vec<String> {
        let families = self.frames.members("Outbound");
        let known: Vec<String> =
            families.iter().flat_map(|family| self.frames.family(family)).map(|(name, _)| name).collect();
        let mut causes = self.frames.list(def, "x-causes");
        causes.retain(|name| known.contains(name) || name == "extension_ui_request");
        causes
    }

    fn events(&self) -> Vec<EventAbout> {
        let mut events = Vec::new();
        let families = self.frames.members("Outbound").into_iter();
        for family in families.filter(|family| family != "RpcResponse" && family != "RpcExtensionUIRequest") {
            for (name, def) in self.frames.family(&family) {
                events.push(EventAbout {
                    description: self.frames.description(&def),
                    observed: self.frames.observed(&def),
                    cases: self.cases(&name, &self.frames.after(&def, self.dialect.base())),
                    effects: self.session().effects(&def, None),
                    sources: self.frames.list(&def, "x-doc"),
                    family: family.clone(),
                    r#type: name,
                    def,
                });
            }
        }
        events
    }

    fn cases(&self, name: &str, after: &[String]) -> Vec<EventCase> {
        let base = self.dialect.base();
        let mut cases = Vec::new();
        for row in fires(name).iter().filter(|row| row.only.is_none_or(|only| base.is_in(only))) {
            let mut types: Vec<String> = required_events(base, row).into_iter().map(str::to_owned).collect();
            types.extend(after.iter().filter(|name| !types.contains(name)).cloned().collect::<Vec<_>>());
            types.retain(|before| before != name);
            let own = row.states.iter().filter(|state| state.is_in(base));
            cases.push(EventCase {
                when: row.when.map(condition),
                r#in: own.map(|state| state.as_str()).collect(),
                to: row.to.map(FlowState::as_str),
                after: types,
            });
        }
        cases
    }

    fn dialogs(&self) -> Vec<DialogAbout> {
        let members = self.frames.members("RpcExtensionUIResponse");
        let dialog = |(method, def): (String, String)| {
            let answer = self.frames.annotation(&def, "x-answer");
            let takes = |name: &&String| {
                let has = |member: &str| self.frames.member(name, member).is_some();
                answer.as_deref().is_some_and(|answer| has(answer) || has("cancelled"))
            };
            DialogAbout {
                answers: members.iter().filter(takes).cloned().collect(),
                description: self.frames.description(&def),
                observed: self.frames.observed(&def),
                sources: self.frames.list(&def, "x-doc"),
                method,
                answer,
                def,
            }
        };
        self.frames.branches("RpcExtensionUIRequest").into_iter().map(dialog).collect()
    }

    fn chart(&self) -> Chart {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let region = |region: &Value| {
            let steps = list(&region["transitions"]).into_iter();
            let steps = steps.filter(|step| self.has(step, "dialects")).map(|step| FlowStep {
                from: text(&step["from"]),
                to: text(&step["to"]),
                label: text(&step["on"]),
                on: self.triggers(&step),
                cut: false,
            });
            let state = |state: &Value| StateAbout {
                name: text(&state["name"]),
                parent: state["parent"].as_str().map(str::to_owned),
                description: text(&state["description"]),
            };
            let transitions: Vec<FlowStep> =
                if region["name"] == "flow" { self.flow() } else { steps.collect() };
            Region {
                name: text(&region["name"]),
                description: text(&region["description"]),
                initial: text(&region["initial"]),
                states: list(&region["states"])
                    .iter()
                    .filter(|state| self.has(state, "dialects"))
                    .map(state)
                    .collect(),
                transitions,
            }
        };
        Chart { regions: list(&self.bundle["states"]["regions"]).iter().map(region).collect() }
    }

    /// The frames that trigger a step of a small region; dialogs count only if they have a response.
    fn triggers(&self, step: &Value) -> Vec<Trigger> {
        let r#where = step["where"].as_object().cloned().unwrap_or_default();
        let named = |name: String| match name.as_str() {
            "extension_ui_request" => {
                let asking = self.dialogs().into_iter().filter(|dialog| dialog.answer.is_some());
                asking.map(|dialog| user_request(&dialog.method)).collect()
            }
            _ => vec![Trigger { r#type: name, r#where: r#where.clone() }],
        };
        texts(&step["frames"]).into_iter().flat_map(named).collect()
    }

    fn flow(&self) -> Vec<FlowStep> {
        let arrows = arrows(self.dialect.base()).into_iter();
        arrows
            .map(|arrow| FlowStep {
                from: arrow.from.as_str().to_owned(),
                to: arrow.to.as_str().to_owned(),
                label: arrow.label,
                on: arrow.kinds.into_iter().flat_map(|kind| self.of_kind(kind)).collect(),
                cut: arrow.cut,
            })
            .collect()
    }

    fn errors(&self) -> BTreeMap<String, ErrorAbout> {
        let errors = self.bundle["errors"].as_object().into_iter().flatten();
        errors
            .filter(|(_, error)| self.has(error, "x-dialects"))
            .map(|(name, error)| {
                let about = ErrorAbout {
                    text: text(error["text"].get(self.base()).unwrap_or(&error["text"])),
                    description: text(&error["description"]),
                    sources: texts(&error["x-doc"]),
                };
                (name.clone(), about)
            })
            .collect()
    }

    fn rules(&self) -> BTreeMap<String, RuleInMeta> {
        // Connections of many sessions have their rules beside those of a dialect.
        let rules = RuleId::ALL.into_iter().filter(|rule| !rule.about().needs.contains(&Need::Sessions));
        rules
            .filter_map(|rule| {
                let (about, tier) = (rule.about(), rule.tier(self.dialect.base())?);
                let meta = RuleInMeta {
                    sentence: about.sentence,
                    tier: tier.as_str(),
                    side: about.side.as_str(),
                    area: about.area.as_str(),
                    needs: about.needs.iter().map(|need| need.as_str()).collect(),
                    sources: about.sources.to_vec(),
                };
                Some((rule.as_str().to_owned(), meta))
            })
            .collect()
    }

    /// The record of the bundle, without annotations.
    fn record(&self) -> Value {
        let records = self.bundle["dialects"].as_array().into_iter().flatten();
        let mut own = records.filter(|record| record["id"] == self.dialect.as_str()).cloned();
        let mut record = own.next().unwrap_or_default();
        if let Some(record) = record.as_object_mut() {
            record.retain(|key, _| !key.starts_with("x-"));
        }
        record
    }

    /// The versions in which definitions, members and values were introduced.
    fn since(&self, exported: &Value) -> BTreeMap<String, String> {
        let mut since = BTreeMap::new();
        for (name, def) in exported["$defs"].as_object().into_iter().flatten() {
            let annotated = &self.bundle["$defs"][name];
            since.extend(annotated["x-since"].as_str().map(|version| (name.clone(), version.to_owned())));
            for (member, _) in def["properties"].as_object().into_iter().flatten() {
                let version = annotated["properties"][member]["x-since"].as_str();
                since.extend(version.map(|version| (format!("{name}.{member}"), version.to_owned())));
            }
            for value in texts(&def["enum"]) {
                let version = annotated["x-since"][&value].as_str();
                since.extend(version.map(|version| (format!("{name}.{value}"), version.to_owned())));
            }
        }
        since
    }

    /// Whether the list of dialects under `key`, if there is one, has the dialect.
    fn has(&self, limited: &Value, key: &str) -> bool {
        limited.get(key).and_then(Value::as_array).is_none_or(|ids| ids.iter().any(|id| id == self.base()))
    }

    fn base(&self) -> &'static str {
        self.dialect.base().as_str()
    }

    /// The triggers that the machine treats as this kind. Automatic compactions have one for each reason. Prompts trigger only
    /// if a run follows, in dialects whose response has the disposition.
    fn of_kind(&self, kind: Kind) -> Vec<Trigger> {
        if matches!(kind, Kind::Unannounced(_)) {
            return Vec::new();
        }
        let mut trigger = trigger(kind);
        if kind == Kind::Response(Some(RpcCommandKind::Prompt), true)
            && self.frames.member("PromptOutcome", "disposition").is_some()
        {
            let started = PromptDisposition::Started.as_str();
            trigger.r#where.insert("disposition".to_owned(), started.into());
        }
        if !matches!(kind, Kind::CompactionStart(false) | Kind::CompactionEnd(false)) {
            return vec![trigger];
        }
        let reasons = CompactionReason::ALL.into_iter();
        let own = reasons.filter(|it| *it != CompactionReason::Manual && it.is_in(self.dialect.base()));
        own.map(|reason| Trigger {
            r#where: Map::from_iter([("reason".to_owned(), reason.as_str().into())]),
            ..trigger.clone()
        })
        .collect()
    }
}

fn outcome(case: &Case) -> Outcome {
    Outcome {
        when: case.when.map(condition),
        disposition: case.disposition.as_str(),
        error: case.error.map(|error| error.as_str()),
    }
}

fn condition((field, is): (&'static str, &'static [&'static str])) -> When {
    When { field, is: is.to_vec() }
}

fn user_request(method: &str) -> Trigger {
    let r#where = Map::from_iter([("method".to_owned(), method.into())]);
    Trigger { r#type: "extension_ui_request".to_owned(), r#where }
}

fn trigger(kind: Kind) -> Trigger {
    let mut r#where = Map::new();
    let r#type = match kind {
        Kind::Command(command) => command.as_str().to_owned(),
        Kind::Response(command, success) => {
            r#where.insert("command".to_owned(), command.map_or("parse", RpcCommandKind::as_str).into());
            r#where.insert("success".to_owned(), success.into());
            "response".to_owned()
        }
        Kind::UiRequest(method) => return user_request(method.as_str()),
        kind => {
            for field in ["role", "stopReason", "success", "reason"] {
                if let Some(value) = kind.field(field) {
                    let value = match value {
                        "true" | "false" => json!(value == "true"),
                        text => json!(text),
                    };
                    r#where.insert(field.to_owned(), value);
                }
            }
            kind.name().map_or_else(|| kind.to_string(), str::to_owned)
        }
    };
    Trigger { r#type, r#where }
}
