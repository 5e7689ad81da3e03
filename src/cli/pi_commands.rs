//! Command lines of pi that serve no session: its subcommands, `--export`, and prompts without an option.
//!
//! What this program does not do is an error that says what does it.

use super::{is_subcommand, login, options, print, refuse};
use clap::CommandFactory as _;
use pi_rpc_config::{self as config, Config, Environment, Sources};
use pi_rpc_packages::installed_place;
use pi_rpc_page::PageOptions;
use pi_rpc_protocol::Dialect;
use pi_rpc_server::write_page;
use pi_rpc_session_store::catalog;
use std::{
    ffi::OsString,
    io::{self, IsTerminal as _},
    path::{Path, PathBuf, absolute},
    process::ExitCode,
};

/// Subcommands of pi that are not here, and what to do instead.
const MISSING: [(&str, &str); 5] = [
    ("install", PACKAGES),
    ("remove", PACKAGES),
    ("uninstall", PACKAGES),
    ("update", "update this program as it was installed, and packages by pi update --extensions"),
    ("config", "extensions, skills, prompts and packages in settings.json say which resources count"),
];

const PACKAGES: &str = "this program writes no settings; edit packages in ~/.pi/agent/settings.json or .pi/settings.json, or \
    name the package by -e, which fetches it";

/// Why there is no newer list of models.
const UPDATE_MODELS: &str = "update --models: the list of models comes with this program; one that is not in it is named by --model \
    PROVIDER/ID, or defined in ~/.pi/agent/models.json";

/// What `auth` alone prints.
const AUTH_USAGE: &str = "\
Usage:
  auth login PROVIDER [--api-key]
  auth logout PROVIDER

pi-rpc models --auth lists which credential each provider has. No credential is printed.";

/// Runs a subcommand of pi that is none of ours; `None`: it is another command line.
pub fn run(started_as: Option<&OsString>, words: &[OsString]) -> Option<ExitCode> {
    let mut words = words.iter().filter_map(|word| word.to_str());
    let first = words.next()?;
    let rest: Vec<&str> = words.collect();
    match first {
        "mcp" if rest.is_empty() => print_help("mcp"),
        "update" if rest.contains(&"--models") => Some(refuse(UPDATE_MODELS, 1)),
        "list" => Some(list(started_as)),
        "auth" => Some(auth(&rest)),
        _ => {
            let (name, text) = MISSING.into_iter().find(|(name, _)| *name == first)?;
            Some(refuse(&format!("{name}: {text}"), 1))
        }
    }
}

/// Prints the help of a subcommand that has subcommands itself; `None`: it is not built in.
fn print_help(name: &str) -> Option<ExitCode> {
    let mut command = super::Cli::command().bin_name("pi-rpc");
    command.build();
    let help = command.find_subcommand_mut(name)?.render_help();
    Some(print(help.to_string().trim_end()))
}

/// Whether the program was started by pi's name, with nothing that says what to do: pi takes the words, or stdin, for a
/// prompt, unless it is at a terminal.
pub fn is_prompt(started_as: Option<&OsString>, words: &[OsString]) -> bool {
    let is_redirected = !(io::stdin().is_terminal() && io::stdout().is_terminal());
    options::program_dialect(started_as).is_some()
        && !is_subcommand(words)
        && !words.iter().any(|word| word == "--help" || word == "-h")
        && is_redirected
}

/// Lists the packages of the settings.
fn list(started_as: Option<&OsString>) -> ExitCode {
    let dialect = match options::default_dialect(started_as) {
        Ok(dialect) => dialect,
        Err(options::Refusal(text, status)) => return refuse(&text, status),
    };
    let working_directory = match std::env::current_dir() {
        Ok(directory) => directory,
        Err(error) => return refuse(&format!("the working directory: {error}"), 1),
    };
    let environment = Environment::of_process();
    let Config { settings, directories, .. } =
        config::load(Sources { dialect, working_directory, environment: environment.clone(), approve: None });
    let mut parts = Vec::new();
    for (title, folder, of_user) in
        [("User", &directories.agent, true), ("Project", &directories.project, false)]
    {
        let lists = settings.packages.iter().filter(|listed| listed.directory == *folder);
        let mut lines = Vec::new();
        for package in lists.flat_map(|listed| &listed.entries) {
            let filter = if package.is_filtered() { " (filtered)" } else { "" };
            lines.push(format!("  {}{filter}", package.source));
            let place = installed_place(&package.source, folder, of_user, &environment);
            lines.extend(place.map(|place| format!("    {}", place.display())));
        }
        if !lines.is_empty() {
            parts.push(format!("{title} packages:\n{}", lines.join("\n")));
        }
    }
    print(if parts.is_empty() { "No packages installed.".to_owned() } else { parts.join("\n\n") }.as_str())
}

/// `pi auth`: logging in and out; what prints credentials is not here.
fn auth(words: &[&str]) -> ExitCode {
    let provider = words.get(1).filter(|word| !word.starts_with('-')).map(|word| (*word).to_owned());
    let has_key = words.contains(&"--api-key");
    match words.first().copied() {
        Some("login") => login::run(&login::LoginArguments::of_pi(provider, has_key)),
        Some("logout") => login::run_logout(&login::LogoutArguments::of_pi(provider)),
        Some("check") => refuse("auth check: use pi-rpc models --auth", 1),
        Some(name) => {
            refuse(&format!("auth {name}: no credential is printed here; expected login or logout"), 1)
        }
        None => print(AUTH_USAGE),
    }
}

/// Writes the session in `file` as a page to `output`, else to a file that is called after it.
pub fn export(file: &str, output: Option<&String>, dialect: Dialect) -> ExitCode {
    let path = absolute(file).unwrap_or_else(|_| file.into());
    if !path.is_file() {
        return refuse(&format!("File not found: {}", path.display()), 1);
    }
    let folder = path.parent().map(Path::to_owned).unwrap_or_default();
    let tree = match catalog::read_in(&[folder], &path) {
        Ok(tree) => tree,
        Err(error) => return refuse(&format!("--export: {error}"), 1),
    };
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let output = output.map_or_else(
        || PathBuf::from(format!("{}{stem}.html", dialect.record().export.prefix)),
        PathBuf::from,
    );
    let page = PageOptions { written_by: format!("pi-rpc {}", super::VERSION), instructions: None };
    match write_page(&output, &pi_rpc_page::html(&tree, &page), false) {
        Ok(()) => print(&format!("Exported to: {}", output.display())),
        Err(error) => refuse(&error, 1),
    }
}
