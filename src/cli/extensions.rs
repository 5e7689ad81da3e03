//! Collects what extends a session: extensions, skills, prompt templates, TTSR rules, tools that need consent.

use super::{
    USAGE,
    options::{HostOptions, Refusal},
    prompt_commands,
};
use pi_rpc_config::{
    Config, Directories, Environment, ProjectCode, expand_home, prompt::rules::RuleFiles, settings::PathList,
};
use pi_rpc_engine::{
    ExtensionSetup, HostedExtensions, NamedCommands,
    consent::{Pattern, nearest},
    todos::{CLEAR_AFTER, TODO_WRITE},
    ttsr::Rules,
};
use pi_rpc_extension::{self as extension, NodeHost, Position};
use pi_rpc_files::secrets::redact_command_line;
use pi_rpc_packages::{self as packages, SourcePlace};
use pi_rpc_protocol::{
    Dialect, DialectExtensionApi, ExtensionError, ExtensionMember, Rule, SourceInfo, SourceScope,
};
use pi_rpc_tools as tools;
use std::{ffi::OsString, path::Path};

/// Environment variable that enables titles in dialects where they are optional (source: xcsh source).
const EMIT_TITLE: &str = "PI_RPC_EMIT_TITLE";

/// The folder of extensions in the directories of the agent and of the project.
const EXTENSIONS_FOLDER: &str = "extensions";

/// The `event` in the error of an extension that is not loaded.
const LOAD_EVENT: &str = "load";

/// Stands in place of a path for the Node host.
const HOSTED_PATH: &str = "<extensions>";

/// Finds the extensions of options, settings, packages and default directories. Logs warnings for the others. `arguments`: the
/// command line, for flags of extensions.
///
/// # Errors
///
/// `--confirm-tools` has a pattern that can match no tool.
pub fn find(
    config: &Config,
    options: &HostOptions,
    arguments: &[OsString],
    directory: &Path,
    environment: &Environment,
) -> Result<(ExtensionSetup, Option<NodeHost>), Refusal> {
    let agent = &config.directories.agent;
    let packages = packages(config, options, directory, environment);
    let CollectedExtensions { found, troubles, excused, node } =
        extensions(config, options, &packages, directory, environment);
    let mut paths = found.paths;
    let confirm_unmatched = unmatched_patterns(
        &options.confirm_tools,
        config.dialect,
        !paths.is_empty() || options.has_mcp_servers,
    )?;
    let hosted = found.pi_extensions.map(|place| {
        paths.insert(place, HOSTED_PATH.to_owned());
        let members = packages.extensions.iter();
        HostedExtensions {
            place,
            members: members
                .map(|it| ExtensionMember {
                    path: it.path.clone(),
                    source_info: Some(it.clone()),
                    loaded: None,
                })
                .collect(),
            arguments: redact_command_line(arguments.iter().map(OsString::as_os_str)),
        }
    });
    let on = |value: &str| ["1", "true", "yes", "on"].contains(&value.to_ascii_lowercase().as_str());
    let named = packages.extensions.iter().map(|it| NamedCommands {
        path: it.path.clone(),
        names: extension::named_commands(Path::new(&it.path)),
    });
    let extension_setup = ExtensionSetup {
        extensions: paths,
        troubles,
        excused,
        requires_extensions: options.agent.is_none()
            && options.require_extensions.unwrap_or_else(|| refuses_by_itself(config.dialect)),
        hosted,
        named_commands: named.filter(|it| !it.names.is_empty()).collect(),
        agent_directory: agent.to_string_lossy().into_owned(),
        max_frame: extension::MAX_FRAME,
        emits_title: environment.get(EMIT_TITLE).is_some_and(on),
        hides_ui: options.no_ui,
        confirm: options.confirm_tools.clone(),
        confirm_unmatched,
        stores_permissions: false,
        clear_todos_after: config.settings.clear_todos_after(CLEAR_AFTER),
        rules: rules(config),
        commands: prompt_commands::find(config, options, &packages, directory, environment),
        prompt_source: None,
        is_project_untrusted: !config.approval.is_trusted(environment.get("HOME").map(Path::new)),
        mcp_connector: None,
        unchosen: false,
        unknown_options: Vec::new(),
    };
    Ok((extension_setup, node))
}

/// The paths of the extensions of pi's own kind that load before the project is approved: those of the user.
pub fn members_of_user(
    config: &Config,
    options: &HostOptions,
    directory: &Path,
    environment: &Environment,
) -> Vec<String> {
    let found = find_packages(config, options, directory, environment);
    let is_of_project = |it: &SourceInfo| it.scope == SourceScope::Project;
    found.extensions.into_iter().filter(|it| !is_of_project(it)).map(|it| it.path).collect()
}

/// Whether the original of a dialect refuses to start without an extension. Source: pi source (1.5.2 and 1.6.0).
fn refuses_by_itself(dialect: Dialect) -> bool {
    dialect.record().extension_api == DialectExtensionApi::V15
}

/// The extensions of all places.
struct CollectedExtensions {
    found: extension::FoundExtensions,
    /// Errors of those that cannot be loaded.
    troubles: Vec<ExtensionError>,
    /// Errors of those that may be missing: of a project that is not approved, or where none is wanted.
    excused: Vec<ExtensionError>,
    /// The Node host, if it is needed and there.
    node: Option<NodeHost>,
}

/// Finds pi's own extensions and the content of packages. Logs warnings.
fn packages(
    config: &Config,
    options: &HostOptions,
    directory: &Path,
    environment: &Environment,
) -> packages::FoundPackages {
    let found = find_packages(config, options, directory, environment);
    log_warnings(&found.warnings);
    found
}

fn find_packages(
    config: &Config,
    options: &HostOptions,
    directory: &Path,
    environment: &Environment,
) -> packages::FoundPackages {
    packages::find(&packages::PackagePlaces {
        config,
        given: &options.extensions,
        only_given: options.no_extensions,
        working: directory,
        environment,
        cache: &NodeHost::cache(environment),
    })
}

/// Finds the extensions, and the Node host if it is needed.
fn extensions(
    config: &Config,
    options: &HostOptions,
    packages: &packages::FoundPackages,
    directory: &Path,
    environment: &Environment,
) -> CollectedExtensions {
    let Directories { agent, project, .. } = &config.directories;
    let approval = &config.approval;
    let admits = |directory: &Path| approval.admits(directory, ProjectCode::Executable);
    let of = |admitted: bool| match options.no_extensions {
        true => (Vec::new(), Vec::new()),
        false => {
            let folders = [project, agent].into_iter().filter(|directory| admits(directory) == admitted);
            let configured = configured(config, environment, |directory| admits(directory) == admitted);
            (configured, folders.map(|directory| directory.join(EXTENSIONS_FOLDER)).collect())
        }
    };
    let (configured, folders) = of(true);
    let (withheld_configured, withheld_folders) = of(false);
    let left_out = config.withheld_code.iter().map(|it| load_error(&it.path.to_string_lossy(), &it.text));
    let mut excused: Vec<ExtensionError> = left_out.collect();
    let failure = |it: &packages::PackageFailure| load_error(&it.path, &it.text);
    excused.extend(packages.excused.iter().map(failure));
    let mut troubles: Vec<ExtensionError> = packages.troubles.iter().map(failure).collect();
    let node = (!packages.extensions.is_empty()).then(|| NodeHost::find(environment)).and_then(|found| {
        let text = found.as_ref().err();
        let all = packages.extensions.iter();
        troubles.extend(text.into_iter().flat_map(|text| all.clone().map(|it| load_error(&it.path, text))));
        found.ok()
    });
    let named: Vec<String> =
        packages.others.iter().filter_map(|at| options.extensions.get(*at)).cloned().collect();
    let found = extension::find(&extension::SearchPlaces {
        named: &named,
        configured: &configured,
        folders: &folders,
        withheld_configured: &withheld_configured,
        withheld_folders: &withheld_folders,
        directory,
        environment,
        pi_extensions: node.as_ref().and(packages.first).map(|first| match first {
            SourcePlace::Given(at) => {
                Position::Named(packages.others.iter().filter(|other| **other < at).count())
            }
            SourcePlace::Listed => Position::Configured,
            SourcePlace::Folder => Position::Folders,
            SourcePlace::Package => Position::Last,
        }),
    });
    log_warnings(&found.warnings);
    let text = approval.refusal(ProjectCode::Executable);
    excused.extend(found.withheld.iter().map(|path| load_error(path, &text)));
    CollectedExtensions { found, troubles, excused, node }
}

/// The files and folders in settings of matching directories, those of the project first.
fn configured(config: &Config, environment: &Environment, is_of_kind: impl Fn(&Path) -> bool) -> Vec<String> {
    let lists = config.settings.extensions.iter().rev().filter(|list| is_of_kind(&list.directory));
    let whole = |list: &PathList, entry: &String| match entry.starts_with(['!', '+', '-']) {
        true => entry.clone(),
        false => list.directory.join(expand_home(entry, environment)).to_string_lossy().into_owned(),
    };
    lists.flat_map(|list| list.entries.iter().map(move |entry| whole(list, entry))).collect()
}

/// The error that the host gets for one of pi's extensions that is not loaded, as from pi's own loader.
fn load_error(path: &str, text: &str) -> ExtensionError {
    ExtensionError { extension_path: path.to_owned(), event: LOAD_EVENT.to_owned(), error: text.to_owned() }
}

/// The patterns of `--confirm-tools` that match no built-in tool; `extended`: extensions may add tools.
///
/// # Errors
///
/// A pattern is malformed, or can never match.
fn unmatched_patterns(patterns: &[String], dialect: Dialect, extended: bool) -> Result<Vec<String>, Refusal> {
    if patterns.is_empty() {
        return Ok(Vec::new());
    }
    let lanes = &dialect.record().lanes;
    let own: Vec<String> = tools::specs(&dialect.record().tools).into_iter().map(|tool| tool.name).collect();
    let own = || own.iter().map(String::as_str).chain(lanes.todos.then_some(TODO_WRITE));
    let refuse = |text: String| Err(Refusal(format!("--confirm-tools: {text}"), USAGE));
    let mut unmatched = Vec::new();
    for text in patterns {
        let pattern = match Pattern::new(text) {
            Ok(pattern) => pattern,
            Err(error) => return refuse(format!("\"{text}\" is no pattern: {error}")),
        };
        if own().any(|name| pattern.matches(name)) {
            continue;
        }
        let comes_later = extended || lanes.host_tools;
        match nearest(text, own()) {
            // Only a typing error would be so similar to a built-in name.
            Some(name) if !comes_later || name.eq_ignore_ascii_case(text) => {
                return refuse(format!("no tool is called \"{text}\"; did you mean \"{name}\"?"));
            }
            _ if comes_later => unmatched.push(text.clone()),
            _ => {
                let names = own().collect::<Vec<_>>().join(", ");
                return refuse(format!(
                    "no tool matches \"{text}\"; expected one of {names}, or a pattern of them (*: all)"
                ));
            }
        }
    }
    Ok(unmatched)
}

/// The TTSR rules, in dialects that have them.
fn rules(config: &Config) -> Vec<Rule> {
    let record = config.dialect.record();
    if !record.lanes.ttsr {
        return Vec::new();
    }
    let Directories { agent, project, .. } = &config.directories;
    let project = config.approval.admits_texts().then_some(project.as_path());
    let mut found = RuleFiles::find(agent, project, &config.confinement);
    for rule in &mut found.rules {
        rule.content = config.keys.secrets().redact(&rule.content).into_owned();
    }
    log_warnings(&found.warnings);
    log_warnings(&Rules::new(found.rules.clone()).1);
    found.rules
}

fn log_warnings(warnings: &[String]) {
    for warning in warnings {
        tracing::warn!("{warning}");
    }
}
