//! Handles requests: routes, checks, plays a turn, responds.

use super::{
    Journal, ReceivedRequest,
    answer::{AnswerOutcome, AnswerStream, wait},
    bedrock::signature::{self, SignedRequest},
    connection::Connection,
    google,
    journal::{RunningGuard, lock},
    logins::{LoginAnswer, LoginDesk, account_models},
    mistral, pi_messages,
    refusal::{VendorRefusal, exception_of, failure_body},
    vendor::Vendor,
};
use axum::{
    body::{Body, Bytes, to_bytes},
    extract::{ConnectInfo, Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header, request::Parts},
    response::{IntoResponse as _, Response},
};
use pi_rpc_model::scripted::{Failure, ModelCard, Player, Turn};
use ruzstd::decoding::StreamingDecoder;
use serde_json::{Value, json};
use std::{
    io::Read as _,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::SystemTime,
};

/// Size limit of a body, as Anthropic has it: 32 MiB.
const MAX_BODY: usize = 32 * 1024 * 1024;

/// The model's id in lists of models. Requests may name any.
const MODEL: &str = "scripted";

/// Creation time of everything here, in seconds since 1970: the same script gives the same answers.
pub(super) const CREATED: u64 = 1_700_000_000;
const CREATED_TEXT: &str = "2023-11-14T22:13:20Z";

const JSON: &str = "application/json";

/// State that all requests share.
pub(super) struct MockState {
    pub model: ModelCard,
    pub player: Mutex<Player>,
    /// Number of requests so far, for their ids.
    pub requests: AtomicUsize,
    /// Number of model calls so far, for the ids in answers.
    pub calls: AtomicUsize,
    pub journal: Arc<Journal>,
    pub lenient: bool,
    pub logins: LoginDesk,
}

/// Handles one request.
pub(super) async fn handle(
    State(shared): State<Arc<MockState>>,
    ConnectInfo(connection): ConnectInfo<Connection>,
    request: Request,
) -> Response {
    connection.admit();
    // Clients that want a WebSocket ask over HTTP then: only that is counted and noted.
    if request.headers().contains_key(header::UPGRADE) {
        return StatusCode::UPGRADE_REQUIRED.into_response();
    }
    let running = shared.journal.begin();
    let number = shared.requests.fetch_add(1, Ordering::Relaxed) + 1;
    let (parts, body) = request.into_parts();
    let path = parts.uri.path();
    let body = to_bytes(body, MAX_BODY).await.map(|bytes| unpacked(&parts.headers, bytes));
    let is_login = LoginDesk::has(path);
    let exchange = Exchange {
        vendor: Vendor::of(&parts.uri, &parts.headers),
        request_id: format!("req_scripted_{number}"),
        connection,
        running,
        received: ReceivedRequest {
            method: parts.method.to_string(),
            path: parts.uri.path_and_query().map_or_else(String::new, ToString::to_string),
            headers: readable(&parts.headers),
            body: body.as_ref().map_or(Value::Null, |bytes| json_or_text(bytes)),
            status: None,
            refusal: None,
            bytes: body.as_ref().map_or(0, |bytes| bytes.len()),
            is_login,
        },
        shared,
    };
    if let Some(answered) = exchange.google_account(&parts.method, path, &parts.headers, number) {
        return answered;
    }
    let whole = body.as_ref().map_or(&[][..], |body| body);
    if let Some(answer) = account_models::answer(&parts.method, path, &parts.headers, whole) {
        return exchange.send_login(answer);
    }
    if is_login {
        return exchange.log_in(&parts, &body.unwrap_or_default());
    }
    let route = match route(&parts.method, path, exchange.vendor) {
        Ok(_) if body.is_err() => Err(too_large(exchange.vendor)),
        route => route,
    };
    let query = parts.uri.query().unwrap_or_default();
    let allowed =
        route.and_then(|route| exchange.vendor.check_key(path, &parts.headers, query).map(|()| route));
    let allowed = match (&body, exchange.vendor) {
        (Ok(body), Vendor::Bedrock) => allowed.and_then(|route| {
            let (method, uri, headers) = (&parts.method, &parts.uri, &parts.headers);
            signature::check(&SignedRequest { method, uri, headers, body }, SystemTime::now()).map(|()| route)
        }),
        _ => allowed,
    };
    match allowed {
        Ok(Route::Models(id)) => exchange.models(id),
        Ok(Route::Answer) => exchange.answer(&parts.uri, &parts.headers).await,
        Err(refusal) => exchange.refuse(&refusal),
    }
}

enum Route<'a> {
    /// Calls the model.
    Answer,
    /// Lists all models, or describes one.
    Models(Option<&'a str>),
}

fn route<'a>(method: &Method, path: &'a str, vendor: Vendor) -> Result<Route<'a>, VendorRefusal> {
    let (route, wanted) = match (Vendor::at(path), path.rsplit_once("/models")) {
        (Some(_), _) => (Route::Answer, Method::POST),
        (None, Some(_)) if matches!(vendor, Vendor::Bedrock | Vendor::PiMessages) => {
            return Err(no_such_url(method, path, vendor));
        }
        (None, Some((_, ""))) => (Route::Models(None), Method::GET),
        (None, Some((_, id))) if id.starts_with('/') => (Route::Models(Some(&id[1..])), Method::GET),
        _ => return Err(no_such_url(method, path, vendor)),
    };
    match *method == wanted {
        true => Ok(route),
        false => Err(not_allowed(method, path, vendor)),
    }
}

fn no_such_url(method: &Method, path: &str, vendor: Vendor) -> VendorRefusal {
    match vendor {
        Vendor::Anthropic => VendorRefusal::of(404, "not_found_error", "Not Found"),
        Vendor::Google => VendorRefusal::of(404, "NOT_FOUND", "Not Found"),
        Vendor::Mistral => VendorRefusal::of(404, "", "Not Found"),
        Vendor::Bedrock => VendorRefusal::of(404, "UnknownOperationException", "Unknown Operation"),
        Vendor::PiMessages => VendorRefusal::of(404, "", "Not Found").code(pi_messages::error_code(404)),
        Vendor::Completions | Vendor::Responses | Vendor::Azure | Vendor::Codex => {
            VendorRefusal::of(404, "invalid_request_error", format!("Invalid URL ({method} {path})"))
        }
    }
}

fn not_allowed(method: &Method, path: &str, vendor: Vendor) -> VendorRefusal {
    match vendor {
        Vendor::Anthropic => VendorRefusal::of(405, "invalid_request_error", "Method Not Allowed"),
        // The service knows no such method of such a model.
        Vendor::Google => VendorRefusal::of(404, "NOT_FOUND", "Not Found"),
        Vendor::Mistral => VendorRefusal::of(405, "", "Method Not Allowed"),
        Vendor::Bedrock => VendorRefusal::of(405, "UnknownOperationException", "Unknown Operation"),
        Vendor::PiMessages => {
            VendorRefusal::of(405, "", "Method Not Allowed").code(pi_messages::error_code(405))
        }
        Vendor::Completions | Vendor::Responses | Vendor::Azure | Vendor::Codex => {
            let message = format!("Not allowed to {method} on {path}.");
            VendorRefusal::of(405, "invalid_request_error", message).code("method_not_supported")
        }
    }
}

fn too_large(vendor: Vendor) -> VendorRefusal {
    let kind = match vendor {
        Vendor::Anthropic => "request_too_large",
        Vendor::Bedrock => "RequestEntityTooLargeException",
        _ => "invalid_request_error",
    };
    let refusal = VendorRefusal::of(413, kind, "Request exceeds the maximum size");
    match vendor {
        Vendor::PiMessages => refusal.code(pi_messages::error_code(413)),
        _ => refusal,
    }
}

/// One request and its connection, until it is answered.
struct Exchange {
    shared: Arc<MockState>,
    vendor: Vendor,
    request_id: String,
    connection: Connection,
    running: RunningGuard,
    received: ReceivedRequest,
}

impl Exchange {
    async fn answer(mut self, uri: &Uri, headers: &HeaderMap) -> Response {
        let path = uri.path();
        if let Err(refusal) = self.check(uri, headers) {
            if !self.shared.lenient || !self.received.body.is_object() {
                return self.refuse(&refusal);
            }
            self.received.refusal = Some(refusal.message);
        }
        let body = &self.received.body;
        let context = self.vendor.prompt_context(body);
        let ask = context.scripted_call(self.shared.calls.fetch_add(1, Ordering::Relaxed) + 1);
        let turn = lock(&self.shared.player).take(&ask).into_owned();
        let mut steps = turn.steps(&ask);
        let writer = self.vendor.writer(path, body);
        let in_list = self.vendor == Vendor::Google
            && self.vendor.streams(path, body)
            && !has_events(uri.query().unwrap_or_default());
        let streams = self.vendor.streams(path, body) && !in_list && begins_answer(&turn);
        self.received.status = status(&turn, streams);
        self.shared.journal.add(self.received);

        let first_delay = if streams { steps.first_mut() } else { None };
        wait(first_delay.map_or(0, |step| std::mem::take(&mut step.delay_ms))).await;
        let mut answer = AnswerStream {
            vendor: self.vendor,
            writer,
            steps: steps.into_iter(),
            failure: turn.fail,
            last_event: turn.last_event.map(Value::Object),
            connection: self.connection,
            left: turn.cut_after_bytes.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX)),
            _running: self.running,
        };
        if streams {
            return respond(self.vendor, 200, &self.request_id, self.vendor.stream_type(), answer.stream());
        }
        match answer.outcome().await {
            AnswerOutcome::Whole(json) => {
                let json = if in_list { json!([json]) } else { json };
                respond(self.vendor, 200, &self.request_id, JSON, answer.piece(json.to_string()))
            }
            AnswerOutcome::Failed(failure) => {
                fail(&failure, self.vendor, &self.request_id, &answer.connection)
            }
        }
    }

    /// Answers what concerns Google's accounts; `None`: the request is another.
    fn google_account(
        &self,
        method: &Method,
        path: &str,
        headers: &HeaderMap,
        number: usize,
    ) -> Option<Response> {
        let form = match &self.received.body {
            Value::String(form) => form.clone(),
            json => json.to_string(),
        };
        let (status, body) = google::tokens::answer(method, path, headers, &form, number)?;
        let refusal = body["error"].as_str().map(|error| format!("{error}: {}", body["error_description"]));
        let received = ReceivedRequest { status: Some(status), refusal, ..self.received.clone() };
        self.shared.journal.add(received);
        let mut response = respond(Vendor::Google, status, &self.request_id, JSON, body.to_string().into());
        if path.starts_with(google::tokens::METADATA) {
            response.headers_mut().insert("metadata-flavor", HeaderValue::from_static("Google"));
        }
        Some(response)
    }

    fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), VendorRefusal> {
        match (&self.received.body, self.vendor) {
            (Value::Object(_), vendor) => vendor.check(uri, headers, &self.received.body),
            (_, Vendor::Anthropic) => {
                Err(VendorRefusal::invalid("The request body is not a valid JSON object"))
            }
            (_, Vendor::Google) => Err(VendorRefusal::invalid(
                "Invalid JSON payload received. Expected an object at the root of the payload.",
            )),
            (_, Vendor::Mistral) => {
                let message = "Input should be a valid dictionary or object to extract fields from";
                Err(VendorRefusal::of(422, "model_attributes_type", message).at("body"))
            }
            (_, Vendor::PiMessages) => {
                Err(VendorRefusal::of(400, "", "The request body is not a JSON object")
                    .code("invalid_request"))
            }
            (_, Vendor::Bedrock) => Err(VendorRefusal::of(
                400,
                "SerializationException",
                "Start of structure or map found where not expected.",
            )),
            (_, Vendor::Completions | Vendor::Responses | Vendor::Azure | Vendor::Codex) => {
                Err(VendorRefusal::invalid(
                    "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your \
                 HTTP library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)",
                ))
            }
        }
    }

    /// Answers at an endpoint for logins.
    fn log_in(self, request: &Parts, body: &[u8]) -> Response {
        let answer = self.shared.logins.answer(&request.method, &request.uri, &request.headers, body);
        self.send_login(answer)
    }

    fn send_login(mut self, answer: LoginAnswer) -> Response {
        self.received.status = Some(answer.status);
        self.received.refusal = answer.body["error"].as_str().map(str::to_owned);
        self.shared.journal.add(self.received);
        let text = if answer.body.is_null() { String::new() } else { answer.body.to_string() };
        let mut response = respond(self.vendor, answer.status, &self.request_id, JSON, text.into());
        if let Some(to) = answer.location.and_then(|to| HeaderValue::from_str(&to).ok()) {
            response.headers_mut().insert(header::LOCATION, to);
        }
        response
    }

    fn models(mut self, id: Option<&str>) -> Response {
        let name = self.shared.model.name.as_deref().unwrap_or(MODEL);
        let one = match self.vendor {
            Vendor::Anthropic => json!({
                "type": "model", "id": MODEL, "display_name": name, "created_at": CREATED_TEXT,
            }),
            // Bedrock's list is of another service, and pi's gateway has none: there is no route to them.
            Vendor::Bedrock
            | Vendor::PiMessages
            | Vendor::Completions
            | Vendor::Responses
            | Vendor::Azure
            | Vendor::Codex => {
                json!({
                    "id": MODEL, "object": "model", "created": CREATED, "owned_by": "pi-rpc",
                })
            }
            Vendor::Google => json!({
                "name": format!("models/{MODEL}"), "version": "1", "displayName": name,
                "inputTokenLimit": 1_048_576, "outputTokenLimit": 65_536,
                "supportedGenerationMethods": ["generateContent"],
            }),
            Vendor::Mistral => mistral::model_card(MODEL, name),
        };
        let body = match (id, self.vendor) {
            (Some(MODEL), _) => one,
            (Some(id), Vendor::Anthropic) => {
                return self.refuse(&VendorRefusal::of(404, "not_found_error", format!("model: {id}")));
            }
            (Some(id), Vendor::Google) => {
                let message = format!(
                    "models/{id} is not found for API version v1beta, or is not supported for generateContent. Call \
                     ListModels to see the list of available models and their supported methods."
                );
                return self.refuse(&VendorRefusal::of(404, "NOT_FOUND", message));
            }
            (Some(id), Vendor::Mistral) => {
                return self.refuse(&VendorRefusal::of(404, "", format!("Model {id} not found")));
            }
            (Some(id), _) => {
                let message = format!("The model '{id}' does not exist");
                let refusal = VendorRefusal::of(404, "invalid_request_error", message);
                return self.refuse(&refusal.at("model").code("model_not_found"));
            }
            (None, Vendor::Anthropic) => {
                json!({ "data": [one], "has_more": false, "first_id": MODEL, "last_id": MODEL })
            }
            (None, Vendor::Google) => json!({ "models": [one] }),
            (None, _) => json!({ "object": "list", "data": [one] }),
        };
        self.received.status = Some(200);
        self.shared.journal.add(self.received);
        respond(self.vendor, 200, &self.request_id, JSON, body.to_string().into())
    }

    fn refuse(mut self, refusal: &VendorRefusal) -> Response {
        self.received.status = Some(refusal.status);
        self.received.refusal = Some(refusal.message.clone());
        self.shared.journal.add(self.received);
        let body = refusal.body(self.vendor, &self.request_id).to_string();
        let response = respond(self.vendor, refusal.status, &self.request_id, JSON, body.into());
        with_exception(response, self.vendor, &refusal.kind)
    }
}

/// Whether the turn has content before it fails or falls silent.
fn begins_answer(turn: &Turn) -> bool {
    !turn.say.is_empty() || (turn.fail.is_none() && !turn.hang)
}

/// Whether a stream of Google's comes as events; otherwise it comes as a list.
fn has_events(query: &str) -> bool {
    query.split('&').any(|member| member == "alt=sse")
}

/// The status of the response to the turn; `None`: there is no response.
fn status(turn: &Turn, streams: bool) -> Option<u16> {
    match &turn.fail {
        _ if streams => Some(200),
        Some(failure) => failure.status(),
        None if turn.hang => None,
        None => Some(200),
    }
}

fn fail(failure: &Failure, vendor: Vendor, request_id: &str, connection: &Connection) -> Response {
    let Some((status, body)) = failure.status().zip(failure_body(failure, vendor)) else {
        connection.cut();
        return respond(vendor, 200, request_id, JSON, Body::empty());
    };
    let kind = if body.starts_with('{') { JSON } else { "text/plain; charset=utf-8" };
    let response = respond(vendor, status, request_id, kind, body.into());
    let mut response = with_exception(response, vendor, exception_of(failure, status));
    if let Some(seconds) = failure.retry_after.filter(|_| vendor != Vendor::Google) {
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

/// Adds the header in which Amazon Bedrock names its exceptions.
fn with_exception(mut response: Response, vendor: Vendor, exception: &str) -> Response {
    if let (Vendor::Bedrock, Ok(exception)) = (vendor, HeaderValue::from_str(exception)) {
        response.headers_mut().insert("x-amzn-errortype", exception);
    }
    response
}

fn respond(vendor: Vendor, status: u16, request_id: &str, kind: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    if kind.starts_with("text/event-stream") {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    }
    if let Ok(id) = HeaderValue::from_str(request_id) {
        headers.insert(vendor.request_id_header(), id);
    }
    response
}

fn readable(headers: &HeaderMap) -> Vec<(String, String)> {
    let value = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    headers.iter().map(|(name, own)| (name.to_string(), value(own))).collect()
}

/// The bytes of a body that may be packed by zstd, as clients of ChatGPT's server pack theirs. Others stay.
fn unpacked(headers: &HeaderMap, bytes: Bytes) -> Bytes {
    if headers.get(header::CONTENT_ENCODING).is_none_or(|encoding| encoding != "zstd") {
        return bytes;
    }
    let mut whole = Vec::new();
    let read = StreamingDecoder::new(&bytes[..])
        .ok()
        .and_then(|packed| packed.take(MAX_BODY as u64).read_to_end(&mut whole).ok());
    read.map_or(bytes, |_| whole.into())
}

fn json_or_text(bytes: &[u8]) -> Value {
    match serde_json::from_slice(bytes) {
        Ok(json) => json,
        Err(_) if bytes.is_empty() => Value::Null,
        Err(_) => String::from_utf8_lossy(bytes).into(),
    }
}
