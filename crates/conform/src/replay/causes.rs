//! Attributes frames of the server to the requests that caused them, as far as frames show it: when a host leaves out a
//! request, the replay skips the frames that the request had caused.

use super::ids::{Request, kind_of};
use pi_rpc_protocol::{AgentSessionEventKind, RpcCommandKind};

/// The requests that the server is working on.
#[derive(Default)]
pub struct Causes {
    /// The step of the latest request with effects of its own.
    latest: Option<usize>,
    /// The step of the latest prompt.
    prompt: Option<usize>,
    /// The step of the prompt that began the current run, or the last one.
    run: Option<usize>,
    is_open: bool,
}

impl Causes {
    /// Takes in the line of the host at this step.
    pub fn host_sent(&mut self, at: usize, request: Option<&Request>) {
        use RpcCommandKind as Command;
        let Some(command) = request.and_then(|request| RpcCommandKind::parse(&request.command)) else {
            return;
        };
        match command {
            Command::Prompt | Command::AbortAndPrompt => {
                (self.prompt, self.latest) = (Some(at), Some(at));
            }
            // These affect what is running, and have no effects of their own.
            Command::Steer | Command::FollowUp => {}
            command if command.ended_work().is_some() || command.is_read() => {}
            _ => self.latest = Some(at),
        }
    }

    /// The step of the request that caused a frame other than a response; `None` if it is unknown.
    pub fn cause_of(&mut self, line: &[u8]) -> Option<usize> {
        let kind = kind_of(line)?;
        match AgentSessionEventKind::parse(&kind) {
            Some(AgentSessionEventKind::AgentStart) => {
                // A prompt that was queued into the previous run continues that run.
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
