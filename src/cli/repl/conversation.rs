//! The conversation with the server: its state, what may be sent in it, and what is printed of each frame.

use super::{
    catalogue::Catalogue,
    frame_text::{bad, frame_text, remark},
    input::{DialogAnswer, LOCAL_COMMANDS},
};
use pi_rpc_client::{Permission, SessionState};
use pi_rpc_oracle::{Finding, View, WireJudge};
use pi_rpc_protocol::{
    AgentSessionEventKind, Dialect, DialectVersion, FlowState, Inbound, LineError, MemberValue, Outbound,
    RpcCommandKind, RpcExtensionUIRequest, SessionMember, read, read_line,
};
use pi_rpc_recording::{DialectSample, Direction, Meta, Record};
use serde_json::{Map, Value, json};
use std::{collections::HashMap, time::Instant};

/// The conversation with one server.
pub struct Conversation {
    dialect: Dialect,
    /// Records so far, while their dialect is not certain.
    undecided: Option<Undecided>,
    judge: WireJudge,
    session: SessionState,
    catalogue: Catalogue,
    began: Instant,
    /// The times of commands without response, by id.
    outstanding: HashMap<String, Instant>,
    commands: u64,
    frames: [u64; 2],
    findings: u64,
    shows_all: bool,
    /// Updates that were not shown since the last frame that was.
    hidden_updates: u64,
    status: Option<i32>,
}

/// The records of a conversation whose dialect was not told.
struct Undecided {
    sample: DialectSample,
    records: Vec<Record<'static>>,
}

/// The most records by which the dialect is found.
const MAX_UNDECIDED: usize = 512;

impl Conversation {
    /// A conversation with the server `argv`, in a dialect that was told or is found by the frames.
    pub fn begin(told: Option<DialectVersion>, argv: &[String]) -> Self {
        let spoken = told.unwrap_or(crate::cli::options::DEFAULT_DIALECT.into());
        let undecided = Undecided { sample: DialectSample::new(), records: Vec::new() };
        let mut conversation = Self {
            dialect: spoken.dialect,
            undecided: told.is_none().then_some(undecided),
            judge: WireJudge::new(spoken, View::Both),
            session: SessionState::new(spoken.dialect),
            catalogue: Catalogue::of(spoken.dialect),
            began: Instant::now(),
            outstanding: HashMap::new(),
            commands: 0,
            frames: [0; 2],
            findings: 0,
            shows_all: false,
            hidden_updates: 0,
            status: None,
        };
        let server = argv.first().map(String::as_str).unwrap_or_default();
        conversation.observe(&Record::meta(0.0, &Meta::Spawn { argv, dialect: None, server }));
        conversation
    }

    /// The commands of the dialect.
    pub const fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// The machine's state, for the prompt.
    pub fn state(&self) -> String {
        self.judge.state().to_string()
    }

    /// The exit status of the server, once it has ended.
    pub const fn status(&self) -> Option<i32> {
        self.status
    }

    /// Shows every frame whole from now on, or shortened and without updates.
    pub const fn show_all(&mut self, all: bool) {
        self.shows_all = all;
    }

    /// Whether every command has its response.
    pub fn has_responses(&self) -> bool {
        self.outstanding.is_empty()
    }

    /// Whether no run, compaction or command is under way; `None`: a prompt was accepted, and it is open whether a run begins.
    pub fn is_idle(&self) -> Option<bool> {
        match self.judge.state().flow {
            FlowState::Starting if self.has_responses() => None,
            flow => Some(flow == FlowState::Idle && self.has_responses()),
        }
    }

    /// The line of a command, with an id of its own.
    pub fn command_line(&mut self, mut frame: Map<String, Value>) -> String {
        self.commands += 1;
        frame.shift_insert(0, "id".to_owned(), self.commands.to_string().into());
        Value::Object(frame).to_string()
    }

    /// Why the server would refuse the line now, by its schema or its state; `None` if it would not.
    pub fn refusal(&self, line: &str) -> Option<String> {
        match read_line(line.as_bytes(), self.dialect) {
            Ok(Some(Inbound::Command(command))) => match self.session.permission(&command) {
                Permission::Allowed(_) => None,
                Permission::Refused(reason) => {
                    Some(format!("the server refuses `{}` in {}: {reason}", command.kind(), self.state()))
                }
            },
            Ok(_) => None,
            Err(LineError::Unknown { kind, .. }) => Some(format!("{} has no command `{kind}`", self.dialect)),
            Err(
                LineError::Parse { reason, .. }
                | LineError::Field { reason, .. }
                | LineError::Refused { reason, .. },
            ) => Some(reason),
        }
    }

    /// Whether the server would refuse a command of this name now, whatever its members.
    pub fn refuses(&self, name: &str) -> bool {
        let refused = |kind| self.session.refusal_of(kind).is_some();
        RpcCommandKind::parse(name).filter(|kind| kind.is_in(self.dialect.base())).is_some_and(refused)
    }

    /// The line that answers the oldest dialog.
    ///
    /// # Errors
    ///
    /// No dialog is open.
    pub fn dialog_line(&self, answer: DialogAnswer) -> Result<String, String> {
        let request = self.session.dialogs().first().ok_or("no dialog is open")?;
        let (name, value) = match answer {
            DialogAnswer::Value(text) => ("value", text.into()),
            DialogAnswer::Confirmed(confirmed) => ("confirmed", confirmed.into()),
            DialogAnswer::Cancelled => ("cancelled", true.into()),
        };
        let mut frame = json!({ "type": "extension_ui_response", "id": request.id() });
        frame[name] = value;
        Ok(frame.to_string())
    }

    /// Notes that a line is about to be sent, and that its response is outstanding if it is a command with an id.
    pub fn expect_response(&mut self, line: &[u8]) {
        let id =
            serde_json::from_slice::<Value>(line).ok().and_then(|frame| Some(frame.get("id")?.to_string()));
        let is_command = matches!(read_line(line, self.dialect), Ok(Some(Inbound::Command(_))) | Err(_));
        if let Some(id) = id.filter(|_| is_command) {
            self.outstanding.insert(id, Instant::now());
        }
    }

    /// Takes in a line that is sent. Returns what is printed.
    pub fn host_wrote(&mut self, line: &[u8]) -> Vec<String> {
        self.frames[0] += 1;
        self.expect_response(line);
        let shown = frame_text(Direction::In, line, self.shows_all);
        let found = self.observe(&Record::line(self.t(), Direction::In, line));
        self.after_updates([shown].into_iter().chain(found))
    }

    /// Takes in a line of the server. Returns what is printed.
    pub fn server_wrote(&mut self, line: &[u8]) -> Vec<String> {
        self.frames[1] += 1;
        let frame: Value = serde_json::from_slice(line).unwrap_or_default();
        let mut shown = frame_text(Direction::Out, line, self.shows_all);
        if frame["type"] == "response" {
            let sent = match frame.get("id").map(Value::to_string) {
                Some(id) => self.outstanding.remove(&id),
                // It is of one of them.
                None => self.outstanding.drain().map(|(_, sent)| sent).min(),
            };
            let took = sent.map(|sent| remark(&format!(" {:.1} ms", sent.elapsed().as_secs_f64() * 1000.0)));
            shown.push_str(&took.unwrap_or_default());
        }
        let found = self.observe(&Record::line(self.t(), Direction::Out, line));
        if is_update(&frame) && found.is_empty() && !self.shows_all {
            self.hidden_updates += 1;
            return Vec::new();
        }
        let dialog = read::<Outbound>(line, self.dialect).ok().and_then(|frame| dialog_help(&frame));
        self.after_updates([shown].into_iter().chain(dialog).chain(found))
    }

    /// Takes in a line of the server's stderr. Returns what is printed.
    pub fn server_logged(&mut self, line: &[u8]) -> Vec<String> {
        self.observe(&Record::line(self.t(), Direction::Err, line));
        vec![frame_text(Direction::Err, line, true)]
    }

    /// Takes in the end of the server's input. Returns what is printed.
    pub fn input_closed(&mut self) -> Vec<String> {
        self.observe(&Record::meta(self.t(), &Meta::StdinClosed))
    }

    /// Takes in the end of the server. Returns what is printed: the last findings, and the sums.
    pub fn server_ended(&mut self, status: i32) -> Vec<String> {
        self.status = Some(status);
        self.outstanding.clear();
        let mut said = self.observe(&Record::meta(self.t(), &Meta::Exit { code: status }));
        let findings = self.judge.finish();
        if !self.judge.is_server_silent() {
            said.extend(self.findings_text(&findings));
        }
        let [sent, received] = self.frames;
        let findings = match self.findings {
            0 => "nothing was found".to_owned(),
            1 => "one finding".to_owned(),
            count => format!("{count} findings"),
        };
        said.push(remark(&format!(
            "the server ended with status {status}; {sent} sent, {received} received, judged by {}: {findings}",
            self.dialect
        )));
        self.after_updates(said.into_iter())
    }

    /// A list of the commands, or the description of one.
    pub fn help(&self, name: Option<&str>) -> Vec<String> {
        let Some(name) = name else {
            let commands = self.catalogue.commands().iter();
            let mark = |name: &str| if self.refuses(name) { " (refused now)" } else { "" };
            let commands = commands.map(|it| format!("  {}{} {}", it.name, mark(&it.name), it.usage()));
            let local = LOCAL_COMMANDS.iter().map(|(name, about)| format!("  {name}: {about}"));
            let how = "COMMAND NAME=VALUE …, COMMAND TEXT or a frame as JSON; ! in front sends what is wrong or refused, too";
            return [format!("{}: {how}", self.dialect)].into_iter().chain(commands).chain(local).collect();
        };
        let Some(command) = self.catalogue.command(name) else {
            return vec![bad(&format!("{} has no command `{name}`", self.dialect))];
        };
        let members = command.members.iter().map(|it| {
            let needed = if it.is_required { ", required" } else { "" };
            format!("  {}{needed}: {}", it.name, it.description)
        });
        [format!("{}: {}", command.name, command.description)].into_iter().chain(members).collect()
    }

    /// What the frames say of the session.
    pub fn session_text(&self) -> Vec<String> {
        let known = SessionMember::ALL.into_iter().filter_map(|member| self.session.get(member));
        let mut said = vec![format!("{} in {}", self.dialect, self.state())];
        said.extend(known.map(|value: &MemberValue| {
            let text = serde_json::to_vec(value).unwrap_or_default();
            format!(
                "  {}: {}",
                value.member().as_str(),
                &frame_text(Direction::Out, &text, false)["← ".len()..]
            )
        }));
        said
    }

    /// Takes in a record. Returns findings, and a remark if it shows another dialect.
    fn observe(&mut self, record: &Record<'_>) -> Vec<String> {
        let mut said: Vec<String> = self.find_dialect(record).into_iter().collect();
        let findings = self.take(record);
        said.extend(self.findings_text(&findings));
        said
    }

    fn take(&mut self, record: &Record<'_>) -> Vec<Finding> {
        let line = record.body.bytes();
        match record.direction {
            Direction::In => {
                if let Ok(Some(frame)) = read_line(line, self.dialect) {
                    self.session.inbound(&frame);
                }
            }
            Direction::Out => {
                if let Ok(frame) = read(line, self.dialect) {
                    self.session.outbound(frame);
                }
            }
            Direction::Err | Direction::Meta => {}
        }
        self.judge.observe(record)
    }

    /// Changes to the dialect that the record shows, and takes in once more what was before it.
    fn find_dialect(&mut self, record: &Record<'_>) -> Option<String> {
        let Undecided { sample, records } = self.undecided.as_mut()?;
        sample.add(records.len() as u64, record);
        let found = sample.found();
        let is_other = found.dialect != self.dialect;
        if !is_other {
            records.push(record.to_static());
            if sample.is_decided() || records.len() >= MAX_UNDECIDED {
                self.undecided = None;
            }
            return None;
        }
        let earlier = std::mem::take(records);
        self.dialect = found.dialect;
        self.judge = WireJudge::new(found.spoken(), View::Both);
        self.session = SessionState::new(found.dialect);
        self.catalogue = Catalogue::of(found.dialect);
        for record in &earlier {
            // What was found then was printed then.
            self.take(record);
        }
        if let Some(undecided) = &mut self.undecided {
            undecided.records = earlier;
            undecided.records.push(record.to_static());
        }
        Some(remark(&found.remark("record")))
    }

    fn findings_text(&mut self, findings: &[Finding]) -> Vec<String> {
        self.findings += findings.len() as u64;
        let text = |finding: &Finding| {
            let violation = &finding.violation;
            let (tier, rule, kind, state) = (violation.tier, violation.rule, violation.kind, violation.state);
            bad(&format!("{tier} {rule}: {kind} in {state}: expected {}", violation.expectation()))
        };
        findings.iter().map(text).collect()
    }

    /// What is printed, behind a line about the updates before it.
    fn after_updates(&mut self, said: impl Iterator<Item = String>) -> Vec<String> {
        let hidden = std::mem::take(&mut self.hidden_updates);
        let updates = (hidden > 0).then(|| remark(&format!("← {hidden} updates")));
        updates.into_iter().chain(said).collect()
    }

    fn t(&self) -> f64 {
        self.began.elapsed().as_secs_f64() * 1000.0
    }
}

/// Whether a frame only continues a message, a tool or a shell.
fn is_update(frame: &Value) -> bool {
    use AgentSessionEventKind as Event;
    let updates = [Event::MessageUpdate, Event::ToolExecutionUpdate, Event::BashExecutionUpdate];
    updates.iter().any(|event| frame["type"] == event.as_str())
}

/// How a dialog is answered here.
fn dialog_help(frame: &Outbound) -> Option<String> {
    let Outbound::ExtensionUIRequest(request) = frame else { return None };
    let how = match request {
        RpcExtensionUIRequest::Select(_) => ".answer OPTION or .cancel",
        RpcExtensionUIRequest::Confirm(_) => ".yes, .no or .cancel",
        RpcExtensionUIRequest::Input(_) | RpcExtensionUIRequest::Editor(_) => ".answer TEXT or .cancel",
        _ => return None,
    };
    Some(remark(&format!("  it waits for {how}")))
}
