//! The socket by which the page follows the recording: what has happened, summed up, as often as the page takes it in.

use crate::{
    app::App,
    item_page::item_views,
    rows::{dialogs_at, finding_view, rows, state_view, transition},
    wire::{Dialog, FromPage, FromServer, Item, Session, StateView, Update},
};
use axum::extract::ws::{Message, WebSocket};
use std::{sync::Arc, time::Duration};
use tokio::time::sleep;

/// The least time between two updates.
const INTERVAL: Duration = Duration::from_millis(100);
/// The most rows of an update, and the most bytes of their texts.
const MAX_ROWS: u32 = 200;
const MAX_ROW_BYTES: usize = 256 * 1024;
/// The most items and findings of an update.
const MAX_ITEMS: usize = 20;
const MAX_FINDINGS: u32 = 50;
/// Items that are looked at for changes, the latest.
const SEARCHED_ITEMS: usize = 2000;

/// What the page knows.
#[derive(Default)]
struct Seen {
    generation: u64,
    records: u32,
    findings: u32,
    state: Option<StateView>,
    dialogs: Vec<Dialog>,
    session: Option<Session>,
}

/// Serves a page until it is gone.
pub async fn serve(app: Arc<App>, mut socket: WebSocket) {
    let mut changes = app.inspection.changes();
    let mut sources = app.source_changes();
    let mut seen = Seen { generation: app.inspection.state().generation, ..Seen::default() };
    let mut is_waiting = false;
    let mut has_changed = true;
    loop {
        if !is_waiting && has_changed {
            has_changed = false;
            for message in messages(&app, &mut seen).await {
                is_waiting |= matches!(message, FromServer::Update(_));
                let Ok(text) = serde_json::to_string(&message) else { return };
                if socket.send(Message::Text(text.into())).await.is_err() {
                    return;
                }
            }
            sleep(INTERVAL).await;
        }
        tokio::select! {
            changed = changes.changed() => {
                if changed.is_err() {
                    return;
                }
                has_changed = true;
            }
            changed = sources.changed() => {
                if changed.is_err() {
                    return;
                }
                has_changed = true;
                let scripts = FromServer::Scripts { scripts: app.scripts() };
                let Ok(text) = serde_json::to_string(&scripts) else { return };
                if socket.send(Message::Text(text.into())).await.is_err() {
                    return;
                }
            }
            message = socket.recv() => match message {
                Some(Ok(Message::Text(text))) => {
                    if let Ok(FromPage::Ack) = serde_json::from_str(&text) {
                        is_waiting = false;
                    }
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Binary(_))) => {}
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
            },
        }
    }
}

/// What the page has to know, in order.
async fn messages(app: &Arc<App>, seen: &mut Seen) -> Vec<FromServer> {
    let mut messages = Vec::new();
    let generation = app.inspection.state().generation;
    if generation != seen.generation {
        *seen = Seen { generation, ..Seen::default() };
        messages.push(FromServer::Reset);
    }
    let session = app.session();
    if seen.session.as_ref().is_none_or(|known| differs(known, &session)) {
        seen.session = Some(session.clone());
        messages.push(FromServer::Session { session: Box::new(session) });
    }
    let own = std::mem::take(seen);
    let app = app.clone();
    let made = tokio::task::spawn_blocking(move || {
        let mut own = own;
        let update = update(&app, &mut own);
        (own, update)
    });
    if let Ok((own, update)) = made.await {
        *seen = own;
        messages.push(FromServer::Update(Box::new(update)));
    }
    messages
}

/// Whether anything but the sums differs.
fn differs(known: &Session, session: &Session) -> bool {
    let facts =
        |it: &Session| (it.source.clone(), it.live, it.sends_not.clone(), it.dialect.clone(), it.dialect_by);
    facts(known) != facts(session)
}

fn update(app: &App, seen: &mut Seen) -> Update {
    let dispositions = app.dispositions();
    let inspection = &app.inspection;
    let reading = inspection.reading();
    let mut update = {
        let state = inspection.state();
        let index = &state.index;
        let (records, findings) = (index.len(), index.findings().len() as u32);
        let new = findings.saturating_sub(seen.findings).min(MAX_FINDINGS);
        let new = (findings - new..findings).filter_map(|number| finding_view(&state, number));
        Update {
            totals: *index.totals(),
            state: state_view(index.state_at(records)),
            rows: Vec::new(),
            missed: 0,
            transition: transition(&state, records).filter(|transition| transition.record > seen.records),
            items: Vec::new(),
            findings: new.collect(),
            dialogs: None,
            commands: None,
            figures: index.figures().figures_at(records),
            deltas_per_second: index.figures().deltas().now,
            reading,
        }
    };
    let records = update.totals.records;
    let first = seen.records.max(records.saturating_sub(MAX_ROWS)) + 1;
    let numbers: Vec<u32> = (first..=records).collect();
    update.rows = rows(inspection, &numbers, false);
    let mut bytes = 0;
    let kept = update.rows.iter().rev().take_while(|row| {
        bytes += row.text.len();
        bytes <= MAX_ROW_BYTES
    });
    let left_out = update.rows.len() - kept.count();
    update.rows.drain(..left_out);
    update.missed = (records.saturating_sub(seen.records)).saturating_sub(update.rows.len() as u32);
    update.items = changed_items(app, seen.records, records);
    let dialogs = dialogs_at(inspection, records, &dispositions);
    if seen.state.is_none() || dialogs != seen.dialogs {
        update.dialogs = Some(dialogs.clone());
        seen.dialogs = dialogs;
    }
    let is_other =
        |known: &StateView| (&known.flow, known.closing) != (&update.state.flow, update.state.closing);
    if seen.state.as_ref().is_none_or(is_other) {
        let state = inspection.state().index.state_at(records);
        update.commands = Some(dispositions.commands(state));
    }
    seen.state = Some(update.state.clone());
    seen.records = records;
    seen.findings = update.totals.findings;
    update
}

/// Items that are new or have changed since a record.
fn changed_items(app: &App, since: u32, records: u32) -> Vec<Item> {
    let changed: Vec<_> = {
        let state = app.inspection.state();
        let items = state.index.items().items();
        let latest = items.iter().enumerate().rev().take(SEARCHED_ITEMS);
        let changed = latest.filter(|(_, facts)| facts.last > since);
        changed.take(MAX_ITEMS).map(|(number, facts)| (number as u32, *facts)).collect()
    };
    let chosen: Vec<_> = changed.into_iter().rev().collect();
    item_views(&app.inspection, &chosen, records)
}
