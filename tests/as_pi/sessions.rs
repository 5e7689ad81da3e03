//! Session files that pi and this server read from each other.
//!
//! Two releases of pi are installed from the npm registry below `target`, once. Without `npm` or a network nothing
//! is tested, which is told on stderr; `PI_RPC_REQUIRE_PEERS=1` makes that a failure.

use crate::peer_support::{self, Agent, Kind, Session, Words, conversation, files, fork, peer, vendor};
use rustix::process::Signal;
use serde_json::json;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// What a state tells of the session itself.
const OF_THE_SESSION: [&str; 5] = ["sessionName", "sessionId", "model", "thinkingLevel", "messageCount"];

/// The releases that files are exchanged with: of the dialect `pi`, and the last of its name.
fn peers() -> Option<[Words; 2]> {
    Some([peer("0.52.12")?, peer("0.73.1")?])
}

/// A copy of a session's file for one reader: pi writes into what it opens.
fn copy(file: &Path, reader: &Agent) -> PathBuf {
    let copy = reader.server.path("copy.jsonl");
    fs::copy(file, &copy).unwrap();
    copy
}

#[track_caller]
fn assert_same(reader: &mut Agent, session: &Session, writer: Kind) {
    let said = format!("written by {writer:?}, read by {:?}", reader.kind);
    assert_eq!(reader.messages(), session.messages, "{said}");
    let state = reader.state();
    for key in OF_THE_SESSION {
        assert_eq!(state[key], session.state[key], "{key}: {said}");
    }
}

#[test]
fn every_release_reads_every_session_file() {
    let Some(peers) = peers() else { return };
    let vendor = vendor();
    let kinds = [Kind::Ours, Kind::Pi(peers[0]), Kind::Pi(peers[1])];
    let written = kinds.map(|kind| conversation(Agent::start(kind, vendor.address, &[])));
    for kind in kinds {
        let mut reader = Agent::start(kind, vendor.address, &[]);
        for (writer, session) in written.iter().flat_map(|it| it.sessions.iter().map(|one| (it.kind, one))) {
            let file = copy(&session.file, &reader);
            reader.switch(&file);
            assert_same(&mut reader, session, writer);
            reader.ask(json!({ "type": "new_session" }));
        }
        reader.ends();
    }
    assert_eq!(vendor.refusals(), Vec::<String>::new());
}

#[test]
fn pi_reads_our_forks() {
    let Some(peers) = peers() else { return };
    let vendor = vendor();
    for peer in peers {
        let written = conversation(Agent::start(Kind::Pi(peer), vendor.address, &[]));
        let original = &written.sessions[0];
        let before = fs::read(&original.file).unwrap();
        let mut ours = Agent::start(Kind::Ours, vendor.address, &[]);
        ours.switch(&original.file);
        let forked = fork(&mut ours);
        assert_eq!(fs::read(&original.file).unwrap(), before);
        let mut copied =
            Agent::start(Kind::Ours, vendor.address, &["--fork", original.file.to_str().unwrap()]);
        copied.run("go on");
        let copied = (Session::of(&mut copied), copied.ends());
        let mut pi = Agent::start(Kind::Pi(peer), vendor.address, &[]);
        for session in [&forked, &copied.0] {
            pi.switch(&session.file);
            assert_same(&mut pi, session, Kind::Ours);
        }
        assert_eq!(copied.0.messages.len(), original.messages.len() + 2);
        pi.ends();
        ours.ends();
    }
    assert_eq!(vendor.refusals(), Vec::<String>::new());
}

#[test]
fn session_is_continued_by_all_in_turn() {
    let Some([old, new]) = peers() else { return };
    let vendor = vendor();
    let kinds = [Kind::Pi(old), Kind::Ours, Kind::Pi(new)];
    let mut agents = kinds.map(|kind| Agent::start(kind, vendor.address, &[]));
    let first = &mut agents[0];
    first.run("think");
    first.ask(json!({ "type": "set_model", "provider": "second", "modelId": "model" }));
    let (mut session, mut writer) = (Session::of(first), first.kind);
    first.ask(json!({ "type": "new_session" }));
    // Each of them after each of the others.
    for (next, prompt) in
        [(1, "work"), (2, "go on"), (0, "work"), (2, "think"), (1, "work"), (0, "go on"), (1, "end")]
    {
        let agent = &mut agents[next];
        let before = fs::read(&session.file).unwrap();
        agent.switch(&session.file);
        assert_same(agent, &session, writer);
        agent.run(prompt);
        let grown = Session::of(agent);
        assert_eq!(grown.messages[..session.messages.len()], session.messages, "{:?}", agent.kind);
        assert!(grown.messages.len() > session.messages.len(), "{:?}", agent.kind);
        assert!(fs::read(&session.file).unwrap().starts_with(&before), "{:?}", agent.kind);
        (session, writer) = (grown, agent.kind);
        agent.ask(json!({ "type": "new_session" }));
    }
    for agent in agents {
        agent.ends();
    }
    assert_eq!(vendor.refusals(), Vec::<String>::new());
}

#[test]
fn unanswered_prompt_survives_pi() {
    let Some(peers) = peers() else { return };
    let vendor = vendor();
    for peer in peers {
        let mut ours = Agent::start(Kind::Ours, vendor.address, &[]);
        ours.ask(json!({ "type": "set_session_name", "name": "Cut short" }));
        ours.prompt("wait");
        ours.until(|frame| frame["type"] == "message_end" && frame["message"]["role"] == "user");
        let cut = Session::of(&mut ours);
        ours.server.signal(Signal::KILL);
        let home = ours.ended();
        let asked = cut.messages.len();
        assert_eq!(asked, 1, "{:?}", cut.messages);

        let mut pi = Agent::start(Kind::Pi(peer), vendor.address, &[]);
        pi.switch(&cut.file);
        assert_same(&mut pi, &cut, Kind::Ours);
        pi.run("go on");
        let grown = Session::of(&mut pi);
        assert_eq!(grown.messages[..asked], cut.messages);
        assert_eq!(grown.messages.len(), asked + 2);
        let headers = peer_support::lines(&cut.file).into_iter().filter(|line| line["type"] == "session");
        assert_eq!(headers.count(), 2, "pi does no longer write a second header: this test is void");
        pi.ends();

        let mut ours = Agent::start(Kind::Ours, vendor.address, &["--session", cut.file.to_str().unwrap()]);
        assert_same(&mut ours, &grown, Kind::Pi(peer));
        let forks = ours.ask(json!({ "type": "get_fork_messages" }));
        let texts: Vec<_> = forks["messages"].as_array().unwrap().iter().map(|fork| &fork["text"]).collect();
        assert_eq!(texts, ["wait", "go on"], "nothing is doubled");
        ours.run("go on");
        let last = Session::of(&mut ours);
        assert_eq!(last.messages[..grown.messages.len()], grown.messages);
        ours.ends();

        let mut pi = Agent::start(Kind::Pi(peer), vendor.address, &[]);
        pi.switch(&last.file);
        assert_same(&mut pi, &last, Kind::Ours);
        pi.ends();
        drop(home);
    }
    assert_eq!(vendor.refusals(), Vec::<String>::new());
}

#[test]
fn old_and_damaged_files_are_read_alike() {
    let Some(peers) = peers() else { return };
    let vendor = vendor();
    let mut agents = [Kind::Pi(peers[0]), Kind::Pi(peers[1]), Kind::Ours]
        .map(|kind| Agent::start(kind, vendor.address, &[]));
    for (name, text, count, bridged) in files() {
        let read = agents.each_mut().map(|agent| {
            let path = agent.server.path(&format!("{name}.jsonl"));
            fs::write(&path, text(path.parent().unwrap())).unwrap();
            agent.switch(&path);
            let state = agent.state();
            let told = ["sessionName", "sessionId", "model", "thinkingLevel"].map(|key| state[key].clone());
            (agent.messages(), told)
        });
        assert_eq!(read[0].0.len(), count, "{name}: {:?}", read[0].0);
        assert_eq!(read[1], read[0], "{name}: the releases differ");
        let (messages, told) = &read[2];
        assert_eq!((&messages[bridged..], told), (&read[0].0[..], &read[0].1), "{name}: ours differs");
    }
    for agent in agents {
        agent.ends();
    }
}

#[test]
fn newest_session_of_pi_is_continued() {
    let Some(peers) = peers() else { return };
    let vendor = vendor();
    for peer in peers {
        let mut pi = Agent::start(Kind::Pi(peer), vendor.address, &[]);
        pi.run("think");
        pi.ask(json!({ "type": "new_session" }));
        pi.run("work");
        let session = Session::of(&mut pi);
        let home = pi.ends();
        let mut ours = Agent::start_in(home, Kind::Ours, vendor.address, &["--continue"]);
        assert_eq!(ours.file(), session.file);
        assert_same(&mut ours, &session, Kind::Pi(peer));
        ours.ends();
    }
}
