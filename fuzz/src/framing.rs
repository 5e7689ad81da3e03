//! `LineSplitter` finds the same lines as the standard library for any cuts, and keeps the limit.

use crate::cuts;
use pi_rpc::protocol::{LineSplitter, SplitLine};

/// A line, or the length of one that is too long.
type Found = Result<Vec<u8>, usize>;

/// The first byte is the limit; pieces follow.
pub fn check(data: &[u8]) {
    let Some((limit, data)) = data.split_first() else { return };
    let limit = usize::from(*limit);
    let (pieces, whole) = cuts::taken(data);
    let expected = expected(whole, limit);
    assert_eq!(pushed(&pieces, limit, true), expected, "taken as they come");
    assert_eq!(pushed(&pieces, limit, false), expected, "taken at the end");
    assert_eq!(filled(&pieces, limit), expected, "read into the space");
}

fn expected(whole: &[u8], limit: usize) -> Vec<Found> {
    let found = |line: &[u8]| if line.len() > limit { Err(line.len()) } else { Ok(line.to_vec()) };
    let mut lines: Vec<&[u8]> = whole.split(|byte| *byte == b'\n').collect();
    if lines.last().is_some_and(|rest| rest.is_empty()) {
        lines.pop();
    }
    lines.into_iter().map(found).collect()
}

fn pushed(pieces: &[&[u8]], limit: usize, at_once: bool) -> Vec<Found> {
    let mut splitter = LineSplitter::new(limit);
    let mut found = Vec::new();
    for piece in pieces {
        splitter.push(piece);
        if at_once {
            take(&mut splitter, &mut found);
        }
    }
    take(&mut splitter, &mut found);
    found.extend(splitter.finish().map(own));
    assert_eq!(splitter.next_line(), None, "it was over");
    assert_eq!(splitter.finish(), None, "it was over");
    found
}

fn filled(pieces: &[&[u8]], limit: usize) -> Vec<Found> {
    let mut splitter = LineSplitter::new(limit);
    let mut found = Vec::new();
    for piece in pieces {
        // More space than is used, as a reader requests.
        let space = splitter.space(piece.len() + 7);
        assert!(space.len() >= piece.len() + 7);
        space[..piece.len()].copy_from_slice(piece);
        splitter.commit(piece.len());
        take(&mut splitter, &mut found);
    }
    found.extend(splitter.finish().map(own));
    found
}

fn take(splitter: &mut LineSplitter, found: &mut Vec<Found>) {
    while let Some(line) = splitter.next_line() {
        found.push(own(line));
    }
}

fn own(line: SplitLine<'_>) -> Found {
    match line {
        SplitLine::Line(bytes) => Ok(bytes.to_vec()),
        SplitLine::TooLong(length) => Err(length),
    }
}
