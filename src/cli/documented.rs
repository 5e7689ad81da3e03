//! The command line as a shell and the manual should know it: with pi's options, which clap does not parse, and the values of
//! options.

use super::{
    AFTER_HELP, Cli, VERSION,
    options::{HELP, HOST_OPTIONS, HelpOption, help_groups, help_options},
};
use clap::{Arg, ArgAction, Command, CommandFactory as _, ValueHint, builder::PossibleValuesParser};
use pi_rpc_protocol::{Dialect, ThinkingLevel};

/// Name of the program.
pub const PROGRAM: &str = "pi-rpc";

/// Subcommands whose options are pi's.
const WITH_HOST_OPTIONS: [&str; 2] = ["serve", "host"];

/// The whole command line, for reading: it parses nothing.
pub fn documented_command() -> Command {
    let cli = Cli::command();
    let shown = cli.get_subcommands().filter(|command| !command.is_hide_set());
    without_help(Command::new(PROGRAM))
        .version(VERSION)
        .about(cli.get_about().cloned().unwrap_or_default())
        .after_help(AFTER_HELP)
        .args(host_arguments().filter(opens_host_command_line))
        .arg(Arg::new("help").short('h').long("help").help("Print help").action(ArgAction::SetTrue))
        .subcommands(shown.map(documented_subcommand))
}

/// The same, with all of pi's options at its beginning, which it takes: for shells.
pub fn completed_command() -> Command {
    let is_further = |argument: &Arg| {
        !opens_host_command_line(argument) && argument.get_long().is_some_and(|long| long != "help")
    };
    documented_command().args(host_arguments().filter(is_further))
}

fn documented_subcommand(command: &Command) -> Command {
    match WITH_HOST_OPTIONS.into_iter().find(|name| *name == command.get_name()) {
        Some(name) => without_help(Command::new(name))
            .about(command.get_about().cloned().unwrap_or_default())
            .after_help(notes())
            .args(host_arguments()),
        None => command.clone().mut_args(with_values),
    }
}

/// pi's options have a help and a version of their own.
fn without_help(command: Command) -> Command {
    command.disable_help_flag(true).disable_version_flag(true).disable_help_subcommand(true)
}

fn opens_host_command_line(argument: &Arg) -> bool {
    argument.get_long().is_some_and(|long| HOST_OPTIONS.contains(&&*format!("--{long}")))
}

/// pi's options, from their help text.
fn host_arguments() -> impl Iterator<Item = Arg> {
    help_groups().flat_map(|(title, text)| {
        let title = title.trim_end_matches(':');
        help_options(text).into_iter().filter_map(move |option| host_argument(title, &option))
    })
}

/// Notes and examples of the help text: the groups that hold no options.
fn notes() -> String {
    let groups = HELP.split("\n\n").filter(|group| group.lines().all(|line| !line.starts_with("  -")));
    groups.collect::<Vec<_>>().join("\n\n")
}

fn host_argument(group: &'static str, option: &HelpOption<'static>) -> Option<Arg> {
    let words = || option.written.split([',', ' ']).filter(|word| !word.is_empty());
    let long = words().find_map(|word| word.strip_prefix("--"))?;
    let (shorts, values): (Vec<_>, Vec<_>) =
        words().filter(|word| !word.starts_with("--")).partition(|word| word.starts_with('-'));
    let mut argument = Arg::new(long).long(long).help_heading(group).action(ArgAction::SetTrue);
    let mut meaning = option.meaning.clone();
    for short in shorts.iter().map(|short| short.trim_start_matches('-')) {
        match short.chars().next().filter(|_| short.len() == 1) {
            Some(letter) => argument = argument.short(letter),
            // Neither clap nor shells have a name for these.
            None => meaning = format!("{meaning} (also -{short})"),
        }
    }
    argument = argument.help(meaning);
    // `<A,B>` has come apart at its comma.
    if let (Some(_), Some((_, value))) = (values.first(), option.written.split_once(" <")) {
        argument = argument.action(ArgAction::Set).value_name(value.trim_end_matches('>'));
    }
    Some(with_values(argument))
}

/// The argument with the values that it takes, as far as they are known, or with the kind of file that it names.
fn with_values(argument: Arg) -> Arg {
    if !argument.get_action().takes_values() {
        return argument;
    }
    let values = match argument.get_long().unwrap_or_default() {
        "dialect" => Dialect::ALL.map(Dialect::as_str).to_vec(),
        "thinking" => ThinkingLevel::ALL.map(ThinkingLevel::as_str).to_vec(),
        _ => Vec::new(),
    };
    if !values.is_empty() {
        return argument.value_parser(PossibleValuesParser::new(values));
    }
    let name = argument.get_value_names().and_then(|names| names.first()).map_or("", |name| name.as_str());
    let hint = name.split('|').find_map(|name| match name {
        "FILE" | "TRACE" => Some(ValueHint::FilePath),
        "DIR" => Some(ValueHint::DirPath),
        "PATH" => Some(ValueHint::AnyPath),
        "PROGRAM" => Some(ValueHint::CommandName),
        _ => None,
    });
    hint.map_or_else(|| argument.clone(), |hint| argument.clone().value_hint(hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documented_command_is_consistent() {
        documented_command().debug_assert();
    }

    #[test]
    fn host_options_keep_names_and_values() {
        let arguments: Vec<Arg> = host_arguments().collect();
        let argument = |long: &str| arguments.iter().find(|it| it.get_long() == Some(long)).unwrap();
        let value = |long| argument(long).get_value_names().map(|names| names[0].to_string());
        assert_eq!((argument("tools").get_short(), value("tools").as_deref()), (Some('t'), Some("A,B")));
        assert_eq!((argument("print").get_short(), value("print")), (Some('p'), None));
        assert!(argument("no-tools").get_help().unwrap().to_string().ends_with("(also -nt)"));
    }
}
