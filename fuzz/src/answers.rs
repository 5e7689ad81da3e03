//! Streams of providers, for every API: for any bytes and any cuts, the events of the answer are legal
//! and the same, and there is an end.

use crate::{cuts, legal};
use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _, stream};
use pi_rpc::model::{api::Api, body::events, types::StreamEvent};

/// The first byte selects the API; pieces follow.
pub fn check(data: &[u8]) {
    let Some((api, data)) = data.split_first() else { return };
    let api = Api::ALL[usize::from(*api) % Api::ALL.len()];
    let (pieces, whole) = cuts::taken(data);
    let said = read(api, &[whole]);
    legal::parts(said.iter());
    assert!(said.last().is_some_and(is_end), "the answer ends: {said:?}");
    assert_eq!(read(api, &pieces), said, "in pieces");
}

fn is_end(event: &StreamEvent) -> bool {
    matches!(event, StreamEvent::Finish(_) | StreamEvent::Fail { .. })
}

/// Reads pieces as [`pi_rpc::model::http`] does.
fn read(api: Api, pieces: &[&[u8]]) -> Vec<StreamEvent> {
    let pieces: Vec<_> = pieces.iter().map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
    let all = events(stream::iter(pieces)).collect::<Vec<_>>();
    let all = all.now_or_never().expect("everything is there");
    let mut reader = api.reader();
    let mut said = Vec::new();
    for event in all {
        match event {
            Ok(event) => said.extend(reader.event(&event.name, &event.data)),
            Err(message) => said.push(StreamEvent::Fail { message, retry_after: None }),
        }
        if said.last().is_some_and(is_end) {
            return said;
        }
    }
    said.extend(reader.end());
    said
}
