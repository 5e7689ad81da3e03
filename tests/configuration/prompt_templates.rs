//! Prompt templates: where they are found, and what a prompt that calls one stands for.

use crate::commands_support::{Home, assert_warnings, list, names, path};
use pi_rpc::{
    prompt::{
        Commands, Template,
        discover::{NamedPaths, SearchPlaces},
    },
    protocol::CommandLocation,
};
use proptest::prelude::*;

/// What a template with this body becomes.
fn expanded(body: &str, arguments: &str) -> String {
    let read = Template::read(path("/t.md"), body, CommandLocation::User);
    Commands { templates: vec![read.unwrap()], skills: Vec::new() }
        .template(&format!("/t {arguments}"))
        .unwrap()
}

#[test]
fn arguments_replace_placeholders() {
    let cases = [
        ("$1-$2-$3", "a b", "a-b-"),
        ("$0|$10|$99999999999999999999", "a b c d e f g h i j", "|j|"),
        ("$@ = $ARGUMENTS", "a b", "a b = a b"),
        ("${@:2}", "a b c", "b c"),
        ("${@:0}|${@:1}|${@:9}", "a b", "a b|a b|"),
        ("${@:2:2}|${@:2:0}|${@:1:99999999999999999999}", "a b c d", "b c||a b c d"),
        ("${@}|${1}|${@:}|${@:x}|$x|$|$$1", "a", "${@}|${1}|${@:}|${@:x}|$x|$|$a"),
        ("$ARGUMENTS1 $@2", "a", "a1 a2"),
        ("no places", "a b", "no places"),
        ("$1$2$3", "", ""),
    ];
    for (body, arguments, wanted) in cases {
        assert_eq!(expanded(body, arguments), wanted, "{body} with {arguments}");
    }
}

#[test]
fn arguments_are_split_outside_quotes() {
    let cases = [
        ("a  b\tc", "[a][b][c]"),
        (r#"'a b' "c d""#, "[a b][c d][]"),
        (r#"a'b c'd e"#, "[a'b][c'd][e]"),
        (r#""it's" '"'"#, "[it's][\"][]"),
        (r#""a b"c' "d"#, "[a bc'][\"d][]"),
        (r#"a\ b"#, "[a\\][b][]"),
        ("a\nb\u{a0}c", "[a][b][c]"),
    ];
    for (arguments, wanted) in cases {
        assert_eq!(expanded("[$1][$2][$3]", arguments), wanted, "{arguments}");
    }
}

#[test]
fn users_words_survive_template_arguments() {
    let cases = [
        ("it doesn't work", "[it][doesn't][work]"),
        (r#"the "a b" case's"#, "[the][a b][case's]"),
        (r#""" b"#, "[][b][]"),
        ("'' a ''", "[][a][]"),
        (r#""c\"d" e"#, r#"[c"d][e][]"#),
        (r#"'it\'s' "a\b\\"""#, r#"[it's][a\b\"][]"#),
        (r#""a\'b""#, r#"[a\'b][][]"#),
        ("'open to the", "['open][to][the]"),
        ("a 'unclosed \"b c\"", "[a]['unclosed][b c]"),
        (r#"""#, r#"["][][]"#),
    ];
    for (arguments, wanted) in cases {
        assert_eq!(expanded("[$1][$2][$3]", arguments), wanted, "{arguments}");
    }
}

#[test]
fn placeholder_default_replaces_missing_argument() {
    let cases = [
        ("${1:-x}|${2:-y z}|${3:-}", "a", "a|y z|"),
        ("${1:-x}|${2:-y}", "'' b", "x|b"),
        ("${0:-x}|${99999999999999999999:-y}", "a", "x|y"),
        ("${@:-all}|${ARGUMENTS:-all}", "", "all|all"),
        ("${@:-all}|${ARGUMENTS:-all}", "a b", "a b|a b"),
        ("${1:-$2}|${1:-${2:-y}}", "'' b", "$2|${2:-y}"),
        ("${x:-y}|${1-y}|${1:-y|${2", "", "${x:-y}|${1-y}|${1:-y|${2"),
    ];
    for (body, arguments, wanted) in cases {
        assert_eq!(expanded(body, arguments), wanted, "{body} with {arguments}");
    }
}

#[test]
fn inserted_arguments_are_not_expanded() {
    assert_eq!(expanded("$1 $2 $@", "$2 $@"), "$2 $@ $2 $@");
    assert_eq!(expanded("${@:$1}", "2 b"), "${@:2}");
}

proptest! {
    #[test]
    fn only_placeholders_are_replaced(
        arguments in prop::collection::vec("[^\\s'\"]{1,6}|\\$[0-9@]|\\$ARGUMENTS|\\$\\{@:[0-9]\\}", 0..6),
        parts in prop::collection::vec(("[^$\r]{0,5}", 0..20usize, 0..4usize), 0..6),
    ) {
        let (mut body, mut wanted) = (String::from("x"), String::from("x"));
        for (text, number, length) in parts {
            let (place, range) = match number {
                0..6 => (format!("${number}"), number.wrapping_sub(1)..number),
                6..12 => (format!("${{@:{number}}}"), number - 1..usize::MAX),
                12..18 => (format!("${{@:{}:{length}}}", number - 12), {
                    let start = (number - 12usize).saturating_sub(1);
                    start..start + length
                }),
                18 => ("$@".to_owned(), 0..usize::MAX),
                _ => ("$ARGUMENTS".to_owned(), 0..usize::MAX),
            };
            // The point keeps a digit of the text from being one of the place.
            body += &format!("{place}.{text}");
            let chosen: Vec<_> =
                arguments.iter().enumerate().filter(|(at, _)| range.contains(at)).map(|(_, it)| it.as_str()).collect();
            wanted += &format!("{}.{text}", chosen.join(" "));
        }
        prop_assert_eq!(expanded(&body, &arguments.join(" ")), wanted);
    }

    #[test]
    fn any_template_and_arguments_expand(body in "[$@{}:0-9A-Z'\" \t\n-]{0,40}", arguments in "\\PC{0,40}") {
        let file = format!("---\ndescription: strange\n---\n{body}");
        let read = Template::read(path("/t.md"), &file, CommandLocation::User);
        if let Ok(template) = read {
            let expanded = template.expand(&arguments);
            prop_assert!(body.contains('$') || expanded == template.body);
        }
    }
}

#[test]
fn template_is_called_by_whole_name() {
    let read = Template::read(path("/review.md"), "Review $1", CommandLocation::User);
    let commands = Commands { templates: vec![read.unwrap()], skills: Vec::new() };
    let of = |text| commands.template(text);
    assert_eq!(of("/review"), Some("Review ".to_owned()));
    assert_eq!(of("/review this and that"), Some("Review this".to_owned()));
    assert_eq!(of("/review  a"), Some("Review a".to_owned()));
    assert_eq!(of("/review\na"), Some("Review a".to_owned()));
    for other in ["review a", " /review a", "/rev a", "/REVIEW", "/", "", "/ review"] {
        assert_eq!(of(other), None, "{other:?}");
    }
}

#[test]
fn description_is_front_matter_or_first_line() {
    let long = "ä".repeat(61);
    let cases = [
        ("---\ndescription: Look closely\n---\nBody", "Look closely", "Body"),
        ("---\ndescription: >\n  two\n  lines\nother: [1]\n---\n\n Body \n", "two lines\n", "Body"),
        ("\n\n  First line\nSecond", "  First line", "\n\n  First line\nSecond"),
        ("---\r\n---\r\nFirst\r\nSecond", "First", "First\nSecond"),
        ("---\n# nothing\n---\nFirst", "First", "First"),
        ("\u{FEFF}---\ndescription: ''\n---\nFirst", "First", "First"),
        ("---\nno end", "---", "---\nno end"),
        ("--- no start\n---\n", "--- no start", "--- no start\n---\n"),
        (&long, &format!("{}...", "ä".repeat(60)), &long),
        (&long[2..], &long[2..], &long[2..]),
    ];
    for (file, description, body) in cases {
        let read = Template::read(path("/a/t.md"), file, CommandLocation::Project).unwrap();
        assert_eq!((read.description.as_str(), read.body.as_str()), (description, body));
    }
    let empty = Template::read(path("/t.md"), "\n", CommandLocation::User).unwrap();
    assert_eq!(empty.description, "");
}

#[test]
fn first_template_of_a_name_wins() {
    let home = Home::new();
    home.put(".pi/agent/prompts/both.md", "user's")
        .put(".pi/agent/prompts/mine.md", "user's")
        .put(".pi/agent/prompts/deeper/not.md", "not read")
        .put(".pi/agent/prompts/.hidden.md", "not read")
        .put(".pi/agent/prompts/notes.txt", "not read")
        .put("work/.pi/prompts/both.md", "project's")
        .put("work/.pi/prompts/ours.md", "project's")
        .put("shared/listed.md", "of a list")
        .put("shared/deep/down.md", "of a list")
        .put("work/.pi/more/one.md", "of a list")
        .put("work/given.md", "given")
        .put("work/set/in-set.md", "given")
        .put("work/set/sub/not.md", "not read");
    let places = SearchPlaces {
        templates: NamedPaths {
            by_user: list(&["../../shared", "missing"]),
            by_project: list(&["more/one.md"]),
            given: list(&["given.md", "./set"]),
            only_given: false,
            ..NamedPaths::default()
        },
        ..home.places()
    };
    let user_first = [
        "down | of a list | Path | ~/shared/deep/down.md",
        "listed | of a list | Path | ~/shared/listed.md",
        "one | of a list | Path | ~/work/.pi/more/one.md",
        "both | user's | User | ~/.pi/agent/prompts/both.md",
        "mine | user's | User | ~/.pi/agent/prompts/mine.md",
        "ours | project's | Project | ~/work/.pi/prompts/ours.md",
        "given | given | Path | ~/work/given.md",
        "in-set | given | Path | ~/work/set/in-set.md",
    ];
    let second = "~/work/.pi/prompts/both.md: the template \"both\" is there already: ~/.pi/agent/prompts/both.md; \
                  the file is left out";
    assert_eq!(home.found(&places), (list(&user_first), list(&[second])));
    let (project_first, _) = home.found(&SearchPlaces { project_first: true, ..places.clone() });
    let order: Vec<&str> = project_first.iter().map(|line| line.split(" | ").next().unwrap()).collect();
    assert_eq!(order, ["one", "down", "listed", "both", "ours", "mine", "given", "in-set"]);
    assert!(project_first[3].ends_with("~/work/.pi/prompts/both.md"));
    let only = NamedPaths { only_given: true, ..places.templates };
    assert_eq!(names(&home, &SearchPlaces { templates: only, ..home.places() }), ["given", "in-set"]);
}

#[test]
fn settings_filter_templates_by_pattern() {
    let home = Home::new();
    for name in ["a", "b", "draft-a", "draft-b"] {
        home.put(&format!(".pi/agent/prompts/{name}.md"), "x").put(&format!("[x]/{name}2.md"), "x");
    }
    let found = |entries: &[&str]| {
        let templates = NamedPaths { by_user: list(entries), ..NamedPaths::default() };
        names(&home, &SearchPlaces { templates, ..home.places() })
    };
    assert_eq!(found(&[]), ["a", "b", "draft-a", "draft-b"]);
    assert_eq!(found(&["!draft-*"]), ["a", "b"]);
    assert_eq!(found(&["!prompts/draft-*", "+prompts/draft-b.md"]), ["a", "b", "draft-b"]);
    assert_eq!(found(&["+prompts/a.md", "-prompts/a.md"]), ["b", "draft-a", "draft-b"]);
    assert_eq!(found(&["!../../**/prompts/?.md"]), ["draft-a", "draft-b"]);
    assert_eq!(found(&["../../[x]", "!*"]), Vec::<String>::new());
    assert_eq!(
        found(&["../../[x]", "draft*", "!draft-b*"]),
        ["draft-a2", "a", "b", "draft-a"],
        "only what is named has to match a pattern without a sign"
    );
    let places = SearchPlaces {
        templates: NamedPaths { by_user: list(&["![z-a]*"]), ..NamedPaths::default() },
        ..home.places()
    };
    let (all, warnings) = home.found(&places);
    assert_eq!((all.len(), warnings.len()), (4, 1));
    assert!(warnings[0].starts_with("the setting \"![z-a]*\" is left out: "), "{}", warnings[0]);
}

#[test]
fn unusable_template_is_left_out() {
    let home = Home::new();
    home.put("work/bad.md", "---\ndescription: a: b: [\n---\nx")
        .put("work/list.md", "---\n- a\n---\nx")
        .put("work/long.md", &"x".repeat(1024 * 1024 + 1))
        .put("work/text.txt", "x")
        .put("work/latin.md", "x");
    std::fs::write(home.path("work/latin.md"), b"caf\xe9").unwrap();
    let given = list(&["bad.md", "list.md", "long.md", "text.txt", "latin.md", "none.md"]);
    let places = SearchPlaces { templates: NamedPaths { given, ..NamedPaths::default() }, ..home.places() };
    let (found, warnings) = home.found(&places);
    assert_eq!(found, ["latin | caf\u{FFFD} | Path | ~/work/latin.md"]);
    assert_warnings("templates_left_out", &warnings);
}
