//! What was tried with providers and APIs, from the snapshots that the tests hold themselves to: nothing stands here that was not
//! run.

use crate::documents_support::ROOT;
use pi_rpc::model::api::Api;
use std::{collections::BTreeMap, fs, path::Path};

/// The table of providers with a column of the models whose requests were compared with pi's.
pub fn with_compared_models(table: &str) -> String {
    let mut compared: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for api in Api::ALL {
        let text = snapshot(&format!("provider_requests_{}", api.as_str())).unwrap_or_default();
        for line in text.lines().filter(|line| !line.starts_with(' ')) {
            let Some((model, verdict)) = line.rsplit_once(": ") else { continue };
            let Some((provider, id)) = model.split_once(' ') else { continue };
            let note = if verdict == "equal" { "" } else { " (differs)" };
            compared.entry(provider.to_owned()).or_default().push(format!("`{id}`{note}"));
        }
    }
    let rows = table.lines().enumerate().map(|(at, row)| match (at, row.split('`').nth(1)) {
        (0, _) => format!("{row} Requests compared with pi 1.6.0 |\n"),
        (1, _) => format!("{row} --- |\n"),
        (_, provider) => {
            let models = provider.and_then(|provider| compared.get(provider));
            format!("{row} {} |\n", models.map_or_else(String::new, |models| models.join(", ")))
        }
    });
    rows.collect()
}

/// The table of what was tried with each API.
pub fn apis() -> String {
    let mut table = "| API | Requests of a conversation, as pi 1.6.0 | Frames, as pi 1.5.2 | Refusals, treated as by pi 1.5.2 | \
                     Answers cut at each byte | Vendor's clients that drive the mock |\n\
                     | --- | --- | --- | --- | --- | --- |\n"
        .to_owned();
    let count = |text: Option<String>| {
        text.and_then(|text| text.split(' ').next().map(str::to_owned)).unwrap_or_default()
    };
    for api in Api::ALL {
        let api = api.as_str();
        let requests = count(snapshot(&format!("conversation_requests_{api}")));
        let frames = count(snapshot(&format!("frames_of_apis_{api}")));
        let of_api = |text: String| text.lines().filter(|line| line.starts_with(&format!("{api}: "))).count();
        let refusals = snapshot("failure_classes").map_or(0, of_api);
        let is_cut = ["faults_of_apis", "faults_of_frames"].into_iter().filter_map(snapshot);
        let is_cut = is_cut.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>());
        let cut = if is_cut.into_iter().any(|line| line == api) { "yes" } else { "" };
        let refusals = if refusals == 0 { String::new() } else { refusals.to_string() };
        table += &format!("| `{api}` | {requests} | {frames} | {refusals} | {cut} | {} |\n", clients(api));
    }
    table
}

/// The clients that have driven the mock at an API.
fn clients(api: &str) -> String {
    let folder = Path::new(ROOT).join("snapshots");
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.starts_with("vendor_clients_")).collect();
    names.sort();
    let texts = names.iter().filter_map(|name| snapshot(name.trim_end_matches(".snap")));
    let mut clients = Vec::new();
    for text in texts {
        let of_api = text.lines().filter_map(|line| line.strip_prefix(&format!("{api}: ")));
        clients.extend(of_api.map(str::to_owned));
    }
    clients.join(", ")
}

/// The text of a snapshot; `None`: there is none.
fn snapshot(name: &str) -> Option<String> {
    let text = fs::read_to_string(Path::new(ROOT).join(format!("snapshots/{name}.snap"))).ok()?;
    text.splitn(3, "---\n").nth(2).map(str::to_owned)
}
