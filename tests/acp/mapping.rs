//! The mapping names every frame of the schema.

use pi_rpc::{
    acp::{MAPPING, Mapping},
    protocol::{
        AgentMessageKind, AgentSessionEventKind, AssistantMessageEventKind, ErrorText, RpcCommandKind,
        RpcExtensionUIRequestKind, StopReason, ThinkingLevel,
    },
};
use std::collections::BTreeSet;

fn mapping() -> Mapping {
    serde_json::from_str(MAPPING).unwrap()
}

#[test]
fn mapping_names_every_frame() {
    let mapping = mapping();
    let named = |table: &str| mapping.agent[table].keys().map(String::as_str).collect::<BTreeSet<_>>();
    assert_eq!(named("commands"), RpcCommandKind::ALL.iter().map(|it| it.as_str()).collect());
    assert_eq!(named("events"), AgentSessionEventKind::ALL.iter().map(|it| it.as_str()).collect());
    assert_eq!(named("updates"), AssistantMessageEventKind::ALL.iter().map(|it| it.as_str()).collect());
    assert_eq!(named("roles"), AgentMessageKind::ALL.iter().map(|it| it.as_str()).collect());
    assert_eq!(named("ui"), RpcExtensionUIRequestKind::ALL.iter().map(|it| it.as_str()).collect());
}

#[test]
fn backend_names_real_commands() {
    let known: BTreeSet<&str> = RpcCommandKind::ALL.iter().map(|it| it.as_str()).collect();
    let mapping = mapping();
    let named = mapping.backend["commands"].keys().map(String::as_str).collect::<BTreeSet<_>>();
    assert!(named.is_subset(&known), "{named:?}");
}

#[test]
fn mapping_names_every_value() {
    let mapping = mapping();
    let levels: BTreeSet<&str> = mapping.thinking_levels.keys().map(String::as_str).collect();
    assert_eq!(levels, ThinkingLevel::ALL.iter().map(|it| it.as_str()).collect());
    let reasons: BTreeSet<&str> = mapping.stop_reasons.keys().map(String::as_str).collect();
    assert_eq!(reasons, StopReason::ALL.iter().map(|it| it.as_str()).collect());
    let errors: BTreeSet<&str> = ErrorText::ALL.iter().map(|it| it.as_str()).collect();
    let named: BTreeSet<&str> = mapping.error_stop_reasons.keys().map(String::as_str).collect();
    assert!(named.is_subset(&errors), "{named:?}");
}

#[test]
fn mapping_explains_every_loss() {
    let Mapping { agent, backend, .. } = mapping();
    let unexplained = agent.into_iter().chain(backend).flat_map(|(table, frames)| {
        let frames =
            frames.into_iter().filter(|(_, it)| (it.fate == pi_rpc::acp::Fate::Carried) == it.why.is_some());
        frames.map(move |(name, _)| format!("{table}/{name}")).collect::<Vec<_>>()
    });
    assert_eq!(unexplained.collect::<Vec<_>>(), Vec::<String>::new());
}
