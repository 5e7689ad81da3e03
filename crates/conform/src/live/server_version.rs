//! The version that a server's program tells on its command line.

use super::{Server, home::INHERITED};
use std::{env, io, process::Stdio, time::Duration};
use tokio::{io::AsyncReadExt as _, process::Command, runtime, time::timeout};

/// How long the program may take.
const TELLS_WITHIN: Duration = Duration::from_secs(20);

/// The most bytes of its output that are read.
const MOST_READ: u64 = 4096;

/// Asks the server's program for its version with the adapter's `versionArgs`, in an empty home; `None` if it tells none.
///
/// # Errors
///
/// No runtime or no temporary directory can be made.
pub fn ask_version(server: &Server) -> io::Result<Option<String>> {
    if server.adapter.version_args.is_empty() {
        return Ok(None);
    }
    let home = tempfile::Builder::new().prefix("pi-rpc-").tempdir()?;
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let told = runtime.block_on(async {
        let mut command = Command::new(&server.program);
        command.args(&server.args).args(&server.adapter.version_args).env_clear().current_dir(home.path());
        command.envs(INHERITED.iter().filter_map(|name| Some((name, env::var_os(name)?))));
        command.env("HOME", home.path()).kill_on_drop(true);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().ok()?;
        let mut told = Vec::new();
        let output = child.stdout.take()?;
        timeout(TELLS_WITHIN, output.take(MOST_READ).read_to_end(&mut told)).await.ok()?.ok()?;
        version_in(&String::from_utf8_lossy(&told)).map(ToOwned::to_owned)
    });
    runtime.shutdown_background();
    Ok(told)
}

/// The first word that begins with two numbers and a dot between them, without a `v` before it.
fn version_in(text: &str) -> Option<&str> {
    let mut words = text.split_ascii_whitespace().flat_map(|word| word.rsplit('/').next());
    words.find_map(|word| {
        let word = word.strip_prefix('v').unwrap_or(word);
        let (major, rest) = word.split_once('.')?;
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        (is_number(major) && rest.starts_with(|first: char| first.is_ascii_digit())).then_some(word)
    })
}

#[cfg(test)]
mod tests {
    use super::version_in;

    #[test]
    fn version_is_found_in_common_outputs() {
        for (text, version) in [
            ("1.6.0\n", Some("1.6.0")),
            ("omp/18.2.3\n", Some("18.2.3")),
            ("xcsh v19.54.0-beta.1 (linux)", Some("19.54.0-beta.1")),
            ("0.2.0\ncommit abc\n", Some("0.2.0")),
            ("error: unknown option", None),
            ("", None),
        ] {
            assert_eq!(version_in(text), version, "{text}");
        }
    }
}
