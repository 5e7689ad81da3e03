//! Whatever a session holds, the page has no element and no attribute but those that are written for it.

use crate::page_support::{
    hostile,
    parsed::{Element, Node},
};
use pi_rpc_page::Page;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Every element of the page with the attributes that it may have; `class` and `id` are looked at by themselves.
const ELEMENTS: [(&str, &[&str]); 61] = [
    ("html", &["lang"]),
    ("head", &[]),
    ("meta", &["charset", "http-equiv", "content", "name"]),
    ("title", &[]),
    ("link", &["rel", "href"]),
    ("style", &[]),
    ("body", &[]),
    ("script", &[]),
    ("header", &[]),
    ("nav", &["aria-label"]),
    ("main", &[]),
    ("footer", &[]),
    ("search", &["hidden"]),
    ("fieldset", &[]),
    ("legend", &[]),
    ("label", &["for"]),
    ("input", &["type", "name", "value", "checked", "placeholder", "autocomplete", "spellcheck"]),
    ("noscript", &[]),
    ("section", &["aria-labelledby", "data-after"]),
    ("article", &["data-line"]),
    ("details", &["open", "data-line", "hidden"]),
    ("summary", &[]),
    ("button", &["type"]),
    ("h1", &[]),
    ("h2", &[]),
    ("h3", &[]),
    ("h4", &[]),
    ("h5", &[]),
    ("h6", &[]),
    ("p", &["role", "data-line"]),
    ("div", &["tabindex", "data-entries"]),
    ("span", &["title"]),
    ("bdi", &[]),
    ("b", &[]),
    ("a", &["href", "rel", "title"]),
    ("img", &["alt", "src"]),
    ("time", &["datetime"]),
    ("pre", &[]),
    ("code", &[]),
    ("ins", &[]),
    ("del", &[]),
    ("dl", &[]),
    ("dt", &[]),
    ("dd", &[]),
    ("ul", &[]),
    ("ol", &["start"]),
    ("li", &[]),
    ("blockquote", &[]),
    ("em", &[]),
    ("strong", &[]),
    ("s", &[]),
    ("br", &[]),
    ("hr", &[]),
    ("table", &[]),
    ("thead", &[]),
    ("tbody", &[]),
    ("tr", &[]),
    ("th", &[]),
    ("td", &[]),
    ("sup", &[]),
    ("sub", &[]),
];

const CLASSES: &str = "actions anchor answer arguments assistant bad branch branches buttons centre change choices command day diff \
     ending facts find fork found gist good key-facts kinds label language leaf mark note outcome own part place raw right said \
     skip spent summary thinking tool top user wide with-answer with-other with-prompt with-thinking with-tool";

#[test]
fn known_attacks_are_inert() {
    for attack in hostile::ATTACKS {
        assert_eq!(foreign(&hostile::everywhere(attack)), Vec::<String>::new(), "{attack:?}");
    }
}

#[test]
fn attacks_in_long_sessions_are_inert() {
    for attack in hostile::ATTACKS {
        let page = hostile::long(attack);
        assert_eq!(foreign(&page), Vec::<String>::new(), "{attack:?}");
        // Where scripts run, each part is one text, and nothing in it ends that.
        let seen = Element::with_scripting(&page.html());
        let parts = seen.all().into_iter().filter(|element| element.attribute("data-entries").is_some());
        let texts = parts.map(|part| {
            matches!(&part.inside[..], [Node::Element(text)] if text.name == "noscript"
            && matches!(text.inside[..], [Node::Text(_)]))
        });
        assert_eq!(texts.filter(|is_text| !is_text).count(), 0, "{attack:?}");
    }
}

#[test]
fn foreign_element_is_found() {
    let page = hostile::everywhere("x").html();
    let spoilt = |with: &str| in_page(&page.replacen("<main", &format!("{with}<main"), 1), &page);
    assert_eq!(spoilt("<marquee></marquee>"), ["element marquee"]);
    assert_eq!(spoilt("<b onclick=x></b>"), ["attribute onclick of b"]);
    assert_eq!(spoilt("<a href='javascript:x'></a>"), ["a leads to \"javascript:x\""]);
    assert_eq!(spoilt("<script>x</script>"), ["2 scripts"]);
    assert_eq!(spoilt("\u{202E}"), ["'\\u{202e}' in the text"]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn no_text_becomes_anything_but_text(text in hostile::text()) {
        prop_assert_eq!(foreign(&hostile::everywhere(&text)), Vec::<String>::new());
    }
}

/// What a page has that it must not.
fn foreign(page: &Page) -> Vec<String> {
    in_page(&page.html(), &Page::default().html())
}

fn in_page(html: &str, empty: &str) -> Vec<String> {
    let page = Element::of(html);
    let mut wrong = BTreeSet::new();
    let mut ids = BTreeSet::new();
    for element in page.all() {
        let name = element.name.as_str();
        let Some((_, attributes)) = ELEMENTS.iter().find(|(known, _)| *known == name) else {
            wrong.insert(format!("element {name}"));
            continue;
        };
        for (attribute, value) in &element.attributes {
            let is_right = match attribute.as_str() {
                "class" => {
                    value.split(' ').all(|class| CLASSES.split_whitespace().any(|known| known == class))
                }
                "id" => ids.insert(value.clone()),
                known => attributes.contains(&known),
            };
            if !is_right {
                wrong.insert(format!("attribute {attribute} of {name}"));
            }
        }
        for target in element.attribute("href").iter().chain(&element.attribute("src")) {
            if !may_lead(name, target) {
                wrong.insert(format!("{name} leads to {target:?}"));
            }
        }
        if element.inside.contains(&Node::Comment) {
            wrong.insert(format!("comment in {name}"));
        }
    }
    // The only code is the page's own.
    let empty = Element::of(empty);
    for name in ["script", "style"] {
        let of = |page: &Element| {
            page.all().iter().filter(|it| it.name == name).map(|it| it.text()).collect::<Vec<_>>()
        };
        if of(&page) != of(&empty) {
            wrong.insert(format!("{} {name}s", of(&page).len()));
        }
    }
    wrong.extend(
        page.text().chars().filter(|letter| hides(*letter)).map(|letter| format!("{letter:?} in the text")),
    );
    wrong.into_iter().collect()
}

fn may_lead(element: &str, target: &str) -> bool {
    let lower = target.to_ascii_lowercase();
    let starts = |starts: &[&str]| starts.iter().any(|start| lower.starts_with(start));
    match element {
        "a" => starts(&["#e", "#b", "#main", "https://", "http://", "mailto:"]),
        "img" => starts(&["data:image/png;base64,", "data:image/jpeg;base64,"]),
        "link" => target == "data:,",
        _ => false,
    }
}

/// Characters that would not be seen, or would turn others round.
fn hides(letter: char) -> bool {
    (letter.is_control() && !"\n\t".contains(letter))
        || matches!(letter, '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}
