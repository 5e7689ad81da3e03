//! A client whose dialect is not known: its lines pass as they are as long as the server has every command of it.

use pi_rpc_front::{ClientDetection, Front, Output};
use pi_rpc_protocol::{Dialect, DialectVersion};

/// The most bytes of both sides that are kept for a translator that begins later; then the client is taken to speak what the server
/// speaks.
const MOST_KEPT: usize = 1 << 20;

/// The way of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    ToClient,
    ToServer,
}

/// What a line of the client shows.
pub enum DialectMatch {
    /// The client may speak what the server speaks.
    Same,
    /// That depends on what the server speaks.
    Unsure,
    /// They speak different dialects: of the server, of the client, and a text for people.
    Other(DialectVersion, Dialect, String),
}

/// What has passed so far.
#[derive(Default)]
pub struct Passthrough {
    /// What the server speaks, if it is known.
    pub server: Option<DialectVersion>,
    client: ClientDetection,
    /// The command that has shown something.
    shown_by: Option<&'static str>,
    lines: Vec<(Way, Vec<u8>)>,
    kept: usize,
    /// Whether the server has written anything.
    has_heard: bool,
}

impl Passthrough {
    /// `server`: what the server speaks, if it is known.
    pub fn new(server: Option<DialectVersion>) -> Self {
        Self { server, ..Self::default() }
    }

    /// Keeps a line that passes.
    pub fn pass(&mut self, way: Way, line: &[u8]) {
        self.has_heard |= way == Way::ToClient;
        self.kept += line.len() + size_of::<(Way, Vec<u8>)>();
        if self.kept <= MOST_KEPT {
            self.lines.push((way, line.to_vec()));
        } else {
            self.lines = Vec::new();
        }
    }

    /// Takes a line of the client.
    pub fn compare(&mut self, line: &[u8]) -> DialectMatch {
        if !self.has_heard {
            self.client.speaks_first();
        }
        self.shown_by = self.client.client_line(line).or(self.shown_by);
        let found = match (self.server, self.client.likeliest()) {
            _ if self.kept > MOST_KEPT || self.client.is_open() => DialectMatch::Same,
            (None, _) => DialectMatch::Unsure,
            (Some(server), Some(client)) if !self.client.may_be(server.dialect) => {
                let command = self.shown_by.unwrap_or_default();
                let text = format!(
                    "the client speaks {client}, as its command `{command}` shows, and the server {server}: frames are translated \
                     from now on; --speak names the dialect of the client"
                );
                DialectMatch::Other(server, client, text)
            }
            (Some(_), _) => DialectMatch::Same,
        };
        if matches!(found, DialectMatch::Same) {
            self.pass(Way::ToServer, line);
        }
        found
    }

    /// The translator, which knows what has passed.
    pub fn translate(&mut self, server: DialectVersion, client: Dialect, output: &mut Output) -> Front {
        let mut front = Front::new(server, client);
        front.start(output);
        let mut passed = Output::default();
        for (way, line) in self.lines.drain(..) {
            match way {
                Way::ToClient => front.server_line(&line, &mut passed),
                Way::ToServer => front.passed_client_line(&line),
            }
        }
        front.forget_held();
        // What the front itself asks about what has passed; the client has seen the rest.
        output.to_server.append(&mut passed.to_server);
        front
    }
}
