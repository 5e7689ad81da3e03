//! Random conversations through the front, and their judgement: for `tests/front` and `tests/explore`.

use pi_rpc::{
    client::SessionState,
    oracle::{JudgeOptions, random::Choices},
    protocol::{
        AgentMessage, Dialect, DialectVersion, Outbound, SessionMember, Tier, read_line, read_versioned,
    },
};
use pi_rpc_test_kit::{Kind, PassedLines, random::conversation};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

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

/// What one side knows of the session at its end.
fn account(passed: &PassedLines, of_client: bool, dialect: Dialect) -> SessionState {
    let mut state = SessionState::fresh(dialect);
    for line in passed.lines.iter().filter(|line| line.is_of_client == of_client) {
        let bytes = line.line.as_bytes();
        if line.is_inbound {
            read_line(bytes, dialect).ok().flatten().iter().for_each(|frame| state.inbound(frame));
        } else if let Ok(read) = read_versioned::<Outbound>(bytes, DialectVersion::from(dialect), true) {
            state.outbound(read.frame);
        }
    }
    state
}

/// Members whose values are the same in every dialect.
const SHARED: [SessionMember; 6] = [
    SessionMember::SessionId,
    SessionMember::SessionName,
    SessionMember::SteeringMode,
    SessionMember::FollowUpMode,
    SessionMember::Steering,
    SessionMember::FollowUp,
];

/// What both accounts know: the digest of each, with its text.
fn digests(of_client: &SessionState, of_server: &SessionState) -> [(u64, String); 2] {
    let both = |member: &SessionMember| of_client.is_known(*member) && of_server.is_known(*member);
    [of_client, of_server].map(|account| {
        let mut text = String::new();
        for member in SHARED.into_iter().filter(both) {
            text += &format!("{member:?}: {:?}\n", account.get(member));
        }
        if both(&SessionMember::Model) {
            let model = account.model().flatten().map(|model| (&model.provider, &model.id));
            text += &format!("model: {model:?}\n");
        }
        if both(&SessionMember::Messages) {
            let base = of_client.dialect().base();
            let seen = account.messages().unwrap_or_default().iter().filter(|it| it.kind().is_in(base));
            text += &seen.map(|message| format!("{}\n", said(message))).collect::<String>();
        }
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        (hasher.finish(), text)
    })
}

/// The role and the texts of a message.
fn said(message: &AgentMessage) -> String {
    let value = serde_json::to_value(message).unwrap_or_default();
    let content = match &value["content"] {
        serde_json::Value::Array(blocks) => {
            blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("|")
        }
        text => text.as_str().unwrap_or_default().to_owned(),
    };
    format!("{}: {content}", value["role"].as_str().unwrap_or_default())
}

/// Plays the conversation of a seed with a server and a client of these dialects.
///
/// # Errors
///
/// What one side breaks, with its recording; or the states in which both sides end, or what they know then, if that differs.
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
    let of_client = account(&passed, true, client);
    let [client_knows, server_knows] = digests(&of_client, &account(&passed, false, server));
    if client_knows.0 != server_knows.0 {
        let (client_knows, server_knows) = (client_knows.1, server_knows.1);
        let lines = passed.recording(true);
        return Err(format!("the client knows\n{client_knows}the server\n{server_knows}\n{lines}"));
    }
    Ok(())
}
