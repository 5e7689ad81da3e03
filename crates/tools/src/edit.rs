//! The `edit` tool: replaces text in a file. The dialect decides whether a call has one replacement or several; several
//! are in [`edits`](super::edits).
//!
//! As in pi, matching works on text with line feeds only and without a byte-order mark. The mark and the end of every line
//! that is not touched are restored afterwards; new lines end like the line that they are put into. A
//! text that does not occur exactly is searched in [normalized](normalize) form; the whole file is then written in that
//! form, which is pi's documented behaviour. The text must be unique in the normalized form in either case.

use std::borrow::Cow;
use std::fs::{self, OpenOptions};
use std::io;
use std::iter;
use std::ops::Range;
use std::path::Path;

use serde_json::json;
use tokio_util::sync::CancellationToken;
use unicode_normalization::UnicodeNormalization;

use super::{
    delegate::ToolDelegate,
    diff::{numbered_diff, patch},
    edits::replace_all,
    file_change::{replace_text, with_file_lock},
    path::{resolve, system_error},
    read::read_file,
    run::{ToolContext, ToolOutput, aborted_message},
};
use pi_rpc_protocol::EditToolDetails;
use pi_rpc_tool_specs::{EditArguments, EditsArguments, Replacement};

const BYTE_ORDER_MARK: &str = "\u{FEFF}";

/// The result of an edit on the text of a file; does no IO.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditResult {
    /// The text before: line feeds only, no byte-order mark; normalized if only that form had a match.
    pub before: String,
    /// The text after the edit, in the same form.
    pub after: String,
    /// The new content of the file, with its byte-order mark and line ends.
    pub file: String,
}

impl EditResult {
    /// Applies one replacement to the `text` of the file `name`, for dialects whose calls have one.
    ///
    /// # Errors
    ///
    /// The text does not occur exactly once, or nothing changes; the message is for the model.
    pub fn one(text: &str, edit: &Replacement, name: &str) -> Result<Self, String> {
        Self::of(text, |body| replace_one(body, edit, name))
    }

    /// Applies all replacements at once to the `text` of the file `name`, for dialects whose calls have several.
    ///
    /// # Errors
    ///
    /// A text does not occur exactly once, two overlap, or nothing changes; the message is for the model.
    pub fn all(text: &str, edits: &[Replacement], name: &str) -> Result<Self, String> {
        Self::of(text, |body| {
            let (after, changes) = replace_all(body, edits, name)?;
            Ok((body.to_owned(), after, changes))
        })
    }

    /// The difference with line numbers, for people.
    pub fn diff(&self) -> EditToolDetails {
        numbered_diff(&self.before, &self.after)
    }

    /// The difference as a unified patch of the file `name`.
    pub fn patch(&self, name: &str) -> String {
        patch(name, &self.before, &self.after)
    }

    /// `replaced` returns the text before and after, and what has changed.
    fn of(
        text: &str,
        replaced: impl Fn(&str) -> Result<(String, String, Vec<LineChange>), String>,
    ) -> Result<Self, String> {
        let (mark, body) = match text.strip_prefix(BYTE_ORDER_MARK) {
            Some(body) => (BYTE_ORDER_MARK, body),
            None => ("", text),
        };
        let (before, after, changes) = replaced(&with_line_feeds(body))?;
        let file = format!("{mark}{}", with_line_ends(&after, &line_ends(body), &changes));
        Ok(Self { before, after, file })
    }
}

/// A replacement, as the line feeds in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LineChange {
    /// Line feeds of the text in front of it.
    first: usize,
    /// Line feeds that it removes.
    removed: usize,
    /// Line feeds that it adds.
    added: usize,
}

impl LineChange {
    /// Describes the replacement of `place` in `text` by `new`.
    pub(super) fn of(text: &str, place: Range<usize>, new: &str) -> Self {
        let [first, removed, added] =
            [&text[..place.start], &text[place], new].map(|part| part.matches('\n').count());
        Self { first, removed, added }
    }
}

/// The end of every line of `text` that has one: a line feed, a carriage return, or both.
fn line_ends(text: &str) -> Vec<&str> {
    let ends = text.match_indices(['\n', '\r']).filter_map(|(at, end)| match end {
        "\n" if text[..at].ends_with('\r') => None,
        "\r" if text[at..].starts_with("\r\n") => Some("\r\n"),
        end => Some(end),
    });
    ends.collect()
}

/// Restores the ends of lines in a text that `changes`, which are sorted, have led to; `ends` are those before.
fn with_line_ends(text: &str, ends: &[&str], changes: &[LineChange]) -> String {
    let mut kept = Vec::new();
    let mut at = 0;
    for change in changes {
        kept.extend_from_slice(&ends[at..change.first]);
        let own = ends.get(change.first).or(ends.last()).copied().unwrap_or("\n");
        kept.extend(iter::repeat_n(own, change.added));
        at = change.first + change.removed;
    }
    kept.extend_from_slice(&ends[at..]);
    let mut ended = String::with_capacity(text.len() + kept.len());
    for (line, end) in text.split('\n').zip(kept.into_iter().map(Some).chain([None])) {
        ended += line;
        let end = end.unwrap_or_default();
        if end == "\n" && line.is_empty() && ended.ends_with('\r') {
            // Two ends of lines would become one.
            ended.push('\n');
        }
        ended += end;
    }
    ended
}

/// Runs `edit` with one replacement.
pub(super) async fn edit_one(arguments: EditArguments, context: ToolContext) -> Result<ToolOutput, String> {
    let path = resolve(&arguments.path, &context.cwd);
    let EditArguments { path: name, old_text, new_text } = arguments;
    let edit = Replacement { old_text, new_text };
    let delegate = context.delegate;
    let change = move |path: &Path, cancel: &CancellationToken| {
        let delegate = delegate.as_deref();
        let text = read_editable(path, |_| format!("File not found: {name}"), &name, delegate)?;
        let edited = EditResult::one(&text, &edit, &name)?;
        write_result(path, &edited, delegate, cancel)?;
        let details = Some(json!(edited.diff()));
        Ok(ToolOutput { details, ..ToolOutput::text(format!("Successfully replaced text in {name}.")) })
    };
    with_file_lock(path, context.cancel, change).await
}

/// Runs `edit` with several replacements.
pub(super) async fn edit_all(arguments: EditsArguments, context: ToolContext) -> Result<ToolOutput, String> {
    let path = resolve(&arguments.path, &context.cwd);
    let delegate = context.delegate;
    let change = move |path: &Path, cancel: &CancellationToken| {
        let EditsArguments { path: name, edits } = &arguments;
        let missing = |error: &io::Error| {
            let error = system_error(error, "access", None);
            let code = error.split_once(':').map_or(error.as_str(), |(code, _)| code);
            format!("Could not edit file: {name}. Error code: {code}.")
        };
        let delegate = delegate.as_deref();
        let text = read_editable(path, missing, name, delegate)?;
        let edited = EditResult::all(&text, edits, name)?;
        write_result(path, &edited, delegate, cancel)?;
        let details = EditToolDetails { patch: Some(edited.patch(name)), ..edited.diff() };
        let text = format!("Successfully replaced {} block(s) in {name}.", edits.len());
        Ok(ToolOutput { details: Some(json!(details)), ..ToolOutput::text(text) })
    };
    with_file_lock(path, context.cancel, change).await
}

/// Reads a file that is UTF-8 text and writable.
fn read_editable(
    path: &Path,
    missing: impl Fn(&io::Error) -> String,
    name: &str,
    delegate: Option<&dyn ToolDelegate>,
) -> Result<String, String> {
    // A file that the delegate does not have may still be on the disk.
    if let Some(Ok(text)) = delegate.and_then(|delegate| delegate.read_file(path)) {
        return Ok(text);
    }
    if fs::metadata(path).map_err(|error| missing(&error))?.is_file() {
        OpenOptions::new().read(true).write(true).open(path).map_err(|error| missing(&error))?;
    }
    String::from_utf8(read_file(path)?).map_err(|_| {
        format!("{name} is not UTF-8 text; editing it as text would damage it. Use bash to change it.")
    })
}

/// Writes the file, unless the call was cancelled.
fn write_result(
    path: &Path,
    edited: &EditResult,
    delegate: Option<&dyn ToolDelegate>,
    cancel: &CancellationToken,
) -> Result<(), String> {
    if cancel.is_cancelled() {
        return Err(aborted_message());
    }
    replace_text(path, &edited.file, delegate)
}

/// The text before and after a replacement, both normalized if only that form has a match, and the change.
fn replace_one(
    body: &str,
    edit: &Replacement,
    name: &str,
) -> Result<(String, String, Vec<LineChange>), String> {
    let (old, new) = (with_line_feeds(&edit.old_text), with_line_feeds(&edit.new_text));
    let (plain_body, plain_old) = (normalize(body), normalize(&old));
    let (before, at, length) = if let Some(at) = body.find(&*old) {
        (Cow::Borrowed(body), at, old.len())
    } else if let Some(at) = plain_body.find(&plain_old) {
        (Cow::Owned(plain_body.clone()), at, plain_old.len())
    } else {
        return Err(format!(
            "Could not find the exact text in {name}. The old text must match exactly including all whitespace and \
             newlines."
        ));
    };
    let count = occurrences(&plain_body, &plain_old);
    if count > 1 {
        return Err(format!(
            "Found {count} occurrences of the text in {name}. The text must be unique. Please provide more context to \
             make it unique."
        ));
    }
    let after = format!("{}{new}{}", &before[..at], &before[at + length..]);
    if *before == after {
        return Err(format!(
            "No changes made to {name}. The replacement produced identical content. This might indicate an issue with \
             special characters or the text not existing as expected."
        ));
    }
    let change = LineChange::of(&before, at..at + length, &new);
    Ok((before.into_owned(), after, vec![change]))
}

/// Counts `wanted` without overlaps. The empty text occurs between any two UTF-16 code units, as in pi.
pub(super) fn occurrences(text: &str, wanted: &str) -> usize {
    if wanted.is_empty() {
        return text.encode_utf16().count().saturating_sub(1);
    }
    text.matches(wanted).count()
}

/// Replaces all line ends by line feeds.
pub(super) fn with_line_feeds(text: &str) -> Cow<'_, str> {
    if !text.contains('\r') {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"))
}

/// Removes typographic differences: NFKC, no blanks at the ends of lines, ASCII quotes, dashes and blanks.
pub(super) fn normalize(text: &str) -> String {
    let composed: String = text.nfkc().collect();
    let lines: Vec<&str> = composed.split('\n').map(|line| line.trim_end_matches(is_blank)).collect();
    lines.join("\n").chars().map(ascii_of).collect()
}

/// Whether JavaScript's `trimEnd` removes the character.
fn is_blank(letter: char) -> bool {
    letter == '\u{FEFF}' || (letter.is_whitespace() && letter != '\u{85}')
}

fn ascii_of(letter: char) -> char {
    match letter {
        '\u{2018}'..='\u{201B}' => '\'',
        '\u{201C}'..='\u{201F}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{A0}' | '\u{2002}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}' => ' ',
        other => other,
    }
}
