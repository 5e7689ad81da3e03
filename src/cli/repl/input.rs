//! What a person types: a command with its members, a frame as JSON, or something to do here.

use super::catalogue::{Catalogue, CommandEntry, MemberEntry, MemberValues};
use serde_json::{Deserializer, Map, Value};

/// A line that was typed.
#[derive(Clone, Debug, PartialEq)]
pub enum TypedLine {
    /// Nothing.
    Empty,
    /// A command for the server, without an id, and whether it is sent even if it is wrong or refused.
    Command { frame: Map<String, Value>, is_forced: bool },
    /// A line for the server as it is, and the same.
    Raw { line: String, is_forced: bool },
    /// Something to do here.
    Local(LocalCommand),
}

/// Something to do without sending a frame as typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LocalCommand {
    /// List the commands, or describe one of them.
    Help(Option<String>),
    /// Show what is known of the session.
    State,
    /// Show every frame whole, or shortened and without updates.
    ShowAll(bool),
    /// Answer the oldest dialog.
    Answer(DialogAnswer),
    /// Close the server's input.
    End,
}

/// The answer to a dialog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DialogAnswer {
    /// An option or a text.
    Value(String),
    /// Yes or no.
    Confirmed(bool),
    /// None.
    Cancelled,
}

/// What is done here, each with its description.
pub const LOCAL_COMMANDS: [(&str, &str); 9] = [
    ("?", "list the commands; with the name of one, its members"),
    (".state", "show what the frames say of the session"),
    (".all", "show every frame whole, updates too"),
    (".short", "shorten frames and count updates"),
    (".answer", "answer the oldest dialog by this text"),
    (".yes", "confirm the oldest dialog"),
    (".no", "deny the oldest dialog"),
    (".cancel", "cancel the oldest dialog"),
    (".end", "close the server's input, as Ctrl-D does"),
];

/// Reads a line.
///
/// # Errors
///
/// What is wrong with it, as a text.
pub fn parse(line: &str, catalogue: &Catalogue) -> Result<TypedLine, String> {
    let line = line.trim();
    if line.is_empty() {
        return Ok(TypedLine::Empty);
    }
    if let Some(local) = local(line) {
        return local.map(TypedLine::Local);
    }
    let (line, is_forced) = match line.strip_prefix('!') {
        Some(rest) => (rest.trim_start(), true),
        None => (line, false),
    };
    if line.starts_with('{') || is_forced && catalogue.command(first_word(line).0).is_none() {
        return Ok(TypedLine::Raw { line: line.to_owned(), is_forced });
    }
    let (name, rest) = first_word(line);
    let Some(command) = catalogue.command(name) else {
        let near = catalogue.nearest(name).map(|near| format!("; did you mean `{near}`?"));
        return Err(format!(
            "there is no command `{name}`{}",
            near.unwrap_or_else(|| "; ? lists them".to_owned())
        ));
    };
    let mut frame = Map::from_iter([("type".to_owned(), Value::from(name))]);
    frame.extend(members(command, rest)?);
    Ok(TypedLine::Command { frame, is_forced })
}

fn local(line: &str) -> Option<Result<LocalCommand, String>> {
    let (word, rest) = first_word(line);
    let rest = rest.to_owned();
    Some(Ok(match word {
        "?" => LocalCommand::Help((!rest.is_empty()).then_some(rest)),
        ".state" => LocalCommand::State,
        ".all" => LocalCommand::ShowAll(true),
        ".short" => LocalCommand::ShowAll(false),
        ".answer" => LocalCommand::Answer(DialogAnswer::Value(rest)),
        ".yes" => LocalCommand::Answer(DialogAnswer::Confirmed(true)),
        ".no" => LocalCommand::Answer(DialogAnswer::Confirmed(false)),
        ".cancel" => LocalCommand::Answer(DialogAnswer::Cancelled),
        ".end" => LocalCommand::End,
        _ if word.starts_with('.') => {
            return Some(Err(format!("there is no `{word}`; ? lists what there is")));
        }
        _ => return None,
    }))
}

/// The first word, and what follows it.
pub fn first_word(line: &str) -> (&str, &str) {
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    (word, rest.trim_start())
}

/// The members in `text`: `name=value` each, or else the text as the command's main member.
fn members(command: &CommandEntry, text: &str) -> Result<Map<String, Value>, String> {
    let mut members = Map::new();
    let mut rest = text;
    if !rest.is_empty() && named_member(command, rest).is_none() {
        let main = command.main_text().ok_or_else(|| expected_members(command, rest))?;
        return Ok(Map::from_iter([(main.name.clone(), text.into())]));
    }
    while !rest.is_empty() {
        let (member, after) = named_member(command, rest).ok_or_else(|| expected_members(command, rest))?;
        let (value, after) = value(member, after)?;
        members.insert(member.name.clone(), value);
        rest = after.trim_start();
    }
    Ok(members)
}

fn expected_members(command: &CommandEntry, got: &str) -> String {
    match command.members.is_empty() {
        true => format!("`{}` has no members, got {got:?}", command.name),
        false => format!("expected NAME=VALUE of {}, got {got:?}", command.usage()),
    }
}

/// The member that the text begins with, as `name=`, and what follows it.
pub fn named_member<'a, 't>(command: &'a CommandEntry, text: &'t str) -> Option<(&'a MemberEntry, &'t str)> {
    let (name, rest) = text.split_once('=')?;
    Some((command.member(name)?, rest))
}

/// The value that the text begins with, and what follows it.
fn value<'t>(member: &MemberEntry, text: &'t str) -> Result<(Value, &'t str), String> {
    let wrong = |got: &str, wanted: &str| format!("`{}`: expected {wanted}, got {got:?}", member.name);
    if text.starts_with(['"', '{', '[']) {
        let mut values = Deserializer::from_str(text).into_iter::<Value>();
        let read = values.next().and_then(Result::ok).ok_or_else(|| wrong(text, "JSON"))?;
        return Ok((read, &text[values.byte_offset()..]));
    }
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let json = |wanted: &str| serde_json::from_str(word).map_err(|_| wrong(word, wanted));
    let read = match &member.values {
        MemberValues::Text | MemberValues::Choice(_) => word.into(),
        MemberValues::Flag => json("true or false")?,
        MemberValues::Number => json("a number")?,
        MemberValues::Json => json("JSON")?,
    };
    Ok((read, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pi_rpc_protocol::Dialect;

    fn typed(line: &str) -> Result<String, String> {
        let (line, is_forced) = match parse(line, &Catalogue::of(Dialect::Pi1))? {
            TypedLine::Command { frame, is_forced } => (Value::Object(frame).to_string(), is_forced),
            TypedLine::Raw { line, is_forced } => (line, is_forced),
            other => return Ok(format!("{other:?}")),
        };
        Ok(if is_forced { format!("!{line}") } else { line })
    }

    #[test]
    fn members_follow_their_schema() {
        let rows = [
            ("abort", r#"{"type":"abort"}"#),
            ("prompt Hello, you two", r#"{"type":"prompt","message":"Hello, you two"}"#),
            (
                r#"prompt message="Hello you" streamingBehavior=steer"#,
                r#"{"type":"prompt","message":"Hello you","streamingBehavior":"steer"}"#,
            ),
            ("set_auto_retry enabled=true", r#"{"type":"set_auto_retry","enabled":true}"#),
            ("bash ls -l a=b", r#"{"type":"bash","command":"ls -l a=b"}"#),
            (r#"{"type": "odd"}"#, r#"{"type": "odd"}"#),
            ("!prompt x", r#"!{"type":"prompt","message":"x"}"#),
            ("! not json", "!not json"),
            ("", "Empty"),
        ];
        for (line, frame) in rows {
            assert_eq!(typed(line), Ok(frame.to_owned()), "{line}");
        }
    }

    #[test]
    fn wrong_line_names_what_was_expected() {
        let rows = [
            ("promt Hello", "there is no command `promt`; did you mean `prompt`?"),
            ("xyzzy", "there is no command `xyzzy`; ? lists them"),
            (".stat", "there is no `.stat`; ? lists what there is"),
            ("abort now", "`abort` has no members, got \"now\""),
            ("set_auto_retry enabled=maybe", "`enabled`: expected true or false, got \"maybe\""),
            ("set_auto_retry maybe", "expected NAME=VALUE of enabled, got \"maybe\""),
        ];
        for (line, text) in rows {
            assert_eq!(typed(line), Err(text.to_owned()), "{line}");
        }
    }
}
