//! Keys and header values as they are configured: a command, the name of a variable, or the text itself.

use super::{Environment, command::Commands};

/// The value that `text` stands for: what the command behind a leading `!` prints; else the environment variable of
/// exactly that name; else `text`. `None`: the command gave nothing. May run a command and wait for it.
///
/// Source: pi's `models.md`, value resolution.
pub fn resolve(text: &str, environment: &Environment, commands: &Commands) -> Option<String> {
    match text.strip_prefix('!') {
        Some(command) => commands.output(command),
        None => Some(environment.get(text).unwrap_or(text).to_owned()),
    }
}
