//! The chart as tables: what becomes of a command in each state, and what leads from one state to another.

use super::{bases, code, codes, table};
use pi_rpc_export::{self as export, Outcome};

/// What becomes of each command, one table a base dialect; states in which a command fares alike stand together.
pub(super) fn commands() -> String {
    let tables = bases().map(|base| {
        let meta = export::meta(base);
        let rows: Vec<[String; 2]> = meta
            .commands
            .iter()
            .map(|command| {
                let mut fates: Vec<(Vec<&str>, String)> = Vec::new();
                for (state, outcomes) in &command.states {
                    // In all of a superstate the same holds.
                    let state = state.as_str().split('.').next().unwrap_or_default();
                    let fate = outcomes.iter().map(outcome).collect::<Vec<_>>().join(", else ");
                    match fates.iter_mut().find(|(_, known)| *known == fate) {
                        Some((states, _)) if states.contains(&state) => {}
                        Some((states, _)) => states.push(state),
                        None => fates.push((vec![state], fate)),
                    }
                }
                let fates = match &fates[..] {
                    [(_, everywhere)] => format!("everywhere: {everywhere}"),
                    _ => fates
                        .iter()
                        .map(|(states, fate)| format!("{}: {fate}", codes(states)))
                        .collect::<Vec<_>>()
                        .join("; "),
                };
                [code(&command.r#type), fates]
            })
            .collect();
        format!("### In {base}\n\n{}", table(["Command", "What becomes of it"], rows))
    });
    tables.collect::<Vec<_>>().join("\n")
}

fn outcome(outcome: &Outcome) -> String {
    let error = outcome.error.map(|error| format!(" ({error})")).unwrap_or_default();
    let when = outcome.when.as_ref().map(|when| format!(" if `{}` is {}", when.field, codes(&when.is)));
    format!("{}{error}{}", outcome.disposition, when.unwrap_or_default())
}

/// Every transition of the chart, one table a base dialect.
pub(super) fn transitions() -> String {
    let tables = bases().map(|base| {
        let meta = export::meta(base);
        let rows: Vec<[String; 4]> = meta
            .chart
            .regions
            .iter()
            .flat_map(|region| {
                region.transitions.iter().map(|step| {
                    let cut = if step.cut { "cut by " } else { "" };
                    [region.name.clone(), code(&step.from), code(&step.to), format!("{cut}{}", step.label)]
                })
            })
            .collect();
        format!("### In {base}\n\n{}", table(["Region", "From", "To", "On"], rows))
    });
    tables.collect::<Vec<_>>().join("\n")
}
