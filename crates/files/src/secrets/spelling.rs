//! Finds keys in texts from outside in any spelling: percent-encoded, with HTML entities, with the escapes of JSON
//! and of programming languages, one inside another, and in Base64.
//!
//! A text is decoded step by step, and every decoded form is searched. Each decoded byte has the offset of its
//! spelling, which maps a match back to the original text.

use super::MASK;
use base64::{Engine as _, prelude::BASE64_STANDARD_NO_PAD};
use memchr::memmem;
use std::{borrow::Cow, ops::Range};

/// Number of nested encodings that are decoded.
const DEPTH: usize = 3;

/// Size of the longest text that is decoded, in bytes; in longer ones, such as a logged conversation, only plain keys
/// are found.
const LONGEST: usize = 1 << 20;

/// The encodings that are decoded.
const DECODERS: [Decoder; 3] = [percent, entity, escape];

/// Named entities of characters in keys and of quotes around them.
const ENTITIES: [(&str, u8); 9] = [
    ("quot", b'"'),
    ("apos", b'\''),
    ("amp", b'&'),
    ("lt", b'<'),
    ("gt", b'>'),
    ("plus", b'+'),
    ("sol", b'/'),
    ("equals", b'='),
    ("colon", b':'),
];

/// Decodes the escape at the beginning of a text: the result, and its length in the text.
type Decoder = fn(&[u8]) -> Option<(Decoded, usize)>;

/// A decoded escape.
enum Decoded {
    Byte(u8),
    Char(char),
}

/// Replaces every key in `text` by `***`, in any spelling. Overlapping keys become one `***`.
pub fn redact<'a, K: AsRef<str>>(text: &'a str, keys: &[K]) -> Cow<'a, str> {
    if keys.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut found = Vec::new();
    match text.len() > LONGEST {
        true => find(text.as_bytes(), keys, |range| found.push(range)),
        false => search(&DecodedForm::plain(text), keys, DEPTH, &mut found),
    }
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    found.sort_by_key(|range| (range.start, range.end));
    let (mut out, mut from) = (String::with_capacity(text.len()), 0);
    let mut ranges = found.into_iter().peekable();
    while let Some(mut range) = ranges.next() {
        while let Some(next) = ranges.next_if(|next| next.start < range.end) {
            range.end = range.end.max(next.end);
        }
        let (start, end) = (text.floor_char_boundary(range.start), text.ceil_char_boundary(range.end));
        out.push_str(&text[from..start]);
        out.push_str(MASK);
        from = end;
    }
    out.push_str(&text[from..]);
    Cow::Owned(out)
}

/// The forms of a key inside of Base64 text, at every alignment, in both alphabets.
pub fn in_base64(key: &str) -> impl Iterator<Item = String> {
    (0..3).flat_map(move |before| {
        let padded = [&[0; 2][..before], key.as_bytes()].concat();
        let encoded = BASE64_STANDARD_NO_PAD.encode(&padded);
        // Letters at the edges also hold bits of the neighbours.
        let letters = (before * 8).div_ceil(6)..padded.len() * 8 / 6;
        let inner = encoded.get(letters).unwrap_or_default().to_owned();
        let url_safe = inner.replace('+', "-").replace('/', "_");
        [inner, url_safe]
    })
}

/// Calls `found` with the range of each key in `bytes`.
fn find<K: AsRef<str>>(bytes: &[u8], keys: &[K], mut found: impl FnMut(Range<usize>)) {
    for key in keys {
        let key = key.as_ref().as_bytes();
        memmem::find_iter(bytes, key).for_each(|at| found(at..at + key.len()));
    }
}

/// Searches a form of a text, and all forms decoded from it.
fn search<K: AsRef<str>>(form: &DecodedForm, keys: &[K], depth: usize, found: &mut Vec<Range<usize>>) {
    find(&form.bytes, keys, |at| found.push(form.starts[at.start]..form.starts[at.end]));
    if depth > 0 {
        let decoded = DECODERS.iter().filter_map(|decoder| form.decoded(*decoder));
        decoded.for_each(|form| search(&form, keys, depth - 1, found));
    }
}

/// A text, possibly decoded.
struct DecodedForm {
    bytes: Vec<u8>,
    /// For each byte the offset of its spelling in the original text, and last the end.
    starts: Vec<usize>,
}

impl DecodedForm {
    fn plain(text: &str) -> Self {
        Self { bytes: text.as_bytes().to_vec(), starts: (0..=text.len()).collect() }
    }

    /// Decodes one encoding; `None`: nothing is encoded so.
    fn decoded(&self, decoder: Decoder) -> Option<Self> {
        let mut out = Self { bytes: Vec::new(), starts: Vec::new() };
        let (mut at, mut is_encoded) = (0, false);
        while at < self.bytes.len() {
            let (decoded, length) = match decoder(&self.bytes[at..]) {
                Some(read) => {
                    is_encoded = true;
                    read
                }
                None => (Decoded::Byte(self.bytes[at]), 1),
            };
            match decoded {
                Decoded::Byte(byte) => out.bytes.push(byte),
                Decoded::Char(char) => out.bytes.extend(char.encode_utf8(&mut [0; 4]).bytes()),
            }
            out.starts.resize(out.bytes.len(), self.starts[at]);
            at += length;
        }
        out.starts.push(self.starts[at]);
        is_encoded.then_some(out)
    }
}

/// `%22`.
fn percent(text: &[u8]) -> Option<(Decoded, usize)> {
    let digits = text.strip_prefix(b"%")?.get(..2)?;
    let byte = u8::try_from(number(digits, 16)?).ok()?;
    Some((Decoded::Byte(byte), 3))
}

/// `&quot;`, `&#34;`, `&#x22;`, the last letter perhaps missing.
fn entity(text: &[u8]) -> Option<(Decoded, usize)> {
    let name = text.strip_prefix(b"&")?;
    let (decoded, length) = match name.strip_prefix(b"#") {
        None => {
            let (name, byte) = ENTITIES.iter().find(|(known, _)| name.starts_with(known.as_bytes()))?;
            (Decoded::Byte(*byte), 1 + name.len())
        }
        Some([b'x' | b'X', digits @ ..]) => {
            let digits = leading(digits, u8::is_ascii_hexdigit);
            (character(digits, 16)?, 3 + digits.len())
        }
        Some(digits) => {
            let digits = leading(digits, u8::is_ascii_digit);
            (character(digits, 10)?, 2 + digits.len())
        }
    };
    Some((decoded, length + usize::from(text.get(length) == Some(&b';'))))
}

/// `\"`, `\/`, `\u0022`, `\u{22}`, `\x22`.
fn escape(text: &[u8]) -> Option<(Decoded, usize)> {
    match text.strip_prefix(b"\\")? {
        [b'u', b'{', digits @ ..] => {
            let digits = leading(digits, u8::is_ascii_hexdigit);
            let is_closed = text.get(3 + digits.len()) == Some(&b'}');
            is_closed.then_some((character(digits, 16)?, 4 + digits.len()))
        }
        [b'u', digits @ ..] => Some((character(digits.get(..4)?, 16)?, 6)),
        [b'x', digits @ ..] => Some((character(digits.get(..2)?, 16)?, 4)),
        [letter, ..] if letter.is_ascii_punctuation() => Some((Decoded::Byte(*letter), 2)),
        _ => None,
    }
}

fn character(digits: &[u8], radix: u32) -> Option<Decoded> {
    char::from_u32(number(digits, radix)?).map(Decoded::Char)
}

/// Parses digits, and nothing else, as a number.
fn number(digits: &[u8], radix: u32) -> Option<u32> {
    let digits = str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'))?;
    u32::from_str_radix(digits, radix).ok()
}

/// The leading digits, eight at most.
fn leading(text: &[u8], is_digit: fn(&u8) -> bool) -> &[u8] {
    let length = text.iter().take(8).take_while(|letter| is_digit(letter)).count();
    &text[..length]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Has every character that some encoding escapes.
    const KEY: &str = r#"sk-"a&b'c<d>e/f\g+h=i%41é"#;

    fn html(text: &str) -> String {
        let escaped = [('&', "&amp;"), ('"', "&quot;"), ('\'', "&#39;"), ('<', "&lt;"), ('>', "&gt;")];
        escaped.into_iter().fold(text.to_owned(), |text, (letter, entity)| text.replace(letter, entity))
    }

    fn json(text: &str) -> String {
        let quoted = serde_json::Value::from(text).to_string();
        quoted[1..quoted.len() - 1].to_owned()
    }

    fn every_letter(text: &str, spell: impl Fn(char) -> String) -> String {
        text.chars().map(spell).collect()
    }

    #[test]
    fn key_in_usual_spellings_is_masked() {
        let percent_encoded = super::super::percent_encoded;
        let spelled = [
            KEY.to_owned(),
            html(KEY),
            html(&html(KEY)),
            json(KEY),
            json(&json(KEY)),
            json(KEY).replace('/', "\\/"),
            json(&html(KEY)).replace('&', "\\u0026"),
            json(&percent_encoded(KEY)),
            html(&json(KEY)),
            percent_encoded(KEY),
            percent_encoded(&percent_encoded(KEY)),
            percent_encoded(KEY).to_lowercase().replace("%c3%a9", "%C3%A9"),
            html(KEY).replace(';', ""),
            every_letter(KEY, |letter| format!("\\u{:04X}", u32::from(letter))),
            every_letter(KEY, |letter| format!("\\u{{{:x}}}", u32::from(letter))),
            every_letter(KEY, |letter| format!("&#{};", u32::from(letter))),
            every_letter(KEY, |letter| format!("&#x{:04x};", u32::from(letter))),
        ];
        for spelled in spelled {
            let text = format!("bad key [{spelled}], & 100 % of \\n é");
            assert_eq!(redact(&text, &[KEY]), "bad key [***], & 100 % of \\n é", "{spelled}");
        }
    }

    #[test]
    fn key_inside_base64_is_masked() {
        let forms: Vec<String> = in_base64(KEY).collect();
        for before in ["", "u", "me", "user:"] {
            let encoded = BASE64_STANDARD_NO_PAD.encode(format!("{before}{KEY}, and more"));
            for text in [encoded.replace('+', "-").replace('/', "_"), encoded] {
                let masked = redact(&text, &forms);
                let left = masked.len() - MASK.len();
                assert!(masked.contains(MASK) && left < text.len() - KEY.len(), "{text}: {masked}");
            }
        }
    }

    #[test]
    fn text_without_key_is_unchanged() {
        for text in ["", "%", "&#;", "\\", "\\u12", "%zz &amp; \\\" \\u{110000} &#99999999;", "sk-&quot;a"] {
            assert!(matches!(redact(text, &[KEY]), Cow::Borrowed(same) if same == text), "{text}");
        }
    }

    #[test]
    fn long_text_has_plain_keys_masked() {
        let long = "x".repeat(LONGEST);
        let text = format!("{long}{KEY}{long}é");
        assert_eq!(redact(&text, &[KEY]), format!("{long}***{long}é"));
    }

    #[test]
    fn keys_that_overlap_are_one() {
        assert_eq!(redact("12345678abc, 12345678 12345678", &["12345678", "5678abc"]), "***, *** ***");
    }
}
