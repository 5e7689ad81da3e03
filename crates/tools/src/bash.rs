//! The `bash` tool: runs a command and renders its result.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Number, Value, json};

use super::{
    delegate::{DelegatedCommand, DelegatedOutcome},
    output_files::RemovedFiles,
    run::{ToolContext, ToolOutput},
    shell::{
        CommandEnd, Progress, ShellControl, ShellOptions, ShellOutcome, ShellSnapshot, StopNotice, run_shell,
    },
    truncate::{Limits, size_text, truncate_tail},
};
use pi_rpc_protocol::{BashToolDetails, DialectTools, TruncationResult, TruncationUnit, number, texts};
use pi_rpc_tool_specs::BashArguments;

/// The longest timeout that is not refused where timeouts are, in seconds: what pi's timers take.
const LONGEST_TIMEOUT: f64 = 2_147_483.647;

/// Runs `bash`. A timeout in the arguments overrides that of the options; one of 0 or less is refused or ignored, as the
/// dialect says.
pub(super) async fn bash(arguments: BashArguments, context: ToolContext) -> Result<ToolOutput, String> {
    let ToolContext {
        call_id,
        cwd,
        cancel,
        progress,
        gate,
        shell: mut options,
        processes,
        rules,
        delegate,
        ..
    } = context;
    let delegate = delegate.filter(|delegate| delegate.runs_commands());
    if let Some(progress) = progress.as_ref().filter(|_| rules.empty_first_update && delegate.is_none()) {
        // The channel is still empty.
        let _ = progress.try_send(ToolOutput { content: Vec::new(), ..ToolOutput::text("") });
    }
    if let Some(seconds) = arguments.timeout.filter(|_| rules.refuses_timeouts) {
        check_timeout(seconds)?;
    }
    if let Some(seconds) = arguments.timeout.filter(|seconds| *seconds > 0.0) {
        options.timeout = Duration::try_from_secs_f64(seconds).ok();
    }
    if let Some(delegate) = delegate {
        let timeout = options.timeout;
        let command = match &options.prefix {
            Some(prefix) => format!("{prefix}\n{}", arguments.command),
            None => arguments.command,
        };
        let command = DelegatedCommand { call_id, command, directory: cwd, cancel, timeout };
        let outcome = delegate.run_command(command).await?;
        return Ok(to_output(tail_of(&outcome, options.limits), &options, rules));
    }
    let progress = progress.map(|sender| Progress { sender, render });
    let control = ShellControl { cancel, gate, progress, follower: None, processes };
    let began = Instant::now();
    let outcome =
        run_shell(&arguments.command, &cwd, &options, control).await.map_err(|error| error.to_string())?;
    let structured = match rules.structured_content {
        true => structured(&outcome, began.elapsed()).await,
        false => None,
    };
    Ok(ToolOutput { structured, ..to_output(outcome, &options, rules) })
}

/// Refuses a timeout that pi's timers do not take.
fn check_timeout(seconds: f64) -> Result<(), String> {
    match seconds {
        seconds if seconds <= 0.0 => Err(texts::timeout_refused()),
        seconds if seconds > LONGEST_TIMEOUT => Err(texts::timeout_too_long(&LONGEST_TIMEOUT.to_string())),
        _ => Ok(()),
    }
}

/// The outcome of a command that ran outside of this process.
fn tail_of(outcome: &DelegatedOutcome, limits: Limits) -> ShellOutcome {
    let truncation = truncate_tail(&outcome.output, limits);
    let last_line = outcome.output.trim_end_matches('\n').rsplit('\n').next().unwrap_or_default();
    ShellOutcome {
        ending: outcome.ending,
        last_line_bytes: last_line.len() as u64,
        truncation,
        full_output_path: None,
        removed: RemovedFiles::default(),
        directory: None,
    }
}

/// Renders progress: the tail so far; the details are always an object.
fn render(snapshot: ShellSnapshot) -> ToolOutput {
    let details = details(&snapshot.truncation, snapshot.full_output_path.as_deref());
    ToolOutput { details: Some(json!(details)), ..ToolOutput::text(snapshot.truncation.content) }
}

fn to_output(outcome: ShellOutcome, options: &ShellOptions, rules: &DialectTools) -> ToolOutput {
    let output = format!("{}{}{}", outcome.truncation.content, cut_notice(&outcome), outcome.removed);
    let shown = if output.is_empty() { "(no output)" } else { &output };
    let ending = match outcome.ending {
        CommandEnd::Signalled(signal) if rules.failed_exit_is_result => CommandEnd::Exited(128 + signal),
        ending => ending,
    };
    match ending {
        CommandEnd::Exited(0) | CommandEnd::Signalled(_) => {
            ToolOutput { details: final_details(&outcome, options), ..ToolOutput::text(shown) }
        }
        CommandEnd::Exited(code) => {
            let text = format!("{shown}\n\nCommand exited with code {code}");
            match rules.failed_exit_is_result {
                true => ToolOutput {
                    details: final_details(&outcome, options),
                    is_error: true,
                    ..ToolOutput::text(text)
                },
                false => ToolOutput::error(text),
            }
        }
        CommandEnd::Cancelled => {
            ToolOutput::error(stopped_text(&output, "Command aborted", outcome.ending, options))
        }
        CommandEnd::TimedOut(limit) => {
            let words = format!("Command timed out after {} seconds", limit.as_secs_f64());
            ToolOutput::error(stopped_text(&output, &words, outcome.ending, options))
        }
    }
}

/// The structured result of a command that has exited, for programs: its whole output, up to [`MOST_STRUCTURED`].
async fn structured(outcome: &ShellOutcome, took: Duration) -> Option<Value> {
    let exit_code = outcome.ending.exit_code()?;
    let shown = &outcome.truncation.content;
    let file = outcome.full_output_path.clone().filter(|_| outcome.truncation.truncated);
    let (output, truncated) = match file {
        None => (shown.clone(), false),
        Some(path) => {
            let read = tokio::task::spawn_blocking(move || whole_output(&path)).await;
            read.ok().and_then(Result::ok).unwrap_or_else(|| (shown.clone(), true))
        }
    };
    let full_output_path = outcome.full_output_path.as_deref().filter(|_| truncated);
    Some(json!(Structured {
        output: &output,
        truncated,
        full_output_path: full_output_path.map(Path::to_string_lossy),
        exit_code,
        wall_time_seconds: number((took.as_secs_f64() * 10.0).round() / 10.0),
    }))
}

/// Most bytes of output in a structured result, as in pi.
const MOST_STRUCTURED: u64 = 1 << 20;

/// Output in a file, and whether its middle is left out.
fn whole_output(path: &Path) -> io::Result<(String, bool)> {
    let mut file = File::open(path)?;
    let size = file.metadata()?.len();
    let mut bytes = Vec::new();
    if size <= MOST_STRUCTURED {
        file.take(MOST_STRUCTURED).read_to_end(&mut bytes)?;
        return Ok((String::from_utf8_lossy(&bytes).into_owned(), false));
    }
    let half = MOST_STRUCTURED / 2;
    file.by_ref().take(half).read_to_end(&mut bytes)?;
    let mut head = String::from_utf8_lossy(&bytes).into_owned();
    if let Some(incomplete) = str::from_utf8(&bytes).err().filter(|error| error.error_len().is_none()) {
        head = String::from_utf8_lossy(&bytes[..incomplete.valid_up_to()]).into_owned();
    }
    file.seek(SeekFrom::Start(size - half))?;
    bytes.clear();
    file.take(half).read_to_end(&mut bytes)?;
    let start = bytes.iter().take_while(|byte| **byte & 0xc0 == 0x80).count();
    let tail = String::from_utf8_lossy(&bytes[start..]);
    Ok((format!("{head}\n\n[... {} bytes omitted ...]\n\n{tail}", size - MOST_STRUCTURED), true))
}

/// A structured result. Source: observed.
#[derive(Serialize)]
struct Structured<'a> {
    output: &'a str,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    full_output_path: Option<Cow<'a, str>>,
    exit_code: i32,
    wall_time_seconds: Number,
}

/// The text of a stopped command: its output and the notice, in the dialect's order.
fn stopped_text(output: &str, words: &str, ending: CommandEnd, options: &ShellOptions) -> String {
    match (options.stop_notice, ending.leading_notice()) {
        (StopNotice::Before, Some(leading)) => format!("{leading}\n{output}"),
        _ if output.is_empty() => words.to_owned(),
        _ => format!("{output}\n\n{words}"),
    }
}

/// The notice about truncation; empty without any.
fn cut_notice(outcome: &ShellOutcome) -> String {
    let cut = &outcome.truncation;
    let Some(truncated_by) = cut.truncated_by else { return String::new() };
    let all = match &outcome.full_output_path {
        Some(path) => format!("Full output: {}", path.display()),
        None => "The full output could not be kept".to_owned(),
    };
    let total = cut.total_lines;
    let first = (total + 1).saturating_sub(cut.output_lines);
    let what = match truncated_by {
        _ if cut.last_line_partial => {
            // After a final line feed comes one more line, an empty one; what was cut is the line before it.
            let line = total - u64::from(cut.content.ends_with('\n'));
            let (shown, size) = (size_text(cut.output_bytes), size_text(outcome.last_line_bytes));
            format!("last {shown} of line {line} (line is {size})")
        }
        TruncationUnit::Lines => format!("lines {first}-{total} of {total}"),
        TruncationUnit::Bytes | TruncationUnit::Middle => {
            format!("lines {first}-{total} of {total} ({} limit)", size_text(cut.max_bytes))
        }
    };
    format!("\n\n[Showing {what}. {all}]")
}

/// The details of a result; `None` if they would be empty.
fn final_details(outcome: &ShellOutcome, options: &ShellOptions) -> Option<Value> {
    let truncated = outcome.truncation.truncated;
    let full_output = outcome.full_output_path.as_deref().filter(|_| truncated);
    let limit = options.timeout.filter(|_| options.reports_timeout);
    let timeout_seconds = limit.map(|limit| limit.as_secs_f64().ceil() as u64);
    let details = BashToolDetails { timeout_seconds, ..details(&outcome.truncation, full_output) };
    (truncated || limit.is_some()).then(|| json!(details))
}

fn details(truncation: &TruncationResult, full_output: Option<&Path>) -> BashToolDetails {
    BashToolDetails {
        truncation: truncation.truncated.then(|| truncation.clone()),
        full_output_path: full_output.map(|path| path.to_string_lossy().into_owned()),
        timeout_seconds: None,
    }
}
