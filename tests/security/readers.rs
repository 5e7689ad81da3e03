//! Every place that reads what somebody else writes, with what bounds it: a line, an answer or an output without end fills no
//! memory. A reader without a row fails the test, and so does a row without its reader.

use super::source_files::source_files;
use std::collections::BTreeSet;

/// What reads from a pipe, a socket, a file or a body, as the code has it.
const READS: &[&str] = &[
    ".bytes().await",
    ".chunk()",
    ".fill_buf(",
    ".json().await",
    ".json::<",
    ".output()",
    ".poll_read(",
    ".read(&mut",
    ".read(buffer",
    ".read(self.",
    ".read(splitter",
    ".read_line(&mut",
    ".read_until(",
    ".text().await",
    "BufReader::",
    "ByteStreams::new",
    "Framed",
    "LineReader::new",
    "LineSource::new",
    "LineSplitter::new",
    "LinesCodec",
    "StreamReader::new",
    "StreamableHttpClientTransport::from_config",
    ".serve(pipes)",
    "WebSocketConfig::",
    "axum::serve(",
    "body::to_bytes",
    "bytes_stream(",
    "fs::read(",
    "fs::read_to_string(",
    "from_reader(",
    "into_data_stream(",
    "io::copy(",
    "lock().lines()",
    "max_messages(",
    ".on_upgrade(",
    "read_beginning(",
    "read_buf(",
    "read_exact(",
    "read_line(&mut stdin",
    "read_to_end(",
    "read_to_string(",
    "recv(stream",
    "wait_with_output(",
];

/// The one reader of files, which knows the limit of each kind.
const REGULAR_FILES: &str = "regular_files::read";

/// File, part of the line that reads, and the bound.
const READERS: &[(&str, &str, &str)] = &[
    (
        "codemode/sandbox.rs",
        "LineReader::new(stdout, MAX_LINE)",
        "`MAX_LINE` bytes a line, `MAX_LINES` together",
    ),
    ("codemode/worker.rs", "input.read_line(&mut line)", "its own user's lines; `MAX_ADDRESSES` bytes"),
    ("cli/canary.rs", "std::fs::read_to_string(path)", "a script that the user names"),
    ("cli/canary/blame.rs", "BufReader::new);", "`LONGEST` bytes a line, `take`"),
    ("cli/canary/blame.rs", "take(LONGEST).read_until(", "`LONGEST` bytes a line, `take`"),
    ("cli/canary/blame.rs", "BufReader::new(File::open(path).ok()?)", "the judge's own limit of a line"),
    (
        "cli/canary/releases.rs",
        "fs::read_to_string(home.join",
        "the manifest of a package that npm has installed",
    ),
    ("cli/canary/releases.rs", "read_beginning(it, MOST_PRINTED)", "`MOST_PRINTED` bytes"),
    ("cli/canary/trial.rs", "file.take(TAIL).read_to_end(", "`TAIL` bytes, `take`"),
    ("cli/front/pipes.rs", "LineSplitter::new(FRAME_LIMIT)", "`FRAME_LIMIT` bytes a line"),
    ("cli/front/pipes.rs", "from.read(&mut chunk)", "`UNBLOCKED` bytes"),
    (
        "client/testing/judgement.rs",
        "check.output()",
        "the report of this project's own program, in a test of its user",
    ),
    ("conform/live/server_version.rs", "output.take(MOST_READ).read_to_end(", "`MOST_READ` bytes, `take`"),
    ("processes/environment_search.rs", "read_beginning(file, MOST_READ)", "`MOST_READ` bytes"),
    (
        "session-store/find.rs",
        "BufReader::new(file);",
        "the header is read by `take(LONGEST_HEADER)`, the rest by `fill_buf` once",
    ),
    ("session-store/find.rs", "reader.fill_buf()", "one buffer"),
    ("extension/project_trust.rs", "stderr.read_to_end(&mut messages)", "`OUTPUT` bytes, `take`"),
    ("extension/project_trust.rs", "BufReader::new(stdout.take(OUTPUT))", "`OUTPUT` bytes, `take`"),
    ("extension/project_trust.rs", "stdout.read_until(", "`OUTPUT` bytes, `take`"),
    ("processes/process_tree.rs", "fs::read_to_string(format!(\"/proc", "the kernel writes it: one line"),
    ("processes/process_watcher.rs", "std::fs::read(format!(\"/proc", "the kernel writes it: an environment"),
    (
        "processes/process_watcher.rs",
        "read_exact(&mut message)",
        "five bytes a message, of this program alone",
    ),
    (
        "processes/process_watcher.rs",
        "fs::read_to_string(\"/proc/uptime\")",
        "the kernel writes it: one line",
    ),
    ("acp/agent.rs", "StreamReader::new(lines(", "`acp/input.rs`: `--max-frame`, a parse error"),
    ("acp/agent.rs", "ByteStreams::new(", "what `acp/input.rs` passes"),
    (
        "acp/backend/connection.rs",
        "StreamReader::new(lines(",
        "`acp/input.rs`: `--max-frame`, the agent is ended",
    ),
    ("acp/backend/connection.rs", "ByteStreams::new(", "what `acp/input.rs` passes"),
    ("acp/backend/connection.rs", "BufReader::new(stderr)", "the buffer"),
    ("acp/backend/connection.rs", "take(SHOWN_STDERR)", "SHOWN_STDERR, a piece is a line"),
    ("acp/backend/files.rs", "take(MAX_FILE)", "MAX_FILE, an error"),
    ("acp/input.rs", "LineReader::new(from, limit)", "the caller's limit"),
    (
        "host/attach/connection.rs",
        "WebSocketConfig::default().max_message_size(Some(max_message))",
        "`max_message`, an error",
    ),
    ("host/attach/pipe.rs", "LineSplitter::new(options.max_frame)", "`--max-frame`, the line is left out"),
    ("host/attach/pipe.rs", "self.stdin.read(&mut self.splitter)", "the splitter"),
    (
        "cli/check.rs",
        "BufReader::with_capacity(BUFFER, File::open(trace)?)",
        "`oracle/recording.rs`: LONGEST_LINE",
    ),
    (
        "cli/check.rs",
        "BufReader::with_capacity(BUFFER, io::stdin().lock())",
        "`oracle/recording.rs`: LONGEST_LINE",
    ),
    ("cli/conform.rs", "fs::read_to_string(path)", "a file that the user names"),
    ("cli/discover/servers.rs", "response.bytes_stream()", "MAX_BYTES, no answer"),
    ("cli/login.rs", "read_line(&mut stdin, MAX_PASTED)", "MAX_PASTED, the line is left out"),
    ("cli/login_key.rs", "take(MAX_KEY).read_line(", "MAX_KEY"),
    ("cli/mcp.rs", "read_line(&mut stdin, MAX_PASTED)", "MAX_PASTED, the line is left out"),
    ("cli/mock_mcp.rs", "fs::read_to_string(path)", "a file that the user names"),
    ("cli/mock_llm.rs", "io::copy(&mut io::stdin().lock(), &mut io::sink())", "nothing is kept"),
    ("cli/mock_llm.rs", "fs::read_to_string(path)", "a file that the user names"),
    ("cli/printed_prompts.rs", "from.take(limit as u64 + 1)", "`--max-frame`, an error"),
    ("cli/repl.rs", "read_line(&mut stdin, FRAME_LIMIT)", "FRAME_LIMIT, the line is left out"),
    ("cli/replay.rs", "read(BufReader::new(file))", "LONGEST_LINE, an error"),
    ("cli/replay.rs", "from.fill_buf()", "LONGEST_LINE, an error"),
    ("cli/replay.rs", "LineSplitter::new(LONGEST)", "LONGEST, the line is left out"),
    ("cli/replay.rs", "stdin.read(&mut chunk)", "the chunk, then the splitter"),
    ("cli/report_options.rs", "fs::read_to_string(file)", "a file that the user names"),
    ("cli/schema.rs", "fs::read_to_string(what)", "a file that the user names"),
    ("cli/strip_types.rs", "take(MAX_SOURCE + 1)", "MAX_SOURCE, an error"),
    ("client/line_source.rs", "LineSplitter::new(limit)", "the caller's limit: LONGEST by default"),
    ("client/line_source.rs", "pipe.read(&mut self.chunk)", "the chunk, then the splitter"),
    ("client/process.rs", "LineSource::new(child.stdout.take(), longest)", "LONGEST, the server is ended"),
    ("client/process.rs", "LineSource::new(child.stderr.take(), longest)", "LONGEST, the line is left out"),
    ("client/process.rs", "self.stdout.read(&mut stdout)", "the line source"),
    ("client/process.rs", "self.stderr.read(&mut stderr)", "the line source"),
    (
        "cluster/tail.rs",
        "max_messages(BATCH)",
        "BATCH messages, each of at most the NATS server's `max_payload`",
    ),
    ("config/command.rs", "stdout.take(LONGEST + 1)", "LONGEST, no key"),
    ("config/object_file.rs", "stripped.read_to_end(&mut plain)", "a text in memory"),
    ("extension/named_commands.rs", "take(BYTES)", "BYTES"),
    ("extension/node.rs", "stdout.take(MAX_VERSION)", "MAX_VERSION, no version"),
    ("extension/pipe.rs", "self.from.read(buffer)", "the caller's buffer"),
    ("extension/pipe.rs", "self.from.read(&mut buffer[..left])", "the caller's buffer"),
    ("extension/spawn.rs", "take(256)", "256 bytes"),
    ("extension/stderr.rs", "stderr.read(&mut chunk)", "LINE_LIMIT a line, KEPT_LINES of them"),
    ("extension/stdout.rs", "stdout.read(&mut chunk)", "the chunk, then the splitter"),
    ("extension/stdout.rs", "LineSplitter::new(self.max_frame)", "MAX_FRAME, the extension is ended"),
    (
        "inspect/scripts.rs",
        "fs::read_to_string(self.path(name).ok()?)",
        "a file of the inspector's own folder",
    ),
    ("inspect/server/mod.rs", "axum::serve(", "hyper: heads of 400 KiB; bodies DefaultBodyLimit; strangers"),
    ("inspect/server/requests.rs", ".on_upgrade(", "axum: messages of 64 MiB, the connection ends"),
    ("inspect/recording_file.rs", "CHUNK)?", "LONGEST_LINE, left out"),
    (
        "inspect/server/requests.rs",
        "BufReader::with_capacity(256 * 1024, reader)",
        "`oracle/recording.rs`: LONGEST_LINE",
    ),
    ("processes/line_reader.rs", "LineSplitter::new(limit)", "the caller's limit"),
    ("processes/line_reader.rs", "self.from.read(self.splitter.space(CHUNK))", "the splitter"),
    ("processes/line_reader.rs", "from.fill_buf()", "the caller's limit"),
    ("processes/line_reader.rs", "take(limit).read_to_end(&mut bytes)", "the caller's limit"),
    ("processes/line_reader.rs", "io::copy(&mut from, &mut io::sink())", "nothing is kept"),
    ("processes/line_reader.rs", "pub fn read_beginning(", "the caller's limit"),
    ("login/callback.rs", "axum::serve(", "hyper: heads of 400 KiB; no body is read; strangers"),
    ("mock/answer.rs", "answer.chunk()", "bytes of our own"),
    ("mcp/http.rs", "response.chunk().await", "MAX_MESSAGE, an error; the time limit of the request"),
    ("mcp/oauth/requests.rs", "response.chunk().await", "MAX_ANSWER, an error; TIMEOUT"),
    ("mcp/stdio.rs", "stdout.read(&mut chunk)", "the chunk; MAX_NOISE of lines that are no messages"),
    ("mcp/stdio.rs", "LineSplitter::new(MAX_MESSAGE)", "MAX_MESSAGE, the server is ended"),
    ("mcp/stdio.rs", "stderr.read(&mut chunk)", "the chunk; STDERR_TAIL is kept"),
    ("mock/connection.rs", ".poll_read(context, buffer)", "the caller's buffer"),
    ("mock/handle.rs", "packed.take(MAX_BODY as u64).read_to_end(&mut whole)", "MAX_BODY"),
    ("mock/mcp/http.rs", "axum::serve(", "hyper: heads of 400 KiB; bodies MAX_BODY; strangers"),
    ("mock/mcp/stdio.rs", "BufReader::new(input)", "the buffer"),
    ("mock/mcp/stdio.rs", "limited.read_until(", "MAX_LINE, the end"),
    ("mock/lib.rs", "axum::serve(", "hyper: heads of 400 KiB; bodies MAX_BODY; strangers"),
    ("model-http/http/aws_chain.rs", "answer.chunk()", "MAX_BODY, an error"),
    ("model-http/http/google_exchange.rs", "response.chunk()", "the answer's limit, an error"),
    ("model-http/http/socket.rs", "WebSocketConfig::default()", "`EVENT_BYTES` for a message, an error"),
    (
        "model-http/http/response.rs",
        "timeout(idle, response.chunk())",
        "`model-http/decoder.rs`: what a piece is unpacked to, `body.rs`: a line, an event and an answer have limits",
    ),
    ("conform/live/adapter.rs", "fs::read_to_string(folder.join(name))", "a file that the user names"),
    ("conform/live/adapter.rs", "fs::read_to_string(&path)", "a file that the user names"),
    ("conform/live/conversation.rs", "LineSplitter::new(usize::MAX)", "what the scenario writes"),
    ("oracle/recording.rs", "from.fill_buf()", "LONGEST_LINE, reported and left out"),
    ("oracle/recording.rs", "LineSplitter::new(longest)", "LONGEST_LINE, reported and left out"),
    ("conform/tap/pump.rs", "from.read(&mut chunk)", "passed on; `conform/tap/recorder.rs` holds LONGEST"),
    ("conform/tap/recorder.rs", "LineSplitter::new(LONGEST)", "LONGEST, recorded in pieces"),
    ("packages/fetch.rs", "read_beginning(stderr, MAX_STDERR)", "MAX_STDERR, the rest is dropped"),
    ("files/regular_files.rs", "take(kind.limit + 1)", "the limit of the kind, an error"),
    ("files/regular_files.rs", "pub fn read_to_string(", "the limit of the kind, an error"),
    ("server/stdin.rs", "self.from.read(splitter.space(CHUNK))", "the splitter"),
    ("server/stdin.rs", "self.stdin.read(&mut self.splitter)", "the splitter"),
    ("server/stdin.rs", "LineSplitter::new(max_frame)", "`--max-frame`, an error, the line is skipped"),
    ("session-store/catalog.rs", "take(LARGEST + 1)", "LARGEST, left out of the list"),
    ("session-store/file.rs", "open.file.read_to_end(&mut bytes)", "`--max-session`, not opened"),
    ("session-store/file.rs", "old.read_to_end(&mut bytes)", "`--max-session`: what was read before"),
    ("session-store/find.rs", "BufReader::new(file.take(LONGEST_HEADER))", "LONGEST_HEADER"),
    ("session-store/find.rs", "reader.read_until(", "LONGEST_HEADER"),
    ("host/auth_command.rs", "from.take(MAX_ANSWER)", "MAX_ANSWER"),
    ("host/listener.rs", "axum::serve(", "hyper: heads of 400 KiB; no body is read; strangers"),
    ("host/listener.rs", "LineReader::new(from, server.max_frame)", "`--max-frame`, an error"),
    ("host/listener.rs", "upgrade.on_upgrade(move |socket|", "`--max-frame`, the connection is closed"),
    ("host/listener.rs", "upgrade.on_upgrade(|socket|", "twice `--max-frame`, the connection is closed"),
    ("host/server_process.rs", "LineReader::new(stderr, SHOWN_STDERR)", "SHOWN_STDERR, the line is left out"),
    ("host/server_process.rs", "LineReader::new(stdout, FRAME_LIMIT)", "FRAME_LIMIT, an error"),
    ("host/transports.rs", "self.stdin.read(&mut self.splitter)", "the splitter"),
    ("host/transports.rs", "LineSplitter::new(max_frame)", "`--max-frame`, an error"),
    ("host/unix_clients.rs", "recv(stream, &mut first", "one byte"),
    ("guarded-listener/lib.rs", ".poll_read(context, buffer)", "the caller's buffer"),
    ("tools/bash.rs", "file.by_ref().take(half)", "MOST_STRUCTURED, the middle is left out"),
    ("tools/bash.rs", "file.take(half)", "MOST_STRUCTURED, the middle is left out"),
    ("tools/bash.rs", "file.take(MOST_STRUCTURED)", "MOST_STRUCTURED"),
    ("tools/grep.rs", "self.file.read(buffer)", "the buffer; files of 64 MiB"),
    ("tools/read.rs", ".read_to_end(&mut bytes)", "LARGEST_FILE, an error"),
    (
        "tools/running_command.rs",
        "self.pipe.read(&mut self.buffer)",
        "the buffer; `tools/output.rs` keeps 100 KiB",
    ),
    ("tools/running_command.rs", "pipe.read(&mut buffer)", "nothing is kept"),
    ("traces/otlp/sender.rs", "response.chunk()", "`MAX_RESPONSE` bytes, an error"),
];

#[test]
fn every_reader_has_a_bound() {
    let found = readers();
    let has_row = |(file, line): &(String, String)| {
        READERS.iter().any(|(known, part, _)| file == known && line.contains(part))
    };
    let unbounded: Vec<_> = found.iter().filter(|reader| !has_row(reader)).collect();
    assert!(unbounded.is_empty(), "readers without a row, and so perhaps without a bound: {unbounded:#?}");
    let is_there = |(file, part, _): &(&str, &str, &str)| {
        found.iter().any(|(known, line)| known == file && line.contains(part))
    };
    let stale: Vec<_> = READERS.iter().filter(|row| !is_there(row)).collect();
    assert!(stale.is_empty(), "rows without a reader: {stale:#?}");
}

/// The lines that read: file, and line. Tests are left out.
fn readers() -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    for (file, text) in source_files() {
        let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        let text = text.split("#[cfg(all(test").next().unwrap_or_default();
        let lines = text.lines().map(str::trim).filter(|line| reads(line));
        found.extend(lines.map(|line| (file.clone(), line.to_owned())));
    }
    found
}

fn reads(line: &str) -> bool {
    let is_import = line.starts_with("use ") || line.starts_with("pub use ");
    let is_read = READS.iter().any(|read| line.contains(read));
    is_read && !is_import && !line.starts_with("//") && !line.contains(REGULAR_FILES)
}

#[test]
fn a_new_reader_would_be_found() {
    assert!(reads("let text = fs::read_to_string(path)?;"));
    assert!(reads("from.read_to_end(&mut bytes).await?;"));
    assert!(!reads("// stdin.read_to_end(&mut bytes)"));
    assert!(!reads("regular_files::read_to_string(&path, CONFIGURATION)?;"));
}
