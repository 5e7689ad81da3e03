//! Recordings of servers, translated for clients of other dialects, are legal there.

use pi_rpc::{
    front::{ClientDetection, Front, Output},
    oracle::JudgeOptions,
    protocol::{Dialect, Tier, read_line},
};
use serde_json::{Value, json};
use std::{fs, path::Path};

/// Dialects with recordings.
const SERVERS: [Dialect; 4] = [Dialect::Pi, Dialect::Pi1, Dialect::Xcsh, Dialect::Omp];

const CLIENTS: [Dialect; 2] = [Dialect::Pi, Dialect::Pi1];

/// What a front does not change: server, client, recording, rule and reason.
const DECIDED_BY_SERVER: [(Dialect, Dialect, &str, &str, &str); 1] = [(
    Dialect::Xcsh,
    Dialect::Pi,
    "queues.jsonl",
    "skip-cause",
    "the host of this recording lets steering wait (`interruptMode`), and calls are not skipped for it",
)];

/// Beginning of the ids of the front's own commands.
const OWN: &str = "pi-rpc-front-";

/// A record of a recording: the direction, the time, and the frame, or what else was seen.
type Record = (Way, u64, Value);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    In,
    Out,
    Meta,
}

fn records(path: &Path) -> Option<Vec<Record>> {
    let text = fs::read_to_string(path).unwrap();
    let mut records = Vec::new();
    for line in text.lines() {
        let record: Value = serde_json::from_str(line).ok()?;
        let at = record["t"].as_f64().unwrap_or_default() as u64;
        match (record["dir"].as_str(), record.get("frame")) {
            (Some("in"), Some(frame)) => records.push((Way::In, at, frame.clone())),
            (Some("out"), Some(frame)) => records.push((Way::Out, at, frame.clone())),
            (Some("meta"), Some(event)) => records.push((Way::Meta, at, event.clone())),
            // Lines that are no frames.
            _ => return None,
        }
    }
    Some(records)
}

/// The front, and the recording of its client.
struct Translation {
    front: Front,
    at: u64,
    of_client: String,
    /// Ids of questions that the server has not answered.
    questions: Vec<Value>,
    /// Commands that the server was sent.
    sent: Vec<Value>,
    /// Whether a question has no answer in the recording.
    is_unanswered: bool,
}

impl Translation {
    fn take(&mut self, output: &Output) {
        let frames = |bytes: &[u8]| -> Vec<Value> {
            String::from_utf8_lossy(bytes).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
        };
        for frame in frames(&output.to_client) {
            self.of_client += &format!("{}\n", json!({ "t": self.at, "dir": "out", "frame": frame }));
        }
        for frame in frames(&output.to_server) {
            match frame["id"].as_str().is_some_and(|id| id.starts_with(OWN)) {
                true => self.questions.push(frame),
                false => self.sent.push(frame),
            }
        }
    }

    /// The server answers what it was asked by the front, behind all that it has begun by itself.
    fn answer(&mut self, state: &Value) {
        for question in std::mem::take(&mut self.questions) {
            // Nobody recorded what the server would have answered.
            self.is_unanswered |= question["type"] == "get_messages";
            if question["type"] == "get_state" {
                let mut response = state.clone();
                response["id"] = question["id"].clone();
                (response["data"]["isStreaming"], response["data"]["isCompacting"]) =
                    (false.into(), false.into());
                let mut output = Output::default();
                self.front.server_line(response.to_string().as_bytes(), &mut output);
                self.take(&output);
            }
        }
    }
}

/// The recording of the client's side; `None`: the client's dialect cannot say what the host said, or the front would have sent
/// something else at another time.
fn translated(records: &[Record], state: &Value, server: Dialect, client: Dialect) -> Option<String> {
    let (questions, sent) = (Vec::new(), Vec::new());
    let mut made = Translation {
        front: Front::new(server.into(), client),
        at: 0,
        of_client: String::new(),
        questions,
        sent,
        is_unanswered: false,
    };
    let mut has_started = false;
    for (way, at, frame) in records {
        made.at = *at;
        let mut output = Output::default();
        let line = frame.to_string();
        if *way == Way::Meta {
            // The file is that of the server.
            if frame["event"] == "session file" {
                continue;
            }
            let mut event = frame.clone();
            if event.get("dialect").is_some() {
                event["dialect"] = client.as_str().into();
            }
            made.of_client += &format!("{}\n", json!({ "t": at, "dir": "meta", "frame": event }));
            if !std::mem::replace(&mut has_started, true) {
                made.front.start(&mut output);
                made.take(&output);
            }
        } else if *way == Way::In {
            made.answer(state);
            read_line(line.as_bytes(), client).ok()??;
            made.of_client += &format!("{}\n", json!({ "t": at, "dir": "in", "frame": frame }));
            made.front.client_line(line.as_bytes(), &mut output);
            made.take(&output);
            let last =
                made.sent.pop().filter(|sent| sent["type"] == frame["type"] && sent["id"] == frame["id"]);
            last.filter(|_| made.sent.is_empty())?;
        } else {
            made.front.server_line(line.as_bytes(), &mut output);
            made.take(&output);
            if !made.sent.is_empty() {
                return None;
            }
        }
    }
    made.answer(state);
    (!made.is_unanswered).then_some(made.of_client)
}

#[test]
fn recordings_are_legal_in_other_dialects() {
    let (mut judged, mut skipped, mut wrong) = (0, 0, Vec::new());
    for server in SERVERS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/valid").join(server.as_str());
        let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
        files.sort();
        let all: Vec<_> = files.iter().filter_map(|path| Some((path, records(path)?))).collect();
        let is_state = |(way, _, frame): &&Record| {
            *way == Way::Out && frame["command"] == "get_state" && frame["success"] == true
        };
        let state = all
            .iter()
            .flat_map(|(_, records)| records)
            .find(is_state)
            .map(|(_, _, frame)| frame.clone())
            .unwrap();
        for client in CLIENTS.into_iter().filter(|client| client.base() != server.base()) {
            for (path, records) in &all {
                let file = path.file_name().unwrap().to_string_lossy();
                let Some(recording) = translated(records, &state, server, client) else {
                    skipped += 1;
                    continue;
                };
                judged += 1;
                let options = JudgeOptions { dialect: Some(client.into()), timeline: false };
                let subject = options.judge("front", recording.as_bytes());
                let is_of_server = |number: u64| {
                    recording
                        .lines()
                        .nth(number as usize - 1)
                        .is_some_and(|line| line.contains("\"dir\":\"out\""))
                };
                let strict = subject
                    .findings
                    .iter()
                    .filter(|found| found.tier != Tier::Observed && is_of_server(found.record));
                let is_decided = |rule: &str| {
                    DECIDED_BY_SERVER.iter().any(|(from, to, name, known, _)| {
                        (*from, *to, *name, *known) == (server, client, &*file, rule)
                    })
                };
                let strict = strict.filter(|found| !is_decided(&found.rule.to_string()));
                wrong.extend(strict.map(|found| {
                    format!(
                        "{server} → {client} {file}: {} at line {}: {} {}",
                        found.rule, found.record, found.kind, found.expected
                    )
                }));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {judged}, {skipped} skipped\n{}", wrong.len(), wrong.join("\n"));
    assert!(judged > 40, "{judged} of {}", judged + skipped);
}

#[test]
fn recorded_clients_keep_their_dialect() {
    let mut shown = 0;
    for server in SERVERS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/valid").join(server.as_str());
        for file in fs::read_dir(folder).unwrap().map(|file| file.unwrap()) {
            // Commands that no server of the dialect has are not those of its clients.
            if file.file_name() == "refusals.jsonl" {
                continue;
            }
            let mut detection = ClientDetection::new();
            for (way, _, frame) in records(&file.path()).unwrap_or_default() {
                if way == Way::In {
                    detection.client_line(frame.to_string().as_bytes());
                }
            }
            assert!(detection.may_be(server), "{server} {}", file.path().display());
            shown += usize::from(!detection.is_open());
        }
    }
    assert!(shown > 10, "{shown}");
}
