//! The limits, from the constants that hold.

use super::{code, table};
use pi_rpc_client::LONGEST;
use pi_rpc_engine::limits::{self, Limits};
use pi_rpc_extension::{MAX_FRAME, MAX_PENDING};
use pi_rpc_files::regular_files::{
    CERTIFICATES, CONFIGURATION, IGNORE_FILE, INSTRUCTIONS, MANIFEST, SCRIPT, TEXT,
};
use pi_rpc_guarded_listener::STRANGER_TIME;
use pi_rpc_host::attach::MAX_MESSAGE;
use pi_rpc_protocol::FRAME_LIMIT;
use pi_rpc_recording::LONGEST_LINE;
use pi_rpc_server::MAX_PENDING_BYTES;
use pi_rpc_tools::{OUTPUT_FILE_LIMIT, OUTPUT_FILES_LIMIT};
use std::time::Duration;

/// A size in the largest unit that it is a whole number of.
fn bytes(bytes: u64) -> String {
    match bytes {
        0 => "0".to_owned(),
        bytes if bytes % (1 << 30) == 0 => format!("{} GiB", bytes >> 30),
        bytes if bytes % (1 << 20) == 0 => format!("{} MiB", bytes >> 20),
        bytes if bytes % (1 << 10) == 0 => format!("{} KiB", bytes >> 10),
        bytes => format!("{bytes} bytes"),
    }
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs())
}

/// What a host may say.
pub(super) fn host() -> String {
    let usual = Limits::default();
    let size = |size: usize| bytes(size as u64);
    let rows: [(&str, String, &str, &str); 8] = [
        ("a line of the host", size(FRAME_LIMIT), "--max-frame", "an error that names both lengths; the line is skipped, not held"),
        (
            "messages and commands that wait for their turn: texts, images and 256 bytes each",
            size(usual.queue),
            "--max-queue",
            "an error to `steer`, `follow_up`, and to what would wait behind a run; what waits already is delivered. Lines that wait to be served (before extensions have registered; in `xcsh` behind a command) are not read beyond it",
        ),
        (
            "frames that the host has not read",
            size(MAX_PENDING_BYTES),
            "--max-unread",
            "no command is read until half is free. At a sixteenth of it models and tools pause, and deltas are coalesced before",
        ),
        ("bash commands that run at a time", usual.shells.to_string(), "--max-bash", "an error"),
        (
            "a session: the lines of its file",
            size(usual.session),
            "--max-session",
            "an error to what would add to it (`new_session` is served); a longer file is not opened. A run that is under way goes on",
        ),
        ("levels of JSON", "128".to_owned(), "", "an error"),
        (
            "the schema of a tool, the host's or an extension's",
            "1,000,000 steps to check one value, 1000 patterns, 64 schemas in a row, references within itself".to_owned(),
            "",
            "an error that names the tool (`extension_error` for an extension's). A call whose arguments would take more steps gives an error result",
        ),
        (
            "a line of a recording, for `check` and `replay`",
            size(LONGEST_LINE),
            "",
            "`check` names the line and goes on behind it; `replay` names it and ends",
        ),
    ];
    let rows =
        rows.map(|(what, limit, option, beyond)| [what.to_owned(), limit, code(option), beyond.to_owned()]);
    table(["What", "Limit", "Option", "Beyond it"], rows)
}

/// What those at the other end of a pipe or a socket may write.
pub(super) fn peers() -> String {
    let size = |size: usize| bytes(size as u64);
    let share = format!(
        "a quarter of the descriptors (`RLIMIT_NOFILE`) by TCP, and as many by Unix sockets; {} each",
        seconds(STRANGER_TIME)
    );
    let rows: [(&str, String, &str, &str); 8] = [
        (
            "connections to `host` without a token, a request or a first line yet",
            share,
            "",
            "the one that has waited longest is closed when one more comes; each is closed when its time is over, and after a refusal. The same holds for `mock-llm`, `inspect` and the page of a login",
        ),
        (
            "a message to `host`, of a session's own connection twice as long",
            size(FRAME_LIMIT),
            "--max-frame",
            "the connection is closed",
        ),
        (
            "a message of a host to `attach`",
            size(MAX_MESSAGE),
            "four times `--max-frame`",
            "`attach` ends with status 1",
        ),
        (
            "a line of an editor to `acp`",
            size(FRAME_LIMIT),
            "--max-frame",
            "a parse error that names the limit; the line is skipped, not held",
        ),
        (
            "a line of the agent of `--backend acp`",
            size(FRAME_LIMIT),
            "--max-frame",
            "the agent is ended, and the run fails with the reason; the next prompt starts it again",
        ),
        (
            "a message of an MCP server",
            "8 MiB".to_owned(),
            "",
            "on stdio the server is ended, over HTTP the request fails; the session goes on",
        ),
        (
            "tools of an MCP server",
            "1,000, 2 MiB of definitions together, 256 KiB a schema".to_owned(),
            "",
            "the rest is left out, and the user is told",
        ),
        (
            "a line of a server to `acp --agent`, `conform` and the client library",
            size(LONGEST),
            "",
            "the server is ended; `conform` records the bytes as lost",
        ),
    ];
    let option = |text: &str| if text.starts_with("--") { code(text) } else { text.to_owned() };
    let rows =
        rows.map(|(what, limit, name, beyond)| [what.to_owned(), limit, option(name), beyond.to_owned()]);
    table(["What", "Limit", "Option", "Beyond it"], rows)
}

/// What tools give.
pub(super) fn tools() -> String {
    let rows: [(&str, String, &str, &str); 8] = [
        (
            "output in the result of a tool",
            "2000 lines, 50 KiB".to_owned(),
            "",
            "the end of it (of a file: the beginning), and where the rest is",
        ),
        ("output of a command in memory", "about 100 KiB".to_owned(), "", "the rest is in a file"),
        ("that file", bytes(OUTPUT_FILE_LIMIT), "--max-output-file", "the file ends there"),
        (
            "all these files of a server",
            bytes(OUTPUT_FILES_LIMIT),
            "--max-output-files",
            "the oldest are removed, and the output that needed the room names them",
        ),
        ("a file that `read` reads", "512 MiB".to_owned(), "", "an error"),
        (
            "an image that `read` shows",
            "4.5 MiB in base64, 8000 pixels a side; 256 MiB while it is scaled".to_owned(),
            "",
            "it is scaled down; if that fails, it is left out, with a note",
        ),
        ("a file that `grep` searches", "64 MiB".to_owned(), "", "it is left out"),
        ("a line that `grep` shows", "500 characters".to_owned(), "", "it is cut"),
    ];
    let rows =
        rows.map(|(what, limit, option, beyond)| [what.to_owned(), limit, code(option), beyond.to_owned()]);
    table(["What", "Limit", "Option", "Beyond it"], rows)
}

/// What an extension may do.
pub(super) fn extensions() -> String {
    let hosted = seconds(limits::HOST_REGISTER_TIMEOUT);
    let register = format!("{}, {hosted} for pi's own", seconds(limits::REGISTER_TIMEOUT));
    // The last one that is too many ends it.
    let (strays, hangs) = (limits::MAX_BAD_LINES - 1, limits::MAX_HANGS - 1);
    let rows: [(&str, String, &str); 13] = [
        (
            "until `register`",
            register,
            "it is ended for good, at once after a `register` that is no frame; until then the host waits",
        ),
        (
            "until a `command` is taken up, by `accept` or by anything that names it",
            seconds(limits::ACCEPT_TIMEOUT),
            "the host gets an `extension_error`",
        ),
        ("for a hook", seconds(limits::HOOK_TIMEOUT), "it has no say; a tool call is blocked"),
        ("for a request that was cancelled", seconds(limits::CANCEL_TIMEOUT), "the request has failed"),
        (
            "for a command when the input has ended",
            seconds(limits::END_OF_INPUT_TIMEOUT),
            "the command has failed",
        ),
        ("for `session_shutdown`", seconds(limits::EXIT_TIMEOUT), "the server goes on"),
        ("a line", bytes(MAX_FRAME), "it is ended"),
        ("lines that are no frames, and frames out of place", strays.to_string(), "it is ended"),
        ("hooks in a row that it did not answer in time", hangs.to_string(), "it is ended"),
        ("open dialogs", limits::MAX_DIALOGS.to_string(), "the next is cancelled, and out of place"),
        (
            "dialogs in a row that the host cannot be shown",
            limits::MAX_UNSHOWN_DIALOGS.to_string(),
            "the next is answered when its request has ended",
        ),
        ("frames for it that it has not read", bytes(MAX_PENDING as u64), "it is ended"),
        (
            "new starts, once it had registered",
            limits::MAX_RESTARTS.to_string(),
            "it stays away: its tools and commands fail, and calls that it guards are blocked",
        ),
    ];
    table(
        ["What", "Limit", "Beyond it"],
        rows.map(|(what, limit, beyond)| [what.to_owned(), limit, beyond.to_owned()]),
    )
}

/// What files may hold that a project, a package or the user has put there.
pub(super) fn files() -> String {
    let rows = [
        ("`settings.json`, `models.json`, `auth.json`, `trust.json`, `.npmrc`", CONFIGURATION),
        (
            "`AGENTS.md`, `CLAUDE.md`, `SYSTEM.md`, `APPEND_SYSTEM.md`, and files of `--system-prompt`",
            INSTRUCTIONS,
        ),
        ("`package.json`", MANIFEST),
        ("a skill, a prompt template, a rule", TEXT),
        (
            "`.gitignore`, `.ignore`, `.fdignore`, `.rgignore`, `.git/info/exclude`; beyond it, its folder is left out, and where a search begins no ignore file counts",
            IGNORE_FILE,
        ),
        ("a script of the scripted model", SCRIPT),
        ("certificates of `NODE_EXTRA_CA_CERTS`", CERTIFICATES),
    ];
    table(["What", "Limit"], rows.map(|(what, kind)| [what.to_owned(), bytes(kind.limit)]))
}
