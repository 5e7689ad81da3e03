//! What a script puts out, as the model gets it. Source: observed.

use crate::content::text;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use pi_rpc_codemode::OutputItem;
use pi_rpc_protocol::{ImageContent, JsonObject, UserContent};
use serde_json::{Number, Value, json};
use std::{io::Write as _, time::Duration};

/// Tokens of output without `max_output_tokens`, and the characters of one.
const MAX_TOKENS: u64 = 10_000;
const TOKEN: usize = 4;

/// Characters of arguments and errors in the details.
const MAX_ARGUMENTS: usize = 200;
const MAX_ERROR: usize = 500;

/// A call of a tool in the details of a script's result.
pub(crate) struct ScriptCall {
    /// Its id on the wire, once that is known.
    pub id: String,
    pub name: String,
    arguments: String,
    pub status: ScriptCallStatus,
    pub took: Option<Duration>,
    error: Option<String>,
    /// What a model has cost, in US dollars.
    pub cost: Option<Number>,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum ScriptCallStatus {
    Running,
    Ok,
    Error,
    Cancelled,
}

impl ScriptCallStatus {
    const fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Cancelled => "cancelled",
        }
    }
}

impl ScriptCall {
    /// A call that begins.
    pub(crate) fn new(outer: &str, name: &str, arguments: &JsonObject) -> Self {
        let arguments = serde_json::to_string(arguments).unwrap_or_default();
        Self {
            id: format!("{outer}/?"),
            name: name.to_owned(),
            arguments: cut(&arguments, MAX_ARGUMENTS),
            status: ScriptCallStatus::Running,
            took: None,
            error: None,
            cost: None,
        }
    }

    /// The `number`th request to a model that begins; what is sent is not shown.
    pub(crate) fn of_model(outer: &str, name: &str, number: u64, provider: &str, id: &str) -> Self {
        let arguments = format!("{provider}/{id}");
        Self {
            id: format!("{outer}/{name}/{number}"),
            arguments,
            ..Self::new(outer, name, &JsonObject::new())
        }
    }

    pub(crate) fn end(&mut self, is_error: bool, text: &str) {
        self.status = if is_error { ScriptCallStatus::Error } else { ScriptCallStatus::Ok };
        if is_error {
            self.error = Some(cut(text, MAX_ERROR));
        }
    }

    pub(crate) fn shown(&self) -> Value {
        let mut call = json!({
            "id": self.id, "name": self.name, "args": self.arguments, "status": self.status.name(),
        });
        if let Some(took) = self.took {
            call["durationMs"] = (took.as_secs_f64() * 1000.0).into();
        }
        if let Some(cost) = &self.cost {
            call["cost"] = cost.clone().into();
        }
        if let Some(error) = &self.error {
            call["error"] = error.as_str().into();
        }
        call
    }
}

/// The output of a script so far.
#[derive(Default)]
pub(crate) struct ScriptOutput {
    items: Vec<OutputItem>,
    error: Option<String>,
}

impl ScriptOutput {
    pub(crate) fn add(&mut self, item: OutputItem) {
        self.items.push(item);
    }

    /// Adds what the script has returned.
    pub(crate) fn returned(&mut self, value: Option<Value>) {
        let text = match value {
            Some(Value::String(text)) => text,
            Some(value) => value.to_string(),
            None => return,
        };
        self.items.push(OutputItem::Text { text });
    }

    /// Notes that models have made `count` images, if the script has shown none.
    pub(crate) fn note_unshown(&mut self, count: usize) {
        let shows = self.items.iter().any(|item| matches!(item, OutputItem::Image { .. }));
        if count > 0 && !shows {
            let s = if count == 1 { "" } else { "s" };
            let text = format!(
                "Note: models.generateImages() has made {count} image{s} that the script did not show; image(block) shows one."
            );
            self.items.push(OutputItem::Text { text });
        }
    }

    /// Adds why the script has failed.
    pub(crate) fn failed<'a>(&mut self, error: &str, calls: impl Iterator<Item = &'a ScriptCall>) {
        let calls: Vec<String> =
            calls.map(|call| format!("{} ({})", call.name, call.status.name())).collect();
        let calls = match calls.is_empty() {
            true => "No tool calls were made.".to_owned(),
            false => format!("Tool calls before the failure, which are not undone: {}", calls.join(", ")),
        };
        self.error = Some(format!("Script error:\n{error}\n\n{calls}"));
    }

    /// The content for the model, and the file with all of it where it was too long.
    pub(crate) fn content(
        self,
        took: Duration,
        is_error: bool,
        max_tokens: Option<u64>,
    ) -> (Vec<UserContent>, Option<String>) {
        let state = if is_error { "failed" } else { "completed" };
        let head = format!("Script {state}\nWall time {:.1} seconds\nOutput:\n", took.as_secs_f64());
        let room = max_tokens.unwrap_or(MAX_TOKENS).saturating_mul(TOKEN as u64);
        let (parts, file) = shortened(self.parts(), usize::try_from(room).unwrap_or(usize::MAX));
        let mut content = vec![text(head)];
        content.extend(joined(parts.into_iter().flat_map(with_file)));
        (content, file)
    }

    /// Texts and images in order; then the lines of the console, and the error.
    fn parts(self) -> Vec<Part> {
        let texts = self.items.iter().filter(|item| matches!(item, OutputItem::Text { .. })).count();
        let (mut parts, mut lines, mut at) = (Vec::new(), Vec::new(), 0);
        for item in self.items {
            match item {
                OutputItem::Text { text } => {
                    at += 1;
                    let mark = if texts > 1 { format!("==> text {at}/{texts} <==\n") } else { String::new() };
                    parts.push(Part::Text(mark + &text));
                }
                OutputItem::Console { text } => lines.push(text),
                OutputItem::Image { data, mime_type } => {
                    parts.push(Part::Image(ImageContent { data, mime_type }));
                }
            }
        }
        if !lines.is_empty() {
            parts.push(Part::Text(format!("<console_output>\n{}\n</console_output>", lines.join("\n"))));
        }
        parts.extend(self.error.map(Part::Text));
        parts
    }
}

enum Part {
    Text(String),
    Image(ImageContent),
}

/// Takes the middle out of texts that are too long together.
fn shortened(parts: Vec<Part>, room: usize) -> (Vec<Part>, Option<String>) {
    let texts: Vec<&str> = parts
        .iter()
        .filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            Part::Image(_) => None,
        })
        .collect();
    let whole = texts.join("\n");
    let count = whole.chars().count();
    if count <= room {
        return (parts, None);
    }
    let first: String = whole.chars().take(room / 2).collect();
    let last: String = whole.chars().skip(count - (room - room / 2)).collect();
    let (tokens, missing) = (count.div_ceil(TOKEN), (count - room).div_ceil(TOKEN));
    let lines = whole.split('\n').count();
    let (place, file) = match save(&whole) {
        Ok(file) => (format!("[Full output: {file} (read it with offset/limit)]"), Some(file)),
        Err(error) => (format!("[Could not save the full output: {error}]"), None),
    };
    let short = format!(
        "Warning: truncated output (original token count: {tokens})\nTotal output lines: {lines}\n\n{first}…{missing} tokens \
         truncated…{last}\n\n{place}"
    );
    let images = parts.into_iter().filter(|part| matches!(part, Part::Image(_)));
    (std::iter::once(Part::Text(short)).chain(images).collect(), file)
}

/// An image, behind the name of the file that it is kept in.
fn with_file(part: Part) -> Vec<Part> {
    let Part::Image(image) = part else { return vec![part] };
    let suffix = match image.mime_type.as_str() {
        "image/jpeg" => ".jpg",
        "image/gif" => ".gif",
        "image/webp" => ".webp",
        _ => ".png",
    };
    let saved = BASE64_STANDARD.decode(&image.data).map_err(|error| error.to_string());
    let saved = saved.and_then(|bytes| keep(suffix, &bytes).map_err(|error| error.to_string()));
    let line = match saved {
        Ok(file) => format!("[Image saved to {file}]"),
        Err(error) => format!("[Could not save the image: {error}]"),
    };
    vec![Part::Text(line), Part::Image(image)]
}

/// Blocks in which texts that follow each other are one, each on its own line.
fn joined(parts: impl Iterator<Item = Part>) -> Vec<UserContent> {
    let mut content: Vec<UserContent> = Vec::new();
    for part in parts {
        match (part, content.last_mut()) {
            (Part::Text(next), Some(UserContent::Text(block))) => {
                if !block.text.ends_with('\n') {
                    block.text.push('\n');
                }
                block.text += &next;
            }
            (Part::Text(next), _) => content.push(text(next)),
            (Part::Image(image), _) => content.push(UserContent::Image(image)),
        }
    }
    content
}

fn save(text: &str) -> std::io::Result<String> {
    keep(".txt", text.as_bytes())
}

/// Writes a file of its own that only the user can read.
fn keep(suffix: &str, bytes: &[u8]) -> std::io::Result<String> {
    let mut file = tempfile::Builder::new().prefix("pi-codemode-").suffix(suffix).tempfile()?;
    file.write_all(bytes)?;
    let (_, path) = file.keep()?;
    Ok(path.display().to_string())
}

fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 3).chain("...".chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(text: &str) -> OutputItem {
        OutputItem::Text { text: text.to_owned() }
    }

    fn texts(output: ScriptOutput, max_tokens: Option<u64>) -> Vec<String> {
        let (content, file) = output.content(Duration::from_millis(650), false, max_tokens);
        if let Some(file) = file {
            std::fs::remove_file(file).unwrap();
        }
        let texts = content.into_iter().map(|block| match block {
            UserContent::Text(block) => block.text,
            UserContent::Image(image) => image.mime_type,
        });
        texts.collect()
    }

    #[test]
    fn several_texts_are_told_apart() {
        let head = "Script completed\nWall time 0.7 seconds\nOutput:\n";
        let mut output = ScriptOutput::default();
        assert_eq!(texts(ScriptOutput::default(), None), [head]);
        output.add(item("a"));
        output.add(OutputItem::Console { text: "1".to_owned() });
        output.returned(Some(json!({ "b": 2 })));
        let expected =
            "==> text 1/2 <==\na\n==> text 2/2 <==\n{\"b\":2}\n<console_output>\n1\n</console_output>";
        assert_eq!(texts(output, None), [head, expected]);
    }

    #[test]
    fn long_output_loses_its_middle() {
        let mut output = ScriptOutput::default();
        output.add(item(&"é".repeat(100)));
        let texts = texts(output, Some(5));
        let expected = format!("{0}…20 tokens truncated…{0}", "é".repeat(10));
        assert!(texts[1].contains(&expected), "{texts:?}");
    }
}
