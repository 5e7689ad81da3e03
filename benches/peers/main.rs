//! Comparison of this server with its peers: `cargo bench --bench peers`.
//!
//! Needs Linux; the peers need Node.js 20 and npm. They are installed by lock files, below `target/`; one that cannot
//! be installed is left out with the reason. All of them use the same scripted model, a process of its own, and have
//! the same configuration. Servers take turns within a run, so that noise hits all alike. Behind `--`:
//!
//! - `--only NAME` (any number of times): only the measurements whose names begin so; they are printed as they are made
//! - `--runs N`: how often each is made (5)
//! - `--peers pi-1.6.0,…`: only these; `--peers none` for ours alone
//! - `--wait`: before each measurement until the machine is quiet: other work takes 3 % of the processors at most, other
//!   machines on the same host 1 %
//! - `--write`: the table goes into the book and the README, the plots into `docs/plots/`, all figures into
//!   `benches/peers/results.json`; refused where the machine is not quiet before a measurement

mod asks;
mod extension;
mod idle;
mod install;
mod mcp;
mod model;
mod plot;
mod plots;
mod process;
mod quiet;
mod reader;
mod results;
mod resume;
mod start;
mod stream;
mod table;
#[path = "../../tests/toolchain_support/mod.rs"]
mod toolchain_support;
mod tools;

use install::{OMP, OURS, OURS_NEW, PEERS, PI_NEW, PI_OLD, Server};
use model::Model;
use quiet::Load;
use results::Results;
use std::{fs, path::Path, process::ExitCode};

/// Result of a measurement, or the reason of its failure.
type Outcome<T> = Result<T, String>;

/// Figures by name, in seconds and bytes.
type Samples = Vec<(&'static str, f64)>;

/// Shared context of measurements.
pub struct World<'a> {
    /// Directory for files.
    pub place: &'a Path,
    /// Model of all servers.
    pub model: &'a Model,
}

/// Measures a server once.
type Make = Box<dyn Fn(&Server, &World<'_>) -> Outcome<Samples>>;

/// Measurement of some servers, in turns.
struct Measurement {
    name: String,
    servers: &'static [&'static str],
    make: Make,
}

const ALL: &[&str] = &[OURS, PI_OLD, PI_NEW, OMP];
const WITH_SNAPSHOTS: &[&str] = &[OURS, PI_OLD, OMP];
const WITHOUT_SNAPSHOTS: &[&str] = &[OURS_NEW, PI_NEW];

/// Numbers of deltas of an answer.
pub const DELTAS: [u32; 5] = [500, 1000, 2000, 4000, 8000];
/// Numbers of messages of a session.
pub const MESSAGES: [u32; 3] = [1000, 3000, 10_000];

fn measurements() -> Vec<Measurement> {
    let mut all = Vec::new();
    let mut add = |name: String, servers, make: Make| {
        all.push(Measurement { name, servers, make });
    };
    add("start".to_owned(), ALL, Box::new(|server, _| start::measure(server)));
    add("asks".to_owned(), ALL, Box::new(|server, _| asks::measure(server)));
    for deltas in DELTAS {
        let make = move |server: &Server, world: &World<'_>| stream::burst(server, world, deltas);
        add(format!("snapshots-{deltas}"), WITH_SNAPSHOTS, Box::new(make));
        add(format!("deltas-{deltas}"), WITHOUT_SNAPSHOTS, Box::new(make));
    }
    add(
        "paced-4000".to_owned(),
        WITH_SNAPSHOTS,
        Box::new(|server, world| stream::paced(server, world, 4000)),
    );
    add("paced-8000".to_owned(), &[OURS], Box::new(|server, world| stream::paced(server, world, 8000)));
    add("slow-2000".to_owned(), &[OURS], Box::new(|server, _| stream::slow(server, 2000)));
    add("tools".to_owned(), ALL, Box::new(|server, world| tools::measure(server, world.model)));
    add("extension".to_owned(), WITHOUT_SNAPSHOTS, Box::new(|server, _| extension::measure(server)));
    add("mcp".to_owned(), WITHOUT_SNAPSHOTS, Box::new(|server, world| mcp::measure(server, world.model)));
    for messages in MESSAGES {
        let make = move |server: &Server, world: &World<'_>| resume::measure(server, world.place, messages);
        add(format!("resume-{messages}"), ALL, Box::new(make));
    }
    add("idle".to_owned(), ALL, Box::new(|server, _| idle::measure(server)));
    all
}

/// Measurements with one of these prefixes, or all.
fn wanted(only: &[String]) -> Outcome<Vec<Measurement>> {
    let mut all = measurements();
    let names = all.iter().map(|measurement| measurement.name.clone()).collect::<Vec<_>>().join(", ");
    if !only.is_empty() {
        all.retain(|measurement| only.iter().any(|only| measurement.name.starts_with(only)));
    }
    if all.is_empty() { Err(format!("nothing is called that; there is {names}")) } else { Ok(all) }
}

struct Options {
    only: Vec<String>,
    runs: usize,
    peers: Vec<String>,
    wait: bool,
    write: bool,
}

fn main() -> ExitCode {
    match options().and_then(|options| run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

fn options() -> Outcome<Options> {
    use lexopt::{Arg::Long, Parser, ValueExt as _};
    let peers = PEERS.map(str::to_owned).to_vec();
    let mut options = Options { only: Vec::new(), runs: 5, peers, wait: false, write: false };
    let mut parser = Parser::from_env();
    let mut read = || -> Result<(), lexopt::Error> {
        while let Some(argument) = parser.next()? {
            match argument {
                Long("only") => options.only.push(parser.value()?.string()?),
                Long("runs") => options.runs = parser.value()?.parse()?,
                Long("peers") => {
                    options.peers = parser.value()?.string()?.split(',').map(str::to_owned).collect();
                }
                Long("wait") => options.wait = true,
                Long("write") => options.write = true,
                // An option of cargo.
                Long("bench") => {}
                other => return Err(other.unexpected()),
            }
        }
        Ok(())
    };
    read().map_err(|error| error.to_string())?;
    let unknown = options.peers.iter().find(|peer| !PEERS.contains(&peer.as_str()) && *peer != "none");
    match unknown {
        Some(peer) => Err(format!("{peer} is none of {PEERS:?}, or none")),
        None => Ok(options),
    }
}

fn run(options: &Options) -> Outcome<()> {
    let text = |error: std::io::Error| error.to_string();
    let place = tempfile::tempdir().map_err(text)?;
    let model = Model::start(place.path(), options.runs * (ALL.len() + WITHOUT_SNAPSHOTS.len()))?;
    let mut servers = Server::all(&options.peers, place.path(), model.address).map_err(text)?;
    let conditions = conditions(&model)?;
    println!("{conditions}");
    let world = World { place: place.path(), model: &model };
    let mut results = Results::default();
    // The first start, in which servers unpack files, is not measured.
    servers.retain(|server| match start::measure(server) {
        Ok(_) => true,
        Err(reason) => {
            println!("{} is left out, it does not start: {reason}", server.name);
            false
        }
    });
    for measurement in wanted(&options.only)? {
        for run in 1..=options.runs {
            let load = if options.wait { Load::wait() } else { Load::watch() }?;
            if options.write && !load.is_quiet() {
                return Err(format!("nothing is written, the machine is not quiet (--wait waits): {load}"));
            }
            results.watched(load);
            for server in servers.iter().filter(|server| measurement.servers.contains(&server.name)) {
                if results.failed(&measurement.name, server.name).is_some() {
                    continue;
                }
                let outcome = (measurement.make)(server, &world);
                results.add(&measurement.name, run, server.name, outcome);
            }
        }
    }
    let table = table::table(&results);
    let conditions = format!("{conditions} {}", results.load());
    println!("\n{conditions}\n\n{table}");
    if options.write {
        table::write(&conditions, &table)?;
        results.write(&conditions)?;
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/plots");
        fs::create_dir_all(&folder).map_err(text)?;
        for (name, svg) in plots::all(&results) {
            fs::write(folder.join(name), svg).map_err(text)?;
        }
    }
    Ok(())
}

/// Description of the machine and the versions.
fn conditions(model: &Model) -> Outcome<String> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let load = read("/proc/loadavg");
    let load: Vec<&str> = load.split(' ').take(3).collect();
    let info = read("/proc/cpuinfo");
    let name = info.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or_default();
    let name = name.trim_start_matches(['\t', ' ', ':']);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Ok(format!(
        "{cores} cores ({name}), load average at the start {}. The model server alone writes 8,000 deltas in {}; a line to `cat` and \
         back takes the driver {}, which is part of each round trip.",
        load.join(" "),
        table::seconds(model.alone()?),
        table::seconds(asks::echoed()?),
    ))
}
