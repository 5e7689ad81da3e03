//! A client that reads slowly holds the updates back.

use futures_util::FutureExt as _;
use pi_rpc::acp::ClientOutput;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    task::unconstrained,
};

const UPDATE: &[u8] = b"{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{}}\n";

#[tokio::test]
async fn updates_wait_for_slow_client() {
    let (ours, mut theirs) = tokio::io::duplex(UPDATE.len());
    let (mut output, pending) = ClientOutput::new(ours);
    for _ in 0..256 {
        unconstrained(pending.queue()).now_or_never().expect("room for an update");
    }
    let mut next = Box::pin(unconstrained(pending.queue()));
    assert!((&mut next).now_or_never().is_none());
    output.write_all(b"{\"id\":1,\"result\":{\"text\":\"session/update\"}}\n").await.unwrap();
    assert!((&mut next).now_or_never().is_none());
    theirs.read_exact(&mut [0; 44]).await.unwrap();
    for piece in UPDATE.chunks(7) {
        output.write_all(piece).await.unwrap();
    }
    assert!(next.now_or_never().is_some());
    assert!(!pending.client_is_gone());
}

#[tokio::test]
async fn updates_wait_for_no_lost_client() {
    let (ours, theirs) = tokio::io::duplex(UPDATE.len());
    let (mut output, pending) = ClientOutput::new(ours);
    for _ in 0..256 {
        unconstrained(pending.queue()).now_or_never().expect("room for an update");
    }
    drop(theirs);
    assert!(output.write_all(UPDATE).await.is_err());
    assert!(unconstrained(pending.queue()).now_or_never().is_some());
    assert!(pending.client_is_gone());
}
