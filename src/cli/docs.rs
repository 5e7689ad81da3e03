//! `pi-rpc docs`: the book, which the binary carries.

use super::{Book, USAGE, print, refuse};
use clap::Args;
use std::{fs, path::PathBuf, process::ExitCode};

/// Which page, or where to.
#[derive(Args)]
pub struct Options {
    /// The page: its path in the book, or the end of it (reference/hooks, hooks); without it, the contents
    page: Option<String>,
    /// Write the whole book to this folder: Markdown that `mdbook build` takes
    #[arg(short, long, value_name = "DIR", conflicts_with = "page")]
    output: Option<PathBuf>,
}

/// What `--help` adds.
pub const HELP: &str = "\
A page for a pager: pi-rpc docs use-as-pi | less
The whole book:     pi-rpc docs -o book";

/// The contents of the book.
const CONTENTS: &str = "SUMMARY.md";

/// Prints a page, or writes all of them.
pub fn run(options: &Options, book: Book<'_>) -> ExitCode {
    if let Some(folder) = &options.output {
        let files = book.files.iter().map(|(path, text)| (*path, text.as_bytes()));
        for (path, bytes) in files.chain(book.pictures.iter().copied()) {
            let path = folder.join(path);
            let written =
                path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, bytes));
            if let Err(error) = written {
                return refuse(&format!("{}: {error}", path.display()), USAGE);
            }
        }
        return ExitCode::SUCCESS;
    }
    let wanted = options.page.as_deref().unwrap_or(CONTENTS);
    match found(book.files, wanted) {
        Ok(text) => print(text.trim_end()),
        Err(why) => refuse(&why, USAGE),
    }
}

/// The page of that path, else the one page whose path ends so.
fn found<'a>(book: &[(&str, &'a str)], wanted: &str) -> Result<&'a str, String> {
    let name = wanted.strip_suffix(".md").unwrap_or(wanted);
    let pages = || book.iter().filter_map(|(path, text)| Some((path.strip_suffix(".md")?, *text)));
    if let Some((_, text)) = pages().find(|(path, _)| *path == name) {
        return Ok(text);
    }
    let ending = format!("/{name}");
    let ending: Vec<_> = pages().filter(|(path, _)| path.ends_with(&ending)).collect();
    match ending[..] {
        [(_, text)] => Ok(text),
        _ => {
            let known: Vec<&str> = pages().map(|(path, _)| path).collect();
            Err(format!("{wanted}: expected one of {}", known.join(", ")))
        }
    }
}
