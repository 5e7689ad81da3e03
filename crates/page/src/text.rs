//! Renders text so that nothing in it is markup, and nothing is hidden.

use std::borrow::Cow;
use std::sync::LazyLock;

use maud::Render;
use regex_lite::Regex;

/// Text inside an element. Characters that would be invisible or reorder others are replaced by marked visible forms.
pub(super) struct VisibleText<'a>(pub &'a str);

impl Render for VisibleText<'_> {
    fn render_to(&self, page: &mut String) {
        let mut done = 0;
        for (at, letter) in self.0.char_indices() {
            let entity = match letter {
                '&' => "&amp;",
                '<' => "&lt;",
                '>' => "&gt;",
                '"' => "&quot;",
                _ if is_plain(letter) => continue,
                _ => "",
            };
            page.push_str(&self.0[done..at]);
            page.push_str(entity);
            if entity.is_empty() {
                page.push_str("<span class=\"mark\">");
                page.push_str(&visible_form(letter));
                page.push_str("</span>");
            }
            done = at + letter.len_utf8();
        }
        page.push_str(&self.0[done..]);
    }
}

/// Replaces invisible characters for an attribute or the title: visible forms without a mark. Does not escape markup.
pub(super) fn visible_plain_text(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().fold(String::with_capacity(text.len()), |mut plain, letter| {
        if is_plain(letter) {
            plain.push(letter);
        } else {
            plain.push_str(&visible_form(letter));
        }
        plain
    }))
}

/// The first line that is not blank, cut to at most `most` characters.
pub(super) fn first_line(text: &str, most: usize) -> Cow<'_, str> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    match line.char_indices().nth(most) {
        Some((end, _)) => Cow::Owned(format!("{}…", line[..end].trim_end())),
        None => Cow::Borrowed(line),
    }
}

/// The size up to which text is shown unfolded.
#[derive(Clone, Copy)]
pub(super) struct SizeLimit {
    pub lines: usize,
    pub bytes: usize,
}

impl SizeLimit {
    pub fn holds(self, text: &str) -> bool {
        text.len() <= self.bytes && text.lines().count() <= self.lines
    }
}

/// A program's output without terminal colours and with one kind of line end. Other control sequences stay visible.
pub(super) fn printed(output: &str) -> Cow<'_, str> {
    static COLOURS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new("\x1b\\[[0-9;:]*m").ok());
    if !output.contains(['\x1b', '\r']) {
        return Cow::Borrowed(output);
    }
    let fed = output.replace("\r\n", "\n");
    Cow::Owned(COLOURS.as_ref().map_or(fed.clone(), |colours| colours.replace_all(&fed, "").into_owned()))
}

/// Whether a character is shown as it is. Joiners are: scripts and emoji need them.
pub(super) fn is_plain(letter: char) -> bool {
    match letter {
        '\n' | '\t' => true,
        '\0'..='\x1F' | '\x7F'..='\u{9F}' => false,
        '\u{61C}' | '\u{200B}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' => false,
        '\u{2060}'..='\u{206F}' | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E007F}' => false,
        _ => true,
    }
}

/// The visible form of a character that is not shown as it is.
fn visible_form(letter: char) -> Cow<'static, str> {
    let name = match letter {
        '\0'..='\x1F' => {
            let picture = char::from_u32(0x2400 + u32::from(letter)).unwrap_or('\u{FFFD}');
            return Cow::Owned(picture.to_string());
        }
        '\x7F' => "␡",
        '\u{61C}' => "[ALM]",
        '\u{200B}' => "[ZWSP]",
        '\u{200E}' => "[LRM]",
        '\u{200F}' => "[RLM]",
        '\u{2028}' => "[LS]",
        '\u{2029}' => "[PS]",
        '\u{202A}' => "[LRE]",
        '\u{202B}' => "[RLE]",
        '\u{202C}' => "[PDF]",
        '\u{202D}' => "[LRO]",
        '\u{202E}' => "[RLO]",
        '\u{2060}' => "[WJ]",
        '\u{2066}' => "[LRI]",
        '\u{2067}' => "[RLI]",
        '\u{2068}' => "[FSI]",
        '\u{2069}' => "[PDI]",
        '\u{FEFF}' => "[BOM]",
        other => return Cow::Owned(format!("[U+{:04X}]", u32::from(other))),
    };
    Cow::Borrowed(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hiding_characters_get_visible_forms() {
        assert_eq!(
            visible_plain_text("a\0b\x1b\x7f\u{85}\u{202E}c\u{E0041}"),
            "a␀b␛␡[U+0085][RLO]c[U+E0041]"
        );
        assert_eq!(visible_plain_text("line\n\ttext 👩\u{200D}🔬"), "line\n\ttext 👩\u{200D}🔬");
        assert_eq!(
            VisibleText("<b>&\"\u{200F}").render().into_string(),
            "&lt;b&gt;&amp;&quot;<span class=\"mark\">[RLM]</span>"
        );
    }

    #[test]
    fn terminal_colours_are_removed_other_sequences_stay() {
        assert_eq!(printed("\x1b[1;31mred\x1b[0m\r\n\x1b]8;;x\x07"), "red\n\x1b]8;;x\x07");
    }

    #[test]
    fn a_first_line_is_cut_between_characters() {
        assert_eq!(first_line("\n  \n  ééé è\nmore", 3), "ééé…");
        assert_eq!(first_line("  short ", 80), "short");
        assert_eq!(first_line("", 80), "");
    }
}
