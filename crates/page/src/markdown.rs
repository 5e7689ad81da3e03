//! Renders Markdown of answers and prompts. All elements are created here: markup in the text stays text, links lead
//! only to safe schemes, and remote pictures become links, since the page loads nothing. Link definitions are not
//! shown.

use maud::{Markup, PreEscaped, Render, html};
use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, LinkType, Options, Parser, Tag};

use super::{
    diff::diff,
    text::{VisibleText, first_line, is_plain, visible_plain_text},
};

/// Deepest nesting of elements; deeper ones are shown at this depth.
const MAX_NESTING: usize = 32;

/// Schemes of links that can be followed.
const FOLLOWED: [&str; 3] = ["https://", "http://", "mailto:"];

/// Renders Markdown as HTML elements.
pub(super) fn markdown(text: &str) -> Markup {
    rendered(text, false)
}

/// Renders Markdown in which a line break is one, too: people who type do not write paragraphs.
pub(super) fn markdown_of_prompt(text: &str) -> Markup {
    rendered(text, true)
}

fn rendered(text: &str, keeps_line_breaks: bool) -> Markup {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    // The parser would replace it by U+FFFD.
    let text = text.replace('\0', "␀");
    let mut writer = MarkdownWriter { keeps_line_breaks, ..MarkdownWriter::default() };
    for event in Parser::new_ext(&text, options) {
        writer.event(event);
    }
    PreEscaped(writer.page)
}

/// The first line with text, cut to `most` characters, without the signs of headings and emphasis.
pub(super) fn first_words(text: &str, most: usize) -> String {
    let is_sign = |letter: char| letter.is_whitespace() || "#*_`>-=~|".contains(letter);
    let line = text.lines().map(|line| line.trim_matches(is_sign)).find(|line| !line.is_empty());
    first_line(line.unwrap_or_default(), most).replace(['*', '`'], "")
}

#[derive(Default)]
struct MarkdownWriter {
    page: String,
    keeps_line_breaks: bool,
    /// End tags of the open elements, innermost last.
    open: Vec<&'static str>,
    code: Option<Code>,
    columns: Vec<Alignment>,
    column: usize,
    is_in_head: bool,
    is_in_link: bool,
}

/// A block of code that is being collected.
struct Code {
    language: String,
    text: String,
}

impl MarkdownWriter {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(_) => self.end(),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::Code(text) => self.markup(html! { code { (VisibleText(&text)) } }),
            Event::SoftBreak if !self.keeps_line_breaks => self.page.push('\n'),
            Event::SoftBreak | Event::HardBreak => self.markup(html! { br; }),
            Event::Rule => self.markup(html! { hr; }),
            Event::TaskListMarker(is_done) => self.page.push_str(if is_done { "☑ " } else { "☐ " }),
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.text(&text);
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        if self.open.len() >= MAX_NESTING {
            self.open.push("");
            return;
        }
        let end = match tag {
            Tag::Paragraph => self.element("<p>", "</p>"),
            Tag::HtmlBlock | Tag::MetadataBlock(_) => self.element("<p class=\"raw\">", "</p>"),
            // The page's own headings are above those of an answer.
            Tag::Heading { level: HeadingLevel::H1, .. } => self.element("<h4>", "</h4>"),
            Tag::Heading { level: HeadingLevel::H2, .. } => self.element("<h5>", "</h5>"),
            Tag::Heading { .. } => self.element("<h6>", "</h6>"),
            Tag::BlockQuote(_) | Tag::FootnoteDefinition(_) => self.element("<blockquote>", "</blockquote>"),
            Tag::CodeBlock(kind) => self.code(kind),
            Tag::List(Some(1)) => self.element("<ol>", "</ol>"),
            Tag::List(Some(first)) => {
                self.page.push_str(&format!("<ol start=\"{first}\">"));
                "</ol>"
            }
            Tag::List(None) | Tag::DefinitionList => self.element("<ul>", "</ul>"),
            Tag::Item | Tag::DefinitionListTitle | Tag::DefinitionListDefinition => {
                self.element("<li>", "</li>")
            }
            Tag::Table(columns) => {
                self.columns = columns;
                // Wide tables scroll by themselves; the keyboard must reach them, too.
                self.element("<div class=\"wide\" tabindex=\"0\"><table>", "</tbody></table></div>")
            }
            Tag::TableHead => {
                (self.column, self.is_in_head) = (0, true);
                self.element("<thead><tr>", "</tr></thead><tbody>")
            }
            Tag::TableRow => {
                (self.column, self.is_in_head) = (0, false);
                self.element("<tr>", "</tr>")
            }
            Tag::TableCell => self.cell(),
            Tag::Emphasis => self.element("<em>", "</em>"),
            Tag::Strong => self.element("<strong>", "</strong>"),
            Tag::Strikethrough => self.element("<s>", "</s>"),
            Tag::Superscript => self.element("<sup>", "</sup>"),
            Tag::Subscript => self.element("<sub>", "</sub>"),
            Tag::Link { link_type, dest_url, .. } => self.link(link_type, &dest_url),
            Tag::Image { link_type, dest_url, .. } => {
                let end = self.link(link_type, &dest_url);
                self.page.push_str("Image: ");
                end
            }
        };
        self.open.push(end);
    }

    fn end(&mut self) {
        if let Some(code) = self.code.take() {
            self.markup(code.render());
        }
        let end = self.open.pop().unwrap_or_default();
        self.is_in_link &= end != "</a>";
        self.page.push_str(end);
    }

    fn text(&mut self, text: &str) {
        match &mut self.code {
            Some(code) => code.text.push_str(text),
            None => VisibleText(text).render_to(&mut self.page),
        }
    }

    fn element(&mut self, start: &str, end: &'static str) -> &'static str {
        self.page.push_str(start);
        end
    }

    fn markup(&mut self, markup: Markup) {
        self.page.push_str(&markup.0);
    }

    fn code(&mut self, kind: CodeBlockKind<'_>) -> &'static str {
        let language = match kind {
            CodeBlockKind::Fenced(info) => info.split_whitespace().next().unwrap_or_default().to_owned(),
            CodeBlockKind::Indented => String::new(),
        };
        self.code = Some(Code { language, text: String::new() });
        ""
    }

    fn cell(&mut self) -> &'static str {
        let column = self.columns.get(self.column);
        self.column += 1;
        self.page.push_str(if self.is_in_head { "<th" } else { "<td" });
        self.page.push_str(match column {
            Some(Alignment::Right) => " class=\"right\">",
            Some(Alignment::Center) => " class=\"centre\">",
            _ => ">",
        });
        if self.is_in_head { "</th>" } else { "</td>" }
    }

    /// Opens a link, if its target is safe and no other link is open.
    fn link(&mut self, kind: LinkType, target: &str) -> &'static str {
        let target = if kind == LinkType::Email { format!("mailto:{target}") } else { target.to_owned() };
        if self.is_in_link || !may_follow(&target) {
            self.page.push_str("<span title=\"");
            Render::render_to(&*visible_plain_text(&target), &mut self.page);
            self.page.push_str("\">");
            return "</span>";
        }
        self.is_in_link = true;
        self.page.push_str("<a rel=\"noopener noreferrer\" href=\"");
        Render::render_to(target.as_str(), &mut self.page);
        self.page.push_str("\">");
        "</a>"
    }
}

impl Render for Code {
    fn render(&self) -> Markup {
        let is_diff = matches!(self.language.as_str(), "diff" | "patch");
        html! {
            pre {
                @if !self.language.is_empty() { span.language { (VisibleText(&self.language)) } }
                code { @if is_diff { (diff(&self.text)) } @else { (VisibleText(&self.text)) } }
            }
        }
    }
}

/// Whether a link's target can run nothing in the page and is what it looks like.
fn may_follow(target: &str) -> bool {
    let has_scheme = FOLLOWED
        .iter()
        .any(|scheme| target.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
    has_scheme && target.chars().all(|letter| is_plain(letter) && !letter.is_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> String {
        markdown(text).into_string()
    }

    #[test]
    fn markup_in_the_text_stays_text() {
        assert_eq!(page("a <b onclick=x>"), "<p>a &lt;b onclick=x&gt;</p>");
        assert_eq!(page("<script>1</script>"), "<p class=\"raw\">&lt;script&gt;1&lt;/script&gt;</p>");
        assert_eq!(
            page("```a\"b\n</code>\n```"),
            "<pre><span class=\"language\">a&quot;b</span><code>&lt;/code&gt;\n</code></pre>"
        );
    }

    #[test]
    fn prompts_keep_their_line_breaks() {
        assert_eq!(markdown_of_prompt("a\n**b**").into_string(), "<p>a<br><strong>b</strong></p>");
        assert_eq!(page("a\nb"), "<p>a\nb</p>");
    }

    #[test]
    fn only_harmless_links_can_be_followed() {
        assert_eq!(
            page("[x](https://a.b/?c&d)"),
            "<p><a rel=\"noopener noreferrer\" href=\"https://a.b/?c&amp;d\">x</a></p>"
        );
        assert_eq!(page("[x](JavaScript:alert)"), "<p><span title=\"JavaScript:alert\">x</span></p>");
        assert_eq!(
            page("<data:text/html,x>"),
            "<p><span title=\"data:text/html,x\">data:text/html,x</span></p>"
        );
        assert_eq!(page("[x](https://a&#x202E;b)"), "<p><span title=\"https://a[RLO]b\">x</span></p>");
    }

    #[test]
    fn remote_picture_becomes_link_outside_links() {
        assert_eq!(
            page("[![p](https://p)](https://l)"),
            "<p><a rel=\"noopener noreferrer\" href=\"https://l\"><span title=\"https://p\">Image: p</span></a></p>"
        );
    }

    #[test]
    fn tables_keep_their_alignment() {
        assert_eq!(
            page("|a|b|\n|-|-:|\n|1|2|"),
            "<div class=\"wide\" tabindex=\"0\"><table><thead><tr><th>a</th><th class=\"right\">b</th></tr></thead>\
             <tbody><tr><td>1</td><td class=\"right\">2</td></tr></tbody></table></div>"
        );
    }

    #[test]
    fn the_first_words_are_without_signs() {
        assert_eq!(first_words("---\n## The `plan`, **at last**\nmore", 13), "The plan, …");
    }

    #[test]
    fn deep_nesting_ends_somewhere() {
        let depth = page(&format!("{}x", "> ".repeat(5000))).matches("<blockquote>").count();
        assert_eq!(depth, MAX_NESTING);
    }
}
