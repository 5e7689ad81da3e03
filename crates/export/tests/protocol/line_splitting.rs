//! `LineSplitter` finds the lines of a stream for any cuts into chunks.

use pi_rpc_protocol::{LineSplitter, SplitLine};
use proptest::{prelude::*, test_runner::RngSeed};

/// Result: a line, or the length of one that was too long.
type Found = Result<Vec<u8>, usize>;

fn own(line: SplitLine<'_>) -> Found {
    match line {
        SplitLine::Line(bytes) => Ok(bytes.to_vec()),
        SplitLine::TooLong(length) => Err(length),
    }
}

/// Feeds the chunks; `eager`: takes every line as soon as there is one.
fn split(chunks: &[&[u8]], limit: usize, eager: bool) -> Vec<Found> {
    let mut splitter = LineSplitter::new(limit);
    let mut found = Vec::new();
    for chunk in chunks {
        splitter.push(chunk);
        while eager && let Some(line) = splitter.next_line() {
            found.push(own(line));
        }
    }
    while let Some(line) = splitter.next_line() {
        found.push(own(line));
    }
    found.extend(splitter.finish().map(own));
    found
}

/// Lines of the whole, by the standard library.
fn reference(bytes: &[u8], limit: usize) -> Vec<Found> {
    let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    if lines.last().is_some_and(|rest| rest.is_empty()) {
        lines.pop();
    }
    let found = |line: &[u8]| if line.len() > limit { Err(line.len()) } else { Ok(line.to_vec()) };
    lines.into_iter().map(found).collect()
}

/// `bytes`, cut at some places.
fn cut<'b>(bytes: &'b [u8], places: &[prop::sample::Index]) -> Vec<&'b [u8]> {
    let mut places: Vec<usize> = places.iter().map(|place| place.index(bytes.len() + 1)).collect();
    places.sort_unstable();
    let mut chunks = Vec::new();
    let mut start = 0;
    for place in places {
        chunks.push(&bytes[start..place]);
        start = place;
    }
    chunks.push(&bytes[start..]);
    chunks
}

/// Bytes with many line feeds, carriage returns and the bytes of U+2028.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        3 => Just(b'\n'),
        1 => Just(b'\r'),
        1 => prop::sample::select(vec![0xe2, 0x80, 0xa8, 0xa9, 0x85, 0x0c, 0]),
        8 => any::<u8>(),
    ];
    prop::collection::vec(byte, 0..200)
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(20_260_101),
        ..ProptestConfig::with_cases(2000)
    })]

    #[test]
    fn the_chunks_do_not_matter(
        bytes in bytes(),
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
        eager: bool,
    ) {
        prop_assert_eq!(split(&cut(&bytes, &places), usize::MAX, eager), reference(&bytes, usize::MAX));
    }

    #[test]
    fn lines_over_limit_are_skipped_and_counted(
        bytes in bytes(),
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
        limit in 0_usize..30,
        eager: bool,
    ) {
        prop_assert_eq!(split(&cut(&bytes, &places), limit, eager), reference(&bytes, limit));
    }
}

#[test]
fn overlong_line_holds_no_memory() {
    let mut splitter = LineSplitter::new(1000);
    for _ in 0..1000 {
        splitter.push(&[b'x'; 1000]);
        assert_eq!(splitter.next_line(), None);
    }
    // The debug form prints every byte that is held.
    assert!(format!("{splitter:?}").len() < 10_000);
    assert_eq!(splitter.finish(), Some(SplitLine::TooLong(1_000_000)));
}

#[test]
fn a_finished_splitter_has_nothing_more() {
    let mut splitter = LineSplitter::new(100);
    splitter.push(b"rest");
    assert_eq!(splitter.finish(), Some(SplitLine::Line(b"rest")));
    assert_eq!(splitter.finish(), None);
    assert_eq!(splitter.next_line(), None);
}

#[test]
fn released_splitter_frees_a_long_line() {
    let mut splitter = LineSplitter::new(usize::MAX);
    let long = vec![b'x'; 3 << 20];
    splitter.push(&long);
    splitter.push(b"\nsho");
    assert_eq!(splitter.next_line(), Some(SplitLine::Line(&long)));
    splitter.release();
    assert!(splitter.space(0).len() <= 1 << 20);
    splitter.push(b"rt\n");
    assert_eq!(splitter.next_line(), Some(SplitLine::Line(b"short")));
    splitter.release();
    assert_eq!(splitter.finish(), None);
}
