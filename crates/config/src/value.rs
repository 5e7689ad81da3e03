//! Resolves configured values of keys and headers: commands, names of variables, or plain text.

use super::{Environment, command::KeyCommands};

/// Resolves `text`: the output of the command behind a leading `!`; else the environment variable of exactly that
/// name; else `text`. `None`: the command failed. May run a command and block.
///
/// Source: pi's `models.md`, value resolution.
pub fn resolve(text: &str, environment: &Environment, commands: &KeyCommands) -> Option<String> {
    match text.strip_prefix('!') {
        Some(command) => commands.output(command),
        None => Some(environment.get(text).unwrap_or(text).to_owned()),
    }
}

/// Replaces the variables `$NAME` and `${NAME}` in `text`; `$$` and `$!` stand for `$` and `!`.
///
/// Source: pi 1.6.0's `models.md`.
///
/// # Errors
///
/// The name of a variable that is not set.
pub fn interpolate(text: &str, environment: &Environment) -> Result<String, String> {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_name = |name: &str| !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(is_letter);
    let mut value = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        value += before;
        let (name, behind) = match after.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
            Some(braced) => braced,
            None => after.split_at(after.find(|c| !is_letter(c)).unwrap_or(after.len())),
        };
        if name.is_empty() || !is_name(name) {
            // A doubled sign, or one before no possible name.
            let mut letters = after.chars();
            value.push(letters.next().filter(|c| "$!".contains(*c)).unwrap_or('$'));
            rest = if after.starts_with(['$', '!']) { letters.as_str() } else { after };
            continue;
        }
        value += environment.get(name).ok_or(name)?;
        rest = behind;
    }
    Ok(value + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_variables_are_interpolated() {
        let environment = [("KEY", "k"), ("A_1", "a")].into_iter().collect::<Environment>();
        for (text, value) in [
            ("$KEY", "k"),
            ("Bearer ${KEY}, $A_1!", "Bearer k, a!"),
            ("${A_1}$KEY", "ak"),
            ("$$KEY $!x", "$KEY !x"),
            ("5$ and $", "5$ and $"),
            ("${KEY", "${KEY"),
            ("plain", "plain"),
        ] {
            assert_eq!(interpolate(text, &environment), Ok(value.to_owned()), "{text}");
        }
        assert_eq!(interpolate("a ${NONE}", &environment), Err("NONE".to_owned()));
        assert_eq!(interpolate("$NONE", &environment), Err("NONE".to_owned()));
    }
}
