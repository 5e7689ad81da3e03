//! The page that `cargo upstream` prints, in Markdown.

use std::fmt::Write as _;

#[derive(Default)]
pub struct Page {
    text: String,
    news: usize,
}

impl Page {
    pub fn heading(&mut self, level: usize, title: &str) {
        let blank = if self.text.is_empty() { "" } else { "\n" };
        let _ = writeln!(self.text, "{blank}{} {title}\n", "#".repeat(level));
    }

    pub fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{line}");
    }

    /// A line about something that the measured release has not.
    pub fn news_line(&mut self, line: &str) {
        self.news += 1;
        self.line(&format!("- {line}"));
    }

    /// Whether the newest version of something is the one that was looked at.
    pub fn version(&mut self, name: &str, seen: &str, newest: Result<String, String>) {
        match newest {
            Ok(newest) if newest == seen => self.line(&format!("- {name} {seen}: nothing new")),
            Ok(newest) => self.news_line(&format!("**{name} {newest}** (looked at: {seen})")),
            Err(error) => self.line(&format!("- {name} {seen}: not known whether it is the newest: {error}")),
        }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// How many lines are about something new.
    pub fn news(&self) -> usize {
        self.news
    }
}
