//! The binary `pi-rpc`: runs the command line.

mod book;

use pi_rpc::cli::Book;
use std::process::ExitCode;

fn main() -> ExitCode {
    let book = Book { files: book::FILES, pictures: book::PICTURES };
    pi_rpc::cli::run(std::env::args_os().collect(), book)
}
