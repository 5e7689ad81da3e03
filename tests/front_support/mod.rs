//! Random conversations through the front, and their judgement: for `tests/front` and `tests/explore`.

use pi_rpc::{
    oracle::{JudgeOptions, random::Choices},
    protocol::{Dialect, Tier},
};
use pi_rpc_test_kit::{Kind, PassedLines, random::conversation};

/// Dialects with frames of their own.
#[allow(dead_code, reason = "not every test explores all of them")]
pub const DIALECTS: [Dialect; 6] =
    [Dialect::Pi, Dialect::Pi073, Dialect::Pi1, Dialect::Xcsh, Dialect::Omp, Dialect::Omp183];

/// The rules of MUST and SHOULD that one side of the conversation breaks.
fn broken(passed: &PassedLines, of_client: bool, dialect: Dialect) -> Vec<String> {
    let recording = passed.recording(of_client);
    let options = JudgeOptions { dialect: Some(dialect.into()), timeline: false };
    let subject = options.judge("front", recording.as_bytes());
    // A random host may write what it must not, to see what comes.
    let is_of_server = |number: u64| {
        let line = number.checked_sub(1).and_then(|at| recording.lines().nth(at as usize));
        line.is_some_and(|line| line.contains("\"dir\":\"out\""))
    };
    let strict =
        subject.findings.iter().filter(|found| found.tier != Tier::Observed && is_of_server(found.record));
    strict.map(|found| format!("{} {}: {}", found.rule, found.kind, found.expected)).collect()
}

/// Plays the conversation of a seed with a server and a client of these dialects.
///
/// # Errors
///
/// What one side breaks, with its recording; or the states in which both sides end, if they differ.
pub fn judge(server: Dialect, client: Dialect, seed: u64) -> Result<(), String> {
    let kind = if seed.is_multiple_of(2) { Kind::Brief } else { Kind::Crowded };
    let drawn = conversation(kind, client, &mut Choices::seeded(seed));
    let passed = drawn.play_behind_front(server)?;
    for (of_client, dialect) in [(true, client), (false, server)] {
        let broken = broken(&passed, of_client, dialect);
        if !broken.is_empty() {
            let side = if of_client { "client" } else { "server" };
            return Err(format!("the {side}'s side breaks {broken:#?}\n{}", passed.recording(of_client)));
        }
    }
    let (of_client, of_server) = &passed.states;
    if of_client != of_server {
        return Err(format!("the client's side ends in {of_client}, the server's in {of_server}"));
    }
    Ok(())
}
