//! `pi-rpc man DIR`.

use super::{USAGE, documented::documented_command, print, refuse};
use clap::Args;
use std::{fs, path::PathBuf, process::ExitCode};

/// Where to.
#[derive(Args)]
pub struct Options {
    /// The folder of the pages, which is made if it is missing
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// What `--help` adds.
pub const HELP: &str = "\
pi-rpc man ~/.local/share/man/man1; then: man pi-rpc-serve";

/// Writes the pages, and says where.
pub fn run(options: &Options) -> ExitCode {
    let folder = &options.folder;
    let written =
        fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(documented_command(), folder));
    match written {
        Ok(()) => print(&format!("{}: pi-rpc.1, and a page for each subcommand", folder.display())),
        Err(error) => refuse(&format!("{}: {error}", folder.display()), USAGE),
    }
}
