//! `pi-rpc login` with an API key: reads the key from a terminal without echo, else from stdin, and stores it.
//!
//! Never from the command line, which every user of the machine can read.

use pi_rpc_config::Config;
use pi_rpc_login::store_key;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::io::{self, BufRead as _, IsTerminal as _, Read as _, Write as _};
use tokio::{runtime::Runtime, sync::oneshot};

/// The longest line that may be a key, in bytes.
const MAX_KEY: u64 = 64 * 1024;

/// Why no key was stored.
pub enum KeyError {
    /// Stdin is empty.
    Missing,
    /// The user has interrupted the input.
    Cancelled,
    /// The text for the user.
    Failed(String),
}

/// Reads a key and stores it for `provider`.
pub fn store(runtime: &Runtime, config: &Config, provider: &str) -> Result<(), KeyError> {
    let key = runtime.block_on(read(provider))?;
    if key.starts_with('!') || key.chars().any(|it| it.is_control() || it.is_whitespace()) {
        let text = "the key: expected a text without blanks that does not begin with !, got something else; a command \
                    that prints the key goes into auth.json by hand";
        return Err(KeyError::Failed(text.to_owned()));
    }
    let path = config.keys.auth_file();
    let stored = runtime.block_on(store_key(&path, provider, &key));
    stored.map_err(|error| KeyError::Failed(format!("{}: {error}", path.display())))
}

/// Reads the key, with a prompt where a terminal is.
async fn read(provider: &str) -> Result<String, KeyError> {
    let failed = |error: io::Error| KeyError::Failed(format!("stdin: {error}"));
    let hidden = io::stdin().is_terminal().then(HiddenInput::begin).transpose().map_err(failed)?;
    if hidden.is_some() {
        eprint!("API key of {provider} (it is not shown): ");
        let _ = io::stderr().flush();
    }
    let (sender, line) = oneshot::channel();
    // A thread of its own: an interrupt must not wait for the end of the line.
    std::thread::spawn(move || {
        let mut text = String::new();
        let read = io::stdin().lock().take(MAX_KEY).read_line(&mut text);
        // Fails only after an interrupt.
        let _ = sender.send(read.map(|_| text));
    });
    let read = tokio::select! {
        read = line => read.unwrap_or_else(|_| Ok(String::new())),
        _ = tokio::signal::ctrl_c() => return Err(KeyError::Cancelled),
    };
    let key = read.map_err(failed)?.trim().to_owned();
    if key.is_empty() { Err(KeyError::Missing) } else { Ok(key) }
}

/// Switches the echo of the terminal off until dropped.
struct HiddenInput(Termios);

impl HiddenInput {
    fn begin() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Flush, &hidden)?;
        Ok(Self(before))
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        // The terminal is gone if this fails.
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.0);
        eprintln!();
    }
}
