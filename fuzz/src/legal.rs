//! Order of the events of a model answer: blocks one after another, each with one start and one end, and nothing after
//! the end.

use pi_rpc::model::types::{BlockStart, StreamEvent};

/// Checks the order of the events of one answer, which may lack its end.
pub fn parts<'e>(events: impl Iterator<Item = &'e StreamEvent>) {
    let mut begun = 0;
    let mut open: Option<bool> = None;
    let mut over = false;
    for event in events {
        assert!(!over, "behind the end: {event:?}");
        match event {
            StreamEvent::Start { index, block } => {
                assert_eq!((*index, open), (begun, None), "blocks begin one after another");
                begun += 1;
                open = Some(matches!(block, BlockStart::Redacted { .. }));
            }
            StreamEvent::Delta { index, .. } => {
                assert_eq!((index + 1, open), (begun, Some(false)), "an open block that can grow grows");
            }
            StreamEvent::Unclosed { index } => {
                assert_eq!((index + 1, open), (begun, Some(false)), "an open call is not ended");
            }
            StreamEvent::End { index, .. } => {
                assert_eq!(index + 1, begun, "the open block ends");
                assert!(open.take().is_some(), "a block ends once");
            }
            StreamEvent::Signature { index, .. } => {
                assert!(*index < begun, "a block is signed that has begun")
            }
            StreamEvent::Finish(_) => {
                assert_eq!(open, None, "every block has ended");
                over = true;
            }
            StreamEvent::Fail { .. } => over = true,
            StreamEvent::ResponseId(_)
            | StreamEvent::Model(_)
            | StreamEvent::Effort(_)
            | StreamEvent::Usage(_)
            | StreamEvent::Diagnostic(_)
            | StreamEvent::ProviderReason(_) => {}
        }
    }
}
