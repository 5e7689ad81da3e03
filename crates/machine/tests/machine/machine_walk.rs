//! The machine agrees with the tables of the schema, for every state and every kind of frame.

use crate::machine_support::snapshot;
use pi_rpc_machine::{Cell, Kind, Step, superstates, walk};
use pi_rpc_protocol::{
    AgentMessageKind, Base, Case, Dialect, DialectRunEnd, Disposition, FlowState, RpcCommandKind,
    StreamingBehavior,
};
use std::{collections::BTreeSet, fmt::Write as _};

fn bases() -> BTreeSet<Base> {
    Dialect::ALL.into_iter().map(Dialect::base).collect()
}

/// State that `kind` leads to from `from` by the table; `None`: it is illegal there.
fn table(base: Base, kind: Kind, from: FlowState) -> BTreeSet<FlowState> {
    kind.fires(base).filter(|row| row.states.contains(&from)).map(|row| row.to.unwrap_or(from)).collect()
}

fn is_inbound(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Command(_)
            | Kind::DialogResponse
            | Kind::HostToolUpdate
            | Kind::HostToolResult
            | Kind::HostUriResult
            | Kind::EndOfInput
            | Kind::Exit
            | Kind::Stray
    )
}

/// Whether a kind is an unannounced step, which the tables of the schema do not have.
fn is_unannounced(kind: Kind) -> bool {
    matches!(kind, Kind::Unannounced(_))
}

fn show(cell: &Cell) -> String {
    format!("{} in {}", cell.kind, cell.from)
}

/// Every state of every dialect with every kind.
fn cells() -> impl Iterator<Item = (Base, Cell)> {
    bases().into_iter().flat_map(|base| walk(base).into_iter().map(move |cell| (base, cell)))
}

/// States of `base`.
fn states(base: Base) -> BTreeSet<FlowState> {
    FlowState::ALL.into_iter().filter(|state| state.is_in(base)).collect()
}

#[test]
fn legal_frames_reach_exactly_dialect_states() {
    for base in bases() {
        let reached: BTreeSet<FlowState> = walk(base).iter().map(|cell| cell.from).collect();
        assert_eq!(reached, states(base), "{base:?}");
    }
}

#[test]
fn walk_has_each_kind_per_state() {
    let kinds: BTreeSet<Kind> = Kind::all().into_iter().collect();
    assert_eq!(kinds.len(), Kind::all().len());
    for base in bases() {
        let cells = walk(base);
        let once: BTreeSet<(FlowState, Kind)> = cells.iter().map(|cell| (cell.from, cell.kind)).collect();
        assert_eq!((cells.len(), once.len()), (kinds.len() * states(base).len(), cells.len()), "{base:?}");
    }
}

#[test]
fn inbound_frames_never_move_the_flow() {
    for (_, cell) in cells().filter(|(_, cell)| is_inbound(cell.kind)) {
        assert!(!cell.illegal && !cell.cut && cell.to == cell.from, "{}", show(&cell));
    }
}

#[test]
fn events_match_the_fires_table() {
    for (base, cell) in cells() {
        let has_row =
            !is_inbound(cell.kind) && !is_unannounced(cell.kind) && !matches!(cell.kind, Kind::Response(..));
        if !has_row || !cell.kind.is_in(base) {
            continue;
        }
        let leads = table(base, cell.kind, cell.from);
        assert_eq!(
            !cell.illegal,
            !leads.is_empty(),
            "{base:?}: {}: legal in crates/machine/src/flow.rs (left), and by its x-fires-in in the schema (right)",
            show(&cell)
        );
        assert!(!cell.cut, "{}", show(&cell));
        if !cell.illegal {
            assert_eq!(BTreeSet::from([cell.to]), leads, "{}", show(&cell));
        }
    }
}

#[test]
fn unannounced_steps_lead_where_listed() {
    use FlowState::{
        Compacting, CompactingBeforePrompt, CompactingManual, Idle, Settling, Starting, StreamingBetween,
    };
    use Step::{CompactionBegins, CompactionEnds, PromptBegins, PromptEnds, PromptWaits, RunEnds};
    let listed = [
        (Idle, PromptBegins, Starting),
        (Idle, CompactionBegins, CompactingManual),
        (Starting, PromptBegins, Starting),
        (Starting, PromptEnds, Idle),
        (Starting, CompactionBegins, CompactingManual),
        (Settling, PromptBegins, Starting),
        (Compacting, PromptWaits, CompactingBeforePrompt),
        (CompactingManual, PromptWaits, CompactingBeforePrompt),
        (CompactingManual, CompactionEnds, Idle),
        (CompactingBeforePrompt, CompactionEnds, Idle),
    ];
    for base in bases() {
        let walked = walk(base).into_iter().filter_map(|cell| match cell.kind {
            Kind::Unannounced(step) if !cell.illegal => Some((cell.from, step, cell.to)),
            _ => None,
        });
        let chained = [(StreamingBetween, RunEnds, Settling), (Settling, PromptEnds, Idle)];
        let chained = chained.into_iter().filter(|_| base.record().run_end == DialectRunEnd::Chain);
        let expected = listed.into_iter().chain(chained).filter(|(from, ..)| from.is_in(base));
        assert_eq!(walked.collect::<BTreeSet<_>>(), expected.collect(), "{base:?}");
    }
}

/// Roles of messages that no event reports.
fn is_never_said(kind: Kind) -> bool {
    use AgentMessageKind as Role;
    let silent = [
        Role::BashExecution,
        Role::PythonExecution,
        Role::HookMessage,
        Role::BranchSummary,
        Role::CompactionSummary,
    ];
    matches!(kind, Kind::MessageStart(role) | Kind::MessageEnd(role) if silent.contains(&role))
}

#[test]
fn every_kind_of_event_has_a_place() {
    let has_rows = |kind: &Kind| bases().into_iter().any(|base| kind.fires(base).next().is_some());
    for kind in Kind::all() {
        let expected = !is_inbound(kind)
            && !is_unannounced(kind)
            && !matches!(kind, Kind::Response(..))
            && !is_never_said(kind);
        assert_eq!(has_rows(&kind), expected, "{kind}");
    }
}

#[test]
fn responses_lead_where_schema_says() {
    for (_, cell) in cells() {
        let Kind::Response(command, success) = cell.kind else { continue };
        let cuts = success && command.is_some_and(RpcCommandKind::cuts) && cell.from.parent() == "streaming";
        let led = command.and_then(|command| match success {
            true => command.leads_to(cell.from),
            false => command.fails_to(cell.from),
        });
        let expected = led.unwrap_or(if cuts { FlowState::Idle } else { cell.from });
        assert_eq!((cell.illegal, cell.cut, cell.to), (false, cuts, expected), "{}", show(&cell));
    }
}

#[test]
fn misplaced_frame_leads_on_or_nowhere() {
    for (base, cell) in
        cells().filter(|(base, cell)| cell.illegal && cell.to != cell.from && cell.kind.is_in(*base))
    {
        let after: BTreeSet<FlowState> =
            FlowState::ALL.into_iter().flat_map(|from| table(base, cell.kind, from)).collect();
        assert!(after.contains(&cell.to), "{} goes on in {}, not in {after:?}", show(&cell), cell.to);
    }
}

#[test]
fn superstates_match_the_schema() {
    for state in FlowState::ALL {
        let mut expected = vec![state.parent(), "session"];
        expected.retain(|name| !name.is_empty());
        assert_eq!(superstates(state), expected, "around {state}");
    }
}

/// Every value that the field may have, and its absence.
fn values(field: &str) -> Vec<Option<&'static str>> {
    assert_eq!(field, "streamingBehavior", "a field that no value is known of");
    StreamingBehavior::ALL.into_iter().map(|value| Some(value.as_str())).chain([None]).collect()
}

/// The fields that a command's disposition depends on.
fn fields(command: RpcCommandKind) -> BTreeSet<&'static str> {
    let cases = FlowState::ALL.into_iter().flat_map(|state| command.cases(state));
    cases.filter_map(|case| Some(case.when?.0)).collect()
}

#[test]
fn every_command_has_disposition_everywhere() {
    for dialect in Dialect::ALL {
        let commands = RpcCommandKind::ALL.into_iter().filter(|command| command.is_in(dialect.base()));
        for (command, state) in commands.flat_map(|command| FlowState::ALL.map(|state| (command, state))) {
            let fields = fields(command);
            assert!(fields.len() < 2, "{command}: combinations of {fields:?}");
            let choices = fields.first().map_or(vec![None], |field| values(field));
            for choice in choices {
                let case = Case::first(command.cases(state), dialect.base(), |_| choice);
                let case = case.unwrap_or_else(|| panic!("{dialect}: {command} {choice:?} in {state}"));
                let refused = case.disposition == Disposition::Reject;
                assert_eq!(refused, case.error.is_some(), "{dialect}: {command} {choice:?} in {state}");
            }
        }
    }
}

#[test]
fn dispositions_match_the_published_ones() {
    let mut out = String::new();
    for base in bases() {
        let _ = writeln!(out, "in {}\n{}\n", base.as_str(), dispositions(base));
    }
    snapshot("machine_dispositions", out.trim_end());
}

/// Table with a row for each command and a column for each group of states that never differ.
fn dispositions(base: Base) -> String {
    let commands: Vec<RpcCommandKind> =
        RpcCommandKind::ALL.into_iter().filter(|command| command.is_in(base)).collect();
    let column = |state: FlowState| commands.iter().map(|c| cell(*c, state, base)).collect::<Vec<_>>();
    let mut columns: Vec<(String, Vec<String>)> = Vec::new();
    for state in FlowState::ALL.into_iter().filter(|state| state.is_in(base)) {
        let (name, column) = (state.as_str(), column(state));
        let group = if state.parent().is_empty() { name } else { state.parent() };
        match columns.iter().find(|(known, _)| known == group) {
            Some((_, known)) => assert_eq!(*known, column, "{name} differs within {group}: give it a column"),
            None => columns.push((group.to_owned(), column)),
        }
    }
    let names = ["command".to_owned()].into_iter().chain(commands.iter().map(ToString::to_string));
    let mut table: Vec<Vec<String>> = vec![names.collect()];
    table.extend(columns.into_iter().map(|(name, column)| [name].into_iter().chain(column).collect()));
    let widths: Vec<usize> =
        table.iter().map(|column| column.iter().map(String::len).max().unwrap_or(0)).collect();
    let mut out = String::new();
    for row in 0..table[0].len() {
        let cells = table.iter().zip(&widths).map(|(column, width)| format!("{:width$}", column[row]));
        let _ = writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
    out
}

/// Disposition; if it depends on a member, one for each value of that member.
fn cell(command: RpcCommandKind, state: FlowState, base: Base) -> String {
    let of = |choice| match Case::first(command.cases(state), base, |_| choice) {
        None => "nothing".to_owned(),
        Some(Case { disposition, error: None, .. }) => disposition.as_str().to_owned(),
        Some(Case { disposition, error: Some(error), .. }) => format!("{}({error:?})", disposition.as_str()),
    };
    let mut parts: Vec<(String, Vec<&str>)> = Vec::new();
    for choice in fields(command).first().map_or(vec![None], |field| values(field)) {
        let name = choice.unwrap_or("none");
        match parts.iter_mut().find(|(known, _)| *known == of(choice)) {
            Some((_, names)) => names.push(name),
            None => parts.push((of(choice), vec![name])),
        }
    }
    match &parts[..] {
        [(only, _)] => only.clone(),
        several => {
            let parts = several.iter().map(|(what, names)| format!("{}: {what}", names.join("|")));
            parts.collect::<Vec<_>>().join(", ")
        }
    }
}
