//! Who owns a session: which sessions a node takes, and what it finds undone by the owner before.

use super::membership::{Members, NodeInfo};
use crate::session_record::{OutstandingCommand, SessionRecord};
use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    time::Duration,
};

/// How long a session that could not be taken is left alone: at first, and after many attempts.
const FAILED_DELAYS: [Duration; 2] = [Duration::from_secs(30), Duration::from_secs(600)];

/// Whether nobody runs a session that is to run. `is_here`: this node, `own`, runs it or is taking it. A session that was taken and
/// could not be opened then names this node, which does not run it.
pub fn is_orphan(record: &SessionRecord, own: &str, is_here: bool, members: &Members, now: Duration) -> bool {
    let is_held = |owner: &String| if owner == own { is_here } else { members.is_alive(owner, now) };
    !record.is_closed && !record.owner.as_ref().is_some_and(is_held)
}

/// How many nodes are asked to take a session before `own`; `None`: it may not.
pub fn turn(session: &str, record: &SessionRecord, own: &str, nodes: &[(String, NodeInfo)]) -> Option<u32> {
    let fits = |info: &NodeInfo| {
        record.runs_anywhere || record.label.as_ref().is_none_or(|label| info.labels.contains(label))
    };
    let mut order: Vec<(u64, &String)> = nodes
        .iter()
        .filter(|(_, info)| fits(info))
        .map(|(id, _)| {
            let mut hasher = DefaultHasher::new();
            (session, id).hash(&mut hasher);
            (hasher.finish(), id)
        })
        .collect();
    order.sort_unstable();
    let place = order.iter().position(|(_, id)| *id == own)?;
    u32::try_from(place).ok()
}

/// How long a session is left alone that could not be taken so many times in a row.
pub fn failed_delay(times: u32) -> Duration {
    let [first, longest] = FAILED_DELAYS;
    first.saturating_mul(1 << times.saturating_sub(1).min(10)).min(longest)
}

/// What a node that takes a session has to make good.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inheritance {
    /// Whether what the owner before had accepted and not stored is gone: a run, or messages that waited.
    pub is_cut: bool,
    /// Numbers of frames to leave out, so that every client gets a snapshot, those that come later, too.
    pub missing_frames: u64,
}

/// Changes the record to that of its next owner, which is written behind the last one that was read. Returns what to make good.
pub fn take_over(record: &mut SessionRecord, node: &str) -> Inheritance {
    let is_lost = record.owner.replace(node.to_owned()).is_some();
    record.epoch += 1;
    let is_cut = record.is_running || is_lost && !record.taken.outstanding.is_empty();
    Inheritance { is_cut, missing_frames: u64::from(is_lost || is_cut) }
}

/// Whether an owner may write behind the last message of a subject, by the number of the owner that has written that one.
pub const fn may_follow(last_epoch: u64, epoch: u64) -> bool {
    last_epoch < epoch
}

/// The commands without those that were answered; each answer counts for one command.
pub fn unanswered(
    mut commands: Vec<OutstandingCommand>,
    answered: &[OutstandingCommand],
) -> Vec<OutstandingCommand> {
    for answer in answered {
        if let Some(at) = commands.iter().position(|command| command == answer) {
            commands.remove(at);
        }
    }
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_of_live_node_is_no_orphan() {
        let mut members = Members::new(Duration::ZERO);
        members.note("a".to_owned(), NodeInfo::default(), false, Duration::ZERO);
        let record = |owner: Option<&str>| SessionRecord {
            owner: owner.map(str::to_owned),
            ..SessionRecord::default()
        };
        let is_orphan = |owner, is_here, seconds| {
            is_orphan(&record(owner), "b", is_here, &members, Duration::from_secs(seconds))
        };
        assert!(is_orphan(None, false, 1));
        assert!(!is_orphan(Some("a"), false, 1));
        assert!(is_orphan(Some("a"), false, 9));
        assert!(!is_orphan(Some("b"), true, 9));
        assert!(is_orphan(Some("b"), false, 1));
    }

    #[test]
    fn each_node_has_its_own_turn() {
        let nodes: Vec<_> = ["a", "b", "c"].map(|id| (id.to_owned(), NodeInfo::default())).into();
        let record = SessionRecord::default();
        let mut turns: Vec<_> = nodes.iter().map(|(id, _)| turn("s", &record, id, &nodes)).collect();
        turns.sort_unstable();
        assert_eq!(turns, [Some(0), Some(1), Some(2)]);
        let labelled = SessionRecord { label: Some("gpu".to_owned()), ..record };
        assert_eq!(turn("s", &labelled, "a", &nodes), None);
    }

    #[test]
    fn lost_owner_leaves_a_gap() {
        let mut record = SessionRecord::default();
        let inherited = |is_cut, missing_frames| Inheritance { is_cut, missing_frames };
        assert_eq!(take_over(&mut record, "a"), inherited(false, 0));
        assert_eq!(take_over(&mut record, "b"), inherited(false, 1));
        record.is_running = true;
        assert_eq!(take_over(&mut record, "c"), inherited(true, 1));
        assert_eq!((record.owner.as_deref(), record.epoch), (Some("c"), 3));
    }

    #[test]
    fn failed_sessions_are_tried_ever_more_rarely() {
        assert_eq!([1, 2, 5, 6, 99].map(|times| failed_delay(times).as_secs()), [30, 60, 480, 600, 600]);
    }
}
