//! The `find` tool: finds files and directories by a glob, by the rules of `fd --glob --hidden --no-require-git`, sorted
//! by path.

use std::fs;
use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};
use ignore::WalkBuilder;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{
    path::resolve,
    run::{ToolOutput, aborted_message},
    truncate::{LineBuffer, MAX_BYTES, size_text},
};
use pi_rpc_files::confinement::Confinement;
use pi_rpc_folder_walk::FolderWalk;
use pi_rpc_protocol::FindToolDetails;
use pi_rpc_tool_specs::FindArguments;

/// Default limit of paths, as in pi.
const USUAL_LIMIT: f64 = 1000.0;

/// Searches a directory. Blocks on the disk.
pub(super) fn find(
    arguments: &FindArguments,
    cwd: &Path,
    cancel: &CancellationToken,
) -> Result<ToolOutput, String> {
    let directory = resolve(arguments.path.as_deref().filter(|path| !path.is_empty()).unwrap_or("."), cwd);
    match fs::metadata(&directory) {
        Err(_) => return Err(format!("Path not found: {}", directory.display())),
        Ok(metadata) if !metadata.is_dir() => {
            return Err(format!("Not a directory: {}", directory.display()));
        }
        Ok(_) => {}
    }
    let pattern = PathPattern::new(&arguments.pattern)?;
    let mut is_limited = false;
    let limit = arguments.limit.unwrap_or(USUAL_LIMIT).max(1.0);
    // `as` rounds down and stops at the ends of the range.
    let mut left = limit.ceil() as u64;
    let mut lines = LineBuffer::new();
    let mut trouble = None;
    let mut walk = WalkBuilder::new(&directory);
    walk.hidden(false).require_git(false).current_dir(cwd);
    walk.sort_by_file_path(Path::cmp);
    let mut walk =
        FolderWalk::new(walk, (directory.as_path(), cwd), ".fdignore", &Confinement::of_project(cwd), |_| {
            true
        });
    for entry in walk.entries.by_ref() {
        if cancel.is_cancelled() {
            return Err(aborted_message());
        }
        match entry {
            Ok(entry) if entry.depth() > 0 && pattern.matches(entry.path(), &directory) => {
                // Only a path beyond the limit shows that there are more.
                is_limited = left == 0;
                if is_limited {
                    break;
                }
                let path = entry.path().strip_prefix(&directory).unwrap_or(entry.path());
                let slash = if entry.file_type().is_some_and(|kind| kind.is_dir()) { "/" } else { "" };
                lines.push(&format!("{}{slash}", path.display()));
                left -= 1;
            }
            Ok(_) => {}
            Err(error) => trouble = trouble.or_else(|| Some(error.to_string())),
        }
    }
    let trouble = trouble.or_else(|| walk.troubles().into_iter().next());
    if lines.is_empty() {
        // An unreadable path is reported only if nothing was found.
        return trouble.map_or_else(|| Ok(ToolOutput::text("No files found matching pattern")), Err);
    }
    Ok(to_output(&lines, is_limited.then_some(limit)))
}

/// The result with its notices; `limit`: the limit of paths, if there are more.
fn to_output(lines: &LineBuffer, limit: Option<f64>) -> ToolOutput {
    let cut = lines.truncated();
    let mut notices = Vec::new();
    if let Some(limit) = limit {
        let double = limit * 2.0;
        notices
            .push(format!("{limit} results limit reached. Use limit={double} for more, or refine pattern"));
    }
    if cut.truncated {
        notices.push(format!("{} limit reached", size_text(MAX_BYTES)));
    }
    let mut text = cut.content.clone();
    let details = FindToolDetails {
        result_limit_reached: limit.map(|limit| limit.ceil() as u64),
        truncation: cut.truncated.then_some(cut),
    };
    let details = (!notices.is_empty()).then(|| json!(details));
    if !notices.is_empty() {
        text += &format!("\n\n[{}]", notices.join(". "));
    }
    ToolOutput { details, ..ToolOutput::text(text) }
}

/// A compiled glob.
struct PathPattern {
    /// `None`: everything.
    glob: Option<GlobMatcher>,
    matched: MatchedPart,
}

/// The part of a path that a glob matches.
#[derive(Clone, Copy)]
enum MatchedPart {
    Name,
    /// The path from the searched directory on.
    Relative,
    /// The absolute path.
    Whole,
}

impl PathPattern {
    /// Compiles a glob. One with a slash matches paths from the searched directory on, without regard to a `./` in front;
    /// one that begins with a slash, absolute paths; one without a slash, names. Case is ignored unless the glob has a
    /// capital letter. Source: pi 1.6.0 source, observed.
    fn new(pattern: &str) -> Result<Self, String> {
        let pattern = pattern.trim_start_matches("./");
        let matched = match pattern.contains('/') {
            true if pattern.starts_with('/') => MatchedPart::Whole,
            true => MatchedPart::Relative,
            false => MatchedPart::Name,
        };
        let glob = GlobBuilder::new(pattern)
            .literal_separator(true)
            .case_insensitive(!pattern.contains(char::is_uppercase))
            .build()
            // Models know fd's messages, so ours look like them.
            .map_err(|error| format!("[fd error]: {error}"))?;
        Ok(Self { glob: (!pattern.is_empty()).then(|| glob.compile_matcher()), matched })
    }

    /// Whether the path of an entry below `directory` fits.
    fn matches(&self, path: &Path, directory: &Path) -> bool {
        let Some(glob) = &self.glob else { return true };
        let part = match self.matched {
            MatchedPart::Name => path.file_name(),
            MatchedPart::Relative => path.strip_prefix(directory).ok().map(Path::as_os_str),
            MatchedPart::Whole => Some(path.as_os_str()),
        };
        part.is_some_and(|part| glob.is_match(part))
    }
}
