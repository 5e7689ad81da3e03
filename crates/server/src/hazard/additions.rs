//! Members that hazards add to frames, and frames that they add between them.

use super::Hazard;
use fastrand::Rng;
use pi_rpc_protocol::{
    ConfirmRequest, Encoder, HAZARD_PREFIX, InputRequest, NotifyRequest, NotifyType, Outbound,
    RpcExtensionUIRequest, SelectRequest,
};
use serde_json::json;

/// The number of the frame after which every kind of addition has occurred once. Not the first, which may be the greeting.
pub const FIRST: u64 = 2;

/// Makes a member, name and value.
type Member = fn(&mut Rng) -> Vec<u8>;

/// Writes a frame.
type Frame = fn(&mut Rng, &mut Vec<u8>);

/// Members to add: the hazard, one in how many frames, and the member.
pub const MEMBERS: [(Hazard, u64, Member); 3] =
    [(Hazard::UnknownFields, 1, strange), (Hazard::U2028, 2, awkward), (Hazard::Huge, 400, huge)];

/// Frames to add: the hazard, after one in how many frames, and the frame.
pub const FRAMES: [(Hazard, u64, Frame); 4] = [
    (Hazard::UnknownEvents, 4, event),
    (Hazard::U2028, 8, |random, out| notify(text(random).to_owned(), random, out)),
    (Hazard::Dialogs, 6, dialog),
    (Hazard::Huge, 400, |random, out| notify(long(), random, out)),
];

/// Inserts a member at the front or the back of an object that is not empty.
pub fn insert(frame: &mut Vec<u8>, member: &[u8], front: bool) {
    let Some(close) = memchr::memrchr(b'}', frame) else { return };
    let (at, member) = match front {
        true => (1, [member, b","].concat()),
        false => (close, [b",", member].concat()),
    };
    frame.splice(at..at, member);
}

/// Values of unknown members, some of which look like frames.
const VALUES: [&str; 8] = [
    "null",
    "-0.0",
    "9007199254740993",
    r#""""#,
    "[[[[[[[[]]]]]]]]",
    r#"{"type":"agent_end","messages":[]}"#,
    r#"{"id":"1","type":"response","command":"get_state","success":false,"error":""}"#,
    r#""{\"type\":\"agent_start\"}\n""#,
];

fn strange(random: &mut Rng) -> Vec<u8> {
    let value = random.choice(VALUES).unwrap_or_default();
    format!("\"{HAZARD_PREFIX}{}\":{value}", random.u16(..)).into_bytes()
}

fn awkward(random: &mut Rng) -> Vec<u8> {
    format!("\"{HAZARD_PREFIX}text\":{}", json!(text(random))).into_bytes()
}

fn huge(_: &mut Rng) -> Vec<u8> {
    format!("\"{HAZARD_PREFIX}filling\":{}", json!(long())).into_bytes()
}

/// An event of a type that does not exist.
fn event(random: &mut Rng, out: &mut Vec<u8>) {
    let kind = random.choice(["note", "agent_start", "progress"]).unwrap_or_default();
    let frame =
        json!({"type": format!("{HAZARD_PREFIX}{kind}"), "message": text(random), "value": random.u8(..)});
    out.extend_from_slice(frame.to_string().as_bytes());
    out.push(b'\n');
}

/// Texts with foreign line ends, changes of direction, invisible, combining and non-BMP characters.
const TEXTS: [&str; 6] = [
    "line\u{2028}line\u{2029}line\u{85}line\u{b}\u{c}",
    "\u{feff}mark\u{fffe}\u{ffff}",
    "\u{202e}back\u{202c}\u{200f}\u{2066}\u{2069}",
    "\u{0}\u{1}\u{1b}[2J\u{7f}\r\n",
    "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}\u{10ffff}",
    "e\u{301}\u{327}\u{fdfa}\\u2028\\\"</script>",
];

fn text(random: &mut Rng) -> &'static str {
    random.choice(TEXTS).unwrap_or_default()
}

/// Length of the text in a huge frame, in characters.
const HUGE: usize = 5_000_000;

fn long() -> String {
    "hazard \u{2028} 0123456789 é \u{1f600} ".chars().cycle().take(HUGE).collect()
}

fn notify(message: String, random: &mut Rng, out: &mut Vec<u8>) {
    write_request(NotifyRequest { id: id(random), message, notify_type: Some(NotifyType::Info) }.into(), out);
}

/// Time limits of dialogs, in milliseconds.
const PATIENCE_MS: std::ops::Range<u64> = 50..5000;

/// A dialog with a time limit, so that a host need not answer; its response is ignored.
fn dialog(random: &mut Rng, out: &mut Vec<u8>) {
    let (id, title) = (id(random), format!("{HAZARD_PREFIX}dialog"));
    let timeout = Some(random.u64(PATIENCE_MS));
    let request: RpcExtensionUIRequest = match random.u8(0..3) {
        0 => SelectRequest {
            id,
            title,
            options: vec!["a".into(), String::new(), text(random).into()],
            timeout,
            option_details: None,
        }
        .into(),
        1 => ConfirmRequest { id, title, message: text(random).into(), timeout }.into(),
        _ => InputRequest { id, title, placeholder: None, timeout }.into(),
    };
    write_request(request, out);
}

fn id(random: &mut Rng) -> String {
    uuid::Builder::from_random_bytes(random.u128(..).to_be_bytes()).into_uuid().to_string()
}

fn write_request(request: RpcExtensionUIRequest, out: &mut Vec<u8>) {
    Encoder::encode_frame(&Outbound::ExtensionUIRequest(request), out);
}
