//! Judges that a tool call that has failed, by its own result, is told as an error.
//!
//! Rule: `tool-error`.

use crate::findings::Findings;
use pi_rpc_protocol::{Dialect, RuleId as Rule, ToolExecutionEndEvent, errors};
use serde_json::Value;

/// Judges the end of a call whose result has this text.
pub fn judge(end: &ToolExecutionEndEvent, text: &str, dialect: Dialect, found: &mut Findings) {
    let result = &end.result;
    if let Some(own) = result.is_error {
        let what = "what the result says of itself";
        return found.expect_same(Rule::ToolError, "/isError", what, &own, &end.is_error);
    }
    let reason = flagged(result.details.as_ref())
        .or_else(|| exited(result.structured_content.as_ref()))
        .or_else(|| told(end, text, dialect));
    match reason {
        Some(reason) if !end.is_error => {
            let what = format!("an error, as {reason}");
            found.fail_with_difference(Rule::ToolError, "/isError", what, &true, &false);
        }
        _ => found.pass(Rule::ToolError),
    }
}

/// The reason in the details, where they say that the call has failed.
fn flagged(details: Option<&Value>) -> Option<String> {
    let failed = details?.get("isError")?.as_bool()?;
    failed.then(|| "its details say so".to_owned())
}

/// The reason in the structured result of a shell command.
fn exited(content: Option<&Value>) -> Option<String> {
    let code = content?.get("exit_code")?.as_i64()?;
    (code != 0).then(|| format!("its command exited with code {code}"))
}

/// The reason in the text, where it is one that the protocol has for calls that fail.
fn told(end: &ToolExecutionEndEvent, text: &str, dialect: Dialect) -> Option<String> {
    let (base, name) = (dialect.base(), &end.tool_name);
    // A command prints a line feed at its end, so that this is not its own output.
    let exit = text.rsplit_once("\n\n").and_then(|(_, last)| last.strip_prefix(EXIT_CODE));
    let has_code = exit.is_some_and(|code| code.parse::<i64>().is_ok_and(|code| code != 0));
    if name == SHELL && has_code {
        return Some("its command has failed".to_owned());
    }
    let whole = [errors::tool_not_found(base, name), errors::tool_aborted(base)];
    whole.iter().any(|error| error == text).then(|| format!("its text is `{text}`"))
}

/// The tool that runs shell commands.
const SHELL: &str = "bash";

/// The beginning of the line that tells the exit code of a failed command.
const EXIT_CODE: &str = "Command exited with code ";
