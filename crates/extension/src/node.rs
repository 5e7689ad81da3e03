//! The Node host, which runs pi's own extensions: its runtime (Node or Bun), and where its program goes.

use super::{
    spawn::is_executable,
    unpack::{Unpacked, unpack},
};
use pi_rpc_config::Environment;
use pi_rpc_files::secrets::ChildEnvironment;
use std::{
    env,
    io::{self, Read as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Names the program, or its file.
const VARIABLE: &str = "PI_RPC_NODE";

/// The programs that are looked for, in order.
const PROGRAMS: [&str; 2] = ["node", "bun"];

/// The oldest Node that can run extensions, as `node/modules.mjs` has it.
const OLDEST_NODE: (u32, u32) = (18, 19);

/// Bytes of a runtime's version that are read.
const MAX_VERSION: u64 = 4096;

/// The folder in those of caches.
const CACHE: &str = "pi-rpc";

/// The runtime for pi's own extensions: Node or Bun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeHost {
    /// Node or Bun.
    pub(super) runtime: PathBuf,
    /// This program itself; `None` where its file is not known.
    pub(super) program: Option<PathBuf>,
    /// Private folders in which the program may be kept; the first that can be used is.
    caches: Vec<PathBuf>,
}

impl NodeHost {
    /// Looks for Node, else Bun, in `PATH`, unless `PI_RPC_NODE` names something. Nothing is started: the program itself
    /// says whether it gets along with the version. An error is a sentence for people.
    pub fn find(environment: &Environment) -> Result<Self, String> {
        let runtime = match environment.get(VARIABLE) {
            Some(named) => program(named, environment)
                .ok_or_else(|| format!("{VARIABLE}: expected a program, and {named} is none"))?,
            None => PROGRAMS.iter().find_map(|name| program(name, environment)).ok_or_else(|| {
                format!(
                    "it needs Node 18.19 or newer, and there is no node in PATH ({VARIABLE} may name one)"
                )
            })?,
        };
        Ok(Self { runtime, program: env::current_exe().ok(), caches: caches(environment) })
    }

    /// The folder of what need not be kept.
    pub fn cache(environment: &Environment) -> PathBuf {
        caches(environment).into_iter().next().unwrap_or_else(env::temp_dir)
    }

    /// The file of the runtime.
    pub fn runtime(&self) -> &Path {
        &self.runtime
    }

    /// Starts the runtime to ask for its version.
    ///
    /// # Errors
    ///
    /// A sentence for people: it does not start, prints no version, or is too old.
    pub fn version(&self) -> Result<String, String> {
        let failed = |error: io::Error| format!("cannot be started: {error}");
        let mut command = Command::new(&self.runtime);
        ChildEnvironment::default().withhold_keys(&mut command);
        command.arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(failed)?;
        let mut printed = Vec::new();
        let read = child.stdout.take().map(|stdout| stdout.take(MAX_VERSION).read_to_end(&mut printed));
        // One that prints more, or goes on, is no runtime.
        let _ = child.kill();
        child.wait().map_err(failed)?;
        read.transpose().map_err(failed)?;
        let printed = String::from_utf8_lossy(&printed).trim().trim_start_matches('v').to_owned();
        let mut numbers = printed.split('.').map(str::parse::<u32>);
        let (Some(Ok(major)), Some(Ok(minor))) = (numbers.next(), numbers.next()) else {
            return Err("--version: expected a number such as 20.1.0".to_owned());
        };
        match self.is_bun() || (major, minor) >= OLDEST_NODE {
            true => Ok(printed),
            false => Err(format!(
                "its version is {printed}; expected {}.{} or newer",
                OLDEST_NODE.0, OLDEST_NODE.1
            )),
        }
    }

    /// Whether the runtime is Bun, by its name.
    pub(super) fn is_bun(&self) -> bool {
        self.runtime.file_name().is_some_and(|name| name == PROGRAMS[1])
    }

    /// Puts the program where it can be run, unless it is there. Blocks on the disk.
    pub(super) fn unpack(&self) -> io::Result<Unpacked> {
        unpack(&self.caches)
    }
}

/// The file of a program: a path, or a name to look for in `PATH`.
fn program(name: &str, environment: &Environment) -> Option<PathBuf> {
    if name.contains('/') {
        return std::path::absolute(name).ok().filter(|path| is_executable(path));
    }
    let folders = environment.get("PATH")?;
    env::split_paths(folders)
        .map(|folder| folder.join(name))
        .find(|path| path.is_absolute() && is_executable(path))
}

/// The user's folder of caches; without a home directory, or where it cannot be used, one in that of temporary files.
fn caches(environment: &Environment) -> Vec<PathBuf> {
    let named = environment.get("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let own = named.or_else(|| environment.get("HOME").map(|home| Path::new(home).join(".cache")));
    let shared = format!("{CACHE}-{}", rustix::process::getuid().as_raw());
    own.map(|folder| folder.join(CACHE)).into_iter().chain([env::temp_dir().join(shared)]).collect()
}

#[cfg(test)]
mod tests {
    use super::OLDEST_NODE;

    #[test]
    fn oldest_node_is_that_of_host() {
        let (major, minor) = OLDEST_NODE;
        assert!(include_str!("node/modules.mjs").contains(&format!("const OLDEST = [{major}, {minor}];")));
    }
}
