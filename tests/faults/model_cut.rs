//! Answers that are cut, dribbled and split.

use crate::{
    model_endpoint::{Endpoint, Talk, text_of},
    serve_support::{APIS, sample, snapshot},
    table::row,
};
use serde_json::json;
use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

/// Prompts of one session: the file is read after each.
const OF_A_SESSION: usize = 10;

/// What is answered where nothing cuts it.
const WHOLE: &str = "Naïve 🦀.";

#[test]
fn answer_cut_anywhere_keeps_its_beginning() {
    let cuts = thread::scope(|scope| {
        let tried = APIS.map(|api| scope.spawn(move || cut(api)));
        tried
            .into_iter()
            .map(|it| it.join().unwrap())
            .fold([0, 0], |all, of| [all[0] + of[0], all[1] + of[1]])
    });
    row("closes the connection at each byte of an answer, its head among them", cuts[0]);
    row("resets the connection at each seventh byte", cuts[1]);
    snapshot("faults_of_apis", APIS.map(|api| format!("{api}\n")).concat());
}

/// How often an answer of `api` was closed, and how often reset.
fn cut(api: &'static str) -> [usize; 2] {
    let endpoint = Endpoint::new();
    let mut talk = Talk::new(&endpoint, api, &["--no-tools", "--system-prompt", "Be brief."]);
    let recorded: Arc<[u8]> = endpoint.record(&mut talk, json!([{ "text": WHOLE }])).into();
    let cuts = [false, true].map(|rude| {
        let at = Arc::new(AtomicUsize::new(0));
        let (bytes, length) = (recorded.clone(), at.clone());
        endpoint.does(move |caller| {
            caller.say(&bytes[..length.load(Ordering::SeqCst)]);
            if rude {
                caller.reset();
            }
        });
        let (mut texts, mut times, mut whole) = (BTreeSet::new(), 0, 0);
        let lengths = sample((0..=recorded.len()).rev().step_by(if rude { 7 } else { 1 }), 41);
        let lengths: BTreeSet<usize> = lengths.collect();
        for length in lengths {
            at.store(length, Ordering::SeqCst);
            let answer = talk.run("cut");
            let text = text_of(&answer).to_owned();
            match answer["stopReason"].as_str().unwrap() {
                "error" => {
                    let error = answer["errorMessage"].as_str().unwrap();
                    let known = ["terminated: ", "Connection error: "];
                    assert!(known.iter().any(|start| error.starts_with(start)), "{api} {length}: {error}");
                    assert!(WHOLE.starts_with(&text), "{api} {length}: {text}");
                }
                "stop" => {
                    whole += 1;
                    assert_eq!(text, WHOLE, "{api} {length}");
                }
                other => panic!("{api} {length}: {other}"),
            }
            // What has come once comes in every longer part; of a reset connection the last bytes may be lost.
            let known = texts.last().map_or(0, String::len);
            assert!(rude || text.len() >= known, "{api} {length}: {text}");
            texts.insert(text);
            times += 1;
            if times % OF_A_SESSION == 0 {
                talk.begins_anew();
            }
        }
        // Nothing, and each of the pieces in which it came.
        assert!(rude || texts.len() == 1 + WHOLE.chars().count().div_ceil(5), "{api}: {texts:?}");
        // Behind the last event there is nothing but the end of the body.
        assert!(rude || (1..=40).contains(&whole), "{api}: whole {whole} times");
        times
    });
    talk.ends_well(&endpoint, api);
    cuts
}
