//! stdin: a thread that splits it into lines and hands them to the loop.

use crate::{
    engine::Input,
    protocol::{Dialect, LineSplitter, SplitLine, read_line},
};
use rustix::event::{PollFd, PollFlags, poll};
use std::io::{ErrorKind, Read};
use tokio::sync::mpsc;

/// Lines that wait for the loop, each of any length up to the limit; the thread waits when there are more, and so does
/// the host.
const AHEAD: usize = 2;

const CHUNK: usize = 64 * 1024;

/// Starts reading. The channel closes after [`Input::EndOfInput`].
pub fn start(dialect: Dialect, max_frame: usize) -> std::io::Result<mpsc::Receiver<Input>> {
    let (sender, receiver) = mpsc::channel(AHEAD);
    let stdin = std::io::stdin();
    std::thread::Builder::new().name("stdin".to_owned()).spawn(move || {
        read(stdin.lock(), dialect, max_frame, |input| sender.blocking_send(input).is_ok());
    })?;
    Ok(receiver)
}

/// Reads to the end; `take` says whether anybody still listens.
fn read(mut from: impl Read, dialect: Dialect, max_frame: usize, mut take: impl FnMut(Input) -> bool) {
    let mut splitter = LineSplitter::new(max_frame);
    let mut chunk = vec![0; CHUNK];
    loop {
        let count = match from.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            // A host may have made its end, and so ours, non-blocking.
            Err(error) if error.kind() == ErrorKind::WouldBlock => match wait() {
                Ok(()) => continue,
                Err(error) => return broken(&error, &mut take),
            },
            Err(error) => return broken(&error, &mut take),
        };
        splitter.push(&chunk[..count]);
        while let Some(line) = splitter.next_line() {
            if !offer(line, dialect, max_frame, &mut take) {
                return;
            }
        }
    }
    if let Some(line) = splitter.finish()
        && !offer(line, dialect, max_frame, &mut take)
    {
        return;
    }
    take(Input::EndOfInput);
}

fn wait() -> std::io::Result<()> {
    poll(&mut [PollFd::new(&std::io::stdin(), PollFlags::IN)], None)?;
    Ok(())
}

fn broken(error: &std::io::Error, take: &mut impl FnMut(Input) -> bool) {
    tracing::error!("stdin: {error}");
    take(Input::Shutdown);
}

fn offer(line: SplitLine, dialect: Dialect, max_frame: usize, take: &mut impl FnMut(Input) -> bool) -> bool {
    let read = match line {
        SplitLine::TooLong(length) => return take(Input::too_long(length, max_frame)),
        SplitLine::Line(line) => read_line(line, dialect),
    };
    match read {
        Ok(None) => true,
        Ok(Some(frame)) => take(Input::line(Ok(frame))),
        Err(error) => {
            if !error.is_answered() {
                tracing::warn!("ignored: {error:?}");
            }
            take(Input::line(Err(error)))
        }
    }
}
