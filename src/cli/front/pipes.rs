//! Passes lines between the client and the server: one thread, which never waits for one side while the other has something
//! to read.
//!
//! A side is read only while what was translated from it has been written: a slow reader slows its writer down, as without us.

use super::passthrough::{DialectMatch, Passthrough, Way};
use crate::cli::log::Log;
use pi_rpc_front::{Detection, Front, Output, is_same_wire};
use pi_rpc_protocol::{Dialect, DialectVersion, FRAME_LIMIT, LineSplitter, SplitLine};
use rustix::event::{PollFd, PollFlags, poll};
use std::{
    fs::File,
    io::{self, ErrorKind, PipeReader, Read, Write},
};

/// The pipes of both sides.
pub struct Pipes {
    pub from_client: File,
    pub to_client: File,
    pub from_server: File,
    /// `None`: closed.
    pub to_server: Option<File>,
    /// Is closed when the server has exited.
    pub stopped: PipeReader,
}

/// What becomes of the lines of both sides.
pub enum Translator {
    /// Both speak the same: bytes pass as they are.
    Same,
    /// They are translated.
    Front(Box<Front>),
    /// The server is asked what it speaks; the client speaks this.
    Detecting(Detection, Dialect),
    /// Lines pass as they are until one of the client shows that it speaks something else.
    Passthrough(Box<Passthrough>),
    /// The server is asked what it speaks, since this line of the client shows what the client speaks.
    Asking(Detection, Box<Passthrough>, Vec<u8>),
}

impl Translator {
    /// The translator between two dialects.
    pub fn between(server: DialectVersion, client: Dialect) -> Self {
        match is_same_wire(server.dialect, client) {
            true => Self::Same,
            false => Self::Front(Box::new(Front::new(server, client))),
        }
    }

    /// What is written before the first line.
    fn start(&mut self, output: &mut Output) {
        match self {
            Self::Same | Self::Passthrough(_) => {}
            Self::Front(front) => front.start(output),
            Self::Detecting(detection, _) | Self::Asking(detection, ..) => detection.start(output),
        }
    }
}

/// Size of one read, in bytes.
const CHUNK: usize = 64 * 1024;

/// Most bytes that are written to a pipe that is ready, without waiting (PIPE_BUF of POSIX on Linux).
const UNBLOCKED: usize = 4096;

/// Bytes for one side that are not written yet.
#[derive(Default)]
struct WriteBuffer {
    bytes: Vec<u8>,
    written: usize,
}

impl WriteBuffer {
    fn is_empty(&self) -> bool {
        self.written == self.bytes.len()
    }

    /// Writes as much as the other side takes at once.
    fn write(&mut self, to: &mut File) -> io::Result<()> {
        let end = self.bytes.len().min(self.written + UNBLOCKED);
        match to.write(&self.bytes[self.written..end]) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => self.written += count,
            Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
            Err(error) => return Err(error),
        }
        if self.is_empty() {
            self.bytes.clear();
            self.written = 0;
        }
        Ok(())
    }
}

/// Passes what both sides write until the server has closed its output, or the client its input.
pub fn pass(pipes: Pipes, translator: Translator) {
    let mut passing = TwoWayPipe {
        pipes,
        translator,
        from_client: LineSplitter::new(FRAME_LIMIT),
        from_server: LineSplitter::new(FRAME_LIMIT),
        to_client: WriteBuffer::default(),
        to_server: WriteBuffer::default(),
        client_has_ended: false,
        server_has_ended: false,
        has_told_end: false,
        closes_input: false,
    };
    let mut first = Output::default();
    passing.translator.start(&mut first);
    passing.take(first);
    // Errors of a pipe end the conversation, as they would without us.
    while let Ok(true) = passing.step() {}
}

struct TwoWayPipe {
    pipes: Pipes,
    translator: Translator,
    from_client: LineSplitter,
    from_server: LineSplitter,
    to_client: WriteBuffer,
    to_server: WriteBuffer,
    client_has_ended: bool,
    server_has_ended: bool,
    /// Whether the front knows of the end of the client's input.
    has_told_end: bool,
    /// Whether the server's input is closed once everything is written.
    closes_input: bool,
}

/// What the pipes are ready for.
#[derive(Clone, Copy, Debug, Default)]
struct Ready {
    from_client: bool,
    from_server: bool,
    to_client: bool,
    to_server: bool,
    /// The client has closed its end.
    client_is_gone: bool,
    /// The server has exited, and nothing of it is left to read.
    has_exited: bool,
}

impl TwoWayPipe {
    /// Serves the next line, or waits for a pipe. Returns whether there is more to do.
    fn step(&mut self) -> io::Result<bool> {
        if self.closes_input && self.to_server.is_empty() {
            self.pipes.to_server = None;
        }
        let reads_server = self.to_client.is_empty();
        let is_known = !matches!(self.translator, Translator::Detecting(..) | Translator::Asking(..));
        let reads_client = is_known && reads_server && self.to_server.is_empty();
        // Line by line, since a line may become a much longer one.
        if reads_server && self.take_server_line() || reads_client && self.take_client_line() {
            return Ok(true);
        }
        if self.server_has_ended && self.to_client.is_empty() {
            return Ok(false);
        }
        let ready =
            self.poll(reads_client && !self.client_has_ended, reads_server && !self.server_has_ended)?;
        if ready.client_is_gone {
            return Ok(false);
        }
        if ready.to_client {
            self.to_client.write(&mut self.pipes.to_client)?;
        }
        if ready.to_server
            && let Some(to_server) = &mut self.pipes.to_server
            && self.to_server.write(to_server).is_err()
        {
            // It reads no more; what it writes is still passed on.
            self.pipes.to_server = None;
        }
        if self.pipes.to_server.is_none() {
            self.to_server = WriteBuffer::default();
        }
        if ready.from_server {
            self.server_has_ended = match self.translator {
                Translator::Same => read_raw(&mut self.pipes.from_server, &mut self.to_client)?,
                _ => read(&mut self.pipes.from_server, &mut self.from_server)?,
            };
        } else if ready.has_exited {
            self.server_has_ended = true;
        }
        if ready.from_client {
            self.client_has_ended = match self.translator {
                Translator::Same => read_raw(&mut self.pipes.from_client, &mut self.to_server)?,
                _ => read(&mut self.pipes.from_client, &mut self.from_client)?,
            };
        }
        Ok(true)
    }

    /// Waits until a pipe is ready for what is wanted of it.
    fn poll(&self, reads_client: bool, reads_server: bool) -> io::Result<Ready> {
        const GONE: PollFlags = PollFlags::ERR.union(PollFlags::HUP);
        let when = |wanted: bool, flags: PollFlags| if wanted { flags } else { PollFlags::empty() };
        let Pipes { from_client, to_client, from_server, to_server, stopped } = &self.pipes;
        let mut polled = vec![
            PollFd::new(to_client, when(!self.to_client.is_empty(), PollFlags::OUT)),
            PollFd::new(stopped, PollFlags::IN),
        ];
        // A pipe that is not wanted is left out: it would wake us with its end again and again.
        let client = reads_client.then(|| {
            polled.push(PollFd::new(from_client, PollFlags::IN));
            polled.len() - 1
        });
        let server = reads_server.then(|| {
            polled.push(PollFd::new(from_server, PollFlags::IN));
            polled.len() - 1
        });
        let input = to_server.as_ref().filter(|_| !self.to_server.is_empty()).map(|to_server| {
            polled.push(PollFd::new(to_server, PollFlags::OUT));
            polled.len() - 1
        });
        loop {
            match poll(&mut polled, None) {
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
                Ok(_) => break,
            }
        }
        let shows = |at: Option<usize>, flags: PollFlags| {
            at.and_then(|at| polled.get(at)).is_some_and(|fd| fd.revents().intersects(flags))
        };
        let from_server = shows(server, PollFlags::IN | GONE);
        Ok(Ready {
            from_client: shows(client, PollFlags::IN | GONE),
            from_server,
            to_client: shows(Some(0), PollFlags::OUT),
            to_server: shows(input, PollFlags::OUT | GONE),
            client_is_gone: shows(Some(0), GONE),
            has_exited: reads_server && !from_server && shows(Some(1), PollFlags::IN | GONE),
        })
    }

    /// Takes a line that was read from the server. Returns whether there was one.
    fn take_server_line(&mut self) -> bool {
        let (line, is_whole) = match self.from_server.next_line() {
            None if self.server_has_ended => (self.from_server.finish(), false),
            line => (line, true),
        };
        let Some(line) = line else { return false };
        let mut output = Output::default();
        let mut found = None;
        match (line, &mut self.translator) {
            (SplitLine::Line(line), Translator::Front(front)) => front.server_line(line, &mut output),
            (SplitLine::Line(line), Translator::Same) => push_line(line, is_whole, &mut output.to_client),
            (SplitLine::Line(line), Translator::Passthrough(passthrough)) => {
                passthrough.pass(Way::ToClient, line);
                push_line(line, is_whole, &mut output.to_client);
            }
            (
                SplitLine::Line(line),
                Translator::Detecting(detection, _) | Translator::Asking(detection, ..),
            ) => found = detection.server_line(line),
            (SplitLine::TooLong(length), _) => output.notices.push(too_long("server", length)),
        }
        self.from_server.release();
        if let Some(server) = found {
            self.found(server, &mut output);
        }
        self.take(output);
        true
    }

    /// The dialect of the server is known: what it wrote meanwhile goes its way.
    fn found(&mut self, server: Dialect, output: &mut Output) {
        match std::mem::replace(&mut self.translator, Translator::Same) {
            Translator::Detecting(detection, client) => {
                self.translator = Translator::between(server.into(), client);
                self.translator.start(output);
                detection.into_lines().iter().for_each(|line| self.pass_server_line(line, output));
            }
            Translator::Asking(detection, mut passthrough, line) => {
                passthrough.server = Some(server.into());
                self.translator = Translator::Passthrough(passthrough);
                detection.into_lines().iter().for_each(|line| self.pass_server_line(line, output));
                self.take_undecided_line(&line, output);
            }
            other => self.translator = other,
        }
        if matches!(self.translator, Translator::Same) {
            // From now on bytes are read that are no lines.
            while let Some(SplitLine::Line(line)) = self.from_server.next_line() {
                push_line(line, true, &mut output.to_client);
            }
            if let Some(SplitLine::Line(line)) = self.from_server.finish() {
                output.to_client.extend_from_slice(line);
            }
        }
    }

    /// Takes a line of the server that came while it was asked.
    fn pass_server_line(&mut self, line: &[u8], output: &mut Output) {
        match &mut self.translator {
            Translator::Front(front) => return front.server_line(line, output),
            Translator::Passthrough(passthrough) => passthrough.pass(Way::ToClient, line),
            Translator::Same | Translator::Detecting(..) | Translator::Asking(..) => {}
        }
        push_line(line, true, &mut output.to_client);
    }

    /// Takes a line of a client whose dialect is not known.
    fn take_undecided_line(&mut self, line: &[u8], output: &mut Output) {
        let Translator::Passthrough(passthrough) = &mut self.translator else { return };
        match passthrough.compare(line) {
            DialectMatch::Same => push_line(line, true, &mut output.to_server),
            DialectMatch::Unsure => {
                let taken = std::mem::take(&mut **passthrough);
                let detection = Detection::new();
                detection.start(output);
                self.translator = Translator::Asking(detection, Box::new(taken), line.to_vec());
            }
            DialectMatch::Other(server, client, notice) => {
                output.notices.push(notice);
                let front = passthrough.translate(server, client, output);
                self.translator = Translator::Front(Box::new(front));
                if let Translator::Front(front) = &mut self.translator {
                    front.client_line(line, output);
                }
            }
        }
    }

    /// Takes a line that was read from the client, or the end of its input. Returns whether there was one.
    fn take_client_line(&mut self) -> bool {
        let (line, is_whole) = match self.from_client.next_line() {
            None if self.client_has_ended => (self.from_client.finish(), false),
            line => (line, true),
        };
        let mut output = Output::default();
        let mut found = None;
        match (line, &mut self.translator) {
            (Some(SplitLine::Line(line)), Translator::Front(front)) => front.client_line(line, &mut output),
            (Some(SplitLine::Line(line)), Translator::Passthrough(_)) if is_whole => {
                found = Some(line.to_vec())
            }
            (Some(SplitLine::Line(line)), _) => push_line(line, is_whole, &mut output.to_server),
            (Some(SplitLine::TooLong(length)), _) => output.notices.push(too_long("client", length)),
            (None, _) if !self.client_has_ended || self.has_told_end => return false,
            (None, translator) => {
                self.has_told_end = true;
                match translator {
                    Translator::Front(front) => front.end_of_input(&mut output),
                    _ => output.closes_input = true,
                }
            }
        }
        self.from_client.release();
        if let Some(line) = found {
            self.take_undecided_line(&line, &mut output);
        }
        self.take(output);
        true
    }

    /// Queues what is to be written.
    fn take(&mut self, output: Output) {
        self.to_client.bytes.extend(output.to_client);
        if self.pipes.to_server.is_some() {
            self.to_server.bytes.extend(output.to_server);
        }
        self.closes_input |= output.closes_input;
        for notice in output.notices {
            // Logging never fails.
            let _ = writeln!(Log, "front: {notice}");
        }
    }
}

/// `is_whole`: whether the line had a line feed.
fn push_line(line: &[u8], is_whole: bool, to: &mut Vec<u8>) {
    to.extend_from_slice(line);
    to.extend(is_whole.then_some(b'\n'));
}

fn too_long(side: &str, length: usize) -> String {
    format!("a line of the {side} was dropped: it has {length} bytes, the limit is {FRAME_LIMIT}")
}

/// Reads once what passes as it is. Returns whether the pipe has ended.
fn read_raw(from: &mut File, into: &mut WriteBuffer) -> io::Result<bool> {
    let mut chunk = [0; UNBLOCKED];
    match from.read(&mut chunk) {
        Ok(count) => {
            into.bytes.extend_from_slice(&chunk[..count]);
            Ok(count == 0)
        }
        Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Reads once. Returns whether the pipe has ended.
fn read(from: &mut File, into: &mut LineSplitter) -> io::Result<bool> {
    match from.read(into.space(CHUNK)) {
        Ok(0) => Ok(true),
        Ok(count) => {
            into.commit(count);
            Ok(false)
        }
        // The other side may have made its end, and so ours, non-blocking.
        Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => Ok(false),
        Err(error) => Err(error),
    }
}
