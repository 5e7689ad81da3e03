//! Records, findings and moments as the page gets them.

use super::{
    dispositions::Dispositions,
    facts::RecordFacts,
    frame_head::FrameHead,
    inspection::{Inspection, InspectionState},
    item_view::Frames as _,
    recording_file::{FileForm, RecordingFile, with_record},
    wire::{Dialog, FindingView, Moment, RecordDetail, RecordRow, Request, StateView, Transition},
};
use pi_rpc_files::harmless::{harmless, harmless_lines};
use pi_rpc_machine::State;
use pi_rpc_oracle::Finding;
use pi_rpc_recording::{Body, Direction, Record};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The most bytes of the text of a row, at the beginning and at the end.
const HEAD: usize = 320;
const TAIL: usize = 72;
/// Lines up to this length are read whole for a row.
const SMALL: usize = 64 * 1024;
/// What is read of longer ones.
const PROBE: usize = 4096;
/// The most bytes of a record's text.
pub const MAX_TEXT: usize = 1 << 20;
/// The most updates that are read for the text of one row.
const MAX_UPDATES: usize = 400;
/// The most characters of an id.
const MAX_ID: usize = 64;

/// The state for the page.
pub fn state_view(state: State) -> StateView {
    StateView {
        flow: state.flow.as_str().to_owned(),
        dialogs: state.dialogs as u32,
        shells: state.shell as u32,
        closing: state.closing,
        text: state.to_string(),
    }
}

/// What a row needs of the index, copied so that files are read without it.
struct RowFacts {
    number: u32,
    facts: RecordFacts,
    kind: String,
    name: Option<String>,
    session: Option<String>,
    from: Option<String>,
    findings: Vec<u32>,
    /// The updates that the row stands for, its own first.
    updates: Vec<RecordFacts>,
    last: u32,
}

fn row_facts(state: &InspectionState, number: u32, folds: bool) -> Option<RowFacts> {
    let index = &state.index;
    let facts = *index.record(number)?;
    let last = if folds { index.last_of_updates(number) } else { number };
    let updates = (number..=last).take(MAX_UPDATES).filter_map(|at| index.record(at).copied());
    let name = |at: u16| (at > 0).then(|| index.names().name(at).to_owned());
    Some(RowFacts {
        number,
        facts,
        kind: index.names().name(facts.kind).to_owned(),
        name: name(facts.name),
        session: name(facts.session),
        from: index.is_transition(number).then(|| index.state_at(number - 1).flow.as_str().to_owned()),
        findings: index.findings_about(number, number).collect(),
        updates: updates.collect(),
        last,
    })
}

/// The rows of these records. With `folds`, each stands for the updates that continue it, too.
pub fn rows(inspection: &Inspection, numbers: &[u32], folds: bool) -> Vec<RecordRow> {
    let (facts, file) = {
        let state = inspection.state();
        let facts = numbers.iter().filter_map(|number| row_facts(&state, *number, folds));
        let facts: Vec<RowFacts> = facts.collect();
        (facts, state.file_and_form())
    };
    let Some((file, form)) = file else { return Vec::new() };
    facts.into_iter().map(|facts| row(facts, &file, form)).collect()
}

fn row(about: RowFacts, file: &RecordingFile, form: FileForm) -> RecordRow {
    let text = match about.updates.as_slice() {
        [_, _, ..] => RowText::of_updates(&about.updates, file, form),
        _ => RowText::read(&about.facts, file, form),
    };
    let RowFacts { number, facts, kind, name, session, from, findings, last, .. } = about;
    RecordRow {
        record: number,
        last: (last > number).then_some(last),
        t: facts.t,
        dir: facts.direction(),
        text: text.text,
        length: text.length,
        whole: text.is_whole,
        r#type: name,
        kind,
        id: text.id.map(|id| harmless(&id.chars().take(MAX_ID).collect::<String>())),
        session,
        state: facts.state().to_string(),
        from,
        findings,
        item: facts.item(),
        cause: (facts.cause > 0).then_some(facts.cause),
    }
}

/// The text of a row.
struct RowText {
    text: String,
    length: u32,
    is_whole: bool,
    id: Option<String>,
}

impl RowText {
    fn read(facts: &RecordFacts, file: &RecordingFile, form: FileForm) -> Self {
        let span = facts.span as usize;
        if span > SMALL {
            return Self::probe(facts, file);
        }
        let line = file.read(facts.offset, span).unwrap_or_default();
        let read = with_record(form, &line, |record| {
            let id = FrameHead::of(record).and_then(|head| head.id());
            (record.body.bytes().to_vec(), id)
        });
        let (body, id) = read.unwrap_or_default();
        let (text, is_whole) = preview(&body);
        Self { text, length: body.len() as u32, is_whole, id }
    }

    /// The text that deltas have made so far; of other updates, which carry all that came before, the last one.
    fn of_updates(updates: &[RecordFacts], file: &RecordingFile, form: FileForm) -> Self {
        let mut text = String::new();
        for facts in updates.iter().filter(|facts| facts.span as usize <= SMALL) {
            let line = file.read(facts.offset, facts.span as usize).unwrap_or_default();
            let delta =
                with_record(form, &line, |record| FrameHead::of(record).and_then(|head| head.delta()));
            text += &delta.ok().flatten().unwrap_or_default();
            if text.len() > HEAD {
                text.truncate(text.floor_char_boundary(HEAD));
                text.push('…');
                break;
            }
        }
        match updates {
            [.., last] if text.is_empty() => Self::read(last, file, form),
            _ => Self { length: text.len() as u32, text: harmless(&text), is_whole: true, id: None },
        }
    }

    /// Of a long line only its beginning and its end are read.
    fn probe(facts: &RecordFacts, file: &RecordingFile) -> Self {
        let span = facts.span as usize;
        let head = file.read(facts.offset, PROBE).unwrap_or_default();
        let tail = file.read(facts.offset + (span - TAIL) as u64, TAIL).unwrap_or_default();
        const FRAME: &[u8] = b"\"frame\":";
        let start = memchr::memmem::find(&head, FRAME).map(|at| at + FRAME.len()).unwrap_or_default();
        let text = format!(
            "{} … {}",
            harmless(&lossy(&head[start..(start + HEAD).min(head.len())])),
            harmless(&lossy(&tail))
        );
        Self { text, length: (span - start) as u32, is_whole: false, id: None }
    }
}

/// Beginning and end of a line, and whether that is all of it.
fn preview(line: &[u8]) -> (String, bool) {
    if line.len() <= HEAD + TAIL {
        return (harmless(&lossy(line)), true);
    }
    let (head, tail) = (&line[..HEAD], &line[line.len() - TAIL..]);
    (format!("{} … {}", harmless(&lossy(head)), harmless(&lossy(tail))), false)
}

/// The text of a part of a line, without the pieces of characters at its ends.
fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    let start = bytes.iter().take(3).take_while(|byte| *byte & 0b1100_0000 == 0b1000_0000).count();
    let bytes = &bytes[start..];
    let whole = match str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => &bytes[..error.valid_up_to()],
        _ => bytes,
    };
    String::from_utf8_lossy(whole)
}

/// A record with everything that is known about it.
pub fn record_detail(inspection: &Inspection, number: u32) -> Option<RecordDetail> {
    let row = rows(inspection, &[number], false).pop()?;
    let line = inspection.line(number)?;
    let text = lossy(&line[..line.len().min(MAX_TEXT)]).into_owned();
    let shown = match serde_json::from_slice::<Value>(&line) {
        Ok(value) if line.len() <= MAX_TEXT => format!("{value:#}"),
        _ => text.clone(),
    };
    let shown = harmless_lines(&shown[..shown.floor_char_boundary(MAX_TEXT)]);
    let state = inspection.state();
    let index = &state.index;
    let findings = row.findings.iter().filter_map(|finding| finding_view(&state, *finding));
    Some(RecordDetail {
        text,
        cut: line.len() > MAX_TEXT,
        shown,
        shortened: index.record(number)?.is_shortened(),
        before: state_view(index.state_at(number - 1)),
        after: state_view(index.state_at(number)),
        transition: index.is_transition(number).then(|| transition(&state, number)).flatten(),
        findings: findings.collect(),
        row,
    })
}

/// The latest transition at or before a record.
pub fn transition(state: &InspectionState, number: u32) -> Option<Transition> {
    let index = &state.index;
    let (record, before) = index.transition_at(number)?;
    let facts = index.record(record)?;
    let by = index.names().name(facts.kind).to_owned();
    let arrows = pi_rpc_machine::arrows(state.spoken.base());
    let cut = arrows
        .iter()
        .filter(|arrow| arrow.cut && (arrow.from, arrow.to) == (before.flow, facts.flow()))
        .any(|arrow| arrow.kinds.iter().any(|kind| kind.to_string() == by));
    Some(Transition {
        record,
        from: before.flow.as_str().to_owned(),
        to: facts.flow().as_str().to_owned(),
        by,
        cut,
    })
}

/// The finding with this number.
pub fn finding_view(state: &InspectionState, number: u32) -> Option<FindingView> {
    let finding: &Finding = state.index.findings().get(number as usize)?;
    let violation = &finding.violation;
    let about = violation.rule.about();
    let difference = violation.difference.as_ref();
    Some(FindingView {
        finding: number,
        record: finding.record as u32,
        t: finding.t,
        rule: violation.rule.as_str().to_owned(),
        tier: violation.tier.as_str().to_owned(),
        text: about.sentence.to_owned(),
        source: about.sources.join("; "),
        side: about.side.as_str().to_owned(),
        kind: violation.kind.to_string(),
        state: violation.state.to_string(),
        expected: harmless(&violation.expected),
        pointer: difference.map(|difference| harmless(&difference.pointer)),
        got: harmless(&difference.map_or_else(
            || format!("{} in {}", violation.kind, violation.state),
            |difference| difference.got.clone(),
        )),
        wanted: difference.map(|difference| harmless(&difference.expected)),
        cause: state.index.record(finding.record as u32).map(|facts| facts.cause).filter(|cause| *cause > 0),
        session: finding.session.as_deref().map(harmless),
    })
}

/// The moment after a record.
pub fn moment(inspection: &Inspection, number: u32, dispositions: &Dispositions) -> Moment {
    let dialogs = dialogs_at(inspection, number, dispositions);
    let mut moment = moment_of_index(inspection, number, dispositions, dialogs);
    complete_requests(inspection, &mut moment.outstanding);
    moment
}

fn moment_of_index(
    inspection: &Inspection,
    number: u32,
    dispositions: &Dispositions,
    dialogs: Vec<Dialog>,
) -> Moment {
    let state = inspection.state();
    let index = &state.index;
    let number = number.min(index.len());
    let after = index.state_at(number);
    let requests = index.figures().requests();
    let before = requests.partition_point(|request| request.record <= number);
    let outstanding = requests[..before].iter().rev().take(MAX_SEARCHED);
    let outstanding = outstanding.filter(|request| request.response == 0 || request.response > number);
    let mut outstanding: Vec<Request> =
        outstanding.filter_map(|it| request_view(&state, it)).take(100).collect();
    outstanding.reverse();
    Moment {
        record: number,
        t: index.record(number).map(|facts| facts.t).unwrap_or_default(),
        state: state_view(after),
        transition: transition(&state, number),
        dialogs,
        outstanding,
        commands: dispositions.commands(after),
        figures: index.figures().figures_at(number),
    }
}

/// The most commands that are looked at for outstanding ones, the latest.
const MAX_SEARCHED: usize = 10_000;

/// A command with its response.
pub fn request_view(state: &InspectionState, request: &super::figures::RequestFacts) -> Option<Request> {
    let index = &state.index;
    let command = index.record(request.record)?;
    let response = index.record(request.response);
    Some(Request {
        record: request.record,
        response: response.map(|_| request.response),
        r#type: index.names().name(request.name).to_owned(),
        id: None,
        t: command.t,
        ms: response.map(|response| response.t - command.t),
        success: response.map(|_| request.is_success),
        error: None,
    })
}

/// Adds to commands what only their frames tell: ids and error texts.
pub fn complete_requests(inspection: &Inspection, requests: &mut [Request]) {
    for request in requests {
        let text =
            |value: &Value| value.as_str().map(|text| harmless(&text.chars().take(400).collect::<String>()));
        if let Some((_, command)) = frame_of(inspection, request.record) {
            request.id = text(&command["id"]);
        }
        let failed = request.response.filter(|_| request.success == Some(false));
        if let Some((_, response)) = failed.and_then(|record| frame_of(inspection, record)) {
            request.error = text(&response["error"]);
        }
    }
}

/// The dialogs that are open after a record.
pub fn dialogs_at(inspection: &Inspection, number: u32, dispositions: &Dispositions) -> Vec<Dialog> {
    let (open, now) = {
        let state = inspection.state();
        let now = state.index.record(number).map(|facts| facts.t).unwrap_or_default();
        let items = state.index.items();
        let dialogs = items.dialogs_at(number).into_iter();
        let open: Vec<(u32, u32, f64)> = dialogs
            .filter_map(|item| {
                let first = items.items().get(item as usize)?.first;
                Some((item, first, state.index.record(first)?.t))
            })
            .collect();
        (open, now)
    };
    let dialog = |(item, record, t): (u32, u32, f64)| {
        let request: Map<String, Value> = serde_json::from_slice(&inspection.line(record)?).ok()?;
        let text = |name: &str| request.get(name).and_then(Value::as_str).map(harmless_lines);
        let timeout = request.get("timeout").and_then(Value::as_f64);
        if timeout.is_some_and(|timeout| timeout > 0.0 && t + timeout < now) {
            return None;
        }
        let method = text("method").unwrap_or_default();
        let (definitions, answer) = dispositions.dialog_answers(&method);
        let options = request.get("options").and_then(Value::as_array);
        let option = |option: &Value| match option {
            Value::String(text) => harmless(text),
            other => harmless(other["label"].as_str().unwrap_or_default()),
        };
        Some(Dialog {
            record,
            item,
            id: request.get("id").and_then(Value::as_str).unwrap_or_default().to_owned(),
            method,
            title: text("title"),
            message: text("message"),
            options: options.map(|options| options.iter().map(option).collect()),
            placeholder: text("placeholder"),
            prefill: text("prefill"),
            timeout,
            definition: definitions.first().cloned().unwrap_or_default(),
            definitions,
            answer,
            request,
        })
    };
    open.into_iter().filter_map(dialog).collect()
}

/// The record of a line, as a scenario or a client has it.
pub fn frame_of(inspection: &Inspection, number: u32) -> Option<(Direction, Value)> {
    let direction = inspection.facts(number)?.direction();
    let value = serde_json::from_slice(&inspection.line(number)?).ok()?;
    Some((direction, value))
}

/// Whether the body of a record matches.
pub fn body_matches(form: FileForm, line: &[u8], matches: impl Fn(&[u8]) -> bool) -> bool {
    let of_record = |record: &Record<'_>| match &record.body {
        Body::Json(bytes) | Body::Raw(bytes) => matches(bytes),
    };
    with_record(form, line, of_record).unwrap_or_default()
}
