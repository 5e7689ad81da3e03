//! Tokens of logins are redacted in all outputs, whatever the vendor answers.

use crate::{
    keys::{assert_clean, planted, written},
    serve_support::{Server, binary, command, write_agent_file, write_models_file},
};
use pi_rpc::protocol::Dialect;
use serde_json::{Value, json};
use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    process::Command,
    thread,
};

const PROVIDER: &str = "kimi-coding";

/// What the vendor makes of the body of a request: status and answer.
type Answer = fn(&str) -> (u16, String);

/// Answers that repeat what was sent, or hold further tokens and cannot be used.
const ANSWERS: [Answer; 6] = [
    |body| (400, json!({ "error": "invalid_grant", "error_description": body }).to_string()),
    |body| (401, json!({ "error": { "message": body, "code": body } }).to_string()),
    |body| (403, body.to_owned()),
    |body| (200, format!("<p>{body}</p>")),
    |_| {
        (200, json!({ "access_token": planted("new"), "refresh_token": planted("newer"), "expires_in": "soon" }).to_string())
    },
    |body| {
        (
            200,
            json!({ "access_token": [body], "refresh_token": planted("newer"), "expires_in": 9 }).to_string(),
        )
    },
];

/// A vendor's server for logins that answers so.
fn vendor(answer: Answer) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // It ends with the test's process.
    thread::spawn(move || {
        for stream in listener.incoming() {
            serve(stream.unwrap(), answer);
        }
    });
    address
}

fn serve(mut stream: TcpStream, answer: Answer) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut line, mut length) = (String::new(), 0);
    while reader.read_line(&mut line).unwrap_or(0) > 2 {
        if let Some(text) = line.to_lowercase().strip_prefix("content-length:") {
            length = text.trim().parse().unwrap();
        }
        line.clear();
    }
    let mut body = vec![0; length];
    let _ = reader.read_exact(&mut body);
    let (status, text) = answer(&String::from_utf8(body).unwrap());
    let length = text.len();
    let _ =
        write!(stream, "HTTP/1.1 {status} X\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}");
}

fn planted_command(dir: &Path, vendor: SocketAddr) -> Command {
    let mut command = command(binary(), dir);
    command.env("KIMI_CODE_OAUTH_HOST", format!("http://{vendor}")).env("RUST_LOG", "trace");
    command
}

/// A home with an expired login and a valid one.
fn write_home(dir: &Path) {
    let model = json!({ "id": "k", "contextWindow": 200_000, "maxTokens": 8000 });
    let models = json!({ "providers": { PROVIDER: {
        "baseUrl": "http://127.0.0.1:9", "api": "anthropic-messages", "models": [model],
    } } });
    write_models_file(dir, Dialect::Pi, &models);
    let entry = |expires: f64| json!({ "type": "oauth", "access": planted("access"), "refresh": planted("re/fresh+"), "expires": expires });
    let key = json!({ "type": "api_key", "key": planted("key") });
    write_agent_file(
        dir,
        Dialect::Pi,
        "auth.json",
        &json!({ PROVIDER: entry(1e12), "anthropic": entry(4e12), "groq": key }),
    );
    let settings = json!({ "retry": { "enabled": false, "provider": { "maxRetries": 0 } } });
    write_agent_file(dir, Dialect::Pi, "settings.json", &settings);
}

#[test]
fn refused_refresh_leaks_no_token() {
    for answer in ANSWERS {
        let dir = tempfile::tempdir().unwrap();
        write_home(dir.path());
        let mut command = planted_command(dir.path(), vendor(answer));
        command.args(["serve", "--dialect", "pi", "--model", "kimi-coding/k", "--session-dir", "sessions"]);
        let mut server = Server::start(Dialect::Pi, dir, command);
        let frames = server.run("hello");
        let end = frames.iter().rfind(|frame| frame["type"] == "message_end").unwrap();
        let error = end["message"]["errorMessage"].as_str().unwrap_or_default();
        assert!(error.starts_with("The login of kimi-coding has expired"), "{error}");
        server.close_stdin();
        let ended = server.ends();
        let mut files = Vec::new();
        written(ended.dir.path(), &mut files);
        let stdout = Value::from(frames).to_string();
        let files = files.iter().map(|(path, text)| (path.display().to_string(), text.as_str()));
        assert_clean(files.chain([("stdout".to_owned(), &*stdout), ("stderr".to_owned(), &*ended.stderr)]));
    }
}

#[test]
fn login_commands_leak_no_token() {
    for answer in ANSWERS {
        let dir = tempfile::tempdir().unwrap();
        write_home(dir.path());
        let vendor = vendor(answer);
        for arguments in [
            &["login"][..],
            &["login", PROVIDER],
            &["login", "groq"],
            &["logout"],
            &["logout", "nobody"],
            &["models", "--auth"],
            &["models", "--auth", "--json"],
        ] {
            let output = planted_command(dir.path(), vendor).args(arguments).output().unwrap();
            let [stdout, stderr] =
                [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
            assert!(!stdout.is_empty() || !stderr.is_empty(), "{arguments:?}");
            assert_clean([(format!("{arguments:?}"), &*stdout), (format!("{arguments:?}"), &*stderr)]);
        }
    }
}
