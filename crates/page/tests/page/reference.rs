//! The page of the protocol: everything is on it, everything leads somewhere, every example is valid.

use crate::page_support::parsed::Element;
use jsonschema::Validator;
use pi_rpc_export::{Examples, Outcome, json_schema, meta, reference_page};
use pi_rpc_machine::{Machine, edges};
use pi_rpc_protocol::{BUNDLE, Dialect, Emission, Inbound, Outbound, read};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

fn bundle() -> Value {
    serde_json::from_str(BUNDLE).unwrap()
}

/// The page that has pi first: each test looks at another part of it.
static PAGE: LazyLock<(String, Element)> = LazyLock::new(|| {
    let text = reference_page(Dialect::Pi);
    let page = Element::of(&text);
    (text, page)
});

fn bases() -> impl Iterator<Item = Dialect> {
    Dialect::ALL.into_iter().filter(|dialect| dialect.record().extends.is_none())
}

fn ids(page: &Element) -> Vec<&str> {
    page.all().into_iter().filter_map(|element| element.attribute("id")).collect()
}

fn classed<'a>(page: &'a Element, name: &str) -> Vec<&'a Element> {
    let has = |element: &&Element| {
        element.attribute("class").is_some_and(|class| class.split(' ').any(|it| it == name))
    };
    page.all().into_iter().filter(has).collect()
}

/// The keys of a union's mapping.
fn tags(bundle: &Value, union: &str) -> Vec<String> {
    let mapping = bundle["$defs"][union]["discriminator"]["mapping"].as_object().unwrap();
    mapping.keys().cloned().collect()
}

#[test]
fn everything_of_the_schema_has_its_anchor() {
    let (bundle, page) = (bundle(), &PAGE.1);
    let ids: BTreeSet<&str> = ids(page).into_iter().collect();
    let of = |prefix: &str, union: &str| -> Vec<String> {
        tags(&bundle, union).into_iter().map(|tag| format!("{prefix}-{tag}")).collect()
    };
    let keys = |prefix: &str, part: &str| -> Vec<String> {
        bundle[part].as_object().unwrap().keys().map(|name| format!("{prefix}-{name}")).collect()
    };
    let wanted = [
        of("command", "RpcCommand"),
        of("response", "RpcSuccess"),
        of("event", "AgentSessionEvent"),
        of("ui", "RpcExtensionUIRequest"),
        of("entry", "SessionEntry"),
        of("to-extension", "ToExtension"),
        of("from-extension", "FromExtension"),
        keys("type", "$defs"),
        keys("rule", "rules"),
        keys("error", "errors"),
        keys("text", "texts"),
        Dialect::ALL.map(|dialect| format!("dialect-{dialect}")).to_vec(),
        ["ready", "host_tool_call", "host_tool_result"].map(|name| format!("frame-{name}")).to_vec(),
    ]
    .concat();
    let lost: Vec<&String> = wanted.iter().filter(|anchor| !ids.contains(anchor.as_str())).collect();
    assert_eq!(lost, Vec::<&String>::new());
}

#[test]
fn every_link_has_one_target() {
    for first in bases() {
        let page = Element::of(&reference_page(first));
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        ids(&page).into_iter().for_each(|id| *places.entry(id).or_default() += 1);
        let twice: Vec<_> = places.iter().filter(|(_, times)| **times > 1).collect();
        assert_eq!(twice, Vec::new(), "{first}");
        let all = page.all();
        let links =
            all.iter().filter(|element| element.name == "a").map(|link| link.attribute("href").unwrap());
        let lost: Vec<&str> =
            links.filter(|to| !to.strip_prefix('#').is_some_and(|id| places.contains_key(id))).collect();
        assert_eq!(lost, Vec::<&str>::new(), "{first}");
        let labels = all.iter().filter_map(|element| element.attribute("aria-labelledby"));
        assert_eq!(labels.filter(|id| !places.contains_key(id)).count(), 0, "{first}");
    }
}

#[test]
fn page_is_self_contained() {
    let (text, page) = &*PAGE;
    assert!(text.len() < 1_500_000, "{} bytes", text.len());
    let all = page.all();
    let loads = all.iter().flat_map(|element| &element.attributes).filter(|(name, value)| {
        ["src", "href", "srcset", "data", "action"].contains(&name.as_str())
            && !value.starts_with('#')
            && value != "data:,"
    });
    assert_eq!(loads.collect::<Vec<_>>(), Vec::<&(String, String)>::new());
    let styled = all.iter().filter(|element| element.attribute("style").is_some()).count();
    assert_eq!(styled, 0, "the policy lets no style through that stands in an element");
    let policy =
        all.iter().find(|element| element.attribute("http-equiv") == Some("Content-Security-Policy"));
    assert!(
        policy.unwrap().attribute("content").unwrap().starts_with("default-src 'none'; style-src 'sha256-")
    );
}

#[test]
fn requested_dialect_comes_first() {
    let behind = |text: &str, mark: &str| {
        text.split_once(mark).unwrap().1.split(['"', ',']).next().unwrap().to_owned()
    };
    let firsts = Dialect::ALL.map(|first| {
        let text = reference_page(first);
        (behind(&text, "id=\"dialect-"), behind(&text, "aria-label=\"The states of "))
    });
    let extended = |name: &&'static str| Dialect::parse(name).unwrap().record().extends;
    let base = |dialect: Dialect| std::iter::successors(Some(dialect.as_str()), extended).last().unwrap();
    let expected = Dialect::ALL.map(|first| (first.to_string(), base(first).to_owned()));
    assert_eq!(firsts, expected);
}

#[test]
fn chart_has_each_state_and_transition() {
    let bundle = bundle();
    let regions = bundle["states"]["regions"].as_array().unwrap();
    let page = &PAGE.1;
    let charts: Vec<&Element> = page.all().into_iter().filter(|element| element.name == "svg").collect();
    assert_eq!(charts.len(), bases().count());
    for (chart, base) in charts.iter().zip(bases()) {
        let states = chart.all().into_iter().filter_map(|element| element.attribute("data-state"));
        let drawn: BTreeSet<&str> = states.collect();
        let named = regions.iter().flat_map(|region| region["states"].as_array().unwrap());
        let is_there = |state: &&Value| {
            state["dialects"].as_array().is_none_or(|ids| ids.iter().any(|id| id == base.as_str()))
        };
        let named = named.filter(is_there).map(|state| state["name"].as_str().unwrap());
        assert_eq!(drawn, named.collect());
        let arrows = classed(chart, "edge").into_iter();
        let mut drawn: Vec<(String, String, String)> = arrows
            .map(|edge| {
                let text: Vec<String> = edge
                    .all()
                    .into_iter()
                    .filter(|element| element.name == "text")
                    .map(Element::text)
                    .collect();
                let end = |name| edge.attribute(name).unwrap().to_owned();
                (end("data-from"), end("data-to"), text.join(" "))
            })
            .collect();
        let beside = regions.iter().flat_map(|region| region["transitions"].as_array().into_iter().flatten());
        let beside = beside.filter(is_there);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let beside = beside.map(|step| (text(&step["from"]), text(&step["to"]), text(&step["on"])));
        let flow = edges(base.base()).into_iter().filter(|edge| edge.from != edge.to);
        let flow = flow.map(|edge| {
            let cut = if edge.cut { "cut by " } else { "" };
            (edge.from.to_owned(), edge.to.to_owned(), format!("{cut}{}", edge.label()))
        });
        let mut expected: Vec<_> = beside.chain(flow).collect();
        drawn.sort();
        expected.sort();
        assert_eq!(drawn, expected, "{base}");
        let said = edges(base.base()).into_iter().filter(|edge| edge.from == edge.to);
        for edge in said {
            let name = if edge.inside { format!("streaming.{}", edge.from) } else { edge.from.to_owned() };
            let of = |element: &&Element| element.attribute("data-state") == Some(&name);
            let state = chart.all().into_iter().find(of).unwrap();
            let lines: Vec<String> = classed(state, "said").into_iter().map(Element::text).collect();
            assert_eq!(lines.join(" "), edge.label().replace(", ", " "), "{base}: {}", edge.from);
        }
    }
}

#[test]
fn every_command_lists_its_dispositions() {
    let [table] = classed(&PAGE.1, "states")[..] else { panic!() };
    let rows: Vec<Vec<String>> = table
        .all()
        .into_iter()
        .filter(|element| element.name == "tr")
        .map(|row| row.inside_elements().into_iter().map(Element::text).collect())
        .collect();
    let states = ["idle", "starting", "streaming", "settlingonly pi-1", "retrying", "compacting"];
    let compactions = ["compacting_manual", "compacting_before_prompt"];
    assert_eq!(rows[0], [&["Command"][..], &states, &compactions].concat());
    assert_eq!(rows.len(), 1 + tags(&bundle(), "RpcCommand").len());
    let queued = "queue if streamingBehavior is \"steer\" or \"followUp\", else reject busy";
    let other = |pi: &str| format!("pi {pi}pi-1xcsh {queued}");
    let manual = format!("pi runpi-1 reject compacting_promptxcsh {queued}");
    let waits = [queued, queued, queued, &other("preempt"), &other("run"), &manual, queued];
    assert_eq!(rows[1], [&["prompt", "run"], &waits[..]].concat());
    assert_eq!(rows[2], ["steer", "queue"]);
}

/// The page has one column for a superstate.
#[test]
fn command_outcomes_agree_within_superstate() {
    for dialect in Dialect::ALL {
        for command in meta(dialect).commands {
            let mut fares: BTreeMap<&str, Vec<Outcome>> = BTreeMap::new();
            for (state, outcomes) in command.states {
                let outer = state.as_str().split('.').next().unwrap();
                let known = fares.entry(outer).or_insert_with(|| outcomes.clone());
                assert_eq!(*known, outcomes, "{dialect}: {} in {}", command.r#type, state.as_str());
            }
        }
    }
}

#[test]
fn every_example_is_valid_in_its_dialects() {
    let examples = Examples::new();
    for base in bases() {
        let schema = json_schema(base);
        let wrong: Vec<String> = schema["$defs"]
            .as_object()
            .unwrap()
            .keys()
            .filter_map(|name| {
                let example = examples.of(&schema["$defs"], name);
                let errors: Vec<String> =
                    validator(&schema, name).iter_errors(&example).map(|error| error.to_string()).collect();
                (!errors.is_empty()).then(|| format!("{name}: {example}: {errors:?}"))
            })
            .collect();
        assert_eq!(wrong, Vec::<String>::new(), "{base}");
    }
}

fn validator(schema: &Value, def: &str) -> Validator {
    let mut schema = schema.clone();
    schema.as_object_mut().unwrap().remove("oneOf");
    schema["$ref"] = json!(format!("#/$defs/{def}"));
    jsonschema::validator_for(&schema).unwrap()
}

#[test]
fn opening_conversation_breaks_no_rule() {
    for base in bases() {
        let schema = json_schema(base);
        let mut machine = Machine::new(base, true);
        let mut broken = Vec::new();
        let frames = Examples::new().conversation(&schema["$defs"]);
        for (def, frame) in &frames {
            let line = frame.to_string();
            broken.extend(match def.ends_with("Command") {
                true => machine.inbound(&read::<Inbound>(line.as_bytes(), base).unwrap()),
                false => machine.outbound(&Emission::Frame(read::<Outbound>(line.as_bytes(), base).unwrap())),
            });
        }
        assert_eq!(broken, Vec::new(), "{base}");
        let settles = schema["$defs"].get("AgentSettledEvent").is_some();
        assert_eq!(frames.last().unwrap().0, if settles { "AgentSettledEvent" } else { "AgentEndEvent" });
    }
}
