//! Finds the skills and prompt templates of a session.

use super::options::HostOptions;
use pi_rpc_config::{
    Config, Environment, expand_home,
    prompt::discover::{Discovered, NamedPaths, SearchPlaces},
    settings::PathList,
};
use pi_rpc_packages::{self as packages, PackageResources};
use pi_rpc_prompt::Commands;
use std::path::Path;

/// Finds the skills and templates of options, settings, packages and default directories. Logs warnings for invalid ones.
pub fn find(
    config: &Config,
    options: &HostOptions,
    packages: &packages::FoundPackages,
    working: &Path,
    environment: &Environment,
) -> Commands {
    let user = config.directories.agent.clone();
    let project = config.directories.project.clone();
    let expanded = |path: &String| expand_home(path, environment).to_string_lossy().into_owned();
    let listed = |lists: &[PathList], directory: &Path| {
        let of_there = lists.iter().filter(|list| list.directory == directory);
        of_there.flat_map(|list| list.entries.iter().map(expanded)).collect()
    };
    let named = |lists: &[PathList], given: &[String], only_given, packages: &PackageResources| NamedPaths {
        by_user: listed(lists, &user),
        by_project: listed(lists, &project),
        given: given.iter().map(expanded).collect(),
        only_given,
        packaged: packages.packaged.clone(),
        brought: packages.given.clone(),
    };
    let places = SearchPlaces {
        skills: named(&config.settings.skills, &options.skills, options.no_skills, &packages.skills),
        templates: named(
            &config.settings.prompts,
            &options.prompt_templates,
            options.no_prompt_templates,
            &packages.templates,
        ),
        working: working.to_owned(),
        home: environment.get("HOME").map(Into::into),
        user,
        project,
        withholds_project: !config.approval.admits_texts(),
        project_names_any: config.approval.is_approved(),
        confinement: config.confinement.clone(),
        project_first: config.dialect.record().project_first,
    };
    let Discovered { mut commands, warnings } = Discovered::find(&places);
    commands.map_texts(|text| config.keys.secrets().redact(text).into_owned());
    for warning in warnings {
        tracing::warn!("{warning}");
    }
    commands
}
