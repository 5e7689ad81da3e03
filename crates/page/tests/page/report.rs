//! The report as a page: what people find on it, and that nothing in it can reach out.

use crate::{
    page_support::parsed::Element,
    report_support::{found, report, snapshots, subject},
};
use pi_rpc_machine::Rule;
use pi_rpc_oracle::report::{Report, Subject, TimelineEntry};
use pi_rpc_protocol::Tier;

#[test]
fn full_report_matches_its_snapshot() {
    let page = Element::of(&report(Tier::Observed).to_page());
    let body = page.find("body").unwrap().outline();
    // Most rules are not put to the test here, and other pages tell what they say.
    let shown = body.split("Rules that were not exercised").next().unwrap_or_default().to_owned();
    snapshots().bind(|| insta::assert_snapshot!("report_page", shown));
}

#[test]
fn the_page_loads_nothing_and_runs_nothing() {
    let page = report(Tier::Observed).to_page();
    let elements = Element::of(&page);
    let all = elements.all();
    let named = |name: &str| all.iter().filter(|element| element.name == name).count();
    assert_eq!([named("script"), named("img"), named("iframe"), named("form")], [0; 4]);
    // A link to the source of a rule loads nothing until somebody follows it.
    let is_source = |element: &&&Element| {
        element.name == "a" && element.attribute("rel") == Some("noreferrer") && {
            element.attribute("href").is_some_and(|to| to.starts_with("https://"))
        }
    };
    let links = all
        .iter()
        .filter(|element| !is_source(element))
        .flat_map(|element| &element.attributes)
        .filter(|(name, _)| name == "href" || name == "src");
    let out: Vec<&str> = links
        .map(|(_, value)| value.as_str())
        .filter(|value| !value.starts_with('#') && *value != "data:,")
        .collect();
    assert_eq!(out, Vec::<&str>::new());
    let policy = all.iter().find_map(|element| {
        element.attribute("http-equiv").and_then(|_| element.attribute("content")).map(str::to_owned)
    });
    assert!(policy.unwrap().starts_with("default-src 'none'; style-src 'sha256-"));
}

#[test]
fn server_output_stays_text() {
    let hostile = "</td><script>alert(1)</script>\u{202e}<b onclick=x>";
    let mut finding = found(Rule::RespOnce, Tier::Must);
    (finding.kind, finding.expected, finding.known) = (hostile.into(), hostile.into(), Some(hostile.into()));
    (finding.record, finding.also_expected) = (1, vec![hostile.into()]);
    let moment = TimelineEntry {
        record: 1,
        t: 0.0,
        direction: pi_rpc_recording::Direction::Out,
        text: hostile.into(),
        whole: Some(hostile.into()),
        state: "idle".into(),
        findings: vec![0],
    };
    let hostile_one = Subject {
        reason: Some(hostile.into()),
        findings: vec![finding],
        timeline: vec![moment],
        ..subject(hostile)
    };
    let page = Report::new(vec![hostile_one], Default::default(), Tier::Observed).to_page();
    let elements = Element::of(&page);
    let strange = |element: &&Element| element.name == "script" || element.attribute("onclick").is_some();
    assert_eq!(elements.all().into_iter().filter(strange).count(), 0);
    assert!(elements.text().contains("<script>alert(1)</script>"));
}

#[test]
fn record_shows_state_and_finding_its_rule() {
    let page = Element::of(&report(Tier::Observed).to_page());
    let all = page.all();
    let row = all.iter().find(|element| element.attribute("class") == Some("marked")).unwrap();
    assert_eq!(row.text(), "10.001in{\"type\":\"abort\"}idle");
    let sentence = Rule::RespOnce.about().sentence;
    let unfolding = |element: &&&Element| element.name == "details" && element.text().contains(sentence);
    assert!(all.iter().filter(unfolding).count() > 0);
}
