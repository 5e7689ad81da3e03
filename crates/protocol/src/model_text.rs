//! Texts in which the model reads messages of neither the user nor the model, such as shell commands and summaries.
//! They are sent as user messages.
//!
//! Source: pi source (message conversion), pi RPC reference: bash; xcsh source; observed.

use super::{
    BashExecutionMessage, BranchSummaryMessage, CompactionSummaryMessage, FileMentionMessage, OutputMeta,
    PythonExecutionMessage, texts,
};

impl BashExecutionMessage {
    /// Command, output and outcome; `None` if the message is hidden from the model.
    pub fn model_text(&self) -> Option<String> {
        let mut text = format!("Ran `{}`\n", self.command);
        text += &ending(&self.output, self.cancelled, self.exit_code);
        if self.truncated {
            text += &match &self.full_output_path {
                Some(path) => format!("\n\n[Output truncated. Full output: {path}]"),
                None => cut(self.meta.as_ref()),
            };
        }
        (self.exclude_from_context != Some(true)).then_some(text)
    }
}

impl PythonExecutionMessage {
    /// Code, output and outcome; `None` if the message is hidden from the model.
    pub fn model_text(&self) -> Option<String> {
        let mut text = format!("Ran Python:\n```python\n{}\n```\n\n", self.code);
        text += &ending(&self.output, self.cancelled, self.exit_code);
        if self.truncated {
            text += &cut(self.meta.as_ref());
        }
        (self.exclude_from_context != Some(true)).then_some(text)
    }
}

impl CompactionSummaryMessage {
    /// Summary with an introduction.
    pub fn model_text(&self) -> String {
        texts::told_compaction(&self.summary)
    }
}

impl BranchSummaryMessage {
    /// Summary with an introduction.
    pub fn model_text(&self) -> String {
        texts::told_branch(&self.summary)
    }
}

impl FileMentionMessage {
    /// Files with their contents, without images, which are sent as blocks.
    pub fn model_text(&self) -> String {
        let files = self.files.iter();
        let files = files.map(|file| format!("<file path=\"{}\">\n{}\n</file>", file.path, file.content));
        let files: Vec<String> = files.collect();
        format!("<system-reminder>\n{}\n</system-reminder>", files.join("\n\n"))
    }
}

/// Output, and the kind of end unless it was a success.
fn ending(output: &str, cancelled: bool, exit_code: Option<i64>) -> String {
    let mut text = match output.is_empty() {
        true => "(no output)".to_owned(),
        false => format!("```\n{output}\n```"),
    };
    match exit_code {
        _ if cancelled => text.push_str("\n\n(command cancelled)"),
        Some(code) if code != 0 => text.push_str(&format!("\n\nCommand exited with code {code}")),
        _ => {}
    }
    text
}

/// Note that the output is truncated, with line counts if they are known.
fn cut(meta: Option<&OutputMeta>) -> String {
    match meta.and_then(|meta| meta.truncation.as_ref()) {
        Some(cut) => {
            format!("\n\n[Output truncated to {} of {} lines.]", cut.output_lines, cut.total_lines)
        }
        None => "\n\n[Output truncated.]".to_owned(),
    }
}
