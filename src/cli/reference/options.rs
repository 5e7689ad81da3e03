//! The command line, from clap; the options of `serve`, which are pi's, from their help text.

use super::{code, codes, table};
use crate::cli::{
    Cli,
    options::{help_groups, help_options},
};
use clap::{Arg, Command, CommandFactory as _};

/// Every subcommand with its options.
pub(super) fn commands() -> String {
    let mut cli = Cli::command();
    cli.build();
    let shown =
        cli.get_subcommands_mut().filter(|command| !command.is_hide_set() && command.get_name() != "help");
    shown.map(section).collect::<Vec<_>>().join("\n")
}

fn section(command: &mut Command) -> String {
    let name = command.get_name().to_owned();
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let usage = command.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    let mut text = format!("## pi-rpc {name}\n\n{about}.\n\n```text\n{usage}\n```\n");
    if name == "serve" {
        text += "\nThe options are [pi's own](#options-of-serve).\n";
        return text;
    }
    let arguments = command.get_arguments().filter(|it| !it.is_hide_set() && it.get_id() != "help");
    text += &format!("\n{}", table(["Option", "Meaning"], arguments.map(|it| [written(it), meaning(it)])));
    if let Some(after) = command.get_after_help() {
        text += &format!("\n```text\n{after}\n```\n");
    }
    text
}

/// An argument as it is written on the command line.
fn written(argument: &Arg) -> String {
    let values = argument.get_value_names().unwrap_or_default().iter();
    let values: Vec<String> = values.map(|name| format!("<{name}>")).collect();
    let takes_value = argument.get_action().takes_values();
    let short = argument.get_short().map(|short| format!("-{short}"));
    let long = argument.get_long().map(|long| format!("--{long}"));
    let mut words: Vec<String> = vec![short.into_iter().chain(long).collect::<Vec<_>>().join(", ")];
    words.extend(values.into_iter().filter(|_| takes_value));
    code(words.join(" ").trim())
}

/// Its help, with the values that it takes, and what holds without it.
fn meaning(argument: &Arg) -> String {
    let mut text =
        argument.get_long_help().or(argument.get_help()).map(ToString::to_string).unwrap_or_default();
    let values = argument.get_possible_values();
    let takes_value = argument.get_action().takes_values();
    if takes_value && !values.is_empty() {
        let shown = values.iter().map(|value| match value.get_help() {
            Some(help) => format!("{} ({help})", code(value.get_name())),
            None => code(value.get_name()),
        });
        text += &format!(". Values: {}", shown.collect::<Vec<_>>().join(", "));
    }
    let defaults = argument.get_default_values().iter().filter_map(|value| value.to_str());
    let defaults = codes(defaults);
    if takes_value && !defaults.is_empty() {
        text += &format!(". Default: {defaults}");
    }
    if let Some(variable) = argument.get_env().and_then(|name| name.to_str()) {
        text += &format!(". Also from the environment: {}", code(variable));
    }
    text
}

/// The options of `serve`, a table for each group of its help text, and the notes and examples behind them.
pub(super) fn serve() -> String {
    help_groups().map(group).collect::<Vec<_>>().join("\n")
}

fn group((head, rest): (&str, &str)) -> String {
    match head.strip_suffix(':') {
        Some(title) if rest.trim_start().starts_with('-') => {
            let rows = help_options(rest).into_iter();
            let rows = rows.map(|it| [code(it.written), quoted(&it.meaning)]);
            format!("### {title}\n\n{}", table(["Option", "Meaning"], rows))
        }
        Some(title) => format!("### {title}\n\n```text\n{}\n```\n", rest.replace("\n  ", "\n").trim_start()),
        None => {
            let text = format!("{head} {rest}");
            format!("{}\n", quoted(&text.split_whitespace().collect::<Vec<_>>().join(" ")))
        }
    }
}

/// A text with what Markdown would take for a tag, or for emphasis, as code.
fn quoted(text: &str) -> String {
    let mark = |word: &str| {
        let bare = word.trim_matches(['(', ')', ',', '.', ':', ';']);
        let is_odd = bare.contains(['<', '*']) && !bare.contains('`');
        if is_odd { word.replacen(bare, &format!("`{bare}`"), 1) } else { word.to_owned() }
    };
    text.split(' ').map(mark).collect::<Vec<_>>().join(" ")
}
