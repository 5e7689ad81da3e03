//! Messages on the socket of the page.

use super::{
    CommandState, Dialog, Figures, FindingView, Item, Reading, RecordRow, Scripts, Session, StateView,
    Totals, Transition,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A message to the page.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "type")]
pub enum FromServer {
    /// The first message, and again whenever source, dialect, `sends` or `live` change.
    Session {
        /// What is inspected.
        session: Box<Session>,
    },
    /// The recording goes on. Needs an acknowledgement before the next one.
    Update(Box<Update>),
    /// The recording was judged anew, or is another one: everything is to be read again.
    Reset,
    /// A script goes on or ends.
    Scripts {
        /// The scripts.
        scripts: Scripts,
    },
}

/// What has happened since the last update.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Update {
    /// Totals.
    pub totals: Totals,
    /// State after the last record.
    pub state: StateView,
    /// The newest records, in ascending order.
    pub rows: Vec<RecordRow>,
    /// New records before them that were left out.
    pub missed: u32,
    /// The latest transition, if it is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transition: Option<Transition>,
    /// Items that are new or have changed, at most 20.
    pub items: Vec<Item>,
    /// New findings, at most 50.
    pub findings: Vec<FindingView>,
    /// Open dialogs, if they have changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dialogs: Option<Vec<Dialog>>,
    /// What becomes of each command, if that has changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commands: Option<Vec<CommandState>>,
    /// Figures.
    pub figures: Figures,
    /// Deltas in the last second.
    pub deltas_per_second: f64,
    /// How far a file is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reading: Option<Reading>,
}

/// A message of the page.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "type")]
pub enum FromPage {
    /// The last update was taken in.
    Ack,
}
