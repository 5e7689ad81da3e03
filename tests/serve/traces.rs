//! A program without the feature `otlp` says so where a collector is named. With it: `tests/otlp`.

use crate::serve_support::{Server, binary, command};
use pi_rpc::protocol::Dialect;

#[test]
fn missing_feature_is_told_once() {
    let run = |variables: &[(&str, &str)]| {
        let dir = tempfile::tempdir().unwrap();
        let mut line = command(binary(), dir.path());
        line.args(["serve", "--no-session", "--dialect", "pi-1", "--model", "scripted/demo"]);
        line.envs(variables.iter().copied());
        let mut server = Server::start(Dialect::Pi1, dir, line);
        server.run("Hello");
        server.until_type("agent_settled");
        server.close_stdin();
        let ended = server.ends();
        assert_eq!(ended.status.code(), Some(0));
        // Without the time.
        let lines =
            ended.stderr.lines().map(|line| line.split_once(' ').map_or(line, |(_, rest)| rest.trim()));
        lines.collect::<Vec<_>>().join("\n")
    };
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9");
    let told = "WARN OTEL_EXPORTER_OTLP_ENDPOINT: this pi-rpc was built without the cargo feature `otlp` and exports no traces; the released binaries have it";
    assert_eq!(run(&[endpoint]), told);
    assert_eq!(run(&[endpoint, ("OTEL_SDK_DISABLED", "true")]), "");
    assert_eq!(run(&[("OTEL_SERVICE_NAME", "x")]), "");
}
