//! A conversation that lasts and in which everything asks back, of the kind that `tests/engine/lasting_random.rs` and
//! `asking_random.rs` draw, chosen by the input: retries, compactions, sessions one after another, a disk that fills up,
//! extensions and hosts that answer, late, never, twice or wrongly.

use crate::{
    lasting_support::{
        Act, Close, Scenario,
        extended::{Answers, Habit},
        play,
        scenario::LINES,
    },
    lots::Lots,
};
use pi_rpc::protocol::Dialect;
use serde_json::{Value, json};

const DIALECTS: [Dialect; 3] = [Dialect::Pi, Dialect::Pi058, Dialect::Xcsh];

const SET_HOST_TOOLS: &str = r#"{"type":"set_host_tools","tools":[{"name":"ask","description":"Asks.","parameters":{"type":"object"}},{"name":"tell","description":"Tells.","parameters":{"type":"object"}}]}"#;

/// What hosts write besides where there are extensions.
const ASKING: [&str; 4] = [
    SET_HOST_TOOLS,
    r#"{"type":"prompt","message":"/do $"}"#,
    r#"{"type":"prompt","message":"/do $","streamingBehavior":"steer"}"#,
    r#"{"type":"set_interrupt_mode","mode":"immediate"}"#,
];

/// Choices.
pub fn hold(data: &[u8]) {
    let lots = &mut Lots::new(data);
    let dialect = lots.pick(&DIALECTS);
    let close = lots.pick(&[None, Some(Close::EndOfInput), Some(Close::Shutdown)]);
    let close = close.map(|close| (moment(lots), close));
    let asks = lots.once_in(2);
    let kept = !lots.once_in(8);
    let seed = lots.below(256) as u64;
    let mut acts = vec![(0, Act::Line(LINES[0].1))];
    acts.extend(lots.several(26, |lots| act(lots, asks)));
    let turns = lots.several(20, |lots| turn(lots, asks));
    let (mut habits, mut answers, mut confirm): (Vec<Vec<Habit>>, Vec<Answers>, &[&str]) = Default::default();
    if asks {
        let habits_of = |lots: &mut Lots| [vec![habit(lots)], lots.several(9, habit)].concat();
        habits = vec![habits_of(lots)];
        habits.extend(lots.several(3, habits_of));
        answers = lots.several(8, answer);
        answers.push(Answers::Rightly(5));
        confirm = lots.pick(&[&[][..], &["ls", "mine0", "ask"]]);
    }
    let scenario = Scenario { dialect, acts, turns, close, kept, seed, habits, answers, confirm };
    if let Err(wrong) = play(&scenario) {
        panic!("{scenario:?}\n{wrong}");
    }
}

fn moment(lots: &mut Lots) -> u64 {
    (lots.below(16) * 256 + lots.below(256)) as u64
}

fn act(lots: &mut Lots, asks: bool) -> (u64, Act) {
    let wait = match lots.below(8) {
        0 | 1 => 0,
        2..6 => lots.below(40) as u64,
        6 => lots.below(256) as u64 * 2,
        _ => 1500 + lots.below(256) as u64 * 4,
    };
    let act = match lots.below(16) {
        15 => Act::DiskFull(lots.below(4), moment(lots)),
        12.. if asks => Act::Line(lots.pick(&ASKING)),
        _ => Act::Line(lots.pick(LINES).1),
    };
    (wait, act)
}

/// An answer, good or bad; or a summary.
fn turn(lots: &mut Lots, asks: bool) -> Value {
    let text = json!([{ "text": "Something was said to that.", "size": 10 }]);
    let calls = json!([{ "tool": "bash", "arguments": { "command": "make" } }, { "tool": "ls" }]);
    let mut turn = match lots.below(if asks { 20 } else { 14 }) {
        0 | 1 => json!({ "say": text }),
        2 => json!({ "say": calls }),
        3 => json!({ "fail": { "status": 529 } }),
        4 => json!({ "fail": { "status": 429, "retryAfter": 3 } }),
        5 => json!({ "fail": { "status": 401 } }),
        6 => json!({ "say": calls, "fail": { "message": "terminated" } }),
        7 => json!({ "fail": { "status": 400, "message": "prompt is too long: 9 tokens > 8 maximum" } }),
        8 => json!({ "say": text, "usage": { "input": 9500 } }),
        9 => json!({ "say": text, "usage": { "input": 10_500 } }),
        10 => json!({ "say": text, "hang": true }),
        11 => json!({ "summary": true, "say": [{ "text": "What was said." }] }),
        12 => json!({ "summary": true, "fail": { "status": 500 } }),
        13 => json!({ "summary": true, "hang": true }),
        _ => {
            let tools = ["mine0", "mine0", "mine1", "ask", "tell", "ls", "bash"];
            let call =
                |lots: &mut Lots| json!({ "tool": lots.pick(&tools), "arguments": { "command": "make" } });
            let mut say = lots.several(4, call);
            say.push(call(lots));
            json!({ "say": say })
        }
    };
    turn["firstDelayMs"] = lots.below(60).into();
    turn["delayMs"] = lots.below(20).into();
    turn
}

fn habit(lots: &mut Lots) -> Habit {
    let deliver = [None, Some("steer"), Some("followUp"), Some("nextTurn")];
    match lots.below(24) {
        6 | 7 => Habit::AnswersLate(1 + 2 * lots.below(256) as u64),
        8 => Habit::AnswersLate(500 + 160 * lots.below(256) as u64),
        9 => Habit::AnswersCancelled,
        10 => Habit::Never,
        11 => Habit::AnswersTwice,
        12 => Habit::Objects,
        13 => Habit::Fails,
        14 => Habit::Dies,
        15 => Habit::Strays,
        16 | 17 => {
            let method = lots.pick(&["select", "confirm", "input", "editor"]);
            let timeout = match lots.below(4) {
                0 | 1 => None,
                2 => Some(0),
                _ => Some(1 + 20 * lots.below(256) as u64),
            };
            Habit::Asks(method, timeout, !lots.once_in(5))
        }
        18 => Habit::AsksInVain,
        19 => Habit::Sends(lots.pick(&deliver), lots.once_in(2)),
        20 => Habit::Says(lots.pick(&deliver)),
        21 => lots.pick(&[Habit::Keeps, Habit::Renames]),
        22 => Habit::Registers,
        23 => Habit::Replaces,
        _ => Habit::Answers,
    }
}

fn answer(lots: &mut Lots) -> Answers {
    let kind = lots.below(8);
    if kind == 7 {
        return Answers::Never;
    }
    let wait = 2 * lots.below(200) as u64;
    match kind {
        4 => Answers::Wrongly(wait),
        5 => Answers::Twice(wait),
        6 => Answers::Misspelt(wait),
        _ => Answers::Rightly(wait),
    }
}
