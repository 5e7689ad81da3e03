//! `pi-rpc completions SHELL`.

use super::{
    documented::{PROGRAM, completed_command},
    print,
};
use clap::Args;
use clap_complete::Shell;
use std::process::ExitCode;

/// For which shell.
#[derive(Args)]
pub struct Options {
    /// The shell
    shell: Shell,
}

/// What `--help` adds.
pub const HELP: &str = "\
bash: pi-rpc completions bash > ~/.local/share/bash-completion/completions/pi-rpc
zsh:  pi-rpc completions zsh > _pi-rpc, in a folder of $fpath
fish: pi-rpc completions fish > ~/.config/fish/completions/pi-rpc.fish";

/// A name without a hyphen, in which the generator for bash finds its own functions again.
const BASH_NAME: &str = "pi_rpc";

/// Prints the script of the shell.
pub fn run(options: &Options) -> ExitCode {
    print(script(options.shell).trim_end())
}

fn script(shell: Shell) -> String {
    let name = if shell == Shell::Bash { BASH_NAME } else { PROGRAM };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut completed_command().name(name), name, &mut script);
    // Only the name that is completed ends a line.
    String::from_utf8_lossy(&script).replace(&format!(" {BASH_NAME}\n"), &format!(" {PROGRAM}\n"))
}
