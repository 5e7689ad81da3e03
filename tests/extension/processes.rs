//! Extensions as processes: what they say and are told, every way to end, every limit.

use crate::extension_support::{MAX_FRAME, MAX_PENDING, Place, cancel, eventually, gone};
use pi_rpc::{
    config::Environment,
    extension::NodeHost,
    protocol::{ExtensionAnswer, FromExtensionKind, ToExtension},
};
use std::{fs, time::Duration};

const EXITED: &str = "ended: it exited with status 0";

#[tokio::test]
async fn frames_pass_both_ways_before_end() {
    let place = Place::new();
    let mut world = place.runs(
        r#"read -r line
           printf '{"type":"set_session_name","name":"in %s, asked for %s"}\n' "$(pwd -P)" "$PI_RPC_EXTENSION"
           printf '%s\n' "$line" > told
           read -r line || printf '{"type":"accept","id":"the end"}'"#,
    );
    world.tell(1, "a");
    let here = fs::canonicalize(place.dir.path()).unwrap();
    let name = format!(r#"{{"type":"set_session_name","name":"in {}, asked for 1"}}"#, here.display());
    assert_eq!(world.next().await, (1, name));
    place.awaits("told").await;
    assert_eq!(fs::read_to_string(place.path("told")).unwrap(), "{\"type\":\"cancel\",\"id\":\"a\"}\n");
    world.extensions.close().await;
    assert_eq!(world.all().await, [r#"{"type":"accept","id":"the end"}"#, EXITED]);
}

#[tokio::test]
async fn invalid_line_is_reported_and_costs_none() {
    let place = Place::new();
    let long = "x".repeat(200);
    let shown = format!("expected value at column 1: {}…", "x".repeat(80));
    let notify = r#"{"type":"ui","request":{"type":"extension_ui_request","id":"1","method":"notify"}}"#;
    let short = format!("`request`: missing field `message`: {}…", &notify[..80]);
    let types = FromExtensionKind::ALL.map(|kind| format!("`{}`", kind.as_str())).join(", ");
    let unknown = format!(r#"`type`: `nonsense` is not one of {types}: {{"type":"nonsense"}}"#);
    let cases: [(&[u8], &str); 9] = [
        ("Loading…".as_bytes(), "expected value at column 1: Loading…"),
        (b"{\"type\":", "EOF while parsing a value at column 8: {\"type\":"),
        (b"[1]", "invalid type: array, expected an object with `type` (FromExtension): [1]"),
        (br#"{"id":"1"}"#, r#"missing field `type`: {"id":"1"}"#),
        (br#"{"type":"nonsense"}"#, &unknown),
        (br#"{"type":"accept"}"#, r#"missing field `id`: {"type":"accept"}"#),
        (notify.as_bytes(), &short),
        (b"\xff", "invalid utf-8 sequence of 1 bytes from index 0: \u{fffd}"),
        (long.as_bytes(), &shown),
    ];
    let mut texts = Vec::new();
    for (line, _) in cases {
        fs::write(place.path("line"), [line, b"\r\n\n  \n{\"type\":\"shutdown\"}\n"].concat()).unwrap();
        let said = place.runs("cat line").all().await;
        assert_eq!(said[1..], [r#"{"type":"shutdown"}"#, EXITED]);
        texts.push(said[0].clone());
    }
    let beginning = "strayed: ";
    let wanted = cases.map(|(_, wanted)| format!("{beginning}{wanted}"));
    assert_eq!(texts, wanted);
}

#[tokio::test]
async fn lone_surrogate_escape_is_replaced() {
    let place = Place::new();
    let said = place.runs(r#"echo '{"type":"accept","id":"a\udcffb"}'"#).all().await;
    assert_eq!(said, ["{\"type\":\"accept\",\"id\":\"a\u{fffd}b\"}", EXITED]);
}

#[tokio::test]
async fn end_reports_status_and_last_stderr() {
    let place = Place::new();
    let too_long = format!("it wrote a line of more than {MAX_FRAME} bytes");
    let limit = MAX_FRAME;
    let cases = [
        ("exit 3".to_owned(), "it exited with status 3"),
        (
            "echo one >&2; echo 'no module' >&2; echo >&2; exit 1".to_owned(),
            "it exited with status 1: one\nno module",
        ),
        ("kill -9 $$".to_owned(), "it was killed by signal 9"),
        ("echo why >&2; kill -TERM $$".to_owned(), "it was killed by signal 15: why"),
        ("exec >&-; exec sleep 1000".to_owned(), "it closed its stdout"),
        (format!("head -c {limit} /dev/zero | tr '\\0' x; printf x; exec sleep 1000"), &too_long),
        ("yes no line feed | tr -d '\\n'".to_owned(), &too_long),
        (format!("head -c {limit} /dev/zero | tr '\\0' x; printf 'x\\n'; exec sleep 1000"), &too_long),
    ];
    for (body, wanted) in cases {
        assert_eq!(place.runs(&body).all().await, [format!("ended: {wanted}")], "{body}");
    }
    assert_eq!(place.processes.live_groups(), Vec::<u32>::new());
}

#[tokio::test]
async fn the_longest_line_is_not_too_long() {
    let place = Place::new();
    let frame = |blanks| format!(r#"{{"type":"accept","id":"1"{}}}"#, " ".repeat(blanks));
    let room = MAX_FRAME as usize - frame(0).len();
    let too_long = format!("ended: it wrote a line of more than {MAX_FRAME} bytes");
    for (blanks, wanted) in [(room, vec![frame(0), EXITED.to_owned()]), (room + 1, vec![too_long])] {
        fs::write(place.path("line"), frame(blanks) + "\n").unwrap();
        assert_eq!(place.runs("cat line").all().await, wanted);
    }
}

#[tokio::test]
async fn closed_stdin_ends_process_on_next_frame() {
    let place = Place::new();
    let mut world = place.runs("exec <&-; echo '{\"type\":\"shutdown\"}'; exec sleep 1000");
    assert_eq!(world.next().await.1, r#"{"type":"shutdown"}"#);
    // A process that another test starts holds the pipe for a moment: what is written meanwhile tells nothing.
    let (_, end) = loop {
        world.tell(1, "a");
        tokio::select! {
            end = world.next() => break end,
            () = tokio::time::sleep(Duration::from_millis(20)) => {}
        }
    };
    assert_eq!(end, "ended: it closed its stdin");
}

#[tokio::test]
async fn failed_start_names_its_reason() {
    let place = Place::new();
    fs::create_dir(place.path("folder")).unwrap();
    fs::write(place.path("plain"), "text").unwrap();
    place.executable("rootless", "#!/no/such/interpreter -x\n");
    place.executable("nothing", "\x01\x02\x03");
    let cases = [
        ("missing", "there is no such file"),
        ("folder", "it is a folder without an executable"),
        ("plain", "the file is not executable (chmod +x)"),
        ("rootless", "its interpreter is missing: /no/such/interpreter -x"),
        ("nothing", "the file is neither a program for this machine nor a script that begins with #!"),
    ];
    for (name, why) in cases {
        let mut world = place.world(vec![place.path(name).to_str().unwrap().to_owned()]);
        world.extensions.start(1, 0);
        world.tell(1, "nobody hears it");
        assert_eq!(world.all().await, [format!("ended: it cannot be started: {why}")]);
    }
}

#[tokio::test]
async fn ending_server_starts_no_process() {
    let place = Place::new();
    place.processes.end_all().await;
    let wanted = "ended: it cannot be started: the server is ending";
    assert_eq!(place.runs("touch started").all().await, [wanted]);
    assert!(!place.path("started").exists());
}

/// Starts a process that is deaf to TERM, and leaves its id in the file `child`.
const STUBBORN_CHILD: &str = "(trap '' TERM; sh -c 'echo $$ > new; mv new child; while :; do sleep 1; done' \
                              > /dev/null 2>&1 < /dev/null) &";

#[tokio::test]
async fn stopped_process_ends_with_its_children() {
    let place = Place::new();
    let mut world = place.runs(&format!(
        "trap 'echo \"{{\\\"type\\\":\\\"shutdown\\\"}}\"; exit 0' TERM\n{STUBBORN_CHILD}\nwhile :; do sleep 0.01; done"
    ));
    place.awaits("child").await;
    world.extensions.stop(1);
    world.tell(1, "nobody hears it");
    world.extensions.stop(1);
    assert_eq!(world.all().await, ["ended: it was stopped"]);
    gone(&place.path("child")).await;
    assert_eq!(place.processes.live_groups(), Vec::<u32>::new());
}

#[tokio::test]
async fn surviving_child_ends_without_delaying_end() {
    let place = Place::new();
    // The child inherits stdout, and writes on.
    let mut world = place.runs(
        "(trap '' TERM; sh -c 'echo $$ > new; mv new child; while :; do echo; sleep 0.01; done') &
         while ! [ -e child ]; do sleep 0.01; done
         echo '{\"type\":\"shutdown\"}'",
    );
    assert_eq!(world.all().await, [r#"{"type":"shutdown"}"#, EXITED]);
    gone(&place.path("child")).await;
}

#[tokio::test]
async fn all_output_is_read_before_end() {
    let place = Place::new();
    let frames = 2000;
    let mut world = place.runs(&format!(
        "i=0; while [ $i -lt {frames} ]; do echo \"{{\\\"type\\\":\\\"accept\\\",\\\"id\\\":\\\"$i\\\"}}\"; i=$((i+1)); done"
    ));
    let mut wanted: Vec<_> = (0..frames).map(|id| format!(r#"{{"type":"accept","id":"{id}"}}"#)).collect();
    wanted.push(EXITED.to_owned());
    assert_eq!(world.all().await, wanted);
}

#[tokio::test]
async fn pending_frames_are_written_before_closing_stdin() {
    let place = Place::new();
    let mut world = place.runs("exec cat > told");
    for id in 0..5000 {
        world.tell(1, &id.to_string());
    }
    world.extensions.close().await;
    eventually("all is told", || {
        let told = fs::read_to_string(place.path("told")).unwrap_or_default();
        told.lines().last() == Some(r#"{"type":"cancel","id":"4999"}"#)
    })
    .await;
    assert_eq!(fs::read_to_string(place.path("told")).unwrap().lines().count(), 5000);
}

#[tokio::test]
async fn process_ignoring_closed_stdin_is_killed() {
    let place = Place::new();
    let mut world = place.runs(&format!("trap '' TERM\n{STUBBORN_CHILD}\nwhile :; do sleep 1; done"));
    place.awaits("child").await;
    world.extensions.close().await;
    assert_eq!(place.processes.live_groups().len(), 1);
    place.processes.end_all().await;
    gone(&place.path("child")).await;
    assert_eq!(world.all().await, ["ended: it was killed by signal 9"]);
}

#[tokio::test]
async fn process_with_too_many_pending_bytes_ends() {
    let place = Place::new();
    let mut world = place.runs("exec sleep 1000");
    let id = "x".repeat(1 << 10);
    // One more than fits, and one to find that out.
    for _ in 0..=MAX_PENDING / id.len() + 1 {
        world.tell(1, &id);
    }
    let text = format!("ended: it does not read: more than {MAX_PENDING} bytes are pending");
    assert_eq!(world.all().await, [text]);
}

#[tokio::test]
async fn frame_may_exceed_pending_limit() {
    let place = Place::new();
    let mut world =
        place.runs("wc -c > told; mv told counted; echo '{\"type\":\"shutdown\"}'; exec sleep 1000");
    let frame = cancel(&"x".repeat(MAX_PENDING));
    world.extensions.send(1, &frame);
    world.extensions.close().await;
    assert_eq!(world.next().await.1, r#"{"type":"shutdown"}"#);
    let length = serde_json::to_vec(&frame).unwrap().len() + 1;
    assert_eq!(fs::read_to_string(place.path("counted")).unwrap().trim(), length.to_string());
}

#[tokio::test]
async fn slow_host_pauses_reading_of_extensions() {
    let place = Place::new();
    place.gate.send_replace(false);
    let mut world = place.runs("echo '{\"type\":\"shutdown\"}'; touch written");
    place.awaits("written").await;
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    let heard = tokio::time::timeout(Duration::ZERO, world.inputs.next()).await;
    assert!(heard.is_err(), "{heard:?}");
    place.gate.send_replace(true);
    assert_eq!(world.all().await, [r#"{"type":"shutdown"}"#, EXITED]);
}

#[tokio::test]
async fn paused_process_can_be_stopped() {
    let place = Place::new();
    place.gate.send_replace(false);
    let mut world = place.runs("yes '{\"type\":\"shutdown\"}'");
    world.extensions.stop(1);
    assert_eq!(world.all().await, ["ended: it was stopped"]);
}

#[tokio::test]
async fn flooding_process_does_not_starve_others() {
    let place = Place::new();
    let flood = place.script("flood", "exec yes '{\"type\":\"shutdown\"}'");
    let quiet =
        place.script("quiet", "while read -r line; do printf '{\"type\":\"accept\",\"id\":\"me\"}\\n'; done");
    let mut world = place.world(vec![flood, quiet]);
    world.extensions.start(7, 0);
    world.extensions.start(8, 1);
    let mut most = 0;
    for round in 0..20 {
        world.tell(8, "a");
        let mut others = 0;
        loop {
            match world.next().await {
                (8, frame) => break assert_eq!(frame, r#"{"type":"accept","id":"me"}"#, "{round}"),
                (_, frame) => assert_eq!(frame, r#"{"type":"shutdown"}"#),
            }
            others += 1;
        }
        most = most.max(others);
    }
    println!("at most {most} frames before the other's");
    world.extensions.stop(7);
    world.extensions.stop(8);
}

#[tokio::test]
async fn answers_use_the_separate_descriptor() {
    let place = Place::new();
    let answers = r#"read -r first; read -r answer <&3; read -r second
        printf '%s\n' "$first" "$answer" "$second" > said
        mv said heard; cat <&3 > rest; touch closed"#;
    let node = place.script("node", answers);
    let environment =
        [("PI_RPC_NODE", node.clone()), ("XDG_CACHE_HOME", place.path("").display().to_string())];
    let host = NodeHost::find(&environment.into_iter().collect::<Environment>()).unwrap();
    let mut world = place.hosting(host);
    world.extensions.start(1, 0);
    world.tell(1, "first");
    let answer = ExtensionAnswer { id: "q".to_owned(), data: None, error: Some("nothing".to_owned()) };
    let answer = ToExtension::Answer(answer);
    world.extensions.send(1, &answer);
    world.tell(1, "second");
    place.awaits("heard").await;
    let told = [cancel("first"), answer, cancel("second")];
    let told = told.map(|frame| serde_json::to_string(&frame).unwrap() + "\n").concat();
    assert_eq!(fs::read_to_string(place.path("heard")).unwrap(), told);
    // Its end closes both.
    world.extensions.close().await;
    assert!(place.path("closed").exists());
    assert_eq!(fs::read_to_string(place.path("rest")).unwrap(), "");
}

#[tokio::test]
async fn invalid_registration_is_recognised() {
    let lines = [
        r#"{"type":"register","commands":"all"}"#,
        r#"{ "type" : "register", "commands": ["#,
        r#"{"type":"registry"}"#,
        r#"{"type":"#,
    ];
    let body = lines.map(|line| format!("echo '{line}'")).join("\n");
    let kinds: Vec<String> = Place::new().runs(&body).all().await;
    let kinds: Vec<&str> = kinds.iter().map(|said| said.split(':').next().unwrap_or_default()).collect();
    assert_eq!(kinds, ["misregistered", "misregistered", "strayed", "strayed", "ended"]);
}
