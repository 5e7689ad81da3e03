//! What a session is extended by: extensions, skills and prompt templates, rules, questions.

use super::{commands, options::HostOptions};
use crate::{
    config::{Config, Directories, Environment},
    engine::{Extending, todos::CLEAR_AFTER, ttsr::Rules},
    extension::{self, Places},
    prompt::rules::RuleFiles,
    protocol::Rule,
    tools,
};
use std::path::Path;

/// Asks for titles in dialects that send them only on demand (source: xcsh source).
const EMIT_TITLE: &str = "PI_RPC_EMIT_TITLE";

/// The folder of extensions in the directories of the agent and of the project.
const EXTENSIONS: &str = "extensions";

/// Finds what the options, the settings and the usual directories have; says what is wrong with the rest.
pub fn find(
    config: &Config,
    options: &HostOptions,
    directory: &Path,
    environment: &Environment,
) -> Extending {
    let agent = &config.directories.agent;
    let on = |value: &str| ["1", "true", "yes", "on"].contains(&value.to_ascii_lowercase().as_str());
    Extending {
        extensions: extensions(config, options, directory, environment),
        agent_directory: agent.to_string_lossy().into_owned(),
        max_frame: extension::MAX_FRAME,
        emits_title: environment.get(EMIT_TITLE).is_some_and(on),
        confirm: confirmed(options),
        clear_todos_after: config.settings.clear_todos_after(CLEAR_AFTER),
        rules: rules(config, directory),
        commands: commands::find(config, options, directory, environment),
    }
}

fn extensions(
    config: &Config,
    options: &HostOptions,
    directory: &Path,
    environment: &Environment,
) -> Vec<String> {
    let Directories { agent, project } = &config.directories;
    let (configured, folders) = match options.no_extensions {
        true => (Vec::new(), Vec::new()),
        false => (config.settings.extensions.clone(), vec![project.join(EXTENSIONS), agent.join(EXTENSIONS)]),
    };
    let found = extension::find(&Places {
        named: &options.extensions,
        configured: &configured,
        folders: &folders,
        directory,
        environment,
    });
    warn(&found.warnings);
    found.paths
}

/// The tools whose calls the host is asked about.
fn confirmed(options: &HostOptions) -> Vec<String> {
    // Tools of extensions and of the host come later; but a slip in what guards the user must not pass in silence.
    let built_in = tools::specs();
    for name in options.confirm_tools.iter().filter(|name| !built_in.iter().any(|tool| tool.name == **name)) {
        tracing::warn!("--confirm-tools: no built-in tool is called \"{name}\"; one that comes later may be");
    }
    options.confirm_tools.clone()
}

/// What answers are watched for, in dialects that have it.
fn rules(config: &Config, directory: &Path) -> Vec<Rule> {
    let record = config.dialect.record();
    if !record.lanes.ttsr {
        return Vec::new();
    }
    let found = RuleFiles::find(&config.directories.agent, directory, record.directories.project);
    warn(&found.warnings);
    warn(&Rules::new(found.rules.clone()).1);
    found.rules
}

fn warn(warnings: &[String]) {
    for warning in warnings {
        tracing::warn!("{warning}");
    }
}
