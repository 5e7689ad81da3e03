//! Texts from outside as a terminal may show them: models, servers and files must not move its cursor, hide anything or
//! turn round what stands beside it.

/// The text on one line: what would move the cursor, or is not seen, is written out.
pub fn harmless(text: &str) -> String {
    written_out(text, |_| false)
}

/// The same for a text of several lines: breaks of lines and tabs stay.
pub fn harmless_lines(text: &str) -> String {
    written_out(text, |letter| matches!(letter, '\n' | '\t'))
}

fn written_out(text: &str, stays: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            letter if !stays(letter) && (letter.is_control() || is_hidden(letter)) => {
                shown.extend(letter.escape_default());
            }
            letter => shown.push(letter),
        }
    }
    shown
}

/// Letters that a terminal does not show, or that move others: separators of lines, marks of direction, tags.
const fn is_hidden(letter: char) -> bool {
    matches!(
        letter,
        '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_hidden_characters_are_escaped() {
        let text = "a\u{1b}]8;;x\u{7}b\u{9b}2J\r\n\t\u{2028}\u{202e}\u{2066}\u{61c}\u{e0041}c";
        let line = r"a\u{1b}]8;;x\u{7}b\u{9b}2J\r\n\t\u{2028}\u{202e}\u{2066}\u{61c}\u{e0041}c";
        assert_eq!(harmless(text), line);
        assert_eq!(harmless_lines(text), line.replace(r"\n\t", "\n\t"));
        assert_eq!(harmless("été ✓ 日本"), "été ✓ 日本");
    }
}
