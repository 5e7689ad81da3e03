//! The `grep` tool: finds matching lines and the lines around them with ripgrep's libraries, by the rules of
//! `rg --hidden`.
//!
//! Two things differ from `rg`: files are sorted by path, so that results are reproducible, and unreadable files do not
//! fail the search.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use ignore::WalkBuilder;
use ignore::overrides::OverrideBuilder;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{
    path::resolve,
    run::{ToolOutput, aborted_message},
    truncate::{LineBuffer, MAX_BYTES, size_text},
};
use pi_rpc_files::confinement::Confinement;
use pi_rpc_folder_walk::FolderWalk;
use pi_rpc_protocol::GrepToolDetails;
use pi_rpc_tool_specs::GrepArguments;

/// Default limit of matches, as in pi.
const USUAL_LIMIT: f64 = 100.0;

/// Longest shown line, in UTF-16 code units, as in pi.
const LONGEST_LINE: usize = 500;

/// Most lines around a match; more would not fit into a result.
const MOST_CONTEXT: f64 = 1000.0;

/// Longest line that is searched, in bytes; a file with a longer one counts as unreadable from there on.
const LONGEST_SEARCHED: usize = 64 * 1024 * 1024;

/// Unreadable paths that are named if there is no match.
const NAMED_TROUBLES: usize = 10;

/// Searches a file or a directory. Blocks on the disk.
pub(super) fn grep(
    arguments: &GrepArguments,
    cwd: &Path,
    cancel: &CancellationToken,
) -> Result<ToolOutput, String> {
    let path = resolve(arguments.path.as_deref().filter(|path| !path.is_empty()).unwrap_or("."), cwd);
    let Ok(metadata) = fs::metadata(&path) else {
        return Err(format!("Path not found: {}", path.display()));
    };
    let limit = arguments.limit.unwrap_or(USUAL_LIMIT).max(1.0);
    // `as` rounds down and stops at the ends of the range.
    let context = arguments.context.unwrap_or(0.0).clamp(0.0, MOST_CONTEXT) as u64;
    let mut search = Search {
        matcher: matcher(arguments)?,
        context,
        left: limit.ceil() as u64,
        is_limited: false,
        lines: LineBuffer::new(),
        shortened: false,
        errors: Vec::new(),
        cancel,
    };
    if metadata.is_dir() {
        search.directory(&path, arguments.glob.as_deref(), cwd)?;
    } else if metadata.is_file() {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // A file that is named is searched even if it is binary.
        search.file(&path, &name, BinaryDetection::none());
    } else {
        return Err(format!("Not a regular file: {}", path.display()));
    }
    if cancel.is_cancelled() {
        return Err(aborted_message());
    }
    search.into_output(limit)
}

/// Compiles the pattern as `rg` does.
fn matcher(arguments: &GrepArguments) -> Result<RegexMatcher, String> {
    RegexMatcherBuilder::new()
        .multi_line(true)
        .octal(false)
        .line_terminator(Some(b'\n'))
        .case_insensitive(arguments.ignore_case.unwrap_or_default())
        .fixed_strings(arguments.literal.unwrap_or_default())
        .build(&arguments.pattern)
        .map_err(|error| rg_error(&error))
}

/// An error in the form of ripgrep's messages, which models know.
fn rg_error(error: &dyn std::error::Error) -> String {
    format!("rg: {error}")
}

/// A search in progress.
struct Search<'a> {
    matcher: RegexMatcher,
    context: u64,
    /// Matches left until the limit.
    left: u64,
    /// Whether there is a match beyond the limit.
    is_limited: bool,
    lines: LineBuffer,
    shortened: bool,
    /// Errors of unreadable paths.
    errors: Vec<String>,
    cancel: &'a CancellationToken,
}

impl Search<'_> {
    fn directory(&mut self, directory: &Path, glob: Option<&str>, cwd: &Path) -> Result<(), String> {
        let mut walk = WalkBuilder::new(directory);
        walk.hidden(false).current_dir(cwd);
        walk.sort_by_file_path(Path::cmp);
        if let Some(glob) = glob.filter(|glob| !glob.is_empty()) {
            // As with `rg` that runs in the directory; it never matches a `./` in front.
            let (sign, glob) = glob.strip_prefix('!').map_or(("", glob), |glob| ("!", glob));
            let glob = format!("{sign}{}", glob.trim_start_matches("./"));
            let mut globs = OverrideBuilder::new(directory);
            let globs = globs.add(&glob).and_then(|globs| globs.build()).map_err(|error| rg_error(&error))?;
            walk.overrides(globs);
        }
        let mut walk =
            FolderWalk::new(walk, (directory, cwd), ".rgignore", &Confinement::of_project(cwd), |_| true);
        for entry in walk.entries.by_ref() {
            if self.is_limited || self.cancel.is_cancelled() {
                break;
            }
            match entry {
                Ok(entry) if entry.file_type().is_some_and(|kind| kind.is_file()) => {
                    let name = entry.path().strip_prefix(directory).unwrap_or(entry.path());
                    self.file(entry.path(), &name.to_string_lossy(), BinaryDetection::quit(0));
                }
                Ok(_) => {}
                Err(error) => self.errors.push(error.to_string()),
            }
        }
        Ok(())
    }

    /// Searches one file, which is shown as `name`.
    fn file(&mut self, path: &Path, name: &str, binary: BinaryDetection) {
        let context = usize::try_from(self.context).unwrap_or(usize::MAX);
        let mut searcher = SearcherBuilder::new()
            .binary_detection(binary)
            .before_context(context)
            .after_context(context)
            .heap_limit(Some(LONGEST_SEARCHED))
            .build();
        let cancel = self.cancel;
        let matcher = self.matcher.clone();
        let hits = MatchCollector { search: self, name, last_shown: 0 };
        let searched = File::open(path)
            .and_then(|file| searcher.search_reader(&matcher, CancellableFile { file, cancel }, hits));
        if let Err(error) = searched {
            self.errors.push(format!("{}: {error}", path.display()));
        }
    }

    fn into_output(self, limit: f64) -> Result<ToolOutput, String> {
        if self.lines.is_empty() {
            if self.errors.is_empty() {
                return Ok(ToolOutput::text("No matches found"));
            }
            let named = self.errors.iter().take(NAMED_TROUBLES).cloned().collect::<Vec<_>>().join("\n");
            let more = self.errors.len().saturating_sub(NAMED_TROUBLES);
            return Err(if more > 0 { format!("{named}\n… and {more} more") } else { named });
        }
        let limited = self.is_limited;
        let cut = self.lines.truncated();
        let mut notices = Vec::new();
        if limited {
            let double = limit * 2.0;
            notices.push(format!(
                "{limit} matches limit reached. Use limit={double} for more, or refine pattern"
            ));
        }
        if cut.truncated {
            notices.push(format!("{} limit reached", size_text(MAX_BYTES)));
        }
        if self.shortened {
            notices.push(format!(
                "Some lines truncated to {LONGEST_LINE} chars. Use read tool to see full lines"
            ));
        }
        let mut text = cut.content.clone();
        let details = GrepToolDetails {
            match_limit_reached: limited.then_some(limit.ceil() as u64),
            truncation: cut.truncated.then_some(cut),
            lines_truncated: self.shortened.then_some(true),
        };
        let details = (!notices.is_empty()).then(|| json!(details));
        if !self.errors.is_empty() {
            notices.push(format!("{} paths could not be read", self.errors.len()));
        }
        if !notices.is_empty() {
            text += &format!("\n\n[{}]", notices.join(". "));
        }
        Ok(ToolOutput { details, ..ToolOutput::text(text) })
    }
}

/// Collects the matches of one file with their context. A line in the context of several matches is shown once.
struct MatchCollector<'a, 'b> {
    search: &'a mut Search<'b>,
    name: &'a str,
    /// Number of the last line in the context of the last match within the limit; 0: that match is not in this file.
    last_shown: u64,
}

/// A line, shortened for the result.
struct Line {
    text: String,
    shortened: bool,
}

impl MatchCollector<'_, '_> {
    /// Adds a line; `false` if no more are needed.
    fn line(&mut self, number: Option<u64>, bytes: &[u8], matches: bool) -> bool {
        let Some(number) = number else { return true };
        if self.search.left > 0 {
            self.show(number, bytes, matches);
            if matches {
                self.search.left -= 1;
                self.last_shown = number.saturating_add(self.search.context);
            }
        } else {
            // Beyond the limit a match is context, and the proof that there are more.
            self.search.is_limited |= matches;
            if number <= self.last_shown {
                self.show(number, bytes, false);
            }
            if self.search.is_limited && number >= self.last_shown {
                return false;
            }
        }
        !self.search.cancel.is_cancelled()
    }

    fn show(&mut self, number: u64, bytes: &[u8], matches: bool) {
        let Line { text, shortened } = Line::of(bytes);
        let mark = if matches { ':' } else { '-' };
        self.search.lines.push(&format!("{}{mark}{number}{mark} {text}", self.name));
        self.search.shortened |= shortened;
    }
}

impl Sink for MatchCollector<'_, '_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, hit: &SinkMatch<'_>) -> io::Result<bool> {
        Ok(self.line(hit.line_number(), hit.bytes(), true))
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> io::Result<bool> {
        Ok(self.line(line.line_number(), line.bytes(), false))
    }
}

impl Line {
    fn of(bytes: &[u8]) -> Self {
        let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let text = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)).into_owned();
        let mut units = 0;
        let beyond = text.char_indices().find(|(_, letter)| {
            units += letter.len_utf16();
            units > LONGEST_LINE
        });
        match beyond {
            Some((end, _)) => Self { text: format!("{}... [truncated]", &text[..end]), shortened: true },
            None => Self { text, shortened: false },
        }
    }
}

/// A file whose reads fail once the search is cancelled.
struct CancellableFile<'a> {
    file: File,
    cancel: &'a CancellationToken,
}

impl Read for CancellableFile<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_cancelled() {
            return Err(io::Error::other("stopped"));
        }
        self.file.read(buffer)
    }
}
