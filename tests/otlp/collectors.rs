//! What a collector is told, and that one that is gone holds nothing up.

use crate::{
    collector::{Collector, value},
    runs::traced,
    serve_support::bash_turns,
};
use serde_json::json;
use std::{net::TcpListener, time::Duration};

/// Longer than a process waits for its collector, with the time that it takes itself.
const AT_MOST: Duration = Duration::from_secs(20);

/// How a session with one run ends whose spans go to this address.
fn log_of_run(address: &str, variables: &[(&str, &str)]) -> String {
    let mut server = traced(&json!([{ "say": [{ "text": "Done." }] }]), address, variables);
    server.run("go");
    server.until_type("agent_settled");
    server.close_stdin();
    let ended = server.ends_within(AT_MOST);
    assert_eq!(ended.status.code(), Some(0));
    // Without the time.
    let lines = ended.stderr.lines().map(|line| line.split_once(' ').map_or(line, |(_, rest)| rest.trim()));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn collector_is_told_of_service() {
    let collector = Collector::start();
    let variables = [
        ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20key,x-team=a"),
        ("OTEL_SERVICE_NAME", "agent of tests"),
        ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test"),
    ];
    assert_eq!(log_of_run(&collector.address, &variables), "");
    let received = collector.requests().pop().unwrap();
    let head = &received.head;
    assert_eq!(head[0], "post /v1/traces http/1.1");
    for header in ["content-type: application/x-protobuf", "authorization: bearer key", "x-team: a"] {
        assert!(head.iter().any(|line| line == header), "{head:?}");
    }
    let resource = received.spans[0].resource.as_ref().unwrap();
    let values = ["service.name", "service.version", "deployment.environment.name"]
        .map(|key| value(&resource.attributes, key).unwrap());
    assert_eq!(values, ["agent of tests", env!("CARGO_PKG_VERSION"), "test"]);
}

#[test]
fn service_has_name_of_program() {
    let collector = Collector::start();
    assert_eq!(log_of_run(&collector.address, &[]), "");
    let received = collector.requests().pop().unwrap();
    let resource = received.spans[0].resource.as_ref().unwrap();
    assert_eq!(value(&resource.attributes, "service.name").unwrap(), "pi-rpc");
}

#[test]
fn dead_collector_is_reported_once() {
    // The port of a listener that is gone.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let log = log_of_run(&format!("http://{address}"), &[]);
    let expected = "\
WARN traces: the collector cannot be reached: Connection refused (os error 111); spans are lost, and counted at the end
WARN traces: spans that were not exported: 3";
    assert_eq!(log, expected);
}

#[test]
fn silent_collector_is_left() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let log = log_of_run(&format!("http://{}", listener.local_addr().unwrap()), &[]);
    let expected = "\
WARN traces: the collector has not answered before the end; spans are lost, and counted at the end
WARN traces: spans that were not exported: 3";
    assert_eq!(log, expected);
}

#[test]
fn full_queue_drops_spans() {
    // What is being sent waits, too.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let variables = [("OTEL_BSP_MAX_QUEUE_SIZE", "2"), ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "1")];
    let log = log_of_run(&format!("http://{}", listener.local_addr().unwrap()), &variables);
    let expected = "\
WARN traces: 2 spans wait for the collector; spans are lost, and counted at the end
WARN traces: spans that were not exported: 3";
    assert_eq!(log, expected);
}

#[test]
fn other_variables_turn_traces_off() {
    let collector = Collector::start();
    let offs = [
        ("OTEL_SDK_DISABLED", "true"),
        ("OTEL_TRACES_EXPORTER", "none"),
        ("OTEL_TRACES_SAMPLER", "always_off"),
        ("TRACEPARENT", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"),
    ];
    for off in offs {
        assert_eq!(log_of_run(&collector.address, &[off]), "", "{off:?}");
        assert_eq!(collector.requests().len(), 0, "{off:?}");
    }
}

#[test]
fn other_protocol_is_refused() {
    let collector = Collector::start();
    let log = log_of_run(&collector.address, &[("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]);
    let expected = "\
WARN traces: OTEL_EXPORTER_OTLP_PROTOCOL: expected http/protobuf, got \"grpc\"; none are exported";
    assert_eq!(log, expected);
    assert_eq!(collector.requests().len(), 0);
}

#[test]
fn keys_of_collector_stay_inside() {
    let collector = Collector::start();
    let headers = ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20top-secret%2Dkey");
    let asks = ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true");
    let turns = bash_turns("echo top-secret-key; echo [$OTEL_EXPORTER_OTLP_HEADERS]");
    let mut server = traced(&turns, &collector.address, &[headers, asks]);
    server.run("say top-secret-key");
    server.until_type("agent_settled");
    server.close_stdin();
    assert_eq!(server.ends().status.code(), Some(0));
    let trees = collector.trees();
    assert!(!trees.contains("top-secret-key"), "{trees}");
    assert!(trees.contains("tool.call.result=***\n[]"), "{trees}");
}
