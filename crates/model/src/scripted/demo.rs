//! The demo: turns for any prompt, to see the server work without a key.
//!
//! The first answer looks into the working directory with a tool that changes nothing; the second reports the tool's
//! result.

use serde_json::{Map, Value};

use super::{
    block::{Block, TextBlock, ThinkingBlock, ToolBlock},
    player::{ScriptedCall, ToolText},
    script::{Input, ModelCard},
    turn::Turn,
};

/// A pace at which text visibly grows.
const DELTA_CHARS: u32 = 12;
const DELAY_MS: u64 = 12;
/// Pause before the answer, as of a model that reads.
const FIRST_DELAY_MS: u64 = 120;

const QUOTED_CHARS: usize = 60;
const NAMED_ENTRIES: usize = 4;

const WHAT_I_AM: &str = "I am pi-rpc's built-in scripted demo, not a real model.";
const GO_ON: &str = "To go on, play a script of your own with `--model scripted/<file>`.";

/// The demo's model.
pub(super) fn card() -> ModelCard {
    ModelCard {
        name: Some("Scripted demo".to_owned()),
        reasoning: true,
        context_window: 200_000,
        input: vec![Input::Text, Input::Image],
        ..ModelCard::default()
    }
}

/// The demo's answer to a call.
pub(super) fn turn(ask: &ScriptedCall<'_>) -> Turn {
    let say = match (ask.results.last(), DirectoryTool::choose(ask.tools)) {
        (Some(result), _) => vec![text(report(ask.prompt, result))],
        (None, Some(look)) => look_around(ask.prompt, look),
        (None, None) => vec![thinking(ask.prompt, "call no tool"), text(no_tool(ask.prompt))],
    };
    Turn {
        say,
        first_delay_ms: FIRST_DELAY_MS,
        size: Some(DELTA_CHARS),
        delay_ms: DELAY_MS,
        ..Turn::default()
    }
}

/// A tool that lists the working directory.
#[derive(Clone, Copy)]
struct DirectoryTool {
    tool: &'static str,
    argument: (&'static str, &'static str),
    intention: &'static str,
}

/// Tools that list a directory, best first.
const DIRECTORY_TOOLS: [DirectoryTool; 3] = [
    DirectoryTool { tool: "ls", argument: ("path", "."), intention: "list the working directory with `ls`" },
    DirectoryTool {
        tool: "bash",
        argument: ("command", "ls -a"),
        intention: "list the working directory with `bash`",
    },
    DirectoryTool {
        tool: "read",
        argument: ("path", "README.md"),
        intention: "read the working directory's README.md",
    },
];

impl DirectoryTool {
    fn choose(tools: &[String]) -> Option<Self> {
        DIRECTORY_TOOLS.into_iter().find(|look| tools.iter().any(|tool| tool == look.tool))
    }

    fn call(self) -> Block {
        let (key, value) = self.argument;
        let arguments = Map::from_iter([(key.to_owned(), Value::from(value))]);
        Block::Tool(ToolBlock {
            tool: self.tool.to_owned(),
            arguments: Some(arguments),
            ..ToolBlock::default()
        })
    }
}

fn look_around(prompt: &str, look: DirectoryTool) -> Vec<Block> {
    let announcement =
        format!("{WHAT_I_AM} To show you a tool call I will now {}; that changes nothing.", look.intention);
    vec![thinking(prompt, look.intention), text(announcement), look.call()]
}

fn no_tool(prompt: &str) -> String {
    format!(
        "You wrote {}. {WHAT_I_AM} I have no tool here to look around with, so this is all I can show. {GO_ON}",
        quote(prompt)
    )
}

fn report(prompt: &str, result: &ToolText) -> String {
    let found = if result.is_error {
        let reason = result.text.lines().next().unwrap_or_default();
        format!("My call of `{}` failed: {}", result.name, clip(reason))
    } else if result.name == "read" {
        let (content, _) = without_notice(&result.text);
        let first = content.lines().find(|line| !line.trim().is_empty());
        let lines = counted(content.lines().count(), "line", "lines");
        match first {
            Some(first) => format!("The README.md that I read has {lines} and begins with {}.", quote(first)),
            None => "The README.md that I read is empty.".to_owned(),
        }
    } else {
        listing(&result.text)
    };
    format!("You wrote {}. {found}\n\n{WHAT_I_AM} {GO_ON}", quote(prompt))
}

/// Summarizes a listing: the number of entries, and some of them, visible ones first.
fn listing(text: &str) -> String {
    let (content, is_cut) = without_notice(text);
    let is_entry = |line: &&str| !matches!(*line, "" | "." | ".." | "(empty directory)" | "(no output)");
    let mut entries: Vec<&str> = content.lines().map(str::trim).filter(is_entry).collect();
    if entries.is_empty() {
        return "I looked around: the working directory is empty.".to_owned();
    }
    entries.sort_by_key(|entry| entry.starts_with('.'));

    let at_least = if is_cut { "at least " } else { "" };
    let count = counted(entries.len(), "entry", "entries");
    let named: Vec<String> = entries.iter().take(NAMED_ENTRIES).map(|entry| format!("`{entry}`")).collect();
    let among_them = if entries.len() > NAMED_ENTRIES { ", among them" } else { ":" };
    format!("I looked around: the working directory has {at_least}{count}{among_them} {}.", named.join(", "))
}

/// Strips the bracketed notice of a result that a tool cut; returns whether there was one.
fn without_notice(text: &str) -> (&str, bool) {
    let is_notice = |tail: &str| tail.starts_with('[') && tail.ends_with(']') && !tail.contains('\n');
    match text.rsplit_once("\n\n") {
        Some((content, tail)) if is_notice(tail) => (content, true),
        _ => (text, false),
    }
}

fn thinking(prompt: &str, intention: &str) -> Block {
    let thinking = format!(
        "The user wrote {}. As a demo I cannot work on that, but I can show how an answer arrives: \
         thinking, text, a tool's work. I will {intention}.",
        quote(prompt)
    );
    Block::Thinking(ThinkingBlock { thinking, ..ThinkingBlock::default() })
}

fn text(text: String) -> Block {
    Block::Text(TextBlock { text, ..TextBlock::default() })
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// The beginning of `text` on one line, in quotes.
fn quote(text: &str) -> String {
    match clip(text).as_str() {
        "" => "nothing".to_owned(),
        clipped => format!("“{clipped}”"),
    }
}

/// The beginning of `text` on one line.
fn clip(text: &str) -> String {
    // Enough words for any clip, each as far as it can show: a huge prompt is not copied.
    let words = text.split_whitespace().take(QUOTED_CHARS);
    let cut = |word: &'_ str| word.chars().take(QUOTED_CHARS + 1).collect::<String>();
    let line = words.map(cut).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(QUOTED_CHARS) {
        Some((cut, _)) => format!("{}…", line[..cut].trim_end()),
        None => line,
    }
}
