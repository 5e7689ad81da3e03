//! Fetches packages that the command line names, by npm or git, into the cache. Blocks on the network.

use super::source::Source;
use pi_rpc_config::Environment;
use pi_rpc_files::{private_files, secrets::ChildEnvironment};
use pi_rpc_processes::line_reader::read_beginning;
use sha2::{Digest as _, Sha256};
use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// The environment variable that forbids to fetch.
const OFFLINE: &str = "PI_OFFLINE";

/// Characters of a program's stderr that an error shows.
const SHOWN_CHARS: usize = 400;

/// Bytes of a program's stderr that are kept.
const MAX_STDERR: u64 = 64 * 1024;

/// Returns the folder of a package, and fetches it first if it is not cached. `npm` (the setting `npmCommand`; empty:
/// npm itself) and git, and with
/// them the scripts of packages, run in the environment `child`.
pub(super) fn fetch(
    source: &Source,
    cache: &Path,
    environment: &Environment,
    npm: &[String],
    child: &ChildEnvironment,
) -> Result<PathBuf, String> {
    let run = |command: &mut Command| {
        child.withhold_keys(command);
        run(command)
    };
    let (what, inside) = match source {
        Source::Npm { spec, name } => (format!("npm {spec}"), Path::new("node_modules").join(name)),
        Source::Git { repository, reference, .. } => {
            (format!("git {repository} {}", reference.as_deref().unwrap_or_default()), "repository".into())
        }
        Source::Local(_) => return Err("there is nothing to fetch".to_owned()),
    };
    let hash: String = Sha256::digest(&what).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let kept = cache.join("packages").join(hash);
    let package = kept.join(&inside);
    if package.is_dir() {
        return Ok(package);
    }
    if environment.get(OFFLINE).is_some_and(|value| ["1", "true", "yes"].contains(&value)) {
        return Err(format!("the package is not in the cache, and {OFFLINE} forbids fetching it"));
    }
    let text =
        |error: std::io::Error| format!("the package cache {} cannot be written: {error}", kept.display());
    let parent = kept.parent().unwrap_or(cache);
    private_files::create_folder(parent).map_err(text)?;
    let fresh = tempfile::Builder::new().prefix(".new-").tempdir_in(parent).map_err(text)?;
    match source {
        Source::Npm { spec, .. } => {
            fs::write(fresh.path().join("package.json"), "{\"private\":true}\n").map_err(text)?;
            run(&mut install(npm, fresh.path(), Some(spec)))?;
        }
        Source::Git { repository, reference, .. } => {
            let folder = fresh.path().join(&inside);
            run(Command::new("git").args(["clone", "--quiet", "--", repository]).arg(&folder))?;
            if let Some(reference) = reference {
                run(Command::new("git")
                    .arg("-C")
                    .arg(&folder)
                    .args(["checkout", "--quiet", reference, "--"]))?;
            }
            if folder.join("package.json").is_file() {
                run(&mut install(npm, &folder, None))?;
            }
        }
        Source::Local(_) => {}
    }
    // Another server may have fetched the same package meanwhile.
    match fs::rename(fresh.path(), &kept) {
        Ok(()) => drop(fresh.keep()),
        Err(_) if package.is_dir() => {}
        Err(error) => return Err(text(error)),
    }
    Ok(package)
}

/// The command that installs `spec`, or what the folder asks for; `npm` is what runs in place of npm.
fn install(npm: &[String], folder: &Path, spec: Option<&str>) -> Command {
    let options = ["install", "--omit=dev", "--omit=peer", "--no-audit", "--no-fund", "--loglevel=error"];
    let (program, first) =
        npm.split_first().map_or(("npm", &[][..]), |(program, first)| (program.as_str(), first));
    let mut npm = Command::new(program);
    npm.args(first).args(options).arg("--prefix").arg(folder);
    npm.args(spec.map(|spec| ["--", spec]).into_iter().flatten());
    npm
}

/// Runs a program to its end, without stdin and stdout, which belong to the protocol.
fn run(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let failed = |error: io::Error| format!("the package cannot be fetched: {program}: {error}");
    command.env("GIT_TERMINAL_PROMPT", "0").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(failed)?;
    let stderr = child.stderr.take().map(|stderr| read_beginning(stderr, MAX_STDERR));
    let stderr = stderr.transpose().map_err(failed)?.unwrap_or_default();
    if child.wait().map_err(failed)?.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&stderr);
    let stderr: String =
        stderr.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(SHOWN_CHARS).collect();
    Err(format!("the package cannot be fetched: {program}: {stderr}"))
}
