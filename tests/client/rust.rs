//! The shared conversations of the SDKs, had by `pi_rpc::client`.

use crate::{
    sdk_support::{self, Compared, Conversation, play, texts},
    via_host_support::{TRANSPORTS, via_host},
};
use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio::{sync::Semaphore, task::JoinSet};

/// Servers that run at a time.
const AT_ONCE: usize = 10;

/// What the conversations know of a session and compare with its server, whatever the machine's speed.
const COMPARED: [&str; 7] = [
    "autoCompactionEnabled",
    "followUpMode",
    "messages",
    "model",
    "sessionId",
    "steeringMode",
    "thinkingLevel",
];

#[tokio::test]
async fn every_conversation_passes_in_every_dialect() {
    all_pass(&[Path::new(env!("CARGO_BIN_EXE_pi-rpc"))]).await;
}

#[tokio::test]
async fn every_conversation_passes_over_attach() {
    let dir = tempfile::tempdir().unwrap();
    let programs = TRANSPORTS.map(|transport| via_host(dir.path(), transport));
    all_pass(&programs.each_ref().map(PathBuf::as_path)).await;
}

/// Plays every conversation in every dialect, with one of the programs in turn.
async fn all_pass(programs: &[&Path]) {
    let free = Arc::new(Semaphore::new(AT_ONCE));
    let mut playing = JoinSet::new();
    for (place, (name, text)) in texts().into_iter().enumerate() {
        let conversation: Conversation =
            serde_json::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
        for (turn, dialect) in sdk_support::dialects(&conversation).into_iter().enumerate() {
            // The other clients have it with the other seed.
            let seed = if (place + turn) % 2 == 0 { 1 } else { 2 };
            let (name, conversation, free) = (name.clone(), conversation.clone(), Arc::clone(&free));
            let program = programs[(place + turn) % programs.len()].to_owned();
            playing.spawn(async move {
                let _place = free.acquire_owned().await.unwrap();
                let played = play(&conversation, dialect, seed, &program).await;
                played.map_err(|error| format!("{name} in {dialect}, seed {seed}: {error}"))
            });
        }
    }
    let (mut compared, mut failed) = (Compared::new(), Vec::new());
    for played in playing.join_all().await {
        match played {
            Ok(more) => {
                more.into_iter().for_each(|(name, count)| *compared.entry(name).or_default() += count)
            }
            Err(error) => failed.push(error),
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    println!("compared {compared:?}");
    for name in COMPARED {
        assert!(compared.get(name).is_some_and(|count| *count > 0), "{name} was never compared");
    }
}

/// `cargo bless` writes the file anew.
#[test]
fn conversation_schema_matches_runner() {
    let schema = format!("{:#}\n", schemars::schema_for!(Conversation).to_value());
    let file = sdk_support::folder().with_file_name("conversation.schema.json");
    if std::env::var_os("INSTA_UPDATE").is_some_and(|update| update == "always") {
        std::fs::write(&file, &schema).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), schema);
}

#[test]
fn every_conversation_matches_the_schema() {
    let schema = schemars::schema_for!(Conversation).to_value();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for (name, text) in texts() {
        let file: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let wrong: Vec<String> =
            validator.iter_errors(&file).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert_eq!(wrong, Vec::<String>::new(), "{name}");
    }
}
