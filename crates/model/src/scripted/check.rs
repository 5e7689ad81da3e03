//! Checks a script beyond its shape: settings that exclude each other, and sizes.

use super::block::Block;
use super::{failure::Failure, script::ScriptError, turn::Turn};

/// Longest generated block in characters: enough for any benchmark, and far from exhausting the memory when a script
/// has a zero too many.
const MAX_GENERATED_CHARS: u64 = 16 * 1024 * 1024;

/// Finds the first contradiction in the turns.
pub(super) fn check(turns: &[Turn]) -> Result<(), ScriptError> {
    for (index, turn) in turns.iter().enumerate() {
        let path = format!("turns[{index}]");
        check_turn(turn, &path)?;
        if let Some(failure) = &turn.fail {
            check_failure(failure, turn.say.is_empty(), &format!("{path}.fail"))?;
        }
        for (place, block) in turn.say.iter().enumerate() {
            check_block(block, turn, &format!("{path}.say[{place}]"))?;
        }
    }
    Ok(())
}

fn check_turn(turn: &Turn, path: &str) -> Result<(), ScriptError> {
    if turn.hang && turn.fail.is_some() {
        return invalid(path, "`hang` and `fail` exclude each other");
    }
    if turn.stop.is_some() && turn.is_cut_short() {
        return invalid(path, "`stop` is for an answer that ends, not with `fail` or `hang`");
    }
    if turn.no_reason && (turn.stop.is_some() || turn.is_cut_short()) {
        return invalid(path, "`noReason` is for an answer that ends, not with `stop`, `fail` or `hang`");
    }
    if turn.after_deltas.is_some() && (!turn.is_cut_short() || turn.say.is_empty()) {
        return invalid(path, "`afterDeltas` needs something in `say`, and `fail` or `hang`");
    }
    Ok(())
}

fn check_failure(failure: &Failure, before_anything: bool, path: &str) -> Result<(), ScriptError> {
    let Failure { status, kind, message, body, retry_after } = failure;
    if status.is_some_and(|status| !(400..=599).contains(&status)) {
        return invalid(&format!("{path}.status"), "expected an HTTP error status, 400 to 599");
    }
    if body.is_some() && (kind.is_some() || message.is_some()) {
        return invalid(path, "`body` takes the place of `kind` and `message`");
    }
    if body.is_some() && status.is_none() {
        return invalid(path, "`body` needs a `status`");
    }
    if failure.body().is_some_and(|body| body.is_empty()) && !before_anything {
        return invalid(&format!("{path}.body"), "an answer that has begun cannot fail with an empty body");
    }
    if retry_after.is_some() && (failure.status().is_none() || !before_anything) {
        return invalid(path, "`retryAfter` needs a `status`, and no `say` before it");
    }
    if status.is_none() && kind.is_none() && message.as_deref().unwrap_or_default().is_empty() {
        return invalid(path, "expected `status`, `kind`, or a `message` that is not empty");
    }
    Ok(())
}

fn check_block(block: &Block, turn: &Turn, path: &str) -> Result<(), ScriptError> {
    let (text, times, deltas) = match block {
        Block::Text(block) => (block.text.as_str(), block.times, block.deltas),
        Block::Thinking(block) => (block.thinking.as_str(), block.times, block.deltas),
        Block::Filler(block) => ("…", None, Some(block.deltas)),
        Block::Redacted(_) => return Ok(()),
        Block::Tool(block) if block.arguments.is_some() && block.raw_arguments.is_some() => {
            return invalid(path, "`arguments` and `rawArguments` exclude each other");
        }
        Block::Tool(_) => return Ok(()),
    };
    let size = turn.delta_chars(block);
    if times.is_some() && deltas.is_some() {
        return invalid(path, "`times` and `deltas` exclude each other");
    }
    if deltas.is_some() && (size == 0 || text.is_empty()) {
        return invalid(path, "`deltas` needs a `size` above 0 and a text that is not empty");
    }
    let generated = match (times, deltas) {
        (Some(times), _) => u64::from(times).saturating_mul(count_chars(text)),
        (None, Some(deltas)) => u64::from(deltas) * u64::from(size),
        (None, None) => 0,
    };
    if generated > MAX_GENERATED_CHARS {
        let reason =
            format!("{generated} characters are too many: at most {MAX_GENERATED_CHARS} can be generated");
        return invalid(path, &reason);
    }
    Ok(())
}

fn count_chars(text: &str) -> u64 {
    u64::try_from(text.chars().count()).unwrap_or(u64::MAX)
}

fn invalid(path: &str, reason: &str) -> Result<(), ScriptError> {
    Err(ScriptError::Invalid { path: path.to_owned(), reason: reason.to_owned() })
}
