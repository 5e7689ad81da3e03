//! The tools that a model may call, and the check of their arguments.

use crate::{
    consent_patterns::ConsentPatterns,
    todos::list::TODO_WRITE,
    toolbox::{
        argument_problems::{problem_lines, without_empty_fractions},
        coercion::coerce,
        declarations::script_sentence,
        edit_arguments::{EDIT, EDITS, gather_edits},
        listing::listed,
        schema_cost::{MOST_STEPS, Schema},
        selection::{RecordedTools, SelectionReport, ToolSelection},
    },
};
use jsonschema::{Draft, PatternOptions, ValidationOptions, Validator};
use pi_rpc_model::types::ToolSpec;
use pi_rpc_protocol::{Base, JsonObject, ToolCall, ToolExposure, errors};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    sync::{Arc, OnceLock},
};

/// All tools, with the schemas of their arguments.
pub struct Toolbox {
    tools: Vec<Tool>,
    /// Tools of the server that are offered only when chosen by name.
    spare: Vec<ToolSpec>,
    /// What options, settings and clients leave of the tools.
    selection: ToolSelection,
    /// The names of all tools that were registered, offered or not.
    registered: BTreeSet<String>,
    /// The tools that the session declares; `None`: none yet.
    recorded: Option<RecordedTools>,
    /// Tools that are off only because the session was without them.
    without: BTreeSet<String>,
    /// What is wrong with the selection.
    report: SelectionReport,
    /// The tools offered to the model, computed on demand.
    specs: OnceLock<Arc<[ToolSpec]>>,
    /// Whether calls of tools that are not listed are carried out by the server, with arguments as they are.
    is_open: bool,
    /// The tools whose calls need the host's consent.
    pub(crate) consent_patterns: ConsentPatterns,
}

struct Tool {
    spec: ToolSpec,
    /// Its schema, compiled once a call is checked: most servers wait for a prompt.
    validator: OnceLock<Result<Validator, SchemaFault>>,
    owner: ToolOwner,
    offered: bool,
    access: ToolAccess,
    /// What its extension says of its use.
    guidelines: Vec<String>,
}

/// Who may call a tool besides the model, and whether it runs scripts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ToolAccess {
    pub exposure: ToolExposure,
    pub runs_scripts: bool,
}

impl ToolAccess {
    /// Other tools may call it while the model is offered it.
    pub(crate) const DIRECT: Self = Self { exposure: ToolExposure::Direct, runs_scripts: false };
}

impl Tool {
    const fn whole(&self) -> (&ToolSpec, ToolOwner, bool) {
        (&self.spec, self.owner, self.offered)
    }

    fn validator(&self) -> Result<&Validator, SchemaFault> {
        let compiled = self.validator.get_or_init(|| match self.owner {
            // Our schemas mean the same in draft 7, whose metaschema compiles faster.
            ToolOwner::Server => {
                compile(jsonschema::options().with_draft(Draft::Draft7), &self.spec.parameters)
            }
            ToolOwner::Extension(_) | ToolOwner::Host => examine(&self.spec.parameters),
        });
        compiled.as_ref().map_err(Clone::clone)
    }

    /// Whether it is the server's `edit`, with a list of replacements.
    fn takes_edits(&self) -> bool {
        self.owner == ToolOwner::Server
            && self.spec.name == EDIT
            && self.spec.parameters.pointer("/properties").is_some_and(|members| members.get(EDITS).is_some())
    }

    /// The arguments as the tool takes them, or the text of the error result.
    fn check(&self, base: Base, arguments: &JsonObject) -> Result<JsonObject, String> {
        let name = self.spec.name.as_str();
        let mut members = arguments.clone();
        if self.takes_edits() {
            gather_edits(&mut members);
        }
        let mut value = Value::Object(members);
        coerce(&mut value, &self.spec.parameters);
        let refusal: Option<Vec<String>> = match self.validator() {
            Ok(_) if self.costs_too_much(&value) => {
                Some(vec![format!("  - root: checking them takes more than {MOST_STEPS} steps")])
            }
            Ok(validator) if validator.is_valid(&value) => None,
            Ok(validator) => Some(problem_lines(base, &self.spec.parameters, validator, &value)),
            Err(fault) => Some(vec![fault.error_text(base, name)]),
        };
        match (value, refusal) {
            (Value::Object(arguments), None) => Ok(arguments),
            (_, refusal) => {
                let problems = refusal.unwrap_or_default();
                let received = without_empty_fractions(&Value::Object(arguments.clone()));
                let received = serde_json::to_string_pretty(&received).unwrap_or_default();
                Err(errors::invalid_arguments(base, name, &problems.join("\n"), &received))
            }
        }
    }

    /// Whether these arguments are not checked: ours are known to be no work.
    fn costs_too_much(&self, arguments: &Value) -> bool {
        self.owner != ToolOwner::Server && Schema::new(&self.spec.parameters).steps(arguments) > MOST_STEPS
    }
}

/// Why a tool's parameter schema is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SchemaFault {
    /// They are no JSON Schema.
    Invalid(String),
    /// Checking arguments by them may take any amount of work.
    Costly(String),
}

impl SchemaFault {
    /// The error for the owner of the tool.
    pub(crate) fn error_text(&self, base: Base, name: &str) -> String {
        match self {
            Self::Invalid(reason) => errors::tool_schema(base, name, reason),
            Self::Costly(reason) => errors::tool_schema_cost(base, name, reason),
        }
    }
}

/// The owner of a tool, which runs its calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolOwner {
    /// The server.
    Server,
    /// The extension at this place.
    Extension(usize),
    /// The host.
    Host,
}

impl Toolbox {
    /// The server's own.
    pub fn new(specs: Vec<ToolSpec>) -> Self {
        let own = |spec| Tool {
            spec,
            validator: OnceLock::new(),
            owner: ToolOwner::Server,
            offered: true,
            access: ToolAccess::DIRECT,
            guidelines: Vec::new(),
        };
        let tools = specs.into_iter().map(own).collect();
        Self {
            tools,
            spare: Vec::new(),
            selection: ToolSelection::default(),
            registered: BTreeSet::new(),
            recorded: None,
            without: BTreeSet::new(),
            report: SelectionReport::default(),
            specs: OnceLock::new(),
            is_open: false,
            consent_patterns: ConsentPatterns::default(),
        }
    }

    /// The tools of an agent that carries its calls out itself: any name, any arguments.
    pub fn of_agent() -> Self {
        Self { is_open: true, ..Self::new(Vec::new()) }
    }

    /// Whether an agent carries its calls out itself.
    pub(crate) const fn is_of_agent(&self) -> bool {
        self.is_open
    }

    /// Adds tools of the server that are offered only when an extension chooses them.
    #[must_use]
    pub fn with_spare(mut self, spare: Vec<ToolSpec>) -> Self {
        self.spare = spare;
        self
    }

    /// Offers only the tools that the selection admits, those that are added or chosen later included.
    #[must_use]
    pub fn selecting(mut self, selection: ToolSelection) -> Self {
        let Self { tools, spare, registered, .. } = &mut self;
        registered.extend(tools.iter().map(|tool| tool.spec.name.clone()));
        tools.retain(|tool| selection.admits(&tool.spec.name, false));
        spare.retain(|spec| selection.admits(&spec.name, false));
        self.selection = selection;
        self
    }

    /// Examines the entries of the selection, once extensions and servers have registered; `false` if one that takes
    /// tools away matches none.
    pub(crate) fn check_selection(&mut self) -> bool {
        self.report = self.selection.report(&self.registered);
        self.report.refusal.is_none()
    }

    /// What [`check_selection`](Self::check_selection) has found.
    pub(crate) const fn selection_report(&mut self) -> &mut SelectionReport {
        &mut self.report
    }

    /// Whether a tool of that name is never offered, not even one of the host.
    pub(crate) fn excludes(&self, name: &str) -> bool {
        !self.selection.admits(name, true)
    }

    /// Whether a tool of an extension is offered from the start.
    pub(crate) fn starts_active(&mut self, name: &str, registered_active: bool) -> bool {
        let starts = self.selection.starts_active(name, registered_active);
        let keeps = self.recorded.as_ref().is_none_or(|recorded| self.selection.keeps(recorded, name));
        if starts && !keeps {
            self.without.insert(name.to_owned());
        }
        starts && keeps
    }

    /// Takes away the tools that the session was without, and gives back those that only another session was without.
    /// Returns whether that has changed anything.
    pub(crate) fn follow_session(&mut self, recorded: Option<RecordedTools>) -> bool {
        self.recorded = recorded;
        let Self { tools, selection, recorded, without, .. } = self;
        let mut is_changed = false;
        for tool in tools.iter_mut().filter(|tool| tool.owner != ToolOwner::Host) {
            let name = &tool.spec.name;
            let is_kept = recorded.as_ref().is_none_or(|recorded| selection.keeps(recorded, name));
            let may_be_offered = without.remove(name) || tool.offered;
            if may_be_offered && !is_kept {
                without.insert(name.clone());
            }
            let is_offered = may_be_offered && is_kept;
            is_changed |= tool.offered != is_offered;
            tool.offered = is_offered;
        }
        if is_changed {
            self.specs = OnceLock::new();
        }
        is_changed
    }

    /// Forgets the consent patterns that have matched no tool so far and do now.
    pub(crate) fn forget_matched_patterns(&mut self) {
        let Self { tools, spare, consent_patterns, .. } = self;
        let specs = || tools.iter().map(|tool| &tool.spec).chain(&*spare);
        consent_patterns.unmatched.retain(|pattern| !specs().any(|spec| pattern.matches(&spec.name)));
    }

    /// Offers these tools and no others; unknown names are ignored.
    pub(crate) fn choose(&mut self, names: &[String]) {
        let is_chosen = |spec: &ToolSpec| names.contains(&spec.name);
        for spec in self.spare.extract_if(.., |spec| is_chosen(spec)).collect::<Vec<_>>() {
            if !self.has(&spec.name) {
                let owner = ToolOwner::Server;
                let (access, guidelines) = (ToolAccess::DIRECT, Vec::new());
                let validator = OnceLock::new();
                self.tools.push(Tool { spec, validator, owner, offered: true, access, guidelines });
            }
        }
        self.without.clear();
        let Self { tools, selection, .. } = &mut *self;
        for tool in tools {
            let may_offer = selection.admits(&tool.spec.name, tool.owner == ToolOwner::Host);
            tool.offered = may_offer && is_chosen(&tool.spec);
        }
        self.specs = OnceLock::new();
    }

    /// All tools, with who carries them out and whether the model is offered them.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&ToolSpec, ToolOwner, bool)> {
        let spare = self.spare.iter().filter(|spec| !self.has(&spec.name));
        let spare = spare.map(|spec| (spec, ToolOwner::Server, false));
        let added = |tool: &&Tool| tool.owner != ToolOwner::Server;
        let own = self.tools.iter().filter(move |tool| !added(tool)).map(Tool::whole);
        own.chain(spare).chain(self.tools.iter().filter(added).map(Tool::whole))
    }

    /// Whether the server carries out a tool of that name, offered or not.
    pub(crate) fn is_of_server(&self, name: &str) -> bool {
        let own = self.tools.iter().filter(|tool| tool.owner == ToolOwner::Server).map(|tool| &tool.spec);
        name != TODO_WRITE && own.chain(&self.spare).any(|spec| spec.name == name)
    }

    /// Whether a call of that name is the server's: no extension or host has a tool that takes it.
    pub(crate) fn is_carried_out_by_server(&self, name: &str) -> bool {
        self.is_of_server(name) && self.owner(name).is_none_or(|owner| owner == ToolOwner::Server)
    }

    /// Adds a tool; the error says what is wrong with its parameter schema.
    pub(crate) fn add(
        &mut self,
        spec: ToolSpec,
        owner: ToolOwner,
        offered: bool,
        access: ToolAccess,
    ) -> Result<(), SchemaFault> {
        let may_offer = self.selection.admits(&spec.name, owner == ToolOwner::Host);
        self.registered.insert(spec.name.clone());
        let offered = offered && may_offer;
        let tool = Tool { spec, validator: OnceLock::new(), owner, offered, access, guidelines: Vec::new() };
        tool.validator()?;
        self.tools.push(tool);
        self.specs = OnceLock::new();
        Ok(())
    }

    /// Notes what an extension says of the use of the tool that was added last.
    pub(crate) fn describe_use(&mut self, guidelines: &[String]) {
        if let Some(tool) = self.tools.last_mut() {
            tool.guidelines = guidelines.to_vec();
        }
    }

    /// Removes the tools of extensions; returns the name of each, the place of its extension, and whether it was
    /// offered.
    pub(crate) fn take_of_extensions(&mut self) -> Vec<(String, usize, bool)> {
        let known = self.tools.iter().filter_map(|tool| match tool.owner {
            ToolOwner::Extension(place) => Some((tool.spec.name.clone(), place, tool.offered)),
            ToolOwner::Server | ToolOwner::Host => None,
        });
        let known = known.collect();
        self.tools.retain(|tool| !matches!(tool.owner, ToolOwner::Extension(_)));
        self.specs = OnceLock::new();
        known
    }

    /// Removes the tools of an owner.
    pub(crate) fn remove_of(&mut self, owner: ToolOwner) {
        self.tools.retain(|tool| tool.owner != owner);
        self.specs = OnceLock::new();
    }

    /// Who carries out the tool of that name.
    pub(crate) fn owner(&self, name: &str) -> Option<ToolOwner> {
        self.find(name).map(|tool| tool.owner)
    }

    /// Whether the host has defined tools.
    pub(crate) fn has_host_tools(&self) -> bool {
        self.tools.iter().any(|tool| tool.owner == ToolOwner::Host)
    }

    /// Whether there is a tool of that name, offered or not.
    fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// Whether the model is offered a tool of that name.
    pub(crate) fn is_offered(&self, name: &str) -> bool {
        self.find(name).is_some_and(|tool| tool.offered)
    }

    /// Whether other tools may call a tool of that name. What the options leave out, nobody may.
    pub(crate) fn is_callable(&self, name: &str) -> bool {
        self.find(name).is_some_and(|tool| {
            self.selection.admits(name, tool.owner == ToolOwner::Host)
                && match tool.access.exposure {
                    ToolExposure::Direct => tool.offered,
                    ToolExposure::Codemode | ToolExposure::Deferred => true,
                    ToolExposure::ModelOnly => false,
                }
        })
    }

    /// The tools offered to the model. A replacement keeps the position of the replaced tool.
    pub fn specs(&self) -> &Arc<[ToolSpec]> {
        self.specs.get_or_init(|| {
            let is_first = |(at, tool): &(usize, &Tool)| {
                !self.tools[..*at].iter().any(|before| before.spec.name == tool.spec.name)
            };
            let firsts = self.tools.iter().enumerate().filter(is_first);
            let counting = firsts.filter_map(|(_, tool)| self.find(&tool.spec.name));
            let counting: Vec<&Tool> = counting.collect();
            let offered = || counting.iter().filter(|tool| tool.offered);
            let has_scripts = offered().any(|tool| tool.access.runs_scripts);
            let listing = self.selection.script_listing;
            let is_direct = |tool: &Tool| matches!(tool.access.exposure, ToolExposure::Direct);
            let is_hidden = |tool: &Tool| {
                has_scripts
                    && listing.replaces_declarations
                    && is_direct(tool)
                    && self.is_callable(&tool.spec.name)
            };
            let described = |tool: &Tool| {
                let mut spec = tool.spec.clone();
                if tool.access.runs_scripts {
                    // Deferred tools are never listed, so that a server that connects changes nothing.
                    let is_listed = |it: &Tool| {
                        self.is_callable(&it.spec.name)
                            && match it.access.exposure {
                                ToolExposure::Codemode => true,
                                ToolExposure::Direct => listing.replaces_declarations,
                                ToolExposure::Deferred | ToolExposure::ModelOnly => false,
                            }
                    };
                    let tools = counting.iter().filter(|it| is_listed(it));
                    let tools: Vec<_> = tools.map(|it| (&it.spec, it.guidelines.as_slice())).collect();
                    if let Some(text) = listed(&tools, listing.budget) {
                        spec.description += "\n\n";
                        spec.description += &text;
                    }
                } else if has_scripts && !listing.replaces_declarations && self.is_callable(&spec.name) {
                    spec.description += "\n\n";
                    spec.description += &script_sentence(&spec.name, spec.output.as_deref());
                }
                spec
            };
            offered().filter(|tool| !is_hidden(tool)).map(|tool| described(tool)).collect()
        })
    }

    /// Whether a tool must run alone, in dialects that run others side by side.
    pub fn is_exclusive(&self, name: &str) -> bool {
        self.find(name).is_some_and(|tool| tool.spec.exclusive)
    }

    /// The arguments of a call as the tool takes them, or the text of the error result; `prepared` are those that an
    /// extension has put in their place.
    pub fn check_call(
        &self,
        base: Base,
        call: &ToolCall,
        prepared: Option<&JsonObject>,
    ) -> Result<JsonObject, String> {
        let ToolCall { name, arguments, arguments_error, .. } = call;
        match arguments_error {
            Some(_) if !self.is_offered(name) && !self.is_open => Err(errors::tool_not_found(base, name)),
            Some(reason) => Err(errors::arguments_unreadable(base, name, reason)),
            None => self.check(base, name, prepared.unwrap_or(arguments)),
        }
    }

    /// The arguments of a call of the model as the tool takes them, or the text of the error result.
    pub fn check(&self, base: Base, name: &str, arguments: &JsonObject) -> Result<JsonObject, String> {
        match self.find(name).filter(|tool| tool.offered) {
            Some(tool) => tool.check(base, arguments),
            None if self.is_open => Ok(arguments.clone()),
            None => Err(errors::tool_not_found(base, name)),
        }
    }

    /// The arguments of a call of another tool as the tool takes them, or the text of the error result.
    pub(crate) fn check_nested(
        &self,
        base: Base,
        name: &str,
        arguments: &JsonObject,
    ) -> Result<JsonObject, String> {
        match self.find(name).filter(|_| self.is_callable(name)) {
            Some(tool) => tool.check(base, arguments),
            None => Err(errors::tool_not_found(base, name)),
        }
    }

    /// The tool that counts under this name: a built-in one only if there is no other.
    fn find(&self, name: &str) -> Option<&Tool> {
        let named = || self.tools.iter().filter(|tool| tool.spec.name == name);
        named().find(|tool| tool.owner != ToolOwner::Server).or_else(|| named().next())
    }
}

/// The most ways that a pattern is tried in a text, and the most bytes that it may be compiled to.
const PATTERN_LIMITS: (usize, usize) = (10_000, 1 << 20);

/// The validator of a schema that others brought.
pub(crate) fn examine(schema: &Value) -> Result<Validator, SchemaFault> {
    Schema::new(schema).examine().map_err(SchemaFault::Costly)?;
    compile_with_limits(schema)
}

/// The validator of a schema whose patterns may be costly.
pub(super) fn compile_with_limits(schema: &Value) -> Result<Validator, SchemaFault> {
    let (ways, bytes) = PATTERN_LIMITS;
    let patterns =
        PatternOptions::fancy_regex().backtrack_limit(ways).size_limit(bytes).dfa_size_limit(bytes);
    compile(jsonschema::options().with_pattern_options(patterns), schema)
}

fn compile(options: ValidationOptions, schema: &Value) -> Result<Validator, SchemaFault> {
    options.build(schema).map_err(|error| SchemaFault::Invalid(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(schemars::JsonSchema)]
    struct NoArguments {}

    fn spec(name: &str) -> ToolSpec {
        ToolSpec::of::<NoArguments>(name, "Does nothing.", false)
    }

    #[test]
    fn tools_of_extensions_are_not_the_servers() {
        let mut toolbox = Toolbox::new(vec![spec("read")]).with_spare(vec![spec("grep")]);
        for name in ["read", "grep"] {
            assert!(toolbox.is_carried_out_by_server(name));
            toolbox.add(spec(name), ToolOwner::Extension(0), true, ToolAccess::DIRECT).unwrap();
            assert!(toolbox.is_of_server(name) && !toolbox.is_carried_out_by_server(name));
        }
    }

    #[test]
    fn limited_toolbox_offers_nothing_else() {
        let allowed = ["read", "own", "grep"].map(str::to_owned).to_vec();
        let mut toolbox = Toolbox::new(vec![spec("read"), spec("bash")])
            .with_spare(vec![spec("grep"), spec("find")])
            .selecting(ToolSelection { allowed: vec![allowed], ..ToolSelection::default() });
        let names =
            |toolbox: &Toolbox| toolbox.specs().iter().map(|spec| spec.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&toolbox), ["read"]);
        for (name, owner) in [
            ("own", ToolOwner::Extension(0)),
            ("shell", ToolOwner::Extension(0)),
            ("bash", ToolOwner::Extension(0)),
            ("of-host", ToolOwner::Host),
        ] {
            toolbox.add(spec(name), owner, true, ToolAccess::DIRECT).unwrap();
        }
        assert_eq!(names(&toolbox), ["read", "own", "of-host"]);
        toolbox.choose(&["bash", "find", "grep", "own", "read", "shell"].map(str::to_owned));
        assert_eq!(names(&toolbox), ["read", "own", "grep"]);
    }
}
