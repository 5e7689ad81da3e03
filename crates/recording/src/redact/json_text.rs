//! Redacts JSON text that comes in pieces: the names of members and numbers are kept.

use super::mask;

/// The parser state after the pieces so far.
#[derive(Debug, Default)]
pub struct JsonRedactor {
    /// The open objects (true) and arrays (false).
    open: Vec<bool>,
    /// Whether the next string is the name of a member.
    names: bool,
    place: Place,
    /// The latest letters outside of strings: a literal so far.
    letters: String,
}

/// The context of the next character.
#[derive(Debug, Default)]
enum Place {
    #[default]
    Outside,
    Name,
    /// In a name, behind a backslash.
    NameEscape,
    Text,
    /// In a text, behind a backslash.
    Escape,
    /// In a text, behind `\u` and these digits.
    Code(String),
}

const LITERALS: [&str; 5] = ["true", "false", "null", "e", "E"];

impl JsonRedactor {
    /// Redacts the next piece. An incomplete escape is held back until it is complete.
    pub fn redact(&mut self, piece: &str) -> String {
        let mut out = String::with_capacity(piece.len());
        for c in piece.chars() {
            self.next(c, &mut out);
        }
        out
    }

    fn next(&mut self, c: char, out: &mut String) {
        self.place = match (std::mem::take(&mut self.place), c) {
            (Place::Outside, c) => {
                let (place, c) = self.outside(c);
                out.push(c);
                place
            }
            (Place::Name, c) => {
                out.push(c);
                match c {
                    '"' => Place::Outside,
                    '\\' => Place::NameEscape,
                    _ => Place::Name,
                }
            }
            (Place::NameEscape, c) => {
                out.push(c);
                Place::Name
            }
            (Place::Text, '\\') => Place::Escape,
            (Place::Text, '"') => {
                out.push('"');
                Place::Outside
            }
            (Place::Text, c) => {
                out.push(mask(c));
                Place::Text
            }
            (Place::Escape, 'u') => Place::Code(String::new()),
            (Place::Escape, c) => {
                let is_known = matches!(c, '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't');
                out.extend(['\\', if is_known { c } else { mask(c) }]);
                Place::Text
            }
            (Place::Code(mut digits), c) => {
                digits.push(c);
                if digits.chars().count() < 4 {
                    Place::Code(digits)
                } else {
                    out.push_str(&code(&digits));
                    Place::Text
                }
            }
        };
    }

    fn outside(&mut self, c: char) -> (Place, char) {
        if c.is_alphabetic() {
            self.letters.push(c);
            let is_literal = LITERALS.iter().any(|literal| literal.starts_with(&self.letters));
            return (Place::Outside, if is_literal { c } else { 'x' });
        }
        self.letters.clear();
        match c {
            '{' | '[' => self.open.push(c == '{'),
            '}' | ']' => drop(self.open.pop()),
            _ => {}
        }
        let place = match c {
            '"' if self.names => Place::Name,
            '"' => Place::Text,
            _ => Place::Outside,
        };
        match c {
            '{' => self.names = true,
            ',' => self.names = self.open.last() == Some(&true),
            '[' | ']' | '}' | ':' => self.names = false,
            _ => {}
        }
        (place, if c.is_ascii() { c } else { 'x' })
    }
}

/// Redacts a `\u` escape of four digits. Of a surrogate pair only the second escape yields a character.
fn code(digits: &str) -> String {
    match u32::from_str_radix(digits, 16) {
        Ok(0xd800..=0xdbff) => String::new(),
        Ok(number) => match char::from_u32(number) {
            Some(c) if mask(c) == c => format!("\\u{digits}"),
            Some(c) => mask(c).to_string(),
            None => "x".to_owned(),
        },
        Err(_) => format!("\\u{}", digits.chars().map(mask).collect::<String>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_does_not_change_redaction() {
        let text = r#"{"path":"/a b1.rs","e\"x":["q\n\"\\\u00e9\u0041\ud83d\ude00\u0031\u000a", true, -1.5e3,{"k":null}]}"#;
        let expected = r#"{"path":"/x x0.xx","e\"x":["x\n\"\\xxx0\u000a", true, -1.5e3,{"k":null}]}"#;
        for cut in 0..=text.len() {
            let (one, other) = text.split_at(cut);
            let mut redacting = JsonRedactor::default();
            assert_eq!(redacting.redact(one) + &redacting.redact(other), expected, "{cut}");
        }
        assert_eq!(JsonRedactor::default().redact(expected), expected);
    }

    #[test]
    fn invalid_json_is_redacted() {
        assert_eq!(
            JsonRedactor::default().redact("secret tru truth é \"a\\q\" \\u00"),
            "xxxxxx tru truxx x \"x\\x\" \\x00"
        );
    }
}
