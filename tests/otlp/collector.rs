//! A collector that keeps what it gets, and the trees of its spans as text.

use crate::serve_support::TOO_LONG;
use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    common::v1::{AnyValue, KeyValue, any_value::Value},
    trace::v1::{ResourceSpans, Span, status::StatusCode},
};
use prost::Message as _;
use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

/// A collector at a port of this machine.
pub struct Collector {
    pub address: String,
    requests: Arc<Mutex<Vec<Received>>>,
}

/// A request of an exporter.
pub struct Received {
    /// The line of the request and the headers, in small letters.
    pub head: Vec<String>,
    pub spans: Vec<ResourceSpans>,
}

impl Collector {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let requests: Arc<Mutex<Vec<Received>>> = Arc::default();
        let kept = requests.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let kept = kept.clone();
                thread::spawn(move || receive(stream.unwrap(), &kept));
            }
        });
        Self { address, requests }
    }

    /// What has come so far. All that a process has sent is here once it has ended.
    pub fn requests(&self) -> Vec<Received> {
        std::mem::take(&mut self.requests.lock().unwrap())
    }

    /// All spans that have come.
    pub fn spans(&self) -> Vec<Span> {
        let resources = self.requests().into_iter().flat_map(|received| received.spans);
        resources.flat_map(|resource| resource.scope_spans).flat_map(|scope| scope.spans).collect()
    }

    /// The trees of all spans that have come.
    pub fn trees(&self) -> String {
        trees(&self.spans())
    }
}

fn receive(stream: TcpStream, kept: &Mutex<Vec<Received>>) {
    stream.set_read_timeout(Some(TOO_LONG)).unwrap();
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            match line.trim_end() {
                "" => break,
                line => head.push(line.to_ascii_lowercase()),
            }
        }
        let length = head.iter().find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.unwrap().parse().unwrap()];
        reader.read_exact(&mut body).unwrap();
        let decoded = ExportTraceServiceRequest::decode(&body[..]).unwrap();
        kept.lock().unwrap().push(Received { head, spans: decoded.resource_spans });
        let answer = "HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n";
        if reader.get_mut().write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

/// The trees of spans: a line for each, below its parent, in the order in which they begin. Checks that a span lies within its parent.
/// A parent that is not there is of a client, and named.
pub fn trees(spans: &[Span]) -> String {
    let mut below: BTreeMap<Vec<u8>, Vec<&Span>> = BTreeMap::new();
    for span in spans {
        assert!(span.start_time_unix_nano <= span.end_time_unix_nano, "{span:?}");
        below.entry(span.parent_span_id.clone()).or_default().push(span);
        let parent = spans.iter().find(|other| other.span_id == span.parent_span_id);
        if let Some(parent) = parent {
            assert_eq!(parent.trace_id, span.trace_id, "{span:?}");
            assert!(parent.start_time_unix_nano <= span.start_time_unix_nano, "{span:?} {parent:?}");
            assert!(parent.end_time_unix_nano >= span.end_time_unix_nano, "{span:?} {parent:?}");
        }
    }
    below.values_mut().for_each(|spans| spans.sort_by_key(|span| span.start_time_unix_nano));
    let mut text = String::new();
    let is_there = |id: &[u8]| spans.iter().any(|span| span.span_id == id);
    let mut roots: Vec<_> = spans.iter().filter(|span| !is_there(&span.parent_span_id)).collect();
    roots.sort_by_key(|span| span.start_time_unix_nano);
    for root in roots {
        if !root.parent_span_id.is_empty() {
            text += &format!("below {} of {}: ", hex(&root.parent_span_id), hex(&root.trace_id));
        }
        show(root, &below, 0, &mut text);
    }
    text
}

fn show(span: &Span, below: &BTreeMap<Vec<u8>, Vec<&Span>>, depth: usize, text: &mut String) {
    let kind = span.kind().as_str_name().trim_start_matches("SPAN_KIND_").to_ascii_lowercase();
    let attributes: Vec<String> = span.attributes.iter().map(attribute).collect();
    let status = span.status.clone().unwrap_or_default();
    let failure = match status.code() {
        StatusCode::Error => format!(" failed{}", status.message),
        _ => String::new(),
    };
    *text += &format!("{}{} ({kind}{failure})", "  ".repeat(depth), span.name);
    *text += &attributes.iter().map(|attribute| format!(" {attribute}")).collect::<String>();
    text.push('\n');
    for child in below.get(&span.span_id).into_iter().flatten() {
        show(child, below, depth + 1, text);
    }
}

/// An attribute, without what differs from run to run.
fn attribute(attribute: &KeyValue) -> String {
    let KeyValue { key, value, .. } = attribute;
    let value = match key.as_str() {
        "gen_ai.conversation.id" | "gen_ai.response.time_to_first_chunk" | "gen_ai.tool.call.id" => {
            "…".to_owned()
        }
        _ => shown(value.as_ref()),
    };
    format!("{}={value}", key.trim_start_matches("gen_ai."))
}

fn shown(value: Option<&AnyValue>) -> String {
    match value.and_then(|value| value.value.as_ref()) {
        Some(Value::StringValue(text)) => text.clone(),
        Some(Value::BoolValue(is_so)) => is_so.to_string(),
        Some(Value::IntValue(count)) => count.to_string(),
        Some(Value::ArrayValue(list)) => {
            let items: Vec<String> = list.values.iter().map(|item| shown(Some(item))).collect();
            format!("[{}]", items.join(","))
        }
        other => format!("{other:?}"),
    }
}

/// The value of an attribute, as text.
pub fn value(attributes: &[KeyValue], key: &str) -> Option<String> {
    let found = attributes.iter().find(|attribute| attribute.key == key)?;
    Some(shown(found.value.as_ref()))
}

fn hex(id: &[u8]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}
