//! Parsers of option values. A refusal names the option, the value and what was expected.

use super::{LogFormat, Mode, Refusal};
use crate::cli::{USAGE, USAGE_OF_PI, tool_selection::check_tool_list, unknown_dialect};
use lexopt::ValueExt as _;
use pi_rpc_files::secrets::check_passed;
use pi_rpc_host::UnattendedAction;
use pi_rpc_protocol::{Dialect, DialectVersion};
use pi_rpc_server::Hazard;
use pi_rpc_session_store::SyncPolicy;
use std::{ffi::OsString, time::Duration};

pub fn mode(name: &str) -> Result<Mode, Refusal> {
    match name {
        "rpc" => Ok(Mode::Rpc),
        "json" => Ok(Mode::Json),
        "text" => Ok(Mode::Text),
        _ => Err(Refusal(format!("--mode {name}: expected rpc, json or text"), USAGE_OF_PI)),
    }
}

pub fn log_format(name: &str) -> Result<LogFormat, Refusal> {
    match name {
        "text" => Ok(LogFormat::Text),
        "json" => Ok(LogFormat::Json),
        _ => Err(Refusal(format!("--log-format {name}: expected text or json"), USAGE)),
    }
}

/// Reads a path or an id. Refuses an empty one, which would be the beginning of any id.
pub fn path_or_id(option: &str, parser: &mut lexopt::Parser) -> Result<String, Refusal> {
    let named = text(parser)?;
    match named.trim() {
        "" => Err(Refusal(format!("{option}: a path or an id is missing"), USAGE)),
        _ => Ok(named),
    }
}

/// Checks the id of a session, which becomes a part of its file's name.
pub fn session_id(text: &str) -> Result<String, Refusal> {
    let is_plain = |found: char| found.is_ascii_alphanumeric() || "-_.".contains(found);
    let ends = |end: Option<char>| end.is_some_and(|end| end.is_ascii_alphanumeric());
    match text.chars().all(is_plain) && ends(text.chars().next()) && ends(text.chars().next_back()) {
        true => Ok(text.to_owned()),
        false => {
            let text = "expected letters, digits, `-`, `_` and `.`, with a letter or a digit at both ends";
            Err(Refusal(format!("--session-id: {text}"), 1))
        }
    }
}

/// Checks the name of a session.
pub fn session_name(text: &str) -> Result<String, Refusal> {
    match text.trim() {
        "" => Err(Refusal("--name: expected a name that is not empty".to_owned(), 1)),
        _ => Ok(text.to_owned()),
    }
}

/// Reads a path. Refuses an empty one, which would be the working directory.
pub fn path(option: &str, parser: &mut lexopt::Parser) -> Result<String, Refusal> {
    match text(parser)? {
        path if path.is_empty() => Err(Refusal(format!("{option}: a path is missing"), USAGE)),
        path => Ok(path),
    }
}

/// Reads the names and patterns of `--pass-keys`.
pub fn passed_keys(text: &str) -> Result<Vec<String>, Refusal> {
    let entries = list(text);
    if entries.is_empty() {
        return Err(Refusal("--pass-keys: expected names of variables, got none".to_owned(), USAGE));
    }
    for entry in &entries {
        check_passed(entry).map_err(|reason| Refusal(format!("--pass-keys: {reason}"), USAGE))?;
    }
    Ok(entries)
}

/// Reads an optional value: joined with `=`, or the next word unless that is an option or a file.
pub fn optional_value(parser: &mut lexopt::Parser) -> Option<String> {
    let joined = parser.optional_value();
    let next = |parser: &mut lexopt::Parser| {
        parser.try_raw_args()?.next_if(|word| !word.to_string_lossy().starts_with(['-', '@']))
    };
    let named = joined.or_else(|| next(parser))?.into_string().ok()?;
    (!named.trim().is_empty()).then_some(named)
}

/// Replaces pi's short options of several letters, which lexopt would split, also those with a value behind `=`.
pub fn expand_short(argument: &OsString) -> OsString {
    let Some(text) = argument.to_str() else { return argument.clone() };
    let (short, value) = text.split_once('=').map_or((text, None), |(short, value)| (short, Some(value)));
    let long = match short {
        "-ne" => "--no-extensions",
        "-ns" => "--no-skills",
        "-np" => "--no-prompt-templates",
        "-nt" => "--no-tools",
        "-nbt" => "--no-builtin-tools",
        "-na" => "--no-approve",
        "-nc" => "--no-context-files",
        "-t" => "--tools",
        "-xt" => "--exclude-tools",
        _ => return argument.clone(),
    };
    match value {
        Some(value) => format!("{long}={value}").into(),
        None => long.into(),
    }
}

pub fn text(parser: &mut lexopt::Parser) -> Result<String, Refusal> {
    let usage = |error: lexopt::Error| Refusal(error.to_string(), USAGE_OF_PI);
    parser.value().and_then(|value| value.string()).map_err(usage)
}

pub fn dialect(name: &str) -> Result<Dialect, Refusal> {
    Dialect::parse(name).ok_or_else(|| Refusal(unknown_dialect(name), USAGE))
}

pub fn bytes(option: &str, parser: &mut lexopt::Parser) -> Result<usize, Refusal> {
    above_zero(option, "a number of bytes above 0", parser)
}

pub fn above_zero(option: &str, expected: &str, parser: &mut lexopt::Parser) -> Result<usize, Refusal> {
    let text = text(parser)?;
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| Refusal(format!("{option} {text}: expected {expected}"), USAGE))
}

/// Whole seconds of a lease.
pub fn lease_seconds(option: &str, text: &str) -> Result<u64, Refusal> {
    let seconds = text.parse().ok().filter(|seconds| (1..=3600).contains(seconds));
    seconds.ok_or_else(|| Refusal(format!("{option} {text}: expected whole seconds from 1 to 3600"), USAGE))
}

/// Parses seconds, with fractions, to milliseconds. Rounds up, since 0 means no limit.
pub fn seconds(option: &str, text: &str) -> Result<u64, Refusal> {
    let time = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let millis = time.and_then(|time| u64::try_from(time.as_micros().div_ceil(1000)).ok());
    millis.ok_or_else(|| Refusal(format!("{option} {text}: expected a number of seconds, 0 or above"), USAGE))
}

pub fn unattended(name: &str) -> Result<UnattendedAction, Refusal> {
    let found = UnattendedAction::ALL.into_iter().find(|(known, _)| *known == name);
    let refused = || Refusal(format!("--unattended {name}: expected wait, park, deny or stop"), USAGE);
    found.map(|(_, action)| action).ok_or_else(refused)
}

pub fn sync(name: &str) -> Result<SyncPolicy, Refusal> {
    let refused = || Refusal(format!("--sync {name}: expected none, run or entry"), USAGE);
    SyncPolicy::parse(name).ok_or_else(refused)
}

pub fn hazards(list: &str) -> Result<Vec<Hazard>, Refusal> {
    Hazard::list(list).map_err(|error| Refusal(format!("--hazard: {error}"), USAGE))
}

pub fn seed(text: &str) -> Result<u64, Refusal> {
    let refused = || Refusal(format!("--seed {text}: expected a whole number, 0 or above"), USAGE);
    text.parse().map_err(|_| refused())
}

/// Parses the patterns of `--confirm-tools`. Refuses an empty list, which would guard nothing.
pub fn confirm_patterns(text: &str) -> Result<Vec<String>, Refusal> {
    match list(text) {
        names if names.is_empty() => {
            let expected = "expected names of tools, or patterns of them, separated by commas";
            Err(Refusal(format!("--confirm-tools: got \"{text}\", {expected} (*: all)"), USAGE))
        }
        names => Ok(names),
    }
}

/// Parses `--tools`: names and patterns, or only exact names behind `+` or `-`. An empty list is no tool.
pub fn tool_list(text: &str) -> Result<Vec<String>, Refusal> {
    let entries = list(text);
    // The status is pi's.
    check_tool_list(&entries).map_err(|error| Refusal(format!("--tools: {error}"), 1))?;
    Ok(entries)
}

/// Parses `--exclude-tools`. Refuses an empty list, which would take nothing away.
pub fn excluded_tools(text: &str) -> Result<Vec<String>, Refusal> {
    let entries = list(text);
    let expected = "expected names of tools, or patterns of them, separated by commas";
    match entries.iter().find(|entry| entry.starts_with(['+', '-'])) {
        Some(entry) => Err(Refusal(format!("--exclude-tools: got \"{entry}\", {expected}"), USAGE)),
        None if entries.is_empty() => {
            Err(Refusal(format!("--exclude-tools: got \"{text}\", {expected} (*: all)"), USAGE))
        }
        None => Ok(entries),
    }
}

/// Parses `--models`. Refuses an empty list, which would leave all models.
pub fn model_patterns(text: &str) -> Result<Vec<String>, Refusal> {
    match list(text) {
        patterns if patterns.is_empty() => {
            let expected = "expected patterns of models, separated by commas";
            Err(Refusal(format!("--models: got \"{text}\", {expected} (*: all)"), USAGE))
        }
        patterns => Ok(patterns),
    }
}

/// Splits a list at its commas.
pub fn list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// Who answers in place of this program.
pub enum Backend {
    /// An agent of the Agent Client Protocol.
    Agent,
    /// A server of this protocol, which speaks this.
    Server(DialectVersion),
}

/// The backend of `--backend`, whose command line is `words`, behind `--`.
pub fn backend(kind: &str, words: &[OsString]) -> Result<Backend, Refusal> {
    let found = match kind.split_once(':') {
        None if kind == "acp" => Some(Backend::Agent),
        Some(("rpc", dialect)) => DialectVersion::parse(dialect).map(Backend::Server),
        _ => None,
    };
    let wrong = |expected: &str| Refusal(format!("--backend {kind}: expected {expected}"), USAGE);
    match found {
        None => Err(wrong("acp, or rpc:DIALECT with what the server speaks, such as rpc:pi-1")),
        Some(_) if words.is_empty() => Err(wrong("-- and the command line of an agent behind the options")),
        Some(backend) => Ok(backend),
    }
}
