//! What may be sent: what becomes of each command in a state, and what is wrong with a line. All of it comes from the
//! schema's one table.

use super::wire::{
    ArrowAbout, CommandAbout, CommandCase, CommandState, OtherFrame, Problem, Problems, Protocol,
    RegionAbout, RegionStep, RuleAbout, StateAbout,
};
use pi_rpc_export::{CommandAbout as CommandAboutMeta, Meta, Outcome, json_schema, meta};
use pi_rpc_machine::{Rule, State, arrows, superstates};
use pi_rpc_protocol::{
    BUNDLE, Dialect, FlowState, HostResponseKind, Inbound, LineError, RpcCommand, read_line,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What a dialect allows, as data.
pub struct Dispositions {
    dialect: Dialect,
    meta: Meta,
    schema: Value,
    /// The meaning of each disposition.
    meanings: BTreeMap<String, String>,
}

/// The disposition of a refused command.
const REJECT: &str = "reject";
/// Where members of the command decide.
const DEPENDS: &str = "depends";
/// The most errors of one line.
const MAX_PROBLEMS: usize = 20;

impl Dispositions {
    /// Those of a dialect.
    pub fn new(dialect: Dialect) -> Self {
        let bundle: Value = serde_json::from_str(BUNDLE).unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let meanings = bundle["states"]["dispositions"].as_object().into_iter().flatten();
        Self {
            dialect,
            meta: meta(dialect),
            schema: json_schema(dialect),
            meanings: meanings.map(|(name, meaning)| (name.clone(), text(meaning))).collect(),
        }
    }

    /// The JSON Schema of the dialect.
    pub const fn schema(&self) -> &Value {
        &self.schema
    }

    /// What JSON Schema cannot express of the dialect.
    pub const fn meta(&self) -> &Meta {
        &self.meta
    }

    /// What becomes of each command in a state.
    pub fn commands(&self, state: State) -> Vec<CommandState> {
        self.meta.commands.iter().map(|command| self.command(command, state)).collect()
    }

    fn command(&self, about: &CommandAboutMeta, state: State) -> CommandState {
        let outcomes = about.states.iter().find(|(flow, _)| *flow == state.flow);
        let outcomes = outcomes.map(|(_, outcomes)| outcomes.as_slice()).unwrap_or_default();
        let mut command = CommandState {
            r#type: about.r#type.clone(),
            disposition: REJECT.to_owned(),
            allowed: false,
            why: None,
            error: None,
            cases: Vec::new(),
        };
        if state.closing {
            command.why = Some("The input has ended.".to_owned());
            return command;
        }
        match outcomes {
            [] => {}
            [Outcome { when: None, disposition, error }] => {
                command.disposition = (*disposition).to_owned();
                command.allowed = *disposition != REJECT;
                command.why = self.meanings.get(*disposition).cloned();
                command.error = error.and_then(|error| self.error_text(error));
                if !command.allowed {
                    command.why = Some(format!("Refused in {}.", state.flow));
                }
            }
            outcomes => {
                command.disposition = DEPENDS.to_owned();
                command.cases = outcomes.iter().map(|outcome| self.case(outcome)).collect();
                command.allowed = command.cases.iter().any(|case| case.allowed);
                let wanted = command.cases.iter().filter(|case| case.allowed && !case.when.is_empty());
                let wanted: Vec<&str> = wanted.map(|case| case.when.as_str()).collect();
                let otherwise = command.cases.iter().find(|case| case.when.is_empty() && !case.allowed);
                if let Some(otherwise) = otherwise {
                    command.error.clone_from(&otherwise.error);
                    command.why = Some(format!("Refused in {} unless {}.", state.flow, wanted.join(" or ")));
                }
            }
        }
        command
    }

    /// What becomes of this very command: its members decide where they have to.
    fn sent_command(&self, about: &CommandAboutMeta, sent: &RpcCommand, state: State) -> CommandState {
        let mut command = self.command(about, state);
        let outcomes = about.states.iter().find(|(flow, _)| *flow == state.flow);
        let holds = |outcome: &&Outcome| {
            let when = outcome.when.as_ref();
            when.is_none_or(|when| sent.choice(when.field).is_some_and(|value| when.is.contains(&value)))
        };
        let outcome = outcomes.and_then(|(_, outcomes)| outcomes.iter().find(holds));
        if let Some(outcome) = outcome.filter(|_| !command.cases.is_empty() && !state.closing) {
            let case = self.case(outcome);
            command.allowed = case.allowed;
            if case.allowed {
                command.why = self.meanings.get(&case.disposition).cloned();
            }
            (command.disposition, command.error) = (case.disposition, case.error);
            command.cases.clear();
        }
        command
    }

    fn case(&self, outcome: &Outcome) -> CommandCase {
        let when = outcome.when.as_ref().map(|when| format!("{} = {}", when.field, when.is.join(" or ")));
        CommandCase {
            when: when.unwrap_or_default(),
            disposition: outcome.disposition.to_owned(),
            allowed: outcome.disposition != REJECT,
            error: outcome.error.and_then(|error| self.error_text(error)),
        }
    }

    fn error_text(&self, name: &str) -> Option<String> {
        self.meta.errors.get(name).map(|error| error.text.clone())
    }

    /// The definitions of the responses to a dialog, and the member that has the choice.
    pub fn dialog_answers(&self, method: &str) -> (Vec<String>, Option<String>) {
        let dialog = self.meta.dialogs.iter().find(|dialog| dialog.method == method);
        dialog.map(|dialog| (dialog.answers.clone(), dialog.answer.clone())).unwrap_or_default()
    }

    /// What is wrong with a line, and what becomes of it in a state.
    pub fn problems(&self, line: &str, state: State) -> Problems {
        let value: Value = match serde_json::from_str(line) {
            Ok(value) => value,
            Err(error) => {
                let at = error.column().saturating_sub(1).min(line.len());
                let problem =
                    Problem { pointer: String::new(), text: error.to_string(), at: Some(at as u32) };
                return Problems { problems: vec![problem], command: None };
            }
        };
        let kind = value["type"].as_str().unwrap_or_default();
        let about = self.meta.commands.iter().find(|command| command.r#type == kind);
        let read = read_line(line.as_bytes(), self.dialect);
        let command = about.map(|about| match &read {
            Ok(Some(Inbound::Command(sent))) => self.sent_command(about, sent, state),
            _ => self.command(about, state),
        });
        let definition = about.map(|about| about.request.as_str()).or_else(|| self.other_definition(kind));
        let mut problems = match definition {
            Some(definition) => self.schema_errors(definition, &value),
            None => Vec::new(),
        };
        // What the server itself says of the line, if the schema has nothing against it.
        if problems.is_empty()
            && let Err(error) = &read
        {
            problems.push(problem_of(error));
        }
        Problems { problems, command }
    }

    fn schema_errors(&self, definition: &str, value: &Value) -> Vec<Problem> {
        let schema = json!({ "$ref": format!("#/$defs/{definition}"), "$defs": self.schema["$defs"] });
        let Ok(validator) = jsonschema::validator_for(&schema) else { return Vec::new() };
        let problem = |error: jsonschema::ValidationError<'_>| Problem {
            pointer: error.instance_path().to_string(),
            text: error.to_string().chars().take(400).collect(),
            at: None,
        };
        validator.iter_errors(value).take(MAX_PROBLEMS).map(problem).collect()
    }

    /// The definition of an inbound frame that is no command.
    fn other_definition(&self, kind: &str) -> Option<&str> {
        let definitions = self.schema["$defs"].as_object()?;
        let is_it = |definition: &&Value| {
            let own = &definition["properties"]["type"];
            (own["const"] == kind || definition["title"] == kind) && definition["properties"].is_object()
        };
        let inbound = ["RpcExtensionUIResponse", "HostToolUpdate", "HostToolResult"];
        inbound.into_iter().find_map(|name| {
            let (name, definition) = definitions.get_key_value(name)?;
            let branches = definition["oneOf"].as_array().into_iter().flatten();
            let has = branches.filter_map(|branch| branch["$ref"].as_str()).any(|reference| {
                let name = reference.rsplit('/').next().unwrap_or_default();
                definitions.get(name).filter(is_it).is_some()
            });
            (has || is_it(&definition)).then_some(name.as_str())
        })
    }

    /// What does not change while the dialect is inspected.
    pub fn protocol(&self) -> Protocol {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let base = self.dialect.base();
        let flow = self.meta.chart.regions.first();
        let description = |name: &str| {
            let states = flow.map(|flow| flow.states.as_slice()).unwrap_or_default();
            states.iter().find(|state| state.name == name).map(|state| state.description.clone())
        };
        let states = FlowState::ALL.into_iter().filter(|state| state.is_in(base)).map(|state| StateAbout {
            name: state.as_str().to_owned(),
            description: description(state.as_str()).unwrap_or_default(),
            superstates: owned(&superstates(state)),
        });
        let arrows = arrows(base).into_iter().map(|arrow| ArrowAbout {
            from: arrow.from.as_str().to_owned(),
            to: arrow.to.as_str().to_owned(),
            cut: arrow.cut,
            kinds: arrow.kinds.iter().map(ToString::to_string).collect(),
            label: arrow.label,
        });
        let regions = self.meta.chart.regions.iter().skip(1).map(|region| RegionAbout {
            name: region.name.clone(),
            states: region.states.iter().map(|state| state.name.clone()).collect(),
            initial: region.initial.clone(),
            transitions: region
                .transitions
                .iter()
                .map(|step| RegionStep {
                    from: step.from.clone(),
                    to: step.to.clone(),
                    on: step.label.clone(),
                })
                .collect(),
        });
        let commands = self.meta.commands.iter().map(|command| CommandAbout {
            r#type: command.r#type.clone(),
            description: command.description.clone(),
            definition: command.request.clone(),
            reads: command.reads,
        });
        Protocol {
            dialect: self.dialect.as_str().to_owned(),
            title: self.meta.title.to_owned(),
            version: self.meta.version.to_owned(),
            states: states.collect(),
            arrows: arrows.collect(),
            regions: regions.collect(),
            commands: commands.collect(),
            others: self.others(),
            rules: Rule::ALL.into_iter().filter_map(|rule| rule_about(rule, self.dialect)).collect(),
            kinds: self.kinds(),
        }
    }

    fn others(&self) -> Vec<OtherFrame> {
        let other = |kind: &str| {
            let definition = self.other_definition(kind)?;
            let description = self.schema["$defs"][definition]["description"].as_str().unwrap_or_default();
            Some(OtherFrame {
                r#type: kind.to_owned(),
                definition: definition.to_owned(),
                description: description.to_owned(),
            })
        };
        HostResponseKind::ALL.into_iter().map(HostResponseKind::as_str).filter_map(other).collect()
    }

    /// The types of all frames: commands, responses, events.
    fn kinds(&self) -> Vec<String> {
        let commands = self.meta.commands.iter().map(|command| command.r#type.clone());
        let events = self.meta.events.iter().map(|event| event.r#type.clone());
        let others = self.others().into_iter().map(|other| other.r#type);
        let outbound = ["response", "extension_ui_request"].map(str::to_owned);
        let mut kinds: Vec<String> = Vec::new();
        for kind in commands.chain(others).chain(outbound).chain(events) {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        kinds
    }
}

fn rule_about(rule: Rule, dialect: Dialect) -> Option<RuleAbout> {
    let about = rule.about();
    Some(RuleAbout {
        id: rule.as_str().to_owned(),
        tier: rule.tier(dialect.base())?.as_str().to_owned(),
        area: about.area.as_str().to_owned(),
        text: about.sentence.to_owned(),
        source: about.sources.join("; "),
    })
}

fn problem_of(error: &LineError) -> Problem {
    let text = match error {
        LineError::Parse { reason, .. }
        | LineError::Field { reason, .. }
        | LineError::Refused { reason, .. } => reason.clone(),
        LineError::Unknown { kind, .. } => format!("`type`: expected a command of the dialect, got `{kind}`"),
    };
    Problem { pointer: String::new(), text, at: None }
}
