//! The metrics of a host: what alerts and the board ask for is in the table of the page for operators.

use crate::documents_support::page;
use regex::Regex;
use std::collections::BTreeSet;

/// The metrics of the table, as Prometheus names them.
fn documented() -> BTreeSet<String> {
    let text = page("docs/how-to/operate-a-host.md");
    let table = text.split_once("| Metric (`pi_rpc_…`)").expect("the table").1;
    let table = table.split_once("\n\n").expect("its end").0;
    let cells = table.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" |"));
    let name = Regex::new(r"`(\w+)(?:\{\w+\})?`").unwrap();
    let names = cells
        .flat_map(|(cell, _)| name.captures_iter(cell).map(|found| found[1].to_owned()).collect::<Vec<_>>());
    names.map(|name| format!("pi_rpc_{name}")).collect()
}

/// The metrics that a file asks for; a histogram by its name alone.
fn asked(file: &str) -> BTreeSet<String> {
    let metric = Regex::new(r"\bpi_rpc_\w+").unwrap();
    metric.find_iter(&page(file)).map(|found| found.as_str().trim_end_matches("_bucket").to_owned()).collect()
}

#[test]
fn alerts_ask_for_documented_metrics() {
    let asked = asked("contrib/prometheus/alerts.yml");
    assert_eq!(asked.difference(&documented()).collect::<Vec<_>>(), Vec::<&String>::new());
    assert!(asked.contains("pi_rpc_refusals_total"), "{asked:?}");
}

#[test]
fn board_shows_every_documented_metric() {
    let mut documented = documented();
    // Files on the disk of one machine, for who looks for them there.
    documented.remove("pi_rpc_owned_files");
    documented.remove("pi_rpc_strangers_closed_total");
    assert_eq!(asked("contrib/grafana/pi-rpc.json"), documented);
}
