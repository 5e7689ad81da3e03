//! Carries the session file in the page, packed: readers get the very bytes, and the page grows by little.

use std::io::Write;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use maud::{Markup, PreEscaped, html};

/// Renders the file as data that nothing runs: base64 of gzip has no letter that ends an element.
pub(super) fn embedded_file(lines: &[Bytes], session: &str) -> Markup {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    // Writing to memory does not fail; a page without the file would be a page all the same.
    let written = lines.iter().try_for_each(|line| packed.write_all(line));
    let Ok(packed) = written.and_then(|()| packed.finish()) else { return Markup::default() };
    html! {
        script #session-file type="application/gzip" data-name={ (file_stem(session)) ".jsonl" } {
            (PreEscaped(BASE64_STANDARD.encode(packed)))
        }
    }
}

/// The session's id with nothing but letters of file names.
fn file_stem(session: &str) -> String {
    let stem: String =
        session.chars().filter(|letter| letter.is_ascii_alphanumeric() || *letter == '-').collect();
    if stem.is_empty() { "session".to_owned() } else { stem }
}
