//! Splitting of the input into pieces.

/// Splits `data` into pieces. Its first line has their lengths, a byte for each piece, used cyclically; if the line is
/// empty, the rest is one piece. Returns the pieces and the rest as a whole.
pub fn taken(data: &[u8]) -> (Vec<&[u8]>, &[u8]) {
    let at = data.iter().position(|byte| *byte == b'\n').unwrap_or(0);
    let (lengths, rest) = data.split_at(at);
    let whole = rest.strip_prefix(b"\n").unwrap_or(rest);
    (pieces(whole, lengths), whole)
}

fn pieces<'d>(whole: &'d [u8], lengths: &[u8]) -> Vec<&'d [u8]> {
    // Letters stand for short lengths, so that a corpus is readable.
    let length = |byte: u8| usize::from(byte).checked_sub(usize::from(b'a')).filter(|it| *it < 26);
    let mut lengths = lengths.iter().map(|byte| length(*byte).unwrap_or(usize::from(*byte))).cycle();
    let mut rest = whole;
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        // Consecutive empty pieces add nothing.
        let length = lengths.next().unwrap_or(usize::MAX).max(usize::from(pieces.last() == Some(&&b""[..])));
        let (piece, after) = rest.split_at(length.min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces
}
