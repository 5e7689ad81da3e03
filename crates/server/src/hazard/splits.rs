//! Splits bytes into writes.

use super::WriteStep;
use std::time::Duration;

/// Pause between two writes: long enough for the reader to run.
const PAUSE: Duration = Duration::from_millis(1);

/// Splits into pieces of random size, up to 64 KiB; many end before a line feed or within a character.
pub fn chunks(bytes: &[u8], random: &mut fastrand::Rng) -> Vec<WriteStep> {
    let mut steps = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let most = 1usize << random.u32(0..=16);
        let any = random.usize(1..=most).min(rest.len());
        let size = if random.bool() { awkward(rest, any) } else { any };
        let (piece, behind) = rest.split_at(size);
        steps.push(WriteStep::Write(piece.to_vec()));
        if random.u8(0..8) == 0 {
            steps.push(WriteStep::Pause(PAUSE));
        }
        rest = behind;
    }
    steps
}

/// The next offset from `from` on that is before a line feed or within a character.
fn awkward(bytes: &[u8], from: usize) -> usize {
    let is_within = |byte: &u8| *byte == b'\n' || byte & 0b1100_0000 == 0b1000_0000;
    let ahead = bytes.get(from..).unwrap_or_default().iter().position(is_within);
    ahead.map_or(bytes.len(), |ahead| from + ahead)
}

/// Bytes at the beginning and at the end that are written one by one.
const ONE_BY_ONE: usize = 1024;

/// Splits into single bytes, but for the middle of long output, which would take minutes.
pub fn dribble(bytes: &[u8]) -> Vec<WriteStep> {
    let front = bytes.len().min(ONE_BY_ONE);
    let back = bytes.len().saturating_sub(ONE_BY_ONE).max(front);
    let one = |range: std::ops::Range<usize>| bytes.get(range).unwrap_or_default().chunks(1);
    let middle = Some(bytes.get(front..back).unwrap_or_default()).filter(|middle| !middle.is_empty());
    let pieces = one(0..front).chain(middle).chain(one(back..bytes.len()));
    pieces.map(|piece| WriteStep::Write(piece.to_vec())).collect()
}
