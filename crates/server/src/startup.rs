//! What ends a server that has not begun to serve, as it waits for another program: signals, and the end of its input.

use super::{serve::Signals, stdin::Stdin};
use std::{io, time::Duration};
use tokio::time::timeout;

/// How long the start may go on once the input has ended, if the host has written something before.
const END_OF_INPUT_TIMEOUT: Duration = Duration::from_secs(10);

/// Why a server ends before it serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartEnd {
    /// This signal came.
    Signal(u8),
    /// The host has closed the input without a word.
    Unused,
    /// The host has closed the input, and what it had written before cannot be served in time.
    Late(Duration),
}

/// Runs `start` to its end, unless the server is to end before. Dropping `start` must end what it has started.
///
/// # Errors
///
/// stdin cannot be polled, or there are no signals.
pub async fn start<T>(start: impl Future<Output = T>) -> io::Result<Result<T, StartEnd>> {
    let (stdin, mut signals) = (Stdin::new()?, Signals::listen()?);
    let is_over = async {
        stdin.hung_up().await;
        stdin.has_unread()
    };
    Ok(tokio::select! {
        biased;
        number = signals.next() => Err(StartEnd::Signal(number)),
        started = until_over(start, is_over, END_OF_INPUT_TIMEOUT) => started,
    })
}

/// Runs `start` until some time after `is_over` tells that the input has ended, and whether something of it is unread.
async fn until_over<T>(
    start: impl Future<Output = T>,
    is_over: impl Future<Output = bool>,
    grace: Duration,
) -> Result<T, StartEnd> {
    tokio::pin!(start);
    let has_unread = tokio::select! {
        biased;
        started = &mut start => return Ok(started),
        has_unread = is_over => has_unread,
    };
    match has_unread {
        true => timeout(grace, start).await.map_err(|_| StartEnd::Late(grace)),
        false => Err(StartEnd::Unused),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::{pending, ready};

    #[tokio::test]
    async fn end_of_input_ends_a_start() {
        let soon = Duration::ZERO;
        assert_eq!(until_over(ready(1), ready(false), soon).await, Ok(1));
        assert_eq!(until_over(pending::<u8>(), ready(false), soon).await, Err(StartEnd::Unused));
        assert_eq!(until_over(pending::<u8>(), ready(true), soon).await, Err(StartEnd::Late(soon)));
        assert_eq!(until_over(async { 2 }, pending(), soon).await, Ok(2));
    }
}
