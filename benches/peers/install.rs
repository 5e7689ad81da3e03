//! The compared servers: their installation below `target/` from lock files, and the configuration of their model.

use crate::toolchain_support::locked;
use serde_json::{Value, json};
use std::{
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

/// This server in dialect `pi`, with snapshots.
pub const OURS: &str = "pi-rpc";
/// This server in dialect `pi-1`, with deltas only.
pub const OURS_NEW: &str = "pi-rpc as pi-1";
/// The last release of pi under its old name, with snapshots.
pub const PI_OLD: &str = "pi-0.73.1";
/// The current pi, with deltas only.
pub const PI_NEW: &str = "pi-1.6.0";
/// Oh my pi, on Bun, with snapshots.
pub const OMP: &str = "omp-18.2.3";

/// All peers, in the order of the table.
pub const PEERS: [&str; 3] = [PI_OLD, PI_NEW, OMP];

/// Program that speaks the protocol.
pub struct Server {
    pub name: &'static str,
    words: Vec<PathBuf>,
    options: Vec<&'static str>,
    /// Home directory, which stays from one start to the next, so that caches take effect.
    pub home: PathBuf,
    /// Directory of the program below its home.
    folder: &'static str,
    /// Node.js for extensions: the same as the current pi's, where it is installed.
    pub node: Option<PathBuf>,
}

impl Server {
    /// Installs the available ones of `peers`, each with a home below `place`; prints the reasons for the others.
    pub fn all(peers: &[String], place: &Path, model: SocketAddr) -> io::Result<Vec<Self>> {
        let mut servers: Vec<Self> = Vec::new();
        for (name, dialect) in [(OURS, "pi"), (OURS_NEW, "pi-1")] {
            let words = vec![env!("CARGO_BIN_EXE_pi-rpc").into()];
            let mut options = vec!["--mode", "rpc", "--dialect", dialect];
            options.extend(MODEL_OF_PI);
            servers.push(Self::new(name, words, options, place));
        }
        for name in PEERS.into_iter().filter(|name| peers.iter().any(|peer| peer == name)) {
            match words(name) {
                Ok(words) => {
                    let mut options = vec!["--mode", "rpc"];
                    options.extend(if name == OMP { MODEL_OF_OMP.as_slice() } else { &MODEL_OF_PI });
                    servers.push(Self::new(name, words, options, place));
                }
                Err(reason) => println!("{name} is left out: {reason}"),
            }
        }
        let node = servers.iter().find(|server| server.name == PI_NEW).map(|server| server.words[0].clone());
        for server in &mut servers {
            server.node.clone_from(&node);
            server.configure(model)?;
        }
        Ok(servers)
    }

    fn new(name: &'static str, words: Vec<PathBuf>, options: Vec<&'static str>, place: &Path) -> Self {
        let folder = if name == OMP { ".omp" } else { ".pi" };
        Self { name, words, options, home: place.join(name.replace(' ', "-")), folder, node: None }
    }

    /// The program.
    pub fn program(&self) -> &Path {
        &self.words[0]
    }

    /// Its arguments.
    pub fn arguments(&self) -> impl Iterator<Item = PathBuf> {
        self.words[1..].iter().cloned().chain(self.options.iter().map(PathBuf::from))
    }

    /// Its working directory.
    pub fn directory(&self) -> PathBuf {
        self.home.join("work")
    }

    /// Whether the server is that of this project.
    pub fn is_ours(&self) -> bool {
        [OURS, OURS_NEW].contains(&self.name)
    }

    /// Deletes the sessions of earlier processes.
    pub fn forget(&self) {
        // There are none before the first.
        let _ = fs::remove_dir_all(self.agent_directory().join("sessions"));
    }

    /// Directory of its settings, models and sessions.
    pub fn agent_directory(&self) -> PathBuf {
        self.home.join(self.folder).join("agent")
    }

    fn configure(&self, model: SocketAddr) -> io::Result<()> {
        fs::create_dir_all(self.directory())?;
        let folder = self.agent_directory();
        fs::create_dir_all(&folder)?;
        // JSON is YAML.
        let (models, settings) = match self.name {
            OMP => ("models.yml", "config.yml"),
            _ => ("models.json", "settings.json"),
        };
        fs::write(folder.join(models), models_file(model).to_string())?;
        fs::write(folder.join(settings), json!({ "compaction": { "enabled": false } }).to_string())
    }
}

const MODEL_OF_PI: [&str; 4] = ["--provider", "fake", "--model", "fake-1"];
const MODEL_OF_OMP: [&str; 2] = ["--model", "fake/fake-1"];

/// `models.json`, the same for all servers.
fn models_file(model: SocketAddr) -> Value {
    json!({ "providers": { "fake": {
        "baseUrl": format!("http://{model}"), "apiKey": "key", "api": "anthropic-messages",
        "models": [{
            "id": "fake-1", "name": "Fake 1", "reasoning": false, "input": ["text"],
            "contextWindow": 10_000_000, "maxTokens": 64_000,
            "cost": { "input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75 },
        }],
    } } })
}

/// The program of a peer and its first arguments.
fn words(name: &str) -> Result<Vec<PathBuf>, String> {
    match name {
        PI_OLD => {
            let modules = locked("tests/peer_support/pi-0.73.1", &["--omit=optional"])?.join("node_modules");
            Ok(vec!["node".into(), modules.join("@mariozechner/pi-coding-agent/dist/cli.js")])
        }
        PI_NEW => {
            let programs = locked("tests/peer_support/pi-1.6.0", &[])?.join("node_modules/.bin");
            Ok(vec![programs.join("node"), programs.join("pi")])
        }
        _ if !cfg!(all(target_os = "linux", target_arch = "x86_64")) => {
            Err("what is in its lock file is for Linux on x86-64".to_owned())
        }
        // Its packages for other systems are not all published, so the lock file, corrected by hand, names this one
        // alone.
        _ => {
            let modules = locked("benches/peers/omp-18.2.3", &["--omit=optional"])?.join("node_modules");
            let program = modules.join("@oven/bun-linux-x64/bin/bun");
            Ok(vec![program, modules.join("@oh-my-pi/pi-coding-agent/dist/cli.js")])
        }
    }
}
