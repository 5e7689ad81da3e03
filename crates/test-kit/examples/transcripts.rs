//! Prints a hash of each generated conversation, so that two versions of the engine can be compared.
//!
//! The same source has to compile in both versions, so it names little of either: every frame that the server wrote,
//! its requests of models and tools, and what is on the disk afterwards.

use clap::Parser;
use pi_rpc_protocol::Dialect;
use pi_rpc_scenario::random::Choices;
use pi_rpc_test_kit::{
    Kind,
    random::{conversation, play},
};
use serde_json::Value;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Prints a line for each generated conversation: its kind, its dialect, its seed and a hash of all that came of it.
#[derive(Parser)]
struct Options {
    /// Number of seeds, for each kind and dialect.
    #[arg(long, default_value_t = 100)]
    seeds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Only this kind (brief, crowded, lasting, asking, acting).
    #[arg(long)]
    kind: Option<String>,
    /// Only this dialect.
    #[arg(long)]
    dialect: Option<String>,
    /// Print what came of the conversations instead of a hash.
    #[arg(long)]
    show: bool,
}

fn main() {
    let options = Options::parse();
    // A watcher's objection is printed with the conversation; it needs no message of its own.
    std::panic::set_hook(Box::new(|_| {}));
    for kind in Kind::ALL {
        let name = serde_json::to_value(kind).unwrap_or(Value::Null);
        let name = name.as_str().unwrap_or_default().to_owned();
        for dialect in kind.dialects().iter().copied() {
            let is_wanted = options.kind.as_ref().is_none_or(|wanted| *wanted == name)
                && options.dialect.as_ref().is_none_or(|wanted| *wanted == dialect.as_str());
            for seed in (options.from..options.from + options.seeds).filter(|_| is_wanted) {
                let transcript = transcript(kind, dialect, seed);
                match options.show {
                    true => println!("{name} {dialect} {seed}\n{transcript}"),
                    false => println!("{name} {dialect} {seed} {:016x}", hash(&transcript)),
                }
            }
        }
    }
}

/// Frames, tools, requests and files of a conversation, one a line.
fn transcript(kind: Kind, dialect: Dialect, seed: u64) -> String {
    let drawn = conversation(kind, dialect, &mut Choices::seeded(seed));
    let played = match play(&drawn) {
        Ok(played) => played,
        Err(objection) => return objection,
    };
    let mut lines: Vec<String> = played.said.iter().map(ToString::to_string).collect();
    lines.extend(played.started.iter().map(|it| format!("started {it:?}")));
    lines.extend(played.asked.iter().map(|it| format!("asked {it:?}")));
    for call in &played.called {
        let messages = serde_json::to_string(&call.messages).unwrap_or_default();
        lines.push(format!("called {} {:?} {messages}", call.instructions.len(), call.tools));
    }
    lines.extend(played.disk.paths().map(|path| format!("file {path:?} {:?}", played.disk.text(path))));
    lines.join("\n")
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
