//! Short form of all frames with their writers: `< p` is a command of the host, `>a hook input` a frame to the
//! extension `a`, `<a done` a frame of that extension; frames to the host have no mark. Frames within a run are
//! omitted, except for its beginning and its end.

use crate::{extension::heard, playback::Step, shape};

pub fn of(steps: &[Step]) -> String {
    words(steps).into_iter().map(|(_, word)| word).collect::<Vec<_>>().join(" · ")
}

pub fn timed(steps: &[Step]) -> String {
    words(steps).into_iter().map(|(at, word)| format!("{at} {word}")).collect::<Vec<_>>().join(" · ")
}

fn words(steps: &[Step]) -> Vec<(u64, String)> {
    let mut words: Vec<(u64, String)> = Vec::new();
    for step in steps.iter().filter(|step| is_told(step)) {
        let word = word(step);
        if words.last().is_some_and(|(_, last)| *last == word)
            && step.who == ">"
            && shape::is_joined(&step.frame)
        {
            continue;
        }
        words.push((step.at, word));
    }
    words
}

fn is_told(Step { who, frame, .. }: &Step) -> bool {
    let role = frame["message"]["role"].as_str();
    match frame["type"].as_str() {
        _ if who != ">" => heard(frame) != "hello" && heard(frame) != "register",
        Some("turn_start" | "turn_end" | "message_update" | "ready") => false,
        Some("message_start" | "message_end") => !matches!(role, Some("assistant" | "toolResult")),
        _ => true,
    }
}

fn word(Step { who, frame, .. }: &Step) -> String {
    match who.as_str() {
        ">" => shape::step(frame),
        "<" => {
            let id = frame["id"].as_str().filter(|_| frame["type"] != "extension_ui_response");
            format!("< {}", id.or(frame["type"].as_str()).unwrap_or_default())
        }
        who => format!("{who} {}", heard(frame)),
    }
}
