//! The chart as SCXML, the W3C's language for state machines.

use super::model::{ChartState, regions};
use pi_rpc_protocol::Dialect;
use std::fmt::Write as _;

/// The chart of `dialect` as an SCXML document without data, scripts and conditions. Events are named as
/// [`event_name`](super::event_name) makes them. A transition without a target accepts frames that are legal and change nothing;
/// what no transition names is illegal in the state, and leads nowhere.
///
/// ```
/// use pi_rpc_export::scxml;
/// use pi_rpc_protocol::Dialect;
///
/// assert!(scxml(Dialect::Pi).contains(r#"<transition event="agent_start" target="flow.streaming.between"/>"#));
/// ```
pub fn scxml(dialect: Dialect) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let record = dialect.record();
    let _ = writeln!(
        out,
        "<!-- The state of a conversation in {}, version {} of the dialect. -->",
        escape(record.title),
        record.version
    );
    // A name is an NMTOKEN, which has no `@`.
    let name = dialect.as_str().replace('@', "-");
    let _ = writeln!(
        out,
        "<scxml xmlns=\"http://www.w3.org/2005/07/scxml\" version=\"1.0\" name=\"{name}\" datamodel=\"null\" initial=\"session\">"
    );
    out.push_str("  <parallel id=\"session\">\n");
    for region in regions(dialect.base()) {
        let _ = writeln!(out, "    <!-- {} -->", escape(&region.description));
        let _ = writeln!(out, "    <state id=\"{}\" initial=\"{}\">", region.name, region.initial);
        region.states.iter().for_each(|state| write_state(state, "      ", &mut out));
        out.push_str("    </state>\n");
    }
    out.push_str("  </parallel>\n</scxml>\n");
    out
}

fn write_state(state: &ChartState, indent: &str, out: &mut String) {
    let initial = match state.initial.as_str() {
        "" => String::new(),
        initial => format!(" initial=\"{initial}\""),
    };
    let _ = writeln!(out, "{indent}<!-- {} -->", escape(&state.description));
    let _ = writeln!(out, "{indent}<state id=\"{}\"{initial}>", state.id);
    let deeper = format!("{indent}  ");
    for (to, events) in by_target(state) {
        let target = if to == state.id { String::new() } else { format!(" target=\"{to}\"") };
        let _ = writeln!(out, "{deeper}<transition event=\"{}\"{target}/>", events.join(" "));
    }
    state.inner.iter().for_each(|state| write_state(state, &deeper, out));
    let _ = writeln!(out, "{indent}</state>");
}

/// The events by the state that follows, what stays last.
fn by_target(state: &ChartState) -> Vec<(&str, Vec<&str>)> {
    let mut targets: Vec<(&str, Vec<&str>)> = Vec::new();
    for (event, to) in &state.accepts {
        match targets.iter_mut().find(|(target, _)| target == to) {
            Some((_, events)) => events.push(event),
            None => targets.push((to, vec![event])),
        }
    }
    targets.sort_by_key(|(to, _)| *to == state.id);
    targets
}

/// Text of a comment: two hyphens would end it.
fn escape(text: &str) -> String {
    text.replace("--", "- -")
}
