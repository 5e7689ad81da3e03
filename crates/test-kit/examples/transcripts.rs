use pi_rpc::oracle::random::Choices;
use pi_rpc_test_kit::{
    Kind,
    random::{conversation, play},
};
use std::hash::{DefaultHasher, Hash, Hasher};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    std::panic::set_hook(Box::new(|_| {}));
    if a[1] == "show" {
        let kind = Kind::ALL.into_iter().find(|k| format!("{k:?}") == a[2]).unwrap();
        let dialect = *kind.dialects().iter().find(|d| format!("{d:?}") == a[3]).unwrap();
        println!("{}", text(kind, dialect, a[4].parse().unwrap()));
        return;
    }
    let (from, to): (u64, u64) = (a[1].parse().unwrap(), a[2].parse().unwrap());
    let only: Option<&String> = a.get(3);
    std::thread::scope(|s| {
        for half in 0..2u64 {
            s.spawn(move || {
                for kind in Kind::ALL {
                    if only.is_some_and(|o| *o != format!("{kind:?}")) {
                        continue;
                    }
                    for d in kind.dialects() {
                        for seed in (from..to).filter(|s| s % 2 == half) {
                            let mut h = DefaultHasher::new();
                            text(kind, *d, seed).hash(&mut h);
                            println!("{kind:?} {d:?} {seed} {:016x}", h.finish());
                        }
                    }
                }
            });
        }
    });
}
fn text(kind: Kind, d: pi_rpc::protocol::Dialect, seed: u64) -> String {
    let c = conversation(kind, d, &mut Choices::seeded(seed));
    match play(&c) {
        Err(e) => e,
        Ok(p) => {
            let strip = |l: &str| {
                l.rsplit_once(' ').map_or(l.to_owned(), |(a, b)| {
                    if b.starts_with('"') || b.ends_with('}') { l.to_owned() } else { a.to_owned() }
                })
            };
            let log: String = p.log.lines().map(|l| strip(l) + "\n").collect();
            let steps: String = p.steps.iter().map(|s| format!("{} {} {}\n", s.at, s.who, s.frame)).collect();
            let called: String = p
                .called
                .iter()
                .map(|c| {
                    format!(
                        "{} {:?} {}\n",
                        c.instructions.len(),
                        c.tools,
                        serde_json::to_string(&c.messages).unwrap()
                    )
                })
                .collect();
            format!(
                "{}\n--steps\n{steps}\n--started {:?}\n--asked {:?}\n--called\n{called}\n--disk {:?}",
                log,
                p.started,
                p.asked,
                p.disk.paths().map(|x| (x, p.disk.text(x))).collect::<Vec<_>>()
            )
        }
    }
}
