//! Cost of `--sync`: the time to append an entry to a session file under each policy, on the disk of a directory.
//!
//! ```text
//! cargo run --release --example sync_cost -- [FOLDER]
//! ```

use pi_rpc::session::{Store, SyncPolicy, Write};
use std::{
    env, fs,
    path::PathBuf,
    time::{Duration, Instant},
};

/// Entries of a run: a prompt, an answer, a tool result, an answer.
const ENTRIES: usize = 4;

/// Number of timed runs.
const RUNS: usize = 100;

fn main() {
    let folder = env::args_os().nth(1).map_or_else(env::temp_dir, PathBuf::from);
    let line = format!("{{\"type\":\"message\",\"text\":\"{}\"}}\n", "x".repeat(1000));
    for policy in SyncPolicy::ALL {
        let path = folder.join(format!("pi-rpc-sync-cost-{}.jsonl", policy.as_str()));
        let mut store = Store::with_limit(u64::MAX).synced(policy);
        let create = Write::Create { path: path.clone().into(), lines: vec![line.clone().into()] };
        store.write(&create).expect("a new file");
        let mut entries: Vec<Duration> = Vec::new();
        let started = Instant::now();
        for _ in 0..RUNS {
            for _ in 0..ENTRIES {
                let entry = Instant::now();
                store.write(&Write::Append(line.clone().into())).expect("room");
                entries.push(entry.elapsed());
            }
            if policy == SyncPolicy::Run {
                store.write(&Write::Sync).expect("a disk");
            }
        }
        let run = started.elapsed() / RUNS as u32;
        entries.sort_unstable();
        let (median, late) = (entries[entries.len() / 2], entries[entries.len() * 99 / 100]);
        println!(
            "{:5}  an entry {median:>9.1?} (99 %: {late:>9.1?})  a run of {ENTRIES} {run:>9.1?}",
            policy.as_str()
        );
        fs::remove_file(&path).expect("the file");
    }
}
