//! The answers to the page's requests.

use super::live;
use crate::{
    app::{App, lock},
    copies::{CopyForm, copied},
    item_page::{item_views, whole_item},
    item_view::ItemScope,
    page,
    record_filter::FilterQuery,
    rows::{MAX_TEXT, complete_requests, finding_view, frame_of, moment, record_detail, request_view, rows},
    timing_view::timing,
    wire::{
        AttachRequest, DialectRequest, Failure, FindingPage, HostSessions, Item, ItemPage, MatchCount,
        Problem, ProcessRequest, RecordPage, RequestPage, ScriptBody, SendRequest, Sent,
    },
};
use axum::{
    Json, Router,
    body::Body,
    extract::{DefaultBodyLimit, Path, Query, State, rejection::JsonRejection, ws::WebSocketUpgrade},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post, put},
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use pi_rpc_export::chart_drawing;
use pi_rpc_oracle::{Expectations, JudgeOptions, report::Report};
use pi_rpc_protocol::{DialectVersion, Tier};
use serde::{Deserialize, Serialize};
use std::{io::BufReader, io::Read as _, sync::Arc};

/// The longest line that the page may send, in bytes.
const MAX_BODY: usize = 64 << 20;
/// The most records, items, findings and commands of a page.
const MAX_RECORDS: u32 = 1000;
const MAX_ITEMS: u32 = 200;
const MAX_FINDINGS: u32 = 500;
const MAX_REQUESTS: u32 = 1000;
/// The first matches whose numbers a count has.
const MAX_NUMBERS: usize = 10_000;
/// The most records of one copy.
const MAX_COPIED: u32 = 1000;

/// A request failed.
struct Refused(StatusCode, Failure);

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        (self.0, Json(self.1)).into_response()
    }
}

impl Refused {
    fn new(status: StatusCode, error: impl ToString) -> Self {
        Self(status, Failure { error: error.to_string(), problems: Vec::new() })
    }

    fn not_found(what: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, format!("{what}: there is none"))
    }

    fn bad(error: impl ToString) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error)
    }
}

type Shared = State<Arc<App>>;

/// The routes below the token.
pub fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/", get(index_page))
        .route("/{file}", get(page_file))
        .route("/api/session", get(async |State(app): Shared| Json(app.session())))
        .route("/api/live", get(follow))
        .route("/api/protocol", get(protocol))
        .route("/api/schema", get(schema))
        .route("/api/meta", get(meta))
        .route("/api/chart.svg", get(chart))
        .route("/api/records", get(records))
        .route("/api/count", get(count))
        .route("/api/records/{record}", get(record))
        .route("/api/records/{record}/text", get(record_text))
        .route("/api/records/{record}/image", get(record_image))
        .route("/api/state/{record}", get(moment_at))
        .route("/api/items", get(items))
        .route("/api/items/{item}", get(item))
        .route("/api/findings", get(findings))
        .route("/api/timing", get(timings))
        .route("/api/requests", get(requests))
        .route("/api/copy/{record}", get(copy))
        .route("/api/send", post(send))
        .route("/api/validate", post(validate))
        .route("/api/process", post(process))
        .route("/api/dialect", post(dialect))
        .route("/api/sessions", get(sessions))
        .route("/api/attach", post(attach))
        .route("/api/scripts", get(async |State(app): Shared| Json(app.scripts())))
        .route("/api/scripts/{name}", put(save_script).delete(remove_script))
        .route("/api/scripts/{name}/run", post(run_script))
        .route("/api/report", get(report))
        .route("/api/report.html", get(report_page))
        .route("/api/recording", get(recording))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(app)
}

async fn index_page() -> Response {
    page_file(Path("index.html".to_owned())).await
}

async fn page_file(Path(name): Path<String>) -> Response {
    match page::FILES.iter().find(|(known, ..)| *known == name) {
        Some((_, media_type, text)) => ([(header::CONTENT_TYPE, *media_type)], *text).into_response(),
        None => Refused::not_found(&name).into_response(),
    }
}

/// Answers from files, beside everything else.
async fn blocking<T: Send + 'static>(
    app: Arc<App>,
    work: impl FnOnce(&App) -> Result<T, Refused> + Send + 'static,
) -> Result<T, Refused> {
    let done = tokio::task::spawn_blocking(move || work(&app)).await;
    done.unwrap_or_else(|error| Err(Refused::new(StatusCode::INTERNAL_SERVER_ERROR, error)))
}

async fn follow(State(app): Shared, upgrade: WebSocketUpgrade) -> Response {
    upgrade.on_upgrade(move |socket| live::serve(app, socket))
}

async fn protocol(State(app): Shared) -> impl IntoResponse {
    Json(app.dispositions().protocol())
}

async fn schema(State(app): Shared) -> Response {
    Json(app.dispositions().schema()).into_response()
}

async fn meta(State(app): Shared) -> Response {
    Json(app.dispositions().meta()).into_response()
}

async fn chart(State(app): Shared) -> Response {
    let dialect = app.inspection.state().spoken.dialect;
    ([(header::CONTENT_TYPE, "image/svg+xml")], chart_drawing(dialect)).into_response()
}

/// Which part of a list.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
struct Part {
    from: Option<u32>,
    count: Option<u32>,
    back: Option<u32>,
    /// The position in the filtered list.
    pos: Option<u32>,
    /// The record at or after which the page begins; where updates are folded, with the row that stands for it.
    near: Option<u32>,
    /// The record after which the list is as it is to be shown.
    at: Option<u32>,
}

async fn records(
    State(app): Shared,
    Query(part): Query<Part>,
    Query(filter): Query<FilterQuery>,
) -> Result<Json<RecordPage>, Refused> {
    blocking(app, move |app| record_page(app, part, filter)).await.map(Json)
}

fn record_page(app: &App, part: Part, filter: FilterQuery) -> Result<RecordPage, Refused> {
    let count = part.count.unwrap_or(MAX_ITEMS).clamp(1, MAX_RECORDS);
    let total = app.inspection.state().index.len();
    let page = |position: u32,
                matches: u32,
                complete: bool,
                folds: bool,
                number: &dyn Fn(u32) -> Option<u32>| {
        let end = position.saturating_add(count).min(matches);
        let numbers: Vec<u32> = (position..end).filter_map(number).collect();
        let next = match part.back.is_some() {
            true => position.checked_sub(1).and_then(number),
            false => number(end).filter(|_| end < matches),
        };
        RecordPage { rows: rows(&app.inspection, &numbers, folds), next, position, matches, complete, total }
    };
    // The position of the first match at or after a record, among all matches.
    let position = |first_from: &dyn Fn(u32) -> u32, matches: u32| match (part.pos, part.near, part.from) {
        (Some(position), ..) => position.min(matches),
        (None, Some(near), _) => first_from(near).min(matches.saturating_sub(1)),
        (None, None, from) if part.back.is_some() => {
            first_from(from.map_or(u32::MAX, |from| from.saturating_add(1))).saturating_sub(count)
        }
        (None, None, from) => first_from(from.unwrap_or(1)),
    };
    if filter.is_empty() {
        let first = |record: u32| record.saturating_sub(1).min(total);
        return Ok(page(position(&first, total), total, true, false, &|at| Some(at + 1)));
    }
    let view = app.filtered(filter).map_err(Refused::bad)?;
    let (matches, scanned, folds) = {
        let view = lock(&view);
        (view.matches().to_vec(), view.scanned(), view.folds())
    };
    let first = |record: u32| match folds {
        true => matches.partition_point(|known| *known <= record).saturating_sub(1) as u32,
        false => matches.partition_point(|known| *known < record) as u32,
    };
    let known = matches.len() as u32;
    let number = |at: u32| matches.get(at as usize).copied();
    Ok(page(position(&first, known), known, scanned >= total, folds, &number))
}

async fn count(State(app): Shared, Query(filter): Query<FilterQuery>) -> Result<Json<MatchCount>, Refused> {
    let count = |app: &App| {
        let total = app.inspection.state().index.len();
        let view = app.filtered(filter).map_err(Refused::bad)?;
        let view = lock(&view);
        Ok(MatchCount {
            matches: view.matches().len() as u32,
            numbers: view.matches().iter().take(MAX_NUMBERS).copied().collect(),
            next: (view.scanned() < total).then(|| view.scanned() + 1),
        })
    };
    blocking(app, count).await.map(Json)
}

async fn record(State(app): Shared, Path(record): Path<u32>) -> Result<Response, Refused> {
    let detail = move |app: &App| {
        record_detail(&app.inspection, record).ok_or_else(|| Refused::not_found(&format!("record {record}")))
    };
    blocking(app, detail).await.map(|detail| Json(detail).into_response())
}

async fn record_text(State(app): Shared, Path(record): Path<u32>) -> Result<Response, Refused> {
    let line = move |app: &App| {
        app.inspection.line(record).ok_or_else(|| Refused::not_found(&format!("record {record}")))
    };
    let line = blocking(app, line).await?;
    Ok(([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], line).into_response())
}

#[derive(Deserialize)]
struct ImagePlace {
    /// A JSON pointer to the block.
    at: String,
}

/// Media types of images that are shown; anything else is downloaded.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

async fn record_image(
    State(app): Shared,
    Path(record): Path<u32>,
    Query(place): Query<ImagePlace>,
) -> Result<Response, Refused> {
    let image = move |app: &App| {
        let (_, frame) = frame_of(&app.inspection, record).ok_or_else(|| Refused::not_found("image"))?;
        let block = frame.pointer(&place.at).ok_or_else(|| Refused::not_found("image"))?;
        let data = block["data"].as_str().unwrap_or_default();
        let bytes = BASE64_STANDARD.decode(data).map_err(|error| Refused::bad(format!("`data`: {error}")))?;
        let named = block["mimeType"].as_str().unwrap_or_default();
        Ok((IMAGES.into_iter().find(|known| *known == named), bytes))
    };
    let (media_type, bytes) = blocking(app, image).await?;
    Ok(match media_type {
        Some(media_type) => ([(header::CONTENT_TYPE, media_type)], bytes).into_response(),
        None => download("application/octet-stream", "image", Body::from(bytes)),
    })
}

async fn moment_at(State(app): Shared, Path(record): Path<u32>) -> Result<Response, Refused> {
    let view = move |app: &App| Ok(moment(&app.inspection, record, &app.dispositions()));
    blocking(app, view).await.map(|moment| Json(moment).into_response())
}

async fn items(State(app): Shared, Query(part): Query<Part>) -> Result<Json<ItemPage>, Refused> {
    blocking(app, move |app| Ok(item_page(app, part))).await.map(Json)
}

fn item_page(app: &App, part: Part) -> ItemPage {
    let count = part.count.unwrap_or(50).clamp(1, MAX_ITEMS);
    let (chosen, first, total, at) = {
        let state = app.inspection.state();
        let at = part.at.unwrap_or(u32::MAX).min(state.index.len());
        let all = state.index.items().items();
        let total = all.partition_point(|facts| facts.first <= at) as u32;
        let first = match part.back.is_some() {
            true => part.from.map_or(total, |from| from.saturating_add(1)).min(total).saturating_sub(count),
            false => part.from.unwrap_or(0).min(total),
        };
        let last = first.saturating_add(count).min(total);
        (all[first as usize..last as usize].to_vec(), first, total, at)
    };
    let end = first + chosen.len() as u32;
    let chosen: Vec<_> = (first..).zip(chosen).collect();
    let items = item_views(&app.inspection, &chosen, at);
    let next = match part.back.is_some() {
        true => first.checked_sub(1),
        false => (end < total).then_some(end),
    };
    ItemPage { items, next, total }
}

async fn item(
    State(app): Shared,
    Path(number): Path<u32>,
    Query(part): Query<Part>,
) -> Result<Json<Item>, Refused> {
    let view = move |app: &App| {
        let (facts, at) = {
            let state = app.inspection.state();
            let facts = state.index.items().items().get(number as usize).copied();
            (facts, part.at.unwrap_or(u32::MAX).min(state.index.len()))
        };
        let facts = facts.ok_or_else(|| Refused::not_found(&format!("item {number}")))?;
        Ok(whole_item(&app.inspection, &facts, ItemScope { number, at, limit: MAX_TEXT }))
    };
    blocking(app, view).await.map(Json)
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct FindingQuery {
    rule: Option<String>,
}

async fn findings(
    State(app): Shared,
    Query(part): Query<Part>,
    Query(FindingQuery { rule }): Query<FindingQuery>,
) -> Json<FindingPage> {
    let count = part.count.unwrap_or(100).clamp(1, MAX_FINDINGS) as usize;
    let state = app.inspection.state();
    let all = state.index.findings();
    let from = part.from.unwrap_or(0);
    let is_wanted =
        |number: &u32| rule.as_ref().is_none_or(|rule| all[*number as usize].violation.rule.as_str() == rule);
    let mut numbers = (from..all.len() as u32).filter(is_wanted);
    let page: Vec<_> =
        numbers.by_ref().take(count).filter_map(|number| finding_view(&state, number)).collect();
    let next = numbers.next();
    let by_rule = state.index.finding_counts(state.spoken);
    Json(FindingPage { findings: page, next, total: all.len() as u32, by_rule })
}

async fn timings(State(app): Shared) -> Response {
    let state = app.inspection.state();
    Json(timing(&state)).into_response()
}

async fn requests(State(app): Shared, Query(part): Query<Part>) -> Result<Json<RequestPage>, Refused> {
    let from = part.from.unwrap_or(0) as usize;
    let count = part.count.unwrap_or(100).clamp(1, MAX_REQUESTS) as usize;
    let page = move |app: &App| {
        let mut page = {
            let state = app.inspection.state();
            let all = state.index.figures().requests();
            let chosen = all.iter().skip(from).take(count);
            let requests = chosen.filter_map(|request| request_view(&state, request)).collect();
            let next = (from + count < all.len()).then(|| (from + count) as u32);
            RequestPage { requests, next, total: all.len() as u32 }
        };
        complete_requests(&app.inspection, &mut page.requests);
        Ok(page)
    };
    blocking(app, page).await.map(Json)
}

#[derive(Deserialize)]
struct CopyQuery {
    r#as: String,
    to: Option<u32>,
}

async fn copy(
    State(app): Shared,
    Path(record): Path<u32>,
    Query(query): Query<CopyQuery>,
) -> Result<Response, Refused> {
    let form = CopyForm::parse(&query.r#as)
        .ok_or_else(|| Refused::bad(format!("as={}: expected {}", query.r#as, CopyForm::NAMES)))?;
    let copy = move |app: &App| {
        let last = query.to.unwrap_or(record).min(record.saturating_add(MAX_COPIED));
        let frames: Vec<_> = (record..=last).filter_map(|number| frame_of(&app.inspection, number)).collect();
        if frames.is_empty() {
            return Err(Refused::not_found(&format!("frame in record {record}")));
        }
        let dialect = app.inspection.state().spoken.dialect;
        Ok(copied(form, dialect, &app.server_command(), &frames))
    };
    blocking(app, copy).await.map(|copied| Json(copied).into_response())
}

/// The body of a request.
fn body<T>(body: Result<Json<T>, JsonRejection>) -> Result<T, Refused> {
    body.map(|Json(body)| body).map_err(|error| Refused::bad(error.body_text()))
}

async fn send(
    State(app): Shared,
    request: Result<Json<SendRequest>, JsonRejection>,
) -> Result<Json<Sent>, Refused> {
    let SendRequest { line, force } = body(request)?;
    if line.contains(['\n', '\r']) {
        return Err(Refused::bad("line: expected one line, got a line feed"));
    }
    if !force {
        let problems = problems(&app, line.clone()).await?.problems;
        if !problems.is_empty() {
            let failure = Failure { error: "the line is no frame of the dialect".to_owned(), problems };
            return Err(Refused(StatusCode::UNPROCESSABLE_ENTITY, failure));
        }
    }
    let after = app.inspection.state().index.len();
    app.send(line).await.map_err(|error| Refused::new(StatusCode::CONFLICT, error))?;
    Ok(Json(Sent { after }))
}

async fn problems(app: &Arc<App>, line: String) -> Result<crate::wire::Problems, Refused> {
    let check = move |app: &App| {
        let state = {
            let state = app.inspection.state();
            state.index.state_at(state.index.len())
        };
        Ok(app.dispositions().problems(&line, state))
    };
    blocking(app.clone(), check).await
}

async fn validate(
    State(app): Shared,
    request: Result<Json<SendRequest>, JsonRejection>,
) -> Result<Response, Refused> {
    let SendRequest { line, .. } = body(request)?;
    let mut found = problems(&app, line.clone()).await?;
    if line.contains(['\n', '\r']) && found.problems.is_empty() {
        let text = "expected one line, got a line feed".to_owned();
        found.problems.push(Problem { pointer: String::new(), text, at: None });
    }
    Ok(Json(found).into_response())
}

async fn process(
    State(app): Shared,
    request: Result<Json<ProcessRequest>, JsonRejection>,
) -> Result<Response, Refused> {
    let ProcessRequest { action } = body(request)?;
    app.act(action).await.map_err(|error| Refused::new(StatusCode::CONFLICT, error))?;
    Ok(Json(app.session()).into_response())
}

async fn dialect(
    State(app): Shared,
    request: Result<Json<DialectRequest>, JsonRejection>,
) -> Result<Response, Refused> {
    let DialectRequest { dialect } = body(request)?;
    let known = DialectVersion::parse(&dialect);
    let known = known.ok_or_else(|| Refused::bad(format!("dialect: {dialect:?} is unknown")))?;
    app.inspection.judge_by(known);
    Ok(Json(app.session()).into_response())
}

async fn sessions(State(app): Shared) -> Result<Json<HostSessions>, Refused> {
    let sessions = app.host_sessions().await;
    sessions
        .map(|sessions| Json(HostSessions { sessions }))
        .map_err(|error| Refused::new(StatusCode::NOT_FOUND, error))
}

async fn attach(
    State(app): Shared,
    request: Result<Json<AttachRequest>, JsonRejection>,
) -> Result<Response, Refused> {
    let AttachRequest { session } = body(request)?;
    app.attach(session).map_err(|error| Refused::new(StatusCode::CONFLICT, error))?;
    Ok(Json(app.session()).into_response())
}

async fn save_script(
    State(app): Shared,
    Path(name): Path<String>,
    request: Result<Json<ScriptBody>, JsonRejection>,
) -> Result<Response, Refused> {
    let ScriptBody { lines } = body(request)?;
    app.scripts.save(&name, &lines).map_err(Refused::bad)?;
    Ok(Json(app.scripts()).into_response())
}

async fn remove_script(State(app): Shared, Path(name): Path<String>) -> Result<Response, Refused> {
    app.scripts.remove(&name).map_err(|error| Refused::new(StatusCode::NOT_FOUND, error))?;
    Ok(Json(app.scripts()).into_response())
}

async fn run_script(State(app): Shared, Path(name): Path<String>) -> Result<Response, Refused> {
    app.run_script(&name).map_err(|error| Refused::new(StatusCode::CONFLICT, error))?;
    Ok(Json(app.scripts()).into_response())
}

/// The report of `check` about the recording as it is now.
fn make_report(app: &App) -> Result<Report, Refused> {
    let (file, spoken, done) = {
        let state = app.inspection.state();
        let file = state.file_and_form().map(|(file, _)| file);
        (file.ok_or_else(|| Refused::not_found("recording"))?, state.spoken, state.done)
    };
    let failed = |error: std::io::Error| Refused::new(StatusCode::INTERNAL_SERVER_ERROR, error);
    let reader = file.reader().map_err(failed)?.take(done);
    let options = JudgeOptions { dialect: Some(spoken), ..JudgeOptions::default() };
    let subject = options.judge(&file.name(), BufReader::with_capacity(256 * 1024, reader));
    Ok(Report::new(vec![subject], Expectations::default(), Tier::Observed))
}

async fn report(State(app): Shared) -> Result<Response, Refused> {
    let report = blocking(app, make_report).await?;
    json_download("report.json", &report)
}

async fn report_page(State(app): Shared) -> Result<Response, Refused> {
    let page = blocking(app, |app| make_report(app).map(|report| report.to_page())).await?;
    Ok(download("text/html; charset=utf-8", "report.html", Body::from(page)))
}

fn json_download(name: &str, value: &impl Serialize) -> Result<Response, Refused> {
    let text = serde_json::to_string_pretty(value);
    let text = text.map_err(|error| Refused::new(StatusCode::INTERNAL_SERVER_ERROR, error))?;
    Ok(download("application/json", name, Body::from(text)))
}

fn download(media_type: &str, name: &str, body: Body) -> Response {
    let disposition = format!("attachment; filename=\"{name}\"");
    ([(header::CONTENT_TYPE, media_type.to_owned()), (header::CONTENT_DISPOSITION, disposition)], body)
        .into_response()
}

/// Pieces of the recording that are sent at once, in bytes.
const PIECE: usize = 256 * 1024;

async fn recording(State(app): Shared) -> Result<Response, Refused> {
    let (file, done) = {
        let state = app.inspection.state();
        (state.file_and_form().map(|(file, _)| file), state.done)
    };
    let file = file.ok_or_else(|| Refused::not_found("recording"))?;
    let pieces = futures_util::stream::unfold(0, move |offset| {
        let file = file.clone();
        async move {
            let length = (done.saturating_sub(offset)).min(PIECE as u64) as usize;
            if length == 0 {
                return None;
            }
            let read = tokio::task::spawn_blocking(move || file.read(offset, length)).await;
            let piece = read.unwrap_or_else(|error| Err(std::io::Error::other(error)));
            let next = offset + piece.as_ref().map_or(PIECE, Vec::len).max(1) as u64;
            Some((piece, next))
        }
    });
    Ok(download("application/x-ndjson", "recording.jsonl", Body::from_stream(pieces)))
}
