//! Which request of the host a frame of the server is the work of, as far as frames tell: a client that leaves a request out
//! is not told of what followed from it.

use super::ids::{Request, kind_of};
use crate::protocol::{AgentSessionEventKind, RpcCommandKind};

/// What the server works on.
#[derive(Default)]
pub struct Causes {
    /// The step of the last request that makes the server do something.
    latest: Option<usize>,
    /// The step of the last prompt.
    prompt: Option<usize>,
    /// The step of the prompt whose run is open.
    run: Option<usize>,
    is_open: bool,
}

impl Causes {
    /// The host wrote something at that step.
    pub fn host_sent(&mut self, at: usize, request: Option<&Request>) {
        use RpcCommandKind as Command;
        let Some(command) = request.and_then(|request| RpcCommandKind::parse(&request.command)) else {
            return;
        };
        match command {
            Command::Prompt | Command::AbortAndPrompt => {
                (self.prompt, self.latest) = (Some(at), Some(at));
            }
            // They have effects on what goes on, and none of their own.
            Command::Steer
            | Command::FollowUp
            | Command::Abort
            | Command::AbortBash
            | Command::AbortRetry => {}
            command if command.is_read() => {}
            _ => self.latest = Some(at),
        }
    }

    /// The server wrote a frame that is no response. Gives the step that it is the work of; none where it may be nobody's.
    pub fn cause_of(&mut self, line: &[u8]) -> Option<usize> {
        let kind = kind_of(line)?;
        match AgentSessionEventKind::parse(&kind) {
            Some(AgentSessionEventKind::AgentStart) => {
                // A prompt that was queued into the run before goes on with it.
                if !self.is_open {
                    self.run = self.prompt;
                }
                self.is_open = true;
                self.run
            }
            Some(AgentSessionEventKind::AgentEnd) => {
                self.is_open = false;
                self.run
            }
            _ if self.is_open => self.run,
            _ => self.latest,
        }
    }
}
